//! One page against a sorted vector.

use super::{Dice, STYLES, random_key};
use crate::btree::check::page_fault;
use crate::btree::edit::{self, Draft};
use crate::btree::merge;
use crate::btree::page::{Beside, Node, Place};
use crate::btree::plan::choose_cut;
use crate::page::PageBuf;
use base::BlockNo;

type Model = Vec<(Vec<u8>, u64)>;

fn contents(node: Node<'_>) -> Model {
    let rows = |i| node.rows(i).map(move |row| (node.key(i), row.to_u64()));
    (0..node.count()).flat_map(rows).collect()
}

/// Rows that the entries before `at` lead to.
fn rows_before(node: Node<'_>, at: usize) -> usize {
    (0..at).map(|i| node.rows(i).count()).sum()
}

/// The place of a row in the order of TIDs: anywhere, in a table of some thousand blocks, or close together.
fn random_row(dice: &mut Dice, seed: u64) -> u64 {
    match seed % 3 {
        0 => dice.below(1 << 48),
        1 => dice.below(4000) << 16 | dice.below(250),
        _ => dice.below(40) << 16 | dice.below(1200),
    }
}

/// What the entry with this value carries: often nothing.
fn carried(value: u64) -> Vec<u8> {
    vec![value as u8; [0, 0, 5, 40][value as usize % 4]]
}

fn compare(node: Node<'_>, model: &Model, dice: &mut Dice, style: u64) {
    assert!(node.0.header_is_sound(), "header bounds");
    assert_eq!(&contents(node), model);
    let firsts: Model = (0..node.count()).map(|i| (node.key(i), node.tie(i))).collect();
    for (i, (key, value)) in firsts.iter().enumerate() {
        assert_eq!(node.lower_bound(Place { key, tie: *value }), i, "an entry is found");
        assert!(node.key_is(i, key));
        let mut found = Vec::new();
        node.append_carried(i, &mut found);
        node.rows(i).for_each(|row| assert_eq!(found, carried(row.to_u64())));
    }
    for (key, value) in model {
        let place = Place { key, tie: *value };
        assert!(node.has_row(node.lower_bound(place), place), "a row is found");
    }
    for _ in 0..20 {
        let (key, tie) = (random_key(dice, style), dice.below(1 << 48));
        let expected = firsts.partition_point(|(k, v)| (k, *v) < (&key, tie));
        let place = Place { key: &key, tie };
        assert_eq!(node.lower_bound(place), expected, "{key:?} {tie}");
        assert_eq!(node.has_row(expected, place), model.contains(&(key.clone(), tie)));
    }
}

fn fill(seed: u64, style: u64, rounds: usize) -> usize {
    let dice = &mut Dice::new(seed * STYLES + style + 1);
    let mut postings = 0;
    let mut buf = PageBuf::new();
    edit::init(&mut buf.page_mut(), 0);
    let mut model = Model::new();
    for round in 0..rounds {
        if dice.below(10) < 8 || model.is_empty() {
            let (key, value) = (random_key(dice, style), random_row(dice, seed));
            let place = Place { key: &key, tie: value };
            let at = Node(buf.view()).lower_bound(place);
            let row = model.partition_point(|(k, v)| (k, *v) < (&key, value));
            if model.get(row).is_some_and(|(k, v)| (k, *v) == (&key, value)) {
                continue;
            }
            let carried = carried(value);
            let beside = Beside::carried(&carried);
            let room = edit::has_room(Node(buf.view()), place, beside.bytes());
            let counted = changes(&buf) + u32::from(room);
            assert_eq!(edit::insert(&mut buf.page_mut(), at, &key, value, beside), room);
            assert_eq!(changes(&buf), counted, "a change is counted");
            if room {
                model.insert(row, (key, value));
            } else if dice.below(3) == 0 {
                check_cut(Node(buf.view()), &model, place, dice, style);
            } else {
                postings += usize::from(check_merge(&mut buf));
            }
        } else {
            let gone: Vec<u16> = (0..model.len() as u16).filter(|_| dice.below(8) == 0).collect();
            edit::remove(&mut buf.page_mut(), &gone);
            let mut i = 0;
            model.retain(|_| {
                i += 1;
                !gone.contains(&(i - 1))
            });
        }
        if dice.below(80) == 0 {
            postings += usize::from(check_merge(&mut buf));
        }
        if round % 16 == 0 {
            compare(Node(buf.view()), &model, dice, style);
            assert_eq!(page_fault(Node(buf.view())), Ok(()));
        }
    }
    compare(Node(buf.view()), &model, dice, style);
    postings
}

