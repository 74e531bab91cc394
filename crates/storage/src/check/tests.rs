//! Damage is told, by the room that knows.

use super::*;
use crate::btree::{BTree, NewEntry};
use crate::buffer::Relation;
use crate::hash::{FILL_PERCENT, HashIndex};
use crate::rig::Rig;
use base::Persistence;
use base::rank::Rank;

/// Rows are their own keys; one that begins with `null` is like no other, and of one with `odd` nobody knows.
fn expected_of(row: &[u8]) -> std::result::Result<Option<Expected>, String> {
    if row.starts_with(b"odd") {
        return Err("division by zero".into());
    }
    let content = Content::from(row.to_vec());
    Ok(Some(Expected { content, alone: !row.starts_with(b"null") }))
}

fn faults(heap: &HeapRel, index: &Index) -> Vec<String> {
    let mut report = Report::default();
    let indexed = Indexed { index, expected_of: &expected_of, unique: true, complete: true };
    table(heap, &[indexed], &mut report).unwrap();
    report.faults
}

/// Changes a word of a page, and tells what it was.
fn damage(rel: &Relation, block: u32, offset: usize) -> u32 {
    let before = rel.read(Fork::Main, BlockNo(block)).unwrap().get_u32(offset);
    put(rel, block, offset, before ^ 0x0101_0101);
    before
}

/// Likewise, to what it is told. The page is to be written: it may leave the cache at any time.
fn put(rel: &Relation, block: u32, offset: usize, word: u32) {
    let mut page = rel.write(Fork::Main, BlockNo(block)).unwrap();
    page.mark_dirty();
    page.put_u32(offset, word);
}

#[test]
fn an_index_that_disagrees_with_its_heap_is_found_out() {
    let rig = Rig::new(64);
    let heap = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    let heap = HeapRel::new(heap, &rig.txns, 100);
    let index = rig.create(2, Persistence::Permanent, Rank::IndexPage);
    let index = Index::from(BTree::new(index, &rig.txns));
    let txn = rig.begin();
    let tids: Vec<Tid> = (0..100u8)
        .map(|i| {
            let tid = heap.insert(&txn, &[i; 20]).unwrap();
            index.insert(NewEntry::plain(&[i; 20], tid)).unwrap();
            tid
        })
        .collect();
    let missing = heap.insert(&txn, b"missing").unwrap();
    let twice = heap.insert(&txn, &[5; 20]).unwrap();
    index.insert(NewEntry::plain(&[5; 20], twice)).unwrap();
    txn.commit().unwrap();
    index.insert(NewEntry::plain(b"wrong", tids[7])).unwrap();
    let nowhere = Tid { block: BlockNo(77), offset: 1 };
    index.insert(NewEntry::plain(b"nowhere", nowhere)).unwrap();
    let found = faults(&heap, &index);
    let told = |what: &str, tid: Tid| {
        found.iter().any(|f| f.contains(what) && f.contains(&tid.to_string()))
    };
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(told("no entry leads to it", missing));
    assert!(told("unique", twice) && told("another row's key", tids[7]));
    assert!(told("no line is", nowhere));
}

#[test]
fn equal_keys_are_a_fault_unless_they_are_null_and_unknown_ones_are_told() {
    let rig = Rig::new(64);
    let heap = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    let heap = HeapRel::new(heap, &rig.txns, 100);
    let index = rig.create(2, Persistence::Permanent, Rank::IndexPage);
    let index = Index::from(BTree::new(index, &rig.txns));
    let enter = |row: &[u8]| {
        let txn = rig.begin();
        let tid = heap.insert(&txn, row).unwrap();
        index.insert(NewEntry::plain(row, tid)).unwrap();
        txn.commit().unwrap();
        tid
    };
    enter(b"null, 1");
    enter(b"null, 1");
    assert_eq!(faults(&heap, &index), <[String; 0]>::default());
    enter(b"one");
    let second = enter(b"one");
    let odd = enter(b"odd");
    let found = faults(&heap, &index);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("unique") && found[0].contains(&second.to_string()), "{found:?}");
    let told = "its key can't be worked out: division by zero";
    assert!(found[1].contains(told) && found[1].contains(&odd.to_string()), "{found:?}");
}

