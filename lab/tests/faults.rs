//! The lab itself, beside a real PostgreSQL 15: interrupted, gone on with, given a server that is not there.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const TOOLS: &str = "/usr/lib/postgresql/15/bin";
const GIVE_UP: Duration = Duration::from_secs(120);

/// A folder for everything that a run of the lab leaves; gone with it.
struct Place(PathBuf);

impl Place {
    /// `None` where there is no PostgreSQL 15 to run beside, unless it is asked for.
    fn new(name: &str) -> Option<Place> {
        if !Path::new(TOOLS).join("postgres").exists() {
            assert!(std::env::var_os("THALWEG_REQUIRE_PG").is_none(), "{TOOLS} has no server");
            return None;
        }
        let path = std::env::temp_dir().join(format!("lab-{name}-{}", std::process::id()));
        for folder in ["programs", "tmp", "out"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        // The servers run as an ordinary user.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, open).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
        fs::set_permissions(path.join("tmp"), open).unwrap();
        // Not run here, but the lab wants them to be there.
        for program in ["thalweg", "canned"] {
            fs::copy("/bin/true", path.join("programs").join(program)).unwrap();
        }
        Some(Place(path))
    }

    fn lab(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
        command.args(words).env("TMPDIR", self.0.join("tmp"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, more: &[&str]) -> Command {
        let (programs, out) = (self.0.join("programs"), self.0.join("out"));
        let mut command = self.lab(&["run", "s4-hash", "--scale", "1", "--seconds", "1"]);
        command.args(["--rounds", "3", "--clients", "2", "--programs"]).arg(programs);
        command.arg("--out").arg(out).args(more);
        command
    }

    /// The records' text, with their folders.
    fn records(&self) -> Vec<(PathBuf, String)> {
        let folders = fs::read_dir(self.0.join("out")).unwrap().map(|entry| entry.unwrap().path());
        let read = |folder: PathBuf| {
            let text = fs::read_to_string(folder.join("record.json")).ok()?;
            Some((folder, text))
        };
        folders.filter_map(read).collect()
    }

    /// Somebody else's PostgreSQL 15, which runs already.
    fn others(&self, port: u16) -> bench::servers::Peer {
        let programs = bench::servers::Places {
            programs: self.0.join("programs"),
            pg15: PathBuf::from(TOOLS),
            cache: self.0.join("cache"),
        };
        let work = self.0.join("other");
        fs::create_dir_all(&work).unwrap();
        let mut server = bench::servers::start("pg15", &programs, &work, port, &[]).unwrap();
        server.wait_until_answering().unwrap();
        server
    }

    /// Asserts that no process of the run is left, and none of its directories.
    fn assert_clean(&self) {
        let tmp = self.0.join("tmp");
        let left: Vec<_> = fs::read_dir(&tmp).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
        let tmp = tmp.display().to_string();
        for process in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            assert!(!line.contains(&tmp), "still running: {line}");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A pack, which has PostgreSQL's programs where its own lie: Debian's, but for one that is this script.
fn pack(place: &Place, program: &str, script: &str) -> PathBuf {
    let pack = place.0.join("pack");
    let bin = pack.join("usr/lib/postgresql/15/bin");
    fs::create_dir_all(&bin).unwrap();
    for name in ["postgres", "initdb", "pgbench", "psql"].iter().filter(|name| **name != program) {
        std::os::unix::fs::symlink(Path::new(TOOLS).join(name), bin.join(name)).unwrap();
    }
    fs::create_dir_all(pack.join("bin")).unwrap();
    executable(&bin.join(program), script);
    pack
}

/// By another process: a file that any of this one's children still has open can't be executed.
fn executable(file: &Path, script: &str) {
    let mut sh = Command::new("sh");
    sh.args(["-c", "printf '%s\\n' '#!/bin/sh' \"$1\" >\"$0\" && chmod a+rx \"$0\""]);
    assert!(sh.arg(file).arg(script).status().unwrap().success());
}

/// Sentences of a run's complaints: lines that are neither results nor times.
fn sentences(text: &str) -> Vec<&str> {
    let seconds = |line: &str| {
        let number = line.rsplit(": ").next().and_then(|last| last.strip_suffix(" s"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let others = |line: &&str| !line.contains(" per second") && !seconds(line);
    text.lines().filter(others).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs that a record has.
fn runs(record: &str) -> usize {
    record.matches("\"round\"").count()
}

#[test]
fn an_interrupted_run_leaves_nothing_running_and_is_gone_on_with() {
    let Some(place) = Place::new("interrupted") else { return };
    let lab = place.run(&["--target", "pg15"]).spawn().unwrap();
    until_a_run(&place);
    signal(&lab, libc::SIGINT);
    let ended = lab.wait_with_output().unwrap();
    assert!(!ended.status.success());
    let text = said(&ended);
    assert!(
        text.contains("interrupted, stopping servers") && text.contains("marked as partial"),
        "{text}"
    );
    place.assert_clean();
    let [(folder, partial)] = &place.records()[..] else { panic!("one record") };
    assert!(partial.contains("\"stopped\"") && partial.contains("interrupted"), "{partial}");
    let before = runs(partial);
    assert!(before < 6, "it was not interrupted in time");

    let ended = place.run(&["--target", "pg15", "--resume"]).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success() && text.contains("going on with"), "{text}");
    let [(same, whole)] = &place.records()[..] else { panic!("still one record") };
    assert_eq!((same, runs(whole)), (folder, 6));
    assert!(!whole.contains("\"stopped\""), "{whole}");
    place.assert_clean();

    // A against A.
    let folder = folder.display().to_string();
    let compared = place.lab(&["compare", &folder, &folder]).output().unwrap();
    let text = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(compared.status.success() && text.contains("no difference"), "{text}");
    assert!(!text.contains("BETTER") && !text.contains("WORSE"), "{text}");
}

/// Sends a signal to a child that was not waited for.
fn signal(child: &std::process::Child, signal: libc::c_int) {
    let process = i32::try_from(child.id()).unwrap();
    // SAFETY: takes no memory of ours.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0);
}

/// Waits until a run is recorded.
fn until_a_run(place: &Place) {
    let begun = Instant::now();
    while !place.records().iter().any(|(_, record)| runs(record) >= 1) {
        assert!(begun.elapsed() < GIVE_UP, "no run was recorded");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A server that does not end when it is asked to: the second time it is not asked.
#[test]
fn whoever_interrupts_twice_does_not_wait_for_servers() {
    let Some(place) = Place::new("twice") else { return };
    let script = format!(
        "case $1 in -D) ;; *) exec {TOOLS}/postgres \"$@\" ;; esac; trap '' INT; {TOOLS}/postgres \"$@\" & \
         child=$!; trap 'kill -QUIT $child; wait $child; exit 3' QUIT; while :; do wait $child; done"
    );
    let pack = pack(&place, "postgres", &script);
    let lab = place.run(&["--target", "pg15"]).env("LAB_PACK", &pack).spawn().unwrap();
    until_a_run(&place);
    let begun = Instant::now();
    signal(&lab, libc::SIGQUIT);
    std::thread::sleep(Duration::from_millis(500));
    signal(&lab, libc::SIGINT);
    let ended = lab.wait_with_output().unwrap();
    let text = said(&ended);
    assert!(!ended.status.success() && text.contains("interrupted, stopping servers"), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    place.assert_clean();
}

/// As `nohup` starts it.
#[test]
fn a_terminal_that_goes_away_ends_no_run_that_is_to_outlive_it() {
    let Some(place) = Place::new("nohup") else { return };
    let lab = place.run(&["--target", "pg15"]);
    let mut nohup = Command::new("nohup");
    nohup.arg(lab.get_program()).args(lab.get_args());
    nohup.env("TMPDIR", place.0.join("tmp")).stdin(Stdio::null());
    let lab = nohup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_a_run(&place);
    signal(&lab, libc::SIGHUP);
    let ended = lab.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", said(&ended));
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6);
    place.assert_clean();
}

#[test]
fn a_server_that_is_not_there_is_told_in_a_sentence_and_the_others_go_on() {
    let Some(place) = Place::new("missing") else { return };
    // Nobody listens there; port 1 is nobody's to take.
    let missing = "gone=postgres://nobody@127.0.0.1:1/none";
    let ended = place.run(&["--target", missing, "--target", "pg15", "--writes"]).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6, "PostgreSQL's");
    assert!(record.contains("\"skipped\"") && record.contains("refused"), "{record}");
    assert!(text.contains("gone"), "{text}");
    place.assert_clean();
}

/// Listens, and does this with every connection.
fn fake(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

/// Keeps a connection open, and says nothing on it.
fn stay_silent(stream: TcpStream) {
    std::thread::sleep(GIVE_UP * 10);
    drop(stream);
}

/// Runs beside PostgreSQL 15, which has all its runs, and a server of this name at this port, which has none; the one sentence.
fn beside_a_silent_one(place: &Place, name: &str, port: u16) -> String {
    let url = format!("{name}=postgres://nobody@127.0.0.1:{port}/none");
    let ended = place.run(&["--target", &url, "--target", "pg15", "--writes"]).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6, "PostgreSQL's");
    let [sentence] = sentences(&text)[..] else { panic!("one sentence: {text}") };
    let why = sentence.strip_prefix(&format!("s4-hash: {name}: ")).unwrap();
    assert!(record.contains("\"skipped\"") && record.contains(why), "{record}");
    place.assert_clean();
    why.to_owned()
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_told_in_a_sentence() {
    let Some(place) = Place::new("silent") else { return };
    let port = fake(stay_silent);
    let why = beside_a_silent_one(&place, "mute", port);
    let told = "accepted the connection but did not answer within 10 s";
    assert_eq!(why, format!("127.0.0.1:{port} {told}"));
}

#[test]
fn a_server_that_is_silent_on_its_first_query_is_told_in_a_sentence() {
    let Some(place) = Place::new("first-query") else { return };
    let port = fake(|mut stream| {
        // Length and the rest of the startup message; that nobody need say who he is, and that it is ready.
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
        stream.read_exact(&mut rest).unwrap();
        stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
        stay_silent(stream);
    });
    let why = beside_a_silent_one(&place, "stuck", port);
    assert_eq!(why, format!("127.0.0.1:{port} did not answer 'select 1' within 10 s"));
}

/// One repetition that fails is told, and those after it are made.
#[test]
fn a_run_that_fails_once_is_one_less() {
    let Some(place) = Place::new("once") else { return };
    let mark = place.0.join("mark");
    let script = format!(
        "case \" $* \" in *\" -i \"*) ;; *) [ -e {0} ] || {{ touch {0}; echo 'pgbench: error: no luck' >&2; exit 1; }} ;; esac\n\
         exec {TOOLS}/pgbench \"$@\"",
        mark.display()
    );
    let pack = pack(&place, "pgbench", &script);
    let ended = place.run(&["--target", "pg15"]).env("LAB_PACK", &pack).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    assert_eq!(sentences(&text), ["s4-hash: pg15 B-tree: pgbench: pgbench: error: no luck"]);
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(record.matches("\"figures\"").count(), 5, "all but one: {record}");
    let table = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(table.contains("not measured: pg15 B-tree 2 clients round 1: pgbench:"), "{table}");
    place.assert_clean();
}

/// As the lab starts it, not by URL.
#[test]
fn a_server_of_the_labs_own_that_says_nothing_is_told_in_a_sentence() {
    let Some(place) = Place::new("own-silent") else { return };
    stand_in(
        &place,
        "[ \"$1\" = serve ] || exit 1\n\
         while [ $# -gt 0 ]; do case $1 in --listen) port=${2##*:} ;; --socket-dir) dir=$2 ;; esac; shift; done\n\
         exec perl -MIO::Socket::UNIX -e '$SIG{INT} = \"DEFAULT\"; $l = IO::Socket::UNIX->new(Local => shift, Listen => 9) or die; \
         while (1) { push @held, scalar $l->accept }' \"$dir/.s.PGSQL.$port\"",
    );
    let ended = place.run(&["--target", "thalweg", "--target", "pg15"]).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let told = "s4-hash: thalweg: thalweg accepted the connection but did not answer within 10 s";
    assert_eq!(sentences(&text), [told]);
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6, "PostgreSQL's");
    place.assert_clean();
}

/// Passes on what comes, both ways, as long as nobody says that it is to hang.
fn pass_on(stream: TcpStream, server: &Path, hangs: &Arc<AtomicBool>) {
    let Ok(behind) = UnixStream::connect(server) else { return };
    let (from, to) = (stream.try_clone().unwrap(), behind.try_clone().unwrap());
    let back = Arc::clone(hangs);
    std::thread::spawn(move || copy(behind, stream, &back));
    copy(from, to, hangs);
}

fn copy(mut from: impl Read, mut to: impl Write, hangs: &AtomicBool) {
    let mut bytes = [0; 8192];
    loop {
        let read = from.read(&mut bytes).unwrap_or(0);
        while hangs.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
        }
        // Either end has gone.
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            return;
        }
    }
}

/// In the middle of its runs: those before are kept, and it is not waited for again.
#[test]
fn a_server_that_stops_answering_is_left_and_what_it_did_is_kept() {
    let Some(place) = Place::new("hanging") else { return };
    let mut server = place.others(5434);
    let (hangs, socket) = (Arc::new(AtomicBool::new(false)), server.socket());
    let (hang, behind) = (Arc::clone(&hangs), socket.clone());
    let port = fake(move |stream| pass_on(stream, &behind, &hang));
    let url = format!("hung=postgres://postgres@127.0.0.1:{port}/postgres");
    let lab = place.run(&["--target", &url, "--target", "pg15", "--writes"]).spawn().unwrap();
    let begun = Instant::now();
    let of_it = |record: &str| record.matches("\"target\": \"hung\"").count();
    while !place.records().iter().any(|(_, record)| of_it(record) >= 1) {
        assert!(begun.elapsed() < GIVE_UP, "no run was recorded");
        std::thread::sleep(Duration::from_millis(20));
    }
    hangs.store(true, Relaxed);
    let ended = lab.wait_with_output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    let kept = runs(record);
    assert!((7..12).contains(&kept), "six of PostgreSQL's, and some of its: {record}");
    let why = format!(
        "pgbench did not end within 31 s and was ended; it stopped answering: \
         127.0.0.1:{port} accepted the connection but did not answer within 10 s"
    );
    // What hangs is told once, and is the reason for all that was not tried.
    assert_eq!(text.matches("it stopped answering").count(), 1, "{text}");
    assert!(text.contains(&why) && record.contains(&why), "{text}");
    let table = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(table.contains(&format!("{kept} of 12 runs")), "{table}");
    server.stop();
    drop(server);
    place.assert_clean();
}

/// A program in the place of Thalweg's that does this.
fn stand_in(place: &Place, script: &str) {
    let file = place.0.join("programs/thalweg");
    fs::remove_file(&file).unwrap();
    executable(&file, script);
}

#[test]
fn a_server_that_starts_and_dies_is_told_and_the_others_go_on() {
    let Some(place) = Place::new("dying") else { return };
    stand_in(&place, "sleep 0.2; echo \"thalweg: FATAL: no more\" >&2; exit 3");
    let ended = place.run(&["--target", "thalweg", "--target", "pg15"]).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6, "PostgreSQL's");
    assert!(record.contains("ended with exit status: 3: thalweg: FATAL: no more"), "{record}");
    place.assert_clean();
}

#[test]
fn a_server_that_refuses_a_statement_is_told_in_its_words() {
    let Some(place) = Place::new("refusing") else { return };
    let mut server = place.others(5432);
    server.sql("create role reader login").unwrap();
    let socket = server.socket_dir.display().to_string().replace('/', "%2F");
    let url = format!("reader=postgres://reader@{socket}:5432/postgres");
    let ended = place.run(&["--target", &url, "--target", "pg15", "--writes"]).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let told = "permission denied for schema public";
    assert_eq!(text.matches(told).count(), 1, "one sentence: {text}");
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6, "the other's");
    assert!(record.contains(told), "{record}");
    server.stop();
    drop(server);
    place.assert_clean();
}

/// The transaction beside lasts longer than a run, and comes to its end all the same: it goes on between the runs.
#[test]
fn who_works_beside_for_ten_seconds_is_done_before_the_runs_are() {
    let Some(place) = Place::new("beside") else { return };
    let (programs, out) = (place.0.join("programs"), place.0.join("out"));
    let mut lab = place.lab(&["run", "s1-multixact", "--scale", "1", "--seconds", "5"]);
    lab.args(["--rounds", "3", "--clients", "2", "--target", "pg15", "--programs"]).arg(programs);
    let ended = lab.arg("--out").arg(out).output().unwrap();
    assert!(ended.status.success(), "{}", said(&ended));
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    let done = record.lines().filter_map(|line| line.trim().strip_prefix("\"beside_done\": "));
    let done: Vec<f64> = done.map(|n| n.trim_end_matches(',').parse().unwrap()).collect();
    assert!(done.len() == 3 && done[0] == 0.0 && done[2] >= 1.0, "{done:?}");
    place.assert_clean();
}

/// Whoever takes a port between its choice and the server's start: another one is tried, and nobody notices.
#[test]
fn a_port_in_use_is_given_up_for_another() {
    let Some(place) = Place::new("port") else { return };
    let marks = place.0.join("marks");
    fs::create_dir_all(&marks).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    fs::set_permissions(&marks, open).unwrap();
    let told = "FATAL:  could not bind IPv4 address \"127.0.0.1\": Address already in use";
    let script = format!(
        "if mkdir {}/once 2>/dev/null; then echo '{told}' >&2; exit 1; fi; exec {TOOLS}/postgres \"$@\"",
        marks.display()
    );
    let pack = pack(&place, "postgres", &script);
    let ended = place.run(&["--target", "pg15"]).env("LAB_PACK", &pack).output().unwrap();
    assert!(ended.status.success() && marks.join("once").exists(), "{}", said(&ended));
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6, "{record}");
    assert!(!record.contains("already in use") && !said(&ended).contains("already in use"));
    place.assert_clean();
}

/// Where every port is in use, one sentence says so.
#[test]
fn ports_that_are_all_in_use_are_told_in_a_sentence() {
    let Some(place) = Place::new("ports") else { return };
    let told = "FATAL:  could not bind: Address already in use";
    let pack = pack(&place, "postgres", &format!("echo \"{told}\" >&2; exit 1"));
    let ended = place.run(&["--target", "pg15"]).env("LAB_PACK", &pack).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let [sentence] = sentences(&text)[..] else { panic!("one sentence: {text}") };
    assert!(sentence.starts_with("s4-hash: pg15: ") && sentence.contains(told), "{text}");
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert!(record.contains("\"skipped\"") && record.contains(told), "{record}");
    place.assert_clean();
}

#[test]
fn a_postgresql_that_npm_does_not_bring_is_told_and_the_others_go_on() {
    let Some(place) = Place::new("npm") else { return };
    let pack = pack(&place, "unused", "exit 1");
    let stub = place.0.join("stub");
    fs::create_dir_all(&stub).unwrap();
    executable(
        &stub.join("npm"),
        "echo \"npm error code ENOTFOUND\" >&2; echo \"npm error see the log\" >&2; exit 1",
    );
    let path = format!("{}:{}", stub.display(), std::env::var("PATH").unwrap());
    let mut lab = place.run(&["--target", "pg18", "--target", "pg15"]);
    let ended = lab.env("LAB_PACK", &pack).env("PATH", path).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let sentence = "s4-hash: pg18: PostgreSQL 18 can't be fetched by npm: npm error code ENOTFOUND";
    assert_eq!(sentences(&text), [sentence]);
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6, "PostgreSQL 15's");
    place.assert_clean();
}

/// As one that is unpacked in root's own directory.
#[test]
fn a_pack_that_its_ordinary_user_cannot_look_into_is_copied() {
    let Some(place) = Place::new("closed") else { return };
    let pack = pack(&place, "unused", "exit 1");
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&pack, closed).unwrap();
    let ended = place.run(&["--target", "pg15"]).env("LAB_PACK", &pack).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success() && sentences(&text).is_empty(), "{text}");
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6, "{record}");
    place.assert_clean();
}

