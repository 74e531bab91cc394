//! How long each insert takes while an index grows, and how many pages it touches.

use crate::keys::Kind;
use crate::{World, said, tid};
use hdrhistogram::Histogram;
use std::time::{Duration, Instant};
use storage::btree::NewEntry;
use storage::buffer::{Figure, Relation};
use storage::error::Result as Stored;

/// Pages that an insert may touch, each as often as it is come to, however large the index: of a hash index eight steps of a
/// split with up to six pages each and four of helping with another, of a B-tree descents and splits on all levels. The
/// tests of both say how these come about; here they are held at full size.
const PAGES_MAX: u64 = 80;

/// Up to a minute, in nanoseconds: what is longer than the bounds would be told as if it were not.
fn histogram() -> Result<Histogram<u64>, String> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).map_err(|fault| fault.to_string())
}

fn grow(
    name: &str,
    kind: Kind,
    count: u64,
    relation: &Relation,
    mut insert: impl FnMut(u64) -> Stored<()>,
) -> Result<(), String> {
    let (mut nanos, mut pages) = (histogram()?, histogram()?);
    let touched = || relation.figure(Figure::Hits);
    let (began, mut before) = (Instant::now(), touched());
    for number in 0..count {
        let begun = Instant::now();
        insert(number).map_err(said)?;
        nanos.saturating_record(begun.elapsed().as_nanos() as u64);
        let now = touched();
        pages.saturating_record(now - before);
        before = now;
    }
    let quantile = |share| Duration::from_nanos(nanos.value_at_quantile(share));
    println!(
        "{:<5} {name:<8} {count} inserts in {:.1} s: median {:?}, 99.9 % {:?}, 99.999 % {:?}, longest {:?}; \
         pages median {}, 99.9 % {}, most {} (at most {PAGES_MAX})",
        kind.name(),
        began.elapsed().as_secs_f64(),
        quantile(0.5),
        quantile(0.999),
        quantile(0.99999),
        Duration::from_nanos(nanos.max()),
        pages.value_at_quantile(0.5),
        pages.value_at_quantile(0.999),
        pages.max(),
    );
    if pages.max() > PAGES_MAX {
        return Err(format!("an insert into the {name} touched {} pages", pages.max()));
    }
    Ok(())
}

/// Inserts so many keys into each index, from empty, in no order.
pub fn measure(world: &World, kind: Kind, count: u64) -> Result<(), String> {
    let (btree, hash) = (world.btree()?, world.hash()?);
    grow("B-tree", kind, count, btree.relation(), |number| {
        btree.insert(NewEntry::plain(kind.key_anywhere(number).bytes(), tid(number)))
    })?;
    grow("hash", kind, count, hash.relation(), |number| {
        hash.insert(kind.key_anywhere(number).bytes(), tid(number))
    })
}
