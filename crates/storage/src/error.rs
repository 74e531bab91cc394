//! Everything that storage can refuse, as one closed enum, and the table that maps it to SQLSTATE.
//!
//! A broken invariant is no error: it aborts the process with a message that says which, because
//! recovery is tested and limping is not.

use base::interrupt::Interrupt;
use base::{BlockNo, RelId, Tid, Xid};
use std::fmt;
use std::io;
use std::time::Duration;

/// Shorthand for storage's results.
pub type Result<T> = std::result::Result<T, Error>;

/// Why storage did not do what was asked.
#[derive(Debug)]
pub enum Error {
    /// The disk refused an operation on a file.
    Io(Box<IoError>),
    /// There is no room for more log or data. Nothing was changed; what was there can be read.
    DiskFull {
        /// The file that could not grow.
        file: String,
        /// From which block of it on, where blocks have numbers.
        block: Option<BlockNo>,
    },
    /// No further segment of the log can be made, for another reason than lack of room. Nothing was changed; what was
    /// there can be read, and writing goes on by itself once one can.
    NoSegment(Box<IoError>),
    /// Bytes read back are not what was written.
    Damaged {
        /// The file.
        file: String,
        /// Which block of it, where blocks have numbers.
        block: Option<BlockNo>,
        /// What is wrong with it.
        detail: String,
    },
    /// The directory can't be opened by this program: another version, another server, not a data directory.
    Refused(String),
    /// Every frame of the buffer cache is held, or dirty and not yet written, for longer than one waits.
    NoFreeBuffer {
        /// How long was waited.
        waited: Duration,
    },
    /// A relation's file does not exist.
    NoSuchRelation(RelId),
    /// The statement or session was told to stop.
    Interrupted(Interrupt),
    /// Waiting for this transaction closed a circle.
    Deadlock {
        /// Who waits for whom, one line each.
        detail: String,
    },
    /// `lock_timeout` passed.
    LockTimeout,
    /// Another transaction was waited for, until this happened.
    Awaited(Box<Error>),
    /// A lock that was asked for without waiting is held by others.
    LockNotAvailable,
    /// REPEATABLE READ met a row that changed after its snapshot.
    Serialization(&'static str),
    /// A unique index already has the key, in this row.
    Duplicate {
        /// The live row that has it.
        tid: Tid,
        /// Who wrote it.
        by: Xid,
    },
    /// A row or key does not fit where it must.
    TooLarge {
        /// What: "row", "index key".
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The most that fits.
        bytes_max: usize,
    },
    /// A configured limit was reached (locks, savepoint depth, relation size).
    LimitExceeded(String),
    /// A sequence ran past its last value.
    SequenceExhausted {
        /// Whether it ran up (past the maximum) or down.
        ascending: bool,
        /// The bound.
        bound: i64,
    },
    /// The engine is shutting down.
    ShuttingDown,
}

/// What the disk refused.
#[derive(Debug)]
pub struct IoError {
    /// "read", "write", "sync", "open", "rename", "remove", "create", …
    pub what: &'static str,
    /// The file, relative to the data directory.
    pub file: String,
    /// Which block of it, where blocks have numbers.
    pub block: Option<BlockNo>,
    /// The system's answer.
    pub source: io::Error,
}

impl Error {
    /// An error of the disk; "no space left" becomes [`Error::DiskFull`]. But not where a sync says so: whatever its
    /// reason, what the system kept of the file can't be known, and it must not be tried again.
    pub fn io(what: &'static str, file: impl Into<String>, source: io::Error) -> Error {
        Error::io_at(what, file, None, source)
    }

    /// As [`Error::io`], naming the block.
    pub fn io_at(
        what: &'static str,
        file: impl Into<String>,
        block: Option<BlockNo>,
        source: io::Error,
    ) -> Error {
        let file = file.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded if what != "sync" => {
                Error::DiskFull { file, block }
            }
            _ => Error::Io(Box::new(IoError { what, file, block, source })),
        }
    }

    /// Whether log can't grow for now: who only reads does without.
    pub fn is_log_refused(&self) -> bool {
        matches!(self, Error::DiskFull { .. } | Error::NoSegment(_))
    }

    /// Bytes read back are not what was written.
    pub fn damaged(
        file: impl Into<String>,
        block: Option<BlockNo>,
        detail: impl Into<String>,
    ) -> Error {
        Error::Damaged { file: file.into(), block, detail: detail.into() }
    }

    /// What happened, whether another transaction was waited for or not.
    pub fn cause(&self) -> &Error {
        match self {
            Error::Awaited(cause) => cause,
            own => own,
        }
    }

