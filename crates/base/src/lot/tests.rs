use super::*;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

#[test]
fn a_false_condition_does_not_wait() {
    assert_eq!(park_on(1, EXCLUSIVE, || false, None), Wake::Skipped);
}

#[test]
fn a_deadline_leaves_the_queue_empty() {
    let key = 0x1000;
    let soon = clock::now().after(Duration::from_millis(2));
    assert_eq!(park_on(key, EXCLUSIVE, || true, Some(soon)), Wake::TimedOut);
    assert_eq!(unpark_all(key), 0);
}

#[test]
fn waiters_leave_in_order_and_in_groups() {
    let key = Box::new(0u8);
    let address = ptr::from_ref(&*key).addr();
    let order = Arc::new(Mutex::new(Vec::new()));
    let queued = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    for (i, tag) in [SHARED, SHARED, EXCLUSIVE, SHARED].into_iter().enumerate() {
        let (order, count) = (Arc::clone(&order), Arc::clone(&queued));
        threads.push(std::thread::spawn(move || {
            let join = || {
                count.fetch_add(1, Ordering::SeqCst);
                true
            };
            assert_eq!(park_on(address, tag, join, None), Wake::Unparked);
            order.lock().unwrap().push(i);
        }));
        while queued.load(Ordering::SeqCst) <= i {
            std::thread::yield_now();
        }
    }
    let wait = |n: usize| {
        while order.lock().unwrap().len() < n {
            std::thread::yield_now();
        }
    };
    let mut left = false;
    assert_eq!(unpark_group(address, |more| left = more), 2);
    assert!(left);
    wait(2);
    assert_eq!(unpark_group(address, |_| ()), 1);
    wait(3);
    assert_eq!(unpark_one(address, |more| left = more), 1);
    assert!(!left);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(order.lock().unwrap()[2..], [2, 3]);
}
