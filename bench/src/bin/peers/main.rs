//! The benchmark table: Thalweg, PostgreSQL 15 and 18 and the canned-reply ceiling under the same pgbench
//! loads, interleaved in one run, repeated, as medians and ratios; recorded with machine and date.

mod asked;
mod load;
mod record;

use bench::options::{self, Words};
use bench::servers::{self, Peer, Places, ROOMY, Scratch};
use load::{Bench, Load, Run};
use std::process::ExitCode;

/// What the command line chose.
pub struct Options {
    seconds: u32,
    repeats: usize,
    clients: Vec<u32>,
    scale: u32,
    loads: Vec<String>,
    peers: Vec<String>,
    record: bool,
}

const USAGE: &str = "\
usage: peers [--seconds 5] [--repeats 3] [--clients 1,8,32,128] [--scale 10] [--no-record]
             [--loads select-prepared,tpcb-sync-prepared,…|default|all] [--peers thalweg,pg15,pg18,canned]";

fn options() -> Result<Options, String> {
    let mut options = Options {
        seconds: 5,
        repeats: 3,
        clients: vec![1, 8, 32, 128],
        scale: 10,
        loads: vec!["default".to_owned()],
        peers: ["thalweg", "pg15", "pg18", "canned"].map(str::to_owned).to_vec(),
        record: true,
    };
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--seconds" => options.seconds = words.number()?,
            "--repeats" => options.repeats = words.number()?,
            "--scale" => options.scale = words.number()?,
            "--loads" => options.loads = words.list()?,
            "--peers" => options.peers = words.list()?,
            "--clients" => options.clients = words.numbers()?,
            "--no-record" => options.record = false,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    options::end("peers", options().and_then(|o| run(&o)))
}

fn run(options: &Options) -> Result<(), String> {
    let loads = Load::chosen(&options.loads)?;
    let work = Scratch::new("bench")?;
    let mut peers = start_peers(options, work.path())?;
    for peer in &mut peers {
        peer.initialise(options.scale)?;
    }
    let bench = Bench::new(options.seconds, options.scale, work.path())?;
    let mut runs: Vec<Run> = Vec::new();
    let total = loads.len() * options.clients.len() * options.repeats * peers.len();
    for load in &loads {
        for &clients in &options.clients {
            for peer in &peers {
                bench.warm_up(load, peer, clients)?;
            }
            for repeat in 0..options.repeats {
                // Each comes after another one: what a server does behind the last run meets not always the same one.
                for i in 0..peers.len() {
                    let run = bench.run(load, &peers[(repeat + i) % peers.len()], clients)?;
                    eprint!("\r{:>4}/{total} {:<40}", runs.len() + 1, run.label());
                    runs.push(run);
                }
            }
            eprintln!();
            record::print_row(load, clients, &peers, &runs);
        }
    }
    for mut peer in peers {
        peer.stop();
    }
    drop(work);
    record::print_and_save(options, &loads, &runs)
}

fn start_peers(options: &Options, work: &std::path::Path) -> Result<Vec<Peer>, String> {
    let places = Places::of_checkout();
    let mut peers = Vec::new();
    for (i, name) in options.peers.iter().enumerate() {
        let port = 54_320 + i as u16;
        peers.push(servers::start(name, &places, work, port, ROOMY)?);
    }
    Ok(peers)
}
