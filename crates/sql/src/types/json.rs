//! Checks that a text is JSON, with PostgreSQL's explanations when it is not.
//!
//! The value is kept as its text. The check is a stack machine, so that depth costs memory and
//! not the call stack.

use crate::error::{Result, SqlError, sql_error};
use crate::steps::Steps;

/// `22P02` unless `text` is one JSON value.
pub(crate) fn check(text: &str) -> Result<()> {
    let mut lexer = Lexer { text, at: 0 };
    let mut open: Vec<u8> = Vec::new();
    let mut expect = Expect::Value;
    let mut steps = Steps::default();
    loop {
        steps.next()?;
        let token = lexer.next()?;
        expect = match (expect, token.kind) {
            (Expect::Value | Expect::ElementOrEnd, Kind::Open(brace)) => {
                open.push(brace);
                if brace == b'[' { Expect::ElementOrEnd } else { Expect::KeyOrEnd }
            }
            (Expect::Value | Expect::ElementOrEnd, Kind::Scalar | Kind::String) => {
                Expect::after_value(&open)
            }
            (Expect::ElementOrEnd, Kind::Close(b']'))
            | (Expect::CommaOrEnd(b'['), Kind::Close(b']'))
            | (Expect::KeyOrEnd, Kind::Close(b'}'))
            | (Expect::CommaOrEnd(b'{'), Kind::Close(b'}')) => {
                open.pop();
                Expect::after_value(&open)
            }
            (Expect::CommaOrEnd(b'['), Kind::Comma) => Expect::Value,
            (Expect::CommaOrEnd(_), Kind::Comma) => Expect::Key,
            (Expect::KeyOrEnd | Expect::Key, Kind::String) => Expect::Colon,
            (Expect::Colon, Kind::Colon) => Expect::Value,
            (Expect::End, Kind::End) => return Ok(()),
            (expect, _) => return Err(lexer.unexpected(&token, expect)),
        };
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ElementOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    /// Inside this kind of brace.
    CommaOrEnd(u8),
    End,
}

impl Expect {
    fn after_value(open: &[u8]) -> Expect {
        open.last().map_or(Expect::End, |&brace| Expect::CommaOrEnd(brace))
    }

    fn words(self) -> &'static str {
        match self {
            Expect::Value | Expect::ElementOrEnd => "JSON value",
            Expect::KeyOrEnd => "string or \"}\"",
            Expect::Key => "string",
            Expect::Colon => "\":\"",
            Expect::CommaOrEnd(b'[') => "\",\" or \"]\"",
            Expect::CommaOrEnd(_) => "\",\" or \"}\"",
            Expect::End => "end of input",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Open(u8),
    Close(u8),
    Comma,
    Colon,
    String,
    Scalar,
    End,
}

struct Token {
    kind: Kind,
    start: usize,
    end: usize,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn next(&mut self) -> Result<Token> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        let start = self.at;
        let kind = match bytes.get(start) {
            None => Kind::End,
            Some(&b @ (b'{' | b'[')) => Kind::Open(b),
            Some(&b @ (b'}' | b']')) => Kind::Close(b),
            Some(b',') => Kind::Comma,
            Some(b':') => Kind::Colon,
            Some(b'"') => {
                self.string(start)?;
                return Ok(Token { kind: Kind::String, start, end: self.at });
            }
            Some(_) => {
                self.word(start)?;
                return Ok(Token { kind: Kind::Scalar, start, end: self.at });
            }
        };
        self.at = (start + 1).min(bytes.len());
        Ok(Token { kind, start, end: self.at })
    }

    fn string(&mut self, start: usize) -> Result<()> {
        let mut chars = self.text[start + 1..].char_indices();
        while let Some((i, c)) = chars.next() {
            let at = start + 1 + i;
            match c {
                '"' => {
                    self.at = at + 1;
                    return Ok(());
                }
                '\0'..='\x1f' => {
                    let detail =
                        format!("Character with value 0x{:02x} must be escaped.", c as u32);
                    return Err(self.invalid(&detail, at + 1));
                }
                '\\' => match chars.next() {
                    Some((_, 'u')) => {
                        for _ in 0..4 {
                            match chars.next() {
                                Some((_, digit)) if digit.is_ascii_hexdigit() => {}
                                Some((j, bad)) => {
                                    let end = start + 1 + j + bad.len_utf8();
                                    return Err(self.invalid(
                                        "\"\\u\" must be followed by four hexadecimal digits.",
                                        end,
                                    ));
                                }
                                None => return Err(self.unclosed(start)),
                            }
                        }
                    }
                    Some((_, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {}
                    Some((j, bad)) => {
                        let end = start + 1 + j + bad.len_utf8();
                        let detail = format!("Escape sequence \"\\{bad}\" is invalid.");
                        return Err(self.invalid(&detail, end));
                    }
                    None => return Err(self.unclosed(start)),
                },
                _ => {}
            }
        }
        Err(self.unclosed(start))
    }

    #[cold]
    fn unclosed(&self, start: usize) -> SqlError {
        let detail = format!("Token \"{}\" is invalid.", &self.text[start..]);
        self.invalid(&detail, self.text.len())
    }

    /// A number or one of the three words; anything else is a token of letters and digits, or a
    /// single character.
    fn word(&mut self, start: usize) -> Result<()> {
        let rest = &self.text[start..];
        let letters = |text: &str| {
            text.find(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(text.len())
        };
        let (number, len) = match rest.as_bytes()[0] {
            b'-' | b'0'..=b'9' => {
                let (len, valid) = number_len(rest);
                let garbage = letters(&rest[len..]);
                (valid && garbage == 0, len + garbage)
            }
            _ => (false, letters(rest).max(rest.chars().next().map_or(1, char::len_utf8))),
        };
        let word = &rest[..len];
        self.at = start + len;
        if number || matches!(word, "true" | "false" | "null") {
            return Ok(());
        }
        Err(self.invalid(&format!("Token \"{word}\" is invalid."), self.at))
    }

    #[cold]
    fn unexpected(&self, token: &Token, expect: Expect) -> SqlError {
        if token.kind == Kind::End {
            return self.ended();
        }
        let found = &self.text[token.start..token.end];
        self.invalid(&format!("Expected {}, but found \"{found}\".", expect.words()), token.end)
    }

    #[cold]
    fn ended(&self) -> SqlError {
        self.invalid("The input string ended unexpectedly.", self.text.len())
    }

    #[cold]
    fn invalid(&self, detail: &str, end: usize) -> SqlError {
        let error = sql_error!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json");
        at(self.text, end, error.with_detail(detail))
    }
}

/// The error, with the line up to where it lies as context.
#[cold]
pub(crate) fn at(text: &str, end: usize, error: SqlError) -> SqlError {
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before[..line_start].matches('\n').count() + 1;
    let mut shown_from = line_start;
    while end - shown_from >= 50 {
        shown_from += text[shown_from..].chars().next().map_or(1, char::len_utf8);
    }
    // A prefix as short as the dots is shown itself.
    if shown_from - line_start <= 3 {
        shown_from = line_start;
    }
    let prefix = if shown_from > line_start { "..." } else { "" };
    let more = text[end..].chars().next().is_some_and(|c| c != '\n' && c != '\r');
    let suffix = if more { "..." } else { "" };
    error
        .with_context(format!("JSON data, line {line}: {prefix}{}{suffix}", &text[shown_from..end]))
}

/// Bytes of `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?` as far as they go, and whether
/// they make a number.
fn number_len(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(bytes[0] == b'-');
    match bytes.get(at) {
        Some(b'0') => at += 1,
        Some(b'1'..=b'9') => at += digits(at),
        _ => return (at, false),
    }
    let mut valid = true;
    if bytes.get(at) == Some(&b'.') {
        let len = digits(at + 1);
        valid &= len > 0;
        at += 1 + len;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let len = digits(at);
        valid &= len > 0;
        at += len;
    }
    (at, valid)
}

/// A string in quotes, piece by piece, with what must be escaped in it, as PostgreSQL's `escape_json` writes it.
pub fn quoted(text: &str, mut put: impl FnMut(&str)) {
    put("\"");
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '\\' | '\0'..='\x1f')) {
        put(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => put("\\\""),
            b'\\' => put("\\\\"),
            b'\x08' => put("\\b"),
            b'\x0c' => put("\\f"),
            b'\n' => put("\\n"),
            b'\r' => put("\\r"),
            b'\t' => put("\\t"),
            byte => put(&format!("\\u{byte:04x}")),
        }
        rest = &rest[at + 1..];
    }
    put(rest);
    put("\"");
}
