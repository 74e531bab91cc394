//! A connection: the task that owns its socket.
//!
//! The task sends what may leave, starts a fiber when a whole message has come, and reads when
//! neither is possible. While a fiber runs nothing is read, unless the fiber asks for it (COPY), so
//! a client that sends faster than it is served is held back by its own socket. An idle connection
//! owns no fiber and no buffer, and may go to another worker ([`Guest`]).

mod guest;
mod link;
mod outbox;
mod socket;
mod tls;

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base::clock;
use base::interrupt::Interrupt;
use base::memory;
use sql::error::{SqlError, interrupted};
use sql::session::{Ending, Session};
use tokio::time::{Instant, Sleep, sleep_until};
use wire::startup::{self, Request};
use wire::{backend::Replies, frame};

pub(crate) use guest::Guest;
pub(crate) use link::Link;
pub(crate) use socket::{Accepted, Peer, READ_BYTES};

use crate::encryption::Encryption;
use crate::report;
use crate::request::{self, Seat, Turn};
use crate::worker::{FIBER_PAUSE, Need, Worker};
use link::Wants;
use socket::Reader;

pub(crate) struct Connection {
    worker: Rc<Worker>,
    link: Rc<Link>,
    reader: Reader,
    /// What has come and is not served yet.
    input: Vec<u8>,
    /// The session; away while a fiber runs.
    seat: Option<Box<Seat>>,
    phase: Phase,
    asked: Asked,
    /// Ends the connection if its client has not said who it is by then.
    patience: Option<Pin<Box<Sleep>>>,
    /// Bytes that were left to send at the last turn, of a connection that ends.
    undrained: usize,
    /// When the session has idled for too long, once it has begun to.
    idle_until: Option<Instant>,
    /// Wakes the task then, or earlier: it is set anew only when it has rung, or would ring too late.
    idle_timer: Option<Pin<Box<Sleep>>>,
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Its first packet has not come.
    Startup,
    /// It is told that it may encrypt, or has begun to.
    Encrypting(Began),
    /// The two agree on keys.
    Agreeing(Began),
    /// A fiber looks at who it is and opens its session, or asks for a proof.
    Opening,
    /// The client is to show who it is.
    Proving,
    /// A session.
    Open,
    /// A fiber closes the session, or is to.
    Ending,
    /// Only what is in the outbox is left to do.
    Draining,
}

/// The kinds of encryption that a client has asked for.
#[derive(Default)]
struct Asked {
    tls: bool,
    gss: bool,
}

/// How a client has come to encrypt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Began {
    /// It has asked for it, and was told to go on.
    Asked,
    /// From its first byte on.
    AtOnce,
}

/// A byte that no first packet begins with, but a client that encrypts from the first byte on.
const TLS_HANDSHAKE: u8 = 0x16;

/// How a connection's time with a worker ends.
enum End {
    /// The client is gone, or was made to go.
    Over,
    /// The worker with this number serves it from now on.
    Leaves(usize),
}

/// A client that takes none of its last replies for this long does without them.
const DRAIN_PATIENCE: Duration = Duration::from_secs(5);

impl Connection {
    pub(crate) fn open(worker: &Rc<Worker>, accepted: Accepted) -> io::Result<Self> {
        let (reader, writer, peer) = socket::open(accepted)?;
        let link = Rc::new(Link::new(writer));
        worker.add_stranger(&link);
        let patience = tokio::time::sleep(worker.shared.options.authentication_timeout);
        let seat = Seat::new(worker, &link, peer);
        let connection = Connection::new(worker, link, reader, seat, Phase::Startup);
        Ok(Connection { patience: Some(Box::pin(patience)), ..connection })
    }

    fn new(
        worker: &Rc<Worker>,
        link: Rc<Link>,
        reader: Reader,
        seat: Seat,
        phase: Phase,
    ) -> Connection {
        Connection {
            worker: Rc::clone(worker),
            link,
            reader,
            input: Vec::new(),
            seat: Some(Box::new(seat)),
            phase,
            asked: Asked::default(),
            patience: None,
            undrained: 0,
            idle_until: None,
            idle_timer: None,
        }
    }

