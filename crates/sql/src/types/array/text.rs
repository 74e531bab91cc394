//! Array text: `[2:3]={1,NULL}`, braces nested per dimension.

use std::sync::Arc;

use super::{
    Array, Dimension, MAX_DIMENSIONS, MAX_ELEMENTS, too_many_dimensions, too_many_elements,
};
use crate::error::{Result, SqlError, sql_error};
use crate::steps::Steps;
use crate::types::context::IoContext;
use crate::types::scalar::is_space;
use crate::types::{Datum, TypeId, TypeMod, input, io};

const DELIMITER: u8 = b',';

/// Reads an array of `element_type`.
pub(crate) fn parse_array(
    text: &str,
    element_type: TypeId,
    typmod: TypeMod,
    cx: &IoContext<'_>,
) -> Result<Array> {
    let mut parser = Parser { text, at: 0 };
    let bounds = parser.bounds()?;
    let items = parser.items(bounds.is_some())?;
    let mut dims = items.dims;
    if let Some(bounds) = bounds {
        let fits = bounds.len() == dims.len()
            && bounds.iter().zip(&dims).all(|(bound, dim)| bound.len == dim.len);
        if !fits {
            return Err(parser.malformed("Specified array dimensions do not match array contents."));
        }
        dims = bounds;
    }
    let mut steps = Steps::default();
    let elements = items
        .elements
        .into_iter()
        .map(|element| {
            steps.next()?;
            match element {
                None => Ok(Datum::Null),
                Some(text) => input(element_type, typmod, &text, cx),
            }
        })
        .collect::<Result<_>>()?;
    Ok(Array { element_type, dims, elements })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

struct Items {
    dims: Vec<Dimension>,
    /// Element texts; `None` for null.
    elements: Vec<Option<String>>,
}

/// What came last, which decides what may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    LevelStarted,
    InElement,
    QuotedDone,
    ElementDelimited,
    LevelDone,
    LevelDelimited,
}

/// An element being read.
#[derive(Default)]
struct Pending {
    text: String,
    /// Length of `text` up to its last character that is no unescaped blank.
    keep: usize,
    /// Quotes or a backslash were used: it is not null, whatever it says.
    literal: bool,
}

impl Pending {
    fn finish(mut self) -> Option<String> {
        self.text.truncate(self.keep);
        (self.literal || !self.text.eq_ignore_ascii_case("null")).then_some(self.text)
    }
}

