mod holders;
mod order;

use super::*;
use crate::Error;
use crate::txlog::Outcome;
use crate::txn::testing::World;
use crate::txn::{Isolation, Txn};
use base::interrupt::Interrupt;
use base::park;
use base::{BlockNo, Env, RelId, Tid, Xid, sim};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

fn table(rel: u32) -> LockTag {
    LockTag::Relation { db: 5, rel }
}

fn row(n: u16) -> RowKey {
    RowKey { rel: RelId(77), tid: Tid { block: BlockNo(3), offset: n } }
}

fn turn_at(txn: &Txn, key: RowKey, successor: Option<RowKey>) -> crate::Result<RowTurn> {
    txn.row_turn(key, successor, RowLock::Update, WaitPolicy::Block)
}

fn begin(world: &World) -> Txn {
    let txn = world.session();
    txn.begin(Isolation::ReadCommitted);
    txn
}

fn try_lock(txn: &Txn, tag: LockTag, mode: LockMode) -> bool {
    match txn.locks().lock(tag, mode, LockScope::Transaction, WaitPolicy::Never) {
        Ok(_) => true,
        Err(Error::LockNotAvailable) => false,
        Err(e) => panic!("{e}"),
    }
}

/// A strong locker may find it before its writer has looked whether there is a strong lock (L2).
#[test]
fn a_note_in_the_way_of_what_is_held_is_no_lock() {
    let world = World::new();
    let (builder, writer) = (begin(&world), begin(&world));
    let (locks, me) = (world.txns.locks(), writer.session());
    let (db, rel, mode) = (5, 3, LockMode::RowExclusive);
    let tag = LockTag::Relation { db, rel };
    builder.lock(tag, LockMode::Share).unwrap();
    locks.sessions.slot(me).fast.add(rel, mode).unwrap();
    locks.move_notes(db, rel);
    assert!(!locks.is_held(me, tag, mode), "an index that is being built would lack rows");
    assert!(!try_lock(&writer, tag, mode));
    builder.commit().unwrap();
    assert!(try_lock(&writer, tag, mode));
}

/// Grants without waiting follow the conflict table, whichever way locks are taken and given back. Each lock is in one place
/// (L2).
#[test]
fn grants_follow_the_conflict_table() {
    let world = World::new();
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let sessions: Vec<Txn> = (0..4).map(|_| begin(&world)).collect();
        let mut model: BTreeMap<(LockTag, usize), ModeSet> = BTreeMap::new();
        let tags =
            [table(1), table(2), table(3), LockTag::advisory(5, -3), LockTag::advisory(5, 9)];
        for _ in 0..400 {
            let who = rng.usize(..sessions.len());
            if rng.u8(..8) == 0 {
                sessions[who].abort();
                sessions[who].begin(Isolation::ReadCommitted);
                model.retain(|(_, session), _| *session != who);
                continue;
            }
            let tag = tags[rng.usize(..tags.len())];
            let mode = ALL_MODES[rng.usize(..ALL_MODES.len())];
            let others = model.iter().filter(|((t, s), _)| *t == tag && *s != who);
            let free = others.map(|(_, m)| *m).all(|m| !mode.conflicts().meets(m));
            assert_eq!(try_lock(&sessions[who], tag, mode), free, "seed {seed}: {tag} {mode}");
            if free {
                let held = model.entry((tag, who)).or_default();
                *held = held.with(mode);
            }
        }
        let mut expected: Vec<_> = model
            .iter()
            .flat_map(|((tag, who), modes)| {
                let session = sessions[*who].session();
                modes.iter().map(move |mode| (*tag, mode, session))
            })
            .collect();
        let view = world.txns.locks().view();
        let mut found: Vec<_> = view.iter().map(|l| (l.tag, l.mode, l.session)).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }
    world.close();
}

