//! Circles that the order of queues closes.

use super::*;

fn impatient(txn: &Txn) {
    let deadlock_timeout = Duration::from_millis(3);
    txn.locks().set_limits(WaitLimits { deadlock_timeout, ..WaitLimits::default() });
}

/// Readers hold two tables at a time, writers one: whoever stands in a circle could go before a writer that holds
/// nothing, so nobody has to give up. In a queue that is strictly first come first served, somebody has to.
#[test]
fn readers_pass_writers_rather_than_give_up() {
    const TABLES: u32 = 3;
    for seed in 0..20 {
        let passed = Arc::new(AtomicUsize::new(0));
        let reader = |_| -> Body {
            let passed = Arc::clone(&passed);
            Box::new(move |txn, world| {
                impatient(&txn);
                for _ in 0..30 {
                    let first = sim::draw(TABLES as u64) as u32;
                    txn.lock(table(first), LockMode::AccessShare).unwrap();
                    sleep_ms(sim::draw(4));
                    let second = table((first + 1 + sim::draw(2) as u32) % TABLES);
                    let waits = world.txns.locks().view().iter().any(|lock| {
                        lock.tag == second
                            && !lock.granted
                            && lock.mode == LockMode::AccessExclusive
                    });
                    txn.lock(second, LockMode::AccessShare).unwrap();
                    passed.fetch_add(usize::from(waits), Ordering::Relaxed);
                    txn.commit().unwrap();
                    txn.begin(Isolation::ReadCommitted);
                }
                txn.abort();
            })
        };
        let writer = |_| -> Body {
            Box::new(move |txn, _| {
                impatient(&txn);
                for _ in 0..30 {
                    let one = table(sim::draw(TABLES as u64) as u32);
                    txn.lock(one, LockMode::AccessExclusive).unwrap();
                    txn.commit().unwrap();
                    sleep_ms(sim::draw(2));
                    txn.begin(Isolation::ReadCommitted);
                }
                txn.abort();
            })
        };
        simulate(seed, (0..5).map(reader).chain((0..4).map(writer)).collect());
        assert!(passed.load(Ordering::Relaxed) > 0, "seed {seed}: nobody stood behind a writer");
    }
}