    /// Goes on with a connection that another worker had.
    pub(crate) fn adopt(
        worker: &Rc<Worker>,
        guest: Box<Guest>,
    ) -> Result<Self, (Box<Guest>, io::Error)> {
        let (process, peer) = (guest.process, guest.peer);
        let (reader, writer) = match socket::halves(Arc::clone(&guest.socket)) {
            Ok(halves) => halves,
            Err(fault) => return Err((guest, fault)),
        };
        let link = Rc::new(Link::new(writer));
        let (seat, input) = Seat::resume(worker, &link, *guest);
        worker.add_session(process, &link, peer);
        Ok(Connection { input, ..Connection::new(worker, link, reader, seat, Phase::Open) })
    }

    /// Serves the client until it leaves or is made to, or is to be served by another worker.
    pub(crate) async fn serve(mut self) -> Option<(usize, Box<Guest>)> {
        if let End::Leaves(to) = std::future::poll_fn(|context| self.turn(context)).await {
            return Some((to, self.into_guest()));
        }
        // Nothing more will come; a client that still waits for something learns it this way.
        if let Err(fault) = self.link.writer.borrow().shutdown()
            && fault.kind() != io::ErrorKind::NotConnected
        {
            base::log!("could not close a connection: {fault}");
        }
        None
    }

    /// Where it is to go now: it was told to, and stands between two requests.
    fn leaves(&self) -> Option<usize> {
        let (to, until) = self.link.destination.get()?;
        if to == self.worker.number || until.is_some_and(|until| clock::now() > until) {
            self.link.destination.set(None);
            return None;
        }
        // Keys stay where they are.
        let can = self.phase == Phase::Open && !self.reader.is_encrypted();
        let may = can && !self.input.is_empty() && self.link.is_at_rest();
        (may && self.seat.as_ref().is_some_and(|seat| seat.is_at_rest())).then_some(to)
    }

    fn into_guest(self) -> Box<Guest> {
        let (session, process, peer) = self.seat.expect("no fiber runs").leave();
        self.worker.remove_session(process);
        let socket = self.reader.into_socket();
        Box::new(Guest { socket, peer, session, process, input: self.input })
    }

    /// Does all that can be done now.
    fn turn(&mut self, context: &mut Context<'_>) -> Poll<End> {
        // Many others may have had the caches since this session's last request.
        memory::fetch_ahead(&*self.link);
        if let Some(seat) = &self.seat {
            memory::fetch_ahead(&**seat);
        }
        self.link.set_task(context.waker());
        loop {
            if self.seat.is_none() && !self.take_seat_back() {
                self.link.flush(&self.worker, Some(context));
                ready!(self.help_fiber(context));
                continue;
            }
            let can_wait = !self.link.blocked.get() && !self.link.mail_waits.get();
            if self.phase == Phase::Open && can_wait {
                self.worker.postpone(&self.link);
                if self.seat().session.as_ref().is_some_and(Session::holds_others_up) {
                    self.worker.send_postponed();
                }
            } else {
                self.link.flush(&self.worker, Some(context));
            }
            if self.phase == Phase::Open && self.brings_mail() {
                continue;
            }
            if let Some(to) = self.leaves() {
                return Poll::Ready(End::Leaves(to));
            }
            let phase = self.phase;
            match phase {
                Phase::Draining => return self.drained(context).map(|()| End::Over),
                Phase::Ending if self.seat().has_place() => ready!(self.end_later(context)),
                Phase::Ending => self.drain(),
                Phase::Opening if self.seat().session.is_some() => self.opened(),
                Phase::Opening if self.seat().awaits_proof() => self.phase = Phase::Proving,
                Phase::Opening => self.end(),
                Phase::Startup | Phase::Proving | Phase::Open if self.seat().closing => self.end(),
                _ if self.link.hung_up.get() || self.out_of_patience(context) => self.end(),
                Phase::Encrypting(_) | Phase::Agreeing(_) if self.link.terminated.get() => {
                    self.end()
                }
                Phase::Encrypting(_) if !self.link.outbox.borrow().is_empty() => {
                    return Poll::Pending;
                }
                Phase::Encrypting(began) => self.encrypt(began),
                Phase::Agreeing(began) => ready!(self.agree(began, context)),
                _ if self.link.terminated.get() => {
                    self.say_goodbye(interrupted(Interrupt::Terminate))
                }
                Phase::Startup if self.meet() => {}
                Phase::Open if self.has_message() => self.start(Turn::Messages),
                Phase::Proving if request::is_answered(&self.input) => {
                    self.phase = Phase::Opening;
                    self.start(Turn::Proof);
                }
                _ => match self.read(context) {
                    Poll::Ready(Ok(0)) => self.heard_all(),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Ready(Err(_)) => self.link.hang_up(),
                    Poll::Pending => {
                        let why = ready!(self.idle_too_long(context));
                        self.say_goodbye(why);
                    }
                },
            }
        }
    }