/// L2: a weak lock is noted or in the table.
#[test]
fn weak_locks_leave_no_trace_until_a_strong_one_comes() {
    let world = World::new();
    let (a, b) = (begin(&world), begin(&world));
    assert!(try_lock(&a, table(1), LockMode::AccessShare));
    assert!(try_lock(&a, table(1), LockMode::RowExclusive));
    assert!(world.txns.locks().view().iter().all(|l| l.fast_path));
    assert!(try_lock(&b, table(1), LockMode::ShareUpdateExclusive));
    assert!(!try_lock(&b, table(1), LockMode::AccessExclusive));
    assert!(world.txns.locks().view().iter().all(|l| !l.fast_path), "they were moved");
    a.commit().unwrap();
    assert!(try_lock(&b, table(1), LockMode::AccessExclusive));
    a.begin(Isolation::ReadCommitted);
    assert!(!try_lock(&a, table(1), LockMode::AccessShare));
    b.commit().unwrap();
    assert!(try_lock(&a, table(1), LockMode::AccessShare));
    assert!(world.txns.locks().view().iter().all(|l| l.fast_path), "and the fast path is back");
    for rel in 0..FAST_SLOTS as u32 + 4 {
        assert!(try_lock(&a, table(100 + rel), LockMode::AccessShare));
    }
    a.commit().unwrap();
    assert!(world.txns.locks().view().is_empty());
    drop((a, b));
    world.close();
}

#[test]
fn locks_of_a_savepoint_go_with_it() {
    let world = World::new();
    let (a, b) = (begin(&world), begin(&world));
    assert!(try_lock(&a, table(1), LockMode::AccessExclusive));
    let level = a.savepoint();
    assert!(try_lock(&a, table(1), LockMode::AccessExclusive), "again, at no cost");
    assert!(try_lock(&a, table(2), LockMode::AccessExclusive));
    let session = |txn: &Txn, tag| {
        txn.locks().lock(tag, LockMode::Exclusive, LockScope::Session, WaitPolicy::Never).unwrap()
    };
    assert!(session(&a, LockTag::advisory(5, 1)));
    assert!(!session(&a, LockTag::advisory(5, 1)), "counted, not taken twice");
    a.rollback_to(level);
    assert!(!try_lock(&b, table(1), LockMode::AccessShare));
    assert!(try_lock(&b, table(2), LockMode::AccessShare));
    a.abort();
    assert!(try_lock(&b, table(1), LockMode::AccessShare));
    let advisory = LockTag::advisory(5, 1);
    assert!(
        !try_lock(&b, advisory, LockMode::Exclusive),
        "a session's lock outlives its transaction"
    );
    assert!(a.locks().unlock(advisory, LockMode::Exclusive));
    assert!(!try_lock(&b, advisory, LockMode::Exclusive));
    assert!(a.locks().unlock(advisory, LockMode::Exclusive));
    assert!(!a.locks().unlock(advisory, LockMode::Exclusive));
    assert!(try_lock(&b, advisory, LockMode::Exclusive));
    drop((a, b));
    world.close();
}

type Body = Box<dyn FnOnce(Txn, &World) + Send>;

/// Runs contexts in a simulation, each with a transaction of its own, and closes the world.
fn simulate(seed: u64, contexts: Vec<Body>) {
    sim::run(seed, move || {
        let world = Arc::new(World::new());
        let env = Env::new(Arc::new(world.disk.clone()));
        let running: Vec<_> = contexts
            .into_iter()
            .map(|body| {
                let world = Arc::clone(&world);
                env.spawn("session", move || body(begin(&world), &world))
            })
            .collect();
        running.into_iter().for_each(|b| b.join());
        assert!(world.txns.locks().view().is_empty(), "every lock was given back");
        world.close();
    });
}

fn sleep_ms(ms: u64) {
    park::sleep(Duration::from_millis(ms));
}

