//! A server under test: its process, its socket, its processor time.

use super::Start;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a server may take to recover.
const RECOVERY: Duration = Duration::from_secs(600);
/// What a server may take to end that was asked to, and what it may take in a hurry: PostgreSQL gives its own five seconds.
const PATIENCE: Duration = Duration::from_secs(120);
const HURRY: Duration = Duration::from_secs(7);

/// How long a server is waited for that may never answer.
#[derive(Clone, Copy)]
pub struct Patience {
    /// Until its socket takes a connection in.
    pub socket: Duration,
    /// From then to the answer.
    pub answer: Duration,
}

/// A started server.
pub struct Peer {
    /// Name in the table.
    pub name: String,
    /// First process of the server.
    child: Child,
    /// What started it, and can start it again.
    command: Command,
    /// Directory of the unix socket.
    pub socket_dir: PathBuf,
    /// What it wrote on standard error.
    pub log: PathBuf,
    /// Directory of PostgreSQL 15's client programs.
    pub tools: PathBuf,
    /// Port in the socket's name.
    pub port: u16,
    /// Role to connect as.
    pub user: String,
    /// Whether it answers without data.
    pub canned: bool,
}

impl Peer {
    /// Starts a server with this command.
    pub(super) fn start(start: &Start, mut command: Command, canned: bool) -> Result<Peer, String> {
        let child = command.spawn().map_err(|e| format!("{command:?}: {e}; is it built?"))?;
        Ok(Peer {
            name: start.name.to_owned(),
            child,
            command,
            socket_dir: start.home(),
            log: start.log_path(),
            tools: start.places.pg15.clone(),
            port: start.port,
            user: "postgres".to_owned(),
            canned,
        })
    }

    /// Process number of the server's first process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its unix socket.
    pub fn socket(&self) -> PathBuf {
        self.socket_dir.join(format!(".s.PGSQL.{}", self.port))
    }

