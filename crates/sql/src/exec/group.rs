//! Hash tables over lists of datums, with SQL's notion of "not distinct": nulls are equal to each other.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};

use base::hash::{FixedHasher, HashMap};

use crate::types::{Datum, hash_datum, is_equal};

/// What an entry of a hash table takes beside its key's row and what is kept with it.
pub(super) const ENTRY_BYTES: usize = 32;

/// A list of values as a hash key.
#[derive(Clone, Debug)]
pub(super) struct Key(pub Box<[Datum]>);

/// The same, borrowed: a row is looked up as it lies, and copied only if it is new.
#[repr(transparent)]
pub(super) struct Values([Datum]);

impl Values {
    #[inline]
    pub fn of(values: &[Datum]) -> &Values {
        // SAFETY: the struct is the slice, with its layout; the lifetime stays.
        unsafe { &*(std::ptr::from_ref(values) as *const Values) }
    }
}

impl Hash for Values {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for value in &self.0 {
            hash_datum(value, state);
        }
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Values) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| is_equal(a, b))
    }
}

impl Eq for Values {}

impl Borrow<Values> for Key {
    fn borrow(&self) -> &Values {
        Values::of(&self.0)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Values::of(&self.0).hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        Values::of(&self.0) == Values::of(&other.0)
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
