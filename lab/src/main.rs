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
mod programs;
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

use experiments::Experiment;
use folder::Folder;
use model::Record;
use options::{Order, Run};
use runner::Lab;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
        Order::Results(path, names) => {
            Experiment::chosen(&names)?;
            let record = Record::load(&path)?;
            let folder =
                if path.is_dir() { &path } else { path.parent().unwrap_or(Path::new(".")) };
            let name = folder.file_name().ok_or("the record's folder has no name")?;
            let name = name.to_string_lossy();
            let (written, kept) = readme::write(&record, &name, &names, &base())?;
            println!("READMEs of {}", written.join(", "));
            kept.iter().for_each(|why| println!("{why}"));
            Ok(())
        }
        Order::Compare(a, b) => {
            let (text, worse) = compare::report(&Record::load(&a)?, &Record::load(&b)?)?;
            print!("{text}");
            // What runs this must notice without reading it.
            if worse > 0 { Err(format!("{worse} cells are worse or missing")) } else { Ok(()) }
        }
        Order::Pack(file) => {
            let places = programs::places(None)?;
            programs::build_variants(runner::in_process(experiments::ALL), &places)?;
            pack::pack(&places, &file)
        }
        Order::Build(folder) => programs::build_into(&folder),
    }
}

fn measure(run: Run) -> Result<(), String> {
    // Wrong names are told before anything is built or started.
    Experiment::chosen(&run.request.experiments)?;
    interrupt::listen();
    bench::servers::raise_open_files();
    let places = programs::places(run.programs)?;
    if runner::wants(&run.request, &run.targets, programs::COUNTING) {
        programs::build_counting(&places)?;
    }
    programs::build_variants(runner::wanted_paths(&run.request, &run.targets), &places)?;
    if let Some(said) = programs::missing(&run.request, &run.targets, &places) {
        eprintln!("{said}");
    }
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
    let (mut record, folder) = match found {
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
    record.sit_down();
    record.keep(&path)?;
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