#[test]
fn an_initdb_that_fails_is_told_in_its_words() {
    let Some(place) = Place::new("initdb") else { return };
    let script = "echo \"initdb: error: could not create directory: no luck\" >&2; echo \"initdb: hint: more\" >&2; exit 1";
    let pack = pack(&place, "initdb", script);
    let ended = place.run(&["--target", "pg15"]).env("LAB_PACK", &pack).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let sentence =
        "s4-hash: pg15: pg15: initdb fails: initdb: error: could not create directory: no luck";
    assert_eq!(sentences(&text), [sentence]);
    place.assert_clean();
}

/// What an experiment prepares, and not what a load does.
#[test]
fn a_server_that_refuses_to_be_prepared_is_told_in_its_words() {
    let Some(place) = Place::new("preparing") else { return };
    let mut server = place.others(5433);
    server.sql("create view pgbench_accounts_hash as select 1").unwrap();
    let socket = server.socket_dir.display().to_string().replace('/', "%2F");
    let url = format!("full=postgres://postgres@{socket}:5433/postgres");
    let ended = place.run(&["--target", &url, "--target", "pg15", "--writes"]).output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let sentence = "s4-hash: full: full refuses 'DROP TABLE IF EXISTS pgbench_accounts_hash': \
                    \"pgbench_accounts_hash\" is not a table (42809)";
    assert_eq!(sentences(&text), [sentence]);
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(runs(record), 6, "the other's");
    server.stop();
    drop(server);
    place.assert_clean();
}

