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
