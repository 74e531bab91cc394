//! Transactions under crashes: every outcome that was told holds, subtransactions stand and fall with their
//! top, and so do the times of commits; no multixact's id comes back. Over windows and status pages of the smallest size,
//! over borders of pages and segments, at one in nine writes and syncs, and wherever files of status logs go or change
//! their form; `THALWEG_CRASH_EVERY=1` takes all.

use super::{Isolation, Txn};
use crate::engine::{Engine, EngineConfig};
use crate::lock::RowLock;
use crate::txlog::{
    LogBuffers, Member, MultiXactId, Outcome, SEGMENT_PAGES, Status, TxLogConfig, TxLogStart,
    WINDOW_PAGE, XACT_PAGE,
};
use crate::wal;
use base::disk::sim::SimDisk;
use base::{Env, Xid, park, sim};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Seeds begin with the first ids, and shortly before borders: of segments of every log, the xact log's included, and
/// of its pages beyond 32 bits.
fn first_ids(seed: u64) -> TxLogStart {
    let segment = SEGMENT_PAGES * WINDOW_PAGE;
    let (next_xid, next_multixact) = match seed % 3 {
        0 => return TxLogStart::FIRST,
        1 => ((1 << 33) + SEGMENT_PAGES * XACT_PAGE - 900, segment - 300),
        _ => ((1 << 40) + XACT_PAGE - 40, (1 << 33) + segment - 1000),
    };
    TxLogStart { next_xid: Xid(next_xid), next_multixact: MultiXactId(next_multixact) }
}

fn config(seed: u64) -> EngineConfig {
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
            first: first_ids(seed),
            first_member: [0, (1 << 32) - 5, (1 << 40) - 9][(seed % 3) as usize],
        },
        ..EngineConfig::default()
    }
}

fn env(disk: &SimDisk) -> Env {
    Env::new(Arc::new(disk.clone()))
}

/// What became of one transaction.
#[derive(Clone)]
struct Life {
    /// Its top and the subtransactions that did not roll back.
    xids: Vec<Xid>,
    rolled_back: Vec<Xid>,
    committed: bool,
    /// When it committed, as was told then.
    time: Option<i64>,
    /// From this many disk operations on the commit was durable.
    durable_from: Option<usize>,
}

/// What the sessions lived through.
#[derive(Clone, Default)]
struct Past {
    lives: Vec<Life>,
    /// The last multixact that was told, and after how many disk operations; both ascend.
    multis: Vec<(usize, MultiXactId)>,
}

