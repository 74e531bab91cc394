//! Hash tables over lists of datums, with SQL's notion of "not distinct": nulls are equal to each other.

use std::hash::{Hash, Hasher};

use base::hash::{FixedHasher, HashMap};

use crate::types::{Datum, hash_datum, is_equal};

/// What an entry of a hash table takes beside its key's row and what is kept with it.
pub(super) const ENTRY_BYTES: usize = 32;

/// A list of values as a hash key.
#[derive(Clone, Debug)]
pub(super) struct Key(pub Box<[Datum]>);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for value in &self.0 {
            hash_datum(value, state);
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| is_equal(a, b))
    }
}

impl Eq for Key {}

/// Rows by key.
pub(super) type KeyMap<V> = HashMap<Key, V>;

/// A hash of values, to be compared afterwards.
pub(super) fn hash_of(values: &[Datum]) -> u64 {
    let mut hasher = FixedHasher::default();
    for value in values {
        hash_datum(value, &mut hasher);
    }
    hasher.finish()
}
