//! The log when the disk misbehaves.

use super::record::HEADER_BYTES;
use super::testing::under_each_io;
use super::tests::*;
use super::*;
use base::disk::sim::{Access, SimDisk};
use base::disk::{Disk, Open};
use base::{Xid, sim};
use std::io;
use std::process::Command;

/// Set in processes that [`child`] starts.
const CHILD: &str = "THALWEG_TEST_FAILED_SYNC";

/// Runs a test of this module again in a process of its own, whose variable [`CHILD`] says what it is to do; what it
/// said and how it ended.
fn child(test: &str, what: &str) -> (String, std::process::ExitStatus) {
    let me = std::env::current_exe().unwrap();
    let name = format!("wal::faults_tests::{test}");
    let child = Command::new(me).args(["--exact", &name, "--nocapture"]).env(CHILD, what).output();
    let child = child.unwrap();
    (String::from_utf8_lossy(&child.stderr).into_owned(), child.status)
}

#[test]
fn a_failed_sync_ends_the_process() {
    const METHODS: [SyncMethod; 3] =
        [SyncMethod::Fdatasync, SyncMethod::OpenDatasync, SyncMethod::IoUring];
    if let Ok(what) = std::env::var(CHILD) {
        let (turn, method) = what.split_once(' ').unwrap();
        testing::take_turns(turn.parse().unwrap());
        let method = METHODS[method.parse::<usize>().unwrap()];
        sim::run(1, move || fail_a_sync(method));
        return;
    }
    // Written by each method, and mapped.
    for what in ["0 0", "0 1", "0 2", "1 0"] {
        let (said, ended) = child("a_failed_sync_ends_the_process", what);
        assert!(!ended.success(), "it went on: {said}");
        // Where one call writes and syncs, it is that which failed.
        let how = if matches!(what, "0 1" | "0 2") { "write" } else { "sync" };
        let told = format!("could not {how} file \"wal/00000001");
        assert!(said.contains("the log can't be made durable") && said.contains(&told), "{said}");
        assert!(!said.contains("told"), "somebody was told that it is durable: {said}");
    }
}

/// Somebody cuts the mapped file of a running log: the process ends, and says which file it was.
#[test]
fn a_mapped_segment_that_was_cut_short_ends_the_process() {
    let root = std::env::temp_dir().join(format!("thalweg-wal-cut-{}", std::process::id()));
    if let Ok(root) = std::env::var(CHILD) {
        testing::take_turns(1);
        return cut_a_segment(&root);
    }
    let name = "a_mapped_segment_that_was_cut_short_ends_the_process";
    let (said, ended) = child(name, root.to_str().unwrap());
    std::fs::remove_dir_all(root).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(6), "{said}");
    let file = segment::path(1, 1);
    assert!(said.contains(&format!("page of the mapped file \"{file}\"")), "{said}");
    assert!(!said.contains("told"), "{said}");
}

fn cut_a_segment(root: &str) {
    let disk = Arc::new(base::disk::real::RealDisk::new(root));
    disk.create_dir(segment::DIRECTORY).unwrap();
    let wal = Wal::open(&Env::new(disk.clone()), config(), first_epoch()).unwrap();
    wal.flush(put(&wal, 3, &[0; 10]).end);
    disk.open(&segment::path(1, 1), Open::Existing).unwrap().set_len(8192).unwrap();
    wal.flush(put(&wal, 4, &[0; 20_000]).end);
    eprintln!("told");
    wal.close();
}

/// What persistent memory would give is not pretended where there is none. The emulation works where nothing is durable
/// anyway, and nowhere else.
#[test]
fn persistent_memory_is_refused_where_there_is_none() {
    let memory = std::path::Path::new("/dev/shm");
    let places = [std::env::temp_dir(), memory.to_owned()];
    for directory in places.iter().filter(|place| place.is_dir()) {
        let root = directory.join(format!("thalweg-wal-pmem-{}", std::process::id()));
        let disk = Arc::new(base::disk::real::RealDisk::new(&root));
        disk.create_dir(segment::DIRECTORY).unwrap();
        let open =
            |io| Wal::open(&Env::new(disk.clone()), WalConfig { io, ..config() }, first_epoch());
        let told = open(WalIo::Pmem).err().map(|e| e.to_string());
        assert!(told.is_some_and(|told| told.contains("wal_io = pmem needs persistent memory")));
        match open(WalIo::PmemEmulated) {
            Ok(wal) => {
                for xid in 3..200 {
                    wal.flush(put(&wal, xid, &[7; 3000]).end);
                }
                wal.close();
                let mut reader =
                    Reader::open(disk.clone(), first_epoch().shape(), first_epoch().start).unwrap();
                let mut next = 3;
                while let Some(record) = reader.read().unwrap() {
                    assert_eq!((record.xid.0, record.data), (next, &[7; 3000][..]));
                    next += 1;
                }
                assert_eq!(next, 200);
            }
            Err(told) => {
                assert!(directory != memory, "{told}");
                assert!(told.to_string().contains("not a memory file system"), "{told}");
            }
        }
        std::fs::remove_dir_all(root).unwrap();
    }
}

