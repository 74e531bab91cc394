use super::testing::World;
use super::*;
use crate::txlog::{Member, Outcome, RowLock};
use base::interrupt::{self, Interrupt};
use base::sync::unmodelled::{AtomicBool, AtomicU64, Ordering};
use base::{BlockNo, Csn, Lsn, RelId, Tid, Xid};
use std::sync::{Arc, Mutex};

fn tid(n: u16) -> Tid {
    Tid { block: BlockNo(0), offset: n }
}

fn row(txn: &Txn) -> TupleHeader {
    TupleHeader::inserted(txn.xid().unwrap(), txn.command(), tid(1))
}

fn end_row(txn: &Txn, row: &mut TupleHeader) {
    let xid = txn.xid().unwrap();
    let (cid, combo) = txn.ending_cid(row);
    row.xmax = xid;
    row.cid = cid;
    row.flags = row.flags.without(Flags::XMAX_ALL);
    if combo {
        row.flags = row.flags.with(Flags::COMBO);
    }
}

fn sees(txn: &Txn, row: &TupleHeader) -> bool {
    let snapshot = txn.statement_snapshot();
    let seen = visibility::check(txn, &snapshot, row).unwrap().visible;
    txn.release_statement();
    seen
}

fn begin(world: &World) -> Txn {
    let txn = world.session();
    txn.begin(Isolation::ReadCommitted);
    txn
}

#[test]
fn others_see_what_was_committed_and_nothing_else() {
    let world = World::new();
    let (a, b) = (begin(&world), begin(&world));
    let mut made = row(&a);
    assert!(!sees(&a, &made), "not in the command that made it");
    a.next_command().unwrap();
    assert!(sees(&a, &made) && !sees(&b, &made));
    a.commit().unwrap();
    assert!(sees(&b, &made));
    end_row(&b, &mut made);
    let c = begin(&world);
    assert!(sees(&c, &made));
    b.next_command().unwrap();
    assert!(!sees(&b, &made));
    b.abort();
    assert!(sees(&c, &made), "a rolled back delete is none");
    world.close();
}

#[test]
fn repeatable_read_keeps_its_first_snapshot() {
    let world = World::new();
    let reader = world.session();
    reader.begin(Isolation::RepeatableRead);
    let writer = begin(&world);
    let before = row(&writer);
    writer.commit().unwrap();
    assert!(sees(&reader, &before), "the snapshot is taken at the first statement");
    writer.begin(Isolation::ReadCommitted);
    let after = row(&writer);
    writer.commit().unwrap();
    assert!(!sees(&reader, &after));
    reader.commit().unwrap();
    reader.begin(Isolation::RepeatableRead);
    assert!(sees(&reader, &after));
    drop(reader);
    world.close();
}

#[test]
fn a_version_made_and_ended_by_one_transaction_has_both_commands() {
    let world = World::new();
    let a = begin(&world);
    let mut made = row(&a);
    a.next_command().unwrap();
    let cursor = a.statement_snapshot();
    end_row(&a, &mut made);
    assert!(made.flags.has(Flags::COMBO));
    assert!(
        visibility::check(&a, &cursor, &made).unwrap().visible,
        "its own command still sees it"
    );
    a.release_statement();
    a.next_command().unwrap();
    assert!(!sees(&a, &made));
    let (standing, _) = visibility::standing(&a, 2, &made).unwrap();
    assert_eq!(standing, Standing::EndedByMe(1));
    drop(a);
    world.close();
}

