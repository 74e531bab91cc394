//! One page against a sorted vector.

use super::{Dice, random_key};
use crate::btree::edit::{self, Draft};
use crate::btree::page::{Beside, Node, Place};
use crate::btree::plan::choose_cut;
use crate::page::PageBuf;
use base::BlockNo;

type Model = Vec<(Vec<u8>, u64)>;

fn contents(node: Node<'_>) -> Model {
    (0..node.count()).map(|i| (node.key(i), node.slot(i).value())).collect()
}

/// What the entry with this value carries: often nothing.
fn carried(value: u64) -> Vec<u8> {
    vec![value as u8; [0, 0, 5, 40][value as usize % 4]]
}

fn compare(node: Node<'_>, model: &Model, dice: &mut Dice, style: u64) {
    assert!(node.0.header_is_sound(), "header bounds");
    assert_eq!(&contents(node), model);
    for (i, (key, value)) in model.iter().enumerate() {
        assert_eq!(node.lower_bound(Place { key, tie: *value }), i, "an entry is found");
        assert!(node.key_is(i, key));
        let mut found = Vec::new();
        node.append_carried(i, &mut found);
        assert_eq!(found, carried(*value));
    }
    for _ in 0..20 {
        let (key, tie) = (random_key(dice, style), dice.below(1 << 48));
        let expected = model.partition_point(|(k, v)| (k, *v) < (&key, tie));
        assert_eq!(node.lower_bound(Place { key: &key, tie }), expected, "{key:?} {tie}");
    }
}

fn fill(dice: &mut Dice, style: u64, rounds: usize) {
    let mut buf = PageBuf::new();
    edit::init(&mut buf.page_mut(), 0);
    let mut model = Model::new();
    for round in 0..rounds {
        if dice.below(10) < 8 || model.is_empty() {
            let (key, value) = (random_key(dice, style), dice.below(1 << 48));
            let at = Node(buf.view()).lower_bound(Place { key: &key, tie: value });
            if model.get(at).is_some_and(|(k, v)| (k, *v) == (&key, value)) {
                continue;
            }
            let carried = carried(value);
            let beside = Beside::carried(&carried);
            let room = edit::has_room(Node(buf.view()), &key, beside.bytes());
            assert_eq!(edit::insert(&mut buf.page_mut(), at, &key, value, beside), room);
            if room {
                model.insert(at, (key, value));
            } else if dice.below(2) == 0 {
                check_cut(Node(buf.view()), &model, Place { key: &key, tie: value }, dice, style);
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
        if round % 16 == 0 {
            compare(Node(buf.view()), &model, dice, style);
        }
    }
    compare(Node(buf.view()), &model, dice, style);
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
    let (low, up) = (model[..cut.at].to_vec(), model[cut.at..].to_vec());
    compare(Node(left.view()), &low, dice, style);
    compare(right.node(), &up, dice, style);
    let separator = (&cut.key, cut.tie);
    assert!(low.iter().all(|(k, v)| (k, *v) < separator), "left is below the separator");
    assert!(up.iter().all(|(k, v)| (k, *v) >= separator), "right is not");
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
        for style in 0..7 {
            fill(&mut Dice::new(seed * 7 + style + 1), style, 700);
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
