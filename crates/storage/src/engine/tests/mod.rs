//! The engine under crashes, without access methods: a workload on the simulated disk, its every operation a place to stop.
//!
//! The workload keeps counters in pages of its own, logged as images, so that these tests need no access
//! method. A counter's page is `values[block]`; each transaction writes its number to two pages.

mod bank;
mod closing;
mod copies;
mod inherited;
mod parallel;
mod restart;
mod sequences;
mod warm;

use super::*;
use crate::page::PageKind;
use crate::wal::testing::{take_turns, under_each_io};
use crate::wal::{Kind, MAX_IMAGE_BYTES, PageImage, Record, record_bound};
use base::disk::Disk;
use base::disk::sim::{Access, SimDisk};
use base::{BlockNo, Fork, LsnRange, RelId, sim};
use std::cell::RefCell;
use std::rc::Rc;

const AT: usize = 512;
const PAGES: u32 = 6;

fn config() -> EngineConfig {
    EngineConfig {
        shared_buffers: crate::rig::frames(64),
        wal_buffers: wal::BUFFER_BYTES_MIN,
        wal_insert_slots: 2,
        wal_segment_bytes: segment::SEGMENT_BYTES_MIN,
        max_wal_bytes: 8 * segment::SEGMENT_BYTES_MIN,
        checkpoint_timeout: Duration::from_millis(50),
        open_files_max: 8,
        wal_io: wal::testing::io(),
        recovery_workers: 3,
        ..EngineConfig::default()
    }
}

fn env(disk: &SimDisk) -> Env {
    Env::new(Arc::new(disk.clone()))
}

/// A new engine.
fn created(disk: &SimDisk) -> Arc<Engine> {
    Engine::create(&config(), &env(disk)).unwrap();
    Engine::open(&config(), &env(disk)).unwrap()
}

fn begin(engine: &Engine) -> Txn {
    let txn = Txn::attach(engine.txns(), 1, 1).unwrap();
    txn.begin(crate::txn::Isolation::ReadCommitted);
    txn
}

/// Writes `value` to a page and logs the whole page.
fn set(engine: &Engine, txn: &Txn, rel: &Relation, block: u32, value: u64) -> LsnRange {
    let xid = txn.xid().unwrap();
    let mut claim = engine.wal().claim(record_bound(1, 1, MAX_IMAGE_BYTES)).unwrap();
    while rel.blocks(Fork::Main).unwrap() <= block {
        drop(rel.extend(Fork::Main).unwrap());
    }
    let mut page = rel.write(Fork::Main, BlockNo(block)).unwrap();
    page.mark_dirty();
    if page.is_new() {
        page.init(PageKind::Heap, 0);
    }
    page.put_u64(AT, value);
    let mut bytes = crate::page::PageBytes::new();
    page.to_bytes(&mut bytes);
    let image = PageImage::new(&bytes.0, 0..0);
    let record = Record::new(Kind::PAGE_IMAGE, xid).info(Rank::HeapPage as u8);
    let at = engine.wal().insert(&mut claim, &record.image_block(page.page_id(), image));
    page.set_lsn(at.end);
    at
}

fn get(engine: &Engine, rel: RelId, block: u32) -> u64 {
    let rel = engine.pool().relation(rel, Rank::HeapPage);
    let page = rel.read(Fork::Main, BlockNo(block)).unwrap();
    page.get_u64(AT)
}

/// What the workload knows to be durable, and when (in operations of the disk).
#[derive(Clone, Default)]
struct History {
    counter: Option<RelId>,
    /// After this many operations transaction `.1` was durable.
    durable: Vec<(usize, u64)>,
    /// After this many operations the relation was durably there.
    made: Vec<(usize, RelId)>,
    /// After this many operations its drop was durable.
    dropped: Vec<(usize, RelId)>,
    /// Relations whose drop committed at some time, durably or not.
    going: Vec<RelId>,
    /// Relations of transactions that rolled back.
    rolled_back: Vec<RelId>,
    last: u64,
}

