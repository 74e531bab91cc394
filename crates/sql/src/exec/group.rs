//! Hash tables over lists of datums, with SQL's notion of "not distinct": nulls are equal to each other.

use std::hash::Hasher;

use base::hash::{FixedHasher, HashMap};

use crate::error::Result;
use crate::types::{Datum, TypeId, hash_datum, is_equal_as};

use super::sort::{self, KeyOrder, compare_keys, sort_rows};

/// What an entry of a hash table takes beside its key's row and what is kept with it.
pub(super) const ENTRY_BYTES: usize = 32;

/// No entry.
const NONE: u32 = u32::MAX;

/// Values by rows, in the order in which the rows were put in.
///
/// Rows are looked up as they lie, and copied only if they are new. Growing moves hashes, not rows.
pub(super) struct KeyMap<V> {
    /// By hash, the last entry with it.
    last: HashMap<u64, u32>,
    entries: Vec<Entry<V>>,
}

struct Entry<V> {
    key: Box<[Datum]>,
    value: V,
    /// The entry before with the same hash.
    before: u32,
}

impl<V> Default for KeyMap<V> {
    fn default() -> KeyMap<V> {
        KeyMap { last: HashMap::default(), entries: Vec::new() }
    }
}

impl<V> KeyMap<V> {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn clear(&mut self) {
        self.last.clear();
        self.entries.clear();
    }

    /// The number, from 0, of the entry for a row with this hash ([`hash_of`]). `type_of` is asked for the types of
    /// its values.
    #[inline]
    pub fn find(
        &self,
        hash: u64,
        key: &[Datum],
        type_of: impl Fn(usize) -> TypeId,
    ) -> Option<usize> {
        let mut at = *self.last.get(&hash)?;
        while at != NONE {
            let entry = &self.entries[at as usize];
            if are_equal(&entry.key, key, &type_of) {
                return Some(at as usize);
            }
            at = entry.before;
        }
        None
    }

    /// Adds an entry for a row with this hash that has none; its number.
    pub fn add(&mut self, hash: u64, key: Box<[Datum]>, value: V) -> usize {
        let at = self.entries.len();
        let number = u32::try_from(at).ok().filter(|number| *number != NONE);
        let number = number.expect("fewer rows than memory holds");
        let before = self.last.insert(hash, number).unwrap_or(NONE);
        self.entries.push(Entry { key, value, before });
        at
    }

    /// The rows.
    pub fn keys(&self) -> impl Iterator<Item = &[Datum]> {
        self.entries.iter().map(|entry| &*entry.key)
    }

    /// What is kept with entry `at`.
    #[inline]
    pub fn value_mut(&mut self, at: usize) -> &mut V {
        &mut self.entries[at].value
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|entry| &mut entry.value)
    }

    /// The rows and what is kept with them.
    pub fn into_entries(self) -> impl Iterator<Item = (Box<[Datum]>, V)> + use<V> {
        self.entries.into_iter().map(|entry| (entry.key, entry.value))
    }
}

/// Are the rows not distinct? `type_of` is asked for the types of their values.
#[inline]
pub(super) fn are_equal(a: &[Datum], b: &[Datum], type_of: impl Fn(usize) -> TypeId) -> bool {
    let mut pairs = a.iter().zip(b).enumerate();
    a.len() == b.len() && pairs.all(|(i, (a, b))| is_equal_as(a, b, || type_of(i)))
}

/// Fails where not all of the rows can be compared with each other, as PostgreSQL, which sorts them, does.
pub(super) fn check_alike<'k>(
    rows: impl Iterator<Item = &'k [Datum]>,
    types: impl Iterator<Item = TypeId>,
) -> Result<()> {
    let order = types.map(|ty| KeyOrder { ty, desc: false, nulls_first: false });
    let order: Vec<KeyOrder> = order.collect();
    if !sort::are_rows(&order) {
        return Ok(());
    }
    let mut rows: Vec<&[Datum]> = rows.collect();
    let check = |a: &&[Datum], b: &&[Datum]| sort::check_alike(&order, a, b);
    sort_rows(&mut rows, |a, b| compare_keys(&order, a, b), Some(&check))
}

/// A hash of values, to be compared afterwards.
#[inline]
pub(super) fn hash_of(values: &[Datum]) -> u64 {
    let mut hasher = FixedHasher::default();
    for value in values {
        hash_datum(value, &mut hasher);
    }
    hasher.finish()
}
