use super::testing::under_each_io;
use super::*;
use base::disk::sim::{Access, SimDisk};
use base::disk::{Disk, Open};
use base::{BlockNo, Fork, PageId, RelId, Xid, sim};
use std::io;

pub(super) const SEGMENT: u64 = 64 * 1024;
pub(super) const KIND: Kind = Kind::PAGE_IMAGE;

pub(super) fn config() -> WalConfig {
    WalConfig {
        buffer_bytes: BUFFER_BYTES_MIN,
        insert_slots: 4,
        files_bytes_max: 8 * SEGMENT,
        files_bytes_min: 8 * SEGMENT,
        sync_method: SyncMethod::Fdatasync,
        io: testing::io(),
    }
}

pub(super) fn first_epoch() -> Epoch {
    Epoch {
        system_id: 42,
        timeline: 1,
        number: 1,
        segment_bytes: SEGMENT,
        start: Lsn(SEGMENT),
        previous_end: Lsn(SEGMENT),
    }
}

fn shape() -> LogShape {
    LogShape { system_id: 42, timeline: 1, segment_bytes: SEGMENT }
}

pub(super) fn new_disk() -> SimDisk {
    let disk = SimDisk::new();
    disk.create_dir(segment::DIRECTORY).unwrap();
    disk
}

/// As `config`, for a log that is flushed by `how`.
fn config_with(how: SyncMethod) -> WalConfig {
    WalConfig { sync_method: how, ..config() }
}

pub(super) fn open(disk: &SimDisk, epoch: Epoch) -> Arc<Wal> {
    Wal::open(&Env::new(Arc::new(disk.clone())), config(), epoch).unwrap()
}

fn page(block: u32) -> PageId {
    PageId { rel: RelId(9), fork: Fork::Main, block: BlockNo(block) }
}

pub(super) fn put(wal: &Wal, xid: u64, data: &[u8]) -> LsnRange {
    let mut claim = wal.claim(record_bound(1, 0, data.len())).unwrap();
    wal.insert(&mut claim, &Record::new(KIND, Xid(xid)).data(data))
}

/// Ids of all records from `from` to the end, and the end.
pub(super) fn read_all(disk: &SimDisk, from: Lsn) -> (Vec<u64>, LogEnd) {
    let mut reader = Reader::open(Arc::new(disk.clone()), shape(), from).unwrap();
    let mut xids = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        xids.push(record.xid.0);
    }
    (xids, reader.end())
}

pub(super) fn next_epoch(end: &LogEnd) -> Epoch {
    Epoch {
        number: end.epoch + 1,
        start: end.resume,
        previous_end: end.previous_end,
        ..first_epoch()
    }
}

#[test]
fn what_is_flushed_is_read_back_across_ring_and_segments() {
    under_each_io(|| {
        for seed in 0..4 {
            sim::run(seed, move || {
                let disk = new_disk();
                let wal = open(&disk, first_epoch());
                let mut rng = fastrand::Rng::with_seed(seed);
                let mut lengths = Vec::new();
                let mut last = Lsn::ZERO;
                for xid in 3..600 {
                    let length =
                        if rng.u8(..) == 0 { rng.usize(..100_000) } else { rng.usize(..3000) };
                    last = put(&wal, xid, &vec![xid as u8; length]).end;
                    lengths.push(length);
                    if rng.u8(..) < 8 {
                        wal.flush(last);
                        assert!(wal.durable() >= last);
                    }
                }
                wal.close();
                assert_eq!(wal.durable(), last);
                let mut reader =
                    Reader::open(Arc::new(disk.clone()), shape(), Lsn(SEGMENT)).unwrap();
                for (i, length) in lengths.iter().enumerate() {
                    let record = reader.read().unwrap().expect("it was flushed");
                    assert_eq!(record.xid.0, i as u64 + 3);
                    assert_eq!(record.data, vec![record.xid.0 as u8; *length]);
                }
                assert!(reader.read().unwrap().is_none());
                assert_eq!(reader.end().at, last);
            });
        }
    });
}