    /// PostgreSQL's five characters for it.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Error::Awaited(cause) => cause.sqlstate(),
            Error::Io(e) | Error::NoSegment(e) => e.sqlstate(),
            Error::DiskFull { .. } => "53100",
            Error::Damaged { .. } => "XX001",
            Error::Refused(_) => "55000",
            Error::NoFreeBuffer { .. } => "53000",
            Error::NoSuchRelation(_) => "58P01",
            Error::Interrupted(Interrupt::Terminate) | Error::ShuttingDown => "57P01",
            Error::Interrupted(Interrupt::Disconnect) => "08006",
            Error::Interrupted(Interrupt::Cancel | Interrupt::StatementTimeout) => "57014",
            Error::Deadlock { .. } => "40P01",
            Error::LockTimeout | Error::LockNotAvailable => "55P03",
            Error::Serialization(_) => "40001",
            Error::Duplicate { .. } => "23505",
            Error::TooLarge { .. } | Error::LimitExceeded(_) => "54000",
            Error::SequenceExhausted { .. } => "2200H",
        }
    }

    /// What to do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self.cause() {
            Error::DiskFull { .. } => Some("Check free disk space."),
            Error::NoFreeBuffer { .. } => Some("Increase shared_buffers."),
            Error::Deadlock { .. } => Some("See server log for query details."),
            Error::Damaged { .. } => Some(
                "Run thalweg check on the data directory, and restore what it names from a backup.",
            ),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) | Error::NoSegment(e) => e.fmt(f),
            Error::DiskFull { file, block } => {
                write!(f, "could not extend file \"{file}\"")?;
                if let Some(block) = block {
                    write!(f, " at block {block}")?;
                }
                f.write_str(": No space left on device")
            }
            Error::Damaged { file, block: Some(block), detail } => {
                write!(f, "invalid page in block {block} of file \"{file}\": {detail}")
            }
            Error::Damaged { file, block: None, detail } => {
                write!(f, "file \"{file}\" is damaged: {detail}")
            }
            Error::Refused(why) => f.write_str(why),
            Error::NoFreeBuffer { waited } => {
                write!(f, "no unpinned buffers available within {} ms", waited.as_millis())
            }
            Error::NoSuchRelation(rel) => write!(f, "relation file {rel} does not exist"),
            Error::Interrupted(why) => f.write_str(interrupt_message(*why)),
            Error::Awaited(cause) => cause.fmt(f),
            Error::Deadlock { .. } => f.write_str("deadlock detected"),
            Error::LockTimeout => f.write_str("canceling statement due to lock timeout"),
            Error::LockNotAvailable => f.write_str("could not obtain lock"),
            Error::Serialization(what) => f.write_str(what),
            Error::Duplicate { .. } => {
                f.write_str("duplicate key value violates unique constraint")
            }
            Error::TooLarge { what, bytes, bytes_max } => {
                write!(f, "{what} is too big: size {bytes}, maximum size {bytes_max}")
            }
            Error::LimitExceeded(what) => f.write_str(what),
            Error::SequenceExhausted { ascending: true, bound } => {
                write!(f, "reached maximum value of sequence ({bound})")
            }
            Error::SequenceExhausted { ascending: false, bound } => {
                write!(f, "reached minimum value of sequence ({bound})")
            }
            Error::ShuttingDown => f.write_str("the database system is shutting down"),
        }
    }
}

fn interrupt_message(why: Interrupt) -> &'static str {
    match why {
        Interrupt::Terminate => "terminating connection due to administrator command",
        Interrupt::Disconnect => "connection to client lost",
        Interrupt::Cancel => "canceling statement due to user request",
        Interrupt::StatementTimeout => "canceling statement due to statement timeout",
    }
}

impl IoError {
    /// As PostgreSQL tells what the system answered about a file (`errcode_for_file_access`).
    fn sqlstate(&self) -> &'static str {
        /// "Too many open files", in the process and in the system: they have no kind of their own.
        const TOO_MANY_OPEN: [i32; 2] = [24, 23];
        match self.source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "42501",
            io::ErrorKind::NotFound => "58P01",
            io::ErrorKind::AlreadyExists => "58P02",
            io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::DirectoryNotEmpty => "42809",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "53100",
            io::ErrorKind::OutOfMemory => "53200",
            _ if self.source.raw_os_error().is_some_and(|code| TOO_MANY_OPEN.contains(&code)) => {
                "53000"
            }
            _ => "58030",
        }
    }
}

impl Clone for IoError {
    /// The system's answer is copied by its number, or its words where it has none.
    fn clone(&self) -> IoError {
        let source = match self.source.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(self.source.kind(), self.source.to_string()),
        };
        IoError { what: self.what, file: self.file.clone(), block: self.block, source }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not {} ", self.what)?;
        if let Some(block) = self.block {
            write!(f, "block {block} of ")?;
        }
        write!(f, "file \"{}\": {}", self.file, self.source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(e) | Error::NoSegment(e) => Some(&e.source),
            _ => None,
        }
    }
}

impl From<Interrupt> for Error {
    fn from(why: Interrupt) -> Error {
        Error::Interrupted(why)
    }
}

/// Ends the process: going on could lose what was promised. Recovery answers.
pub(crate) fn fatal(why: &str) -> ! {
    base::log!("fatal: {why}");
    std::process::abort();
}

/// Runs what others rely on, or what can't be half done: if it panics, the process ends.
#[inline]
pub fn or_abort(name: &str, body: impl FnOnce()) {
    struct Alarm<'a>(&'a str);
    impl Drop for Alarm<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                fatal(&format!("the {} ended in a panic", self.0));
            }
        }
    }
    let _alarm = Alarm(name);
    body();
}
