//! Text to numbers by a pattern.

use super::number::{Key, Node, Pattern, SignPlace};
use crate::error::{Result, SqlError, sql_error};
use crate::types::{Datum, Numeric, TypeMod};

pub(super) fn to_number(text: &str, template: &str) -> Result<Datum> {
    if template.is_empty() {
        return Ok(Datum::Null);
    }
    let pattern = Pattern::parse(template)?;
    if pattern.roman {
        return Err(SqlError::unsupported("\"RN\" not supported for input"));
    }
    if pattern.scientific {
        return Err(SqlError::unsupported("\"EEEE\" not supported for input"));
    }
    let mut reader = Reader {
        pattern: &pattern,
        chars: text.chars().collect(),
        at: 0,
        number: String::from(" "),
        sign_from_brackets: false,
        read_post: 0,
        read_point: false,
        in_number: false,
    };
    for node in &pattern.nodes {
        if reader.at >= reader.chars.len() {
            break;
        }
        reader.node(node);
    }
    let read_post = reader.read_post;
    let mut number = reader.number;
    if number.ends_with('.') {
        number.pop();
    }
    let precision = pattern.pre + pattern.multiply + read_post;
    let typmod = TypeMod::for_numeric(precision, read_post);
    let value = Numeric::parse(&number).map_err(|_| {
        sql_error!(
            INVALID_TEXT_REPRESENTATION,
            "invalid input syntax for type numeric: \"{number}\""
        )
    })?;
    let mut value = value.apply_typmod(typmod)?;
    if pattern.has_multiply {
        let divisor = Numeric::from(10).power(&Numeric::from(-pattern.multiply))?;
        value = value.mul(&divisor)?;
    }
    Ok(value.into())
}

/// Reads the characters of a text along a pattern.
struct Reader<'a> {
    pattern: &'a Pattern,
    chars: Vec<char>,
    at: usize,
    /// The sign (or a blank) and the digits so far.
    number: String,
    /// A `<` was read, so a `>` is to come.
    sign_from_brackets: bool,
    read_post: i32,
    read_point: bool,
    in_number: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn has_sign(&self) -> bool {
        !self.number.starts_with(' ')
    }

    fn set_sign(&mut self, negative: bool) {
        self.number.replace_range(0..1, if negative { "-" } else { "+" });
    }

    fn node(&mut self, node: &Node) {
        let key = match node {
            // A character of the pattern skips one of the text.
            Node::Literal(_) => {
                self.at += 1;
                return;
            }
            Node::Key(key) => *key,
        };
        match key {
            Key::Nine | Key::Zero | Key::Point | Key::LocalePoint => self.digit(key),
            Key::Comma | Key::Group => {
                let skip_ahead = !self.in_number && self.pattern.fill_mode;
                if !skip_ahead && self.peek() == Some(',') {
                    self.at += 1;
                }
            }
            // The currency symbol is a blank; whatever stands there that is no part of a number
            // goes.
            Key::Currency => {
                if self.peek().is_some_and(|c| !is_number_part(c)) {
                    self.at += 1;
                }
            }
            Key::Minus => self.skip_sign(|c| c == '-', true),
            Key::Plus => self.skip_sign(|c| c == '+', false),
            Key::PlusMinus => match self.peek() {
                Some('-') => {
                    self.set_sign(true);
                    self.at += 1;
                }
                Some('+') => {
                    self.set_sign(false);
                    self.at += 1;
                }
                _ => self.skip_other(),
            },
            Key::Ordinal { .. } => {
                for _ in 0..2 {
                    self.skip_other();
                }
            }
            Key::Blank
            | Key::Scientific
            | Key::FillMode
            | Key::Bracket
            | Key::Sign
            | Key::Roman { .. }
            | Key::Multiply => {}
        }
    }

    fn skip_sign(&mut self, is_sign: impl Fn(char) -> bool, negative: bool) {
        match self.peek() {
            Some(c) if is_sign(c) => {
                if negative || !self.has_sign() {
                    self.set_sign(negative);
                }
                self.at += 1;
            }
            _ => self.skip_other(),
        }
    }

    /// Skips a character that cannot belong to a number.
    fn skip_other(&mut self) {
        if self.peek().is_some_and(|c| !is_number_part(c)) {
            self.at += 1;
        }
    }

    fn digit(&mut self, key: Key) {
        if self.peek() == Some(' ') {
            self.at += 1;
        }
        if self.at >= self.chars.len() {
            return;
        }
        let digits_read = self.number.len() > 1;
        if !self.has_sign() && !digits_read && matches!(key, Key::Nine | Key::Zero) {
            self.sign_before();
        }
        if self.at >= self.chars.len() {
            return;
        }
        let is_digit = self.peek().is_some_and(|c| c.is_ascii_digit());
        if is_digit {
            if self.read_point && self.read_post == self.pattern.post {
                return;
            }
            self.number.extend(self.peek());
            self.in_number = true;
            if self.read_point {
                self.read_post += 1;
            }
            self.at += 1;
        } else if self.pattern.has_point && !self.read_point && self.peek() == Some('.') {
            self.number.push('.');
            self.read_point = true;
            self.in_number = true;
            self.at += 1;
        }
        if self.number.len() > 1 {
            self.sign_after();
        }
    }

    fn sign_before(&mut self) {
        let c = self.peek();
        if self.pattern.has_sign && self.pattern.sign == SignPlace::Before {
            match c {
                Some('-') => {
                    self.set_sign(true);
                    self.at += 1;
                }
                Some('+') => {
                    self.set_sign(false);
                    self.at += 1;
                }
                _ => {}
            }
        } else if self.pattern.bracket && c == Some('<') {
            self.set_sign(true);
            self.sign_from_brackets = true;
            self.at += 1;
        } else if c == Some('-') {
            self.set_sign(true);
            self.at += 1;
        } else if c == Some('+') {
            self.set_sign(false);
            self.at += 1;
        }
    }

    /// A sign behind the digits, where nothing of the number follows.
    fn sign_after(&mut self) {
        if self.sign_from_brackets || self.has_sign() {
            return;
        }
        let next_is_digit = self.chars.get(self.at + 1).is_some_and(char::is_ascii_digit);
        if next_is_digit {
            return;
        }
        match self.peek() {
            Some('-') if self.pattern.has_sign => {
                self.set_sign(true);
                self.at += 1;
            }
            Some('+') if self.pattern.has_sign => {
                self.set_sign(false);
                self.at += 1;
            }
            Some('-') if !self.pattern.bracket && !self.pattern.minus && !self.pattern.plus => {
                self.set_sign(true);
            }
            Some('+') if !self.pattern.bracket && !self.pattern.minus && !self.pattern.plus => {
                self.set_sign(false);
            }
            _ => {}
        }
    }
}

fn is_number_part(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | ',' | '+' | '-')
}