impl Parser<'_> {
    #[cold]
    fn malformed(&self, detail: &str) -> SqlError {
        sql_error!(INVALID_TEXT_REPRESENTATION, "malformed array literal: \"{}\"", self.text)
            .with_detail(detail)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// `[l:u]…=`, or nothing.
    fn bounds(&mut self) -> Result<Option<Vec<Dimension>>> {
        let mut bounds = Vec::new();
        loop {
            self.skip_spaces();
            if self.peek() != Some(b'[') {
                break;
            }
            self.at += 1;
            if bounds.len() >= MAX_DIMENSIONS {
                return Err(too_many_dimensions(bounds.len() + 1));
            }
            let first = self.bound()?;
            let (lower, upper) = if self.peek() == Some(b':') {
                self.at += 1;
                (first, self.bound()?)
            } else {
                (1, first)
            };
            if self.peek() != Some(b']') {
                return Err(self.malformed("Missing \"]\" after array dimensions."));
            }
            self.at += 1;
            if upper < lower {
                return Err(sql_error!(
                    ARRAY_SUBSCRIPT_ERROR,
                    "upper bound cannot be less than lower bound"
                ));
            }
            let len = i64::from(upper) - i64::from(lower) + 1;
            if len > MAX_ELEMENTS as i64 {
                return Err(too_many_elements());
            }
            bounds.push(Dimension { len: len as i32, lower });
        }
        bounds.iter().try_for_each(|dim| dim.check())?;
        if bounds.is_empty() {
            if self.peek() != Some(b'{') {
                return Err(
                    self.malformed("Array value must start with \"{\" or dimension information.")
                );
            }
            return Ok(None);
        }
        if self.peek() != Some(b'=') {
            return Err(self.malformed("Missing \"=\" after array dimensions."));
        }
        self.at += 1;
        self.skip_spaces();
        if self.peek() != Some(b'{') {
            return Err(self.malformed("Array contents must start with \"{\"."));
        }
        Ok(Some(bounds))
    }

    fn bound(&mut self) -> Result<i32> {
        let rest = &self.text.as_bytes()[self.at..];
        let sign = usize::from(matches!(rest.first(), Some(b'-' | b'+')));
        let len = sign + rest[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        if len == sign {
            return Err(self.malformed(if sign == 0 {
                "\"[\" must introduce explicitly-specified array dimensions."
            } else {
                "Missing array dimension value."
            }));
        }
        let digits = &self.text[self.at..self.at + len];
        self.at += len;
        digits
            .parse()
            .map_err(|_| sql_error!(ARRAY_SUBSCRIPT_ERROR, "array bound is out of integer range"))
    }

    /// The braces and what is in them, then nothing but blanks.
    fn items(&mut self, _bounded: bool) -> Result<Items> {
        let mut elements = Vec::new();
        let mut levels = Levels::default();
        let mut pending: Option<Pending> = None;
        let mut state = State::Start;
        let mut steps = Steps::default();
        loop {
            steps.next()?;
            let Some(byte) = self.peek() else {
                return Err(self.malformed("Unexpected end of input."));
            };
            self.at += 1;
            match byte {
                b'"' => {
                    if !matches!(state, State::LevelStarted | State::ElementDelimited) {
                        return Err(self.malformed("Unexpected array element."));
                    }
                    pending = Some(self.quoted()?);
                    state = State::QuotedDone;
                }
                b'{' => {
                    if !matches!(state, State::Start | State::LevelStarted | State::LevelDelimited)
                    {
                        return Err(self.malformed("Unexpected \"{\" character."));
                    }
                    if !levels.open() {
                        return Err(too_many_dimensions(MAX_DIMENSIONS + 1));
                    }
                    state = State::LevelStarted;
                }
                b'}' => {
                    let allowed =
                        matches!(state, State::InElement | State::QuotedDone | State::LevelDone)
                            || (state == State::LevelStarted && levels.depth == 1);
                    if !allowed {
                        return Err(self.malformed("Unexpected \"}\" character."));
                    }
                    self.finish_element(&mut pending, &mut elements, &mut levels)?;
                    if !levels.close() {
                        return Err(self.mismatched());
                    }
                    state = State::LevelDone;
                    if levels.depth == 0 {
                        break;
                    }
                }
                DELIMITER => {
                    if !matches!(state, State::InElement | State::QuotedDone | State::LevelDone) {
                        return Err(self.malformed("Unexpected \",\" character."));
                    }
                    let after_level = state == State::LevelDone;
                    self.finish_element(&mut pending, &mut elements, &mut levels)?;
                    state =
                        if after_level { State::LevelDelimited } else { State::ElementDelimited };
                }
                _ if is_space(byte) => {
                    if state == State::InElement
                        && let Some(element) = &mut pending
                    {
                        element.text.push(char::from(byte));
                    }
                }
                _ => {
                    self.at -= 1;
                    self.plain(byte, state, &mut pending)?;
                    state = State::InElement;
                }
            }
        }
        self.skip_spaces();
        if self.peek().is_some() {
            return Err(self.malformed("Junk after closing right brace."));
        }
        Ok(Items { dims: levels.dims(elements.len()), elements })
    }

    #[cold]
    fn mismatched(&self) -> SqlError {
        self.malformed("Multidimensional arrays must have sub-arrays with matching dimensions.")
    }

    fn finish_element(
        &self,
        pending: &mut Option<Pending>,
        elements: &mut Vec<Option<String>>,
        levels: &mut Levels,
    ) -> Result<()> {
        if let Some(element) = pending.take() {
            if !levels.element() {
                return Err(self.mismatched());
            }
            if elements.len() == MAX_ELEMENTS {
                return Err(too_many_elements());
            }
            elements.push(element.finish());
        }
        Ok(())
    }

    /// The rest of a quoted element.
    fn quoted(&mut self) -> Result<Pending> {
        let mut element = Pending { literal: true, ..Pending::default() };
        let mut chars = self.text[self.at..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    element.keep = element.text.len();
                    return Ok(element);
                }
                '\\' => match chars.next() {
                    Some((_, escaped)) => element.text.push(escaped),
                    None => break,
                },
                _ => element.text.push(c),
            }
        }
        Err(self.malformed("Unexpected end of input."))
    }

    /// One character of an unquoted element, perhaps its first.
    fn plain(&mut self, byte: u8, state: State, pending: &mut Option<Pending>) -> Result<()> {
        if !matches!(state, State::LevelStarted | State::InElement | State::ElementDelimited) {
            return Err(self.malformed(if byte == b'\\' {
                "Unexpected \"\\\" character."
            } else {
                "Unexpected array element."
            }));
        }
        let element = pending.get_or_insert_default();
        if byte == b'\\' {
            self.at += 1;
            element.literal = true;
        }
        let Some(c) = self.text[self.at..].chars().next() else {
            return Err(self.malformed("Unexpected end of input."));
        };
        self.at += c.len_utf8();
        element.text.push(c);
        element.keep = element.text.len();
        Ok(())
    }
}

