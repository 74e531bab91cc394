//! A page that changes while it is read: what an optimistic reader meets when its frame is given to another page
//! under way. Whatever it reads, it must not panic.

use super::{Dice, STYLES, random_key};
use crate::btree::edit;
use crate::btree::merge;
use crate::btree::page::{Beside, Node, Place};
use crate::page::{PageBuf, PageBytes, changing};

/// After how many words of an answer the page changes: after each of the first ones, where bounds and offsets are read, and
/// now and then in what is copied.
fn moments() -> impl Iterator<Item = u32> {
    (0..60).chain((60..400).step_by(37))
}

/// A leaf full of keys of one style, some with carried bytes, some with several rows.
fn leaf(dice: &mut Dice, style: u64) -> PageBuf {
    let mut buf = PageBuf::new();
    edit::init(&mut buf.page_mut(), 0);
    for _ in 0..200 {
        let (key, tie) = (random_key(dice, style), dice.below(1 << 48));
        let at = Node(buf.view()).lower_bound(Place { key: &key, tie });
        let carried = vec![7; [0, 0, 9][dice.below(3) as usize]];
        edit::insert(&mut buf.page_mut(), at, &key, tie, Beside::carried(&carried));
    }
    merge::merge(&mut buf.page_mut());
    buf
}

/// What another kind of page looks like as a node.
fn garbage(dice: &mut Dice) -> Box<PageBytes> {
    let mut bytes = PageBytes::new();
    for word in bytes.0.chunks_exact_mut(8) {
        word.copy_from_slice(&dice.roll().to_le_bytes());
    }
    bytes
}

/// Pages that a frame may come to hold, for good.
fn images(dice: &mut Dice) -> Vec<&'static PageBytes> {
    let mut images: Vec<&'static PageBytes> = Vec::new();
    for style in 0..STYLES {
        let mut bytes = PageBytes::new();
        leaf(dice, style).view().to_bytes(&mut bytes);
        images.push(Box::leak(bytes));
    }
    images.extend((0..5).map(|_| &*Box::leak(garbage(dice))));
    images.push(Box::leak(PageBytes::new()));
    images
}

/// What readers without a latch ask of a page, each by itself.
const QUESTIONS: &[fn(Node<'_>, Place<'_>) -> usize] = &[
    |node, place| node.lower_bound(place),
    |node, place| usize::from(node.is_beyond(place)) + usize::from(node.reaches(place)),
    |node, place| usize::from(node.may_continue(place.key)),
    |node, place| usize::from(node.prefix_cmp(place.key).is_eq()),
    |node, place| usize::from(node.has_row(3, place)),
    |node, place| usize::from(node.key_is(5, place.key)),
    |node, _| usize::from(node.same_key(5, 6)),
    |node, _| node.rows(4).count(),
    |node, _| node.key(7).len() + node.record_bytes(7),
    |node, _| node.high().map_or(0, |(key, _)| key.len()) + node.high_bytes(),
    |node, _| {
        let mut to = Vec::new();
        node.append_carried(2, &mut to);
        node.append_list(2, &mut to);
        to.len()
    },
    |node, _| node.gap() + node.used(),
];

#[test]
fn a_page_that_becomes_another_one_under_its_reader_does_no_harm() {
    let dice = &mut Dice::new(20);
    let images = images(dice);
    let mut changes = 0;
    for (i, image) in images.iter().enumerate() {
        let buf = PageBuf::from_bytes(image);
        let node = Node(buf.view());
        for (j, other) in images.iter().enumerate() {
            let style = [i, j][dice.below(2) as usize] as u64 % STYLES;
            let (key, tie) = (random_key(dice, style), dice.below(1 << 48));
            for question in QUESTIONS {
                for words in moments() {
                    let ask = || question(node, Place { key: &key, tie });
                    let (_, changed) = changing::after(words, other, ask);
                    changes += u32::from(changed);
                    if !changed {
                        break;
                    }
                }
            }
        }
    }
    assert!(changes > 10_000, "pages changed under way {changes} times only");
}