#[test]
fn waiters_are_served_in_order() {
    for seed in 0..20 {
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut contexts: Vec<Body> = Vec::new();
        // The reader that comes while a writer waits does not pass it.
        let modes = [LockMode::AccessShare, LockMode::AccessExclusive, LockMode::AccessShare];
        for (i, mode) in modes.into_iter().cycle().take(7).enumerate() {
            let order = Arc::clone(&order);
            contexts.push(Box::new(move |txn, _| {
                sleep_ms(10 * i as u64);
                txn.lock(table(1), mode).unwrap();
                order.lock().unwrap().push(i);
                sleep_ms(100);
                txn.commit().unwrap();
            }));
        }
        simulate(seed, contexts);
        let order = order.lock().unwrap();
        let position = |i| order.iter().position(|o| *o == i).unwrap();
        // Readers 2 and 3 stand side by side between the writers 1 and 4.
        assert!(position(0) < position(1) && position(1) < position(2), "{order:?}");
        assert!(position(3) < position(4) && position(4) < position(5), "{order:?}");
    }
}

#[test]
fn a_holder_that_strengthens_its_lock_goes_first() {
    simulate(
        3,
        vec![
            Box::new(|txn, _| {
                txn.lock(table(1), LockMode::AccessShare).unwrap();
                sleep_ms(50);
                // The other waits for this session: it must not wait for the other.
                txn.lock(table(1), LockMode::AccessExclusive).unwrap();
                txn.commit().unwrap();
            }),
            Box::new(|txn, _| {
                sleep_ms(10);
                txn.lock(table(1), LockMode::AccessExclusive).unwrap();
                txn.commit().unwrap();
            }),
        ],
    );
}

/// Five sessions in a circle over table locks, advisory locks, rows and transactions.
#[test]
fn a_deadlock_takes_one_victim_and_names_the_circle() {
    for seed in 0..30 {
        let deadlocks = Arc::new(Mutex::new(Vec::new()));
        let xids = Arc::new(Mutex::new(BTreeMap::new()));
        let mut contexts: Vec<Body> = Vec::new();
        for i in 0..5_usize {
            let (deadlocks, xids) = (Arc::clone(&deadlocks), Arc::clone(&xids));
            contexts.push(Box::new(move |txn, _| {
                let xid = txn.xid().unwrap();
                xids.lock().unwrap().insert(i, xid);
                let tag = |i: usize| if i == 1 { LockTag::advisory(5, 7) } else { table(i as u32) };
                txn.lock(tag(i), LockMode::Exclusive).unwrap();
                let held = turn_at(&txn, row(i as u16), None).unwrap();
                sleep_ms(20);
                let next = (i + 1) % 5;
                let theirs = xids.lock().unwrap()[&next];
                let result = match i {
                    0 | 1 => txn.lock(tag(next), LockMode::Exclusive),
                    2 => match txn.wait_for(theirs) {
                        Err(Error::Awaited(why)) => Err(*why),
                        waited => waited.map(|_| ()),
                    },
                    _ => turn_at(&txn, row(next as u16), None).map(drop),
                };
                drop(held);
                match result {
                    Ok(()) => assert!(txn.commit().unwrap().committed.is_some()),
                    Err(Error::Deadlock { detail }) => {
                        deadlocks.lock().unwrap().push(detail);
                        txn.abort();
                    }
                    Err(e) => panic!("{e}"),
                }
            }));
        }
        simulate(seed, contexts);
        let deadlocks = deadlocks.lock().unwrap();
        assert_eq!(deadlocks.len(), 1, "seed {seed}: one victim");
        let detail = &deadlocks[0];
        assert_eq!(detail.lines().count(), 5, "{detail}");
        assert!(detail.contains("waits for ExclusiveLock on advisory lock [5,0,7,1]; blocked by"));
        assert!(detail.contains("waits for ShareLock on transaction "));
        assert!(detail.contains("waits for AccessExclusiveLock on tuple (3,"), "{detail}");
    }
}

