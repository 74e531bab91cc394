//! Records out of a stream of bytes.

use super::options::{CopyFormat, Kind};
use crate::error::{Result, SqlError, sql_error};
use crate::steps::checkpoint;
use crate::types::scalar::room;

/// So much of a long line is looked through without giving way to others.
const STRETCH_BYTES: usize = 64 << 10;

/// Splits what clients send into records of fields. Bytes come in pieces of any size.
pub struct CopyReader {
    format: CopyFormat,
    buffer: Vec<u8>,
    at: usize,
    scan: Scan,
    /// How lines end: as the first did.
    ending: Option<Ending>,
    /// Lines begun, from 1; a quoted field may span several.
    line: u64,
    ended: bool,
}

/// One record; refers to scratch buffers that it owns.
#[derive(Default)]
pub struct Record {
    /// Values that are not just pieces of the line, one behind the other.
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// The fields are pieces of the line, not of `bytes`.
    plain: bool,
    /// The line as it came, for error contexts.
    pub raw: Vec<u8>,
    /// The number of its first line, from 1.
    pub line: u64,
}

impl Record {
    /// Number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Field `i`; `None` is null.
    #[inline]
    pub fn field(&self, i: usize) -> Option<&[u8]> {
        let Field { start, end, null } = self.fields[i];
        let bytes = if self.plain { &self.raw } else { &self.bytes };
        (!null).then(|| &bytes[start..end])
    }

    /// The bytes in which there is a zero byte, which no text may have.
    #[inline]
    pub fn with_zero(&self) -> Option<&[u8]> {
        let made = if self.plain { &[] } else { self.bytes.as_slice() };
        [self.raw.as_slice(), made].into_iter().find(|bytes| memchr::memchr(0, bytes).is_some())
    }

    /// Ends a field of `bytes`.
    fn end_field(&mut self, null: bool) {
        self.fields.push(Field { start: self.field_start(), end: self.bytes.len(), null });
    }

    fn field_start(&self) -> usize {
        self.fields.last().map_or(0, |field| field.end)
    }
}

/// Where a field's value lies.
#[derive(Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    null: bool,
}

/// Where a line's content and its terminator end.
struct LineEnd {
    content: usize,
    next: usize,
    lines: u64,
    /// The mark of the data's end is at the line's, and no part of its content.
    marked: bool,
}

/// How a line ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Newline,
    Return,
    Both,
}

impl Ending {
    /// Of a line at whose end these bytes are; a newline behind a carriage return is the next line's where one ends them.
    fn of(byte: u8, next: Option<&u8>, known: Option<Ending>) -> Ending {
        match (byte, next) {
            (b'\n', _) => Ending::Newline,
            (_, Some(b'\n')) if known != Some(Ending::Return) => Ending::Both,
            _ => Ending::Return,
        }
    }

    fn width(self) -> usize {
        1 + usize::from(self == Ending::Both)
    }

    /// `22P04`: lines before ended otherwise.
    #[cold]
    fn unlike(self, kind: Kind) -> SqlError {
        let (name, escape) = match self {
            Ending::Newline => ("newline", "\\n"),
            Ending::Return | Ending::Both => ("carriage return", "\\r"),
        };
        match kind {
            Kind::Csv => sql_error!(BAD_COPY_FILE_FORMAT, "unquoted {name} found in data")
                .with_hint(format!("Use quoted CSV field to represent {name}.")),
            _ => sql_error!(BAD_COPY_FILE_FORMAT, "literal {name} found in data")
                .with_hint(format!("Use \"{escape}\" to represent {name}.")),
        }
    }
}

/// What is known of the line that starts at `at`, while its end has not come: a line that comes in many pieces is
/// looked through once.
#[derive(Clone, Copy, Default)]
struct Scan {
    /// So many bytes of it need not be looked at again.
    seen: usize,
    /// Not all of them are plain: there is a backslash among them, or it is CSV.
    mixed: bool,
    /// What follows is in quotes.
    quoted: bool,
    /// Line breaks among them, all in quotes.
    breaks: u64,
}

impl CopyReader {
    pub fn new(format: CopyFormat) -> CopyReader {
        let (buffer, scan) = (Vec::new(), Scan::default());
        CopyReader { format, buffer, at: 0, scan, ending: None, line: 0, ended: false }
    }

    /// The buffer to append the next piece to.
    pub fn input(&mut self) -> &mut Vec<u8> {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        &mut self.buffer
    }

