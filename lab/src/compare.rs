//! Two records beside each other. A difference is claimed only where it is larger than what the repetitions of
//! both records scatter by, in this cell and in the experiment's others; everything else is no difference.

use crate::experiments::{Experiment, THROUGHPUT};
use crate::model::Record;
use crate::statistics::{Spread, cell, cells, places, typical_width};
use std::fmt::Write;

/// A change below this share is never claimed: machines differ by as much from one minute to the next.
const LEAST: f64 = 0.05;

/// How a cell went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Same,
    Better,
    Worse,
}

/// One cell of both records.
#[derive(Clone, Debug)]
pub struct Change {
    pub what: String,
    pub a: Spread,
    pub b: Spread,
    pub verdict: Verdict,
    /// The largest change that repetitions alone account for, as a share of A's median.
    pub scatter: f64,
}

impl Change {
    /// B's median over A's.
    pub fn ratio(&self) -> f64 {
        self.b.median / self.a.median
    }
}

/// The largest change that repetitions alone account for, as a share of A's median: both ranges together, and what
/// medians of so many repetitions hardly ever differ by where a range is [typically](typical_width) as wide as `typical`.
fn scatter(a: Spread, b: Spread, typical: f64) -> f64 {
    let chance = typical * beyond_chance(a.count.min(b.count));
    ((a.width() + b.width()) / a.median).max(chance).max(LEAST)
}

/// How far medians of so many repetitions must be apart, in typical ranges of so many: four standard deviations of
/// their difference, at least, if they scatter normally, and more where most cells scatter alike. So chance alone gets none of
/// a record's hundred cells so far.
fn beyond_chance(repetitions: usize) -> f64 {
    match repetitions {
        0 | 1 => 0.0,
        2 => 4.5,
        3 => 3.0,
        4 => 2.0,
        _ => 1.6,
    }
}

/// Whether B differs from A: their ranges are apart, and their medians by more than what repetitions
/// [account for](scatter). One repetition does not tell what repetitions scatter by, and so never that there is a difference.
pub fn verdict(a: Spread, b: Spread, lower_is_better: bool, typical: f64) -> Verdict {
    let apart = a.is_below(&b) || b.is_below(&a);
    let change = (b.median - a.median).abs();
    if !apart || change <= scatter(a, b, typical) * a.median {
        return Verdict::Same;
    }
    match (b.median > a.median) ^ lower_is_better {
        true => Verdict::Better,
        false => Verdict::Worse,
    }
}

/// Every cell that both records have.
pub fn changes(a: &Record, b: &Record) -> Vec<Change> {
    let mut changes = Vec::new();
    for of_a in &a.experiments {
        let Some(of_b) = b.experiments.iter().find(|e| e.name == of_a.name) else { continue };
        let measure = Experiment::find(&of_a.name).map_or(THROUGHPUT, |e| e.measure);
        let figure = measure.figure;
        let typical = typical_width(cells(of_a, figure).chain(cells(of_b, figure)));
        for target in of_a.targets() {
            for (variant, x) in places(of_a) {
                let of = |results| cell(results, target, variant, x, figure);
                let Some((a, b)) = of(of_a).zip(of(of_b)) else { continue };
                let comma = if variant.is_empty() { "" } else { ", " };
                changes.push(Change {
                    what: format!("{}: {target}, {variant}{comma}{x} {}", of_a.name, of_a.axis),
                    a,
                    b,
                    verdict: verdict(a, b, measure.lower_is_better, typical),
                    scatter: scatter(a, b, typical),
                });
            }
        }
    }
    changes
}

/// The comparison as text; the last line says it all.
pub fn report(a: &Record, b: &Record) -> Result<String, String> {
    let changes = changes(a, b);
    if changes.is_empty() {
        return Err("the records have nothing in common".to_owned());
    }
    let mut text = String::new();
    for (name, record) in [("A", a), ("B", b)] {
        let commit = record.commit.as_deref().unwrap_or("unknown");
        let program = record.program.as_deref().map(|sum| format!(", program {sum}"));
        let program = program.unwrap_or_default();
        let partial = record.stopped.as_ref().map(|why| format!(", partial: {why}"));
        let partial = partial.unwrap_or_default();
        writeln!(text, "{name}: {}, commit {commit}{program}{partial}", record.started)
            .expect("strings take writes");
    }
    if a.machine != b.machine {
        text.push_str("The machines differ: compare ratios within each, not these.\n");
    }
    text.push('\n');
    for change in &changes {
        let said = match change.verdict {
            Verdict::Same => "no difference",
            Verdict::Better => "BETTER",
            Verdict::Worse => "WORSE",
        };
        let scatter = match change.a.count.min(change.b.count) {
            1 => "a single repetition".to_owned(),
            _ => format!("repetitions: ±{:.0} %", change.scatter * 100.0),
        };
        writeln!(
            text,
            "{:<62} {:>10.1} → {:>10.1}  {:+6.1} % ({scatter})  {said}",
            change.what,
            change.a.median,
            change.b.median,
            (change.ratio() - 1.0) * 100.0,
        )
        .expect("strings take writes");
    }
    let count = |verdict| changes.iter().filter(|c| c.verdict == verdict).count();
    let (better, worse) = (count(Verdict::Better), count(Verdict::Worse));
    let summary = match (better, worse) {
        (0, 0) => format!("\nno difference: {} cells agree within their spread\n", changes.len()),
        _ => format!("\n{better} better, {worse} worse of {} cells\n", changes.len()),
    };
    text.push_str(&summary);
    Ok(text)
}
