//! The text by which a view's query is stored: as it was written, with all written out that is said here and now only.
//!
//! Names of columns get their entry of FROM where another column could come to be meant, each `*` the columns that
//! it stands for, NATURAL the names that the sides share, relations, collations and enums their schemas, and literals that
//! are read by settings a form that is not.

use syntax::ast::Loc;
use syntax::deparse::{literal, stored_ident};

use crate::catalog::{Natural, Record, Star, StarForm};
use crate::error::{Result, SqlError};

/// Words after an entry of FROM that are not its alias.
const NO_ALIASES: &[&str] = &[
    "natural",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "cross",
    "on",
    "using",
    "where",
    "group",
    "having",
    "window",
    "union",
    "intersect",
    "except",
    "order",
    "limit",
    "offset",
    "fetch",
    "for",
    "tablesample",
    "with",
];

/// The query of a CREATE VIEW or CREATE MATERIALIZED VIEW, written out; `base` is where the statement begins in the text that has the places.
///
/// # Errors
/// `0A000` for what can't be written out.
pub(super) fn written_out(statement: &str, base: usize, record: &Record) -> Result<String> {
    let start = after_as(statement).ok_or_else(|| SqlError::internal("CREATE VIEW has an AS"))?;
    let mut text = statement[start..end_of_query(statement)].to_owned();
    let mut edits =
        Edits { tokens: tokens(&text), text: &text, base: base + start, all: Vec::new() };
    edits.names(record);
    for star in &record.stars {
        edits.star(star)?;
    }
    for natural in &record.naturals {
        edits.natural(natural)?;
    }
    let mut all = edits.all;
    // From the end, each place once: what is bound twice was recorded twice.
    all.sort();
    all.dedup();
    // What is read as two things stays as it was written.
    let places: Vec<usize> = all.iter().map(|(at, ..)| *at).collect();
    all.retain(|(at, len, _)| *len == 0 || places.iter().filter(|place| *place == at).count() == 1);
    for (at, len, new) in all.into_iter().rev() {
        text.replace_range(at..at + len, &new);
    }
    Ok(text.trim().to_owned())
}

/// Changes to a text: where, how many bytes go, and what comes.
struct Edits<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    base: usize,
    all: Vec<(usize, usize, String)>,
}

