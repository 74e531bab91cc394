//! The binary's commands on real directories.
#![allow(clippy::unwrap_used, reason = "in a test every fault is a failure")]

mod concurrently;
mod dump;
mod embedded;
mod foreign_keys;
mod parks;
mod pgbench;
mod races;
mod running;
mod serving;
mod waldump;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base::{BlockNo, PageId, Xid};
use server::Database;
use server::config::Config;
use storage::page::PAGE_BYTES;
use storage::txlog::{ALL_LOGS, MultiXactId, TxLogStart};

/// A directory that goes when the test ends.
struct Scratch(PathBuf);

/// Defaults; `THALWEG_TEST_BUFFERS` says how many pages the cache has (`make test-tiny-cache`), `THALWEG_TEST_LOGS` that
/// the status logs' pools are as small as they can be and ids begin beyond 32 bits (`make test-tiny-logs`).
fn config() -> Config {
    let mut config = Config::new();
    for (name, value) in small() {
        config.set(name, &value).unwrap();
    }
    if std::env::var_os("THALWEG_TEST_LOGS").is_some() {
        let (next_xid, next_multixact) = (Xid((1 << 33) + 5), MultiXactId((1 << 32) - 3));
        config.begin_ids_at(TxLogStart { next_xid, next_multixact }, (1 << 32) - 3);
    }
    config
}

