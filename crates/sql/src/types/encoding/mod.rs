//! Character sets that clients may speak; the server itself speaks UTF-8.

use std::fmt::{self, Write as _};
use std::sync::LazyLock;

use super::scalar::check_text;
use super::{TypeId, type_info};
use crate::error::{Result, SqlError, sql_error};

/// A character set.
#[derive(Clone, Copy)]
pub struct Encoding(&'static Known);

/// The names of all that can be had.
pub const NAMES: &[&str] = &[
    "UTF8",
    "SQL_ASCII",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1250",
    "WIN1251",
    "WIN1252",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1256",
    "WIN1257",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "KOI8U",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
];

struct Known {
    name: &'static str,
    /// PostgreSQL's number.
    number: i32,
    /// `None`: bytes are UTF-8 and stay as they are.
    table: Option<Table>,
}

/// The characters of the bytes of a character set with one byte each.
struct Table {
    /// From 0x80 on.
    chars: [Option<char>; 128],
    /// And back, sorted.
    bytes: Vec<(char, u8)>,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let mut known = vec![
        Known { name: "UTF8", number: 6, table: None },
        Known { name: "SQL_ASCII", number: 0, table: None },
    ];
    let lines = include_str!("single_byte.txt").lines().filter(|line| !line.starts_with('#'));
    known.extend(lines.map(Known::of_line));
    known
});

/// Encodings of PostgreSQL's with several bytes a character, which there are no tables for.
const OTHERS: &[&str] = &[
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "MULE_INTERNAL",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

/// Other spellings, as letters and digits.
const ALIASES: &[(&str, &str)] = &[
    ("UNICODE", "UTF8"),
    ("ISO88591", "LATIN1"),
    ("ISO88592", "LATIN2"),
    ("ISO88593", "LATIN3"),
    ("ISO88594", "LATIN4"),
    ("ISO88599", "LATIN5"),
    ("ISO885910", "LATIN6"),
    ("ISO885913", "LATIN7"),
    ("ISO885914", "LATIN8"),
    ("ISO885915", "LATIN9"),
    ("ISO885916", "LATIN10"),
    ("ABC", "WIN1258"),
    ("TCVN", "WIN1258"),
    ("TCVN5712", "WIN1258"),
    ("VSCII", "WIN1258"),
    ("ALT", "WIN866"),
    ("WIN", "WIN1251"),
    ("KOI8", "KOI8R"),
];

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Known {
    fn of_line(line: &'static str) -> Known {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("a line has a name and a number");
        let (name, number) = (word(), word().parse().expect("a number"));
        let (mut chars, mut at) = ([None; 128], 0);
        for run in words {
            let (first, count) = run.split_once('*').unwrap_or((run, "1"));
            let count: u32 = count.parse().expect("a count");
            for i in 0..count {
                chars[at] = u32::from_str_radix(first, 16).ok().and_then(|c| char::from_u32(c + i));
                at += 1;
            }
        }
        assert_eq!(at, chars.len(), "{name} says what each byte is");
        let byte = |(i, c): (usize, &Option<char>)| c.map(|c| (c, 0x80 + i as u8));
        let mut bytes: Vec<_> = chars.iter().enumerate().filter_map(byte).collect();
        bytes.sort_unstable();
        Known { name, number, table: Some(Table { chars, bytes }) }
    }
}

impl Encoding {
    /// Where clients begin.
    pub fn utf8() -> Encoding {
        Encoding(&KNOWN[0])
    }

    /// All that can be had.
    pub fn all() -> impl Iterator<Item = Encoding> {
        KNOWN.iter().map(Encoding)
    }

    /// By name: letters and digits count, in whichever case, nothing else.
    pub fn by_name(name: &str) -> Option<Encoding> {
        let plain = plain(name);
        let plain = match plain.strip_prefix("WINDOWS") {
            Some(number) => format!("WIN{number}"),
            None => plain,
        };
        let alias = ALIASES.iter().find(|(alias, _)| *alias == plain);
        let plain = alias.map_or(plain.as_str(), |(_, name)| name);
        Encoding::all().find(|encoding| self::plain(encoding.name()) == plain)
    }

    /// By PostgreSQL's number.
    pub fn by_number(number: i32) -> Option<Encoding> {
        Encoding::all().find(|encoding| encoding.number() == number)
    }

    /// The name of one of PostgreSQL's that can't be had.
    pub fn unsupported(name: &str) -> Option<&'static str> {
        OTHERS.iter().copied().find(|other| self::plain(other) == plain(name))
    }

    pub fn name(self) -> &'static str {
        self.0.name
    }

    pub fn number(self) -> i32 {
        self.0.number
    }

    /// Whether texts travel as they are. With SQL_ASCII they do, as in PostgreSQL: nothing is said about bytes beyond
    /// ASCII, and the server takes what is UTF-8.
    #[inline]
    pub fn is_plain(self) -> bool {
        self.0.table.is_none()
    }

    /// Reads a client's text.
    ///
    /// # Errors
    /// `22021` for what is no text in this character set, `22P05` for characters that Unicode has not.
    pub fn decode(self, bytes: &[u8]) -> Result<String> {
        let Some(table) = &self.0.table else { return check_text(bytes).map(str::to_owned) };
        let mut text = String::with_capacity(bytes.len() + bytes.len() / 4);
        for &byte in bytes {
            text.push(match byte {
                0 => return Err(invalid(self.name())),
                1..0x80 => char::from(byte),
                _ => match table.chars[usize::from(byte - 0x80)] {
                    Some(c) => c,
                    None => return Err(untranslatable(&[byte], self.name(), "UTF8")),
                },
            });
        }
        Ok(text)
    }

    /// Appends a text as the client reads it.
    ///
    /// # Errors
    /// `22P05` for a character that the character set has not.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<()> {
        let Some(table) = &self.0.table else {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        };
        out.reserve(text.len());
        for c in text.chars() {
            out.push(match table.byte(c) {
                Some(byte) => byte,
                None => {
                    let mut bytes = [0; 4];
                    let bytes = c.encode_utf8(&mut bytes).as_bytes();
                    return Err(untranslatable(bytes, "UTF8", self.name()));
                }
            });
        }
        Ok(())
    }

    /// Likewise, with a question mark for what the character set has not: for messages, which must come through.
    pub fn encode_lossy(self, text: &str) -> Vec<u8> {
        let Some(table) = &self.0.table else { return text.as_bytes().to_vec() };
        text.chars().map(|c| table.byte(c).unwrap_or(b'?')).collect()
    }

    /// A value's binary form as it came from the client, for the server to receive.
    pub fn decode_binary(self, id: TypeId, bytes: &[u8]) -> Result<Vec<u8>> {
        recode(id, bytes, &mut |text| self.decode(text).map(String::into_bytes))
    }

    /// A value's binary form, for the client.
    pub fn encode_binary(self, id: TypeId, bytes: &[u8]) -> Result<Vec<u8>> {
        recode(id, bytes, &mut |text| {
            let mut out = Vec::with_capacity(text.len());
            self.encode(check_text(text)?, &mut out)?;
            Ok(out)
        })
    }
}

