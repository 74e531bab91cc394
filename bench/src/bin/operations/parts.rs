//! The parts: each measures one server, on a fresh directory, once.

use crate::{Bench, OURS, Options};
use bench::figures::Figure;
use bench::pgbench::number_after;
use bench::servers::{Peer, output, resident_kib};
use std::time::{Duration, Instant};

/// Measures a server and adds figures.
pub type Part = fn(&Options, &str, &mut Vec<Figure>) -> Result<(), String>;

/// No checkpoint comes by itself.
const NO_CHECKPOINT: &[&str] =
    &["shared_buffers=512MB", "max_wal_size=64GB", "checkpoint_timeout=1d", "max_connections=100"];
/// A cache that holds a small part of the data.
const SMALL_CACHE: &[&str] = &["shared_buffers=64MB", "max_wal_size=4GB", "max_connections=100"];
/// A fortieth of what [`PACED_SCALE`] makes, and no cleaning in the background.
const TIGHT: &[&str] =
    &["shared_buffers=8MB", "max_wal_size=1GB", "max_connections=100", "autovacuum=off"];
const PACED_SCALE: u32 = 20;
/// Transactions that paced clients start a second, as in the lab's s3-latency.
const PACE: u32 = 125;
const CLIENTS: u32 = 32;
/// pgbench's scale where it doesn't matter.
const SCALE: u32 = 10;
/// How often memory is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// What loading took, by name.
pub fn loaded(options: &Options) -> String {
    format!("pgbench -i -s {}", options.scale)
}

/// What recovery took, by name.
pub fn recovered(options: &Options) -> String {
    format!("recovery after {} transactions", options.transactions)
}

/// What a start after an orderly stop took, by name.
pub const RESTARTED: &str = "clean restart";

/// Memory while TPC-B runs, by name.
pub const RESIDENT_EARLY: &str = "resident after 1 minute of TPC-B";

/// The same at the end.
pub fn resident_late(options: &Options) -> String {
    format!("resident after {} minutes", options.minutes)
}

/// `pgbench -i`, all steps.
pub fn load(options: &Options, server: &str, figures: &mut Vec<Figure>) -> Result<(), String> {
    let mut bench = Bench::new(server, bench::servers::ROOMY)?;
    let begun = Instant::now();
    initialise(&bench.peer, options.scale)?;
    figures.push(Figure::new(loaded(options), server, begun.elapsed().as_secs_f64(), "s"));
    bench.peer.stop();
    Ok(())
}

/// TPC-B on data that the cache has no room for.
pub fn cache(options: &Options, server: &str, figures: &mut Vec<Figure>) -> Result<(), String> {
    let mut bench = Bench::new(server, SMALL_CACHE)?;
    initialise(&bench.peer, options.scale)?;
    bench.peer.sql("checkpoint")?;
    for (load, script) in [("reads", "-S"), ("TPC-B", "-btpcb-like")] {
        let seconds = options.seconds.to_string();
        let text = pgbench(&bench.peer, "on", &[script, "-T", &seconds])?;
        let what = format!("64 MB cache, scale {}, {load}, {CLIENTS} clients", options.scale);
        figures.push(Figure::new(what, server, figure_after(&text, "tps = ")?, "transactions/s"));
    }
    sums_agree(&bench.peer)?;
    bench.peer.stop();
    Ok(())
}

/// A crash long after the last checkpoint, and a clean restart after that.
pub fn recovery(options: &Options, server: &str, figures: &mut Vec<Figure>) -> Result<(), String> {
    let mut bench = Bench::new(server, NO_CHECKPOINT)?;
    let peer = &mut bench.peer;
    initialise(peer, SCALE)?;
    peer.sql("checkpoint")?;
    let each = options.transactions.div_ceil(CLIENTS).to_string();
    pgbench(peer, "off", &["-btpcb-like", "-t", &each])?;
    // What was acknowledged without a promise becomes one.
    peer.sql("set synchronous_commit = on; create table marker (i int)")?;
    let rows = peer.value("select count(*) from pgbench_history")?;
    peer.kill()?;
    let took = peer.restart()?.as_secs_f64();
    figures.push(Figure::new(recovered(options), server, took, "s"));
    if peer.value("select count(*) from pgbench_history")? != rows {
        return Err(format!("{server} lost rows in the crash"));
    }
    sums_agree(peer)?;
    let begun = Instant::now();
    peer.stop();
    figures.push(Figure::new(
        "clean shutdown after recovery",
        server,
        begun.elapsed().as_secs_f64(),
        "s",
    ));
    let took = peer.restart()?.as_secs_f64();
    figures.push(Figure::new(RESTARTED, server, took, "s"));
    peer.stop();
    Ok(())
}

/// The policy by which PostgreSQL replaces pages.
pub const CLOCK: &str = "clock";
/// What `buffer_replacement` can be: PostgreSQL's, the seed's, the default.
pub const POLICIES: [&str; 3] = [CLOCK, "clock_lruk", "probation"];

