//! The log when the disk misbehaves.

use super::tests::*;
use super::*;
use base::disk::sim::Access;
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
