//! What can go wrong with a status log, in words that name the file and what to do.

use super::config::LogKind;
use crate::error::Error;
use std::fmt;
use std::io;

/// A status log page could not be had or kept.
#[derive(Debug)]
pub enum SlruError {
    /// The page lies before the log's beginning: it was truncated away.
    Truncated {
        /// Which log.
        log: LogKind,
        /// The page asked for.
        page: u64,
    },
    /// A segment file is not there.
    Missing {
        /// Which log.
        log: LogKind,
        /// Its path in the data directory.
        file: String,
    },
    /// A segment file ends before the page, or a piece of the page does not carry its checksum.
    Damaged {
        /// Which log.
        log: LogKind,
        /// Its path in the data directory.
        file: String,
        /// Page within the log.
        page: u64,
        /// The first byte in the file of the piece.
        at: u64,
    },
    /// The system refused.
    Io {
        /// Which log.
        log: LogKind,
        /// Path in the data directory.
        file: String,
        /// What was tried: "read", "write", "open", …
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}

impl SlruError {
    /// What an operator should do about a file that is missing or damaged.
    fn remedy(log: LogKind) -> &'static str {
        if log.is_durable() {
            "it can't be computed from anything else: restore the data directory from a backup"
        } else {
            "it is rebuilt at every start: restart the server"
        }
    }
}

impl From<SlruError> for Error {
    fn from(error: SlruError) -> Error {
        let words = error.to_string();
        match error {
            SlruError::Truncated { log, .. } => {
                Error::damaged(log.directory(), None, format!("{words}, but is still referred to"))
            }
            SlruError::Missing { log, file } => {
                Error::damaged(file, None, format!("it is missing; {}", SlruError::remedy(log)))
            }
            SlruError::Damaged { log, file, page, at } => {
                let remedy = SlruError::remedy(log);
                let what = "is cut short or its checksum is wrong";
                let detail = format!("page {page} {what} in the sector at byte {at}; {remedy}");
                Error::damaged(file, None, detail)
            }
            SlruError::Io { file, action, source, .. } => Error::io(action, file, source),
        }
    }
}

impl fmt::Display for SlruError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SlruError::Truncated { log, page } => {
                write!(f, "page {page} of log {} was removed by truncation", log.name())
            }
            SlruError::Missing { file, .. } => {
                write!(f, "transaction log file \"{file}\" is missing")
            }
            SlruError::Damaged { file, page, at, .. } => write!(
                f,
                "transaction log file \"{file}\" is damaged at page {page}, in the sector at byte {at}: too short or \
                 wrong checksum"
            ),
            SlruError::Io { file, action, source, .. } => {
                write!(f, "could not {action} transaction log file \"{file}\": {source}")
            }
        }
    }
}

impl std::error::Error for SlruError {}
