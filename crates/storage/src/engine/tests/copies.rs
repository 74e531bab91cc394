//! Relations that are copied page by page.

use super::*;
use crate::buffer::Policy;

const HOT: u32 = 20;
const COPIED: u32 = 300;

/// Pages 0 up to `pages` of a relation, each with another value.
fn filled(engine: &Engine, txn: &Txn, pages: u32) -> Relation {
    let rel = engine.create_relation(txn, Persistence::Permanent, Rank::HeapPage).unwrap();
    (0..pages).for_each(|n| drop(set(engine, txn, &rel, n, u64::from(n) + 1)));
    rel
}

fn all_are_there(engine: &Engine, rel: &Relation, pages: u32) {
    assert_eq!(rel.blocks(Fork::Main).unwrap(), pages);
    (0..pages).for_each(|n| assert_eq!(get(engine, rel.id(), n), u64::from(n) + 1));
}

/// Under PostgreSQL's clock, which has no defence of its own: what is read and what is filled goes round in rings.
#[test]
fn a_copy_leaves_the_working_set_alone() {
    sim::run(5, || {
        let config = EngineConfig { shared_buffers: 128, replacement: Policy::Clock, ..config() };
        let here = env(&SimDisk::new());
        Engine::create(&config, &here).unwrap();
        let engine = Engine::open(&config, &here).unwrap();
        let txn = begin(&engine);
        let from = filled(&engine, &txn, COPIED);
        let hot = filled(&engine, &txn, HOT);
        let to = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
        for _ in 0..5 {
            all_are_there(&engine, &hot, HOT);
        }
        engine.copy_relation(&from, &to).unwrap();
        let before = engine.pool().stats().loads;
        all_are_there(&engine, &hot, HOT);
        let again = engine.pool().stats().loads - before;
        assert!(again <= 4, "{again} of {HOT} pages of the working set were evicted");
        all_are_there(&engine, &to, COPIED);
        txn.commit().unwrap();
        drop((txn, from, hot, to));
        engine.shutdown().unwrap();
    });
}
