//! Lengths of `varchar(n)`, `char(n)` and `name`, counted in characters.

use super::text::Text;
use super::typmod::TypeMod;
use crate::error::{Result, sql_error};

/// Bytes of a `name` beyond which it is cut.
pub const NAME_MAX: usize = 63;

/// Whether a value that is too long is refused or cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Only blanks may be cut (input, assignment).
    Refuse,
    /// Whatever is too much goes (explicit cast).
    Cut,
}

/// The byte at which character `n` begins, if the text is longer than `n` characters.
fn cut_point(text: &str, n: usize) -> Option<usize> {
    // As many bytes cannot hold more characters.
    if text.len() <= n { None } else { text.char_indices().nth(n).map(|(at, _)| at) }
}

fn cut(text: &str, at: usize, n: usize, excess: Excess, type_name: &str) -> Result<usize> {
    if excess == Excess::Refuse && !text[at..].bytes().all(|b| b == b' ') {
        return Err(sql_error!(
            STRING_DATA_RIGHT_TRUNCATION,
            "value too long for type {type_name}({n})"
        ));
    }
    Ok(at)
}

/// A text as `varchar(n)`.
pub fn to_varchar(text: Text, typmod: TypeMod, excess: Excess) -> Result<Text> {
    let Some(n) = typmod.length() else { return Ok(text) };
    let Some(at) = cut_point(&text, n) else { return Ok(text) };
    let at = cut(&text, at, n, excess, "character varying")?;
    Ok(Text::new(&text[..at]))
}

/// A text as `char(n)`: padded with blanks.
pub fn to_bpchar(text: Text, typmod: TypeMod, excess: Excess) -> Result<Text> {
    let Some(n) = typmod.length() else { return Ok(text) };
    if let Some(at) = cut_point(&text, n) {
        let at = cut(&text, at, n, excess, "character")?;
        return Ok(Text::new(&text[..at]));
    }
    let count = text.chars().count();
    if count == n {
        return Ok(text);
    }
    crate::func::check_length(text.len() + (n - count))?;
    Ok(padded(&text, n - count))
}

/// The text and so many blanks. Without an allocation besides the result's where it is not long.
fn padded(text: &str, blanks: usize) -> Text {
    /// A text on the stack is at most this long.
    const SHORT_BYTES: usize = 256;
    let length = text.len() + blanks;
    if length <= SHORT_BYTES {
        let mut bytes = [b' '; SHORT_BYTES];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        return Text::new(std::str::from_utf8(&bytes[..length]).expect("a text and blanks"));
    }
    let mut padded = String::with_capacity(length);
    padded.push_str(text);
    padded.push_str(&" ".repeat(blanks));
    padded.into()
}

/// A text as `name`: cut to 63 bytes at a character's border.
pub fn to_name(text: Text) -> Text {
    if text.len() <= NAME_MAX {
        return text;
    }
    Text::new(&text[..text.floor_char_boundary(NAME_MAX)])
}

/// The part of a `char(n)` that counts in comparisons.
pub fn without_padding(text: &str) -> &str {
    text.trim_end_matches(' ')
}
