//! The order of `jsonb` values, as bytes.
//!
//! Objects come after arrays, these after booleans, numbers, strings and null; of two objects or arrays the one with more
//! entries comes later, then the first entry counts that differs. A value that is no object or array is compared with
//! these as an array of one, so that an empty array comes before it.
//!
//! ```text
//! code     := null 0x00 | 0x01 bytes 0x00 | 0x02 numeric | 0x03 bool | 0x10 entries u32 whole element* | 0x11 entries u32 (key value)*
//! whole    := 0x00 for a value that is no array but stands alone, 0x01 for an array
//! key      := bytes 0x00
//! ```

use std::cmp::Ordering;

use super::{Json, read};
use crate::types::keycode::encode_numeric;

pub const NULL: u8 = 0x00;
pub const STRING: u8 = 0x01;
pub const NUMBER: u8 = 0x02;
pub const BOOL: u8 = 0x03;
pub const ARRAY: u8 = 0x10;
pub const OBJECT: u8 = 0x11;

/// Ends a string, which has no such byte.
const END: u8 = 0x00;

/// Appends the code of a value in its canonical text.
pub fn write_code(text: &str, out: &mut Vec<u8>) {
    let value = read(text);
    if value.is_scalar() {
        begin_array(1, false, out);
    }
    encode(&value, out);
}

/// The order of two values in their canonical texts.
pub fn compare(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    let code = |text: &str| {
        let mut code = Vec::with_capacity(text.len() + 8);
        write_code(text, &mut code);
        code
    };
    code(a).cmp(&code(b))
}

fn begin_array(entries: usize, whole: bool, out: &mut Vec<u8>) {
    out.push(ARRAY);
    out.extend_from_slice(&(entries as u32).to_be_bytes());
    out.push(u8::from(whole));
}

fn encode(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.push(NULL),
        Json::String(text) => {
            out.push(STRING);
            encode_string(text, out);
        }
        Json::Number(number) => {
            out.push(NUMBER);
            encode_numeric(number, out);
        }
        Json::Bool(value) => out.extend_from_slice(&[BOOL, u8::from(*value)]),
        Json::Array(elements) => {
            begin_array(elements.len(), true, out);
            elements.iter().for_each(|element| encode(element, out));
        }
        Json::Object(pairs) => {
            out.push(OBJECT);
            out.extend_from_slice(&(pairs.len() as u32).to_be_bytes());
            for (key, value) in pairs {
                encode_string(key, out);
                encode(value, out);
            }
        }
    }
}

fn encode_string(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(END);
}
