use super::map::{MapKind, Place, Window};
use super::real::RealDisk;
use super::sim::{Access, SimDisk};
use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn temp_root(name: &str) -> std::path::PathBuf {
    let root = std::env::temp_dir().join(format!("thalweg-base-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    root
}

/// The contract that both disks keep.
fn contract(disk: &dyn Disk) {
    disk.create_dir("").unwrap();
    disk.create_dir("a/b").unwrap();
    assert!(disk.open("a/missing", Open::Existing).is_err());
    let file = disk.open("a/f", Open::CreateNew).unwrap();
    assert_eq!(
        disk.open("a/f", Open::CreateNew).err().unwrap().kind(),
        io::ErrorKind::AlreadyExists
    );
    file.write_at(b"hello", 3).unwrap();
    let mut buf = [9; 10];
    assert_eq!(file.read_at(&mut buf, 0).unwrap(), 8);
    assert_eq!(&buf[..8], b"\0\0\0hello");
    file.set_len(4).unwrap();
    assert_eq!(file.len().unwrap(), 4);
    file.sync().unwrap();
    file.drop_cached().unwrap();
    assert_eq!(file.read_at(&mut buf, 0).unwrap(), 4);
    for how in [SyncMethod::Fdatasync, SyncMethod::OpenDatasync, SyncMethod::IoUring] {
        // Not every system lets io_uring be used; who is told so does not try.
        if disk.check_sync_method(how).is_ok() {
            let bytes = vec![how as u8 + 1; 70_000];
            file.write_durably(&bytes, 5, how).unwrap();
            let mut back = vec![0; 70_000];
            assert_eq!(file.read_at(&mut back, 5).unwrap(), 70_000);
            assert!(back == bytes, "{how:?}");
        }
    }
    file.set_len(4).unwrap();
    disk.open("a/g", Open::Create).unwrap();
    let taken = disk.rename_new("a/f", "a/g").err().unwrap();
    assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    disk.rename_new("a/f", "a/h").unwrap();
    disk.rename_over("a/h", "a/g").unwrap();
    assert_eq!(disk.list("a").unwrap(), ["b", "g"]);
    disk.sync_dir("a").unwrap();
    disk.remove("a/g").unwrap();
    assert!(!disk.exists("a/g").unwrap());
    let held = disk.lock("lock").unwrap();
    assert_eq!(disk.lock("lock").err().unwrap().kind(), io::ErrorKind::WouldBlock);
    drop(held);
    disk.lock("lock").unwrap();
}

#[test]
fn the_simulated_disk_keeps_the_contract() {
    contract(&SimDisk::new());
}

#[test]
fn the_real_disk_keeps_the_contract() {
    let root = temp_root("contract");
    contract(&RealDisk::new(&root));
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn fibers_read_and_write_real_files_without_blocking_their_thread() {
    use crate::fiber::{Order, Scheduler};
    let root = temp_root("fiber");
    let disk = Arc::new(RealDisk::new(&root));
    disk.create_dir("").unwrap();
    let owner = std::thread::current();
    let scheduler = Scheduler::new(Order::Fifo, move || owner.unpark());
    for i in 0..20u64 {
        let disk = Arc::clone(&disk);
        let job = move || {
            let file = disk.open("f", Open::Create).unwrap();
            file.write_at(&i.to_le_bytes(), i * 8).unwrap();
            file.sync().unwrap();
            let mut back = [0; 8];
            assert_eq!(file.read_at(&mut back, i * 8).unwrap(), 8);
            assert_eq!(u64::from_le_bytes(back), i);
        };
        scheduler.spawn(job).unwrap();
    }
    while scheduler.busy() > 0 {
        if !scheduler.run(100) && scheduler.busy() > 0 {
            std::thread::park();
        }
    }
    std::fs::remove_dir_all(root).unwrap();
}

/// Runs fibers on a thread with a ring until all have ended; false where the system grants none.
fn with_ring(spawn: impl FnOnce(&crate::fiber::Scheduler)) -> bool {
    use super::real::ring::{self, ThreadRing};
    use crate::fiber::{Order, Scheduler};
    use std::os::fd::AsRawFd;
    let Ok(ring) = ThreadRing::open() else {
        eprintln!("skipped: this system grants no io_uring");
        return false;
    };
    let (woken, wake) = std::os::unix::net::UnixStream::pair().unwrap();
    wake.set_nonblocking(true).unwrap();
    let scheduler = Scheduler::new(Order::Fifo, move || drop(io::Write::write(&mut &wake, b"w")));
    spawn(&scheduler);
    while scheduler.busy() > 0 {
        if scheduler.run(100) || scheduler.busy() == 0 {
            continue;
        }
        let fds = [ring.as_raw_fd(), woken.as_raw_fd()];
        let mut fds = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // SAFETY: two entries, which outlive the call.
        assert!(unsafe { libc::poll(fds.as_mut_ptr(), 2, 60_000) } > 0, "a read never ended");
        if fds[1].revents != 0 {
            io::Read::read(&mut &woken, &mut [0; 64]).unwrap();
        }
        ring.hush();
    }
    drop((scheduler, ring));
    assert_eq!(ring::under_way(), 0);
    true
}

/// A file of blocks that tell their number, opened past the system's cache where that can be done.
fn numbered(root: &std::path::Path, blocks: usize) -> Arc<dyn File> {
    let disk = RealDisk::new(root);
    disk.create_dir("").unwrap();
    let file = disk.open("f", Open::CreateNew).unwrap();
    for block in 0..blocks {
        file.write_at(&[block as u8; DIRECT_ALIGN], (block * DIRECT_ALIGN) as u64).unwrap();
    }
    file.sync().unwrap();
    disk.check_direct(".").and_then(|()| disk.open_direct("f", Open::Existing)).unwrap_or(file)
}

#[test]
fn fibers_read_through_a_ring() {
    use crate::interrupt::Interrupt;
    let root = temp_root("ring");
    let file = numbered(&root, 64);
    let started = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let many = |scheduler: &crate::fiber::Scheduler| {
        for n in 0..40usize {
            let (file, started) = (Arc::clone(&file), Arc::clone(&started));
            let job = move || {
                let mut room = Room::new(4 * DIRECT_ALIGN);
                for at in [n, n + 20, n + 7] {
                    let got = file.read_at(&mut room, (at * DIRECT_ALIGN) as u64).unwrap();
                    // Fewer at the end of the file.
                    assert_eq!(got, (64 - at).min(4) * DIRECT_ALIGN);
                    for (i, block) in room[..got].chunks(DIRECT_ALIGN).enumerate() {
                        assert!(block.iter().all(|byte| usize::from(*byte) == at + i));
                    }
                }
                let check = move |got: io::Result<usize>, room: Room| {
                    assert_eq!(got.unwrap(), DIRECT_ALIGN);
                    assert!(room[..DIRECT_ALIGN].iter().all(|byte| usize::from(*byte) == n));
                    started.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                };
                let offset = (n * DIRECT_ALIGN) as u64;
                file.start_read(StartedRead::new(room, DIRECT_ALIGN, offset, Box::new(check)));
            };
            // A wait that is canceled goes on: the bytes are still written to.
            scheduler.spawn(job).unwrap().interrupt(Interrupt::Cancel);
        }
    };
    if with_ring(many) {
        let ended = started.load(std::sync::atomic::Ordering::SeqCst);
        assert_eq!(ended, 40, "a ring is closed when nothing is under way");
    }
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_read_that_fails_in_a_ring_says_why() {
    // The first page of a process is not mapped: reading it is an I/O error.
    let memory = RealDisk::new("/proc/self").open("mem", Open::Existing).unwrap();
    with_ring(|scheduler| {
        for _ in 0..10 {
            let memory = Arc::clone(&memory);
            let job = move || {
                let error = memory.read_at(&mut [0; 100], 0).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EIO));
                let done = |got: io::Result<usize>, _| {
                    assert_eq!(got.unwrap_err().raw_os_error(), Some(libc::EIO));
                };
                let room = Room::new(DIRECT_ALIGN);
                memory.start_read(StartedRead::new(room, 100, 0, Box::new(done)));
            };
            scheduler.spawn(job).unwrap();
        }
    });
}

#[test]
fn started_reads_end_without_a_ring() {
    let root = temp_root("started");
    let file = numbered(&root, 8);
    let (tell, told) = std::sync::mpsc::channel();
    for n in 0..10usize {
        let tell = tell.clone();
        let done = move |got: io::Result<usize>, room: Room| tell.send((n, got, room)).unwrap();
        let (room, offset) = (Room::new(2 * DIRECT_ALIGN), (n * DIRECT_ALIGN) as u64);
        file.start_read(StartedRead::new(room, 2 * DIRECT_ALIGN, offset, Box::new(done)));
    }
    for _ in 0..10 {
        let (n, got, room) = told.recv().unwrap();
        let got = got.unwrap();
        assert_eq!(got, 8usize.saturating_sub(n).min(2) * DIRECT_ALIGN);
        assert!(room[..got].iter().take(DIRECT_ALIGN).all(|byte| usize::from(*byte) == n));
    }
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn direct_io_is_aligned() {
    let root = temp_root("aligned");
    let disk = RealDisk::new(&root);
    disk.create_dir("").unwrap();
    let opened = disk.check_direct(".").and_then(|()| disk.open_direct("f", Open::Create));
    let _ = std::fs::remove_dir_all(&root);
    let Ok(file) = opened else {
        eprintln!("skipped: no direct I/O here");
        return;
    };
    let room = Room::new(2 * DIRECT_ALIGN);
    let written = catch_unwind(AssertUnwindSafe(|| file.write_at(&room[8..][..DIRECT_ALIGN], 0)));
    let told = written.expect_err("it is not aligned");
    let told = told.downcast_ref::<String>().expect("the panic has a text");
    assert!(told.ends_with("is aligned"), "{told}");
}

#[test]
fn synced_writes_survive_every_crash_and_unsynced_ones_only_some() {
    let disk = SimDisk::new();
    let file = disk.open("f", Open::CreateNew).unwrap();
    disk.sync_dir("").unwrap();
    file.write_at(&[1; 2048], 0).unwrap();
    file.sync().unwrap();
    let synced_at = disk.operations();
    file.write_at(&[2; 2048], 0).unwrap();
    let mut outcomes = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let mut crashes = disk.crashes();
        crashes.advance_to(crashes.len());
        let image = crashes.image(&mut fastrand::Rng::with_seed(seed));
        let mut back = vec![0; 2048];
        let n = image.open("f", Open::Existing).unwrap().read_at(&mut back, 0).unwrap();
        assert_eq!(n, 2048);
        for sector in back.chunks(super::sim::SECTOR_BYTES) {
            assert!(sector.iter().all(|b| *b == sector[0]), "a sector is never torn");
            assert!(matches!(sector[0], 1 | 2));
        }
        outcomes.insert(back);
    }
    assert!(outcomes.len() > 5, "crashes differ");
    let mut crashes = disk.crashes();
    crashes.advance_to(synced_at);
    let image = crashes.image(&mut fastrand::Rng::with_seed(1));
    assert_eq!(image.open("f", Open::Existing).unwrap().len().unwrap(), 2048);
}

#[test]
fn a_name_that_was_not_synced_can_vanish() {
    let disk = SimDisk::new();
    disk.open("f", Open::CreateNew).unwrap();
    let mut seen = [false; 2];
    for seed in 0..50 {
        let mut crashes = disk.crashes();
        crashes.advance_to(1);
        let image = crashes.image(&mut fastrand::Rng::with_seed(seed));
        seen[usize::from(image.exists("f").unwrap())] = true;
    }
    assert_eq!(seen, [true, true]);
}

#[test]
fn the_fault_hook_makes_accesses_fail() {
    let disk = SimDisk::new();
    let file = disk.open("f", Open::CreateNew).unwrap();
    disk.set_fault(Some(Box::new(|kind, path, _| {
        (kind == Access::Sync && path == "f").then(|| io::Error::from_raw_os_error(libc::EIO))
    })));
    file.write_at(b"x", 0).unwrap();
    assert_eq!(file.sync().unwrap_err().raw_os_error(), Some(libc::EIO));
}

/// A disk without room lets files be overwritten.
#[test]
fn only_what_takes_room_is_asked_for_it() {
    let disk = SimDisk::new();
    let file = disk.open("f", Open::CreateNew).unwrap();
    file.write_at(b"abc", 0).unwrap();
    disk.set_fault(Some(Box::new(|kind, _, _| {
        (kind == Access::Grow).then(|| io::ErrorKind::StorageFull.into())
    })));
    file.write_at(b"xyz", 0).unwrap();
    assert_eq!(file.write_at(b"xyz", 1).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(file.extend(3, 1).is_err() && file.set_len(4).is_err());
    file.set_len(2).unwrap();
    assert!(disk.open("g", Open::Create).is_err() && !disk.exists("g").unwrap());
    disk.open("f", Open::Create).unwrap();
    assert_eq!(disk.operations(), 4);
}

#[test]
fn a_refused_write_may_be_half_done() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..50 {
        lengths.insert(crate::sim::run(seed, || {
            let disk = SimDisk::new();
            let file = disk.open("f", Open::CreateNew).unwrap();
            disk.tear_refused_writes(512);
            disk.set_fault(Some(Box::new(|kind, _, _| {
                (kind == Access::Write).then(|| io::Error::from_raw_os_error(libc::EIO))
            })));
            assert!(file.write_at(&[7; 2400], 100).is_err());
            let mut bytes = [0; 4096];
            let read = file.read_at(&mut bytes, 0).unwrap();
            assert!(bytes[..read].iter().skip(100).all(|byte| *byte == 7));
            read
        }));
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 512, 1024, 1536, 2048]);
}

/// What a killed process leaves is all there, and can still be lost until somebody syncs it.
#[test]
fn a_killed_process_leaves_its_unsynced_writes_to_the_next() {
    let disk = SimDisk::new();
    let file = disk.open("f", Open::CreateNew).unwrap();
    disk.sync_dir("").unwrap();
    file.write_at(&[1; 4096], 0).unwrap();
    file.sync().unwrap();
    file.write_at(&[2; 4096], 4096).unwrap();
    let mut crashes = disk.crashes();
    crashes.advance_to(crashes.len());
    let survivors = |sync: bool| {
        let left = crashes.killed();
        let file = left.open("f", Open::Existing).unwrap();
        assert_eq!(file.len().unwrap(), 8192, "the system has it");
        if sync {
            file.sync().unwrap();
        }
        let mut second = left.crashes();
        second.advance_to(second.len());
        let whole = |seed: u64| {
            let after = second.image(&mut fastrand::Rng::with_seed(seed));
            let mut buf = [0; 8192];
            after.open("f", Open::Existing).unwrap().read_at(&mut buf, 0).unwrap();
            assert_eq!(buf[..4096], [1; 4096], "synced before the kill");
            buf[4096..] == [2; 4096]
        };
        (0..40).filter(|seed| whole(*seed)).count()
    };
    assert_eq!(survivors(true), 40);
    assert!((1..40).contains(&survivors(false)));
}

const PAGE: usize = 4096;
const KINDS: [MapKind; 3] = [MapKind::Cached, MapKind::Persistent, MapKind::PersistentEmulated];

/// What a mapped file does on both disks: its bytes are there, stores are in the file, and a place can be used again.
fn mapping_contract(disk: &dyn Disk, kind: MapKind) {
    let file = disk.open("mapped", Open::Create).unwrap();
    file.write_at(&[5; 4 * PAGE], 0).unwrap();
    let window = Window::reserve(8 * PAGE).unwrap();
    for (at, offset) in [(0, PAGE), (3 * PAGE, 0), (0, 2 * PAGE)] {
        let place =
            Place { window: &window, at, offset: offset as u64, bytes: 2 * PAGE, name: "mapped" };
        let mapping = file.map(&place, kind).unwrap();
        let address = window.address(at);
        let byte = (at + offset) as u8 ^ 0x55;
        // SAFETY: two pages are mapped there, and nobody else is at them.
        unsafe {
            assert!(matches!(address.add(PAGE).read(), 5 | 0x55));
            address.add(100).write_bytes(byte, PAGE);
        }
        mapping.sync(offset as u64 + 100, PAGE as u64).unwrap();
        let mut back = vec![0; PAGE];
        file.read_at(&mut back, offset as u64 + 100).unwrap();
        assert!(back.iter().all(|b| *b == byte));
        // What is written to the file shows in the memory.
        file.write_at(&[5; 4 * PAGE], 0).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { address.add(101).read() }, 5);
        drop(mapping);
    }
    disk.remove("mapped").unwrap();
}