#[test]
fn savepoints_stand_and_fall_with_their_level() {
    let world = World::new();
    let (a, b) = (begin(&world), begin(&world));
    let base_row = row(&a);
    let one = a.savepoint();
    let in_one = row(&a);
    let two = a.savepoint();
    let in_two = row(&a);
    a.release(two);
    let again = a.savepoint();
    let in_again = row(&a);
    a.rollback_to(again);
    let in_again_after = row(&a);
    a.release(again);
    a.next_command().unwrap();
    assert!(sees(&a, &in_two) && !sees(&a, &in_again) && sees(&a, &in_again_after));
    a.rollback_to(one);
    a.next_command().unwrap();
    let kept = row(&a);
    a.next_command().unwrap();
    assert!(sees(&a, &base_row) && sees(&a, &kept));
    for gone in [&in_one, &in_two, &in_again, &in_again_after] {
        assert!(!sees(&a, gone) && !sees(&b, gone));
    }
    assert!(!sees(&b, &base_row));
    a.commit().unwrap();
    assert!(sees(&b, &base_row) && sees(&b, &kept) && !sees(&b, &in_two));
    drop(b);
    world.close();
}

#[test]
fn a_level_without_an_id_takes_over_that_of_the_one_inside() {
    let world = World::new();
    let a = begin(&world);
    let outer = a.savepoint();
    let inner = a.savepoint();
    let id = a.xid().unwrap();
    a.release(inner);
    assert_eq!(a.xid().unwrap(), id);
    a.rollback_to(outer);
    assert_ne!(a.xid().unwrap(), id);
    drop(a);
    world.close();
}

#[test]
fn many_subtransactions_commit_as_one() {
    for count in [3, 40, 5000] {
        let world = World::new();
        let (a, b) = (begin(&world), begin(&world));
        let rows: Vec<_> = (0..count)
            .map(|_| {
                let level = a.savepoint();
                let made = row(&a);
                a.release(level);
                made
            })
            .collect();
        assert!(rows.iter().all(|r| !sees(&b, r)));
        let before = b.statement_snapshot();
        a.commit().unwrap();
        for r in &rows {
            assert!(!visibility::check(&b, &before, r).unwrap().visible);
        }
        b.release_statement();
        assert!(rows.iter().all(|r| sees(&b, r)));
        drop(b);
        world.close();
    }
}

/// T5: no hint tells of a commit that is not durable.
#[test]
fn what_is_relied_on_must_be_durable_before_it_is_told() {
    let world = World::new();
    let (a, b) = (begin(&world), begin(&world));
    let made = row(&a);
    a.set_synchronous(false);
    let info = a.commit().unwrap();
    let csn = info.committed.unwrap().1;
    assert!(info.must_be_durable <= Lsn(csn.0), "an asynchronous commit waits for nothing");
    let snapshot = b.statement_snapshot();
    let durable = world.wal.durable();
    if durable.0 <= csn.0 {
        let seen = visibility::check(&b, &snapshot, &made).unwrap();
        if world.wal.durable() == durable {
            assert_eq!(seen.hints, Flags::NONE, "no hint from what a crash may take back");
        }
        assert!(b.must_be_durable().0 > csn.0 || world.wal.durable().0 > csn.0);
    }
    world.wal.flush(Lsn(csn.0 + 1));
    let seen = visibility::check(&b, &snapshot, &made).unwrap();
    assert_eq!(seen, Visibility { visible: true, hints: Flags::XMIN_COMMITTED });
    drop(b);
    world.close();
}

/// What a session must wait for that has seen another's commit, before the log is durable so far; zero:
/// nothing.
fn waits_for(writer_synchronous: bool, reader_synchronous: bool, under_savepoint: bool) -> Lsn {
    // The log may become durable at any time: then look again.
    for _ in 0..100 {
        let world = World::new();
        let (a, b) = (begin(&world), begin(&world));
        a.set_synchronous(writer_synchronous);
        b.set_synchronous(reader_synchronous);
        let level = under_savepoint.then(|| a.savepoint());
        let made = row(&a);
        level.into_iter().for_each(|level| a.release(level));
        let csn = a.commit().unwrap().committed.unwrap().1;
        assert!(sees(&b, &made));
        let waits = b.must_be_durable();
        let durable = world.wal.durable();
        drop((a, b));
        world.close();
        if durable.0 <= csn.0 {
            assert!(waits == Lsn::ZERO || waits.0 > csn.0);
            return waits;
        }
    }
    panic!("the log is always durable at once");
}

