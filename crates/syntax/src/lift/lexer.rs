//! The one pass over the text: PostgreSQL's lexical rules, as far as what is not refused needs them.
//!
//! Each token goes into the key followed by a space, so that white space and comments make no
//! difference and tokens cannot run together. A lifted constant leaves a mark, a byte that no token
//! starts with, and the letter of its kind.

use super::words::{Word, classify};
use super::{Lifter, MAX_CONSTANTS, Piece, Slot, SlotValue};
use crate::ast::Span;

/// Starts a constant's place in the key. Control characters are not SQL outside of quotes.
const MARK: u8 = 0x01;

/// Longer identifiers are cut off by the parser, with a notice.
const MAX_NAME_BYTES: usize = 63;

/// What came before: it decides whether a constant is an operand and a minus sign is a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Previous {
    Start,
    /// A word that starts an expression, `(`, `,`, `[`, `:` or an operator.
    Operand,
    /// LIKE and its kin, or an operator with a `~`: a pattern follows.
    Pattern,
    /// A name or a word of no known meaning.
    Word,
    String,
    /// `)`.
    Close,
    /// Anything else that ends an operand, or after which no constant stands.
    Other,
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    out: &'a mut Lifter,
    previous: Previous,
    /// The word before, if the token before was a word.
    word: Word,
    /// Open parentheses and brackets.
    depth: u32,
    /// Constants stay in the key until the parentheses close below this depth.
    verbatim: Option<Verbatim>,
    /// After `::` or AS: what follows may be a type.
    in_type: bool,
    is_insert: bool,
}

#[derive(Clone, Copy)]
struct Verbatim {
    depth: u32,
    until: Until,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The closing parenthesis.
    Close,
    /// Also LIMIT, OFFSET and the like: ORDER BY.
    Clause,
    /// Also DO: ON CONFLICT.
    Do,
}

/// `None` refuses the statement.
type Step = Option<()>;

/// Fills the lifter's buffers from `sql`; false if it must not be lifted.
pub(super) fn run(sql: &str, out: &mut Lifter) -> bool {
    let mut lexer = Lexer {
        bytes: sql.as_bytes(),
        at: 0,
        out,
        previous: Previous::Start,
        word: Word::Other,
        depth: 0,
        verbatim: None,
        in_type: false,
        is_insert: false,
    };
    // The parser refuses a NUL wherever it stands.
    !lexer.bytes.contains(&0) && lexer.statement().is_some()
}