impl Edits<'_> {
    /// The token at a place.
    fn token(&self, loc: Loc) -> Option<usize> {
        let at = (loc.offset()? as usize).checked_sub(self.base)?;
        self.tokens.binary_search_by_key(&at, |token| token.start).ok()
    }

    fn put_before(&mut self, token: usize, new: String) {
        self.all.push((self.tokens[token].start, 0, new));
    }

    /// Is the token this word or mark?
    fn is(&self, token: usize, what: &str) -> bool {
        let Some(token) = self.tokens.get(token) else { return false };
        token.kind != Kind::Quoted && self.text[token.start..token.end].eq_ignore_ascii_case(what)
    }

    fn names(&mut self, record: &Record) {
        for relation in &record.relations {
            if let (Some(token), Some(schema)) = (self.token(relation.loc), &relation.schema) {
                self.put_before(token, format!("{}.", stored_ident(schema)));
            }
        }
        for named in &record.types {
            if let (Some(token), Some(schema)) = (self.token(named.loc), &named.schema) {
                self.put_before(token, format!("{}.", stored_ident(schema)));
            }
        }
        for collation in &record.collations {
            // The place is that of the word COLLATE.
            if let (Some(token), Some(schema)) = (self.token(collation.loc), &collation.schema)
                && token + 1 < self.tokens.len()
            {
                self.put_before(token + 1, format!("{}.", stored_ident(schema)));
            }
        }
        for column in &record.columns {
            if let Some(token) = self.token(column.loc) {
                self.put_before(token, format!("{}.", stored_ident(&column.alias)));
            }
        }
        for read in &record.literals {
            if let Some(token) = self.token(read.loc) {
                let Token { start, end, .. } = self.tokens[token];
                self.all.push((start, end - start, literal(&read.text)));
            }
        }
    }

    fn star(&mut self, star: &Star) -> Result<()> {
        let Some(mut first) = self.token(star.loc) else { return Ok(()) };
        let columns: Vec<String> = star
            .columns
            .iter()
            .map(|(table, column)| match table {
                Some(table) => format!("{}.{}", stored_ident(table), stored_ident(column)),
                None => stored_ident(column).into_owned(),
            })
            .collect();
        let mut new = columns.join(", ");
        let last = match star.form {
            StarForm::Plain => (first..self.tokens.len()).find(|at| self.is(*at, "*")),
            StarForm::Row => (first + 2..self.tokens.len())
                .find(|at| self.is(*at, "*") && self.is(at - 1, ".") && self.is(at - 2, ")")),
            StarForm::Table => {
                let word = (0..first).rev().find(|at| self.is(*at, "table"));
                new = format!("SELECT {new} FROM");
                first = word.unwrap_or(first);
                word
            }
        };
        let Some(last) = last else { return Err(unwritten("\"*\"", "Name the columns.")) };
        let (start, end) = (self.tokens[first].start, self.tokens[last].end);
        self.all.push((start, end - start, new));
        Ok(())
    }

    /// `a NATURAL JOIN b` becomes `a JOIN b USING (…)`, or ON true if the sides share no name.
    fn natural(&mut self, natural: &Natural) -> Result<()> {
        let refused = || unwritten("this NATURAL JOIN", "Name the columns with USING.");
        let right = self.token(natural.loc).ok_or_else(refused)?;
        let word = (0..right).rev().find(|at| self.is(*at, "natural")).ok_or_else(refused)?;
        let join = (word..right).find(|at| self.is(*at, "join")).ok_or_else(refused)?;
        let end = self.end_of_entry(join + 1);
        let names: Vec<_> = natural.names.iter().map(|name| stored_ident(name)).collect();
        let condition = match &names[..] {
            [] => " ON true".to_owned(),
            names => format!(" USING ({})", names.join(", ")),
        };
        let Token { start, end: stop, .. } = self.tokens[word];
        self.all.push((start, stop - start, String::new()));
        self.all.push((end, 0, condition));
        Ok(())
    }

    /// Where an entry of FROM ends that begins with this token, its alias included.
    fn end_of_entry(&self, mut at: usize) -> usize {
        at += usize::from(self.is(at, "lateral")) + usize::from(self.is(at, "only"));
        if self.is(at, "rows") && self.is(at + 1, "from") && self.is(at + 2, "(") {
            at += 2;
        }
        if !self.is(at, "(") {
            at += 1;
            while self.is(at, ".") {
                at += 2;
            }
        }
        at = self.after_brackets(at);
        if self.is(at, "with") && self.is(at + 1, "ordinality") {
            at += 2;
        }
        at += usize::from(self.is(at, "*"));
        let is_alias = |at: usize| match self.tokens.get(at) {
            Some(token) if token.kind == Kind::Word => {
                !NO_ALIASES.iter().any(|word| self.is(at, word))
            }
            Some(token) => token.kind == Kind::Quoted,
            None => false,
        };
        if self.is(at, "as") || is_alias(at) {
            at += usize::from(self.is(at, "as"));
            // What a function's columns are may be told without a name.
            at += usize::from(!self.is(at, "("));
            at = self.after_brackets(at);
        }
        self.tokens.get(at - 1).map_or(self.text.len(), |token| token.end)
    }

    /// The token after the brackets that begin here, if any do.
    fn after_brackets(&self, mut at: usize) -> usize {
        let mut depth = 0;
        while at < self.tokens.len() {
            match (self.is(at, "("), self.is(at, ")")) {
                (true, _) => depth += 1,
                (_, true) if depth > 0 => depth -= 1,
                _ if depth == 0 => break,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
        at
    }
}

fn unwritten(what: &str, hint: &str) -> SqlError {
    SqlError::unsupported(format!("{what} is not supported in a view here")).with_hint(hint)
}

/// Where the query of a CREATE VIEW begins: behind the first AS that is not in brackets.
fn after_as(text: &str) -> Option<usize> {
    let mut depth = 0;
    for token in tokens(text) {
        match &text[token.start..token.end] {
            "(" => depth += 1,
            ")" => depth -= 1,
            word if depth == 0 && word.eq_ignore_ascii_case("as") => return Some(token.end),
            _ => {}
        }
    }
    None
}

/// Where the query ends: behind its last token, as what comes behind it when it is shown must not come into a comment;
/// and before WITH DATA and WITH NO DATA. No query ends with these: WITH and what comes behind it stand before another
/// one, and no name is WITH but behind AS.
fn end_of_query(text: &str) -> usize {
    let tokens = tokens(text);
    let is = |back: usize, word: &str| {
        let token = tokens.len().checked_sub(back).map(|at| tokens[at]);
        token.is_some_and(|token| {
            token.kind == Kind::Word && text[token.start..token.end].eq_ignore_ascii_case(word)
        })
    };
    let back = if is(2, "no") { 3 } else { 2 };
    let behind = if is(1, "data") && is(back, "with") { back } else { 0 };
    tokens.get(tokens.len() - behind - 1).map_or(text.len(), |token| token.end)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    /// A name in double quotes.
    Quoted,
    String,
    Mark,
}

#[derive(Clone, Copy)]
struct Token {
    kind: Kind,
    start: usize,
    end: usize,
}

/// The tokens of a text that the parser has taken: words and numbers, quoted names, strings, and single marks.
fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let next = bytes.get(start + 1);
        let (kind, end) = match bytes[start] {
            byte if byte.is_ascii_whitespace() => {
                start += 1;
                continue;
            }
            b'-' if next == Some(&b'-') => {
                start = text[start..].find('\n').map_or(bytes.len(), |len| start + len);
                continue;
            }
            b'/' if next == Some(&b'*') => {
                start = after_comment(bytes, start);
                continue;
            }
            b'"' => (Kind::Quoted, after_quote(bytes, start, false)),
            b'\'' => (Kind::String, after_quote(bytes, start, false)),
            b'e' | b'E' if next == Some(&b'\'') => {
                (Kind::String, after_quote(bytes, start + 1, true))
            }
            b'n' | b'N' if next == Some(&b'\'') => {
                (Kind::String, after_quote(bytes, start + 1, false))
            }
            b'u' | b'U' if bytes[start + 1..].starts_with(b"&'") => {
                (Kind::String, after_quote(bytes, start + 2, false))
            }
            b'u' | b'U' if bytes[start + 1..].starts_with(b"&\"") => {
                (Kind::Quoted, after_quote(bytes, start + 2, false))
            }
            b'$' => match after_dollars(text, start) {
                Some(end) => (Kind::String, end),
                None => (Kind::Mark, start + 1),
            },
            byte if is_of_word(byte) => {
                let len = bytes[start..].iter().position(|byte| !is_of_word(*byte));
                (Kind::Word, len.map_or(bytes.len(), |len| start + len))
            }
            _ => (Kind::Mark, start + 1),
        };
        tokens.push(Token { kind, start, end });
        start = end;
    }
    tokens
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Behind what is quoted by the byte at `at`; one that is doubled, or escaped, is a part of it.
fn after_quote(bytes: &[u8], at: usize, escapes: bool) -> usize {
    let quote = bytes[at];
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' if escapes => end += 2,
            byte if byte == quote && bytes.get(end + 1) == Some(&quote) => end += 2,
            byte if byte == quote => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// Comments nest.
fn after_comment(bytes: &[u8], at: usize) -> usize {
    let (mut end, mut depth) = (at + 2, 1);
    while end < bytes.len() && depth > 0 {
        let step = match bytes.get(end..end + 2) {
            Some(b"/*") => 1,
            Some(b"*/") => -1,
            _ => 0,
        };
        depth += step;
        end += if step == 0 { 1 } else { 2 };
    }
    end
}

/// Behind a `$tag$…$tag$`.
fn after_dollars(text: &str, at: usize) -> Option<usize> {
    let tag = at + 1 + text[at + 1..].find('$')? + 1;
    let body = text[tag..].find(&text[at..tag])?;
    Some(tag + body + (tag - at))
}

#[cfg(test)]
mod tests;
