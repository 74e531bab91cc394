//! Row locks of all strengths, several at a time, over updates, savepoints and rollbacks.

use super::rows::{heap, row};
use crate::heap::{Change, HeapRel, Outcome, page};
use crate::lock::{RowLock, WaitPolicy};
use crate::rig::Rig;
use crate::txlog::MultiXactId;
use crate::txn::{Isolation, Txn};
use crate::wal::{Kind, Record, record_bound};
use base::interrupt::{self, Interrupt};
use base::{Env, Fork, Tid, Xid, park, sim};
use std::collections::BTreeMap;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

const ALL: [RowLock; 4] =
    [RowLock::KeyShare, RowLock::Share, RowLock::NoKeyUpdate, RowLock::Update];
const NO_KEY: Change = Change { hot: true, key: false };

fn try_lock(heap: &HeapRel, txn: &Txn, tid: Tid, strength: RowLock) -> bool {
    match heap.lock_row(txn, tid, strength, WaitPolicy::Never, None).unwrap() {
        Outcome::Done { .. } => true,
        Outcome::WouldBlock => false,
        other => panic!("{other:?}"),
    }
}

fn update(heap: &HeapRel, txn: &Txn, tid: Tid) -> Tid {
    txn.next_command().unwrap();
    match heap.update(txn, tid, &row(1, tid.offset.into()), NO_KEY, None).unwrap() {
        Outcome::Done { tid, .. } => tid,
        other => panic!("{other:?}"),
    }
}

/// A committed row and some sessions in transactions.
fn start(sessions: usize) -> (Rig, HeapRel, Tid, Vec<Txn>) {
    let rig = Rig::new(64);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    let tid = heap.insert(&txn, &row(1, 0)).unwrap();
    txn.commit().unwrap();
    drop(txn);
    let txns = (0..sessions).map(|_| rig.begin()).collect();
    (rig, heap, tid, txns)
}

#[test]
fn pairs_of_locks_go_together_as_the_table_says() {
    for a in ALL {
        for b in ALL {
            let (_rig, heap, tid, txns) = start(2);
            assert!(try_lock(&heap, &txns[0], tid, a));
            assert_eq!(try_lock(&heap, &txns[1], tid, b), !a.conflicts_with(b), "{a:?} {b:?}");
            txns[0].commit().unwrap();
            assert!(try_lock(&heap, &txns[1], tid, b), "{a:?} is gone");
        }
    }
}

#[test]
fn many_share_and_the_last_to_go_frees_the_row() {
    let (rig, heap, tid, txns) = start(12);
    let (writer, sharers) = txns.split_first().unwrap();
    assert!(sharers.iter().all(|t| try_lock(&heap, t, tid, RowLock::Share)));
    assert!(sharers.iter().all(|t| try_lock(&heap, t, tid, RowLock::KeyShare)), "held already");
    for sharer in sharers {
        assert!(!try_lock(&heap, writer, tid, RowLock::NoKeyUpdate));
        sharer.commit().unwrap();
    }
    assert!(try_lock(&heap, writer, tid, RowLock::NoKeyUpdate));
    assert!(rig.txns.txlog().multis().next() > MultiXactId(1));
}

#[test]
fn key_share_goes_on_to_the_version_that_an_update_makes() {
    for locked_first in [true, false] {
        for commit in [true, false] {
            let (_rig, heap, tid, txns) = start(4);
            let [updater, sharer, late, deleter] = &txns[..] else { unreachable!() };
            if locked_first {
                assert!(try_lock(&heap, sharer, tid, RowLock::KeyShare));
            }
            let to = update(&heap, updater, tid);
            if !locked_first {
                assert!(try_lock(&heap, sharer, tid, RowLock::KeyShare));
            }
            assert!(try_lock(&heap, late, tid, RowLock::KeyShare), "another one");
            assert!(!try_lock(&heap, deleter, tid, RowLock::Share));
            let at = if commit {
                updater.commit().unwrap();
                to
            } else {
                updater.abort();
                tid
            };
            assert!(!try_lock(&heap, deleter, at, RowLock::Update));
            late.commit().unwrap();
            assert!(!try_lock(&heap, deleter, at, RowLock::Update), "{locked_first} {commit}");
            assert!(try_lock(&heap, deleter, at, RowLock::NoKeyUpdate));
            sharer.commit().unwrap();
            assert!(try_lock(&heap, deleter, at, RowLock::Update));
        }
    }
}