/// W4: what was told durable is there after a crash.
#[test]
fn the_log_is_as_durable_by_every_method() {
    under_each_io(|| {
        for how in [SyncMethod::Fdatasync, SyncMethod::OpenDatasync, SyncMethod::IoUring] {
            sim::run(how as u64, move || {
                let disk = new_disk();
                let env = Env::new(Arc::new(disk.clone()));
                let wal = Wal::open(&env, config_with(how), first_epoch()).unwrap();
                let mut told = Vec::new();
                for xid in 3..60 {
                    let at =
                        put(&wal, xid, &vec![xid as u8; if xid % 9 == 0 { 90_000 } else { 500 }]);
                    if xid % 3 == 0 {
                        wal.flush(at.end);
                        told.push((disk.operations(), xid));
                    }
                    if xid == 40 {
                        wal.set_sync_method(SyncMethod::Fdatasync).unwrap();
                    }
                }
                wal.close();
                let stats = wal.stats();
                assert!(stats.syncs >= stats.flushes && stats.flushes >= 19, "{stats:?}");
                let mut crashes = disk.crashes();
                let mut rng = fastrand::Rng::with_seed(1);
                for (operations, xid) in told {
                    crashes.advance_to(operations);
                    let (found, _) = read_all(&crashes.image(&mut rng), first_epoch().start);
                    assert!(found.contains(&xid), "{how:?}: {xid} was told durable");
                }
            });
        }
    });
}

#[test]
fn records_keep_their_pages_pieces_and_images() {
    let mut rng = fastrand::Rng::with_seed(7);
    for round in 0..500 {
        let blocks: Vec<(PageId, bool, Vec<u8>, Vec<u8>)> = (0..rng.usize(..5))
            .map(|i| {
                let bytes = |rng: &mut fastrand::Rng, max| {
                    (0..rng.usize(..max)).map(|_| rng.u8(..)).collect::<Vec<u8>>()
                };
                (page(i as u32), rng.bool(), bytes(&mut rng, 300), bytes(&mut rng, 20))
            })
            .collect();
        let main: Vec<u8> = (0..rng.usize(..500)).map(|_| rng.u8(..)).collect();
        let mut content = [0u8; 8192];
        rng.fill(&mut content);
        let hole = rng.usize(..4096)..rng.usize(4096..8192);
        content[hole.clone()].fill(0);
        let with_image = rng.bool();

        let mut record = Record::new(KIND, Xid(round + 3)).info(round as u8);
        for (id, init, bytes, more) in &blocks {
            record = if *init { record.init_block(id, bytes) } else { record.block(id, bytes) };
            record = record.more(more);
        }
        if with_image {
            record = record.image_block(page(77), PageImage::new(&content, hole));
        }
        let record = record.data(&main[..main.len() / 2]).data(&main[main.len() / 2..]);

        let start = Lsn(rng.u64(..1 << 40) * 8);
        let mut bytes = Vec::new();
        record
            .seal(5, &mut record::Scratch::new())
            .write_at(start, |piece| bytes.extend_from_slice(piece));
        assert_eq!(bytes.len(), record.padded_len());
        assert!(bytes.len() <= record_bound(1, blocks.len() + 1, 2000 + 8200));

        let view = RecordView::verify(&bytes, start, 5).expect("intact");
        assert_eq!((view.kind, view.xid, view.info), (KIND, Xid(round + 3), round as u8));
        assert_eq!(view.data, main);
        assert_eq!(view.block_count(), blocks.len() + usize::from(with_image));
        for (seen, (id, init, bytes, more)) in view.blocks().zip(&blocks) {
            assert_eq!((seen.page, seen.will_init), (*id, *init));
            assert_eq!(seen.bytes, [&bytes[..], &more[..]].concat());
            assert!(!seen.has_image());
        }
        if with_image {
            let mut back = [1; 8192];
            assert!(view.block(blocks.len()).restore_image(&mut back));
            assert_eq!(back, content);
        }
        assert!(RecordView::verify(&bytes, Lsn(start.0 + 8), 5).is_none(), "elsewhere");
        assert!(RecordView::verify(&bytes, start, 6).is_none(), "another epoch");
        let meaningful = bytes.len() - 8;
        bytes[rng.usize(..meaningful)] ^= 1 << rng.u8(..8);
        assert!(RecordView::verify(&bytes, start, 5).is_none(), "a flipped bit");
    }
}

