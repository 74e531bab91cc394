//! The log when the disk misbehaves.

use super::record::HEADER_BYTES;
use super::tests::*;
use super::*;
use base::disk::sim::{Access, SimDisk};
use base::disk::{Disk, Open};
use base::{Xid, sim};
use std::io;
use std::process::Command;

/// Set in the child process of [`a_failed_sync_ends_the_process`].
const CHILD: &str = "THALWEG_TEST_FAILED_SYNC";

#[test]
fn a_failed_sync_ends_the_process() {
    if std::env::var_os(CHILD).is_some() {
        sim::run(1, fail_a_sync);
        return;
    }
    let me = std::env::current_exe().unwrap();
    let name = "wal::faults_tests::a_failed_sync_ends_the_process";
    let child = Command::new(me).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output();
    let child = child.unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success(), "it went on: {said}");
    assert!(said.contains("could not sync file \"wal/00000001"), "{said}");
    assert!(!said.contains("told"), "somebody was told that it is durable: {said}");
}

fn fail_a_sync() {
    let disk = new_disk();
    let wal = open(&disk, first_epoch());
    let at = put(&wal, 3, &[0; 10]);
    base::park::sleep(std::time::Duration::from_secs(1));
    let broken = |access: Access, _: &str, _: u64| {
        (access == Access::Sync).then(|| io::Error::from_raw_os_error(5))
    };
    disk.set_fault(Some(Box::new(broken)));
    wal.flush(at.end);
    eprintln!("told");
    wal.close();
}

/// Many inserters demand segments while making them is slow and fails now and then: nothing is lost, nobody
/// fails but with "disk full", and nothing is replaced.
#[test]
fn segments_in_short_supply_lose_nothing() {
    for seed in 0..8 {
        sim::run(seed, move || {
            let disk = new_disk();
            let env = Env::new(Arc::new(disk.clone()));
            let wal = open(&disk, first_epoch());
            let mut rng = fastrand::Rng::with_seed(seed);
            let moody = move |access: Access, path: &str, _: u64| {
                let refuse = access == Access::Open && path == "wal/new-segment" && rng.bool();
                refuse.then(|| io::ErrorKind::StorageFull.into())
            };
            disk.set_fault(Some(Box::new(moody)));
            let inserters: Vec<_> = (0..8)
                .map(|i| {
                    let wal = Arc::clone(&wal);
                    env.spawn("inserter", move || {
                        (0..20).for_each(|n| insist(&wal, 3 + i * 20 + n))
                    })
                })
                .collect();
            inserters.into_iter().for_each(Background::join);
            wal.close();
            disk.set_fault(None);
            let (mut xids, _) = read_all(&disk, first_epoch().start);
            xids.sort_unstable();
            assert_eq!(xids, (3..163).collect::<Vec<u64>>());
        });
    }
}

/// Inserts, however often the disk is full.
fn insist(wal: &Wal, xid: u64) {
    loop {
        match wal.claim(record_bound(1, 0, 9000)) {
            Ok(mut claim) => {
                let at = wal.insert(&mut claim, &Record::new(KIND, Xid(xid)).data(&[1; 9000]));
                drop(claim);
                return wal.flush(at.end);
            }
            Err(e) => {
                assert_eq!(e.sqlstate(), "53100");
                base::park::sleep(std::time::Duration::from_millis(50));
            }
        }
    }
}

/// A crash between the two halves of a rename leaves a file with two names.
#[test]
fn a_segment_under_a_name_that_is_not_its_own_is_not_reused() {
    let disk = new_disk();
    let theirs = disk.clone();
    sim::run(1, move || {
        let wal = open(&theirs, first_epoch());
        for _ in 0..30 {
            put(&wal, 3, &[1; 9000]);
        }
        wal.close();
    });
    let (from, to) = (segment::path(1, 2), segment::path(1, 90));
    disk.rename_new(&from, &to).unwrap();
    let theirs = disk.clone();
    sim::run(2, move || {
        let end = LogEnd {
            at: Lsn(20 * SEGMENT),
            epoch: 1,
            resume: Lsn(20 * SEGMENT),
            previous_end: Lsn(20 * SEGMENT),
        };
        let wal = open(&theirs, next_epoch(&end));
        assert!(!theirs.exists(&to).unwrap());
        wal.close();
        assert!(theirs.open(&segment::path(1, 20), Open::Existing).is_ok());
    });
}

