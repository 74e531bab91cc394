//! The operators and functions over compiled expressions.

use super::translate::Flags;
use super::{Groups, Regex, similar};
use crate::error::{Result, SqlError, sql_error};
use crate::func::bodies::{Bodies, scalars};
use crate::func::{Body, Rows, check_length};
use crate::types::{Array, Datum, TypeId};

pub(in crate::func) const ROOMS: &[Bodies] =
    &[OPERATORS, SUBSTRINGS, MATCHES, REPLACE, SPLIT, COUNTS, SETS];

fn is_match(text: &Datum, pattern: &Datum, ignore_case: bool) -> Result<bool> {
    let flags = Flags { ignore_case, ..Flags::default() };
    Regex::new(pattern.as_text(), flags)?.is_match(text.as_text())
}

const OPERATORS: Bodies = scalars! {
    "textregexeq" => |_, a| is_match(&a[0], &a[1], false).map(Datum::Bool);
    "textregexne" => |_, a| is_match(&a[0], &a[1], false).map(|m| Datum::Bool(!m));
    "texticregexeq" => |_, a| is_match(&a[0], &a[1], true).map(Datum::Bool);
    "texticregexne" => |_, a| is_match(&a[0], &a[1], true).map(|m| Datum::Bool(!m));
    "nameregexeq" => |_, a| is_match(&a[0], &a[1], false).map(Datum::Bool);
    "nameregexne" => |_, a| is_match(&a[0], &a[1], false).map(|m| Datum::Bool(!m));
    "nameicregexeq" => |_, a| is_match(&a[0], &a[1], true).map(Datum::Bool);
    "nameicregexne" => |_, a| is_match(&a[0], &a[1], true).map(|m| Datum::Bool(!m));
};

const SUBSTRINGS: Bodies = scalars! {
    "textregexsubstr" => |_, a| substring(a[0].as_text(), a[1].as_text());
    "sql:2074" => |_, a| {
        let pattern = similar::to_regex(a[1].as_text(), Some(a[2].as_text()))?;
        substring(a[0].as_text(), &pattern)
    };
    "similar_escape" => |_, a| {
        if a[0].is_null() {
            return Ok(Datum::Null);
        }
        let escape = (!a[1].is_null()).then(|| a[1].as_text().as_str());
        similar::to_regex(a[0].as_text(), escape).map(Datum::from)
    };
    "similar_to_escape_1" => |_, a| similar::to_regex(a[0].as_text(), None).map(Datum::from);
    "similar_to_escape_2" => |_, a| {
        similar::to_regex(a[0].as_text(), Some(a[1].as_text())).map(Datum::from)
    };
};

/// The first group of the first match, or all of it.
fn substring(text: &str, pattern: &str) -> Result<Datum> {
    let regex = Regex::new(pattern, Flags::default())?;
    let Some(groups) = regex.find(text)? else { return Ok(Datum::Null) };
    Ok(piece(text, groups[usize::from(regex.groups > 0)]))
}

fn piece(text: &str, range: Option<(usize, usize)>) -> Datum {
    range.map_or(Datum::Null, |(from, to)| Datum::text(&text[from..to]))
}

/// All matches from a byte position, or only the first.
///
/// `skip_empty` leaves out empty matches at the ends and right after another match, which would
/// split nothing.
fn all_matches(
    regex: &Regex,
    text: &str,
    from: usize,
    global: bool,
    skip_empty: bool,
) -> Result<Vec<Groups>> {
    let mut all = Vec::new();
    let mut last_end = 0;
    each_match(regex, text, from, |groups| {
        let (start, end) = whole(&groups);
        if skip_empty && (start == text.len() || end <= last_end) {
            return Ok(true);
        }
        if (all.len() + 1) * groups.len() > MAX_RANGES {
            return Err(too_many_matches());
        }
        all.push(groups);
        last_end = end;
        Ok(global)
    })?;
    Ok(all)
}

