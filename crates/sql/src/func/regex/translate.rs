//! PostgreSQL's "advanced" regular expressions in the syntax of the engine that runs them.
//!
//! The grammars differ in escapes, bracket expressions, word boundaries and in what is an error;
//! here each construct is read by PostgreSQL's rules and written by the engine's. What stays
//! different is said in `docs/compatibility.md`: alternatives are tried in order instead of all
//! together for the longest match.

use std::fmt::Write;

use super::behind;
use crate::error::{Result, SqlError, sql_error};

/// Switches of a regular expression: the letters of `regexp_…` functions and of `(?…)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Flags {
    /// `g`; only the functions look at it.
    pub global: bool,
    pub ignore_case: bool,
    /// `.` and negated brackets do not match a newline.
    pub newline_stops: bool,
    /// `^` and `$` match at newlines.
    pub newline_anchors: bool,
    /// Blanks and comments do not count.
    pub expanded: bool,
    /// The pattern is a literal text.
    pub literal: bool,
}

impl Flags {
    /// Reads option letters.
    pub fn parse(letters: &str) -> Result<Flags> {
        let mut flags = Flags::default();
        for (at, letter) in letters.char_indices() {
            if letter == 'g' {
                flags.global = true;
                continue;
            }
            refuse_basic(letter)?;
            if !flags.set(letter) {
                return Err(sql_error!(
                    INVALID_PARAMETER_VALUE,
                    "invalid regular expression option: \"{}\"",
                    &letters[at..at + letter.len_utf8()]
                ));
            }
        }
        Ok(flags)
    }

    fn set(&mut self, letter: char) -> bool {
        match letter {
            'i' => self.ignore_case = true,
            'c' => self.ignore_case = false,
            'm' | 'n' => (self.newline_stops, self.newline_anchors) = (true, true),
            's' => (self.newline_stops, self.newline_anchors) = (false, false),
            'p' => (self.newline_stops, self.newline_anchors) = (true, false),
            'w' => (self.newline_stops, self.newline_anchors) = (false, true),
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => self.literal = true,
            // The extended flavour is the advanced one without escapes that few would miss.
            'e' => {}
            _ => return false,
        }
        true
    }
}

/// `0A000` for the option that asks for basic regular expressions.
pub(super) fn refuse_basic(letter: char) -> Result<()> {
    match letter {
        'b' => Err(SqlError::unsupported("basic regular expressions are not supported")),
        _ => Ok(()),
    }
}

/// A translated pattern.
pub(super) struct Translated {
    pub pattern: String,
    /// Capturing groups.
    pub groups: usize,
    /// The engine compiles it as a whole: limits are of all of it, not of each part.
    pub is_one: bool,
    /// Back references are to match without case, which the engine's don't.
    pub in_lower_case: bool,
}

/// `2201B` in PostgreSQL's words.
#[cold]
pub(super) fn invalid(reason: &str) -> SqlError {
    sql_error!(INVALID_REGULAR_EXPRESSION, "invalid regular expression: {reason}")
}

/// Nesting that the engine can't do.
#[cold]
pub(super) fn too_deep() -> SqlError {
    SqlError::unsupported("regular expressions with parentheses nested so deep are not supported")
}

/// Most repetitions that a bound may ask for.
const MAX_REPEAT: u32 = 255;

/// Longer patterns are too complex, whatever they are of; PostgreSQL gives up on half a million states.
const MAX_PATTERN_BYTES: usize = 4_000_000;

