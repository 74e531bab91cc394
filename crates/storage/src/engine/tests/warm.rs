//! Cache contents across a restart.

use super::*;

/// Waits for what the background is to do.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A directory with one relation of some pages, closed after `reads` of them were read.
fn closed(disk: &SimDisk, reads: std::ops::Range<u32>) -> RelId {
    let env = env(disk);
    Engine::create(&config(), &env).unwrap();
    let engine = Engine::open(&config(), &env).unwrap();
    let txn = begin(&engine);
    let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
    for block in 0..20 {
        set(&engine, &txn, &rel, block, 100 + u64::from(block));
    }
    txn.commit().unwrap();
    drop(txn);
    engine.shutdown().unwrap();
    drop(engine);
    let engine = Engine::open(&config(), &env).unwrap();
    engine.keep_warm(Duration::ZERO);
    for block in reads {
        get(&engine, rel.id(), block);
    }
    engine.shutdown().unwrap();
    rel.id()
}

#[test]
fn pages_are_there_again() {
    let disk = SimDisk::new();
    let rel = closed(&disk, 3..9);
    let engine = Engine::open(&config(), &env(&disk)).unwrap();
    assert_eq!(engine.pool().residents().flatten().filter(|page| page.rel == rel).count(), 0);
    engine.keep_warm(Duration::ZERO);
    until("the pages are read", || engine.warmed() >= 6);
    let held = || engine.pool().residents().flatten().filter(|page| page.rel == rel);
    let mut blocks: Vec<u32> = held().map(|page| page.block.0).collect();
    blocks.sort_unstable();
    assert_eq!(blocks, [3, 4, 5, 6, 7, 8]);
    if engine.pool().frame_count() >= 64 {
        let ahead = engine.pool().stats().ahead;
        assert!((3..6).contains(&ahead), "{ahead} of them were on their way before");
    }
    let reads = engine.pool().stats().loads;
    assert_eq!(get(&engine, rel, 5), 105);
    assert_eq!(engine.pool().stats().loads, reads);
    engine.shutdown().unwrap();
}

/// What a crash leaves is warm, too.
#[test]
fn the_note_is_made_while_the_engine_runs() {
    let disk = SimDisk::new();
    let rel = closed(&disk, 3..5);
    let engine = Engine::open(&config(), &env(&disk)).unwrap();
    engine.keep_warm(Duration::from_millis(5));
    until("the pages are read", || engine.warmed() >= 2);
    (9..12).for_each(|block| assert_eq!(get(&engine, rel, block), 100 + u64::from(block)));
    let noted = || engine.read_note().unwrap().into_iter().filter(|run| run.rel == rel);
    until("they are noted", || noted().any(|run| (run.first, run.blocks) == (9, 3)));
    assert!(noted().any(|run| (run.first, run.blocks) == (3, 2)));
    engine.shutdown().unwrap();
}

#[test]
fn notes_do_not_disturb_each_other() {
    let disk = SimDisk::new();
    closed(&disk, 0..20);
    let engine = Engine::open(&config(), &env(&disk)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..300 {
                    engine.note_residents().unwrap();
                }
            });
        }
    });
    engine.shutdown().unwrap();
}

#[test]
fn a_note_that_does_not_fit_is_passed_over() {
    let disk = SimDisk::new();
    let rel = closed(&disk, 0..20);
    let note = disk.open(super::super::warm::PATH, base::disk::Open::Existing).unwrap();
    // A relation that is not there, blocks that are not, a line that makes no sense.
    let text = format!("thalweg warm pages 1\n777 0 0 0 5\n{} 0 0 18 50\nwhat 1\n", rel.0);
    note.set_len(0).unwrap();
    note.write_at(text.as_bytes(), 0).unwrap();
    let engine = Engine::open(&config(), &env(&disk)).unwrap();
    engine.keep_warm(Duration::ZERO);
    until("the pages are read", || engine.warmed() >= 2);
    assert_eq!(get(&engine, rel, 19), 119);
    engine.shutdown().unwrap();
    assert_eq!(engine.warmed(), 2);
}