#[test]
fn what_nobody_was_promised_is_told_to_sessions_that_ask_for_no_more() {
    for under_savepoint in [false, true] {
        assert_eq!(waits_for(false, false, under_savepoint), Lsn::ZERO);
        assert_ne!(waits_for(false, true, under_savepoint), Lsn::ZERO);
        assert_ne!(waits_for(true, false, under_savepoint), Lsn::ZERO);
        assert_ne!(waits_for(true, true, under_savepoint), Lsn::ZERO);
    }
}

#[test]
fn the_horizon_is_held_back_by_the_oldest_snapshot() {
    let world = World::new();
    let (a, b) = (world.session(), begin(&world));
    let snapshot = b.statement_snapshot();
    let mut last = Csn(0);
    for _ in 0..10 {
        a.begin(Isolation::ReadCommitted);
        a.xid().unwrap();
        last = a.commit().unwrap().committed.unwrap().1;
    }
    world.wal.flush(Lsn(last.0 + 1));
    assert_eq!(world.txns.refresh().csn, snapshot.csn);
    let hold = b.hold(snapshot);
    b.release_statement();
    assert_eq!(world.txns.refresh().csn, snapshot.csn, "a cursor holds it, too");
    b.drop_hold(hold);
    assert!(world.txns.refresh().csn > last);
    drop((a, b));
    world.close();
}

#[test]
fn dead_is_what_no_snapshot_sees() {
    let world = World::new();
    let (a, old) = (begin(&world), begin(&world));
    let mut made = row(&a);
    a.commit().unwrap();
    let snapshot = old.statement_snapshot();
    a.begin(Isolation::ReadCommitted);
    end_row(&a, &mut made);
    let fate = |row: &TupleHeader| {
        let durable = world.wal.durable();
        world.txns.refresh();
        let horizon = world.txns.refresh().csn.min(Csn(durable.0));
        visibility::fate(world.txns.txlog(), horizon, durable, row).unwrap().0
    };
    assert_eq!(fate(&made), Fate::DeleteInProgress);
    let end = a.commit().unwrap().must_be_durable;
    world.wal.flush(end);
    assert_eq!(fate(&made), Fate::RecentlyDead);
    assert!(visibility::check(&old, &snapshot, &made).unwrap().visible);
    old.release_statement();
    assert_eq!(fate(&made), Fate::Dead);
    drop((a, old));
    world.close();
}

#[test]
fn actions_follow_their_level() {
    let world = World::new();
    let a = begin(&world);
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |when, what: &'static str| {
        let log = Arc::clone(&log);
        a.on(when, move || log.lock().unwrap().push(what));
    };
    note(When::Commit, "commit 0");
    let level = a.savepoint();
    note(When::Abort, "abort 1");
    note(When::Abort, "abort 2");
    note(When::Commit, "never");
    a.rollback_to(level);
    assert_eq!(*log.lock().unwrap(), ["abort 2", "abort 1"]);
    note(When::Commit, "commit 1");
    note(When::Abort, "never");
    a.commit().unwrap();
    assert_eq!(log.lock().unwrap()[2..], ["commit 0", "commit 1"]);
    drop(a);
    world.close();
}

#[test]
fn files_go_with_the_outcome() {
    let world = World::new();
    let removed = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&removed);
    let txns = Arc::downgrade(&world.txns);
    world.txns.set_file_remover(Box::new(move |rels, after, _| {
        txns.upgrade().unwrap().files_settled(&rels);
        log.lock().unwrap().push((rels, after));
    }));
    let a = begin(&world);
    a.file_created(RelId(1)).unwrap();
    let level = a.savepoint();
    a.file_created(RelId(2)).unwrap();
    a.drop_at_commit(RelId(7)).unwrap();
    assert_eq!(world.txns.checkpoint_state().created.len(), 2);
    a.rollback_to(level);
    assert_eq!(*removed.lock().unwrap(), [(vec![RelId(2)], Lsn::ZERO)]);
    a.drop_at_commit(RelId(8)).unwrap();
    let end = a.commit().unwrap().must_be_durable;
    assert_eq!(removed.lock().unwrap()[1], (vec![RelId(8)], end));
    assert!(world.txns.checkpoint_state().created.is_empty());
    drop(a);
    world.close();
}

