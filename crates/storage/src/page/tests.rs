use super::*;
use base::{BlockNo, Fork, PageId, RelId};
use proptest::prelude::*;

fn id(block: u32) -> PageId {
    PageId { rel: RelId(7), fork: Fork::Main, block: BlockNo(block) }
}

fn bytes_of(page: &PageBuf) -> Box<PageBytes> {
    let mut bytes = PageBytes::new();
    page.view().to_bytes(&mut bytes);
    bytes
}

fn item_bytes(page: &PageBuf, slot: u16) -> Vec<u8> {
    let item = page.view().item(slot).expect("the slot holds an item");
    let mut out = Vec::new();
    page.view().append_to(item.offset, item.len, &mut out);
    out
}

/// The header is sound (PG1), and items lie between upper and special and do not overlap (PG2).
fn assert_sound(page: &PageBuf) {
    let view = page.view();
    assert!(view.header_is_sound());
    let mut used = vec![false; PAGE_BYTES];
    for slot in 1..=view.line_count() {
        if view.line(slot).flags() == LineFlags::Normal {
            let item = view.item(slot).expect("a normal line pointer names an item");
            assert!(item.offset >= view.upper() && item.offset + item.len <= view.special());
            let bytes = &mut used[item.offset..item.offset + item.len];
            assert!(bytes.iter().all(|b| !b), "items overlap at {item:?}");
            bytes.fill(true);
        }
    }
}

#[test]
fn a_zero_page_is_new_valid_and_free_of_items() {
    let page = PageBuf::new();
    assert!(page.view().is_new() && page.view().is_zero());
    assert_eq!(page.view().kind(), Some(PageKind::New));
    assert_eq!((page.view().line_count(), page.view().free_space()), (0, 0));
    let mut bytes = bytes_of(&page);
    seal(&mut bytes.0, id(3));
    assert!(bytes.0.iter().all(|b| *b == 0));
    assert_eq!(verify(&bytes.0, id(4)), Ok(()));
}

#[test]
fn a_page_is_blank_whatever_its_position_until_something_is_put_on_it() {
    let mut page = PageBuf::new();
    page.page_mut().set_lsn(base::Lsn(u64::MAX));
    let mut bytes = bytes_of(&page);
    seal(&mut bytes.0, id(3));
    page.page_mut().from_bytes(&bytes);
    assert!(page.view().is_blank() && !page.view().is_zero());
    page.page_mut().set_flags(1);
    assert!(!page.view().is_blank());
    page.page_mut().set_flags(0);
    page.page_mut().put_u64(PAGE_BYTES - 8, 1);
    assert!(!page.view().is_blank());
}

#[test]
fn header_fields_do_not_disturb_each_other() {
    let mut page = PageBuf::new();
    page.page_mut().init(PageKind::BTree, 16);
    page.page_mut().set_lsn(base::Lsn(u64::MAX - 1));
    page.page_mut().set_flags(0xFFF);
    let slot = page.page_mut().add_item(b"x").expect("room");
    page.page_mut().set_line(slot, LinePointer::UNUSED);
    let view = page.view();
    assert_eq!(view.lsn().0, u64::MAX - 1);
    assert_eq!(view.kind(), Some(PageKind::BTree));
    assert_eq!(view.flags(), 0xFFF);
    assert_eq!((view.lower(), view.special()), (HEADER_BYTES + LINE_BYTES, PAGE_BYTES - 16));
    assert_eq!(view.upper(), PAGE_BYTES - 24);
    assert!(view.header_is_sound());
}

#[test]
fn the_checksum_sees_every_bit_and_the_address() {
    let mut page = PageBuf::new();
    page.page_mut().init(PageKind::Heap, 0);
    page.page_mut().add_item(b"a row").expect("room");
    let mut bytes = bytes_of(&page);
    seal(&mut bytes.0, id(9));
    assert_eq!(verify(&bytes.0, id(9)), Ok(()));
    assert!(verify(&bytes.0, id(10)).is_err());
    let other_fork = PageId { fork: Fork::Visibility, ..id(9) };
    assert!(verify(&bytes.0, other_fork).is_err());
    for bit in (0..PAGE_BYTES * 8).step_by(977) {
        bytes.0[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&bytes.0, id(9)).is_err(), "flipped bit {bit}");
        bytes.0[bit / 8] ^= 1 << (bit % 8);
    }
    assert_eq!(verify(&bytes.0, id(9)), Ok(()));
}

#[test]
fn reads_past_the_end_wrap_and_do_not_panic() {
    let page = PageBuf::new();
    let view = page.view();
    for offset in [PAGE_BYTES - 1, PAGE_BYTES, usize::from(u16::MAX), 1 << 20] {
        assert_eq!(view.get_u64(offset), 0);
        assert_eq!(view.cmp_bytes(offset, 100, &[0; 100]), std::cmp::Ordering::Equal);
    }
    assert_eq!(view.line(u16::MAX), LinePointer::UNUSED);
    assert_eq!(view.item(u16::MAX), None);
}

