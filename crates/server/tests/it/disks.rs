//! Disks that fail: what clients are told, what the log says, and that nothing acknowledged is lost.
//!
//! Each scenario runs in a process of its own, because its log is looked at and some end with an abort.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{BlockNo, Env, Fork, RelId};
use server::Database;

use crate::moody::{Access, Mood, Moody};
use crate::{House, options, small};

/// Set in a child: the directory that it works in.
const CHILD: &str = "THALWEG_TEST_DISK";

/// A server in the child's directory, and its disk's mood.
struct Scene {
    house: House,
    mood: Mood,
}

impl Scene {
    fn open(data: &Path) -> Scene {
        Scene::open_with(data, &[])
    }

    /// With settings.
    fn open_with(data: &Path, settings: &[(&str, &str)]) -> Scene {
        let mood = Mood::default();
        let env = Env::new(Arc::new(Moody::new(data, &mood)));
        let mut config = small();
        // A block that is to fail would be read before it is told to.
        config.set("pg_prewarm.autoprewarm", "off").unwrap();
        settings.iter().for_each(|(name, value)| config.set(name, value).unwrap());
        let database = Arc::new(Database::open_in(&env, data, "me", &config).unwrap());
        let mut options = options();
        options.data = data.to_owned();
        Scene { house: House::over(database, options), mood }
    }

    fn say(&self, statement: &str) -> String {
        self.house.client().query(statement)
    }

    /// What a query of one row tells.
    fn row(&self, query: &str) -> String {
        let told = self.say(query);
        told.lines().nth(1).and_then(|line| line.strip_prefix("D ")).unwrap().to_owned()
    }

    fn file_of_t(&self) -> String {
        self.row("select pg_relation_filepath('t')")
    }

    fn pages_of_t(&self) -> String {
        self.row("select pg_relation_size('t') / 8192")
    }
}

fn eio() -> io::Error {
    io::Error::from_raw_os_error(5)
}

fn enospc() -> io::Error {
    io::Error::from_raw_os_error(28)
}

const ROWS: &str = "insert into t select g, repeat('x', 500) from generate_series(1, 200) g";
const COUNT: &str = "T count\nD 200\nC SELECT 1\nZ I";

/// In the child: a directory with a table of 200 rows, closed in order.
fn prepare(data: &Path) {
    let scene = Scene::open(data);
    assert_eq!(scene.say("create table t (a int, b text)"), "C CREATE TABLE\nZ I");
    assert_eq!(scene.say(ROWS), "C INSERT 0 200\nZ I");
}

