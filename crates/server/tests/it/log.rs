//! The log's settings that change while the server runs, and its figures.

use std::sync::Arc;

use server::config::Config;
use server::{Database, Server};

use crate::client::Client;
use crate::{House, options, set_buffers};

fn value(client: &mut Client, query: &str) -> String {
    let told = client.query(query);
    let line = told.lines().find_map(|line| line.strip_prefix("D "));
    line.unwrap_or_else(|| panic!("{query}: {told}")).to_owned()
}

fn number(client: &mut Client, query: &str) -> f64 {
    value(client, query).parse().unwrap()
}

/// Images and bytes that the log gets from an update of one row, all pages being clean before. Vacuum may add some.
fn logged(client: &mut Client) -> (f64, f64) {
    for statement in ["checkpoint", "select pg_stat_reset_shared('wal')"] {
        assert!(!client.query(statement).contains("ERROR"));
    }
    assert_eq!(client.query("update logged set v = v + 1 where id = 1"), "C UPDATE 1\nZ I");
    (
        number(client, "select wal_fpi from pg_stat_wal"),
        number(client, "select wal_bytes from pg_stat_wal"),
    )
}

#[test]
fn the_protection_of_pages_changes_while_the_server_runs() {
    let house = House::new();
    let mut me = house.client();
    me.query("create table logged (id int primary key, v int, filler text)");
    me.query(
        "insert into logged select n, 0, repeat('some text ', 20) from generate_series(1, 300) n",
    );
    let reload = |settings: &[(&str, &str)]| {
        let mut config = Config::new();
        for (name, value) in settings {
            config.set(name, value).unwrap();
        }
        house.server().reload(&config);
    };
    let images = "full_page_writes";
    assert_eq!(value(&mut me, "show torn_page_protection"), "doublewrite");
    let (none, least) = logged(&mut me);
    assert!(none < 1.0 && least < 5000.0, "{none} images, {least} bytes");
    reload(&[("torn_page_protection", images)]);
    assert_eq!(value(&mut me, "show torn_page_protection"), images, "in a session that was there");
    let (plain, most) = logged(&mut me);
    assert!(plain > 0.0 && most / plain > 2000.0, "{plain} images, {most} bytes");
    for how in ["lz4", "zstd", "on"] {
        reload(&[("torn_page_protection", images), ("wal_compression", how)]);
        let (packed, bytes) = logged(&mut me);
        assert!(packed > 0.0, "{how}");
        let (each, before) = (bytes / packed, most / plain);
        assert!(each < 0.7 * before, "{how}: {each} bytes for each image, {before} before");
    }
    for (to, file) in [("off", false), (images, true), ("off", false), ("doublewrite", true)] {
        reload(&[("torn_page_protection", to)]);
        assert_eq!(house.dir.join("data/doublewrite").exists(), file, "{to}");
        logged(&mut me);
    }
    assert!(logged(&mut me).0 < 1.0);
    assert_eq!(value(&mut me, "select count(*) from logged where v = 10"), "1");
}

#[test]
fn the_figures_of_the_log_are_what_happened() {
    let house = House::new();
    let mut me = house.client();
    me.query("create table logged (id int primary key)");
    me.query("select pg_stat_reset_shared('wal')");
    let figures = "select wal_records, wal_bytes, wal_write, wal_sync from pg_stat_wal";
    let row = |client: &mut Client| -> Vec<f64> {
        value(client, figures).split(',').map(|n| n.parse().unwrap()).collect()
    };
    let before = row(&mut me);
    let from = value(&mut me, "select pg_current_wal_insert_lsn()");
    for n in 0..50 {
        assert_eq!(me.query(&format!("insert into logged values ({n})")), "C INSERT 0 1\nZ I");
    }
    let after = row(&mut me);
    // A row, its entry in the index and the commit, each time; vacuum may add to it.
    assert!(after[0] - before[0] >= 150.0, "{before:?} {after:?}");
    let lasted = format!("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '{from}')");
    assert!(after[1] - before[1] <= number(&mut me, &lasted));
    assert!(after[1] - before[1] >= 50.0 * 100.0);
    // One client: each commit waits for a write and a sync of its own.
    assert!(after[2] - before[2] >= 50.0 && after[3] - before[3] >= 50.0, "{before:?} {after:?}");
    let times = "select wal_write_time + wal_sync_time from pg_stat_wal";
    assert!(number(&mut me, times) > 0.0);
    // Times are counted while that is wanted.
    let mut config = Config::new();
    for (setting, counted) in [("off", false), ("on", true)] {
        config.set("track_wal_io_timing", setting).unwrap();
        house.server().reload(&config);
        assert_eq!(value(&mut me, "show track_wal_io_timing"), setting);
        me.query("insert into logged select max(id) + 1 from logged");
        me.query("select pg_stat_reset_shared('wal')");
        (0..5).for_each(|_| drop(me.query("insert into logged select max(id) + 1 from logged")));
        assert_eq!(number(&mut me, times) > 0.0, counted, "{setting}");
        assert!(number(&mut me, "select wal_sync from pg_stat_wal") >= 5.0, "{setting}");
    }
}

