//! Sets of addresses against a model, and scans by them against scans of everything.

use super::rows::{HOT, heap, row};
use crate::heap::{HeapScan, Outcome, TID_PAGE_BYTES, TidSet};
use crate::rig::Rig;
use crate::txn::{Isolation, Txn};
use base::{BlockNo, Tid};
use std::collections::{BTreeMap, BTreeSet};

type Model = BTreeSet<(u32, u16)>;

fn tid(at: (u32, u16)) -> Tid {
    Tid { block: BlockNo(at.0), offset: at.1 }
}

/// Few blocks close together, some far away.
fn some(rng: &mut fastrand::Rng, count: usize) -> Model {
    let block = |rng: &mut fastrand::Rng| match rng.u32(0..4) {
        0 => rng.u32(0..40),
        1 => 1000 + rng.u32(0..600),
        _ => rng.u32(0..5000),
    };
    (0..count).map(|_| (block(rng), rng.u16(1..291))).collect()
}

fn set_of(model: &Model, pages: usize) -> TidSet {
    let mut set = TidSet::new(pages * TID_PAGE_BYTES);
    model.iter().for_each(|at| set.add(tid(*at), false));
    set
}

/// The set's pages in order, each with what it has of the page and whether that is to be rechecked.
fn pages_of(set: TidSet) -> Vec<(u32, Option<Vec<u16>>, bool)> {
    let mut pages = set.into_pages();
    (0..pages.count())
        .map(|place| {
            // As one who reads ahead.
            for ahead in place..pages.count().min(place + 40) {
                pages.block_at(ahead);
            }
            let page = pages.visit(place);
            let roots = page.roots.map(|roots| super::super::tids::offsets(&roots).collect());
            (page.block.0, roots, page.recheck)
        })
        .collect()
}

/// All of `wanted` is there, nothing else but on lossy pages or those to be rechecked; pages ascend.
fn assert_holds(pages: &[(u32, Option<Vec<u16>>, bool)], wanted: &Model) {
    assert!(pages.windows(2).all(|two| two[0].0 < two[1].0), "each page once, in order");
    let by_block: BTreeMap<u32, _> = pages.iter().map(|page| (page.0, page)).collect();
    for (block, offset) in wanted {
        let page = by_block.get(block).unwrap_or_else(|| panic!("block {block} is missing"));
        assert!(page.1.as_ref().is_none_or(|roots| roots.contains(offset)), "{block}/{offset}");
    }
    for (block, roots, recheck) in pages {
        let Some(roots) = roots else {
            assert!(recheck, "a lossy page is always rechecked");
            continue;
        };
        assert!(*recheck || roots.iter().all(|offset| wanted.contains(&(*block, *offset))));
    }
}

#[test]
fn a_set_with_room_is_exact() {
    let model = some(&mut fastrand::Rng::with_seed(1), 3000);
    let pages = pages_of(set_of(&model, 10_000));
    assert_holds(&pages, &model);
    assert!(pages.iter().all(|(_, roots, recheck)| roots.is_some() && !recheck));
}

#[test]
fn sets_of_any_size_combine_as_sets_do() {
    for seed in 0..40 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (a, b) = (some(&mut rng, 2000), some(&mut rng, 3000));
        let b: Model = b.into_iter().chain(a.iter().copied().step_by(3)).collect();
        let room = |rng: &mut fastrand::Rng| [16, 64, 700, 10_000][rng.usize(0..4)];
        let (of_a, of_b) = (room(&mut rng), room(&mut rng));
        let mut both = set_of(&a, of_a);
        both.intersect(&set_of(&b, of_b));
        assert_holds(&pages_of(both), &a.intersection(&b).copied().collect());
        let mut either = set_of(&a, of_a);
        either.unite(&set_of(&b, of_b));
        let union: Model = a.union(&b).copied().collect();
        assert_holds(&pages_of(either), &union);
        if of_a.min(of_b) == 10_000 {
            let mut both = set_of(&a, of_a);
            both.intersect(&set_of(&b, of_b));
            let exact = pages_of(both).into_iter().flat_map(|(block, roots, _)| {
                roots.unwrap().into_iter().map(move |offset| (block, offset))
            });
            assert_eq!(exact.collect::<Model>(), a.intersection(&b).copied().collect());
        }
    }
}

