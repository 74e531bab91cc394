//! The command line.

use crate::model::Request;
use crate::target::Wanted;
use bench::options::Words;
use std::path::PathBuf;

pub const USAGE: &str = "\
usage: lab run [EXPERIMENT…|all] [--long] [--target NAME|NAME=URL]… [--seconds N] [--rounds N] [--clients 1,8,…]
               [--loads uniform,zipf,…] [--scale N] [--writes] [--programs DIRECTORY] [--out DIRECTORY] [--resume]
       lab list
       lab report RECORD
       lab results RECORD [EXPERIMENT…]
       lab compare A B
       lab pack FILE.tar.xz
       lab build DIRECTORY
       lab --help

  run         measures, keeps what was measured after each run, and draws it. Exits with 1 if it ended before its plan did, and
              with 0 although a server could not be measured: the record and the page say which, and why.
  list        tells the experiments' names and what each asks; servers given by URL are asked those marked [read-only], with
              --writes all that pgbench runs with different numbers of clients.
  report      draws page and plots of a record once more, into its directory.
  results     writes a record's tables into the READMEs of its experiments, or of those that are named. A table of a machine with
              more cores stays, and that is told.
  compare     tells what changed from A to B by more than repetitions scatter. Exits with 1 if a cell of Thalweg's, or of a
              server given by URL, is worse, or B was asked for it and has it not; else with 0: better, no difference,
              or a repetition alone, which can't tell. PostgreSQL and canned replies are controls. Records of another form,
              scale or duration are refused (1).
  pack        makes a tarball for another machine without network.
  build       builds every program that a whole run needs, and puts them into a directory: DIRECTORY/lab run … uses them, whatever
              is built in the checkout meanwhile.

  RECORD, A and B are a record's directory or the record.json in it.

  EXPERIMENT  of those that `lab list` tells; all of them by default.
  --long      the long form, two and a half hours for all; without it the short one, under twenty minutes.
  --target    thalweg, pg15, pg18, canned, bare-sync, thalweg-counting (a build with --features lab-counts), all of them by
              default; or NAME=postgres://USER@HOST:PORT/DATABASE, any server, which is only read unless --writes is given.
              Each has a name of its own.
  --seconds   how long each run lasts; --rounds: how often each is repeated; --clients: the numbers of clients; --scale: of
              pgbench's tables, or warehouses. Without them each experiment's own. Of what is measured in process only
              --rounds counts.
  --loads     of each experiment's loads only those whose names begin so; the experiments that have none are left out.
  --writes    allows to make pgbench's tables (pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers) new in
              databases that are given by URL, where they stay, and to drop and make pgbench_accounts_hash,
              pgbench_inserts, pgbench_savepoints and pgbench_test, which go after the runs.
  --programs  where thalweg, canned and the programs of bench are (LAB_PROGRAMS); by default those beside this program, or
              else the checkout's release build, which is made. What is not there is told first, and left out.
  --out       where the record's directory is made; lab/record by default.
  --resume    goes on with the newest partial record under --out that is of the same machine, programs and request and
              that no other lab is writing. What failed there is tried again.";

/// What to do.
pub enum Order {
    Run(Box<Run>),
    Help,
    List,
    Report(PathBuf),
    /// Into the READMEs of its experiments, or of those of these names.
    Results(PathBuf, Vec<String>),
    Compare(PathBuf, PathBuf),
    Pack(PathBuf),
    /// Every program into a directory.
    Build(PathBuf),
}

/// What to run, with what, and where to keep it.
pub struct Run {
    pub request: Request,
    pub targets: Vec<Wanted>,
    pub programs: Option<PathBuf>,
    pub out: Option<PathBuf>,
    pub resume: bool,
}

/// Reads the words behind the program's name.
pub fn parse(words: Vec<String>) -> Result<Order, String> {
    let (first, rest) = words.split_first().ok_or(USAGE)?;
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(Order::Help);
    }
    let paths: Vec<PathBuf> = rest.iter().map(PathBuf::from).collect();
    match (first.as_str(), &paths[..]) {
        ("run", _) => run(rest.to_vec()).map(|run| Order::Run(Box::new(run))),
        ("list", []) => Ok(Order::List),
        ("report", [record]) => Ok(Order::Report(record.clone())),
        ("results", [record, ..]) => Ok(Order::Results(record.clone(), rest[1..].to_vec())),
        ("compare", [a, b]) => Ok(Order::Compare(a.clone(), b.clone())),
        ("pack", [file]) => Ok(Order::Pack(file.clone())),
        ("build", [folder]) => Ok(Order::Build(folder.clone())),
        _ => Err(USAGE.to_owned()),
    }
}

fn run(words: Vec<String>) -> Result<Run, String> {
    let mut request = Request::default();
    let programs = std::env::var_os("LAB_PROGRAMS").map(PathBuf::from);
    let mut run = Run {
        request: Request::default(),
        targets: Vec::new(),
        programs,
        out: None,
        resume: false,
    };
    let mut words = Words::new(USAGE, words);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--long" => request.long = true,
            "--target" => run.targets.push(Wanted::parse(&words.value()?)?),
            "--seconds" => request.seconds = Some(words.number::<std::num::NonZero<u32>>()?.get()),
            "--rounds" => request.rounds = Some(words.number::<std::num::NonZero<u32>>()?.get()),
            "--clients" => request.clients = Some(words.numbers()?),
            "--loads" => {
                request.loads = Some(words.value()?.split(',').map(str::to_owned).collect());
            }
            "--scale" => request.scale = Some(words.number::<std::num::NonZero<u32>>()?.get()),
            "--writes" => request.writes = true,
            "--programs" => run.programs = Some(words.value()?.into()),
            "--out" => run.out = Some(words.value()?.into()),
            "--resume" => run.resume = true,
            name if !name.starts_with('-') => request.experiments.push(name.to_owned()),
            _ => return Err(words.unknown()),
        }
    }
    if request.experiments.is_empty() {
        request.experiments.push("all".to_owned());
    }
    if run.targets.is_empty() {
        run.targets = Wanted::all();
    }
    Wanted::distinct(&run.targets)?;
    request.targets = run.targets.iter().map(Wanted::recorded).collect();
    run.request = request;
    Ok(run)
}
