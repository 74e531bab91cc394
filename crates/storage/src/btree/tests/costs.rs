//! What inserts cost in pages, however large the tree is.

use super::Dice;
use crate::btree::{BTree, Liveness, NewEntry};
use crate::rig::Rig;
use base::rank::Rank;
use base::{BlockNo, Persistence, Tid};

const INSERTS: u64 = 60_000;

/// Pages that one insert may touch, each as often as it is come to: a descent is one for each of up to five levels, and
/// one more to latch. Who finds the leaf full descends twice more for each level that splits, with a new page each and
/// the free-space map asked for it, and starts over.
const PAGES_MAX: u64 = 40;

/// Pages that inserts touched.
struct Touched {
    /// By one, at most.
    most: u64,
    all: u64,
}

fn tree(rig: &Rig, number: u32) -> BTree {
    let rel = rig.create(number, Persistence::Permanent, Rank::IndexPage);
    BTree::new(rel, &rig.txns)
}

fn tid(number: u64) -> Tid {
    Tid { block: BlockNo((number / 200) as u32), offset: (number % 200) as u16 + 1 }
}

/// Does something for each number, which is to touch pages of the tree.
fn touched(tree: &BTree, mut insert: impl FnMut(u64)) -> Touched {
    let so_far = || tree.relation().figure(crate::buffer::Figure::Hits);
    let (before, mut most) = (so_far(), 0);
    let mut last = before;
    for number in 0..INSERTS {
        insert(number);
        let now = so_far();
        (most, last) = (most.max(now - last), now);
    }
    tree.check(&mut |fault| panic!("{fault}"), &mut |_, _, _| {}).unwrap();
    Touched { most, all: last - before }
}

/// Keys in no order, few and many, short and as long as keys of five levels.
#[test]
fn an_insert_touches_few_pages() {
    let rig = Rig::new(8192);
    let mut dice = Dice::new(1);
    let mut long = Dice::new(2);
    let styles: [&mut dyn FnMut(u64) -> Vec<u8>; 5] = [
        &mut |_| dice.roll().to_be_bytes().to_vec(),
        // Keys that differ at their end only: separators are as long, so there are few to a page.
        &mut |_| [&[7; 800][..], &long.roll().to_be_bytes()].concat(),
        &mut |number| (INSERTS - number).to_be_bytes().to_vec(),
        &mut |number| (number * 7919 % 10).to_be_bytes().to_vec(),
        &mut |_| b"one key".to_vec(),
    ];
    for (style, key) in styles.into_iter().enumerate() {
        let tree = tree(&rig, style as u32 + 1);
        let cost = touched(&tree, |number| {
            tree.insert(NewEntry::plain(&key(number), tid(number))).unwrap();
        });
        assert!(cost.most <= PAGES_MAX, "style {style}: {} pages by one insert", cost.most);
        let each = cost.all / INSERTS;
        assert!(each <= 8, "style {style}: {each} pages by an insert");
    }
}

/// Keys that ascend go to the last leaf without a descent, where they are unique without a question to the table.
#[test]
fn ascending_keys_touch_the_last_leaf_alone() {
    let rig = Rig::new(1024);
    let txn = rig.begin();
    for is_unique in [false, true] {
        let tree = tree(&rig, u32::from(is_unique) + 1);
        let cost = touched(&tree, |number| {
            let key = number.to_be_bytes();
            let entry = NewEntry::plain(&key, tid(number));
            if !is_unique {
                return tree.insert(entry).unwrap();
            }
            let judge = &mut |_| -> crate::Result<Liveness> { panic!("there is no such key") };
            tree.insert_unique(&txn, entry, judge, &mut |_| Ok(false)).unwrap();
        });
        assert!(cost.all < INSERTS + INSERTS / 8, "{} pages by {INSERTS} inserts", cost.all);
        assert!(cost.most <= PAGES_MAX, "{} pages by one insert", cost.most);
    }
    txn.commit().unwrap();
}
