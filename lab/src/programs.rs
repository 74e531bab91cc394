//! The programs that are measured: where they are, how they are built, and which of them are not there.

use crate::experiments::{self, Paths};
use crate::model::Request;
use crate::target::Wanted;
use crate::{pack, runner};
use bench::servers::Places;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the programs are. Those of a checkout are built if they aren't there.
pub fn places(programs: Option<PathBuf>) -> Result<Places, String> {
    if let Some(pack) = pack::unpacked() {
        return Ok(pack::places(&pack));
    }
    let mut places = Places::of_checkout();
    let beside = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned));
    let complete =
        |folder: &PathBuf| folder.join("thalweg").exists() && folder.join("canned").exists();
    match programs.or(beside.filter(complete)) {
        Some(programs) => places.programs = programs,
        None => {
            eprintln!("building release programs …");
            build(&["-p", "thalweg", "-p", "bench"], &bench::record::checkout().join("target"))?;
        }
    }
    for program in ["thalweg", "canned"] {
        let path = places.programs.join(program);
        if !path.exists() {
            return Err(format!("{} is not there", path.display()));
        }
    }
    if !places.pg15.join("pgbench").exists() {
        return Err(format!(
            "pgbench is not in {}: install Debian's postgresql-15",
            places.pg15.display()
        ));
    }
    Ok(places)
}

/// The build of Thalweg that counts.
pub const COUNTING: &str = "thalweg-counting";

/// A program that is built with a feature of the laboratory, and what it is called then.
struct Variant<'a> {
    package: &'a str,
    program: &'a str,
    feature: &'a str,
    name: &'a str,
}

const COUNTS: Variant<'_> =
    Variant { package: "thalweg", program: "thalweg", feature: "lab-counts", name: COUNTING };

impl Variant<'_> {
    /// Makes it of what the checkout has now, where its programs are used; programs from elsewhere have it, or
    /// [it is said](missing) that they have not.
    fn build(&self, places: &Places) -> Result<(), String> {
        if pack::unpacked().is_some() || places.programs != release() {
            return Ok(());
        }
        let built = self.make()?;
        let place = places.programs.join(self.name);
        let _ = std::fs::remove_file(&place);
        std::os::unix::fs::symlink(&built, &place).map_err(|e| format!("{}: {e}", place.display()))
    }

    /// Makes it, and says where it is: in a directory of the feature's own, since it would replace the other one.
    fn make(&self) -> Result<PathBuf, String> {
        let Variant { package, program, feature, name } = self;
        eprintln!("building {name} …");
        let target = bench::record::checkout().join("target").join(feature);
        build(&["-p", package, "--bin", program, "--features", feature], &target)?;
        Ok(target.join("release").join(program))
    }
}

/// Makes the build that counts.
pub fn build_counting(places: &Places) -> Result<(), String> {
    COUNTS.build(places)
}

/// Makes what is measured in process with a feature of the laboratory.
pub fn build_variants(wanted: Vec<&Paths>, places: &Places) -> Result<(), String> {
    for paths in wanted {
        if let Some(feature) = paths.feature {
            let program = paths.program;
            Variant { package: "bench", program, feature, name: &paths.file() }.build(places)?;
        }
    }
    Ok(())
}

/// Which of the programs that a run needs are not there, and what is left out without them: one sentence, before anything starts.
pub fn missing(request: &Request, targets: &[Wanted], places: &Places) -> Option<String> {
    let needed = runner::needed(request, targets).into_iter();
    let gone = needed.filter(|(name, _)| !places.programs.join(name).exists());
    let gone: Vec<String> = gone.map(|(name, of)| format!("{name} ({})", of.join(", "))).collect();
    let folder = places.programs.display();
    (!gone.is_empty()).then(|| {
        format!(
            "not in {folder}: {}; what they would measure there is left out (`lab build DIRECTORY` makes all of them)",
            gone.join(", ")
        )
    })
}