    /// Puts what others have told the session into the outbox, if its client waits for nothing else and has taken most
    /// of what it was sent.
    fn brings_mail(&mut self) -> bool {
        // What is pushed now would come in the place of what was lost.
        if self.link.hung_up.get() {
            return false;
        }
        let has_mail = self.seat().session.as_ref().is_some_and(Session::has_mail);
        self.link.mail_waits.set(has_mail && !self.link.has_room());
        if !has_mail || self.link.mail_waits.get() {
            return false;
        }
        let Some((mut replies, lsn)) = self.seat().idle_mail() else { return false };
        let durable = self.worker.shared.wal().durable();
        self.link.outbox.borrow_mut().push(&mut replies, lsn, durable);
        true
    }

    fn seat(&mut self) -> &mut Seat {
        self.seat.as_mut().expect("no fiber runs")
    }

    /// Pending until the outbox is empty, or there is no point in waiting for that.
    fn drained(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let outbox = self.link.outbox.borrow();
        let (waiting, held_up) = (outbox.len(), outbox.held_up_by().is_some());
        drop(outbox);
        // A server that ends does not wait for clients that take their time, only for the log.
        let ends = self.link.terminated.get() || self.worker.is_ending();
        let goes_on = held_up || (waiting < self.undrained && !ends);
        if goes_on {
            self.patience = Some(Box::pin(tokio::time::sleep(DRAIN_PATIENCE)));
        }
        self.undrained = waiting;
        if waiting == 0 || self.out_of_patience(context) {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    fn drain(&mut self) {
        self.link.draining.set(true);
        self.phase = Phase::Draining;
        self.undrained = self.link.outbox.borrow().len();
        self.patience = Some(Box::pin(tokio::time::sleep(DRAIN_PATIENCE)));
    }

    fn opened(&mut self) {
        self.phase = Phase::Open;
        self.patience = None;
        self.worker.remove_stranger(&self.link);
    }

    /// Takes the session back from a fiber that has ended; false while it runs.
    fn take_seat_back(&mut self) -> bool {
        let Some(mut seat) = self.link.take_ended() else { return false };
        self.input = std::mem::take(&mut seat.input);
        self.seat = Some(seat);
        self.idle_until = None;
        true
    }

    /// Gives a running fiber what it waits for; pending while there is nothing to give.
    fn help_fiber(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.link.wants.get() {
            Wants::Room if self.link.has_room() || self.link.hung_up.get() => {}
            Wants::Input if self.link.hung_up.get() => {}
            Wants::Input => {
                let mut incoming = std::mem::take(&mut *self.link.incoming.borrow_mut());
                incoming.reserve(READ_BYTES);
                let polled = self.reader.poll_read(context, &mut incoming);
                *self.link.incoming.borrow_mut() = incoming;
                match ready!(polled) {
                    Ok(0) => self.link.said_all.set(true),
                    Ok(_) => {}
                    Err(_) => self.link.hang_up(),
                }
            }
            _ => return Poll::Pending,
        }
        self.link.unpark();
        // The fiber is in the worker's queue now; running it here saves a round through the driver.
        self.worker.scheduler.run(1);
        self.worker.fibers_ran();
        Poll::Ready(())
    }

    /// Whether the input begins with a whole message, or with something that can never be one.
    fn has_message(&self) -> bool {
        !self.input.is_empty() && !matches!(frame::split(&self.input), Ok(frame::Split::Need(_)))
    }

    /// Looks at the first packet; false where more of it must come first. Each kind of encryption may be asked for once.
    fn meet(&mut self) -> bool {
        let encryption = self.encryption();
        let can_encrypt = encryption.is_some();
        if can_encrypt && !self.asked.tls && self.input.first() == Some(&TLS_HANDSHAKE) {
            self.seat().encryption = encryption;
            self.phase = Phase::Encrypting(Began::AtOnce);
            return true;
        }
        let size = match startup::split(&self.input) {
            Ok(startup::Split::Need(_)) => return false,
            Ok(startup::Split::Packet(Request::Ssl, size)) if !self.asked.tls => {
                self.asked.tls = true;
                if can_encrypt {
                    self.seat().encryption = encryption;
                    self.push_now(|replies| replies.encoded(b"S"));
                    self.input.drain(..size);
                    self.phase = Phase::Encrypting(Began::Asked);
                    return true;
                }
                size
            }
            Ok(startup::Split::Packet(Request::GssEnc, size)) if !self.asked.gss => {
                self.asked.gss = true;
                size
            }
            Ok(startup::Split::Packet(Request::Cancel { process, key }, _)) => {
                self.worker.shared.cancel(process, key);
                self.end();
                return true;
            }
            Ok(startup::Split::Packet(..)) | Err(_) => {
                self.phase = Phase::Opening;
                self.start(Turn::Startup);
                return true;
            }
        };
        self.push_now(|replies| replies.encoded(b"N"));
        self.input.drain(..size);
        true
    }

    /// What the client may encrypt by, if it likes: a unix socket is none to listen in on.
    fn encryption(&mut self) -> Option<Arc<Encryption>> {
        let is_remote = matches!(self.seat().peer, Peer::Remote(_));
        let may = is_remote && !self.reader.is_encrypted();
        may.then(|| self.worker.shared.encryption()).flatten()
    }

    /// From here on everything is encrypted, both ways.
    fn encrypt(&mut self, began: Began) {
        if began == Began::Asked && !self.input.is_empty() {
            // Somebody between client and server may have put it there, to be taken for what the client says encrypted.
            let message = "received unencrypted data after SSL request";
            return self.say_goodbye(report::violation(message));
        }
        let encryption = self.seat().encryption.clone().expect("it was offered");
        let before = std::mem::take(&mut self.input);
        let mut writer = self.link.writer.borrow_mut();
        let begun = encryption.begin().map_err(io::Error::other).and_then(|connection| {
            socket::encrypt((&mut self.reader, &mut writer), connection, &before)
        });
        drop(writer);
        match begun {
            Ok(()) => self.phase = Phase::Agreeing(began),
            Err(fault) => self.fail_to_encrypt(&fault),
        }
        self.asked.tls = true;
        self.asked.gss = true;
    }

    /// Goes on with agreeing on keys, behind which the first packet comes.
    fn agree(&mut self, began: Began, context: &mut Context<'_>) -> Poll<()> {
        let mut writer = self.link.writer.borrow_mut();
        let agreed = ready!(self.reader.poll_agree(&mut writer, context));
        drop(writer);
        match agreed {
            Ok(means_us) if means_us || began == Began::Asked => self.phase = Phase::Startup,
            Ok(_) => {
                let why =
                    "it has encrypted at once and not said that it speaks PostgreSQL's protocol";
                self.fail_to_encrypt(&io::Error::other(why));
            }
            Err(fault) => self.fail_to_encrypt(&fault),
        }
        Poll::Ready(())
    }

    /// The client is told by TLS itself, if at all.
    fn fail_to_encrypt(&mut self, fault: &io::Error) {
        base::log!("a connection from {} could not be encrypted: {fault}", self.seat().peer);
        self.link.hang_up();
    }

    fn out_of_patience(&mut self, context: &mut Context<'_>) -> bool {
        self.patience.as_mut().is_some_and(|timer| timer.as_mut().poll(context).is_ready())
    }

    /// Reads what has come.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.input.capacity() == 0 {
            self.input = self.worker.buffer();
        } else if self.input.spare_capacity_mut().is_empty() {
            self.input.reserve(READ_BYTES);
        }
        let polled = self.reader.poll_read(context, &mut self.input);
        if polled.is_ready() {
            self.worker.heard(&self.link);
        } else if self.input.is_empty() {
            self.worker.reuse(std::mem::take(&mut self.input));
        }
        polled
    }