#[test]
fn the_log_is_shown_to_sql() {
    let house = House::new();
    let mut me = house.client();
    assert!(me.query("create extension pg_walinspect").starts_with("C CREATE EXTENSION"));
    me.query("create table logged (id int)");
    me.query("insert into logged values (1)");
    let from = value(&mut me, "select pg_current_wal_lsn()");
    me.query("insert into logged values (2), (3)");
    let to = value(&mut me, "select pg_current_wal_lsn()");
    // Vacuum may write in between.
    let file = value(&mut me, "select pg_relation_filenode('logged')");
    let ours = format!(
        "select count(*), min(resource_manager), bool_and(start_lsn < end_lsn), bool_and(prev_lsn is null), \
         count(distinct xid), bool_and(record_length > 0 and fpi_length = 0) \
         from pg_get_wal_records_info('{from}', '{to}') where block_ref like '%rel {file} %'"
    );
    let told = value(&mut me, &ours);
    assert!(told == "2,Heap,t,t,1,t" || told == "1,Heap,t,t,1,t", "{told}");
    let commit = "resource_manager = 'Transaction' and record_type = 'COMMIT' and \
                  description like '20% UTC' and block_ref is null";
    let commits = |client: &mut Client, rows: &str| {
        number(client, &format!("select count(*) from {rows} where {commit}"))
    };
    let until = commits(&mut me, &format!("pg_get_wal_records_info('{from}', '{to}')"));
    let open = format!("pg_get_wal_records_info_till_end_of_wal('{from}')");
    assert!(until >= 1.0 && commits(&mut me, &open) >= until);
    let first = value(&mut me, &format!("select start_lsn from {open} limit 1"));
    let one = format!("select start_lsn, description from pg_get_wal_record_info('{first}')");
    let same = format!("select start_lsn, description from {open} limit 1");
    assert_eq!(value(&mut me, &one), value(&mut me, &same));
    // The totals are those of the records.
    for (per_record, name) in
        [("", "resource_manager"), (", true", "resource_manager || '/' || record_type")]
    {
        let stats = format!(
            "select count, combined_size from pg_get_wal_stats('{from}', '{to}'{per_record}) \
             where count > 0 and \"resource_manager/record_type\" like 'Heap%' order by \"resource_manager/record_type\" limit 1"
        );
        let records = format!(
            "select count(*), sum(record_length) from pg_get_wal_records_info('{from}', '{to}') \
             where {name} like 'Heap%' group by {name} order by {name} limit 1"
        );
        assert_eq!(value(&mut me, &stats), value(&mut me, &records), "{name}");
    }
    let shares =
        format!("select sum(count_percentage), count(*) from pg_get_wal_stats('{from}', '{to}')");
    assert_eq!(value(&mut me, &shares), "100,8");
    assert!(
        number(
            &mut me,
            &format!("select sum(count) from pg_get_wal_stats_till_end_of_wal('{from}')")
        ) > 0.0
    );
    assert_eq!(
        value(&mut me, "select count(*), min(rm_name) from pg_get_wal_resource_managers()"),
        "8,Btree"
    );
    for (call, told) in [
        (
            format!("pg_get_wal_records_info('{to}', '{from}')"),
            "WAL start LSN must be less than end LSN",
        ),
        (format!("pg_get_wal_records_info('{from}', 'FF/0')"), "cannot accept future end LSN"),
        ("pg_get_wal_stats('FF/0', 'FF/1')".to_owned(), "cannot accept future start LSN"),
        ("pg_get_wal_record_info('FF/0')".to_owned(), "cannot accept future input LSN"),
        ("pg_get_wal_record_info('0/0')".to_owned(), "could not read WAL at LSN 0/0"),
        ("pg_get_wal_stats_till_end_of_wal('0/10')".to_owned(), "could not read WAL at LSN 0/10"),
    ] {
        me.query("insert into logged values (0)");
        let answer = me.query(&format!("select * from {call}"));
        assert!(answer.contains(told), "{call}: {answer}");
    }
}

