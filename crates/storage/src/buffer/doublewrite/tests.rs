use super::*;
use base::disk::sim::SimDisk;

fn page(block: u32) -> PageId {
    PageId::main(RelId(5), BlockNo(block))
}

fn sealed(block: u32, fill: u8) -> [u8; PAGE_BYTES] {
    let mut bytes = [fill; PAGE_BYTES];
    page::seal(&mut bytes, page(block));
    bytes
}

fn batch(area: &mut Area, copies: &[(u32, u8)]) {
    let pages: Vec<PageId> = copies.iter().map(|(block, _)| page(*block)).collect();
    let mut room = vec![0; PAGE_BYTES];
    copies.iter().for_each(|(block, fill)| room.extend_from_slice(&sealed(*block, *fill)));
    area.write(&pages, &mut room, 0, false).unwrap();
}

/// With room made, whatever is there.
fn next_batch(area: &mut Area, copies: &[(u32, u8)]) {
    assert!(area.make_room(u64::MAX));
    batch(area, copies);
}

fn world() -> (SimDisk, RelFiles) {
    let disk = SimDisk::new();
    let files = RelFiles::open(Arc::new(disk.clone()), 10).unwrap();
    files.create(RelId(5), false).unwrap();
    files.extend(RelId(5), Fork::Main, BlockNo(0), 4).unwrap();
    (disk, files)
}

fn fill_of(files: &RelFiles, block: u32) -> Option<u8> {
    let mut bytes = [0; PAGE_BYTES];
    files.read(page(block), &mut bytes).unwrap();
    page::verify(&bytes, page(block)).ok().map(|()| bytes[100])
}

#[test]
fn only_torn_pages_are_repaired_from_the_newest_copy() {
    let (disk, files) = world();
    let mut area = Area::open(&disk, 0).unwrap();
    batch(&mut area, &[(0, 1), (1, 1), (2, 1)]);
    batch(&mut area, &[(1, 2), (1, 3), (9, 2)]);
    files.write(page(0), &sealed(0, 7)).unwrap();
    for block in [1, 2] {
        let mut torn = sealed(block, 8);
        torn[4096..].fill(9);
        files.write(page(block), &torn).unwrap();
    }
    let done = recover(&disk, &files, &mut |_| Ok(false)).unwrap();
    assert_eq!(done, Recovered { pages: 4, repaired: 2 });
    assert_eq!([0, 1, 2].map(|b| fill_of(&files, b)), [Some(7), Some(3), Some(1)]);
    assert_eq!(recover(&disk, &files, &mut |_| Ok(false)).unwrap().repaired, 0);
}

#[test]
fn a_torn_area_repairs_nothing_with_what_it_held_before() {
    let (disk, files) = world();
    let mut area = Area::open(&disk, 0).unwrap();
    next_batch(&mut area, &[(1, 1)]);
    for _ in 1..*AREAS.start() {
        next_batch(&mut area, &[(2, 1)]);
    }
    next_batch(&mut area, &[(1, 3)]);
    // The last batch's header arrived, its copy did not: the first batch's copy is still there.
    disk.corrupt(PATH, PAGE_BYTES as u64, |bytes| {
        bytes[..PAGE_BYTES].copy_from_slice(&sealed(1, 1))
    });
    files.write(page(1), &[8; PAGE_BYTES]).unwrap();
    assert_eq!(
        recover(&disk, &files, &mut |_| Ok(false)).unwrap(),
        Recovered { pages: 2, repaired: 0 }
    );
    assert_eq!(fill_of(&files, 1), None, "damaged, and said to be");
}

#[test]
fn the_sequence_goes_on_after_a_restart() {
    let (disk, files) = world();
    assert_eq!(recover(&disk, &files, &mut |_| Ok(false)).unwrap(), Recovered::default());
    let mut area = Area::open(&disk, 0).unwrap();
    batch(&mut area, &[(1, 1)]);
    drop(area);
    let mut area = Area::open(&disk, 0).unwrap();
    batch(&mut area, &[(1, 2)]);
    files.write(page(1), &[8; PAGE_BYTES]).unwrap();
    // What the log makes anew is not repaired with a copy that may be older.
    assert_eq!(recover(&disk, &files, &mut |_| Ok(true)).unwrap().repaired, 0);
    assert_eq!(recover(&disk, &files, &mut |_| Ok(false)).unwrap().repaired, 1);
    assert_eq!(fill_of(&files, 1), Some(2));
}

