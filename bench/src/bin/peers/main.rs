//! The benchmark table: Thalweg, PostgreSQL 15 and 18 and the canned-reply ceiling under the same pgbench
//! loads, interleaved in one run, repeated, as medians and ratios; recorded with machine and date.

mod load;
mod record;

use bench::servers::{self, Peer, ROOMY, Scratch};
use load::{Load, Run};
use std::path::PathBuf;
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
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        let number = |text: String| text.parse().map_err(|_| format!("'{text}' is no number"));
        let list = |text: String| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        match word.as_str() {
            "--seconds" => options.seconds = number(value()?)?,
            "--repeats" => options.repeats = number(value()?)? as usize,
            "--scale" => options.scale = number(value()?)?,
            "--loads" => options.loads = list(value()?),
            "--peers" => options.peers = list(value()?),
            "--clients" => {
                options.clients =
                    list(value()?).into_iter().map(number).collect::<Result<_, _>>()?;
            }
            "--no-record" => options.record = false,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    match options().and_then(|o| run(&o)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("peers: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let loads = Load::chosen(&options.loads)?;
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let work = Scratch::new("bench")?;
    let mut peers = start_peers(options, &root, work.path())?;
    for peer in &mut peers {
        peer.initialise(options.scale)?;
    }
    let mut runs: Vec<Run> = Vec::new();
    let total = loads.len() * options.clients.len() * options.repeats * peers.len();
    for load in &loads {
        for &clients in &options.clients {
            for _ in 0..options.repeats {
                for peer in &peers {
                    let run = load.run(peer, clients, options.seconds, options.scale)?;
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
    record::print_and_save(&root, options, &loads, &runs)
}

fn start_peers(
    options: &Options,
    root: &std::path::Path,
    work: &std::path::Path,
) -> Result<Vec<Peer>, String> {
    let mut peers = Vec::new();
    for (i, name) in options.peers.iter().enumerate() {
        let port = 54_320 + i as u16;
        peers.push(servers::start(name, root, work, port, ROOMY)?);
    }
    Ok(peers)
}
