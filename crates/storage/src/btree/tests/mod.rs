mod churn;
mod costs;
mod pages;
mod postings;
mod queues;
mod raced;
mod rooms;
#[cfg(feature = "lab-counts")]
mod shared_lines;
mod shifts;
mod skips;
mod trees;

/// A small generator for repeatable random tests.
pub(super) struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.roll() % n
    }
}

/// How many styles of keys there are.
pub(super) const STYLES: u64 = 9;

/// What all keys of the last two styles begin with.
pub(super) const FEW: &[u8] = b"few";

/// Keys of several characters: short integers, shared prefixes, prefixes of each other, long ones; a few short ones over
/// and over, a few long ones.
pub(super) fn random_key(dice: &mut Dice, style: u64) -> Vec<u8> {
    match style {
        0 => [&[1u8][..], &(dice.below(5000) as u32).to_be_bytes()].concat(),
        1 => [&[1u8][..], &dice.below(1 << 40).to_be_bytes()].concat(),
        2 => format!("/a/rather/long/common/prefix/{:03}", dice.below(900)).into_bytes(),
        3 => vec![dice.below(3) as u8; dice.below(20) as usize],
        4 => vec![dice.below(4) as u8; dice.below(super::MAX_KEY_BYTES as u64 + 1) as usize],
        5 => {
            let style = dice.below(5);
            random_key(dice, style)
        }
        7 => [FEW, &[dice.below(10) as u8]].concat(),
        8 => [FEW, &[dice.below(3) as u8; 1000], &[dice.below(2) as u8]].concat(),
        _ => (0..dice.below(12)).map(|_| dice.below(3) as u8 * 127).collect(),
    }
}
