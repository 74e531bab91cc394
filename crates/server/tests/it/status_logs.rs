//! Who waits for a status log is shown so: the disk is held while a page of it is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::Env;
use server::Database;

use crate::activity::until;
use crate::moody::{Access, Mood, Moody};
use crate::{House, options, small};

/// Holds up reads of commit timestamps as long as told.
fn hold_reads(mood: &Mood, held: &Arc<AtomicBool>) {
    let held = Arc::clone(held);
    mood.turn(move |access, path, _| {
        while access == Access::Read && path.contains("commit_ts") && held.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    });
}

/// Lets everything pass in the end, whatever that is.
struct Release(Arc<AtomicBool>);

impl Drop for Release {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[test]
fn waits_for_a_status_logs_page_are_shown() {
    // The directory outlives the first server, whose own goes with it.
    let data = options().socket_dir.unwrap().join("data");
    let mut config = small();
    config.set("track_commit_timestamp", "on").unwrap();
    let (mood, held) = (Mood::default(), Arc::new(AtomicBool::new(false)));
    let env = Env::new(Arc::new(Moody::new(&data, &mood)));
    let open = || Arc::new(Database::open_in(&env, &data, "me", &config).unwrap());
    let house = House::over(open(), options());
    let mut me = house.client();
    me.query("create table t (a int)");
    let told = me.query("select txid_current() % 4294967296");
    let first: u64 =
        told.lines().find_map(|line| line.strip_prefix("D ")).unwrap().parse().unwrap();
    // More transactions than a page of the log has room for.
    let insert = "savepoint s; insert into t values (1);".repeat(2500);
    assert!(me.query(&format!("begin; {insert} commit")).ends_with("Z I"));
    drop(me);
    drop(house);

    let house = House::over(open(), options());
    let (mut me, mut one, mut two) = (house.client(), house.client(), house.client());
    let ask = format!("select pg_xact_commit_timestamp('{first}') is null");
    hold_reads(&mood, &held);
    let _release = Release(Arc::clone(&held));
    held.store(true, Ordering::Release);
    one.request(|r| r.query(&ask));
    until(&mut me, "wait_event_type, wait_event", one.process, "IO,SLRURead");
    two.request(|r| r.query(&ask));
    until(&mut me, "wait_event_type, wait_event", two.process, "LWLock,CommitTsBuffer");
    held.store(false, Ordering::Release);
    for client in [&mut one, &mut two] {
        assert!(client.until_ready().contains("\nD f\n"));
    }
}