pub(super) fn translate(pattern: &str, flags: Flags) -> Result<Translated> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(invalid("regular expression is too complex"));
    }
    let mut flags = flags;
    let mut rest = pattern;
    if !flags.literal {
        if let Some(literal) = rest.strip_prefix("***=") {
            flags.literal = true;
            rest = literal;
        } else if let Some(advanced) = rest.strip_prefix("***:") {
            rest = advanced;
        } else if rest.starts_with("***") {
            return Err(invalid("quantifier operand invalid"));
        }
    }
    if !flags.literal
        && let Some(options) = rest.strip_prefix("(?")
        && let Some(end) = options.find(|c: char| !c.is_ascii_alphabetic())
        && end > 0
        && options[end..].starts_with(')')
    {
        for letter in options[..end].chars() {
            refuse_basic(letter)?;
            if !flags.set(letter) {
                return Err(invalid("invalid embedded option"));
            }
        }
        rest = &options[end + 1..];
    }
    let mut out = String::with_capacity(rest.len() + 16);
    out.push_str(if flags.ignore_case { "(?si)" } else { "(?s)" });
    let mut translator = Translator {
        chars: rest.chars().collect(),
        at: 0,
        out,
        flags,
        groups: 0,
        closed: Vec::new(),
        greedy: Vec::new(),
        depth: 0,
        around: 0,
        takers: 0,
        looks_around: false,
        refers_back: false,
    };
    if flags.literal {
        let chars = std::mem::take(&mut translator.chars);
        chars.into_iter().for_each(|c| translator.literal(c));
    } else {
        translator.alternatives()?;
        if translator.at < translator.chars.len() {
            return Err(invalid("parentheses () not balanced"));
        }
    }
    Ok(Translated {
        pattern: translator.out,
        groups: translator.groups,
        is_one: !translator.looks_around && !translator.refers_back,
        in_lower_case: translator.refers_back && translator.flags.ignore_case,
    })
}

struct Translator {
    chars: Vec<char>,
    at: usize,
    out: String,
    flags: Flags,
    groups: usize,
    /// Groups whose end has been seen, which a back reference may name.
    closed: Vec<usize>,
    /// Where greedy quantifiers end in `out`.
    greedy: Vec<usize>,
    /// Open parentheses.
    depth: usize,
    /// Open look-arounds. Nothing in them captures.
    around: usize,
    looks_around: bool,
    /// Atoms so far that take characters, or capture.
    takers: usize,
    /// There was a back reference.
    refers_back: bool,
}

/// Nesting beyond which a pattern is refused.
const MAX_DEPTH: usize = 200;

/// What was just written, to a quantifier that may follow.
enum Atom {
    /// It starts here in `out`.
    Repeatable(usize),
    /// A group that takes no characters starts here.
    Void(usize),
    /// Anchors and look-arounds, which take none.
    Constraint,
}

impl Translator {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn peek_at(&self, offset: usize) -> Option<char> {
        self.chars.get(self.at + offset).copied()
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(i, c)| self.peek_at(i) == Some(c));
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// One character for itself.
    fn literal(&mut self, c: char) {
        if c.is_ascii_punctuation() || c == ' ' {
            self.out.push('\\');
            if c == ' ' || c == '<' || c == '>' || c == '_' {
                // These have no escaped form, or one that means something else.
                self.out.pop();
            }
        }
        self.out.push(c);
    }

