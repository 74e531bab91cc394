use super::counting::mine;
use super::holds::{bound, bucket};
use super::{Count, told};
use crate::latch::{Latch, RawLatch, RwLatch};
use crate::pad::Padded;
use crate::rank::Rank;
use crate::sync::unmodelled::{AtomicU64, Ordering::Relaxed, PageWord};
use std::sync::Barrier;
use std::time::Duration;

/// What a thread of its own counts; a stripe may have other tests' counts besides, where they run more threads than there
/// are stripes, so nothing here does.
fn counted(what: Count, work: impl FnOnce() + Send) -> u64 {
    let one = || {
        let before = mine(what);
        work();
        mine(what) - before
    };
    std::thread::scope(|scope| scope.spawn(one).join().unwrap())
}

/// Words are static: at no other's address, whose past would be known.
const TURNS: usize = 100;

/// Two threads, each doing its work when it is its turn; what each counts.
fn by_turns(what: Count, works: [&(dyn Fn() + Sync); 2]) -> [u64; 2] {
    let barrier = Barrier::new(2);
    let one = |me: usize| {
        let before = mine(what);
        for turn in 0..2 * TURNS {
            if turn % 2 == me {
                works[me]();
            }
            barrier.wait();
        }
        mine(what) - before
    };
    std::thread::scope(|scope| {
        let threads = [0, 1].map(|me| scope.spawn(move || one(me)));
        threads.map(|thread| thread.join().unwrap())
    })
}

#[test]
fn a_latch_that_is_taken_counts() {
    let taken = || {
        let latch = RawLatch::new();
        for _ in 0..10 {
            latch.lock();
            latch.unlock();
            latch.lock_shared();
            latch.unlock_shared();
        }
    };
    assert_eq!(counted(Count::Latch, taken), 20);
}

#[test]
fn a_line_that_is_written_by_turns_counts_each_time() {
    static WORD: Padded<AtomicU64> = Padded(AtomicU64::new(0));
    let writes = || {
        WORD.fetch_add(1, Relaxed);
    };
    // Nobody had it before the first.
    assert_eq!(by_turns(Count::SharedLine, [&writes, &writes]), [TURNS as u64 - 1, TURNS as u64]);
}

#[test]
fn a_line_of_ones_own_counts_never() {
    static WORDS: [Padded<AtomicU64>; 2] = [const { Padded(AtomicU64::new(0)) }; 2];
    let write = |word: &AtomicU64| {
        word.store(1, Relaxed);
        word.swap(2, Relaxed);
    };
    let works: [&(dyn Fn() + Sync); 2] = [&|| write(&WORDS[0]), &|| write(&WORDS[1])];
    assert_eq!(by_turns(Count::SharedLine, works), [0, 0]);
    assert_eq!(by_turns(Count::Write, works), [2 * TURNS as u64; 2]);
}

#[test]
fn words_of_one_line_are_shared_though_each_has_one_writer() {
    static WORDS: Padded<[AtomicU64; 2]> = Padded([const { AtomicU64::new(0) }; 2]);
    let works: [&(dyn Fn() + Sync); 2] =
        [&|| WORDS[0].store(1, Relaxed), &|| WORDS[1].store(1, Relaxed)];
    assert_eq!(by_turns(Count::SharedLine, works), [TURNS as u64 - 1, TURNS as u64]);
}

#[test]
fn what_others_read_is_shared_and_reading_alone_writes_nothing() {
    static WORD: Padded<AtomicU64> = Padded(AtomicU64::new(0));
    let works: [&(dyn Fn() + Sync); 2] =
        [&|| WORD.store(1, Relaxed), &|| assert!(WORD.load(Relaxed) <= 1)];
    // Before the first write nobody had read it.
    assert_eq!(by_turns(Count::SharedLine, works), [TURNS as u64 - 1, 0]);
    assert_eq!(by_turns(Count::Write, works), [TURNS as u64, 0]);
}

#[test]
fn an_exchange_that_fails_is_a_write() {
    static WORD: Padded<AtomicU64> = Padded(AtomicU64::new(0));
    let fails = || assert!(WORD.compare_exchange(7, 8, Relaxed, Relaxed).is_err());
    assert_eq!(by_turns(Count::SharedLine, [&fails, &fails]), [TURNS as u64 - 1, TURNS as u64]);
    // One that needs no second attempt is one.
    let twice = || {
        WORD.fetch_update(Relaxed, Relaxed, |value| Some(value + 1)).unwrap();
        assert_eq!(WORD.fetch_update(Relaxed, Relaxed, |_| None), Err(WORD.load(Relaxed)));
    };
    assert!(counted(Count::Write, twice) >= 1);
}

#[test]
fn lines_of_pages_are_told_apart() {
    static WORD: Padded<PageWord> = Padded(PageWord::new(0));
    let writes = || WORD.store(1, Relaxed);
    assert_eq!(by_turns(Count::PageLine, [&writes, &writes]), [TURNS as u64 - 1, TURNS as u64]);
    let writes = || {
        WORD.fetch_or(1, Relaxed);
    };
    assert_eq!(by_turns(Count::SharedLine, [&writes, &writes]), [0, 0]);
}

/// Of a kind of latch: how often it was held, how long in all, and how often for longer than this, in nanoseconds.
fn holds(kind: &str, longer_than: u64) -> (u64, u64, u64) {
    let told = told();
    let Some(kind) = told.split(" | ").find_map(|part| part.strip_prefix(kind)?.strip_prefix('='))
    else {
        return (0, 0, 0);
    };
    let (nanos, buckets) = kind.split_once(' ').unwrap();
    let (mut all, mut longer) = (0, 0);
    for bucket in buckets.split(' ') {
        let (below, count) = bucket.split_once(':').unwrap();
        let [below, count]: [u64; 2] = [below, count].map(|number| number.parse().unwrap());
        all += count;
        longer += if below > longer_than { count } else { 0 };
    }
    (all, nanos.parse().unwrap(), longer)
}

#[test]
fn a_latch_is_held_from_when_it_was_taken_until_it_is_given_back() {
    // No other test takes latches of this rank.
    let latch = RwLatch::new(Rank::Wal, ());
    let long = 20_000_000;
    for _ in 0..10 {
        drop(latch.read());
    }
    let write = latch.write();
    std::thread::sleep(Duration::from_nanos(long));
    drop(write);
    let (count, nanos, longer) = holds("log, alone", long);
    assert_eq!((count, longer), (1, 1));
    assert!(nanos >= long, "{nanos}");
    let (count, nanos, longer) = holds("log, shared", long);
    assert_eq!(count, 10);
    assert!(longer == 0 && nanos < 10 * long, "{nanos}");
    drop(Latch::new(Rank::Wal, ()).try_lock().unwrap());
    assert_eq!(holds("log, alone", long).0, 2);
    assert_eq!(holds("sequence page, shared", 0).0, 0, "what is never held is not told");
}

#[test]
fn buckets_have_bounds_that_follow_each_other() {
    for nanos in (0..5000).chain((1..34).flat_map(|power| [(1 << power) - 1, 1 << power])) {
        let at = bucket(nanos);
        assert!(nanos < bound(at), "{nanos} is below {}", bound(at));
        assert!(at == 0 || nanos >= bound(at - 1), "{nanos} is not below {}", bound(at - 1));
    }
    assert_eq!(bucket(u64::MAX), bucket(1 << 40), "what is longer than all is in the last");
}
