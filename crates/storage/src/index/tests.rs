//! Which rows an index lacks.

use super::*;

fn tid(block: u32, offset: u16) -> Tid {
    Tid { block: BlockNo(block), offset }
}

/// I2: blocks ascend, and within one any order is right.
#[test]
fn what_is_known_is_told_block_by_block() {
    let list = [tid(0, 2), tid(0, 3), tid(0, 3), tid(2, 1), tid(5, 7), tid(9, 1)];
    let mut list = list.into_iter();
    let mut next = || Ok::<_, ()>(list.next());
    let mut known = KnownRows::default();
    // Within a block roots may come in any order; blocks may be left out.
    let asked =
        [(0, 3, true), (0, 1, false), (0, 2, true), (1, 1, false), (5, 7, true), (8, 1, false)];
    for (block, offset, is_known) in asked {
        assert_eq!(known.has(tid(block, offset), &mut next), Ok(is_known), "({block},{offset})");
    }
    assert_eq!(known.has(tid(9, 1), &mut next), Ok(true));
    assert_eq!(known.has(tid(9, 2), &mut next), Ok(false));
    assert_eq!(known.has(tid(10, 1), &mut next), Ok(false));
}