/// However many ids there are since the oldest that runs, telling them can be stopped.
#[test]
fn telling_a_snapshot_in_ids_can_be_stopped() {
    let world = World::new();
    let (old, other) = (begin(&world), begin(&world));
    old.xid().unwrap();
    world.txns.refresh();
    for _ in 0..1100 {
        other.xid().unwrap();
        other.abort();
        other.begin(Isolation::ReadCommitted);
    }
    let snapshot = old.statement_snapshot();
    base::park::current().interrupt(Interrupt::Cancel);
    let told = old.snapshot_xids(&snapshot);
    interrupt::clear_statement();
    assert!(told.is_err(), "{told:?}");
    assert_eq!(old.snapshot_xids(&snapshot).unwrap().running.len(), 1);
    drop((old, other));
    world.close();
}

#[test]
fn snapshots_can_be_told_in_ids() {
    let world = World::new();
    let sessions: Vec<Txn> = (0..4).map(|_| begin(&world)).collect();
    let text = |snapshot: &Snapshot| sessions[0].snapshot_xids(snapshot).unwrap().to_string();
    world.txns.refresh();
    let empty = sessions[0].statement_snapshot();
    assert_eq!(text(&empty), "3:3:");
    let xids: Vec<Xid> = sessions[1..].iter().map(|s| s.xid().unwrap()).collect();
    assert_eq!(xids, [Xid(3), Xid(4), Xid(5)]);
    sessions[2].commit().unwrap();
    let snapshot = sessions[0].statement_snapshot();
    assert_eq!(text(&snapshot), "3:5:3");
    sessions[1].commit().unwrap();
    assert_eq!(text(&snapshot), "3:5:3", "a snapshot stays what it is");
    sessions[3].abort();
    assert_eq!(text(&empty), "3:6:3,4", "what rolled back had no effect: it may count as ended");
    assert_eq!(text(&sessions[0].statement_snapshot()), "6:6:");
    drop(sessions);
    world.close();
}

/// Transactions of all kinds through a window of two pages, against a map.
#[test]
fn every_outcome_is_remembered_however_old() {
    let world = World::new();
    let mut rng = fastrand::Rng::with_seed(11);
    let mut model: Vec<(Xid, Option<bool>)> = Vec::new();
    let idle: Vec<Txn> = (0..4).map(|_| world.session()).collect();
    let mut running: Vec<(Txn, Vec<Xid>)> = Vec::new();
    let mut free = idle;
    for round in 0..6_000 {
        if let Some(txn) = free.pop() {
            txn.begin(Isolation::ReadCommitted);
            let mut ids = vec![txn.xid().unwrap()];
            for _ in 0..rng.usize(..4) {
                let level = txn.savepoint();
                let sub = txn.xid().unwrap();
                if rng.bool() {
                    txn.rollback_to(level);
                    model.push((sub, Some(false)));
                } else {
                    ids.push(sub);
                }
                txn.release(level);
            }
            running.push((txn, ids));
        }
        // One straggler runs for long.
        let at = if running.len() > 1 { rng.usize(1..running.len()) } else { 0 };
        if running.len() > 2 || round % 997 == 0 {
            let at = if round % 997 == 0 { 0 } else { at };
            let (txn, ids) = running.swap_remove(at);
            let commit = rng.u8(..3) > 0;
            if commit {
                txn.set_synchronous(false);
                txn.commit().unwrap();
            } else {
                txn.abort();
            }
            model.extend(ids.into_iter().map(|id| (id, Some(commit))));
            free.push(txn);
        }
        if round % 500 == 0 {
            world.wal.flush(world.wal.position());
            world.txns.tidy().unwrap();
        }
        if round % 700 == 0 {
            world.txns.checkpoint().unwrap();
        }
        for _ in 0..3 {
            let Some((xid, committed)) = rng.choice(model.iter()).copied() else { continue };
            let outcome = world.txns.txlog().outcome(xid).unwrap();
            let expected = committed.expect("only ended transactions are in the model");
            assert_eq!(matches!(outcome, Outcome::Committed(_)), expected, "{xid} {outcome:?}");
            assert_ne!(outcome, Outcome::Running);
        }
        for (_, ids) in &running {
            let xid = ids[rng.usize(..ids.len())];
            assert_eq!(world.txns.txlog().outcome(xid).unwrap(), Outcome::Running);
        }
    }
    drop(running);
    world.wal.flush(world.wal.position());
    world.txns.tidy().unwrap();
    world.wal.flush(world.wal.position());
    world.txns.tidy().unwrap();
    assert!(world.txns.txlog().window().start() > Xid(6_000), "the window moved on");
    for (xid, committed) in &model {
        let outcome = world.txns.txlog().outcome(*xid).unwrap();
        assert_eq!(matches!(outcome, Outcome::Committed(_)), committed.unwrap());
    }
    world.close();
}

