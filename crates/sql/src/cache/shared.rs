//! What sessions of one thread share: the plans that one of them made serve the others.
//!
//! With many connections that run the same few statements a plan of each session's own costs more than making it:
//! the sessions' plans push each other out of the processor's caches. One store per thread, so no line goes from core to
//! core; a server's worker is a thread, and its connections stay with it.
//!
//! Which texts mean the same is decided by their [`Scope`] and by the catalogs' version, which every plan carries and
//! whoever runs it compares.

use base::sync::unmodelled::{AtomicU64, Ordering};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;

use super::{Known, KnownText};

/// Texts of each kind that are kept; half of them may be out of use.
const KEPT_MAX: usize = 1024;

/// All but the text that decides what a text means: database, user, search path, the planner's settings, and, where there are temporary
/// tables, session. Equal for sessions for which these are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Scope(u64);

impl Scope {
    /// One that nobody else has.
    pub fn unique() -> Scope {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only uniqueness matters.
        Scope(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Trees, not hash tables: clients choose the texts, and must not be able to make others' look-ups slow.
type ByText<V> = BTreeMap<Scope, BTreeMap<Box<[u8]>, V>>;

/// Entries that were used since the last change of generations, and those that were before.
struct Store<V> {
    recent: ByText<V>,
    count: usize,
    older: ByText<V>,
}

impl<V> Default for Store<V> {
    fn default() -> Self {
        Store { recent: ByText::new(), count: 0, older: ByText::new() }
    }
}

impl<V: Clone> Store<V> {
    fn find(&mut self, scope: Scope, text: &[u8]) -> Option<V> {
        if let Some(found) = self.recent.get(&scope).and_then(|texts| texts.get(text)) {
            return Some(found.clone());
        }
        let (text, found) = self.older.get_mut(&scope)?.remove_entry(text)?;
        self.keep(scope, text, found.clone());
        Some(found)
    }

    fn keep(&mut self, scope: Scope, text: Box<[u8]>, value: V) {
        if self.count >= KEPT_MAX / 2 {
            self.older = mem::take(&mut self.recent);
            self.count = 0;
        }
        let new = self.recent.entry(scope).or_default().insert(text, value).is_none();
        self.count += usize::from(new);
    }
}

#[derive(Default)]
struct Shared {
    plans: Store<Known>,
    texts: Store<KnownText>,
}

thread_local! {
    static SHARED: RefCell<Shared> = RefCell::default();
}

/// What a session of this thread has kept under a key of lifted text.
pub(super) fn find(scope: Scope, key: &[u8]) -> Option<Known> {
    SHARED.with_borrow_mut(|shared| shared.plans.find(scope, key))
}

pub(super) fn keep(scope: Scope, key: &[u8], known: Known) {
    SHARED.with_borrow_mut(|shared| shared.plans.keep(scope, key.into(), known));
}

/// What a session of this thread has kept for a prepared text.
pub(super) fn text(scope: Scope, text: &str) -> Option<KnownText> {
    SHARED.with_borrow_mut(|shared| shared.texts.find(scope, text.as_bytes()))
}

pub(super) fn keep_text(scope: Scope, text: &str, known: KnownText) {
    SHARED.with_borrow_mut(|shared| shared.texts.keep(scope, text.as_bytes().into(), known));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_in_its_scope_only() {
        let (one, other) = (Scope::unique(), Scope::unique());
        let mut store = Store::default();
        store.keep(one, b"a"[..].into(), 1);
        store.keep(other, b"a"[..].into(), 2);
        assert_eq!(store.find(one, b"a"), Some(1));
        assert_eq!(store.find(other, b"a"), Some(2));
        assert_eq!(store.find(one, b"b"), None);
        store.keep(one, b"a"[..].into(), 3);
        assert_eq!(store.find(one, b"a"), Some(3));
    }

    #[test]
    fn what_is_used_stays_and_the_rest_is_bounded() {
        let scope = Scope::unique();
        let mut store = Store::default();
        store.keep(scope, b"used"[..].into(), 0);
        for i in 1..10 * KEPT_MAX {
            store.keep(scope, i.to_string().into_bytes().into(), i);
            assert_eq!(store.find(scope, b"used"), Some(0));
            let kept = |texts: &ByText<usize>| texts.values().map(BTreeMap::len).sum::<usize>();
            assert!(kept(&store.recent) + kept(&store.older) <= KEPT_MAX);
        }
        assert_eq!(store.find(scope, b"1"), None);
    }
}
