use super::*;
use base::disk::sim::{Access, SimDisk};

fn files(disk: &SimDisk) -> RelFiles {
    RelFiles::open(Arc::new(disk.clone()), 4).unwrap()
}

fn page(rel: RelId, block: u32) -> PageId {
    PageId::main(rel, BlockNo(block))
}

#[test]
fn blocks_come_back_as_written() {
    let files = files(&SimDisk::new());
    let rel = RelId(7);
    files.create(rel, false).unwrap();
    assert_eq!(files.blocks(rel, Fork::Main).unwrap(), 0);
    files.extend(rel, Fork::Main, BlockNo(0), 3).unwrap();
    assert_eq!(files.blocks(rel, Fork::Main).unwrap(), 3);
    files.write(page(rel, 1), &[7; 2 * PAGE_BYTES]).unwrap();
    let mut back = [9; PAGE_BYTES];
    files.read(page(rel, 0), &mut back).unwrap();
    assert_eq!(back, [0; PAGE_BYTES]);
    files.read(page(rel, 2), &mut back).unwrap();
    assert_eq!(back, [7; PAGE_BYTES]);
    let past = files.read(page(rel, 3), &mut back).unwrap_err();
    assert!(past.to_string().contains("block 3 of file \"base/7\""), "{past}");
    files.truncate(rel, Fork::Main, 1).unwrap();
    assert_eq!(files.blocks(rel, Fork::Main).unwrap(), 1);
}

#[test]
fn map_forks_exist_from_their_first_block_on() {
    let files = files(&SimDisk::new());
    let rel = RelId(8);
    assert!(matches!(files.blocks(rel, Fork::Main), Err(Error::NoSuchRelation(r)) if r == rel));
    files.create(rel, false).unwrap();
    assert!(files.create(rel, false).is_err());
    files.create(rel, true).unwrap();
    assert_eq!(files.blocks(rel, Fork::FreeSpace).unwrap(), 0);
    files.truncate(rel, Fork::FreeSpace, 0).unwrap();
    files.extend(rel, Fork::FreeSpace, BlockNo(0), 1).unwrap();
    assert_eq!(files.blocks(rel, Fork::FreeSpace).unwrap(), 1);
    files.remove(rel).unwrap();
    files.remove(rel).unwrap();
    assert!(!files.exists(rel).unwrap());
}

#[test]
fn many_relations_share_few_descriptors() {
    let files = files(&SimDisk::new());
    for round in 0..3u8 {
        for n in 1..30 {
            let rel = RelId(n);
            if round == 0 {
                files.create(rel, false).unwrap();
                files.extend(rel, Fork::Main, BlockNo(0), 1).unwrap();
            }
            files.write(page(rel, 0), &[n as u8 + round; PAGE_BYTES]).unwrap();
        }
        if round == 1 {
            files.sync_all().unwrap();
        }
    }
    let mut back = [0; PAGE_BYTES];
    for n in 1..30 {
        files.read(page(RelId(n), 0), &mut back).unwrap();
        assert_eq!(back[0], n as u8 + 2);
    }
}

#[test]
fn where_no_more_files_may_be_open_idle_ones_are_closed() {
    let disk = SimDisk::new();
    let files = RelFiles::open(Arc::new(disk.clone()), 100).unwrap();
    for n in 1..30 {
        files.create(RelId(n), false).unwrap();
    }
    let mut refusals = 1;
    disk.set_fault(Some(Box::new(move |kind, path, _| {
        let refused = kind == Access::Open && path == "base/30" && refusals > 0;
        refusals -= i32::from(refused);
        refused.then(|| io::Error::from_raw_os_error(libc::EMFILE))
    })));
    files.create(RelId(30), false).unwrap();
    disk.set_fault(Some(Box::new(|kind, _, _| {
        (kind == Access::Open).then(|| io::Error::from_raw_os_error(libc::ENFILE))
    })));
    let refused = files.blocks(RelId(1), Fork::Main).unwrap_err();
    assert_eq!(refused.sqlstate(), "53000", "it was closed: {refused}");
}

#[test]
fn a_temporary_relation_owes_no_sync() {
    let disk = SimDisk::new();
    let files = files(&disk);
    let rels = [Persistence::Temporary, Persistence::Unlogged].map(|p| RelId::new(5, p));
    for rel in rels {
        files.create(rel, false).unwrap();
        files.extend(rel, Fork::Main, BlockNo(0), 1).unwrap();
        files.write(page(rel, 0), &[1; PAGE_BYTES]).unwrap();
    }
    files.sync_all().unwrap();
    assert_eq!(files.stats().syncs, 1);
}

/// RF1: what was written before the sync began is durable.
#[test]
fn a_file_is_synced_once_for_many_writes_and_names_with_their_directory() {
    let disk = SimDisk::new();
    let files = files(&disk);
    let rel = RelId(3);
    files.create(rel, false).unwrap();
    files.extend(rel, Fork::Main, BlockNo(0), 2).unwrap();
    files.write(page(rel, 0), &[1; PAGE_BYTES]).unwrap();
    files.sync_all().unwrap();
    assert_eq!(files.stats().syncs, 1);
    let end = disk.operations();
    files.sync_all().unwrap();
    assert_eq!(disk.operations(), end, "nothing left to sync");
    let mut crashes = disk.crashes();
    crashes.advance_to(end);
    let image = crashes.image(&mut fastrand::Rng::with_seed(1));
    let after = RelFiles::open(Arc::new(image), 4).unwrap();
    let mut back = [0; PAGE_BYTES];
    after.read(page(rel, 0), &mut back).unwrap();
    assert_eq!(back, [1; PAGE_BYTES]);
}