#[test]
fn a_hint_sets_bits_only() {
    let mut page = PageBuf::new();
    page.page_mut().put_u64(64, 0x1111_2222_3333_4444);
    page.view().or_u16(66, 0x0C00);
    assert_eq!(page.view().get_u64(64), 0x1111_2222_3F33_4444);
}

#[test]
fn unused_slots_are_found_again() {
    let mut page = PageBuf::new();
    page.page_mut().init(PageKind::Heap, 0);
    for i in 1..=5u16 {
        assert_eq!(page.page_mut().add_item(&[i as u8; 20]), Some(i));
    }
    page.page_mut().set_line(2, LinePointer::UNUSED);
    page.page_mut().set_line(4, LinePointer::redirect(5));
    page.page_mut().compact();
    assert_eq!(page.view().free_slot(), 2);
    assert_eq!(page.view().line(4).redirect_to(), Some(5));
    assert_eq!(page.page_mut().add_item(b"new"), Some(2));
    assert_eq!(page.page_mut().add_item(b"newer"), Some(6));
    assert_eq!(item_bytes(&page, 5), [5; 20]);
    page.page_mut().set_line(6, LinePointer::UNUSED);
    page.page_mut().truncate_lines();
    assert_eq!(page.view().line_count(), 5);
    assert_sound(&page);
}

#[test]
fn a_full_page_refuses_until_compacted() {
    let mut page = PageBuf::new();
    page.page_mut().init(PageKind::Heap, 8);
    let mut count = 0;
    while page.page_mut().add_item(&[1; 100]).is_some() {
        count += 1;
    }
    assert_eq!(count, (PAGE_BYTES - HEADER_BYTES - 8) / (104 + LINE_BYTES));
    for slot in (1..=count as u16).step_by(2) {
        page.page_mut().set_line(slot, LinePointer::DEAD);
    }
    assert!(page.page_mut().add_item(&[2; 200]).is_none());
    let promised = page.view().free_space_compacted();
    page.page_mut().compact();
    assert_eq!(page.view().free_space(), promised);
    let slot = page.page_mut().add_item(&[2; 200]).expect("room after compaction");
    assert_eq!(item_bytes(&page, slot), [2; 200]);
    assert_eq!(item_bytes(&page, 2), [1; 100]);
    assert_sound(&page);
}

/// PG4: what is free in holes is used where it is, and gathered only where no hole is long enough.
#[test]
fn a_row_of_the_same_length_takes_a_hole_and_nothing_moves() {
    let mut page = PageBuf::new();
    page.page_mut().init(PageKind::Heap, 8);
    let mut count = 0_u16;
    while page.page_mut().add_item(&[count as u8; 100]).is_some() {
        count += 1;
    }
    let places = |page: &PageBuf| -> Vec<_> {
        (1..=count).filter_map(|slot| page.view().item(slot)).collect()
    };
    let before = places(&page);
    page.page_mut().free_item(7, LinePointer::UNUSED);
    assert!(page.view().free_space() < 104, "what is free lies among the others");
    let left = page.view().free_space_in_all();
    assert_eq!(page.page_mut().add_item(&[0xAA; 97]), Some(7));
    assert_eq!(places(&page)[6].offset, before[6].offset);
    assert_eq!(page.view().free_space_in_all(), left - 104);
    assert!(!page.view().may_have_holes() || left > 104 + page.view().free_space());
    assert_eq!(item_bytes(&page, 7), [0xAA; 97]);
    // Two that are apart have room for one of twice the length: then the others move.
    page.page_mut().free_item(3, LinePointer::UNUSED);
    page.page_mut().free_item(20, LinePointer::redirect(21));
    assert_eq!(page.page_mut().add_item(&[0xBB; 208]), Some(3));
    assert_eq!(item_bytes(&page, 3), [0xBB; 208]);
    assert_eq!(item_bytes(&page, 21), [20; 100]);
    assert_ne!(places(&page).last(), before.last());
    assert!(!page.view().may_have_holes());
    assert_sound(&page);
}

#[derive(Debug, Clone)]
enum RawOp {
    Put(usize, u64, usize),
    Write(usize, Vec<u8>),
    Move(usize, usize, usize),
    Zero(usize, usize),
}