/// Runs the scenario in a child, whose test has this name; afterwards, here, `after` with the data directory.
fn scenario(name: &str, play: impl FnOnce(&Path), after: impl FnOnce(&Path, &Output, &str)) {
    if let Some(data) = std::env::var_os(CHILD) {
        return play(Path::new(&data));
    }
    let home: PathBuf = std::env::temp_dir().join(format!("thalweg-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let data = home.join("data");
    let name = format!("disks::{name}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args(["--exact", &name, "--nocapture"]).env(CHILD, &data);
    let output = child.output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    after(&data, &output, &log);
    std::fs::remove_dir_all(&home).unwrap();
}

/// What the child has printed under this name.
fn printed(name: &str, output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = told.lines().find_map(|line| line.split_once(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name} in {told}")).1.to_owned()
}

fn assert_success(_: &Path, output: &Output, log: &str) {
    assert!(output.status.success(), "{}\n{log}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_full_disk_refuses_what_needs_room_and_nothing_else() {
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open(data);
        scene.mood.turn(|access, path, _| {
            (access == Access::Write && path.starts_with("base/")).then(enospc)
        });
        let full = scene.say("create table u as select a, b from t, generate_series(1, 30)");
        assert!(full.starts_with("ERROR 53100 could not extend file \"base/"), "{full}");
        assert_eq!(scene.say("select count(*) from t"), COUNT);
        let (file, pages) = (scene.file_of_t(), scene.pages_of_t());
        let told = format!("could not extend file \"{file}\" at block {pages}: No space left");
        let full = scene.say(ROWS);
        assert!(full.starts_with(&format!("ERROR 53100 {told}")), "{full}");
        println!("told: {told}");
        let deleted = scene.say("begin; delete from t where a = 1; rollback");
        assert_eq!(deleted, "C BEGIN\nC DELETE 1\nC ROLLBACK\nZ I");
        scene.mood.recover();
        assert_eq!(scene.say("insert into t values (0, '')"), "C INSERT 0 1\nZ I");
    };
    scenario("a_full_disk_refuses_what_needs_room_and_nothing_else", play, |data, output, log| {
        assert_success(data, output, log);
        let told = printed("told", output);
        assert!(log.contains(&format!("ERROR 53100: {told}")), "{told}: {log}");
    });
}

#[test]
fn a_log_without_room_refuses_writes_until_there_is_some() {
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open(data);
        scene.mood.turn(|access, path, _| {
            (access == Access::Open && path == "wal/new-segment").then(enospc)
        });
        let mut done = 0;
        let full = loop {
            let told = scene.say("update t set b = repeat('y', 500)");
            if told != "C UPDATE 200\nZ I" {
                break told;
            }
            done += 1;
            assert!(done < 1000, "the log of 1 MiB segments never ends");
        };
        assert!(full.starts_with("ERROR 53100 could not extend file \"wal/"), "{full}");
        assert_eq!(scene.say("select count(*) from t"), COUNT);
        scene.mood.recover();
        crate::timers::until("there is room again", || {
            scene.say("update t set a = a where a = 1") == "C UPDATE 1\nZ I"
        });
    };
    scenario("a_log_without_room_refuses_writes_until_there_is_some", play, |data, output, log| {
        assert_success(data, output, log);
        assert!(log.contains("ERROR 53100: could not extend file \"wal/"), "{log}");
    });
}

/// Segments can't be made for other reasons than room: the same, under the reason's own code, and the server lives.
#[test]
fn a_log_whose_segments_can_not_be_made_refuses_writes_until_they_can() {
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open(data);
        let troubles = [
            (
                Access::Open,
                "wal/new-segment",
                24,
                "53000 could not create file \"wal/new-segment\"",
            ),
            (Access::Write, "wal/new-segment", 5, "58030 could not write file \"wal/new-segment\""),
            (Access::Directory, "wal/new-segment", 13, "42501 could not re"),
            (Access::Directory, "wal", 28, "53100 could not extend file \"wal/"),
        ];
        for (kind, file, errno, told) in troubles {
            scene.mood.turn(move |access, path, offset| {
                // Log is written to the file under this name, too, but not to its beginning.
                let hit =
                    access == kind && path == file && (access != Access::Write || offset == 0);
                hit.then(|| io::Error::from_raw_os_error(errno))
            });
            let mut done = 0;
            let refused = loop {
                let answer = scene.say("update t set b = repeat('y', 500)");
                if answer != "C UPDATE 200\nZ I" {
                    break answer;
                }
                done += 1;
                assert!(done < 1000, "the log of 1 MiB segments never ends");
            };
            assert!(refused.starts_with(&format!("ERROR {told}")), "{refused}");
            assert_eq!(scene.say("select count(*) from t"), COUNT);
            scene.mood.recover();
            crate::timers::until("segments can be made again", || {
                scene.say("update t set a = a where a = 1") == "C UPDATE 1\nZ I"
            });
        }
    };
    let name = "a_log_whose_segments_can_not_be_made_refuses_writes_until_they_can";
    scenario(name, play, |data, output, log| {
        assert_success(data, output, log);
        for told in ["Too many open files", "Input/output error", "Permission denied", "No space"] {
            let said = log.lines().filter(|l| l.contains("no log segment can be made"));
            let said: Vec<_> = said.filter(|line| line.contains(told)).collect();
            // What can't be renamed can't be removed, either: that is another thing to say.
            let once = said.iter().enumerate().all(|(i, line)| !said[..i].contains(line));
            assert!(once && (1..=2).contains(&said.len()), "{told}: {said:?}");
        }
        assert_eq!(log.matches("log segments can be made again").count(), 4, "{log}");
        assert_eq!(Scene::open(data).say("select count(*) from t"), COUNT);
    });
}

/// The race of the seed, with real threads: many sessions demand new segments, and making one is slow and fails more
/// often than not. The server lives, and has what it said it has.
#[test]
fn many_sessions_demand_segments_while_their_making_is_slow_and_fails() {
    const SESSIONS: usize = 8;
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open(data);
        let turn = std::sync::atomic::AtomicU32::new(0);
        scene.mood.turn(move |access, path, offset| {
            let is_step = matches!(access, Access::Open | Access::Directory)
                || (access == Access::Write && offset == 0);
            if !is_step || !path.starts_with("wal") {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
            let turn = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // A directory's failed sync is final unless it is for want of room.
            let errno = if path == "wal" { 28 } else { [5, 28, 24, 13][turn as usize / 3 % 4] };
            (!turn.is_multiple_of(3)).then(|| io::Error::from_raw_os_error(errno))
        });
        let insist = |session: usize| {
            let mut client = scene.house.client();
            for n in 0..40 {
                let row = 1000 + session * 1000 + n;
                let insert = format!("insert into t values ({row}, repeat('z', 100000))");
                crate::timers::until("a row is in", || match client.query(&insert).as_str() {
                    "C INSERT 0 1\nZ I" => true,
                    refused => {
                        let codes = ["58030", "53100", "53000", "42501"];
                        let told = codes.iter().any(|c| refused.starts_with(&format!("ERROR {c}")));
                        assert!(told, "{refused}");
                        false
                    }
                });
            }
        };
        std::thread::scope(|threads| {
            (0..SESSIONS).for_each(|session| drop(threads.spawn(move || insist(session))));
        });
        println!("all in");
        // As a power cut would: nothing is closed in order.
        std::process::abort();
    };
    let name = "many_sessions_demand_segments_while_their_making_is_slow_and_fails";
    scenario(name, play, |data, output, log| {
        assert!(String::from_utf8_lossy(&output.stdout).contains("all in"), "{log}");
        let count = Scene::open(data).say("select count(*), count(distinct a) from t");
        assert_eq!(count, "T count,count\nD 520,520\nC SELECT 1\nZ I");
    });
}

/// A new segment's sync fails: that is final, also where the system calls it a lack of room.
#[test]
fn a_segment_that_can_not_be_synced_ends_the_server_and_loses_nothing() {
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open(data);
        scene.mood.turn(|access, path, _| {
            (access == Access::Sync && path == "wal/new-segment").then(enospc)
        });
        for n in 0..1000 {
            scene.say("update t set b = repeat('y', 500)");
            println!("told {n}");
        }
    };
    let name = "a_segment_that_can_not_be_synced_ends_the_server_and_loses_nothing";
    scenario(name, play, |data, output, log| {
        assert!(!output.status.success(), "it went on: {log}");
        let told = "no log segment can be made: could not sync file \"wal/new-segment\"";
        assert!(log.contains(told), "{log}");
        assert_eq!(Scene::open(data).say("select count(*) from t"), COUNT);
    });
}

#[test]
fn a_block_that_can_not_be_read_is_named_and_the_rest_is_served() {
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open(data);
        let file = scene.file_of_t();
        let broken = file.clone();
        scene.mood.turn(move |access, path, offset| {
            (access == Access::Read && path == broken && offset == 3 * 8192).then(eio)
        });
        let told = scene.say("select count(*) from t");
        let expected = format!("ERROR 58030 could not read block 3 of file \"{file}\"");
        assert!(told.contains(&expected), "{told}");
        assert!(scene.say("select count(*) > 0 from pg_class").contains("D t\n"));
        scene.mood.recover();
        assert_eq!(scene.say("select count(*) from t"), COUNT);
    };
    let name = "a_block_that_can_not_be_read_is_named_and_the_rest_is_served";
    scenario(name, play, |data, output, log| {
        assert_success(data, output, log);
        assert!(log.contains("ERROR 58030: could not read block 3 of file \"base/"), "{log}");
    });
}

