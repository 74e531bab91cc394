//! Models of the frame word with its frame and slot: who may see which page when.
//!
//! The real types run in them; page memory is a loom cell, so that any access that a hold does not cover is
//! reported as a race.

use super::frame::Frame;
use super::slot::{Place, Slot};
use super::word::{Attempt, EXCLUSIVE, PIN};
use base::{BlockNo, Lsn, PageId, RelId};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

fn bounded(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

const OLD: u64 = 10;
const NEW: u64 = 20;

/// A frame with a page, and the slots of two blocks.
struct World {
    frame: Frame,
    old: Slot,
    new: Slot,
    /// Page memory that holds are to protect.
    memory: UnsafeCell<u64>,
    /// Page memory as readers without a latch see it: two words that must agree.
    words: [AtomicU64; 2],
}

// SAFETY: loom's cells check every access.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

fn page(block: u32) -> PageId {
    PageId::main(RelId(1), BlockNo(block))
}

impl World {
    fn new() -> Arc<World> {
        let world = Arc::new(World {
            frame: Frame::new(0),
            old: Slot::empty(),
            new: Slot::empty(),
            memory: UnsafeCell::new(OLD),
            words: [AtomicU64::new(OLD), AtomicU64::new(OLD)],
        });
        world.settle(&world.old, page(0), 0);
        world
    }

    /// What a loader does after it has filled the frame.
    fn settle(&self, slot: &Slot, page: PageId, hold: u64) {
        slot.claim(1).expect("nobody else loads it");
        self.frame.bind(page, slot);
        self.frame.word.publish(hold);
        slot.settle(Some(0));
    }

    fn write(&self, value: u64) {
        // SAFETY: what is being modelled: nobody else may touch it now.
        self.memory.with_mut(|p| unsafe { *p = value });
        // Relaxed, as page words are.
        self.words[0].store(value, Ordering::Relaxed);
        self.words[1].store(value, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        // SAFETY: as in `write`.
        self.memory.with(|p| unsafe { *p })
    }

    /// Puts the block of `new` where that of `old` was, if nobody holds it.
    fn replace(&self) -> bool {
        let Some(idle) = self.frame.word.idle() else { return false };
        if !self.frame.word.try_evict(idle) {
            return false;
        }
        self.frame.unbind();
        self.write(NEW);
        self.settle(&self.new, page(1), 0);
        true
    }

    /// What the fast path of `read` does.
    fn read_through(&self, slot: &Slot, expected: u64) {
        let raw = slot.load();
        if Slot::frame_of(raw).is_none() {
            return;
        }
        match self.frame.word.try_shared() {
            Attempt::Taken => {
                if slot.still(raw) {
                    assert_eq!(self.read(), expected, "the page that the slot named");
                }
                let _ = self.frame.word.unlock_shared();
            }
            Attempt::Refused { wake } => assert!(!wake, "nobody waits in this model"),
        }
    }
}

/// BF2: whoever finds the slot unchanged after it has taken a hold has the page that the slot named.
#[test]
fn loom_a_hold_that_was_verified_is_on_the_right_page() {
    bounded(|| {
        let world = World::new();
        let evictor = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.replace())
        };
        let reader = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.read_through(&world.new, NEW))
        };
        world.read_through(&world.old, OLD);
        reader.join().unwrap();
        let replaced = evictor.join().unwrap();
        assert_eq!(world.old.place() == Place::Empty, replaced);
        assert_eq!(world.frame.word.pins(), 0);
    });
}

#[test]
fn loom_a_pinned_page_stays() {
    bounded(|| {
        let world = World::new();
        let evictor = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.replace())
        };
        let raw = world.old.load();
        if Slot::frame_of(raw).is_some() && world.frame.word.try_pin().is_ok() {
            if world.old.still(raw) {
                assert_eq!(world.frame.page_id(), page(0));
                // Pinned: the latch may be taken at leisure.
                if world.frame.word.try_shared() == Attempt::Taken {
                    assert_eq!(world.read(), OLD);
                    let _ = world.frame.word.unlock_shared();
                }
            }
            world.frame.word.unpin();
        }
        evictor.join().unwrap();
    });
}