    /// Reads the next record; false when the buffer holds no whole one. `at_end`: no more bytes will come.
    /// `is_forced` says for a field's number whether FORCE_NOT_NULL and FORCE_NULL hold.
    pub fn next(
        &mut self,
        at_end: bool,
        record: &mut Record,
        is_forced: &dyn Fn(usize) -> (bool, bool),
    ) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        record.bytes.clear();
        record.fields.clear();
        record.raw.clear();
        record.plain = false;
        if self.format.kind != Kind::Csv && !self.scan.mixed && self.next_plain(record) {
            return Ok(true);
        }
        let Some(end) = self.find_line(at_end)? else {
            // Nobody is to fill memory with a line that never ends.
            room(self.buffer.len() - self.at, 0)?;
            return Ok(false);
        };
        record.raw.extend_from_slice(&self.buffer[self.at..end.content]);
        record.line = self.line + 1;
        self.line += end.lines;
        self.at = end.next;
        self.scan = Scan::default();
        let csv = self.format.kind == Kind::Csv;
        // In CSV it is one where it stands alone; elsewhere it may end a line, which counts.
        self.ended = end.marked || (csv && record.raw == b"\\.");
        if self.ended && (csv || record.raw.is_empty()) {
            return Ok(false);
        }
        match self.format.kind {
            Kind::Csv => split_csv(&self.format, record, is_forced)?,
            _ => split_text(&self.format, record),
        }
        Ok(true)
    }

    /// Reads the next line of text format if it is all there and has no backslash: its fields are pieces of it.
    #[inline]
    fn next_plain(&mut self, record: &mut Record) -> bool {
        let bytes = &self.buffer[self.at..];
        let seen = self.scan.seen;
        let found = memchr::memchr3(b'\n', b'\r', b'\\', &bytes[seen..]);
        let end = found.map_or(bytes.len(), |found| seen + found);
        let ends_alike = matches!(self.ending, None | Some(Ending::Newline));
        if bytes.get(end) != Some(&b'\n') || !ends_alike {
            self.scan.seen = end;
            return false;
        }
        let line = &bytes[..end];
        let null = self.format.null.as_slice();
        let mut start = 0;
        let mut field = |end: usize| {
            record.fields.push(Field { start, end, null: &line[start..end] == null });
            start = end + 1;
        };
        memchr::memchr_iter(self.format.delimiter, line).for_each(&mut field);
        field(end);
        record.raw.extend_from_slice(line);
        self.ending = Some(Ending::Newline);
        record.plain = true;
        self.line += 1;
        record.line = self.line;
        self.at += end + 1;
        self.scan = Scan::default();
        true
    }

    /// The number of the line, from 1, in which an error of [`CopyReader::next`] was found.
    pub fn place(&self) -> u64 {
        self.line + 1 + self.scan.breaks
    }

    /// Whether the end-of-data mark was read.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Finds the end of the line that starts at `at`; `None` if it is not all there. Goes on where the last look ended.
    fn find_line(&mut self, at_end: bool) -> Result<Option<LineEnd>> {
        let bytes = &self.buffer[self.at..];
        let csv = self.format.kind == Kind::Csv;
        let (quote, escape) = (self.format.quote, self.format.escape);
        let Scan { seen, mixed, mut quoted, mut breaks } = self.scan;
        // What a byte means may show by the next.
        let waits = |i: usize| i + 1 == bytes.len() && !at_end;
        let mut i = seen;
        'stretches: while i < bytes.len() {
            let stop = bytes.len().min(i + STRETCH_BYTES);
            while i < stop {
                let byte = bytes[i];
                if csv && quoted && byte == escape && escape != quote {
                    if waits(i) {
                        break 'stretches;
                    }
                    let next = bytes.get(i + 1);
                    i += 1 + usize::from(next.is_some_and(|b| *b == escape || *b == quote));
                } else if csv && byte == quote {
                    quoted = !quoted;
                    i += 1;
                } else if !csv && byte == b'\\' {
                    if waits(i) {
                        break 'stretches;
                    }
                    if bytes.get(i + 1) == Some(&b'.') {
                        let Some(behind) = self.behind_mark(&bytes[i + 2..], at_end)? else {
                            break 'stretches;
                        };
                        let (content, next) = (self.at + i, self.at + i + 2 + behind);
                        return Ok(Some(LineEnd { content, next, lines: 1, marked: true }));
                    }
                    // Whatever follows, a newline too, belongs to the field.
                    i += 2;
                } else if byte == b'\n' || byte == b'\r' {
                    if byte == b'\r' && waits(i) {
                        break 'stretches;
                    }
                    let ending = Ending::of(byte, bytes.get(i + 1), self.ending);
                    if !quoted {
                        if *self.ending.get_or_insert(ending) != ending {
                            self.scan.breaks = breaks;
                            return Err(ending.unlike(self.format.kind));
                        }
                        let (content, lines) = (self.at + i, 1 + breaks);
                        return Ok(Some(LineEnd {
                            content,
                            next: content + ending.width(),
                            lines,
                            marked: false,
                        }));
                    }
                    breaks += 1;
                    i += ending.width();
                } else {
                    i += 1;
                }
            }
            checkpoint()?;
        }
        if !at_end || bytes.is_empty() {
            self.scan = Scan { seen: i, mixed: mixed || i > seen, quoted, breaks };
            return Ok(None);
        }
        if quoted {
            self.scan.breaks = breaks;
            return Err(sql_error!(BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field"));
        }
        let content = self.buffer.len();
        Ok(Some(LineEnd { content, next: content, lines: 1 + breaks, marked: false }))
    }

    /// How many bytes end the line behind the mark of the data's end, in text format; `None` if they have not come.
    ///
    /// # Errors
    /// `22P04` if anything else follows, or lines before ended otherwise.
    fn behind_mark(&self, rest: &[u8], at_end: bool) -> Result<Option<usize>> {
        let both = self.ending == Some(Ending::Both);
        if rest.len() < 1 + usize::from(both) && !at_end {
            return Ok(None);
        }
        match (self.ending, rest) {
            (Some(Ending::Both), [b'\r', b'\n', ..]) => Ok(Some(2)),
            (None | Some(Ending::Newline), [b'\n', ..])
            | (None | Some(Ending::Return), [b'\r', ..]) => Ok(Some(1)),
            (Some(Ending::Both), [b'\r', b'\r', ..])
            | (Some(Ending::Newline), [b'\r', ..])
            | (_, [b'\n', ..]) => Err(sql_error!(
                BAD_COPY_FILE_FORMAT,
                "end-of-copy marker does not match previous newline style"
            )),
            _ => Err(sql_error!(BAD_COPY_FILE_FORMAT, "end-of-copy marker corrupt")),
        }
    }
}