#[test]
fn key_share_follows_a_chain_of_updates_and_comes_back_with_each_savepoint() {
    let (_rig, heap, first, txns) = start(3);
    let [updater, sharer, deleter] = &txns[..] else { unreachable!() };
    let second = update(&heap, updater, first);
    let level = updater.savepoint();
    let third = update(&heap, updater, second);
    assert!(try_lock(&heap, sharer, first, RowLock::KeyShare));
    let fourth = update(&heap, updater, third);
    updater.rollback_to(level);
    assert_ne!(fourth, second);
    updater.commit().unwrap();
    assert!(!try_lock(&heap, deleter, second, RowLock::Update));
    sharer.abort();
    assert!(try_lock(&heap, deleter, second, RowLock::Update));
}

/// The duty for the older version is left after that for the newer one, where another lock has gone before.
#[test]
fn key_share_comes_back_whichever_duty_was_left_first() {
    for within in [false, true] {
        let (_rig, heap, first, txns) = start(3);
        let [updater, sharer, deleter] = &txns[..] else { unreachable!() };
        let around = within.then(|| updater.savepoint());
        let second = update(&heap, updater, first);
        updater.next_command().unwrap();
        assert!(try_lock(&heap, updater, second, RowLock::KeyShare));
        updater.savepoint();
        update(&heap, updater, second);
        assert!(try_lock(&heap, sharer, first, RowLock::KeyShare));
        match around {
            Some(level) => updater.rollback_to(level),
            None => updater.abort(),
        }
        assert!(!try_lock(&heap, deleter, first, RowLock::Update));
        sharer.commit().unwrap();
        assert!(try_lock(&heap, deleter, first, RowLock::Update));
    }
}

/// Beside an update of a transaction that goes on, whose savepoint ended the new version and was rolled back.
#[test]
fn key_share_comes_beside_an_update_whose_savepoint_was_rolled_back() {
    for (deletes, commits) in [(false, true), (false, false), (true, true), (true, false)] {
        let (_rig, heap, first, txns) = start(3);
        let [updater, sharer, deleter] = &txns[..] else { unreachable!() };
        let second = update(&heap, updater, first);
        let level = updater.savepoint();
        if deletes {
            updater.next_command().unwrap();
            let done = heap.delete(updater, second, None).unwrap();
            assert!(matches!(done, Outcome::Done { .. }));
        } else {
            update(&heap, updater, second);
        }
        updater.rollback_to(level);
        assert!(try_lock(&heap, sharer, first, RowLock::KeyShare));
        assert!(!try_lock(&heap, deleter, first, RowLock::Share), "the first update stands");
        let at = if commits { second } else { first };
        if commits {
            updater.commit().unwrap();
        } else {
            updater.abort();
        }
        assert!(!try_lock(&heap, deleter, at, RowLock::Update), "{deletes} {commits}");
        assert!(try_lock(&heap, deleter, at, RowLock::NoKeyUpdate));
        sharer.commit().unwrap();
        assert!(try_lock(&heap, deleter, at, RowLock::Update));
    }
}

