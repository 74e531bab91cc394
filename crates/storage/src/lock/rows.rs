//! Queues at hot rows.
//!
//! A row is locked by what is written in it: an unfinished xmax. Who finds one joins the row's queue. Only
//! the *head* of a queue waits for the transaction that holds the row; the others wait for their turn. When
//! the head has its turn and has written its own xmax, it *passes* the turn on: the next becomes head and
//! is put down, still asleep, as waiting for the passer's transaction. So a release wakes exactly one
//! session, however long the queue, and each session sleeps once.
//!
//! A queue follows its row: it is found by the version that was ended last, which newcomers see held, and by
//! the version that took its place, which newcomers see once the holder has committed. Both keys lead to one
//! queue, from the moment that its first head joins, so nobody has to walk from version to version to queue
//! again. A newcomer that finds the row free but queued for joins the queue's end
//! ([`LockManager::row_is_queued`]). Where the row has got ahead of its queue all the same, the head takes the
//! queue along to the version it comes to, unless others queue there ([`RowTurn::follow`]): else all who wait
//! would have to queue again, one by one, and a row that is hot enough would be ahead of them the next time, too.
//!
//! The turn is passed to the first in the queue, but for a few times in a row to the first of those who run on the
//! passer's thread: where that is a worker, its fiber goes on as soon as the passer's has ended, and no other thread
//! has to be woken ([docs/decisions/row-queues.md](../../../../docs/decisions/row-queues.md)).

use super::LockManager;
use super::slot::{Dependent, SessionId};
use super::wait::{WaitFor, WaitLimits, WaitPolicy};
use crate::error::{Error, Result};
use crate::txlog::RowLock;
use base::hash::{HashMap, hash_of};
use base::latch::Latch;
use base::pad::{Padded, is_one_line};
use base::park;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicU32, Ordering};
use base::{RelId, Tid, Xid};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

const SHARDS: usize = 128;
/// So often in a row another one is served before the first in a queue.
const OVERTAKEN_MAX: u32 = 8;
/// Only so many are looked at for that.
const NEAR_MAX: usize = 64;

/// A row as its queue knows it: the version that whoever wants the row comes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct RowKey {
    /// Physical table.
    pub rel: RelId,
    /// The version.
    pub tid: Tid,
}

#[derive(Clone, Copy)]
struct Waiter {
    session: SessionId,
    wait: u64,
    strength: RowLock,
    /// The thread it runs on: [`park::place`].
    place: usize,
}

struct QueueState {
    /// What it is found by: at most two versions.
    keys: Vec<RowKey>,
    /// Whose turn it is: it looks at the row, or waits for `holder` to end.
    head: Option<SessionId>,
    /// Set when the turn was passed to a sleeping head: the transaction it sleeps for.
    holder: Option<Xid>,
    waiters: VecDeque<Waiter>,
    /// How often in a row others have been served before the first of them.
    overtaken: u32,
    /// Empty and out of the map: look again.
    dead: bool,
}

impl QueueState {
    /// Takes out who is served next: the first, or, some times in a row, the first of those who run at `here`,
    /// where nobody need be woken from another thread.
    fn next(&mut self, here: usize) -> Option<Waiter> {
        let near = self.waiters.iter().take(NEAR_MAX).position(|w| w.place == here);
        match near {
            Some(at) if at > 0 && self.overtaken < OVERTAKEN_MAX => {
                self.overtaken += 1;
                self.waiters.remove(at)
            }
            _ => {
                self.overtaken = 0;
                self.waiters.pop_front()
            }
        }
    }
}

/// Those who want one row.
pub struct RowQueue(Mutex<QueueState>);

impl RowQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().expect("no code panics under it")
    }

    /// The version that whoever joins now comes to.
    pub(super) fn key(&self) -> Option<RowKey> {
        self.lock().keys.first().copied()
    }

    /// Whom `session` sleeps for: a transaction, for the head, or the session before it.
    pub(super) fn blocker(&self, session: SessionId) -> (Option<Xid>, Option<SessionId>) {
        let state = self.lock();
        if state.head == Some(session) {
            return (state.holder, None);
        }
        let at = state.waiters.iter().position(|w| w.session == session);
        let before = match at {
            None => None,
            Some(0) => state.head,
            Some(at) => Some(state.waiters[at - 1].session),
        };
        (None, before)
    }
}

struct Shard {
    /// Queues in the map; looked at without the latch.
    queues: AtomicU32,
    map: Latch<HashMap<RowKey, Arc<RowQueue>>>,
}