/// The tables of a run before are no hindrance, and a run leaves none but pgbench's.
#[test]
fn a_server_given_by_url_is_written_to_again_and_again() {
    let Some(place) = Place::new("again") else { return };
    let mut server = place.others(5435);
    // As a run leaves it that was killed.
    server.sql("create table pgbench_accounts_hash ()").unwrap();
    let socket = server.socket_dir.display().to_string().replace('/', "%2F");
    let url = format!("mine=postgres://postgres@{socket}:5435/postgres");
    for number in 1..3 {
        let ended = place.run(&["--target", &url, "--writes"]).output().unwrap();
        let text = said(&ended);
        assert!(ended.status.success() && sentences(&text).is_empty(), "{text}");
        assert_eq!(
            place.records().iter().map(|(_, record)| runs(record)).sum::<usize>(),
            6 * number
        );
        let tables = "select string_agg(relname, ' ' order by relname) from pg_class \
                      where relkind = 'r' and relnamespace = 'public'::regnamespace";
        let left = "pgbench_accounts pgbench_branches pgbench_history pgbench_tellers";
        assert_eq!(server.value(tables).unwrap(), left);
    }
    server.stop();
    drop(server);
    place.assert_clean();
}

/// A small file system of its own; gone with it.
struct Small(PathBuf);

