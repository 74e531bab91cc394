//! The tables on the terminal, and in the record.

use crate::Options;
use crate::depth::{self, Deep};
use crate::load::{Load, Run};
use crate::plan::{self, Part};
use bench::record::{median, table_head};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What was measured so far.
pub fn body(options: &Options, parts: &[Part], runs: &[Run], deep: &[Deep]) -> String {
    let mut text = format!(
        "Scale {}, interleaved, `synchronous_commit = off`, unix socket. Medians of as many runs as told. Processor time \
         is the server's per transaction, kernel and what runs beside included; longest of a tenth of the transactions, \
         of hot-row and queue of all. × is over the faster PostgreSQL with as many clients. `-large`: pools of four \
         times their default size.\n\n",
        options.scale,
    );
    let columns = ["load", "clients", "server", "runs", "transactions/s", "×", "CPU, µs"];
    table_head(&mut text, columns.into_iter().chain(["median, ms", "longest, ms"]));
    let table = Table { runs, peers: plan::peers(parts) };
    for load in Load::all() {
        for clients in table.clients(load.name) {
            for peer in &table.peers {
                table.write_row(&mut text, load.name, clients, peer);
            }
        }
    }
    table.write_fairness(&mut text);
    table.write_pairs(&mut text);
    depth::write_table(&mut text, deep);
    text
}

struct Table<'a> {
    runs: &'a [Run],
    peers: Vec<String>,
}

impl Table<'_> {
    /// The runs of one line, in their order.
    fn of(&self, load: &str, clients: u32, peer: &str) -> Vec<&Run> {
        let these = |r: &&Run| r.load == load && r.peer == peer && r.clients == clients;
        self.runs.iter().filter(these).collect()
    }

    fn median(&self, load: &str, clients: u32, peer: &str, of: fn(&Run) -> f64) -> Option<f64> {
        bench::record::median(self.of(load, clients, peer).into_iter().map(of))
    }

    /// The numbers of clients that a load was run with, ascending.
    fn clients(&self, load: &str) -> BTreeSet<u32> {
        self.runs.iter().filter(|run| run.load == load).map(|run| run.clients).collect()
    }

    /// Nothing where nothing was measured.
    fn write_row(&self, text: &mut String, load: &str, clients: u32, peer: &str) {
        let median = |of| self.median(load, clients, peer, of).unwrap_or(f64::NAN);
        let count = self.of(load, clients, peer).len();
        if count == 0 {
            return;
        }
        let (tps, cpu_us) = (median(|r| r.tps), median(|r| r.cpu_us));
        let (middle, longest) =
            (median(|r| r.latencies.median_ms), median(|r| r.latencies.longest_ms));
        let others = self.peers.iter().filter(|name| name.starts_with("pg"));
        let others = others.filter_map(|other| self.median(load, clients, other, |r| r.tps));
        let ratio = others.max_by(f64::total_cmp).map(|best| format!("{:.2}", tps / best));
        let ratio = ratio.filter(|_| peer.starts_with("thalweg")).unwrap_or("–".to_owned());
        writeln!(
            text,
            "| {load} | {clients} | {peer} | {count} | {tps:.0} | {ratio} | {cpu_us:.1} | {middle:.3} | {longest:.1} |"
        )
        .expect("strings take writes");
    }

    /// Whether a client starves where all want the same rows.
    fn write_fairness(&self, text: &mut String) {
        let loads = || Load::all().iter().filter(|load| load.is_contended());
        if loads().all(|load| self.clients(load.name).is_empty()) {
            return;
        }
        text.push_str(
            "\nTransactions of the client with the fewest and of the one with the most, each of the worst run; the \
             longest wait of a run over its median, median and worst of the runs:\n\n",
        );
        let columns = ["load", "clients", "server", "least", "most"];
        table_head(text, columns.into_iter().chain(["longest/median", "worst"]));
        for load in loads() {
            for clients in self.clients(load.name) {
                for peer in &self.peers {
                    self.write_fairness_row(text, load.name, clients, peer);
                }
            }
        }
    }

    fn write_fairness_row(&self, text: &mut String, load: &str, clients: u32, peer: &str) {
        let runs = self.of(load, clients, peer);
        let all = || runs.iter().map(|run| &run.latencies);
        let (least, most) = (all().map(|l| l.least).min(), all().map(|l| l.most).max());
        let (Some(least), Some(most)) = (least, most) else { return };
        let ratios = || all().map(|l| l.longest_ms / l.median_ms);
        let worst = ratios().fold(0.0, f64::max);
        let middle = median(ratios()).expect("there is a run");
        writeln!(
            text,
            "| {load} | {clients} | {peer} | {least} | {most} | {middle:.1} | {worst:.1} |"
        )
        .expect("strings take writes");
    }

    /// What the savepoints beside cost: each run over its control's of the same round.
    fn write_pairs(&self, text: &mut String) {
        let loads = Load::all().iter().filter_map(|load| Some((load.name, load.control?)));
        let pairs: Vec<_> =
            loads.filter(|(_, control)| !self.clients(control).is_empty()).collect();
        if pairs.is_empty() {
            return;
        }
        text.push_str(
            "\nThroughput beside savepoints over that beside the control, in pairs of one round: median (least to \
             most) of how many; and so the processor time, median.\n\n",
        );
        table_head(text, ["load", "clients", "server", "throughput", "pairs", "CPU"]);
        for (load, control) in pairs {
            for clients in self.clients(load) {
                for peer in &self.peers {
                    self.write_pair(text, [load, control], clients, peer);
                }
            }
        }
    }

    fn write_pair(&self, text: &mut String, loads: [&str; 2], clients: u32, peer: &str) {
        let [with, without] = loads.map(|load| self.of(load, clients, peer));
        let ratios = |of: fn(&Run) -> f64| -> Vec<f64> {
            let mut ratios: Vec<f64> =
                with.iter().zip(&without).map(|(a, b)| of(a) / of(b)).collect();
            ratios.sort_by(f64::total_cmp);
            ratios
        };
        let (tps, cpu) = (ratios(|r| r.tps), ratios(|r| r.cpu_us));
        let (Some(least), Some(most)) = (tps.first(), tps.last()) else { return };
        let count = tps.len();
        let median = |ratios: &[f64]| median(ratios.iter().copied()).expect("there is a pair");
        let (middle, cpu) = (median(&tps), median(&cpu));
        writeln!(
            text,
            "| {} | {clients} | {peer} | {middle:.2} ({least:.2}–{most:.2}) | {count} | {:.2} |",
            loads[0], cpu,
        )
        .expect("strings take writes");
    }
}
