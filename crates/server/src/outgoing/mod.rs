//! Replies that leave together.
//!
//! A client that waits for many answers, a pool or a load generator, is woken by the first that arrives. Sent
//! one by one as they are made, each wakes it anew: it takes one answer, asks its next question and sleeps
//! again, and a core is passed to and fro for every statement. So a worker keeps the replies of the requests
//! it serves in one round of its sockets, and sends them when there is nothing left to serve, when there are
//! many, or when the first has waited for long enough. What a flush of the log lets go leaves together too.
//! Sending them in one call of the system ([`burst`]) is what keeps the client from being run in between.

mod burst;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use base::clock::{self, Instant};

use crate::connection::Link;
use crate::worker::Worker;
use burst::{BURST_MAX, Burst, Piece};

/// Once the first reply has waited for this long, nothing more is served before it leaves.
const PATIENCE: Duration = Duration::from_micros(200);

/// A worker's connections that have something to send.
pub(crate) struct Outgoing {
    links: RefCell<Vec<Rc<Link>>>,
    /// When the first of them was added.
    since: Cell<Instant>,
    /// None where the system grants no ring: each reply is sent by itself then.
    burst: RefCell<Option<Burst>>,
}

impl Outgoing {
    pub(crate) fn new() -> Outgoing {
        let burst = Burst::new();
        if let Err(fault) = &burst {
            base::log!("replies are sent one by one, because io_uring can't be used: {fault}");
        }
        Outgoing {
            links: RefCell::default(),
            since: Cell::new(Instant(0)),
            burst: RefCell::new(burst.ok()),
        }
    }

    /// Adds a connection, once; tells whether it is time to send.
    pub(crate) fn add(&self, link: &Rc<Link>) -> bool {
        let mut links = self.links.borrow_mut();
        let now = clock::now();
        if links.is_empty() {
            self.since.set(now);
        }
        // One that is there already, with more to send, makes nobody's waiting begin anew.
        if !link.outgoing.replace(true) {
            links.push(Rc::clone(link));
        }
        links.len() >= BURST_MAX || now.since(self.since.get()) >= PATIENCE
    }

    /// Sends what may leave of all that were added.
    pub(crate) fn send(&self, worker: &Worker) {
        let mut links = self.links.take();
        worker.look_whom_replies_wake(&links);
        for some in links.chunks(BURST_MAX) {
            if some.len() > 1 {
                self.send_together(worker, some);
            }
        }
        for link in links.drain(..) {
            link.outgoing.set(false);
            link.flush(worker, None);
            if link.waits_for_room() {
                link.wake_task();
            }
        }
        // Its memory serves the next round.
        *self.links.borrow_mut() = links;
    }

    /// Sends as much of each one's first piece as its socket takes.
    fn send_together(&self, worker: &Worker, links: &[Rc<Link>]) {
        let mut burst = self.burst.borrow_mut();
        let Some(ring) = &mut *burst else { return };
        let durable = worker.shared.wal().durable();
        for link in links {
            link.outbox.borrow_mut().sendable(durable);
        }
        let outboxes: Vec<_> = links.iter().map(|link| link.outbox.borrow()).collect();
        let mut pieces = [Piece::NONE; BURST_MAX];
        for ((piece, link), outbox) in pieces.iter_mut().zip(links).zip(&outboxes) {
            // What is to be encrypted leaves by itself.
            let bytes = if link.is_encrypted() { &[] } else { outbox.free() };
            *piece = Piece { socket: link.descriptor(), bytes };
        }
        let mut sent = [0; BURST_MAX];
        let result = ring.send(&pieces[..links.len()], &mut sent);
        drop(outboxes);
        for (link, sent) in links.iter().zip(sent) {
            link.outbox.borrow_mut().advance(sent);
        }
        if let Err(fault) = result {
            base::log!("replies are sent one by one from now on: {fault}");
            *burst = None;
        }
    }
}
