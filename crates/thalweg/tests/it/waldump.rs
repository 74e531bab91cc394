//! `thalweg waldump` over logs that the engine wrote.

use super::{Scratch, config, thalweg};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

const SEGMENT: u64 = 16 << 20;
const HEADER: u64 = 4096;

/// Exit code, output, complaints.
fn dump(data: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = thalweg(&[&["waldump", data.to_str().unwrap()], arguments].concat());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Lines about records of which `what` is a part.
fn count(told: &str, what: &str) -> usize {
    told.lines().filter(|line| line.starts_with("rmgr: ") && line.contains(what)).count()
}

fn ask(connection: &mut thalweg::Connection<'_>, query: &str) -> String {
    connection.query(query).unwrap()[0].rows[0][0].clone().unwrap()
}

/// Where a line says that its record lies.
fn lsn_of(line: &str) -> (String, u64) {
    let at = line.split("lsn: ").nth(1).unwrap().split(',').next().unwrap();
    let (high, low) = at.split_once('/').unwrap();
    let half = |text| u64::from_str_radix(text, 16).unwrap();
    let position = half(high) << 32 | half(low);
    (format!("{:X}/{:X}", position >> 32, position & 0xFFFF_FFFF), position)
}

fn file_of(data: &Path, position: u64) -> PathBuf {
    data.join("wal").join(format!("00000001{:016X}", position / SEGMENT))
}

/// A log of two tables, with whole pages, that ends with a checkpoint; the relations' numbers, and where what was
/// inserted into `t` begins and ends.
struct Written {
    data: PathBuf,
    table: String,
    index: String,
    from: String,
    to: String,
}

fn write(scratch: &Scratch) -> Written {
    let data = scratch.0.join("data");
    let mut config = config();
    // With room for all pages: one that is written and changed again is logged whole, in the place of what changed.
    let settings = [
        ("torn_page_protection", "full_page_writes"),
        ("wal_compression", "lz4"),
        ("shared_buffers", "16MB"),
    ];
    for (name, value) in settings {
        config.set(name, value).unwrap();
    }
    let database = thalweg::Database::open(&data, "me", &config).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    connection
        .query("create table t (k int primary key, v text); insert into t values (0); checkpoint")
        .unwrap();
    let table = ask(&mut connection, "select pg_relation_filenode('t')");
    let index = ask(&mut connection, "select pg_relation_filenode('t_pkey')");
    let from = ask(&mut connection, "select pg_current_wal_insert_lsn()");
    for n in 1..39 {
        connection.query(&format!("insert into t values ({n}, 'one')")).unwrap();
    }
    let to = ask(&mut connection, "select pg_current_wal_insert_lsn()");
    for query in [
        "update t set v = 'two' where k = 3",
        "delete from t where k = 5",
        "begin; insert into t values (77); savepoint s; insert into t values (78); rollback to s; commit",
        "begin; create table gone (k int); delete from t; rollback",
        "create sequence q; select nextval('q')",
        "create table h (k int); create index on h using hash (k)",
        "insert into h select generate_series(1, 3000)",
        "drop table h",
        "vacuum t",
    ] {
        connection.query(query).unwrap();
    }
    drop(connection);
    database.close().unwrap();
    Written { data, table, index, from, to }
}

#[test]
fn records_are_shown_in_words_and_chosen_as_asked() {
    let scratch = Scratch::new("waldump");
    let Written { data, table, index, from, to } = write(&scratch);
    let (code, told, complaints) = dump(&data, &[]);
    assert_eq!((code, &*complaints), (0, ""));
    assert!(!told.contains("unknown"), "{told}");
    let last: Vec<_> = told.lines().rev().take(2).collect();
    assert!(last[0].starts_with("the log ends at "), "{last:?}");
    assert!(last[1].contains("desc: CHECKPOINT next xid "), "{last:?}");
    for what in [
        "desc: INSERT off 4, row of ",
        "desc: UPDATE off 4 [",
        "; new off 40 [",
        "desc: DELETE off 6 [",
        "KEYS_UPDATED]",
        "desc: COMMIT 20",
        " UTC; rels dropped: [",
        "desc: ABORT nsubxacts 0",
        "rmgr: Sequence ",
        "last_value 33, is_called true",
        "rmgr: Hash ",
        "desc: SPLIT page 0: buckets ",
        "desc: PRUNE nredirected 1 [4->40], ndead 2 [6, 42], nunused 0",
        "desc: CREATE base/",
    ] {
        assert!(count(&told, what) > 0, "no \"{what}\"");
    }
    let chosen = |arguments: &[&str]| {
        let (code, told, complaints) =
            dump(&data, &[&["--start", &from, "--end", &to], arguments].concat());
        assert_eq!((code, &*complaints), (0, ""), "{told}");
        told
    };
    let all = chosen(&[]);
    let inserts = "rmgr: Heap ";
    assert_eq!((count(&all, inserts), count(&all, "desc: COMMIT ")), (38, 38), "{all}");
    assert_eq!(all.lines().count(), count(&all, ""), "nothing but records: {all}");
    let of_table = chosen(&["-R", &table]);
    assert_eq!((count(&of_table, inserts), count(&of_table, "")), (38, 38), "{of_table}");
    assert_eq!(count(&chosen(&["-R", &index, "-B", "1", "-F", "main"]), "rmgr: Btree "), 0);
    assert_eq!(count(&chosen(&["-R", &index, "-B", "0"]), "rmgr: Btree "), 38);
    assert_eq!(count(&chosen(&["-F", "vm"]), ""), 0);
    let rooms = chosen(&["-r", "Transaction", "-r", "btree"]);
    assert_eq!((count(&rooms, inserts), count(&rooms, "")), (0, 76));
    assert_eq!(count(&chosen(&["-k", "commit", "-n", "3"]), "desc: COMMIT"), 3);
    // The first change of each page since the checkpoint carries it.
    let whole = chosen(&["--fullpage"]);
    assert!((1..=2).contains(&count(&whole, " FPW")) && count(&whole, "") <= 2, "{whole}");
    let details = chosen(&["--fullpage", "--bkp-details", "-R", &table]);
    assert!(details.contains(&format!("\tblkref #0: rel {table} fork main blk 0 (FPW); hole: ")));
    assert!(
        details.contains("compression saved: ") && details.contains("method: lz4"),
        "{details}"
    );
    let xid = all.lines().find(|line| line.contains("COMMIT")).unwrap();
    let xid = xid.split("tx: ").nth(1).unwrap().split(',').next().unwrap().trim();
    let of_one = chosen(&["-x", xid]);
    assert_eq!((count(&of_one, inserts), count(&of_one, "COMMIT")), (1, 1), "{of_one}");
    assert_eq!(chosen(&["--quiet"]), "");
}

#[test]
fn totals_are_those_of_the_records() {
    let scratch = Scratch::new("waldump-stats");
    let Written { data, from, to, .. } = write(&scratch);
    let stats = |arguments: &[&str]| {
        let (code, told, complaints) =
            dump(&data, &[&["--start", &from, "--end", &to], arguments].concat());
        assert_eq!((code, &*complaints), (0, ""), "{told}");
        told
    };
    let records = stats(&[]);
    let bytes = |line: &str| -> (u64, u64) {
        let lengths = line.split("len (rec/tot): ").nth(1).unwrap().split(',').next().unwrap();
        let (without, all) = lengths.split_once('/').unwrap();
        (without.trim().parse().unwrap(), all.trim().parse().unwrap())
    };
    let row = |told: &str, name: &str| -> Vec<u64> {
        let line = told.lines().find(|line| line.starts_with(name)).expect(name);
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    for (arguments, name, part) in [
        ("--stats", "Heap ", "rmgr: Heap "),
        ("--stats=record", "Transaction/COMMIT ", "desc: COMMIT "),
        ("-z", "Total", ""),
        ("-z", "Sequence", "rmgr: Sequence"),
    ] {
        let those: Vec<_> = records.lines().filter(|line| line.contains(part)).map(bytes).collect();
        let without: u64 = those.iter().map(|(without, _)| without).sum();
        let all: u64 = those.iter().map(|(_, all)| all).sum();
        let expected = vec![those.len() as u64, without, all - without, all];
        assert_eq!(row(&stats(&[arguments]), name), expected, "{name}");
    }
    let told = stats(&["-z"]);
    assert!(told.starts_with("WAL statistics between "), "{told}");
    assert_eq!(told.lines().count(), 3 + 8 + 2, "each resource manager has its line: {told}");
    assert!(!stats(&["--stats=record"]).contains("Sequence/"));
    // A limit stops the count; the end of the log is told after the totals.
    let (_, told, _) = dump(&data, &["-z", "-n", "5"]);
    assert_eq!(row(&told, "Total")[0], 5);
    let (code, told, _) = dump(&data, &["-z", "-s", &from]);
    assert!(code == 0 && told.lines().last().unwrap().starts_with("the log ends at "), "{told}");
}

#[test]
fn a_running_server_is_followed_and_never_looks_damaged() {
    let scratch = Scratch::new("waldump-follow");
    let data = scratch.0.join("data");
    let database = thalweg::Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    connection.query("create table t (k int)").unwrap();
    let from = ask(&mut connection, "select pg_current_wal_insert_lsn()");
    // There is something to begin with: behind the end of the log it would find nothing and give up.
    connection.query("insert into t values (0)").unwrap();
    // Reads to a limit that is reached only by what is written later.
    let mut follower = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["waldump", "-f", "-k", "Heap/INSERT", "-n", "30", "-s", &from])
        .arg(&data)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(
        first.contains("desc: INSERT") || first.starts_with("first record is after"),
        "{first}"
    );
    // What is written while it looks is no damage.
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                connection.query("insert into t values (1)").unwrap();
            }
        });
        for _ in 0..5 {
            let (code, told, complaints) = dump(&data, &["--start", &from]);
            assert_eq!(code, 0, "{}{complaints}", told.lines().last().unwrap_or_default());
        }
        assert!(follower.wait().unwrap().success());
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    });
    assert!(lines.count() >= 28);
    drop(connection);
    database.close().unwrap();
}

