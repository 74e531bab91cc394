//! Appending to a message buffer: integers, strings, and lengths patched in afterwards.

use crate::error::Error;

/// Longest message we build, PostgreSQL's own limit for a buffer (1 GiB less one byte). Tests of it make do with less.
const MESSAGE_BYTES_MAX: usize = if cfg!(test) { 1 << 20 } else { 0x3fff_ffff };

#[inline]
pub(crate) fn put_u16(buf: &mut Vec<u8>, value: u16) {
    buf.extend_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn put_i16(buf: &mut Vec<u8>, value: i16) {
    buf.extend_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn put_i32(buf: &mut Vec<u8>, value: i32) {
    buf.extend_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn put_u32(buf: &mut Vec<u8>, value: u32) {
    buf.extend_from_slice(&value.to_be_bytes());
}

/// Appends a zero-terminated string. What follows an inner zero byte could be read as another
/// field, so the string ends there.
#[inline]
pub(crate) fn put_string(buf: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let len = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    buf.extend_from_slice(&bytes[..len]);
    buf.push(0);
}

/// Appends a value behind its 32-bit length, -1 for a null.
#[inline]
pub(crate) fn put_value(buf: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        None => put_i32(buf, -1),
        Some(bytes) => {
            let at = begin_length(buf);
            buf.extend_from_slice(bytes);
            patch_length(buf, at, at + 4);
        }
    }
}

/// Appends a count of list items.
///
/// # Panics
/// If there are more than the protocol's 16 bits can count. Callers hold lists whose length is
/// bounded far below (1,600 columns) or by the same 16 bits (parameters).
#[inline]
pub(crate) fn put_count(buf: &mut Vec<u8>, count: usize) {
    put_u16(buf, u16::try_from(count).expect("a list in a message has at most 65,535 items"));
}

/// Opens a message: its type byte and room for its length. Returns where the length goes.
#[inline]
pub(crate) fn begin(buf: &mut Vec<u8>, tag: u8) -> usize {
    buf.extend_from_slice(&[tag, 0, 0, 0, 0]);
    buf.len() - 4
}

/// Leaves room for a length. Returns where it goes.
#[inline]
pub(crate) fn begin_length(buf: &mut Vec<u8>) -> usize {
    buf.extend_from_slice(&[0; 4]);
    buf.len() - 4
}

/// Closes a message that [`begin`] opened.
#[inline]
pub(crate) fn end(buf: &mut [u8], at: usize) {
    patch_length(buf, at, at);
}

/// Writes at `at` the number of bytes from `from` to the end of the buffer.
///
/// # Panics
/// If that is 2 GiB or more. Everything of unbounded size is checked by [`check_size`] or stems
/// from a request, and a request is below 1 GiB.
#[inline]
pub(crate) fn patch_length(buf: &mut [u8], at: usize, from: usize) {
    let len = i32::try_from(buf.len() - from).expect("a message is shorter than 2 GiB");
    buf[at..at + 4].copy_from_slice(&len.to_be_bytes());
}

/// Refuses a message under construction that `more` bytes, behind the `holds` that it had, made longer than what may be
/// sent.
#[inline]
pub(crate) fn check_size(holds: usize, more: usize) -> Result<(), Error> {
    if holds + more < MESSAGE_BYTES_MAX { Ok(()) } else { Err(Error::ReplyTooLong { holds, more }) }
}

const PAIRS: &[u8; 200] = b"00010203040506070809\
    10111213141516171819202122232425262728293031323334353637383940414243444546474849\
    50515253545556575859606162636465666768697071727374757677787980818283848586878889\
    90919293949596979899";

/// Appends `value` in decimal digits.
#[inline]
pub fn put_decimal(buf: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    buf.extend_from_slice(&digits[at..]);
}
