//! What a server is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::encryption::Encryption;
use crate::hba::Rules;

/// How clients show who they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    /// Unix socket: the name of the client's user must be the role's name. Network: [`Authentication::Scram`].
    #[default]
    Peer,
    /// Everybody has to know the role's password; it does not travel (SCRAM-SHA-256).
    Scram,
    /// Everybody is whoever they say they are.
    Trust,
}

impl Authentication {
    /// What a configuration says.
    pub(crate) fn of(config: &Config) -> Authentication {
        match config.value("authentication").as_text() {
            "trust" => Authentication::Trust,
            "scram-sha-256" => Authentication::Scram,
            _ => Authentication::Peer,
        }
    }
}

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen for TCP; with none, the unix socket is the only way in.
    pub listen: Vec<SocketAddr>,
    /// The directory of the unix socket `.s.PGSQL.PORT`; `None` listens on TCP only.
    pub socket_dir: Option<PathBuf>,
    /// The port in the unix socket's name.
    pub port: u16,
    /// The data directory, named in the socket's lock file.
    pub data: PathBuf,
    /// Worker threads.
    pub workers: usize,
    /// How long a worker with one client looks for its next request before it sleeps.
    pub busy_poll: Duration,
    /// Whether workers with several clients keep to a core each, where there is one for each.
    pub core_affinity: bool,
    /// Whether connections move to the worker that has others of the same client thread.
    pub connection_affinity: bool,
    /// Sessions at a time.
    pub max_connections: usize,
    /// How many of them only superusers get.
    pub reserved_connections: usize,
    /// How clients show who they are.
    pub rules: Rules,
    /// What connections over TCP are encrypted by, if the client asks for it.
    pub encryption: Option<Arc<Encryption>>,
    /// How long a client may take to say who it is.
    pub authentication_timeout: Duration,
    /// Settings that new sessions begin with, by name.
    pub session_settings: Vec<(&'static str, String)>,
}