/// Which block of the file could not be written, and what stands before. Only the first two are to fail.
fn broken_block<'a>(told: &'a str, file: &str) -> Option<(&'a str, u32)> {
    let (before, rest) = told.split_once("could not write block ")?;
    let (block, rest) = rest.split_once(" of file ")?;
    let block = block.parse().ok().filter(|block| *block < 2)?;
    rest.starts_with(&format!("\"{file}\": Input/output error")).then_some((before, block))
}

/// The cleaner's and the checkpoint's writes of a few blocks fail: others' pages go on making room, what is in memory is
/// served and changed, and nothing is lost when the disk is well again.
#[test]
fn a_page_that_can_not_be_written_is_named_and_the_rest_goes_on() {
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open(data);
        let file = scene.file_of_t();
        println!("broken: {file}");
        let broken = file.clone();
        scene.mood.turn(move |access, path, offset| {
            // Neighbours are written in one call.
            (access == Access::Write && path == broken && offset < 2 * 8192).then(eio)
        });
        assert_eq!(scene.say("update t set a = a + 1000"), "C UPDATE 200\nZ I");
        let told = scene.say("checkpoint");
        let named = broken_block(&told, &file);
        assert!(named.is_some_and(|(before, _)| before == "ERROR 58030 "), "{told}");
        assert_eq!(scene.say("select count(*) from t where a > 1000"), COUNT);
        // More than the cache holds.
        let fill = "create table u as select g, repeat('z', 500) from generate_series(1, 25000) g";
        assert_eq!(scene.say(fill), "C SELECT 25000\nZ I");
        assert!(scene.say("select count(*) from u").contains("D 25000\n"));
        assert_eq!(scene.say("update t set a = a + 1000"), "C UPDATE 200\nZ I");
        scene.mood.recover();
        assert_eq!(scene.say("checkpoint"), "C CHECKPOINT\nZ I");
        println!("done");
        // As a power cut would: nothing is closed in order.
        std::process::abort();
    };
    let name = "a_page_that_can_not_be_written_is_named_and_the_rest_goes_on";
    scenario(name, play, |data, output, log| {
        assert!(String::from_utf8_lossy(&output.stdout).contains("done"), "{log}");
        let file = printed("broken", output);
        let named: Vec<_> = log.lines().filter_map(|line| broken_block(line, &file)).collect();
        assert!(named.iter().any(|(before, _)| before.ends_with(" page cleaner: ")), "{log}");
        assert!(named.iter().any(|(before, _)| before.ends_with(" ERROR 58030: ")), "{log}");
        let count = Scene::open(data).say("select count(*) from t where a > 2000");
        assert_eq!(count, COUNT);
    });
}

