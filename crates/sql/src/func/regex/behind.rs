//! Look-behinds of several lengths.
//!
//! The engine looks behind by going back a number of characters, which must be one. So what a look-behind holds, already
//! in the engine's syntax and without groups that capture, is taken apart by length: `(?<=Mrs?|Dr)` is
//! `(?:(?<=Mr|Dr)|(?<=Mrs))`, and `(?<!Mrs?)` is `(?<!Mr)(?<!Mrs)`.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::error::{Result, SqlError};

/// Most characters to look back.
const MAX_CHARS: usize = 65_535;
/// Most bytes of expressions where there are several. A sequence of pieces of several lengths each makes many of few.
const MAX_BYTES: usize = 16_384;
/// Most characters that all of several look back: the engine writes out repetitions, some kilobytes for each `\w`.
const MAX_CHARS_OF_ALL: usize = 2_048;

/// Expressions, by how many characters they match.
type Lengths = BTreeMap<usize, Piece>;

#[derive(Clone, Debug, Default)]
struct Piece {
    text: String,
    /// It has alternatives, and no parentheses around them.
    is_bare: bool,
}

/// Appends a look-behind that begins with `open` and holds `inside`.
///
/// # Errors
/// `0A000` where the length of `inside` has no limit, or too many are possible.
pub(super) fn write(open: &str, inside: &str, out: &mut String) -> Result<()> {
    let lengths = Reader { rest: inside }.alternatives(true)?;
    let is_negative = open == "(?<!";
    if !is_negative {
        out.push_str("(?:");
    }
    for (i, piece) in lengths.values().enumerate() {
        if i > 0 && !is_negative {
            out.push('|');
        }
        write!(out, "{open}{})", piece.text).expect("a String takes all");
    }
    if !is_negative {
        out.push(')');
    }
    Ok(())
}

impl Piece {
    fn new(text: &str) -> Piece {
        Piece { text: text.to_owned(), is_bare: false }
    }

    /// What follows.
    fn then(&mut self, next: &Piece) {
        if self.is_bare {
            self.text = format!("(?:{})", self.text);
            self.is_bare = false;
        }
        if next.is_bare {
            write!(self.text, "(?:{})", next.text).expect("a String takes all");
        } else {
            self.text.push_str(&next.text);
        }
    }

    /// Another alternative.
    fn or(&mut self, other: &Piece) {
        self.text.push('|');
        self.text.push_str(&other.text);
        self.is_bare = true;
    }
}

/// Adds an alternative of a length.
fn add(all: &mut Lengths, len: usize, piece: Piece) -> Result<()> {
    if len > MAX_CHARS {
        return Err(too_varied());
    }
    match all.get_mut(&len) {
        Some(before) => before.or(&piece),
        None => {
            all.insert(len, piece);
        }
    }
    let (chars, bytes) = (all.iter())
        .fold((0, 0), |(chars, bytes), (len, piece)| (chars + len, bytes + piece.text.len()));
    let is_much = chars > MAX_CHARS_OF_ALL || bytes > MAX_BYTES;
    if all.len() > 1 && is_much { Err(too_varied()) } else { Ok(()) }
}

