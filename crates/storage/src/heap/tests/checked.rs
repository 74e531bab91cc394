//! What `check` finds: damage that no checksum tells.

use super::rows::{HOT, assert_sound, done, heap, row};
use crate::heap::{Freeze, HeapRel, fsm, page, vm};
use crate::rig::Rig;
use crate::txn::{Flags, Isolation, TupleHeader};
use base::{BlockNo, Fork, Tid};

fn faults(heap: &HeapRel) -> Vec<String> {
    let mut faults = Vec::new();
    heap.check(&mut |fault| faults.push(fault)).unwrap();
    faults
}

/// Changes a version's header; what it was before.
fn damage(heap: &HeapRel, tid: Tid, change: impl FnOnce(&mut TupleHeader)) -> TupleHeader {
    let mut page = heap.relation().write(Fork::Main, tid.block).unwrap();
    page.mark_dirty();
    let item = page::version(page.view(), tid.offset).unwrap();
    let before = page::header(page.view(), item);
    let mut header = before;
    change(&mut header);
    page::set_header(&mut page, item, &header);
    before
}

/// H2: an index leads to roots only.
#[test]
fn a_version_that_nothing_leads_to_is_found() {
    let rig = Rig::new(16);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    let root = heap.insert(&txn, &row(1, 0)).unwrap();
    txn.commit().unwrap();
    // What a rolled-back update has left is not missed.
    txn.begin(Isolation::ReadCommitted);
    let (undone, heap_only) = done(heap.update(&txn, root, &row(1, 1), HOT, None).unwrap());
    assert!(heap_only);
    txn.abort();
    txn.begin(Isolation::ReadCommitted);
    let (newest, heap_only) = done(heap.update(&txn, root, &row(1, 2), HOT, None).unwrap());
    assert!(heap_only && newest != undone);
    txn.commit().unwrap();
    assert_sound(&heap);
    for cut in [Flags::HOT_UPDATED, Flags::NONE] {
        let before = damage(&heap, root, |header| {
            header.flags = header.flags.without(cut);
            header.successor = undone;
        });
        let found = faults(&heap);
        assert_eq!(found.len(), 1, "{found:?}");
        let line = format!("line {} is a row's version that no root leads to", newest.offset);
        assert!(found[0].contains(&line), "{found:?}");
        damage(&heap, root, |header| *header = before);
    }
    assert_sound(&heap);
}

/// H4: who reads the flag, or the map, looks at no version any more.
#[test]
fn a_promise_that_is_not_kept_is_found() {
    let rig = Rig::new(16);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    let mut tids = Vec::new();
    heap.multi_insert(&txn, &[b"one", b"two"], Freeze::Yes, None, &mut tids).unwrap();
    txn.commit().unwrap();
    assert_sound(&heap);
    let changes: [fn(&mut TupleHeader); 2] = [
        |header| header.flags = header.flags.without(Flags::XMIN_FROZEN),
        |header| header.flags = header.flags.without(Flags::XMAX_INVALID),
    ];
    for change in changes {
        let before = damage(&heap, tids[1], change);
        let found = faults(&heap);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("all visible by its flag, but line 2 may not be"), "{found:?}");
        damage(&heap, tids[1], |header| *header = before);
    }
    let promise = |bits| {
        let mut map = vm::latch(heap.relation(), BlockNo(0)).unwrap();
        map.mark_dirty();
        vm::put(&mut map, BlockNo(0), bits);
    };
    promise(vm::ALL_FROZEN);
    let found = faults(&heap);
    assert!(found.len() == 1 && found[0].contains("all frozen in the map but not"), "{found:?}");
    promise(vm::ALL_FROZEN | vm::ALL_VISIBLE);
    assert_sound(&heap);
}

/// A map's page that is none.
#[test]
fn a_page_of_another_kind_in_a_map_is_found() {
    let rig = Rig::new(16);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    heap.multi_insert(&txn, &[b"one"], Freeze::Yes, None, &mut Vec::new()).unwrap();
    txn.commit().unwrap();
    fsm::record(heap.relation(), BlockNo(0), 500).unwrap();
    for fork in [Fork::FreeSpace, Fork::Visibility] {
        assert!(heap.relation().blocks(fork).unwrap() > 0, "{fork:?}");
        let mut map = heap.relation().write(fork, BlockNo(0)).unwrap();
        map.mark_dirty();
        page::init(&mut map);
    }
    let found = faults(&heap);
    let told = |fork| found.iter().any(|fault| fault.contains(&format!("{fork:?} block 0")));
    assert!(told(Fork::FreeSpace) && told(Fork::Visibility), "{found:?}");
}

#[test]
fn a_promise_behind_the_end_is_found() {
    let rig = Rig::new(16);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    heap.insert(&txn, b"row").unwrap();
    txn.commit().unwrap();
    assert_sound(&heap);
    let mut map = vm::latch(heap.relation(), BlockNo(7)).unwrap();
    map.mark_dirty();
    vm::put(&mut map, BlockNo(7), vm::ALL_VISIBLE);
    drop(map);
    let faults = faults(&heap);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains("ends before block 7"), "{faults:?}");
}
