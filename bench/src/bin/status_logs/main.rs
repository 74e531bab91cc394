//! The status logs' loads beside PostgreSQL 15 and 18: savepoints held open, lockers of rows beside a long
//! transaction, one hot row, a queue with SKIP LOCKED. Interleaved in one run, repeated, medians and ratios.

mod depth;
mod latencies;
mod load;
mod plan;
mod record;

use bench::options::{self, Words};
use bench::record::Growing;
use bench::servers::{Peer, Places, ROOMY, Scratch, Start};
use depth::Deep;
use load::{Load, Run};
use plan::Part;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// What the command line chose.
pub struct Options {
    seconds: u32,
    repeats: usize,
    clients: Vec<u32>,
    scale: u32,
    loads: Vec<String>,
    /// Numbers of savepoints of one transaction.
    depths: Vec<u32>,
    peers: Vec<String>,
    record: bool,
}

const USAGE: &str = "\
usage: status_logs [--loads whole|all|none|tpcb-savepoints,…] [--seconds 10] [--repeats 3] [--clients 1,8,32,64,128]
                   [--peers thalweg,thalweg-large,pg15,pg18,pg18-large] [--scale 10]
                   [--depths 12500,250000,1000000] [--no-record]
Without --loads (or with `whole`) everything is measured that there is, in 35 minutes: each load as long, as often and with
as many clients as it needs; --seconds, --repeats, --clients and --peers count for loads that are named. A server
called NAME-large has status-log pools of four times their default size.";

fn options(mut words: Words) -> Result<Options, String> {
    let mut options = Options {
        seconds: 10,
        repeats: 3,
        clients: vec![1, 8, 32, 64, 128],
        scale: 10,
        loads: vec!["whole".to_owned()],
        depths: vec![12_500, 250_000, 1_000_000],
        peers: ["thalweg", "pg15", "pg18"].map(str::to_owned).to_vec(),
        record: true,
    };
    while let Some(option) = words.option() {
        match option.as_str() {
            "--seconds" => options.seconds = words.number()?,
            "--repeats" => options.repeats = words.number::<NonZero<usize>>()?.get(),
            "--scale" => options.scale = words.number()?,
            "--loads" => options.loads = words.list()?,
            "--depths" => options.depths = words.numbers()?,
            "--peers" => options.peers = words.list()?,
            "--clients" => options.clients = words.numbers()?,
            "--no-record" => options.record = false,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    options::end("status_logs", options(Words::of_process(USAGE)).and_then(|o| run(&o)))
}

/// What the options name.
fn parts(options: &Options) -> Result<Vec<Part>, String> {
    let mut loads = Vec::new();
    for name in &options.loads {
        match name.as_str() {
            "whole" => return Ok(plan::whole()),
            "all" => loads.extend(Load::all()),
            "none" => {}
            name => loads.push(Load::called(name)?),
        }
    }
    Ok(vec![Part {
        loads,
        peers: options.peers.clone(),
        clients: options.clients.clone(),
        rounds: options.repeats,
        seconds: options.seconds,
    }])
}

fn run(options: &Options) -> Result<(), String> {
    let parts = parts(options)?;
    let work = Scratch::new("status-logs")?;
    let mut peers = start(&plan::peers(&parts), options.scale, work.path())?;
    let record = Growing::new("status_logs", "Status logs beside PostgreSQL", options.record);
    let mut runs: Vec<Run> = Vec::new();
    let mut deep: Vec<Deep> = Vec::new();
    measure(options, &parts, &peers, work.path(), &mut runs, &record)?;
    for &savepoints in &options.depths {
        for peer in peers.iter_mut().filter(|peer| depth::is_for(&peer.name, savepoints)) {
            deep.push(depth::run(peer, savepoints, work.path())?);
            record.save(&record::body(options, &parts, &runs, &deep))?;
        }
    }
    peers.iter_mut().for_each(Peer::stop);
    record.print(&record::body(options, &parts, &runs, &deep))
}

/// Starts the servers, each with pgbench's tables and those of the loads.
fn start(names: &[String], scale: u32, work: &Path) -> Result<Vec<Peer>, String> {
    let places = Places::of_checkout();
    let mut peers = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let settings = settings(name);
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let server = name.strip_suffix(LARGE).unwrap_or(name);
        let port = 54_340 + i as u16;
        let (places, settings) = (&places, &settings[..]);
        let mut peer = Start { server, name, places, work, port, settings, cores: None }.run()?;
        peer.initialise(scale)?;
        load::set_up(&peer)?;
        peers.push(peer);
    }
    Ok(peers)
}

/// All runs, the record written after each: a run that is broken off keeps what it has.
fn measure(
    options: &Options,
    parts: &[Part],
    peers: &[Peer],
    work: &Path,
    runs: &mut Vec<Run>,
    record: &Growing,
) -> Result<(), String> {
    let steps = plan::steps(parts);
    let (begun, expected_s) = (Instant::now(), plan::estimate_s(&steps));
    for (i, step) in steps.iter().enumerate() {
        let peer = peers.iter().find(|peer| peer.name == step.peer).expect("all were started");
        let run = step.load.run(peer, step.clients, step.seconds, options.scale, work)?;
        // As slow or fast against the estimate as until now.
        let left_s = plan::estimate_s(&steps[i + 1..]);
        let pace = begun.elapsed().as_secs_f64() / (expected_s - left_s);
        eprintln!(
            "[{} of {}, {:.1} min left] {} {} clients={} {:.0} tps, {:.1} µs",
            i + 1,
            steps.len(),
            (left_s * pace / 60.0).abs(),
            run.load,
            run.peer,
            run.clients,
            run.tps,
            run.cpu_us,
        );
        runs.push(run);
        record.save(&record::body(options, parts, runs, &[]))?;
    }
    Ok(())
}

/// What marks a server with larger pools in its name.
const LARGE: &str = "-large";

/// PostgreSQL 15 has no settings for these pools; 18 has, under the names that Thalweg has too. A cache that fills
/// itself again after a restart would be taken for the memory of the savepoints that are then measured.
fn settings(peer: &str) -> Vec<String> {
    let mut settings: Vec<String> = ROOMY.iter().map(|&s| s.to_owned()).collect();
    settings.push("synchronous_commit=off".to_owned());
    if peer.starts_with("thalweg") {
        settings.push("pg_prewarm.autoprewarm=off".to_owned());
    }
    if peer.ends_with(LARGE) {
        let defaults = [
            ("subtransaction_buffers", 128),
            ("transaction_buffers", 128),
            ("multixact_offset_buffers", 16),
            ("multixact_member_buffers", 32),
        ];
        settings.extend(defaults.map(|(name, pages)| format!("{name}={}", 4 * pages)));
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_repeated_at_least_once() {
        let words =
            |repeats: &str| Words::new(USAGE, vec!["--repeats".to_owned(), repeats.to_owned()]);
        assert_eq!(options(words("2")).map(|o| o.repeats), Ok(2));
        assert!(options(words("0")).is_err());
    }

    #[test]
    fn memory_after_a_restart_is_not_that_of_a_cache_filled_again() {
        let refilled = |peer| !settings(peer).iter().any(|s| s == "pg_prewarm.autoprewarm=off");
        assert!(!refilled("thalweg"));
        assert!(!refilled("thalweg-large"));
        assert!(refilled("pg15"), "it has no such setting until it loads a module for it");
    }
}
