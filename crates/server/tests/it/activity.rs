//! What `pg_stat_activity` tells of other sessions.

use std::time::{Duration, Instant};

use crate::House;
use crate::client::Client;

/// Asks until the answer's one row is this; longer than anything that a test waits for.
pub fn until(me: &mut Client, columns: &str, pid: i32, expected: &str) {
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        let ask = format!("select {columns} from pg_stat_activity where pid = {pid}");
        let told = me.query(&ask);
        let row = told.lines().find_map(|line| line.strip_prefix("D "));
        if row == Some(expected) {
            return;
        }
        assert!(Instant::now() < give_up, "{columns}: {expected} was expected, not {told}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const DOING: &str = "state, wait_event_type, wait_event, query";

#[test]
fn others_see_what_a_session_is_doing() {
    let house = House::new();
    let (mut me, mut other) = (house.client(), house.client());
    let pid = other.process;
    until(
        &mut me,
        "state, query, xact_start, query_start, backend_xid",
        pid,
        "idle,,null,null,null",
    );
    other.query("begin");
    until(&mut me, DOING, pid, "idle in transaction,Client,ClientRead,begin");
    other.query("set application_name = 'the other'; insert into t values (1)");
    let columns = "application_name, backend_xid is null, xact_start <= query_start, \
                   state_change >= query_start, backend_start < xact_start, datname, usename";
    until(&mut me, columns, pid, "the other,f,t,t,t,postgres,me");
    other.query("select nonsense");
    let failed = "idle in transaction (aborted),Client,ClientRead,select nonsense";
    until(&mut me, DOING, pid, failed);
    other.query("rollback");
    until(&mut me, "state, xact_start is null, backend_xid", pid, "idle,t,null");
    other.query("begin isolation level repeatable read; select 1");
    until(&mut me, "backend_xmin is null", pid, "f");
    other.query("commit");
    until(&mut me, "backend_xmin is null", pid, "t");
    let long = format!("select '{}'", "ö".repeat(1000));
    other.query(&long);
    until(&mut me, "length(query), octet_length(query)", pid, "515,1022");
    let told = me.query(
        "select state, wait_event, query from pg_stat_activity where pid = pg_backend_pid()",
    );
    assert!(told.contains("\nD active,null,select state, "), "{told}");
}

#[test]
fn others_see_what_a_session_waits_for() {
    let house = House::new();
    let (mut me, mut other) = (house.client(), house.client());
    let pid = other.process;
    me.query("insert into t values (1); create table own (a int)");
    let held = [
        ("update t set a = 2", "update t set a = 3", "transactionid"),
        ("lock table own", "select * from own", "relation"),
        ("select pg_advisory_xact_lock(5)", "select pg_advisory_lock_shared(5)", "advisory"),
    ];
    for (mine, theirs, kind) in held {
        me.query("begin");
        me.query(mine);
        other.request(|r| r.query(theirs));
        until(&mut me, DOING, pid, &format!("active,Lock,{kind},{theirs}"));
        let blockers =
            me.query(&format!("select pg_blocking_pids({pid}) = array[pg_backend_pid()]"));
        assert!(blockers.contains("\nD t\n"), "{blockers}");
        me.query("commit");
        other.until_ready();
    }
    other.request(|r| r.query("select pg_sleep(600)"));
    until(&mut me, DOING, pid, "active,Timeout,PgSleep,select pg_sleep(600)");
    me.query(&format!("select pg_cancel_backend({pid})"));
    other.until_ready();
    other.request(|r| r.query("copy t from stdin"));
    until(&mut me, DOING, pid, "active,Client,ClientRead,copy t from stdin");
    other.request(|r| r.copy_done());
    other.until_ready();
    until(&mut me, "state, wait_event", pid, "idle,ClientRead");
}

/// Statements that were prepared are shown with their text each time they run.
#[test]
fn prepared_statements_are_shown() {
    let house = House::new();
    let (mut me, mut other) = (house.client(), house.client());
    let pid = other.process;
    other.request(|r| {
        r.parse("one", "select 1", &[]);
        r.parse("two", "select 2", &[]);
        r.sync();
    });
    other.until_ready();
    for (name, text) in [("one", "select 1"), ("two", "select 2"), ("one", "select 1")] {
        other.request(|r| {
            r.bind("", name, &[], &[], &[]);
            r.execute(wire::frontend::Execute { portal: "", rows_max: 0 });
            r.sync();
        });
        other.until_ready();
        until(&mut me, "state, query", pid, &format!("idle,{text}"));
    }
}

#[test]
fn multixacts_and_all_status_logs_are_told_of() {
    let house = House::new();
    let mut clients = [house.client(), house.client(), house.client()];
    let stats = "select num_mxids, num_members, members_size, oldest_multixact <> '0' from pg_get_multixact_stats()";
    clients[0].query("create table shared (id int primary key); insert into shared values (1)");
    for client in &mut clients[..2] {
        client.query("begin");
        assert!(client.query("select * from shared where id = 1 for share").contains("D 1"));
    }
    let [first, second, me] = &mut clients;
    assert!(me.query(stats).contains("\nD 1,2,16,t\n"), "{}", me.query(stats));
    let members = "select count(*) from pg_get_multixact_members((select xmax from shared)::text::xid) \
                   where mode = 'sh'";
    assert!(me.query(members).contains("\nD 2\n"), "{}", me.query(members));
    first.query("commit");
    second.query("commit");
    let give_up = Instant::now() + Duration::from_secs(60);
    while !me.query(stats).contains("\nD 0,0,0,t\n") {
        assert!(Instant::now() < give_up, "{}", me.query(stats));
        std::thread::sleep(Duration::from_millis(20));
    }

    // What `small` chooses, in whole banks; what it leaves open, from shared_buffers of 8 MB or as PostgreSQL has it.
    for (name, taken) in [
        ("transaction_buffers", "128kB"),
        ("subtransaction_buffers", "384kB"),
        ("multixact_offset_buffers", "128kB"),
        ("multixact_member_buffers", "640kB"),
        ("commit_timestamp_buffers", "128kB"),
        ("serializable_buffers", "256kB"),
        ("notify_buffers", "128kB"),
    ] {
        let taken = if crate::has_small_logs() { "128kB" } else { taken };
        let told = me.query(&format!("show {name}"));
        assert!(told.contains(&format!("\nD {taken}\n")), "{name}: {told}");
    }
    let told = me.query("select string_agg(name, ' ' order by name) from pg_stat_slru where stats_reset is not null");
    let all = "CommitTs MultiXactMember MultiXactOffset Notify Serial Subtrans Xact other";
    assert!(told.contains(&format!("\nD {all}\n")), "{told}");
    for name in ["MultiXactMember", "MultiXactOffset"] {
        let told = me.query(&format!(
            "select blks_zeroed > 0, blks_hit > 0 from pg_stat_slru where name = '{name}'"
        ));
        assert!(told.contains("\nD t,"), "{name}: {told}");
    }
}