fn workload(disk: &SimDisk, seed: u64) -> History {
    take_turns(seed);
    let disk = disk.clone();
    sim::run(seed, move || {
        let env = env(&disk);
        Engine::create(&config(), &env).unwrap();
        let engine = Engine::open(&config(), &env).unwrap();
        let history = Rc::new(RefCell::new(History::default()));
        let mut rng = fastrand::Rng::with_seed(seed);
        let txn = begin(&engine);
        let counter = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
        for block in 0..PAGES {
            set(&engine, &txn, &counter, block, 0);
        }
        engine.wal().flush(txn.commit().unwrap().must_be_durable);
        history.borrow_mut().counter = Some(counter.id());
        history.borrow_mut().made.push((disk.operations(), counter.id()));
        let mut others: Vec<RelId> = Vec::new();
        for value in 1..60 {
            let txn = begin(&engine);
            let extra = match rng.u8(..5) {
                0 => Some(make_other(&engine, &txn)),
                _ => None,
            };
            let victim = if rng.u8(..6) == 0 { others.pop() } else { None };
            if let Some(rel) = victim {
                txn.drop_at_commit(rel).unwrap();
            }
            set(&engine, &txn, &counter, rng.u32(1..PAGES), value);
            if extra.is_some() && rng.bool() {
                txn.abort();
                history.borrow_mut().rolled_back.extend(extra);
                others.extend(victim);
                continue;
            }
            set(&engine, &txn, &counter, 0, value);
            let lsn = txn.commit().unwrap().must_be_durable;
            history.borrow_mut().last = value;
            history.borrow_mut().going.extend(victim);
            others.extend(extra);
            if rng.u8(..3) > 0 {
                engine.wal().flush(lsn);
                let mut history = history.borrow_mut();
                history.durable.push((disk.operations(), value));
                extra.iter().for_each(|rel| history.made.push((disk.operations(), *rel)));
                victim.iter().for_each(|rel| history.dropped.push((disk.operations(), *rel)));
            }
            match rng.u8(..20) {
                0 => engine.checkpoint().unwrap(),
                1 => base::park::sleep(Duration::from_millis(120)),
                _ => {}
            }
        }
        engine.shutdown().unwrap();
        Rc::try_unwrap(history).ok().unwrap().into_inner()
    })
}

fn make_other(engine: &Engine, txn: &Txn) -> RelId {
    let rel = engine.create_relation(txn, Persistence::Permanent, Rank::HeapPage).unwrap();
    set(engine, txn, &rel, 0, 7);
    rel.id()
}

/// Opens what a crash left, looks whether it keeps what was promised, works on, closes, opens again.
fn verify(disk: &SimDisk, at: usize, history: &History, seed: u64) {
    take_turns(at as u64 / 2);
    let (disk, history) = (disk.clone(), history.clone());
    sim::run(seed, move || {
        let env = env(&disk);
        if !Engine::exists(&env).unwrap() {
            // The crash came before the directory was made; making it must work.
            Engine::create(&config(), &env).unwrap();
        }
        let engine = Engine::open(&config(), &env).unwrap();
        let files = engine.pool().files().relations().unwrap();
        // Redo makes again what has lost its name (RF3).
        for (since, rel) in &history.made {
            let may_go = history.going.contains(rel);
            assert!(*since > at || may_go || files.contains(rel), "{rel:?} is lost");
        }
        // R5.
        for (since, rel) in &history.dropped {
            assert!(*since > at || !files.contains(rel), "{rel:?} was dropped and is there");
        }
        // R4.
        for rel in &history.rolled_back {
            assert!(!files.contains(rel), "{rel:?} was rolled back and is there");
        }
        let least = history.durable.iter().rev().find(|(since, _)| *since <= at);
        let least = least.map_or(0, |(_, value)| *value);
        let counter = history.counter.filter(|rel| files.contains(rel));
        if let Some(rel) = counter {
            let values: Vec<u64> = (0..PAGES).map(|block| get(&engine, rel, block)).collect();
            assert!(
                values[0] >= least && values[0] <= history.last,
                "{values:?}, {least} is durable"
            );
        } else {
            assert_eq!(least, 0, "the counter is lost");
        }
        let txn = begin(&engine);
        let made = make_other(&engine, &txn);
        assert!(!files.contains(&made), "an id is handed out twice (R3)");
        if let Some(rel) = counter {
            let rel = engine.pool().relation(rel, Rank::HeapPage);
            set(&engine, &txn, &rel, 0, 1000);
        }
        txn.commit().unwrap();
        engine.shutdown().unwrap();
        drop((txn, engine));
        let again = Engine::open(&config(), &env).unwrap();
        assert!(again.recovery().is_none(), "it was closed in order (R6)");
        assert_eq!(get(&again, made, 0), 7);
        if let Some(rel) = counter {
            assert_eq!(get(&again, rel, 0), 1000);
        }
        again.shutdown().unwrap();
    });
}

