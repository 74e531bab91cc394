//! Whole indexes against a set, redo of their log, and crashes after each record of it.

use super::{Dice, SPARSE, STYLES, check, found, index, random_hash, tid};
use crate::buffer::Passage;
use crate::hash::page::*;
use crate::hash::{FILL_PERCENT, HashIndex, build_order, key_hash};
use crate::heap::fsm;
use crate::page::PageBuf;
use crate::page::changing;
use crate::rig::Rig;
use crate::wal::Kind;
use base::rank::Rank;
use base::{BlockNo, Fork, RelId, Tid};
use std::collections::BTreeSet;

type Model = BTreeSet<(u64, Tid)>;

fn compare(index: &HashIndex, model: &Model, dice: &mut Dice, style: u64) {
    let all: Vec<_> = model.iter().copied().collect();
    assert_eq!(check(index), all);
    for _ in 0..30 {
        let hash = random_hash(dice, style);
        let range = (hash, tid(0))..=(hash, Tid::INVALID);
        let expected: Vec<_> = model.range(range).map(|(_, tid)| *tid).collect();
        assert_eq!(found(index, hash), expected);
    }
    for (hash, tid) in all.iter().step_by(37) {
        assert!(found(index, *hash).contains(tid));
    }
}

fn grow_and_shrink(seed: u64, style: u64, rig: &Rig) -> (HashIndex, Model) {
    let mut dice = Dice::new(seed * 31 + style);
    let index = index(rig, seed as u32 * 10 + style as u32 + 1, SPARSE);
    let mut model = Model::new();
    for _ in 0..3 {
        for _ in 0..dice.below(1200) {
            let entry = (random_hash(&mut dice, style), tid(dice.below(20_000)));
            if model.insert(entry) {
                index.insert_hash(entry.0, entry.1).unwrap();
            }
        }
        compare(&index, &model, &mut dice, style);
        let keep = dice.below(4);
        let spared = |tid: Tid| u64::from(tid.block.0) % 4 < keep;
        let cleaning = index
            .vacuum(
                &mut Passage::for_vacuum(index.relation()),
                &mut |tid| !spared(tid),
                &mut || Ok(()),
            )
            .unwrap();
        let before = model.len();
        model.retain(|(_, tid)| spared(*tid));
        assert_eq!(cleaning.removed as usize, before - model.len());
        assert_eq!(cleaning.entries as usize, before);
        compare(&index, &model, &mut dice, style);
    }
    (index, model)
}

#[test]
fn an_index_is_a_set() {
    for seed in 0..2 {
        let rig = Rig::new(64);
        for style in 0..STYLES {
            grow_and_shrink(seed, style, &rig);
        }
    }
}

/// Who reads without a latch gets over pages that become others under way.
#[test]
fn an_index_is_a_set_though_its_pages_change_under_its_readers() {
    let changes = changing::unrest(6, || {
        let rig = Rig::new(64);
        for style in 0..STYLES {
            grow_and_shrink(3, style, &rig);
        }
    });
    assert!(changes > 500, "{changes} pages changed");
}

#[test]
fn redo_of_the_whole_log_gives_the_same_indexes() {
    let rig = Rig::new(64);
    let grown: Vec<_> = (0..STYLES).map(|style| grow_and_shrink(9, style, &rig)).collect();
    let relations: Vec<RelId> = grown.iter().map(|(index, _)| index.relation().id()).collect();
    for times in 1..=2 {
        let fresh = rig.redone(times, &relations);
        for (index, model) in &grown {
            let rel = fresh.relation(index.relation().id(), Rank::IndexPage);
            let again = HashIndex::new(rel, &rig.txns, FILL_PERCENT);
            let all: Vec<_> = model.iter().copied().collect();
            assert_eq!(check(&again), all, "after {times} times");
        }
        fresh.stop();
    }
}

/// What insert and vacuum log for an index of many splits and long chains.
fn eventful(rig: &Rig) -> HashIndex {
    let index = index(rig, 1, SPARSE);
    let mut dice = Dice::new(5);
    let mut number = 0;
    for _ in 0..2 {
        // One bucket takes most, so that there are chains, and moves from each of their pages.
        for _ in 0..1300 {
            let hash = if dice.below(8) == 0 { dice.roll() } else { dice.roll() << 3 };
            index.insert_hash(hash, tid(number)).unwrap();
            number += 1;
        }
        let spared = dice.below(4);
        index
            .vacuum(
                &mut Passage::for_vacuum(index.relation()),
                &mut |tid| u64::from(tid.offset) % 4 != spared,
                &mut || Ok(()),
            )
            .unwrap();
    }
    index
}