/// One transaction with many savepoints; ids are skipped between them so that it spans pages.
fn live(txn: &Txn, subs: usize) -> Life {
    txn.begin(Isolation::ReadCommitted);
    let mut past = Life {
        xids: vec![txn.xid().unwrap()],
        rolled_back: Vec::new(),
        committed: false,
        time: None,
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

/// Some transactions that share rows' locks with this one.
fn share(engine: &Engine, xid: Xid, disk: &SimDisk, past: &Mutex<Past>) {
    let multis = engine.txns().txlog().multis();
    for _ in 0..[0, 1, 30, 700][sim::draw(4) as usize] {
        let others = (0..1 + sim::draw(3)).map(|back| Xid(xid.0 - 1 - back));
        let xids = others.chain([xid]);
        let members: Vec<_> = xids.map(|xid| Member { xid, strength: RowLock::KeyShare }).collect();
        let id = multis.create(&members).unwrap();
        assert_eq!(multis.members(id).unwrap(), members);
        let mut past = past.lock().unwrap();
        if past.multis.last().is_none_or(|(_, last)| *last < id) {
            past.multis.push((disk.operations(), id));
        }
    }
}

fn session(engine: &Engine, disk: &SimDisk, pasts: &Mutex<Past>, seed: u64, transactions: u32) {
    let txn = Txn::attach(engine.txns(), seed as i32, 1).unwrap();
    for _ in 0..transactions {
        let subs = [0, 1, 3, 40, 700][sim::draw(5) as usize];
        let mut past = live(&txn, subs);
        share(engine, past.xids[0], disk, pasts);
        if sim::draw(4) == 0 {
            txn.abort();
        } else {
            let lsn = txn.commit().unwrap().must_be_durable;
            past.committed = true;
            past.time = engine.txns().txlog().times().get(past.xids[0]).unwrap();
            assert!(past.time.is_some(), "whoever sees a commit sees its time");
            if sim::draw(3) > 0 {
                engine.wal().flush(lsn);
                past.durable_from = Some(disk.operations());
            }
        }
        pasts.lock().unwrap().lives.push(past);
        if sim::draw(3) == 0 {
            park::sleep(Duration::from_millis(sim::draw(30)));
        }
    }
}

fn workload(disk: &SimDisk, seed: u64) -> (Past, Vec<sim::Passed>) {
    let disk = disk.clone();
    sim::run(seed, move || {
        let env = env(&disk);
        Engine::create(&config(seed), &env).unwrap();
        let engine = Engine::open(&config(seed), &env).unwrap();
        let pasts = Arc::new(Mutex::new(Past::default()));
        let running: Vec<_> = (0..4)
            .map(|i| {
                let (engine, disk, pasts) = (Arc::clone(&engine), disk.clone(), Arc::clone(&pasts));
                env.spawn("session", move || session(&engine, &disk, &pasts, i, 12))
            })
            .collect();
        running.into_iter().for_each(|b| b.join());
        // Checkpoints and the keeper go on: what is old by now is packed.
        for seed in 4..8 {
            session(&engine, &disk, &pasts, seed, 1);
            park::sleep(Duration::from_millis(250));
        }
        engine.shutdown().unwrap();
        drop(engine);
        (Arc::try_unwrap(pasts).ok().unwrap().into_inner().unwrap(), sim::windows())
    })
}

/// What is there of one transaction after a crash at disk operation `at`.
fn verify_life(engine: &Engine, life: &Life, at: usize, times_kept: bool) {
    let (txns, top) = (engine.txns(), life.xids[0]);
    let next = txns.next_xid();
    let committed = |xid: Xid| xid < next && txns.txlog().outcome(xid).unwrap() != Outcome::Aborted;
    let found: BTreeSet<bool> = life.xids.iter().map(|xid| committed(*xid)).collect();
    assert_eq!(found.len(), 1, "half of transaction {top} is there after a crash at {at}");
    let survived = found.contains(&true);
    assert!(life.committed || !survived, "{top} was rolled back");
    let promised = life.durable_from.is_some_and(|from| from <= at);
    assert!(survived || !promised, "the commit of {top} was told, and a crash at {at} lost it");
    let back = life.rolled_back.iter().find(|xid| committed(**xid));
    assert!(back.is_none(), "{top}: savepoint is back");

    let time = |xid: &Xid| txns.txlog().times().get(*xid).unwrap();
    if survived && times_kept {
        let strange = life.xids.iter().find(|xid| time(xid) != life.time);
        assert!(strange.is_none(), "{strange:?} of {top} has another time after a crash at {at}");
    }
    // A time may be there without its commit (C2), but never another one, and none of what was rolled back.
    assert!(life.xids.iter().filter_map(time).all(|found| Some(found) == life.time), "{top}");
    assert!(life.rolled_back.iter().all(|xid| time(xid).is_none()), "{top}");
}

/// Compares a recovered engine with the past.
fn compare(engine: &Engine, past: &Past, at: usize, times_kept: bool) {
    let txlog = engine.txns().txlog();
    past.lives.iter().for_each(|life| verify_life(engine, life, at, times_kept));
    // Rows keep stale ids: none comes back, and none has members.
    let told = past.multis.partition_point(|(from, _)| *from <= at);
    if let Some((_, last)) = past.multis[..told].last() {
        assert!(txlog.multis().next() > *last, "{last:?} comes back after a crash at {at}");
        assert_eq!(txlog.multis().members(*last).unwrap(), []);
    }
    assert_eq!(txlog.multis().live(), 0);
    let mut faults = Vec::new();
    txlog.check(&mut |fault| faults.push(fault)).unwrap();
    assert!(faults.is_empty(), "after a crash at {at}: {faults:?}");
    // Ids that are handed out anew begin without a past (O3).
    let txn = Txn::attach(engine.txns(), 1, 1).unwrap();
    txn.begin(Isolation::ReadCommitted);
    let xid = txn.xid().unwrap();
    assert_eq!(txlog.outcome(xid).unwrap(), Outcome::Running);
    assert_eq!(txlog.written(xid).unwrap(), Status::Unknown);
    assert_eq!(txlog.times().get(xid).unwrap(), None);
    txn.abort();
    assert_eq!(txlog.outcome(xid).unwrap(), Outcome::Aborted);
}

/// Recovers what a crash left, with times kept or not, and compares it with the past. `times_kept` is whether they were
/// all along.
fn verify(
    disk: &SimDisk,
    at: usize,
    past: &Past,
    seed: u64,
    world: u64,
    tracks: bool,
    times_kept: bool,
) {
    let (disk, past) = (disk.clone(), past.clone());
    sim::run(world, move || {
        let env = env(&disk);
        if !Engine::exists(&env).unwrap() {
            return;
        }
        let mut config = config(seed);
        config.txlog.track_commit_timestamp = tracks;
        let engine = Engine::open(&config, &env).unwrap();
        compare(&engine, &past, at, times_kept);
        let files = engine.txns().txlog().times().slru().segments().unwrap();
        assert_eq!(files.is_empty(), !tracks, "commit times are kept if and only if they shall be");
        engine.shutdown().unwrap();
    });
}

/// Windows of a few operations, all of which are crashed at.
const SHORT: [&str; 3] = ["multixacts-removed", "status-packed", "commit-times-packed"];

/// One crash in so many.
fn every() -> usize {
    let chosen = std::env::var("THALWEG_CRASH_EVERY").ok();
    chosen.map_or(9, |every| every.parse().unwrap())
}

#[test]
fn outcomes_that_were_told_survive_every_crash() {
    let mut hit: BTreeSet<&str> = BTreeSet::new();
    for seed in 0..3 {
        let disk = SimDisk::new();
        let (past, windows) = workload(&disk, seed);
        let ids: usize = past.lives.iter().map(|l| l.xids.len() + l.rolled_back.len()).sum();
        assert!(ids > 2_000, "the window has moved, and spilled");
        let mut crashes = disk.crashes();
        let mut rng = fastrand::Rng::with_seed(seed);
        for at in 0..=disk.operations() {
            crashes.advance_to(at);
            let here = || windows.iter().filter(|w| w.begin <= at && at <= w.end).map(|w| w.name);
            let is_chosen = at % every() == seed as usize % every();
            if !is_chosen && !here().any(|name| SHORT.contains(&name)) {
                continue;
            }
            hit.extend(here());
            let image = crashes.image(&mut rng);
            let world = seed + at as u64;
            // Now and then times are switched off by the start after the crash; a crash of that one, and on again.
            let switched = rng.u8(..4) == 0;
            let before = image.operations();
            verify(&image, at, &past, seed, world, !switched, !switched);
            if switched {
                let mut crashes = image.crashes();
                crashes.advance_to(rng.usize(before..=image.operations()));
                let image = crashes.image(&mut rng);
                verify(&image, at, &past, seed, world, true, false);
            }
        }
    }
    for window in ["status-page", "commit-times-page", "multixact-page"].iter().chain(&SHORT) {
        assert!(hit.contains(window), "no crash in the window '{window}', only in {hit:?}");
    }
}