#[test]
fn a_log_that_can_not_be_synced_ends_the_server_and_keeps_what_was_told() {
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open(data);
        scene
            .mood
            .turn(|access, path, _| (access == Access::Sync && path.starts_with("wal/")).then(eio));
        println!("{}", scene.say("insert into t values (201, 'never told')"));
    };
    let name = "a_log_that_can_not_be_synced_ends_the_server_and_keeps_what_was_told";
    scenario(name, play, |data, output, log| {
        assert!(!output.status.success(), "it went on: {log}");
        assert!(log.contains("could not sync file \"wal/"), "{log}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("C INSERT"), "it was told");
        let count = Scene::open(data).say("select count(*) from t where a <= 200");
        assert_eq!(count, COUNT);
    });
}

#[test]
fn places_that_can_not_be_synced_end_the_server_and_lose_nothing() {
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open(data);
        assert_eq!(scene.say("update t set a = a + 1000"), "C UPDATE 200\nZ I");
        scene.mood.turn(|access, path, _| {
            (access == Access::Sync && path.starts_with("base/")).then(eio)
        });
        println!("{}", scene.say("checkpoint"));
    };
    let name = "places_that_can_not_be_synced_end_the_server_and_lose_nothing";
    scenario(name, play, |data, output, log| {
        assert!(!output.status.success(), "it went on: {log}");
        assert!(log.contains("could not sync file \"base/"), "{log}");
        let count = Scene::open(data).say("select count(*) from t where a > 1000");
        assert_eq!(count, COUNT);
    });
}

/// Changes a closed database's file behind everybody's back.
fn spoil(data: &Path, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = data.join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(&path, bytes).unwrap();
}

