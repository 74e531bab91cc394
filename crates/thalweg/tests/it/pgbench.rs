//! PostgreSQL 15's pgbench, unmodified: every way in which it makes its tables, and what it runs on them.

use super::running::{Running, has_clients};

const COUNTS: &str = "select (select count(*) from pgbench_accounts), \
     (select count(*) from pgbench_branches), (select count(*) from pgbench_tellers), \
     (select count(*) from pgbench_history)";

/// Makes the tables in one way.
fn initialize(server: &Running, arguments: &[&str]) {
    server.done("pgbench", &[&["-i", "-q"], arguments].concat());
    assert_eq!(server.ask(COUNTS), "100000|1|10|0", "{arguments:?}");
}

/// Some transactions of each of the built-in scripts by each protocol; then the sums agree.
fn use_tables(server: &Running) {
    for protocol in ["simple", "extended", "prepared"] {
        for script in ["tpcb-like", "simple-update", "select-only"] {
            let told =
                server.done("pgbench", &["-n", "-c", "2", "-t", "5", "-M", protocol, "-b", script]);
            let all = "number of transactions actually processed: 10/10\n";
            assert!(told.contains(all), "{protocol} {script}: {told}");
            assert!(told.contains("number of failed transactions: 0 "), "{told}");
        }
    }
    let sums = "select (select sum(abalance) from pgbench_accounts) = \
         (select sum(delta) from pgbench_history), (select sum(bbalance) from pgbench_branches) = \
         (select sum(tbalance) from pgbench_tellers), (select count(*) from pgbench_history)";
    assert_eq!(server.ask(sums), "t|t|60");
}

fn constraints(server: &Running) -> String {
    server.ask("select string_agg(contype, '' order by contype) from pg_constraint")
}

fn persistences(server: &Running) -> String {
    server.ask("select string_agg(distinct relpersistence::text, '') from pg_class where relname like 'pgbench%'")
}

#[test]
fn tables_are_made_by_the_client_and_by_the_server() {
    if !has_clients() {
        return;
    }
    let server = Running::start("pgbench");
    initialize(&server, &[]);
    assert_eq!((constraints(&server), persistences(&server)), ("ppp".into(), "p".into()));
    use_tables(&server);
    initialize(&server, &["-I", "dtGvpf"]);
    assert_eq!(constraints(&server), "fffffppp");
    use_tables(&server);
    server.done("pgbench", &["-i", "-q", "-I", "d"]);
    assert_eq!(server.ask("select count(*) from pg_class where relname like 'pgbench%'"), "0");
}

#[test]
fn tables_are_unlogged_looser_and_referring_if_so_asked() {
    if !has_clients() {
        return;
    }
    let server = Running::start("pgbench-options");
    initialize(&server, &["--unlogged-tables", "-F", "70", "-n"]);
    assert_eq!((constraints(&server), persistences(&server)), ("ppp".into(), "u".into()));
    let options = "select reloptions from pg_class where relname = 'pgbench_accounts'";
    assert_eq!(server.ask(options), "{fillfactor=70}");
    initialize(&server, &["--foreign-keys"]);
    assert_eq!((constraints(&server), persistences(&server)), ("fffffppp".into(), "p".into()));
    use_tables(&server);
    let missing = "insert into pgbench_tellers (tid, bid) values (11, 77)";
    let refused = server.program("psql", &["-Xqv", "VERBOSITY=sqlstate", "-c", missing]);
    assert_eq!(String::from_utf8_lossy(&refused.stderr), "ERROR:  23503\n");
}

#[test]
fn partitions_are_refused() {
    if !has_clients() {
        return;
    }
    let server = Running::start("pgbench-partitions");
    for how in [
        ["--partitions=2", "--partition-method=range"],
        ["--partitions=2", "--partition-method=hash"],
    ] {
        let refused = server.program("pgbench", &[&["-i", "-q"][..], &how].concat());
        assert!(!refused.status.success());
        let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(complaint.contains("partitioned tables are not supported"), "{complaint}");
    }
    let statement = "create table t (a int) partition by range (a)";
    let refused = server.program("psql", &["-Xqv", "VERBOSITY=sqlstate", "-c", statement]);
    assert_eq!(String::from_utf8_lossy(&refused.stderr), "ERROR:  0A000\n");
}
