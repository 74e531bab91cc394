//! What a server sends.

mod decode;
mod encode;
mod report;
mod row;

use crate::lists::{Format, Formats, Oids, Strings, Values};

pub use encode::Replies;
pub use report::{Report, ReportFields, Severity};
pub use row::{DataRow, Field, FieldList, OpenRow};

/// Where a session stands, as ReadyForQuery tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Not in a transaction.
    Idle = b'I',
    /// In a transaction.
    InTransaction = b'T',
    /// In a transaction that has failed and refuses everything until it is rolled back.
    Failed = b'E',
}

/// What a command did, as CommandComplete tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag<'a> {
    /// A command that counts nothing: `CREATE TABLE`, `BEGIN`.
    Done(&'a str),
    /// A command and the rows it returned or changed: `SELECT 3`, `UPDATE 1`, `COPY 10`.
    Rows(&'a str, u64),
    /// `INSERT 0 n`; the zero was a row's identifier once.
    Insert(u64),
}

/// One message from a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message<'a> {
    /// A request to authenticate, or the news that this is done.
    Authentication(Authentication<'a>),
    /// What a client must know to cancel this session's queries.
    BackendKeyData {
        /// Number of the session.
        process: i32,
        /// Its secret.
        key: u32,
    },
    /// A Bind has succeeded.
    BindComplete,
    /// A Close has succeeded.
    CloseComplete,
    /// A command has succeeded; its tag.
    CommandComplete(&'a str),
    /// A piece of copied data.
    CopyData(&'a [u8]),
    /// The end of copied data.
    CopyDone,
    /// The server waits for copied data.
    CopyInResponse(CopyFormats<'a>),
    /// Copied data follows.
    CopyOutResponse(CopyFormats<'a>),
    /// Copied data may flow both ways.
    CopyBothResponse(CopyFormats<'a>),
    /// One row.
    DataRow(Values<'a>),
    /// The query string held no command.
    EmptyQueryResponse,
    /// Something failed.
    ErrorResponse(ReportFields<'a>),
    /// The result of a function call, `None` for null.
    FunctionCallResponse(Option<&'a [u8]>),
    /// The server speaks only this protocol version, and knows none of these options.
    NegotiateProtocolVersion {
        /// The newest version the server speaks for this major version.
        version: u32,
        /// The options it does not know.
        options: Strings<'a>,
    },
    /// The statement returns no rows.
    NoData,
    /// Something worth knowing.
    NoticeResponse(ReportFields<'a>),
    /// Somebody called NOTIFY.
    NotificationResponse {
        /// Number of the notifying session.
        process: i32,
        /// The channel.
        channel: &'a str,
        /// The payload.
        payload: &'a str,
    },
    /// Types of a statement's parameters.
    ParameterDescription(Oids<'a>),
    /// A setting's value, at the start and whenever it changes.
    ParameterStatus {
        /// The setting.
        name: &'a str,
        /// Its value.
        value: &'a str,
    },
    /// A Parse has succeeded.
    ParseComplete,
    /// The Execute's row limit was reached.
    PortalSuspended,
    /// The server waits for the next command.
    ReadyForQuery(Status),
    /// The shape of the rows that follow.
    RowDescription(FieldList<'a>),
}

/// What the server wants, or says, about authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// Authenticated.
    Ok,
    /// A password as it is.
    CleartextPassword,
    /// A password hashed with this salt.
    Md5Password([u8; 4]),
    /// One of these SASL mechanisms.
    Sasl(Strings<'a>),
    /// The mechanism's next word.
    SaslContinue(&'a [u8]),
    /// The mechanism's last word.
    SaslFinal(&'a [u8]),
    /// A method by its code; we never ask for it.
    Other(u32),
}

/// How copied data is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyFormats<'a> {
    /// Text, with CSV counting as text, or binary.
    pub overall: Format,
    /// The same for each column.
    pub columns: Formats<'a>,
}