/// The sizes that the environment asks for.
fn small() -> Vec<(&'static str, String)> {
    let pages = std::env::var("THALWEG_TEST_BUFFERS").ok();
    let mut small: Vec<_> = pages.map(|pages| ("shared_buffers", pages)).into_iter().collect();
    if std::env::var_os("THALWEG_TEST_LOGS").is_some() {
        small.extend(ALL_LOGS.map(|log| (log.setting(), "16".to_owned())));
    }
    small
}

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("thalweg-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    /// A database that was made and closed.
    fn database(&self) -> PathBuf {
        let data = self.0.join("data");
        Database::open(&data, "me", &config()).unwrap().close().unwrap();
        data
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what there was is left in {}", self.0.display());
            return;
        }
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn thalweg(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_thalweg")).args(arguments).output().unwrap()
}

fn check(data: &Path) -> (bool, String, String) {
    let output = thalweg(&["check", data.to_str().unwrap()]);
    assert!(output.status.code().is_some(), "it did not come to its end: {output:?}");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_sound_directory_is_found_sound() {
    let scratch = Scratch::new("sound");
    let (sound, told, complaints) = check(&scratch.database());
    assert!(sound, "{told}{complaints}");
    assert!(told.contains(" tables with "), "{told}");
    assert!(!told.starts_with("0 pages"), "{told}");
}

#[test]
fn an_index_built_over_versions_agrees_with_its_table() {
    let scratch = Scratch::new("versions");
    let data = scratch.0.join("data");
    let database = thalweg::Database::open(&data, "me", &config()).unwrap();
    let mut old = database.connect("postgres", "me").unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    let rows =
        "create table t (k int, v int); insert into t select g, g from generate_series(1, 500) g";
    connection.query(rows).unwrap();
    old.query("begin isolation level repeatable read; select count(*) from t").unwrap();
    for statement in [
        "update t set k = k + 1000 where k % 3 = 0",
        "delete from t where k % 7 = 0",
        "begin; update t set k = 0; rollback",
        "create unique index on t (k)",
        "update t set v = v + 1 where k < 300",
        "create unique index on t (v, k)",
        "update t set k = k + 5000 where k % 5 = 0",
    ] {
        connection.query(statement).unwrap();
    }
    drop((old, connection));
    database.close().unwrap();
    let (sound, told, complaints) = check(&data);
    assert!(sound, "{told}{complaints}");
}

#[test]
fn materialized_views_are_looked_at_with_their_indexes() {
    let scratch = Scratch::new("matviews");
    let data = scratch.0.join("data");
    let counted = |statements: &[&str]| {
        let database = thalweg::Database::open(&data, "me", &config()).unwrap();
        let mut connection = database.connect("postgres", "me").unwrap();
        for statement in statements {
            connection.query(statement).unwrap();
        }
        drop(connection);
        database.close().unwrap();
        let (sound, told, complaints) = check(&data);
        assert!(sound, "{told}{complaints}");
        let count = |what: &str| {
            let (before, _) = told.split_once(what).unwrap_or_else(|| panic!("{told}"));
            let number = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap();
            number.parse::<u32>().unwrap_or_else(|_| panic!("{told}"))
        };
        (count(" tables"), count(" indexes"))
    };
    let before = counted(&["create table t (a int, b text)"]);
    let after = counted(&[
        "insert into t select g, repeat(md5(g::text), 100) from generate_series(1, 300) g",
        "create materialized view m as select * from t",
        "create unique index on m (a); create index on m (md5(b)) where a > 7",
        "delete from t where a < 100; refresh materialized view m",
        "update t set b = 'x' where a < 200; refresh materialized view concurrently m",
    ]);
    assert_eq!(after, (before.0 + 1, before.1 + 2));
}

#[test]
fn a_flipped_bit_is_found() {
    let scratch = Scratch::new("flipped");
    let data = scratch.database();
    let mut largest = (0, PathBuf::new());
    for entry in std::fs::read_dir(data.join("base")).unwrap() {
        let entry = entry.unwrap();
        largest = largest.max((entry.metadata().unwrap().len(), entry.path()));
    }
    let mut bytes = std::fs::read(&largest.1).unwrap();
    bytes[8192 - 100] ^= 4;
    std::fs::write(&largest.1, bytes).unwrap();
    let (sound, told, complaints) = check(&data);
    assert!(!sound);
    let file = format!("base/{}", largest.1.file_name().unwrap().to_str().unwrap());
    assert!(told.contains("block 0") && told.contains(&file), "{told}{complaints}");
}

/// A page that is another's, sealed as its own: only what it says is wrong.
#[test]
fn what_no_checksum_tells_is_found() {
    let scratch = Scratch::new("structure");
    let data = scratch.0.join("data");
    let database = thalweg::Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    let table = "create table t (k int primary key, v text);
        insert into t select g, repeat('v', 10) from generate_series(1, 5000) g";
    connection.query(table).unwrap();
    let file = |name: &str, connection: &mut thalweg::Connection<'_>| {
        let question = format!("select pg_relation_filenode('{name}')");
        let answer = connection.query(&question).unwrap().remove(0).rows.remove(0).remove(0);
        base::RelId(answer.unwrap().parse().unwrap())
    };
    let relations = ["t", "t_pkey"].map(|name| file(name, &mut connection));
    drop(connection);
    database.close().unwrap();
    let (sound, told, complaints) = check(&data);
    assert!(sound, "{told}{complaints}");
    // Each has its third page for its second, too.
    let env = base::Env::new(std::sync::Arc::new(base::disk::real::RealDisk::new(&data)));
    let files = storage::relfile::RelFiles::open(env.disk, 16).unwrap();
    for rel in relations {
        let page = |block| PageId { rel, fork: base::Fork::Main, block: BlockNo(block) };
        let (mut kept, mut other) = ([0; PAGE_BYTES], [0; PAGE_BYTES]);
        files.read(page(1), &mut kept).unwrap();
        files.read(page(2), &mut other).unwrap();
        storage::page::seal(&mut other, page(1));
        files.write(page(1), &other).unwrap();
        let (sound, told, complaints) = check(&data);
        assert!(!sound && told.contains("public.t"), "{rel}: {told}{complaints}");
        files.write(page(1), &kept).unwrap();
    }
    let (sound, told, complaints) = check(&data);
    assert!(sound, "{told}{complaints}");
}

/// In a page that a start needs, and so is refused, and in one that nobody asks for.
#[test]
fn a_damaged_status_log_is_found() {
    let scratch = Scratch::new("status");
    let data = scratch.0.join("data");
    let mut config = config();
    config.set("track_commit_timestamp", "on").unwrap();
    Database::open(&data, "me", &config).unwrap().close().unwrap();
    let settings = data.join(server::config::FILE_NAME);
    let chosen = std::fs::read_to_string(&settings).unwrap() + "track_commit_timestamp = on\n";
    std::fs::write(settings, chosen).unwrap();
    let (is_sound, told, complaints) = check(&data);
    assert!(is_sound, "{told}{complaints}");
    for (directory, is_refused) in [("txlog/commit_ts", false), ("txlog/xact", true)] {
        let segments = std::fs::read_dir(data.join(directory)).unwrap();
        let names = segments.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_segment = |name: &String| name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = names.filter(is_segment).min();
        let file = format!("{directory}/{}", name.expect("a segment"));
        let file = file.as_str();
        let sound = std::fs::read(data.join(file)).unwrap();
        let mut bytes = sound.clone();
        bytes[5 * 512 + 77] ^= 1;
        std::fs::write(data.join(file), bytes).unwrap();
        let (is_sound, told, complaints) = check(&data);
        assert!(!is_sound);
        let words = if is_refused { &complaints } else { &told };
        assert!(
            words.contains(file) && words.contains("sector at byte 2560"),
            "{told}{complaints}"
        );
        std::fs::write(data.join(file), sound).unwrap();
    }
    assert!(check(&data).0, "as it was");
}

#[test]
fn what_is_no_database_is_refused() {
    let scratch = Scratch::new("none");
    let (sound, _, complaints) = check(&scratch.0);
    assert!(!sound);
    assert!(complaints.contains("there is no database in the directory"), "{complaints}");
}

#[test]
fn help_and_mistakes_are_answered() {
    let help = String::from_utf8(thalweg(&["--help"]).stdout).unwrap();
    assert!(help.contains("--socket-dir DIR") && help.contains("shared_buffers = 128MB"), "{help}");
    assert_eq!(thalweg(&["serve"]).status.code(), Some(2));
}

#[test]
fn an_embedded_database_keeps_what_it_was_told() {
    let scratch = Scratch::new("embedded");
    let data = scratch.0.join("data");
    let open = || thalweg::Database::open(&data, "me", &config()).unwrap();
    let database = open();
    let mut connection = database.connect("postgres", "me").unwrap();
    let made = connection.query("create table t (a int primary key, b text)").unwrap();
    assert_eq!(made[0].tag, "CREATE TABLE");
    connection.query("insert into t values (1, 'x'), (2, null)").unwrap();
    let error = connection.query("insert into t values (1, 'again')").unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "23505");
    connection.query("begin; insert into t values (3, 'never')").unwrap();
    drop(connection);
    database.close().unwrap();

    let database = open();
    let mut connection = database.connect("postgres", "me").unwrap();
    let answers =
        connection.query("select a, b from t order by a; select count(*) from t").unwrap();
    assert_eq!(answers[0].columns, ["a", "b"]);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(answers[0].rows, [vec![text("1"), text("x")], vec![text("2"), None]]);
    assert_eq!(answers[1].rows, [[text("2")]]);
    let error = connection.query("copy t from stdin").unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "0A000");
    assert!(database.connect("nosuch", "me").is_err());
    drop(connection);
    database.close().unwrap();
}

