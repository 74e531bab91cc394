//! The session: one per connection; what the server calls. The README beside this file lists it.

mod activity;
mod admit;
mod amcheck;
mod analyze;
mod backend;
pub mod bases;
pub(crate) mod board;
mod buffers;
mod client;
mod command;
mod concurrently;
mod control;
mod copy;
mod copy_binary;
mod cursor;
mod database;
mod database_figures;
mod ddl_host;
mod definitions;
pub(crate) mod done;
mod enum_names;
mod explain;
mod extended;
mod foreign_key;
mod functions;
mod held;
mod identity;
mod keywords;
mod lock_table;
mod maintain;
mod names;
mod notify;
mod permission;
mod point;
mod portal;
mod prepare;
mod privileges;
mod read_only;
pub(crate) mod resets;
mod routine_names;
mod sequence;
mod set;
mod setting_functions;
mod signal;
mod simple;
mod standing;
mod statistics;
mod stored;
mod temporary;
mod transaction;
mod unique;
mod unready;
pub(crate) mod upkeep_told;
mod utility;
mod wal;
mod walinspect;
mod within;
mod words;
mod xacts;
mod zones;

#[cfg(test)]
mod tests;

pub use crate::catalog::store::channels::Notification;
pub use amcheck::Verifier;
pub(crate) use analyze::{analyze_in_background, note_cleaned};
pub use client::{Client, CopyInput, Field, Format, Formats, Notice};
pub use done::Ending;
pub use prepare::Planned;
pub use transaction::Status;

use base::sync::unmodelled::{AtomicI32, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::hash::HashMap;
use base::ids::Lsn;
use storage::txn::Txn;

use crate::cache::PlanCache;
use crate::catalog::store::{Cluster, Presence, SessionCatalog};
use crate::error::{Result, Severity, SqlError, SqlState, sql_error};
use crate::exec::PointBuffers;
use crate::password;
use crate::types::{Datum, Encoding, Oid, TimestampTz};

use admit::{Admitted, admit, first_password, first_verifier, password_of};
use backend::Backend;
use board::{Board, Doing};
use portal::Portals;
use prepare::Prepared;
use set::Values;
use transaction::{Block, Savepoint};

/// One client's session.
pub struct Session {
    backend: Backend,
    block: Block,
    savepoints: Vec<Savepoint>,
    /// The transaction has run a query: its isolation level is fixed.
    had_query: bool,
    /// What runs can't be part of a transaction that goes on: Execute commits it before it is told.
    commits_at_once: bool,
    /// How many statements the message at hand has.
    statements_in_message: usize,
    statements: HashMap<Box<str>, Prepared>,
    portals: Portals,
    plans: PlanCache,
    /// What foreign keys run, by key.
    rules: BTreeMap<(Oid, foreign_key::Rule), Arc<Planned>>,
    point_buffers: PointBuffers,
    /// Memory for the next statement's parameters.
    spare_params: Vec<Datum>,
    given: within::Given,
    /// How the client wants the rows of the portal that is being executed, for statements that are not
    /// planned: FETCH, EXECUTE, SHOW and the like.
    wanted_formats: Formats,
    /// Memory for command tags.
    tag: String,
    /// Sends statements about one row the long way.
    #[cfg(test)]
    detours: bool,
    /// See [`Session::must_be_durable`].
    gate: Lsn,
    cancel_key: i32,
    is_superuser: bool,
    /// The statement at hand has a deadline.
    timed: bool,
    /// Where others see what the session is doing.
    board: &'static Board,
    /// The text on the board, where it is a prepared statement's.
    shown: Option<Arc<str>>,
    /// Last: until everything else of the session is gone, its database has it.
    _presence: Presence,
}

const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Session>();
};

/// Stack of a thread that runs sessions on fibers: the parser recurses on the thread's own stack, on top of what
/// the thread itself is about.
pub const THREAD_STACK_BYTES: usize = syntax::PARSE_STACK_BYTES + (1 << 20);

/// Numbers that clients know sessions by.
static NEXT_PID: AtomicI32 = AtomicI32::new(1000);

/// In the place of a session's number, for who has no session yet.
const NOBODY: i32 = 0;