/// All queues, by key.
pub(super) struct Rows(Box<[Padded<Shard>]>);

const _: () = assert!(is_one_line::<Shard>());

impl Default for Rows {
    fn default() -> Rows {
        let shard = || Shard {
            queues: AtomicU32::new(0),
            map: Latch::new(Rank::LockShard, HashMap::default()),
        };
        Rows((0..SHARDS).map(|_| Padded(shard())).collect())
    }
}

impl Rows {
    fn shard(&self, key: RowKey) -> &Shard {
        &self.0[hash_of(&key) as usize % SHARDS]
    }

    /// The queue of a row; a new one if there is none, or only `dead`.
    fn find_or_make(&self, key: RowKey, dead: Option<&Arc<RowQueue>>) -> Arc<RowQueue> {
        let shard = self.shard(key);
        let mut map = shard.map.lock();
        if let Some(queue) = map.get(&key)
            && dead.is_none_or(|dead| !Arc::ptr_eq(queue, dead))
        {
            return Arc::clone(queue);
        }
        let state = QueueState {
            keys: vec![key],
            head: None,
            holder: None,
            waiters: VecDeque::new(),
            overtaken: 0,
            dead: false,
        };
        let queue = Arc::new(RowQueue(Mutex::new(state)));
        map.insert(key, Arc::clone(&queue));
        shard.queues.store(map.len() as u32, Ordering::Relaxed);
        queue
    }

    /// Takes the queue out from under this key.
    fn remove(&self, key: RowKey, queue: &Arc<RowQueue>) {
        let shard = self.shard(key);
        let mut map = shard.map.lock();
        if map.get(&key).is_some_and(|there| Arc::ptr_eq(there, queue)) {
            map.remove(&key);
            shard.queues.store(map.len() as u32, Ordering::Relaxed);
        }
    }

    /// Makes the queue findable by these keys, and no others. It is findable all the time. The caller is its head.
    fn rekey(&self, queue: &Arc<RowQueue>, keys: impl Iterator<Item = RowKey>) {
        let mut found_by = Vec::with_capacity(2);
        for key in keys {
            let shard = self.shard(key);
            let mut map = shard.map.lock();
            // Others may queue there already, for a row that had this place before. They are let be.
            let there = map.entry(key).or_insert_with(|| Arc::clone(queue));
            if Arc::ptr_eq(there, queue) {
                found_by.push(key);
            }
            shard.queues.store(map.len() as u32, Ordering::Relaxed);
        }
        let before = std::mem::replace(&mut queue.lock().keys, found_by.clone());
        for key in before.into_iter().filter(|key| !found_by.contains(key)) {
            self.remove(key, queue);
        }
    }
}

/// The turn at a row. While it lives, the session is the head of the row's queue.
#[must_use = "dropping it lets the next one look at the row"]
pub struct RowTurn {
    manager: Arc<LockManager>,
    queue: Arc<RowQueue>,
    me: SessionId,
    strength: RowLock,
    passed: bool,
}

impl LockManager {
    /// Whether somebody queues for the row: then a newcomer does, too, even if the row is free.
    #[inline]
    pub fn row_is_queued(&self, key: RowKey) -> bool {
        let shard = self.rows.shard(key);
        // Relaxed: who queues at this moment gets its turn after this session's release.
        shard.queues.load(Ordering::Relaxed) != 0 && shard.map.lock().contains_key(&key)
    }

    /// Waits for the turn at a row. With the turn, look at the row again; if it is still held, wait for
    /// its holder ([`LockManager::wait_for_xid`]) and keep the turn. `successor` is the version that takes
    /// the place of this one if the holder commits.
    pub fn row_turn(
        self: &Arc<Self>,
        me: SessionId,
        key: RowKey,
        successor: Option<RowKey>,
        strength: RowLock,
        policy: WaitPolicy,
        limits: &WaitLimits,
    ) -> Result<RowTurn> {
        let mut queue = self.rows.find_or_make(key, None);
        let mut state = loop {
            let state = queue.lock();
            // Nobody joins a dead one (L5).
            if !state.dead {
                break state;
            }
            drop(state);
            queue = self.rows.find_or_make(key, Some(&queue));
        };
        let turn =
            |queue| RowTurn { manager: Arc::clone(self), queue, me, strength, passed: false };
        if state.head.is_none() {
            state.head = Some(me);
            drop(state);
            if successor.is_some() && policy == WaitPolicy::Block {
                self.rows.rekey(&queue, [key].into_iter().chain(successor));
            }
            return Ok(turn(queue));
        }
        if policy == WaitPolicy::Never {
            return Err(Error::LockNotAvailable);
        }
        let wait = self.begin_wait(me, WaitFor::Row(Arc::clone(&queue), strength));
        state.waiters.push_back(Waiter { session: me, wait, strength, place: park::place() });
        drop(state);
        let result = self.wait(me, limits);
        self.end_wait(me);
        let mut state = queue.lock();
        if state.head == Some(me) {
            state.holder = None;
            drop(state);
            // On an error the turn came at the same moment; dropping it passes it on.
            let turn = turn(queue);
            return result.map(|()| turn);
        }
        state.waiters.retain(|w| w.session != me);
        Err(result.expect_err("only the head of a queue is signalled"))
    }
}