fn changes(buf: &PageBuf) -> u32 {
    Node(buf.view()).changes()
}

/// Merges, which changes nothing but what the rows take.
fn check_merge(buf: &mut PageBuf) -> bool {
    let (before, free) = {
        let node = Node(buf.view());
        (contents(node), node.gap() + node.garbage())
    };
    let count = Node(buf.view()).count();
    let merged = merge::merge(&mut buf.page_mut());
    let node = Node(buf.view());
    assert_eq!(contents(node), before);
    assert_eq!(merged, node.count() < count);
    assert!(!merged || node.gap() >= free, "merging takes no room");
    assert!(!merge::merge(&mut buf.page_mut()), "once is enough");
    merged
}

fn check_cut(node: Node<'_>, model: &Model, incoming: Place<'_>, dice: &mut Dice, style: u64) {
    let cut = choose_cut(node, incoming, 90);
    let moved: Vec<usize> = (cut.at..node.count()).collect();
    let high = node.high();
    let high = high.as_ref().map(|(k, t)| (k.as_slice(), *t));
    let right = Draft::of(node, &moved, None, high);
    let mut left = PageBuf::new();
    left.page_mut().copy_from(node.0);
    edit::cut(&mut left.page_mut(), cut.at, (&cut.key, cut.tie), BlockNo(7));
    let (low, up) = model.split_at(rows_before(node, cut.at));
    let (low, up) = (low.to_vec(), up.to_vec());
    compare(Node(left.view()), &low, dice, style);
    compare(right.node(), &up, dice, style);
    let separator = (&cut.key, cut.tie);
    assert!(low.iter().all(|(k, v)| (k, *v) < separator), "left is below the separator");
    assert!(up.iter().all(|(k, v)| (k, *v) >= separator), "right is not");
    // Suffix truncation: one byte less would not tell the halves apart, and only equal keys need a tie-breaker.
    let below = low.last().map_or(incoming.key, |(key, _)| key);
    match cut.key.split_last() {
        Some((_, shorter)) if cut.tie == 0 => assert!(below >= shorter, "{below:?} {cut:?}"),
        _ => assert_eq!(below, cut.key),
    }
    for (key, value) in &low {
        assert!(!Node(left.view()).is_beyond(Place { key, tie: *value }));
    }
    for (key, value) in &up {
        assert!(Node(left.view()).is_beyond(Place { key, tie: *value }));
    }
}

#[test]
fn a_page_is_a_sorted_list() {
    for seed in 0..8 {
        for style in 0..STYLES {
            let merged = fill(seed, style, 900);
            assert!(merged > 0 || style < 7, "style {style} has postings");
        }
    }
}

/// Inner pages: a floor without key, separators with and without tie-breaker.
#[test]
fn an_inner_page_leads_to_the_right_child() {
    for seed in 1..60 {
        let mut dice = Dice::new(seed);
        let style = dice.below(7);
        let mut draft = Draft::new(1, &[], None);
        draft.push_floor(BlockNo(1000));
        draft.finish();
        let mut buf = PageBuf::new();
        buf.page_mut().copy_from(draft.node().0);
        let mut model: Vec<(Vec<u8>, u64, u64)> = Vec::new();
        for child in 0..600 {
            let key = random_key(&mut dice, style);
            let tie = if dice.below(3) == 0 { dice.below(1 << 48) } else { 0 };
            let at = model.partition_point(|(k, t, _)| (k, *t) < (&key, tie));
            if model.get(at).is_some_and(|(k, t, _)| (k, *t) == (&key, tie)) {
                continue;
            }
            assert_eq!(Node(buf.view()).lower_bound(Place { key: &key, tie }), at + 1);
            if edit::insert(&mut buf.page_mut(), at + 1, &key, child, Beside::tie(tie)) {
                model.insert(at, (key, tie, child));
            } else {
                let node = Node(buf.view());
                let cut = choose_cut(node, Place { key: &key, tie }, 90);
                assert_eq!((&cut.key, cut.tie), (&model[cut.at - 1].0, model[cut.at - 1].1));
                break;
            }
        }
        let node = Node(buf.view());
        for _ in 0..200 {
            let (key, tie) = (random_key(&mut dice, style), dice.below(1 << 48));
            let at = model.partition_point(|(k, t, _)| (k, *t) <= (&key, tie));
            let expected = if at == 0 { 1000 } else { model[at - 1].2 };
            let way = node.lower_bound(Place { key: &key, tie }.next()) - 1;
            let found = node.slot(way).child();
            assert_eq!(u64::from(found.0), expected);
        }
    }
}