#[test]
fn following_ends_by_a_signal_with_the_totals() {
    let scratch = Scratch::new("waldump-signal");
    let data = scratch.database();
    let follower = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["waldump", "-fz"])
        .arg(&data)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let signalled = Command::new("kill").args(["-INT", &follower.id().to_string()]).status();
    assert!(signalled.unwrap().success());
    let output = follower.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && told.contains("\nTotal "), "{told}");
}

#[test]
fn files_are_read_by_name_and_from_any_directory() {
    let scratch = Scratch::new("waldump-files");
    let data = scratch.0.join("data");
    let database = thalweg::Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    connection.query("create table t (k int)").unwrap();
    let table = ask(&mut connection, "select pg_relation_filenode('t')");
    let mut files = Vec::new();
    for n in 0..3 {
        connection.query(&format!("insert into t values ({n})")).unwrap();
        files.push(ask(&mut connection, "select pg_walfile_name(pg_current_wal_insert_lsn())"));
        connection.query("select pg_switch_wal()").unwrap();
    }
    drop(connection);
    database.close().unwrap();
    let archive = scratch.0.join("archive");
    fs::create_dir(&archive).unwrap();
    for file in &files {
        fs::copy(data.join("wal").join(file), archive.join(file)).unwrap();
    }
    let run = |arguments: &[&str]| {
        let output = thalweg(&[&["waldump"], arguments].concat());
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let path = |name: &str| archive.join(name).to_str().unwrap().to_owned();
    let inserts = |told: &str| count(told, "desc: INSERT off");
    let (code, one, complaints) = run(&[&path(&files[1]), "-R", &table]);
    assert_eq!((code, inserts(&one), &*complaints), (0, 1, ""), "{one}");
    let (code, all, complaints) = run(&["-p", &path(""), &files[0], &files[2], "-R", &table]);
    assert_eq!((code, inserts(&all), &*complaints), (0, 3, ""), "{all}");
    // The whole directory, up to where its last file ends.
    let (code, all, complaints) = run(&[&path(""), "-R", &table]);
    assert!(code == 0 && inserts(&all) == 3 && complaints.is_empty(), "{all}{complaints}");
    let (code, _, complaints) = run(&[&path(&files[0]), "-s", "FF/0"]);
    assert_eq!(code, 1);
    let expected = format!("start WAL location FF/0 is not inside file \"{}\"", files[0]);
    assert!(complaints.contains(&expected), "{complaints}");

    // One in the middle is missing.
    fs::remove_file(archive.join(&files[1])).unwrap();
    let (code, told, complaints) = run(&[&path(""), "-R", &table]);
    assert!(code == 1 && inserts(&told) == 1, "{told}");
    assert!(complaints.contains(&format!("file \"wal/{}\" is missing", files[1])), "{complaints}");
    let (code, _, complaints) = run(&[&path(&files[1])]);
    assert!(code == 1 && complaints.contains(&files[1]), "{complaints}");

    let empty = scratch.0.join("empty");
    fs::create_dir(&empty).unwrap();
    let (code, _, complaints) = run(&[empty.to_str().unwrap()]);
    assert!(code == 1 && complaints.contains("could not find any intact log file"), "{complaints}");
    let (code, _, complaints) = run(&["-p", "/nonexistent"]);
    assert!(code == 1 && complaints.contains("could not open directory"), "{complaints}");
}

#[test]
fn damage_is_told_with_its_place_after_what_comes_before() {
    let scratch = Scratch::new("waldump-damage");
    let Written { data, from, .. } = write(&scratch);
    let (_, told, _) = dump(&data, &["-r", "Transaction", "--start", &from]);
    let commits: Vec<_> = told.lines().filter(|line| line.contains("COMMIT")).collect();
    let (at, position) = lsn_of(commits[20]);
    let (next, _) = lsn_of(commits[21]);
    let file = file_of(&data, position);
    let sound = fs::read(&file).unwrap();
    let offset = HEADER + position % SEGMENT;
    let name = file.file_name().unwrap().to_str().unwrap();
    let place =
        format!("error in WAL record at {at} (file \"wal/{name}\", byte {offset}): a record of ");

    // A bit of its content, and its length.
    for (byte, what) in [(8, "bytes with an incorrect checksum"), (7, "invalid length ")] {
        let mut bytes = sound.clone();
        bytes[offset as usize + byte] ^= 0x80;
        fs::write(&file, bytes).unwrap();
        let (code, told, complaints) = dump(&data, &["-r", "Transaction", "--start", &from]);
        assert_eq!((code, count(&told, "COMMIT")), (1, 20), "{told}");
        assert!(complaints.contains(&place) && complaints.contains(what), "{complaints}");
        assert!(complaints.contains("but there is an intact one at "), "{complaints}");
        let (code, told, complaints) = dump(&data, &["-q", "--start", &from]);
        assert!(code == 1 && told.is_empty() && complaints.contains(&place), "{told}{complaints}");
        // Behind it the log can be read again.
        let (code, told, complaints) = dump(&data, &["--start", &next, "-k", "COMMIT", "-n", "1"]);
        assert!(code == 0 && lsn_of(told.lines().last().unwrap()).0 == next, "{told}{complaints}");
    }

    // Everything behind is gone: a log that ends before the checkpoint that the control file knows of.
    let mut bytes = sound.clone();
    bytes[offset as usize..].fill(0);
    fs::write(&file, &bytes).unwrap();
    let (code, _, complaints) = dump(&data, &["--start", &from]);
    assert!(code == 1 && complaints.contains("the control file knows of a checkpoint at "));
    assert!(complaints.contains("a record of invalid length 0"), "{complaints}");
    // Without a control file it is an end like any; to be told if more was asked for.
    fs::remove_file(data.join("control")).unwrap();
    let (code, told, _) = dump(&data, &["--start", &from]);
    assert_eq!((code, told.lines().last().unwrap()), (0, &*format!("the log ends at {at}")));
    let (code, _, complaints) = dump(&data, &["--start", &from, "--end", "FF/0"]);
    assert_eq!(code, 1);
    assert!(complaints.contains(&format!("the log ends at {at}, before FF/0")), "{complaints}");
    let (code, _, complaints) = dump(&data, &["--start", "FF/0"]);
    assert!(code == 1 && complaints.contains("the log from FF/0 on is not there"), "{complaints}");
}

#[test]
fn help_and_mistakes_have_their_exit_codes() {
    let run = |arguments: &[&str]| {
        let output = thalweg(&[&["waldump"], arguments].concat());
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, help) = run(&["--help"]);
    assert!(code == 0 && help.contains("--bkp-details"), "{help}");
    let rooms = "XLOG\nStorage\nPage\nTransaction\nHeap\nBtree\nHash\nSequence\n";
    assert_eq!(run(&["--rmgr=list"]), (0, rooms.to_owned()));
    assert_eq!(run(&[]).0, 2);
    assert_eq!(run(&["/", "--nosuch"]).0, 2);
}
