//! What is measured: servers that the lab starts, and servers that are given by URL.

use crate::experiments::{Plan, Setup};
use crate::interrupt;
use crate::process::{self, Limits};
use bench::servers::{Peer, Places, Start};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A server, and how to reach it.
pub struct Instance {
    /// Target's name.
    pub target: String,
    pub setup: Setup,
    pub reach: Reach,
    /// The server, if the lab started it.
    pub server: Option<Peer>,
    /// Why it is not measured any more.
    pub given_up: Option<String>,
}

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
}

/// A target as the command line names it.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// A server that the lab can start.
    Own(String),
    /// `NAME=URL`.
    Url { name: String, url: Url },
}

/// The parts of `postgres://user:password@host:port/database`.
#[derive(Clone, Debug, PartialEq)]
pub struct Url {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
}

const KNOWN: &[&str] = &["thalweg", "pg15", "pg18", "canned"];

impl Wanted {
    /// From the command line.
    pub fn parse(text: &str) -> Result<Wanted, String> {
        match text.split_once('=') {
            Some((name, url)) => Ok(Wanted::Url { name: name.to_owned(), url: Url::parse(url)? }),
            None if KNOWN.contains(&text) => Ok(Wanted::Own(text.to_owned())),
            None => Err(format!(
                "no target is called '{text}'; there are {}, or NAME=postgres://USER@HOST:PORT/DATABASE",
                KNOWN.join(", ")
            )),
        }
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
                format!("{name}=postgres://{user}@{host}:{port}/{database}")
            }
        }
    }
}

impl Url {
    fn parse(text: &str) -> Result<Url, String> {
        let wrong = || format!("'{text}' is not like postgres://USER@HOST:PORT/DATABASE");
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
            .ok_or_else(wrong)?;
        let (rest, database) = rest.split_once('/').unwrap_or((rest, "postgres"));
        let (user, place) = rest.split_once('@').unwrap_or(("postgres", rest));
        let (user, password) = match user.split_once(':') {
            Some((user, password)) => (user, Some(password.to_owned())),
            None => (user, None),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
            None => (place, 5432),
        };
        if host.is_empty() || user.is_empty() {
            return Err(wrong());
        }
        let (host, user, database) = (host.to_owned(), user.to_owned(), database.to_owned());
        Ok(Url { host, port, user, password, database })
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
        command
    }

    /// A connection of the lab's own.
    pub fn connect(&self) -> Result<postgres::Client, String> {
        let mut config = postgres::Config::new();
        config.user(&self.user).port(self.port).dbname(&self.database).application_name("lab");
        config.connect_timeout(Duration::from_secs(30));
        match self.host.starts_with('/') {
            true => config.host_path(&self.host),
            false => config.host(&self.host),
        };
        if let Some(password) = &self.password {
            config.password(password);
        }
        config.connect(postgres::NoTls).map_err(|e| said(&e))
    }
}

/// What a server said, without the client library's frame around it.
pub fn said(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(refusal) => format!("{} ({})", refusal.message(), refusal.code().code()),
        None => match std::error::Error::source(error) {
            Some(reason) => format!("{error}: {reason}"),
            None => error.to_string(),
        },
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
        let name = directory(target, setup);
        let port = free_port()?;
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
        server.wait_until_answering_while(&|| !interrupt::asked())?;
        let reach = Reach {
            tools: server.tools.clone(),
            host: server.socket_dir.display().to_string(),
            port,
            user: server.user.clone(),
            password: None,
            database: "postgres".to_owned(),
        };
        let canned = server.canned;
        let instance = Instance {
            target: target.to_owned(),
            setup: setup.clone(),
            reach,
            server: Some(server),
            given_up: None,
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
        };
        let instance = Instance {
            target: name.to_owned(),
            setup: Setup::default(),
            reach,
            server: None,
            given_up: None,
        };
        if writes {
            instance.fill(scale, plan)?;
        } else {
            let mut client = instance.reach.connect()?;
            let found = client.simple_query("select count(*) from pgbench_branches");
            found.map_err(|e| {
                format!(
                    "{name} has no tables of pgbench to read ({}); make them, or allow --writes",
                    said(&e)
                )
            })?;
        }
        Ok(instance)
    }

    fn fill(&self, scale: u32, plan: &Plan) -> Result<(), String> {
        let mut init = self.reach.client("pgbench");
        init.args(["-i", "-q", "-s", &scale.to_string()]).args(plan.init);
        process::run(init, Limits::minutes(30))?;
        let mut client = self.reach.connect()?;
        for statement in plan.prepare.iter().chain(&["checkpoint"]) {
            interrupt::check()?;
            client
                .simple_query(statement)
                .map_err(|e| format!("{} refuses '{statement}': {}", self.target, said(&e)))?;
        }
        Ok(())
    }

    /// Whether it answers every query the same.
    pub fn is_canned(&self) -> bool {
        self.server.as_ref().is_some_and(|s| s.canned)
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

/// A port that nobody listens on now.
fn free_port() -> Result<u16, String> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").and_then(|s| s.local_addr());
    socket.map(|address| address.port()).map_err(|e| format!("no port is free: {e}"))
}
