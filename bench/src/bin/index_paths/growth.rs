//! How long each insert takes while an index grows.

use crate::keys::Kind;
use crate::{World, form, said, tid};
use hdrhistogram::Histogram;
use std::time::{Duration, Instant};
use storage::btree::NewEntry;
use storage::error::Result as Stored;

fn grow(
    name: &str,
    kind: Kind,
    count: u64,
    mut insert: impl FnMut(u64) -> Stored<()>,
) -> Result<(), String> {
    let mut nanos = Histogram::<u64>::new(3).map_err(|fault| fault.to_string())?;
    let began = Instant::now();
    for number in 0..count {
        let begun = Instant::now();
        insert(number).map_err(said)?;
        nanos.saturating_record(begun.elapsed().as_nanos() as u64);
    }
    let quantile = |share| Duration::from_nanos(nanos.value_at_quantile(share));
    println!(
        "{:<8} {:<5} {name:<14} {count} inserts in {:.1} s: median {:?}, 99.9 % {:?}, 99.999 % {:?}, longest {:?}",
        form(),
        kind.name(),
        began.elapsed().as_secs_f64(),
        quantile(0.5),
        quantile(0.999),
        quantile(0.99999),
        Duration::from_nanos(nanos.max()),
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
