//! Boards: what each session is doing, for all others to see in `pg_stat_activity`.
//!
//! A session writes to its own board when a statement begins and when it waits for the next one: plain stores to
//! lines that nobody else writes, no latch, no allocation. Readers come rarely; they copy the text under a
//! version that is odd while the session writes, and look again if it has changed meanwhile.
//!
//! Boards live for ever and are used again: a fiber's waits are shown through a reference that no one has to
//! take back ([`base::wait_event`]), and a reader can't come too late.

use base::sync::unmodelled::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex};

use base::Lsn;
use base::wait_event::Event;

use super::done::{Done, Sums};

/// So much of a statement's text is shown: PostgreSQL's `track_activity_query_size`, less its final zero.
pub const QUERY_BYTES: usize = 1023;
const WORDS: usize = (QUERY_BYTES + 1) / 8;

/// What a session is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Doing {
    /// Nothing yet.
    Starting,
    Active,
    Idle,
    IdleInTransaction,
    IdleInFailedTransaction,
}

impl Doing {
    const ALL: [Doing; 5] = [
        Doing::Starting,
        Doing::Active,
        Doing::Idle,
        Doing::IdleInTransaction,
        Doing::IdleInFailedTransaction,
    ];

    /// `pg_stat_activity.state`.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Doing::Starting => None,
            Doing::Active => Some("active"),
            Doing::Idle => Some("idle"),
            Doing::IdleInTransaction => Some("idle in transaction"),
            Doing::IdleInFailedTransaction => Some("idle in transaction (aborted)"),
        }
    }
}

/// One session's board. Times are microseconds as SQL counts them; 0 for none.
#[repr(align(128))]
pub struct Board {
    /// Odd while the session writes.
    version: AtomicU32,
    doing: AtomicU8,
    /// Bytes of the text.
    len: AtomicU32,
    /// What the session waits for, as [`Event::in_sink`] reads it.
    wait: AtomicU32,
    query_start: AtomicI64,
    state_change: AtomicI64,
    xact_start: AtomicI64,
    /// The reply to the last statement leaves once the log is durable up to here.
    told: AtomicU64,
    text: [AtomicU64; WORDS],
    done: Done,
    application: Mutex<Arc<str>>,
}

/// A board as a reader found it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub doing: Doing,
    pub query: String,
    pub query_start: i64,
    pub state_change: i64,
    pub xact_start: i64,
    pub told: Lsn,
    pub wait: Option<Event>,
    pub application: Arc<str>,
}

/// Boards that no session has.
static SPARE: Mutex<Vec<&'static Board>> = Mutex::new(Vec::new());

/// A session's use of a board; the board is spare again when this is dropped.
pub struct Lease(&'static Board);

impl Default for Lease {
    fn default() -> Lease {
        let spare = SPARE.lock().expect("no code panics under it").pop();
        Lease(spare.unwrap_or_else(|| Box::leak(Box::new(Board::new()))))
    }
}

impl std::ops::Deref for Lease {
    type Target = &'static Board;

    fn deref(&self) -> &&'static Board {
        &self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        base::wait_event::report_to(None);
        self.0.clear();
        SPARE.lock().expect("no code panics under it").push(self.0);
    }
}

impl Board {
    fn new() -> Board {
        Board {
            version: AtomicU32::new(0),
            doing: AtomicU8::new(Doing::Starting as u8),
            len: AtomicU32::new(0),
            wait: AtomicU32::new(0),
            query_start: AtomicI64::new(0),
            state_change: AtomicI64::new(0),
            xact_start: AtomicI64::new(0),
            told: AtomicU64::new(0),
            text: [const { AtomicU64::new(0) }; WORDS],
            done: Done::default(),
            application: Mutex::new(Arc::from("")),
        }
    }

    fn clear(&self) {
        self.write(|| {
            self.doing.store(Doing::Starting as u8, Ordering::Relaxed);
            self.len.store(0, Ordering::Relaxed);
            self.query_start.store(0, Ordering::Relaxed);
            self.state_change.store(0, Ordering::Relaxed);
        });
        self.xact_start.store(0, Ordering::Relaxed);
        self.wait.store(0, Ordering::Relaxed);
        self.done.clear();
        self.set_application("");
    }

