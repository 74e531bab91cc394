//! What operators wait for: loading, data larger than the cache, recovery after a crash, a clean restart, VACUUM after a
//! paced run, whether background vacuum keeps up, and whether memory grows; Thalweg beside PostgreSQL, one after the other in one run, repeated.

mod checks;
mod parts;
mod upkeep;

use bench::figures;
use bench::options::{self, Words};
use bench::record::print_and_save;
use bench::servers::{self, Peer, Places, Scratch};
use std::fmt::Write;
use std::process::ExitCode;

/// What the command line chose.
pub struct Options {
    parts: Vec<String>,
    servers: Vec<String>,
    repeats: usize,
    /// pgbench's scale of the part `load` and the part `cache`.
    scale: u32,
    /// Transactions between the checkpoint and the crash.
    transactions: u32,
    /// Length of a run of the part `cache`.
    seconds: u32,
    /// Length of the run before the vacuum of the part `vacuum`.
    paced_seconds: u32,
    /// Length of a run of the part `upkeep`.
    upkeep_seconds: u32,
    /// Its updates a second, so that all servers make as much garbage.
    upkeep_rate: u32,
    /// Length of the part `memory`.
    minutes: u32,
    record: bool,
}

const USAGE: &str = "\
usage: operations [--parts load,cache,recovery,vacuum,upkeep,memory] [--servers thalweg,pg15] [--repeats 3]
                  [--scale 100] [--transactions 1000000] [--seconds 20] [--paced-seconds 60] [--upkeep-seconds 300]
                  [--upkeep-rate 1000] [--minutes 10] [--no-record]";

/// What is asked for is asked of it.
const OURS: &str = "thalweg";

fn options() -> Result<Options, String> {
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut options = Options {
        parts: list(&["load", "cache", "recovery", "vacuum", "upkeep", "memory"]),
        servers: list(&["thalweg", "pg15"]),
        repeats: 3,
        scale: 100,
        transactions: 1_000_000,
        seconds: 20,
        paced_seconds: 60,
        upkeep_seconds: 300,
        upkeep_rate: 1000,
        minutes: 10,
        record: true,
    };
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--parts" => options.parts = words.list()?,
            "--servers" => options.servers = words.list()?,
            "--repeats" => options.repeats = words.number()?,
            "--scale" => options.scale = words.number()?,
            "--transactions" => options.transactions = words.number()?,
            "--seconds" => options.seconds = words.number()?,
            "--paced-seconds" => options.paced_seconds = words.number()?,
            "--upkeep-seconds" => options.upkeep_seconds = words.number()?,
            "--upkeep-rate" => options.upkeep_rate = words.number()?,
            "--minutes" => options.minutes = words.number()?,
            "--no-record" => options.record = false,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    options::end("operations", options().and_then(|o| run(&o)))
}

fn run(options: &Options) -> Result<(), String> {
    let mut figures = Vec::new();
    for part in &options.parts {
        let (measure, repeats): (parts::Part, usize) = match part.as_str() {
            "load" => (parts::load, options.repeats),
            "cache" => (parts::cache, options.repeats),
            "recovery" => (parts::recovery, options.repeats),
            "vacuum" => (parts::vacuum, options.repeats),
            "upkeep" => (upkeep::measure, 1),
            "memory" => (parts::memory, 1),
            other => return Err(format!("no part is called '{other}'\n{USAGE}")),
        };
        for _ in 0..repeats {
            for server in &options.servers {
                let before = figures.len();
                measure(options, server, &mut figures)?;
                figures[before..].iter().for_each(figures::Figure::tell);
            }
        }
    }
    let text = table(options, &figures);
    print_and_save("operations", &text, options.record)
}

/// A server on a fresh directory, which goes after it.
struct Bench {
    peer: Peer,
    _work: Scratch,
}

impl Bench {
    fn new(server: &str, settings: &[&str]) -> Result<Bench, String> {
        let work = Scratch::new("operations")?;
        let mut peer =
            servers::start(server, &Places::of_checkout(), work.path(), 54_340, settings)?;
        peer.wait_until_answering()?;
        Ok(Bench { peer, _work: work })
    }
}

fn table(options: &Options, figures: &[figures::Figure]) -> String {
    let mut text = bench::record::heading("Operations");
    writeln!(
        text,
        "Median of {} (upkeep, memory: one run); scale {} for load and cache, {} transactions before the crash.\n",
        options.repeats, options.scale, options.transactions
    )
    .expect("strings take writes");
    text += &figures::table(figures, &options.servers);
    for check in checks::all(options, figures) {
        write!(text, "\n- {check}").expect("strings take writes");
    }
    text
}
