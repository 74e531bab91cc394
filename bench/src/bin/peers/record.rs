//! The table on the terminal, and its record with machine and date.

use crate::Options;
use crate::asked;
use crate::load::{Load, Run};
use bench::record::table_head;
use bench::servers::Peer;
use std::fmt::Write;

/// Median of one measure over the repetitions.
pub fn median(
    runs: &[Run],
    load: &str,
    peer: &str,
    clients: u32,
    of: fn(&Run) -> f64,
) -> Option<f64> {
    let these = |r: &&Run| r.load == load && r.peer == peer && r.clients == clients;
    bench::record::median(runs.iter().filter(these).map(of))
}

/// The better PostgreSQL's throughput.
fn better_postgres(runs: &[Run], load: &str, clients: u32) -> Option<f64> {
    let tps = |peer| median(runs, load, peer, clients, |r| r.tps);
    [tps("pg15"), tps("pg18")].into_iter().flatten().reduce(f64::max)
}

/// Prints one load at one number of clients as soon as it is measured.
pub fn print_row(load: &Load, clients: u32, peers: &[Peer], runs: &[Run]) {
    let names: Vec<&str> = peers.iter().map(|p| p.name.as_str()).collect();
    println!("{}", row(&load.name, clients, &names, runs));
}

fn row(load: &str, clients: u32, peers: &[&str], runs: &[Run]) -> String {
    let mut line = format!("| {load} | {clients} |");
    for peer in peers {
        let of = |f| median(runs, load, peer, clients, f).unwrap_or(f64::NAN);
        let (tps, latency) = (of(|r| r.tps), of(|r| r.latency_ms));
        let (cpu, switches) = (of(|r| r.cpu_us), of(|r| r.switches));
        write!(line, " {tps:.0} / {latency:.2} ms / {cpu:.1} µs / {switches:.1} |")
            .expect("strings take writes");
    }
    let ours = median(runs, load, "thalweg", clients, |r| r.tps);
    let ratio = |other: Option<f64>| match (ours, other) {
        (Some(ours), Some(other)) => format!("{:.2}", ours / other),
        _ => "–".to_owned(),
    };
    let canned = median(runs, load, "canned", clients, |r| r.tps);
    let postgres = ratio(better_postgres(runs, load, clients));
    write!(line, " {postgres} | {} |", ratio(canned)).expect("strings take writes");
    line
}

/// Prints the whole table and, unless told not to, writes it to `bench/record/`.
pub fn print_and_save(options: &Options, loads: &[Load], runs: &[Run]) -> Result<(), String> {
    let peers: Vec<&str> = options.peers.iter().map(String::as_str).collect();
    let mut text = bench::record::heading("Beside PostgreSQL");
    let facts = format!(
        "scale {}, {} s a run, median of {}, interleaved, each load behind a checkpoint and a run that is not \
         measured, unix socket. Cells: transactions/s / average latency / server CPU per transaction (user and \
         kernel) / context switches of the machine per transaction; all without connecting.\n\n",
        options.scale, options.seconds, options.repeats,
    );
    text.push_str(&facts);
    let (front, back) = (["load", "clients"], ["× better PostgreSQL", "× canned"]);
    table_head(&mut text, front.iter().chain(&peers).chain(&back));
    for load in loads {
        for &clients in &options.clients {
            writeln!(text, "{}", row(&load.name, clients, &peers, runs))
                .expect("strings take writes");
        }
    }
    text.push_str(&asked::table(options, loads, runs));
    bench::record::print_and_save("peers", &text, options.record)
}
