//! Relations that are copied page by page.

use super::*;
use crate::buffer::Purpose;

const COPIED: u32 = 300;

/// Pages 0 up to `pages` of a relation, each with another value.
fn filled(engine: &Engine, txn: &Txn, pages: u32) -> Relation {
    let rel = engine.create_relation(txn, Persistence::Permanent, Rank::HeapPage).unwrap();
    for n in 0..pages {
        set(engine, txn, &rel, n, u64::from(n) + 1);
    }
    rel
}

fn all_are_there(engine: &Engine, rel: &Relation, pages: u32) {
    assert_eq!(rel.blocks(Fork::Main).unwrap(), pages);
    (0..pages).for_each(|n| assert_eq!(get(engine, rel.id(), n), u64::from(n) + 1));
}

/// What is filled goes round in a ring, as what is read does: neither earns credit, nor takes the place of others' pages while the
/// cleaner keeps up.
#[test]
fn a_copy_goes_round_in_rings() {
    sim::run(5, || {
        let here = env(&SimDisk::new());
        Engine::create(&config(), &here).unwrap();
        let engine = Engine::open(&config(), &here).unwrap();
        let txn = begin(&engine);
        let from = filled(&engine, &txn, COPIED);
        let to = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
        let pages_by = |purpose: Purpose| {
            let counts = engine.pool().io_stats().into_iter();
            let counts = counts.filter(|(key, _)| key.purpose == purpose);
            counts
                .map(|(_, sum)| (sum.reads, sum.extends))
                .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
        };
        let (read, filled) = (pages_by(Purpose::BulkRead).0, pages_by(Purpose::BulkWrite).1);
        engine.copy_relation(&from, &to).unwrap();
        let read = pages_by(Purpose::BulkRead).0 - read;
        let filled = pages_by(Purpose::BulkWrite).1 - filled;
        assert!(read > u64::from(COPIED / 2), "{read} pages were read in a ring");
        assert!(filled >= u64::from(COPIED), "{filled} pages were filled in a ring");
        all_are_there(&engine, &to, COPIED);
        txn.commit().unwrap();
        drop((txn, from, to));
        engine.shutdown().unwrap();
    });
}

/// Files are longer than what is in them, and a check takes a page with anything on it for one of the table's.
#[test]
fn pages_that_nothing_was_put_on_are_zero_in_the_copy() {
    sim::run(6, || {
        let here = env(&SimDisk::new());
        Engine::create(&config(), &here).unwrap();
        let engine = Engine::open(&config(), &here).unwrap();
        let txn = begin(&engine);
        let from = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
        set(&engine, &txn, &from, 5, 7);
        drop(from.extend(Fork::Main).unwrap());
        let to = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
        engine.copy_relation(&from, &to).unwrap();
        assert_eq!(to.blocks(Fork::Main).unwrap(), 7);
        for block in [0, 1, 4, 6] {
            assert!(to.read(Fork::Main, BlockNo(block)).unwrap().is_zero(), "page {block}");
        }
        assert_eq!(get(&engine, to.id(), 5), 7);
        txn.commit().unwrap();
        drop((txn, from, to));
        engine.shutdown().unwrap();
    });
}