fn fail_a_sync(how: SyncMethod) {
    let disk = new_disk();
    let config = WalConfig { sync_method: how, ..config() };
    let wal = Wal::open(&Env::new(Arc::new(disk.clone())), config, first_epoch()).unwrap();
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

/// What keeps a segment from being made: which access to which file fails, and how; what claims are told of it.
struct Trouble {
    access: Access,
    /// Whether it is about a file of this name.
    at: fn(&str) -> bool,
    errno: i32,
    sqlstate: &'static str,
}

fn is_new(path: &str) -> bool {
    path == "wal/new-segment"
}

fn is_segment(path: &str) -> bool {
    path.starts_with("wal/")
}

fn is_directory(path: &str) -> bool {
    path == "wal"
}

/// Every step of making a segment fails, and in every way that is no failed sync of a file.
const TROUBLES: &[Trouble] = &[
    Trouble { access: Access::Open, at: is_new, errno: libc::ENOSPC, sqlstate: "53100" },
    Trouble { access: Access::Open, at: is_new, errno: libc::EDQUOT, sqlstate: "53100" },
    Trouble { access: Access::Open, at: is_new, errno: libc::EMFILE, sqlstate: "53000" },
    Trouble { access: Access::Open, at: is_segment, errno: libc::EACCES, sqlstate: "42501" },
    Trouble { access: Access::Write, at: is_new, errno: libc::EIO, sqlstate: "58030" },
    Trouble { access: Access::Directory, at: is_new, errno: libc::EIO, sqlstate: "58030" },
    Trouble { access: Access::Directory, at: is_segment, errno: libc::EACCES, sqlstate: "42501" },
    Trouble { access: Access::Directory, at: is_directory, errno: libc::ENOSPC, sqlstate: "53100" },
    Trouble { access: Access::Directory, at: is_directory, errno: libc::EMFILE, sqlstate: "53000" },
];

impl Trouble {
    /// Whether it befalls an access. Log is not written through the simulated disk's name of a new segment's file at
    /// offsets behind its first block, zeros and headers are.
    fn befalls(&self, access: Access, path: &str, offset: u64) -> bool {
        access == self.access && (self.at)(path) && (access != Access::Write || offset == 0)
    }
}

/// The race of the seed: many inserters demand a new segment while making it is slow and fails. Nothing is lost, nobody
/// fails but with the reason, nothing is replaced, and the process lives. Segments are made anew and from spares.
#[test]
fn many_inserters_demand_a_segment_while_creation_is_slow_or_fails() {
    under_each_io(|| {
        for (seed, trouble) in (0..).zip(TROUBLES.iter().chain(TROUBLES)) {
            sim::run(seed, move || {
                let disk = new_disk();
                let env = Env::new(Arc::new(disk.clone()));
                let wal = open(&disk, first_epoch());
                let mut rng = fastrand::Rng::with_seed(seed);
                let moody = move |access: Access, path: &str, offset: u64| {
                    let refuse = trouble.befalls(access, path, offset) && rng.u8(..3) > 0;
                    refuse.then(|| io::Error::from_raw_os_error(trouble.errno))
                };
                disk.set_fault(Some(Box::new(moody)));
                let inserters: Vec<_> = (0..8)
                    .map(|i| {
                        let wal = Arc::clone(&wal);
                        env.spawn("inserter", move || {
                            for n in 0..20 {
                                insist(&wal, 3 + i * 20 + n, trouble.sqlstate);
                            }
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
    });
}

/// While no segment can be made at all, and whatever the reason, claims are refused with it and what was claimed goes on;
/// when the reason is gone, so is the refusal, and no file has been lost sight of.
#[test]
fn writing_goes_on_by_itself_when_segments_can_be_made_again() {
    under_each_io(|| {
        for trouble in TROUBLES {
            sim::run(1, move || {
                let disk = new_disk();
                let wal = open(&disk, first_epoch());
                // Spares, for the next segments to be made from.
                for xid in 3..83 {
                    wal.flush(put(&wal, xid, &[1; 9000]).end);
                }
                let from = wal.durable();
                wal.release_before(from).unwrap();
                let moody = move |access: Access, path: &str, offset: u64| {
                    let refuse = trouble.befalls(access, path, offset);
                    refuse.then(|| io::Error::from_raw_os_error(trouble.errno))
                };
                disk.set_fault(Some(Box::new(moody)));
                let (mut next, mut kept) = (83, 0);
                let refused = loop {
                    match wal.claim(record_bound(1, 0, 9000)) {
                        Ok(mut claim) => {
                            let record = Record::new(KIND, Xid(next)).data(&[1; 9000]);
                            let at = wal.insert(&mut claim, &record);
                            drop(claim);
                            wal.flush(at.end);
                            next += 1;
                            kept = wal.durable().0;
                        }
                        Err(e) => break e,
                    }
                    assert!(next < 1000, "segments are made in spite of {}", trouble.errno);
                };
                assert_eq!(refused.sqlstate(), trouble.sqlstate, "{refused}");
                // The reserve is claimed, written and made durable meanwhile.
                let mut reserve = wal.claim_reserve(4000).expect("the checkpointer has a reserve");
                let record = Record::new(Kind::CHECKPOINT, Xid(next)).data(&[0; 100]);
                let at = wal.insert(&mut reserve, &record);
                drop(reserve);
                wal.flush(at.end);
                assert!(wal.durable().0 > kept);
                base::park::sleep(std::time::Duration::from_secs(5));
                disk.set_fault(None);
                let begun = base::clock::now();
                for xid in next + 1..next + 100 {
                    insist(&wal, xid, trouble.sqlstate);
                }
                assert!(base::clock::now().since(begun).as_secs() < 5, "it takes up again at once");
                wal.close();
                let (mut xids, _) = read_all(&disk, from);
                xids.retain(|xid| *xid > 0);
                assert_eq!(xids, (83..next + 100).collect::<Vec<u64>>());
                // Every file is either of the log or a spare; none is forgotten, and none is left half made.
                let names = disk.list("wal").unwrap();
                assert!(
                    names.iter().all(|name| segment::parse_name(1, name).is_some()),
                    "{names:?}"
                );
                assert_eq!(names.len(), wal.store.known_files(), "{names:?}");
            });
        }
    });
}

/// A new segment, or one made from a spare, can't be synced: the process ends, also where the system calls it a lack of
/// room. There is no second try.
#[test]
fn a_segment_that_can_not_be_synced_ends_the_process() {
    if let Ok(what) = std::env::var(CHILD) {
        let (errno, spares) = what.split_once(' ').unwrap();
        let (errno, spares) = (errno.parse().unwrap(), spares.parse().unwrap());
        sim::run(1, move || fail_to_sync_a_segment(errno, spares));
        return;
    }
    for errno in [libc::EIO, libc::ENOSPC] {
        for spares in [false, true] {
            let what = format!("{errno} {spares}");
            let (said, ended) = child("a_segment_that_can_not_be_synced_ends_the_process", &what);
            assert!(!ended.success(), "{what}: it went on: {said}");
            assert!(said.contains("no log segment can be made: could not sync file"), "{said}");
            assert_eq!(said.matches("sync met").count(), 1, "{said}");
        }
    }
}

fn fail_to_sync_a_segment(errno: i32, spares: bool) {
    let disk = new_disk();
    let wal = open(&disk, first_epoch());
    for xid in 3..83 {
        wal.flush(put(&wal, xid, &[1; 9000]).end);
    }
    if spares {
        wal.release_before(wal.durable()).unwrap();
    }
    let mut has_header = None;
    let broken = move |access: Access, path: &str, offset: u64| {
        // The sync of the file whose header was written; other files are written and synced meanwhile.
        match access {
            Access::Write if path.starts_with("wal/") && offset == 0 => {
                has_header = Some(path.to_owned());
            }
            Access::Sync if has_header.as_deref() == Some(path) => {
                eprintln!("sync met");
                return Some(io::Error::from_raw_os_error(errno));
            }
            _ => {}
        }
        None
    };
    disk.set_fault(Some(Box::new(broken)));
    for xid in 83..200 {
        put(&wal, xid, &[1; 9000]);
        base::park::sleep(std::time::Duration::from_millis(100));
    }
}

/// Inserts, however often it is refused for this reason.
fn insist(wal: &Wal, xid: u64, sqlstate: &str) {
    loop {
        match wal.claim(record_bound(1, 0, 9000)) {
            Ok(mut claim) => {
                let at = wal.insert(&mut claim, &Record::new(KIND, Xid(xid)).data(&[1; 9000]));
                drop(claim);
                return wal.flush(at.end);
            }
            Err(e) => {
                assert_eq!(e.sqlstate(), sqlstate, "{e}");
                base::park::sleep(std::time::Duration::from_millis(50));
            }
        }
    }
}

/// A crash between the two halves of a rename leaves a file with two names.
#[test]
fn a_segment_under_a_name_that_is_not_its_own_is_not_reused() {
    under_each_io(|| {
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
    });
}

/// A reused segment still has its old records, whole, at the very places where new ones will begin. The log ends before
/// them, whatever the crash kept (W6).
#[test]
fn a_stale_tail_in_a_reused_segment_is_no_log() {
    under_each_io(|| {
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
        let made =
            (0..disk.operations()).filter(|&at| disk.describe(at).starts_with("create wal/"));
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
    });
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
    under_each_io(|| {
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
                            (0..15).for_each(|n| insist(&wal, 3 + i * 15 + n, "53100"))
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
    });
}

/// Room is claimed before the first latch of a page: a claim may wait for the disk, and may fail.
#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "comes before the first latch of a page")]
fn nobody_claims_room_under_a_pages_latch() {
    let disk = new_disk();
    let wal = open(&disk, first_epoch());
    let latch = base::latch::Latch::new(base::rank::Rank::IndexPage, ());
    let _held = latch.lock();
    let _ = wal.claim(100);
}