#[test]
fn waits_end_at_timeouts_and_interrupts() {
    let contexts = Arc::new(Mutex::new(BTreeMap::new()));
    let (theirs, mine) = (Arc::clone(&contexts), Arc::clone(&contexts));
    simulate(
        1,
        vec![
            Box::new(move |txn, _| {
                txn.lock(table(1), LockMode::AccessExclusive).unwrap();
                sleep_ms(500);
                let context: park::Context = mine.lock().unwrap().remove(&0).unwrap();
                context.interrupt(Interrupt::Cancel);
                sleep_ms(500);
                txn.commit().unwrap();
            }),
            Box::new(move |txn, _| {
                sleep_ms(10);
                theirs.lock().unwrap().insert(0, park::current());
                let error = txn.lock(table(1), LockMode::AccessShare).unwrap_err();
                assert_eq!(error.sqlstate(), "57014");
                txn.abort();
            }),
            Box::new(|txn, _| {
                sleep_ms(10);
                let lock_timeout = Some(Duration::from_millis(200));
                txn.locks().set_limits(WaitLimits { lock_timeout, ..WaitLimits::default() });
                let start = base::clock::now();
                let error = txn.lock(table(1), LockMode::AccessShare).unwrap_err();
                assert_eq!(error.sqlstate(), "55P03");
                let waited = base::clock::now().since(start);
                assert!(
                    waited >= Duration::from_millis(200) && waited < Duration::from_millis(300)
                );
                txn.abort();
            }),
        ],
    );
}

/// A row as far as its queue is concerned.
#[derive(Clone, Copy, Default)]
struct HotRow {
    /// The version that is there, unless its end is committed.
    version: u16,
    /// Who ends it, and what takes its place then.
    xmax: Xid,
    successor: u16,
    changes: usize,
    /// How often somebody with the turn, or on the way to it, looked.
    looks: usize,
}

/// Many sessions change one row, again and again, as a heap would.
#[test]
fn a_hot_row_wakes_one_at_a_time_and_starves_nobody() {
    const SESSIONS: usize = 12;
    const ROUNDS: usize = 15;
    for seed in 0..10 {
        let hot = Arc::new(Mutex::new(HotRow::default()));
        let slowest = Arc::new(AtomicUsize::new(0));
        let mut contexts: Vec<Body> = Vec::new();
        for _ in 0..SESSIONS {
            let (hot, slowest) = (Arc::clone(&hot), Arc::clone(&slowest));
            contexts.push(Box::new(move |txn, world| {
                txn.commit().unwrap();
                txn.set_synchronous(false);
                for _ in 0..ROUNDS {
                    txn.begin(Isolation::ReadCommitted);
                    let before = hot.lock().unwrap().changes;
                    change(&txn, world, &hot);
                    let passed = hot.lock().unwrap().changes - before;
                    slowest.fetch_max(passed, Ordering::Relaxed);
                    sleep_ms(1);
                    match sim::draw(5) {
                        0 => txn.abort(),
                        _ => assert!(txn.commit().unwrap().committed.is_some()),
                    }
                }
            }));
        }
        simulate(seed, contexts);
        let hot = hot.lock().unwrap();
        assert_eq!(hot.changes, SESSIONS * ROUNDS, "every change was made");
        let slowest = slowest.load(Ordering::Relaxed);
        assert!(slowest <= 2 * SESSIONS, "somebody was passed by {slowest} changes");
        assert!(hot.looks <= 2 * hot.changes, "{} looks for {} changes", hot.looks, hot.changes);
    }
}

/// What a heap's update does. Each change makes a version in another place, one that is rolled back, too.
fn change(txn: &Txn, world: &World, hot: &Mutex<HotRow>) {
    let xid = txn.xid().unwrap();
    let mut turn: Option<RowTurn> = None;
    loop {
        let seen = *hot.lock().unwrap();
        let end = match seen.xmax {
            Xid::INVALID => Outcome::Aborted,
            xmax => world.txns.txlog().outcome(xmax).unwrap(),
        };
        let is_held = end == Outcome::Running;
        let is_over = matches!(end, Outcome::Committed(_));
        let version = if is_over { seen.successor } else { seen.version };
        turn = turn.filter(|turn| turn.follow(row(version), None));
        if is_held || (turn.is_none() && txn.row_is_queued(row(version))) {
            match &turn {
                Some(_) => assert_ne!(txn.wait_for(seen.xmax).unwrap(), Outcome::Running),
                None => {
                    let successor = is_held.then(|| row(seen.successor));
                    turn = Some(turn_at(txn, row(version), successor).unwrap());
                }
            }
            hot.lock().unwrap().looks += 1;
            continue;
        }
        let mut hot = hot.lock().unwrap();
        if hot.xmax != seen.xmax {
            continue;
        }
        let (successor, changes) = (hot.changes as u16 + 1, hot.changes + 1);
        *hot = HotRow { version, xmax: xid, successor, changes, ..*hot };
        drop(hot);
        if let Some(turn) = turn {
            turn.pass(xid, row(version), Some(row(successor)));
        }
        return;
    }
}