#[test]
fn every_crash_leaves_what_was_promised() {
    for seed in 0..3 {
        let disk = SimDisk::new();
        let history = workload(&disk, seed);
        let mut crashes = disk.crashes();
        let mut rng = fastrand::Rng::with_seed(seed);
        for at in 0..=disk.operations() {
            crashes.advance_to(at);
            if at % 7 == seed as usize % 7 {
                verify(&crashes.image(&mut rng), at, &history, seed + at as u64);
            }
        }
    }
}

/// Crash, then crash again at every operation of the recovery, and once more.
#[test]
fn recovery_may_crash_at_any_point_and_run_again() {
    let disk = SimDisk::new();
    let history = workload(&disk, 11);
    let mut rng = fastrand::Rng::with_seed(11);
    let points: Vec<usize> = (0..6).map(|i| disk.operations() * (i + 2) / 9).collect();
    let mut crashes = disk.crashes();
    for first in points {
        crashes.advance_to(first);
        let left = crashes.image(&mut rng);
        if !left.exists(control::PATH).unwrap() {
            continue;
        }
        let theirs = left.clone();
        sim::run(first as u64, move || {
            let engine = Engine::open(&config(), &env(&theirs)).unwrap();
            engine.checkpoint().unwrap();
            engine.shutdown().unwrap();
        });
        let mut again = left.crashes();
        for at in 0..=left.operations() {
            again.advance_to(at);
            if at % 3 == 0 {
                verify(&again.image(&mut rng), first, &history, at as u64);
            }
        }
    }
}

/// E1: one engine to a directory.
#[test]
fn a_second_server_and_a_foreign_directory_are_refused() {
    let disk = SimDisk::new();
    sim::run(1, move || {
        let here = env(&disk);
        Engine::create(&config(), &here).unwrap();
        let engine = Engine::open(&config(), &here).unwrap();
        let refused = Engine::open(&config(), &here).err().unwrap().to_string();
        assert!(refused.contains("another server"), "{refused}");
        engine.shutdown().unwrap();
        assert!(Engine::create(&config(), &here).is_err());

        let foreign = SimDisk::new();
        foreign.open("holiday.jpg", base::disk::Open::Create).unwrap();
        let refused = Engine::create(&config(), &env(&foreign)).err().unwrap().to_string();
        assert!(refused.contains("holiday.jpg"), "{refused}");
        let refused = Engine::open(&config(), &env(&foreign)).err().unwrap().to_string();
        assert!(refused.contains("not a Thalweg data directory"), "{refused}");
    });
}

