//! The status logs' loads beside PostgreSQL 15 and 18: savepoints held open, lockers of rows beside a long
//! transaction, one hot row, a queue with SKIP LOCKED. Interleaved in one run, repeated, medians and ratios.

mod load;
mod record;

use bench::servers::{self, Peer, ROOMY, Scratch};
use load::{Load, Run};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the command line chose.
pub struct Options {
    seconds: u32,
    repeats: usize,
    clients: Vec<u32>,
    scale: u32,
    loads: Vec<String>,
    peers: Vec<String>,
    /// Pools of four times their default size.
    large: bool,
    record: bool,
}

const USAGE: &str = "\
usage: status_logs [--seconds 10] [--repeats 3] [--clients 1,8,32,64,128] [--scale 10] [--large] [--no-record]
                   [--loads savepoints,control,…|all] [--peers thalweg,pg15,pg18]";

fn options() -> Result<Options, String> {
    let mut options = Options {
        seconds: 10,
        repeats: 3,
        clients: vec![1, 8, 32, 64, 128],
        scale: 10,
        loads: vec!["all".to_owned()],
        peers: ["thalweg", "pg15", "pg18"].map(str::to_owned).to_vec(),
        large: false,
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
            "--large" => options.large = true,
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
            eprintln!("status_logs: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let loads = Load::chosen(&options.loads)?;
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let work = Scratch::new("status-logs")?;
    let mut peers = Vec::new();
    for (i, name) in options.peers.iter().enumerate() {
        let settings = settings(name, options.large);
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let mut peer = servers::start(name, &root, work.path(), 54_340 + i as u16, &settings)?;
        peer.initialise(options.scale)?;
        load::set_up(&peer)?;
        peers.push(peer);
    }
    let mut runs: Vec<Run> = Vec::new();
    for load in &loads {
        for &clients in load.clients(&options.clients) {
            measure(options, load, clients, &peers, work.path(), &mut runs)?;
        }
    }
    peers.iter_mut().for_each(Peer::stop);
    drop(work);
    record::print_and_save(&root, options, &loads, &runs)
}

fn measure(
    options: &Options,
    load: &Load,
    clients: u32,
    peers: &[Peer],
    work: &Path,
    runs: &mut Vec<Run>,
) -> Result<(), String> {
    for _ in 0..options.repeats {
        for peer in peers {
            let run = load.run(peer, clients, options.seconds, options.scale, work)?;
            eprintln!("{} {} clients={} {:.0} tps", run.load, run.peer, run.clients, run.tps);
            runs.push(run);
        }
    }
    Ok(())
}

/// PostgreSQL 15 has no settings for these pools; 18 has, under the names that Thalweg has too.
fn settings(peer: &str, large: bool) -> Vec<String> {
    let mut settings: Vec<String> = ROOMY.iter().map(|&s| s.to_owned()).collect();
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