#[test]
fn files_of_both_disks_can_be_mapped() {
    crate::sim::run(1, || mapping_contract(&SimDisk::new(), MapKind::Cached));
    let memory = std::path::PathBuf::from("/dev/shm");
    for directory in [std::env::temp_dir(), memory].iter().filter(|place| place.is_dir()) {
        let root = directory.join(format!("thalweg-base-map-{}", std::process::id()));
        let disk = RealDisk::new(&root);
        disk.create_dir("").unwrap();
        mapping_contract(&disk, MapKind::Cached);
        let file = disk.open("probe", Open::Create).unwrap();
        file.set_len(PAGE as u64).unwrap();
        let window = Window::reserve(PAGE).unwrap();
        for kind in &KINDS[1..] {
            let place = Place { window: &window, at: 0, offset: 0, bytes: PAGE, name: "probe" };
            match file.map(&place, *kind).map(drop) {
                Ok(()) => mapping_contract(&disk, *kind),
                Err(e) => assert_eq!(e.kind(), io::ErrorKind::Unsupported, "{e}"),
            }
        }
        std::fs::remove_dir_all(root).unwrap();
    }
}

/// Stores to a mapping: those that a sync covers survive every crash; others survive some, page by page, torn or not, and
/// all survive the process.
#[test]
fn synced_stores_survive_every_crash_and_others_only_some() {
    let disk = SimDisk::new();
    let theirs = disk.clone();
    let (before, after) = crate::sim::run(1, move || {
        let file = theirs.open("f", Open::CreateNew).unwrap();
        file.write_at(&[1; 4 * PAGE], 0).unwrap();
        file.sync().unwrap();
        theirs.sync_dir("").unwrap();
        let window = Window::reserve(4 * PAGE).unwrap();
        let place = Place { window: &window, at: 0, offset: 0, bytes: 4 * PAGE, name: "f" };
        let mapping = file.map(&place, MapKind::Cached).unwrap();
        // SAFETY: mapped, and nobody else is at it.
        let store = |page: usize, byte| unsafe {
            window.address(page * PAGE).write_bytes(byte, PAGE);
        };
        (0..4).for_each(|page| store(page, 2));
        let before = theirs.operations();
        mapping.sync(PAGE as u64 + 7, PAGE as u64).unwrap();
        let after = theirs.operations();
        store(3, 3);
        drop(mapping);
        (before, after)
    });
    assert!(after > before + 4, "stores are journaled page by page before the sync");
    let pages = |image: &SimDisk| {
        let mut all = vec![0; 4 * PAGE];
        image.open("f", Open::Existing).unwrap().read_at(&mut all, 0).unwrap();
        all
    };
    let mut crashes = disk.crashes();
    crashes.advance_to(crashes.len());
    assert_eq!(pages(&crashes.killed())[3 * PAGE..], [3; PAGE]);
    let mut outcomes = [std::collections::BTreeSet::new(), std::collections::BTreeSet::new()];
    for seed in 0..100 {
        let all = pages(&crashes.image(&mut fastrand::Rng::with_seed(seed)));
        assert!(all[PAGE..3 * PAGE].iter().all(|b| *b == 2), "bytes 7 to 4103 of it were synced");
        outcomes[0].insert(all[..PAGE].to_vec());
        outcomes[1].insert(all[3 * PAGE..].to_vec());
    }
    assert!(outcomes.iter().all(|of| of.len() > 3), "what was not synced is lost, kept and torn");
}

