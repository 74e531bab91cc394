//! Several workers at one queue.

use super::*;
use base::RelId;
use base::interrupt::Interrupt;
use std::sync::Condvar;
use std::time::Instant;

/// What workers have been handed, and which of it they are to be kept at.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Tables that workers are at now.
    open: Vec<RelId>,
    /// Whoever is at this one stays.
    kept: Option<RelId>,
    /// How often each was handed over.
    handed: Vec<RelId>,
}

impl Desk {
    /// Hands a table over; the worker has it until nobody keeps it there.
    fn open(&self, rel: RelId) -> Opened {
        let mut state = self.state.lock().unwrap();
        assert!(!state.open.contains(&rel), "two workers are at {rel}");
        state.open.push(rel);
        state.handed.push(rel);
        self.changed.notify_all();
        let mut state = self.changed.wait_while(state, |s| s.kept == Some(rel)).unwrap();
        state.open.retain(|other| *other != rel);
        Opened::Yes
    }

    fn keep(&self, rel: Option<RelId>) {
        self.state.lock().unwrap().kept = rel;
        self.changed.notify_all();
    }

    /// Waits until `rel` has been handed over so many times.
    fn wait_for(&self, rel: RelId, times: usize) {
        let started = Instant::now();
        let mut state = self.state.lock().unwrap();
        while state.handed.iter().filter(|other| **other == rel).count() < times {
            assert!(started.elapsed().as_secs() < 60, "{rel} is not come to");
            let patience = std::time::Duration::from_secs(1);
            state = self.changed.wait_timeout(state, patience).unwrap().0;
        }
    }
}

fn workers(rig: &Rig, count: usize, queue: &Arc<Queue>, desk: &Arc<Desk>) -> Workers {
    let theirs = Arc::clone(desk);
    let open: Box<Open> = Box::new(move |rel, _| theirs.open(rel));
    let analyze: Box<Analyze> = Box::new(|_| Opened::No);
    let failed = |_, error: &crate::Error| panic!("{error}");
    Workers::start(&rig.env(), count, Arc::clone(queue), open, analyze, failed)
}

#[test]
fn a_large_table_does_not_keep_others_waiting() {
    let rig = Rig::new(16);
    let (queue, desk) = (Arc::new(Queue::default()), Arc::new(Desk::default()));
    let (large, hot) = (RelId(1), RelId(2));
    desk.keep(Some(large));
    let workers = workers(&rig, 2, &queue, &desk);
    queue.push(large);
    desk.wait_for(large, 1);
    assert_eq!(queue.at_work(), 1);
    for times in 1..=3 {
        queue.push(hot);
        desk.wait_for(hot, times);
    }
    // Due again, but somebody is at it: that one table is not for the worker who is free.
    queue.push(large);
    queue.push(hot);
    desk.wait_for(hot, 4);
    assert_eq!(queue.len(), 1);
    desk.keep(None);
    desk.wait_for(large, 2);
    workers.stop();
    assert!(desk.state.lock().unwrap().open.is_empty());
}

/// Where a worker meets an error for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fails {
    Open,
    Clean,
    Analyze,
}

/// How often a worker comes to a table that is due for everything, if it fails the first time: at once, and in all after
/// some more than a minute.
fn visits(fails: Fails) -> (usize, usize) {
    let rig = Rig::new(32);
    let table = Arc::new(Table::new(&rig, 1));
    let txn = rig.begin();
    let tids: Vec<Tid> = (0..300).map(|i| table.insert(&txn, i, i).unwrap()).collect();
    txn.commit().unwrap();
    txn.begin(Isolation::ReadCommitted);
    tids[..200].iter().for_each(|tid| drop(table.heap.delete(&txn, *tid, None).unwrap()));
    txn.commit().unwrap();
    rig.wal.flush(rig.wal.position());
    let times = Arc::new(AtomicU64::new(0));
    let (opened, analyzed) = (Arc::clone(&times), Arc::clone(&times));
    let theirs = Arc::clone(&table);
    let open: Box<Open> = Box::new(move |_, clean| {
        let first = opened.fetch_add(1, Relaxed) == 0;
        match fails {
            Fails::Open if first => return Opened::Failed,
            Fails::Clean if first => base::park::current().interrupt(Interrupt::Cancel),
            _ => base::interrupt::clear_statement(),
        }
        clean(&HandedOver {
            heap: &theirs.heap,
            indexes: std::slice::from_ref(&theirs.index),
            index_cleanup: IndexCleanup::Auto,
            waited_for: &|| false,
            alone: None,
        });
        Opened::Yes
    });
    let analyze: Box<Analyze> = Box::new(move |_| match fails {
        Fails::Analyze if analyzed.load(Relaxed) == 1 => Opened::Failed,
        _ => Opened::No,
    });
    let queue = Arc::new(Queue::default());
    let workers = Workers::start(&rig.env(), 1, Arc::clone(&queue), open, analyze, |_, _| ());
    queue.push(table.heap.relation().id());
    let after = |time| {
        base::park::sleep(std::time::Duration::from_secs(time));
        times.load(Relaxed) as usize
    };
    let visits = (after(30), after(40));
    assert_eq!(workers.stats().failures, u64::from(fails == Fails::Clean));
    workers.stop();
    visits
}

#[test]
fn what_failed_is_tried_again_a_minute_later() {
    base::sim::run(3, || {
        for fails in [Fails::Open, Fails::Clean, Fails::Analyze] {
            assert_eq!(visits(fails), (1, 2), "{fails:?}");
        }
    });
}
