//! Indexes beside PostgreSQL's: how long builds take and how large they are, and what becomes of their size while rows
//! come and go for minutes; the same tables, settings and memory for all servers, repeated.

mod build;
mod churn;

use bench::figures::{self, Figure};
use bench::options::{self, Words};
use bench::record::{heading, print_and_save};
use bench::servers::{self, Peer, Places};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// What the command line chose.
pub struct Options {
    parts: Vec<String>,
    servers: Vec<String>,
    repeats: usize,
    /// Of the table whose indexes are built.
    rows: u64,
    /// `maintenance_work_mem` of all servers.
    memory: String,
    /// Of the table whose rows come and go: so many are there at a time.
    churn_rows: u64,
    clients: u32,
    /// Rows that come and go a second, so that all servers see the same.
    rate: u32,
    minutes: f64,
    record: bool,
}

const USAGE: &str = "\
usage: indexes [--parts build,churn] [--servers thalweg,pg15,pg18] [--repeats 3] [--rows 10000000] [--memory 64MB]
               [--churn-rows 1000000] [--clients 8] [--rate 5000] [--minutes 10] [--no-record]";

/// Server under test; all others stand beside it.
const OURS: &str = "thalweg";

fn options() -> Result<Options, String> {
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut options = Options {
        parts: list(&["build", "churn"]),
        servers: list(&[OURS, "pg15", "pg18"]),
        repeats: 3,
        rows: 10_000_000,
        memory: "64MB".to_owned(),
        churn_rows: 1_000_000,
        clients: 8,
        rate: 5000,
        minutes: 10.0,
        record: true,
    };
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--parts" => options.parts = words.list()?,
            "--servers" => options.servers = words.list()?,
            "--repeats" => options.repeats = words.number()?,
            "--rows" => options.rows = words.number()?,
            "--memory" => options.memory = words.value()?,
            "--churn-rows" => options.churn_rows = words.number()?,
            "--clients" => options.clients = words.number()?,
            "--rate" => options.rate = words.number()?,
            "--minutes" => options.minutes = words.number()?,
            "--no-record" => options.record = false,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    options::end("indexes", options().and_then(|o| run(&o)))
}

fn run(options: &Options) -> Result<(), String> {
    let mut text = heading("Indexes");
    for part in &options.parts {
        let (said, figures, checks) = match part.as_str() {
            "build" => {
                let figures = build::measure(options)?;
                let checks = build::checks(options, &figures);
                (build::about(options), figures, checks)
            }
            "churn" => {
                let figures = churn::measure(options)?;
                let checks = churn::checks(&figures);
                (churn::about(options), figures, checks)
            }
            other => return Err(format!("no part is called '{other}'\n{USAGE}")),
        };
        let table = figures::table(&figures, &options.servers);
        writeln!(text, "{said}\n\n{table}").expect("strings take writes");
        for check in checks {
            writeln!(text, "- {check}").expect("strings take writes");
        }
        text.push('\n');
    }
    print_and_save("indexes", text.trim_end(), options.record)
}

/// A server of this name on a fresh directory under `work`, answering.
fn started(
    name: &str,
    work: &Path,
    port: u16,
    options: &Options,
    settings: &[&str],
) -> Result<Peer, String> {
    let memory = format!("maintenance_work_mem={}", options.memory);
    let settings = [settings, &[memory.as_str()]].concat();
    let mut peer = servers::start(name, &Places::of_checkout(), work, port, &settings)?;
    peer.wait_until_answering()?;
    Ok(peer)
}

/// MiB of an index.
fn size_mib(peer: &Peer, index: &str) -> Result<f64, String> {
    let bytes = peer.value(&format!("select pg_relation_size('{index}')"))?;
    let bytes: f64 = bytes.parse().map_err(|_| format!("a strange size of {index}: '{bytes}'"))?;
    Ok(bytes / f64::from(1 << 20))
}

/// A figure of ours over the least of the others, if there are some.
fn over_others(options: &Options, figures: &[Figure], what: &str) -> Option<f64> {
    let ours = figures::median_of(figures, what, OURS)?;
    Some(ours / figures::least_of_others(figures, what, &options.servers, OURS)?)
}