#[test]
fn a_set_keeps_to_its_memory_and_loses_nothing() {
    let model: Model = (0..200_000u32).map(|n| (n, (n % 290 + 1) as u16)).collect();
    let pages = pages_of(set_of(&model, 1000));
    assert_eq!(pages.len(), 200_000);
    let exact = pages.iter().filter(|page| page.1.is_some()).count();
    assert!(exact <= 1000, "{exact} pages are exact");
    assert_holds(&pages, &model);
    // What must be rechecked stays so whatever is added.
    let mut set = TidSet::new(1 << 20);
    set.add(tid((7, 1)), true);
    set.add(tid((7, 2)), false);
    assert_eq!(pages_of(set), [(7, Some(vec![1, 2]), true)]);
}

/// By their roots, rows that were updated in place and pruned are found, in the version that the snapshot sees.
#[test]
fn scans_by_addresses_find_what_scans_of_everything_find() {
    let rig = Rig::new(64);
    let heap = heap(&rig, 1, 70);
    let (txn, reader) =
        (Txn::attach(&rig.txns, 1, 1).unwrap(), Txn::attach(&rig.txns, 2, 1).unwrap());
    let mut rng = fastrand::Rng::with_seed(5);
    txn.begin(Isolation::ReadCommitted);
    let mut newest: Vec<(Tid, Tid)> = (0..2000u64)
        .map(|n| {
            let tid = heap.insert(&txn, &row(n, 0)).unwrap();
            (tid, tid)
        })
        .collect();
    txn.commit().unwrap();
    let check = |txn: &Txn, known: &[(Tid, Tid)], pages: usize| {
        let snapshot = txn.statement_snapshot();
        let mut all = BTreeMap::new();
        let mut scan = HeapScan::new(&heap, snapshot).unwrap();
        while let Some(row) = scan.next(&heap, txn).unwrap() {
            all.insert(row.tid, row.bytes.to_vec());
        }
        let mut set = TidSet::new(pages * TID_PAGE_BYTES);
        known.iter().for_each(|(root, _)| set.add(*root, false));
        let mut scan = HeapScan::of_tids(&heap, snapshot, set).unwrap();
        let mut found = BTreeMap::new();
        while let Some(row) = scan.next(&heap, txn).unwrap() {
            let known = found.insert(row.tid, row.bytes.to_vec());
            assert!(known.is_none(), "a row is seen once");
        }
        txn.release_statement();
        assert_eq!(found, all);
        let visited = scan.visited();
        assert_eq!(visited.lossy > 0, pages == 16, "{visited:?}");
    };
    for round in 1..8 {
        reader.begin(Isolation::RepeatableRead);
        txn.begin(Isolation::ReadCommitted);
        let held = reader.statement_snapshot();
        let hold = reader.hold(held);
        for (n, (_, now)) in newest.iter_mut().enumerate() {
            if rng.u32(0..3) > 0 {
                continue;
            }
            match heap.update(&txn, *now, &row(n as u64, round), HOT, None).unwrap() {
                Outcome::Done { tid, .. } => *now = tid,
                other => panic!("{other:?}"),
            }
        }
        txn.commit().unwrap();
        reader.drop_hold(hold);
        reader.commit().unwrap();
        txn.begin(Isolation::ReadCommitted);
        // Versions elsewhere have entries, and so roots, of their own.
        let mut roots = newest.clone();
        for (root, now) in &mut newest {
            if root.block != now.block {
                *root = *now;
                roots.push((*now, *now));
            }
        }
        for pages in [16, 10_000] {
            check(&txn, &roots, pages);
        }
        txn.commit().unwrap();
    }
}