    fn skip_comments(&mut self) -> Result<()> {
        loop {
            if self.eat("(?#") {
                while self.peek().is_some_and(|c| c != ')') {
                    self.at += 1;
                }
                if !self.eat(")") {
                    return Err(invalid("parentheses () not balanced"));
                }
            } else if self.flags.expanded && self.peek().is_some_and(char::is_whitespace) {
                self.at += 1;
            } else if self.flags.expanded && self.peek() == Some('#') {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Branches up to a closing parenthesis or the end.
    fn alternatives(&mut self) -> Result<()> {
        loop {
            self.skip_comments()?;
            match self.peek() {
                None | Some(')') => return Ok(()),
                Some('|') => {
                    self.at += 1;
                    self.out.push('|');
                }
                Some(c) => {
                    let atom = self.atom(c)?;
                    self.takers += usize::from(matches!(atom, Atom::Repeatable(_)));
                    self.skip_comments()?;
                    self.quantifier(atom)?;
                }
            }
        }
    }

    fn atom(&mut self, c: char) -> Result<Atom> {
        let start = self.out.len();
        match c {
            '(' => return self.group(),
            '[' => return self.bracket(),
            '.' => {
                self.at += 1;
                self.out.push_str(if self.flags.newline_stops { "[^\\n]" } else { "." });
            }
            '^' => {
                self.at += 1;
                self.out.push_str(if self.flags.newline_anchors { "(?m:^)" } else { "\\A" });
                return Ok(Atom::Constraint);
            }
            '$' => {
                self.at += 1;
                self.out.push_str(if self.flags.newline_anchors { "(?m:$)" } else { "\\z" });
                return Ok(Atom::Constraint);
            }
            '*' | '+' | '?' => return Err(invalid("quantifier operand invalid")),
            '{' if self.peek_at(1).is_some_and(|c| c.is_ascii_digit()) => {
                return Err(invalid("quantifier operand invalid"));
            }
            '\\' => return self.escape(),
            _ => {
                self.at += 1;
                self.literal(c);
            }
        }
        Ok(Atom::Repeatable(start))
    }

    fn group(&mut self) -> Result<Atom> {
        let (start, takers) = (self.out.len(), self.takers);
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let constraint = ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|open| self.eat(open));
        let mut number = None;
        if let Some(open) = constraint {
            self.around += 1;
            self.looks_around = true;
            self.out.push_str(open);
        } else if self.eat("(?:") {
            self.out.push_str("(?:");
        } else if self.peek_at(1) == Some('?') {
            return Err(invalid("quantifier operand invalid"));
        } else if self.around > 0 {
            self.at += 1;
            self.out.push_str("(?:");
        } else {
            self.at += 1;
            self.groups += 1;
            number = Some(self.groups);
            self.out.push('(');
        }
        self.alternatives()?;
        if !self.eat(")") {
            return Err(invalid("parentheses () not balanced"));
        }
        self.depth -= 1;
        self.closed.extend(number);
        let Some(open) = constraint else {
            self.out.push(')');
            let is_void = number.is_none() && self.takers == takers;
            return Ok(if is_void { Atom::Void(start) } else { Atom::Repeatable(start) });
        };
        (self.around, self.takers) = (self.around - 1, takers);
        if open.starts_with("(?<") {
            let inside = self.out.split_off(start + open.len());
            self.cut(start);
            behind::write(open, &inside, &mut self.out)?;
            if self.out.len() > MAX_PATTERN_BYTES {
                return Err(invalid("regular expression is too complex"));
            }
        } else {
            self.out.push(')');
        }
        Ok(Atom::Constraint)
    }

    /// Takes back what was written from there on.
    fn cut(&mut self, start: usize) {
        self.out.truncate(start);
        while self.greedy.pop_if(|end| *end > start).is_some() {}
    }

    fn quantifier(&mut self, atom: Atom) -> Result<()> {
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') if self.peek_at(1).is_some_and(|c| c.is_ascii_digit()) => {
                return self.bound(atom);
            }
            _ => return Ok(()),
        };
        self.at += 1;
        self.finish_quantifier(&atom, min, max)
    }

