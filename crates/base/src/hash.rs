//! Hash maps whose order does not depend on a random seed: the same run twice is the same run.

use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The fixed hasher of the engine (FxHash: fast on short keys; not for keys an attacker chooses).
pub type FixedHasher = rustc_hash::FxHasher;

/// `HashMap` with the fixed hasher.
pub type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<FixedHasher>>;

/// `HashSet` with the fixed hasher.
pub type HashSet<K> = std::collections::HashSet<K, BuildHasherDefault<FixedHasher>>;

/// Hash of one value.
pub fn hash_of<T: Hash>(value: &T) -> u64 {
    let mut hasher = FixedHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}