/// Whoever asks for a sync and finds the file taken from the queue waits for the one who took it (RF1).
#[test]
fn what_another_context_is_syncing_is_not_durable_yet() {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;
    let disk = SimDisk::new();
    let files = files(&disk);
    let rel = RelId(3);
    files.create(rel, false).unwrap();
    files.extend(rel, Fork::Main, BlockNo(0), 1).unwrap();
    let ((begin, begun), (go_on, wait)) = (channel(), channel());
    disk.set_fault(Some(Box::new(move |access, path, _| {
        if access == Access::Sync && path == "base/3" {
            begin.send(()).unwrap();
            wait.recv().unwrap();
        }
        None
    })));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| files.sync_all().unwrap());
        begun.recv().unwrap();
        let (told, ended) = channel();
        let files = &files;
        scope.spawn(move || {
            files.sync_logged().unwrap();
            told.send(()).unwrap();
        });
        let early = ended.recv_timeout(Duration::from_millis(200));
        go_on.send(()).unwrap();
        first.join().unwrap();
        assert_eq!(early, Err(RecvTimeoutError::Timeout), "the file is not durable yet");
        ended.recv().unwrap();
    });
}

/// RF4: whose files are gone is in no queue any more.
#[test]
fn what_was_removed_owes_no_sync() {
    let files = files(&SimDisk::new());
    let rel = RelId(3);
    files.create(rel, false).unwrap();
    files.extend(rel, Fork::Main, BlockNo(0), 1).unwrap();
    files.write(page(rel, 0), &[1; PAGE_BYTES]).unwrap();
    files.remove(rel).unwrap();
    files.sync_all().unwrap();
    assert_eq!(files.stats().syncs, 0);
}

/// RF6: a failed sync is final.
#[test]
fn after_a_failed_sync_nothing_is_called_durable() {
    let disk = SimDisk::new();
    let files = files(&disk);
    let rel = RelId(3);
    files.create(rel, false).unwrap();
    files.extend(rel, Fork::Main, BlockNo(0), 1).unwrap();
    disk.set_fault(Some(Box::new(|kind, _, _| {
        (kind == Access::Sync).then(|| io::Error::from_raw_os_error(libc::EIO))
    })));
    assert_eq!(files.sync_logged().unwrap_err().sqlstate(), "58030");
    disk.set_fault(None);
    assert!(files.sync_logged().is_err() && files.sync_all().is_err());
    assert!(disk.exists(inherited::SYNC_FAILED).unwrap(), "the next start is told");
}

#[test]
fn unlogged_relations_are_emptied_and_temporary_ones_removed() {
    let disk = SimDisk::new();
    let files = files(&disk);
    let kinds = [Persistence::Permanent, Persistence::Unlogged, Persistence::Temporary];
    let rels = kinds.map(|p| RelId::new(5, p));
    for clean in [true, false] {
        for rel in rels {
            files.create(rel, true).unwrap();
            files.extend(rel, Fork::Main, BlockNo(0), 2).unwrap();
            files.extend(rel, Fork::Visibility, BlockNo(0), 1).unwrap();
        }
        files.reset(clean).unwrap();
        assert_eq!(files.blocks(rels[0], Fork::Main).unwrap(), 2);
        let unlogged = if clean { (2, 1) } else { (0, 0) };
        assert_eq!(files.blocks(rels[1], Fork::Main).unwrap(), unlogged.0);
        assert_eq!(files.blocks(rels[1], Fork::Visibility).unwrap(), unlogged.1);
        assert_eq!(files.relations().unwrap(), [rels[0], rels[1]]);
    }
}

#[test]
fn errors_name_file_and_block() {
    let disk = SimDisk::new();
    let files = files(&disk);
    let rel = RelId(3);
    files.create(rel, false).unwrap();
    files.extend(rel, Fork::Main, BlockNo(0), 9).unwrap();
    disk.set_fault(Some(Box::new(|kind, _, _| match kind {
        Access::Read => Some(io::Error::from_raw_os_error(libc::EIO)),
        Access::Write => Some(io::Error::from_raw_os_error(libc::ENOSPC)),
        _ => None,
    })));
    let read = files.read(page(rel, 8), &mut [0; PAGE_BYTES]).unwrap_err();
    assert!(read.to_string().starts_with("could not read block 8 of file \"base/3\""), "{read}");
    let full = files.extend(rel, Fork::Main, BlockNo(9), 1).unwrap_err();
    let told = "could not extend file \"base/3\" at block 9: No space left on device";
    assert_eq!(full.to_string(), told);
    let full = files.write(page(rel, 7), &[0; PAGE_BYTES]).unwrap_err();
    let told = "could not extend file \"base/3\" at block 7: No space left on device";
    assert_eq!((full.to_string().as_str(), full.sqlstate()), (told, "53100"));
}

#[test]
fn only_our_names_are_relations() {
    assert_eq!(parse_name("12_vm"), Some((RelId(12), Fork::Visibility)));
    for name in ["", "x", "12_", "12_foo", "-1", "+5", "012", "99999999999", "12.tmp"] {
        assert_eq!(parse_name(name), None, "{name}");
    }
}