/// A crash after any record of the log, in the middle of a split too, leaves a sound index in which every entry
/// is found; and whoever writes next finishes what was begun.
#[test]
fn an_index_is_sound_after_every_record_of_its_log() {
    let rig = Rig::new(64);
    let rel = eventful(&rig).relation().id();
    let fresh = rig.empty(&[rel]);
    let mut met = BTreeSet::new();
    let mut interesting = Vec::new();
    let mut plain = 0;
    rig.redo_into(&fresh, |record, kind| {
        met.insert(kind);
        if kind == Kind::HASH_INSERT {
            plain += 1;
            return true;
        }
        if record % 3 == 0 || matches!(kind, Kind::HASH_MOVE | Kind::HASH_SQUEEZE) {
            let again = HashIndex::new(fresh.relation(rel, Rank::IndexPage), &rig.txns, SPARSE);
            let entries = check(&again);
            for (hash, tid) in entries.iter().step_by(11) {
                assert!(found(&again, *hash).contains(tid), "after {kind:?}, record {record}");
            }
        }
        let begins = matches!(kind, Kind::HASH_SPLIT | Kind::HASH_MOVE | Kind::HASH_EXTENT);
        if begins && record % 5 == 0 && interesting.len() < 24 {
            interesting.push(record);
        }
        true
    });
    let kinds = [
        Kind::HASH_INIT,
        Kind::HASH_OVERFLOW,
        Kind::HASH_REMOVE,
        Kind::HASH_EXTENT,
        Kind::HASH_SPLIT,
        Kind::HASH_MOVE,
        Kind::HASH_SPLIT_END,
        Kind::HASH_SQUEEZE,
        Kind::HASH_COUNT,
    ];
    for kind in kinds {
        assert!(met.contains(&kind), "{kind:?} was not met");
    }
    assert!(plain > 1000 && interesting.len() > 8);
    fresh.stop();
    for (i, stop) in interesting.into_iter().enumerate() {
        go_on_after(&rig, rel, stop, i % 2 == 0);
    }
}

/// Goes on after a crash that cut the log behind record `stop`.
fn go_on_after(rig: &Rig, rel: RelId, stop: usize, by_vacuum: bool) {
    let fresh = rig.empty(&[rel]);
    rig.redo_into(&fresh, |record, _| record < stop);
    let cut = HashIndex::new(fresh.relation(rel, Rank::IndexPage), &rig.txns, SPARSE);
    let mut expected: Model = check(&cut).into_iter().collect();
    let mut dice = Dice::new(stop as u64);
    if by_vacuum {
        cut.vacuum(&mut Passage::for_vacuum(cut.relation()), &mut |_| false, &mut || Ok(()))
            .unwrap();
    }
    for i in 0..120 {
        let entry = (dice.roll(), tid(50_000 + i));
        cut.insert_hash(entry.0, entry.1).unwrap();
        expected.insert(entry);
    }
    assert_eq!(check(&cut), expected.iter().copied().collect::<Vec<_>>());
    for (hash, tid) in &expected {
        assert!(found(&cut, *hash).contains(tid));
    }
    let unfinished = states(&cut).into_iter().filter(|state| *state != 0).count();
    assert_eq!(unfinished, 0, "every split has been finished by those who came after");
    fresh.stop();
}

/// A crash between an extent and its first bucket: the file need not have the extent's blocks, and they are not
/// for others. Handles that have heard of few entries let the first bucket fill before they split it, as
/// crashes do.
#[test]
fn an_extent_without_a_bucket_keeps_its_blocks() {
    let rig = Rig::new(64);
    let index = index(&rig, 1, SPARSE);
    let rel = index.relation().id();
    let mut model = Model::new();
    let mut number = 0;
    let mut fill = |index: &HashIndex, entries: u64| {
        for _ in 0..entries {
            let entry = (number << 32, tid(number));
            index.insert_hash(entry.0, entry.1).unwrap();
            model.insert(entry);
            number += 1;
        }
        model.clone()
    };
    for _ in 0..12 {
        fill(&HashIndex::new(index.relation().clone(), &rig.txns, SPARSE), 40);
    }
    let before = fill(&index, 0).len();
    fill(&index, 100);
    assert!(index.directory.buckets() > 1, "it was due");
    let fresh = rig.empty(&[rel]);
    let mut has_extent = false;
    rig.redo_into(&fresh, |_, kind| {
        has_extent |= kind == Kind::HASH_EXTENT;
        !has_extent
    });
    let open = || HashIndex::new(fresh.relation(rel, Rank::IndexPage), &rig.txns, SPARSE);
    let left = check(&open());
    assert!(left.len() >= before, "{} entries before the extent", left.len());
    // Overflow pages first, then the split.
    for entries in [40, 100] {
        let again = open();
        for i in 0..entries {
            again.insert_hash(i << 40, tid(90_000 + entries * 1000 + i)).unwrap();
        }
        check(&again);
    }
    assert!(open().refresh().unwrap() > 1, "it was due once more");
    assert_eq!(check(&open()).len(), left.len() + 140);
    fresh.stop();
}

