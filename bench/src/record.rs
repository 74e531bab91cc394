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

/// Date, machine and commit in one sentence.
pub fn circumstances() -> String {
    format!(
        "{}, {}, {} cores, {}, Linux {}, commit {}.",
        date(),
        shell("grep -m1 'model name' /proc/cpuinfo | cut -d: -f2"),
        shell("nproc"),
        shell("grep MemTotal /proc/meminfo | tr -s ' '"),
        shell("uname -r"),
        shell("git rev-parse --short HEAD"),
    )
}

/// The beginning of a record.
pub fn heading(title: &str) -> String {
    let mut text = String::new();
    writeln!(text, "# {title}\n\n{}\n", circumstances()).expect("strings take writes");
    text
}

/// Writes a record to `bench/record/`; where it is.
pub fn save(root: &Path, kind: &str, text: &str) -> Result<PathBuf, String> {
    let folder = root.join("bench/record");
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let file = folder.join(format!("{}-{kind}.md", date().replace(':', "")));
    std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(file)
}