/// What was done to the accounts before.
fn paced(options: &Options, policy: &str) -> String {
    format!("{PACE} updates a second for {} s, {policy}", options.paced_seconds)
}

/// What a VACUUM took, by name.
pub fn vacuum_after(options: &Options, policy: &str) -> String {
    format!("VACUUM after {}", paced(options, policy))
}

/// VACUUM of the accounts after paced clients have changed some of them, nobody having cleaned before. Of Thalweg with
/// each policy of replacement; PostgreSQL beside the one that is its own.
pub fn vacuum(options: &Options, server: &str, figures: &mut Vec<Figure>) -> Result<(), String> {
    for policy in POLICIES {
        let ours = server == OURS;
        if !ours && policy != CLOCK {
            continue;
        }
        let setting = format!("buffer_replacement={policy}");
        let settings: Vec<&str> = TIGHT.iter().copied().chain(ours.then_some(&*setting)).collect();
        let mut bench = Bench::new(server, &settings)?;
        let peer = &bench.peer;
        let mut init = peer.client("pgbench");
        init.args(["-i", "-q", "--unlogged-tables", "-s", &PACED_SCALE.to_string()]);
        output(&mut init)?;
        peer.sql("checkpoint")?;
        let (rate, seconds) = (PACE.to_string(), options.paced_seconds.to_string());
        let text = pgbench(peer, "off", &["-btpcb-like", "-R", &rate, "-T", &seconds])?;
        let done = figure_after(&text, "number of transactions actually processed: ")?;
        let changed = format!("changed by {}", paced(options, policy));
        figures.push(Figure::new(changed, server, done, "rows"));
        let begun = Instant::now();
        peer.sql("vacuum (index_cleanup on) pgbench_accounts")?;
        let took = begun.elapsed().as_secs_f64();
        figures.push(Figure::new(vacuum_after(options, policy), server, took, "s"));
        bench.peer.stop();
    }
    Ok(())
}

/// TPC-B for minutes: resident memory after the first of them, and at the end.
pub fn memory(options: &Options, server: &str, figures: &mut Vec<Figure>) -> Result<(), String> {
    let mut bench = Bench::new(server, &["shared_buffers=128MB", "max_wal_size=1GB"])?;
    let peer = &bench.peer;
    initialise(peer, SCALE)?;
    let seconds = (options.minutes * 60).to_string();
    let (first, last) = std::thread::scope(|scope| -> Result<_, String> {
        let run = scope.spawn(|| pgbench(peer, "on", &["-btpcb-like", "-T", &seconds]));
        let begun = Instant::now();
        let (mut first, mut last) = (None, 0.0);
        while !run.is_finished() {
            std::thread::sleep(LOOK);
            last = resident_kib(peer.pid())? as f64 / 1024.0;
            if begun.elapsed() >= Duration::from_secs(60) {
                first.get_or_insert(last);
            }
        }
        run.join().map_err(|_| "the run ended in a panic")??;
        Ok((first.unwrap_or(last), last))
    })?;
    figures.push(Figure::new(RESIDENT_EARLY, server, first, "MiB"));
    figures.push(Figure::new(resident_late(options), server, last, "MiB"));
    bench.peer.stop();
    Ok(())
}

fn initialise(peer: &Peer, scale: u32) -> Result<(), String> {
    output(peer.client("pgbench").args(["-i", "-q", "-s", &scale.to_string()])).map(drop)
}

/// A run of pgbench; what it printed. A failed transaction is an error.
pub fn pgbench(peer: &Peer, synchronous_commit: &str, args: &[&str]) -> Result<String, String> {
    let mut command = peer.client("pgbench");
    command.args(["-n", "-M", "prepared", "-c", &CLIENTS.to_string(), "-j", "2"]).args(args);
    command.env("PGOPTIONS", format!("-c synchronous_commit={synchronous_commit}"));
    let text = output(&mut command)?;
    if figure_after(&text, "number of failed transactions: ")? > 0.0 {
        return Err(format!("{}: failed transactions: {text}", peer.name));
    }
    Ok(text)
}

pub fn figure_after(text: &str, label: &str) -> Result<f64, String> {
    number_after(text, label).ok_or_else(|| format!("no '{label}' in: {text}"))
}

/// The four sums of TPC-B.
fn sums_agree(peer: &Peer) -> Result<(), String> {
    let sums = peer.value(
        "select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from pgbench_tellers), \
         (select sum(bbalance) from pgbench_branches), \
         (select coalesce(sum(delta), 0) from pgbench_history)",
    )?;
    let mut parts = sums.split('|');
    let first = parts.next();
    match parts.all(|part| Some(part) == first) {
        true => Ok(()),
        false => Err(format!("{}: the sums differ: {sums}", peer.name)),
    }
}