/// A database with a committed 1 in the first block of its first relation, as it is after a crash. Answers which file
/// of the log has it, and where.
fn crashed_with_one_row(disk: &SimDisk) -> (String, u64) {
    let here = env(disk);
    Engine::create(&config(), &here).unwrap();
    let engine = Engine::open(&config(), &here).unwrap();
    let txn = begin(&engine);
    let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
    let at = set(&engine, &txn, &rel, 0, 1);
    engine.wal().flush(txn.commit().unwrap().must_be_durable);
    let epoch = *engine.wal().epoch();
    engine.shutdown().unwrap();
    drop((txn, rel, engine));
    // As if it had crashed before the shutdown's checkpoint was in the control file.
    let mut control = ControlFile::open(disk).unwrap();
    let before = Control { redo: epoch.start, state: State::Running, ..*control.content() };
    control.write(before).unwrap();
    let path = segment::path(1, epoch.segment_of(at.start));
    (path, 4096 + at.start.0 % epoch.segment_bytes)
}

/// It is no end of the log: what lies behind would be lost for good.
#[test]
fn a_log_that_can_not_be_read_refuses_the_start_and_is_as_good_as_before() {
    under_each_io(|| {
        for fails_in_header in [true, false] {
            let disk = SimDisk::new();
            sim::run(2, move || {
                let here = env(&disk);
                let (path, _) = crashed_with_one_row(&disk);
                let broken = path.clone();
                disk.set_fault(Some(Box::new(move |access, file, offset| {
                    let hit = access == Access::Read && file == broken;
                    let hit = hit && (offset < 4096) == fails_in_header;
                    hit.then(|| std::io::Error::from_raw_os_error(libc::EIO))
                })));
                let refused = Engine::open(&config(), &here).err().unwrap();
                let told = format!("could not read file \"{path}\": Input/output error");
                assert!(refused.to_string().starts_with(&told), "{refused}");
                disk.set_fault(None);
                let engine = Engine::open(&config(), &here).unwrap();
                assert_eq!(get(&engine, RelId(1), 0), 1);
                engine.shutdown().unwrap();
            });
        }
    });
}

#[test]
fn damage_in_the_middle_of_the_log_is_told_and_not_served() {
    under_each_io(|| {
        let disk = SimDisk::new();
        sim::run(2, move || {
            let here = env(&disk);
            let (path, at) = crashed_with_one_row(&disk);
            let offset = at + 100;
            disk.corrupt(&path, offset, |bytes| bytes[0] ^= 1);
            let refused = Engine::open(&config(), &here).err().unwrap();
            assert!(matches!(&refused, Error::Damaged { file, .. } if *file == path), "{refused}");
            assert!(refused.to_string().contains(&format!("file \"{path}\"")), "{refused}");
            disk.corrupt(&path, offset, |bytes| bytes[0] ^= 1);
            let engine = Engine::open(&config(), &here).unwrap();
            assert_eq!(get(&engine, RelId(1), 0), 1);
            engine.shutdown().unwrap();
        });
    });
}

#[test]
fn unlogged_relations_are_emptied_by_a_crash_and_kept_by_a_clean_stop() {
    for crash in [false, true] {
        let disk = SimDisk::new();
        sim::run(3, move || {
            let here = env(&disk);
            Engine::create(&config(), &here).unwrap();
            let engine = Engine::open(&config(), &here).unwrap();
            let txn = begin(&engine);
            let rel = engine.create_relation(&txn, Persistence::Unlogged, Rank::HeapPage).unwrap();
            let mut page = rel.extend(Fork::Main).unwrap();
            page.mark_dirty();
            page.init(PageKind::Heap, 0);
            page.put_u64(AT, 5);
            drop(page);
            engine.wal().flush(txn.commit().unwrap().must_be_durable);
            let id = rel.id();
            let left = if crash { disk.crashes_now() } else { disk.clone() };
            engine.shutdown().unwrap();
            drop((txn, rel, engine));
            let engine = Engine::open(&config(), &env(&left)).unwrap();
            let rel = engine.pool().relation(id, Rank::HeapPage);
            assert_eq!(rel.blocks(Fork::Main).unwrap(), u32::from(!crash));
            engine.shutdown().unwrap();
        });
    }
}