    /// Starts a fiber for `turn`; most are done when this returns. Where none can be had the client is refused, and a
    /// session that is to end stays in its phase, to try again.
    fn start(&mut self, turn: Turn) {
        if let Err(fault) = self.worker.make_room(self.need(turn)) {
            if !matches!(turn, Turn::End) {
                base::log!("no memory for another request: {fault}");
                self.say_goodbye(report::no_stack(&fault));
            }
            return;
        }
        let mut seat = self.seat.take().expect("no fiber runs");
        seat.input = std::mem::take(&mut self.input);
        let fiber = self.worker.start_fiber(move || request::run(seat, turn));
        if !self.take_seat_back() {
            self.link.running(fiber);
            // It may be long before the sockets are asked again.
            self.worker.send_postponed();
        }
        self.worker.fibers_ran();
    }

    fn need(&self, turn: Turn) -> Need {
        let session = self.seat.as_ref().and_then(|seat| seat.session.as_ref());
        match turn {
            Turn::End => Need::End,
            _ if session.is_some_and(Session::holds_others_up) => Need::LetGo,
            _ => Need::Other,
        }
    }

    /// Tries once more to start the fiber that closes the session; pending before it is time to.
    fn end_later(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let pause = || Box::pin(tokio::time::sleep(FIBER_PAUSE));
        ready!(self.patience.get_or_insert_with(pause).as_mut().poll(context));
        self.patience = None;
        self.start(Turn::End);
        Poll::Ready(())
    }

