//! The table on the terminal, and its record with machine and date.

use crate::Options;
use crate::depth::{self, Deep};
use crate::load::{Load, Run};
use bench::record::table_head;
use std::fmt::Write;

fn median(runs: &[Run], load: &str, peer: &str, clients: u32, of: fn(&Run) -> f64) -> Option<f64> {
    let these = |r: &&Run| r.load == load && r.peer == peer && r.clients == clients;
    bench::record::median(runs.iter().filter(these).map(of))
}

fn row(options: &Options, load: &str, clients: u32, runs: &[Run]) -> String {
    let mut line = format!("| {load} | {clients} |");
    let of = |peer: &str, f| median(runs, load, peer, clients, f);
    for peer in &options.peers {
        let (tps, middle) = (of(peer, |r| r.tps), of(peer, |r| r.median_ms));
        let longest = of(peer, |r| r.longest_ms);
        let [tps, middle, longest] = [tps, middle, longest].map(|x| x.unwrap_or(f64::NAN));
        write!(line, " {tps:.0} / {middle:.2} ms / {longest:.0} ms |")
            .expect("strings take writes");
    }
    let tps = |peer| of(peer, |r| r.tps);
    for other in ["pg15", "pg18"] {
        let ratio = tps("thalweg").zip(tps(other)).map(|(ours, other)| ours / other);
        let ratio = ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        write!(line, " {ratio} |").expect("strings take writes");
    }
    line
}

/// What the savepoints beside cost: each run over its control's of the same round.
fn write_pairs(text: &mut String, options: &Options, loads: &[Load], runs: &[Run]) {
    let pairs = loads.iter().filter_map(|load| Some((load, load.control?)));
    let pairs: Vec<_> = pairs.filter(|(_, name)| loads.iter().any(|l| l.name == *name)).collect();
    if pairs.is_empty() {
        return;
    }
    text.push_str(
        "\nThroughput beside savepoints over that beside the control, in pairs of one round: ",
    );
    text.push_str("median (least to most).\n\n");
    let columns = ["load", "clients"].into_iter();
    table_head(text, columns.chain(options.peers.iter().map(String::as_str)));
    for (load, control) in pairs {
        for &clients in load.clients(&options.clients) {
            write!(text, "| {} | {clients} |", load.name).expect("strings take writes");
            for peer in &options.peers {
                let of = |name: &str| -> Vec<f64> {
                    let is = |r: &&Run| r.load == name && r.peer == *peer && r.clients == clients;
                    runs.iter().filter(is).map(|r| r.tps).collect()
                };
                let (with, without) = (of(load.name), of(control));
                let mut ratios: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a / b).collect();
                ratios.sort_by(f64::total_cmp);
                let [least, middle, most] =
                    [0, ratios.len() / 2, ratios.len() - 1].map(|i| ratios[i]);
                write!(text, " {middle:.2} ({least:.2}–{most:.2}) |").expect("strings take writes");
            }
            text.push('\n');
        }
    }
}

/// Prints the table and, unless told not to, writes it to `bench/record/`.
pub fn print_and_save(
    options: &Options,
    loads: &[Load],
    runs: &[Run],
    deep: &[Deep],
) -> Result<(), String> {
    let mut text = bench::record::heading("Status logs beside PostgreSQL");
    let pools = if options.large { "four times their default" } else { "their default" };
    let facts = format!(
        "scale {}, {} s a run, median of {}, interleaved, `synchronous_commit = off`, unix socket, pools of {pools} size. Cells: \
         transactions/s / median / longest time of a transaction (of a tenth of them). A load and its \
         control differ in the savepoints of the client beside it, and in nothing else.\n\n",
        options.scale, options.seconds, options.repeats,
    );
    text.push_str(&facts);
    let peers = options.peers.iter().map(String::as_str);
    let columns = ["load", "clients"].into_iter().chain(peers);
    table_head(&mut text, columns.chain(["× PostgreSQL 15", "× 18"]));
    for load in loads {
        for &clients in load.clients(&options.clients) {
            let row = row(options, load.name, clients, runs);
            writeln!(text, "{row}").expect("strings take writes");
        }
    }
    write_pairs(&mut text, options, loads, runs);
    depth::write_table(&mut text, deep);
    bench::record::print_and_save("status_logs", &text, options.record)
}
