//! Whole trees against an ordered set.

use super::{Dice, FEW, STYLES, random_key};
use crate::btree::{BTree, Bounds, Direction, MAX_KEY_BYTES, NewEntry, Scan};
use crate::buffer::Passage;
use crate::heap::fsm;
use crate::page::changing;
use crate::page::{HEADER_BYTES, PageBytes};
use crate::rig::Rig;
use crate::wal::Kind;
use base::rank::Rank;
use base::{BlockNo, Fork, Persistence, RelId, Tid};
use std::collections::BTreeSet;
use std::ops::Bound;

type Model = BTreeSet<(Vec<u8>, Tid)>;

pub(super) fn tree(rig: &Rig, number: u32) -> BTree {
    let rel = rig.create(number, Persistence::Permanent, Rank::IndexPage);
    BTree::new(rel, &rig.txns)
}

pub(super) fn tid(number: u64) -> Tid {
    Tid { block: BlockNo((number / 200) as u32), offset: (number % 200) as u16 + 1 }
}

/// What the entry carries in the tests where some do: of any length that there is room for, often nothing; mostly
/// nothing where keys are few, so that there are postings, and entries between them that can be part of none.
fn carried(key: &[u8], tid: Tid) -> Vec<u8> {
    let number = key.len() + usize::from(tid.offset);
    if key.starts_with(FEW) && tid.offset != 1 {
        return Vec::new();
    }
    let len = [0, 1, 13, 0, 300, 2][number % 6].min(MAX_KEY_BYTES - key.len());
    vec![number as u8; len]
}

/// An entry that carries something.
pub(super) fn loaded<'k>((key, tid): &'k (Vec<u8>, Tid), carried: &'k [u8]) -> NewEntry<'k> {
    NewEntry { key, carried, tid: *tid }
}

/// Whether all entries carry what [`carried`] says.
fn check_carried(tree: &BTree) {
    for direction in [Direction::Forward, Direction::Backward] {
        let mut scan = Scan::new(Bounds::ALL, direction, true);
        while let Some(entry) = scan.next(tree).unwrap() {
            assert_eq!(entry.carried, carried(entry.key, entry.tid));
        }
    }
    tree.check(&mut |fault| panic!("{fault}"), &mut |key, found, tid| {
        assert_eq!(found, carried(key, tid));
    })
    .unwrap();
}

pub(super) fn check(tree: &BTree) -> Vec<(Vec<u8>, Tid)> {
    let mut entries = Vec::new();
    let mut faults = Vec::new();
    tree.check(&mut |fault| faults.push(fault), &mut |key, _, tid| {
        entries.push((key.to_vec(), tid))
    })
    .unwrap();
    assert!(faults.is_empty(), "{faults:#?}");
    entries
}

pub(super) fn scanned(
    tree: &BTree,
    bounds: Bounds<'_>,
    direction: Direction,
) -> Vec<(Vec<u8>, Tid)> {
    let mut scan = Scan::new(bounds, direction, true);
    let mut found = Vec::new();
    while let Some(entry) = scan.next(tree).unwrap() {
        found.push((entry.key.to_vec(), entry.tid));
    }
    found
}

fn compare(tree: &BTree, model: &Model, dice: &mut Dice, style: u64) {
    let all: Vec<_> = model.iter().cloned().collect();
    assert_eq!(check(tree), all);
    let mut tids = Vec::new();
    for _ in 0..12 {
        let (a, b) = (random_key(dice, style), random_key(dice, style));
        let (low, high) = (a.clone().min(b.clone()), a.max(b));
        let side = |dice: &mut Dice, key| match dice.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(key),
            _ => Bound::Excluded(key),
        };
        let bounds = Bounds { low: side(dice, low.as_slice()), high: side(dice, high.as_slice()) };
        let inside = |key: &[u8]| {
            (match bounds.low {
                Bound::Unbounded => true,
                Bound::Included(low) => key >= low,
                Bound::Excluded(low) => key > low,
            }) && (match bounds.high {
                Bound::Unbounded => true,
                Bound::Included(high) => key <= high,
                Bound::Excluded(high) => key < high,
            })
        };
        let mut expected: Vec<_> = all.iter().filter(|(key, _)| inside(key)).cloned().collect();
        assert_eq!(scanned(tree, bounds, Direction::Forward), expected, "{bounds:?}");
        expected.reverse();
        assert_eq!(scanned(tree, bounds, Direction::Backward), expected, "{bounds:?}");
        tree.lookup(&low, &mut tids).unwrap();
        let equal: Vec<_> =
            all.iter().filter(|(key, _)| *key == low).map(|(_, tid)| *tid).collect();
        assert_eq!(tids, equal);
    }
}

