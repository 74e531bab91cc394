//! Entries that stand for several rows.

use super::{Dice, FEW, random_key};
use crate::btree::check::page_fault;
use crate::btree::page::{Beside, HEAD_BYTES, MAX_KEY_BYTES, Node, Place};
use crate::btree::posting::Posting;
use crate::btree::{BTree, Bounds, Direction, NewEntry, Scan, edit, merge};
use crate::buffer::Passage;
use crate::page::PageBuf;
use crate::rig::Rig;
use crate::wal::Kind;
use base::rank::Rank;
use base::{BlockNo, Fork, Persistence, Tid};
use std::collections::BTreeSet;

type Model = BTreeSet<(Vec<u8>, Tid)>;

fn tree(rig: &Rig) -> BTree {
    BTree::new(rig.create(1, Persistence::Permanent, Rank::IndexPage), &rig.txns)
}

fn tid(block: u64, offset: u64) -> Tid {
    Tid { block: BlockNo(block as u32), offset: offset as u16 }
}

fn blocks(tree: &BTree) -> u32 {
    tree.relation().blocks(Fork::Main).unwrap()
}

fn check(tree: &BTree, model: &Model) {
    let mut found = Vec::new();
    tree.check(&mut |fault| panic!("{fault}"), &mut |key, _, tid| found.push((key.to_vec(), tid)))
        .unwrap();
    assert!(found.iter().eq(model.iter()), "the rows of the tree");
}

fn scanned(tree: &BTree, direction: Direction) -> Vec<(Vec<u8>, Tid)> {
    let mut scan = Scan::new(Bounds::ALL, direction, true);
    let mut found = Vec::new();
    while let Some(entry) = scan.next(tree).unwrap() {
        found.push((entry.key.to_vec(), entry.tid));
    }
    found
}

/// A leaf with one posting of these rows.
fn page_of(key: &[u8], rows: &[Tid]) -> PageBuf {
    let mut buf = PageBuf::new();
    edit::init(&mut buf.page_mut(), 0);
    for row in rows {
        let at = Node(buf.view()).count();
        let page = &mut buf.page_mut();
        if !edit::insert(page, at, key, row.to_u64(), Beside::Nothing) {
            merge::merge(page);
            assert!(edit::insert(page, 1, key, row.to_u64(), Beside::Nothing));
        }
    }
    merge::merge(&mut buf.page_mut());
    assert_eq!(Node(buf.view()).count(), 1);
    buf
}

/// Rows of every distance, the largest and the smallest included.
fn random_rows(dice: &mut Dice) -> Vec<Tid> {
    let (blocks, lines) = match dice.below(4) {
        0 => (1, 1 << 16),
        1 => (20, 250),
        2 => (1 << 14, 600),
        _ => (1 << 32, 1 << 16),
    };
    let count = 2 + dice.below(40);
    let rows: BTreeSet<Tid> =
        (0..count).map(|_| tid(dice.below(blocks), dice.below(lines))).collect();
    let ends = [tid(0, 0), tid(u64::from(u32::MAX), u64::from(u16::MAX))];
    rows.into_iter().chain(ends).collect::<BTreeSet<Tid>>().into_iter().collect()
}

#[test]
fn a_list_gives_its_rows_back_and_gets_no_longer_when_one_goes() {
    for seed in 1..400 {
        let mut dice = Dice::new(seed);
        let rows = random_rows(&mut dice);
        let buf = page_of(b"key", &rows);
        let node = Node(buf.view());
        assert_eq!(node.rows(0).collect::<Vec<_>>(), rows);
        assert_eq!(page_fault(node), Ok(()));
        let whole = Posting::of(&rows).list.len();
        for gone in 0..rows.len() {
            let mut left = rows.clone();
            left.remove(gone);
            assert!(Posting::of(&left).list.len() <= whole, "{rows:?} without {gone}");
        }
    }
}

/// Rows of one table page take a byte each, those of the next pages two.
#[test]
fn close_rows_take_little() {
    let close: Vec<Tid> = (1..=200).map(|line| tid(7, line)).collect();
    assert_eq!(Posting::of(&close).list.len(), 199);
    let apart: Vec<Tid> = (0..200).map(|i| tid(5 * i, 1 + i)).collect();
    assert_eq!(Posting::of(&apart).list.len(), 2 * 199);
}