#[test]
fn damaged_pages_are_found_out() {
    let rig = Rig::new(64);
    let heap = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    let heap = HeapRel::new(heap, &rig.txns, 100);
    let index = rig.create(2, Persistence::Permanent, Rank::IndexPage);
    let index = Index::from(BTree::new(index, &rig.txns));
    let txn = rig.begin();
    for i in 0..2000u32 {
        let row = i.to_be_bytes();
        let tid = heap.insert(&txn, &row).unwrap();
        index.insert(NewEntry::plain(&row, tid)).unwrap();
    }
    txn.commit().unwrap();
    assert_eq!(faults(&heap, &index), Vec::<String>::new());
    for (rel, block, offset) in [
        (index.relation(), 1, 64 + 16 * 10),
        (index.relation(), 2, 24),
        (index.relation(), 0, 32),
        (heap.relation(), 1, 24),
        (heap.relation(), 2, 16),
    ] {
        let before = damage(rel, block, offset);
        assert!(!faults(&heap, &index).is_empty(), "block {block} offset {offset}");
        put(rel, block, offset, before);
    }
    assert_eq!(faults(&heap, &index), Vec::<String>::new());
}

/// A table with a hash index on its rows, and the rows' addresses.
fn hashed(rig: &Rig, rows: u32) -> (HeapRel, Index, Vec<Tid>) {
    let heap = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    let heap = HeapRel::new(heap, &rig.txns, 100);
    let index = rig.create(2, Persistence::Permanent, Rank::IndexPage);
    let index = Index::from(HashIndex::new(index, &rig.txns, FILL_PERCENT));
    let txn = rig.begin();
    let enter = |i: u32| {
        let row = i.to_be_bytes();
        let tid = heap.insert(&txn, &row).unwrap();
        index.insert(NewEntry::plain(&row, tid)).unwrap();
        tid
    };
    let tids = (0..rows).map(enter).collect();
    txn.commit().unwrap();
    (heap, index, tids)
}

#[test]
fn a_hash_index_that_disagrees_with_its_heap_is_found_out() {
    let rig = Rig::new(64);
    let (heap, index, tids) = hashed(&rig, 100);
    assert_eq!(faults(&heap, &index), Vec::<String>::new());
    let txn = rig.begin();
    let missing = heap.insert(&txn, b"missing").unwrap();
    txn.commit().unwrap();
    index.insert(NewEntry::plain(b"wrong", tids[7])).unwrap();
    let nowhere = Tid { block: BlockNo(77), offset: 1 };
    index.insert(NewEntry::plain(b"nowhere", nowhere)).unwrap();
    let found = faults(&heap, &index);
    let told = |what: &str, tid: Tid| {
        found.iter().any(|f| f.contains(what) && f.contains(&tid.to_string()))
    };
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(told("no entry leads to it", missing));
    assert!(told("another row's key", tids[7]) && told("no line is", nowhere));
}

#[test]
fn damaged_pages_of_a_hash_index_are_found_out() {
    let rig = Rig::new(64);
    let (heap, index, _) = hashed(&rig, 2000);
    assert_eq!(faults(&heap, &index), Vec::<String>::new());
    // The first pages of two buckets: link, count, number, depth, cursor, a hash and the row behind it.
    for block in [1, 2] {
        for offset in [24, 32, 36, 40, 44, 64 + 16 * 10, 64 + 16 * 10 + 8] {
            let before = damage(index.relation(), block, offset);
            assert!(!faults(&heap, &index).is_empty(), "block {block} offset {offset}");
            put(index.relation(), block, offset, before);
        }
    }
    assert_eq!(faults(&heap, &index), Vec::<String>::new());
}

/// A row that a hash index has twice, on two pages of a chain: each page is in order.
#[test]
fn an_entry_that_is_there_twice_is_found_out() {
    let rig = Rig::new(64);
    let heap = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    let heap = HeapRel::new(heap, &rig.txns, 100);
    let rel = rig.create(2, Persistence::Permanent, Rank::IndexPage);
    let index = Index::from(HashIndex::new(rel, &rig.txns, FILL_PERCENT));
    let txn = rig.begin();
    let enter = || {
        let tid = heap.insert(&txn, b"null, and alike").unwrap();
        index.insert(NewEntry::plain(b"null, and alike", tid)).unwrap();
        tid
    };
    let first = enter();
    // As many more as the first page of a bucket takes: what comes then is on another one.
    for _ in 0..507 {
        enter();
    }
    txn.commit().unwrap();
    assert_eq!(faults(&heap, &index), Vec::<String>::new());
    index.insert(NewEntry::plain(b"null, and alike", first)).unwrap();
    let found = faults(&heap, &index);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("two entries of one key") && found[0].contains(&first.to_string()));
}
