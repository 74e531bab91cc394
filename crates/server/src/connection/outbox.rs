//! Replies on their way to the client: in order, each no earlier than what it tells is durable.

use std::collections::VecDeque;

use base::Lsn;

/// So much of what has been sent is kept, to be cleared when all has been.
const SENT_BYTES_MAX: usize = 64 << 10;

/// Replies that are done but not sent. What lies before `free` may leave now; behind it, each mark
/// says up to where the log must be durable before the bytes in front of it may leave.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
    free: usize,
    /// End offsets and log positions, both rising.
    marks: VecDeque<(usize, Lsn)>,
}

impl Outbox {
    /// Takes over everything in `replies`, which is left empty. `lsn` is what must be durable first;
    /// replies never overtake each other, so those added before count too.
    pub(crate) fn push(&mut self, replies: &mut Vec<u8>, lsn: Lsn, durable: Lsn) {
        if replies.is_empty() {
            return;
        }
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, replies);
        } else {
            self.forget_sent();
            self.bytes.extend_from_slice(replies);
            replies.clear();
        }
        let end = self.bytes.len();
        match self.marks.back_mut() {
            None if lsn <= durable => self.free = end,
            // What the last one waits for covers this one.
            Some(last) if lsn <= last.1 => last.0 = end,
            _ => self.marks.push_back((end, lsn)),
        }
    }

    /// Gives up the memory of what has been sent, once that is more than what waits: a client that is slow all the time
    /// may never take the last byte before the next ones come.
    fn forget_sent(&mut self) {
        if self.sent < SENT_BYTES_MAX.max(self.len()) {
            return;
        }
        self.bytes.drain(..self.sent);
        self.free -= self.sent;
        self.marks.iter_mut().for_each(|(end, _)| *end -= self.sent);
        self.sent = 0;
    }

    /// Bytes that wait, for whatever reason.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Whether everything has left.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What may leave now, if the log is durable up to `durable`.
    pub(crate) fn sendable(&mut self, durable: Lsn) -> &[u8] {
        while let Some(&(end, lsn)) = self.marks.front()
            && lsn <= durable
        {
            self.free = end;
            self.marks.pop_front();
        }
        self.free()
    }

    /// What could leave when [`Outbox::sendable`] was last asked.
    pub(crate) fn free(&self) -> &[u8] {
        &self.bytes[self.sent..self.free]
    }

    /// What must become durable before the next byte may leave, where that is what holds it up.
    pub(crate) fn held_up_by(&self) -> Option<Lsn> {
        match self.marks.front() {
            Some(&(_, lsn)) if self.sent == self.free => Some(lsn),
            _ => None,
        }
    }

    /// Counts bytes as sent. Once all are, their memory can be taken.
    pub(crate) fn advance(&mut self, count: usize) {
        self.sent += count;
        debug_assert!(self.sent <= self.free, "sent what may not leave yet");
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
            self.free = 0;
        }
    }

    /// The memory of an empty outbox, for somebody else to use.
    pub(crate) fn take_memory(&mut self) -> Option<Vec<u8>> {
        (self.bytes.is_empty() && self.bytes.capacity() > 0)
            .then(|| std::mem::take(&mut self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(outbox: &mut Outbox, text: &str, lsn: u64, durable: u64) {
        outbox.push(&mut text.as_bytes().to_vec(), Lsn(lsn), Lsn(durable));
    }

    #[test]
    fn replies_leave_in_order_as_the_log_becomes_durable() {
        let mut outbox = Outbox::default();
        push(&mut outbox, "a", 0, 5);
        push(&mut outbox, "b", 7, 5);
        push(&mut outbox, "c", 0, 5);
        push(&mut outbox, "d", 9, 5);
        assert_eq!(outbox.sendable(Lsn(5)), b"a");
        assert_eq!(outbox.held_up_by(), None);
        outbox.advance(1);
        assert_eq!(outbox.sendable(Lsn(6)), b"");
        assert_eq!(outbox.held_up_by(), Some(Lsn(7)));
        assert_eq!(outbox.sendable(Lsn(8)), b"bc");
        outbox.advance(1);
        assert_eq!(outbox.sendable(Lsn(9)), b"cd");
        outbox.advance(2);
        assert!(outbox.is_empty() && outbox.held_up_by().is_none());
        push(&mut outbox, "e", 9, 9);
        assert_eq!(outbox.sendable(Lsn(9)), b"e");
    }

    #[test]
    fn what_has_been_sent_is_forgotten_though_something_always_waits() {
        let (piece, mut outbox) = (100_000, Outbox::default());
        let (mut pushed, mut taken) = (0_u64, 0_u64);
        for round in 0..100_u64 {
            // Every second piece waits for the log a round longer.
            let bytes = (pushed..pushed + piece).map(|n| (n % 251) as u8);
            outbox.push(&mut bytes.collect(), Lsn(round + round % 2), Lsn(round));
            pushed += piece;
            let sendable = outbox.sendable(Lsn(round));
            let count = sendable.len().saturating_sub(10_000);
            let alike =
                sendable[..count].iter().zip(taken..).all(|(byte, n)| *byte == (n % 251) as u8);
            assert!(alike, "round {round}");
            outbox.advance(count);
            taken += count as u64;
            assert_eq!(outbox.len() as u64, pushed - taken);
            assert!(outbox.bytes.len() < 500_000, "{} bytes in round {round}", outbox.bytes.len());
        }
        assert_eq!(outbox.sendable(Lsn(100)).len() as u64, pushed - taken);
    }
}
