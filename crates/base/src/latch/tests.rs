use super::*;
use crate::park;
use std::sync::Arc;

#[test]
fn increments_from_threads_are_not_lost() {
    let latch = Arc::new(Latch::new(Rank::Leaf, 0u64));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let latch = Arc::clone(&latch);
            std::thread::spawn(move || {
                for _ in 0..20_000 {
                    *latch.lock() += 1;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*latch.lock(), 80_000);
}

#[test]
fn readers_never_see_a_half_written_pair() {
    let latch = Arc::new(RwLatch::new(Rank::Leaf, (0u64, 0u64)));
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let latch = Arc::clone(&latch);
            std::thread::spawn(move || {
                for n in 0..20_000 {
                    if i % 2 == 0 || n % 50 == 0 {
                        let pair = latch.read();
                        assert_eq!(pair.0, pair.1);
                    } else {
                        let mut pair = latch.write();
                        pair.0 += 1;
                        std::hint::black_box(&mut *pair);
                        pair.1 += 1;
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn seeded_fibers_share_a_latch_across_yields() {
    for seed in 0..50 {
        crate::sim::run(seed, || {
            let env = crate::Env::new(Arc::new(crate::disk::sim::SimDisk::new()));
            let latch = Arc::new(RwLatch::new(Rank::Outer, 0u64));
            let jobs: Vec<_> = (0..6)
                .map(|i| {
                    let latch = Arc::clone(&latch);
                    env.spawn("job", move || {
                        for _ in 0..20 {
                            if i % 2 == 0 {
                                let mut value = latch.write();
                                let old = *value;
                                park::yield_now();
                                *value = old + 1;
                            } else {
                                let value = latch.read();
                                let old = *value;
                                park::yield_now();
                                assert_eq!(*value, old);
                            }
                        }
                    })
                })
                .collect();
            jobs.into_iter().for_each(crate::env::Background::join);
            assert_eq!(*latch.read(), 60);
        });
    }
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "latch order")]
fn taking_against_the_order_is_caught() {
    let low = Latch::new(Rank::Outer, ());
    let high = Latch::new(Rank::Leaf, ());
    let _high = high.lock();
    let _low = low.lock();
}
