//! The pool over the real log in simulation, crashed at many points: redo from the redo point that the pool had
//! answered before brings back every change that the log has, and no page is ahead of the log.

use super::*;
use crate::journal::Journal;
use crate::recovery::RedoCtx;
use crate::recovery::imaged::ImagedPages;
use crate::wal::{
    self, Compression, Epoch, Kind, LogShape, Reader, Terms, Wal, WalConfig, WalIo, record_bound,
};
use base::disk::Disk;
use base::disk::sim::SECTOR_BYTES;
use base::{Xid, sim};
use std::collections::BTreeMap;
use std::sync::Mutex;

const BLOCKS: u32 = 40;
const SEGMENT: u64 = 64 * 1024;
const REL: RelId = RelId(5);

fn epoch() -> Epoch {
    Epoch {
        system_id: 42,
        timeline: 1,
        number: 1,
        segment_bytes: SEGMENT,
        start: Lsn(SEGMENT),
        previous_end: Lsn(SEGMENT),
    }
}

/// A redo point that was announced, and how long the disk's journal was then.
type Announced = Arc<Mutex<Vec<(usize, Lsn)>>>;

fn change(pool: &Pool, wal: &Wal, rel: &Relation, block: BlockNo, value: u64) {
    let mut journal = Journal::open(wal, rel, 1, record_bound(1, 1, 8)).unwrap();
    let mut page = rel.write(Fork::Main, block).unwrap();
    assert!(pool.min_rec_lsn() <= wal.position());
    let id = page.page_id();
    page.mark_dirty();
    stamp(&mut page, id, value);
    let bytes = value.to_le_bytes();
    let record = |terms: Terms| terms.record(Kind::PAGE_IMAGE, Xid(3)).block(&page, &bytes);
    let at = journal.insert(record).expect("the relation is logged");
    page.set_lsn(at.end);
}

/// What protects pages in a run: the first to begin with, then any of them, changed all the time.
type Protections = &'static [TornPages];

/// Runs a load; the disk then holds the journal of all that was written.
fn load(seed: u64, torn: Protections) -> (SimDisk, Vec<(usize, Lsn)>) {
    sim::run(seed, move || {
        let disk = SimDisk::new();
        disk.create_dir(wal::segment::DIRECTORY).unwrap();
        let world = World::over(disk.clone(), 16, torn[0]);
        let pool = Arc::clone(&world.pool);
        let config = WalConfig {
            buffer_bytes: wal::BUFFER_BYTES_MIN,
            insert_slots: 4,
            files_bytes_max: 1 << 30,
            files_bytes_min: 1 << 30,
            sync_method: base::disk::SyncMethod::Fdatasync,
            io: WalIo::File,
        };
        let env = Env::new(Arc::new(disk.clone()));
        let wal = Wal::open(&env, config, epoch()).unwrap();
        pool.attach_wal(Arc::clone(&wal));
        let rel = pool.create_relation(REL, Rank::HeapPage).unwrap();
        rel.ensure_blocks(Fork::Main, BLOCKS).unwrap();
        pool.files().sync_all().unwrap();
        let start = disk.operations();
        let announced: Announced = Arc::new(Mutex::new(vec![(start, epoch().start)]));
        let mut jobs = Vec::new();
        for n in 0..4 {
            let (pool, wal, rel) = (Arc::clone(&pool), Arc::clone(&wal), rel.clone());
            jobs.push(env.spawn("load", move || {
                let mut rng = fastrand::Rng::with_seed(seed * 10 + n);
                for i in 0..80 {
                    change(&pool, &wal, &rel, BlockNo(rng.u32(..BLOCKS)), n * 1000 + i + 1);
                    if rng.u8(..4) == 0 {
                        wal.flush(wal.position());
                    }
                }
            }));
        }
        let (pool2, wal2, disk2) = (Arc::clone(&pool), Arc::clone(&wal), disk.clone());
        let theirs = Arc::clone(&announced);
        jobs.push(env.spawn("checkpoints", move || {
            for _ in 0..12 {
                base::park::sleep(Duration::from_micros(700));
                pool2.clean_up_to(wal2.position()).unwrap();
                let redo = pool2.min_rec_lsn();
                theirs.lock().unwrap().push((disk2.operations(), redo));
            }
        }));
        let (pool2, mut rng) = (Arc::clone(&pool), fastrand::Rng::with_seed(seed));
        jobs.push(env.spawn("settings", move || {
            for _ in 0..40 {
                base::park::sleep(Duration::from_micros(rng.u64(..400)));
                pool2.set_torn_pages(*rng.choice(torn).unwrap()).unwrap();
                let ways = [Compression::Off, Compression::Lz4, Compression::Zstd];
                pool2.set_compression(*rng.choice(&ways).unwrap());
            }
        }));
        jobs.into_iter().for_each(|job| job.join());
        wal.close();
        drop(world);
        let announced = announced.lock().unwrap().clone();
        (disk, announced)
    })
}

