//! Listener, workers and fibers, connections, authentication, settings.
//!
//! ```text
//! acceptor ──► worker 0..n, one thread each
//!              ├─ connection::Connection   a task per client: reads, sends
//!              ├─ request::Seat            goes to a fiber for each batch of messages
//!              ├─ gate                     replies that wait for the log
//!              └─ worker::drive            fibers that waited or are long
//! ```

mod affinity;
mod busy_poll;
pub mod config;
mod connection;
mod database;
mod encryption;
mod gate;
mod hba;
mod limits;
mod listen;
mod memory;
mod options;
mod outgoing;
mod own_core;
mod panics;
mod report;
mod request;
mod shared;
pub mod signals;
pub mod users;
mod worker;

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use sql::settings;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;
use wire::backend::Replies;

pub use database::Database;
pub use encryption::Encryption;
pub use hba::Rules;
pub use limits::raise_open_files;
pub use options::{Authentication, Options};
pub use panics::install_hook;

use connection::Accepted;
use listen::SocketFile;
use shared::Shared;
use worker::{Door, Order, Worker};

/// Why a server could not start, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartError(String);

impl StartError {
    /// An error with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        StartError(sentence.into())
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    stop: Arc<Notify>,
    acceptor: JoinHandle<()>,
    workers: Vec<JoinHandle<()>>,
    socket: Option<SocketFile>,
    addresses: Vec<SocketAddr>,
}

impl Server {
    /// Starts a server over an open database, which must be closed only once the server has ended.
    ///
    /// # Errors
    /// Ports that are all taken, a socket that is, or a system that gives no threads.
    pub fn start(database: Arc<Database>, mut options: Options) -> Result<Server, StartError> {
        let clients_max =
            limits::fit_connections(&mut options.max_connections, options.workers.max(1));
        let tcp = listen::tcp(&options.listen)?;
        let addresses = tcp.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let unix = match &options.socket_dir {
            Some(dir) => Some(SocketFile::bind(dir, options.port, &options.data)?),
            None => None,
        };
        let (socket, unix) = unix.unzip();
        let doors: Vec<_> =
            (0..options.workers.max(1)).map(|_| Arc::new(Door::default())).collect();
        let shared = Shared::new(database, options, doors);
        let shared = Arc::new(shared.map_err(|error| StartError::new(error.message()))?);
        // Weak: what is shared keeps the database.
        let sessions = Arc::downgrade(&shared);
        shared.database.cluster().set_signal(move |process, how| {
            sessions.upgrade().and_then(|shared| shared.signal(process, how))
        });
        let listening = Arc::downgrade(&shared);
        shared.database.cluster().channels.set_post(move |process| {
            if let Some(shared) = listening.upgrade() {
                shared.post(process);
            }
        });
        let no_thread = |fault| StartError::new(format!("cannot start a worker: {fault}"));
        let workers = (shared.doors().iter().enumerate())
            .map(|(number, door)| Worker::start(number, Arc::clone(&shared), Arc::clone(door)))
            .collect::<std::io::Result<_>>()
            .map_err(no_thread)?;
        let stop = Arc::new(Notify::new());
        let acceptor =
            start_acceptor(Arc::clone(&shared), Arc::clone(&stop), clients_max, tcp, unix);
        let acceptor = acceptor.map_err(no_thread)?;
        Ok(Server { shared, stop, acceptor, workers, socket, addresses })
    }

    /// Where TCP is listened on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Which worker has which session, by process number; sessions move (`worker_connection_affinity`).
    pub fn workers_of_sessions(&self) -> std::collections::BTreeMap<i32, usize> {
        self.shared.workers_of_sessions()
    }

    /// Has worker number `to` serve a session from its next request on that finds it in no transaction; false where
    /// there is no such session or worker.
    pub fn move_session(&self, process: i32, to: usize) -> bool {
        self.shared.move_session(process, to)
    }

    /// Where the unix socket is.
    pub fn socket_path(&self) -> Option<&Path> {
        self.socket.as_ref().map(SocketFile::path)
    }