/// A reused segment still has its old records, whole, at the very places where new ones will begin. The log ends before
/// them, whatever the crash kept.
#[test]
fn a_stale_tail_in_a_reused_segment_is_no_log() {
    let disk = new_disk();
    let theirs = disk.clone();
    let told = sim::run(3, move || {
        let wal = open(&theirs, first_epoch());
        let mut told = Vec::new();
        // Records of one length that divides a segment: each begins where one began before.
        for xid in 3..3 + 64 * 24 {
            let at = put(&wal, xid, &[xid as u8; 1024 - HEADER_BYTES]);
            if xid % 7 == 0 {
                wal.flush(at.end);
                told.push((theirs.operations(), xid));
            }
            if xid % 64 == 0 {
                wal.release_before(wal.durable()).unwrap();
            }
        }
        wal.close();
        told
    });
    let made = (0..disk.operations()).filter(|&at| disk.describe(at).starts_with("create wal/"));
    assert!(made.count() < 12, "segments were reused");
    let mut crashes = disk.crashes();
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut tails, mut previous) = (0, 0);
    for (operations, xid) in told {
        // In the midst of the flush before, and when it had been told.
        for at in [(previous + operations) / 2, operations] {
            crashes.advance_to(at);
            let image = crashes.image(&mut rng);
            let shape = first_epoch().shape();
            let Some(from) = Reader::first_position(&image, shape).unwrap() else { continue };
            let mut reader = Reader::open(Arc::new(image.clone()), shape, from).unwrap();
            let mut last = None;
            while let Some(record) = reader.read().unwrap() {
                let here = record.xid.0;
                assert!(last.is_none_or(|last| here == last + 1), "{here} follows {last:?}");
                assert_eq!(record.at.start.0, SEGMENT + (here - 3) * 1024);
                last = Some(here);
            }
            assert!(at < operations || last.is_some_and(|last| last >= xid), "{xid} was told");
            tails += usize::from(has_old_record(&image, reader.end().at));
        }
        previous = operations;
    }
    assert!(tails > 20, "only {tails} crashes met old records behind the end");
}

/// Whether a whole record of an earlier place lies where the log's next one would.
fn has_old_record(disk: &SimDisk, end: Lsn) -> bool {
    let path = segment::path(1, end.0 / SEGMENT);
    let Ok(file) = disk.open(&path, Open::Existing) else { return false };
    let mut bytes = [0; 1024];
    let read = file.read_at(&mut bytes, first_epoch().file_offset(end)).unwrap();
    let seed = record::crc_seed(1, 1);
    let earlier = (1..end.0 / SEGMENT).map(|n| Lsn(n * SEGMENT + end.0 % SEGMENT));
    read == 1024 && earlier.into_iter().any(|at| RecordView::verify(&bytes, at, seed).is_some())
}

/// Making a segment fails in the midst of writing it, and takes long: nothing is lost, and it is made in the end.
#[test]
fn a_segment_that_is_half_made_is_made_again() {
    for seed in 0..4 {
        sim::run(seed, move || {
            let disk = new_disk();
            let env = Env::new(Arc::new(disk.clone()));
            let wal = open(&disk, first_epoch());
            let mut rng = fastrand::Rng::with_seed(seed);
            let moody = move |access: Access, path: &str, offset: u64| {
                // The zeros and the header begin there; log, which the open file takes later, behind.
                let half = access == Access::Write && path == "wal/new-segment" && offset == 0;
                (half && rng.u8(..3) > 0).then(|| io::ErrorKind::StorageFull.into())
            };
            disk.set_fault(Some(Box::new(moody)));
            let inserters: Vec<_> = (0..4)
                .map(|i| {
                    let wal = Arc::clone(&wal);
                    env.spawn("inserter", move || {
                        (0..15).for_each(|n| insist(&wal, 3 + i * 15 + n))
                    })
                })
                .collect();
            inserters.into_iter().for_each(Background::join);
            wal.close();
            let (mut xids, _) = read_all(&disk, first_epoch().start);
            xids.sort_unstable();
            assert_eq!(xids, (3..63).collect::<Vec<u64>>());
        });
    }
}