/// The states of all buckets.
fn states(index: &HashIndex) -> Vec<u8> {
    let state = |bucket| {
        let page = index.relation().read(Fork::Main, index.block_of(bucket)).unwrap();
        Node(page.view()).state()
    };
    (0..index.refresh().unwrap()).map(state).collect()
}

#[test]
fn a_built_index_is_like_one_grown() {
    let rig = Rig::new(64);
    for style in 0..STYLES {
        for (round, percent) in [SPARSE, FILL_PERCENT, 100].into_iter().enumerate() {
            let mut dice = Dice::new(style + 77);
            let mut model = Model::new();
            for _ in 0..dice.below(4_000) * round as u64 {
                model.insert((random_hash(&mut dice, style), tid(dice.below(20_000))));
            }
            let mut sorted: Vec<_> = model.iter().copied().collect();
            sorted.sort_by_key(|(hash, _)| build_order(*hash));
            let index = index(&rig, style as u32 * 10 + round as u32 + 1, percent);
            let mut builder = index.build(sorted.len() as u64, percent).unwrap();
            for (hash, tid) in sorted {
                builder.push(hash, tid).unwrap();
            }
            assert_eq!(builder.finish().unwrap(), model.len() as u64);
            compare(&index, &model, &mut dice, style);
            for _ in 0..500 {
                let entry = (random_hash(&mut dice, style), tid(dice.below(20_000)));
                if model.insert(entry) {
                    index.insert_hash(entry.0, entry.1).unwrap();
                }
            }
            compare(&index, &model, &mut dice, style);
        }
    }
}

/// Marked entries are skipped at once, and go when their page needs room.
#[test]
fn marked_entries_make_room() {
    let rig = Rig::new(64);
    let index = index(&rig, 1, 100);
    let key = |number: u64| number.to_be_bytes();
    let mut tids = Vec::new();
    for number in 0..MAX_ENTRIES as u64 {
        index.insert(&key(number), tid(number)).unwrap();
    }
    let blocks = index.relation().blocks(Fork::Main).unwrap();
    for number in MAX_ENTRIES as u64..3000 {
        let old = number - MAX_ENTRIES as u64;
        index.lookup(&key(old), &mut tids).unwrap();
        assert_eq!(tids, [tid(old)]);
        index.mark_dead(&key(old), &mut |found| Ok(found == tid(old))).unwrap();
        index.lookup(&key(old), &mut tids).unwrap();
        assert!(tids.is_empty(), "marked entries are not seen");
        index.insert(&key(number), tid(number)).unwrap();
    }
    assert!(index.relation().blocks(Fork::Main).unwrap() <= blocks + 2, "the index has not grown");
    assert_eq!(check(&index).len(), 3000 - (3000 - MAX_ENTRIES) + check_marked(&index));
}

/// Marked entries that are still there.
fn check_marked(index: &HashIndex) -> usize {
    let marked = |bucket| {
        let page = index.relation().read(Fork::Main, index.block_of(bucket)).unwrap();
        Node(page.view()).positions(|_, slot| slot.is_dead()).len()
    };
    (0..index.refresh().unwrap()).map(marked).sum()
}

