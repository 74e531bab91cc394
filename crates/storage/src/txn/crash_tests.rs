//! Transactions under crashes: every outcome that was told holds, subtransactions stand and fall with their
//! top, over windows and status pages of the smallest size, at every write and sync.

use super::{Isolation, Txn};
use crate::engine::{Engine, EngineConfig};
use crate::txlog::{LogBuffers, Outcome, TxLogConfig};
use crate::wal;
use base::disk::sim::SimDisk;
use base::{Env, Xid, park, sim};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn config() -> EngineConfig {
    EngineConfig {
        shared_buffers: crate::rig::frames(64),
        wal_buffers: wal::BUFFER_BYTES_MIN,
        wal_insert_slots: 2,
        wal_segment_bytes: wal::segment::SEGMENT_BYTES_MIN,
        max_wal_bytes: 8 * wal::segment::SEGMENT_BYTES_MIN,
        checkpoint_timeout: Duration::from_millis(20),
        open_files_max: 8,
        wal_io: wal::testing::io(),
        txlog: TxLogConfig {
            buffers: LogBuffers([16; 7]),
            shared_buffers: 64,
            window_pages: 2,
            track_commit_timestamp: true,
            ..TxLogConfig::default()
        },
        ..EngineConfig::default()
    }
}

fn env(disk: &SimDisk) -> Env {
    Env::new(Arc::new(disk.clone()))
}

/// What became of one transaction.
#[derive(Clone)]
struct Past {
    /// Its top and the subtransactions that did not roll back.
    xids: Vec<Xid>,
    rolled_back: Vec<Xid>,
    committed: bool,
    /// From this many disk operations on the commit was durable.
    durable_from: Option<usize>,
}

/// One transaction with many savepoints; ids are skipped between them so that it spans pages.
fn live(txn: &Txn, subs: usize) -> Past {
    txn.begin(Isolation::ReadCommitted);
    let mut past = Past {
        xids: vec![txn.xid().unwrap()],
        rolled_back: Vec::new(),
        committed: false,
        durable_from: None,
    };
    for _ in 0..subs {
        let level = txn.savepoint();
        let xid = txn.xid().unwrap();
        if sim::draw(4) == 0 {
            txn.rollback_to(level);
            past.rolled_back.push(xid);
        } else {
            past.xids.push(xid);
        }
        txn.release(level);
    }
    past
}

fn session(engine: &Engine, disk: &SimDisk, pasts: &Mutex<Vec<Past>>, seed: u64) {
    let txn = Txn::attach(engine.txns(), seed as i32, 1).unwrap();
    for _ in 0..12 {
        let subs = [0, 1, 3, 40, 700][sim::draw(5) as usize];
        let mut past = live(&txn, subs);
        if sim::draw(4) == 0 {
            txn.abort();
        } else {
            let lsn = txn.commit().unwrap().must_be_durable;
            past.committed = true;
            if sim::draw(3) > 0 {
                engine.wal().flush(lsn);
                past.durable_from = Some(disk.operations());
            }
        }
        pasts.lock().unwrap().push(past);
        if sim::draw(3) == 0 {
            park::sleep(Duration::from_millis(sim::draw(30)));
        }
    }
}

fn workload(disk: &SimDisk, seed: u64) -> Vec<Past> {
    let disk = disk.clone();
    sim::run(seed, move || {
        let env = env(&disk);
        Engine::create(&config(), &env).unwrap();
        let engine = Engine::open(&config(), &env).unwrap();
        let pasts = Arc::new(Mutex::new(Vec::new()));
        let running: Vec<_> = (0..4)
            .map(|i| {
                let (engine, disk, pasts) = (Arc::clone(&engine), disk.clone(), Arc::clone(&pasts));
                env.spawn("session", move || session(&engine, &disk, &pasts, i))
            })
            .collect();
        running.into_iter().for_each(|b| b.join());
        engine.shutdown().unwrap();
        drop(engine);
        Arc::try_unwrap(pasts).ok().unwrap().into_inner().unwrap()
    })
}

/// Recovers what a crash left and compares it with the past.
fn verify(disk: &SimDisk, at: usize, pasts: &[Past], seed: u64) {
    let (disk, pasts) = (disk.clone(), pasts.to_vec());
    sim::run(seed, move || {
        let env = env(&disk);
        if !Engine::exists(&env).unwrap() {
            return;
        }
        let engine = Engine::open(&config(), &env).unwrap();
        let next = engine.txns().next_xid();
        let committed = |xid: Xid| {
            xid < next && engine.txns().txlog().outcome(xid).unwrap() != Outcome::Aborted
        };
        for past in &pasts {
            let top = past.xids[0];
            let found: BTreeSet<bool> = past.xids.iter().map(|xid| committed(*xid)).collect();
            assert_eq!(found.len(), 1, "half of transaction {top} is there after a crash at {at}");
            let survived = found.contains(&true);
            assert!(past.committed || !survived, "{top} was rolled back");
            let promised = past.durable_from.is_some_and(|from| from <= at);
            assert!(
                survived || !promised,
                "the commit of {top} was told, and a crash at {at} lost it"
            );
            assert!(
                past.rolled_back.iter().all(|xid| !committed(*xid)),
                "{top}: savepoint is back"
            );
        }
        // Ids that are handed out anew begin without a past.
        let txn = Txn::attach(engine.txns(), 1, 1).unwrap();
        txn.begin(Isolation::ReadCommitted);
        let xid = txn.xid().unwrap();
        assert_eq!(engine.txns().txlog().outcome(xid).unwrap(), Outcome::Running);
        txn.abort();
        assert!(!committed(xid));
        engine.shutdown().unwrap();
    });
}

#[test]
fn outcomes_that_were_told_survive_every_crash() {
    for seed in 0..3 {
        let disk = SimDisk::new();
        let pasts = workload(&disk, seed);
        let ids: usize = pasts.iter().map(|p| p.xids.len() + p.rolled_back.len()).sum();
        assert!(ids > 2_000, "the window has moved, and spilled");
        let mut crashes = disk.crashes();
        let mut rng = fastrand::Rng::with_seed(seed);
        for at in 0..=disk.operations() {
            crashes.advance_to(at);
            if at % 9 == seed as usize % 9 {
                verify(&crashes.image(&mut rng), at, &pasts, seed + at as u64);
            }
        }
    }
}
