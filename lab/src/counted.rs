//! What a build of Thalweg with the feature `lab-counts` says of itself, a few times a second, on standard error: lines
//! as `base::counts::told` has them, behind the word, and ended by a full stop.

use crate::model::figure;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

/// What a line of its begins with.
const BEGINS: &str = "lab-counts: ";
const NAMES: [&str; 6] = [
    figure::PARKS,
    figure::LATCHES,
    figure::LATCH_WAITS,
    figure::WRITES,
    figure::SHARED_LINES,
    figure::PAGE_LINES,
];
/// A line is shorter.
const LINE_BYTES: u64 = 1 << 20;

/// Counts since the server's start; none of a server that doesn't count.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct Counted(Option<Told>);

#[derive(Clone, Debug, PartialEq)]
struct Told {
    counts: [f64; NAMES.len()],
    /// By the latch's kind.
    holds: BTreeMap<String, Holds>,
}

/// How long latches of a kind were held.
#[derive(Clone, Default, Debug, PartialEq)]
struct Holds {
    /// In all.
    nanos: f64,
    /// How many were shorter than so many nanoseconds, and not than the bound before.
    below: BTreeMap<u64, f64>,
}

impl Counted {
    /// The last that a server's log tells, once two more lines have come than stand there now: the first may have been read
    /// before what was just done.
    pub fn read(log: &Path) -> Counted {
        let begun = Instant::now();
        let length = std::fs::metadata(log).map_or(0, |log| log.len());
        let known = behind(log, length.saturating_sub(LINE_BYTES));
        if !known.contains(BEGINS) {
            return Counted(None);
        }
        loop {
            let new = behind(log, length);
            let whole = new.lines().filter(|line| line.contains(BEGINS) && line.ends_with('.'));
            if whole.count() >= 2 {
                return Counted::last(&new);
            }
            if begun.elapsed() > Duration::from_secs(5) {
                return Counted::last(&known);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Of such lines the last whole one.
    fn last(text: &str) -> Counted {
        let whole = |line: &str| line.strip_suffix('.').map(str::to_owned);
        let mut told = text.lines().filter_map(|line| whole(line.split_once(BEGINS)?.1));
        Counted(told.next_back().and_then(|line| parsed(&line)))
    }

    /// What was added since.
    pub fn since(&self, before: &Counted) -> Counted {
        Counted(self.0.as_ref().zip(before.0.as_ref()).map(|(now, then)| {
            Told {
                counts: std::array::from_fn(|n| now.counts[n] - then.counts[n]),
                holds: now
                    .holds
                    .iter()
                    .map(|(kind, holds)| (kind.clone(), holds.since(then.holds.get(kind))))
                    .collect(),
            }
        }))
    }

    /// By figure, of each of so many transactions.
    pub fn per(&self, done: f64) -> BTreeMap<String, f64> {
        let Some(told) = &self.0 else { return BTreeMap::new() };
        let counts = NAMES.into_iter().zip(told.counts);
        let mut all: BTreeMap<String, f64> =
            counts.map(|(name, count)| (name.to_owned(), count / done)).collect();
        for (kind, holds) in &told.holds {
            let count = holds.count();
            if count > 0.0 {
                all.insert(format!("{}{kind}", figure::HOLDS), count / done);
                all.insert(format!("{}{kind}", figure::HOLD_MEAN), holds.nanos / count);
                all.insert(format!("{}{kind}", figure::HOLD_P99), holds.all_but(count / 100.0));
                all.insert(format!("{}{kind}", figure::HOLD_MAX), holds.all_but(0.0));
            }
        }
        all
    }
}

impl Holds {
    fn since(&self, before: Option<&Holds>) -> Holds {
        let Some(before) = before else { return self.clone() };
        let of_then = |bound: &u64| before.below.get(bound).copied().unwrap_or_default();
        Holds {
            nanos: self.nanos - before.nanos,
            below: self.below.iter().map(|(b, count)| (*b, count - of_then(b))).collect(),
        }
    }

    fn count(&self) -> f64 {
        self.below.values().sum()
    }

    /// The least bound that all but so many are below, in nanoseconds.
    fn all_but(&self, left: f64) -> f64 {
        let mut above = self.count();
        let found = self.below.iter().find(|(_, count)| {
            above -= **count;
            above <= left
        });
        found.map_or(0.0, |(bound, _)| *bound as f64)
    }
}

/// What stands in a file behind so many bytes.
fn behind(file: &Path, from: u64) -> String {
    let mut bytes = Vec::new();
    // A log that can't be read tells nothing.
    let read = std::fs::File::open(file).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut bytes)
    });
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// A line without what begins and ends it.
fn parsed(line: &str) -> Option<Told> {
    let mut parts = line.split(" | ");
    let counts: Vec<f64> =
        parts.next()?.split(' ').map(|count| count.parse().ok()).collect::<Option<_>>()?;
    let holds = parts.map(|part| {
        let (kind, rest) = part.split_once('=')?;
        let (nanos, buckets) = rest.split_once(' ')?;
        let below = buckets.split(' ').map(|bucket| {
            let (bound, count) = bucket.split_once(':')?;
            Some((bound.parse().ok()?, count.parse().ok()?))
        });
        let holds =
            Holds { nanos: nanos.parse().ok()?, below: below.collect::<Option<BTreeMap<_, _>>>()? };
        Some((kind.to_owned(), holds))
    });
    Some(Told { counts: counts.try_into().ok()?, holds: holds.collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "lab-counts: 1 20 3 10 2 0 | leaf, alone=100 16:2.";

    #[test]
    fn the_last_whole_line_counts() {
        let text = "thalweg: ready\nlab-counts: 1 20 3 10 2 0.\nlab-counts: 5 60 4 30 2 8.\nlab-counts: 9 1";
        let (before, after) = (Counted::last(BEFORE), Counted::last(text));
        let per = after.since(&before).per(4.0);
        let expected = NAMES.into_iter().zip([1.0, 10.0, 0.25, 5.0, 0.0, 2.0]);
        assert_eq!(per, expected.map(|(name, count)| (name.to_owned(), count)).collect());
        assert!(Counted::last("thalweg: ready").per(1.0).is_empty());
    }

    #[test]
    fn holds_are_those_since_with_their_mean_and_bounds() {
        let after = "lab-counts: 1 20 3 10 2 0 | leaf, alone=3100 16:190 32:12 5120:2 | heap page, shared=60 64:2.";
        let per = Counted::last(after).since(&Counted::last(BEFORE)).per(100.0);
        let of = |figure: &str, kind: &str| per.get(&format!("{figure}{kind}")).copied();
        let leaf = |figure| of(figure, "leaf, alone").unwrap();
        assert_eq!(leaf(figure::HOLDS), 2.02);
        assert_eq!(leaf(figure::HOLD_MEAN), 3000.0 / 202.0);
        // Two of 202 are no more than one in a hundred.
        assert_eq!(leaf(figure::HOLD_P99), 32.0);
        assert_eq!(leaf(figure::HOLD_MAX), 5120.0);
        // It was not held before.
        assert_eq!(of(figure::HOLDS, "heap page, shared"), Some(0.02));
        let none = Counted::last(after).since(&Counted::last(after)).per(100.0);
        assert_eq!(none.keys().filter(|name| name.contains("leaf")).count(), 0);
    }

    #[test]
    fn what_a_counting_build_says_is_understood() {
        for spoilt in ["1 2 3", "1 2 3 4 5 six", "1 2 3 4 5 6 | leaf=1", "1 2 3 4 5 6 | leaf 1 2:3"]
        {
            assert_eq!(parsed(spoilt), None, "{spoilt}");
        }
        assert_eq!(Counted::read(Path::new("/nowhere")), Counted(None));
    }
}
