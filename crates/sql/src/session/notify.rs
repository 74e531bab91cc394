//! LISTEN, UNLISTEN and NOTIFY. Like changes of rows they come to be when their transaction commits, and are forgotten
//! with what is rolled back.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::ids::Lsn;
use base::latch::Latch;
use base::rank::Rank;
use storage::lock::{LockMode, LockTag};
use storage::txn::When;

use crate::catalog::store::channels::{Asked, Listener, Mail, Notification};
use crate::catalog::store::schema::catalog;
use crate::error::{Result, bail};
use crate::func::Rows;
use crate::types::Datum;
use crate::types::chars::NAME_MAX;

use super::Session;
use super::backend::Backend;

/// PostgreSQL's `NOTIFY_PAYLOAD_MAX_LENGTH`: payloads are shorter.
const PAYLOAD_BYTES: usize = 8000;

/// A session's part in channels.
pub(super) struct Notifying {
    asked: Arc<Latch<Pending>>,
    /// Once it has listened, or told something.
    mail: Option<Arc<Mail>>,
}

/// What the transaction has asked for, in order.
#[derive(Default)]
struct Pending {
    list: Vec<Asked>,
    /// Told twice is told once.
    told: BTreeSet<Asked>,
}

impl Default for Notifying {
    fn default() -> Notifying {
        Notifying { asked: Arc::new(Latch::new(Rank::Leaf, Pending::default())), mail: None }
    }
}

impl Pending {
    /// Whether it is new.
    fn push(&mut self, asked: Asked) -> bool {
        if matches!(asked, Asked::Notify { .. }) && !self.told.insert(asked.clone()) {
            return false;
        }
        self.list.push(asked);
        true
    }

    fn truncate(&mut self, len: usize) {
        for gone in self.list.drain(len.min(self.list.len())..) {
            self.told.remove(&gone);
        }
    }
}

/// LISTEN.
pub(super) fn listen(b: &mut Backend, channel: &str) -> Result<()> {
    ask(b, Asked::Listen(channel.into()))
}

/// UNLISTEN; `None`: all channels.
pub(super) fn unlisten(b: &mut Backend, channel: Option<&str>) -> Result<()> {
    // Pools say it to every connection they get back.
    if b.notifying.mail.is_none() {
        return Ok(());
    }
    ask(b, channel.map_or(Asked::UnlistenAll, |channel| Asked::Unlisten(channel.into())))
}

/// NOTIFY.
pub(super) fn notify(b: &mut Backend, channel: &str, payload: &str) -> Result<()> {
    if channel.is_empty() {
        bail!(INVALID_PARAMETER_VALUE, "channel name cannot be empty");
    }
    if channel.len() > NAME_MAX {
        bail!(INVALID_PARAMETER_VALUE, "channel name too long");
    }
    if payload.len() >= PAYLOAD_BYTES {
        bail!(INVALID_PARAMETER_VALUE, "payload string too long");
    }
    ask(b, Asked::Notify { channel: channel.into(), payload: payload.into() })
}

fn ask(b: &mut Backend, what: Asked) -> Result<()> {
    let cluster = b.instance.cluster()?;
    let mail = b.notifying.mail.get_or_insert_with(|| cluster.channels.new_mail());
    let own = Listener { database: b.instance.database, process: b.pid, mail: Arc::clone(mail) };
    let (undone, done) = (Arc::clone(&b.notifying.asked), Arc::clone(&b.notifying.asked));
    let before = {
        let mut asked = b.notifying.asked.lock();
        let before = asked.list.len();
        if !asked.push(what) {
            return Ok(());
        }
        before
    };
    b.txn.on(When::Abort, move || undone.lock().truncate(before));
    let (wal, waits) = (Arc::clone(b.txn.manager().wal()), b.values.hot.synchronous);
    b.txn.on(When::Commit, move || {
        let asked = std::mem::take(&mut *done.lock());
        // The first that comes to be brings all of them.
        if !asked.list.is_empty() {
            let gate = if waits { wal.position() } else { Lsn::ZERO };
            cluster.channels.settle(&own, asked.list, gate);
        }
    });
    Ok(())
}

/// `pg_notify` and its kin.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    Ok(Some(match name {
        "pg_notify" => {
            let text = |at: usize| match &args[at] {
                Datum::Null => "",
                text => text.as_text(),
            };
            notify(b, text(0), text(1))?;
            Datum::VOID
        }
        "pg_notification_queue_usage" => Datum::Float8(b.instance.cluster()?.channels.usage()),
        _ => return Ok(None),
    }))
}

/// The channels that the session listens on.
pub(super) fn listening(b: &Backend) -> Rows {
    let channels = b.notifying.mail.as_ref().map(|mail| mail.channels()).unwrap_or_default();
    Box::new(channels.into_iter().map(|channel| Ok(Datum::text(&*channel))))
}

impl Backend {
    /// Before a commit: those who tell something do so one after the other, so that all listeners hear them in the order
    /// of their commits. The lock goes when that is done.
    pub(super) fn queue_to_notify(&mut self) -> Result<()> {
        // Who has never told anything, nor listened, has nothing to look at.
        if self.notifying.mail.is_none() || self.notifying.asked.lock().told.is_empty() {
            return Ok(());
        }
        if self.instance.cluster()?.channels.usage() > 1.0 {
            bail!(PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue");
        }
        let class = catalog("pg_database").oid.0;
        let queue = LockTag::Object { db: 0, class, object: 0, sub: 0 };
        Ok(self.txn.lock(queue, LockMode::AccessExclusive)?)
    }

    /// The session ends.
    pub(super) fn stop_listening(&mut self) {
        let Some(mail) = self.notifying.mail.take() else { return };
        let own = Listener { database: self.instance.database, process: self.pid, mail };
        // Without a cluster nobody can tell it anything.
        if let Ok(cluster) = self.instance.cluster() {
            cluster.channels.close(&own);
        }
    }
}

impl Session {
    /// Whether somebody has told the session something that [`Session::take_mail`] has not given yet.
    #[inline]
    pub fn has_mail(&self) -> bool {
        self.backend.notifying.mail.as_ref().is_some_and(|mail| !mail.is_empty())
    }

    /// What was told to the channels that the session listens on, the first of it where that is much. A client is to
    /// learn of it when it is in no transaction.
    pub fn take_mail(&mut self) -> Vec<Notification> {
        self.backend.notifying.mail.as_ref().map(|mail| mail.take()).unwrap_or_default()
    }
}
