//! What must be done to a text before the library may see it.
//!
//! libpg_query changes PostgreSQL's lexer so that comments come out as tokens. It skips them one
//! recursive call at a time, and not at all where the grammar looks one token ahead: `a NOT /* x */
//! LIKE b` would be a syntax error, and a long run of comments could exhaust the stack. It also reads
//! `$1abc` as a parameter and a name. So comments are blanked out here, byte for byte, which keeps
//! every location; and that one error is raised here.

use std::borrow::Cow;

use super::SyntaxError;
use crate::ast::Loc;

/// The text with its comments turned into spaces (line breaks stay).
pub(super) fn prescan(sql: &str) -> Result<Cow<'_, str>, SyntaxError> {
    let bytes = sql.as_bytes();
    let worth_a_look = bytes.iter().enumerate().any(|(at, byte)| match byte {
        b'-' => bytes.get(at + 1) == Some(&b'-'),
        b'/' => bytes.get(at + 1) == Some(&b'*'),
        b'$' => true,
        _ => false,
    });
    if !worth_a_look {
        return Ok(Cow::Borrowed(sql));
    }
    let mut scan = Scan { sql, bytes, at: 0, blanked: None };
    scan.run()?;
    Ok(match scan.blanked {
        None => Cow::Borrowed(sql),
        Some(text) => Cow::Owned(
            String::from_utf8(text).expect("only whole characters were replaced, by spaces"),
        ),
    })
}

struct Scan<'a> {
    sql: &'a str,
    bytes: &'a [u8],
    at: usize,
    blanked: Option<Vec<u8>>,
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self) -> Result<(), SyntaxError> {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'\'' => self.quoted(b'\'', false),
                b'"' => self.quoted(b'"', false),
                b'-' if self.peek(1) == b'-' => {
                    let rest = &self.bytes[self.at..];
                    let len = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.blank(self.at + len.unwrap_or(rest.len()));
                }
                b'/' if self.peek(1) == b'*' => match self.comment_end() {
                    Some(end) => self.blank(end),
                    // Never closed, which is the parser's to report.
                    None => return Ok(()),
                },
                b'$' => self.dollar()?,
                byte if is_name_start(byte) => self.word(),
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    /// Turns everything up to `end` into spaces.
    fn blank(&mut self, end: usize) {
        let text = self.blanked.get_or_insert_with(|| self.bytes.to_vec());
        for byte in &mut text[self.at..end] {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        self.at = end;
    }

    /// Where the comment that starts here, with those inside it, ends.
    fn comment_end(&self) -> Option<usize> {
        let mut open = 0_u32;
        let mut at = self.at;
        loop {
            match (self.bytes.get(at)?, self.bytes.get(at + 1)?) {
                (b'/', b'*') => {
                    open += 1;
                    at += 2;
                }
                (b'*', b'/') => {
                    open -= 1;
                    at += 2;
                    if open == 0 {
                        return Some(at);
                    }
                }
                _ => at += 1,
            }
        }
    }

    /// Moves past a quoted string or name.
    fn quoted(&mut self, quote: u8, escapes: bool) {
        self.at += 1;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                byte if byte == quote && self.peek(1) == quote => self.at += 2,
                byte if byte == quote => break,
                b'\\' if escapes => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
    }

    fn skip_name(&mut self) {
        while is_name_start(self.peek(0)) || matches!(self.peek(0), b'0'..=b'9' | b'$') {
            self.at += 1;
        }
    }

    fn word(&mut self) {
        let start = self.at;
        self.skip_name();
        if matches!(&self.bytes[start..self.at], b"e" | b"E") && self.peek(0) == b'\'' {
            self.quoted(b'\'', true);
        }
    }

    /// A parameter, a dollar-quoted string, or a stray dollar sign.
    fn dollar(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.at += 1;
        if self.peek(0).is_ascii_digit() {
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
            return if is_name_start(self.peek(0)) { Err(self.junk(start)) } else { Ok(()) };
        }
        let tag_end = self.bytes[self.at..]
            .iter()
            .position(|byte| !is_name_start(*byte) && !byte.is_ascii_digit());
        let Some(tag_len) = tag_end.filter(|len| self.peek(*len) == b'$') else { return Ok(()) };
        let opening = &self.bytes[start..self.at + tag_len + 1];
        self.at += tag_len + 1;
        let rest = &self.bytes[self.at..];
        let close = rest.windows(opening.len()).position(|window| window == opening);
        self.at += close.map_or(rest.len(), |len| len + opening.len());
        Ok(())
    }

    fn junk(&mut self, start: usize) -> SyntaxError {
        self.skip_name();
        let token = &self.sql[start..self.at];
        let message = format!("trailing junk after parameter at or near \"{token}\"");
        SyntaxError::syntax(message, Loc::at(start as u32))
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | 0x80..)
}
