//! How a full leaf finds room whatever its siblings are like, and how vacuum finds what went elsewhere meanwhile.

use super::Dice;
use crate::btree::page::{INCOMPLETE, Node};
use crate::btree::{BTree, MAX_KEY_BYTES, NewEntry};
use crate::buffer::Passage;
use crate::rig::Rig;
use crate::wal::Kind;
use base::rank::Rank;
use base::{BlockNo, Fork, Persistence, Tid, sim};
use std::collections::BTreeSet;
use std::sync::Arc;

fn tree(rig: &Rig, number: u32) -> BTree {
    let rel = rig.create(number, Persistence::Permanent, Rank::IndexPage);
    BTree::new(rel, &rig.txns)
}

fn tid(number: u64) -> Tid {
    Tid { block: BlockNo((number / 200) as u32), offset: (number % 200) as u16 + 1 }
}

fn insert(tree: &BTree, key: u64, number: u64) {
    tree.insert(NewEntry::plain(&key.to_be_bytes(), tid(number))).unwrap();
}

fn check(tree: &BTree) -> Vec<(Vec<u8>, Tid)> {
    let mut entries = Vec::new();
    tree.check(&mut |fault| panic!("{fault}"), &mut |key, _, tid| {
        entries.push((key.to_vec(), tid))
    })
    .unwrap();
    entries
}

/// The first key of the leaf whose split is incomplete.
fn incomplete(tree: &BTree) -> Option<u64> {
    (0..tree.relation().blocks(Fork::Main).unwrap()).find_map(|block| {
        let page = tree.relation().read(Fork::Main, BlockNo(block)).unwrap();
        let node = Node(page.view());
        let found = node.is_live() && node.is_leaf() && node.has(INCOMPLETE);
        found.then(|| u64::from_be_bytes(node.key(0)[..].try_into().unwrap()))
    })
}

/// A crash comes between a split and its entry in the parent; then the leaf to the left fills. Its sibling is as full,
/// and can't be split before that is made good.
#[test]
fn a_leaf_beside_an_incomplete_split_finds_room() {
    const STEP: u64 = 1_000;
    let rig = Rig::new(256);
    let whole = tree(&rig, 1);
    for number in 0..3_000 {
        insert(&whole, number * STEP, number);
    }
    let rel = whole.relation().id();
    let (again, mut splits) = (rig.empty(&[rel]), Vec::new());
    rig.redo_into(&again, |record, kind| {
        splits.extend((kind == Kind::BTREE_SPLIT).then_some(record));
        true
    });
    again.stop();
    assert!(splits.len() > 3);
    for stop in splits {
        let fresh = rig.empty(&[rel]);
        rig.redo_into(&fresh, |record, _| record < stop);
        let cut = BTree::new(fresh.relation(rel, Rank::IndexPage), &rig.txns);
        let first = incomplete(&cut).expect("it stopped in a split");
        let mut expected: BTreeSet<(Vec<u8>, Tid)> = check(&cut).into_iter().collect();
        for i in 0..600 {
            let (key, number) = (first - STEP / 2 - i % 450 * STEP + i / 450, 50_000 + i);
            insert(&cut, key, number);
            expected.insert((key.to_be_bytes().to_vec(), tid(number)));
        }
        assert_eq!(incomplete(&cut), None);
        assert!(check(&cut).into_iter().eq(expected));
        fresh.stop();
    }
}

/// Leaves of two or three entries are full, and can't be cut in three.
#[test]
fn leaves_of_the_longest_keys_find_room() {
    for seed in 1..60 {
        let rig = Rig::new(256);
        let (tree, mut dice) = (tree(&rig, 1), Dice::new(seed));
        let mut expected = BTreeSet::new();
        for number in 0..120 {
            let mut key = vec![7; MAX_KEY_BYTES - dice.below(100) as usize];
            let end = key.len();
            // They differ at their begin or only at their end.
            key[0] = dice.below(3) as u8;
            key[end - 3] = dice.below(3) as u8;
            key[end - 1] = dice.below(200) as u8;
            tree.insert(NewEntry::plain(&key, tid(number))).unwrap();
            expected.insert((key, tid(number)));
        }
        assert!(check(&tree).into_iter().eq(expected), "seed {seed}");
    }
}

/// Entries that vacuum is to remove: those of even rows that were there when it began.
fn is_dead(found: Tid, before: u64) -> bool {
    found < tid(before) && found.offset.is_multiple_of(2)
}

#[test]
fn vacuum_follows_a_root_that_splits_before_it_looks() {
    let rig = Rig::new(64);
    let tree = tree(&rig, 1);
    (0..400).for_each(|number| insert(&tree, number, number));
    assert_eq!(tree.relation().blocks(Fork::Main).unwrap(), 1);
    let mut more = 400..1_000;
    let mut rest = || {
        more.by_ref().for_each(|number| insert(&tree, number, number));
        Ok(())
    };
    let mut passage = Passage::for_vacuum(tree.relation());
    let cleaning = tree.vacuum(&mut passage, &mut |found| is_dead(found, 400), &mut rest).unwrap();
    assert_eq!((cleaning.removed, cleaning.entries), (200, 1_000));
    assert_eq!(check(&tree).len(), 800);
}

/// How many entries a root holds that is a leaf.
fn full_root() -> u64 {
    let rig = Rig::new(64);
    let tree = tree(&rig, 1);
    let splits = |number: &u64| {
        insert(&tree, *number, *number);
        tree.relation().blocks(Fork::Main).unwrap() > 1
    };
    (0..).find(splits).expect("it is full at some time")
}

/// The same wherever another takes its turn.
#[test]
fn vacuum_follows_a_root_that_splits_at_any_moment() {
    let mut split_late = 0;
    let number = full_root();
    for seed in 0..200 {
        let met = Arc::new(std::sync::Mutex::new((0, 0)));
        let out = Arc::clone(&met);
        sim::run(seed, move || {
            let rig = Rig::new(64);
            let tree = Arc::new(tree(&rig, 1));
            (0..number).for_each(|number| insert(&tree, number, number));
            assert_eq!(tree.relation().blocks(Fork::Main).unwrap(), 1);
            let writer = {
                let tree = Arc::clone(&tree);
                rig.env().spawn("writer", move || {
                    (number..number + 60).for_each(|number| insert(&tree, number, number));
                })
            };
            let mut passage = Passage::for_vacuum(tree.relation());
            let cleaning = tree
                .vacuum(&mut passage, &mut |found| is_dead(found, number), &mut || Ok(()))
                .unwrap();
            writer.join();
            let left = check(&tree).iter().filter(|(_, tid)| is_dead(*tid, number)).count();
            *out.lock().unwrap() = (left, cleaning.pages);
        });
        let (left, pages) = *met.lock().unwrap();
        assert_eq!(left, 0, "seed {seed}");
        split_late += u32::from(pages > 1);
    }
    assert!(split_late > 0, "roots split under vacuum's eyes");
}