impl RowTurn {
    /// The session has written its own xmax into the row: the next in the queue sleeps until `holder`,
    /// the transaction or subtransaction written, has ended. `key` is the version written into,
    /// `successor` the one that takes its place if `holder` commits.
    pub fn pass(mut self, holder: Xid, key: RowKey, successor: Option<RowKey>) {
        self.passed = true;
        self.manager.rows.rekey(&self.queue, [key].into_iter().chain(successor));
        self.promote(Some(holder));
    }

    /// Makes it the turn at this version, the one it was got for or a later one of the row, whose place `successor`
    /// takes if its holder commits. False: others queue at `key`, and the turn is to be dropped.
    pub fn follow(&self, key: RowKey, successor: Option<RowKey>) -> bool {
        if self.is_for(key) && successor.is_none_or(|successor| self.is_for(successor)) {
            return true;
        }
        self.manager.rows.rekey(&self.queue, [key].into_iter().chain(successor));
        self.is_for(key)
    }

    fn is_for(&self, key: RowKey) -> bool {
        self.queue.lock().keys.contains(&key)
    }

    fn promote(&self, holder: Option<Xid>) {
        let mut state = self.queue.lock();
        debug_assert_eq!(state.head, Some(self.me), "the turn is the head's to pass (L4)");
        let Some(next) = state.next(park::place()) else {
            state.head = None;
            state.dead = true;
            let keys = std::mem::take(&mut state.keys);
            drop(state);
            keys.into_iter().for_each(|key| self.manager.rows.remove(key, &self.queue));
            return;
        };
        state.head = Some(next.session);
        match holder {
            Some(xid) if next.strength.conflicts_with(self.strength) => {
                state.holder = Some(xid);
                let dependent = Dependent { session: next.session, wait: next.wait, xid };
                // This session is the runner, and has not ended: no need to look again.
                self.manager.depend(self.me, dependent);
            }
            _ => {
                state.holder = None;
                drop(state);
                self.manager.signal(next.session, next.wait);
            }
        }
    }
}

impl Drop for RowTurn {
    fn drop(&mut self) {
        if !self.passed {
            self.promote(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_near_goes_first_but_not_for_ever() {
        const HERE: usize = 1;
        let waiter = |n: u64, place| Waiter {
            session: SessionId(n as u32),
            wait: n,
            strength: RowLock::Update,
            place,
        };
        let mut state = QueueState {
            keys: Vec::new(),
            head: None,
            holder: None,
            waiters: VecDeque::new(),
            overtaken: 0,
            dead: false,
        };
        // The first three run elsewhere.
        state.waiters.extend((0..3).map(|n| waiter(n, 2)));
        state.waiters.extend((3..23).map(|n| waiter(n, HERE)));
        let served: Vec<u64> = std::iter::from_fn(|| state.next(HERE)).map(|w| w.wait).collect();
        let turns = u64::from(OVERTAKEN_MAX);
        let expected: Vec<u64> = (3..3 + turns)
            .chain([0])
            .chain(3 + turns..3 + 2 * turns)
            .chain([1])
            .chain(3 + 2 * turns..23)
            .chain([2])
            .collect();
        assert_eq!(served, expected);
        // Nobody near among the first: in their order.
        let far = NEAR_MAX as u64;
        state.waiters.extend((0..far).map(|n| waiter(n, 2)));
        state.waiters.push_back(waiter(far, HERE));
        assert_eq!(state.next(HERE).expect("many wait").wait, 0);
        assert_eq!(state.next(HERE).expect("many wait").wait, far);
    }
}