#[test]
fn the_area_goes_when_others_protect_the_pages() {
    use crate::buffer::{Config, Pool, TornPages};
    use base::env::Env;
    let (disk, files) = world();
    let mut area = Area::open(&disk, 0).unwrap();
    batch(&mut area, &[(1, 1)]);
    let config = Config { frames: 16, torn_pages: TornPages::Off, ..Config::default() };
    let env = Env::new(Arc::new(disk.clone()));
    let pool = Pool::open(&env, config, Arc::new(files)).unwrap();
    pool.stop();
    assert!(!disk.exists(PATH).unwrap(), "old copies could be taken for the newest");
}

#[test]
fn batches_that_are_durable_in_place_are_not_looked_at() {
    let (disk, files) = world();
    let mut area = Area::open(&disk, 0).unwrap();
    batch(&mut area, &[(1, 1)]);
    let mut room = vec![0; PAGE_BYTES];
    room.extend_from_slice(&sealed(2, 1));
    area.write(&[page(2)], &mut room, 1, false).unwrap();
    for block in [1, 2] {
        files.write(page(block), &[8; PAGE_BYTES]).unwrap();
    }
    let done = recover(&disk, &files, &mut |_| Ok(false)).unwrap();
    assert_eq!(done, Recovered { pages: 1, repaired: 1 });
    assert_eq!([1, 2].map(|b| fill_of(&files, b)), [None, Some(1)]);
}

#[test]
fn areas_are_added_behind_the_last_and_used_in_turn() {
    let (disk, files) = world();
    let least = *AREAS.start();
    let mut area = Area::open(&disk, 0).unwrap();
    // Nothing is synced: the areas there are, and then new ones.
    for n in 0..least + 3 {
        assert!(area.make_room(0));
        batch(&mut area, &[(1, n as u8)]);
    }
    assert_eq!(area.slots.len(), least + 3);
    // The first is free again, and the next; then somebody has to sync.
    for n in 0..2 {
        assert!(area.make_room(2));
        batch(&mut area, &[(2, n)]);
    }
    assert!(!area.make_room(2));
    // What was asked for is made when the turn is over.
    assert!(area.is_filling(least as u64 + 2) && !area.is_filling(least as u64 / 2));
    while area.next < area.slots.len() {
        next_batch(&mut area, &[(3, 7)]);
    }
    next_batch(&mut area, &[(0, 9)]);
    assert_eq!(area.slots.len(), least + 4);
    // A start goes on behind the newest.
    let (sequence, next) = (area.sequence, area.next);
    drop(area);
    let area = Area::open(&disk, 0).unwrap();
    assert_eq!((area.sequence, area.next, area.slots.len()), (sequence, next, least + 4));
    files.write(page(0), &[8; PAGE_BYTES]).unwrap();
    assert_eq!(recover(&disk, &files, &mut |_| Ok(false)).unwrap().repaired, 1);
    assert_eq!(fill_of(&files, 0), Some(9));
}

#[test]
fn where_there_is_no_room_for_another_area_the_old_ones_do() {
    use base::disk::sim::Access;
    let (disk, _) = world();
    let least = *AREAS.start();
    let mut area = Area::open(&disk, 0).unwrap();
    for _ in 0..least {
        next_batch(&mut area, &[(1, 1)]);
    }
    assert!(area.make_room(0), "a new one");
    disk.set_fault(Some(Box::new(|kind, path, _| {
        (kind == Access::Write && path == PATH)
            .then(|| std::io::Error::from_raw_os_error(libc::ENOSPC))
    })));
    let mut room = vec![0; PAGE_BYTES];
    room.extend_from_slice(&sealed(2, 1));
    assert!(area.write(&[page(2)], &mut room, 0, false).is_err());
    assert!(area.do_without_new());
    disk.set_fault(None);
    assert_eq!(area.slots.len(), least);
    assert!(area.make_room(1), "the first is free");
    batch(&mut area, &[(2, 1)]);
    assert_eq!(area.next, 1);
}
