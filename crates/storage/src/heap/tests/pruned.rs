//! A large scan that prunes what it reads stays in its ring.

use super::rows::heap;
use crate::buffer::{Policy, Pool, Relation};
use crate::heap::{HeapRel, HeapScan, Outcome};
use crate::rig::Rig;
use base::rank::Rank;
use base::{BlockNo, Fork, Persistence, RelId};
use std::sync::Arc;

const FRAMES: usize = 256;
const HOT: u32 = 96;
/// Four rows nearly fill a page.
const ROW: [u8; 1900] = [7; 1900];
const PAGES: u32 = 600;

/// Blocks of the relation that are in memory.
fn resident(pool: &Pool, rel: RelId) -> u32 {
    pool.residents().flatten().filter(|page| page.rel == rel).count() as u32
}

/// A table of more pages than there are frames, on each of which a row has ended, and pages that are in use.
fn scene(policy: Policy) -> (Rig, Arc<Pool>, Relation, HeapRel) {
    let rig = Rig::new(FRAMES);
    let hot = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    (0..HOT).for_each(|_| drop(hot.extend(Fork::Main).unwrap()));
    let heap = heap(&rig, 2, 100);
    let txn = rig.begin();
    let tids: Vec<_> = (0..4 * PAGES).map(|_| heap.insert(&txn, &ROW).unwrap()).collect();
    txn.commit().unwrap();
    txn.begin(crate::txn::Isolation::ReadCommitted);
    for tid in tids.chunk_by(|one, next| one.block == next.block).map(|page| &page[0]) {
        assert!(matches!(heap.delete(&txn, *tid, None).unwrap(), Outcome::Done { .. }));
    }
    txn.commit().unwrap();
    rig.wal.flush(rig.wal.position());
    rig.txns.refresh();
    let pool = rig.cold_under(FRAMES, policy);
    pool.attach_wal(Arc::clone(&rig.wal));
    let hot = pool.relation(hot.id(), Rank::HeapPage);
    // Twice: the second use counts under any policy.
    for block in (0..HOT).chain(0..HOT) {
        drop(hot.read(Fork::Main, BlockNo(block)).unwrap());
    }
    let heap = HeapRel::new(pool.relation(heap.relation().id(), Rank::HeapPage), &rig.txns, 100);
    assert!(heap.relation().blocks(Fork::Main).unwrap() >= PAGES);
    (rig, pool, hot, heap)
}

#[test]
fn a_scan_that_prunes_leaves_the_working_set_alone() {
    for policy in [Policy::Clock, Policy::Probation] {
        let (rig, pool, hot, heap) = scene(policy);
        let txn = rig.begin();
        let mut scan = HeapScan::new(&heap, txn.statement_snapshot()).unwrap();
        let (mut rows, mut pages) = (0, 0);
        while scan.next(&heap, &txn).unwrap().is_some() {
            rows += 1;
            pages += u32::from(scan.is_between_pages());
            if scan.is_between_pages() && pages % 4 == 0 {
                // As the cleaner does when it keeps up.
                pool.clean_all().unwrap();
            }
        }
        txn.commit().unwrap();
        pool.stop();
        assert_eq!(rows, 3 * PAGES);
        assert_eq!(resident(&pool, hot.id()), HOT, "{policy:?}");
        let written = pool.stats().written;
        assert!(written + 4 >= u64::from(PAGES), "{written} pages were pruned, and written");
        let reuses: u64 = pool.io_stats().iter().map(|(_, counts)| counts.reuses).sum();
        assert!(reuses > u64::from(PAGES) / 2, "{policy:?}: {reuses} frames were used again");
    }
}
