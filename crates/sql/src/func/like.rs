//! `LIKE` and `ILIKE`.

use super::bodies::{Bodies, scalars};
use super::text::lower;
use crate::error::{Result, SqlError, sql_error};
use crate::types::Datum;

pub(super) const ROOMS: &[Bodies] = &[LIKE];

#[cold]
fn dangling_escape() -> SqlError {
    sql_error!(INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character")
}

/// What `_` stands for.
#[derive(Clone, Copy)]
enum Unit {
    Byte,
    /// In UTF-8.
    Char,
}

impl Unit {
    /// Where the next one begins.
    fn after(self, text: &[u8], at: usize) -> usize {
        let mut next = at + 1;
        while matches!(self, Unit::Char) && next < text.len() && text[next] & 0xc0 == 0x80 {
            next += 1;
        }
        next
    }
}

/// Whether `text` matches a pattern of `%`, `_` and backslash escapes. Works on bytes: in UTF-8
/// only `_` must know where characters end.
///
/// On a mismatch only the last `%` can take more, so the work is at most the product of the
/// lengths.
fn matches(text: &[u8], pattern: &[u8], unit: Unit) -> Result<bool> {
    let (mut t, mut p) = (0, 0);
    // Where the last % stood, and where its match ends so far.
    let mut retry: Option<(usize, usize)> = None;
    let mut steps = 0u32;
    while t < text.len() {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(4096) {
            super::checkpoint()?;
        }
        let matched = match pattern.get(p) {
            Some(b'%') => {
                // All that follow at once, or many would be looked at once for each.
                let is_wildcard = |b: &&u8| matches!(b, b'%' | b'_');
                let wildcards = pattern[p..].iter().take_while(is_wildcard).count();
                if pattern[p + wildcards..] == *b"\\" {
                    return Err(dangling_escape());
                }
                for _ in pattern[p..p + wildcards].iter().filter(|b| **b == b'_') {
                    if t >= text.len() {
                        return Ok(false);
                    }
                    t = unit.after(text, t);
                }
                p += wildcards;
                retry = Some((p, t));
                continue;
            }
            Some(b'_') => {
                t = unit.after(text, t);
                p += 1;
                true
            }
            Some(b'\\') => {
                let Some(escaped) = pattern.get(p + 1) else { return Err(dangling_escape()) };
                let matched = text[t] == *escaped;
                if matched {
                    t += 1;
                    p += 2;
                }
                matched
            }
            Some(byte) if text[t] == *byte => {
                t += 1;
                p += 1;
                true
            }
            _ => false,
        };
        if matched {
            continue;
        }
        let Some((after, from)) = retry else { return Ok(false) };
        let from = unit.after(text, from);
        retry = Some((after, from));
        (p, t) = (after, from);
    }
    // Where the text has ended, no later start of a % can match either.
    Ok(pattern[p..].iter().all(|&b| b == b'%'))
}

/// What every text that matches `pattern` begins with.
pub fn literal_start(pattern: &str) -> String {
    let mut start = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' | '_' => break,
            // A pattern that ends with it is an error, which whoever tests it finds.
            '\\' => start.extend(chars.next()),
            _ => start.push(c),
        }
    }
    start
}

/// The first text that comes after all that begin with `start`, by code points; `None`: nothing does.
pub fn after_start(start: &str) -> Option<String> {
    let mut end: String = start.into();
    while let Some(last) = end.pop() {
        // The range leaves out what is no character.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// Whether the text matches the pattern, letter by letter.
pub(super) fn is_like(text: &str, pattern: &str) -> Result<bool> {
    matches(text.as_bytes(), pattern.as_bytes(), Unit::Char)
}

fn like(text: &Datum, pattern: &Datum) -> Result<bool> {
    matches(text.as_text().as_bytes(), pattern.as_text().as_bytes(), Unit::Char)
}

fn bytea_like(bytes: &Datum, pattern: &Datum) -> Result<bool> {
    matches(bytes.as_bytea(), pattern.as_bytea(), Unit::Byte)
}

fn ilike(text: &Datum, pattern: &Datum) -> Result<bool> {
    let (text, pattern) = (lower(text.as_text())?, lower(pattern.as_text())?);
    matches(text.as_bytes(), pattern.as_bytes(), Unit::Char)
}

const LIKE: Bodies = scalars! {
    "textlike" => |_, a| like(&a[0], &a[1]).map(Datum::Bool);
    "textnlike" => |_, a| like(&a[0], &a[1]).map(|m| Datum::Bool(!m));
    "namelike" => |_, a| like(&a[0], &a[1]).map(Datum::Bool);
    "namenlike" => |_, a| like(&a[0], &a[1]).map(|m| Datum::Bool(!m));
    "texticlike" => |_, a| ilike(&a[0], &a[1]).map(Datum::Bool);
    "texticnlike" => |_, a| ilike(&a[0], &a[1]).map(|m| Datum::Bool(!m));
    "nameiclike" => |_, a| ilike(&a[0], &a[1]).map(Datum::Bool);
    "nameicnlike" => |_, a| ilike(&a[0], &a[1]).map(|m| Datum::Bool(!m));
    "bytealike" => |_, a| bytea_like(&a[0], &a[1]).map(Datum::Bool);
    "byteanlike" => |_, a| bytea_like(&a[0], &a[1]).map(|m| Datum::Bool(!m));
    "like_escape" => |_, a| with_backslash(a[0].as_text(), a[1].as_text()).map(Datum::from);
};

/// A pattern with another escape character, in terms of the backslash.
fn with_backslash(pattern: &str, escape: &str) -> Result<String> {
    let mut chars = escape.chars();
    let escape = match (chars.next(), chars.next()) {
        (None, _) => None,
        (Some(only), None) => Some(only),
        _ => {
            return Err(sql_error!(INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                .with_hint("Escape string must be empty or one character."));
        }
    };
    if escape == Some('\\') {
        return Ok(pattern.to_owned());
    }
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut after_escape = false;
    for c in pattern.chars() {
        if Some(c) == escape && !after_escape {
            out.push('\\');
            after_escape = true;
        } else if c == '\\' {
            out.push('\\');
            if !after_escape {
                out.push('\\');
            }
            after_escape = false;
        } else {
            out.push(c);
            after_escape = false;
        }
    }
    Ok(out)
}
