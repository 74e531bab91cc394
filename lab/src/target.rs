//! What is measured: servers that the lab starts, and servers that are given by URL.

use crate::counted::Counted;
use crate::experiments::{DEVICE, Plan, Setup};
use crate::interrupt;
use crate::process::{self, Limits};
use crate::runner::Companion;
use crate::session::{ANSWER, Refusal, Session, WORK};
use bench::servers::{Patience, Peer, Places, Scratch, Start};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// A server, and how to reach it.
pub struct Instance {
    /// Target's name.
    pub target: String,
    pub setup: Setup,
    pub reach: Reach,
    /// Who works beside the runs; before the server, so that it goes first.
    pub beside: Option<Companion>,
    /// The server, if the lab started it.
    pub server: Option<Peer>,
    /// Why it is not measured any more.
    pub given_up: Option<String>,
    /// Where its directory is, if that is memory's; after the server, so that it goes after it.
    memory: Option<Scratch>,
}

/// What a new server may take until it listens, and from then to its first answer.
const START: Patience = Patience { socket: Duration::from_secs(60), answer: ANSWER };

/// What each step of filling a server may take: many times what it takes on two busy cores.
pub fn filling(scale: u32, each_s: u64) -> Duration {
    Duration::from_secs(60 + u64::from(scale) * each_s)
}

/// Of [filling], for a unit of pgbench's scale.
const EACH_SCALE_S: u64 = 5;

/// What reads all accounts into a server's cache, by way of their index: PostgreSQL fills them, and reads a large table from its
/// beginning to its end, through a few pages of the cache, and would read them in while it is measured.
const WARMING: [&str; 3] = [
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SELECT sum(abalance) FROM pgbench_accounts WHERE aid > 0",
];

/// A file system in memory.
pub const MEMORY: &str = "/dev/shm";

/// How to reach a server.
#[derive(Clone)]
pub struct Reach {
    pub tools: PathBuf,
    /// Host name, or the unix socket's directory.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    /// Settings of all sessions, as `-c name=value`.
    pub options: Option<String>,
}

/// A target as the command line names it.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// A server that the lab can start.
    Own(String),
    /// `NAME=URL`.
    Url { name: String, url: Url },
}

/// The parts of `postgres://user:password@host:port/database?options=…`.
#[derive(Clone, Debug, PartialEq)]
pub struct Url {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    /// Settings of its sessions, as `-c name=value`.
    pub options: Option<String>,
}

/// Those that the lab can start.
const KNOWN: &[&str] = &["thalweg", "thalweg-counting", "pg15", "pg18", "canned", "bare-sync"];

/// Whether this is measured beside others and is nothing of ours: what changes there, the machine did.
pub fn is_control(target: &str) -> bool {
    [DEVICE, "pg15", "pg18", "canned", "bare-sync"].contains(&target)
}

impl Wanted {
    /// From the command line.
    pub fn parse(text: &str) -> Result<Wanted, String> {
        match text.split_once('=') {
            Some((name, _)) if name.is_empty() || name == DEVICE || KNOWN.contains(&name) => {
                Err(format!("a server given by URL can't be called '{name}'"))
            }
            Some((name, url)) => Ok(Wanted::Url { name: name.to_owned(), url: Url::parse(url)? }),
            None if KNOWN.contains(&text) => Ok(Wanted::Own(text.to_owned())),
            None => Err(format!(
                "no target is called '{text}'; there are {}, or NAME=postgres://USER@HOST:PORT/DATABASE",
                KNOWN.join(", ")
            )),
        }
    }

    /// Each has a name of its own: records tell servers apart by nothing else.
    pub fn distinct(wanted: &[Wanted]) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        match wanted.iter().map(Wanted::name).find(|name| !seen.insert(*name)) {
            Some(name) => Err(format!("two targets are called '{name}'")),
            None => Ok(()),
        }
    }

    /// Every server that the lab starts unless told which.
    pub fn all() -> Vec<Wanted> {
        KNOWN.iter().map(|&name| Wanted::Own(name.to_owned())).collect()
    }

    pub fn name(&self) -> &str {
        match self {
            Wanted::Own(name) | Wanted::Url { name, .. } => name,
        }
    }

    /// As a record names it: with the place, so that another server of the same name is another target, and
    /// without the password.
    pub fn recorded(&self) -> String {
        match self {
            Wanted::Own(name) => name.clone(),
            Wanted::Url { name, url: Url { host, port, user, database, .. } } => {
                // An address of the sixth version has colons of its own.
                let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
                format!("{name}=postgres://{user}@{host}:{port}/{database}")
            }
        }
    }
}

