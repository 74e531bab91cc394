//! A request: what a fiber does for a connection, from the first message that has come to the last.
//!
//! The seat goes to the fiber whole and comes back whole, so nothing in here shares anything with
//! the connection's task but the [`Link`].

mod charset;
mod client;
mod login;
mod messages;
mod startup;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use base::Lsn;
use base::interrupt::{self, Interrupt};
use wire::backend::{Replies, Status};

use crate::connection::{Guest, Link, Peer};
use crate::encryption::Encryption;
use crate::report;
use crate::worker::Worker;
use sql::error::{Severity, SqlError, SqlState};
use sql::session::{Ending, Notification, Session};
use sql::types::Encoding;

/// What a connection needs while it is served, and between times its session.
pub(crate) struct Seat {
    worker: Rc<Worker>,
    link: Rc<Link>,
    pub(crate) peer: Peer,
    pub(crate) session: Option<Session>,
    /// What the client has still to prove before it has one.
    proving: Option<Box<login::Proving>>,
    /// What the connection is encrypted by, to which the client's proof can be bound.
    pub(crate) encryption: Option<Arc<Encryption>>,
    /// The session's process number, known to cancel requests.
    process: Option<i32>,
    /// What the client sent; consumed from the front.
    pub(crate) input: Vec<u8>,
    /// Replies that are not with the link yet.
    replies: Replies,
    /// How the client spells texts.
    encoding: Encoding,
    /// How much of the replies was there before the message being served.
    whole: usize,
    /// What must be durable before the replies in the seat may leave.
    told: Lsn,
    /// After an error in the extended protocol: everything up to Sync is ignored.
    skipping: bool,
    /// The client was told that its next command may come, and nothing has come since.
    pub(crate) is_ready: bool,
    /// The session is over, once what it was told has been sent.
    pub(crate) closing: bool,
}

/// What a fiber is started for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// A client's first packet.
    Startup,
    /// The next message by which it shows who it is.
    Proof,
    /// Messages, as many as are there whole.
    Messages,
    /// The session's end.
    End,
}

pub(crate) use login::is_answered;

/// A fiber's job.
pub(crate) fn run(mut seat: Box<Seat>, turn: Turn) {
    if seat.replies.capacity() == 0 {
        seat.replies = Replies::from_bytes(seat.worker.buffer());
    }
    match turn {
        Turn::Startup => startup::run(&mut seat),
        Turn::Proof => login::run(&mut seat),
        Turn::Messages => messages::run(&mut seat),
        Turn::End => seat.end_session(),
    }
    if seat.replies.is_empty() {
        let replies = std::mem::take(&mut seat.replies);
        seat.worker.reuse(replies.into_bytes());
    }
    if seat.input.is_empty() {
        let input = std::mem::take(&mut seat.input);
        seat.worker.reuse(input);
    }
    let link = Rc::clone(&seat.link);
    link.end(seat);
}

impl Seat {
    pub(crate) fn new(worker: &Rc<Worker>, link: &Rc<Link>, peer: Peer) -> Self {
        Seat {
            worker: Rc::clone(worker),
            link: Rc::clone(link),
            peer,
            session: None,
            proving: None,
            encryption: None,
            process: None,
            input: Vec::new(),
            replies: Replies::new(),
            encoding: Encoding::utf8(),
            whole: 0,
            told: Lsn::ZERO,
            skipping: false,
            is_ready: false,
            closing: false,
        }
    }

    /// A seat for a session that was served elsewhere before.
    pub(crate) fn resume(worker: &Rc<Worker>, link: &Rc<Link>, guest: Guest) -> (Self, Vec<u8>) {
        let Guest { peer, session, process, input, .. } = guest;
        let mut seat = Seat::new(worker, link, peer);
        seat.encoding = session.client_encoding();
        (seat.session, seat.process, seat.is_ready) = (Some(session), Some(process), true);
        (seat, input)
    }

    /// Whether the client has been told that it may go on, in no transaction, and nothing is left to tell it.
    pub(crate) fn is_at_rest(&self) -> bool {
        use sql::session::Status::Idle;
        let is_idle = self.session.as_ref().is_some_and(|session| session.status() == Idle);
        self.is_ready && is_idle && !self.closing && !self.skipping && self.replies.is_empty()
    }

    /// The session, its number and its client, to be served elsewhere.
    pub(crate) fn leave(mut self) -> (Session, i32, Peer) {
        let session = self.session.take().expect("who is at rest has a session");
        let process = self.process.take().expect("a session has a number");
        (session, process, self.peer)
    }

