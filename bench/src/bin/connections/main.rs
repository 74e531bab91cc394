//! What ten thousand connections cost those that work, and what long queries cost short ones.

mod client;
mod crowd;

use bench::options::{self, Words};
use bench::record::{median, print_and_save};
use bench::servers::{self, Places, Scratch, resident_kib};
use client::Client;
use crowd::{ROWS, Work, work};
use std::fmt::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const USAGE: &str = "\
usage: connections [--connections 10000] [--active 64] [--readers 32] [--seconds 5] [--repeats 3] [--no-record]";

/// Attempts to connect beyond the limit, in each round.
const BEYOND: usize = 50;

/// Queries that keep a core busy for long, each in its own way.
const HEAVY: &[(&str, &str)] = &[
    ("nothing", ""),
    ("count", "SELECT count(*) FROM generate_series(1, 3000000) i WHERE i % 7 = 3"),
    ("sort", "SELECT i FROM generate_series(1, 400000) i ORDER BY i % 1013, i DESC LIMIT 1"),
    ("join", "SELECT count(*) FROM points a JOIN points b ON a.v = b.id WHERE a.id > b.v - 5"),
    ("group", "SELECT v % 5000, count(*), sum(id) FROM points GROUP BY 1 ORDER BY 2 LIMIT 1"),
    ("numeric", "SELECT sum(sqrt(i::numeric) * exp(1.5)) FROM generate_series(1, 20000) i"),
    ("text", "SELECT count(*) FROM points WHERE repeat(v::text, 20) ~ '(1|2|3)+9*4(5|6)7$'"),
    // Each session its own table: one would wait for the other otherwise.
    ("update", "UPDATE scratch# SET v = v + 1"),
];

/// The server under test.
struct Server {
    socket: PathBuf,
    pid: u32,
}

struct Options {
    connections: usize,
    active: usize,
    readers: usize,
    seconds: u64,
    repeats: usize,
    record: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        connections: 10_000,
        active: 64,
        readers: 32,
        seconds: 5,
        repeats: 3,
        record: true,
    };
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--connections" => options.connections = words.number::<NonZero<usize>>()?.get(),
            "--active" => options.active = words.number::<NonZero<usize>>()?.get(),
            "--readers" => options.readers = words.number::<NonZero<usize>>()?.get(),
            "--seconds" => options.seconds = words.number::<NonZero<u64>>()?.get(),
            "--repeats" => options.repeats = words.number::<NonZero<usize>>()?.get(),
            "--no-record" => options.record = false,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    options::end("connections", options().and_then(|o| run(&o)))
}

fn run(options: &Options) -> Result<(), String> {
    servers::raise_open_files();
    let work = Scratch::new("connections")?;
    let limit = format!("max_connections={}", options.connections);
    let settings = [&*limit, "shared_buffers=256MB"];
    let mut peer =
        servers::start("thalweg", &Places::of_checkout(), work.path(), 54_329, &settings)?;
    peer.wait_until_answering()?;
    let server = Server { socket: peer.socket(), pid: peer.pid() };
    prepare(&server)?;
    let mut text = bench::record::heading("Many connections, long queries");
    many(options, &server, &mut text)?;
    long(options, &server, &mut text)?;
    print_and_save("connections", &text, options.record)
}

fn prepare(server: &Server) -> Result<(), String> {
    let mut client = Client::connect(&server.socket)?;
    for sql in [
        "CREATE TABLE points (id int PRIMARY KEY, v int)".to_owned(),
        format!("INSERT INTO points SELECT i, i / 2 FROM generate_series(1, {ROWS}) i"),
        "VACUUM points".to_owned(),
    ] {
        client.query(&sql)?;
    }
    for number in 0..workers() {
        client.query(&format!("CREATE TABLE scratch{number} (id int PRIMARY KEY, v int)"))?;
        let rows = "SELECT i, i FROM generate_series(1, 20000) i";
        client.query(&format!("INSERT INTO scratch{number} {rows}"))?;
    }
    Ok(client.query("CHECKPOINT")?)
}