    fn number(&mut self) -> Option<u32> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let digits: String = self.chars[start..self.at].iter().collect();
        digits.parse().ok()
    }

    fn bound(&mut self, atom: Atom) -> Result<()> {
        self.at += 1;
        let bad = || invalid("invalid repetition count(s)");
        let min = self.number().ok_or_else(bad)?;
        let max = if self.eat(",") {
            if self.peek() == Some('}') { None } else { Some(self.number().ok_or_else(bad)?) }
        } else {
            Some(min)
        };
        if !self.eat("}") {
            return Err(if self.at >= self.chars.len() {
                invalid("braces {} not balanced")
            } else {
                bad()
            });
        }
        if min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT || max < min) {
            return Err(bad());
        }
        self.finish_quantifier(&atom, min, max)
    }

    fn finish_quantifier(&mut self, atom: &Atom, min: u32, max: Option<u32>) -> Result<()> {
        let (&Atom::Repeatable(start) | &Atom::Void(start)) = atom else {
            return Err(invalid("quantifier operand invalid"));
        };
        let lazy = self.eat("?");
        if matches!(self.peek(), Some('*' | '+' | '?')) {
            return Err(invalid("quantifier operand invalid"));
        }
        if (min, max) == (1, Some(1)) {
            // Repeating once changes nothing but the preference: what is inside becomes lazy.
            if lazy {
                while let Some(end) = self.greedy.pop_if(|end| *end > start) {
                    self.out.insert(end, '?');
                }
            }
            return Ok(());
        }
        if matches!(atom, Atom::Void(_)) {
            // The engine repeats nothing that takes no characters; once is as good as often, and no time needs nothing.
            if min == 0 {
                self.cut(start);
            }
            return Ok(());
        }
        match (min, max) {
            (0, None) => self.out.push('*'),
            (1, None) => self.out.push('+'),
            (0, Some(1)) => self.out.push('?'),
            (min, None) => {
                write!(self.out, "{{{min},}}").expect("a String takes all");
            }
            (min, Some(max)) => {
                write!(self.out, "{{{min},{max}}}").expect("a String takes all");
            }
        }
        if lazy {
            self.out.push('?');
        } else {
            self.greedy.push(self.out.len());
        }
        Ok(())
    }

    /// A backslash outside brackets.
    fn escape(&mut self) -> Result<Atom> {
        let start = self.out.len();
        let Some(c) = self.peek_at(1) else { return Err(invalid("invalid escape \\ sequence")) };
        let constraint = match c {
            'A' => Some("\\A"),
            'Z' => Some("\\z"),
            'm' => Some("\\b(?=\\w)"),
            'M' => Some("\\b(?<=\\w)"),
            'y' => Some("\\b"),
            'Y' => Some("\\B"),
            _ => None,
        };
        if let Some(text) = constraint {
            self.at += 2;
            self.out.push_str(text);
            return Ok(Atom::Constraint);
        }
        if let Some((class, negated)) = shorthand(c) {
            self.at += 2;
            self.out.push_str(if negated { "[^" } else { "[" });
            self.out.push_str(class);
            self.out.push(']');
            return Ok(Atom::Repeatable(start));
        }
        if c.is_ascii_digit() && c != '0' {
            return self.back_reference();
        }
        let c = self.character_escape()?;
        self.literal(c);
        Ok(Atom::Repeatable(start))
    }

    /// A back reference, which a single digit always is, and more digits where there have been so many groups. What
    /// is none is a character by its octal number.
    fn back_reference(&mut self) -> Result<Atom> {
        let start = self.out.len();
        let digits = |radix: u32, most: usize| {
            let digit = |at: usize| self.peek_at(at).and_then(|c| c.to_digit(radix));
            (1..).map(digit).take(most).map_while(|digit| digit).collect::<Vec<u32>>()
        };
        let (decimal, octal) = (digits(10, usize::MAX), digits(8, 3));
        let number = decimal.iter().fold(0, |number: usize, digit| {
            number.saturating_mul(10).saturating_add(*digit as usize)
        });
        if decimal.len() > 1 && number > self.groups {
            if octal.is_empty() {
                return Err(invalid("invalid escape \\ sequence"));
            }
            let number = |digits: &[u32]| digits.iter().fold(0, |value, digit| value * 8 + digit);
            // Three digits that are more than a byte are two, and a character behind them.
            let len = if number(&octal) > 0xff { 2 } else { octal.len() };
            self.at += 1 + len;
            let value = number(&octal[..len]);
            let bad = || invalid("invalid escape \\ sequence");
            self.literal(char::from_u32(value).ok_or_else(bad)?);
            return Ok(Atom::Repeatable(start));
        }
        if self.around > 0 || !self.closed.contains(&number) {
            return Err(invalid("invalid backreference number"));
        }
        self.at += 1 + decimal.len();
        self.refers_back = true;
        write!(self.out, "(?:\\{number})").expect("a String takes all");
        Ok(Atom::Repeatable(start))
    }

    /// A backslash and what names one character after it.
    fn character_escape(&mut self) -> Result<char> {
        let bad = || invalid("invalid escape \\ sequence");
        let Some(c) = self.peek_at(1) else { return Err(bad()) };
        self.at += 2;
        Ok(match c {
            'a' => '\x07',
            'b' => '\x08',
            'B' => '\\',
            'e' => '\x1b',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'c' => {
                let c = self.peek().ok_or_else(bad)?;
                self.at += 1;
                char::from(c as u8 & 0x1f)
            }
            'u' => self.hex(4, 4)?,
            'U' => self.hex(8, 8)?,
            'x' => self.hex(1, 255)?,
            '0' => {
                let mut value = 0;
                for _ in 0..2 {
                    match self.peek().and_then(|c| c.to_digit(8)) {
                        Some(digit) => {
                            value = value * 8 + digit;
                            self.at += 1;
                        }
                        None => break,
                    }
                }
                char::from_u32(value).ok_or_else(bad)?
            }
            c if c.is_ascii_alphanumeric() => return Err(bad()),
            c => c,
        })
    }

    fn hex(&mut self, min: usize, max: usize) -> Result<char> {
        let bad = || invalid("invalid escape \\ sequence");
        let mut value = 0u32;
        let mut count = 0;
        while count < max {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else { break };
            value = value.checked_mul(16).ok_or_else(bad)? + digit;
            self.at += 1;
            count += 1;
        }
        if count < min {
            return Err(bad());
        }
        char::from_u32(value).ok_or_else(bad)
    }

    fn bracket(&mut self) -> Result<Atom> {
        let start = self.out.len();
        if self.eat("[[:<:]]") {
            self.out.push_str("\\b(?=\\w)");
            return Ok(Atom::Constraint);
        }
        if self.eat("[[:>:]]") {
            self.out.push_str("\\b(?<=\\w)");
            return Ok(Atom::Constraint);
        }
        self.at += 1;
        let negated = self.eat("^");
        self.out.push_str(if negated { "[^" } else { "[" });
        if negated && self.flags.newline_stops {
            self.out.push_str("\\n");
        }
        let mut first = true;
        loop {
            let unbalanced = || invalid("brackets [] not balanced");
            match self.peek().ok_or_else(unbalanced)? {
                ']' if !first => {
                    self.at += 1;
                    self.out.push(']');
                    return Ok(Atom::Repeatable(start));
                }
                _ => self.bracket_item()?,
            }
            first = false;
        }
    }

    /// One character, range or class inside brackets.
    fn bracket_item(&mut self) -> Result<()> {
        if self.eat("[:") {
            let name = self.until(":]")?;
            let class = class(&name).ok_or_else(|| invalid("invalid character class"))?;
            self.out.push_str(class);
            return Ok(());
        }
        if self.peek() == Some('\\')
            && let Some((class, negated)) = self.peek_at(1).and_then(shorthand)
        {
            self.at += 2;
            if negated {
                write!(self.out, "[^{class}]").expect("a String takes all");
            } else {
                self.out.push_str(class);
            }
            return Ok(());
        }
        let low = self.bracket_char()?;
        let is_range = self.peek() == Some('-') && self.peek_at(1).is_some_and(|c| c != ']');
        if !is_range {
            self.class_char(low);
            return Ok(());
        }
        self.at += 1;
        if self.peek() == Some('[') && self.peek_at(1) == Some(':') {
            return Err(invalid("invalid character range"));
        }
        let high = self.bracket_char()?;
        if high < low {
            return Err(invalid("invalid character range"));
        }
        self.class_char(low);
        self.out.push('-');
        self.class_char(high);
        Ok(())
    }

    fn bracket_char(&mut self) -> Result<char> {
        if self.eat("[.") || self.eat("[=") {
            let close = if self.chars[self.at - 1] == '.' { ".]" } else { "=]" };
            let name = self.until(close)?;
            let mut chars = name.chars();
            return match (chars.next(), chars.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(invalid("invalid collating element")),
            };
        }
        match self.peek() {
            None => Err(invalid("brackets [] not balanced")),
            Some('\\') => self.character_escape(),
            Some(c) => {
                self.at += 1;
                Ok(c)
            }
        }
    }

    fn until(&mut self, close: &str) -> Result<String> {
        let start = self.at;
        while self.at < self.chars.len() {
            let end = self.at;
            if self.eat(close) {
                return Ok(self.chars[start..end].iter().collect());
            }
            self.at += 1;
        }
        Err(invalid("brackets [] not balanced"))
    }

    /// A character inside the engine's brackets, where more of them are special.
    fn class_char(&mut self, c: char) {
        if matches!(c, '[' | ']' | '\\' | '^' | '-' | '&' | '~' | '#') {
            self.out.push('\\');
        }
        self.out.push(c);
    }
}