fn raw_op() -> impl Strategy<Value = RawOp> {
    let len = 0usize..200;
    prop_oneof![
        (0..PAGE_BYTES - 8, any::<u64>(), prop::sample::select(vec![1usize, 2, 4, 8]))
            .prop_map(|(at, v, n)| RawOp::Put(at, v, n)),
        (0..PAGE_BYTES - 200, prop::collection::vec(any::<u8>(), 0..200))
            .prop_map(|(at, v)| RawOp::Write(at, v)),
        (0..PAGE_BYTES - 200, 0..PAGE_BYTES - 200, len.clone())
            .prop_map(|(a, b, n)| RawOp::Move(a, b, n)),
        (0..1000usize, 0..1000usize, len.clone()).prop_map(|(a, b, n)| RawOp::Move(a, b, n)),
        (0..PAGE_BYTES - 200, len).prop_map(|(at, n)| RawOp::Zero(at, n)),
    ]
}

fn apply_raw(op: &RawOp, page: &mut PageMut<'_>, model: &mut [u8]) {
    match op {
        RawOp::Put(at, v, n) => {
            match n {
                1 => page.put_u8(*at, *v as u8),
                2 => page.put_u16(*at, *v as u16),
                4 => page.put_u32(*at, *v as u32),
                _ => page.put_u64(*at, *v),
            }
            model[*at..at + n].copy_from_slice(&v.to_le_bytes()[..*n]);
        }
        RawOp::Write(at, v) => {
            page.write_bytes(*at, v);
            model[*at..at + v.len()].copy_from_slice(v);
        }
        RawOp::Move(from, to, n) => {
            page.move_within(*from, *to, *n);
            model.copy_within(*from..from + n, *to);
        }
        RawOp::Zero(at, n) => {
            page.zero(*at, *n);
            model[*at..at + n].fill(0);
        }
    }
}

#[derive(Debug, Clone)]
enum ItemOp {
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index),
    RemoveMany(Vec<prop::sample::Index>),
    Replace(prop::sample::Index, Vec<u8>),
    Compact,
}

fn item_op() -> impl Strategy<Value = ItemOp> {
    let index = any::<prop::sample::Index>;
    let bytes = || prop::collection::vec(any::<u8>(), 1..300);
    prop_oneof![
        4 => (index(), bytes()).prop_map(|(i, b)| ItemOp::Insert(i, b)),
        2 => index().prop_map(ItemOp::Remove),
        1 => prop::collection::vec(index(), 0..8).prop_map(ItemOp::RemoveMany),
        2 => (index(), bytes()).prop_map(|(i, b)| ItemOp::Replace(i, b)),
        1 => Just(ItemOp::Compact),
    ]
}

fn apply_item(op: &ItemOp, page: &mut PageMut<'_>, model: &mut Vec<Vec<u8>>) {
    match op {
        ItemOp::Insert(i, b) => {
            let at = i.index(model.len() + 1);
            let room = page.room_for_item() >= align8(b.len());
            let done = page.insert_item(at as u16 + 1, b);
            assert_eq!(done, room);
            if done {
                model.insert(at, b.clone());
            }
        }
        ItemOp::Remove(i) if !model.is_empty() => {
            let at = i.index(model.len());
            page.remove_item(at as u16 + 1);
            model.remove(at);
        }
        ItemOp::RemoveMany(all) if !model.is_empty() => {
            let mut slots: Vec<u16> = all.iter().map(|i| i.index(model.len()) as u16 + 1).collect();
            slots.sort_unstable();
            slots.dedup();
            page.remove_items(&slots);
            for slot in slots.iter().rev() {
                model.remove(usize::from(*slot) - 1);
            }
        }
        ItemOp::Replace(i, b) if !model.is_empty() => {
            let at = i.index(model.len());
            if page.replace_item(at as u16 + 1, b) {
                model[at] = b.clone();
            }
        }
        ItemOp::Compact => page.compact(),
        _ => {}
    }
}

