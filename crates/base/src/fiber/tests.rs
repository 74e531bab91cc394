use super::STACK_BYTES;
use super::*;
use crate::clock;
use crate::park::{current, park, park_until, yield_now};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

fn drive(scheduler: &Scheduler) {
    while scheduler.busy() > 0 {
        scheduler.run(1000);
    }
}

#[test]
fn fibers_take_turns() {
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let trace = Rc::new(RefCell::new(Vec::new()));
    for name in 0..3 {
        let trace = Rc::clone(&trace);
        scheduler
            .spawn(move || {
                for turn in 0..2 {
                    trace.borrow_mut().push((turn, name));
                    yield_now();
                }
            })
            .unwrap();
    }
    drive(&scheduler);
    assert_eq!(*trace.borrow(), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
}

#[test]
fn a_thread_wakes_a_parked_fiber_and_the_owner_is_told() {
    let (told, wakes) = mpsc::channel();
    let scheduler = Scheduler::new(Order::Fifo, move || told.send(()).unwrap());
    let (send, receive) = mpsc::channel();
    scheduler
        .spawn(move || {
            send.send(current()).unwrap();
            while !park_until(None) {}
        })
        .unwrap();
    scheduler.run(10);
    assert_eq!(scheduler.busy(), 1);
    let context = receive.recv().unwrap();
    std::thread::spawn(move || context.unpark()).join().unwrap();
    wakes.recv().unwrap();
    drive(&scheduler);
}

#[test]
fn deadlines_fire_and_stale_timers_do_not() {
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let timed_out = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&timed_out);
    scheduler
        .spawn(move || {
            let soon = clock::now().after(Duration::from_millis(2));
            current().unpark();
            seen.borrow_mut().push(park_until(Some(soon)));
            seen.borrow_mut().push(park_until(Some(soon)));
            assert!(clock::now() >= soon);
        })
        .unwrap();
    drive(&scheduler);
    assert_eq!(*timed_out.borrow(), [true, false]);
}

#[test]
fn stacks_are_reused_and_jobs_drop_what_they_own() {
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let token = Rc::new(());
    for _ in 0..100 {
        let held = Rc::clone(&token);
        scheduler.spawn(move || drop(held)).unwrap();
        drive(&scheduler);
    }
    assert_eq!(Rc::strong_count(&token), 1);
}

#[test]
fn a_long_loop_yields_at_checkpoints() {
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let done = Rc::new(RefCell::new(Vec::new()));
    let (a, b) = (Rc::clone(&done), Rc::clone(&done));
    scheduler
        .spawn(move || {
            let start = clock::now();
            while clock::now().since(start) < Duration::from_millis(20) {
                crate::park::checkpoint();
            }
            a.borrow_mut().push("long");
        })
        .unwrap();
    scheduler.spawn(move || b.borrow_mut().push("short")).unwrap();
    drive(&scheduler);
    assert_eq!(*done.borrow(), ["short", "long"]);
}

#[test]
fn recursion_fits_on_the_thread_stack() {
    fn deep(n: u32) -> u32 {
        let pad = std::hint::black_box([n; 64]);
        if n == 0 { 0 } else { deep(n - 1) + (pad[3] - n) + 1 }
    }
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let out = Rc::new(RefCell::new(0));
    let result = Rc::clone(&out);
    scheduler
        .spawn(move || {
            *result.borrow_mut() = crate::park::on_thread_stack(|| deep(3000));
            yield_now();
        })
        .unwrap();
    drive(&scheduler);
    assert_eq!(*out.borrow(), 3000);
}

