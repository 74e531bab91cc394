//! Texts to [`Json`].

use std::sync::Arc;

use super::{DEPTH_MAX, Json};
use crate::error::{Result, SqlError, sql_error, too_deep};
use crate::steps::Steps;
use crate::types::numeric::{Numeric, overflow};
use crate::types::scalar::invalid_syntax;
use crate::types::{json, numeric};

/// Most elements of an array, and most pairs of an object: PostgreSQL's limits.
pub(crate) const MAX_ELEMENTS: usize = 33_554_431;
pub(crate) const MAX_PAIRS: usize = 14_913_080;

/// Reads what somebody has written.
///
/// # Errors
/// `22P02` for what is no JSON, `22P05` for `\u0000`, `22003` for numbers that `numeric` has no room for, `54001` for
/// values too deep in each other, `54000` for too many entries.
pub fn parse(text: &str) -> Result<Json> {
    json::check(text)?;
    take_apart(text)
}

/// Takes a canonical text apart, as long as nobody interrupts.
pub fn take_apart(text: &str) -> Result<Json> {
    Reader { text, at: 0, depth: 0, steps: Some(Steps::default()) }.value()
}

/// Takes a canonical text apart where nothing can be interrupted.
pub fn read(text: &str) -> Json {
    let mut reader = Reader { text, at: 0, depth: 0, steps: None };
    reader.value().expect("a canonical text was read before it was written")
}

/// Goes through a text that is known to be JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    steps: Option<Steps>,
}

impl Reader<'_> {
    /// The next byte that is no blank; the reader stays before it.
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while matches!(bytes[self.at], b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        bytes[self.at]
    }

    fn value(&mut self) -> Result<Json> {
        match self.peek() {
            b'{' => self.within(Reader::object),
            b'[' => self.within(Reader::array),
            b'"' => Ok(Json::String(self.string()?)),
            b't' => Ok(self.word(4, Json::Bool(true))),
            b'f' => Ok(self.word(5, Json::Bool(false))),
            b'n' => Ok(self.word(4, Json::Null)),
            _ => self.number().map(Json::Number),
        }
    }

    fn within(&mut self, inner: fn(&mut Self) -> Result<Json>) -> Result<Json> {
        if self.depth == DEPTH_MAX {
            return Err(too_deep());
        }
        self.depth += 1;
        self.at += 1;
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn step(&mut self) -> Result<()> {
        self.steps.as_mut().map_or(Ok(()), Steps::next)
    }

    fn word(&mut self, len: usize, value: Json) -> Json {
        self.at += len;
        value
    }

    fn array(&mut self) -> Result<Json> {
        let mut elements = Vec::new();
        while !self.ends(b']') {
            self.step()?;
            if elements.len() == MAX_ELEMENTS {
                return Err(too_many_elements());
            }
            elements.push(self.value()?);
        }
        Ok(Json::Array(elements))
    }

    fn object(&mut self) -> Result<Json> {
        let mut pairs = Vec::new();
        while !self.ends(b'}') {
            self.step()?;
            if pairs.len() == MAX_PAIRS {
                return Err(too_many_pairs());
            }
            let key = self.string()?;
            self.peek();
            self.at += 1;
            pairs.push((key, self.value()?));
        }
        Ok(Json::object(pairs))
    }

    /// Whether the bracket comes next, which is passed; so is a comma.
    fn ends(&mut self, bracket: u8) -> bool {
        let next = self.peek();
        if next == bracket || next == b',' {
            self.at += 1;
        }
        next == bracket
    }

    fn number(&mut self) -> Result<Numeric> {
        let rest = &self.text[self.at..];
        let len = rest
            .find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'))
            .unwrap_or(rest.len());
        self.at += len;
        Numeric::parse(&rest[..len]).map_err(|error| match error {
            numeric::ParseError::Syntax => invalid_syntax("numeric", &rest[..len]),
            numeric::ParseError::Overflow => overflow(),
        })
    }

    fn string(&mut self) -> Result<Arc<str>> {
        self.peek();
        self.at += 1;
        let rest = &self.text[self.at..];
        let end = rest.find(['"', '\\']).unwrap_or(rest.len());
        if rest.as_bytes().get(end) == Some(&b'"') {
            self.at += end + 1;
            return Ok(rest[..end].into());
        }
        let mut out = String::with_capacity(rest.len().min(2 * end + 16));
        loop {
            let rest = &self.text[self.at..];
            let end = rest.find(['"', '\\']).unwrap_or(rest.len());
            out.push_str(&rest[..end]);
            self.at += end + 1;
            if rest.as_bytes().get(end) != Some(&b'\\') {
                return Ok(out.into());
            }
            let c = self.escaped()?;
            out.push(c);
        }
    }

    /// The character of an escape sequence, behind its backslash.
    fn escaped(&mut self) -> Result<char> {
        let letter = self.text.as_bytes()[self.at];
        self.at += 1;
        Ok(match letter {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.code_point(),
            other => char::from(other),
        })
    }

    fn code_point(&mut self) -> Result<char> {
        let unit = self.unit();
        match unit {
            0 => Err(self.no_null()),
            0xd800..0xdc00 => self.second_of(unit),
            unit => char::from_u32(unit).ok_or_else(|| self.surrogate(NO_LOW_SURROGATE)),
        }
    }

    /// The character that a surrogate and the one behind it make.
    fn second_of(&mut self, high: u32) -> Result<char> {
        let rest = &self.text[self.at..];
        if !rest.starts_with("\\u") {
            // The error lies at the next character.
            let escaped = usize::from(rest.starts_with('\\'));
            self.at += escaped + rest[escaped..].chars().next().map_or(0, char::len_utf8);
            return Err(self.surrogate(NO_LOW_SURROGATE));
        }
        self.at += 2;
        match self.unit() {
            low @ 0xdc00..0xe000 => {
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                Ok(char::from_u32(code).expect("two surrogates make a character"))
            }
            0xd800..0xdc00 => {
                Err(self.surrogate("Unicode high surrogate must not follow a high surrogate."))
            }
            0 => Err(self.no_null()),
            _ => Err(self.surrogate(NO_LOW_SURROGATE)),
        }
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> u32 {
        let digits = &self.text[self.at..self.at + 4];
        self.at += 4;
        u32::from_str_radix(digits, 16).expect("the text was checked")
    }

    #[cold]
    fn no_null(&self) -> SqlError {
        let error = sql_error!(UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence");
        json::at(self.text, self.at, error.with_detail("\\u0000 cannot be converted to text."))
    }

    #[cold]
    fn surrogate(&self, detail: &str) -> SqlError {
        let error = sql_error!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json");
        json::at(self.text, self.at, error.with_detail(detail))
    }
}

const NO_LOW_SURROGATE: &str = "Unicode low surrogate must follow a high surrogate.";

#[cold]
pub(crate) fn too_many_elements() -> SqlError {
    sql_error!(
        PROGRAM_LIMIT_EXCEEDED,
        "number of jsonb array elements exceeds the maximum allowed ({MAX_ELEMENTS})"
    )
}

#[cold]
pub(crate) fn too_many_pairs() -> SqlError {
    sql_error!(
        PROGRAM_LIMIT_EXCEEDED,
        "number of jsonb object pairs exceeds the maximum allowed ({MAX_PAIRS})"
    )
}
