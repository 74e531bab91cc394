//! What an earlier process left unsynced is durable before anything builds on it, though redo does not wait.

use super::*;
use crate::recovery::control::ControlFile;
use base::disk::sim::FaultHook;
use std::io;
use std::sync::Mutex;

/// Accesses in their order, with their paths.
type Seen = Arc<Mutex<Vec<(Access, String)>>>;

/// What is on the disk after crashes in the later half of a workload that writes much.
fn left_by_crashes(seed: u64) -> Vec<SimDisk> {
    let disk = SimDisk::new();
    drop(bank::run(&disk, seed, TornPages::DoubleWrite));
    let mut crashes = disk.crashes();
    let end = disk.operations();
    let after = |at| {
        crashes.advance_to(at);
        crashes.image(&mut fastrand::Rng::with_seed(at as u64))
    };
    let left = (end / 2..end).step_by(end / 16).map(after);
    left.filter(|disk| ControlFile::read(disk).unwrap().state != State::Clean).collect()
}

/// Starts on the disk, with restart points and a small cache, so that pages are written during redo.
fn start(disk: &SimDisk, hook: FaultHook) -> Result<u64> {
    let disk = disk.clone();
    disk.set_fault(Some(hook));
    let opened = {
        let disk = disk.clone();
        sim::run(7, move || {
            let config = EngineConfig { restart_every: Duration::ZERO, ..config() };
            let engine = Engine::open(&config, &env(&disk))?;
            let points = engine.recovery().map_or(0, |report| report.restart_points);
            engine.shutdown().map(|()| points)
        })
    };
    disk.set_fault(None);
    opened
}

fn builds_on_what_was_left((access, path): &(Access, String)) -> bool {
    *access == Access::Write && (path.starts_with("doublewrite") || path.starts_with("control"))
}

#[test]
fn nothing_is_built_on_inherited_writes_before_they_are_durable() {
    let mut points = 0;
    for disk in (1..4).flat_map(left_by_crashes) {
        let logged = disk.list("base").unwrap().into_iter().filter(|name| !name.contains('_'));
        let logged: Vec<_> = logged.map(|name| format!("base/{name}")).collect();
        let seen = Seen::default();
        let told = Arc::clone(&seen);
        let hook = move |access, path: &str, _| {
            told.lock().unwrap().push((access, path.to_owned()));
            None::<io::Error>
        };
        points += start(&disk, Box::new(hook)).unwrap();
        let seen = seen.lock().unwrap();
        let first = seen.iter().position(builds_on_what_was_left).expect("it was closed in order");
        let log = seen
            .iter()
            .position(|(access, path)| *access == Access::Read && path.starts_with("wal"));
        assert!(log.is_some_and(|log| log < first), "redo has begun");
        for path in &logged {
            let synced = (Access::Sync, path.clone());
            assert!(seen[..first].contains(&synced), "{path} before a write");
        }
    }
    assert!(points > 0, "no start wrote anything down before it came to the log's end");
}

#[test]
fn a_start_whose_inherited_writes_can_not_be_synced_is_refused_and_loses_nothing() {
    let disk = left_by_crashes(2).swap_remove(0);
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    let hook = move |access, path: &str, _| {
        told.lock().unwrap().push((access, path.to_owned()));
        let fails = access == Access::Sync && path.starts_with("base/");
        fails.then(|| io::Error::from_raw_os_error(5))
    };
    let refused = start(&disk, Box::new(hook)).expect_err("a sync failed");
    assert_eq!(refused.sqlstate(), "58030", "{refused}");
    let seen = seen.lock().unwrap();
    assert!(!seen.iter().any(builds_on_what_was_left), "nothing was written");
    start(&disk, Box::new(|_, _, _| None)).expect("the disk is well again");
}