fn grow_and_shrink(seed: u64, style: u64, rig: &Rig) -> (BTree, Model) {
    let mut dice = Dice::new(seed * 31 + style);
    let tree = tree(rig, seed as u32 * 10 + style as u32 + 1);
    let mut model = Model::new();
    let ascending = dice.below(3) == 0;
    for round in 0..4 {
        let often = if style < 7 { 900 } else { 5000 };
        for i in 0..dice.below(often) {
            let key = match ascending {
                true => (round * 10_000 + i).to_be_bytes().to_vec(),
                false => random_key(&mut dice, style),
            };
            let entry = (key, tid(dice.below(20_000)));
            if model.insert(entry.clone()) {
                tree.insert(loaded(&entry, &carried(&entry.0, entry.1))).unwrap();
            }
        }
        compare(&tree, &model, &mut dice, style);
        check_carried(&tree);
        let keep = dice.below(4);
        let spared = |tid: Tid| tid.block.0 as u64 % 4 < keep;
        let cleaning = tree
            .vacuum(&mut Passage::for_vacuum(tree.relation()), &mut |tid| !spared(tid), &mut || {
                Ok(())
            })
            .unwrap();
        let before = model.len();
        model.retain(|(_, tid)| spared(*tid));
        assert_eq!(cleaning.removed as usize, before - model.len());
        compare(&tree, &model, &mut dice, style);
        check_carried(&tree);
    }
    (tree, model)
}

#[test]
fn a_tree_is_an_ordered_set() {
    for seed in 0..2 {
        let rig = Rig::new(64);
        for style in 0..STYLES {
            grow_and_shrink(seed, style, &rig);
        }
    }
}

/// Who reads without a latch gets over pages that become others under way.
#[test]
fn a_tree_is_an_ordered_set_though_its_pages_change_under_its_readers() {
    let changes = changing::unrest(5, || {
        let rig = Rig::new(64);
        for style in 0..STYLES {
            grow_and_shrink(3, style, &rig);
        }
    });
    assert!(changes > 10_000, "{changes} pages changed");
}

/// Byte for byte (B6); nothing has marked an entry dead.
pub(super) fn assert_same_pages(tree: &BTree, again: &BTree) {
    let blocks = tree.relation().blocks(Fork::Main).unwrap();
    let bytes = |tree: &BTree, block| {
        let page = tree.relation().read(Fork::Main, BlockNo(block)).unwrap();
        let mut bytes = PageBytes::new();
        page.view().to_bytes(&mut bytes);
        bytes.0
    };
    for block in 0..blocks {
        let (one, other) = (bytes(tree, block), bytes(again, block));
        // Behind the header, where the checksum is.
        assert!(one[HEADER_BYTES..] == other[HEADER_BYTES..], "block {block}");
    }
}

#[test]
fn redo_of_the_whole_log_gives_the_same_trees() {
    let rig = Rig::new(64);
    let grown: Vec<_> = (0..STYLES).map(|style| grow_and_shrink(9, style, &rig)).collect();
    let relations: Vec<RelId> = grown.iter().map(|(tree, _)| tree.relation().id()).collect();
    for times in 1..=2 {
        let fresh = rig.redone(times, &relations);
        for (tree, model) in &grown {
            let rel = fresh.relation(tree.relation().id(), Rank::IndexPage);
            let again = BTree::new(rel, &rig.txns);
            let all: Vec<_> = model.iter().cloned().collect();
            assert_eq!(check(&again), all, "after {times} times");
            assert_same_pages(tree, &again);
            check_carried(&again);
        }
        fresh.stop();
    }
}

