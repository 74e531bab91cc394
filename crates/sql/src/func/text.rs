//! Text: lengths, pieces, padding, case; comparisons of text, `bpchar` and `name`.

use super::bodies::{Bodies, comparisons, cross_comparisons, scalars};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::steps::Steps;
use crate::types::chars::{Excess, NAME_MAX, to_bpchar, to_name, to_varchar, without_padding};
use crate::types::numeric::int_out_of_range;
use crate::types::{Datum, Text, TypeId, TypeMod};
use std::collections::BTreeSet;

pub(super) const ROOMS: &[Bodies] = &[
    LENGTHS,
    PIECES,
    PADDING,
    CHARACTERS,
    CASTS,
    COMPARE_TEXT,
    COMPARE_BPCHAR,
    COMPARE_NAME,
    NAME_TEXT,
    TEXT_NAME,
    PATTERN,
    BPCHAR_PATTERN,
];

/// Largest text that a function builds, as in PostgreSQL.
pub(super) const MAX_BYTES: usize = crate::types::row::MAX_VALUE_BYTES;

/// `54000` for a result beyond [`MAX_BYTES`].
#[cold]
pub(super) fn too_large() -> SqlError {
    sql_error!(PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

/// Refuses a result of so many bytes before it is made.
#[inline]
pub(crate) fn check_length(bytes: usize) -> Result<()> {
    if bytes > MAX_BYTES { Err(too_large()) } else { Ok(()) }
}

/// The bits of so many bytes.
pub(super) fn bits(bytes: usize) -> Result<Datum> {
    let bits = i32::try_from(bytes * 8).map_err(|_| int_out_of_range("integer"))?;
    Ok(Datum::Int4(bits))
}

/// Refuses a text or bytes that no function may give.
#[inline]
pub(crate) fn check_value(value: &Datum) -> Result<()> {
    match value {
        Datum::Text(text) => check_length(text.len()),
        Datum::Bytea(bytes) => check_length(bytes.len()),
        Datum::Jsonb(text) => check_length(text.len()),
        _ => Ok(()),
    }
}

fn char_count(text: &str) -> i32 {
    text.chars().count() as i32
}

const LENGTHS: Bodies = scalars! {
    "textlen" => |_, a| Ok(Datum::Int4(char_count(a[0].as_text())));
    "bpcharlen" => |_, a| Ok(Datum::Int4(char_count(without_padding(a[0].as_text()))));
    "textoctetlen" => |_, a| Ok(Datum::Int4(a[0].as_text().len() as i32));
    "bpcharoctetlen" => |_, a| Ok(Datum::Int4(a[0].as_text().len() as i32));
    "sql:1811" => |_, a| bits(a[0].as_text().len());
    "textcat" => |_, a| {
        let (x, y) = (a[0].as_text(), a[1].as_text());
        check_length(x.len() + y.len())?;
        let mut text = String::with_capacity(x.len() + y.len());
        text.push_str(x);
        text.push_str(y);
        Ok(text.into())
    };
    "textpos" => |_, a| Ok(Datum::Int4(position(a[0].as_text(), a[1].as_text())));
    "text_starts_with" => |_, a| Ok(Datum::Bool(a[0].as_text().starts_with(a[1].as_text().as_str())));
};

/// Character position of the first occurrence, from 1; 0 for none.
fn position(text: &str, wanted: &str) -> i32 {
    text.find(wanted).map_or(0, |at| char_count(&text[..at]) + 1)
}

/// The bounds, from 0, of the substring that starts at position `start` (from 1, perhaps before
/// the first) and has `len` elements; no end means up to the last.
pub(super) fn substring_range(start: i32, len: Option<i32>) -> Result<(usize, Option<usize>)> {
    let from = (i64::from(start) - 1).max(0) as usize;
    let Some(len) = len else { return Ok((from, None)) };
    if len < 0 {
        bail!(SUBSTRING_ERROR, "negative substring length not allowed");
    }
    // An end beyond 32 bits is beyond every text.
    Ok((from, start.checked_add(len).map(|end| (i64::from(end) - 1).max(0) as usize)))
}

/// Where the head ends and the tail begins when `len` elements from position `start` are replaced.
pub(super) fn overlay_bounds(start: i32, len: i32) -> Result<(usize, usize)> {
    if start <= 0 {
        bail!(SUBSTRING_ERROR, "negative substring length not allowed");
    }
    let end = start.checked_add(len).ok_or_else(|| int_out_of_range("integer"))?;
    Ok((start as usize - 1, (i64::from(end) - 1).max(0) as usize))
}

/// The byte at which character `n` (from 0) begins, or the end.
fn char_offset(text: &str, n: usize) -> usize {
    if n == 0 {
        return 0;
    }
    text.char_indices().nth(n).map_or(text.len(), |(at, _)| at)
}

fn substring(text: &str, start: i32, len: Option<i32>) -> Result<Datum> {
    let (from, to) = substring_range(start, len)?;
    let begin = char_offset(text, from);
    let rest = &text[begin..];
    let end = to.map_or(rest.len(), |to| char_offset(rest, to.saturating_sub(from)));
    Ok(Datum::text(&rest[..end]))
}

fn overlay(text: &str, replacement: &str, start: i32, len: i32) -> Result<Datum> {
    let (head, tail) = overlay_bounds(start, len)?;
    let (head, tail) = (char_offset(text, head), char_offset(text, tail));
    check_length(text.len() + replacement.len())?;
    Ok([&text[..head], replacement, &text[tail..]].concat().into())
}

/// How many characters from the front `n` means; negative counts from the back.
fn front_chars(text: &str, n: i32) -> usize {
    if n >= 0 { n as usize } else { text.chars().count().saturating_sub(n.unsigned_abs() as usize) }
}

const PIECES: Bodies = scalars! {
    "text_substr" => |_, a| substring(a[0].as_text(), a[1].as_int4(), Some(a[2].as_int4()));
    "text_substr_no_len" => |_, a| substring(a[0].as_text(), a[1].as_int4(), None);
    "textoverlay" => |_, a| {
        overlay(a[0].as_text(), a[1].as_text(), a[2].as_int4(), a[3].as_int4())
    };
    "textoverlay_no_len" => |_, a| {
        let replacement = a[1].as_text();
        overlay(a[0].as_text(), replacement, a[2].as_int4(), char_count(replacement))
    };
    "text_left" => |_, a| {
        let text = a[0].as_text();
        Ok(Datum::text(&text[..char_offset(text, front_chars(text, a[1].as_int4()))]))
    };
    "text_right" => |_, a| {
        let (text, n) = (a[0].as_text(), a[1].as_int4());
        let skipped = if n >= 0 {
            text.chars().count().saturating_sub(n as usize)
        } else {
            n.unsigned_abs() as usize
        };
        Ok(Datum::text(&text[char_offset(text, skipped)..]))
    };
    "text_reverse" => |_, a| mapped(a[0].as_text().chars().rev(), |c| c).map(Datum::from);
    "split_part" => |_, a| split_part(a[0].as_text(), a[1].as_text(), a[2].as_int4());
    "replace_text" => |_, a| replace(a[0].as_text(), a[1].as_text(), a[2].as_text());
    "translate" => |_, a| {
        translate(a[0].as_text(), a[1].as_text(), a[2].as_text()).map(Datum::from)
    };
};

/// The n-th piece between delimiters, from 1; negative counts from the last.
fn split_part(text: &str, delimiter: &str, n: i32) -> Result<Datum> {
    if n == 0 {
        bail!(INVALID_PARAMETER_VALUE, "field position must not be zero");
    }
    let piece = if delimiter.is_empty() {
        (n == 1 || n == -1).then_some(text)
    } else if n > 0 {
        text.split(delimiter).nth(n as usize - 1)
    } else {
        // Where delimiters may overlap, they are those that are found from the front.
        let count = text.split(delimiter).count();
        let at = count.checked_sub(n.unsigned_abs() as usize);
        at.and_then(|at| text.split(delimiter).nth(at))
    };
    Ok(Datum::text(piece.unwrap_or("")))
}

fn replace(text: &str, from: &str, to: &str) -> Result<Datum> {
    if from.is_empty() || !text.contains(from) {
        return Ok(Datum::text(text));
    }
    let mut out = String::with_capacity(text.len());
    let (mut end, mut steps) = (0, Steps::default());
    for (at, found) in text.match_indices(from) {
        steps.next()?;
        out.push_str(&text[end..at]);
        out.push_str(to);
        end = at + found.len();
        check_length(out.len() + (text.len() - end))?;
    }
    out.push_str(&text[end..]);
    Ok(out.into())
}

/// Replaces each character of `from` by its counterpart in `to`, or drops it without one.
fn translate(text: &str, from: &str, to: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut steps = Steps::default();
    for c in text.chars() {
        steps.next()?;
        match from.chars().position(|f| f == c) {
            None => out.push(c),
            Some(i) => out.extend(to.chars().nth(i)),
        }
    }
    Ok(out)
}

/// Trims characters of a set at either end.
fn trim(text: &str, set: &str, front: bool, back: bool) -> Result<Datum> {
    if set.len() <= SMALL_SET_BYTES {
        return Ok(trimmed(text, |c| set.contains(c), front, back));
    }
    let mut steps = Steps::default();
    let mut chars = BTreeSet::new();
    for c in set.chars() {
        steps.next()?;
        chars.insert(c);
    }
    Ok(trimmed(text, |c| chars.contains(&c), front, back))
}

/// A set of so many bytes is looked through for each character.
const SMALL_SET_BYTES: usize = 64;

fn trimmed(text: &str, is_of_set: impl Fn(char) -> bool, front: bool, back: bool) -> Datum {
    let mut text = text;
    if front {
        text = text.trim_start_matches(&is_of_set);
    }
    if back {
        text = text.trim_end_matches(&is_of_set);
    }
    Datum::text(text)
}

/// Fills up to `len` characters, cycling through `fill`; cuts what is longer.
fn pad(text: &str, len: i32, fill: &str, front: bool) -> Result<Datum> {
    let len = len.max(0) as usize;
    let count = text.chars().count();
    if count >= len || fill.is_empty() {
        return Ok(Datum::text(&text[..char_offset(text, len)]));
    }
    let missing = len - count;
    if missing.saturating_mul(fill.len()) / char_count(fill).max(1) as usize > MAX_BYTES {
        return Err(too_large());
    }
    let mut out = String::with_capacity(text.len() + missing);
    let mut steps = Steps::default();
    if !front {
        out.push_str(text);
    }
    for c in fill.chars().cycle().take(missing) {
        steps.next()?;
        out.push(c);
    }
    if front {
        out.push_str(text);
    }
    Ok(out.into())
}

const PADDING: Bodies = scalars! {
    "lpad" => |_, a| pad(a[0].as_text(), a[1].as_int4(), a[2].as_text(), true);
    "rpad" => |_, a| pad(a[0].as_text(), a[1].as_int4(), a[2].as_text(), false);
    "sql:879" => |_, a| pad(a[0].as_text(), a[1].as_int4(), " ", true);
    "sql:880" => |_, a| pad(a[0].as_text(), a[1].as_int4(), " ", false);
    "btrim" => |_, a| trim(a[0].as_text(), a[1].as_text(), true, true);
    "ltrim" => |_, a| trim(a[0].as_text(), a[1].as_text(), true, false);
    "rtrim" => |_, a| trim(a[0].as_text(), a[1].as_text(), false, true);
    "btrim1" => |_, a| trim(a[0].as_text(), " ", true, true);
    "ltrim1" => |_, a| trim(a[0].as_text(), " ", true, false);
    "rtrim1" => |_, a| trim(a[0].as_text(), " ", false, true);
    "repeat" => |_, a| {
        let (text, count) = (a[0].as_text(), a[1].as_int4().max(0) as usize);
        if text.len().saturating_mul(count) > MAX_BYTES {
            return Err(too_large());
        }
        super::checkpoint()?;
        Ok(text.repeat(count).into())
    };
};

/// Maps a character where its mapping is one character, as C's `towupper` and `towlower` do.
fn map_case<I: Iterator<Item = char>>(c: char, mapped: I) -> char {
    let mut mapped = mapped;
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

/// The characters, each as `map` has it.
fn mapped(chars: impl Iterator<Item = char>, mut map: impl FnMut(char) -> char) -> Result<String> {
    let mut out = String::with_capacity(chars.size_hint().0);
    let mut steps = Steps::default();
    for c in chars {
        steps.next()?;
        out.push(map(c));
    }
    Ok(out)
}

pub(super) fn lower(text: &str) -> Result<String> {
    mapped(text.chars(), |c| map_case(c, c.to_lowercase()))
}

pub(super) fn upper(text: &str) -> Result<String> {
    mapped(text.chars(), |c| map_case(c, c.to_uppercase()))
}

/// The first letter of each word in upper case, the rest in lower case.
pub(super) fn initcap(text: &str) -> Result<String> {
    let mut inside = false;
    mapped(text.chars(), |c| {
        let mapped =
            if inside { map_case(c, c.to_lowercase()) } else { map_case(c, c.to_uppercase()) };
        inside = c.is_alphanumeric();
        mapped
    })
}

const CHARACTERS: Bodies = scalars! {
    "lower" => |_, a| lower(a[0].as_text()).map(Datum::from);
    "upper" => |_, a| upper(a[0].as_text()).map(Datum::from);
    "initcap" => |_, a| initcap(a[0].as_text()).map(Datum::from);
    "ascii" => |_, a| Ok(Datum::Int4(a[0].as_text().chars().next().map_or(0, |c| c as i32)));
    "chr" => |_, a| chr(a[0].as_int4());
    "to_hex32" => |_, a| Ok(format!("{:x}", a[0].as_int4()).into());
    "to_hex64" => |_, a| Ok(format!("{:x}", a[0].as_int8()).into());
};

fn chr(code: i32) -> Result<Datum> {
    if code < 0 {
        bail!(INVALID_PARAMETER_VALUE, "character number must be positive");
    }
    if code == 0 {
        bail!(PROGRAM_LIMIT_EXCEEDED, "null character not permitted");
    }
    if code > 0x10_ffff {
        bail!(PROGRAM_LIMIT_EXCEEDED, "requested character too large for encoding: {code}");
    }
    match char::from_u32(code as u32) {
        Some(c) => Ok(c.to_string().into()),
        None => {
            bail!(PROGRAM_LIMIT_EXCEEDED, "requested character not valid for encoding: {code}")
        }
    }
}

/// Whether a cast with this flag was written, so that it may cut.
fn excess(explicit: &Datum) -> Excess {
    if explicit.as_bool() { Excess::Cut } else { Excess::Refuse }
}

const CASTS: Bodies = scalars! {
    "varchar" => |_, a| {
        let typmod = TypeMod(a[1].as_int4());
        to_varchar(a[0].as_text().clone(), typmod, excess(&a[2])).map(Datum::Text)
    };
    "bpchar" => |_, a| {
        let typmod = TypeMod(a[1].as_int4());
        to_bpchar(a[0].as_text().clone(), typmod, excess(&a[2])).map(Datum::Text)
    };
    "text_name" => |_, a| Ok(Datum::Text(to_name(a[0].as_text().clone())));
    "bpchar_name" => |_, a| {
        let name = to_name(a[0].as_text().clone());
        Ok(Datum::text(without_padding(&name)))
    };
    "name_text" => |_, a| Ok(a[0].clone());
    "name_bpchar" => |_, a| Ok(a[0].clone());
    "text_char" => |_, a| Ok(Datum::Char(crate::types::scalar::parse_char(a[0].as_text())));
    "char_text" => |_, a| Ok(char_text(a[0].as_char()));
    "char_bpchar" => |_, a| Ok(char_text(a[0].as_char()));
    "nameconcatoid" => |_, a| {
        let suffix = format!("_{}", a[1].as_oid());
        let name = a[0].as_text();
        let room = name.floor_char_boundary(NAME_MAX - suffix.len());
        Ok(format!("{}{suffix}", &name[..room]).into())
    };
};

fn char_text(byte: u8) -> Datum {
    match byte {
        0 => Datum::Text(Text::EMPTY),
        1..=0x7f => char::from(byte).to_string().into(),
        _ => format!("\\{byte:03o}").into(),
    }
}

const COMPARE_TEXT: Bodies = comparisons!(TEXT, "texteq" "textne" "text_lt" "text_le" "text_gt"
    "text_ge" "bttextcmp" "text_larger" "text_smaller");
const COMPARE_BPCHAR: Bodies = comparisons!(BPCHAR, "bpchareq" "bpcharne" "bpcharlt" "bpcharle"
    "bpchargt" "bpcharge" "bpcharcmp" "bpchar_larger" "bpchar_smaller");
const COMPARE_NAME: Bodies = comparisons!(NAME, "nameeq" "namene" "namelt" "namele" "namegt"
    "namege" "btnamecmp");

fn compare_texts(a: &Datum, b: &Datum) -> std::cmp::Ordering {
    a.as_text().cmp(b.as_text())
}

const NAME_TEXT: Bodies = cross_comparisons!(compare_texts, "nameeqtext" "namenetext" "namelttext"
    "nameletext" "namegttext" "namegetext" "btnametextcmp");
const TEXT_NAME: Bodies = cross_comparisons!(compare_texts, "texteqname" "textnename" "textltname"
    "textlename" "textgtname" "textgename" "bttextnamecmp");

/// The `~<~` family: by bytes, which is our only order anyway.
const PATTERN: Bodies = scalars! {
    "text_pattern_lt" => |_, a| Ok(Datum::Bool(a[0].as_text() < a[1].as_text()));
    "text_pattern_le" => |_, a| Ok(Datum::Bool(a[0].as_text() <= a[1].as_text()));
    "text_pattern_gt" => |_, a| Ok(Datum::Bool(a[0].as_text() > a[1].as_text()));
    "text_pattern_ge" => |_, a| Ok(Datum::Bool(a[0].as_text() >= a[1].as_text()));
    "bttext_pattern_cmp" => |_, a| Ok(Datum::Int4(compare_texts(&a[0], &a[1]) as i32));
};

fn compare_padded(a: &Datum, b: &Datum) -> std::cmp::Ordering {
    crate::types::compare(TypeId::BPCHAR, a, b)
}

const BPCHAR_PATTERN: Bodies = scalars! {
    "bpchar_pattern_lt" => |_, a| Ok(Datum::Bool(compare_padded(&a[0], &a[1]).is_lt()));
    "bpchar_pattern_le" => |_, a| Ok(Datum::Bool(compare_padded(&a[0], &a[1]).is_le()));
    "bpchar_pattern_gt" => |_, a| Ok(Datum::Bool(compare_padded(&a[0], &a[1]).is_gt()));
    "bpchar_pattern_ge" => |_, a| Ok(Datum::Bool(compare_padded(&a[0], &a[1]).is_ge()));
    "btbpchar_pattern_cmp" => |_, a| Ok(Datum::Int4(compare_padded(&a[0], &a[1]) as i32));
};
