//! The status logs' loads beside PostgreSQL 15 and 18: savepoints held open, lockers of rows beside a long
//! transaction, one hot row, a queue with SKIP LOCKED. Interleaved in one run, repeated, medians and ratios.

mod depth;
mod load;
mod record;

use bench::options::{self, Words};
use bench::servers::{self, Peer, Places, ROOMY, Scratch};
use depth::Deep;
use load::{Load, Run};
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;

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
    /// Pools of four times their default size.
    large: bool,
    record: bool,
}

const USAGE: &str = "\
usage: status_logs [--seconds 10] [--repeats 3] [--clients 1,8,32,64,128] [--scale 10] [--large] [--no-record]
                   [--loads tpcb-savepoints,…|all|none] [--depths 12500,50000,1000000] [--peers thalweg,pg15,pg18]";

fn options(mut words: Words) -> Result<Options, String> {
    let mut options = Options {
        seconds: 10,
        repeats: 3,
        clients: vec![1, 8, 32, 64, 128],
        scale: 10,
        loads: vec!["all".to_owned()],
        depths: vec![12_500, 50_000, 1_000_000],
        peers: ["thalweg", "pg15", "pg18"].map(str::to_owned).to_vec(),
        large: false,
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
            "--large" => options.large = true,
            "--no-record" => options.record = false,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    options::end("status_logs", options(Words::of_process(USAGE)).and_then(|o| run(&o)))
}

fn run(options: &Options) -> Result<(), String> {
    let loads = Load::chosen(&options.loads)?;
    let places = Places::of_checkout();
    let work = Scratch::new("status-logs")?;
    let mut peers = Vec::new();
    for (i, name) in options.peers.iter().enumerate() {
        let settings = settings(name, options.large);
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let mut peer = servers::start(name, &places, work.path(), 54_340 + i as u16, &settings)?;
        peer.initialise(options.scale)?;
        load::set_up(&peer)?;
        peers.push(peer);
    }
    let mut runs: Vec<Run> = Vec::new();
    for clients in load::all_clients(&loads, &options.clients) {
        measure(options, &loads, clients, &peers, work.path(), &mut runs)?;
    }
    let mut deep: Vec<Deep> = Vec::new();
    for &savepoints in &options.depths {
        for peer in peers.iter_mut().filter(|peer| depth::is_for(&peer.name, savepoints)) {
            deep.push(depth::run(peer, savepoints, work.path())?);
        }
    }
    peers.iter_mut().for_each(Peer::stop);
    drop(work);
    record::print_and_save(options, &loads, &runs, &deep)
}

/// Everything that is measured with so many clients, in rounds, so that a load's run has its control's beside it.
fn measure(
    options: &Options,
    loads: &[Load],
    clients: u32,
    peers: &[Peer],
    work: &Path,
    runs: &mut Vec<Run>,
) -> Result<(), String> {
    for _ in 0..options.repeats {
        for peer in peers {
            for load in
                loads.iter().filter(|load| load.clients(&options.clients).contains(&clients))
            {
                let run = load.run(peer, clients, options.seconds, options.scale, work)?;
                eprintln!("{} {} clients={} {:.0} tps", run.load, run.peer, run.clients, run.tps);
                runs.push(run);
            }
        }
    }
    Ok(())
}

/// PostgreSQL 15 has no settings for these pools; 18 has, under the names that Thalweg has too. A cache that fills
/// itself again after a restart would be taken for the memory of the savepoints that are then measured.
fn settings(peer: &str, large: bool) -> Vec<String> {
    let mut settings: Vec<String> = ROOMY.iter().map(|&s| s.to_owned()).collect();
    settings.push("synchronous_commit=off".to_owned());
    if peer == "thalweg" {
        settings.push("pg_prewarm.autoprewarm=off".to_owned());
    }
    if large && peer != "pg15" {
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
        let refilled =
            |peer| !settings(peer, false).iter().any(|s| s == "pg_prewarm.autoprewarm=off");
        assert!(!refilled("thalweg"));
        assert!(refilled("pg15"), "it has no such setting until it loads a module for it");
    }
}