    /// Whether the client has been asked to show who it is.
    pub(crate) fn awaits_proof(&self) -> bool {
        self.proving.is_some()
    }

    /// Whether there is a session, or what is left of one, to be closed.
    pub(crate) fn has_place(&self) -> bool {
        self.process.is_some()
    }

    fn session(&mut self) -> &mut Session {
        self.session.as_mut().expect("messages are served to a session")
    }

    fn status(&mut self) -> Status {
        use sql::session::Status as Of;
        match self.session().status() {
            Of::Idle => Status::Idle,
            Of::InTransaction => Status::InTransaction,
            Of::Failed => Status::Failed,
        }
    }

    /// Remembers what the session has told; to be called behind every message, because the session
    /// speaks only of the last.
    fn heed(&mut self) {
        let lsn = match &self.session {
            Some(session) => session.must_be_durable(),
            // The session was abandoned; nobody knows any more what it has seen.
            None => self.worker.shared.wal().position(),
        };
        self.told = self.told.max(lsn);
    }

    /// Hands all replies over, to leave once what the session has told is durable.
    fn hand_over(&mut self) {
        let lsn = std::mem::take(&mut self.told);
        let durable = self.worker.shared.wal().durable();
        let mut sent = self.link.send(self.replies.buffer(), lsn, durable);
        // What a request to cancel was meant for is done; the client is still to get its reply.
        while let Err(Interrupt::Cancel | Interrupt::StatementTimeout) = sent {
            interrupt::clear_statement();
            sent = self.link.wait_for_room();
        }
        if let Err(interrupt) = sent {
            match interrupt {
                Interrupt::Disconnect => self.ends(Ending::Abandoned),
                _ => self.ends(Ending::Killed),
            }
            self.closing = true;
        }
    }

    /// Writes replies with strings in them.
    fn say(&mut self, write: impl FnOnce(&mut Replies)) {
        charset::say(self.encoding, &mut self.replies, write);
    }

    /// Tells the client what settings are.
    fn tell_settings(&mut self, settings: &[(&'static str, String)]) {
        for (name, value) in settings {
            self.say(|replies| replies.parameter_status(name, value));
        }
    }

    /// Tells the client what others have told the channels that it listens on.
    fn tell_mail(&mut self) {
        if !self.session().has_mail() {
            return;
        }
        for letter in self.session().take_mail() {
            self.told = self.told.max(letter.gate);
            let Notification { process, channel, payload, .. } = letter;
            self.say(|replies| replies.notification(process, &channel, &payload));
        }
    }

    /// The same between two requests: replies, and what must be durable before they may leave. Nothing, where the client
    /// is in a transaction or has asked for something.
    pub(crate) fn idle_mail(&mut self) -> Option<(Vec<u8>, Lsn)> {
        if !self.is_at_rest() {
            return None;
        }
        self.tell_mail();
        let lsn = std::mem::take(&mut self.told);
        Some((std::mem::take(&mut self.replies).into_bytes(), lsn))
    }

    /// Tells the client of an error; a fatal one ends the session.
    fn complain(&mut self, error: &SqlError) {
        self.say(|replies| report::error(replies, error));
        if error.fields().severity != Severity::Error {
            self.will_end(error);
            self.closing = true;
        }
    }

    /// The session ends with this error.
    pub(crate) fn will_end(&self, error: &SqlError) {
        let killed = error.sqlstate() == SqlState::ADMIN_SHUTDOWN;
        self.ends(if killed { Ending::Killed } else { Ending::Fatal });
    }

    /// Notes how the session ends, if there is one.
    pub(crate) fn ends(&self, how: Ending) {
        if let Some(session) = &self.session {
            session.ends(how);
        }
    }

    /// Drops the session, which rolls back what it has not committed.
    fn end_session(&mut self) {
        self.link.closes.set(true);
        drop(self.session.take());
        if let Some(process) = self.process.take() {
            self.worker.remove_session(process);
            self.worker.shared.leave(process);
            self.worker.shared.leave_place();
        }
    }

    /// Drops a session that a panic has left in an unknown state: it is rolled back, and does nothing else any more.
    fn abandon(&mut self) {
        let session = self.session.take();
        if catch_unwind(AssertUnwindSafe(|| session.map(Session::abandon))).is_err() {
            base::log!("a session that had panicked could not be rolled back");
            std::process::abort();
        }
    }
}
