//! Scans that pass over parts of their range.

use super::{Dice, FEW, STYLES, random_key};
use crate::btree::{BTree, Bounds, Direction, NewEntry, Scan};
use crate::buffer::{Figure, Passage};
use crate::rig::Rig;
use base::rank::Rank;
use base::{BlockNo, Persistence, Tid};
use std::collections::BTreeSet;
use std::ops::Bound;

type Model = BTreeSet<(Vec<u8>, Tid)>;

const BOTH: [Direction; 2] = [Direction::Forward, Direction::Backward];

fn tree(rig: &Rig) -> BTree {
    BTree::new(rig.create(1, Persistence::Permanent, Rank::IndexPage), &rig.txns)
}

fn tid(number: u64) -> Tid {
    Tid { block: BlockNo((number / 200) as u32), offset: (number % 200) as u16 + 1 }
}

fn insert(tree: &BTree, model: &mut Model, key: Vec<u8>, number: u64) {
    let entry = (key, tid(number));
    if model.insert(entry.clone()) {
        tree.insert(NewEntry::plain(&entry.0, entry.1)).unwrap();
    }
}

fn is_passed(direction: Direction, key: &[u8], place: &[u8]) -> bool {
    match direction {
        Direction::Forward => key < place,
        Direction::Backward => key >= place,
    }
}

/// A place to pass on to: mostly near, sometimes behind the scan.
fn random_place(dice: &mut Dice, style: u64, last: &[u8]) -> Vec<u8> {
    match dice.below(4) {
        0 => [last, &[dice.below(2) as u8 * 255]].concat(),
        1 if !last.is_empty() => last[..last.len() - 1].to_vec(),
        _ => random_key(dice, style),
    }
}

/// Passes through a tree, hearing what to pass over between the entries, while `disturb` changes it; against what was
/// there from the beginning.
fn passes(
    tree: &BTree,
    model: &mut Model,
    (dice, style): (&mut Dice, u64),
    direction: Direction,
    disturb: &mut dyn FnMut(&mut Model, &mut Dice),
) {
    let mut there: Vec<(Vec<u8>, Tid)> = model.iter().cloned().collect();
    let mut ends = [random_key(dice, style), random_key(dice, style)];
    ends.sort();
    let bounds = match dice.below(3) {
        0 => Bounds { low: Bound::Included(&ends[0]), high: Bound::Excluded(&ends[1]) },
        _ => Bounds::ALL,
    };
    if bounds != Bounds::ALL {
        there.retain(|(key, _)| ends[0] <= *key && *key < ends[1]);
    }
    if direction == Direction::Backward {
        there.reverse();
    }
    let mut scan = Scan::new(bounds, direction, true);
    let (mut from, mut met): (usize, Vec<(Vec<u8>, Tid)>) = (0, Vec::new());
    loop {
        if dice.below(3) == 0 {
            let last = met.last().map_or(&[][..], |(key, _)| key);
            let place = random_place(dice, style, last);
            scan.skip_to(&place);
            let passed = there[from..].iter().take_while(|(k, _)| is_passed(direction, k, &place));
            from += passed.count();
        }
        if dice.below(50) == 0 {
            disturb(model, dice);
        }
        // What came meanwhile may be met or not.
        let Some(entry) = scan.next(tree).unwrap() else { break };
        let found = (entry.key.to_vec(), entry.tid);
        let is_next = there.get(from) == Some(&found);
        assert!(is_next || !there.contains(&found), "{found:?}, not {:?}", there.get(from));
        from += usize::from(is_next);
        met.push(found);
    }
    assert_eq!(from, there.len(), "{direction:?}: missing {:?}", there.get(from));
    let in_order = |a: &(Vec<u8>, Tid), b: &(Vec<u8>, Tid)| match direction {
        Direction::Forward => a < b,
        Direction::Backward => a > b,
    };
    assert!(met.is_sorted_by(in_order), "in order, and none twice");
}

/// Keys of all styles, equal ones and deep trees among them; leaves split and lose entries between two steps.
#[test]
fn what_is_not_passed_over_comes_once() {
    for style in 0..STYLES {
        let rig = Rig::new(256);
        let (tree, mut dice, mut model) = (tree(&rig), Dice::new(style + 7), Model::new());
        for _ in 0..3000 {
            let (key, number) = (random_key(&mut dice, style), dice.below(40_000));
            insert(&tree, &mut model, key, number);
        }
        for round in 0..8 {
            for direction in BOTH {
                let mut disturb = |model: &mut Model, dice: &mut Dice| {
                    for _ in 0..round * 10 {
                        let (key, number) = (random_key(dice, style), dice.below(40_000));
                        insert(&tree, model, key, number);
                    }
                };
                passes(&tree, &mut model, (&mut dice, style), direction, &mut disturb);
            }
        }
    }
}

