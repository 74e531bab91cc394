//! The gate: which connections wait for the log to become durable before their replies may leave.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::rc::Rc;

use base::Lsn;

use crate::connection::Link;
use crate::outgoing::Outgoing;

/// One worker's gated connections, the one with the lowest position first.
#[derive(Default)]
pub(crate) struct Gate {
    waiting: BinaryHeap<Reverse<Waiting>>,
}

struct Waiting {
    lsn: Lsn,
    link: Rc<Link>,
}

impl Gate {
    /// Has the connection's replies sent once the log is durable up to `lsn`.
    pub(crate) fn add(&mut self, lsn: Lsn, link: Rc<Link>) {
        self.waiting.push(Reverse(Waiting { lsn, link }));
    }

    /// Puts every connection that waits for nothing beyond `durable` among the `outgoing`; returns the lowest
    /// position that is still waited for.
    pub(crate) fn open(&mut self, durable: Lsn, outgoing: &Outgoing) -> Option<Lsn> {
        while let Some(Reverse(first)) = self.waiting.peek() {
            if first.lsn > durable {
                return Some(first.lsn);
            }
            // It is sent together with the others, however many there are.
            outgoing.add(&first.link);
            self.waiting.pop();
        }
        None
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.lsn == other.lsn
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.lsn.cmp(&other.lsn)
    }
}
