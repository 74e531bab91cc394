//! TPC-B in process, through the embedding API with prepared statements: no sockets, no client, each session on a thread
//! of its own, so that what is left is the engine. Transactions per second and processor time and context switches per
//! transaction, asynchronous and synchronous commits.
//!
//! Built with a feature of the laboratory it measures another form of the log's insertion (`crates/storage/Cargo.toml`),
//! and the name of what was built leads every line; each form is a program of its own:
//!
//! ```text
//! cargo build --release --locked -p bench --bin embedded
//! for f in lab-wal-packed lab-wal-64 lab-wal-256 lab-wal-locked; do
//!     cargo build --release --locked -p bench --bin embedded --features $f --target-dir target/$f
//! done
//! for round in 1 2 3 4 5; do for f in . lab-wal-packed lab-wal-64 lab-wal-256 lab-wal-locked; do
//!     target/$f/release/embedded --rounds 1; done; done
//! ```

use bench::options::{self, Words};
use bench::record::median;
use bench::servers::Scratch;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use thalweg::{Config, Connection, Database};

const USAGE: &str = "\
usage: embedded [--sessions 32,80] [--seconds 5] [--rounds 3] [--scale 10] [--commit off,on] [--data DIRECTORY]
                [--set NAME=VALUE]…";
const ACCOUNTS: u32 = 100_000;
const TELLERS: u32 = 10;
/// The parser recurses on the thread's own stack.
const STACK_BYTES: usize = 8 << 20;
/// Fillers of pgbench's lengths.
const TABLES: &str = "
    create table branches (bid int primary key, bbalance int, filler char(88));
    create table tellers (tid int primary key, bid int, tbalance int, filler char(84));
    create table accounts (aid int primary key, bid int, abalance int, filler char(84));
    create table history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))";
const STATEMENTS: [(&str, &str); 7] = [
    ("begin", "begin"),
    ("account", "update accounts set abalance = abalance + $1 where aid = $2"),
    ("look", "select abalance from accounts where aid = $1"),
    ("teller", "update tellers set tbalance = tbalance + $1 where tid = $2"),
    ("branch", "update branches set bbalance = bbalance + $1 where bid = $2"),
    (
        "row",
        "insert into history (tid, bid, aid, delta, mtime) values ($1, $2, $3, $4, current_timestamp)",
    ),
    ("end", "commit"),
];

struct Options {
    sessions: Vec<usize>,
    seconds: u64,
    rounds: usize,
    scale: u32,
    commits: Vec<String>,
    data: Option<PathBuf>,
    settings: Vec<String>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        sessions: vec![32, 80],
        seconds: 5,
        rounds: 3,
        scale: 10,
        commits: vec!["off".to_owned(), "on".to_owned()],
        data: None,
        settings: Vec::new(),
    };
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--sessions" => options.sessions = words.numbers()?,
            "--seconds" => options.seconds = words.number()?,
            "--rounds" => options.rounds = words.number()?,
            "--scale" => options.scale = words.number()?,
            "--commit" => options.commits = words.list()?,
            "--data" => options.data = Some(words.value()?.into()),
            "--set" => options.settings.push(words.value()?),
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

/// Which form of the log's insertion this was built with.
fn form() -> &'static str {
    match () {
        () if cfg!(feature = "lab-wal-locked") => "locked reservation",
        () if cfg!(feature = "lab-wal-packed") => "reservation, packed",
        () if cfg!(feature = "lab-wal-64") => "reservation, 64",
        () if cfg!(feature = "lab-wal-256") => "reservation, 256",
        () => "reservation, 128",
    }
}

/// What a run used: seconds of processor time, context switches, transactions, seconds.
#[derive(Clone, Copy)]
struct Used {
    cpu_s: f64,
    switches: f64,
    transactions: f64,
    took_s: f64,
}

/// Processor time of this process, user and kernel, in seconds, and its context switches.
fn used_so_far() -> (f64, f64) {
    // SAFETY: all zeros is a value of this structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is ours and outlives the call, which fills it.
    let done = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    assert_eq!(done, 0, "a process may ask what it used");
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    (cpu_s, (usage.ru_nvcsw + usage.ru_nivcsw) as f64)
}

fn said(error: thalweg::SqlError) -> String {
    error.to_string()
}

/// Makes the tables as `pgbench -i` does.
fn fill(database: &Database, scale: u32) -> Result<(), String> {
    let mut connection = database.connect("postgres", "me").map_err(said)?;
    let (tellers, accounts) = (scale * TELLERS, scale * ACCOUNTS);
    for text in [
        TABLES.to_owned(),
        format!("insert into branches select g, 0, '' from generate_series(1, {scale}) g"),
        format!(
            "insert into tellers select g, (g - 1) / {TELLERS} + 1, 0, '' from generate_series(1, {tellers}) g"
        ),
        format!(
            "insert into accounts select g, (g - 1) / {ACCOUNTS} + 1, 0, '' from generate_series(1, {accounts}) g"
        ),
        "vacuum analyze".to_owned(),
        "checkpoint".to_owned(),
    ] {
        connection.query(&text).map_err(|e| format!("'{text}': {e}"))?;
    }
    Ok(())
}