/// A handle that knows of one bucket finds everything in an index that has been split many times through
/// another, reads and writes.
#[test]
fn a_stale_number_of_buckets_is_found_out() {
    let rig = Rig::new(64);
    let index = index(&rig, 1, SPARSE);
    let hash = |number: u64| key_hash(&number.to_le_bytes());
    index.insert_hash(hash(0), tid(0)).unwrap();
    let open = || HashIndex::new(index.relation().clone(), &rig.txns, SPARSE);
    let late: Vec<HashIndex> = (0..40).map(|_| open()).collect();
    for stale in &late {
        assert_eq!(found(stale, hash(0)), [tid(0)]);
        assert_eq!(stale.directory.buckets(), 1);
    }
    for number in 1..3000 {
        index.insert_hash(hash(number), tid(number)).unwrap();
    }
    assert!(index.directory.buckets() > 32, "it has doubled often");
    for (number, stale) in (0..).step_by(73).zip(&late) {
        if number % 2 == 0 {
            assert_eq!(found(stale, hash(number)), [tid(number)]);
        } else {
            stale.insert_hash(hash(number), tid(90_000)).unwrap();
            assert_eq!(found(&index, hash(number)), [tid(number), tid(90_000)]);
        }
    }
    check(&index);
}

/// Whoever learnt the number of buckets before two splits of a key's bucket finds the key all the same, at each step of
/// the second one.
#[test]
fn a_number_two_splits_old_is_found_out_at_each_step() {
    let rig = Rig::new(64);
    let rel = eventful(&rig).relation().id();
    let fresh = rig.empty(&[rel]);
    let open = || HashIndex::new(fresh.relation(rel, Rank::IndexPage), &rig.txns, SPARSE);
    // The metapage after each split.
    let mut before: Vec<PageBuf> = Vec::new();
    let (mut met, mut halfway) = (BTreeSet::new(), 0);
    rig.redo_into(&fresh, |record, kind| {
        let steps = [
            Kind::HASH_EXTENT,
            Kind::HASH_SPLIT,
            Kind::HASH_MOVE,
            Kind::HASH_SPLIT_END,
            Kind::HASH_SQUEEZE,
        ];
        if !steps.contains(&kind) {
            return true;
        }
        let knowing = open();
        let (entries, states) = (check(&knowing), states(&knowing));
        let now = states.len() as u32;
        let depth = |hash, buckets| depth_of(bucket_of(hash, buckets), buckets);
        let meta = before.iter().rfind(|meta| Node(meta.view()).meta_buckets() <= now / 4);
        if let Some(meta) = meta {
            let then = Node(meta.view()).meta_buckets();
            let is_moving = |hash| states[bucket_of(hash, now) as usize] != 0;
            let (moving, other): (Vec<_>, Vec<_>) = entries
                .iter()
                .filter(|(hash, _)| depth(*hash, now) >= depth(*hash, then) + 2)
                .filter(|(hash, _)| bucket_of(*hash, now) != bucket_of(*hash, then))
                .partition(|(hash, _)| is_moving(*hash));
            for (hash, tid) in moving.iter().step_by(5).chain(other.iter().step_by(50)) {
                let stale = open();
                stale.directory.take(Node(meta.view()));
                assert!(found(&stale, *hash).contains(tid), "after {kind:?}, record {record}");
                assert!(stale.directory.buckets() > then, "it has learnt of the others");
                met.insert(kind);
                halfway += usize::from(is_moving(*hash));
            }
        }
        if kind == Kind::HASH_SPLIT {
            let meta = knowing.relation().read(Fork::Main, META).unwrap();
            let mut copy = PageBuf::new();
            copy.page_mut().copy_from(meta.view());
            before.push(copy);
        }
        true
    });
    assert!(met.len() == 5 && halfway > 100, "{halfway} look-ups amid a split, after {met:?}");
    fresh.stop();
}

/// Rows that come and go: buckets and pages of chains are used again, so that an index is not much larger than one that
/// is built of what is there.
#[test]
fn rows_that_come_and_go_take_no_more_room() {
    let rig = Rig::new(512);
    let (index, built) = (index(&rig, 1, FILL_PERCENT), index(&rig, 2, FILL_PERCENT));
    // One in four is of one key, whose chain is as long as there are such rows.
    let hash =
        |number: u64| key_hash(&(if number.is_multiple_of(4) { 0 } else { number }).to_le_bytes());
    const THERE: u64 = 20_000;
    const EACH: u64 = 4_000;
    let mut next = 0;
    let mut come = |count: u64| {
        for _ in 0..count {
            index.insert_hash(hash(next), tid(next)).unwrap();
            next += 1;
        }
        next
    };
    let mut end = come(THERE);
    for _ in 0..20 {
        end = come(EACH);
        let gone = tid(end - THERE);
        index
            .vacuum(&mut Passage::for_vacuum(index.relation()), &mut |tid| tid < gone, &mut || {
                Ok(())
            })
            .unwrap();
    }
    let entries = check(&index);
    assert_eq!(entries.len() as u64, THERE);
    let mut sorted: Vec<_> = (end - THERE..end).map(|number| (hash(number), tid(number))).collect();
    sorted.sort_by_key(|(hash, _)| build_order(*hash));
    let mut builder = built.build(THERE, FILL_PERCENT).unwrap();
    sorted.into_iter().for_each(|(hash, tid)| builder.push(hash, tid).unwrap());
    builder.finish().unwrap();
    let blocks = |index: &HashIndex| index.relation().blocks(Fork::Main).unwrap();
    let (now, fresh) = (blocks(&index), blocks(&built));
    assert!(10 * now <= 13 * fresh, "{now} blocks, freshly built {fresh}");
}