/// The active ones alone and among the idle, in turns.
fn many(options: &Options, server: &Server, text: &mut String) -> Result<(), String> {
    let Options { connections, active, .. } = *options;
    let time = Duration::from_secs(options.seconds);
    let (mut alone, mut among, mut kib) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.repeats {
        let mut clients = crowd::open(&server.socket, active)?;
        work(&mut clients, Duration::from_secs(1))?;
        alone.push(work(&mut clients, time)?.per_second);
        let before = resident_kib(server.pid)?;
        let idle = crowd::open(&server.socket, connections - active)?;
        let grown = resident_kib(server.pid)?.saturating_sub(before);
        kib.push(grown as f64 / idle.len() as f64);
        let refused = std::thread::scope(|scope| -> Result<_, String> {
            let beyond = scope.spawn(|| refused(server));
            among.push(work(&mut clients, time)?.per_second);
            Ok(beyond.join().expect("counting does not panic"))
        })?;
        if refused != BEYOND {
            return Err(format!("{refused} of {BEYOND} beyond the limit were refused with 53300"));
        }
        drop(idle);
    }
    // What later rounds add to what the first one took is kept memory used again.
    let kib = kib[0];
    let of = |values| median(values).expect("there is one round at least");
    let (alone, among) = (of(alone), of(among));
    let idle = connections - active;
    let verdict = |good: bool| if good { "met" } else { "MISSED" };
    writeln!(
        text,
        "Prepared point reads, median of {} runs of {} s in turns, unix socket.\n\n\
         | measure | result | wanted | |\n|---|---|---|---|\n\
         | {active} active alone, per second | {alone:.0} | | |\n\
         | {active} active among {idle} idle, per second | {among:.0} ({:.2}) | ≥ 0.90 | {} |\n\
         | resident memory per idle connection, KiB | {kib:.1} | < 100 | {} |\n\
         | {BEYOND} beyond the limit while the {active} work | 53300 each, no other error | | met |\n",
        options.repeats,
        options.seconds,
        among / alone,
        verdict(among >= 0.9 * alone),
        verdict(kib < 100.0),
    )
    .expect("strings take writes");
    Ok(())
}

/// How many of those that try to connect beyond the limit are told so.
fn refused(server: &Server) -> usize {
    let try_one = |_: &usize| match Client::connect(&server.socket) {
        Err(refusal) if refusal.code == "53300" => true,
        Err(other) => {
            eprintln!("beyond the limit: {}", String::from(other));
            false
        }
        Ok(_) => false,
    };
    (0..BEYOND).filter(try_one).count()
}

/// Short reads beside long queries, one on each worker.
fn long(options: &Options, server: &Server, text: &mut String) -> Result<(), String> {
    let mut readers = crowd::open(&server.socket, options.readers)?;
    let workers = workers();
    writeln!(
        text,
        "{} point readers beside {workers} sessions that run a long query again and again.\n\n\
         | beside | of these done | reads per second | p50 ms | p99 ms | p99.9 ms | slowest ms | p99 < 10 ms |\n\
         |---|---|---|---|---|---|---|---|",
        options.readers
    )
    .expect("strings take writes");
    for (name, sql) in HEAVY {
        let heavy = if sql.is_empty() { 0 } else { workers };
        let (work, done) = beside(server, heavy, sql, &mut readers, options.seconds)?;
        let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(|share| work.quantile_ms(share));
        let verdict = if p99 < 10.0 { "met" } else { "MISSED" };
        writeln!(
            text,
            "| {name} | {done} | {:.0} | {p50:.2} | {p99:.2} | {p999:.2} | {max:.2} | {verdict} |",
            work.per_second
        )
        .expect("strings take writes");
    }
    Ok(())
}

/// The short ones' work, and how many long queries were done in its time.
fn beside(
    server: &Server,
    heavy: usize,
    sql: &str,
    readers: &mut [Client],
    seconds: u64,
) -> Result<(Work, usize), String> {
    let stop = AtomicBool::new(false);
    let mut sessions =
        (0..heavy).map(|_| Client::connect(&server.socket)).collect::<Result<Vec<Client>, _>>()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = sessions
            .iter_mut()
            .enumerate()
            .map(|(number, session)| {
                let (stop, sql) = (&stop, sql.replace('#', &number.to_string()));
                scope.spawn(move || {
                    let mut done = 0;
                    loop {
                        session.query(&sql).map_err(String::from)?;
                        if stop.load(Relaxed) {
                            return Ok::<usize, String>(done);
                        }
                        done += 1;
                    }
                })
            })
            .collect();
        let work = work(readers, Duration::from_secs(seconds)).map_err(String::from);
        stop.store(true, Relaxed);
        let mut done = 0;
        for thread in threads {
            done += thread.join().expect("asking does not panic")?;
        }
        Ok((work?, done))
    })
}

/// How many workers a server has by default.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}
