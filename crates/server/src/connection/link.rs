//! What a connection's task and the fiber of its running request share.
//!
//! Both run on the worker's thread, never at the same time, so plain cells do. A borrow never spans
//! a park or an await. Who does what:
//!
//! | | task | fiber |
//! |---|---|---|
//! | socket | reads, and writes unless the worker does | never |
//! | `outbox` | sends from the front, or leaves it to the worker | appends, parks while there is too much |
//! | `incoming` | appends what came, if the fiber wants it | takes all of it |
//! | `ended` | takes the seat back | puts it there as its last act |

use std::cell::{Cell, RefCell};
use std::io;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::task::{self, Poll, Waker};

use base::clock::Instant;
use base::interrupt::{self, Interrupt};
use base::park::Context;
use base::wait_event::{self, Event};
use base::{Lsn, park};

use super::outbox::Outbox;
use super::socket::Writer;
use crate::request::Seat;
use crate::worker::Worker;

/// A request that has gathered this much output stops until the client has taken some.
const OUTBOX_HIGH: usize = 256 << 10;
/// It goes on once less than this is left.
const OUTBOX_LOW: usize = 64 << 10;

/// What a parked fiber waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wants {
    /// Nothing of the client.
    Nothing,
    /// More bytes from the client.
    Input,
    /// The client to take what was sent.
    Room,
}

pub(crate) struct Link {
    /// The running request's context; none while the session is idle.
    fiber: RefCell<Option<Context>>,
    /// Wakes the connection's task.
    task: RefCell<Option<Waker>>,
    pub(crate) writer: RefCell<Writer>,
    pub(crate) outbox: RefCell<Outbox>,
    pub(crate) incoming: RefCell<Vec<u8>>,
    pub(crate) wants: Cell<Wants>,
    ended: Cell<Option<Box<Seat>>>,
    /// The fiber closes the session: what it leaves undone nobody does, so nothing interrupts it.
    pub(crate) closes: Cell<bool>,
    /// The client is gone: what is sent goes nowhere.
    pub(crate) hung_up: Cell<bool>,
    /// The client says nothing more, as far as a fiber has asked. It may still listen.
    pub(crate) said_all: Cell<bool>,
    /// Among those that the worker is about to send.
    pub(crate) outgoing: Cell<bool>,
    /// The socket had no room when the worker wrote: the task is to say when it has.
    pub(crate) blocked: Cell<bool>,
    /// The task waits for the outbox to become empty.
    pub(crate) draining: Cell<bool>,
    /// Others have told the session something, and there is no room for it.
    pub(crate) mail_waits: Cell<bool>,
    /// The server asked this session to end.
    pub(crate) terminated: Cell<bool>,
    /// What the gate was last told to wake the task for.
    pub(crate) gated: Cell<Lsn>,
    /// Where the worker counts its questions.
    pub(crate) place: Cell<Option<usize>>,
    /// The worker that it is to go to, if it can by then.
    pub(crate) destination: Cell<Option<(usize, Option<Instant>)>>,
}

impl Link {
    pub(crate) fn new(writer: Writer) -> Self {
        Link {
            writer: RefCell::new(writer),
            outgoing: Cell::new(false),
            blocked: Cell::new(false),
            draining: Cell::new(false),
            fiber: RefCell::default(),
            task: RefCell::default(),
            outbox: RefCell::default(),
            incoming: RefCell::default(),
            wants: Cell::new(Wants::Nothing),
            ended: Cell::new(None),
            closes: Cell::new(false),
            hung_up: Cell::new(false),
            said_all: Cell::new(false),
            mail_waits: Cell::new(false),
            terminated: Cell::new(false),
            gated: Cell::new(Lsn::ZERO),
            place: Cell::new(None),
            destination: Cell::new(None),
        }
    }

    /// Whether nobody but the task has anything to do with the connection.
    pub(crate) fn is_at_rest(&self) -> bool {
        let is_busy = self.outgoing.get() || self.blocked.get() || self.draining.get();
        let ends = self.hung_up.get() || self.terminated.get();
        !is_busy && !ends && self.outbox.borrow().is_empty() && self.wants.get() == Wants::Nothing
    }

