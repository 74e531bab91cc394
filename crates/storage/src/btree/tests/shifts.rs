//! Leaves that give entries to their right siblings: how full trees are, and who reads meanwhile.

use super::Dice;
use crate::btree::page::{Node, SHIFTED};
use crate::btree::scan::drop_repeated;
use crate::btree::{BTree, Bounds, Direction, NewEntry, Scan};
use crate::buffer::Passage;
use crate::rig::Rig;
use crate::txn::{Isolation, Txn};
use base::rank::Rank;
use base::{BlockNo, Fork, Persistence, Tid};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

fn tree(rig: &Rig, number: u32) -> BTree {
    let rel = rig.create(number, Persistence::Permanent, Rank::IndexPage);
    BTree::new(rel, &rig.txns)
}

fn tid(number: u64) -> Tid {
    Tid { block: BlockNo((number / 200) as u32), offset: (number % 200) as u16 + 1 }
}

fn blocks(tree: &BTree) -> u32 {
    tree.relation().blocks(Fork::Main).unwrap()
}

/// Blocks in use, over those of the same entries freshly built.
fn over_built(rig: &Rig, number: u32, grown: &BTree) -> f64 {
    let built = tree(rig, number);
    let (mut builder, mut used) = (built.build().unwrap(), 0);
    grown
        .check(&mut |fault| panic!("{fault}"), &mut |key, carried, tid| {
            builder.push(NewEntry { key, carried, tid }).unwrap();
        })
        .unwrap();
    builder.finish().unwrap();
    for block in 0..blocks(grown) {
        let page = grown.relation().read(Fork::Main, BlockNo(block)).unwrap();
        used += u32::from(Node(page.view()).is_live());
    }
    f64::from(used) / f64::from(blocks(&built))
}

/// Keys as integers have them, and as texts that begin alike.
const STYLES: [fn(u64) -> Vec<u8>; 2] = [
    |number| number.to_be_bytes().to_vec(),
    |number| format!("user/{number:020}/{:010}", number % 1_000_003).into_bytes(),
];

#[test]
fn leaves_that_fill_in_no_order_are_nearly_as_full_as_built_ones() {
    let rig = Rig::new(4096);
    for (style, key) in STYLES.into_iter().enumerate() {
        let mut dice = Dice::new(7);
        let tree = tree(&rig, 1 + style as u32);
        let mut worst = 0.0f64;
        for number in 0..60_000 {
            tree.insert(NewEntry::plain(&key(dice.roll()), tid(number))).unwrap();
            if number % 4_000 == 3_999 {
                worst = worst.max(over_built(&rig, 100 + number as u32 + style as u32, &tree));
            }
        }
        assert!(worst < 1.22, "style {style}: {worst}");
    }
}

#[test]
fn leaves_whose_rows_come_and_go_stay_nearly_as_full_as_built_ones() {
    let rig = Rig::new(4096);
    for (style, key) in STYLES.into_iter().enumerate() {
        let mut dice = Dice::new(8);
        let tree = tree(&rig, 1 + style as u32);
        let mut rows = VecDeque::new();
        let mut worst = 0.0f64;
        for number in 0..160_000 {
            tree.insert(NewEntry::plain(&key(dice.roll()), tid(number))).unwrap();
            rows.push_back(number);
            // The oldest go, a twentieth at a time.
            if rows.len() == 21_000 {
                let oldest = number - 20_000;
                rows.drain(..1_000);
                let limit = tid(oldest);
                let mut passage = Passage::for_vacuum(tree.relation());
                let mut is_dead = |tid: Tid| tid <= limit;
                tree.vacuum(&mut passage, &mut is_dead, &mut || Ok(())).unwrap();
                if number % 8_000 < 1_000 {
                    let number = 1_000 + number as u32 + style as u32;
                    worst = worst.max(over_built(&rig, number, &tree));
                }
            }
        }
        assert!(worst < 1.3, "style {style}: {worst}");
    }
}

