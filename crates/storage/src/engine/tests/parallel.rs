//! Redo by several contexts leaves what redo by one leaves, byte for byte.

use super::*;
use base::disk::Open;
use base::disk::real::RealDisk;
use std::collections::BTreeMap;
use std::process::Command;

/// Relations' files after a start with so many contexts for pages, and an orderly stop; and what redo told.
fn recovered(env: &Env, workers: usize) -> (BTreeMap<String, Vec<u8>>, [u64; 3], u64) {
    let config = EngineConfig { recovery_workers: workers, ..config() };
    let engine = Engine::open(&config, env).unwrap();
    let report = engine.recovery().map_or([0; 3], |r| [r.records, r.applied, r.skipped]);
    let ahead = engine.recovery().map_or(0, |r| r.prefetched.read);
    assert!(workers > 1 || ahead == 0, "one context applies what it reads at once");
    engine.shutdown().unwrap();
    let mut files = BTreeMap::new();
    for name in env.disk.list("base").unwrap() {
        let file = env.disk.open(&format!("base/{name}"), Open::Existing).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        files.insert(name, bytes);
    }
    (files, report, ahead)
}

#[test]
fn lanes_leave_what_one_context_leaves_after_every_crash() {
    let (mut applied, mut ahead) = (0, 0);
    for seed in 0..3 {
        let disk = SimDisk::new();
        match seed {
            0 => drop(workload(&disk, seed)),
            _ => drop(bank::run(&disk, seed, TornPages::DoubleWrite)),
        }
        let mut crashes = disk.crashes();
        let (from, end) = (disk.operations() / 4, disk.operations());
        for at in (from..end).step_by(end / 10) {
            crashes.advance_to(at);
            let after = |workers: usize| {
                let image = crashes.image(&mut fastrand::Rng::with_seed(at as u64));
                sim::run(at as u64 + workers as u64, move || recovered(&env(&image), workers))
            };
            let alone = after(1);
            applied += alone.1[1];
            for workers in [2, 5] {
                let together = after(workers);
                assert_eq!(together.1, alone.1, "seed {seed}, crash at {at}, {workers} lanes");
                assert!(together.0 == alone.0, "seed {seed}, crash at {at}, {workers} lanes");
                ahead += together.2;
            }
        }
    }
    assert!(applied > 500, "{applied} pages were redone");
    assert!(ahead > 20, "{ahead} pages were read before redo came to them");
}

/// Set in the process that [`what_a_killed_process_left_is_redone_alike`] kills.
const CHILD: &str = "THALWEG_TEST_KILLED";

/// Works until it is killed, on threads and real files.
fn work_until_killed(root: &str) {
    let env = Env::new(Arc::new(RealDisk::new(root)));
    // So much that no page is cleaned before the end: all of it is to be redone.
    let config = EngineConfig {
        max_wal_bytes: 1 << 30,
        checkpoint_timeout: Duration::from_secs(300),
        ..config()
    };
    Engine::create(&config, &env).unwrap();
    let engine = Engine::open(&config, &env).unwrap();
    let txn = begin(&engine);
    let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
    txn.commit().unwrap();
    for value in 0..150 {
        let txn = begin(&engine);
        for block in 0..PAGES {
            set(&engine, &txn, &rel, block * 7 + (value as u32 + block) % 7, value);
        }
        let end = txn.commit().unwrap().must_be_durable;
        engine.wal().flush(end);
    }
    std::process::abort();
}

#[test]
fn what_a_killed_process_left_is_redone_alike() {
    if let Ok(root) = std::env::var(CHILD) {
        return work_until_killed(&root);
    }
    let root = std::env::temp_dir().join(format!("thalweg-lanes-{}", std::process::id()));
    let killed = root.join("killed");
    std::fs::create_dir_all(&killed).unwrap();
    let name = "engine::tests::parallel::what_a_killed_process_left_is_redone_alike";
    let me = std::env::current_exe().unwrap();
    let child =
        Command::new(me).args(["--exact", name, "--nocapture"]).env(CHILD, &killed).output();
    assert!(!child.unwrap().status.success());
    let after = |workers: usize| {
        let copy = root.join(workers.to_string());
        let copied = Command::new("cp").arg("-r").args([&killed, &copy]).status().unwrap();
        assert!(copied.success());
        recovered(&Env::new(Arc::new(RealDisk::new(copy))), workers)
    };
    let alone = after(1);
    assert!(alone.1[0] > 500, "{:?}", alone.1);
    for workers in [2, 4] {
        let together = after(workers);
        assert_eq!(together.1, alone.1);
        assert!(together.0 == alone.0, "{workers} lanes");
    }
    std::fs::remove_dir_all(root).unwrap();
}
