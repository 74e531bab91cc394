//! The seeds' experiments rerun by one command, beside real PostgreSQL, and drawn.

mod compare;
mod counted;
mod disk;
mod evidence;
mod experiments;
mod folder;
mod grid;
mod interrupt;
mod latencies;
mod model;
mod options;
mod pack;
mod process;
mod progress;
mod readme;
mod report;
mod runner;
mod seeds;
mod session;
mod statistics;
mod table;
mod target;

#[cfg(test)]
mod tests;

use bench::servers::Places;
use experiments::{Experiment, Paths};
use folder::Folder;
use model::Record;
use options::{Order, Run};
use runner::Lab;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let words = std::env::args().skip(1).collect();
    bench::options::end("lab", options::parse(words).and_then(obey))
}

fn obey(order: Order) -> Result<(), String> {
    match order {
        Order::Run(run) => measure(*run),
        Order::Help => {
            println!("{}", options::USAGE);
            Ok(())
        }
        Order::List => {
            experiments::ALL.iter().for_each(|e| println!("{}", e.line()));
            Ok(())
        }
        Order::Report(path) => {
            let record = Record::load(&path)?;
            let folder =
                if path.is_dir() { &path } else { path.parent().unwrap_or(Path::new(".")) };
            println!("{}", report::write(&record, folder)?.display());
            Ok(())
        }
        Order::Results(path) => {
            let record = Record::load(&path)?;
            let folder =
                if path.is_dir() { &path } else { path.parent().unwrap_or(Path::new(".")) };
            let name = folder.file_name().ok_or("the record's folder has no name")?;
            let written = readme::write(&record, &name.to_string_lossy(), &base())?;
            println!("READMEs of {}", written.join(", "));
            Ok(())
        }
        Order::Compare(a, b) => {
            let (text, worse) = compare::report(&Record::load(&a)?, &Record::load(&b)?)?;
            print!("{text}");
            // What runs this must notice without reading it.
            if worse > 0 { Err(format!("{worse} cells are worse or missing")) } else { Ok(()) }
        }
        Order::Pack(file) => {
            let places = places(None)?;
            build_variants(runner::in_process(experiments::ALL), &places)?;
            pack::pack(&places, &file)
        }
    }
}

fn measure(run: Run) -> Result<(), String> {
    // Wrong names are told before anything is built or started.
    Experiment::chosen(&run.request.experiments)?;
    interrupt::listen();
    bench::servers::raise_open_files();
    let places = places(run.programs)?;
    if runner::wants(&run.request, &run.targets, COUNTING) {
        let (package, program, feature) = ("thalweg", "thalweg", "lab-counts");
        Variant { package, program, feature, name: COUNTING }.build(&places)?;
    }
    build_variants(runner::wanted_paths(&run.request, &run.targets), &places)?;
    let out = run.out.unwrap_or_else(|| base().join("record"));
    let programs = runner::programs(&run.request, &run.targets, &places);
    let fresh =
        Record::begin(run.request).measures(&places.programs.join("thalweg")).uses(&programs);
    let found = if run.resume { Folder::resumable(&out, &fresh) } else { None };
    if run.resume && found.is_none() {
        eprintln!(
            "no partial record is of this machine, these programs and this request: a new one is begun"
        );
    }
    let (record, folder) = match found {
        Some((record, folder)) => {
            eprintln!("going on with {}", folder.path().display());
            (record, folder)
        }
        None => {
            let form = if fresh.request.long { "long" } else { "short" };
            let name = format!("{}-{form}", fresh.started.replace(':', ""));
            (fresh, Folder::create(&out, &name)?)
        }
    };
    let path = folder.path().to_owned();
    record.save(&path)?;
    let least_free = runner::FREE_BYTES;
    let mut lab = Lab { record, folder: path, places, targets: run.targets, least_free };
    let ended = lab.run(&|results| println!("{}", table::table(results)));
    let page = report::write(&lab.record, &lab.folder);
    if let Ok(page) = &page {
        println!("{}", page.display());
    }
    // Why a run ended comes before what that kept from being drawn.
    ended.map_err(|why| {
        format!("{why}; what was measured is in {}, marked as partial", lab.folder.display())
    })?;
    page.map(drop)
}

/// Where records are kept and peers found: the lab's folder in a checkout, the pack's in a pack.
fn base() -> PathBuf {
    match pack::unpacked() {
        Some(pack) => pack,
        None => bench::record::checkout().join("lab"),
    }
}

/// Where the programs are. Those of a checkout are built if they aren't there.
fn places(programs: Option<PathBuf>) -> Result<Places, String> {
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
            build(&["-p", "thalweg", "-p", "bench"])?;
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
const COUNTING: &str = "thalweg-counting";

/// A program that is built with a feature of the laboratory, and what it is called then.
struct Variant<'a> {
    package: &'a str,
    program: &'a str,
    feature: &'a str,
    name: &'a str,
}

impl Variant<'_> {
    /// Makes it of what the checkout has now, where its programs are used; programs from elsewhere have it, or the record says that
    /// they have not. In a directory of the feature's own: it would replace the other one.
    fn build(&self, places: &Places) -> Result<(), String> {
        let root = bench::record::checkout();
        if pack::unpacked().is_some() || places.programs != root.join("target/release") {
            return Ok(());
        }
        let Variant { package, program, feature, name } = self;
        eprintln!("building {name} …");
        let target = format!("target/{feature}");
        let what =
            ["-p", package, "--bin", program, "--features", feature, "--target-dir", &target];
        build(&what)?;
        let built = root.join(&target).join("release").join(program);
        let place = places.programs.join(name);
        let _ = std::fs::remove_file(&place);
        std::os::unix::fs::symlink(&built, &place).map_err(|e| format!("{}: {e}", place.display()))
    }
}

/// Makes what is measured in process with a feature of the laboratory.
fn build_variants(wanted: Vec<&Paths>, places: &Places) -> Result<(), String> {
    for paths in wanted {
        if let Some(feature) = paths.feature {
            let program = paths.program;
            Variant { package: "bench", program, feature, name: &paths.file() }.build(places)?;
        }
    }
    Ok(())
}

/// Builds release programs of the checkout.
fn build(what: &[&str]) -> Result<(), String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked"]).args(what);
    cargo.env("THALWEG_COMMIT", bench::record::commit());
    let built = cargo.current_dir(bench::record::checkout()).status();
    match built.map_err(|e| format!("cargo: {e}"))?.success() {
        true => Ok(()),
        false => Err(format!("cargo can't build {}", what.join(" "))),
    }
}