/// Starts a server that can't start; its one sentence. It must not have listened.
fn refusal(mut serve: Command) -> String {
    use std::process::Stdio;
    let piped = serve.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = piped.spawn().unwrap();
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while server.try_wait().unwrap().is_none() {
        if std::time::Instant::now() > give_up {
            server.kill().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let output = server.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(output.stdout, b"", "nothing was promised");
    let text = String::from_utf8(output.stderr).unwrap();
    let sentence = text.strip_prefix("thalweg: ").and_then(|text| text.strip_suffix('\n'));
    let sentence = sentence.unwrap_or_else(|| panic!("{text}"));
    assert!(!sentence.contains('\n'), "one sentence: {text}");
    sentence.to_owned()
}

/// `thalweg serve` with its socket in `home`, and without TCP.
fn serve(home: &Path, data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(["serve", "--superuser", "me", "--set", "listen_addresses=", "--socket-dir"]);
    command.arg(home).arg("--data").arg(data);
    for (name, value) in small() {
        command.arg("--set").arg(format!("{name}={value}"));
    }
    command
}

/// A server that runs until this is dropped.
struct Running {
    server: std::process::Child,
    /// Where it tells how to connect; open as long as it runs.
    _told: std::io::BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(mut serve: Command) -> Running {
        let mut child = serve.stdout(std::process::Stdio::piped()).spawn().unwrap();
        // It listens once it tells how to connect.
        let mut line = String::new();
        let mut told = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut told, &mut line).unwrap();
        assert!(line.starts_with("Thalweg "), "{line}");
        Running { server: child, _told: told }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

#[test]
fn a_second_server_is_refused() {
    let scratch = Scratch::new("second");
    let data = scratch.database();
    let first = Running::start(serve(&scratch.0, &data));
    let sentence = refusal(serve(&scratch.0.join("elsewhere"), &data));
    assert_eq!(
        sentence,
        format!(
            "cannot open the data directory {}: another server is using the data directory",
            data.display()
        )
    );
    // Its own directory, but the other's socket: the port in the socket's name is taken.
    let sentence = refusal(serve(&scratch.0, &scratch.0.join("other")));
    let socket = scratch.0.join(".s.PGSQL.5432");
    assert_eq!(
        sentence,
        format!(
            "another server (process {}) listens on the socket {}",
            first.server.id(),
            socket.display()
        )
    );
    drop(first);
    // What a killed server has left is no obstacle.
    drop(Running::start(serve(&scratch.0, &data)));
}

/// Serves in `home` until it is asked to end, in order.
fn serves_and_ends(mut command: Command, home: &Path) {
    let mut server = command.spawn().unwrap();
    let socket = home.join(".s.PGSQL.5432");
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(std::time::Instant::now() < give_up, "it does not serve");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // The greeting comes right behind; a server that it had ended would not wait for a signal.
    let asked = Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(asked.success() && server.wait().unwrap().success());
}

/// The writing end of a pipe that nobody reads.
fn deaf() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

#[test]
fn a_server_serves_though_nobody_listens_to_its_greeting() {
    let scratch = Scratch::new("deaf");
    let mut command = serve(&scratch.0, &scratch.database());
    command.stdout(deaf());
    serves_and_ends(command, &scratch.0);
}

#[test]
fn a_server_serves_though_its_log_can_not_be_written() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    for (name, log) in [("log-full", full.into()), ("log-deaf", std::process::Stdio::from(deaf()))]
    {
        let scratch = Scratch::new(name);
        let mut command = serve(&scratch.0, &scratch.database());
        // Its end is what it has to tell of.
        command.stderr(log).stdout(std::process::Stdio::null());
        serves_and_ends(command, &scratch.0);
    }
}

#[test]
fn what_a_command_finds_is_no_obstacle_where_nobody_reads_it() {
    let scratch = Scratch::new("unread");
    let data = scratch.database();
    for arguments in [vec!["check", data.to_str().unwrap()], vec!["--help"], vec!["--version"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        let output = command.args(&arguments).stdout(deaf()).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && complaint.is_empty(), "{arguments:?}: {complaint}");
    }
}

#[test]
fn a_port_in_use_is_refused() {
    let scratch = Scratch::new("port");
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let mut command = serve(&scratch.0, &scratch.database());
    command.args(["--listen", &address]);
    assert_eq!(
        refusal(command),
        format!(
            "cannot listen on {address}: another program, perhaps another server, uses that port"
        )
    );
}

#[test]
fn a_directory_of_another_version_is_refused() {
    let scratch = Scratch::new("version");
    let data = scratch.database();
    let control = data.join("control");
    let before = std::fs::read(&control).unwrap();
    let mut bytes = before.clone();
    let copies: Vec<usize> =
        (0..bytes.len() - 8).filter(|at| bytes[*at..].starts_with(b"THALWEG\0")).collect();
    assert_eq!(copies.len(), 2, "the file is there twice");
    for at in copies {
        bytes[at + 8] = 99;
    }
    std::fs::write(&control, &bytes).unwrap();
    let sentence = refusal(serve(&scratch.0, &data));
    assert!(sentence.contains(&*data.to_string_lossy()), "{sentence}");
    assert!(sentence.contains("format version 99, this program reads version 3"), "{sentence}");
    assert_eq!(std::fs::read(&control).unwrap(), bytes, "it was not touched");
    std::fs::write(&control, before).unwrap();
    drop(Running::start(serve(&scratch.0, &data)));
}

#[test]
fn a_configuration_that_cannot_be_read_is_refused() {
    let scratch = Scratch::new("config");
    let data = scratch.database();
    let file = data.join("thalweg.conf");
    let refused = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let sentence = refusal(serve(&scratch.0, &data));
        sentence.replace(&*file.to_string_lossy(), "FILE")
    };
    assert_eq!(
        refused(b"port = 1\nwork_mem = 5plenty\n"),
        "FILE, line 2: invalid value for parameter \"work_mem\": \"5plenty\" (Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".)"
    );
    assert_eq!(
        refused(b"shared_bufers = 1GB\n"),
        "FILE, line 1: unrecognized configuration parameter \"shared_bufers\""
    );
    assert_eq!(refused(b"log = '\xff'\n"), "cannot read FILE: stream did not contain valid UTF-8");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let sentence = refusal(serve(&scratch.0, &data));
    assert!(sentence.starts_with(&format!("cannot read {}: ", file.display())), "{sentence}");
}