trait CrashNow {
    fn crashes_now(&self) -> SimDisk;
}

impl CrashNow for SimDisk {
    fn crashes_now(&self) -> SimDisk {
        let mut crashes = self.crashes();
        crashes.advance_to(self.operations());
        crashes.image(&mut fastrand::Rng::with_seed(9))
    }
}

/// What the file has of its pages is older than what the cache has, which nothing makes anew.
#[test]
fn a_file_without_a_log_that_can_not_be_cut_keeps_its_pages() {
    let disk = SimDisk::new();
    let engine = created(&disk);
    let txn = begin(&engine);
    let rel = engine.create_relation(&txn, Persistence::Unlogged, Rank::HeapPage).unwrap();
    let put = |block, value| {
        let mut page = rel.write(Fork::Main, BlockNo(block)).unwrap();
        page.mark_dirty();
        if page.is_new() {
            page.init(PageKind::Heap, 0);
        }
        page.put_u64(AT, value);
    };
    for block in 0..PAGES {
        drop(rel.extend(Fork::Main).unwrap());
        put(block, 1);
    }
    engine.pool().clean_all().unwrap();
    (0..PAGES).for_each(|block| put(block, 2));
    disk.set_fault(Some(Box::new(|access, path: &str, _| {
        let fails = access == Access::SetLen && path.starts_with("base/");
        fails.then(|| io::Error::from_raw_os_error(5))
    })));
    assert!(engine.files().truncate(&rel, Fork::Main, 2).is_err());
    disk.set_fault(None);
    assert_eq!(rel.blocks(Fork::Main).unwrap(), PAGES);
    (0..PAGES).for_each(|block| assert_eq!(get(&engine, rel.id(), block), 2));
    engine.files().truncate(&rel, Fork::Main, 2).unwrap();
    drop(rel.extend(Fork::Main).unwrap());
    assert!(rel.read(Fork::Main, BlockNo(2)).unwrap().is_zero());
    txn.commit().unwrap();
    drop(txn);
    engine.shutdown().unwrap();
}

#[test]
fn the_redo_point_moves_and_old_log_goes() {
    under_each_io(|| {
        sim::run(4, || {
            let disk = SimDisk::new();
            let here = env(&disk);
            Engine::create(&config(), &here).unwrap();
            let engine = Engine::open(&config(), &here).unwrap();
            let txn = begin(&engine);
            let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
            for value in 0..800 {
                set(&engine, &txn, &rel, value as u32 % PAGES, value);
                base::park::sleep(Duration::from_millis(3));
            }
            txn.commit().unwrap();
            let distance = engine.wal().position().0 - engine.checkpointer().redo().0;
            assert!(distance < config().max_wal_bytes, "{distance} bytes of log would be redone");
            let files = disk.list(segment::DIRECTORY).unwrap().len();
            assert!(files <= 12, "{files} segments");
            assert!(engine.checkpointer().count() > 5);
            engine.shutdown().unwrap();
        });
    });
}

