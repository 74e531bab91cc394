//! Entries against the library's sort, with little memory and with much.

use base::disk::Disk;
use base::disk::sim::SimDisk;
use base::ids::BlockNo;

use super::entry::Entry;
use super::*;
use crate::error::SqlState;
use crate::exec::spill::TempFiles;

const LITTLE: usize = 64 << 10;
const MUCH: usize = 64 << 20;

fn space() -> Arc<TempSpace> {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
    TempSpace::new(&TempFiles::open(&disk).unwrap(), &Arc::default())
}

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn tid(number: u64) -> Tid {
    Tid {
        block: BlockNo((number / 7 * 65_537 % 1_000_003) as u32),
        offset: (number % 7) as u16 + 1,
    }
}

type Entries = Vec<(Vec<u8>, Tid)>;

/// Sorts and compares with what the library makes of it; how many bytes of files it took.
fn check(entries: &Entries, limit: usize) -> u64 {
    let written = check_helped(entries, limit, 0);
    for helpers in [1, 3] {
        assert_eq!(check_helped(entries, limit, helpers) > 0, written > 0);
    }
    written
}

/// With helpers and where to begin with them.
fn with_helpers(space: &Arc<TempSpace>, limit: usize, count: usize, expected: u64) -> KeySorter {
    let env = base::Env::new(Arc::new(SimDisk::new()));
    KeySorter::with(space, limit, Some(Helpers { env, count }), expected)
}

fn check_helped(entries: &Entries, limit: usize, helpers: usize) -> u64 {
    let space = space();
    let mut sorter = match helpers {
        0 => KeySorter::new(&space, limit),
        // Half of them find out late that there are many.
        count => with_helpers(&space, limit, count, entries.len() as u64 * (count as u64 / 2)),
    };
    for (key, tid) in entries {
        sorter.push(key, *tid).unwrap();
    }
    let mut sorted = sorter.finish().unwrap();
    let mut expected = entries.clone();
    expected.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.to_u64().cmp(&b.1.to_u64())));
    for (i, (key, tid)) in expected.iter().enumerate() {
        assert_eq!(sorted.next_entry().unwrap(), Some((&key[..], *tid)), "entry {i}");
    }
    assert_eq!(sorted.next_entry().unwrap(), None);
    assert!(space.take_peak() as usize <= limit + 4096, "memory has a bound");
    space.written()
}

#[test]
fn heads_order_keys_and_tids() {
    let keys: [&[u8]; 9] =
        [b"", b"\0", b"\0\0", b"\x01", b"\x01\0", b"aaaaaaaa", b"aaaaaaaa\0", b"aaaaaaaaa", b"b"];
    let all: Vec<Entry> =
        keys.iter().flat_map(|k| [1, 9 << 40].map(|p| Entry::new(k, p))).collect();
    assert!(all.is_sorted_by(|a, b| a < b && a.compare_heads(*b).unwrap().is_lt()));
    let long = Entry::new(b"aaaaaaaaab", 0);
    assert!(Entry::new(b"aaaaaaaaa", 5) < long && long < Entry::new(b"aaaaaaaab", 0));
    assert_eq!(long.compare_heads(Entry::new(b"aaaaaaaaaa", 7)), None);
    assert_eq!((long.head_len(), long.is_long(), long.place()), (9, true, 0));
}

#[test]
fn keys_of_any_length_come_in_their_order() {
    let mut random = Numbers(1);
    for longest in [4, 9, 10, 40, 2700] {
        let count = if longest > 1000 { 600 } else { 12_000 };
        let entries: Entries = (0..count)
            .map(|i| {
                let length = random.below(longest + 1);
                // Few bytes, so that many keys share long beginnings or are the same.
                let key = (0..length).map(|_| [0, 1, 255][random.below(3) as usize]).collect();
                (key, tid(i * 7919 % count))
            })
            .collect();
        assert_eq!(check(&entries, MUCH), 0);
        assert!(check(&entries, LITTLE) > 0);
    }
}

#[test]
fn integers_fill_their_parts_evenly_or_not() {
    let mut random = Numbers(2);
    // Dense, sparse, few values, one value.
    for spread in [1 << 16, 1 << 62, 5, 1] {
        let entries: Entries = (0..30_000)
            .map(|i| {
                let mut key = vec![1];
                key.extend_from_slice(&(random.below(spread) * random.below(spread)).to_be_bytes());
                (key, tid(30_000 - i))
            })
            .collect();
        assert_eq!(check(&entries, MUCH), 0);
        assert!(check(&entries, LITTLE) > 0);
    }
}