#[test]
fn memory_that_is_not_to_be_had_is_told_by_the_setting() {
    let scratch = Scratch::new("memory");
    let mut command = serve(&scratch.0, &scratch.database());
    // More than any machine has set aside.
    command.args(["--set", "huge_pages=on", "--set", "shared_buffers=400GB"]);
    let sentence = refusal(command);
    let told = "cannot get 409600 MiB of memory for shared_buffers in huge pages (huge_pages is on";
    assert!(sentence.contains(told), "{sentence}");
}

#[test]
fn a_directory_that_cannot_be_written_is_refused() {
    let scratch = Scratch::new("unwritable");
    // Below a file there can be no directory, whoever asks.
    std::fs::write(scratch.0.join("file"), "").unwrap();
    let below = scratch.0.join("file/data");
    let sentence = refusal(serve(&scratch.0, &below));
    assert!(sentence.contains(&*below.to_string_lossy()), "{sentence}");
    let no_sockets = scratch.0.join("nosuch");
    let sentence = refusal(serve(&no_sockets, &scratch.database()));
    assert!(sentence.contains(&*no_sockets.to_string_lossy()), "{sentence}");
}

/// Rows come and go on both sides of a foreign key, in several sessions at once; none is left that refers
/// to nothing, whatever the isolation level.
#[test]
fn no_row_is_left_without_the_row_it_refers_to() {
    const SESSIONS: u64 = 4;
    let scratch = Scratch::new("referring");
    let data = scratch.0.join("data");
    let database = thalweg::Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    let tables = "create table parent (id int primary key, v int);
        create table child (id int primary key, p int references parent);
        create table follower (id int, p int references parent on delete cascade on update cascade);
        create index on child (p); create index on follower (p)";
    connection.query(tables).unwrap();
    let made: u64 = std::thread::scope(|scope| {
        let begin = |session| {
            let mut connection = database.connect("postgres", "me").unwrap();
            scope.spawn(move || come_and_go(&mut connection, session))
        };
        let running: Vec<_> = (0..SESSIONS).map(begin).collect();
        running.into_iter().map(|session| session.join().unwrap()).sum()
    });
    assert!(made > 0, "some rows found the row they refer to");
    for table in ["child", "follower"] {
        let orphans = connection
            .query(&format!(
                "select count(*) from {table} c left join parent p on c.p = p.id where p.id is null"
            ))
            .unwrap();
        assert_eq!(orphans[0].rows, [[Some("0".to_owned())]], "{table}");
    }
    drop(connection);
    database.close().unwrap();
    let (sound, told, complaints) = check(&data);
    assert!(sound, "{told}{complaints}");
}