/// No disk fails, but every page of a small cache is held: who needs another is told so after a while, who needs none
/// is served, and all is well when they are let go.
#[test]
fn a_cache_all_of_whose_pages_are_held_refuses_who_needs_another() {
    let play = |data: &Path| {
        prepare(data);
        let scene = Scene::open_with(data, &[("shared_buffers", "2MB"), ("autovacuum", "off")]);
        let fill = "create table u as select g, repeat('z', 500) from generate_series(1, 5000) g";
        assert_eq!(scene.say(fill), "C SELECT 5000\nZ I");
        let mut me = scene.house.client();
        assert_eq!(me.query("select count(*) from t"), COUNT);
        let file = scene.row("select pg_relation_filepath('u')");
        let pool = scene.house.database.engine().pool();
        let id = RelId(file.strip_prefix("base/").unwrap().parse().unwrap());
        let u = pool.relation(id, pool.rank_of(id).unwrap());
        let frames = pool.frame_count() as u32;
        let mut pins = Vec::new();
        // Some others may be held as well: then the last ones find no frame.
        pins.extend((0..frames).map_while(|block| u.pin(Fork::Main, BlockNo(block)).ok()));
        assert!(pins.len() > frames as usize / 2, "{} of {frames}", pins.len());
        let begun = Instant::now();
        let told = me.query("select count(*) from t");
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        assert!(told.ends_with("ERROR 53000 no unpinned buffers available\nZ I"), "{told}");
        assert_eq!(me.hint, "Increase shared_buffers, or run fewer statements at once.");
        assert_eq!(me.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
        drop(pins);
        assert_eq!(me.query("select count(*) from t"), COUNT);
    };
    let name = "a_cache_all_of_whose_pages_are_held_refuses_who_needs_another";
    scenario(name, play, |data, output, log| {
        assert_success(data, output, log);
        assert!(log.contains("ERROR 53000: no unpinned buffers available"), "{log}");
    });
}

/// A page that is to be damaged.
struct Victim {
    kind: &'static str,
    file: String,
    block: usize,
    /// Reads it.
    query: &'static str,
    /// Does not.
    other: &'static str,
}

/// Nothing reads or moves a row in the background.
const CALM: [(&str, &str); 1] = [("autovacuum", "off")];

/// In the child: one of a heap, of an index, of a catalog, and of what holds large values, in a directory with t.
fn victims(data: &Path) -> [Victim; 4] {
    let scene = Scene::open_with(data, &CALM);
    let made = scene.say(
        "create table i (a int); insert into i select generate_series(1, 200); \
         create index i_a on i (a); create table l (a text); \
         insert into l select string_agg(md5(g::text), '') from generate_series(1, 2000) g",
    );
    assert!(made.ends_with("C INSERT 0 1\nZ I"), "{made}");
    let file = |relation: &str| scene.row(&format!("select pg_relation_filepath('{relation}')"));
    let of_large = "select pg_relation_filepath(reltoastrelid::regclass) from pg_class \
                    where relname = 'l'";
    let class_of_t = scene.row("select ctid from pg_class where relname = 't'");
    let (block, _) = class_of_t.trim_start_matches('(').split_once(',').unwrap();
    let other = "select count(*) from pg_class where relname = 't'";
    [
        Victim { kind: "heap", file: file("t"), block: 2, query: "select count(*) from t", other },
        Victim {
            kind: "index",
            file: file("i_a"),
            block: 0,
            query: "set enable_seqscan = off; select a from i where a = 5",
            other,
        },
        Victim {
            kind: "catalog",
            file: file("pg_class"),
            block: block.parse().unwrap(),
            query: "select count(*) from t",
            other: "select 1",
        },
        Victim {
            kind: "large values",
            file: scene.row(of_large),
            block: 2,
            query: "select md5(a) from l",
            other: "select count(*) from l",
        },
    ]
}

#[test]
fn a_flipped_bit_is_told_and_not_served() {
    let play = |data: &Path| {
        prepare(data);
        for Victim { kind, file, block, query, other } in victims(data) {
            let flip = |bytes: &mut Vec<u8>| bytes[block * 8192 + 5000] ^= 4;
            spoil(data, &file, flip);
            let scene = Scene::open_with(data, &CALM);
            let told = scene.say(query);
            let expected = format!("invalid page in block {block} of file \"{file}\"");
            assert!(told.contains(&format!("ERROR XX001 {expected}")), "{kind}: {told}");
            let told = scene.say(other);
            assert!(told.ends_with("\nD 1\nC SELECT 1\nZ I"), "{kind}: {told}");
            drop(scene);
            println!("{kind}: {expected}");
            // It is well again for the next one.
            spoil(data, &file, flip);
            assert_eq!(Scene::open_with(data, &CALM).say("select count(*) from t"), COUNT);
        }
    };
    scenario("a_flipped_bit_is_told_and_not_served", play, |data, output, log| {
        assert_success(data, output, log);
        for kind in ["heap", "index", "catalog", "large values"] {
            let told = printed(kind, output);
            assert!(log.contains(&format!("ERROR XX001: {told}")), "{kind}, {told}: {log}");
        }
    });
}

/// In the child: every row of t is updated under this protection, and written to its place or not.
fn update_all(data: &Path, protection: &str, is_written: bool) {
    prepare(data);
    let file = Scene::open(data).file_of_t();
    // A vacuum that comes at once would empty the page, or have redo make it anew.
    let settings = [("autovacuum", "off"), ("torn_page_protection", protection)];
    let scene = Scene::open_with(data, &settings);
    assert_eq!(scene.say("update t set a = a + 1000"), "C UPDATE 200\nZ I");
    if is_written {
        assert_eq!(scene.say("checkpoint"), "C CHECKPOINT\nZ I");
    }
    println!("torn: {file}");
    // As a power cut would: nothing is closed in order.
    std::process::abort();
}

/// Tears a page that the child has updated. What a process under the same protection that opens the directory then
/// writes to its log, and what it tells of the rows.
fn torn_and_opened(data: &Path, output: &Output, protection: &str) -> (String, String) {
    spoil(data, &printed("torn", output), |bytes| bytes[2 * 8192 + 4096..3 * 8192].fill(0));
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args(["--exact", "disks::what_is_told_of_a_torn_page", "--nocapture"]);
    let output = child.env(CHILD, data).env(PROTECTION, protection).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_success(data, &output, &log);
    let told = printed("told", &output);
    (log, told)
}

/// Set in the child that opens a directory with a torn page: its protection.
const PROTECTION: &str = "THALWEG_TEST_TORN";

/// The second half of the tests behind it: a start over a torn page.
#[test]
fn what_is_told_of_a_torn_page() {
    let Some(data) = std::env::var_os(CHILD) else { return };
    let protection = std::env::var(PROTECTION).unwrap();
    let settings = [("autovacuum", "off"), ("torn_page_protection", protection.as_str())];
    let scene = Scene::open_with(Path::new(&data), &settings);
    let told = scene.say("select count(*) from t where a > 1000");
    println!("told: {}", told.replace('\n', "|"));
}

#[test]
fn a_torn_page_is_repaired_at_the_next_start() {
    let play = |data: &Path| update_all(data, "doublewrite", true);
    scenario("a_torn_page_is_repaired_at_the_next_start", play, |data, output, _| {
        let file = printed("torn", output);
        let (log, told) = torn_and_opened(data, output, "doublewrite");
        let expected = format!("repaired torn page: block 2 of file \"{file}\"");
        assert!(log.contains(&expected), "{log}");
        assert_eq!(told, COUNT.replace('\n', "|"));
    });
}

/// No checkpoint was after the update, so redo comes to the page's image.
#[test]
fn a_torn_page_whose_image_is_in_the_log_is_made_anew() {
    let play = |data: &Path| update_all(data, "full_page_writes", false);
    scenario("a_torn_page_whose_image_is_in_the_log_is_made_anew", play, |data, output, _| {
        let (log, told) = torn_and_opened(data, output, "full_page_writes");
        assert_eq!(told, COUNT.replace('\n', "|"), "{log}");
        // The copy that the double-write area has of it is from before the update.
        assert!(!log.contains("repaired torn page"), "{log}");
    });
}

#[test]
fn a_torn_page_without_protection_is_told_and_not_served() {
    let play = |data: &Path| update_all(data, "off", true);
    scenario("a_torn_page_without_protection_is_told_and_not_served", play, |data, output, _| {
        let file = printed("torn", output);
        let (log, told) = torn_and_opened(data, output, "off");
        let expected = format!("invalid page in block 2 of file \"{file}\"");
        assert!(told.contains(&format!("ERROR XX001 {expected}")), "{told}");
        assert!(log.contains(&format!("ERROR XX001: {expected}")), "{log}");
    });
}