    /// Remembers how to wake the task; called at each of its turns.
    pub(crate) fn set_task(&self, waker: &Waker) {
        let mut task = self.task.borrow_mut();
        match &mut *task {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    pub(crate) fn wake_task(&self) {
        if let Some(task) = &*self.task.borrow() {
            task.wake_by_ref();
        }
    }

    /// A fiber has begun and not ended within its first turn.
    pub(crate) fn running(&self, fiber: Context) {
        *self.fiber.borrow_mut() = Some(fiber);
    }

    /// The seat, if the fiber has ended.
    pub(crate) fn take_ended(&self) -> Option<Box<Seat>> {
        self.ended.take()
    }

    /// The fiber's last act.
    pub(crate) fn end(&self, seat: Box<Seat>) {
        self.ended.set(Some(seat));
        // At once: the next job on this fiber is another session's, and no interrupt of this one may reach it.
        if self.fiber.borrow_mut().take().is_some() {
            self.wake_task();
        }
    }

    /// Interrupts the running request, if one runs.
    pub(crate) fn interrupt(&self, why: Interrupt) {
        match &*self.fiber.borrow() {
            Some(fiber) if !self.closes.get() => fiber.interrupt(why),
            _ => {}
        }
    }

    /// Lets a fiber that waits for the client look again.
    pub(crate) fn unpark(&self) {
        self.wants.set(Wants::Nothing);
        if let Some(fiber) = &*self.fiber.borrow() {
            fiber.unpark();
        }
    }

    /// Whether a fiber that waits for room may go on.
    pub(crate) fn has_room(&self) -> bool {
        self.outbox.borrow().len() < OUTBOX_LOW
    }

    /// Sends what may leave. A client that takes nothing more is left alone until it does: the task is
    /// woken then, if it gives its `context`, or else at once, to come back with it. A client that is gone
    /// is remembered as such.
    pub(crate) fn flush(
        self: &Rc<Self>,
        worker: &Worker,
        mut context: Option<&mut task::Context<'_>>,
    ) {
        let mut outbox = self.outbox.borrow_mut();
        loop {
            let sendable = outbox.sendable(worker.shared.wal().durable());
            if sendable.is_empty() {
                break;
            }
            match self.write(sendable, context.as_deref_mut()) {
                Poll::Pending => return,
                Poll::Ready(Ok(count)) if count > 0 => outbox.advance(count),
                Poll::Ready(_) => {
                    drop(outbox);
                    return self.hang_up();
                }
            }
        }
        if let Some(lsn) = outbox.held_up_by() {
            worker.gate(lsn, self);
        } else if let Some(memory) = outbox.take_memory() {
            worker.reuse(memory);
        }
    }

    fn write(
        &self,
        bytes: &[u8],
        context: Option<&mut task::Context<'_>>,
    ) -> Poll<io::Result<usize>> {
        if let Some(context) = context {
            self.blocked.set(false);
            return self.writer.borrow_mut().poll_write(context, bytes);
        }
        match self.writer.borrow().try_write(bytes) {
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {
                self.blocked.set(true);
                self.wake_task();
                Poll::Pending
            }
            written => Poll::Ready(written),
        }
    }

    /// Of the socket that is written to.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.writer.borrow().descriptor()
    }

    /// The address of ours that the client has come to, over TCP.
    pub(crate) fn own_address(&self) -> Option<IpAddr> {
        self.writer.borrow().own_address()
    }

    /// Whether what is written to it is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.writer.borrow().is_encrypted()
    }

    /// Whether task or fiber wait until more has been sent.
    pub(crate) fn waits_for_room(&self) -> bool {
        self.draining.get() || self.mail_waits.get() || self.wants.get() == Wants::Room
    }

    /// The client is gone: nothing can be sent or received any more.
    pub(crate) fn hang_up(&self) {
        *self.outbox.borrow_mut() = Outbox::default();
        if !self.hung_up.replace(true) {
            self.interrupt(Interrupt::Disconnect);
            self.wake_task();
        }
    }

    /// Fiber: hands replies to the task, to leave once the log is durable up to `lsn`. Parks while
    /// the client is slow to take what went before.
    ///
    /// # Errors
    /// The interrupt that ended the wait.
    pub(crate) fn send(
        &self,
        replies: &mut Vec<u8>,
        lsn: Lsn,
        durable: Lsn,
    ) -> Result<(), Interrupt> {
        if self.hung_up.get() {
            replies.clear();
            return Err(Interrupt::Disconnect);
        }
        self.outbox.borrow_mut().push(replies, lsn, durable);
        if self.fiber.borrow().is_some() {
            // Not within the turn of the task that started it: what follows may take long.
            self.wake_task();
        }
        if self.outbox.borrow().len() < OUTBOX_HIGH { Ok(()) } else { self.wait_for_room() }
    }

    /// Fiber: parks until the client has taken most of what it is sent.
    ///
    /// # Errors
    /// The interrupt that ended the wait.
    pub(crate) fn wait_for_room(&self) -> Result<(), Interrupt> {
        while !self.has_room() {
            self.wait_for(Wants::Room)?;
        }
        Ok(())
    }

    /// Fiber: parks until the client has sent more, and exchanges `input`, which is kept, for it. There is no more where
    /// the client has said all.
    ///
    /// # Errors
    /// The interrupt that ended the wait.
    pub(crate) fn receive(&self, input: &mut Vec<u8>) -> Result<(), Interrupt> {
        let before = input.len();
        *self.incoming.borrow_mut() = std::mem::take(input);
        let mut waited = Ok(());
        while waited.is_ok() && self.incoming.borrow().len() == before && !self.said_all.get() {
            waited = self.wait_for(Wants::Input);
        }
        *input = std::mem::take(&mut *self.incoming.borrow_mut());
        waited
    }

    /// Parks once. A client that is gone can grant nothing.
    fn wait_for(&self, what: Wants) -> Result<(), Interrupt> {
        if self.hung_up.get() {
            return Err(Interrupt::Disconnect);
        }
        // A wait that does not heed interrupts may have been woken in this one's place.
        interrupt::check()?;
        self.wants.set(what);
        self.wake_task();
        let _waiting = wait_event::during(match what {
            Wants::Room => Event::ClientWrite,
            _ => Event::ClientRead,
        });
        park::park();
        self.wants.set(Wants::Nothing);
        interrupt::check()
    }
}