/// How many rows it made that refer to another.
fn come_and_go(connection: &mut thalweg::Connection<'_>, session: u64) -> u64 {
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(session + 1);
    let mut roll = |sides: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % sides
    };
    let mut made = 0;
    for i in 0..250 {
        let (id, parent) = (session * 1_000_000 + i, roll(6));
        let change = match roll(8) {
            0 | 1 => format!("insert into parent values ({parent}, 0) on conflict do nothing"),
            2 => format!(
                "delete from child where p = {parent}; delete from parent where id = {parent}"
            ),
            3 => format!("delete from parent where id = {parent}"),
            4 => format!("update parent set v = v + 1 where id = {parent}"),
            5 => format!("update parent set id = {} where id = {parent}", roll(6)),
            6 => format!("insert into follower values ({id}, {parent})"),
            _ => format!("insert into child values ({id}, {parent})"),
        };
        let level = ["read committed", "repeatable read"][roll(2) as usize];
        let look = "select count(*) from child";
        let whole = format!("begin isolation level {level}; {look}; {change}; commit");
        if let Err(error) = connection.query(&whole) {
            let known = ["23503", "23505", "40001", "40P01"];
            assert!(known.contains(&error.sqlstate().as_str()), "{error:?}: {whole}");
            connection.query("rollback").unwrap();
        } else if change.starts_with("insert into follower")
            || change.starts_with("insert into child")
        {
            made += 1;
        }
    }
    made
}
