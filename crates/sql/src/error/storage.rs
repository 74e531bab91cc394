//! The one table from storage's errors to SQLSTATEs.

use base::interrupt::Interrupt;

use super::{Severity, SqlError, SqlState};

impl From<::storage::Error> for SqlError {
    #[cold]
    fn from(error: ::storage::Error) -> SqlError {
        use ::storage::Error;
        let (message, state) = (error.to_string(), error.sqlstate());
        match error {
            Error::Awaited(cause) => SqlError::from(*cause),
            Error::Io(_) => SqlError::new(file_access(state), message),
            Error::NoSegment(_) => SqlError::new(file_access(state), message)
                .with_hint("The log can't grow; writing goes on when it can."),
            Error::DiskFull { .. } => SqlError::new(SqlState::DISK_FULL, message)
                .with_hint("Check free disk space; writing goes on when there is some."),
            Error::Damaged { .. } => SqlError::new(SqlState::DATA_CORRUPTED, message),
            Error::Refused(_) => SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message),
            Error::NoFreeBuffer { .. } => {
                SqlError::new(SqlState::INSUFFICIENT_RESOURCES, "no unpinned buffers available")
                    .with_detail(message)
                    .with_hint("Increase shared_buffers, or run fewer statements at once.")
            }
            Error::NoSuchRelation(_) => SqlError::new(SqlState::INTERNAL_ERROR, message),
            Error::Interrupted(why) => interrupted(why),
            Error::Deadlock { detail } => {
                SqlError::new(SqlState::T_R_DEADLOCK_DETECTED, "deadlock detected")
                    .with_detail(detail)
                    .with_hint("See server log for query details.")
            }
            Error::LockTimeout => SqlError::new(
                SqlState::LOCK_NOT_AVAILABLE,
                "canceling statement due to lock timeout",
            ),
            Error::LockNotAvailable => {
                SqlError::new(SqlState::LOCK_NOT_AVAILABLE, "could not obtain lock on row")
            }
            Error::Serialization(what) => SqlError::new(
                SqlState::T_R_SERIALIZATION_FAILURE,
                format!("could not serialize access due to {what}"),
            ),
            Error::Duplicate { .. } => SqlError::new(
                SqlState::UNIQUE_VIOLATION,
                "duplicate key value violates unique constraint",
            ),
            Error::TooLarge { .. } | Error::LimitExceeded(_) => {
                SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
            }
            Error::SequenceExhausted { .. } => {
                SqlError::new(SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message)
            }
            Error::ShuttingDown => interrupted(Interrupt::Terminate),
        }
    }
}

/// The state of what the system answered about a file.
fn file_access(state: &str) -> SqlState {
    SqlState::parse(state).expect("storage's states are well formed")
}

/// What an interrupt tells the client.
#[cold]
pub fn interrupted(why: Interrupt) -> SqlError {
    match why {
        Interrupt::Terminate => SqlError::new(
            SqlState::ADMIN_SHUTDOWN,
            "terminating connection due to administrator command",
        )
        .with_severity(Severity::Fatal),
        Interrupt::Disconnect => {
            SqlError::new(SqlState::CONNECTION_FAILURE, "connection to client lost")
                .with_severity(Severity::Fatal)
        }
        Interrupt::Cancel => {
            SqlError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
        }
        Interrupt::StatementTimeout => {
            SqlError::new(SqlState::QUERY_CANCELED, "canceling statement due to statement timeout")
        }
    }
}