impl Small {
    /// `None` where nobody may mount one.
    fn new(path: PathBuf) -> Option<Small> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8m", "none"]).arg(&path);
        let mounted = mount.output().is_ok_and(|done| done.status.success());
        if !mounted {
            eprintln!("SKIPPED: only root can mount a small file system to fill");
        }
        mounted.then_some(Small(path))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// The record's file system is not the one that the servers work on.
#[test]
fn a_full_disk_under_the_record_ends_the_run_with_a_sentence() {
    let Some(place) = Place::new("full") else { return };
    let Some(small) = Small::new(place.0.join("out")) else { return };
    let run = || place.run(&["--target", "pg15"]).output().unwrap();
    let ended = run();
    let text = said(&ended);
    assert!(!ended.status.success(), "{text}");
    let [sentence] = sentences(&text)[..] else { panic!("one sentence: {text}") };
    assert!(sentence.contains(" MiB left; the lab wants 64 to go on"), "{text}");
    assert!(sentence.contains("marked as partial"), "{text}");
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert!(record.contains("\"stopped\"") && record.contains("MiB left"), "{record}");
    place.assert_clean();
    // No byte is left: nothing can be kept, and nothing is begun.
    let mut fill = Command::new("dd");
    fill.arg("if=/dev/zero").arg(format!("of={}", small.0.join("filler").display()));
    assert!(!fill.arg("bs=64k").stderr(Stdio::null()).status().unwrap().success());
    let ended = run();
    let text = said(&ended);
    assert!(!ended.status.success(), "{text}");
    assert!(text.contains("No space left on device"), "{text}");
    assert_eq!(sentences(&text).len(), 1, "{text}");
    place.assert_clean();
}

/// Memory's file system is small on many machines: who would work there is left out, and the others go on.
#[test]
fn a_server_without_room_in_memory_is_left_out() {
    let Some(place) = Place::new("memory") else { return };
    let small = "mount -t tmpfs -o size=8m none /dev/shm && exec \"$0\" \"$@\"";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", small]);
    if !Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|s| s.success()) {
        eprintln!("SKIPPED: only root can mount a small file system to fill");
        return;
    }
    let (programs, out) = (place.0.join("programs"), place.0.join("out"));
    let mut lab = place.lab(&["run", "s5-wal-io", "--long", "--scale", "1", "--seconds", "1"]);
    lab.args(["--rounds", "1", "--clients", "2", "--target", "pg15", "--programs"]).arg(programs);
    lab.arg("--out").arg(out);
    unshare.arg(lab.get_program()).args(lab.get_args()).env("TMPDIR", place.0.join("tmp"));
    let ended = unshare.output().unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    let told = "s5-wal-io: pg15: /dev/shm has only 8 MiB left; the lab wants 1024 to go on";
    assert_eq!(sentences(&text), [told]);
    let [(_, record)] = &place.records()[..] else { panic!("one record") };
    assert_eq!(
        runs(record),
        5,
        "two protections where the data fits and does not, and large segments"
    );
    place.assert_clean();
}

/// What runs the comparison notices without reading it.
#[test]
fn a_comparison_fails_where_something_is_worse() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("record/2026-11-24T0901Z-short");
    let text = fs::read_to_string(kept.join("record.json")).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    for experiment in record["experiments"].as_array_mut().unwrap() {
        for run in experiment["runs"].as_array_mut().unwrap() {
            let tps = &mut run["figures"]["tps"];
            *tps = (tps.as_f64().unwrap() / 2.0).into();
        }
    }
    let halved = std::env::temp_dir().join(format!("lab-halved-{}.json", std::process::id()));
    fs::write(&halved, record.to_string()).unwrap();
    let compare = |a: &Path, b: &Path| {
        Command::new(env!("CARGO_BIN_EXE_lab")).arg("compare").arg(a).arg(b).output().unwrap()
    };
    let (worse, better, same) =
        (compare(&kept, &halved), compare(&halved, &kept), compare(&kept, &kept));
    fs::remove_file(&halved).unwrap();
    assert!(
        !worse.status.success() && said(&worse).contains("8 cells are worse or missing"),
        "{worse:?}"
    );
    assert!(better.status.success() && same.status.success());
}
