//! Encodings of bytes as text, digests, character set conversion.

use md5::Md5;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::bodies::{Bodies, scalars};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::steps::{Steps, checkpoint};
use crate::types::context::ByteaOutput;
use crate::types::scalar::{parse_bytea, parse_hex, push_hex, write_bytea};
use crate::types::{Datum, Encoding, Text};

pub(super) const ROOMS: &[Bodies] = &[ENCODINGS, DIGESTS, CONVERSIONS];

const ENCODINGS: Bodies = scalars! {
    "binary_encode" => |_, a| encode(a[0].as_bytea(), a[1].as_text()).map(Datum::from);
    "binary_decode" => |_, a| decode(a[0].as_text(), a[1].as_text()).map(|b| Datum::bytea(&b));
};

#[cold]
fn unrecognized(format: &str) -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "unrecognized encoding: \"{format}\"")
}

fn encode(bytes: &[u8], format: &str) -> Result<String> {
    // Each encoding gives at least that much.
    super::check_length(bytes.len())?;
    let mut out = Vec::with_capacity(bytes.len() * 2);
    let mut steps = Steps::default();
    match format.to_ascii_lowercase().as_str() {
        "hex" => {
            super::check_length(bytes.len() * 2)?;
            for &b in bytes {
                steps.next()?;
                push_hex(b, &mut out);
            }
        }
        "base64" => encode_base64(bytes, &mut out)?,
        "escape" => {
            for &b in bytes {
                steps.next()?;
                // Only zero bytes, bytes beyond ASCII and the backslash are escaped here.
                if b == 0 || b >= 0x80 || b == b'\\' {
                    write_bytea(&[b], ByteaOutput::Escape, &mut out);
                } else {
                    out.push(b);
                }
            }
        }
        _ => return Err(unrecognized(format)),
    }
    Ok(String::from_utf8(out).expect("encodings are ASCII"))
}

fn decode(text: &str, format: &str) -> Result<Vec<u8>> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => parse_hex(text),
        "base64" => decode_base64(text),
        "escape" if text.starts_with("\\x") => {
            bail!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
        }
        "escape" => parse_bytea(text),
        _ => Err(unrecognized(format)),
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters after which a line ends.
const BASE64_LINE: usize = 76;

