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
    area.write(&pages, &mut room).unwrap();
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
    assert_eq!(done, Recovered { copies: 6, repaired: 2 });
    assert_eq!([0, 1, 2].map(|b| fill_of(&files, b)), [Some(7), Some(3), Some(1)]);
    assert_eq!(recover(&disk, &files, &mut |_| Ok(false)).unwrap().repaired, 0);
}

#[test]
fn a_torn_area_repairs_nothing_with_what_it_held_before() {
    let (disk, files) = world();
    let mut area = Area::open(&disk, 0).unwrap();
    batch(&mut area, &[(1, 1)]);
    for _ in 1..AREAS {
        batch(&mut area, &[(2, 1)]);
    }
    batch(&mut area, &[(1, 3)]);
    // The last batch's header arrived, its copy did not: the first batch's copy is still there.
    let first = 1 % AREAS * AREA_BYTES + PAGE_BYTES as u64;
    disk.corrupt(PATH, first, |bytes| bytes[..PAGE_BYTES].copy_from_slice(&sealed(1, 1)));
    files.write(page(1), &[8; PAGE_BYTES]).unwrap();
    assert_eq!(
        recover(&disk, &files, &mut |_| Ok(false)).unwrap(),
        Recovered { copies: AREAS as usize - 1, repaired: 0 }
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