const SPACE: &str = "\\t\\n\\x0B\\f\\r \\x{85}\\x{1680}\\x{2000}-\\x{2006}\\x{2008}-\\x{200A}\\x{2028}\\x{2029}\\x{205F}\\x{3000}";

/// `\d`, `\s`, `\w` and their negations: content of brackets, and whether negated.
fn shorthand(c: char) -> Option<(&'static str, bool)> {
    Some(match c {
        'd' => ("0-9", false),
        'D' => ("0-9", true),
        's' => (SPACE, false),
        'S' => (SPACE, true),
        'w' => ("\\p{Alphabetic}\\p{Nd}_", false),
        'W' => ("\\p{Alphabetic}\\p{Nd}_", true),
        _ => return None,
    })
}

/// A named character class as content of brackets.
fn class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "\\p{Alphabetic}\\p{Nd}",
        "alpha" => "\\p{Alphabetic}",
        "blank" => " \\t",
        "cntrl" => "\\p{Cc}",
        "digit" => "0-9",
        "graph" => "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}",
        "lower" => "\\p{Lowercase}",
        "print" => "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ",
        "punct" => "\\p{P}\\p{S}",
        "space" => SPACE,
        "upper" => "\\p{Uppercase}",
        "word" => "\\p{Alphabetic}\\p{Nd}_",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}
