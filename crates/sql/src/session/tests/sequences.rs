//! What a crash leaves of sequences whose steps and bounds were changed.

use base::disk::sim::SimDisk;

use super::databases::{env, on, simulate, small};
use super::*;

/// What `after` answers when the server has crashed behind `before`.
fn over_a_crash(before: &[&'static str], after: &'static str) -> String {
    let before = before.to_vec();
    simulate(1, move || {
        let disk = SimDisk::new();
        Engine::create(&small(), &env(&disk)).unwrap();
        let engine = Engine::open(&small(), &env(&disk)).unwrap();
        Cluster::create(&engine, "postgres").unwrap();
        let cluster = Cluster::open(&engine).unwrap();
        for sql in before {
            on(&cluster, "postgres", sql);
        }
        let mut crashes = disk.crashes();
        crashes.advance_to(disk.operations());
        let left = crashes.image(&mut fastrand::Rng::with_seed(1));
        engine.shutdown().unwrap();
        let engine = Engine::open(&small(), &env(&left)).unwrap();
        let cluster = Cluster::open(&engine).unwrap();
        let answer = on(&cluster, "postgres", after);
        engine.shutdown().unwrap();
        answer
    })
}

#[test]
fn steps_that_were_made_longer_lead_to_no_value_twice() {
    let before = [
        "CREATE SEQUENCE s; SELECT nextval('s')",
        "ALTER SEQUENCE s INCREMENT 100",
        "SELECT nextval('s') FROM generate_series(1, 5)",
    ];
    let answer = over_a_crash(&before, "SELECT nextval('s') > 501 AS is_new");
    assert_eq!(answer, "[is_new]\nt\nSELECT 1\n");
}

#[test]
fn a_rolled_back_change_of_steps_leads_to_no_value_twice() {
    let before = [
        "CREATE SEQUENCE s INCREMENT 100; SELECT nextval('s')",
        "BEGIN; ALTER SEQUENCE s INCREMENT 1; SELECT nextval('s') FROM generate_series(1, 40); ROLLBACK",
        "SELECT nextval('s') FROM generate_series(1, 5)",
    ];
    let answer = over_a_crash(&before, "SELECT nextval('s') > 541 AS is_new");
    assert_eq!(answer, "[is_new]\nt\nSELECT 1\n");
}

#[test]
fn values_go_on_within_bounds_that_were_made_narrower() {
    let before = [
        "CREATE SEQUENCE s; SELECT nextval('s') FROM generate_series(1, 3)",
        "ALTER SEQUENCE s MAXVALUE 10",
    ];
    assert_eq!(over_a_crash(&before, "SELECT nextval('s')"), "[nextval]\n4\nSELECT 1\n");
}