/// One transaction of TPC-B.
fn transaction(
    connection: &mut Connection,
    rng: &mut fastrand::Rng,
    scale: u32,
) -> Result<(), thalweg::SqlError> {
    let aid = rng.u32(1..=scale * ACCOUNTS).to_string();
    let tid = rng.u32(1..=scale * TELLERS).to_string();
    let bid = rng.u32(1..=scale).to_string();
    let delta = rng.i32(-5000..=5000).to_string();
    let [aid, tid, bid, delta] = [&aid, &tid, &bid, &delta].map(|text| Some(text.as_str()));
    connection.execute("begin", &[])?;
    connection.execute("account", &[delta, aid])?;
    connection.execute("look", &[aid])?;
    connection.execute("teller", &[delta, tid])?;
    connection.execute("branch", &[delta, bid])?;
    connection.execute("row", &[tid, bid, aid, delta])?;
    connection.execute("end", &[]).map(drop)
}

/// A connection with everything prepared, and used once.
fn prepared<'d>(
    database: &'d Database,
    commit: &str,
    mut once: impl FnMut(&mut Connection<'d>) -> Result<(), thalweg::SqlError>,
) -> Result<Connection<'d>, thalweg::SqlError> {
    let mut connection = database.connect("postgres", "me")?;
    connection.query(&format!("set synchronous_commit = {commit}"))?;
    for (name, text) in STATEMENTS {
        connection.prepare(name, text)?;
    }
    once(&mut connection)?;
    Ok(connection)
}

/// One session until it is told to end: how many transactions it got through.
fn session(
    database: &Database,
    commit: &str,
    seed: u64,
    scale: u32,
    start: &Barrier,
    ended: &AtomicBool,
) -> Result<usize, String> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let prepared = prepared(database, commit, |c| transaction(c, &mut rng, scale));
    // The others wait for one that failed, too.
    start.wait();
    let mut connection = prepared.map_err(said)?;
    let mut done = 0;
    // Relaxed: when exactly it ends does not matter.
    while !ended.load(Relaxed) {
        transaction(&mut connection, &mut rng, scale).map_err(said)?;
        done += 1;
    }
    Ok(done)
}

/// One run of so many sessions.
fn run(
    database: &Database,
    sessions: usize,
    commit: &str,
    options: &Options,
) -> Result<Used, String> {
    let mut connection = database.connect("postgres", "me").map_err(said)?;
    connection.query("truncate history; checkpoint").map_err(said)?;
    let (start, ended) = (Barrier::new(sessions + 1), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let work = |seed| {
            let (start, ended) = (&start, &ended);
            move || session(database, commit, seed, options.scale, start, ended)
        };
        let mut working = Vec::new();
        for seed in 0..sessions {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            working.push(thread.spawn_scoped(scope, work(seed as u64)).map_err(|e| e.to_string())?);
        }
        start.wait();
        let (begun, before) = (Instant::now(), used_so_far());
        std::thread::sleep(Duration::from_secs(options.seconds));
        // Relaxed: as above.
        ended.store(true, Relaxed);
        let mut transactions = 0.0;
        for session in working {
            transactions += session.join().map_err(|_| "a session panicked")?? as f64;
        }
        let (took_s, after) = (begun.elapsed().as_secs_f64(), used_so_far());
        Ok(Used { cpu_s: after.0 - before.0, switches: after.1 - before.1, transactions, took_s })
    })
}

/// The middle of what runs made of something.
fn middle(runs: &[Used], of: impl Fn(&Used) -> f64) -> f64 {
    median(runs.iter().map(of)).expect("there is a round")
}

fn measure() -> Result<(), String> {
    let options = options()?;
    let scratch = Scratch::new("embedded")?;
    let data = options.data.clone().unwrap_or_else(|| scratch.path().join("data"));
    let mut config = Config::new();
    let roomy = bench::servers::ROOMY.iter().map(|&setting| setting.to_owned());
    for setting in roomy.chain(options.settings.iter().cloned()) {
        let (name, value) = setting.split_once('=').ok_or("a setting is NAME=VALUE")?;
        config.set(name, value).map_err(|e| e.to_string())?;
    }
    let database = Database::open(&data, "me", &config).map_err(|e| e.to_string())?;
    fill(&database, options.scale)?;
    for commit in &options.commits {
        for &sessions in &options.sessions {
            let runs = (0..options.rounds)
                .map(|_| run(&database, sessions, commit, &options))
                .collect::<Result<Vec<Used>, String>>()?;
            let tps = middle(&runs, |run| run.transactions / run.took_s);
            let cpu_us = middle(&runs, |run| run.cpu_s * 1e6 / run.transactions);
            let switches = middle(&runs, |run| run.switches / run.transactions);
            let name = format!("{}, synchronous_commit {commit}", form());
            let threads = if sessions == 1 { "thread" } else { "threads" };
            let each_ns = sessions as f64 * 1e9 / tps;
            println!(
                "{name:<44} {sessions:3} {threads} {each_ns:10.0} ns  {tps:8.0} a second  {cpu_us:7.1} µs of processor  {switches:6.2} switches"
            );
        }
    }
    database.close().map_err(|e| e.to_string())
}

fn main() -> ExitCode {
    options::end("embedded", measure())
}
