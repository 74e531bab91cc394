mod builds;
mod concurrent;
mod indexes;
mod metapage;

use super::HashIndex;
use crate::rig::Rig;
use base::rank::Rank;
use base::{BlockNo, Persistence, Tid};

/// The least that SQL allows: pages are a tenth full on average when the index grows, so that there are many
/// splits.
const SPARSE: u8 = 10;

/// A small generator for repeatable random tests.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.roll() % n
    }
}

/// Hashes as good keys give them, and as bad ones do: few, crowded at one end of their pages, in one bucket.
fn random_hash(dice: &mut Dice, style: u64) -> u64 {
    match style {
        0 => super::key_hash(&dice.below(3000).to_le_bytes()),
        1 => super::key_hash(&dice.below(4).to_le_bytes()),
        2 => dice.below(1 << 20),
        3 => dice.roll() << 12,
        _ => {
            let style = dice.below(4);
            random_hash(dice, style)
        }
    }
}

const STYLES: u64 = 5;

fn index(rig: &Rig, number: u32, fill_percent: u8) -> HashIndex {
    let rel = rig.create(number, Persistence::Permanent, Rank::IndexPage);
    HashIndex::new(rel, &rig.txns, fill_percent)
}

fn tid(number: u64) -> Tid {
    Tid { block: BlockNo((number / 200) as u32), offset: (number % 200) as u16 + 1 }
}

/// Verifies the index; its entries, ascending.
fn check(index: &HashIndex) -> Vec<(u64, Tid)> {
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    index
        .check(&mut |fault| faults.push(fault), &mut |hash, tid| entries.push((hash, tid)))
        .unwrap();
    assert!(faults.is_empty(), "{faults:#?}");
    entries.sort_unstable();
    entries
}

/// What a look-up finds, ascending.
fn found(index: &HashIndex, hash: u64) -> Vec<Tid> {
    let mut tids = Vec::new();
    index.lookup_hash(hash, &mut tids).unwrap();
    tids.sort_unstable();
    tids
}
