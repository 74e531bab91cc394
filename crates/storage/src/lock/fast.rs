//! The fast path: weak relation locks live in the session's own slot and touch nothing shared.
//!
//! Weak modes (AccessShare, RowShare, RowExclusive) never conflict with each other. As long as nobody holds
//! or wants a strong lock on a relation, knowing who holds weak ones is of no use; so each session notes
//! them in its slot. Who wants a strong lock first raises the relation's counter, then moves every note on
//! that relation into the shared table, and from there on all is as usual.
//!
//! *No conflict is overlooked:* the weak locker writes its note, then looks at the counter; the strong one
//! raises the counter, then looks at the notes. Both have a sequentially consistent fence in between.
//! A note that its writer has not looked at the counter for yet is no lock; a strong locker may find it all the same. It
//! becomes one if nothing that is held conflicts with it, and is dropped if something does.
//!
//! A note is one word, changed by compare-and-swap because two may write it: the session adds and removes
//! modes; a strong locker, holding the latch of the relation's shard, takes it out whole.

use super::mode::{LockMode, ModeSet};
use base::hash::hash_of;
use base::sync::unmodelled::{AtomicU32, AtomicU64, Ordering, fence};

/// Notes per session.
pub const FAST_SLOTS: usize = 16;

/// Counters of strong locks held or wanted, by hash of the relation.
const COUNTERS: usize = 1024;

const EMPTY: u64 = 0;
const MODE_SHIFT: u32 = 32;

/// A session's notes: relation in the low half, set of modes in the high one.
#[derive(Default)]
pub(super) struct FastSlots([AtomicU64; FAST_SLOTS]);

/// How a weak lock was taken, or why not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fast {
    /// It is in a note.
    Noted,
    /// It was in a note for a moment, which a strong locker has taken out: held in the shared table, unless that was in the way
    /// of what others hold there.
    Moved,
    /// All notes are taken, or somebody holds or wants a strong lock: go to the shared table.
    Unavailable,
}

/// Where strong lockers announce themselves.
pub(super) struct StrongCounters(Box<[AtomicU32]>);

impl Default for StrongCounters {
    fn default() -> StrongCounters {
        StrongCounters((0..COUNTERS).map(|_| AtomicU32::new(0)).collect())
    }
}

impl StrongCounters {
    fn counter(&self, db: u32, rel: u32) -> &AtomicU32 {
        &self.0[hash_of(&(db, rel)) as usize % COUNTERS]
    }

    /// A strong lock on the relation is wanted; weak ones are not noted from here on.
    pub(super) fn raise(&self, db: u32, rel: u32) {
        self.counter(db, rel).fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `FastSlots::take`.
        fence(Ordering::SeqCst);
    }

    /// It is not held or wanted any more.
    pub(super) fn lower(&self, db: u32, rel: u32) {
        // Release: pairs with the acquire in `FastSlots::take`. Who takes no latch there knows by this alone what was done
        // under the lock.
        self.counter(db, rel).fetch_sub(1, Ordering::Release);
    }
}

fn note(rel: u32, modes: ModeSet) -> u64 {
    u64::from(rel) | u64::from(modes.0) << MODE_SHIFT
}

fn relation(note: u64) -> u32 {
    note as u32
}

fn modes(note: u64) -> ModeSet {
    ModeSet((note >> MODE_SHIFT) as u16)
}

impl FastSlots {
    /// Notes a weak lock on a relation of database `db`, the session's own. Only by the session.
    pub(super) fn take(&self, strong: &StrongCounters, db: u32, rel: u32, mode: LockMode) -> Fast {
        debug_assert!(mode.is_weak(), "only weak locks are noted");
        let Some(slot) = self.add(rel, mode) else {
            return Fast::Unavailable;
        };
        // Pairs with the fence in `raise`.
        fence(Ordering::SeqCst);
        // Acquire: pairs with the release in `lower`.
        if strong.counter(db, rel).load(Ordering::Acquire) == 0 {
            return Fast::Noted;
        }
        if self.remove_at(slot, rel, mode) { Fast::Unavailable } else { Fast::Moved }
    }

    /// Writes the note; where.
    pub(super) fn add(&self, rel: u32, mode: LockMode) -> Option<usize> {
        let mut empty = None;
        for (i, slot) in self.0.iter().enumerate() {
            let now = slot.load(Ordering::Relaxed);
            if now == EMPTY {
                empty = empty.or(Some(i));
            } else if relation(now) == rel {
                let with = note(rel, modes(now).with(mode));
                if slot.compare_exchange(now, with, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    return Some(i);
                }
                // A strong locker took it out just now; its counter is up.
                return None;
            }
        }
        let at = empty?;
        // Only the session fills an empty note.
        self.0[at].store(note(rel, ModeSet::EMPTY.with(mode)), Ordering::Relaxed);
        Some(at)
    }

    /// Removes a noted lock; false if it is not here (any more). Only by the session.
    pub(super) fn remove(&self, rel: u32, mode: LockMode) -> bool {
        (0..FAST_SLOTS).any(|at| self.remove_at(at, rel, mode))
    }

    fn remove_at(&self, at: usize, rel: u32, mode: LockMode) -> bool {
        let slot = &self.0[at];
        let now = slot.load(Ordering::Relaxed);
        if now == EMPTY || relation(now) != rel || !modes(now).has(mode) {
            return false;
        }
        let left = modes(now).without(mode);
        let after = if left.is_empty() { EMPTY } else { note(rel, left) };
        // Release: what the session did under the lock is seen by the strong locker that finds no note.
        slot.compare_exchange(now, after, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Takes the note on `rel` out: the modes it held. By a strong locker, holding the shard's latch.
    pub(super) fn take_out(&self, rel: u32) -> ModeSet {
        for slot in &self.0 {
            // Acquire: pairs with the release in `remove_at`.
            let mut now = slot.load(Ordering::Acquire);
            while now != EMPTY && relation(now) == rel {
                match slot.compare_exchange(now, EMPTY, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return modes(now),
                    Err(other) => now = other,
                }
            }
        }
        ModeSet::EMPTY
    }

    /// What is noted now: relations and modes. For views.
    pub(super) fn list(&self) -> Vec<(u32, ModeSet)> {
        let notes = self.0.iter().map(|slot| slot.load(Ordering::Relaxed));
        notes.filter(|n| *n != EMPTY).map(|n| (relation(n), modes(n))).collect()
    }
}
