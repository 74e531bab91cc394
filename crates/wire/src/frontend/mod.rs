//! What a client sends once its session has begun.

mod decode;
mod encode;

use crate::lists::{Formats, Oids, Values};

pub use encode::Requests;

/// One message from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Simple query: any number of statements in one string.
    Query(&'a str),
    /// Prepares a statement.
    Parse(Parse<'a>),
    /// Binds a prepared statement to parameters, giving a portal.
    Bind(Bind<'a>),
    /// Asks for the shape of a statement or portal.
    Describe(Target<'a>),
    /// Runs a portal.
    Execute(Execute<'a>),
    /// Forgets a statement or portal.
    Close(Target<'a>),
    /// Asks for everything answered so far to be sent.
    Flush,
    /// Ends a run of extended-protocol messages, and the implicit transaction around them.
    Sync,
    /// A piece of the data of `COPY … FROM STDIN`, cut anywhere.
    CopyData(&'a [u8]),
    /// The end of that data.
    CopyDone,
    /// The client gives up its `COPY … FROM STDIN`, with its reason.
    CopyFail(&'a str),
    /// A function call by the protocol's old way, decoded so that it can be refused.
    FunctionCall(FunctionCall<'a>),
    /// The answer to an authentication request.
    Authentication(Authentication<'a>),
    /// The client says goodbye.
    Terminate,
}

/// Contents of a Parse message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parse<'a> {
    /// Name of the statement, empty for the unnamed one.
    pub name: &'a str,
    /// A single statement.
    pub query: &'a str,
    /// Types of its first parameters, 0 where the server shall decide.
    pub types: Oids<'a>,
}

/// Contents of a Bind message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bind<'a> {
    /// Name of the portal to make, empty for the unnamed one.
    pub portal: &'a str,
    /// Name of the prepared statement.
    pub statement: &'a str,
    /// How the parameters are written; fits their number.
    pub parameter_formats: Formats<'a>,
    /// The parameters.
    pub parameters: Values<'a>,
    /// How the result shall be written; the server checks it against the columns.
    pub result_formats: Formats<'a>,
}

/// Contents of an Execute message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// Name of the portal.
    pub portal: &'a str,
    /// Most rows to return before the portal is suspended, 0 for all.
    pub rows_max: u32,
}

/// What a Describe or Close message speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A prepared statement, by name.
    Statement(&'a str),
    /// A portal, by name.
    Portal(&'a str),
}

/// Contents of a FunctionCall message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionCall<'a> {
    /// The function's identifier in `pg_proc`.
    pub function: u32,
    /// How the arguments are written; fits their number.
    pub argument_formats: Formats<'a>,
    /// The arguments.
    pub arguments: Values<'a>,
}

/// Body of a message that answers an authentication request. What it means depends on the
/// request, which only the server remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authentication<'a> {
    body: &'a [u8],
}

/// The first answer of a SASL exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaslInitial<'a> {
    /// The mechanism the client chose.
    pub mechanism: &'a str,
    /// What the mechanism's client says first.
    pub response: Option<&'a [u8]>,
}
