//! What an experiment's figures say, in one sentence.

use crate::compare::{Verdict, verdict};
use crate::experiments::Experiment;
use crate::model::{Results, figure};
use crate::statistics::{advantage, cell};
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
    let all = ratios.len();
    match (e.measure.lower_is_better, ahead == all) {
        (false, true) => {
            format!("Thalweg is faster everywhere: {range} times the better PostgreSQL.")
        }
        (false, false) => {
            format!("Thalweg is faster in {ahead} of {all}: {range} times the better PostgreSQL.")
        }
        (true, true) => {
            format!(
                "Thalweg waits less everywhere: the better PostgreSQL's is {range} times as high."
            )
        }
        (true, false) => format!(
            "Thalweg waits less in {ahead} of {all}: the better PostgreSQL's is {range} times as high."
        ),
    }
}

/// How many times better we are than the better PostgreSQL, in every cell.
fn ratios(e: &Experiment, results: &Results) -> Vec<f64> {
    let places =
        results.variants().into_iter().flat_map(|v| results.xs().into_iter().map(move |x| (v, x)));
    places.filter_map(|(variant, x)| advantage(results, &e.measure, variant, x)).collect()
}

/// What the other variant changes on each server at the axis' last place, where the experiment asks that; what
/// the repetitions alone account for is no difference.
pub fn costs(e: &Experiment, results: &Results) -> Option<String> {
    let baseline = e.own_baseline?;
    let x = *results.xs().last()?;
    let others: Vec<&str> = results.variants().into_iter().filter(|v| *v != baseline).collect();
    let &[variant] = &others[..] else { return None };
    let change = |target: &str| {
        let of = |variant| cell(results, target, variant, x, figure::TPS);
        let (with, without) = (of(variant)?, of(baseline)?);
        let percent = (with.median / without.median - 1.0) * 100.0;
        Some(match verdict(without, with, false) {
            Verdict::Same => format!("{target} no difference"),
            _ => format!("{target} {percent:+.0} %"),
        })
    };
    let changes: Vec<String> = results.targets().into_iter().filter_map(change).collect();
    if changes.is_empty() {
        return None;
    }
    Some(format!("{variant} against {baseline}, {x} {}: {}.", e.axis, changes.join(", ")))
}