impl Table {
    fn byte(&self, c: char) -> Option<u8> {
        if c.is_ascii() {
            return Some(c as u8);
        }
        let at = self.bytes.binary_search_by_key(&c, |(c, _)| *c).ok()?;
        Some(self.bytes[at].1)
    }
}

fn plain(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_uppercase()).collect()
}

/// Does with the texts in a value's binary form what `each` does with one. What does not look like the type's form is
/// left to who receives it.
fn recode(
    id: TypeId,
    bytes: &[u8],
    each: &mut dyn FnMut(&[u8]) -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    let is_text = matches!(
        id,
        TypeId::TEXT
            | TypeId::VARCHAR
            | TypeId::BPCHAR
            | TypeId::NAME
            | TypeId::JSON
            | TypeId::JSONB
            | TypeId::UNKNOWN
            | TypeId::CSTRING
    ) || id.is_enum();
    if is_text {
        return each(bytes);
    }
    if id != TypeId::RECORD && type_info(id).is_none_or(|info| !info.element.is_valid()) {
        return Ok(bytes.to_vec());
    }
    let mut form = Form { rest: bytes, out: Vec::with_capacity(bytes.len()) };
    let complete = match id {
        TypeId::RECORD => form.record(each)?,
        _ => form.array(each)?,
    };
    Ok(if complete.is_some() { form.out } else { bytes.to_vec() })
}

/// A composed value's binary form on its way.
struct Form<'b> {
    rest: &'b [u8],
    out: Vec<u8>,
}

impl Form<'_> {
    /// A number that stays; `None` at the end.
    fn number(&mut self) -> Option<i32> {
        let (number, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        self.out.extend_from_slice(number);
        Some(i32::from_be_bytes(*number))
    }

    /// A length and so many bytes of a value.
    fn value(
        &mut self,
        id: TypeId,
        each: &mut dyn FnMut(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<Option<()>> {
        let at = self.out.len();
        let Some(length) = self.number() else { return Ok(None) };
        // -1 is null.
        let Ok(length) = usize::try_from(length) else { return Ok(Some(())) };
        let Some((value, rest)) = self.rest.split_at_checked(length) else { return Ok(None) };
        self.rest = rest;
        let value = recode(id, value, each)?;
        self.out[at..].copy_from_slice(&(value.len() as i32).to_be_bytes());
        self.out.extend_from_slice(&value);
        Ok(Some(()))
    }

    fn array(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<Vec<u8>>) -> Result<Option<()>> {
        let Some((dimensions, element)) = self.array_head() else { return Ok(None) };
        for _ in 0..2 * dimensions {
            if self.number().is_none() {
                return Ok(None);
            }
        }
        while !self.rest.is_empty() {
            if self.value(element, each)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    fn array_head(&mut self) -> Option<(i32, TypeId)> {
        let dimensions = self.number()?;
        let _has_nulls = self.number()?;
        Some((dimensions, TypeId(self.number()? as u32)))
    }

    fn record(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<Vec<u8>>) -> Result<Option<()>> {
        let Some(fields) = self.number() else { return Ok(None) };
        for _ in 0..fields {
            let Some(id) = self.number() else { return Ok(None) };
            if self.value(TypeId(id as u32), each)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }
}

#[cold]
fn invalid(name: &str) -> SqlError {
    sql_error!(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"{name}\": 0x00")
}

#[cold]
fn untranslatable(bytes: &[u8], from: &str, to: &str) -> SqlError {
    let mut shown = String::new();
    for byte in bytes {
        write!(shown, " 0x{byte:02x}").expect("a String takes all");
    }
    sql_error!(
        UNTRANSLATABLE_CHARACTER,
        "character with byte sequence{shown} in encoding \"{from}\" has no equivalent in encoding \"{to}\""
    )
}

#[cfg(test)]
mod tests;
