//! Everything a peer's bytes can get wrong, with the SQLSTATE and the words PostgreSQL uses.

use std::fmt;

/// A violation of the protocol, or text that is not UTF-8.
///
/// [`Error::is_fatal`] separates the faults after which the next message boundary is unknown (or
/// the peer has shown that it speaks another protocol) from those that cost only the one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The type byte of a message is none that a client may send.
    UnknownMessageType(u8),
    /// A message length below its own four bytes or above the limit of its type.
    MessageLength,
    /// A startup packet shorter than its protocol number or longer than
    /// [`crate::startup::PACKET_BYTES_MAX`].
    StartupLength,
    /// A startup packet whose parameter list does not end where the packet ends.
    StartupLayout,
    /// A protocol version other than 3.x.
    UnsupportedProtocol {
        /// Major version asked for.
        major: u16,
        /// Minor version asked for.
        minor: u16,
    },
    /// A single byte was expected and the message had ended.
    NoDataLeft,
    /// More bytes were announced than the message holds.
    InsufficientData,
    /// A string without its terminating zero byte.
    UnterminatedString,
    /// Bytes left over behind a complete message.
    TrailingData,
    /// The target byte of a Describe message is neither `S` nor `P`.
    DescribeTarget(u8),
    /// The target byte of a Close message is neither `S` nor `P`.
    CloseTarget(u8),
    /// A Bind message whose number of parameter formats fits neither 0, 1 nor its parameters.
    ParameterFormats {
        /// Formats given.
        formats: u16,
        /// Parameters given.
        parameters: u16,
    },
    /// A format code other than 0 (text) and 1 (binary).
    FormatCode(i16),
    /// A function call whose argument formats fit neither 0, 1 nor its arguments.
    ArgumentFormats {
        /// Formats given.
        formats: u16,
        /// Arguments given.
        arguments: u16,
    },
    /// Text that is not UTF-8, or that holds a zero byte.
    InvalidUtf8 {
        /// The offending bytes, as many as the first of them announces and the text holds.
        bytes: [u8; 4],
        /// How many of `bytes` count.
        len: u8,
    },
    /// A message longer than PostgreSQL would build.
    ReplyTooLong {
        /// Bytes in it before those that made it so.
        holds: usize,
        /// How many those are.
        more: usize,
    },
    /// A client received a message type that no server sends, or one with impossible contents.
    BadReply(u8),
}

impl Error {
    /// The five-character SQLSTATE.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Error::UnsupportedProtocol { .. } => "0A000",
            Error::FormatCode(_) => "22023",
            Error::InvalidUtf8 { .. } => "22021",
            Error::ReplyTooLong { .. } => "54000",
            _ => "08P01",
        }
    }

    /// What PostgreSQL says beyond the message.
    pub fn detail(&self) -> Option<String> {
        match self {
            Error::ReplyTooLong { holds, more } => Some(format!(
                "Cannot enlarge string buffer containing {holds} bytes by {more} more bytes."
            )),
            _ => None,
        }
    }

    /// True where the connection cannot go on, because the start of the next message is unknown.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            Error::UnknownMessageType(_)
                | Error::MessageLength
                | Error::StartupLength
                | Error::StartupLayout
                | Error::UnsupportedProtocol { .. }
                | Error::BadReply(_)
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::UnknownMessageType(tag) => write!(f, "invalid frontend message type {tag}"),
            Error::MessageLength => f.write_str("invalid message length"),
            Error::StartupLength => f.write_str("invalid length of startup packet"),
            Error::StartupLayout => {
                f.write_str("invalid startup packet layout: expected terminator as last byte")
            }
            Error::UnsupportedProtocol { major, minor } => write!(
                f,
                "unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"
            ),
            Error::NoDataLeft => f.write_str("no data left in message"),
            Error::InsufficientData => f.write_str("insufficient data left in message"),
            Error::UnterminatedString => f.write_str("invalid string in message"),
            Error::TrailingData => f.write_str("invalid message format"),
            Error::DescribeTarget(b) => write!(f, "invalid DESCRIBE message subtype {b}"),
            Error::CloseTarget(b) => write!(f, "invalid CLOSE message subtype {b}"),
            Error::ParameterFormats { formats, parameters } => write!(
                f,
                "bind message has {formats} parameter formats but {parameters} parameters"
            ),
            Error::FormatCode(code) => write!(f, "unsupported format code: {code}"),
            Error::ArgumentFormats { formats, arguments } => write!(
                f,
                "function call message contains {formats} argument formats but {arguments} \
                 arguments"
            ),
            Error::InvalidUtf8 { bytes, len } => {
                f.write_str("invalid byte sequence for encoding \"UTF8\":")?;
                bytes.iter().take(usize::from(len)).try_for_each(|b| write!(f, " 0x{b:02x}"))
            }
            Error::ReplyTooLong { .. } => f.write_str("out of memory"),
            Error::BadReply(tag) => {
                write!(f, "message of type 0x{tag:02x} from the server makes no sense")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Reads bytes as text the way PostgreSQL reads a `text` value: UTF-8 without a zero byte.
///
/// # Errors
/// [`Error::InvalidUtf8`] (22021), naming the bytes of the first character that is wrong.
#[inline]
pub fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text),
        Ok(_) => Err(Error::InvalidUtf8 { bytes: [0; 4], len: 1 }),
        Err(fault) => Err(invalid(bytes, fault.valid_up_to())),
    }
}

/// The error for text that is known to hold no zero byte and to go wrong at `at`.
#[cold]
pub(crate) fn invalid(bytes: &[u8], at: usize) -> Error {
    if bytes[..at].contains(&0) {
        return Error::InvalidUtf8 { bytes: [0; 4], len: 1 };
    }
    let announced = match bytes[at] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let wrong = &bytes[at..bytes.len().min(at + announced)];
    let mut shown = [0; 4];
    shown[..wrong.len()].copy_from_slice(wrong);
    Error::InvalidUtf8 { bytes: shown, len: wrong.len() as u8 }
}
