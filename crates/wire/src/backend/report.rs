//! Errors and notices, which share one form: a list of fields, each behind a letter.

use crate::error::Error;
use crate::put::{begin, end, put_decimal, put_string};
use crate::read::Reader;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A notice for developers, in PostgreSQL's five grades shown as one.
    Debug,
    /// A notice that is always sent.
    Info,
    /// A notice for the log, sent where `client_min_messages` asks for it.
    Log,
    /// A notice.
    Notice,
    /// A notice that something may be wrong.
    Warning,
    /// The command failed.
    Error,
    /// The session ends.
    Fatal,
    /// All sessions end.
    Panic,
}

impl Severity {
    /// The word sent for it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Debug => "DEBUG",
            Severity::Info => "INFO",
            Severity::Log => "LOG",
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Panic => "PANIC",
        }
    }

    /// Whether it travels as an ErrorResponse rather than as a NoticeResponse.
    pub fn is_error(self) -> bool {
        self >= Severity::Error
    }
}

/// An error or a notice, to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    /// How bad it is.
    pub severity: Severity,
    /// Five characters that programs go by.
    pub sqlstate: &'a str,
    /// One line.
    pub message: &'a str,
    /// More about it.
    pub detail: Option<&'a str>,
    /// What to do about it.
    pub hint: Option<&'a str>,
    /// Which function or command it happened in, innermost first.
    pub context: Option<&'a str>,
    /// Character (not byte) of the query, counted from 1, that it is about.
    pub position: Option<u32>,
    /// The same for `internal_query`.
    pub internal_position: Option<u32>,
    /// A query that the server itself made up.
    pub internal_query: Option<&'a str>,
    /// The schema it is about.
    pub schema: Option<&'a str>,
    /// The table it is about.
    pub table: Option<&'a str>,
    /// The column it is about.
    pub column: Option<&'a str>,
    /// The data type it is about.
    pub data_type: Option<&'a str>,
    /// The constraint it is about.
    pub constraint: Option<&'a str>,
    /// The source file that reported it.
    pub file: Option<&'a str>,
    /// The line in that file.
    pub line: Option<u32>,
    /// The routine in that file.
    pub routine: Option<&'a str>,
}

impl<'a> Report<'a> {
    /// A report that says no more than this.
    pub fn new(severity: Severity, sqlstate: &'a str, message: &'a str) -> Self {
        Report {
            severity,
            sqlstate,
            message,
            detail: None,
            hint: None,
            context: None,
            position: None,
            internal_position: None,
            internal_query: None,
            schema: None,
            table: None,
            column: None,
            data_type: None,
            constraint: None,
            file: None,
            line: None,
            routine: None,
        }
    }

    /// Appends an ErrorResponse or NoticeResponse, its fields in PostgreSQL's order.
    pub(crate) fn put(&self, buf: &mut Vec<u8>) {
        debug_assert_eq!(self.sqlstate.len(), 5, "an SQLSTATE has five characters");
        let at = begin(buf, if self.severity.is_error() { b'E' } else { b'N' });
        let text = |buf: &mut Vec<u8>, letter: u8, value: Option<&str>| {
            if let Some(value) = value {
                buf.push(letter);
                put_string(buf, value);
            }
        };
        let number = |buf: &mut Vec<u8>, letter: u8, value: Option<u32>| {
            if let Some(value) = value {
                buf.push(letter);
                put_decimal(buf, u64::from(value));
                buf.push(0);
            }
        };
        text(buf, b'S', Some(self.severity.name()));
        text(buf, b'V', Some(self.severity.name()));
        text(buf, b'C', Some(self.sqlstate));
        text(buf, b'M', Some(self.message));
        text(buf, b'D', self.detail);
        text(buf, b'H', self.hint);
        text(buf, b'W', self.context);
        text(buf, b's', self.schema);
        text(buf, b't', self.table);
        text(buf, b'c', self.column);
        text(buf, b'd', self.data_type);
        text(buf, b'n', self.constraint);
        number(buf, b'P', self.position);
        number(buf, b'p', self.internal_position);
        text(buf, b'q', self.internal_query);
        text(buf, b'F', self.file);
        number(buf, b'L', self.line);
        text(buf, b'R', self.routine);
        buf.push(0);
        end(buf, at);
    }
}

/// The fields of an error or notice, as a client reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportFields<'a> {
    bytes: &'a [u8],
}

impl<'a> ReportFields<'a> {
    /// Reads fields up to the zero that ends them.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let start = reader.rest();
        loop {
            let before = reader.rest().len();
            if reader.byte()? == 0 {
                return Ok(ReportFields { bytes: &start[..start.len() - before] });
            }
            reader.string()?;
        }
    }

    /// Letters and values in the order they were sent.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a str)> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || {
            let letter = reader.byte().ok()?;
            Some((letter, reader.string().expect("the fields were checked when they were read")))
        })
    }

    /// The value behind `letter`.
    pub fn get(&self, letter: u8) -> Option<&'a str> {
        self.iter().find(|(l, _)| *l == letter).map(|(_, value)| value)
    }

    /// The five characters that programs go by; empty where the server sent none.
    pub fn sqlstate(&self) -> &'a str {
        self.get(b'C').unwrap_or_default()
    }

    /// The one-line message; empty where the server sent none.
    pub fn message(&self) -> &'a str {
        self.get(b'M').unwrap_or_default()
    }
}