#[test]
fn an_exported_snapshot_outlives_its_transaction_in_those_that_took_it_over() {
    let world = World::new();
    let (a, exporter, importer) = (begin(&world), begin(&world), world.session());
    let mut made = row(&a);
    a.commit().unwrap();
    let name = exporter.export_snapshot(exporter.statement_snapshot());
    exporter.release_statement();
    let oldest = exporter.slot().txn.snapshot.load(Ordering::Relaxed);
    a.begin(Isolation::ReadCommitted);
    end_row(&a, &mut made);
    let end = a.commit().unwrap().must_be_durable;
    world.wal.flush(end);
    let later = begin(&world);
    assert!(!sees(&later, &made));
    importer.begin(Isolation::RepeatableRead);
    // A look at the catalogs has taken a newer one.
    let _ = importer.fresh_snapshot();
    assert_eq!(importer.import_snapshot("no such"), Import::Unknown);
    assert_eq!(importer.import_snapshot(&name), Import::Done);
    exporter.commit().unwrap();
    let other = world.session();
    other.begin(Isolation::RepeatableRead);
    assert_eq!(other.import_snapshot(&name), Import::Unknown, "it went with its transaction");
    assert_eq!(world.txns.refresh().csn, Csn(oldest));
    assert!(sees(&importer, &made), "deleted since");
    // What it did itself it sees, too.
    let own = row(&importer);
    importer.next_command().unwrap();
    assert!(sees(&importer, &own));
    importer.commit().unwrap();
    assert!(world.txns.refresh().csn > Csn(oldest));
    drop((a, exporter, importer, later, other));
    world.close();
}

#[test]
fn an_exported_snapshot_is_its_database_s() {
    let world = World::new();
    let exporter = begin(&world);
    let name = exporter.export_snapshot(exporter.statement_snapshot());
    assert_ne!(exporter.export_snapshot(exporter.statement_snapshot()), name);
    let elsewhere = Txn::attach(&world.txns, 99, 6).unwrap();
    elsewhere.begin(Isolation::RepeatableRead);
    assert_eq!(elsewhere.import_snapshot(&name), Import::OtherDatabase);
    exporter.abort();
    assert_eq!(elsewhere.import_snapshot(&name), Import::Unknown);
    drop((exporter, elsewhere));
    world.close();
}