    /// Closes the session, if there is one.
    fn end(&mut self) {
        self.worker.remove_stranger(&self.link);
        if self.link.hung_up.get() && !self.seat().closing {
            self.seat().ends(Ending::Abandoned);
        }
        if self.seat().has_place() {
            (self.phase, self.patience) = (Phase::Ending, None);
            self.start(Turn::End);
        } else {
            self.drain();
        }
    }

    /// The client says nothing more. Whether it still listens turns out when it is sent what it has not got yet.
    fn heard_all(&mut self) {
        self.seat().ends(Ending::Abandoned);
        self.end();
    }

    /// Pending while the session may go on idling.
    fn idle_too_long(&mut self, context: &mut Context<'_>) -> Poll<SqlError> {
        let seat = self.seat.as_mut().expect("no fiber runs");
        let Some(session) = seat.session.as_ref().filter(|_| seat.is_ready) else {
            return Poll::Pending;
        };
        let Some(limit) = session.idle_limit() else { return Poll::Pending };
        let mut until = *self.idle_until.get_or_insert_with(|| Instant::now() + limit);
        loop {
            let timer = self.idle_timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
            if timer.deadline() > until {
                timer.as_mut().reset(until);
            }
            ready!(timer.as_mut().poll(context));
            let now = Instant::now();
            if now >= until {
                // It is not the client's fault when its last reply must wait.
                if self.link.outbox.borrow().is_empty() {
                    return Poll::Ready(session.idle_too_long());
                }
                until = now + limit;
                self.idle_until = Some(until);
            }
            timer.as_mut().reset(until);
        }
    }

    /// Ends an idle session and says why.
    fn say_goodbye(&mut self, why: SqlError) {
        self.seat().will_end(&why);
        self.push_now(|replies| report::fatal(replies, why));
        self.end();
    }

    /// Puts a reply into the outbox that depends on nothing.
    fn push_now(&mut self, write: impl FnOnce(&mut Replies)) {
        let mut replies = Replies::new();
        write(&mut replies);
        let durable = self.worker.shared.wal().durable();
        self.link.outbox.borrow_mut().push(&mut replies.into_bytes(), durable, durable);
    }
}