/// Vacuum takes leaves out, and those of neighbours together, while a scan is on its way to them.
#[test]
fn leaves_may_go_meanwhile() {
    for (seed, direction) in [(1, BOTH[0]), (2, BOTH[1]), (3, BOTH[0]), (4, BOTH[1])] {
        let rig = Rig::new(256);
        let (tree, mut dice) = (tree(&rig), Dice::new(seed));
        let key = |number: u64| [&[1][..], &(number as u32).to_be_bytes()].concat();
        let mut model = Model::new();
        (0..6000).for_each(|number| insert(&tree, &mut model, key(number % 5000), number));
        let goes = |tid: Tid| !tid.block.0.is_multiple_of(4);
        // What goes may be met or not, so it is not looked for.
        model.retain(|(_, tid)| !goes(*tid));
        let mut is_gone = false;
        let mut disturb = |_: &mut Model, _: &mut Dice| {
            if !std::mem::replace(&mut is_gone, true) {
                let mut passage = Passage::for_vacuum(tree.relation());
                tree.vacuum(&mut passage, &mut |tid| goes(tid), &mut || Ok(())).unwrap();
            }
        };
        passes(&tree, &mut model, (&mut dice, 0), direction, &mut disturb);
    }
}

/// One entry of each of a few first columns, in pages read.
#[test]
fn what_is_passed_over_is_not_read() {
    let rig = Rig::new(2048);
    let tree = tree(&rig);
    let mut builder = tree.build().unwrap();
    let key = |first: u8, second: u32| [&[first][..], &second.to_be_bytes()].concat();
    for first in 0..20 {
        for second in 0..5000 {
            let (key, tid) = (key(first, second), tid(u64::from(second)));
            builder.push(NewEntry::plain(&key, tid)).unwrap();
        }
    }
    builder.finish().unwrap();
    let hits = || tree.relation().figure(Figure::Hits);
    for direction in BOTH {
        let (before, mut found) = (hits(), 0);
        let mut scan = Scan::new(Bounds::ALL, direction, true);
        let mut next = scan.next(&tree).unwrap().map(|entry| entry.key.to_vec());
        while let Some(at) = next {
            let (first, second) = (at[0], at[1..].to_vec());
            let wanted = 4321_u32.to_be_bytes();
            found += usize::from(second == wanted);
            let place = match (direction, second.as_slice().cmp(&wanted)) {
                (Direction::Forward, std::cmp::Ordering::Less) => key(first, 4321),
                (Direction::Forward, _) => vec![first + 1],
                (Direction::Backward, std::cmp::Ordering::Greater) => key(first, 4322),
                (Direction::Backward, _) => vec![first],
            };
            scan.skip_to(&place);
            next = scan.next(&tree).unwrap().map(|entry| entry.key.to_vec());
        }
        let read = hits() - before;
        assert_eq!(found, 20);
        assert!(read <= 20 * 2 * 3 + 6, "{direction:?}: {read} pages");
    }
    // Within what was copied nothing is read, however often.
    let mut scan = Scan::new(Bounds::ALL, Direction::Forward, true);
    scan.next(&tree).unwrap();
    let before = hits();
    for second in 1..100 {
        scan.skip_to(&key(0, second));
        assert_eq!(scan.next(&tree).unwrap().unwrap().key, key(0, second));
        scan.skip_to(&key(0, second / 2));
    }
    assert_eq!(hits(), before);
}

/// Marks and what is known of visibility belong to entries, not to how many came.
#[test]
fn passed_entries_keep_their_places() {
    let rig = Rig::new(64);
    let tree = tree(&rig);
    let key = |number: u8| [FEW, &[number]].concat();
    for number in 0..100 {
        tree.insert(NewEntry::plain(&key(number), tid(u64::from(number) * 200))).unwrap();
    }
    for direction in BOTH {
        let mut scan = Scan::new(Bounds::ALL, direction, true);
        let mut met = Vec::new();
        // Rows in every third block are seen by all.
        let mut is_visible = |block: BlockNo| Ok(block.0.is_multiple_of(3));
        while let Some((entry, vouched)) = scan.next_vouched(&tree, &mut is_visible).unwrap() {
            assert_eq!(vouched, entry.tid.block.0.is_multiple_of(3), "{entry:?}");
            let number = *entry.key.last().unwrap();
            met.push(number);
            if number.is_multiple_of(10) && number > 0 {
                scan.found_dead();
            }
            let (mut all, mut some) = (Vec::new(), Vec::new());
            scan.upcoming(&mut all);
            scan.upcoming_of(&mut |key| key.last().is_some_and(|n| n % 2 == 0), &mut some);
            all.retain(|block| block.0.is_multiple_of(2));
            assert_eq!(all, some);
            match direction {
                Direction::Forward => scan.skip_to(&key(number + 5)),
                Direction::Backward => scan.skip_to(&key(number.saturating_sub(4))),
            }
        }
        match direction {
            Direction::Forward => assert_eq!(met, (0..20).map(|n| n * 5).collect::<Vec<u8>>()),
            Direction::Backward => assert_eq!(met[..3], [99, 94, 89]),
        }
    }
    let mut left = Vec::new();
    let mut scan = Scan::new(Bounds::ALL, Direction::Forward, true);
    while let Some(entry) = scan.next(&tree).unwrap() {
        left.push(*entry.key.last().unwrap());
    }
    let expected: Vec<u8> = (0..100u8).filter(|n| *n == 0 || !n.is_multiple_of(10)).collect();
    assert_eq!(left, expected, "those found dead are passed over");
}