/// Text format: backslash escapes; the null string is looked for before they are undone.
fn split_text(format: &CopyFormat, record: &mut Record) {
    let raw = std::mem::take(&mut record.raw);
    let mut rest = raw.as_slice();
    let mut raw_field_start = 0;
    loop {
        match rest.first() {
            Some(byte) if *byte == format.delimiter => {
                let here = raw.len() - rest.len();
                end_text_field(format, record, &raw[raw_field_start..here]);
                rest = &rest[1..];
                raw_field_start = here + 1;
            }
            Some(b'\\') if rest.len() > 1 => rest = unescape(rest, &mut record.bytes),
            Some(byte) => {
                record.bytes.push(*byte);
                rest = &rest[1..];
            }
            None => {
                end_text_field(format, record, &raw[raw_field_start..]);
                break;
            }
        }
    }
    record.raw = raw;
}

fn end_text_field(format: &CopyFormat, record: &mut Record, raw: &[u8]) {
    let null = raw == format.null.as_slice();
    if null {
        record.bytes.truncate(record.field_start());
    }
    record.end_field(null);
}

/// Undoes one escape at the start of `rest`; what follows it.
fn unescape<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let byte = rest[1];
    let simple = match byte {
        b'b' => Some(8),
        b'f' => Some(12),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        b'v' => Some(11),
        _ => None,
    };
    if let Some(value) = simple {
        out.push(value);
        return &rest[2..];
    }
    let digits = |from: usize, base: u32, most: usize| {
        let is_digit = |b: &&u8| char::from(**b).is_digit(base);
        let found = rest[from..].iter().take(most).take_while(is_digit);
        found.fold((0u32, 0), |(value, n), b| {
            (value * base + char::from(*b).to_digit(base).unwrap_or(0), n + 1)
        })
    };
    let (value, used, skip) = match byte {
        b'0'..=b'7' => {
            let (value, n) = digits(1, 8, 3);
            (value, n, 1)
        }
        b'x' => {
            let (value, n) = digits(2, 16, 2);
            (value, n, 2)
        }
        _ => (0, 0, 0),
    };
    if used > 0 {
        out.push(value as u8);
        return &rest[skip + used..];
    }
    out.push(byte);
    &rest[2..]
}

/// CSV: quotes and escapes; only an unquoted field can be the null string (but for FORCE_NULL).
fn split_csv(
    format: &CopyFormat,
    record: &mut Record,
    is_forced: &dyn Fn(usize) -> (bool, bool),
) -> Result<()> {
    let raw = std::mem::take(&mut record.raw);
    let (mut quoted, mut was_quoted) = (false, false);
    let mut i = 0;
    loop {
        let byte = raw.get(i).copied();
        match byte {
            Some(b) if quoted => {
                let next = raw.get(i + 1).copied();
                if b == format.escape
                    && next.is_some_and(|n| n == format.quote || n == format.escape)
                {
                    record.bytes.extend(next);
                    i += 1;
                } else if b == format.quote {
                    quoted = false;
                } else {
                    record.bytes.push(b);
                }
            }
            Some(b) if b == format.quote => {
                quoted = true;
                was_quoted = true;
            }
            Some(b) if b != format.delimiter => record.bytes.push(b),
            _ => {
                let field = &record.bytes[record.field_start()..];
                let (not_null, force_null) = is_forced(record.fields.len());
                let null = field == format.null.as_slice()
                    && if was_quoted { force_null } else { !not_null };
                if null {
                    record.bytes.truncate(record.field_start());
                }
                record.end_field(null);
                was_quoted = false;
                if byte.is_none() {
                    break;
                }
            }
        }
        i += 1;
    }
    record.raw = raw;
    Ok(())
}
