//! Finding message boundaries in a stream of bytes.
//!
//! After the startup packet every message is a type byte, a 32-bit length that counts itself and
//! the body, and the body. The length comes from a stranger, so it is checked against the limit
//! of its type before anybody reserves memory for it.

use crate::error::Error;

/// Bytes before a message's body: type and length.
pub const HEADER_BYTES: usize = 5;

/// Longest length of a message without a payload of the user's, as PostgreSQL has it.
const SMALL_MAX: u32 = 10_000;
/// Longest length of an authentication response, as PostgreSQL has it.
const AUTHENTICATION_MAX: u32 = 65_535;
/// Longest length of a message that carries queries, parameters or copied data.
const LARGE_MAX: u32 = 0x3fff_fffe;

/// One whole message, its body not yet looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The type byte.
    pub tag: u8,
    /// What follows the length.
    pub body: &'a [u8],
}

impl Frame<'_> {
    /// Bytes the message takes up in the stream.
    #[inline]
    pub fn size(&self) -> usize {
        HEADER_BYTES + self.body.len()
    }
}

/// What [`split`] found at the front of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split<'a> {
    /// A whole message.
    Frame(Frame<'a>),
    /// Not enough yet: the buffer must hold at least this many bytes before it is worth another
    /// look. Once the header is there this is the exact size of the message.
    Need(usize),
}

/// Splits the first message that a client sent off `buf`.
///
/// # Errors
/// [`Error::UnknownMessageType`] and [`Error::MessageLength`], both fatal, as soon as the bytes
/// that show it are there.
#[inline]
pub fn split(buf: &[u8]) -> Result<Split<'_>, Error> {
    let Some(&tag) = buf.first() else { return Ok(Split::Need(HEADER_BYTES)) };
    let limit = match tag {
        b'Q' | b'P' | b'B' | b'F' | b'd' => LARGE_MAX,
        b'C' | b'D' | b'E' | b'H' | b'S' | b'X' | b'c' | b'f' => SMALL_MAX,
        b'p' => AUTHENTICATION_MAX,
        other => return Err(Error::UnknownMessageType(other)),
    };
    split_within(buf, tag, limit)
}

/// Splits the first message that a server sent off `buf`. The type is not looked at.
///
/// # Errors
/// [`Error::MessageLength`].
#[inline]
pub fn split_reply(buf: &[u8]) -> Result<Split<'_>, Error> {
    match buf.first() {
        Some(&tag) => split_within(buf, tag, i32::MAX as u32),
        None => Ok(Split::Need(HEADER_BYTES)),
    }
}

#[inline]
fn split_within(buf: &[u8], tag: u8, limit: u32) -> Result<Split<'_>, Error> {
    let Some((header, rest)) = buf.split_first_chunk::<HEADER_BYTES>() else {
        return Ok(Split::Need(HEADER_BYTES));
    };
    // A negative length is above every limit once it is read without its sign.
    let len = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
    if len < 4 || len > limit {
        return Err(Error::MessageLength);
    }
    match rest.get(..len as usize - 4) {
        Some(body) => Ok(Split::Frame(Frame { tag, body })),
        None => Ok(Split::Need(1 + len as usize)),
    }
}