    /// Takes over what a configuration that was read again says about new sessions, and about what can change while
    /// the server runs.
    pub fn reload(&self, config: &config::Config) {
        let running = &self.shared.database.cluster().running;
        let of = |names: &'static [&'static str]| -> Vec<_> {
            let settings = names.iter().filter_map(|name| settings::find(name));
            settings.filter_map(|setting| Some((setting, running.get(setting)?))).collect()
        };
        let (encrypted, ruled) = (of(encryption::SETTINGS), of(hba::SETTINGS));
        self.shared.database.reload(config);
        self.shared.set_session_settings(config.session_settings().into());
        let data = &self.shared.options.data;
        // What can't be used changes nothing, nor what is shown of it.
        let stays = |what: &str, fault: String, shown: Vec<(_, _)>| {
            base::log!("{what} stays as it is: {fault}");
            shown.into_iter().for_each(|(setting, was)| running.set(setting, was));
        };
        match Encryption::load(config, data) {
            Ok(encryption) => self.shared.set_encryption(encryption),
            Err(fault) => stays("encryption", fault, encrypted),
        }
        match self.shared.options.rules.reload(config, data) {
            Ok(rules) => self.shared.set_rules(rules),
            Err(fault) => stays("who is let in", fault, ruled),
        }
    }

    /// Takes no more clients, ends every session with `57P01`, and returns when all is over. What
    /// runs is interrupted and rolled back.
    pub fn shutdown(self) {
        self.stop.notify_one();
        join(self.acceptor);
        drop(self.socket);
        for door in self.shared.doors() {
            door.order(Order::Shutdown);
        }
        self.workers.into_iter().for_each(join);
    }
}

/// A thread of ours that panicked has broken an invariant; nothing that follows can be trusted.
fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        base::log!("a thread of the server has panicked");
        std::process::abort();
    }
}

/// How often it is looked whether much memory was left with the allocator.
const SURPLUS_EVERY: Duration = Duration::from_secs(30);

/// Starts the thread that accepts connections and hands each to the least loaded worker. Beyond `clients_max` of them,
/// with those that have not said yet who they are, it turns clients away: silent ones must not use up all descriptors.
fn start_acceptor(
    shared: Arc<Shared>,
    stop: Arc<Notify>,
    clients_max: usize,
    tcp: Vec<std::net::TcpListener>,
    unix: Option<std::os::unix::net::UnixListener>,
) -> std::io::Result<JoinHandle<()>> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    let (tcp, unix) = {
        let _inside = runtime.enter();
        let tcp = tcp.into_iter().map(TcpListener::from_std).collect::<Result<Vec<_>, _>>()?;
        (tcp, unix.map(UnixListener::from_std).transpose()?)
    };
    std::thread::Builder::new().name("acceptor".to_owned()).spawn(move || {
        runtime.block_on(async {
            let mut stopped = pin!(stop.notified());
            let mut rest = tokio::time::interval(SURPLUS_EVERY);
            rest.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut surplus = base::memory::Surplus::default();
            loop {
                let next = poll_fn(|context| {
                    // Until it is not ready: only then it will wake the thread again.
                    while rest.poll_tick(context).is_ready() {
                        surplus.look();
                    }
                    if stopped.as_mut().poll(context).is_ready() {
                        return Poll::Ready(None);
                    }
                    poll_accept(context, &tcp, unix.as_ref()).map(Some)
                });
                match next.await {
                    None => return,
                    Some(Ok(accepted)) if shared.load() >= clients_max => {
                        let mut replies = Replies::new();
                        report::fatal(&mut replies, report::too_many_clients());
                        accepted.turn_away(replies.as_bytes());
                    }
                    Some(Ok(accepted)) => {
                        let door = shared.least_loaded();
                        door.expect_one();
                        door.order(Order::Serve(accepted));
                    }
                    Some(Err(fault)) => {
                        // Out of descriptors, most likely: wait until some session has ended.
                        base::log!("could not accept a connection: {fault}");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        });
    })
}

fn poll_accept(
    context: &mut std::task::Context<'_>,
    tcp: &[TcpListener],
    unix: Option<&UnixListener>,
) -> Poll<std::io::Result<Accepted>> {
    if let Some(unix) = unix
        && let Poll::Ready(result) = unix.poll_accept(context)
    {
        return Poll::Ready(result.and_then(|(stream, _)| stream.into_std()).map(Accepted::Unix));
    }
    for tcp in tcp {
        if let Poll::Ready(result) = tcp.poll_accept(context) {
            let accepted =
                result.and_then(|(stream, peer)| Ok(Accepted::Tcp(stream.into_std()?, peer)));
            return Poll::Ready(accepted);
        }
    }
    Poll::Pending
}
