use super::*;
use std::sync::atomic::AtomicBool;

#[test]
fn a_token_left_before_parking_is_not_lost() {
    current().unpark();
    assert!(park_until(None));
}

#[test]
fn a_deadline_ends_the_wait() {
    let start = clock::now();
    while clock::now().since(start) < Duration::from_millis(5) {
        park_until(Some(start.after(Duration::from_millis(5))));
    }
    assert!(!park_until(Some(clock::now())));
}

#[test]
fn unpark_publishes_what_was_written_before() {
    let flag = Arc::new(AtomicBool::new(false));
    let me = current();
    let theirs = Arc::clone(&flag);
    let other = std::thread::spawn(move || {
        theirs.store(true, Ordering::Relaxed);
        me.unpark();
    });
    while !flag.load(Ordering::Relaxed) {
        park();
    }
    other.join().unwrap();
}
