//! How long each insert takes while an index grows.

use crate::keys::Kind;
use crate::{World, form, said, tid};
use std::time::{Duration, Instant};
use storage::btree::NewEntry;
use storage::error::Result as Stored;

/// Bounds of the histogram: a sixteenth of the last more each, from 64 ns.
const BOUNDS: usize = 400;

/// How often something took how long.
struct Histogram {
    counts: [u64; BOUNDS],
    total: u64,
    longest: Duration,
}

impl Histogram {
    fn new() -> Histogram {
        Histogram { counts: [0; BOUNDS], total: 0, longest: Duration::ZERO }
    }

    fn bound(at: usize) -> Duration {
        Duration::from_secs_f64(64e-9 * (17.0_f64 / 16.0).powi(at as i32))
    }

    fn add(&mut self, took: Duration) {
        let steps = (took.as_secs_f64() / 64e-9).max(1.0).ln() / (17.0_f64 / 16.0).ln();
        self.counts[(steps.ceil() as usize).min(BOUNDS - 1)] += 1;
        self.total += 1;
        self.longest = self.longest.max(took);
    }

    /// What this share of them did not exceed, within a sixteenth.
    fn quantile(&self, share: f64) -> Duration {
        let mut below = 0;
        for (at, count) in self.counts.iter().enumerate() {
            below += count;
            if below as f64 >= share * self.total as f64 {
                return Histogram::bound(at);
            }
        }
        self.longest
    }
}

fn grow(
    name: &str,
    kind: Kind,
    count: u64,
    mut insert: impl FnMut(u64) -> Stored<()>,
) -> Result<(), String> {
    let (mut histogram, began) = (Histogram::new(), Instant::now());
    for number in 0..count {
        let begun = Instant::now();
        insert(number).map_err(said)?;
        histogram.add(begun.elapsed());
    }
    println!(
        "{:<8} {:<5} {name:<14} {count} inserts in {:.1} s: median {:?}, 99.9 % {:?}, 99.999 % {:?}, longest {:?}",
        form(),
        kind.name(),
        began.elapsed().as_secs_f64(),
        histogram.quantile(0.5),
        histogram.quantile(0.999),
        histogram.quantile(0.99999),
        histogram.longest,
    );
    Ok(())
}

/// Inserts so many keys into each index, from empty, in no order.
pub fn measure(world: &World, kind: Kind, count: u64) -> Result<(), String> {
    // An odd number: each number once.
    let key = |number: u64| match kind {
        Kind::Int => kind.key(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        Kind::Text => kind.key(number),
    };
    let (btree, hash) = (world.btree()?, world.hash()?);
    grow("B-tree", kind, count, |number| {
        btree.insert(NewEntry::plain(key(number).bytes(), tid(number)))
    })?;
    grow("hash", kind, count, |number| hash.insert(key(number).bytes(), tid(number)))
}