/// BF4: a change, or another page in the frame, moves the version.
#[test]
fn loom_a_validated_read_is_of_one_page_in_one_state() {
    bounded(|| {
        let world = World::new();
        let changer = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                if world.frame.word.try_exclusive() {
                    world.write(OLD + 1);
                    let _ = world.frame.word.unlock_exclusive(0);
                }
                world.replace();
            })
        };
        let raw = world.old.load();
        if Slot::frame_of(raw).is_some()
            && let Some(begun) = world.frame.word.read_begin()
            && world.old.still(raw)
        {
            let first = world.words[0].load(Ordering::Relaxed);
            let second = world.words[1].load(Ordering::Relaxed);
            if world.frame.word.read_still_valid(begun) {
                assert_eq!(first, second, "one state");
                assert!(first == OLD || first == OLD + 1, "the page that the slot named");
            }
        }
        changer.join().unwrap();
    });
}

/// BF1: nobody reads or writes beside the holder of EXCLUSIVE.
#[test]
fn loom_writers_exclude_everybody() {
    bounded(|| {
        let world = World::new();
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let world = Arc::clone(&world);
                thread::spawn(move || {
                    if world.frame.word.try_exclusive() {
                        let value = world.read();
                        world.write(value + 1);
                        let _ = world.frame.word.unlock_exclusive(PIN);
                        world.frame.word.unpin();
                        return 1;
                    }
                    0
                })
            })
            .collect();
        let before = if world.frame.word.try_shared() == Attempt::Taken {
            let seen = world.read();
            let _ = world.frame.word.shared_to_pin();
            world.frame.word.unpin();
            seen - OLD
        } else {
            0
        };
        let done: u64 = writers.into_iter().map(|w| w.join().unwrap()).sum();
        assert!(before <= done);
        assert_eq!(world.read(), OLD + done);
    });
}

/// The lot's part: whoever queues is found by the one who unlocks.
#[test]
fn loom_no_waiter_is_forgotten() {
    bounded(|| {
        let world = World::new();
        let queue = Arc::new(Mutex::new((false, false)));
        assert!(world.frame.word.try_exclusive());
        let waiter = {
            let (world, queue) = (Arc::clone(&world), Arc::clone(&queue));
            thread::spawn(move || {
                let word = &world.frame.word;
                word.try_pin().unwrap();
                let seen = word.load();
                match word.attempt(seen, EXCLUSIVE, PIN, false) {
                    Some(true) => return true,
                    Some(false) => {}
                    None if word.announce_waiter(seen) => {
                        let mut queue = queue.lock().unwrap();
                        queue.0 = word.must_wait(EXCLUSIVE);
                    }
                    None => {}
                }
                false
            })
        };
        world.write(OLD + 1);
        if world.frame.word.unlock_exclusive(0) {
            let mut queue = queue.lock().unwrap();
            queue.1 = queue.0;
            world.frame.word.no_more_waiters();
        }
        if waiter.join().unwrap() {
            assert_eq!(world.read(), OLD + 1);
        }
        let queue = queue.lock().unwrap();
        assert!(!queue.0 || queue.1, "queued on a free latch, and nobody will wake it");
    });
}

/// The writer gives a page its dirtiness back after a failed write; nobody evicts it as clean (BF3).
#[test]
fn loom_a_dirty_page_is_not_evicted() {
    bounded(|| {
        let world = World::new();
        world.frame.rec_lsn.store(7, Ordering::Relaxed);
        let writer = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                let frame = &world.frame;
                if frame.word.try_pin().is_err() {
                    return;
                }
                if frame.word.try_shared() == Attempt::Taken {
                    assert_eq!(frame.begin_flush(), Lsn(7));
                    let _ = frame.word.unlock_shared();
                    // As `DirtyQueues::restore`.
                    frame.rec_lsn.store(7, Ordering::Relaxed);
                    frame.flushing.store(0, Ordering::Release);
                }
                frame.word.unpin();
            })
        };
        let frame = &world.frame;
        if let Some(idle) = frame.word.idle()
            && !frame.is_dirty()
            && frame.word.try_evict(idle)
        {
            assert!(frame.is_dirty(), "seen in the second look");
            frame.word.publish(0);
        }
        writer.join().unwrap();
        assert!(frame.is_dirty());
    });
}