/// Set in processes that [`bus_error`] starts.
const BUS_ERROR: &str = "THALWEG_TEST_BUS_ERROR";

/// Touches a page behind the end of a file that was cut after it was mapped.
fn touch_cut_page(whose: &str) {
    let root = temp_root("cut");
    let disk = RealDisk::new(&root);
    disk.create_dir("").unwrap();
    let file = disk.open("cut", Open::Create).unwrap();
    file.set_len(2 * PAGE as u64).unwrap();
    let window = Window::reserve(2 * PAGE).unwrap();
    let name = "wal/of-this-name";
    let place = Place { window: &window, at: 0, offset: 0, bytes: 2 * PAGE, name };
    let mapping = file.map(&place, MapKind::Cached).unwrap();
    file.set_len(PAGE as u64).unwrap();
    std::fs::remove_dir_all(root).unwrap();
    let mut address = window.address(PAGE);
    if whose == "another's" {
        let (all, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: plain calls; a fresh mapping, of an empty file.
        address = unsafe {
            let empty = libc::memfd_create(c"empty".as_ptr(), 0);
            libc::mmap(std::ptr::null_mut(), PAGE, all, flags, empty, 0).cast()
        };
    }
    // SAFETY: mapped; there is no page, which is the point.
    unsafe { address.write_volatile(1) };
    drop(mapping);
    unreachable!("the page is not there");
}

fn bus_error(whose: &str) -> (String, Option<i32>) {
    let me = std::env::current_exe().unwrap();
    let name = "disk::tests::a_page_that_is_gone_ends_the_process";
    let mut child = std::process::Command::new(me);
    let child = child.args(["--exact", name, "--nocapture"]).env(BUS_ERROR, whose).output();
    let child = child.unwrap();
    let said = String::from_utf8_lossy(&child.stderr).into_owned();
    (said, std::os::unix::process::ExitStatusExt::signal(&child.status))
}

#[test]
fn a_page_that_is_gone_ends_the_process() {
    if let Ok(whose) = std::env::var(BUS_ERROR) {
        return touch_cut_page(&whose);
    }
    let (said, signal) = bus_error("ours");
    assert_eq!(signal, Some(libc::SIGABRT), "{said}");
    assert!(
        said.contains(
            "fatal: the system can't bring a page of the mapped file \"wal/of-this-name\""
        )
    );
    // Elsewhere it is the signal's own affair.
    let (said, signal) = bus_error("another's");
    assert_eq!(signal, Some(libc::SIGBUS), "{said}");
    assert!(!said.contains("mapped file"), "{said}");
}

/// A child has copies of all descriptors until it becomes another program.
#[test]
fn a_lock_that_was_given_up_is_free_though_a_child_has_a_copy() {
    use std::io::{Read, Write};
    use std::os::unix::process::CommandExt;
    let root = temp_root("forked");
    let disk = RealDisk::new(&root);
    disk.create_dir("").unwrap();
    let held = disk.lock("lock").unwrap();
    assert_eq!(disk.lock("lock").err().unwrap().kind(), io::ErrorKind::WouldBlock);
    let (mut told, tell) = std::io::pipe().unwrap();
    let (wait, mut go) = std::io::pipe().unwrap();
    let child = std::thread::spawn(move || {
        let mut command = std::process::Command::new("true");
        // SAFETY: it reads and writes, and allocates nothing.
        unsafe {
            command.pre_exec(move || {
                (&tell).write_all(b"x")?;
                (&wait).read_exact(&mut [0])
            })
        };
        command.status().unwrap()
    });
    told.read_exact(&mut [0]).unwrap();
    drop(held);
    let again = disk.lock("lock");
    go.write_all(b"x").unwrap();
    assert!(child.join().unwrap().success());
    again.unwrap();
    std::fs::remove_dir_all(root).unwrap();
}
