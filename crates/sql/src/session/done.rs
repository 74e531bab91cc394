//! What sessions have done, for `pg_stat_database`: counted on each one's board by itself alone, summed by who asks,
//! kept for the database when the session ends.

use base::sync::unmodelled::{AtomicI64, AtomicU8, AtomicU64, Ordering::Relaxed};

/// How a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Ending {
    /// The client said so, or the server closed down.
    Orderly,
    /// The client is gone without a word.
    Abandoned,
    /// By an error that left no way to go on.
    Fatal,
    /// Somebody asked for it.
    Killed,
}

/// One session's counts. Only the session adds; figures that nothing follows from, so every access is relaxed.
#[derive(Default)]
pub(super) struct Done {
    commits: AtomicU64,
    rollbacks: AtomicU64,
    deadlocks: AtomicU64,
    /// Microseconds in statements, and between those of a transaction.
    active: AtomicI64,
    in_transaction: AtomicI64,
    ending: AtomicU8,
}

/// Adds as the only one who writes.
#[inline]
fn add(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

#[inline]
fn pass(counter: &AtomicI64, micros: i64) {
    counter.store(counter.load(Relaxed) + micros.max(0), Relaxed);
}

impl Done {
    #[inline]
    pub fn commit(&self) {
        add(&self.commits);
    }

    #[inline]
    pub fn roll_back(&self) {
        add(&self.rollbacks);
    }

    pub fn deadlock(&self) {
        add(&self.deadlocks);
    }

    /// A statement took so long.
    #[inline]
    pub fn active(&self, micros: i64) {
        pass(&self.active, micros);
    }

    /// A transaction waited for its client.
    #[inline]
    pub fn in_transaction(&self, micros: i64) {
        pass(&self.in_transaction, micros);
    }

    /// The session is about to end; what was said first holds.
    pub fn ends(&self, how: Ending) {
        if self.ending.load(Relaxed) == Ending::Orderly as u8 {
            self.ending.store(how as u8, Relaxed);
        }
    }

    /// Another session begins.
    pub fn clear(&self) {
        for counter in [&self.commits, &self.rollbacks, &self.deadlocks] {
            counter.store(0, Relaxed);
        }
        self.active.store(0, Relaxed);
        self.in_transaction.store(0, Relaxed);
        self.ending.store(Ending::Orderly as u8, Relaxed);
    }

    /// What one session has done so far that has lasted for `micros`.
    pub fn sums(&self, micros: i64) -> Sums {
        let ending = self.ending.load(Relaxed);
        let is = |how: Ending| u64::from(ending == how as u8);
        Sums {
            sessions: 1,
            commits: self.commits.load(Relaxed),
            rollbacks: self.rollbacks.load(Relaxed),
            deadlocks: self.deadlocks.load(Relaxed),
            session_micros: micros.max(0),
            active_micros: self.active.load(Relaxed),
            in_transaction_micros: self.in_transaction.load(Relaxed),
            abandoned: is(Ending::Abandoned),
            fatal: is(Ending::Fatal),
            killed: is(Ending::Killed),
        }
    }
}

/// What some sessions have done. Times are in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    pub sessions: u64,
    pub commits: u64,
    pub rollbacks: u64,
    /// Transactions that were the victims of deadlocks.
    pub deadlocks: u64,
    pub session_micros: i64,
    pub active_micros: i64,
    pub in_transaction_micros: i64,
    pub abandoned: u64,
    pub fatal: u64,
    pub killed: u64,
}

impl Sums {
    pub fn add(&mut self, more: Sums) {
        self.sessions += more.sessions;
        self.commits += more.commits;
        self.rollbacks += more.rollbacks;
        self.deadlocks += more.deadlocks;
        self.session_micros += more.session_micros;
        self.active_micros += more.active_micros;
        self.in_transaction_micros += more.in_transaction_micros;
        self.abandoned += more.abandoned;
        self.fatal += more.fatal;
        self.killed += more.killed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_about_an_end_holds_until_another_session_begins() {
        let done = Done::default();
        done.ends(Ending::Killed);
        done.ends(Ending::Abandoned);
        done.commit();
        let sums = done.sums(5);
        assert_eq!((sums.killed, sums.abandoned, sums.fatal), (1, 0, 0));
        assert_eq!((sums.sessions, sums.commits, sums.session_micros), (1, 1, 5));
        done.clear();
        assert_eq!(done.sums(0), Sums { sessions: 1, ..Sums::default() });
    }
}