/// Hands over one match after the other, from a byte on, until `take` has had enough.
fn each_match(
    regex: &Regex,
    text: &str,
    from: usize,
    mut take: impl FnMut(Groups) -> Result<bool>,
) -> Result<()> {
    let searched = regex.searched(text);
    let mut search = from;
    while search <= text.len() {
        let Some(groups) = regex.find_from(&searched, search)? else { break };
        let (start, end) = whole(&groups);
        search = if start == end { next_char(text, end) } else { end };
        if !take(groups)? {
            break;
        }
    }
    Ok(())
}

fn whole(groups: &Groups) -> (usize, usize) {
    groups[0].expect("group 0 always takes part")
}

/// Ranges of matches and groups that a text may have, as in PostgreSQL.
const MAX_RANGES: usize = 134_217_727;

#[cold]
fn too_many_matches() -> SqlError {
    sql_error!(PROGRAM_LIMIT_EXCEEDED, "too many regular expression matches")
}

/// The byte after the character at `at`; beyond the end of the text after its last.
fn next_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// What `regexp_match` returns of a match: the groups, or the whole without groups.
fn match_array(text: &str, groups: &Groups) -> Datum {
    let shown = if groups.len() > 1 { &groups[1..] } else { &groups[..] };
    let elements = shown.iter().map(|range| piece(text, *range)).collect();
    Array::from_elements(TypeId::TEXT, elements).into()
}

fn flags_of(args: &[Datum], at: usize) -> Result<Flags> {
    args.get(at).map_or(Ok(Flags::default()), |flags| Flags::parse(flags.as_text()))
}

/// `22023`: a function that finds one match is asked for all.
#[cold]
fn no_global(function: &str) -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "{function} does not support the \"global\" option")
}

fn regexp_match(args: &[Datum]) -> Result<Datum> {
    let flags = flags_of(args, 2)?;
    if flags.global {
        return Err(
            no_global("regexp_match()").with_hint("Use the regexp_matches function instead.")
        );
    }
    let text = args[0].as_text();
    let regex = Regex::new(args[1].as_text(), flags)?;
    Ok(regex.find(text)?.map_or(Datum::Null, |groups| match_array(text, &groups)))
}

fn regexp_matches(args: &[Datum]) -> Result<Rows> {
    let flags = flags_of(args, 2)?;
    let text = args[0].as_text().clone();
    let regex = Regex::new(args[1].as_text(), Flags { global: false, ..flags })?;
    let found = all_matches(&regex, &text, 0, flags.global, false)?;
    Ok(Box::new(found.into_iter().map(move |groups| Ok(match_array(&text, &groups)))))
}

const MATCHES: Bodies = scalars! {
    "regexp_match" => |_, a| regexp_match(a);
    "regexp_match_no_flags" => |_, a| regexp_match(a);
    "regexp_like" => |_, a| regexp_like(a);
    "regexp_like_no_flags" => |_, a| regexp_like(a);
};

fn regexp_like(args: &[Datum]) -> Result<Datum> {
    let flags = flags_of(args, 2)?;
    if flags.global {
        return Err(no_global("regexp_like()"));
    }
    Regex::new(args[1].as_text(), flags)?.is_match(args[0].as_text()).map(Datum::Bool)
}

/// Replaces the n-th match, or all of them when `n` is 0.
fn replace(text: &str, regex: &Regex, replacement: &str, from: usize, n: i32) -> Result<Datum> {
    let mut out = String::with_capacity(text.len());
    let (mut copied, mut count) = (0, 0);
    each_match(regex, text, from, |groups| {
        count += 1;
        if n > 0 && count != n {
            return Ok(true);
        }
        let (start, end) = whole(&groups);
        out.push_str(&text[copied..start]);
        expand(replacement, text, &groups, &mut out)?;
        check_length(out.len() + (text.len() - end))?;
        copied = end;
        Ok(n == 0)
    })?;
    out.push_str(&text[copied..]);
    Ok(out.into())
}

/// Appends a replacement text, in which `\1` to `\9` and `\&` stand for groups.
fn expand(replacement: &str, text: &str, groups: &Groups, out: &mut String) -> Result<()> {
    let mut chars = replacement.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let group = match chars.peek() {
            Some(&digit @ '1'..='9') => Some(digit as usize - '0' as usize),
            Some('&') => Some(0),
            Some('\\') => {
                chars.next();
                out.push('\\');
                continue;
            }
            _ => None,
        };
        match group {
            Some(group) => {
                chars.next();
                if let Some(Some((from, to))) = groups.get(group) {
                    check_length(out.len() + (to - from))?;
                    out.push_str(&text[*from..*to]);
                }
            }
            None => out.push('\\'),
        }
    }
    Ok(())
}

