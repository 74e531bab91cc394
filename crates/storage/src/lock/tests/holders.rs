//! Waiting for holders of locks and of snapshots to go.

use super::*;
use base::Csn;

fn limits(deadlock: Duration, lock: Option<Duration>) -> WaitLimits {
    WaitLimits { lock_timeout: lock, deadlock_timeout: deadlock }
}

const LONG: Duration = Duration::from_secs(60);

/// Until the session waits.
fn until_waits(world: &World, session: SessionId) {
    while world.txns.locks().waits_for(session).is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn who_holds_is_waited_for_and_who_comes_is_not() {
    let world = World::new();
    let (first, second, reader, waiter) =
        (begin(&world), begin(&world), begin(&world), begin(&world));
    let tag = table(1);
    first.lock(tag, LockMode::RowExclusive).unwrap();
    // In a shared entry, by another way.
    second.lock(tag, LockMode::ShareUpdateExclusive).unwrap();
    reader.lock(tag, LockMode::AccessShare).unwrap();
    let mut later = Vec::new();
    std::thread::scope(|scope| {
        let session = waiter.session();
        let waiting = scope.spawn(move || {
            let mut told = Vec::new();
            let tell = &mut |total, left: &[SessionId]| told.push((total, left.len()));
            waiter.wait_for_holders(tag, LockMode::Share, tell).unwrap();
            told
        });
        until_waits(&world, session);
        let locks = world.txns.locks();
        let mut blockers = locks.blockers_of(session).unwrap();
        blockers.sort();
        assert_eq!(blockers, [first.session(), second.session()]);
        for mode in [LockMode::AccessShare, LockMode::RowExclusive] {
            let txn = begin(&world);
            assert!(try_lock(&txn, tag, mode), "nobody stands in the way");
            later.push(txn);
        }
        second.commit().unwrap();
        // It looks up for a moment, and waits again.
        while locks.blockers_of(session).unwrap() != [first.session()] {
            std::thread::sleep(Duration::from_millis(1));
        }
        first.abort();
        // Taken again by the same session: that is another hold.
        first.begin(Isolation::ReadCommitted);
        first.lock(tag, LockMode::RowExclusive).unwrap();
        // It may have slept through one of the two.
        let told = waiting.join().unwrap();
        assert_eq!((told.first(), told.last()), (Some(&(2, 2)), Some(&(2, 0))));
    });
    drop((later, first, second, reader));
    assert!(world.txns.locks().view().is_empty());
    world.close();
}

#[test]
fn nobody_to_wait_for() {
    let world = World::new();
    let (reader, waiter) = (begin(&world), begin(&world));
    reader.lock(table(1), LockMode::AccessShare).unwrap();
    waiter.lock(table(1), LockMode::ShareUpdateExclusive).unwrap();
    let tell = &mut |_, _: &[SessionId]| panic!("nobody is waited for");
    waiter.wait_for_holders(table(1), LockMode::Share, tell).unwrap();
    waiter.wait_for_holders(table(2), LockMode::AccessExclusive, tell).unwrap();
    drop((reader, waiter));
    assert!(world.txns.locks().view().is_empty());
    world.close();
}

#[test]
fn a_wait_for_holders_ends_by_time_and_leaves_nothing() {
    let world = World::new();
    let (holder, waiter) = (begin(&world), begin(&world));
    holder.lock(table(1), LockMode::RowExclusive).unwrap();
    waiter.locks().set_limits(limits(LONG, Some(Duration::from_millis(5))));
    let waited = waiter.wait_for_holders(table(1), LockMode::Share, &mut |_, _| {});
    assert!(matches!(waited, Err(Error::LockTimeout)), "{waited:?}");
    let snapshot = holder.statement_snapshot();
    let newer = Csn(snapshot.csn.0 + 1);
    let waited = waiter.wait_for_snapshots(newer, &mut |_, _| {});
    assert!(matches!(waited, Err(Error::LockTimeout)), "{waited:?}");
    drop((holder, waiter));
    assert!(world.txns.locks().view().is_empty());
    world.close();
}

#[test]
fn circles_through_waits_for_holders_are_found() {
    let world = World::new();
    let (writer, waiter) = (begin(&world), begin(&world));
    let tag = table(1);
    waiter.lock(tag, LockMode::ShareUpdateExclusive).unwrap();
    writer.lock(tag, LockMode::RowExclusive).unwrap();
    waiter.locks().set_limits(limits(LONG, None));
    writer.locks().set_limits(limits(Duration::from_millis(5), None));
    std::thread::scope(|scope| {
        let session = waiter.session();
        let waiting = scope.spawn(move || {
            waiter.wait_for_holders(tag, LockMode::Share, &mut |_, _| {}).unwrap();
            waiter
        });
        until_waits(&world, session);
        let refused = writer.lock(tag, LockMode::ShareUpdateExclusive);
        assert!(matches!(refused, Err(Error::Deadlock { .. })), "{refused:?}");
        writer.abort();
        drop(waiting.join().unwrap());
    });
    drop(writer);
    world.close();
}

#[test]
fn older_snapshots_are_waited_for_and_newer_ones_are_not() {
    let world = World::new();
    let (old, maker, waiter, other) = (begin(&world), begin(&world), begin(&world), begin(&world));
    let before = old.statement_snapshot();
    maker.xid().unwrap();
    maker.commit().unwrap();
    let now = other.statement_snapshot();
    assert!(before.csn < now.csn);
    std::thread::scope(|scope| {
        let session = waiter.session();
        let waiting = scope.spawn(move || {
            waiter.wait_for_snapshots(now.csn, &mut |_, _| {}).unwrap();
        });
        until_waits(&world, session);
        assert_eq!(world.txns.locks().blockers_of(session).unwrap(), [old.session()]);
        old.release_statement();
        waiting.join().unwrap();
    });
    assert!(other.has_snapshot());
    drop((old, maker, other));
    world.close();
}