/// Element counts per nesting level.
#[derive(Default)]
struct Levels {
    depth: usize,
    /// Deepest level seen.
    ndim: usize,
    /// Items so far in the open level.
    count: [i32; MAX_DIMENSIONS],
    /// Items that each finished level had.
    expected: [Option<i32>; MAX_DIMENSIONS],
    has_elements: bool,
}

impl Levels {
    /// Opens a level; false when it is one too many.
    fn open(&mut self) -> bool {
        if self.depth >= MAX_DIMENSIONS {
            return false;
        }
        self.count[self.depth] = 0;
        self.depth += 1;
        self.ndim = self.ndim.max(self.depth);
        true
    }

    /// Closes a level; false when another one had a different length.
    fn close(&mut self) -> bool {
        self.depth -= 1;
        let count = self.count[self.depth];
        if self.expected[self.depth].replace(count).is_some_and(|expected| expected != count) {
            return false;
        }
        if self.depth > 0 {
            self.count[self.depth - 1] += 1;
        }
        true
    }

    /// Counts an element; false when others lie deeper.
    fn element(&mut self) -> bool {
        self.has_elements = true;
        self.count[self.depth - 1] += 1;
        self.depth == self.ndim
    }

    fn dims(&self, elements: usize) -> Vec<Dimension> {
        if elements == 0 {
            return Vec::new();
        }
        self.expected[..self.ndim]
            .iter()
            .map(|len| Dimension { len: len.expect("all levels were closed"), lower: 1 })
            .collect()
    }
}

/// Appends an array's text.
pub(crate) fn write_array(array: &Array, cx: &IoContext<'_>, out: &mut Vec<u8>) -> Result<()> {
    if array.dims.is_empty() {
        out.extend_from_slice(b"{}");
        return Ok(());
    }
    if array.dims.iter().any(|dim| dim.lower != 1) {
        for dim in &array.dims {
            out.extend_from_slice(format!("[{}:{}]", dim.lower, dim.upper()).as_bytes());
        }
        out.push(b'=');
    }
    let mut elements = array.elements.iter();
    write_level(array, &array.dims, &mut elements, cx, out)
}

fn write_level<'a>(
    array: &Array,
    dims: &[Dimension],
    elements: &mut impl Iterator<Item = &'a Datum>,
    cx: &IoContext<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (dim, inner) = dims.split_first().expect("a level has a dimension");
    out.push(b'{');
    let mut steps = Steps::default();
    for i in 0..dim.len {
        steps.next()?;
        if i > 0 {
            out.push(DELIMITER);
        }
        if inner.is_empty() {
            let element = elements.next().expect("one element per position");
            write_element(array.element_type, element, cx, out)?;
            crate::func::check_length(out.len())?;
        } else {
            write_level(array, inner, elements, cx, out)?;
        }
    }
    out.push(b'}');
    Ok(())
}

fn write_element(
    element_type: TypeId,
    element: &Datum,
    cx: &IoContext<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    if element.is_null() {
        out.extend_from_slice(b"NULL");
        return Ok(());
    }
    let start = out.len();
    io::output(element_type, element, cx, out)?;
    let text = &out[start..];
    let quote = text.is_empty()
        || text.eq_ignore_ascii_case(b"null")
        || text.iter().any(|&b| matches!(b, b'"' | b'\\' | b'{' | b'}' | DELIMITER) || is_space(b));
    if quote {
        let text = out.split_off(start);
        out.push(b'"');
        for byte in text {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.push(b'"');
    }
    Ok(())
}

/// Reads an `int2vector` or `oidvector`: numbers between blanks, subscripts from 0.
pub(crate) fn parse_vector(text: &str, element_type: TypeId) -> Result<Datum> {
    let elements = text
        .split(|c: char| c.is_ascii() && is_space(c as u8))
        .filter(|word| !word.is_empty())
        .map(|word| match element_type {
            TypeId::INT2 => crate::types::scalar::parse_int(
                word,
                "smallint",
                i64::from(i16::MIN),
                i64::from(i16::MAX),
            )
            .map(|v| Datum::Int2(v as i16)),
            _ => crate::types::scalar::parse_oid(word).map(Datum::Oid),
        })
        .collect::<Result<Vec<_>>>()?;
    let dims = vec![Dimension { len: elements.len() as i32, lower: 0 }];
    Ok(Datum::Array(Arc::new(Array { element_type, dims, elements })))
}

/// Appends an `int2vector` or `oidvector`.
pub(crate) fn write_vector(array: &Array, out: &mut Vec<u8>) {
    for (i, element) in array.elements.iter().enumerate() {
        if i > 0 {
            out.push(b' ');
        }
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(match element {
            Datum::Int2(v) => digits.format(*v).as_bytes(),
            Datum::Oid(v) => digits.format(v.0).as_bytes(),
            other => unreachable!("a vector holds integers, not {other:?}"),
        });
    }
}
