//! What a build of Thalweg with the feature `lab-counts` says of itself, a few times a second, on standard error.

use crate::model::figure;
use std::path::Path;

/// What a line of its begins with.
const BEGINS: &str = "lab-counts:";
const NAMES: [&str; 3] = [figure::PARKS, figure::LATCHES, figure::LATCH_WAITS];

/// Counts since the server's start; none of a server that doesn't count.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Counted(Option<[f64; 3]>);

impl Counted {
    /// The last that a server's log tells, once another line has come than the one that stands there now.
    pub fn read(log: &Path) -> Counted {
        let text = || std::fs::read_to_string(log).unwrap_or_default();
        let begun = std::time::Instant::now();
        let first = Counted::last(&text());
        if first.0.is_none() {
            return first;
        }
        let lines = |text: &str| text.matches(BEGINS).count();
        let had = lines(&text());
        // Two more: the first may have been read before what was just done.
        while lines(&text()) < had + 2 && begun.elapsed().as_secs() < 5 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Counted::last(&text())
    }

    /// Of lines `lab-counts: PARKS LATCHES WAITS` the last.
    fn last(text: &str) -> Counted {
        let whole = |line: &&str| line.ends_with('.');
        let mut told =
            text.lines().filter_map(|line| line.split_once(BEGINS)).map(|(_, rest)| rest);
        let Some(line) = told.rfind(whole) else { return Counted(None) };
        let mut numbers = line.trim_end_matches('.').split_whitespace().map(str::parse::<f64>);
        let mut next = || numbers.next()?.ok();
        Counted((|| Some([next()?, next()?, next()?]))())
    }

    /// What was added since.
    pub fn since(&self, before: &Counted) -> Counted {
        let grown = |now: [f64; 3], then: [f64; 3]| std::array::from_fn(|n| now[n] - then[n]);
        Counted(self.0.zip(before.0).map(|(now, then)| grown(now, then)))
    }

    /// By figure, of each of so many transactions.
    pub fn per(&self, done: f64) -> impl Iterator<Item = (String, f64)> {
        let counts = NAMES.into_iter().zip(self.0.into_iter().flatten());
        counts.map(move |(name, count)| (name.to_owned(), count / done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_line_counts() {
        let text = "thalweg: ready\nlab-counts: 1 20 3.\nlab-counts: 5 60 4.\nlab-counts: 9 1";
        let (before, after) = (Counted::last("lab-counts: 1 20 3."), Counted::last(text));
        let per: Vec<(String, f64)> = after.since(&before).per(4.0).collect();
        let expected = [(figure::PARKS, 1.0), (figure::LATCHES, 10.0), (figure::LATCH_WAITS, 0.25)];
        assert_eq!(per, expected.map(|(name, count)| (name.to_owned(), count)));
        assert_eq!(Counted::last("thalweg: ready").per(1.0).count(), 0);
    }
}