/// A crash after any record of the log, in the middle of a split too, leaves a sound tree; and whoever writes
/// next finishes what was begun.
#[test]
fn a_tree_is_sound_after_every_record_of_its_log() {
    let rig = Rig::new(64);
    let tree = tree(&rig, 1);
    let mut dice = Dice::new(5);
    let mut number = 0;
    for _ in 0..3 {
        for _ in 0..130 {
            // Long keys: few to a page, so that there are splits on three levels.
            let mut key = vec![dice.below(200) as u8; 1 + dice.below(900) as usize];
            key.extend_from_slice(&dice.roll().to_be_bytes());
            let entry = (key, tid(number));
            tree.insert(loaded(&entry, &carried(&entry.0, entry.1))).unwrap();
            number += 1;
        }
        let spared = dice.below(4);
        tree.vacuum(
            &mut Passage::for_vacuum(tree.relation()),
            &mut |tid| u64::from(tid.offset) % 4 != spared,
            &mut || Ok(()),
        )
        .unwrap();
    }
    let rel = tree.relation().id();
    let fresh = rig.empty(&[rel]);
    let again = BTree::new(fresh.relation(rel, Rank::IndexPage), &rig.txns);
    let mut met = BTreeSet::new();
    let mut interesting = Vec::new();
    rig.redo_into(&fresh, |record, kind| {
        check(&again);
        check_carried(&again);
        met.insert(kind);
        if kind == Kind::BTREE_SPLIT && interesting.len() < 12 {
            interesting.push(record);
        }
        true
    });
    let kinds = [
        Kind::BTREE_SPLIT_ROOT,
        Kind::BTREE_SEPARATOR,
        Kind::BTREE_UNLINK,
        Kind::BTREE_SHIFT,
        Kind::BTREE_INSERT_CARRYING,
    ];
    for kind in kinds {
        assert!(met.contains(&kind), "{kind:?} was not met");
    }
    fresh.stop();
    for stop in interesting {
        let fresh = rig.empty(&[rel]);
        rig.redo_into(&fresh, |record, _| record < stop);
        let cut = BTree::new(fresh.relation(rel, Rank::IndexPage), &rig.txns);
        let mut expected: Model = check(&cut).into_iter().collect();
        for i in 0..60 {
            let mut key = vec![dice.below(200) as u8; 1 + dice.below(900) as usize];
            key.extend_from_slice(&dice.roll().to_be_bytes());
            cut.insert(NewEntry::plain(&key, tid(50_000 + i))).unwrap();
            expected.insert((key, tid(50_000 + i)));
        }
        assert_eq!(check(&cut), expected.into_iter().collect::<Vec<_>>());
        fresh.stop();
    }
}

#[test]
fn a_built_tree_is_like_one_grown() {
    let rig = Rig::new(64);
    for style in 0..STYLES {
        let mut dice = Dice::new(style + 77);
        let mut model = Model::new();
        let often = if style < 7 { 6_000 } else { 40_000 };
        for _ in 0..dice.below(often) {
            model.insert((random_key(&mut dice, style), tid(dice.below(20_000))));
        }
        let tree = tree(&rig, style as u32 + 1);
        let mut builder = tree.build().unwrap();
        for entry in &model {
            builder.push(loaded(entry, &carried(&entry.0, entry.1))).unwrap();
        }
        assert_eq!(builder.finish().unwrap(), model.len() as u64);
        compare(&tree, &model, &mut dice, style);
        for _ in 0..500 {
            let entry = (random_key(&mut dice, style), tid(dice.below(20_000)));
            if model.insert(entry.clone()) {
                tree.insert(loaded(&entry, &carried(&entry.0, entry.1))).unwrap();
            }
        }
        compare(&tree, &model, &mut dice, style);
        check_carried(&tree);
    }
}

/// Marked entries are skipped at once, and go when their page needs room, before it splits.
#[test]
fn marked_entries_make_room_before_a_split() {
    let rig = Rig::new(64);
    let tree = tree(&rig, 1);
    let key = |number: u64| number.to_be_bytes();
    let blocks = || tree.relation().blocks(base::Fork::Main).unwrap();
    let mut number = 0;
    while blocks() < 3 {
        number += 1;
        // Descending, so that the first leaf is the one that fills.
        tree.insert(NewEntry::plain(&key(10_000 - number), tid(number))).unwrap();
    }
    let mut tids = Vec::new();
    for round in 0..6 {
        let mut scan = Scan::new(Bounds::ALL, Direction::Forward, true);
        let mut spared = 0;
        while let Some(entry) = scan.next(&tree).unwrap() {
            let key: [u8; 8] = entry.key.try_into().unwrap();
            let tid = entry.tid;
            match u64::from_be_bytes(key) % 3 {
                0 => spared += 1,
                1 => scan.found_dead(),
                _ => tree.mark_dead(&key, &mut |found| Ok(found == tid)).unwrap(),
            }
        }
        let left = scanned(&tree, Bounds::ALL, Direction::Backward);
        assert_eq!(left.len(), spared, "marked entries are not seen");
        tree.lookup(&key(10_000 - number), &mut tids).unwrap();
        assert_eq!(tids.len(), usize::from((10_000 - number) % 3 == 0));
        for _ in 0..100 {
            number += 1;
            tree.insert(NewEntry::plain(&key(10_000 - number), tid(number))).unwrap();
        }
        assert!(blocks() <= 4, "round {round}: {} blocks", blocks());
    }
    check(&tree);
}

/// A crash may bring back a map that tells pages to be free which are in use again; the page being split may
/// be among them, and its latch is the caller's own.
#[test]
fn a_map_that_tells_pages_in_use_to_be_free_misleads_nobody() {
    let (done, over) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let rig = Rig::new(64);
        let tree = tree(&rig, 1);
        let mut expected = Vec::new();
        for i in 0..3000_u64 {
            let key = (i * 7919 % 3001).to_be_bytes();
            tree.insert(NewEntry::plain(&key, tid(i))).unwrap();
            expected.push((key.to_vec(), tid(i)));
            if i % 100 == 0 {
                for block in 0..tree.relation().blocks(base::Fork::Main).unwrap() {
                    fsm::give_whole(tree.relation(), BlockNo(block)).unwrap();
                }
            }
        }
        expected.sort();
        assert_eq!(check(&tree), expected);
        done.send(()).unwrap();
    });
    let limit = std::time::Duration::from_secs(120);
    over.recv_timeout(limit).expect("the inserts end, and the tree is right");
}

