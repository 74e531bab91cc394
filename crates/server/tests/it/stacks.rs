//! What happens where the system has no memory for another stack.

use std::process::Command;

use base::fiber::STACK_BYTES;

use crate::timers::until;
use crate::{House, options};

/// Set in the process that a test has to itself.
const ALONE: &str = "THALWEG_TEST_ALONE";

/// Runs a test in a process of its own; false there.
fn is_sent_out(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    let mut process = Command::new(std::env::current_exe().unwrap());
    let output = process.args([test, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}{complaints}");
    true
}

/// From now on this process gets only so many more bytes of addresses.
fn limit_addresses(more: usize) {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').next().unwrap().parse().unwrap();
    let most = (pages * 4096 + more) as u64;
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: `limit` is ours and outlives the call, which only reads it.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

#[test]
fn without_memory_for_a_stack_one_client_is_refused_and_the_others_are_served() {
    const OTHERS: usize = 20;
    const TEST: &str =
        "stacks::without_memory_for_a_stack_one_client_is_refused_and_the_others_are_served";
    if is_sent_out(TEST) {
        return;
    }
    let house = House::with(server::Options { workers: 1, ..options() });
    let mut holder = house.client();
    holder.query("insert into t values (1)");
    let mut others: Vec<_> = (0..OTHERS).map(|_| house.client()).collect();
    for other in &mut others {
        assert_eq!(other.query("select a from t"), "T a\nD 1\nC SELECT 1\nZ I");
    }
    assert!(holder.query("begin; update t set a = 2").ends_with("Z T"));
    limit_addresses(3 * STACK_BYTES + STACK_BYTES / 2);
    others.iter_mut().for_each(|other| other.request(|r| r.query("update t set a = a + 1")));
    let sessions = || house.server().workers_of_sessions().len();
    until("each of the others waits or is gone", || house.waiting() + 1 == sessions());
    assert_eq!(holder.query("commit"), "C COMMIT\nZ I");
    let told: Vec<_> = others.iter_mut().map(|other| other.until_ready()).collect();
    let done = told.iter().filter(|told| *told == "C UPDATE 1\nZ I").count();
    let refused = told.iter().filter(|told| *told == "FATAL 53200 out of memory").count();
    assert!(done > 0 && refused > 0 && done + refused == OTHERS, "{told:?}");
    let expected = format!("T a\nD {}\nC SELECT 1\nZ I", 2 + done);
    assert_eq!(holder.query("select a from t"), expected);
    assert_eq!(house.client().query("select a from t"), expected);
}