#[test]
fn a_segment_can_be_finished_before_it_is_full() {
    let house = House::new();
    let mut me = house.client();
    me.query("create table logged (id int primary key)");
    let segment = "select pg_walfile_name(pg_current_wal_insert_lsn() + 1)";
    for n in 0..3 {
        me.query(&format!("insert into logged values ({n})"));
        let before = value(&mut me, segment);
        let end = value(&mut me, "select pg_switch_wal()");
        assert!(end.ends_with("00000"), "the end of a segment: {end}");
        assert!(value(&mut me, segment) > before);
        assert!(house.dir.join("data/wal").join(&before).exists());
    }
    assert_eq!(value(&mut me, "select count(*) from logged"), "3");
}

#[test]
fn the_log_is_made_durable_as_the_settings_say() {
    let house = House::new();
    let mut me = house.client();
    me.query("create table logged (how text)");
    for how in ["open_datasync", "io_uring", "fdatasync"] {
        let mut config = Config::new();
        config.set("wal_sync_method", how).unwrap();
        house.server().reload(&config);
        let shown = value(&mut me, "show wal_sync_method");
        // A system that forbids io_uring is told of when it is chosen, and the method stays.
        assert!(shown == how || (how == "io_uring" && shown == "open_datasync"), "{shown}");
        let syncs = "select wal_sync from pg_stat_wal";
        let before = number(&mut me, syncs);
        for _ in 0..10 {
            assert_eq!(
                me.query(&format!("insert into logged values ('{how}')")),
                "C INSERT 0 1\nZ I"
            );
        }
        assert!(number(&mut me, syncs) >= before + 10.0, "{how}");
    }
    assert_eq!(value(&mut me, "select count(*) from logged"), "30");
    let told = me.query("set commit_delay = 100");
    assert!(told.contains("commit_delay has no effect"), "{told}");
    let told = me.query("set vacuum_cost_delay = 5");
    assert!(told.contains("vacuum_cost_delay has no effect"), "{told}");
    assert_eq!(value(&mut me, "show vacuum_cost_delay"), "5");
    assert_eq!(value(&mut me, "show full_page_writes"), "off");
    let refused = me.query("select pg_create_restore_point('here')");
    assert!(refused.contains("ERROR 0A000 restore points are not supported"), "{refused}");
}

#[test]
fn upkeep_follows_the_configuration_that_is_read_again() {
    let house = House::new();
    let mut me = house.client();
    let limits = || house.database.engine().upkeep_limits().get();
    assert!(limits().enabled && limits().inserted.is_some());
    assert_eq!(value(&mut me, "show autovacuum_naptime"), "1min");
    let mut config = Config::new();
    for (name, to) in [
        ("autovacuum", "off"),
        ("autovacuum_analyze_scale_factor", "0.25"),
        ("autovacuum_analyze_threshold", "7"),
        ("autovacuum_vacuum_insert_threshold", "-1"),
        ("autovacuum_naptime", "3s"),
    ] {
        config.set(name, to).unwrap();
    }
    house.server().reload(&config);
    let now = limits();
    assert_eq!((now.enabled, now.inserted, now.nap.as_secs()), (false, None, 3));
    assert_eq!((now.changed.rows, now.changed.share), (7, 0.25));
    assert_eq!(value(&mut me, "show autovacuum"), "off");
    // What came to be due meanwhile is done as soon as it may be, without another change.
    me.query("create table loaded (a int)");
    me.query("insert into loaded select generate_series(1, 20000)");
    let count = "select autovacuum_count > 0 from pg_stat_all_tables where relname = 'loaded'";
    assert_eq!(value(&mut me, count), "f");
    house.server().reload(&Config::new());
    crate::timers::until("it is cleaned", || value(&mut me, count) == "t");
}

