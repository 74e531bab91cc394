//! What an experiment's figures say, in one sentence.

use crate::compare::{Verdict, verdict};
use crate::experiments::{Experiment, Kind};
use crate::model::{Results, figure};
use crate::statistics::{Spread, advantage, cell, cells, is_postgres, places, typical_width};
use crate::table::short;

const NO_DIFFERENCE: &str = "no difference";

/// Who is faster where.
pub fn sentence(e: &Experiment, results: &Results) -> String {
    if matches!(e.kind, Kind::Paths(..)) {
        let plain = "In process, no server beside it; higher is better.";
        return costs(e, results).unwrap_or_else(|| plain.to_owned());
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
    let (ahead, behind) = decided(e, results);
    let (faster, slower) = match e.measure.lower_is_better {
        false => ("is faster", "slower"),
        true => ("waits less", "longer"),
    };
    let times = match e.measure.lower_is_better {
        false => format!("{range} times the better PostgreSQL"),
        true => format!("the better PostgreSQL's is {range} times as high"),
    };
    let all = ratios.len();
    match (ahead, behind) {
        (0, 0) => format!("No difference beyond what repetitions scatter; medians: {times}."),
        (ahead, _) if ahead == all => format!("Thalweg {faster} everywhere: {times}."),
        (ahead, 0) => {
            format!(
                "Thalweg {faster} in {ahead} of {all}, beyond what repetitions scatter: {times}."
            )
        }
        (ahead, behind) => format!(
            "Thalweg {faster} in {ahead} of {all} and {slower} in {behind}, beyond what repetitions scatter: {times}."
        ),
    }
}

/// In how many cells we are better than each PostgreSQL, and in how many worse than some, beyond what repetitions account
/// for.
fn decided(e: &Experiment, results: &Results) -> (usize, usize) {
    let (mut ahead, mut behind) = (0, 0);
    let typical = typical_width(cells(results, e.measure.figure));
    for (variant, x) in places(results) {
        let of = |target| cell(results, target, variant, x, e.measure.figure);
        let theirs = results.targets().into_iter().filter(|target| is_postgres(target));
        let theirs: Vec<Spread> = theirs.filter_map(of).collect();
        let Some(ours) = of("thalweg").filter(|_| !theirs.is_empty()) else { continue };
        let found = |theirs: &Spread| verdict(*theirs, ours, e.measure.lower_is_better, typical);
        ahead += usize::from(theirs.iter().all(|theirs| found(theirs) == Verdict::Better));
        behind += usize::from(theirs.iter().any(|theirs| found(theirs) == Verdict::Worse));
    }
    (ahead, behind)
}

/// How many times better we are than the better PostgreSQL, in every cell.
fn ratios(e: &Experiment, results: &Results) -> Vec<f64> {
    places(results).filter_map(|(variant, x)| advantage(results, &e.measure, variant, x)).collect()
}

/// What other variants change against their baseline at the axis' last place, where the experiment asks that: where
/// there is one only, on each server; where there is one server only, each, or if they are too many, the largest
/// changes. What the repetitions alone account for is no difference.
pub fn costs(e: &Experiment, results: &Results) -> Option<String> {
    let baseline = e.own_baseline?;
    let x = *results.xs().last()?;
    let typical = typical_width(cells(results, figure::TPS));
    let others: Vec<&str> =
        results.variants().into_iter().filter(|v| baseline.of(v).is_some()).collect();
    let targets = results.targets();
    let change = |target: &str, variant: &str| {
        let of = |variant: &str| cell(results, target, variant, x, figure::TPS);
        let (with, without) = (of(variant)?, of(&baseline.of(variant)?)?);
        let percent = (with.median / without.median - 1.0) * 100.0;
        Some(match verdict(without, with, false, typical) {
            Verdict::Same => None,
            _ => Some(percent),
        })
    };
    let (of, changes): (String, Vec<(&str, Option<f64>)>) = match (&targets[..], &others[..]) {
        (_, &[variant]) => {
            let changes = targets.iter().filter_map(|t| Some((*t, change(t, variant)?)));
            (format!("{variant} against {}", baseline.name()), changes.collect())
        }
        (&[target], _) => {
            let changes = others.iter().filter_map(|v| Some((*v, change(target, v)?)));
            (format!("against {}", baseline.name()), changes.collect())
        }
        _ => return None,
    };
    (!changes.is_empty()).then(|| format!("{of}, {x} {}: {}.", e.axis, listed(changes)))
}

/// More changes than this are not listed.
const MOST_CHANGES: usize = 4;

fn listed(mut changes: Vec<(&str, Option<f64>)>) -> String {
    let same = changes.iter().filter(|(_, percent)| percent.is_none()).count();
    if same == changes.len() {
        return format!("{NO_DIFFERENCE} on any");
    }
    let told = |(name, percent): &(&str, Option<f64>)| match percent {
        None => format!("{name} {NO_DIFFERENCE}"),
        Some(percent) => format!("{name} {percent:+.0} %"),
    };
    if changes.len() <= MOST_CHANGES {
        return changes.iter().map(told).collect::<Vec<_>>().join("; ");
    }
    changes.retain(|(_, percent)| percent.is_some());
    let all = changes.len();
    changes.sort_by(|a, b| b.1.unwrap_or(0.0).total_cmp(&a.1.unwrap_or(0.0)));
    if all > 2 {
        changes.drain(1..all - 1);
    }
    let mut parts: Vec<String> = changes.iter().map(told).collect();
    if all > 2 {
        parts.push(format!("{} others between", all - 2));
    }
    if same > 0 {
        parts.push(format!("{NO_DIFFERENCE} for {same}"));
    }
    parts.join("; ")
}
