//! Where one column's code ends in a key, without looking at what its value is.

use super::{BYTEA_ZERO, END, KeyColumn, VALUE_MARKER, numeric_class};
use crate::types::jsonb::order;
use crate::types::row::ValueKind;
use crate::types::{Rules, TypeId, type_info};

/// How codes of a column are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeLength {
    /// All values take so many bytes behind the marker.
    Fixed(usize),
    /// It is to be found in the bytes.
    Found(KeyColumn),
}

impl KeyColumn {
    /// How long the column's codes are; `None` of types whose codes only their values tell apart.
    pub fn code_length(&self) -> Option<CodeLength> {
        let bytes = match ValueKind::of_type(self.type_id)? {
            ValueKind::Bool | ValueKind::Char => 1,
            ValueKind::Int2 => 2,
            ValueKind::Int4 | ValueKind::Float4 | ValueKind::Oid | ValueKind::Date => 4,
            ValueKind::Tid => 6,
            ValueKind::Int8
            | ValueKind::Float8
            | ValueKind::Time
            | ValueKind::Timestamp
            | ValueKind::TimestampTz => 8,
            ValueKind::Interval => 10,
            ValueKind::TimeTz => 12,
            ValueKind::Uuid => 16,
            ValueKind::Text
            | ValueKind::Bytea
            | ValueKind::Numeric
            | ValueKind::Inet
            | ValueKind::Jsonb => {
                return Some(CodeLength::Found(*self));
            }
            ValueKind::Array => {
                let element = type_info(self.type_id)?.element;
                KeyColumn { type_id: element, ..*self }.code_length()?;
                return Some(CodeLength::Found(*self));
            }
            ValueKind::Record => return None,
        };
        Some(CodeLength::Fixed(bytes))
    }
}

impl CodeLength {
    /// The length of the code, its marker included, at the start of `bytes`.
    #[inline]
    pub fn of(&self, bytes: &[u8]) -> usize {
        if bytes[0] != VALUE_MARKER {
            return 1;
        }
        match self {
            CodeLength::Fixed(length) => 1 + length,
            CodeLength::Found(column) => {
                let mask = if column.descending { 0xff } else { 0 };
                let mut bytes = Bytes { bytes, at: 1, mask };
                bytes.pass_value(column.type_id, column.rules);
                bytes.at
            }
        }
    }
}

/// A place in a key, and what undoes the inversion of descending columns.
struct Bytes<'b> {
    bytes: &'b [u8],
    at: usize,
    mask: u8,
}

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let byte = self.bytes[self.at] ^ self.mask;
        self.at += 1;
        byte
    }

    fn pass_value(&mut self, type_id: TypeId, rules: Option<&'static Rules>) {
        match ValueKind::of_type(type_id) {
            Some(ValueKind::Text) => {
                self.pass_text();
                if rules.is_some_and(Rules::is_deterministic) {
                    self.pass_text();
                }
            }
            Some(ValueKind::Bytea) => while self.next() != END || self.next() == BYTEA_ZERO {},
            Some(ValueKind::Numeric) => self.pass_numeric(),
            Some(ValueKind::Inet) => self.at += if self.next() == 0 { 9 } else { 33 },
            Some(ValueKind::Jsonb) => self.pass_json(),
            Some(ValueKind::Array) => self.pass_array(type_id, rules),
            _ => match KeyColumn::ascending(type_id).code_length() {
                Some(CodeLength::Fixed(length)) => self.at += length,
                _ => unreachable!("{type_id:?} was refused"),
            },
        }
    }

    fn pass_text(&mut self) {
        while self.next() != END {}
    }

    fn pass_numeric(&mut self) {
        let inverted = match self.next() {
            numeric_class::NEGATIVE => 0xff,
            numeric_class::POSITIVE => 0,
            _ => return,
        };
        // The weight; then digits of two bytes.
        self.at += 2;
        while [self.next() ^ inverted, self.next() ^ inverted] != [0, 0] {}
    }

    fn pass_json(&mut self) {
        match self.next() {
            order::STRING => self.pass_text(),
            order::NUMBER => self.pass_numeric(),
            order::BOOL => self.at += 1,
            order::ARRAY => {
                let elements = self.next_u32();
                // Whether it is more than a value that stands alone.
                self.at += 1;
                (0..elements).for_each(|_| self.pass_json());
            }
            order::OBJECT => {
                let pairs = self.next_u32();
                for _ in 0..pairs {
                    self.pass_text();
                    self.pass_json();
                }
            }
            _ => {}
        }
    }

    fn next_u32(&mut self) -> u32 {
        u32::from_be_bytes(std::array::from_fn(|_| self.next()))
    }

    fn pass_array(&mut self, type_id: TypeId, rules: Option<&'static Rules>) {
        let element = type_info(type_id).expect("arrays that are indexed are built in").element;
        loop {
            match self.next() {
                END => break,
                VALUE_MARKER => self.pass_value(element, rules),
                _ => {}
            }
        }
        let dimensions = usize::from(self.next());
        self.at += dimensions * 8;
    }
}
