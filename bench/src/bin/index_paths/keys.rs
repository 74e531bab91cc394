//! Keys as SQL encodes them, by number.

use std::str::FromStr;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A bigint, ascending with its number, with room for others between neighbours.
    Int,
    /// A text of 36 characters, like a uuid.
    Text,
}

impl FromStr for Kind {
    type Err = ();

    fn from_str(text: &str) -> Result<Kind, ()> {
        match text {
            "int" => Ok(Kind::Int),
            "text" => Ok(Kind::Text),
            _ => Err(()),
        }
    }
}

/// Longest key, with the byte before it that says "not null" and the one behind a text.
const LONGEST: usize = 38;

pub struct Key {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Key {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// A bigint.
    fn int(value: u64) -> Key {
        let mut bytes = [0; LONGEST];
        bytes[0] = 1;
        bytes[1..9].copy_from_slice(&value.to_be_bytes());
        Key { bytes, len: 9 }
    }
}

/// Bits of an integer key between those of neighbouring numbers.
const BETWEEN_BITS: u32 = 32;

/// Spreads numbers over all of 64 bits; one number for each (MurmurHash3's finalizer).
fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x = (x ^ (x >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ (x >> 33)
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Int => "int",
            Kind::Text => "text",
        }
    }

    /// What its keys are.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Int => "integers",
            Kind::Text => "texts",
        }
    }

    /// The key of a number.
    pub fn key(self, number: u64) -> Key {
        match self {
            Kind::Int => Key::int(number << BETWEEN_BITS),
            Kind::Text => {
                let mut bytes = [0; LONGEST];
                bytes[0] = 1;
                let digits = u128::from(mix(number)) << 64 | u128::from(mix(!number));
                for (at, byte) in bytes[1..37].iter_mut().enumerate() {
                    let before = at - [8, 13, 18, 23].iter().filter(|&&dash| dash < at).count();
                    let digit = (digits >> (124 - 4 * before.min(31))) as usize & 15;
                    *byte = if [8, 13, 18, 23].contains(&at) {
                        b'-'
                    } else {
                        b"0123456789abcdef"[digit]
                    };
                }
                Key { bytes, len: LONGEST }
            }
        }
    }

    /// The key of a number that is not below `count`: it lies anywhere between the keys of those that are.
    pub fn key_between(self, number: u64, count: u64) -> Key {
        debug_assert!(
            (count..1 << BETWEEN_BITS).contains(&number),
            "it does not look like an old one's"
        );
        match self {
            Kind::Int => Key::int((mix(number) % count) << BETWEEN_BITS | number),
            Kind::Text => self.key(number),
        }
    }

    /// The key of a number, in no order, among any others.
    pub fn key_anywhere(self, number: u64) -> Key {
        match self {
            Kind::Int => Key::int(mix(number)),
            Kind::Text => self.key(number),
        }
    }

    /// The numbers below `count` in the order of their keys.
    pub fn sorted(self, count: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = (0..count).collect();
        if self == Kind::Text {
            // The first sixteen digits are of `mix`, and no two numbers have the same.
            numbers.sort_unstable_by_key(|&number| mix(number));
        }
        numbers
    }
}
