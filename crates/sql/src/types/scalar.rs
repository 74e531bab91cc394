//! Text forms of the simple types: booleans, integers, identifiers, bytes.

use std::fmt::Write;

use super::context::ByteaOutput;
use super::datum::Tid;
use super::oid::Oid;
use super::row::MAX_VALUE_BYTES;
use crate::error::{Result, SqlError, bail, sql_error};
use crate::steps::Steps;

/// C's `isspace`.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Text without blanks at both ends.
pub(crate) fn trim_spaces(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// `22P02` in the words that every type shares.
#[cold]
pub(crate) fn invalid_syntax(type_name: &str, text: &str) -> SqlError {
    sql_error!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type {type_name}: \"{text}\"")
}

/// `22003` for a text whose number does not fit.
#[cold]
pub(crate) fn text_out_of_range(type_name: &str, text: &str) -> SqlError {
    sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "value \"{text}\" is out of range for type {type_name}")
}

/// Any unambiguous beginning of true, false, yes, no, on, off, or 1 and 0.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    let word = trim_spaces(text).to_ascii_lowercase();
    let begins = |whole: &str, min: usize| word.len() >= min && whole.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Some(false)
    } else {
        None
    }
}

/// A decimal integer between `min` and `max`, blanks around it allowed.
///
/// As in PostgreSQL, digits that overflow are reported before anything wrong behind them.
pub(crate) fn parse_int(text: &str, type_name: &str, min: i64, max: i64) -> Result<i64> {
    let bytes = text.as_bytes();
    if let Some(value) = plain_int(bytes).filter(|value| *value <= max) {
        return Ok(value);
    }
    let mut at = bytes.iter().take_while(|&&b| is_space(b)).count();
    let negative = bytes.get(at) == Some(&b'-');
    if negative || bytes.get(at) == Some(&b'+') {
        at += 1;
    }
    let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        return Err(invalid_syntax(type_name, text));
    }
    let mut value = 0i64;
    for b in &bytes[at..at + digits] {
        let digit = i64::from(b - b'0');
        value = value
            .checked_mul(10)
            .and_then(|v| if negative { v.checked_sub(digit) } else { v.checked_add(digit) })
            .filter(|v| (min..=max).contains(v))
            .ok_or_else(|| text_out_of_range(type_name, text))?;
    }
    if !bytes[at + digits..].iter().all(|&b| is_space(b)) {
        return Err(invalid_syntax(type_name, text));
    }
    Ok(value)
}

/// A number of nothing but digits, so few that it can't be too large for 64 bits.
#[inline]
fn plain_int(bytes: &[u8]) -> Option<i64> {
    if bytes.is_empty() || bytes.len() > 18 {
        return None;
    }
    let mut value = 0;
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(value)
}

/// An `oid`: unsigned, but the negative numbers of 32 bits are taken too.
pub(crate) fn parse_oid(text: &str) -> Result<Oid> {
    let number = trim_spaces(text);
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid_syntax("oid", text));
    }
    let value: i64 = number.parse().map_err(|_| text_out_of_range("oid", text))?;
    if (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&value) {
        Ok(Oid(value as u32))
    } else {
        Err(text_out_of_range("oid", text))
    }
}

/// The digits that a text begins with, wrapping, as `xid` and `cid` read theirs: hexadecimal behind `0x`, octal behind `0`.
pub(crate) fn parse_wrapping_u64(text: &str) -> u64 {
    let text = trim_spaces(text);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let hex = hex.filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (digits, radix) = match hex {
        Some(rest) => (rest, 16),
        None if digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    let value = digits
        .chars()
        .map_while(|c| c.to_digit(radix))
        .fold(0u64, |sum, digit| sum.saturating_mul(radix.into()).saturating_add(u64::from(digit)));
    if negative { value.wrapping_neg() } else { value }
}

/// A `"char"`: the first byte, or the one that a backslash and three octal digits name.
pub(crate) fn parse_char(text: &str) -> u8 {
    match *text.as_bytes() {
        [b'\\', a @ b'0'..=b'7', b @ b'0'..=b'7', c @ b'0'..=b'7'] => {
            // Beyond 377 the highest bit is lost.
            (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
        }
        [first, ..] => first,
        [] => 0,
    }
}

/// `(block,slot)`.
pub(crate) fn parse_tid(text: &str) -> Result<Tid> {
    let parse = || -> Option<Tid> {
        let inner = trim_spaces(text).strip_prefix('(')?.strip_suffix(')')?;
        let (block, slot) = inner.split_once(',')?;
        let block = trim_spaces(block).parse::<i64>().ok()?;
        if !(i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&block) {
            return None;
        }
        Some(Tid { block: block as u32, slot: trim_spaces(slot).parse().ok()? })
    };
    parse().ok_or_else(|| invalid_syntax("tid", text))
}

/// Two hexadecimal halves, `16/B374D848`.
pub(crate) fn parse_lsn(text: &str) -> Result<u64> {
    let half = |part: &str| -> Option<u64> {
        let valid = (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit());
        valid.then(|| u64::from_str_radix(part, 16).ok()).flatten()
    };
    text.split_once('/')
        .and_then(|(high, low)| Some(half(high)? << 32 | half(low)?))
        .ok_or_else(|| invalid_syntax("pg_lsn", text))
}

/// 32 hexadecimal digits, hyphens after any group of four, braces around all.
pub(crate) fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let parse = || -> Option<[u8; 16]> {
        let mut rest = text.as_bytes();
        let braces = rest.first() == Some(&b'{');
        if braces {
            rest = &rest[1..];
        }
        let mut uuid = [0; 16];
        for (i, byte) in uuid.iter_mut().enumerate() {
            *byte = hex_digit(*rest.first()?)? << 4 | hex_digit(*rest.get(1)?)?;
            rest = &rest[2..];
            if i % 2 == 1 && i < 15 && rest.first() == Some(&b'-') {
                rest = &rest[1..];
            }
        }
        let end: &[u8] = if braces { b"}" } else { b"" };
        (rest == end).then_some(uuid)
    };
    parse().ok_or_else(|| invalid_syntax("uuid", text))
}

/// Appends a UUID in its canonical form.
pub(crate) fn write_uuid(uuid: &[u8; 16], out: &mut Vec<u8>) {
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        push_hex(*byte, out);
    }
}