/// Builds everything that a whole run needs, and puts it into a directory, where no later build of the checkout changes it.
pub fn build_into(folder: &Path) -> Result<(), String> {
    let failed = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    eprintln!("building release programs …");
    build(
        &["-p", "thalweg", "-p", "bench", "-p", "lab"],
        &bench::record::checkout().join("target"),
    )?;
    let request = Request { experiments: vec!["all".to_owned()], long: true, ..Request::default() };
    let mut parts = vec![("lab".to_owned(), release().join("lab"))];
    let mut variants = vec![COUNTS];
    let in_process = runner::in_process(experiments::ALL);
    let files: Vec<String> = in_process.iter().map(|paths| paths.file()).collect();
    for (paths, name) in in_process.iter().zip(&files) {
        if let Some(feature) = paths.feature {
            variants.push(Variant { package: "bench", program: paths.program, feature, name });
        }
    }
    for (name, _) in runner::needed(&request, &Wanted::all()) {
        let built = match variants.iter().find(|variant| variant.name == name) {
            Some(variant) => variant.make()?,
            None => release().join(&name),
        };
        parts.push((name, built));
    }
    match runner::build_tpcc(&Places::of_checkout()) {
        Ok(built) => parts.push(("go-tpc".to_owned(), built)),
        Err(why) => eprintln!("{why}; TPC-C's experiments try it again"),
    }
    for (name, built) in parts {
        let place = folder.join(name);
        // A program that runs can't be written to, but another one can take its place.
        let new = place.with_extension("new");
        std::fs::copy(&built, &new).map_err(|e| failed(&new, e))?;
        std::fs::rename(&new, &place).map_err(|e| failed(&place, e))?;
    }
    println!("{0}/lab run … uses what is in {0}", folder.display());
    Ok(())
}

/// Where the checkout's own builds are.
fn release() -> PathBuf {
    bench::record::checkout().join("target/release")
}

/// Builds release programs of the checkout into a directory.
fn build(what: &[&str], target: &Path) -> Result<(), String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked"]).args(what).arg("--target-dir").arg(target);
    cargo.env("THALWEG_COMMIT", bench::record::commit());
    let built = cargo.current_dir(bench::record::checkout()).status();
    match built.map_err(|e| format!("cargo: {e}"))?.success() {
        true => Ok(()),
        false => Err(format!("cargo can't build {}", what.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::servers::Scratch;

    /// By their names, with the experiments that want them; of what is not asked for, nothing.
    #[test]
    fn what_is_not_there_is_said_before() {
        let scratch = Scratch::new("lab-missing").unwrap();
        let programs = scratch.path().to_owned();
        let places = Places { programs: programs.clone(), ..Places::of_checkout() };
        for name in ["thalweg", "canned", "sync_loop", "status_lookups", "wal_padding", "wal_paths"]
        {
            std::fs::write(programs.join(name), "").unwrap();
        }
        let said = |experiments: &[&str], targets: &[&str]| {
            let experiments = experiments.iter().map(|&e| e.to_owned()).collect();
            let targets: Vec<Wanted> = targets.iter().map(|t| Wanted::parse(t).unwrap()).collect();
            let request = Request { experiments, ..Request::default() };
            missing(&request, &targets, &places)
        };
        let all = said(&["all"], &["thalweg", "thalweg-counting", "canned", "pg15"]).unwrap();
        let told =
            "index_paths-lab-hash-protocols (s4-protocols), thalweg-counting (per-transaction);";
        assert!(all.contains(told), "{all}");
        assert_eq!(said(&["ceiling", "s4-protocols"], &["pg15", "canned"]), None);
        std::fs::remove_file(programs.join("canned")).unwrap();
        let some = said(&["ceiling", "wal-commits", "scale-cores"], &["pg15", "canned"]).unwrap();
        assert!(some.contains(": canned (ceiling, wal-commits);"), "{some}");
    }
}