fn next_pid() -> i32 {
    // Relaxed: only uniqueness matters.
    NEXT_PID.fetch_add(1, Ordering::Relaxed)
}

/// Looks into the catalogs that all databases share, for who has no session yet.
fn briefly<T>(cluster: &Cluster, pid: i32, look: impl FnOnce(&Txn) -> Result<T>) -> Result<T> {
    let txn = Txn::attach(cluster.engine().txns(), pid, 0)?;
    txn.begin(storage::txn::Isolation::ReadCommitted);
    let seen = look(&txn);
    txn.abort();
    seen
}

impl Session {
    /// Opens a session on a database for a role.
    ///
    /// # Errors
    /// `3D000` where there is no such database, `55000` where it takes no sessions, `28000` no such role.
    pub fn open(cluster: &Arc<Cluster>, database: &str, user: &str) -> Result<Session> {
        Session::open_with(cluster, database, user, &[])
    }

    /// Likewise, with settings that the session begins with where its database says nothing else.
    pub fn open_with(
        cluster: &Arc<Cluster>,
        database: &str,
        user: &str,
        configured: &[(&'static str, String)],
    ) -> Result<Session> {
        let pid = next_pid();
        let admitted = briefly(cluster, pid, |txn| admit(cluster, txn, pid, database, user))?;
        let Admitted { instance, presence, identity, settings } = admitted;
        let is_superuser = identity.session.superuser;
        let txn = Txn::attach(cluster.engine().txns(), pid, instance.database.0)?;
        let catalog = Arc::new(SessionCatalog::new(instance.clone()));
        let running = Arc::clone(&cluster.running);
        let defaults = Values::table_defaults();
        let mut values = Values::new(defaults, identity, catalog.user_place(), running);
        for (name, value) in configured {
            values.set_startup(name, value)?;
        }
        values.take_stored(&settings);
        let backend = Backend::new(txn, instance, catalog, values, Arc::from(database), pid);
        let mut key = [0; 4];
        getrandom::fill(&mut key).map_err(|error| {
            sql_error!(INTERNAL_ERROR, "could not generate random cancel key: {error}")
        })?;
        Ok(Session {
            backend,
            block: Block::Idle,
            savepoints: Vec::new(),
            had_query: false,
            commits_at_once: false,
            statements_in_message: 0,
            statements: HashMap::default(),
            portals: Portals::default(),
            plans: PlanCache::default(),
            rules: BTreeMap::new(),
            point_buffers: PointBuffers::default(),
            spare_params: Vec::new(),
            given: within::Given::default(),
            wanted_formats: Formats::default(),
            tag: String::new(),
            #[cfg(test)]
            detours: false,
            gate: Lsn::ZERO,
            cancel_key: i32::from_ne_bytes(key),
            is_superuser,
            timed: false,
            board: presence.board(),
            shown: None,
            _presence: presence,
        })
    }

    /// What a role's client has to know to be let in by password; or why nobody is, to the log.
    ///
    /// # Errors
    /// Those of reading the catalogs.
    pub fn password_of(
        cluster: &Cluster,
        user: &str,
    ) -> Result<std::result::Result<password::Verifier, &'static str>> {
        briefly(cluster, NOBODY, |txn| password_of(cluster, txn, user))
    }

    /// Whether a role is another, or a member of that, by their names: of roles that are not there nobody is.
    ///
    /// # Errors
    /// Those of reading the catalogs.
    pub fn is_in(cluster: &Cluster, member: &str, role: &str) -> Result<bool> {
        briefly(cluster, NOBODY, |txn| admit::is_in(cluster, txn, member, role))
    }

    /// What to make things up from for clients that ask to be somebody who is not there, so that they see no difference: the
    /// same after each start, if the directory's first role has a password.
    ///
    /// # Errors
    /// Those of reading the catalogs, and a system that has no random bytes.
    pub fn secret(cluster: &Cluster) -> Result<Vec<u8>> {
        let kept = briefly(cluster, NOBODY, |txn| first_verifier(cluster, txn))?;
        match kept {
            Some(kept) => Ok(kept.into_bytes()),
            None => {
                let mut random = vec![0; 32];
                password::fill(&mut random)?;
                Ok(random)
            }
        }
    }

    /// Gives the role that the directory was made with a password, if it has none; whether it did.
    ///
    /// # Errors
    /// Those of changing the catalogs.
    pub fn give_first_password(cluster: &Cluster, text: &str) -> Result<bool> {
        let txn = Txn::attach(cluster.engine().txns(), NOBODY, 0)?;
        txn.begin(storage::txn::Isolation::ReadCommitted);
        let given = first_password(cluster, &txn, text).inspect_err(|_| txn.abort())?;
        let done = txn.commit()?;
        cluster.engine().wal().flush(done.must_be_durable);
        Ok(given)
    }

    /// Whether a session could begin with this value, for who reads it before there is one.
    pub fn check_startup(name: &str, value: &str) -> Result<()> {
        Values::check(name, value).map(drop)
    }

    /// A setting of the startup message (or of `--set`), the session's default from now on.
    pub fn set_startup(&mut self, name: &str, value: &str) -> Result<()> {
        let is_superuser = self.backend.values.identity.session.superuser;
        identity::may_set(name, is_superuser)?;
        self.backend.values.set_startup(name, value)?;
        self.show_application();
        Ok(())
    }

    /// For a client whose texts are strings of the program that the session is in: `client_encoding` is UTF8 from here on,
    /// whatever the database's settings say, and SET of another one is refused.
    pub fn stay_with_utf8(&mut self) -> Result<()> {
        self.backend.values.stay_with_utf8()
    }

    /// Settings that clients are told when they connect.
    pub fn reported(&self) -> Vec<(&'static str, String)> {
        self.backend.values.reported()
    }

    /// The number that the client knows the session by.
    pub fn pid(&self) -> i32 {
        self.backend.pid
    }

    /// What a cancel request must show.
    pub fn cancel_key(&self) -> i32 {
        self.cancel_key
    }

    /// Whether the session's role may do everything.
    pub fn is_superuser(&self) -> bool {
        self.is_superuser
    }

    /// The role that the session was opened for.
    pub fn role(&self) -> Oid {
        self.backend.values.first_identity().session.oid
    }

    /// How the session is about to end, for `pg_stat_database`; what was said first holds.
    pub fn ends(&self, how: Ending) {
        self.board.done().ends(how);
    }

    fn count_error(&self, error: &SqlError) {
        if error.sqlstate() == SqlState::T_R_DEADLOCK_DETECTED {
            self.board.done().deadlock();
        }
    }

    /// The value of a setting as SHOW tells it.
    pub fn show(&self, name: &str) -> Option<String> {
        self.backend.values.show(name)
    }

    /// After an error in the extended protocol: the statement's effects are undone.
    pub fn fail(&mut self, error: &SqlError) {
        self.end_failed_statement();
        self.count_error(error);
        self.abort_statement();
    }

    /// After a panic in the midst of a statement: what it may have left half done goes, and its
    /// transaction fails as at any error.
    pub fn recover(&mut self, error: &SqlError) {
        self.plans = PlanCache::default();
        self.point_buffers = PointBuffers::default();
        self.given = within::Given::default();
        self.wanted_formats = Formats::default();
        self.statements_in_message = 0;
        self.backend.forget_statement();
        self.fail(error);
    }

    /// After a panic in [`Session::recover`]: the session ends, and does no more than roll back what it has not
    /// committed. Its temporary relations stay to the next start, or to the next session in its place that makes some.
    pub fn abandon(self) {
        self.backend.catalog.set_temporary(None);
    }

    /// Sync: ends what the session began by itself.
    ///
    /// # Errors
    /// If it can't be committed.
    pub fn sync(&mut self) -> Result<()> {
        // What it had a time limit for is over, whatever became of it.
        self.end_statement();
        self.commit_implicit()?;
        match self.status() {
            // Those of what needs no transaction.
            Status::Idle => self.drop_portals(),
            Status::InTransaction => self.pause(),
            Status::Failed => {}
        }
        Ok(())
    }

    /// A new statement begins: the clock is read, an old cancel request forgotten.
    fn start_message(&mut self) {
        self.backend.statement_start = stamp();
        self.gate = Lsn::ZERO;
        base::interrupt::clear_statement();
        self.timed = false;
        self.limit_statement();
    }

    /// Shows others what runs from here on.
    #[inline]
    fn show_running(&mut self, text: &str) {
        self.shown = None;
        self.board.active(Some(text), self.backend.statement_start.0);
    }

    /// What was asked for is done, and the client is about to be told that its next command may come. Before that it is
    /// to be told of these settings: they have changed, or changed back, since it was told last.
    #[inline]
    pub fn rest(&mut self) -> Vec<(&'static str, String)> {
        let doing = match self.status() {
            Status::Idle => Doing::Idle,
            Status::InTransaction => Doing::IdleInTransaction,
            Status::Failed => Doing::IdleInFailedTransaction,
        };
        self.board.at_rest(doing, self.gate);
        if !self.backend.values.has_untold() {
            return Vec::new();
        }
        self.show_application();
        self.backend.values.take_untold()
    }

    /// Others see the application's name as it is set now.
    fn show_application(&self) {
        self.board.set_application(self.backend.values.text("application_name"));
    }

    /// Limits how long the statement at hand may take, and wait, from now on.
    #[inline]
    fn limit_statement(&mut self) {
        let hot = &self.backend.values.hot;
        self.backend.txn.locks().set_limits(hot.lock_waits);
        if let Some(limit) = hot.statement_timeout {
            base::interrupt::set_deadline(Some(base::clock::now().after(limit)));
            self.timed = true;
        }
    }

    /// Goes on with a statement that may have begun with another message.
    #[inline]
    fn go_on(&mut self) {
        if !self.timed || !base::interrupt::has_deadline() {
            self.limit_statement();
        }
    }

    /// The statement is over: its time limit, and a request to cancel it, are too.
    #[inline]
    fn end_statement(&mut self) {
        if self.timed {
            self.timed = false;
            base::interrupt::clear_statement();
        }
    }

    /// Likewise, after an error: one request cancels one statement, and not what the client has sent behind it.
    fn end_failed_statement(&mut self) {
        self.timed = false;
        base::interrupt::clear_statement();
    }

    /// How the client spells texts.
    pub fn client_encoding(&self) -> Encoding {
        self.backend.values.format.client_encoding
    }

    /// How long the client may let the session idle, as it stands now; `None` is for ever.
    pub fn idle_limit(&self) -> Option<Duration> {
        let hot = &self.backend.values.hot;
        match self.status() {
            Status::Idle => hot.idle_session,
            Status::InTransaction | Status::Failed => hot.idle_in_transaction,
        }
    }

    /// What a client is told that has let the session idle for longer.
    pub fn idle_too_long(&self) -> SqlError {
        let error = match self.status() {
            Status::Idle => SqlError::new(
                SqlState::IDLE_SESSION_TIMEOUT,
                "terminating connection due to idle-session timeout",
            ),
            Status::InTransaction | Status::Failed => SqlError::new(
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            ),
        };
        error.with_severity(Severity::Fatal)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.backend.stop_listening();
        self.end_with_temporary();
    }
}

/// Turns an error's place from bytes, counted from 0, into the protocol's characters, counted from 1.
fn placed(mut error: SqlError, text: &str) -> SqlError {
    if let Some(offset) = error.fields().position {
        let place = syntax::ast::Loc::at(offset).position_chars(text);
        error.fields_mut().position = place;
    }
    error
}

/// Microseconds from 1970 to 2000.
const EPOCH_OFFSET_USECS: i64 = 946_684_800_000_000;

/// Shows others a statement whose text is shared; it is copied only if it is not on the board already.
#[inline]
fn show_prepared(
    board: &'static Board,
    shown: &mut Option<Arc<str>>,
    text: &Arc<str>,
    start: TimestampTz,
) {
    if shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, text)) {
        board.active(None, start.0);
    } else {
        board.active(Some(text), start.0);
        *shown = Some(Arc::clone(text));
    }
}

/// As [`stamp`], but some milliseconds late.
fn coarse_stamp() -> TimestampTz {
    TimestampTz(base::clock::coarse_wall_micros() - EPOCH_OFFSET_USECS)
}

/// The time of day, as SQL counts it.
pub(crate) fn stamp() -> TimestampTz {
    TimestampTz(base::clock::wall_micros() - EPOCH_OFFSET_USECS)
}
