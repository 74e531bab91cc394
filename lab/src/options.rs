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
       lab results RECORD
       lab compare A B
       lab pack FILE.tar.xz

  Targets: thalweg, pg15, pg18, canned, bare-sync (all of them without --target), thalweg-counting (a build with
  --features lab-counts), or any server by URL, which is only read
  unless --writes allows to make pgbench's tables new there.
  --loads     of each experiment's loads only those whose names begin so; the experiments that have none are left out.
  --programs  where thalweg, canned and the programs of bench are (LAB_PROGRAMS); by default those beside this program, or
              else the checkout's release build, which is made.
  --resume    goes on with the newest partial record under --out that is of the same machine, commit and request and
              that no other lab is writing.";

/// What to do.
pub enum Order {
    Run(Box<Run>),
    List,
    Report(PathBuf),
    /// Into the experiments' READMEs.
    Results(PathBuf),
    Compare(PathBuf, PathBuf),
    Pack(PathBuf),
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
    let paths: Vec<PathBuf> = rest.iter().map(PathBuf::from).collect();
    match (first.as_str(), &paths[..]) {
        ("run", _) => run(rest.to_vec()).map(|run| Order::Run(Box::new(run))),
        ("list", []) => Ok(Order::List),
        ("report", [record]) => Ok(Order::Report(record.clone())),
        ("results", [record]) => Ok(Order::Results(record.clone())),
        ("compare", [a, b]) => Ok(Order::Compare(a.clone(), b.clone())),
        ("pack", [file]) => Ok(Order::Pack(file.clone())),
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
    request.targets = run.targets.iter().map(Wanted::recorded).collect();
    run.request = request;
    Ok(run)
}
