//! `pg_sleep` ends when its time is over, not when the session is woken.

use super::Bench;

#[test]
fn a_token_left_behind_ends_no_sleep() {
    let mut bench = Bench::new();
    base::park::current().unpark();
    let slept = bench.run(
        "SELECT clock_timestamp() AS before INTO started; SELECT pg_sleep(0.2); \
         SELECT clock_timestamp() - before >= '0.2 s' AS whole FROM started",
    );
    assert!(slept.ends_with("[whole]\nt\nSELECT 1\n"), "{slept}");
}
