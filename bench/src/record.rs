//! Records of measurements: what was measured when, on which machine, of which commit.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a command of the shell prints, or nothing.
pub fn shell(command: &str) -> String {
    let done = Command::new("sh").args(["-c", command]).output();
    done.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
}

/// Minutes are fine enough.
pub fn date() -> String {
    shell("date -u +%Y-%m-%dT%H:%MZ")
}

/// The checkout that this was built from.
pub fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a package lies in the workspace")
        .to_owned()
}

/// The checkout's commit, marked where files of it are changed.
pub fn commit() -> String {
    let root = checkout().display().to_string();
    shell(&format!("git -C '{root}' describe --always --dirty --exclude '*'"))
}

/// The commit that this was built from; where the build did not say, the checkout's.
fn built_from() -> String {
    let told = option_env!("THALWEG_COMMIT").filter(|commit| !commit.is_empty());
    told.map_or_else(commit, str::to_owned)
}

/// Date, machine and commit in one sentence.
pub fn circumstances() -> String {
    format!(
        "{}, {}, {} cores, {}, Linux {}, commit {}.",
        date(),
        shell("grep -m1 'model name' /proc/cpuinfo | cut -d: -f2"),
        shell("nproc"),
        shell("grep MemTotal /proc/meminfo | tr -s ' '"),
        shell("uname -r"),
        built_from(),
    )
}

/// The middle value; of an even number of them the mean of the two in the middle.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let (below, above) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some(f64::midpoint(values[below], values[above]))
}

/// The beginning of a record.
pub fn heading(title: &str) -> String {
    let mut text = String::new();
    writeln!(text, "# {title}\n\n{}\n", circumstances()).expect("strings take writes");
    text
}

/// The first two lines of a table.
pub fn table_head<S: AsRef<str>>(text: &mut String, columns: impl IntoIterator<Item = S>) {
    let columns: Vec<S> = columns.into_iter().collect();
    let names: Vec<&str> = columns.iter().map(AsRef::as_ref).collect();
    writeln!(text, "| {} |", names.join(" | ")).expect("strings take writes");
    writeln!(text, "|{}", "---|".repeat(names.len())).expect("strings take writes");
}

/// Prints a record and, if wanted, writes it to `bench/record/` under the date and `kind`.
pub fn print_and_save(kind: &str, text: &str, save: bool) -> Result<(), String> {
    println!("\n{text}");
    if save {
        let folder = checkout().join("bench/record");
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let file = folder.join(format!("{}-{kind}.md", date().replace(':', "")));
        std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        println!("recorded in {}", file.display());
    }
    Ok(())
}

/// A record that is written while measuring goes on, under the date at which it began.
pub struct Growing {
    heading: String,
    file: Option<PathBuf>,
}

impl Growing {
    /// One of this kind, to be saved or only printed.
    pub fn new(kind: &str, title: &str, save: bool) -> Growing {
        let name = format!("bench/record/{}-{kind}.md", date().replace(':', ""));
        Growing { heading: heading(title), file: save.then(|| checkout().join(name)) }
    }

    /// Replaces what was written so far.
    pub fn save(&self, body: &str) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let folder = file.parent().expect("a record has a folder");
        let saved = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(file, self.heading.clone() + body));
        saved.map_err(|e| format!("{}: {e}", file.display()))
    }

    /// Saves the last state, and prints it.
    pub fn print(&self, body: &str) -> Result<(), String> {
        self.save(body)?;
        println!("\n{}{body}", self.heading);
        if let Some(file) = &self.file {
            println!("recorded in {}", file.display());
        }
        Ok(())
    }
}
