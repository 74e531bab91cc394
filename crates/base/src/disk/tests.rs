use super::real::RealDisk;
use super::sim::{Access, SimDisk};
use super::*;

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
