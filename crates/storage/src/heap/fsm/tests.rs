use super::*;
use crate::rig::Rig;
use base::Persistence;
use base::rank::Rank;

const BLOCKS: u32 = 200;

fn relation(rig: &Rig) -> Relation {
    let rel = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    for _ in 0..BLOCKS {
        drop(rel.extend(Fork::Main).unwrap());
    }
    rel
}

#[test]
fn a_search_finds_what_was_recorded_and_nothing_smaller() {
    let rig = Rig::new(32);
    let rel = relation(&rig);
    assert_eq!(search(&rel, 100, 0).unwrap(), None);
    record(&rel, BlockNo(17), 1000).unwrap();
    record(&rel, BlockNo(150), 5000).unwrap();
    for spread in 0..40 {
        assert_eq!(search(&rel, 4000, spread).unwrap(), Some(BlockNo(150)));
        assert_eq!(search(&rel, 6000, spread).unwrap(), None);
        let any = search(&rel, 500, spread).unwrap().unwrap();
        assert!([BlockNo(17), BlockNo(150)].contains(&any));
    }
    assert!(believed(&rel, BlockNo(17)).unwrap() <= 1000);
    record(&rel, BlockNo(150), 0).unwrap();
    assert_eq!(search(&rel, 4000, 0).unwrap(), None, "the index entry is corrected");
    record(&rel, BlockNo(3), 4500).unwrap();
    assert_eq!(search(&rel, 4000, 0).unwrap(), Some(BlockNo(3)), "and raised again");
}

/// What a crash leaves when the leaf was written and the index was not.
#[test]
fn an_index_entry_that_is_too_low_is_raised_though_the_leaf_is_right() {
    let rig = Rig::new(32);
    let rel = relation(&rig);
    record(&rel, BlockNo(17), 4000).unwrap();
    let at = address(BlockNo(17));
    put(&mut latch(&rel, at.index).unwrap(), at.index_slot, 0);
    assert_eq!(search(&rel, 3000, 0).unwrap(), None);
    record(&rel, BlockNo(17), 4000).unwrap();
    assert_eq!(search(&rel, 3000, 0).unwrap(), Some(BlockNo(17)));
}

#[test]
fn different_sessions_are_sent_to_different_blocks() {
    let rig = Rig::new(32);
    let rel = relation(&rig);
    (0..BLOCKS).for_each(|block| record(&rel, BlockNo(block), 4000).unwrap());
    let found: std::collections::BTreeSet<BlockNo> =
        (0..16).map(|spread| search(&rel, 3000, spread).unwrap().unwrap()).collect();
    assert!(found.len() >= 8, "{found:?}");
}

#[test]
fn an_entry_past_the_end_is_forgotten() {
    let rig = Rig::new(32);
    let rel = relation(&rig);
    record(&rel, BlockNo(BLOCKS + 5), 8000).unwrap();
    assert_eq!(search(&rel, 7000, 0).unwrap(), None);
    assert_eq!(believed(&rel, BlockNo(BLOCKS + 5)).unwrap(), 0);
}

#[test]
fn a_whole_page_is_taken_once() {
    let rig = Rig::new(32);
    let rel = relation(&rig);
    record(&rel, BlockNo(4), 8000).unwrap();
    assert_eq!(take_whole(&rel).unwrap(), None);
    give_whole(&rel, BlockNo(9)).unwrap();
    assert_eq!(take_whole(&rel).unwrap(), Some(BlockNo(9)));
    assert_eq!(take_whole(&rel).unwrap(), None);
}

/// Blocks whose entries lie on the second leaf page of the map, and in a second group.
#[test]
fn addresses_do_not_collide() {
    let entries = ENTRIES as u32;
    let near = [0, 1, entries - 1, entries, entries + 1, u32::MAX - 1];
    let beyond = [GROUP as u32 - 1, GROUP as u32, GROUP as u32 + entries];
    let mut seen = std::collections::BTreeSet::new();
    for block in near.into_iter().chain(beyond) {
        let at = address(BlockNo(block));
        assert!(at.leaf > at.index && at.slot < ENTRIES && at.index_slot < ENTRIES);
        assert!(seen.insert((at.leaf, at.slot)), "block {block}");
        let group = u64::from(block) / GROUP;
        assert_eq!(heap_block(group, at.index_slot, at.slot), Some(BlockNo(block)));
    }
}
