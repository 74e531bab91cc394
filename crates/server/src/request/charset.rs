//! Clients of another character set than UTF-8: the strings in their messages are converted before a message is
//! decoded, those in replies once a reply has been written. Values are the session's to convert: it knows their types.

use std::borrow::Cow;

use sql::error::SqlError;
use sql::types::Encoding;
use wire::backend::Replies;
use wire::frame::Frame;

/// Bytes in front of a reply's body: its type and its length.
const HEAD_BYTES: usize = 5;

/// What follows a column's name in a RowDescription.
const COLUMN_BYTES: usize = 18;

/// A message's body with its strings in UTF-8. The values of parameters and data being copied stay.
pub(super) fn incoming<'f>(
    encoding: Encoding,
    frame: &Frame<'f>,
) -> Result<Cow<'f, [u8]>, SqlError> {
    let (before, strings) = match frame.tag {
        b'Q' | b'E' | b'f' => (0, 1),
        b'P' | b'B' => (0, 2),
        b'D' | b'C' => (1, 1),
        _ => return Ok(Cow::Borrowed(frame.body)),
    };
    if encoding.is_plain() {
        return Ok(Cow::Borrowed(frame.body));
    }
    let (first, mut rest) = frame.body.split_at(before.min(frame.body.len()));
    let mut body = first.to_vec();
    for _ in 0..strings {
        // Without an end the message is broken: its decoder says so.
        let Some(end) = rest.iter().position(|byte| *byte == 0) else { break };
        body.extend_from_slice(encoding.decode(&rest[..end])?.as_bytes());
        body.push(0);
        rest = &rest[end + 1..];
    }
    body.extend_from_slice(rest);
    Ok(Cow::Owned(body))
}

/// Writes replies with strings in them, for a client that spells texts so.
pub(super) fn say(encoding: Encoding, replies: &mut Replies, write: impl FnOnce(&mut Replies)) {
    let at = replies.len();
    write(replies);
    outgoing(encoding, replies.buffer(), at);
}

/// Converts the strings of the replies that stand in the buffer from `at` on. Rows and copied data are left alone.
fn outgoing(encoding: Encoding, buffer: &mut Vec<u8>, at: usize) {
    if encoding.is_plain() {
        return;
    }
    let replies = buffer.split_off(at);
    let mut rest = &replies[..];
    while let Some((tag, body)) = next(&mut rest) {
        let body = match tag {
            b'E' | b'N' | b'S' | b'C' => text(encoding, body),
            b'T' => columns(encoding, body),
            b'A' => notification(encoding, body),
            _ => body.to_vec(),
        };
        buffer.push(tag);
        buffer.extend_from_slice(&((body.len() + HEAD_BYTES - 1) as u32).to_be_bytes());
        buffer.extend_from_slice(&body);
    }
}

/// Takes the first reply: its type and its body.
fn next<'r>(rest: &mut &'r [u8]) -> Option<(u8, &'r [u8])> {
    let (tag, after) = rest.split_first()?;
    let length = u32::from_be_bytes(*after.first_chunk().expect("replies are whole"));
    let (reply, others) = rest.split_at(1 + length as usize);
    *rest = others;
    Some((*tag, &reply[HEAD_BYTES..]))
}

/// A body whose bytes beyond ASCII are all in its strings.
fn text(encoding: Encoding, body: &[u8]) -> Vec<u8> {
    encoding.encode_lossy(std::str::from_utf8(body).expect("what the server says is UTF-8"))
}

/// A number, and two strings.
fn notification(encoding: Encoding, body: &[u8]) -> Vec<u8> {
    let (process, strings) = body.split_at(4);
    [process, &text(encoding, strings)].concat()
}

fn columns(encoding: Encoding, body: &[u8]) -> Vec<u8> {
    let (count, mut rest) = body.split_at(2);
    let mut out = count.to_vec();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        out.extend(text(encoding, &rest[..end]));
        let (other, next) = rest[end..].split_at(1 + COLUMN_BYTES);
        out.extend_from_slice(other);
        rest = next;
    }
    out
}
