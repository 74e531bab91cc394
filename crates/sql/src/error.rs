//! The error every layer above `storage` speaks: what PostgreSQL's `ErrorResponse` carries.
//!
//! An error is built where the fault is found, with PostgreSQL 15's SQLSTATE, message text,
//! detail and hint, and travels up unchanged; callers that know more (the position in the
//! statement, the constraint's name) add it on the way with the `with_*` methods.

mod sqlstate;
mod storage;

use std::fmt;

pub use self::storage::interrupted;
pub use sqlstate::SqlState;

/// The result of anything in `sql` that can fail.
pub type Result<T> = std::result::Result<T, SqlError>;

/// One error for the client. A single pointer, so that `Result<Datum>` is no larger than `Datum`.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlError(Box<ErrorFields>);

/// The fields of an error, as the protocol names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFields {
    /// `ERROR` unless the session must end (`FATAL`) or the process must (`PANIC`).
    pub severity: Severity,
    pub sqlstate: SqlState,
    /// Primary message, one line, as PostgreSQL words it.
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// Byte offset into the statement's text, from 0. The session turns it into the protocol's
    /// character position, which counts from 1.
    pub position: Option<u32>,
    /// The text of an internally generated query and the byte offset into it.
    pub internal: Option<(String, u32)>,
    /// The call stack in words (`CONTEXT`).
    pub context: Option<String>,
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: Option<String>,
    pub data_type: Option<String>,
    pub constraint: Option<String>,
    /// PostgreSQL's name of the routine that reports it, where clients go by that.
    pub routine: Option<&'static str>,
}

/// How much an error ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The statement, and its transaction block.
    Error,
    /// The session.
    Fatal,
    /// The process.
    Panic,
}

impl Severity {
    /// The protocol's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Panic => "PANIC",
        }
    }
}

impl SqlError {
    /// An `ERROR` with this code and primary message.
    #[cold]
    pub fn new(sqlstate: SqlState, message: impl Into<String>) -> SqlError {
        SqlError(Box::new(ErrorFields {
            severity: Severity::Error,
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            internal: None,
            context: None,
            schema: None,
            table: None,
            column: None,
            data_type: None,
            constraint: None,
            routine: None,
        }))
    }

    /// `XX000`: something that our own invariants rule out.
    #[cold]
    pub fn internal(message: impl Into<String>) -> SqlError {
        SqlError::new(SqlState::INTERNAL_ERROR, message)
    }

    /// `0A000`: a feature we refuse cleanly.
    #[cold]
    pub fn unsupported(message: impl Into<String>) -> SqlError {
        SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    }

    /// All fields.
    pub fn fields(&self) -> &ErrorFields {
        &self.0
    }

    /// All fields, for a caller that adds what only it knows.
    pub fn fields_mut(&mut self) -> &mut ErrorFields {
        &mut self.0
    }

    pub fn sqlstate(&self) -> SqlState {
        self.0.sqlstate
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> SqlError {
        self.0.severity = severity;
        self
    }

    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> SqlError {
        self.0.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> SqlError {
        self.0.hint = Some(hint.into());
        self
    }

    /// Points at a byte of the statement, unless something closer to the fault already did.
    #[must_use]
    pub fn at(mut self, byte_offset: u32) -> SqlError {
        self.0.position.get_or_insert(byte_offset);
        self
    }

    /// Adds a line of `CONTEXT` below those already there.
    #[must_use]
    pub fn with_context(mut self, line: impl Into<String>) -> SqlError {
        let line = line.into();
        match &mut self.0.context {
            Some(context) => {
                context.push('\n');
                context.push_str(&line);
            }
            empty => *empty = Some(line),
        }
        self
    }

    #[must_use]
    pub fn with_table(mut self, schema: &str, table: &str) -> SqlError {
        self.0.schema = Some(schema.to_owned());
        self.0.table = Some(table.to_owned());
        self
    }

    #[must_use]
    pub fn with_column(mut self, column: &str) -> SqlError {
        self.0.column = Some(column.to_owned());
        self
    }

    #[must_use]
    pub fn with_constraint(mut self, constraint: &str) -> SqlError {
        self.0.constraint = Some(constraint.to_owned());
        self
    }

    #[must_use]
    pub fn with_routine(mut self, routine: &'static str) -> SqlError {
        self.0.routine = Some(routine);
        self
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.sqlstate, self.0.message)
    }
}

impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::error::Error for SqlError {}

/// To be called at each level of a recursion that is as deep as a statement nests.
///
/// Half of the stack is for what binds and plans a statement's nesting; the rest is for what follows
/// that nesting with smaller frames (walkers, evaluation, drops) and for the storage below it.
///
/// # Errors
/// `54001` before the stack ends.
#[inline]
pub fn check_stack() -> Result<()> {
    if base::park::is_stack_half_used() { Err(too_deep()) } else { Ok(()) }
}

/// The error of [`check_stack`].
#[cold]
pub fn too_deep() -> SqlError {
    sql_error!(STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .with_hint("Nest the statement less deeply, or do it in several.")
}

/// `return Err(SqlError)` with a state's name and a format string.
macro_rules! bail {
    ($state:ident, $($message:tt)+) => {
        return Err($crate::error::sql_error!($state, $($message)+))
    };
}

/// A `SqlError` from a state's name and a format string.
macro_rules! sql_error {
    ($state:ident, $($message:tt)+) => {
        $crate::error::SqlError::new($crate::error::SqlState::$state, format!($($message)+))
    };
}

pub(crate) use bail;
pub(crate) use sql_error;