#[test]
fn long_keys_that_share_their_beginning_are_told_apart() {
    let entries: Entries = (0..6000u64)
        .map(|i| (format!("\x01the same beginning {}", i * 7919 % 3001).into_bytes(), tid(i)))
        .collect();
    assert_eq!(check(&entries, MUCH), 0);
    assert!(check(&entries, LITTLE) > 0);
    // More runs than are read at once: some are merged before.
    assert!(check(&entries, 4 << 10) > 0);
}

/// More than are sorted at once share their heads, and what comes behind, again and again; some are one key.
#[test]
fn many_keys_that_share_long_beginnings_are_told_apart() {
    let mut random = Numbers(3);
    let mut key = |i: u64| match i % 5 {
        0 => format!("\x01the same beginning {}", random.below(100)).into_bytes(),
        1 => vec![7; 9 + random.below(3) as usize],
        2 => [vec![7; 40 * random.below(5) as usize], vec![random.below(2) as u8; 30]].concat(),
        3 => b"\x01just one key of some length".to_vec(),
        _ => b"short one".to_vec(),
    };
    let entries: Entries = (0..60_000).map(|i| (key(i), tid(i * 7919 % 60_000))).collect();
    assert_eq!(check(&entries, MUCH), 0);
    assert!(check(&entries, 1 << 20) > 0);
    // A beginning that all runs share.
    let entries: Entries = entries
        .into_iter()
        .map(|(key, tid)| ([&b"\x01all keys begin so: "[..], &key].concat(), tid))
        .collect();
    assert_eq!(check(&entries, MUCH), 0);
    assert!(check(&entries, 1 << 20) > 0);
    assert!(check(&entries[..9000].to_vec(), 8 << 10) > 0);
}

#[test]
fn entries_in_order_make_one_run() {
    let runs = |key_bytes, number: fn(u64) -> u64| {
        let mut sorter = KeySorter::new(&space(), LITTLE);
        for i in 0..20_000u64 {
            let mut key = number(i).to_be_bytes().to_vec();
            key.resize(key_bytes, 7);
            sorter.push(&key, Tid { block: BlockNo(i as u32), offset: 1 }).unwrap();
        }
        sorter.runs.len()
    };
    for key_bytes in [9, 30] {
        assert_eq!(runs(key_bytes, |i| i / 3), 1, "equal keys, with ascending addresses");
        assert!(runs(key_bytes, |i| 20_000 - i) > 1);
        assert!(runs(key_bytes, |i| i ^ 1 << 13) > 1);
    }
}

#[test]
fn a_full_temp_file_limit_ends_the_sort() {
    let space = space();
    space.set_limit(100 << 10);
    let mut sorter = KeySorter::new(&space, LITTLE);
    let refused = (0..100_000u64).find_map(|i| sorter.push(&i.to_be_bytes(), tid(i)).err());
    let refused = refused.expect("there is a limit");
    assert_eq!(refused.fields().sqlstate, SqlState::CONFIGURATION_LIMIT_EXCEEDED);
}

/// Entries in no order.
fn push_many(sorter: &mut KeySorter, count: u64) -> Result<()> {
    (0..count).try_for_each(|i| sorter.push(&(i * 7_919 % 100_003).to_be_bytes(), tid(i)))
}

#[test]
fn a_helper_s_error_ends_the_sort() {
    let space = space();
    space.set_limit(300 << 10);
    let mut sorter = with_helpers(&space, LITTLE, 2, u64::MAX);
    let refused = push_many(&mut sorter, 100_000).expect_err("there is a limit");
    assert_eq!(refused.fields().sqlstate, SqlState::CONFIGURATION_LIMIT_EXCEEDED);
    assert!(sorter.team.is_some());
    drop(sorter);
    assert_eq!(space.files_open(), 0, "the file went with the sort");
}

#[test]
fn a_canceled_sort_leaves_nothing() {
    let space = space();
    let mut sorter = with_helpers(&space, LITTLE, 3, u64::MAX);
    push_many(&mut sorter, 20_000).unwrap();
    assert_eq!(space.files_open(), 1);
    base::park::current().interrupt(base::interrupt::Interrupt::Cancel);
    let canceled = push_many(&mut sorter, 100_000).expect_err("somebody looks");
    base::interrupt::clear_statement();
    assert_eq!(canceled.fields().sqlstate, SqlState::QUERY_CANCELED);
    // Its helpers have ended with it: nobody has the file any more.
    drop(sorter);
    assert_eq!(space.files_open(), 0);
}