/// Redo from `redo`; then every block has the value of its last record (BF5), and no page is ahead of the log (BF6).
fn check(image: SimDisk, redo: Lsn, torn: TornPages, context: &str) -> usize {
    let disk: Arc<dyn Disk> = Arc::new(image.clone());
    let shape = LogShape { system_id: 42, timeline: 1, segment_bytes: SEGMENT };
    let mut expected = BTreeMap::new();
    let mut all = Reader::open(Arc::clone(&disk), shape, epoch().start).unwrap();
    while let Some(record) = all.read().unwrap() {
        let block = record.block(0);
        // A record with an image has only that.
        let mut page = [0; PAGE_BYTES];
        let value = if block.restore_image(&mut page) {
            u64::from_le_bytes(page[WORDS_FROM..WORDS_FROM + 8].try_into().unwrap())
        } else {
            u64::from_le_bytes(block.bytes.try_into().unwrap())
        };
        expected.insert(block.page.block, value);
    }
    let end = all.at();
    let files = RelFiles::open(Arc::clone(&disk), 10).unwrap();
    let mut imaged = ImagedPages::new(Arc::clone(&disk), shape, redo);
    let recovered = doublewrite::recover(&*disk, &files, &mut |page| imaged.has(page));
    let repaired = recovered.unwrap().repaired;
    drop(files);
    let world = World::over(image, 16, torn);
    let ctx = RedoCtx::new(Arc::clone(&world.pool));
    let mut reader = Reader::open(disk, shape, redo).unwrap();
    while let Some(record) = reader.read().unwrap() {
        world.pool.set_redo_position(record.at.start);
        let id = record.block(0).page;
        ctx.page(&record, 0, Rank::HeapPage, |page, bytes| {
            stamp(page, id, u64::from_le_bytes(bytes.try_into().unwrap()));
        })
        .unwrap();
    }
    let rel = world.relation(REL.0);
    for n in 0..BLOCKS {
        let value = get(&rel, BlockNo(n));
        let lsn = rel.read(Fork::Main, BlockNo(n)).unwrap().lsn();
        assert!(lsn <= end, "{context}: block {n} is at {lsn}, the log ends at {end}");
        let expected = expected.get(&BlockNo(n)).copied().unwrap_or(0);
        assert_eq!(value, expected, "{context}: block {n}, redo from {redo}");
    }
    repaired
}

/// `sector`: what the disk writes as a whole.
fn crash_everywhere(torn: Protections, sector: usize, seeds: std::ops::Range<u64>) -> usize {
    let mut repaired = 0;
    for seed in seeds {
        let (disk, announced) = load(seed, torn);
        let mut crashes = disk.crashes().with_sectors_of(sector);
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut at = announced[0].0;
        while at < crashes.len() {
            crashes.advance_to(at);
            let point = announced.iter().rev().find(|(when, _)| *when <= at).expect("the first");
            let context = format!("seed {seed}, crash at {at}");
            repaired += check(crashes.image(&mut rng), point.1, torn[0], &context);
            at += 1 + rng.usize(..25);
        }
    }
    repaired
}

#[test]
fn redo_brings_back_what_the_log_has_with_double_write() {
    let repaired = crash_everywhere(&[TornPages::DoubleWrite], SECTOR_BYTES, 0..6);
    assert!(repaired > 0, "torn pages were met");
}

#[test]
fn redo_brings_back_what_the_log_has_with_images() {
    crash_everywhere(&[TornPages::FullPageWrites], SECTOR_BYTES, 0..6);
}

#[test]
fn redo_brings_back_what_the_log_has_whenever_the_protection_changes() {
    let both = &[TornPages::DoubleWrite, TornPages::FullPageWrites];
    let repaired = crash_everywhere(both, SECTOR_BYTES, 0..8);
    assert!(repaired > 0, "torn pages were met");
}

/// `off` is for disks that write pages whole; others may be chosen there, too.
#[test]
fn redo_brings_back_what_the_log_has_without_protection_where_nothing_tears() {
    let all = &[TornPages::Off, TornPages::DoubleWrite, TornPages::FullPageWrites];
    crash_everywhere(all, PAGE_BYTES, 0..8);
}