#[test]
fn damaged_bytes_never_parse_as_a_record_or_panic() {
    let mut rng = fastrand::Rng::with_seed(8);
    for _ in 0..20_000 {
        let mut bytes = vec![0; rng.usize(..200) / 8 * 8];
        rng.fill(&mut bytes);
        if bytes.len() >= 24 {
            let length = bytes.len() as u32 - rng.u32(..8);
            bytes[4..8].copy_from_slice(&length.to_le_bytes());
        }
        assert!(RecordView::verify(&bytes, Lsn(64), 1).is_none());
    }
}

/// Three records, then the tail of the log cut or changed at every place: recovery stops exactly at the
/// last record that is whole.
#[test]
fn a_torn_tail_ends_the_log_at_the_last_whole_record() {
    under_each_io(|| {
        let (disk, ends) = sim::run(1, || {
            let disk = new_disk();
            let wal = open(&disk, first_epoch());
            let ends: Vec<Lsn> = (3..6).map(|xid| put(&wal, xid, &[xid as u8; 37]).end).collect();
            wal.close();
            (disk, ends)
        });
        let path = segment::path(1, 1);
        let offset = |lsn: Lsn| first_epoch().file_offset(lsn);
        // A record of 37 bytes of data is 57 bytes long, padded to 64.
        let whole_before = |at: u64| ends.iter().filter(|e| offset(**e) - 7 <= at).count();
        for at in offset(ends[0]) - 64..offset(ends[2]) + 16 {
            let in_padding = ends.iter().any(|e| (offset(*e) - 7..offset(*e)).contains(&at));
            disk.corrupt(&path, at, |bytes| bytes[0] ^= 0x10);
            let (xids, end) = read_all(&disk, Lsn(SEGMENT));
            if at < offset(ends[2]) && !in_padding {
                assert_eq!(xids.len(), whole_before(at), "flip at {at}");
                let expected = if xids.is_empty() { Lsn(SEGMENT) } else { ends[xids.len() - 1] };
                assert_eq!(end.at, expected);
            } else {
                assert_eq!(xids.len(), 3, "flip at {at}");
            }
            disk.corrupt(&path, at, |bytes| bytes[0] ^= 0x10);
            // Everything from `at` on lost.
            let mut saved = Vec::new();
            disk.corrupt(&path, at, |bytes| {
                saved = bytes.to_vec();
                bytes.fill(0);
            });
            assert_eq!(read_all(&disk, Lsn(SEGMENT)).0.len(), whole_before(at), "cut at {at}");
            disk.corrupt(&path, at, |bytes| bytes.copy_from_slice(&saved));
        }
    });
}

/// A record behind a hole survives a crash intact; recovery ends before the hole, the next run writes a
/// record of the lost one's length. The one behind must not come back (W6).
#[test]
fn a_record_behind_a_hole_stays_dead() {
    under_each_io(|| {
        let disk = new_disk();
        let theirs = disk.clone();
        let places = sim::run(1, move || {
            let wal = open(&theirs, first_epoch());
            let places: Vec<LsnRange> = (3..6).map(|xid| put(&wal, xid, &[0; 100])).collect();
            wal.close();
            places
        });
        let hole = first_epoch().file_offset(places[1].start);
        disk.corrupt(&segment::path(1, 1), hole, |bytes| bytes[..64].fill(0));
        let (xids, end) = read_all(&disk, Lsn(SEGMENT));
        assert_eq!(xids, [3]);
        erase_tail(&disk, &shape(), &end).unwrap();
        let theirs = disk.clone();
        sim::run(2, move || {
            let wal = open(&theirs, next_epoch(&end));
            put(&wal, 7, &[0; 100]);
            wal.close();
        });
        let (xids, end) = read_all(&disk, Lsn(SEGMENT));
        assert_eq!(xids, [3, 7]);
        assert_eq!(end.epoch, 2);
    });
}