/// A crash may bring back a map that tells pages to be free which are in use again, or which an extent has
/// taken since.
#[test]
fn a_map_that_tells_pages_in_use_to_be_free_misleads_nobody() {
    let rig = Rig::new(64);
    let index = index(&rig, 1, SPARSE);
    let mut dice = Dice::new(3);
    let mut model = Model::new();
    for i in 0..3000 {
        let entry = (random_hash(&mut dice, 4), tid(i));
        index.insert_hash(entry.0, entry.1).unwrap();
        model.insert(entry);
        if i % 100 == 0 {
            for block in 0..index.relation().blocks(Fork::Main).unwrap() {
                fsm::give_whole(index.relation(), BlockNo(block)).unwrap();
            }
        }
    }
    compare(&index, &model, &mut dice, 4);
}

/// However large the index, and however many rows a key has: an insert touches a few pages, and logs a few pages' worth,
/// splits of buckets with long chains included. Those get done all the same.
#[test]
fn an_insert_touches_few_pages() {
    let rig = Rig::new(512);
    let index = index(&rig, 1, FILL_PERCENT);
    let touched = || rig.pool.hits();
    let (mut pages_most, mut log_most, mut longest) = (0, 0, 0);
    for number in 0..60_000_u64 {
        // Two thirds are of one key.
        let key = if number % 3 < 2 { 0 } else { number };
        let before = (touched(), rig.wal.position());
        index.insert(&key.to_le_bytes(), tid(number)).unwrap();
        pages_most = pages_most.max(touched() - before.0);
        log_most = log_most.max(rig.wal.position().0 - before.1.0);
        if number % 1000 == 0 {
            longest = longest.max(chain(&index, key_hash(&0_u64.to_le_bytes())));
        }
    }
    // 40,000 equal keys; the bucket they are in was split seven times or so.
    assert!(longest > 60, "a chain of {longest} pages");
    let buckets = u64::from(index.directory.buckets());
    let due = 60_000 / u64::from(index.directory.target());
    assert!(buckets + 2 >= due, "{buckets} of {due} buckets");
    // Eight steps of growing with up to six pages each, four of helping, and the insert itself.
    assert!(pages_most <= 80, "{pages_most} pages");
    assert!(log_most < 96 * 1024, "{log_most} bytes of log");
    check(&index);
}

/// Pages of the chain that a hash's entries are in.
fn chain(index: &HashIndex, hash: u64) -> usize {
    let bucket = bucket_of(hash, index.directory.buckets());
    let (mut block, mut pages) = (index.block_of(bucket), 0);
    while block != NONE {
        pages += 1;
        block = Node(index.relation().read(Fork::Main, block).unwrap().view()).next();
    }
    pages
}

