//! Closing more than once, and checkpoints of an engine where nothing happens any more.

use super::*;
use base::park;

fn sleep(ms: u64) {
    park::sleep(Duration::from_millis(ms));
}

/// A new engine with a relation of one page, durably.
fn with_a_page(disk: &SimDisk) -> Arc<Engine> {
    let engine = created(disk);
    let txn = begin(&engine);
    let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
    set(&engine, &txn, &rel, 0, 1);
    engine.wal().flush(txn.commit().unwrap().must_be_durable);
    engine
}

#[test]
fn whoever_closes_later_gets_to_know_how_it_went() {
    let disk = SimDisk::new();
    sim::run(5, move || {
        let here = env(&disk);
        Engine::create(&config(), &here).unwrap();
        let engine = Engine::open(&config(), &here).unwrap();
        let also = Arc::clone(&engine);
        let second = here.spawn("second", move || also.shutdown().unwrap());
        engine.shutdown().unwrap();
        engine.shutdown().unwrap();
        second.join();
        drop(engine);
        let again = Engine::open(&config(), &here).unwrap();
        assert!(again.recovery().is_none(), "it was closed in order");
        again.shutdown().unwrap();
    });
}

/// A page that is latched whenever the cleaner comes by keeps the redo point back (R1, W7), and nothing else (BF8). Once it is
/// written, the redo point follows, although nobody logs anything; and then it is quiet.
#[test]
fn the_redo_point_follows_when_what_kept_it_back_is_over() {
    let disk = SimDisk::new();
    sim::run(6, move || {
        let here = env(&disk);
        Engine::create(&config(), &here).unwrap();
        let engine = Engine::open(&config(), &here).unwrap();
        let txn = begin(&engine);
        let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
        sleep(1000);
        let changed = set(&engine, &txn, &rel, 0, 1);
        // Room for the commit is claimed before the first latch.
        let done = txn.commit().unwrap();
        let held = rel.write(Fork::Main, BlockNo(0)).unwrap();
        let before = engine.checkpointer.count();
        engine.wal().flush(done.must_be_durable);
        sleep(2000);
        assert!(engine.checkpointer.count() > before, "a checkpoint is due with time");
        assert!(engine.checkpointer.redo() <= changed.start, "the page is not written");
        let logged = engine.wal().position();
        drop(held);
        sleep(2000);
        assert!(engine.checkpointer.redo() >= logged, "nothing keeps it back any more");
        let count = engine.checkpointer.count();
        sleep(5000);
        assert_eq!(engine.checkpointer.count(), count, "nothing happens");
        drop((txn, rel));
        engine.shutdown().unwrap();
    });
}

/// E4. Whatever the background contexts hold is held as long as one of them is left.
#[test]
fn a_start_that_can_not_erase_the_logs_tail_leaves_nobody_behind() {
    let disk = SimDisk::new();
    let engine = with_a_page(&disk);
    let left = disk.crashes_now();
    engine.shutdown().unwrap();
    let env = env(&left);
    left.set_fault(Some(Box::new(|access, path: &str, _| {
        let fails = access == Access::Write && path.starts_with("wal/");
        fails.then(|| io::Error::from_raw_os_error(5))
    })));
    let failed = Engine::open(&config(), &env).err().unwrap();
    assert_eq!(failed.sqlstate(), "58030", "{failed}");
    assert_eq!(Arc::strong_count(&env.disk), 1);
}

/// The pages of a dropped relation leave the cache before its file does. If redo began between their records as long as the
/// file is there, it would meet the later ones on the file as it was (R5).
#[test]
fn redo_begins_before_or_behind_what_is_to_be_removed() {
    let disk = SimDisk::new();
    let here = env(&disk);
    Engine::create(&config(), &here).unwrap();
    let engine = Engine::open(&config(), &here).unwrap();
    let txn = begin(&engine);
    let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
    let other = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
    set(&engine, &txn, &rel, 0, 1);
    engine.wal().flush(txn.commit().unwrap().must_be_durable);
    engine.checkpoint().unwrap();

    let id = rel.id();
    let fails = move |access, path: &str, _: u64| {
        let fails = access == Access::Directory && path == crate::relfile::path(id, Fork::Main);
        fails.then(|| io::Error::from_raw_os_error(5))
    };
    disk.set_fault(Some(Box::new(fails)));
    let txn = begin(&engine);
    let first = set(&engine, &txn, &rel, 0, 2);
    let between = engine.wal().hold_redo();
    let last = set(&engine, &txn, &rel, 0, 3);
    engine.wal().flush(txn.commit().unwrap().must_be_durable);
    let txn = begin(&engine);
    txn.drop_at_commit(id).unwrap();
    engine.wal().flush(txn.commit().unwrap().must_be_durable);
    let checkpoints = engine.checkpointer().count();
    for value in 0..20 {
        let txn = begin(&engine);
        set(&engine, &txn, &other, 0, value);
        txn.commit().unwrap();
        sleep(20);
    }
    engine.checkpoint().unwrap();
    assert!(engine.checkpointer().count() > checkpoints);
    assert!(engine.checkpointer().redo() <= first.start, "the file is there");
    drop(between);
    engine.checkpoint().unwrap();
    assert!(engine.checkpointer().redo() > last.end, "what can't be removed keeps no log");

    disk.set_fault(None);
    while disk.exists(&crate::relfile::path(id, Fork::Main)).unwrap() {
        sleep(20);
    }
    engine.shutdown().unwrap();
}

/// The log of a directory that was closed in order ends with the checkpoint that the control file names (R6); a start that
/// can't say in the control file that it runs has added nothing to it (E2).
#[test]
fn nothing_is_logged_while_the_control_file_says_that_nobody_runs() {
    let disk = SimDisk::new();
    with_a_page(&disk).shutdown().unwrap();
    let ends_with_its_checkpoint = || {
        let control = ControlFile::read(&disk).unwrap();
        assert_eq!(control.state, State::Clean);
        let log = Arc::new(disk.clone());
        let mut reader = wal::Reader::open(log, control.shape, control.redo).unwrap();
        let last = reader.read().unwrap().expect("the checkpoint is there");
        assert_eq!((last.kind, last.at.start), (Kind::CHECKPOINT, control.checkpoint));
        assert!(reader.read().unwrap().is_none(), "something was logged after it");
    };
    ends_with_its_checkpoint();
    disk.set_fault(Some(Box::new(|access, path: &str, _| {
        let fails = access == Access::Write && path == control::PATH;
        fails.then(|| io::Error::from_raw_os_error(5))
    })));
    assert!(Engine::open(&config(), &env(&disk)).is_err());
    disk.set_fault(None);
    ends_with_its_checkpoint();
    Engine::open(&config(), &env(&disk)).unwrap().shutdown().unwrap();
}
