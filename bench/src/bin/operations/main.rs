//! What operators wait for: loading, data larger than the cache, recovery after a crash, a clean restart, VACUUM after a
//! paced run, and whether memory grows; Thalweg beside PostgreSQL, one after the other in one run, repeated.

mod parts;

use bench::options::{self, Words};
use bench::record::{median, print_and_save, table_head};
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
    /// Length of the part `memory`.
    minutes: u32,
    record: bool,
}

const USAGE: &str = "\
usage: operations [--parts load,cache,recovery,vacuum,memory] [--servers thalweg,pg15] [--repeats 3] [--scale 100]
                  [--transactions 1000000] [--seconds 20] [--paced-seconds 60] [--minutes 10]
                  [--no-record]";

/// One measured figure.
pub struct Figure {
    what: String,
    server: String,
    value: f64,
    unit: &'static str,
}

fn options() -> Result<Options, String> {
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut options = Options {
        parts: list(&["load", "cache", "recovery", "vacuum", "memory"]),
        servers: list(&["thalweg", "pg15"]),
        repeats: 3,
        scale: 100,
        transactions: 1_000_000,
        seconds: 20,
        paced_seconds: 60,
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
            "memory" => (parts::memory, 1),
            other => return Err(format!("no part is called '{other}'\n{USAGE}")),
        };
        for _ in 0..repeats {
            for server in &options.servers {
                let before = figures.len();
                measure(options, server, &mut figures)?;
                for figure in &figures[before..] {
                    eprintln!(
                        "{}: {}: {} {}",
                        figure.server, figure.what, figure.value, figure.unit
                    );
                }
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

/// The medians: one line for each figure, one column for each server.
fn table(options: &Options, figures: &[Figure]) -> String {
    let mut text = bench::record::heading("Operations");
    writeln!(
        text,
        "Median of {} (memory: one run); scale {} for load and cache, {} transactions before the crash.\n",
        options.repeats, options.scale, options.transactions
    )
    .expect("strings take writes");
    let servers = options.servers.iter().map(String::as_str);
    table_head(&mut text, [""].into_iter().chain(servers));
    let mut done: Vec<&str> = Vec::new();
    for figure in figures {
        if done.contains(&figure.what.as_str()) {
            continue;
        }
        done.push(&figure.what);
        write!(text, "| {}, {} |", figure.what, figure.unit).expect("strings take writes");
        for server in &options.servers {
            let these = |f: &&Figure| f.what == figure.what && f.server == *server;
            match median(figures.iter().filter(these).map(|f| f.value)) {
                Some(median) => write!(text, " {median:.2} |"),
                // It has no such thing.
                None => write!(text, " – |"),
            }
            .expect("strings take writes");
        }
        text.push('\n');
    }
    text
}
