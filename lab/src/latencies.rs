//! pgbench's log of single transactions as histograms: one of the whole run, one of each second.

use crate::model::figure;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::path::Path;

/// Latencies of a run.
pub struct Latencies {
    whole: Histogram<u64>,
    /// By second since the first transaction ended.
    seconds: BTreeMap<u64, Histogram<u64>>,
}

/// Microseconds up to ten minutes, to three digits.
fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 600_000_000, 3).expect("the bounds are in order")
}

/// What a second's transactions took, milliseconds: median, 99th percentile, longest.
pub struct Second {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

impl Latencies {
    /// Reads all logs in a directory.
    pub fn read(folder: &Path) -> Result<Latencies, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
        let mut texts = Vec::new();
        for file in std::fs::read_dir(folder).map_err(failed)? {
            let path = file.map_err(failed)?.path();
            texts.push(std::fs::read_to_string(path).map_err(failed)?);
        }
        Ok(Latencies::parse(texts.iter().flat_map(|text| text.lines())))
    }

    /// Lines `client transaction microseconds script seconds microseconds …`. Other lines tell of
    /// transactions that did not get through.
    pub fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> Latencies {
        let mut ended: Vec<(u64, u64)> = lines.filter_map(line).collect();
        ended.sort_unstable();
        let begun = ended.first().map_or(0, |(second, _)| *second);
        let mut all = Latencies { whole: empty(), seconds: BTreeMap::new() };
        for (second, micros) in ended {
            all.whole.saturating_record(micros);
            all.seconds.entry(second - begun).or_insert_with(empty).saturating_record(micros);
        }
        all
    }

    /// Average and percentiles of the whole run.
    pub fn figures(&self, into: &mut BTreeMap<String, f64>) {
        if self.whole.is_empty() {
            return;
        }
        for (name, share) in
            [(figure::P50, 0.5), (figure::P90, 0.9), (figure::P99, 0.99), (figure::P999, 0.999)]
        {
            into.insert(name.to_owned(), ms(self.whole.value_at_quantile(share)));
        }
        into.insert(figure::MEAN.to_owned(), self.whole.mean() / 1000.0);
        into.insert(figure::MAX.to_owned(), ms(self.whole.max()));
        let seconds = self.seconds.values().map(|second| second.value_at_quantile(0.99));
        if let Some(worst) = seconds.max() {
            into.insert(figure::WORST_SECOND.to_owned(), ms(worst));
        }
    }

    /// One second's, if transactions ended in it.
    pub fn second(&self, second: u64) -> Option<Second> {
        let of = self.seconds.get(&second)?;
        let at = |share| ms(of.value_at_quantile(share));
        Some(Second { p50: at(0.5), p99: at(0.99), max: ms(of.max()) })
    }
}

fn ms(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

fn line(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split(' ');
    let micros = fields.nth(2)?.parse().ok()?;
    Some((fields.nth(1)?.parse().ok()?, micros))
}
