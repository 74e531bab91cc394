//! Medians with their spread.

use crate::experiments::Measure;
use crate::model::Results;

/// Median (of an even number of values the middle of the two in the middle), least and greatest, and of how many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub count: usize,
}

impl Spread {
    /// Of these values; nothing of none.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let of_two = (sorted.get((sorted.len().max(1) - 1) / 2)?, sorted.get(sorted.len() / 2)?);
        Some(Spread {
            median: f64::midpoint(*of_two.0, *of_two.1),
            min: values.iter().copied().reduce(f64::min)?,
            max: values.iter().copied().reduce(f64::max)?,
            count: values.len(),
        })
    }

    /// Each value divided by a number.
    pub fn over(&self, divisor: f64) -> Spread {
        let [median, min, max] = [self.median, self.min, self.max].map(|value| value / divisor);
        Spread { median, min, max, ..*self }
    }
}

/// Every variant at every place of the axis.
pub fn places(results: &Results) -> impl Iterator<Item = (&str, u32)> {
    results.variants().into_iter().flat_map(|v| results.xs().into_iter().map(move |x| (v, x)))
}

/// One figure of one cell.
pub fn cell(
    results: &Results,
    target: &str,
    variant: &str,
    x: u32,
    figure: &str,
) -> Option<Spread> {
    Spread::of(&results.values(target, variant, x, figure))
}

/// How many times better Thalweg is than the better PostgreSQL in a cell, by the figure that decides.
pub fn advantage(results: &Results, measure: &Measure, variant: &str, x: u32) -> Option<f64> {
    let of = |target: &str| Some(cell(results, target, variant, x, measure.figure)?.median);
    let theirs = results.targets().into_iter().filter(|t| is_postgres(t)).filter_map(of);
    let lower = measure.lower_is_better;
    let better = theirs.reduce(if lower { f64::min } else { f64::max })?;
    let ours = of("thalweg")?;
    Some(if lower { better / ours } else { ours / better })
}

/// PostgreSQL's targets.
pub fn is_postgres(target: &str) -> bool {
    target.starts_with("pg")
}

/// What the better PostgreSQL has in a cell, by this figure.
pub fn better_postgres(
    results: &Results,
    measure: &Measure,
    variant: &str,
    x: u32,
) -> Option<Spread> {
    let of = |target: &str| cell(results, target, variant, x, measure.figure);
    let found = results.targets().into_iter().filter(|t| is_postgres(t)).filter_map(of);
    let better = |one: Spread, other: Spread| {
        let lower = one.median < other.median;
        if lower == measure.lower_is_better { one } else { other }
    };
    found.reduce(better)
}