#[test]
fn bounds_of_the_log_count_when_they_are_read_again() {
    let house = House::new();
    let mut me = house.client();
    me.query("create table logged (n int)");
    let files = || std::fs::read_dir(house.dir.join("data/wal")).unwrap().count();
    for n in 0..8 {
        me.query(&format!("insert into logged values ({n})"));
        me.query("select pg_switch_wal()");
    }
    assert!(!me.query("checkpoint").contains("ERROR"));
    let before = files();
    assert!(before >= 9, "{before}");
    let mut config = Config::new();
    for (name, text) in
        [("min_wal_size", "2MB"), ("max_wal_size", "4MB"), ("checkpoint_timeout", "77s")]
    {
        config.set(name, text).unwrap();
    }
    house.server().reload(&config);
    // The segment in use, two ahead, and what the checkpoint has left.
    assert!(files() <= 6, "{} of {before}", files());
    assert_eq!(value(&mut me, "show max_wal_size"), "4MB");
    assert_eq!(value(&mut me, "show checkpoint_timeout"), "77s");
    let context = "select distinct context from pg_settings where name in
        ('min_wal_size', 'max_wal_size', 'checkpoint_timeout')";
    assert_eq!(value(&mut me, context), "sighup");
    assert_eq!(value(&mut me, "select count(*) from logged"), "8");
}

#[test]
fn sizes_of_the_log_are_shown_as_they_are() {
    let options = options();
    let mut config = Config::new();
    for (name, value) in
        [("wal_buffers", "3MB"), ("wal_segment_size", "3MB"), ("shared_buffers", "8MB")]
    {
        config.set(name, value).unwrap();
    }
    set_buffers(&mut config);
    let data = options.socket_dir.clone().unwrap().join("data");
    let house = House::over(Arc::new(Database::open(&data, "me", &config).unwrap()), options);
    let mut me = house.client();
    assert_eq!(value(&mut me, "show wal_buffers"), "4MB");
    assert_eq!(value(&mut me, "show wal_segment_size"), "4MB");
    // Read again, they say nothing about what was started.
    config.set("wal_buffers", "1MB").unwrap();
    house.server().reload(&config);
    assert_eq!(value(&mut me, "show wal_buffers"), "4MB");
}

/// The same directory under one `wal_io` and then the other.
#[test]
fn the_log_may_be_mapped_and_written_in_turn() {
    let options = options();
    let data = options.socket_dir.clone().unwrap().join("data");
    let open = |io: &str| {
        let mut config = Config::new();
        config.set("wal_io", io)?;
        set_buffers(&mut config);
        Database::open(&data, "me", &config)
    };
    let mut rows = 0;
    for io in ["file", "mmap", "file", "mmap"] {
        let database = Arc::new(open(io).unwrap());
        let server = Server::start(Arc::clone(&database), options.clone()).unwrap();
        let mut me = Client::unix(&options.socket_dir.clone().unwrap().join(".s.PGSQL.5432"));
        me.start("me");
        me.query("create table if not exists logged (how text)");
        assert_eq!(value(&mut me, "show wal_io"), io);
        let context = "select context from pg_settings where name = 'wal_io'";
        assert_eq!(value(&mut me, context), "postmaster");
        assert_eq!(value(&mut me, "select count(*) from logged"), rows.to_string());
        let syncs = number(&mut me, "select wal_sync from pg_stat_wal");
        for _ in 0..20 {
            me.query(&format!("insert into logged values ('{io}')"));
            rows += 1;
        }
        assert!(number(&mut me, "select wal_sync from pg_stat_wal") >= syncs + 20.0, "{io}");
        assert!(me.query("select pg_switch_wal()").contains("C SELECT 1"));
        me.request(|r| r.terminate());
        me.expect_end();
        server.shutdown();
        database.close().unwrap();
    }
    let refused = open("pmem").err().unwrap().to_string();
    assert!(refused.contains("wal_io = pmem needs persistent memory"), "{refused}");
    // Nothing has changed for it.
    let house = House::over(Arc::new(open("file").unwrap()), options);
    assert_eq!(value(&mut house.client(), "select count(*) from logged"), rows.to_string());
}
