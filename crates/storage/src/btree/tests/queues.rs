//! Queues: keys come on the right and go on the left.

use super::trees::{self, assert_same_pages, check, loaded, scanned, tid};
use crate::btree::page::Node;
use crate::btree::{BTree, Bounds, Direction};
use crate::buffer::Passage;
use crate::rig::Rig;
use crate::txn::{Isolation, Txn};
use crate::wal::Kind;
use base::rank::Rank;
use base::{BlockNo, Fork};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// What each entry carries.
const CARRIED: [u8; 500] = [1; 500];

/// How many entries are in the queue when vacuum has been there.
const WAITING: u64 = 20;

/// A key of the queue. A dozen fit on a leaf, and every other separator is as long as a key: so there are pages of many
/// levels.
fn key(number: u64) -> Vec<u8> {
    [&(number / 24).to_be_bytes()[..], &[7; 1500], &[(number % 24) as u8]].concat()
}

fn vacuum(tree: &BTree, left: u64) -> crate::btree::IndexCleaning {
    let mut passage = Passage::for_vacuum(tree.relation());
    tree.vacuum(&mut passage, &mut |row| row < tid(left), &mut || Ok(())).unwrap()
}

/// The levels of the pages that are in the tree.
fn levels(tree: &BTree) -> Vec<u8> {
    let level = |block| {
        let page = tree.relation().read(Fork::Main, BlockNo(block)).unwrap();
        let node = Node(page.view());
        node.is_live().then(|| node.level())
    };
    (0..tree.relation().blocks(Fork::Main).unwrap()).filter_map(level).collect()
}

/// How many leaves without an entry are in the tree.
fn empty_leaves(tree: &BTree) -> usize {
    let is_empty = |block: &u32| {
        let page = tree.relation().read(Fork::Main, BlockNo(*block)).unwrap();
        let node = Node(page.view());
        node.is_live() && node.is_leaf() && node.count() == 0
    };
    (0..tree.relation().blocks(Fork::Main).unwrap()).filter(is_empty).count()
}

/// Keys come on the right and go on the left, hundreds of pages of three levels: what has gone through keeps no page, of
/// no level, and redo leaves as sound a tree under way.
#[test]
fn a_queue_keeps_no_page_of_what_has_gone_through_it() {
    let rig = Rig::new(64);
    let tree = trees::tree(&rig, 1);
    let (mut come, mut met) = (0, BTreeSet::new());
    for round in 0..2 {
        for _ in 0..1500 {
            tree.insert(loaded(&(key(come), tid(come)), &CARRIED)).unwrap();
            come += 1;
        }
        let left = come - WAITING;
        // With so few entries to a page a sibling that is full yet has no room for one more: the second time it has.
        vacuum(&tree, left);
        let done = vacuum(&tree, left);
        let expected: Vec<_> = (left..come).map(|number| (key(number), tid(number))).collect();
        assert_eq!(check(&tree), expected, "round {round}");
        assert_eq!(scanned(&tree, Bounds::ALL, Direction::Backward).len() as u64, WAITING);
        let (blocks, levels) = (tree.relation().blocks(Fork::Main).unwrap(), levels(&tree));
        assert!(levels.len() < 24, "round {round}: {levels:?}, {done:?}");
        assert_eq!(done.empty as usize, blocks as usize - levels.len(), "round {round}");
        met.extend(levels);
    }
    assert!(met.len() > 3, "pages of levels {met:?}");
    let rel = tree.relation().id();
    let fresh = rig.empty(&[rel]);
    let again = BTree::new(fresh.relation(rel, Rank::IndexPage), &rig.txns);
    let mut inner = 0;
    rig.redo_into(&fresh, |_, kind| {
        if kind == Kind::BTREE_UNLINK_INNER {
            inner += 1;
            if inner % 8 == 0 {
                check(&again);
            }
        }
        true
    });
    assert!(inner > 20, "{inner} inner pages were taken out");
    assert_eq!(check(&again), check(&tree));
    assert_same_pages(&tree, &again);
    fresh.stop();
}