/// Recovery that fails before it wrote anything, again and again, neither loses log nor invents damage.
#[test]
fn empty_epochs_in_a_row_read_through() {
    under_each_io(|| {
        let disk = new_disk();
        let theirs = disk.clone();
        sim::run(1, move || {
            let wal = open(&theirs, first_epoch());
            put(&wal, 3, &[0; 100]);
            wal.close();
        });
        for round in 0..4 {
            let (xids, end) = read_all(&disk, Lsn(SEGMENT));
            assert_eq!((xids, end.resume), (vec![3], Lsn(2 * SEGMENT)));
            erase_tail(&disk, &shape(), &end).unwrap();
            let theirs = disk.clone();
            sim::run(round, move || open(&theirs, next_epoch(&end)).close());
        }
        // A flipped bit before the point where a later run went on is damage, not an end.
        let offset = first_epoch().file_offset(Lsn(SEGMENT + 50));
        disk.corrupt(&segment::path(1, 1), offset, |bytes| bytes[0] ^= 1);
        let mut reader = Reader::open(Arc::new(disk), shape(), Lsn(SEGMENT)).unwrap();
        assert!(matches!(reader.read(), Err(Error::Damaged { .. })));
    });
}

#[test]
fn commits_are_published_in_order_by_many_threads() {
    under_each_io(|| {
        const THREADS: u64 = 8;
        const EACH: u64 = 2000;
        let root = std::env::temp_dir().join(format!("thalweg-wal-{}", std::process::id()));
        let disk = Arc::new(base::disk::real::RealDisk::new(&root));
        disk.create_dir(segment::DIRECTORY).unwrap();
        let epoch = Epoch { segment_bytes: 1 << 20, start: Lsn(1 << 20), ..first_epoch() };
        let wal = Wal::open(&Env::new(disk.clone()), config(), epoch).unwrap();
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                let wal = Arc::clone(&wal);
                std::thread::spawn(move || {
                    let mut last = Csn(0);
                    for i in 0..EACH {
                        let xid = 3 + t * EACH + i;
                        put(&wal, xid, &[1; 64]);
                        let mut claim = wal.claim(record_bound(1, 0, 16)).unwrap();
                        let record = Record::new(Kind::COMMIT, Xid(xid)).data(&[2; 16]);
                        let mut csn = Csn(0);
                        let at = wal.insert_commit(&mut claim, &record, |c| csn = c);
                        assert_eq!(csn.0, at.start.0);
                        assert!(csn > last && wal.published() > csn);
                        last = csn;
                        if i % 100 == 0 {
                            wal.flush(at.end);
                            assert!(wal.durable() >= at.end);
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        wal.close();
        let stats = wal.stats();
        assert_eq!((stats.records, stats.commits), (2 * THREADS * EACH, THREADS * EACH));
        let shape = LogShape { segment_bytes: 1 << 20, ..shape() };
        let mut reader = Reader::open(disk, shape, Lsn(1 << 20)).unwrap();
        let (mut rows, mut commits) = (0, 0);
        while let Some(record) = reader.read().unwrap() {
            rows += u64::from(record.kind == KIND);
            commits += u64::from(record.kind == Kind::COMMIT);
        }
        assert_eq!((rows, commits), (THREADS * EACH, THREADS * EACH));
        std::fs::remove_dir_all(root).unwrap();
    });
}

#[test]
fn who_acts_on_a_commit_waits_until_snapshots_include_it() {
    let disk = new_disk();
    let wal = open(&disk, first_epoch());
    let (tell, told) = std::sync::mpsc::channel();
    let both = std::sync::Barrier::new(2);
    let (log, looking) = (&wal, &both);
    std::thread::scope(|scope| {
        let acts = scope.spawn(move || {
            let csn: Csn = told.recv().unwrap();
            assert!(log.published() <= csn, "its CSN is known, and no snapshot includes it");
            looking.wait();
            log.await_published(csn);
            log.published() > csn
        });
        let mut claim = wal.claim(record_bound(1, 0, 16)).unwrap();
        let record = Record::new(Kind::COMMIT, Xid(3)).data(&[2; 16]);
        wal.insert_commit(&mut claim, &record, |csn| {
            tell.send(csn).unwrap();
            looking.wait();
            (0..1000).for_each(|_| std::thread::yield_now());
        });
        assert!(acts.join().unwrap());
    });
    wal.close();
}

#[test]
fn a_full_disk_refuses_claims_before_anything_is_latched_and_recovers_by_itself() {
    under_each_io(|| {
        sim::run(3, || {
            let disk = new_disk();
            let wal = open(&disk, first_epoch());
            let full = |access: Access, path: &str, _: u64| {
                let refuse = path == "wal/new-segment" && access == Access::Open;
                refuse.then(|| io::ErrorKind::StorageFull.into())
            };
            disk.set_fault(Some(Box::new(full)));
            let mut last = Lsn::ZERO;
            let refused = loop {
                match wal.claim(record_bound(1, 0, 4000)) {
                    Ok(mut claim) => {
                        let record = Record::new(KIND, Xid(3)).data(&[1; 4000]);
                        last = wal.insert(&mut claim, &record).end;
                    }
                    Err(e) => break e,
                }
            };
            assert_eq!(refused.sqlstate(), "53100");
            wal.flush(last);
            let mut reserve = wal.claim_reserve(4000).expect("the checkpointer has a reserve");
            wal.insert(&mut reserve, &Record::new(Kind::CHECKPOINT, Xid(0)).data(&[0; 100]));
            drop(reserve);
            assert!(disk.list("wal").unwrap().iter().all(|name| name != "new-segment"));
            disk.set_fault(None);
            base::park::sleep(std::time::Duration::from_secs(2));
            for _ in 0..100 {
                last = put(&wal, 4, &[1; 4000]).end;
            }
            wal.flush(last);
            wal.close();
        });
    });
}

#[test]
fn released_segments_are_reused_up_to_the_limit() {
    under_each_io(|| {
        sim::run(4, || {
            let disk = new_disk();
            let wal = open(&disk, first_epoch());
            for round in 0..40 {
                let at = put(&wal, 3, &[round; 30_000]);
                wal.flush(at.end);
                wal.release_before(at.start).unwrap();
                assert!(disk.list("wal").unwrap().len() <= 9);
            }
            wal.close();
            let creations = (0..disk.operations())
                .filter(|&at| disk.describe(at).starts_with("create wal/new-segment"))
                .count();
            assert!(creations <= 9, "{creations} segments were made from nothing");
        });
    });
}

/// A crash leaves segments behind the log's new start: names that are still to come. One that was removed as more than
/// enough, while it was made, ended the process.
#[test]
fn segments_that_are_still_to_come_are_not_removed() {
    under_each_io(|| {
        sim::run(4, || {
            let disk = new_disk();
            let sizes = WalConfig { files_bytes_max: 40 * SEGMENT, ..config() };
            let env = Env::new(Arc::new(disk.clone()));
            let wal = Wal::open(&env, sizes, first_epoch()).unwrap();
            for _ in 0..30 {
                wal.flush(put(&wal, 3, &[1; 30_000]).end);
            }
            wal.close();
            let numbers = || -> Vec<u64> {
                let names = disk.list("wal").unwrap();
                let mut all: Vec<u64> =
                    names.iter().filter_map(|name| segment::parse_name(1, name)).collect();
                all.sort_unstable();
                all
            };
            let left = numbers();
            let start = Lsn(4 * SEGMENT);
            let next = Epoch { number: 2, start, previous_end: start, ..first_epoch() };
            let wal = open(&disk, next);
            let at = put(&wal, 3, &[2; 100]);
            wal.flush(at.end);
            wal.release_before(at.start).unwrap();
            assert_eq!(numbers(), left[3..], "those before it go, all others stay: {left:?}");
            assert!(left.len() > 12, "more than are kept: {left:?}");
            for _ in 0..40 {
                let at = put(&wal, 3, &[3; 30_000]);
                wal.flush(at.end);
                wal.release_before(at.start).unwrap();
            }
            assert!(numbers().len() <= 9, "{:?}", numbers());
            wal.close();
        });
    });
}

/// As many are kept as were needed between two releases of late, from `min_wal_size` to `max_wal_size`.
#[test]
fn files_follow_what_was_needed_lately() {
    under_each_io(|| {
        sim::run(4, || {
            let disk = new_disk();
            let sizes = WalConfig {
                files_bytes_min: 6 * SEGMENT,
                files_bytes_max: 40 * SEGMENT,
                ..config()
            };
            let wal = Wal::open(&Env::new(Arc::new(disk.clone())), sizes, first_epoch()).unwrap();
            let files_after = |records: usize, rounds: usize| {
                for _ in 0..rounds {
                    let mut last = LsnRange { start: Lsn::ZERO, end: Lsn::ZERO };
                    for _ in 0..records {
                        last = put(&wal, 3, &[1; 30_000]);
                    }
                    wal.flush(last.end);
                    wal.release_before(last.start).unwrap();
                }
                base::park::sleep(std::time::Duration::from_secs(1));
                let names = disk.list("wal").unwrap();
                let numbers = names.iter().filter_map(|name| segment::parse_name(1, name));
                let numbers: Vec<u64> = numbers.collect();
                assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
                names.len()
            };
            let some = files_after(20, 3);
            assert!((11..=18).contains(&some), "{some}");
            let many = files_after(200, 3);
            assert!((39..=41).contains(&many), "{many}");
            let few = files_after(1, 60);
            assert!((6..=8).contains(&few), "{few}");
            // Other bounds count at once, in both directions.
            wal.set_files_bytes(20 * SEGMENT, 40 * SEGMENT).unwrap();
            files_after(200, 3);
            let more = files_after(1, 60);
            assert!((20..=22).contains(&more), "{more}");
            wal.set_files_bytes(2 * SEGMENT, 4 * SEGMENT).unwrap();
            let fewer = files_after(0, 0);
            assert!(fewer <= 10, "{fewer}");
            wal.close();
        });
    });
}

#[test]
fn a_log_that_goes_on_while_it_is_read_has_no_gap() {
    under_each_io(|| {
        sim::run(4, || {
            let disk = new_disk();
            let wal = open(&disk, first_epoch());
            wal.flush(put(&wal, 3, &[1; 100]).end);
            let mut reader = Reader::open(Arc::new(disk.clone()), shape(), Lsn(SEGMENT)).unwrap();
            while reader.read().unwrap().is_some() {}
            let next = put(&wal, 3, &[2; 100]);
            wal.flush(put(&wal, 3, &[3; 100]).end);
            assert_eq!(reader.resumes_at().unwrap(), None);
            // But one that was lost is missed.
            let file = disk.open(&segment::path(1, 1), Open::Existing).unwrap();
            let at = first_epoch().file_offset(next.start) + 30;
            file.write_at(&[9], at).unwrap();
            assert_eq!(reader.resumes_at().unwrap(), Some(next.end));
            wal.close();
        });
    });
}

#[test]
fn a_switch_is_durable_also_where_a_segment_has_just_begun() {
    under_each_io(|| {
        sim::run(4, || {
            let disk = new_disk();
            let wal = open(&disk, first_epoch());
            let end = Lsn(2 * SEGMENT);
            while wal.position() < end {
                let header = record::HEADER_BYTES.next_multiple_of(record::RECORD_ALIGN);
                let left = (end.0 - wal.position().0) as usize;
                put(&wal, 3, &vec![0; left.saturating_sub(header).min(20_000)]);
            }
            assert_eq!(wal.position(), end, "the last record fits to the byte");
            assert!(wal.durable() < end);
            assert_eq!(wal.switch().unwrap(), end);
            assert!(wal.durable() >= end);
            wal.close();
        });
    });
}

#[test]
fn lazy_requests_are_served_and_a_watch_is_told_once() {
    under_each_io(|| {
        sim::run(5, || {
            let disk = new_disk();
            let wal = open(&disk, first_epoch());
            let told = Arc::new(AtomicUsize::new(0));
            let theirs = Arc::clone(&told);
            let watch = wal.watch_durable(move |_| {
                theirs.fetch_add(1, Ordering::Relaxed);
            });
            let at = put(&wal, 3, &[0; 10]);
            wal.request_flush_soon();
            base::park::sleep(std::time::Duration::from_millis(250));
            assert!(wal.durable() >= at.end);
            assert_eq!(told.load(Ordering::Relaxed), 0, "the watch wanted nothing");
            let at = put(&wal, 4, &[0; 10]);
            assert!(!wal.want_durable(&watch, at.end));
            base::park::sleep(std::time::Duration::from_millis(10));
            assert!(wal.want_durable(&watch, at.end));
            assert_eq!(told.load(Ordering::Relaxed), 1);
            wal.unwatch_durable(&watch);
            wal.close();
        });
    });
}

/// Committers that flush by themselves, others that wait for the flusher, and some that wait for nobody: all of it
/// becomes durable.
#[test]
fn committers_may_flush_by_themselves() {
    let by_themselves = Arc::new(AtomicUsize::new(0));
    for seed in 0..20 {
        testing::take_turns(seed);
        let count = Arc::clone(&by_themselves);
        sim::run(seed, move || {
            let disk = new_disk();
            let env = Env::new(Arc::new(disk.clone()));
            let wal = open(&disk, first_epoch());
            let committer = |i: u64| {
                let (wal, count) = (Arc::clone(&wal), Arc::clone(&count));
                move || {
                    for n in 0..20 {
                        let at = put(&wal, 3 + n, &[i as u8; 100]);
                        match (i + n) % 3 {
                            0 => wal.request_flush_soon(),
                            1 if wal.flush_here(at.end) => {
                                assert!(wal.durable() >= at.end);
                                count.fetch_add(1, Ordering::Relaxed);
                            }
                            _ => wal.flush(at.end),
                        }
                        base::park::sleep(std::time::Duration::from_micros(50 * i * n));
                    }
                }
            };
            let started: Vec<_> = (0..3).map(|i| env.spawn("committer", committer(i))).collect();
            started.into_iter().for_each(Background::join);
            // What nobody waits for needs no further reason.
            base::park::sleep(std::time::Duration::from_millis(250));
            assert_eq!(wal.durable(), wal.position());
            wal.close();
            assert_eq!(read_all(&disk, Lsn(SEGMENT)).0.len(), 60);
        });
    }
    assert!(by_themselves.load(Ordering::Relaxed) > 0, "the flusher did it all");
}

#[test]
fn waiters_for_ring_space_get_it_without_anybody_asking_for_a_flush() {
    under_each_io(|| {
        for seed in 0..10 {
            sim::run(seed, move || {
                let disk = new_disk();
                let env = Env::new(Arc::new(disk.clone()));
                let wal = open(&disk, first_epoch());
                let started: Vec<_> = (0..6)
                    .map(|i| {
                        let wal = Arc::clone(&wal);
                        env.spawn("inserter", move || {
                            for _ in 0..40 {
                                put(&wal, 3 + i, &[i as u8; 60_000]);
                            }
                        })
                    })
                    .collect();
                started.into_iter().for_each(Background::join);
                wal.close();
                assert_eq!(read_all(&disk, Lsn(SEGMENT)).0.len(), 240);
            });
        }
    });
}

#[test]
fn a_second_file_of_a_segments_name_is_never_replaced() {
    under_each_io(|| {
        sim::run(6, || {
            let disk = new_disk();
            let wal = open(&disk, first_epoch());
            // The maker has made what it keeps ready, and does not disturb.
            base::park::sleep(std::time::Duration::from_secs(1));
            // Somebody puts a file where a later segment will go: making it fails, nothing is overwritten.
            let path = segment::path(1, 9);
            disk.open(&path, Open::CreateNew).unwrap().write_at(b"precious", 0).unwrap();
            assert!(matches!(wal.store.make(9), Err(Error::Io(_))));
            let mut back = [0; 8];
            disk.open(&path, Open::Existing).unwrap().read_at(&mut back, 0).unwrap();
            assert_eq!(&back, b"precious");
            wal.close();
        });
    });
}