/// The new version is gone already, and its place is another row's: that one is none of the lockers' business. What is
/// asked for meanwhile is done, too.
#[test]
fn key_share_does_not_go_on_to_a_row_that_took_the_successors_place() {
    let (_rig, heap, tid, txns) = start(4);
    let [updater, sharer, deleter, inserter] = &txns[..] else { unreachable!() };
    let other = heap.insert(inserter, &row(2, 0)).unwrap();
    inserter.commit().unwrap();
    update(&heap, updater, tid);
    {
        let mut page = heap.relation().write(Fork::Main, tid.block).unwrap();
        let item = page::version(page.view(), tid.offset).unwrap();
        let mut header = page::header(page.view(), item);
        header.successor = other;
        page.mark_dirty();
        page::set_header(&mut page, item, &header);
    }
    park::current().interrupt(Interrupt::Cancel);
    let locked = heap.lock_row(sharer, tid, RowLock::KeyShare, WaitPolicy::Never, None);
    interrupt::clear_statement();
    assert!(locked.is_err(), "{locked:?}");
    assert!(try_lock(&heap, deleter, other, RowLock::Update));
}

#[test]
fn a_savepoint_gives_back_the_locks_it_took_over() {
    for (before, then) in [
        (RowLock::Update, None),
        (RowLock::KeyShare, Some(RowLock::Update)),
        (RowLock::Share, None),
    ] {
        let (rig, heap, tid, txns) = start(2);
        let [txn, other] = &txns[..] else { unreachable!() };
        assert!(try_lock(&heap, txn, tid, before));
        let level = txn.savepoint();
        match then {
            Some(strength) => assert!(try_lock(&heap, txn, tid, strength)),
            None => assert_ne!(update(&heap, txn, tid), tid),
        }
        assert!(!try_lock(&heap, other, tid, RowLock::Share));
        txn.rollback_to(level);
        for strength in ALL {
            let expected = !before.conflicts_with(strength);
            assert_eq!(try_lock(&heap, other, tid, strength), expected, "{before:?} {strength:?}");
            other.abort();
            other.begin(Isolation::ReadCommitted);
        }
        if before == RowLock::Update {
            let none = rig.txns.txlog().multis().next() == MultiXactId(1);
            assert!(none, "locking and then updating makes no multixact");
        }
        txn.commit().unwrap();
        assert!(try_lock(&heap, other, tid, RowLock::Update));
    }
}

/// What sessions believe to hold on a row: by session, with the savepoint depth it goes with.
type Beliefs = BTreeMap<usize, Vec<(usize, RowLock)>>;

struct Actor<'w> {
    heap: &'w HeapRel,
    txn: &'w Txn,
    id: usize,
    roots: &'w [Mutex<Tid>],
    beliefs: &'w [Mutex<Beliefs>],
}