/// Whatever bytes stand in a posting's place: nobody panics or goes on for ever, and the check sees what is wrong.
#[test]
fn a_garbled_posting_is_refused() {
    let mut dice = Dice::new(3);
    let key = b"a key longer than its head";
    let rows: Vec<Tid> = (1..200).map(|i| tid(3 * i, 1 + i * 7 % 50)).collect();
    let sound = page_of(key, &rows);
    for round in 0..3000 {
        let mut buf = PageBuf::new();
        buf.page_mut().copy_from(sound.view());
        let (record, tail) = {
            let node = Node(buf.view());
            (node.slot(0).record(), node.rest_len(0).saturating_sub(HEAD_BYTES))
        };
        let list = Posting::of(&rows).list.len();
        // The list's length, or one of its bytes.
        let list_at = record + 4 + tail;
        let at =
            if round % 8 == 0 { record + 2 } else { list_at + dice.below(list as u64) as usize };
        let old = buf.view().get_u8(at);
        buf.page_mut().put_u8(at, old ^ (1 << dice.below(8)) as u8);
        let node = Node(buf.view());
        let found: Vec<Tid> = node.rows(0).collect();
        assert!(found.len() <= MAX_KEY_BYTES);
        let place = Place::of(key, tid(300, 9));
        node.has_row(node.lower_bound(place), place);
        // Another list that is in order is beyond what a look at one page can tell; one that is a little longer, too.
        let in_order = found.is_sorted_by(|a, b| a < b) && found != rows;
        let fault = page_fault(node);
        assert!(fault.is_err() || in_order, "round {round}: byte {at} changed");
        edit::insert(&mut buf.page_mut(), 1, key, place.tie, Beside::Nothing);
    }
}

#[test]
fn rows_of_few_keys_take_little_room_and_none_gets_lost() {
    for (seed, style) in [(1, 7), (2, 8), (3, 7), (4, 8)] {
        let rig = Rig::new(64);
        let (tree, mut dice, mut model) = (tree(&rig), Dice::new(seed), Model::new());
        let in_order = seed > 2;
        for round in 0..3 {
            for i in 0..6_000 {
                let row = if in_order { round * 6_000 + i } else { dice.below(200_000) };
                let entry = (random_key(&mut dice, style), tid(row / 200, row % 200 + 1));
                if model.insert(entry.clone()) {
                    tree.insert(NewEntry::plain(&entry.0, entry.1)).unwrap();
                }
            }
            check(&tree, &model);
            let bytes = u64::from(blocks(&tree)) * 8192 / model.len() as u64;
            assert!(bytes <= 6, "seed {seed}: {bytes} bytes for a row");
            let mut all: Vec<_> = model.iter().cloned().collect();
            assert_eq!(scanned(&tree, Direction::Forward), all);
            all.reverse();
            assert_eq!(scanned(&tree, Direction::Backward), all);
            let third = dice.below(3) as u16;
            let dead = |tid: Tid| tid.offset % 3 == third;
            let done = tree
                .vacuum(
                    &mut Passage::for_vacuum(tree.relation()),
                    &mut |tid| dead(tid),
                    &mut || Ok(()),
                )
                .unwrap();
            assert_eq!(done.entries, model.len() as u64, "rows are counted");
            let before = model.len();
            model.retain(|(_, tid)| !dead(*tid));
            assert_eq!(done.removed as usize, before - model.len());
            check(&tree, &model);
        }
        let mut met = 0;
        let fresh = rig.empty(&[tree.relation().id()]);
        rig.redo_into(&fresh, |_, kind| {
            met += usize::from(kind == Kind::BTREE_MERGE);
            true
        });
        assert!(met > 3, "seed {seed}: {met} merges");
        let again = BTree::new(fresh.relation(tree.relation().id(), Rank::IndexPage), &rig.txns);
        check(&again, &model);
        fresh.stop();
    }
}

/// A crash after any record, those of merges and of rows that part a posting among them, leaves a sound tree.
#[test]
fn a_tree_with_postings_is_sound_after_every_record_of_its_log() {
    let rig = Rig::new(64);
    let tree = tree(&rig);
    let mut dice = Dice::new(8);
    for round in 0..3 {
        for i in 0..1_100 {
            let key = random_key(&mut dice, 7 + i % 2);
            // The even rows first, so that the odd ones come between them.
            let row = 2 * dice.below(9_000) + round % 2;
            let carried = [7; 9];
            let carried = if i % 50 == 0 { &carried[..] } else { &[] };
            if !tree.has(&key, tid(row / 200, row % 200 + 1)).unwrap() {
                let tid = tid(row / 200, row % 200 + 1);
                tree.insert(NewEntry { key: &key, carried, tid }).unwrap();
            }
        }
        if round < 2 {
            tree.vacuum(
                &mut Passage::for_vacuum(tree.relation()),
                &mut |tid| tid.block.0 % 5 == 0,
                &mut || Ok(()),
            )
            .unwrap();
        }
    }
    let rel = tree.relation().id();
    let fresh = rig.empty(&[rel]);
    let again = BTree::new(fresh.relation(rel, Rank::IndexPage), &rig.txns);
    let (mut merges, mut last) = (0, Vec::new());
    rig.redo_into(&fresh, |_, kind| {
        let mut rows = Vec::new();
        let mut meet = |key: &[u8], _: &[u8], tid: Tid| rows.push((key.to_vec(), tid));
        again.check(&mut |fault| panic!("after {kind:?}: {fault}"), &mut meet).unwrap();
        assert!(rows.is_sorted_by(|a, b| a < b));
        if kind == Kind::BTREE_MERGE {
            merges += 1;
            assert!(rows == last, "a merge changes no row");
        }
        last = rows;
        true
    });
    assert!(merges > 10, "{merges} merges");
    fresh.stop();
}