/// Sessions hand a snapshot on in a ring, each letting go as soon as the next has it, while others look how far back
/// anybody can see, and commits go on.
#[test]
fn a_snapshot_handed_round_is_never_overlooked() {
    let world = World::new();
    let first = world.session();
    first.begin(Isolation::RepeatableRead);
    let mut name = first.export_snapshot(first.statement_snapshot());
    let csn = first.statement_snapshot().csn;
    let stop = AtomicBool::new(false);
    // Kept until the writer has ended.
    let mut last = None;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let writer = world.session();
            while !stop.load(Ordering::Relaxed) {
                writer.begin(Isolation::ReadCommitted);
                writer.xid().unwrap();
                let end = writer.commit().unwrap().must_be_durable;
                world.wal.flush(end);
                assert!(world.txns.refresh().csn <= csn, "somebody had it");
            }
        });
        let (mut has, mut next) = (first, world.session());
        for _ in 0..20_000 {
            next.begin(Isolation::RepeatableRead);
            assert_eq!(next.import_snapshot(&name), Import::Done);
            name = next.export_snapshot(next.statement_snapshot());
            has.abort();
            std::mem::swap(&mut has, &mut next);
        }
        stop.store(true, Ordering::Relaxed);
        last = Some(has);
    });
    drop(last);
    world.close();
}

/// A savepoint's transaction, whose savepoint is rolled back and which commits between the next two looks of this thread:
/// at the savepoint's entry and at the transaction's. The savepoint's id.
fn ends_between_looks(world: &World) -> Xid {
    let txn = begin(world);
    txn.xid().unwrap();
    let level = txn.savepoint();
    let xid = txn.xid().unwrap();
    crate::txlog::looks::set(move || {
        txn.rollback_to(level);
        txn.commit().unwrap();
    });
    xid
}

/// N4: whoever went by the transaction looks at the savepoint again.
#[test]
fn a_savepoint_that_was_rolled_back_is_never_taken_for_committed() {
    let world = World::new();
    let xid = ends_between_looks(&world);
    let txlog = world.txns.txlog();
    assert_eq!(txlog.outcome(xid).unwrap(), Outcome::Aborted);
    // Nor is it written down so.
    let xid = ends_between_looks(&world);
    txlog.fold(Xid(xid.0 + 1)).unwrap();
    assert_eq!(txlog.written(xid).unwrap(), crate::txlog::Status::Aborted);
    world.close();
}

/// M1: it is forgotten when its last member has ended, and not before.
#[test]
fn a_multixact_is_kept_as_long_as_a_member_runs() {
    let world = World::new();
    let (a, b, other) = (begin(&world), begin(&world), world.session());
    let share = |txn: &Txn| Member { xid: txn.xid().unwrap(), strength: RowLock::Share };
    let members = [share(&a), share(&b)];
    let multis = world.txns.txlog().multis();
    let id = multis.create(&members).unwrap();
    b.commit().unwrap();
    go_on(&world, &other);
    assert_eq!(multis.members(id).unwrap(), members);
    a.commit().unwrap();
    go_on(&world, &other);
    assert_eq!(multis.members(id).unwrap(), []);
    drop((a, b, other));
    world.close();
}

/// Others come and go, durably, and the keeper does its work.
fn go_on(world: &World, other: &Txn) {
    for _ in 0..5 {
        other.begin(Isolation::ReadCommitted);
        other.xid().unwrap();
        world.wal.flush(other.commit().unwrap().must_be_durable);
        world.txns.tidy().unwrap();
    }
}

/// N3.
#[test]
fn the_window_keeps_who_runs_and_whom_a_snapshot_does_not_see() {
    let world = World::new();
    let (runs, reader, other) = (begin(&world), begin(&world), world.session());
    let xid = runs.xid().unwrap();
    let start = || world.txns.txlog().window().start();
    go_on(&world, &other);
    assert!(start() <= xid, "it runs");
    let snapshot = reader.statement_snapshot();
    runs.commit().unwrap();
    go_on(&world, &other);
    assert!(start() <= xid, "a snapshot does not see its commit");
    let outcome = world.txns.txlog().outcome(xid).unwrap();
    assert!(matches!(outcome, Outcome::Committed(csn) if csn >= snapshot.csn), "{outcome:?}");
    reader.release_statement();
    go_on(&world, &other);
    assert!(start() > xid, "nobody asks any more");
    drop((runs, reader, other));
    world.close();
}