pub(crate) fn push_hex(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

pub(crate) fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|d| d as u8)
}

/// Hexadecimal digit pairs to bytes, blanks between pairs skipped.
pub(crate) fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let digit_at = |at: usize| -> Result<u8> {
        let bytes = text.as_bytes();
        hex_digit(bytes[at]).ok_or_else(|| {
            let found = text[at..].chars().next().expect("not at the end");
            sql_error!(INVALID_PARAMETER_VALUE, "invalid hexadecimal digit: \"{found}\"")
        })
    };
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() / 2);
    let mut at = 0;
    let mut steps = Steps::default();
    while at < bytes.len() {
        steps.next()?;
        if matches!(bytes[at], b' ' | b'\n' | b'\t' | b'\r') {
            at += 1;
            continue;
        }
        let high = digit_at(at)?;
        if at + 1 >= bytes.len() {
            bail!(INVALID_PARAMETER_VALUE, "invalid hexadecimal data: odd number of digits");
        }
        out.push(high << 4 | digit_at(at + 1)?);
        at += 2;
    }
    Ok(out)
}

/// `\x…` or the escape format.
pub(crate) fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("\\x") {
        return parse_hex(hex);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        match rest {
            [] => return Ok(out),
            [b'\\', b'\\', tail @ ..] => {
                out.push(b'\\');
                rest = tail;
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            [b'\\', ..] => {
                bail!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
            }
            [byte, tail @ ..] => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
}

/// `54000` where a value of `len` bytes, as it is written, would grow too long by `more`.
#[inline]
pub(crate) fn room(len: usize, more: usize) -> Result<()> {
    if len.saturating_add(more) <= MAX_VALUE_BYTES { Ok(()) } else { Err(no_room(len, more)) }
}

#[cold]
fn no_room(len: usize, more: usize) -> SqlError {
    let detail =
        format!("Cannot enlarge string buffer containing {len} bytes by {more} more bytes.");
    sql_error!(PROGRAM_LIMIT_EXCEEDED, "out of memory").with_detail(detail)
}

/// How many bytes [`write_bytea`] appends.
pub(crate) fn bytea_length(bytes: &[u8], format: ByteaOutput) -> usize {
    match format {
        ByteaOutput::Hex => 2 + 2 * bytes.len(),
        ByteaOutput::Escape => bytes.iter().map(|&b| escaped_length(b)).sum(),
    }
}

fn escaped_length(byte: u8) -> usize {
    match byte {
        b'\\' => 2,
        0x20..=0x7e => 1,
        _ => 4,
    }
}

/// Appends bytes as `bytea_output` says.
pub(crate) fn write_bytea(bytes: &[u8], format: ByteaOutput, out: &mut Vec<u8>) {
    match format {
        ByteaOutput::Hex => {
            out.reserve(2 + 2 * bytes.len());
            out.extend_from_slice(b"\\x");
            bytes.iter().for_each(|&b| push_hex(b, out));
        }
        ByteaOutput::Escape => {
            for &b in bytes {
                match b {
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    0x20..=0x7e => out.push(b),
                    _ => out.extend_from_slice(&octal(b)),
                }
            }
        }
    }
}

fn octal(byte: u8) -> [u8; 4] {
    [b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]
}

/// `22021` for bytes that are no UTF-8 text, or contain the zero byte.
pub(crate) fn check_text(bytes: &[u8]) -> Result<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text),
        Ok(_) => Err(invalid_encoding(&[0])),
        Err(error) => {
            let zero = bytes.iter().position(|&b| b == 0);
            let at = zero.map_or(error.valid_up_to(), |zero| zero.min(error.valid_up_to()));
            Err(invalid_encoding(&bytes[at..]))
        }
    }
}

/// Shows the bytes that the first one claims to begin a character with.
#[cold]
fn invalid_encoding(bytes: &[u8]) -> SqlError {
    let claimed = match bytes[0] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let mut shown = String::new();
    for byte in &bytes[..claimed.min(bytes.len())] {
        write!(shown, " 0x{byte:02x}").expect("a String takes all");
    }
    sql_error!(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\":{shown}")
}