/// Pages deleted under an open snapshot wait for its end; none of them is forgotten meanwhile, nor by a crash, which
/// empties the map and the memory.
#[test]
fn deleted_pages_are_used_again_when_nobody_can_be_on_the_way() {
    let rig = Rig::new(256);
    let mut tree = tree(&rig, 1);
    let rel = tree.relation().clone();
    let blocks = || rel.blocks(Fork::Main).unwrap();
    let mut number = 0u64;
    let mut insert = |tree: &BTree, count: u64| {
        for _ in 0..count {
            number += 1;
            tree.insert(NewEntry::plain(&number.to_be_bytes(), tid(number))).unwrap();
        }
    };
    insert(&tree, 20_000);
    let full = blocks();
    for round in 0..6 {
        let reader = rig.begin();
        reader.statement_snapshot();
        let done = tree
            .vacuum(&mut Passage::for_vacuum(tree.relation()), &mut |_| true, &mut || Ok(()))
            .unwrap();
        assert!(done.pages_deleted + 3 > u64::from(full) / 2, "round {round}: {done:?}");
        let before = blocks();
        insert(&tree, 4_000);
        assert!(round > 0 || blocks() >= before + 5, "the pages may still be come to");
        reader.commit().unwrap();
        let later = rig.begin();
        later.xid().unwrap();
        later.commit().unwrap();
        rig.wal.flush(rig.wal.position());
        rig.txns.refresh();
        if round % 2 == 1 {
            rel.truncate(Fork::FreeSpace, 0).unwrap();
            tree = BTree::new(rel.clone(), &rig.txns);
            tree.vacuum(&mut Passage::for_vacuum(tree.relation()), &mut |_| false, &mut || Ok(()))
                .unwrap();
        }
        insert(&tree, 16_000);
        // So many were live at once, with those that had to wait.
        assert!(blocks() <= full + full / 3, "round {round}: {} blocks of {full}", blocks());
    }
    check(&tree);
}

#[test]
fn keys_up_to_the_limit_and_no_longer() {
    let rig = Rig::new(64);
    let tree = tree(&rig, 1);
    for i in 0..200u8 {
        let mut key = vec![7; MAX_KEY_BYTES];
        key[MAX_KEY_BYTES - 1] = i;
        tree.insert(NewEntry::plain(&key, tid(u64::from(i)))).unwrap();
    }
    assert_eq!(check(&tree).len(), 200);
    assert!(tree.insert(NewEntry::plain(&vec![0; MAX_KEY_BYTES + 1], tid(1))).is_err());
}

/// Writers, readers in both directions and vacuum on one tree, with hardly any frames.
#[test]
fn threads_share_a_tree_in_sixteen_frames() {
    let rig = Rig::new(16);
    let tree = tree(&rig, 1);
    const WRITERS: u64 = 3;
    const EACH: u64 = 2000;
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let tree = &tree;
            scope.spawn(move || {
                let mut dice = Dice::new(writer + 1);
                for i in 0..EACH {
                    let random = dice.below(1 << 20) << 4 | writer;
                    let number = if writer == 0 { 1 << 30 | i } else { random };
                    let key = [number.to_be_bytes(), i.to_be_bytes()].concat();
                    // Even TIDs stay, odd ones are vacuumed.
                    tree.insert(NewEntry::plain(&key, tid(2 * (i * WRITERS + writer) + i % 2)))
                        .unwrap();
                }
            });
        }
        for reader in 0..2 {
            let tree = &tree;
            scope.spawn(move || {
                for _ in 0..15 {
                    let direction =
                        if reader == 0 { Direction::Forward } else { Direction::Backward };
                    let mut all = scanned(tree, Bounds::ALL, direction);
                    if reader == 1 {
                        all.reverse();
                    }
                    assert!(all.is_sorted_by(|a, b| a < b), "a scan is in order, without doubles");
                }
            });
        }
        let tree = &tree;
        scope.spawn(move || {
            for _ in 0..10 {
                tree.vacuum(
                    &mut Passage::for_vacuum(tree.relation()),
                    &mut |tid| tid.offset % 2 == 0,
                    &mut || Ok(()),
                )
                .unwrap();
            }
        });
    });
    let left = check(&tree);
    let even = left.iter().filter(|(_, tid)| tid.offset % 2 == 1).count() as u64;
    assert_eq!(even, WRITERS * EACH / 2);
}
