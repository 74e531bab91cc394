//! In-process measurements by programs of `bench`, which tell each path's cost on a line.

use crate::experiments::Paths;
use crate::model::{Run, figure};
use crate::process::{self, Limits};
use bench::servers::Places;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Measures once.
pub fn round(
    places: &Places,
    paths: &Paths,
    long: bool,
    work: &Path,
    round: u32,
) -> Result<Vec<Run>, String> {
    run(places, (&paths.file(), paths.round(long).arguments), work, round)
}

/// Measures once with the program of this name, told these arguments; what it puts on a disk, it puts into `work`.
pub fn run(
    places: &Places,
    (name, arguments): (&str, &[&str]),
    work: &Path,
    round: u32,
) -> Result<Vec<Run>, String> {
    let program = places.programs.join(name);
    if !program.exists() {
        return Err(format!("{} is not there; is it built?", program.display()));
    }
    let mut command = Command::new(program);
    command.args(arguments).env("TMPDIR", work);
    bench::record::shell("sync");
    let runs = parse(&process::run(command, Limits::minutes(10))?.out, round);
    if runs.is_empty() { Err(format!("{name} told of no path")) } else { Ok(runs) }
}

/// Lines `NAME  1 thread X ns  2 threads Y ns …`: nanoseconds of each thread for one operation.
pub fn parse(text: &str, round: u32) -> Vec<Run> {
    text.lines().flat_map(|line| of_line(line, round)).collect()
}

fn of_line(line: &str, round: u32) -> Vec<Run> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_threads = |word: &str| word == "thread" || word == "threads";
    let Some(first) = words.iter().position(|word| is_threads(word)).filter(|at| *at > 1) else {
        return Vec::new();
    };
    let variant = words[..first - 1].join(" ");
    let mut runs = Vec::new();
    for at in (first..words.len()).filter(|at| is_threads(words[*at])) {
        let threads = words[at - 1].parse::<u32>().ok();
        let nanos = words.get(at + 1).and_then(|word| word.parse::<f64>().ok());
        let Some((threads, nanos)) = threads.zip(nanos).filter(|(_, nanos)| *nanos > 0.0) else {
            continue;
        };
        let tps = f64::from(threads) * 1e9 / nanos;
        runs.push(Run {
            target: "thalweg".to_owned(),
            variant: variant.clone(),
            x: threads,
            round,
            seconds: 0,
            figures: BTreeMap::from([(figure::TPS.to_owned(), tps)]),
            samples: Vec::new(),
        });
    }
    runs
}