/// A posting is skipped when all of its rows are dead, and not before.
#[test]
fn a_posting_is_dead_when_all_of_its_rows_are() {
    let rig = Rig::new(64);
    let tree = tree(&rig);
    let key = |number: u64| [FEW, &[number as u8]].concat();
    for row in 0..2_000 {
        tree.insert(NewEntry::plain(&key(row % 4), tid(row / 100, row % 100 + 1))).unwrap();
    }
    let mut met = [0; 4];
    let count = |tree: &BTree, met: &mut [usize; 4]| {
        met.fill(0);
        let rows = scanned(tree, Direction::Backward);
        rows.iter().for_each(|(key, _)| met[usize::from(key[3])] += 1);
    };
    let mut tids = Vec::new();
    // All rows of one key, but for one in the middle; then that, too.
    for spared in [Some(tid(7, 42)), None] {
        tree.mark_dead(&key(1), &mut |tid| Ok(Some(tid) != spared)).unwrap();
        count(&tree, &mut met);
        tree.lookup(&key(1), &mut tids).unwrap();
        assert_eq!(met[1], tids.len());
        assert_eq!([met[0], met[2], met[3]], [500; 3]);
        match spared {
            Some(spared) => assert!(tids.contains(&spared) && tids.len() > 1, "its posting stays"),
            None => assert_eq!(tids.len(), 0),
        }
    }
    // A row that comes among dead ones is no less alive.
    let among = tid(7, 1);
    tree.insert(NewEntry::plain(&key(1), among)).unwrap();
    tree.lookup(&key(1), &mut tids).unwrap();
    assert!(tids.contains(&among));
    // What is marked makes room.
    let before = blocks(&tree);
    for row in 0..400 {
        tree.insert(NewEntry::plain(&key(2), tid(50, row + 1))).unwrap();
    }
    assert_eq!(blocks(&tree), before);
    tree.check(&mut |fault| panic!("{fault}"), &mut |_, _, _| ()).unwrap();
}

/// An index that is told not to merge does not; what it has already stays.
#[test]
fn merging_is_a_choice() {
    let rig = Rig::new(64);
    let tree = tree(&rig);
    tree.merge_equal_keys(false);
    let row = |number: u64| tid(number / 100, number % 100 + 1);
    for number in 0..3_000 {
        tree.insert(NewEntry::plain(FEW, row(number))).unwrap();
    }
    assert!(blocks(&tree) >= 6, "{} blocks", blocks(&tree));
    let before = blocks(&tree);
    tree.merge_equal_keys(true);
    for number in 3_000..6_000 {
        tree.insert(NewEntry::plain(FEW, row(number))).unwrap();
    }
    assert!(blocks(&tree) <= before + 1);
    tree.merge_equal_keys(false);
    // Rows that come among those of postings all the same.
    for number in 0..40 {
        tree.insert(NewEntry::plain(FEW, tid(30 + number / 2, 150 + number))).unwrap();
    }
    check(&tree, &scanned(&tree, Direction::Forward).into_iter().collect());
    assert_eq!(scanned(&tree, Direction::Forward).len(), 6_040);
}

