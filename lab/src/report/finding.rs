//! What an experiment's figures say, in one sentence.

use crate::compare::{Verdict, verdict};
use crate::experiments::{Experiment, Kind};
use crate::model::{Results, figure};
use crate::statistics::{advantage, cell, is_postgres};
use crate::table::short;

/// Who is faster where.
pub fn sentence(e: &Experiment, results: &Results) -> String {
    if let (Kind::Paths(_), Some(costs)) = (&e.kind, costs(e, results)) {
        return costs;
    }
    let ratios = ratios(e, results);
    let Some(least) = ratios.iter().copied().reduce(f64::min) else {
        return match results.runs.is_empty() {
            true => "Nothing was measured.".to_owned(),
            false => "No PostgreSQL to compare with.".to_owned(),
        };
    };
    let most = ratios.iter().copied().fold(least, f64::max);
    let range = match short(least) == short(most) {
        true => short(least),
        false => format!("{} to {}", short(least), short(most)),
    };
    let (ahead, all) = (ahead(e, results), ratios.len());
    let place = match ahead == all {
        true => "everywhere".to_owned(),
        false => format!("in {ahead} of {all}, beyond what repetitions scatter"),
    };
    match e.measure.lower_is_better {
        false => format!("Thalweg is faster {place}: {range} times the better PostgreSQL."),
        true => {
            format!("Thalweg waits less {place}: the better PostgreSQL's is {range} times as high.")
        }
    }
}

/// In how many cells every repetition of ours is better than every one of each PostgreSQL, repeated at least once.
fn ahead(e: &Experiment, results: &Results) -> usize {
    let ahead = |(variant, x): (&str, u32)| {
        let of = |target| cell(results, target, variant, x, e.measure.figure);
        let theirs = results.targets().into_iter().filter(|target| is_postgres(target));
        let mut theirs = theirs.filter_map(of).peekable();
        let Some(ours) = of("thalweg").filter(|_| theirs.peek().is_some()) else {
            return false;
        };
        theirs.all(|theirs| match e.measure.lower_is_better {
            true => ours.is_below(&theirs),
            false => theirs.is_below(&ours),
        })
    };
    places(results).filter(|place| ahead(*place)).count()
}

fn places(results: &Results) -> impl Iterator<Item = (&str, u32)> {
    results.variants().into_iter().flat_map(|v| results.xs().into_iter().map(move |x| (v, x)))
}

/// How many times better we are than the better PostgreSQL, in every cell.
fn ratios(e: &Experiment, results: &Results) -> Vec<f64> {
    places(results).filter_map(|(variant, x)| advantage(results, &e.measure, variant, x)).collect()
}

/// What another variant changes on each server, or where there is one only what each other variant changes, at the
/// axis' last place, where the experiment asks that; what the repetitions alone account for is no difference.
pub fn costs(e: &Experiment, results: &Results) -> Option<String> {
    let baseline = e.own_baseline?;
    let x = *results.xs().last()?;
    let others: Vec<&str> = results.variants().into_iter().filter(|v| *v != baseline).collect();
    let targets = results.targets();
    let change = |target: &str, variant: &str| {
        let of = |variant| cell(results, target, variant, x, figure::TPS);
        let (with, without) = (of(variant)?, of(baseline)?);
        let percent = (with.median / without.median - 1.0) * 100.0;
        Some(match verdict(without, with, false) {
            Verdict::Same => "no difference".to_owned(),
            _ => format!("{percent:+.0} %"),
        })
    };
    let named = |name: &str, change: Option<String>| change.map(|c| format!("{name} {c}"));
    let (of, changes): (String, Vec<String>) = match (&targets[..], &others[..]) {
        (_, &[variant]) => {
            let changes = targets.iter().filter_map(|t| named(t, change(t, variant)));
            (format!("{variant} against {baseline}"), changes.collect())
        }
        (&[target], _) => {
            let changes = others.iter().filter_map(|v| named(v, change(target, v)));
            (format!("against {baseline}"), changes.collect())
        }
        _ => return None,
    };
    if changes.is_empty() {
        return None;
    }
    Some(format!("{of}, {x} {}: {}.", e.axis, changes.join("; ")))
}