/// While transactions begin and end, nobody who looks at all sessions takes an id that runs for ended (T2), nor one that
/// has committed for ended before snapshots include its commit (T4).
#[test]
fn no_look_at_the_sessions_misses_an_id_that_runs() {
    let world = World::new();
    let (stop, newest) = (AtomicBool::new(false), AtomicU64::new(0));
    let looks = || {
        while !stop.load(Ordering::Relaxed) {
            let xid = Xid(newest.load(Ordering::Relaxed));
            world.txns.refresh();
            if world.txns.oldest_running() > xid
                && let Outcome::Committed(csn) = world.txns.txlog().outcome(xid).unwrap()
            {
                assert!(csn < world.wal.published(), "{xid} counts as ended, and nobody sees it");
            }
        }
    };
    let writes = || {
        let txn = world.session();
        txn.set_synchronous(false);
        for _ in 0..3000 {
            txn.begin(Isolation::ReadCommitted);
            let xid = txn.xid().unwrap();
            newest.store(xid.0, Ordering::Relaxed);
            for _ in 0..3 {
                assert!(world.txns.oldest_running() <= xid, "{xid} runs");
                std::thread::yield_now();
            }
            txn.commit().unwrap();
        }
    };
    std::thread::scope(|scope| {
        let looker = scope.spawn(looks);
        let writers = [scope.spawn(writes), scope.spawn(writes)].map(|writer| writer.join());
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().chain([looker.join()]).for_each(|done| done.unwrap());
    });
    world.close();
}

/// T3: nothing that a snapshot in force may need counts as seen by all, whenever it was taken.
#[test]
fn no_look_at_the_sessions_misses_a_snapshot() {
    let world = World::new();
    let stop = AtomicBool::new(false);
    let writes = || {
        let txn = world.session();
        txn.set_synchronous(false);
        for _ in 0..5000 {
            txn.begin(Isolation::ReadCommitted);
            txn.xid().unwrap();
            txn.commit().unwrap();
            world.txns.refresh();
        }
    };
    let reads = || {
        let txn = world.session();
        while !stop.load(Ordering::Relaxed) {
            txn.begin(Isolation::ReadCommitted);
            let snapshot = txn.statement_snapshot();
            for _ in 0..3 {
                let horizon = world.txns.visible_horizon();
                assert!(horizon <= snapshot.csn, "{horizon:?} is behind {snapshot:?}");
            }
            txn.commit().unwrap();
        }
    };
    std::thread::scope(|scope| {
        let readers = [scope.spawn(reads), scope.spawn(reads)];
        let written = scope.spawn(writes).join();
        stop.store(true, Ordering::Relaxed);
        let read = readers.map(|reader| reader.join());
        read.into_iter().chain([written]).for_each(|done| done.unwrap());
    });
    world.close();
}

/// T6: what is done at a rollback is done before anybody takes the transaction for ended, and its rows for free.
#[test]
fn abort_actions_run_before_the_rollback_is_visible() {
    let world = World::new();
    let a = begin(&world);
    a.xid().unwrap();
    for within in [true, false] {
        let level = within.then(|| a.savepoint());
        let xid = a.xid().unwrap();
        let seen = Arc::new(Mutex::new(None));
        let (tell, txlog) = (Arc::clone(&seen), Arc::clone(world.txns.txlog()));
        a.on(When::Abort, move || *tell.lock().unwrap() = Some(txlog.outcome(xid).unwrap()));
        match level {
            Some(level) => a.rollback_to(level),
            None => a.abort(),
        }
        assert_eq!(*seen.lock().unwrap(), Some(Outcome::Running));
        assert_eq!(world.txns.txlog().outcome(xid).unwrap(), Outcome::Aborted);
    }
    drop(a);
    world.close();
}