/// `22023` for a number out of its range.
fn check_parameter(name: &str, value: i32, min: i32) -> Result<i32> {
    if value < min { Err(invalid_parameter(name, value)) } else { Ok(value) }
}

#[cold]
fn invalid_parameter(name: &str, value: i32) -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"{name}\": {value}")
}

/// The byte where character `start` (from 1) lies; beyond the end when there is none.
fn start_offset(text: &str, args: &[Datum], at: usize) -> Result<usize> {
    let start = args.get(at).map_or(1, Datum::as_int4);
    let skip = check_parameter("start", start, 1)? as usize - 1;
    let mut offsets = text.char_indices().map(|(i, _)| i).chain([text.len()]);
    Ok(offsets.nth(skip).unwrap_or(text.len() + 1))
}

fn replace_with_flags(args: &[Datum]) -> Result<Datum> {
    let letters = args.get(3).map_or("", |flags| flags.as_text().as_str());
    if letters.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(sql_error!(
            INVALID_PARAMETER_VALUE,
            "invalid regular expression option: \"{}\"",
            &letters[..1]
        )
        .with_hint(
            "If you meant to use regexp_replace() with a start parameter, cast the fourth \
             argument to integer explicitly.",
        ));
    }
    let flags = Flags::parse(letters)?;
    let regex = Regex::new(args[1].as_text(), Flags { global: false, ..flags })?;
    let n = i32::from(!flags.global);
    replace(args[0].as_text(), &regex, args[2].as_text(), 0, n)
}

/// `regexp_replace(text, pattern, replacement, start [, n [, flags]])`.
fn replace_from(args: &[Datum]) -> Result<Datum> {
    let text = args[0].as_text();
    let from = start_offset(text, args, 3)?;
    let flags = flags_of(args, 5)?;
    let n = match args.get(4) {
        Some(n) => check_parameter("n", n.as_int4(), 0)?,
        None => i32::from(!flags.global),
    };
    let regex = Regex::new(args[1].as_text(), Flags { global: false, ..flags })?;
    replace(text, &regex, args[2].as_text(), from, n)
}

const REPLACE: Bodies = scalars! {
    "textregexreplace_noopt" => |_, a| replace_with_flags(a);
    "textregexreplace" => |_, a| replace_with_flags(a);
    "textregexreplace_extended" => |_, a| replace_from(a);
    "textregexreplace_extended_no_flags" => |_, a| replace_from(a);
    "textregexreplace_extended_no_n" => |_, a| replace_from(a);
};

fn split(args: &[Datum], function: &str) -> Result<Vec<Datum>> {
    let flags = flags_of(args, 2)?;
    if flags.global {
        return Err(no_global(function));
    }
    let text = args[0].as_text();
    let regex = Regex::new(args[1].as_text(), flags)?;
    let mut pieces = Vec::new();
    let mut copied = 0;
    for groups in all_matches(&regex, text, 0, true, true)? {
        let (start, end) = whole(&groups);
        pieces.push(Datum::text(&text[copied..start]));
        copied = end;
    }
    pieces.push(Datum::text(&text[copied..]));
    Ok(pieces)
}

const SPLIT: Bodies = scalars! {
    "regexp_split_to_array" => |_, a| split_to_array(a);
    "regexp_split_to_array_no_flags" => |_, a| split_to_array(a);
};

fn split_to_array(args: &[Datum]) -> Result<Datum> {
    let pieces = split(args, "regexp_split_to_array()")?;
    Ok(Array::from_elements(TypeId::TEXT, pieces).into())
}

fn split_to_table(args: &[Datum]) -> Result<Rows> {
    Ok(Box::new(split(args, "regexp_split_to_table()")?.into_iter().map(Ok)))
}

