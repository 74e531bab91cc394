//! Splits date/time text into fields by PostgreSQL's rules, which look at the shape of each run
//! of characters and nothing else.

use super::error::DateTimeError;
use super::keywords::{self, TOKEN_MAX};
use crate::types::scalar::is_space;

/// The shape of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Digits, perhaps with one point.
    Number,
    /// Digits or letters joined by `-`, `/` or `.`.
    Date,
    /// Digits with colons.
    Time,
    /// Letters.
    Word,
    /// A sign and letters.
    SignedWord,
    /// A sign and digits: a zone's displacement, or a signed number in an interval.
    Signed,
}

/// One field, in lower case.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub shape: Shape,
    pub text: String,
}

/// Most fields that a value may have.
const MAX_FIELDS: usize = 25;
/// Longest text that is looked at.
const MAX_LEN: usize = 128;

/// Splits `text` into fields; blanks and other punctuation only separate.
pub(super) fn fields(text: &str) -> Result<Vec<Field>, DateTimeError> {
    let mut lexer = Lexer { rest: text.as_bytes(), used: 0 };
    let mut fields = Vec::with_capacity(6);
    while let Some(&byte) = lexer.rest.first() {
        if is_space(byte) {
            lexer.rest = &lexer.rest[1..];
            continue;
        }
        if byte.is_ascii_punctuation() && !matches!(byte, b'.' | b'+' | b'-') {
            lexer.rest = &lexer.rest[1..];
            continue;
        }
        if fields.len() >= MAX_FIELDS {
            return Err(DateTimeError::BadFormat);
        }
        let field = lexer.field(byte)?;
        // Each field costs a terminator in the buffer that PostgreSQL copies them to.
        lexer.used += field.text.len() + 1;
        if lexer.used > MAX_LEN + MAX_FIELDS {
            return Err(DateTimeError::BadFormat);
        }
        fields.push(field);
    }
    Ok(fields)
}

struct Lexer<'a> {
    rest: &'a [u8],
    used: usize,
}

impl Lexer<'_> {
    fn field(&mut self, first: u8) -> Result<Field, DateTimeError> {
        let mut text = String::new();
        let shape = match first {
            b'0'..=b'9' => self.after_digits(&mut text),
            b'.' => {
                self.push(&mut text);
                self.push_while(&mut text, |b| b.is_ascii_digit());
                Shape::Number
            }
            b'+' | b'-' => {
                self.push(&mut text);
                while self.rest.first().copied().is_some_and(is_space) {
                    self.rest = &self.rest[1..];
                }
                match self.rest.first() {
                    Some(b'0'..=b'9') => {
                        self.push_while(&mut text, |b| {
                            b.is_ascii_digit() || matches!(b, b':' | b'.' | b'-')
                        });
                        Shape::Signed
                    }
                    Some(b) if b.is_ascii_alphabetic() => {
                        self.push_while(&mut text, |b| b.is_ascii_alphabetic());
                        Shape::SignedWord
                    }
                    _ => return Err(DateTimeError::BadFormat),
                }
            }
            b if b.is_ascii_alphabetic() => self.after_letters(&mut text),
            _ => return Err(DateTimeError::BadFormat),
        };
        Ok(Field { shape, text })
    }

    fn after_digits(&mut self, text: &mut String) -> Shape {
        self.push_while(text, |b| b.is_ascii_digit());
        match self.rest.first() {
            Some(b':') => {
                self.push_while(text, |b| b.is_ascii_digit() || matches!(b, b':' | b'.'));
                Shape::Time
            }
            Some(&delimiter @ (b'-' | b'/' | b'.')) => {
                self.push(text);
                if self.rest.first().is_some_and(u8::is_ascii_digit) {
                    self.push_while(text, |b| b.is_ascii_digit());
                    if self.rest.first() == Some(&delimiter) {
                        self.push_while(text, |b| b.is_ascii_digit() || b == delimiter);
                        Shape::Date
                    } else if delimiter == b'.' {
                        Shape::Number
                    } else {
                        Shape::Date
                    }
                } else {
                    // A month in letters may follow.
                    self.push_while(text, |b| b.is_ascii_alphanumeric() || b == delimiter);
                    Shape::Date
                }
            }
            _ => Shape::Number,
        }
    }

    fn after_letters(&mut self, text: &mut String) -> Shape {
        self.push_while(text, |b| b.is_ascii_alphabetic());
        // Dates like `jan-5-1999` and zones like `america/new_york` or `etc/gmt+3` go on; a
        // keyword followed by a digit or a plus does not.
        let goes_on = match self.rest.first() {
            Some(b'-' | b'/' | b'.') => true,
            Some(b'+' | b'0'..=b'9') => keywords::date_keyword(text).is_none(),
            _ => false,
        };
        if !goes_on {
            return Shape::Word;
        }
        self.push_while(text, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
        });
        Shape::Date
    }

    fn push(&mut self, text: &mut String) {
        text.push(char::from(self.rest[0].to_ascii_lowercase()));
        self.rest = &self.rest[1..];
    }

    fn push_while(&mut self, text: &mut String, accept: impl Fn(u8) -> bool) {
        while self.rest.first().is_some_and(|&b| accept(b)) {
            self.push(text);
        }
    }
}

/// Keywords are compared by their first ten characters.
pub(super) fn keyword_prefix(word: &str) -> &str {
    &word[..word.len().min(TOKEN_MAX)]
}