    /// Changes what readers must find together. Only by the session.
    #[inline]
    fn write(&self, change: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        // Release, with the acquire fence in `read`: who sees anything of the change sees an odd version, or
        // a later one.
        fence(Ordering::Release);
        change();
        // Release: pairs with the acquire in `read`.
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// A statement that began at `start`; with its text unless that is on the board already. From here on the
    /// context's waits are shown.
    #[inline]
    pub fn active(&'static self, text: Option<&str>, start: i64) {
        base::wait_event::report_to(Some(&self.wait));
        let before = self.doing.load(Ordering::Relaxed);
        let begins = before != Doing::Active as u8;
        if before >= Doing::IdleInTransaction as u8 {
            self.done.in_transaction(start - self.state_change.load(Ordering::Relaxed));
        }
        self.write(|| {
            if let Some(text) = text {
                self.put(text);
            }
            self.query_start.store(start, Ordering::Relaxed);
            if begins {
                self.doing.store(Doing::Active as u8, Ordering::Relaxed);
                self.state_change.store(start, Ordering::Relaxed);
            }
        });
    }

    #[inline]
    fn put(&self, text: &str) {
        let mut len = text.len().min(QUERY_BYTES);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        let (words, rest) = text.as_bytes()[..len].as_chunks::<8>();
        for (place, word) in self.text.iter().zip(words) {
            place.store(u64::from_le_bytes(*word), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.text[words.len()].store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
        self.len.store(len as u32, Ordering::Relaxed);
    }

    /// The session waits for its client; what it has told leaves once the log is durable up to `told`.
    #[inline]
    pub fn at_rest(&self, doing: Doing, told: Lsn) {
        base::wait_event::report_to(None);
        let start = self.query_start.load(Ordering::Relaxed);
        let now = super::coarse_stamp().0.max(start);
        if self.doing.load(Ordering::Relaxed) == Doing::Active as u8 {
            self.done.active(now - self.state_change.load(Ordering::Relaxed));
        }
        self.write(|| {
            self.doing.store(doing as u8, Ordering::Relaxed);
            self.state_change.store(now, Ordering::Relaxed);
            self.told.store(told.0, Ordering::Relaxed);
        });
    }

    /// A transaction began, or (0) has ended.
    #[inline]
    pub fn transaction(&self, start: i64) {
        self.xact_start.store(start, Ordering::Relaxed);
    }

    /// What the session has done.
    #[inline]
    pub(super) fn done(&self) -> &Done {
        &self.done
    }

    /// The same in sums, of a session that has lasted for `micros`.
    pub fn sums(&self, micros: i64) -> Sums {
        self.done.sums(micros)
    }

    /// `application_name` is this now.
    pub fn set_application(&self, name: &str) {
        let mut application = self.application.lock().expect("no code panics under it");
        if **application != *name {
            *application = Arc::from(name);
        }
    }

    /// Everything that is on it, as it was at one moment.
    pub fn read(&self) -> Seen {
        loop {
            // Acquire: pairs with the release at the end of `write`.
            let before = self.version.load(Ordering::Acquire);
            let len = self.len.load(Ordering::Relaxed) as usize;
            let words = self.text[..len.div_ceil(8).min(WORDS)].iter();
            let mut bytes: Vec<u8> =
                words.flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
            bytes.truncate(len);
            let doing = self.doing.load(Ordering::Relaxed);
            let seen = Seen {
                doing: Doing::ALL[usize::from(doing)],
                query: String::new(),
                query_start: self.query_start.load(Ordering::Relaxed),
                state_change: self.state_change.load(Ordering::Relaxed),
                xact_start: self.xact_start.load(Ordering::Relaxed),
                told: Lsn(self.told.load(Ordering::Relaxed)),
                wait: Event::in_sink(&self.wait),
                application: Arc::clone(&self.application.lock().expect("no code panics under it")),
            };
            // Acquire: pairs with the release fence in `write`.
            fence(Ordering::Acquire);
            if before & 1 == 0 && self.version.load(Ordering::Relaxed) == before {
                let query = String::from_utf8(bytes).expect("a text was written whole");
                return Seen { query, ..seen };
            }
            base::park::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_read_back() {
        let board = Lease::default();
        board.active(Some("select 1"), 5);
        let seen = board.read();
        assert_eq!((&*seen.query, seen.query_start, seen.doing), ("select 1", 5, Doing::Active));
        let long = format!("x{}", "é".repeat(700));
        board.active(Some(&long), 6);
        assert_eq!(board.read().query, long[..QUERY_BYTES]);
        board.at_rest(Doing::Idle, Lsn(7));
        let seen = board.read();
        assert_eq!((seen.doing, seen.told), (Doing::Idle, Lsn(7)));
        assert_eq!(seen.query.len(), QUERY_BYTES);
    }

    /// Each text is one letter repeated, as often as its place in the alphabet says: no mixture is one.
    #[test]
    fn readers_find_whole_texts() {
        let board = Lease::default();
        let texts: Vec<String> = (1..=26u8)
            .map(|n| char::from(b'a' + n - 1).to_string().repeat(usize::from(n) * 11))
            .collect();
        let shown: &'static Board = *board;
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for round in 0..20_000 {
                    shown.active(Some(&texts[round % 26]), round as i64);
                }
            });
            while !writer.is_finished() {
                let query = shown.read().query;
                let first = query.bytes().next().unwrap_or(b'a');
                assert!(query.bytes().all(|byte| byte == first), "{query}");
                let times = usize::from(first - b'a' + 1) * 11;
                assert!(query.is_empty() || query.len() == times, "{query}");
            }
        });
    }
}
