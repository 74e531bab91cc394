//! What an experiment's figures say, in one sentence.

use crate::experiments::Experiment;
use crate::model::{Results, figure};
use crate::statistics::{cell, is_postgres};
use crate::table::short;

/// Who is faster where.
pub fn sentence(e: &Experiment, results: &Results) -> String {
    let ratios = ratios(e, results);
    let Some(least) = ratios.iter().copied().reduce(f64::min) else {
        return match results.runs.is_empty() {
            true => "Nothing was measured.".to_owned(),
            false => "No PostgreSQL to compare with.".to_owned(),
        };
    };
    let most = ratios.iter().copied().fold(least, f64::max);
    let ahead = ratios.iter().filter(|r| **r > 1.0).count();
    let range = match short(least) == short(most) {
        true => short(least),
        false => format!("{} to {}", short(least), short(most)),
    };
    let what = if e.measure.lower_is_better { "latency is lower" } else { "is faster" };
    let of = if e.measure.lower_is_better { "better PostgreSQL's is" } else { "faster:" };
    match (ahead, e.measure.lower_is_better) {
        (n, false) if n == ratios.len() => {
            format!("Thalweg is faster everywhere: {range} times the better PostgreSQL.")
        }
        (n, true) if n == ratios.len() => {
            format!("Thalweg is lower everywhere: the better {of} {range} times as high.")
                .replace("better better", "better")
        }
        (n, _) => format!(
            "Thalweg {what} in {n} of {}: {range} times the better PostgreSQL.",
            ratios.len()
        ),
    }
}

/// How many times better we are than the better PostgreSQL, in every cell.
fn ratios(e: &Experiment, results: &Results) -> Vec<f64> {
    let of = |target: &str, variant: &str, x: u32| {
        cell(results, target, variant, x, e.measure.figure).map(|spread| spread.median)
    };
    let mut all = Vec::new();
    for variant in results.variants() {
        for x in results.xs() {
            let theirs = results.targets().into_iter().filter(|t| is_postgres(t));
            let theirs = theirs.filter_map(|t| of(t, variant, x));
            let lower = e.measure.lower_is_better;
            let better = theirs.reduce(if lower { f64::min } else { f64::max });
            if let Some((ours, theirs)) = of("thalweg", variant, x).zip(better) {
                all.push(if lower { theirs / ours } else { ours / theirs });
            }
        }
    }
    all
}

/// What the other variant changes on each server at the axis' last place, where the experiment asks that.
pub fn costs(e: &Experiment, results: &Results) -> Option<String> {
    let baseline = e.own_baseline?;
    let x = *results.xs().last()?;
    let others: Vec<&str> = results.variants().into_iter().filter(|v| *v != baseline).collect();
    let &[variant] = &others[..] else { return None };
    let change = |target: &str| {
        let of = |variant| cell(results, target, variant, x, figure::TPS).map(|s| s.median);
        let percent = (of(variant)? / of(baseline)? - 1.0) * 100.0;
        Some(format!("{target} {percent:+.0} %"))
    };
    let changes: Vec<String> = results.targets().into_iter().filter_map(change).collect();
    if changes.is_empty() {
        return None;
    }
    Some(format!("{variant} against {baseline}, {x} {}: {}.", e.axis, changes.join(", ")))
}
