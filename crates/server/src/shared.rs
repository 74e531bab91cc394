//! What all workers share: the instance, the options, and who may cancel whom.

use base::sync::unmodelled::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use base::interrupt::Interrupt;
use sql::error::SqlError;
use sql::session::Session;
use sql::types::Oid;
use storage::wal::Wal;

use crate::options::Options;

use crate::affinity::{Affinity, Move};
use crate::busy_poll::Pollers;
use crate::connection::Guest;
use crate::database::Database;
use crate::encryption::Encryption;
use crate::hba::Rules;
use crate::worker::{Door, Order};

/// Settings that new sessions begin with, where the configuration says something about them.
pub(crate) type SessionSettings = Arc<[(&'static str, String)]>;

pub(crate) struct Shared {
    pub(crate) database: Arc<Database>,
    pub(crate) options: Options,
    /// What new sessions begin with; changes when the configuration is read again.
    session_settings: Mutex<SessionSettings>,
    /// Who is let in; changes likewise.
    rules: Mutex<Rules>,
    /// What new connections are encrypted by; changes likewise.
    encryption: Mutex<Option<Arc<Encryption>>>,
    doors: Vec<Arc<Door>>,
    /// By process number.
    sessions: Mutex<BTreeMap<i32, Known>>,
    /// Sessions and clients that are about to get one.
    taken: AtomicUsize,
    pub(crate) pollers: Arc<Pollers>,
    pub(crate) affinity: Affinity,
    /// Nobody else knows it; see [`Shared::secret`].
    secret: Vec<u8>,
}

/// What all workers know of a session.
#[derive(Clone, Copy)]
struct Known {
    /// The secret that a cancel request must name.
    key: u32,
    role: Oid,
    worker: usize,
}

impl Shared {
    pub(crate) fn new(
        database: Arc<Database>,
        options: Options,
        doors: Vec<Arc<Door>>,
    ) -> Result<Self, SqlError> {
        let session_settings = Mutex::new(options.session_settings.clone().into());
        let rules = Mutex::new(options.rules.clone());
        let encryption = Mutex::new(options.encryption.clone());
        let sessions = Mutex::default();
        let taken = AtomicUsize::new(0);
        let pollers = Pollers::new(std::thread::available_parallelism().map_or(1, usize::from));
        let workers = if options.connection_affinity { doors.len() } else { 1 };
        let affinity = Affinity::new(workers);
        let secret = Session::secret(database.cluster())?;
        Ok(Shared {
            database,
            options,
            session_settings,
            rules,
            encryption,
            doors,
            sessions,
            taken,
            pollers,
            affinity,
            secret,
        })
    }

    /// What is made up for clients that ask to be somebody who is not there is made up out of this.
    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    pub(crate) fn wal(&self) -> &Wal {
        self.database.wal()
    }

    /// What new sessions begin with.
    pub(crate) fn session_settings(&self) -> SessionSettings {
        Arc::clone(&self.session_settings.lock().expect("no code panics under it"))
    }

    /// Changes what new sessions begin with.
    pub(crate) fn set_session_settings(&self, settings: SessionSettings) {
        *self.session_settings.lock().expect("no code panics under it") = settings;
    }

    /// What who comes has to show.
    pub(crate) fn rules(&self) -> Rules {
        self.rules.lock().expect("no code panics under it").clone()
    }

    /// Changes what who comes has to show.
    pub(crate) fn set_rules(&self, rules: Rules) {
        *self.rules.lock().expect("no code panics under it") = rules;
    }

    /// What new connections are encrypted by, if they can be.
    pub(crate) fn encryption(&self) -> Option<Arc<Encryption>> {
        self.encryption.lock().expect("no code panics under it").clone()
    }

    /// Changes what new connections are encrypted by.
    pub(crate) fn set_encryption(&self, encryption: Option<Arc<Encryption>>) {
        *self.encryption.lock().expect("no code panics under it") = encryption;
    }

    /// Takes one of the places for sessions, if there is one.
    pub(crate) fn take_place(&self) -> bool {
        // Relaxed: only the number itself matters.
        let limit = self.options.max_connections;
        let more = |taken| (taken < limit).then_some(taken + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Whether so few places are left that only superusers may stay on the ones they took.
    pub(crate) fn only_for_superusers(&self) -> bool {
        let Options { max_connections, reserved_connections, .. } = self.options;
        self.taken.load(Ordering::Relaxed) + reserved_connections > max_connections
    }

    /// Gives a place back.
    pub(crate) fn leave_place(&self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }

    /// Makes a session known to cancel requests.
    pub(crate) fn enter(&self, process: i32, key: u32, role: Oid, worker: usize) {
        let mut sessions = self.sessions.lock().expect("no code panics under it");
        sessions.insert(process, Known { key, role, worker });
    }

    /// Has another worker serve the session from now on, unless that has ended.
    pub(crate) fn hand_on(&self, to: usize, guest: Box<Guest>) -> Result<(), Box<Guest>> {
        let mut sessions = self.sessions.lock().expect("no code panics under it");
        let known = sessions.get_mut(&guest.process).expect("a session is known until it ends");
        // Under the lock: whoever learns where it is finds that it was handed in before.
        self.doors[to].hand_in(guest)?;
        known.worker = to;
        Ok(())
    }

    /// Passes an order on that came to a worker where the session is not: it has gone, or is about to come back, and then
    /// it was handed in before this is.
    pub(crate) fn send_after(&self, process: i32, order: Order) {
        if let Some(known) = self.known(process) {
            self.doors[known.worker].order(order);
        }
    }

    /// Tells a session to go to another worker; false where there is no such session or worker.
    pub(crate) fn move_session(&self, session: i32, to: usize) -> bool {
        let Some(from) = self.known(session).map(|known| known.worker) else { return false };
        let is_there = to < self.doors.len();
        if is_there {
            self.doors[from].order(Order::Move(Move { session, from, to }, None));
        }
        is_there
    }

    /// Which worker has which session, by process number.
    pub(crate) fn workers_of_sessions(&self) -> BTreeMap<i32, usize> {
        let sessions = self.sessions.lock().expect("no code panics under it");
        sessions.iter().map(|(process, known)| (*process, known.worker)).collect()
    }

    fn known(&self, process: i32) -> Option<Known> {
        self.sessions.lock().expect("no code panics under it").get(&process).copied()
    }

    /// The role of a session, which is interrupted if so asked.
    pub(crate) fn signal(&self, process: i32, how: Option<Interrupt>) -> Option<Oid> {
        let known = self.known(process)?;
        match how {
            None => {}
            Some(Interrupt::Terminate) => {
                self.doors[known.worker].order(Order::Terminate(process));
            }
            Some(_) => self.doors[known.worker].order(Order::Cancel(process)),
        }
        Some(known.role)
    }

    /// Has a session look for what others have told it.
    pub(crate) fn post(&self, process: i32) {
        if let Some(known) = self.known(process) {
            self.doors[known.worker].order(Order::Mail(process));
        }
    }

    pub(crate) fn leave(&self, process: i32) {
        self.sessions.lock().expect("no code panics under it").remove(&process);
        self.affinity.forget(process);
    }

    /// Has the session's worker cancel what the session runs, if the key is right. Nobody is told
    /// whether it was.
    pub(crate) fn cancel(&self, process: i32, key: u32) {
        match self.known(process) {
            Some(known) if known.key == key => {
                self.doors[known.worker].order(Order::Cancel(process));
            }
            Some(_) => base::log!("wrong key in cancel request for process {process}"),
            None => base::log!("process {process} in cancel request did not match any session"),
        }
    }

    /// How many clients there are, with those that have no session yet.
    pub(crate) fn load(&self) -> usize {
        self.doors.iter().map(|door| door.load()).sum()
    }

    /// The door of the worker that has the fewest connections.
    pub(crate) fn least_loaded(&self) -> &Arc<Door> {
        self.doors.iter().min_by_key(|door| door.load()).expect("there is at least one worker")
    }

    pub(crate) fn doors(&self) -> &[Arc<Door>] {
        &self.doors
    }
}