/// What was there from the beginning a scan meets once and in order, however rows come between, leaves split, and
/// what it has met comes to share a posting with what it has not. No batch is large.
#[test]
fn a_scan_goes_on_in_the_middle_of_a_posting() {
    for (seed, direction) in [(1, Direction::Forward), (2, Direction::Backward)] {
        let rig = Rig::new(64);
        let (tree, mut dice, mut model) = (tree(&rig), Dice::new(seed), Model::new());
        let insert = |model: &mut Model, row: u64, key: u8| {
            let entry = ([FEW, &[key]].concat(), tid(row / 100, row % 100 + 1));
            if model.insert(entry.clone()) {
                tree.insert(NewEntry::plain(&entry.0, entry.1)).unwrap();
            }
        };
        (0..9_000).for_each(|row| insert(&mut model, 3 * row, (row % 3) as u8));
        let there = model.clone();
        let (mut met, mut blocks) = (Vec::new(), Vec::new());
        let mut scan = Scan::new(Bounds::ALL, direction, true);
        while let Some(entry) = scan.next(&tree).unwrap() {
            met.push((entry.key.to_vec(), entry.tid));
            blocks.clear();
            scan.upcoming(&mut blocks);
            assert!(blocks.len() < 2_500, "{} rows in a batch", blocks.len());
            if dice.below(100) == 0 {
                let place = dice.below(27_000);
                let key = dice.below(3) as u8;
                (place..place + 60).for_each(|row| insert(&mut model, row, key));
            }
        }
        if direction == Direction::Backward {
            met.reverse();
        }
        assert!(met.is_sorted_by(|a, b| a < b), "in order, and none twice");
        met.retain(|entry| there.contains(entry));
        assert!(met.iter().eq(there.iter()), "{} of {}", met.len(), there.len());
        check(&tree, &model);
    }
}

/// Postings that have shrunk become one between two batches, over the place where the scan goes on.
#[test]
fn a_posting_that_grows_together_over_a_scan_s_place_is_met_once() {
    let directions = [Direction::Forward, Direction::Backward];
    // Shares that stay, so that what grows together does so at different places.
    for (direction, share) in directions.into_iter().flat_map(|d| (3..8).map(move |s| (d, s))) {
        let rig = Rig::new(64);
        let (tree, key) = (tree(&rig), FEW);
        for row in 0..7_000 {
            tree.insert(NewEntry::plain(key, tid(row / 100, row % 100 + 1))).unwrap();
        }
        tree.vacuum(
            &mut Passage::for_vacuum(tree.relation()),
            &mut |tid| tid.offset % share > 0,
            &mut || Ok(()),
        )
        .unwrap();
        let mut there: Vec<Tid> = scanned(&tree, direction).iter().map(|(_, tid)| *tid).collect();
        let mut scan = Scan::new(Bounds::exactly(key), direction, false);
        let mut met = vec![scan.next(&tree).unwrap().unwrap().tid];
        let mut rest = Vec::new();
        scan.upcoming(&mut rest);
        assert!(rest.len() < 1_200 && rest.len() + 1 < there.len(), "a part of the leaf");
        // Others before and behind fill the leaf.
        for row in 0..900 {
            let key = [key, &[row as u8; 2]].concat();
            tree.insert(NewEntry::plain(&key[row as usize % 2..], tid(row, 1))).unwrap();
        }
        while let Some(entry) = scan.next(&tree).unwrap() {
            met.push(entry.tid);
        }
        assert!(met == there, "{direction:?}, one of {share}: {} of {}", met.len(), there.len());
        there.sort_unstable();
        let mut tids = Vec::new();
        tree.lookup(key, &mut tids).unwrap();
        assert_eq!(tids, there);
    }
}

/// Writers of few keys, readers both ways and vacuum at once, with hardly any frames.
#[test]
fn threads_share_postings_in_sixteen_frames() {
    let rig = Rig::new(16);
    let tree = tree(&rig);
    const WRITERS: u64 = 3;
    const EACH: u64 = 3000;
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let tree = &tree;
            scope.spawn(move || {
                for i in 0..EACH {
                    // Even offsets stay, odd ones are vacuumed; two writers in order, one in none.
                    let place = if writer == 0 { i * 1723 % EACH } else { i };
                    let row = tid(place * WRITERS + writer, 2 + place % 2);
                    tree.insert(NewEntry::plain(&[FEW, &[(place % 5) as u8]].concat(), row))
                        .unwrap();
                }
            });
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let tree = &tree;
            scope.spawn(move || {
                for _ in 0..15 {
                    let mut all = scanned(tree, direction);
                    if direction == Direction::Backward {
                        all.reverse();
                    }
                    assert!(all.is_sorted_by(|a, b| a < b), "in order, and none twice");
                }
            });
        }
        let tree = &tree;
        scope.spawn(move || {
            for _ in 0..10 {
                tree.vacuum(
                    &mut Passage::for_vacuum(tree.relation()),
                    &mut |tid| tid.offset == 3,
                    &mut || Ok(()),
                )
                .unwrap();
            }
        });
    });
    let left = scanned(&tree, Direction::Forward);
    check(&tree, &left.iter().cloned().collect());
    let stay = left.iter().filter(|(_, tid)| tid.offset == 2).count() as u64;
    assert_eq!(stay, WRITERS * EACH / 2);
}
