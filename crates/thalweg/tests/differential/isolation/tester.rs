//! Runs one permutation on one server and tells what happened, a line per event.
//!
//! A step that has no answer yet *waits* if the server says that its session is blocked by another of the test's
//! (`pg_isolation_test_session_is_blocked`). Before the next step begins, every step that is under way has either
//! ended or waits, so what is told does not depend on how fast anything is. Sessions that wait for each other in a
//! circle don't count as waiting: one of them is about to be told of a deadlock.

use std::path::Path;
use std::time::{Duration, Instant};

use super::client::Client;
use super::spec::{Spec, Turn};

/// A step that neither ends nor waits for so long is a fault.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Tester<'s> {
    spec: &'s Spec,
    /// Asks who waits for whom, sets up and tears down.
    control: Client,
    sessions: Vec<Client>,
    /// Steps under way that were found waiting, in the order in which they began.
    waiting: Vec<Turn>,
    told: Vec<String>,
}

impl<'s> Tester<'s> {
    pub fn new(spec: &'s Spec, socket: &Path) -> Tester<'s> {
        let sessions = spec.sessions.iter().map(|_| Client::connect(socket)).collect();
        let control = Client::connect(socket);
        Tester { spec, control, sessions, waiting: Vec::new(), told: Vec::new() }
    }

    /// Runs a permutation; what happened.
    pub fn run(&mut self, turns: &[Turn]) -> Vec<String> {
        for sql in &self.spec.setup {
            told_of_setup(sql, self.control.query(sql));
        }
        for (session, client) in self.spec.sessions.iter().zip(&mut self.sessions) {
            for sql in &session.setup {
                told_of_setup(sql, client.query(sql));
            }
        }
        for turn in turns {
            self.end_step_of(turn.session);
            self.begin(*turn);
            self.settle();
        }
        while let Some(turn) = self.waiting.first().copied() {
            self.end_step_of(turn.session);
        }
        for (session, client) in self.spec.sessions.iter().zip(&mut self.sessions) {
            for sql in &session.teardown {
                client.query(sql);
            }
        }
        for sql in &self.spec.teardown {
            self.control.query(sql);
        }
        std::mem::take(&mut self.told)
    }

    fn name(&self, turn: Turn) -> &'s str {
        &self.spec.sessions[turn.session].steps[turn.step].name
    }

    fn begin(&mut self, turn: Turn) {
        let step = &self.spec.sessions[turn.session].steps[turn.step];
        self.sessions[turn.session].send(&step.sql);
        if turn.waits_anyway || !self.ends_or_waits(turn, "") {
            self.told.push(format!("{}: <waiting>", step.name));
            self.waiting.push(turn);
        }
    }

    /// Looks at every waiting step until none of them ends any more.
    fn settle(&mut self) {
        loop {
            let mut ended = false;
            for turn in self.waiting.clone() {
                if self.ends_or_waits(turn, "<waited> ") {
                    self.waiting.retain(|other| *other != turn);
                    ended = true;
                }
            }
            if !ended {
                return;
            }
        }
    }

    /// Waits for the end of what a session is at, if it is at anything, and of whatever ends with it.
    fn end_step_of(&mut self, session: usize) {
        let give_up = Instant::now() + PATIENCE;
        while self.waiting.iter().any(|turn| turn.session == session) {
            self.settle();
            let stuck = self.waiting.iter().any(|turn| turn.session == session);
            let nothing_due = self.waiting.iter().all(|turn| !turn.waits_anyway);
            let told = &self.told;
            assert!(
                !stuck || !nothing_due,
                "a step is to end, and waits for others after {told:#?}"
            );
            assert!(Instant::now() < give_up, "a step waits for ever after {told:#?}");
        }
    }

    /// Until the step has ended, which is told, or waits for another session of the test.
    fn ends_or_waits(&mut self, turn: Turn, how: &str) -> bool {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = self.sessions[turn.session].look() {
                self.told.push(format!("{}: {how}{}", self.name(turn), answer.join("\n    ")));
                return true;
            }
            if self.is_blocked(turn.session) {
                return false;
            }
            let (step, told) = (self.name(turn), &self.told);
            assert!(Instant::now() < give_up, "{step} neither ends nor waits after {told:#?}");
        }
    }

    fn is_blocked(&mut self, session: usize) -> bool {
        let pids: Vec<String> = self.sessions.iter().map(|s| s.pid.to_string()).collect();
        let pid = self.sessions[session].pid;
        let ask =
            format!("SELECT pg_isolation_test_session_is_blocked({pid}, '{{{}}}')", pids.join(","));
        let waits = "| t".to_owned();
        // A circle may be broken between the first two questions; then nobody waits at the third.
        self.control.query(&ask).contains(&waits)
            && !self.is_in_circle(pid)
            && self.control.query(&ask).contains(&waits)
    }

    /// Whether a session waits for itself, by way of others.
    fn is_in_circle(&mut self, pid: i32) -> bool {
        let (mut seen, mut next) = (Vec::new(), vec![pid]);
        while let Some(at) = next.pop() {
            let answer =
                self.control.query(&format!("SELECT p FROM unnest(pg_blocking_pids({at})) p"));
            for by in answer.iter().filter_map(|line| line.strip_prefix("| ")) {
                let by = by.parse().unwrap();
                if by == pid {
                    return true;
                }
                if !seen.contains(&by) {
                    seen.push(by);
                    next.push(by);
                }
            }
        }
        false
    }
}

fn told_of_setup(sql: &str, answer: Vec<String>) {
    let failed = answer.iter().find(|line| line.starts_with("ERROR"));
    assert_eq!(failed, None, "setup failed: {sql}");
}