    /// A client program of PostgreSQL 15, told how to reach this server.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.tools.join(program));
        command
            .arg("-h")
            .arg(&self.socket_dir)
            .args(["-p", &self.port.to_string(), "-U", &self.user])
            .env("PGDATABASE", "postgres");
        command
    }

    /// Loads pgbench's tables, vacuums, and makes a checkpoint.
    pub fn initialise(&mut self, scale: u32) -> Result<(), String> {
        self.wait_until_answering()?;
        if self.canned {
            return Ok(());
        }
        let started = Instant::now();
        let mut init = self.client("pgbench");
        init.args(["-i", "-q", "-s", &scale.to_string()]);
        output(init.stderr(Stdio::piped()))?;
        eprintln!(
            "{}: pgbench -i -s {scale} took {:.1} s",
            self.name,
            started.elapsed().as_secs_f64()
        );
        self.sql("checkpoint")
    }

    /// Runs one statement through psql.
    pub fn sql(&self, statement: &str) -> Result<(), String> {
        output(self.client("psql").args(["-qXAt", "-c", statement])).map(drop)
    }

    /// The answer of a query that has one column and one row.
    pub fn value(&self, query: &str) -> Result<String, String> {
        Ok(output(self.client("psql").args(["-qXAt", "-c", query]))?.trim().to_owned())
    }

    /// Ends the server as a power failure would end it, but for what the system has in memory. PostgreSQL's
    /// other processes are waited for: as long as one is there, none starts on its directory.
    pub fn kill(&mut self) -> Result<ExitStatus, String> {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        let ended = ended.map_err(|e| format!("{}: {e}", self.name))?;
        self.wait_for_the_others()?;
        Ok(ended)
    }

    /// Waits until no process of the server is left.
    fn wait_for_the_others(&self) -> Result<(), String> {
        let give_up = Instant::now() + Duration::from_secs(60);
        while works_in(&self.socket_dir)? {
            if Instant::now() > give_up {
                return Err(format!("{}: its processes outlive it", self.name));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Starts an ended server again; how long it took to answer a query.
    pub fn restart(&mut self) -> Result<Duration, String> {
        let begun = Instant::now();
        let spawned = self.command.spawn();
        self.child = spawned.map_err(|e| format!("{:?}: {e}", self.command))?;
        self.wait_until_answering()?;
        Ok(begun.elapsed())
    }

    /// How its process ended, if it did.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
        let fault =
            |line: &&str| ["FATAL", "PANIC", "error"].iter().any(|word| line.contains(word));
        let telling = lines().find(fault).or_else(|| lines().next_back());
        let telling = telling.unwrap_or("it said nothing");
        Some(format!("{} ended with {status}: {telling}", self.name))
    }

    /// Waits until it answers queries.
    pub fn wait_until_answering(&mut self) -> Result<(), String> {
        self.wait_until_answering_while(&|| true, None)
    }

    /// Waits until it answers queries, as long as that is wanted. One that has no socket or says nothing `within` its time is
    /// not waited for any more; without it, one may recover for as long as it takes.
    ///
    /// # Errors
    /// How it ended, or that it is not waited for.
    pub fn wait_until_answering_while(
        &mut self,
        wanted: &dyn Fn() -> bool,
        within: Option<Patience>,
    ) -> Result<(), String> {
        let begun = Instant::now();
        let mut heard = false;
        let socket = self.socket();
        loop {
            if let Some(ended) = self.ended() {
                return Err(ended);
            }
            if !wanted() {
                return Err(format!("{} is not waited for any more", self.name));
            }
            let takes_in = std::os::unix::net::UnixStream::connect(&socket).is_ok();
            heard |= takes_in;
            if takes_in
                && (self.canned || self.answers(wanted, within.map(|within| within.answer))?)
            {
                return Ok(());
            }
            let limit = within.filter(|_| !heard).map_or(RECOVERY, |within| within.socket);
            if begun.elapsed() > limit {
                let (what, seconds) = (if heard { "answer" } else { "listen" }, limit.as_secs());
                return Err(format!("{} did not {what} within {seconds} s", self.name));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether it answers a query now.
    fn answers(&self, wanted: &dyn Fn() -> bool, within: Option<Duration>) -> Result<bool, String> {
        let Some(within) = within else { return Ok(self.sql("select 1").is_ok()) };
        let mut psql = self.client("psql");
        psql.args(["-qXAt", "-c", "select 1"]).stdin(Stdio::null());
        let mut psql = psql
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("psql: {e}"))?;
        let begun = Instant::now();
        let ended = loop {
            match psql.try_wait() {
                Ok(Some(status)) => break Ok(status.success()),
                Err(e) => break Err(format!("psql: {e}")),
                Ok(None) if !wanted() => break Ok(false),
                Ok(None) if begun.elapsed() > within => break Err(self.silent(within)),
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        // Nothing to end where it has ended.
        let _ = psql.kill();
        let _ = psql.wait();
        ended
    }

    fn silent(&self, within: Duration) -> String {
        let seconds = within.as_secs();
        format!("{} accepted the connection but did not answer within {seconds} s", self.name)
    }

    /// Ends the server the polite way, and waits.
    pub fn stop(&mut self) {
        self.ask_to_stop();
        self.wait_for_the_end(&|| false);
    }

    /// Asks it to end, the polite way; who has several servers asks all of them before waiting for one.
    pub fn ask_to_stop(&mut self) {
        // To PostgreSQL SIGTERM means to wait for its clients. The canned server takes signals as it inherits them, and what a
        // shell runs in the background ignores SIGINT.
        self.signal(if self.canned { "-TERM" } else { "-INT" });
    }

    /// Waits for the end of what was asked to. In a hurry it is ended at once, PostgreSQL with the processes that it has started.
    pub fn wait_for_the_end(&mut self, in_a_hurry: &dyn Fn() -> bool) {
        let mut give_up = Instant::now() + PATIENCE;
        let mut at_once = false;
        while matches!(self.child.try_wait(), Ok(None)) {
            if !at_once && in_a_hurry() {
                at_once = true;
                self.signal("-QUIT");
                give_up = Instant::now() + HURRY;
            }
            if Instant::now() > give_up {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The number of one that has ended may be another process's.
    fn signal(&mut self, name: &str) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let _ = Command::new("kill").args([name, &self.child.id().to_string()]).status();
    }
}

/// Nothing stays behind when a run fails half-way.
impl Drop for Peer {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.stop();
        }
        let _ = self.wait_for_the_others();
    }
}

/// Runs a command to its end; its standard output, or an error with what it complained about.
pub fn output(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
    Err(format!("{command:?} ended with {}: {}", done.status, complaint.trim()))
}

/// Whether a process has its working directory below `home`.
fn works_in(home: &Path) -> Result<bool, String> {
    let processes = std::fs::read_dir("/proc").map_err(|e| format!("/proc: {e}"))?;
    let places = processes.flatten().filter_map(|p| std::fs::read_link(p.path().join("cwd")).ok());
    Ok(places.into_iter().any(|place| place.starts_with(home)))
}