/// A scan that has copied a leaf does not meet what goes from it to the next one again, and misses nothing.
#[test]
fn a_scan_between_two_leaves_is_not_misled() {
    let rig = Rig::new(256);
    for direction in [Direction::Forward, Direction::Backward] {
        let tree = tree(&rig, 1 + direction as u32);
        let key = |number: u64| number.to_be_bytes();
        // Even numbers; the first leaves are full, the others are not.
        for number in 0..2_000 {
            tree.insert(NewEntry::plain(&key(number * 1_000), tid(number))).unwrap();
        }
        let mut passage = Passage::for_vacuum(tree.relation());
        let mut is_dead = |tid: Tid| tid.offset.is_multiple_of(2);
        tree.vacuum(&mut passage, &mut is_dead, &mut || Ok(())).unwrap();
        let mut expected = Vec::new();
        tree.check(&mut |fault| panic!("{fault}"), &mut |key, _, _| expected.push(key.to_vec()))
            .unwrap();
        if direction == Direction::Backward {
            expected.reverse();
        }
        // After each entry that the scan returns, one comes right behind it or before it, until leaves overflow.
        let mut scan = Scan::new(Bounds::ALL, direction, true);
        let (mut found, mut added, mut shifted) = (Vec::new(), 0u64, false);
        while let Some(entry) = scan.next(&tree).unwrap() {
            let number = u64::from_be_bytes(entry.key.try_into().unwrap());
            if number % 1_000 == 0 {
                found.push(entry.key.to_vec());
            }
            for step in 1..4 {
                added += 1;
                tree.insert(NewEntry::plain(&key(number + step * 7), tid(100_000 + added)))
                    .unwrap();
            }
        }
        for block in 0..blocks(&tree) {
            let page = tree.relation().read(Fork::Main, BlockNo(block)).unwrap();
            shifted |= Node(page.view()).has(SHIFTED);
        }
        assert!(shifted, "leaves gave entries away");
        assert!(
            found == expected,
            "{direction:?}: {} entries, {} were there",
            found.len(),
            expected.len()
        );
    }
}

/// What two leaves have of a key, when rows have gone from the one to the other between two looks.
#[test]
fn rows_that_went_ahead_are_not_told_twice() {
    let rows = |numbers: &[u64]| -> Vec<Tid> { numbers.iter().map(|n| tid(*n)).collect() };
    for (told, then, expected) in [
        (&[1, 2, 3][..], &[2, 3, 4, 5][..], &[1, 2, 3, 4, 5][..]),
        (&[1, 2], &[3], &[1, 2, 3]),
        (&[1, 2], &[1, 2], &[1, 2]),
        (&[], &[1, 2], &[1, 2]),
        (&[1], &[], &[1]),
    ] {
        let mut all = rows(told);
        all.extend(rows(then));
        drop_repeated(&mut all, told.len());
        assert_eq!(all, rows(expected));
    }
}

/// While others insert, every look-up finds each row of its key once, and every scan what was there all the time once
/// (B9; I1 of indexes).
#[test]
fn readers_beside_writers_meet_every_row_once() {
    let rig = Rig::new(1024);
    let tree = tree(&rig, 1);
    // A key's rows lie on many leaves.
    tree.merge_equal_keys(false);
    let keys = 8u64;
    let rows = 1_200u64;
    for row in 0..rows {
        for key in 0..keys {
            // In no order within a key.
            let number = (row * 7919 % rows) * 40 + key;
            tree.insert(NewEntry::plain(&key.to_be_bytes(), tid(number * 3))).unwrap();
        }
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (tree, over, rig) = (&tree, &over, &rig);
            scope.spawn(move || {
                let mut dice = Dice::new(reader + 50);
                let txn = Txn::attach(&rig.txns, 50 + reader as i32, 1).unwrap();
                txn.begin(Isolation::RepeatableRead);
                txn.statement_snapshot();
                let mut tids = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let key = dice.below(keys).to_be_bytes();
                    tree.lookup(&key, &mut tids).unwrap();
                    assert!(tids.is_sorted_by(|a, b| a < b), "each row once");
                    let mut scan = Scan::new(Bounds::ALL, Direction::Forward, true);
                    let (mut last, mut old) = (None, 0);
                    while let Some(entry) = scan.next(tree).unwrap() {
                        let here = (entry.key.to_vec(), entry.tid);
                        assert!(last.as_ref() < Some(&here), "each entry once, in order");
                        let number =
                            u64::from(entry.tid.block.0) * 200 + u64::from(entry.tid.offset) - 1;
                        old += u64::from(number % 3 == 0);
                        last = Some(here);
                    }
                    assert_eq!(old, rows * keys);
                }
                txn.abort();
            });
        }
        let mut dice = Dice::new(1);
        let mut taken = std::collections::BTreeSet::new();
        for _ in 0..60_000 {
            let (row, key) = (dice.below(rows * 40 * 3), dice.below(keys));
            if row % 3 != 0 && taken.insert((row, key)) {
                tree.insert(NewEntry::plain(&key.to_be_bytes(), tid(row))).unwrap();
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    tree.check(&mut |fault| panic!("{fault}"), &mut |_, _, _| {}).unwrap();
}
