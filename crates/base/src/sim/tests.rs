use super::*;
use crate::clock;
use std::time::Duration;

fn trace_of(seed: u64) -> Vec<u64> {
    run(seed, || {
        let trace = Rc::new(RefCell::new(Vec::new()));
        let left = Rc::new(Cell::new(4));
        for id in 0..4u64 {
            let (trace, left) = (Rc::clone(&trace), Rc::clone(&left));
            spawn(move || {
                for turn in 0..5 {
                    park::sleep(Duration::from_micros(draw(100)));
                    maybe_yield(2);
                    trace.borrow_mut().push(id * 10 + turn);
                }
                left.set(left.get() - 1);
            });
        }
        while left.get() > 0 {
            park::sleep(Duration::from_millis(1));
        }
        trace.take()
    })
}

#[test]
fn a_seed_replays_and_another_differs() {
    assert_eq!(trace_of(7), trace_of(7));
    assert_ne!(trace_of(7), trace_of(8));
}

/// How many turns of another context passed while one fell behind, with any chance in `odds`.
fn turns_missed(seed: u64, odds: u64) -> u32 {
    run(seed, move || {
        let done = Rc::new(Cell::new(false));
        let back = Rc::clone(&done);
        spawn_local(move || {
            maybe_fall_behind(odds);
            back.set(true);
        });
        let mut turns = 0;
        while !done.get() {
            turns += 1;
            park::yield_now();
        }
        turns
    })
}

#[test]
fn who_falls_behind_waits_for_hundreds_of_turns_of_others_and_not_for_ever() {
    let missed = |odds| (0..20).map(move |seed| turns_missed(seed, odds));
    assert!(missed(1).any(|turns| turns > 500));
    assert!(missed(1).all(|turns| turns < LAG_MAX as u32 + 100));
    assert!(missed(1_000_000).all(|turns| turns < 100));
}

#[test]
fn time_passes_only_when_nothing_can_run() {
    let slept = run(1, || {
        let before = clock::now();
        park::sleep(Duration::from_secs(3600));
        clock::now().since(before)
    });
    assert_eq!(slept, Duration::from_secs(3600));
}

#[test]
fn windows_are_told_in_disk_operations() {
    use crate::disk::{Disk, Open, sim::SimDisk};
    let (windows, operations) = run(3, || {
        let disk = SimDisk::new();
        let file = disk.open("f", Open::CreateNew).unwrap();
        let outer = window("outer");
        file.write_at(b"a", 0).unwrap();
        drop(window("empty"));
        file.sync().unwrap();
        drop(outer);
        (windows(), operations())
    });
    assert_eq!(operations, 3);
    assert_eq!(windows[0], Passed { name: "empty", begin: 2, end: 2 });
    assert_eq!(windows[1], Passed { name: "outer", begin: 1, end: 3 });
}