impl Url {
    /// As libpq understands it, by the library that the lab connects with: percent-encoding, brackets, parameters.
    fn parse(text: &str) -> Result<Url, String> {
        // Without the password: this goes to the screen.
        let shown = text.rsplit_once('@').map_or(text, |(_, place)| place);
        let wrong =
            |why: &str| format!("'{shown}' is not like postgres://USER@HOST:PORT/DATABASE{why}");
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(wrong(""));
        }
        let config: postgres::Config = text.parse().map_err(|e| wrong(&format!(": {e}")))?;
        if config.get_ssl_mode() == postgres::config::SslMode::Require {
            return Err(format!("'{shown}' asks for TLS, and the lab speaks none"));
        }
        let host = match config.get_hosts() {
            [postgres::config::Host::Tcp(name)] => name.clone(),
            [postgres::config::Host::Unix(path)] => path.display().to_string(),
            [] => return Err(wrong(": it names no host")),
            _ => return Err(wrong(": it names several hosts")),
        };
        let user = config.get_user().unwrap_or("postgres");
        if host.is_empty() || user.is_empty() {
            return Err(wrong(""));
        }
        let password = config.get_password().map(|word| String::from_utf8_lossy(word).into_owned());
        Ok(Url {
            host,
            port: config.get_ports().first().copied().unwrap_or(5432),
            user: user.to_owned(),
            password,
            database: config.get_dbname().unwrap_or("postgres").to_owned(),
            options: config.get_options().map(str::to_owned),
        })
    }
}

impl Reach {
    /// A client program of PostgreSQL, told how to reach the server.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.tools.join(program));
        command
            .args(["-h", &self.host, "-p", &self.port.to_string(), "-U", &self.user])
            .env("PGDATABASE", &self.database);
        if let Some(password) = &self.password {
            command.env("PGPASSWORD", password);
        }
        if let Some(options) = &self.options {
            command.env("PGOPTIONS", options);
        }
        command
    }

    /// A session of the lab's own.
    pub fn connect(&self) -> Result<Session, Refusal> {
        let mut config = postgres::Config::new();
        config.user(&self.user).port(self.port).dbname(&self.database).application_name("lab");
        match self.host.starts_with('/') {
            true => config.host_path(&self.host),
            false => config.host(&self.host),
        };
        if let Some(password) = &self.password {
            config.password(password);
        }
        if let Some(options) = &self.options {
            config.options(options);
        }
        Session::open(config, &format!("{}:{}", self.host, self.port))
    }

    /// A session that has had its first answer.
    pub fn connect_and_hear(&self) -> Result<Session, Refusal> {
        let mut session = self.connect()?;
        session.ask("select 1", ANSWER)?;
        Ok(session)
    }
}

/// However a run ends; who has several asks all of them first.
impl Drop for Instance {
    fn drop(&mut self) {
        self.ask_to_stop();
        if let Some(server) = &mut self.server {
            server.wait_for_the_end(&interrupt::asked_again);
        }
    }
}

impl Instance {
    /// Starts a server and fills it.
    pub fn start(
        target: &str,
        plan: &Plan,
        setup: &Setup,
        scale: u32,
        places: &Places,
        work: &Path,
    ) -> Result<Instance, String> {
        let settings: Vec<&str> = plan
            .settings
            .iter()
            .copied()
            .chain(setup.settings.iter().map(String::as_str))
            .collect();
        let settings = crowd_limit(target, settings);
        let (name, memory) = match setup.in_memory {
            // Alone in a directory of its own, by a short name: a socket's path may not be long.
            true => (target.to_owned(), Some(in_memory()?)),
            false => (directory(target, setup), None),
        };
        let work = memory.as_ref().map_or(work, Scratch::path);
        let (server, port) = on_free_port(free_port, |port| {
            let start = Start {
                server: target,
                name: &name,
                places,
                work,
                port,
                settings: &settings,
                cores: setup.cores,
            };
            let mut server = start.run()?;
            match server.wait_until_answering_while(&|| !interrupt::asked(), Some(START)) {
                Ok(()) => Ok(server),
                Err(why) => {
                    let said = std::fs::read_to_string(&server.log).unwrap_or_default();
                    let home = server.socket_dir.clone();
                    server.ask_to_stop();
                    server.wait_for_the_end(&interrupt::asked_again);
                    drop(server);
                    match said.contains(IN_USE) {
                        true => {
                            // The next try begins with an empty directory.
                            let _ = std::fs::remove_dir_all(home);
                            Err(format!("{why} ({IN_USE})"))
                        }
                        false => Err(why),
                    }
                }
            }
        })?;
        let reach = Reach {
            tools: server.tools.clone(),
            host: server.socket_dir.display().to_string(),
            port,
            user: server.user.clone(),
            password: None,
            database: "postgres".to_owned(),
            options: None,
        };
        let canned = server.canned;
        let instance = Instance {
            target: target.to_owned(),
            setup: setup.clone(),
            reach,
            beside: None,
            server: Some(server),
            given_up: None,
            memory,
        };
        if !canned && scale > 0 {
            instance.fill(scale, plan)?;
        }
        Ok(instance)
    }

