//! Sequences of an engine that crashes: no value comes twice.

use super::*;
use crate::sequence::{Params, SequenceRel};

const UP: Params = Params { increment: 1, min: 1, max: i64::MAX, cycle: false };

/// An engine whose redo point moves when it is told to.
fn config_without_checkpoints() -> EngineConfig {
    EngineConfig { checkpoint_timeout: Duration::from_secs(3600), ..config() }
}

fn sequence(engine: &Engine, rel: &Relation) -> SequenceRel {
    SequenceRel::new(rel.clone(), engine.txns())
}

/// Takes values until `last` came.
fn take_to(sequence: &SequenceRel, txn: &Txn, last: i64) {
    while sequence.next(txn, &UP).unwrap() < last {}
}

/// What a sequence gives next after a crash behind `work`, which answers its relation.
fn next_after(work: fn(&Engine) -> RelId) -> i64 {
    sim::run(11, move || {
        let disk = SimDisk::new();
        let here = env(&disk);
        let config = config_without_checkpoints();
        Engine::create(&config, &here).unwrap();
        let engine = Engine::open(&config, &here).unwrap();
        let id = work(&engine);
        let left = disk.crashes_now();
        engine.shutdown().unwrap();
        drop(engine);
        let engine = Engine::open(&config, &env(&left)).unwrap();
        let txn = begin(&engine);
        let rel = engine.pool().relation(id, Rank::SequencePage);
        let next = sequence(&engine, &rel).next(&txn, &UP).unwrap();
        txn.abort();
        drop((txn, rel));
        engine.shutdown().unwrap();
        next
    })
}

fn create(engine: &Engine, txn: &Txn) -> Relation {
    let rel = engine.create_relation(txn, Persistence::Permanent, Rank::SequencePage).unwrap();
    sequence(engine, &rel).create(1).unwrap();
    rel
}

#[test]
fn a_checkpoint_between_two_values_lets_neither_come_again() {
    let next = next_after(|engine| {
        let txn = begin(engine);
        let rel = create(engine, &txn);
        take_to(&sequence(engine, &rel), &txn, 1);
        engine.checkpoint().unwrap();
        take_to(&sequence(engine, &rel), &txn, 5);
        engine.wal().flush(txn.commit().unwrap().must_be_durable);
        rel.id()
    });
    assert!(next > 5, "{next} came before the crash");
}

#[test]
fn a_copy_gives_no_value_twice() {
    let next = next_after(|engine| {
        let txn = begin(engine);
        let from = create(engine, &txn);
        take_to(&sequence(engine, &from), &txn, 3);
        let rank = Rank::SequencePage;
        let to = engine.create_relation(&txn, Persistence::Permanent, rank).unwrap();
        engine.copy_relation(&from, &to).unwrap();
        take_to(&sequence(engine, &to), &txn, 7);
        engine.wal().flush(txn.commit().unwrap().must_be_durable);
        to.id()
    });
    assert!(next > 7, "{next} came before the crash");
}