/// Readers in both directions, whoever comes and vacuum on one queue: every scan meets what was there all the time, in
/// order, though whole branches of the tree go meanwhile.
#[test]
fn readers_of_a_queue_meet_all_that_waits() {
    let rig = Rig::new(256);
    let tree = &trees::tree(&rig, 1);
    const ALL: u64 = 4_000;
    let (come, left) = (&AtomicU64::new(0), &AtomicU64::new(0));
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let rig = &rig;
            scope.spawn(move || {
                while come.load(Ordering::Acquire) < ALL {
                    let txn = Txn::attach(&rig.txns, 50 + reader as i32, 1).unwrap();
                    txn.begin(Isolation::RepeatableRead);
                    txn.statement_snapshot();
                    let come = come.load(Ordering::Acquire);
                    let direction = [Direction::Forward, Direction::Backward][reader];
                    let mut all = scanned(tree, Bounds::ALL, direction);
                    if reader == 1 {
                        all.reverse();
                    }
                    assert!(all.is_sorted_by(|a, b| a < b), "in order, without doubles");
                    let left = left.load(Ordering::Acquire);
                    let stayed = |row| tid(left) <= row && row < tid(come);
                    let met = all.iter().filter(|(_, row)| stayed(*row)).count() as u64;
                    assert_eq!(met, come.saturating_sub(left), "{left} to {come}");
                    txn.abort();
                }
            });
        }
        scope.spawn(move || {
            while come.load(Ordering::Acquire) < ALL {
                let gone = come.load(Ordering::Acquire).saturating_sub(WAITING);
                left.store(gone, Ordering::Release);
                vacuum(tree, gone);
            }
        });
        for number in 0..ALL {
            tree.insert(loaded(&(key(number), tid(number)), &CARRIED)).unwrap();
            come.store(number + 1, Ordering::Release);
        }
    });
    for _ in 0..2 {
        vacuum(tree, ALL - WAITING);
    }
    assert_eq!(check(tree).len() as u64, WAITING);
    let levels = levels(tree);
    assert!(levels.len() < 24, "{levels:?}");
}

/// A crash between a split and its entry in the parent, and nobody who comes by there again: the queue goes on, and vacuum
/// completes the split, or the branch would stay.
#[test]
fn a_split_that_a_crash_has_left_keeps_no_branch() {
    let rig = Rig::new(256);
    let tree = trees::tree(&rig, 1);
    for number in 0..900 {
        tree.insert(loaded(&(key(number), tid(number)), &CARRIED)).unwrap();
    }
    let rel = tree.relation().id();
    let fresh = rig.empty(&[rel]);
    let mut splits = Vec::new();
    rig.redo_into(&fresh, |record, kind| {
        if kind == Kind::BTREE_SPLIT {
            splits.push(record);
        }
        true
    });
    fresh.stop();
    for stop in splits.iter().rev().take(6) {
        let fresh = rig.empty(&[rel]);
        rig.redo_into(&fresh, |record, _| record < *stop);
        let cut = BTree::new(fresh.relation(rel, Rank::IndexPage), &rig.txns);
        let there = check(&cut).len() as u64;
        let mut left = Vec::new();
        for come in [there + 600, there + 1_200] {
            for number in come - 600..come {
                cut.insert(loaded(&(key(number), tid(number)), &CARRIED)).unwrap();
            }
            for _ in 0..3 {
                vacuum(&cut, come - WAITING);
            }
            assert_eq!(check(&cut).len() as u64, WAITING);
            left.push(empty_leaves(&cut));
        }
        // One may be left whose sibling had no room for it; not for ever.
        assert!(left.iter().all(|count| *count <= 1), "split at {stop:?}: {left:?}");
        fresh.stop();
    }
}