proptest! {
    #[test]
    fn words_behave_as_bytes(ops in prop::collection::vec(raw_op(), 1..60)) {
        let mut page = PageBuf::new();
        let mut model = vec![0u8; PAGE_BYTES];
        for op in &ops {
            apply_raw(op, &mut page.page_mut(), &mut model);
        }
        prop_assert_eq!(&bytes_of(&page).0[..], &model[..]);
        for at in (0..PAGE_BYTES - 8).step_by(13) {
            let bytes: [u8; 8] = model[at..at + 8].try_into().unwrap();
            let value = u64::from_le_bytes(bytes);
            let view = page.view();
            prop_assert_eq!(view.get_u64(at), value);
            prop_assert_eq!(view.get_u32(at), value as u32);
            prop_assert_eq!(view.get_u16(at), value as u16);
            prop_assert_eq!(view.get_u8(at), value as u8);
        }
    }

    #[test]
    fn comparison_is_memcmp(
        mine in prop::collection::vec(0u8..3, 0..40),
        theirs in prop::collection::vec(0u8..3, 0..40),
        shared in 0usize..40,
        at in 24usize..200,
    ) {
        let mut theirs = theirs;
        let shared = shared.min(mine.len()).min(theirs.len());
        theirs[..shared].copy_from_slice(&mine[..shared]);
        let mut page = PageBuf::new();
        page.page_mut().write_bytes(0, &[0xAA; 400]);
        page.page_mut().write_bytes(at, &mine);
        prop_assert_eq!(page.view().cmp_bytes(at, mine.len(), &theirs), mine.cmp(&theirs));
        let mut out = vec![0; mine.len()];
        page.view().copy_out(at, &mut out);
        prop_assert_eq!(&out, &mine);
        let mut appended = vec![9];
        page.view().append_to(at, mine.len(), &mut appended);
        prop_assert_eq!(&appended[1..], &mine[..]);
    }

    /// PG5: slots are renumbered by those who insert and remove, not by who compacts.
    #[test]
    fn items_in_order_match_a_vector(ops in prop::collection::vec(item_op(), 1..120)) {
        let mut page = PageBuf::new();
        page.page_mut().init(PageKind::BTree, 16);
        let mut model = Vec::new();
        for op in &ops {
            apply_item(op, &mut page.page_mut(), &mut model);
        }
        assert_sound(&page);
        prop_assert_eq!(usize::from(page.view().line_count()), model.len());
        for (at, bytes) in model.iter().enumerate() {
            prop_assert_eq!(&item_bytes(&page, at as u16 + 1), bytes);
        }
        let used: usize = model.iter().map(|b| align8(b.len()) + LINE_BYTES).sum();
        prop_assert_eq!(page.view().free_space_compacted(), PAGE_BYTES - 16 - HEADER_BYTES - used);
    }

    /// Slots stay with their items (PG5), and what is free is zero (PG3) and counts as room (PG4).
    #[test]
    fn items_that_stay_are_kept_while_others_go_and_come(ops in prop::collection::vec(
        (any::<bool>(), any::<prop::sample::Index>(), 1usize..500), 1..300)) {
        let mut page = PageBuf::new();
        page.page_mut().init(PageKind::Heap, 8);
        let mut model: Vec<Option<Vec<u8>>> = Vec::new();
        for (step, (adds, index, len)) in ops.iter().enumerate() {
            let mut page = page.page_mut();
            if *adds {
                let bytes = vec![step as u8 | 1; *len];
                let slot = page.free_slot();
                let line = if usize::from(slot) > model.len() { LINE_BYTES } else { 0 };
                let room = page.free_space_in_all() >= align8(*len) + line;
                prop_assert_eq!(page.add_item(&bytes), room.then_some(slot));
                if room {
                    model.resize(model.len().max(slot.into()), None);
                    model[usize::from(slot) - 1] = Some(bytes);
                }
            } else if !model.is_empty() {
                let at = index.index(model.len());
                page.free_item(at as u16 + 1, LinePointer::UNUSED);
                model[at] = None;
            }
        }
        assert_sound(&page);
        let mut used = vec![false; PAGE_BYTES];
        for (at, bytes) in model.iter().enumerate() {
            let slot = at as u16 + 1;
            match bytes {
                Some(bytes) => {
                    prop_assert_eq!(&item_bytes(&page, slot), bytes);
                    let item = page.view().item(slot).expect("it is there");
                    used[item.offset..item.offset + item.len].fill(true);
                }
                None => prop_assert_eq!(page.view().line(slot), LinePointer::UNUSED),
            }
        }
        let free = page.view().lower()..page.view().special();
        let bytes = bytes_of(&page);
        prop_assert!(free.clone().all(|at| used[at] || bytes.0[at] == 0));
        let items: usize = model.iter().flatten().map(|bytes| align8(bytes.len())).sum();
        prop_assert_eq!(page.view().free_space_in_all(), free.len() - items);
    }

    /// PG3: what has come and gone leaves nothing behind.
    #[test]
    fn equal_contents_compact_to_equal_bytes(items in prop::collection::vec(
        prop::collection::vec(any::<u8>(), 1..100), 1..40)) {
        let mut direct = PageBuf::new();
        direct.page_mut().init(PageKind::Heap, 0);
        let mut churned = PageBuf::new();
        churned.page_mut().init(PageKind::Heap, 0);
        for item in &items {
            direct.page_mut().add_item(item).expect("room");
            churned.page_mut().add_item(item).expect("room");
            let extra = churned.page_mut().insert_item(1, &[0xEE; 50]);
            if extra {
                churned.page_mut().remove_item(1);
            }
        }
        prop_assert_eq!(&bytes_of(&direct).0[..], &bytes_of(&churned).0[..]);
    }
}