impl Actor<'_> {
    fn depth(&self) -> usize {
        self.txn.level().map_or(0, |level| level.0 as usize)
    }

    /// Nobody else may hold what conflicts with what was just granted.
    fn granted(&self, at: usize, strength: RowLock) {
        let mut beliefs = self.beliefs[at].lock().unwrap();
        for (id, held) in beliefs.iter().filter(|(id, _)| **id != self.id) {
            let clash = held.iter().find(|(_, s)| s.conflicts_with(strength));
            assert!(clash.is_none(), "{strength:?} to {} beside {clash:?} of {id}", self.id);
        }
        beliefs.entry(self.id).or_default().push((self.depth(), strength));
    }

    /// Forgets what goes with savepoints from `depth` on. Before it goes: nobody may see it held too long.
    fn forget(&self, depth: usize) {
        for beliefs in self.beliefs {
            if let Some(held) = beliefs.lock().unwrap().get_mut(&self.id) {
                held.retain(|(level, _)| *level < depth);
            }
        }
    }

    /// One lock or update, from the row's last committed version on; `None` after a deadlock.
    fn step(&self) -> Option<()> {
        let at = sim::draw(self.roots.len() as u64) as usize;
        let policy = if sim::draw(2) == 0 { WaitPolicy::Block } else { WaitPolicy::Never };
        let change = sim::draw(3) == 0;
        let strength = if change { RowLock::NoKeyUpdate } else { ALL[sim::draw(4) as usize] };
        let (mut tid, mut turn) = (*self.roots[at].lock().unwrap(), None);
        loop {
            self.txn.next_command().unwrap();
            let outcome = match change {
                true => self.heap.update(self.txn, tid, &row(at as u64, 1), NO_KEY, turn.take()),
                false => self.heap.lock_row(self.txn, tid, strength, policy, turn.take()),
            };
            match outcome {
                Ok(Outcome::Done { .. }) => {
                    self.granted(at, strength);
                    return Some(());
                }
                Ok(Outcome::Updated { newest, turn: mine }) => (tid, turn) = (newest, mine),
                Ok(Outcome::WouldBlock | Outcome::SelfModified) => return Some(()),
                Ok(Outcome::Deleted) => panic!("nobody deletes"),
                Err(e) if matches!(e.cause(), crate::Error::Deadlock { .. }) => return None,
                Err(e) => panic!("{e}"),
            }
        }
    }

    fn transaction(&self) {
        self.txn.begin(Isolation::ReadCommitted);
        let mut alive = true;
        for _ in 0..1 + sim::draw(6) {
            match sim::draw(6) {
                0 => drop(self.txn.savepoint()),
                1 => {
                    if let Some(level) = self.txn.level() {
                        self.forget(level.0 as usize);
                        self.txn.rollback_to(level);
                    }
                }
                _ => alive = self.step().is_some(),
            }
            if !alive {
                break;
            }
            park::sleep(Duration::from_micros(sim::draw(300)));
        }
        self.forget(0);
        if alive && sim::draw(3) > 0 {
            self.txn.commit().unwrap();
        } else {
            self.txn.abort();
        }
    }
}

/// L7: among others, locks are back at a row before whose rollback sets it free.
#[test]
fn no_lock_is_lost_and_none_is_held_twice() {
    const SESSIONS: usize = 6;
    const ROWS: usize = 2;
    for seed in 0..25 {
        sim::run(seed, || {
            let rig = Arc::new(Rig::new(64));
            let heap = Arc::new(heap(&rig, 1, 100));
            let txn = rig.begin();
            let roots: Vec<_> = (0..ROWS)
                .map(|i| Mutex::new(heap.insert(&txn, &row(i as u64, 0)).unwrap()))
                .collect();
            txn.commit().unwrap();
            let shared = Arc::new((roots, (0..ROWS).map(|_| Mutex::default()).collect::<Vec<_>>()));
            let env = Env::new(Arc::new(base::disk::sim::SimDisk::new()));
            let running: Vec<_> = (0..SESSIONS)
                .map(|id| {
                    let (rig, heap) = (Arc::clone(&rig), Arc::clone(&heap));
                    let shared = Arc::clone(&shared);
                    env.spawn("session", move || {
                        let txn = Txn::attach(&rig.txns, id as i32, 1).unwrap();
                        txn.set_synchronous(false);
                        let (roots, beliefs) = (&shared.0, &shared.1);
                        let actor = Actor { heap: &heap, txn: &txn, id, roots, beliefs };
                        (0..25).for_each(|_| actor.transaction());
                    })
                })
                .collect();
            running.into_iter().for_each(|b| b.join());
            drop((txn, heap));
            rig.txns.close();
            rig.pool.stop();
            rig.wal.close();
        });
    }
}