impl Lexer<'_> {
    fn statement(&mut self) -> Step {
        self.skip_space()?;
        self.first_word()?;
        loop {
            self.skip_space()?;
            let Some(&byte) = self.bytes.get(self.at) else { break };
            if byte == b';' {
                self.at += 1;
                self.skip_space()?;
                return (self.at == self.bytes.len()).then_some(());
            }
            self.token(byte)?;
        }
        Some(())
    }

    fn first_word(&mut self) -> Step {
        let start = self.out.key.len();
        self.read_word()?;
        match &self.out.key[start..] {
            b"select" => self.word = Word::Clause,
            b"insert" => self.is_insert = true,
            b"update" | b"delete" => {}
            _ => return None,
        }
        self.previous = if self.word == Word::Clause { Previous::Operand } else { Previous::Word };
        self.out.key.push(b' ');
        Some(())
    }

    fn token(&mut self, byte: u8) -> Step {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => self.word_or_prefixed(byte),
            b'0'..=b'9' => self.number(None),
            b'\'' => self.string(self.at),
            b'"' => self.quoted_name(),
            b'$' => self.dollar(),
            b'.' => match self.peek(1) {
                b'0'..=b'9' => self.number(None),
                b'.' => None,
                _ => self.punctuation(Previous::Other),
            },
            b'(' | b'[' => self.open(byte),
            b')' | b']' => self.close(byte),
            b',' => {
                self.in_type = false;
                self.punctuation(Previous::Operand)
            }
            b':' => self.colon(),
            _ if is_operator_byte(byte) => self.operator(),
            _ => None,
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// White space and comments.
    fn skip_space(&mut self) -> Step {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => self.at += 1,
                b'-' if self.peek(1) == b'-' => {
                    let rest = &self.bytes[self.at..];
                    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.at += end.unwrap_or(rest.len());
                }
                b'/' if self.peek(1) == b'*' => self.skip_comment()?,
                _ => return Some(()),
            }
        }
    }

    /// A comment, and those inside it.
    fn skip_comment(&mut self) -> Step {
        let mut open = 0_u32;
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    open += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    open -= 1;
                    self.at += 2;
                    if open == 0 {
                        return Some(());
                    }
                }
                _ if self.at >= self.bytes.len() => return None,
                _ => self.at += 1,
            }
        }
    }

    fn word_or_prefixed(&mut self, byte: u8) -> Step {
        match (byte, self.peek(1)) {
            (b'e' | b'E', b'\'') => {
                let start = self.at;
                self.at += 1;
                return self.string(start);
            }
            (b'b' | b'B' | b'x' | b'X' | b'n' | b'N', b'\'') => return None,
            (b'u' | b'U', b'&') if matches!(self.peek(2), b'\'' | b'"') => return None,
            _ => {}
        }
        let start = self.out.key.len();
        self.read_word()?;
        let word = &self.out.key[start..];
        let pattern = matches!(word, b"like" | b"ilike" | b"to" | b"escape");
        self.word = classify(word);
        self.out.key.push(b' ');
        self.previous = match self.word {
            Word::Expression | Word::Clause => Previous::Operand,
            _ if pattern => Previous::Pattern,
            _ => Previous::Word,
        };
        self.apply_word()
    }

    /// What the word that was just read changes.
    fn apply_word(&mut self) -> Step {
        match self.word {
            Word::Refuse => return None,
            Word::Into if !self.is_insert => return None,
            Word::As => self.in_type = true,
            Word::Order => self.keep_verbatim(Until::Clause),
            Word::Conflict => self.keep_verbatim(Until::Do),
            Word::Do => self.end_verbatim(Until::Do),
            Word::Clause => {
                self.in_type = false;
                self.end_verbatim(Until::Clause);
            }
            Word::Expression => self.in_type = false,
            _ => {}
        }
        Some(())
    }

    fn keep_verbatim(&mut self, until: Until) {
        if self.verbatim.is_none() {
            self.verbatim = Some(Verbatim { depth: self.depth, until });
        }
    }

    fn end_verbatim(&mut self, until: Until) {
        if self.verbatim.is_some_and(|v| v.until == until && v.depth == self.depth) {
            self.verbatim = None;
        }
    }

    /// Reads an identifier or a keyword into the key, folded.
    fn read_word(&mut self) -> Step {
        let rest = &self.bytes[self.at..];
        let len = rest.iter().position(|byte| !is_name_byte(*byte)).unwrap_or(rest.len());
        if len == 0 || len > MAX_NAME_BYTES {
            return None;
        }
        self.out.key.extend(rest[..len].iter().map(u8::to_ascii_lowercase));
        self.at += len;
        Some(())
    }

    fn quoted_name(&mut self) -> Step {
        let start = self.at;
        self.at += 1;
        while self.peek(0) != b'"' || self.peek(1) == b'"' {
            if self.at >= self.bytes.len() {
                return None;
            }
            self.at += if self.peek(0) == b'"' { 2 } else { 1 };
        }
        self.at += 1;
        let text = &self.bytes[start..self.at];
        if text.len() < 3 || text.len() - 2 > MAX_NAME_BYTES {
            return None;
        }
        self.out.key.extend_from_slice(text);
        self.out.key.push(b' ');
        self.previous = Previous::Word;
        self.word = Word::Other;
        Some(())
    }

    fn punctuation(&mut self, previous: Previous) -> Step {
        self.out.key.extend_from_slice(&[self.bytes[self.at], b' ']);
        self.at += 1;
        self.previous = previous;
        self.word = Word::Other;
        Some(())
    }

    fn open(&mut self, byte: u8) -> Step {
        self.depth += 1;
        let of_type = self.in_type && self.previous != Previous::Operand && self.word != Word::As;
        if byte == b'(' && (of_type || self.word == Word::Precision) {
            self.keep_verbatim(Until::Close);
        }
        // The bounds of an array type still belong to the type.
        self.in_type &= byte == b'[';
        self.punctuation(Previous::Operand)
    }

    fn close(&mut self, byte: u8) -> Step {
        self.depth = self.depth.checked_sub(1)?;
        if self.verbatim.is_some_and(|verbatim| verbatim.depth > self.depth) {
            self.verbatim = None;
        }
        self.in_type &= byte == b']';
        self.punctuation(Previous::Close)
    }

    fn colon(&mut self) -> Step {
        match self.peek(1) {
            b':' => {
                self.out.key.push(b':');
                self.at += 1;
                self.punctuation(Previous::Other)?;
                self.in_type = true;
                Some(())
            }
            b'=' => None,
            _ => self.punctuation(Previous::Operand),
        }
    }

    fn operator(&mut self) -> Step {
        let len = operator_len(&self.bytes[self.at..]);
        let symbol = &self.bytes[self.at..self.at + len];
        if symbol == b"-" && self.previous == Previous::Operand {
            let start = self.at;
            self.at += 1;
            self.skip_space()?;
            if self.peek(0).is_ascii_digit()
                || (self.peek(0) == b'.' && self.peek(1).is_ascii_digit())
            {
                return self.number(Some(start));
            }
            self.out.key.extend_from_slice(b"- ");
        } else {
            self.out.key.extend_from_slice(symbol);
            self.out.key.push(b' ');
            self.at += len;
        }
        self.previous = if symbol.contains(&b'~') { Previous::Pattern } else { Previous::Operand };
        self.word = Word::Other;
        self.in_type = false;
        Some(())
    }

    /// A number; `minus` is the place of the sign before it.
    fn number(&mut self, minus: Option<usize>) -> Step {
        let start = self.at;
        let integer = self.skip_number()?;
        let digits = std::str::from_utf8(&self.bytes[start..self.at]).ok()?;
        let end = self.at;
        // A cast binds closer than the sign does.
        self.skip_space()?;
        let binds_closer = self.peek(0) == b':' && self.peek(1) == b':';
        let operand = self.previous == Previous::Operand && !self.in_type;
        if !operand || self.verbatim.is_some() {
            self.keep(minus, start, end);
            return Some(());
        }
        let sign = minus.filter(|_| !binds_closer);
        if minus.is_some() && sign.is_none() {
            self.out.key.extend_from_slice(b"- ");
        }
        let (mark, value) = self.number_value(digits, integer, sign.is_some(), start)?;
        self.slot(mark, Span { start: sign.unwrap_or(start) as u32, end: end as u32 }, value)
    }

    /// Moves past a number; true if it is an integer. Refuses what is not plainly decimal.
    fn skip_number(&mut self) -> Option<bool> {
        let mut integer = true;
        self.skip_digits();
        if self.peek(0) == b'.' {
            integer = false;
            self.at += 1;
            self.skip_digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            integer = false;
            self.at += 1;
            if matches!(self.peek(0), b'+' | b'-') {
                self.at += 1;
            }
            if !self.peek(0).is_ascii_digit() {
                return None;
            }
            self.skip_digits();
        }
        (!is_name_byte(self.peek(0)) && self.peek(0) != b'.').then_some(integer)
    }

    fn skip_digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// The kind and value of a number whose digits start at `start`.
    fn number_value(
        &mut self,
        digits: &str,
        integer: bool,
        negative: bool,
        start: usize,
    ) -> Option<(u8, SlotValue)> {
        if integer && let Ok(value) = digits.parse::<i64>() {
            // The kind is that of the digits: the grammar sees them before the sign.
            let mark = if i32::try_from(value).is_ok() { b'i' } else { b'I' };
            let value = if negative { -value } else { value };
            let signed_mark = if i32::try_from(value).is_ok() { b'i' } else { b'I' };
            return (mark == signed_mark).then_some((mark, SlotValue::Integer(value)));
        }
        // 2^63 with a sign is an int8 and without one is not.
        if integer && digits.trim_start_matches('0').len() < 20 {
            return None;
        }
        let piece = if negative {
            let at = self.out.spelled.len();
            self.out.spelled.push('-');
            self.out.spelled.push_str(digits);
            Piece { spelled: true, start: at as u32, end: self.out.spelled.len() as u32 }
        } else {
            Piece { spelled: false, start: start as u32, end: (start + digits.len()) as u32 }
        };
        Some((b'n', SlotValue::Numeric(piece)))
    }

    /// Keeps a constant in the key as it is written.
    fn keep(&mut self, minus: Option<usize>, start: usize, end: usize) {
        if minus.is_some() {
            self.out.key.extend_from_slice(b"- ");
        }
        self.out.key.extend_from_slice(&self.bytes[start..end]);
        self.out.key.push(b' ');
        self.previous = Previous::Other;
        self.word = Word::Other;
    }

    fn slot(&mut self, mark: u8, span: Span, value: SlotValue) -> Step {
        if self.out.slots.len() == MAX_CONSTANTS {
            return None;
        }
        self.out.key.extend_from_slice(&[MARK, mark, b' ']);
        self.out.slots.push(Slot { span, value });
        self.previous = Previous::Other;
        self.word = Word::Other;
        Some(())
    }

    /// `'…'`, or `E'…'` when `start` is one byte back.
    fn string(&mut self, start: usize) -> Step {
        let escapes = start != self.at;
        let piece = self.string_body(escapes)?;
        self.after_string(start, piece)
    }

    /// Lifts or keeps the string constant that starts at `start` and has just been read.
    fn after_string(&mut self, start: usize, piece: Piece) -> Step {
        let end = self.at;
        self.skip_space()?;
        // A string after a string, and a parenthesis before one, have rules of their own.
        if self.peek(0) == b'\'' || matches!(self.previous, Previous::String | Previous::Close) {
            return None;
        }
        if self.previous == Previous::Operand && !self.in_type && self.verbatim.is_none() {
            let span = Span { start: start as u32, end: end as u32 };
            self.slot(b's', span, SlotValue::String(piece))?;
        } else {
            self.keep(None, start, end);
        }
        self.previous = Previous::String;
        Some(())
    }

    /// Reads from the opening quote to past the closing one.
    fn string_body(&mut self, escapes: bool) -> Option<Piece> {
        self.at += 1;
        let start = self.at;
        let spelled_start = self.out.spelled.len();
        let mut copied = start;
        loop {
            match self.peek(0) {
                b'\'' if self.peek(1) == b'\'' => {
                    self.copy_spelled(copied, self.at + 1)?;
                    self.at += 2;
                    copied = self.at;
                }
                b'\'' => break,
                b'\\' if escapes => {
                    self.copy_spelled(copied, self.at)?;
                    self.out.spelled.push(escaped(self.peek(1))?);
                    self.at += 2;
                    copied = self.at;
                }
                _ if self.at >= self.bytes.len() => return None,
                _ => self.at += 1,
            }
        }
        let end = self.at;
        self.at += 1;
        if copied == start {
            return Some(Piece { spelled: false, start: start as u32, end: end as u32 });
        }
        self.copy_spelled(copied, end)?;
        let spelled_end = self.out.spelled.len() as u32;
        Some(Piece { spelled: true, start: spelled_start as u32, end: spelled_end })
    }

    fn copy_spelled(&mut self, from: usize, to: usize) -> Step {
        self.out.spelled.push_str(std::str::from_utf8(&self.bytes[from..to]).ok()?);
        Some(())
    }

    /// `$tag$…$tag$`.
    fn dollar(&mut self) -> Step {
        let start = self.at;
        // A parameter, which would be taken for a lifted constant.
        if self.peek(1).is_ascii_digit() {
            return None;
        }
        let tag = self.bytes[start + 1..].iter().position(|byte| !is_tag_byte(*byte))?;
        let opening = &self.bytes[start..start + tag + 2];
        if opening.last() != Some(&b'$') {
            return None;
        }
        let body = start + opening.len();
        let len = find(&self.bytes[body..], opening)?;
        self.at = body + len + opening.len();
        let piece = Piece { spelled: false, start: body as u32, end: (body + len) as u32 };
        self.after_string(start, piece)
    }
}