fn encode_base64(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut column = 0;
    let mut steps = Steps::default();
    for chunk in bytes.chunks(3) {
        steps.next()?;
        let mut three = [0; 3];
        three[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for i in 0..4 {
            out.push(if i <= chunk.len() {
                BASE64[(bits >> (18 - 6 * i) & 63) as usize]
            } else {
                b'='
            });
        }
        column += 4;
        if column >= BASE64_LINE && chunk.len() == 3 {
            out.push(b'\n');
            column = 0;
        }
    }
    Ok(())
}

fn decode_base64(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count, mut padding) = (0u32, 0, 0);
    let mut steps = Steps::default();
    for c in text.chars() {
        steps.next()?;
        let value = match c {
            ' ' | '\n' | '\t' | '\r' => continue,
            '=' => {
                // The end: the first may follow two or three symbols, the second the first.
                if padding == 0 {
                    padding = match count {
                        2 => 1,
                        3 => 2,
                        _ => bail!(
                            INVALID_PARAMETER_VALUE,
                            "unexpected \"=\" while decoding base64 sequence"
                        ),
                    };
                }
                0
            }
            _ => match BASE64.iter().position(|&b| char::from(b) == c) {
                Some(value) => value as u32,
                None => bail!(
                    INVALID_PARAMETER_VALUE,
                    "invalid symbol \"{c}\" found while decoding base64 sequence"
                ),
            },
        };
        bits = bits << 6 | value;
        count += 1;
        if count == 4 {
            out.push((bits >> 16) as u8);
            if padding == 0 || padding > 1 {
                out.push((bits >> 8) as u8);
            }
            if padding == 0 || padding > 2 {
                out.push(bits as u8);
            }
            (bits, count) = (0, 0);
        }
    }
    if count != 0 {
        return Err(sql_error!(INVALID_PARAMETER_VALUE, "invalid base64 end sequence")
            .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
    }
    Ok(out)
}

const DIGESTS: Bodies = scalars! {
    "md5_text" => |_, a| md5_hex(a[0].as_text().as_bytes()).map(Datum::from);
    "md5_bytea" => |_, a| md5_hex(a[0].as_bytea()).map(Datum::from);
    "sha224_bytea" => |_, a| digest::<Sha224>(a[0].as_bytea()).map(|sum| Datum::bytea(&sum));
    "sha256_bytea" => |_, a| digest::<Sha256>(a[0].as_bytea()).map(|sum| Datum::bytea(&sum));
    "sha384_bytea" => |_, a| digest::<Sha384>(a[0].as_bytea()).map(|sum| Datum::bytea(&sum));
    "sha512_bytea" => |_, a| digest::<Sha512>(a[0].as_bytea()).map(|sum| Datum::bytea(&sum));
};

pub(super) fn digest<D: Digest>(bytes: &[u8]) -> Result<Vec<u8>> {
    const PIECE_BYTES: usize = 64 << 10;
    let mut sum = D::new();
    for piece in bytes.chunks(PIECE_BYTES) {
        checkpoint()?;
        sum.update(piece);
    }
    Ok(sum.finalize().to_vec())
}

fn md5_hex(bytes: &[u8]) -> Result<String> {
    let mut out = Vec::with_capacity(32);
    digest::<Md5>(bytes)?.iter().for_each(|&b| push_hex(b, &mut out));
    Ok(String::from_utf8(out).expect("hexadecimal digits are ASCII"))
}

fn source_text(bytes: &[u8], name: &str) -> Result<String> {
    match Encoding::by_name(name) {
        Some(encoding) => encoding.decode(bytes),
        None => Err(no_encoding("source", name)),
    }
}

fn target_bytes(text: &str, name: &str) -> Result<Vec<u8>> {
    let Some(encoding) = Encoding::by_name(name) else {
        return Err(no_encoding("destination", name));
    };
    let mut bytes = Vec::new();
    encoding.encode(text, &mut bytes)?;
    Ok(bytes)
}

fn no_encoding(which: &str, name: &str) -> SqlError {
    match Encoding::unsupported(name) {
        Some(name) => {
            SqlError::unsupported(format!("conversion between {name} and UTF8 is not supported"))
        }
        None => sql_error!(INVALID_PARAMETER_VALUE, "invalid {which} encoding name \"{name}\""),
    }
}

const CONVERSIONS: Bodies = scalars! {
    "pg_convert_from" => |_, a| {
        source_text(a[0].as_bytea(), a[1].as_text()).map(Datum::from)
    };
    "pg_convert_to" => |_, a| {
        target_bytes(a[0].as_text(), a[1].as_text()).map(|b| Datum::bytea(&b))
    };
    "pg_convert" => |_, a| {
        let text = source_text(a[0].as_bytea(), a[1].as_text())?;
        target_bytes(&text, a[2].as_text()).map(|b| Datum::bytea(&b))
    };
    "length_in_encoding" => |_, a| {
        let text = source_text(a[0].as_bytea(), a[1].as_text())?;
        Ok(Datum::Int4(text.chars().count() as i32))
    };
    "getdatabaseencoding" => |_, _| Ok(Datum::Text(Text::new("UTF8")));
    "PG_encoding_to_char" => |_, a| {
        let encoding = Encoding::by_number(a[0].as_int4());
        Ok(Datum::text(encoding.map_or("", Encoding::name)))
    };
    "PG_char_to_encoding" => |_, a| {
        let encoding = Encoding::by_name(a[0].as_text());
        Ok(Datum::Int4(encoding.map_or(-1, Encoding::number)))
    };
};