/// Lockers come and go for a long time; at any moment there are no more multixacts than the keeper is behind.
#[test]
fn what_lockers_leave_is_trimmed_while_they_go_on() {
    const ROUNDS: u64 = 6000;
    sim::run(7, || {
        let (rig, heap, tid, txns) = start(2);
        let multis = rig.txns.txlog().multis();
        let mut most = 0;
        for round in 0..ROUNDS {
            for txn in txns.iter().filter(|_| round > 0) {
                txn.begin(Isolation::ReadCommitted);
            }
            assert!(txns.iter().all(|txn| try_lock(&heap, txn, tid, RowLock::Share)));
            txns.iter().for_each(|txn| assert!(txn.commit().unwrap().committed.is_some()));
            park::sleep(Duration::from_millis(1));
            most = most.max(multis.live());
        }
        assert!(multis.next().0 > ROUNDS, "each round made one");
        assert!(most < 1000, "{most} at a time, of {ROUNDS}");
        park::sleep(Duration::from_secs(1));
        assert_eq!((multis.live(), multis.stats().members), (0, 0));
        for slru in multis.slrus() {
            assert!(slru.stats().truncates > 0 && slru.segments().unwrap().len() <= 1);
        }
    });
}

/// Levels of one transaction hold a lock each beside somebody else's; then an inner one takes the place of all of them. Any
/// of the levels may be rolled back, and those around it keep what they have.
#[test]
fn each_level_keeps_its_lock_when_those_within_it_go() {
    for (kept, commit) in [(RowLock::Share, true), (RowLock::Share, false)] {
        let (_rig, heap, tid, txns) = start(3);
        let [txn, sharer, other] = &txns[..] else { unreachable!() };
        assert!(try_lock(&heap, sharer, tid, RowLock::KeyShare));
        assert!(try_lock(&heap, txn, tid, kept));
        let first = txn.savepoint();
        assert!(try_lock(&heap, txn, tid, RowLock::NoKeyUpdate));
        if commit {
            sharer.commit().unwrap();
        } else {
            sharer.abort();
        }
        txn.savepoint();
        assert!(try_lock(&heap, txn, tid, RowLock::Update));
        assert!(!try_lock(&heap, other, tid, RowLock::KeyShare));
        txn.rollback_to(first);
        assert!(!try_lock(&heap, other, tid, RowLock::NoKeyUpdate), "{kept:?} is held");
        assert!(try_lock(&heap, other, tid, RowLock::Share));
        other.abort();
        other.begin(Isolation::ReadCommitted);
        txn.commit().unwrap();
        assert!(try_lock(&heap, other, tid, RowLock::Update));
    }
}

/// A committer that is slow to publish has others wait behind it, whose fates are known by then. Their locks are nobody's
/// any more; but who takes one next must see, in its next snapshot, what was done under it.
#[test]
fn who_finds_a_lock_gone_with_a_commit_has_snapshots_that_include_it() {
    let (rig, heap, tid, txns) = start(1);
    let (reserved, go_on) = (&Barrier::new(2), &Barrier::new(2));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let (wal, shared) = (&rig.wal, (&rig, &heap));
        scope.spawn(move || {
            let mut claim = wal.claim(record_bound(1, 0, 16)).unwrap();
            let record = Record::new(Kind::COMMIT, Xid(1)).data(&[0; 16]);
            wal.insert_commit(&mut claim, &record, |_| {
                reserved.wait();
                go_on.wait();
                (0..1000).for_each(|_| std::thread::yield_now());
            });
        });
        reserved.wait();
        scope.spawn(move || {
            let (rig, heap) = shared;
            let txn = rig.begin();
            assert!(try_lock(heap, &txn, tid, RowLock::KeyShare));
            tell.send(txn.xid().unwrap()).unwrap();
            txn.commit().unwrap();
        });
        let holder = told.recv().unwrap();
        let csn = loop {
            match rig.txns.txlog().outcome(holder).unwrap() {
                crate::txlog::Outcome::Committed(csn) => break csn,
                _ => std::thread::yield_now(),
            }
        };
        assert!(rig.wal.published() <= csn, "its fate is known, and no snapshot includes it");
        go_on.wait();
        assert!(try_lock(&heap, &txns[0], tid, RowLock::Update));
        assert!(rig.wal.published() > csn);
    });
}