    /// A server that somebody else runs. Unless it may be written to, pgbench's tables must be there.
    pub fn of_url(
        name: &str,
        url: &Url,
        plan: &Plan,
        scale: u32,
        writes: bool,
        tools: &Path,
    ) -> Result<Instance, String> {
        let reach = Reach {
            tools: tools.to_owned(),
            host: url.host.clone(),
            port: url.port,
            user: url.user.clone(),
            password: url.password.clone(),
            database: url.database.clone(),
            options: url.options.clone(),
        };
        let instance = Instance {
            target: name.to_owned(),
            setup: Setup::default(),
            reach,
            beside: None,
            server: None,
            given_up: None,
            memory: None,
        };
        if writes {
            instance.fill(scale, plan)?;
        } else {
            let mut session = instance.reach.connect_and_hear()?;
            let found = session.ask("select count(*) from pgbench_branches", WORK);
            found.map_err(|refusal| match refusal.silent {
                true => refusal.why,
                false => format!(
                    "{name} has no tables of pgbench to read ({}); make them, or allow --writes",
                    refusal.why
                ),
            })?;
        }
        Ok(instance)
    }

    fn fill(&self, scale: u32, plan: &Plan) -> Result<(), String> {
        // Before a program waits for it that waits for ever.
        let mut session = self.reach.connect_and_hear()?;
        let mut init = self.reach.client("pgbench");
        init.args(["-i", "-q", "-s", &scale.to_string()]).args(plan.init);
        let within = filling(scale, EACH_SCALE_S);
        process::run(init, Limits::seconds(within.as_secs()))?;
        self.without_tables(plan, &mut session)?;
        let warming = WARMING.iter().filter(|_| plan.holds_data(&self.setup));
        for statement in plan.prepare.iter().chain(warming).chain(&["checkpoint"]) {
            interrupt::check()?;
            self.told(&mut session, statement, within)?;
        }
        Ok(())
    }

    /// Drops an experiment's own tables, where a run that was ended may have left them: in a database that stays.
    fn without_tables(&self, plan: &Plan, session: &mut Session) -> Result<(), String> {
        if self.server.is_some() {
            return Ok(());
        }
        plan.tables().try_for_each(|table| {
            self.told(session, &format!("DROP TABLE IF EXISTS {table}"), WORK)
        })
    }

    fn told(&self, session: &mut Session, statement: &str, within: Duration) -> Result<(), String> {
        let answer = session.ask(statement, within).map_err(|refusal| match refusal.silent {
            true => refusal.why,
            false => format!("{} refuses '{statement}': {}", self.target, refusal.why),
        });
        answer.map(drop)
    }

    /// After the runs: what was made for them in somebody else's database goes, but for pgbench's tables.
    pub fn clear(&self, plan: &Plan) -> Result<(), String> {
        let nothing = self.server.is_some() || self.given_up.is_some();
        if nothing || plan.tables().next().is_none() {
            return Ok(());
        }
        self.without_tables(plan, &mut self.reach.connect_and_hear()?)
    }

    /// Asks the server to end, if it is the lab's.
    pub fn ask_to_stop(&mut self) {
        // Who works beside goes first.
        self.beside = None;
        if let Some(server) = &mut self.server {
            server.ask_to_stop();
        }
    }

    /// Whether it answers every query the same.
    pub fn is_canned(&self) -> bool {
        self.server.as_ref().is_some_and(|s| s.canned)
    }

    /// Why it is not to be asked anything more: it takes connections in and says nothing.
    pub fn silent(&self) -> Option<String> {
        // The replies of the canned ones are no rows.
        if self.is_canned() {
            return None;
        }
        let refusal = self.reach.connect_and_hear().err().filter(|refusal| refusal.silent)?;
        Some(refusal.why)
    }

    /// Its directory, if that is memory's.
    pub fn memory(&self) -> Option<&Path> {
        self.memory.as_ref().map(Scratch::path)
    }

    /// What a build that counts has counted so far; of others nothing.
    pub fn counted(&self) -> Counted {
        self.server.as_ref().map(|server| Counted::read(&server.log)).unwrap_or_default()
    }

