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

/// Two circles go through one session, and only one of them can be opened: the other one is found, too.
#[test]
fn a_circle_that_is_opened_hides_no_other() {
    let [a, b, c] = [table(1), table(2), table(3)];
    let ends_in_order = |txn: Txn| {
        txn.commit().unwrap();
    };
    let closing: Body = Box::new(move |txn, _| {
        impatient(&txn);
        txn.lock(b, LockMode::AccessExclusive).unwrap();
        txn.lock(c, LockMode::AccessShare).unwrap();
        sleep_ms(50);
        assert!(txn.lock(a, LockMode::AccessExclusive).is_err());
        txn.abort();
    });
    // Behind a writer who waits for the first one, and before whom it may go.
    let behind: Body = Box::new(move |txn, _| {
        txn.lock(a, LockMode::AccessShare).unwrap();
        sleep_ms(30);
        txn.lock(c, LockMode::AccessShare).unwrap();
        ends_in_order(txn);
    });
    // Has looked for circles when there was none yet.
    let early: Body = Box::new(move |txn, _| {
        impatient(&txn);
        sleep_ms(5);
        txn.lock(a, LockMode::AccessShare).unwrap();
        sleep_ms(10);
        txn.lock(b, LockMode::AccessShare).unwrap();
        ends_in_order(txn);
    });
    let writer: Body = Box::new(move |txn, _| {
        sleep_ms(10);
        txn.lock(c, LockMode::AccessExclusive).unwrap();
        ends_in_order(txn);
    });
    simulate(1, vec![closing, behind, early, writer]);
}