/// A crash takes from the number of entries what was not put down: less than a bucket's share or a 64th. So splits are
/// no later than that, whatever was removed before; and vacuum finds out what is true.
#[test]
fn a_crash_does_not_delay_splits() {
    let rig = Rig::new(256);
    let index = index(&rig, 1, FILL_PERCENT);
    let target = u64::from(target_of(FILL_PERCENT));
    let insert = |index: &HashIndex, numbers: std::ops::Range<u64>| {
        for number in numbers {
            index.insert(&number.to_le_bytes(), tid(number)).unwrap();
        }
    };
    insert(&index, 0..16_000);
    // Half go; as many come again, for which no split is due.
    let old = tid(8_000);
    index
        .vacuum(&mut Passage::for_vacuum(index.relation()), &mut |tid| tid < old, &mut || Ok(()))
        .unwrap();
    let buckets = index.directory.buckets();
    insert(&index, 20_000..27_900);
    assert_eq!(index.directory.buckets(), buckets, "no split was due");
    let truth = index.counters.sum();
    assert_eq!(truth, check(&index).len() as u64);
    // The crash: what is known is what the log says.
    let rel = index.relation().id();
    let fresh = rig.redone(1, &[rel]);
    let again = HashIndex::new(fresh.relation(rel, Rank::IndexPage), &rig.txns, FILL_PERCENT);
    again.refresh().unwrap();
    let lost = truth - again.counters.sum();
    assert!(lost <= target + 16, "{lost} entries were forgotten");
    again.counters.change(-1000);
    again
        .vacuum(&mut Passage::for_vacuum(again.relation()), &mut |_| false, &mut || Ok(()))
        .unwrap();
    assert_eq!(again.counters.sum(), truth, "vacuum has counted");
    let once_more = HashIndex::new(again.relation().clone(), &rig.txns, FILL_PERCENT);
    once_more.refresh().unwrap();
    assert_eq!(once_more.counters.sum(), truth, "and put it down");
    insert(&once_more, 30_000..32_000);
    let due = (truth + 2_000) / target;
    assert!(u64::from(once_more.directory.buckets()) >= due, "{due} buckets are due");
    fresh.stop();
}

#[test]
fn extents_follow_each_other_without_gap_or_overlap() {
    let (mut last, mut bucket) = (None, 0_u32);
    let mut total = 0;
    while bucket < 1 << 20 {
        let spot = extent_of(bucket);
        assert_eq!(
            (spot.offset, Some(spot.index)),
            (0, last.map_or(Some(0), |l: usize| Some(l + 1)))
        );
        assert_eq!(extent_of(bucket + spot.blocks - 1).offset, spot.blocks - 1);
        assert!(u64::from(spot.blocks) <= 64 || spot.blocks <= bucket / 64, "growth is bounded");
        (last, bucket, total) = (Some(spot.index), bucket + spot.blocks, total + spot.blocks);
    }
    assert_eq!(bucket, total);
    for buckets in 1..300_u32 {
        for bucket in 0..buckets {
            let (depth, hash) = (depth_of(bucket, buckets), u64::from(bucket) | 0xABC0_0000);
            let same = |hash: u64| bucket_of(hash, buckets) == bucket;
            assert!(same(hash) && hash & mask(depth) == u64::from(bucket));
            assert!(same(hash ^ 1 << depth), "bits from the depth up do not matter");
            assert!(bucket == 0 || parent_of(bucket) < bucket);
        }
    }
}

/// Part of the disk format.
#[test]
fn the_hash_of_a_key_stays_what_it_is() {
    assert_eq!(key_hash(b""), key_hash(&[]));
    let hashes: BTreeSet<u64> = (0..10_000_u32).map(|n| key_hash(&n.to_be_bytes())).collect();
    assert_eq!(hashes.len(), 10_000);
    // Spread over buckets and over a page: no eighth is emptier or fuller than a quarter off.
    for shift in [0, 61] {
        for part in 0..8 {
            let count = hashes.iter().filter(|hash| **hash >> shift & 7 == part).count();
            assert!((940..1560).contains(&count), "{count} of 10,000 in an eighth");
        }
    }
}

/// X7: whoever has a page of an index latched must not begin an operation on one. Ranks find it out.
#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "latch order: a first IndexPage taken after another")]
fn an_operation_begun_under_a_page_s_latch_is_found_out() {
    let rig = Rig::new(64);
    let index = index(&rig, 1, SPARSE);
    index.insert_hash(1, tid(1)).unwrap();
    let bucket = index.block_of(0);
    let _held = index.relation().write(Fork::Main, bucket).unwrap();
    // The metapage with a bucket latched.
    index.refresh().unwrap();
}

/// Buckets are latched by ascending number.
#[test]
#[should_panic(expected = "buckets are latched in ascending order")]
fn buckets_latched_downwards_are_found_out() {
    let rig = Rig::new(64);
    let index = index(&rig, 1, SPARSE);
    for number in 0..500_u64 {
        index.insert(&number.to_le_bytes(), tid(number)).unwrap();
    }
    assert!(index.directory.buckets() > 3);
    let upper = index.latch_bucket(3).unwrap();
    let _ = index.latch_partner(&upper, 1);
}
