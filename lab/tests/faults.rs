//! The lab itself, beside a real PostgreSQL 15: interrupted, gone on with, given a server that is not there.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
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
    let begun = Instant::now();
    while !place.records().iter().any(|(_, record)| runs(record) >= 1) {
        assert!(begun.elapsed() < GIVE_UP, "no run was recorded");
        std::thread::sleep(Duration::from_millis(50));
    }
    let process = i32::try_from(lab.id()).unwrap();
    // SAFETY: sends a signal to a child of ours that was not waited for.
    assert_eq!(unsafe { libc::kill(process, libc::SIGINT) }, 0);
    let ended = lab.wait_with_output().unwrap();
    assert!(!ended.status.success());
    let text = said(&ended);
    assert!(text.contains("interrupted") && text.contains("marked as partial"), "{text}");
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

/// A program in the place of Thalweg's that does this.
fn stand_in(place: &Place, script: &str) {
    let file = place.0.join("programs/thalweg");
    fs::remove_file(&file).unwrap();
    // By another process: a file that any of this one's children still has open can't be executed.
    let lines =
        format!("printf '%s\\n' '#!/bin/sh' '{script}' >{0} && chmod +x {0}", file.display());
    assert!(Command::new("sh").args(["-c", &lines]).status().unwrap().success());
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
    let programs = bench::servers::Places {
        programs: place.0.join("programs"),
        pg15: PathBuf::from(TOOLS),
        cache: place.0.join("cache"),
    };
    let work = place.0.join("other");
    fs::create_dir_all(&work).unwrap();
    let mut server = bench::servers::start("pg15", &programs, &work, 5432, &[]).unwrap();
    server.wait_until_answering().unwrap();
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
