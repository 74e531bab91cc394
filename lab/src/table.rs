//! The table on the terminal.

use crate::experiments::{Experiment, THROUGHPUT};
use crate::grid::grids;
use crate::model::{Results, figure};
use crate::statistics::{advantage, cell};
use std::fmt::Write;

/// A number with as many digits as say something.
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{:.1} M", value / 1e6),
        v if v >= 100_000.0 => format!("{:.0} k", value / 1000.0),
        v if v >= 10_000.0 => format!("{:.1} k", value / 1000.0),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Rows are variants and places on the axis, columns servers; then how many times better we
/// are than the better PostgreSQL.
pub fn table(results: &Results) -> String {
    let measure = Experiment::find(&results.name).map_or(THROUGHPUT, |e| e.measure);
    let targets = results.targets();
    let mut rows = vec![heads(results, &targets)];
    for variant in results.variants() {
        for x in results.xs() {
            let mut row = vec![variant.to_owned(), x.to_string()];
            for target in &targets {
                row.push(one(results, target, variant, x, measure.figure));
            }
            let times = advantage(results, &measure, variant, x);
            row.push(times.map(|times| format!("{times:.2}")).unwrap_or_default());
            if row[2..].iter().any(|text| !text.is_empty()) {
                rows.push(row);
            }
        }
    }
    let mut text = format!("\n{}: {}, median (min–max)\n", results.name, measure.label);
    text.push_str(&aligned(&rows));
    for check in Experiment::find(&results.name).map(|e| (e.checks)(results)).unwrap_or_default() {
        writeln!(text, "{}", check.text()).expect("strings take writes");
    }
    for grid in grids(results) {
        text.push_str(&grid.text());
    }
    for skipped in &results.skipped {
        let x = skipped.place(&results.axis);
        let (target, variant) = (&skipped.target, &skipped.variant);
        writeln!(text, "not measured: {target} {variant}{x}: {}", skipped.why)
            .expect("strings take writes");
    }
    if results.runs.len() < results.planned {
        writeln!(text, "{} of {} runs", results.runs.len(), results.planned)
            .expect("strings take writes");
    }
    text
}

fn heads(results: &Results, targets: &[&str]) -> Vec<String> {
    let mut heads = vec![String::new(), results.axis.clone()];
    heads.extend(targets.iter().map(|&t| t.to_owned()));
    heads.push("× better".to_owned());
    heads
}

/// Median, range and server's processor time of a cell.
fn one(results: &Results, target: &str, variant: &str, x: u32, figure: &str) -> String {
    let Some(spread) = cell(results, target, variant, x, figure) else { return String::new() };
    let [median, min, max] = [spread.median, spread.min, spread.max].map(short);
    let cpu = cell(results, target, variant, x, figure::SERVER_CPU);
    let cpu = cpu.map(|cpu| format!(" {} µs", short(cpu.median))).unwrap_or_default();
    format!("{median} ({min}–{max}){cpu}")
}

/// Columns below each other.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().enumerate().map(|(i, cell)| format!("{cell:<0$}", width(i))).collect();
        writeln!(text, "{}", cells.join("  ").trim_end()).expect("strings take writes");
    }
    text
}
