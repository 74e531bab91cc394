//! What an experiment's figures say, in one sentence.

use crate::compare::{Verdict, verdict};
use crate::evidence::{Noise, Pair, Shift, logarithms, together};
use crate::experiments::{DEVICE, Experiment, Kind, Measure, THROUGHPUT};
use crate::model::{Results, Run, figure};
use crate::statistics::{advantage, cell, is_postgres, places};
use crate::table::short;
use std::collections::BTreeSet;

const NO_DIFFERENCE: &str = "no difference";
/// How many times as good a median is, where none is worse, that "no difference" would be read as a contradiction.
const CLEAR: f64 = 1.5;
/// How many percent everybody sees.
const SEEN: f64 = 10.0;
const ONE_REPETITION: &str = "one repetition cannot tell";

/// Who is faster where.
pub fn sentence(e: &Experiment, results: &Results) -> String {
    sentence_of(e, results, results)
}

/// The same of a part of the whole, judged by what all repetitions scatter: what is said of parts adds up to what is said of
/// the whole.
pub fn sentence_of(e: &Experiment, part: &Results, whole: &Results) -> String {
    if matches!(e.kind, Kind::Paths(_)) {
        let plain = "In process, no server beside it; higher is better.";
        return costs_of(e, part, whole).unwrap_or_else(|| plain.to_owned());
    }
    let ratios = ratios(e, part);
    let Some(least) = ratios.iter().copied().reduce(f64::min) else { return alone(e, part) };
    let most = ratios.iter().copied().fold(least, f64::max);
    let range = match short(least) == short(most) {
        true => short(least),
        false => format!("{} to {}", short(least), short(most)),
    };
    let Decided { ahead, behind, told } = decided(e, part, whole);
    let (faster, slower) = e.measure.words();
    let times = match e.measure.lower_is_better {
        false => format!("{range} times the better PostgreSQL"),
        true => format!("the better PostgreSQL's is {range} times as high"),
    };
    let all = ratios.len();
    match (ahead, behind) {
        (0, 0) if told == 0 => format!("One repetition cannot tell; medians: {times}."),
        (0, 0) if least >= 1.0 && most >= CLEAR => {
            format!("Medians are ahead, but repetitions scatter too much to be sure: {times}.")
        }
        (0, 0) => format!("No difference beyond what repetitions scatter; medians: {times}."),
        (ahead, _) if ahead == all && is_whole(e, part, whole) => {
            format!("Thalweg {faster} everywhere: {times}.")
        }
        (ahead, _) if ahead == all => {
            format!("Thalweg {faster} in all {all} that PostgreSQL was measured in, too: {times}.")
        }
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

/// What is said without a PostgreSQL beside: what ways of ours change, where the experiment is of them.
fn alone(e: &Experiment, results: &Results) -> String {
    let ours_alone = match &e.kind {
        Kind::Load(plan) | Kind::Tpcc(plan) => !plan.targets.iter().any(|t| is_postgres(t)),
        Kind::Paths(_) => true,
    };
    let said = match results.runs.is_empty() {
        true => "Nothing was measured.",
        false if ours_alone => match costs(e, results) {
            Some(costs) => return costs,
            None => "Of Thalweg alone; nothing to compare with.",
        },
        false if results.targets() == [DEVICE] => {
            "What the disk allows without a server; higher is better."
        }
        false => "No PostgreSQL to compare with.",
    };
    said.to_owned()
}

/// Whether every cell of a part that was to be measured was, by us and by a PostgreSQL. How many runs of it were planned is not
/// known: all of the whole are to be there.
fn is_whole(e: &Experiment, part: &Results, whole: &Results) -> bool {
    let compared = |target: &str| target == "thalweg" || is_postgres(target);
    let both = |run: &Run| {
        let found = advantage(part, &e.measure, &run.variant, run.x);
        !compared(&run.target) || found.is_some()
    };
    let cells: BTreeSet<(&str, &str, u32)> =
        whole.runs.iter().map(|run| (&*run.target, &*run.variant, run.x)).collect();
    let rounds = whole.runs.iter().map(|run| run.round + 1).max().unwrap_or(0);
    part.runs.iter().all(both) && cells.len() * rounds as usize >= whole.planned
}

/// In how many cells of a part we are better than each PostgreSQL, in how many worse than some, beyond what repetitions account
/// for, and in how many there are repetitions.
struct Decided {
    ahead: usize,
    behind: usize,
    told: usize,
}

fn decided(e: &Experiment, part: &Results, whole: &Results) -> Decided {
    let figure = e.measure.figure;
    let noise = Noise::of(&[whole], figure);
    let peers: Vec<&str> = whole.targets().into_iter().filter(|t| is_postgres(t)).collect();
    let of_cell = |variant: &str, x: u32| -> Vec<(usize, Pair)> {
        let of = |target: &str| logarithms(whole, target, variant, x, figure);
        let pair = |(number, peer): (usize, &&str)| {
            let pair =
                Pair { a: of(peer), b: of("thalweg"), noise: noise.between(peer, "thalweg") };
            (!pair.a.is_empty() && !pair.b.is_empty()).then_some((number, pair))
        };
        peers.iter().enumerate().filter_map(pair).collect()
    };
    let cells = |results: &Results| -> Vec<Vec<(usize, Pair)>> {
        places(results).map(|(v, x)| of_cell(v, x)).filter(|cell| !cell.is_empty()).collect()
    };
    let all = cells(whole);
    let beside = |number: usize| {
        let of_peer = all.iter().flatten().filter(|(peer, _)| *peer == number);
        together(&of_peer.map(|(_, pair)| pair).collect::<Vec<_>>(), noise.weather)
    };
    let shifts: Vec<Vec<Shift>> =
        (0..peers.len()).map(|n| beside(n).into_iter().collect()).collect();
    let mut decided = Decided { ahead: 0, behind: 0, told: 0 };
    for cell in cells(part) {
        let found =
            cell.iter().map(|(n, pair)| verdict(pair, e.measure.lower_is_better, &shifts[*n]));
        let found: Vec<Verdict> = found.collect();
        decided.ahead += usize::from(found.iter().all(|found| *found == Verdict::Better));
        decided.behind += usize::from(found.contains(&Verdict::Worse));
        decided.told += usize::from(found.iter().any(|found| *found != Verdict::Unknown));
    }
    decided
}

/// How many times better we are than the better PostgreSQL, in every cell.
fn ratios(e: &Experiment, results: &Results) -> Vec<f64> {
    places(results).filter_map(|(variant, x)| advantage(results, &e.measure, variant, x)).collect()
}

/// What other variants change, of the figure that decides, against their baseline at the axis' last place, where the experiment asks that: where
/// there is one only, on each server; where there is one server only, each, or if they are too many, the largest
/// changes. What the repetitions alone account for is no difference.
pub fn costs(e: &Experiment, results: &Results) -> Option<String> {
    costs_of(e, results, results)
}

/// The same of a part, judged by what all repetitions of the whole scatter.
fn costs_of(e: &Experiment, results: &Results, whole: &Results) -> Option<String> {
    let baseline = e.own_baseline?;
    let Measure { figure, label, lower_is_better } = e.measure;
    let x = *results.xs().last()?;
    let noise = Noise::of(&[whole], figure);
    let others: Vec<&str> =
        results.variants().into_iter().filter(|v| baseline.of(v).is_some()).collect();
    let targets = results.targets();
    let change = |target: &str, variant: &str| {
        let baseline = baseline.of(variant)?;
        let of = |variant: &str| cell(results, target, variant, x, figure);
        let percent = (of(variant)?.median / of(&baseline)?.median - 1.0) * 100.0;
        let of = |variant: &str| logarithms(results, target, variant, x, figure);
        let noise = noise.between(target, target);
        let pair = Pair { a: of(&baseline), b: of(variant), noise };
        Some(match verdict(&pair, lower_is_better, &[]) {
            Verdict::Same | Verdict::Unsure if percent.abs() >= SEEN => Cost::Unsure(percent),
            Verdict::Same | Verdict::Unsure => Cost::None,
            Verdict::Unknown => Cost::Unknown,
            _ => Cost::Percent(percent),
        })
    };
    let (of, changes): (String, Vec<(&str, Cost)>) = match (&targets[..], &others[..]) {
        (_, &[variant]) => {
            let changes = targets.iter().filter_map(|t| Some((*t, change(t, variant)?)));
            (format!("{variant} against {}", baseline.name()), changes.collect())
        }
        (&[target], _) => {
            let changes = others.iter().filter_map(|v| Some((*v, change(target, v)?)));
            (format!("Against {}", baseline.name()), changes.collect())
        }
        _ => return None,
    };
    // What more of it is, who reads has to know.
    let label = if figure == THROUGHPUT.figure { String::new() } else { format!(", {label}") };
    (!changes.is_empty()).then(|| format!("{of}, {x} {}{label}: {}.", e.axis, listed(changes)))
}

/// Where a server does more than the canned replies, which are no ceiling there.
pub fn above_the_ceiling(results: &Results) -> Option<String> {
    let of = |target: &str, variant: &str, x| {
        Some(cell(results, target, variant, x, figure::TPS)?.median)
    };
    let mut above = Vec::new();
    for (variant, x) in places(results) {
        let Some(ceiling) = of("canned", variant, x) else { continue };
        for target in results.targets() {
            let times = of(target, variant, x).map(|tps| tps / ceiling);
            if let Some(times) = times.filter(|times| *times > 1.0) {
                let comma = if variant.is_empty() { "" } else { ", " };
                let axis = if x == 1 { results.axis.trim_end_matches('s') } else { &results.axis };
                above
                    .push(format!("{target}, {variant}{comma}{x} {axis} ({} times)", short(times)));
            }
        }
    }
    let all = above.join("; ");
    (!above.is_empty()).then(|| format!("The canned replies are no ceiling of: {all}."))
}

/// What a variant changes.
#[derive(Clone, Copy, PartialEq)]
enum Cost {
    /// Nothing beyond what repetitions account for.
    None,
    /// Nor this, although it is seen in a plot.
    Unsure(f64),
    /// Nobody knows: there is one repetition only.
    Unknown,
    Percent(f64),
}

/// More changes than this are not listed.
const MOST_CHANGES: usize = 4;

fn listed(mut changes: Vec<(&str, Cost)>) -> String {
    let count = |of: Cost| changes.iter().filter(|(_, cost)| *cost == of).count();
    let (same, unknown) = (count(Cost::None), count(Cost::Unknown));
    let unsure = changes.iter().filter(|(_, cost)| matches!(cost, Cost::Unsure(_))).count();
    if same == changes.len() {
        return format!("{NO_DIFFERENCE} on any");
    }
    if unknown == changes.len() {
        return ONE_REPETITION.to_owned();
    }
    let told = |(name, cost): &(&str, Cost)| match cost {
        Cost::None => format!("{name} {NO_DIFFERENCE}"),
        Cost::Unsure(percent) => {
            format!("{name} {percent:+.0} % (unsure)")
        }
        Cost::Unknown => format!("{name}: {ONE_REPETITION}"),
        Cost::Percent(percent) => format!("{name} {percent:+.0} %"),
    };
    if changes.len() <= MOST_CHANGES {
        return changes.iter().map(told).collect::<Vec<_>>().join("; ");
    }
    // Of the certain ones the largest, or where none is certain, of those that are seen.
    let certain = changes.iter().any(|(_, cost)| matches!(cost, Cost::Percent(_)));
    let percent = |cost: Cost| match cost {
        Cost::Percent(percent) => Some(percent),
        Cost::Unsure(percent) if !certain => Some(percent),
        _ => None,
    };
    changes.retain(|(_, cost)| percent(*cost).is_some());
    let all = changes.len();
    let unsure = if certain { unsure } else { 0 };
    changes.sort_by(|a, b| percent(b.1).unwrap_or(0.0).total_cmp(&percent(a.1).unwrap_or(0.0)));
    if all > 2 {
        changes.drain(1..all - 1);
    }
    let mut parts: Vec<String> = changes.iter().map(told).collect();
    if all > 2 {
        let others = if all == 3 { "other" } else { "others" };
        parts.push(format!("{} {others} between", all - 2));
    }
    for (count, what) in [(same, NO_DIFFERENCE), (unsure, "unsure"), (unknown, ONE_REPETITION)] {
        if count > 0 {
            parts.push(format!("{what} for {count}"));
        }
    }
    parts.join("; ")
}