#[test]
fn bounds_of_the_log_change_while_it_is_written() {
    sim::run(4, || {
        let disk = SimDisk::new();
        let here = env(&disk);
        let hour = Duration::from_secs(3600);
        let many = EngineConfig { max_wal_bytes: 1 << 30, checkpoint_timeout: hour, ..config() };
        Engine::create(&many, &here).unwrap();
        let engine = Engine::open(&many, &here).unwrap();
        let txn = begin(&engine);
        let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
        for value in 0..200 {
            set(&engine, &txn, &rel, value as u32 % PAGES, value);
        }
        base::park::sleep(Duration::from_secs(2));
        let distance = || engine.wal().position().0 - engine.checkpointer().redo().0;
        let files = || disk.list(segment::DIRECTORY).unwrap().len();
        assert!(engine.checkpointer().count() == 0 && distance() > 20 * segment::SEGMENT_BYTES_MIN);
        let few = config();
        engine.set_checkpoints(0, few.max_wal_bytes, hour).unwrap();
        base::park::sleep(Duration::from_millis(100));
        assert!(distance() < few.max_wal_bytes, "{} bytes of log would be redone", distance());
        // None from before the redo point beyond the bound of eight; those ahead of a writer who had to wait are as many
        // as the ring takes.
        let ahead = 4 + wal::BUFFER_BYTES_MIN / segment::SEGMENT_BYTES_MIN as usize;
        assert!(files() <= ahead, "{} segments", files());
        // What is old enough goes to its place, too.
        set(&engine, &txn, &rel, 1, 200);
        base::park::sleep(Duration::from_secs(2));
        let is_in_place = || engine.pool().min_rec_lsn() == engine.wal().position();
        assert!(!is_in_place(), "no change is an hour old");
        engine.set_checkpoints(0, few.max_wal_bytes, few.checkpoint_timeout).unwrap();
        base::park::sleep(Duration::from_secs(1));
        assert!(is_in_place(), "it is older than it may be");
        txn.commit().unwrap();
        engine.shutdown().unwrap();
    });
}

/// E3: the log covers every id that was handed out.
#[test]
fn object_ids_are_never_handed_out_twice() {
    let disk = SimDisk::new();
    let theirs = disk.clone();
    let last = sim::run(5, move || {
        let here = env(&theirs);
        Engine::create(&config(), &here).unwrap();
        let engine = Engine::open(&config(), &here).unwrap();
        let oids: Vec<u32> = (0..5000).map(|_| engine.oids().allocate().unwrap()).collect();
        assert!(oids.windows(2).all(|pair| pair[0] < pair[1]));
        engine.wal().flush(engine.wal().position());
        let left = theirs.crashes_now();
        engine.shutdown().unwrap();
        (left, oids[4999])
    });
    sim::run(6, move || {
        let engine = Engine::open(&config(), &env(&last.0)).unwrap();
        assert!(engine.oids().allocate().unwrap() > last.1);
        engine.shutdown().unwrap();
    });
}

#[test]
fn a_full_disk_refuses_writes_and_lets_them_go_on_later() {
    under_each_io(|| {
        sim::run(7, || {
            let disk = SimDisk::new();
            let here = env(&disk);
            Engine::create(&config(), &here).unwrap();
            let engine = Engine::open(&config(), &here).unwrap();
            let txn = begin(&engine);
            let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
            set(&engine, &txn, &rel, 0, 1);
            txn.commit().unwrap();
            let full = |access: Access, path: &str, _: u64| {
                let refuse = path == "wal/new-segment" && access == Access::Open;
                refuse.then(|| io::ErrorKind::StorageFull.into())
            };
            disk.set_fault(Some(Box::new(full)));
            // Whatever keeps the redo point back keeps the log.
            let hold = engine.wal().hold_redo();
            let txn = begin(&engine);
            let refused = loop {
                match engine.wal().claim(20_000) {
                    Ok(claim) => drop(claim),
                    Err(e) => break e,
                }
                set(&engine, &txn, &rel, 0, 2);
            };
            assert_eq!(refused.sqlstate(), "53100");
            txn.abort();
            assert_eq!(get(&engine, rel.id(), 0), 2);
            // A checkpoint frees old segments, and writing goes on although the disk is still full.
            drop(hold);
            engine.checkpoint().unwrap();
            base::park::sleep(Duration::from_secs(2));
            let txn = begin(&engine);
            set(&engine, &txn, &rel, 0, 3);
            txn.commit().unwrap();
            disk.set_fault(None);
            engine.shutdown().unwrap();
        });
    });
}