/// Threads that lock tables strongly and weakly never stand side by side where they must not.
#[test]
fn threads_never_hold_what_conflicts() {
    let world = World::new();
    const TABLES: usize = 3;
    // Per table: readers count up, a writer takes 1000 away.
    let inside: Vec<AtomicI64> = (0..TABLES).map(|_| AtomicI64::new(0)).collect();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (world, inside) = (&world, &inside);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                let txn = world.session();
                for _ in 0..1500 {
                    txn.begin(Isolation::ReadCommitted);
                    let at = rng.usize(..TABLES);
                    let strong = rng.u8(..6) == 0;
                    let weak = [LockMode::AccessShare, LockMode::RowExclusive][rng.usize(..2)];
                    let mode = if strong { LockMode::AccessExclusive } else { weak };
                    txn.lock(table(at as u32), mode).unwrap();
                    let add = if strong { -1000 } else { 1 };
                    let before = inside[at].fetch_add(add, Ordering::SeqCst);
                    assert!(before >= 0 && (!strong || before == 0), "{mode} beside {before}");
                    if rng.u8(..4) == 0 {
                        std::thread::yield_now();
                    }
                    inside[at].fetch_sub(add, Ordering::SeqCst);
                    txn.commit().unwrap();
                }
            });
        }
    });
    assert!(world.txns.locks().view().is_empty());
    world.close();
}

/// A queue has one head (L4), and who comes when its last one has gone makes another queue (L5).
#[test]
fn threads_take_turns_at_a_row() {
    let world = World::new();
    let inside = AtomicI64::new(0);
    let take_turns = || {
        let txn = begin(&world);
        for round in 0..40_000 {
            let turn = turn_at(&txn, row(1), None).unwrap();
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two have the turn");
            spin(round % 32);
            inside.fetch_sub(1, Ordering::SeqCst);
            drop(turn);
            spin(round % 61);
        }
    };
    std::thread::scope(|scope| {
        (0..3).for_each(|_| drop(scope.spawn(take_turns)));
    });
    assert!(!world.txns.locks().row_is_queued(row(1)));
    world.close();
}

fn spin(times: u64) {
    (0..times).for_each(|_| std::hint::spin_loop());
}

/// Who waits for a transaction that ends at the same moment is woken, or does not sleep (L6). The next one in that session
/// would wake it, too, but begins when the wait is over.
#[test]
fn threads_miss_no_end_of_a_transaction() {
    const ROUNDS: u64 = 5000;
    let world = World::new();
    let (running, waited) = (AtomicU64::new(0), AtomicU64::new(0));
    let run = || {
        let txn = world.session();
        for round in 1..=ROUNDS {
            txn.begin(Isolation::ReadCommitted);
            running.store(txn.xid().unwrap().0, Ordering::SeqCst);
            spin(round % 97);
            txn.abort();
            while waited.load(Ordering::SeqCst) < round {
                std::thread::yield_now();
            }
        }
    };
    let wait = || {
        let txn = begin(&world);
        let lock_timeout = Some(Duration::from_secs(20));
        txn.locks().set_limits(WaitLimits { lock_timeout, ..WaitLimits::default() });
        let mut last = 0;
        for round in 1..=ROUNDS {
            while running.load(Ordering::SeqCst) == last {
                std::hint::spin_loop();
            }
            last = running.load(Ordering::SeqCst);
            let outcome = txn.wait_for(Xid(last));
            // After an error the other does not wait any more.
            waited.store(if outcome.is_ok() { round } else { ROUNDS }, Ordering::SeqCst);
            assert_eq!(outcome.unwrap(), Outcome::Aborted);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(run);
        scope.spawn(wait);
    });
    world.close();
}