const SETS: Bodies = &[
    ("regexp_matches", Body::Set(|_, a| regexp_matches(a))),
    ("regexp_matches_no_flags", Body::Set(|_, a| regexp_matches(a))),
    ("regexp_split_to_table", Body::Set(|_, a| split_to_table(a))),
    ("regexp_split_to_table_no_flags", Body::Set(|_, a| split_to_table(a))),
];

const COUNTS: Bodies = scalars! {
    "regexp_count" => |_, a| regexp_count(a);
    "regexp_count_no_flags" => |_, a| regexp_count(a);
    "regexp_count_no_start" => |_, a| regexp_count(a);
    "regexp_instr" => |_, a| regexp_instr(a);
    "regexp_instr_no_endoption" => |_, a| regexp_instr(a);
    "regexp_instr_no_flags" => |_, a| regexp_instr(a);
    "regexp_instr_no_n" => |_, a| regexp_instr(a);
    "regexp_instr_no_start" => |_, a| regexp_instr(a);
    "regexp_instr_no_subexpr" => |_, a| regexp_instr(a);
    "regexp_substr" => |_, a| regexp_substr(a);
    "regexp_substr_no_flags" => |_, a| regexp_substr(a);
    "regexp_substr_no_n" => |_, a| regexp_substr(a);
    "regexp_substr_no_start" => |_, a| regexp_substr(a);
    "regexp_substr_no_subexpr" => |_, a| regexp_substr(a);
};

/// `regexp_count(text, pattern [, start [, flags]])`.
fn regexp_count(args: &[Datum]) -> Result<Datum> {
    let text = args[0].as_text();
    let from = start_offset(text, args, 2)?;
    let flags = flags_of(args, 3)?;
    if flags.global {
        return Err(no_global("regexp_count()"));
    }
    let regex = Regex::new(args[1].as_text(), flags)?;
    let mut count = 0;
    each_match(&regex, text, from, |groups| {
        count += 1;
        // As where they are kept.
        if count as usize * groups.len() > MAX_RANGES {
            return Err(too_many_matches());
        }
        Ok(true)
    })?;
    Ok(Datum::Int4(count))
}

/// `regexp_instr(text, pattern [, start [, n [, endoption [, flags [, subexpr]]]]])`.
fn regexp_instr(args: &[Datum]) -> Result<Datum> {
    let text = args[0].as_text();
    let from = start_offset(text, args, 2)?;
    let n = check_parameter("n", args.get(3).map_or(1, Datum::as_int4), 1)?;
    let end = args.get(4).map_or(0, Datum::as_int4);
    if !(0..=1).contains(&end) {
        return Err(invalid_parameter("endoption", end));
    }
    let flags = flags_of(args, 5)?;
    if flags.global {
        return Err(no_global("regexp_instr()"));
    }
    let group = check_parameter("subexpr", args.get(6).map_or(0, Datum::as_int4), 0)?;
    let found = nth_group(text, args[1].as_text(), flags, from, n, group)?;
    Ok(Datum::Int4(found.map_or(0, |(start, stop)| {
        let at = if end == 1 { stop } else { start };
        text[..at].chars().count() as i32 + 1
    })))
}

/// `regexp_substr(text, pattern [, start [, n [, flags [, subexpr]]]])`.
fn regexp_substr(args: &[Datum]) -> Result<Datum> {
    let text = args[0].as_text();
    let from = start_offset(text, args, 2)?;
    let n = check_parameter("n", args.get(3).map_or(1, Datum::as_int4), 1)?;
    let flags = flags_of(args, 4)?;
    if flags.global {
        return Err(no_global("regexp_substr()"));
    }
    let group = check_parameter("subexpr", args.get(5).map_or(0, Datum::as_int4), 0)?;
    Ok(piece(text, nth_group(text, args[1].as_text(), flags, from, n, group)?))
}

/// Where a group of the n-th match lies.
fn nth_group(
    text: &str,
    pattern: &str,
    flags: Flags,
    from: usize,
    n: i32,
    group: i32,
) -> Result<Option<(usize, usize)>> {
    let regex = Regex::new(pattern, flags)?;
    let (mut left, mut found) = (n, None);
    each_match(&regex, text, from, |groups| {
        left -= 1;
        if left == 0 {
            found = groups.get(group as usize).copied().flatten();
        }
        Ok(left > 0)
    })?;
    Ok(found)
}