    /// Process number of the server, if it is the lab's.
    pub fn pid(&self) -> Option<u32> {
        self.server.as_ref().map(Peer::pid)
    }
}

/// Most connections that the lab opens to a server with a process for each.
pub const MOST_PROCESSES: u32 = 2000;

/// PostgreSQL reserves memory for each possible connection at its start, and gets no more than it will have.
fn crowd_limit<'a>(target: &str, mut settings: Vec<&'a str>) -> Vec<&'a str> {
    if crate::statistics::is_postgres(target) && settings.contains(&"max_connections=10100") {
        settings.push("max_connections=2100");
    }
    settings
}

fn directory(target: &str, setup: &Setup) -> String {
    let cores = setup.cores.map(|n| format!("{n} cores")).unwrap_or_default();
    let name = format!("{target} {} {cores}", setup.name);
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// A new directory on a file system in memory.
fn in_memory() -> Result<Scratch, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Relaxed: only distinctness matters.
    let number = NEXT.fetch_add(1, Relaxed);
    Scratch::within(Path::new(MEMORY), &format!("lab{number}"))
}

/// What a server says of a port that somebody has taken.
const IN_USE: &str = "in use";
/// Ports that are tried.
const PORTS: u32 = 3;

/// Starts something on a port that was free a moment ago; if somebody has taken it meanwhile, on another one.
fn on_free_port<T>(
    mut free: impl FnMut() -> Result<u16, String>,
    mut start: impl FnMut(u16) -> Result<T, String>,
) -> Result<(T, u16), String> {
    let mut tried = 0;
    loop {
        let port = free()?;
        tried += 1;
        match start(port) {
            Err(why) if why.contains(IN_USE) && tried < PORTS => {}
            started => return started.map(|started| (started, port)),
        }
    }
}

/// A port that nobody listens on now.
fn free_port() -> Result<u16, String> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").and_then(|s| s.local_addr());
    socket.map(|address| address.port()).map_err(|e| format!("no port is free: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_port_that_is_taken_meanwhile_is_left_to_whoever_has_it() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken_port = taken.local_addr().unwrap().port();
        let start = |port| TcpListener::bind(("127.0.0.1", port)).map_err(|e| e.to_string());
        let mut offered = [taken_port, free_port().unwrap()].into_iter();
        let (listener, port) = on_free_port(|| Ok(offered.next().unwrap()), start).unwrap();
        assert_eq!(listener.local_addr().unwrap().port(), port);
        assert_ne!(port, taken_port);
        // Not for ever, and nothing else is tried again.
        let mut tries = 0;
        let again = on_free_port(
            || {
                tries += 1;
                Ok(taken_port)
            },
            start,
        );
        assert!(again.unwrap_err().contains(IN_USE) && tries == PORTS);
        let mut tries = 0;
        let other: Result<((), u16), String> = on_free_port(free_port, |_| {
            tries += 1;
            Err("no disk".to_owned())
        });
        assert_eq!((other, tries), (Err("no disk".to_owned()), 1));
    }

    #[test]
    fn urls_are_what_libpq_takes_them_for() {
        let url = |text: &str| Url::parse(text).unwrap();
        let encoded =
            url("postgresql://a%40b:p%3Aw%2Fd@[::1]:6000/my%20db?options=-c%20work_mem%3D8MB");
        assert_eq!((encoded.user.as_str(), encoded.password.as_deref()), ("a@b", Some("p:w/d")));
        assert_eq!((encoded.host.as_str(), encoded.port), ("::1", 6000));
        assert_eq!(encoded.database, "my db");
        assert_eq!(encoded.options.as_deref(), Some("-c work_mem=8MB"));
        let recorded = Wanted::Url { name: "x".to_owned(), url: encoded }.recorded();
        assert_eq!(recorded, "x=postgres://a@b@[::1]:6000/my db", "and no password");
        let socket = url("postgres://me@%2Ftmp/d?sslmode=disable");
        assert_eq!((socket.host.as_str(), socket.user.as_str()), ("/tmp", "me"));
        assert_eq!(
            (url("postgres://h").user.as_str(), url("postgres://h").port),
            ("postgres", 5432)
        );
        let refused = |text: &str| Url::parse(text).unwrap_err();
        assert!(refused("postgres://u:secret@h/d?sslmode=require").contains("TLS"));
        for wrong in
            ["postgres://u:secret@h:port/d", "postgres://u@h/d?nonsense=1", "postgres://u@a,b/d"]
        {
            let why = refused(wrong);
            assert!(why.contains("is not like") && !why.contains("secret"), "{why}");
        }
    }
}