#[test]
fn stack_left_counts_down_on_both_kinds_of_stack() {
    fn deep(n: u32) -> usize {
        let pad = std::hint::black_box([n; 256]);
        let left = crate::park::stack_left();
        if n == 0 { left } else { deep(n - 1).min(left + pad.len()) }
    }
    let used = |bytes: usize| (300 << 10..STACK_BYTES).contains(&bytes);
    let top = crate::park::stack_left();
    assert!(used(top - deep(300)));
    let scheduler = Scheduler::new(Order::Fifo, || {});
    // The second time the fiber runs on a stack whose deep part was given back.
    for _ in 0..2 {
        scheduler
            .spawn(move || {
                let top = crate::park::stack_left();
                assert!((STACK_BYTES - (16 << 10)..STACK_BYTES).contains(&top), "{top}");
                assert!(used(top - deep(300)));
                let outside = crate::park::on_thread_stack(crate::park::stack_left);
                assert!(outside.abs_diff(top) > 4096, "another stack");
            })
            .unwrap();
        drive(&scheduler);
    }
}

#[test]
fn interrupts_reach_a_parked_fiber() {
    use crate::interrupt::{self, Interrupt};
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let context = scheduler
        .spawn(|| {
            while interrupt::check().is_ok() {
                park();
            }
            assert_eq!(interrupt::check(), Err(Interrupt::Cancel));
        })
        .unwrap();
    scheduler.run(10);
    context.interrupt(Interrupt::Cancel);
    drive(&scheduler);
}

#[test]
fn a_started_fiber_runs_before_those_that_are_ready() {
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let trace = Rc::new(RefCell::new(Vec::new()));
    let (first, second) = (Rc::clone(&trace), Rc::clone(&trace));
    scheduler.spawn(move || first.borrow_mut().push("ready")).unwrap();
    scheduler
        .start(move || {
            second.borrow_mut().push("started");
            yield_now();
            second.borrow_mut().push("again");
        })
        .unwrap();
    assert_eq!(*trace.borrow(), ["started"]);
    assert!(scheduler.has_ready());
    drive(&scheduler);
    assert_eq!(*trace.borrow(), ["started", "ready", "again"]);
}

#[test]
fn a_deadline_passes_in_a_park_in_a_loop_and_not_behind_its_statement() {
    use crate::interrupt::{self, Interrupt};
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let soon = || Some(clock::now().after(Duration::from_millis(2)));
    scheduler
        .spawn(move || {
            interrupt::set_deadline(soon());
            while interrupt::check().is_ok() {
                park();
            }
            assert_eq!(interrupt::check(), Err(Interrupt::StatementTimeout));
            interrupt::clear_statement();
            interrupt::set_deadline(soon());
            while interrupt::check().is_ok() {
                crate::park::checkpoint();
            }
            assert_eq!(interrupt::check(), Err(Interrupt::StatementTimeout));
            // Once told, it ends no other wait early: those that can't be given up would spin.
            assert!(!interrupt::has_deadline());
            interrupt::clear_statement();
            interrupt::set_deadline(soon());
            interrupt::clear_statement();
            crate::park::sleep(Duration::from_millis(5));
            assert_eq!(interrupt::check(), Ok(()));
        })
        .unwrap();
    drive(&scheduler);
}

#[test]
fn parks_with_far_deadlines_leave_one_timer() {
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let far = clock::now().after(Duration::from_secs(3600));
    let fiber = scheduler
        .spawn(move || {
            for nearer in 0..1000 {
                park_until(Some(crate::clock::Instant(far.0 - nearer)));
            }
        })
        .unwrap();
    while scheduler.busy() > 0 {
        scheduler.run(1);
        fiber.unpark();
    }
    assert_eq!(scheduler.timers(), 1);
}

#[test]
fn a_slow_loop_keeps_to_its_time_slice() {
    let scheduler = Scheduler::new(Order::Fifo, || {});
    let turns = Rc::new(RefCell::new(0));
    let seen = Rc::clone(&turns);
    const STEPS: u32 = 200;
    scheduler
        .spawn(move || {
            for _ in 0..STEPS {
                let start = clock::now();
                while clock::now().since(start) < Duration::from_micros(600) {}
                crate::park::checkpoint();
            }
        })
        .unwrap();
    while scheduler.busy() > 0 {
        scheduler.run(1);
        *seen.borrow_mut() += 1;
    }
    // Every few steps at most, however slow the machine makes them; by count alone it would be two.
    assert!(*turns.borrow() > STEPS / 8, "{} turns", turns.borrow());
}
