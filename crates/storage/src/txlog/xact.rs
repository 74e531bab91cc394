//! The xact log: two bits for every transaction there ever was, durable.
//!
//! It is written in the background, a window page at a time (see `fold` in this folder's `mod.rs`), and by
//! redo. A transaction that it says nothing of, and that is older than the window, rolled back: either its
//! rollback was not worth writing down, or a crash ended it.

use super::slru::{PAGE_WORDS, Slru, SlruError};
use base::{Lsn, Xid};

/// Transactions of a word, and of a page.
const PER_WORD: u64 = 32;
/// Transactions of a page.
pub const XACT_PAGE: u64 = PER_WORD * PAGE_WORDS as u64;

/// What the two bits say. The fourth value, PostgreSQL's "sub-committed", is never written: a
/// subtransaction's bits are set only when its top-level transaction has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Status {
    /// Nothing written down: running, or ended by a crash.
    Unknown = 0,
    /// Committed, with all that stands with it.
    Committed = 1,
    /// Rolled back.
    Aborted = 2,
}

/// The log.
pub struct XactLog {
    slru: Slru,
}

fn place(xid: Xid) -> (u64, usize, u32) {
    let within = xid.0 % XACT_PAGE;
    (xid.0 / XACT_PAGE, (within / PER_WORD) as usize, (within % PER_WORD) as u32 * 2)
}

impl XactLog {
    /// The log over an opened cache.
    pub fn new(slru: Slru) -> XactLog {
        XactLog { slru }
    }

    /// The cache under it.
    pub fn slru(&self) -> &Slru {
        &self.slru
    }

    /// What is written down about `xid`.
    #[inline]
    pub fn status(&self, xid: Xid) -> Result<Status, SlruError> {
        let (page, word, shift) = place(xid);
        let bits = self.slru.read(page, |p| p.word(word))? >> shift & 3;
        Ok(match bits {
            1 => Status::Committed,
            2 => Status::Aborted,
            _ => Status::Unknown,
        })
    }

    /// Writes down the fates of consecutive transactions from `first`, all on one page; `Unknown` leaves
    /// what is there. The page will not be written before the log is durable to `lsn`, which must lie
    /// behind the commit records of all that committed.
    pub fn set_run(&self, first: Xid, fates: &[Status], lsn: Lsn) -> Result<(), SlruError> {
        let (page, ..) = place(first);
        self.slru.update(page, lsn, |p| {
            for (i, status) in fates.iter().enumerate() {
                let (on, word, shift) = place(Xid(first.0 + i as u64));
                assert_eq!(on, page, "a run lies on one page");
                p.or(word, (*status as u64) << shift);
            }
        })
    }

    /// Writes down one fate: redo of a commit or rollback. Replaces what a lost future may have left. What is there
    /// already makes no page dirty: most of what redo comes by, and all of it where the page is packed.
    pub fn set(&self, xid: Xid, status: Status, lsn: Lsn) -> Result<(), SlruError> {
        let (page, word, shift) = place(xid);
        if self.status(xid)? == status {
            return Ok(());
        }
        self.slru.update(page, lsn, |p| {
            let others = p.word(word) & !(3 << shift);
            p.set(word, others | (status as u64) << shift);
        })
    }

    /// Begins the page of `xid` with zeros.
    pub fn begin_page(&self, xid: Xid) -> Result<(), SlruError> {
        self.slru.begin(xid.0 / XACT_PAGE, Lsn::ZERO, |_| ())
    }

    /// Erases what is written down from `xid` on, on its page: ids that will be handed out anew.
    pub fn erase_from(&self, xid: Xid) -> Result<(), SlruError> {
        let (page, word, shift) = place(xid);
        self.slru.update(page, Lsn::ZERO, |p| {
            p.set(word, p.word(word) & ((1 << shift) - 1));
            (word + 1..PAGE_WORDS).for_each(|w| p.set(w, 0));
        })
    }
}