/// One after the other.
fn sequence(before: Lengths, after: &Lengths) -> Result<Lengths> {
    let mut all = Lengths::new();
    for (len, piece) in before {
        for (more, next) in after {
            let mut piece = piece.clone();
            piece.then(next);
            add(&mut all, len + more, piece)?;
        }
    }
    Ok(all)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Branches up to a closing parenthesis or the end. Where they `lead`, nothing in the look-behind comes before them.
    fn alternatives(&mut self, lead: bool) -> Result<Lengths> {
        let mut all = self.branch(lead)?;
        while let Some(rest) = self.rest.strip_prefix('|') {
            self.rest = rest;
            for (len, piece) in self.branch(lead)? {
                add(&mut all, len, piece)?;
            }
        }
        Ok(all)
    }

    fn branch(&mut self, lead: bool) -> Result<Lengths> {
        let (mut all, mut leads) = (Lengths::from([(0, Piece::default())]), lead);
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let atom = self.atom()?;
            let atom = match self.quantifier() {
                // To look behind for at least two is to look for two, if what is before them does not matter.
                Some((min, _)) if leads => repeated(&atom, min, Some(min))?,
                Some((min, max)) => repeated(&atom, min, max)?,
                None => atom,
            };
            if !append(&mut all, &atom) {
                all = sequence(all, &atom)?;
            }
            leads = false;
        }
        Ok(all)
    }

    /// One atom, before its quantifier.
    fn atom(&mut self) -> Result<Lengths> {
        if let Some(rest) = self.rest.strip_prefix("(?:") {
            self.rest = rest;
            let inside = self.alternatives(false)?;
            self.rest = self.rest.strip_prefix(')').expect("the translator closes its groups");
            return Ok(inside);
        }
        let mut chars = self.rest.chars();
        let (len, width) = match (chars.next(), chars.next()) {
            (Some('('), _) => (closed_len(self.rest), 0),
            (Some('['), _) => (closed_len(self.rest), 1),
            (Some('\\'), Some('A' | 'z' | 'b' | 'B')) => (2, 0),
            (Some('\\'), Some(c)) => (1 + c.len_utf8(), 1),
            (first, _) => (first.map_or(0, char::len_utf8), 1),
        };
        let (text, rest) = self.rest.split_at(len);
        self.rest = rest;
        Ok(Lengths::from([(width, Piece::new(text))]))
    }

    /// How often what precedes is repeated.
    fn quantifier(&mut self) -> Option<(usize, Option<usize>)> {
        let tail = self.rest.get(1..).unwrap_or_default();
        let (range, rest) = match self.rest.as_bytes().first()? {
            b'*' => ((0, None), tail),
            b'+' => ((1, None), tail),
            b'?' => ((0, Some(1)), tail),
            b'{' => {
                let (range, rest) = tail.split_once('}').expect("the translator closes its bounds");
                let number = |digits: &str| digits.parse::<usize>().expect("digits");
                let range = match range.split_once(',') {
                    None => (number(range), Some(number(range))),
                    Some((min, "")) => (number(min), None),
                    Some((min, max)) => (number(min), Some(number(max))),
                };
                (range, rest)
            }
            _ => return None,
        };
        // Whether it is greedy does not matter to who only asks whether there is a match.
        self.rest = rest.strip_prefix('?').unwrap_or(rest);
        Some(range)
    }
}

/// Appends what comes next in place, if both have but one length; otherwise false.
fn append(all: &mut Lengths, next: &Lengths) -> bool {
    if all.len() > 1 || next.len() > 1 {
        return false;
    }
    let (Some((len, mut piece)), Some((more, next))) = (all.pop_first(), next.first_key_value())
    else {
        return false;
    };
    piece.then(next);
    all.insert(len + more, piece);
    true
}

/// `min` to `max` times.
fn repeated(atom: &Lengths, min: usize, max: Option<usize>) -> Result<Lengths> {
    let mut all = Lengths::new();
    let is_void = atom.keys().all(|len| *len == 0);
    if is_void && min > 0 {
        // The engine repeats nothing that takes no characters, and once is as good as often.
        return Ok(atom.clone());
    }
    let max = if is_void { Some(0) } else { max };
    let max = max.ok_or_else(unbounded)?;
    if let (1, Some((len, piece))) = (atom.len(), atom.first_key_value()) {
        for count in min..=max {
            let piece = match count {
                0 => Piece::default(),
                1 => piece.clone(),
                _ => Piece::new(&format!("(?:{}){{{count}}}", piece.text)),
            };
            add(&mut all, len.saturating_mul(count), piece)?;
        }
        return Ok(all);
    }
    let mut so_often = Lengths::from([(0, Piece::default())]);
    for count in 0..=max {
        if count >= min {
            for (len, piece) in &so_often {
                add(&mut all, *len, piece.clone())?;
            }
        }
        if count < max {
            so_often = sequence(so_often, atom)?;
        }
    }
    Ok(all)
}

/// Bytes up to the end of the parentheses or brackets that a text begins with.
fn closed_len(text: &str) -> usize {
    let (mut parentheses, mut brackets, mut is_escaped) = (0, 0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => brackets += 1,
            ']' => brackets -= 1,
            '(' if brackets == 0 => parentheses += 1,
            ')' if brackets == 0 => parentheses -= 1,
            _ => {}
        }
        if (parentheses, brackets) == (0, 0) {
            return at + c.len_utf8();
        }
    }
    text.len()
}

#[cold]
fn unbounded() -> SqlError {
    SqlError::unsupported("look-behinds without a greatest length are not supported")
}

#[cold]
fn too_varied() -> SqlError {
    SqlError::unsupported("look-behinds so long, or of so many lengths, are not supported")
}