/// The character that a backslash and `byte` stand for; `None` for escapes that are more than that.
fn escaped(byte: u8) -> Option<char> {
    match byte {
        b'b' => Some('\u{8}'),
        b'f' => Some('\u{c}'),
        b'n' => Some('\n'),
        b'r' => Some('\r'),
        b't' => Some('\t'),
        b'\'' | b'\\' | b'"' | b'%' | b'_' => Some(char::from(byte)),
        _ => None,
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

fn is_tag_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..)
}

fn is_operator_byte(byte: u8) -> bool {
    matches!(
        byte,
        b'~' | b'!'
            | b'@'
            | b'#'
            | b'^'
            | b'&'
            | b'|'
            | b'`'
            | b'?'
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b'%'
            | b'<'
            | b'>'
            | b'='
    )
}

/// The length of the operator that `text` starts with. A comment ends it; one of several characters
/// may end in `+` or `-` only if it has a character that no standard operator has.
fn operator_len(text: &[u8]) -> usize {
    let run = text.iter().position(|byte| !is_operator_byte(*byte)).unwrap_or(text.len());
    let comment = text[..run].windows(2).position(|pair| pair == b"--" || pair == b"/*");
    let mut len = comment.unwrap_or(run).max(1);
    let signed = |len: usize| len > 1 && matches!(text[len - 1], b'+' | b'-');
    let unusual = |byte: &u8| b"~!@#^&|`?%".contains(byte);
    if signed(len) && !text[..len - 1].iter().any(unusual) {
        while signed(len) {
            len -= 1;
        }
    }
    len
}
