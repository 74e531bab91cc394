//! The lists inside messages, borrowed from the message and checked when it was decoded.

use crate::error::Error;
use crate::read::Reader;

/// How a value is written: as text, or in its type's binary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub enum Format {
    /// Text, code 0.
    Text = 0,
    /// Binary, code 1.
    Binary = 1,
}

impl Format {
    /// # Errors
    /// [`Error::FormatCode`] for every code but 0 and 1.
    #[inline]
    pub fn from_code(code: i16) -> Result<Self, Error> {
        match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => Err(Error::FormatCode(other)),
        }
    }

    /// The number the protocol has for it.
    #[inline]
    pub fn code(self) -> i16 {
        self as i16
    }
}

/// Format codes of parameters or result columns: none (all text), one for all, or one for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Formats<'a> {
    /// Two bytes an item, each 0 or 1 as a big-endian number.
    codes: &'a [u8],
}

impl<'a> Formats<'a> {
    /// Everything as text.
    pub const TEXT: Formats<'static> = Formats { codes: &[] };
    /// Everything in binary.
    pub const BINARY: Formats<'static> = Formats { codes: &[0, 1] };

    /// Reads a count and that many codes.
    #[inline]
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let count = reader.u16()?;
        let codes = reader.bytes(usize::from(count) * 2)?;
        for code in codes.chunks_exact(2) {
            Format::from_code(i16::from_be_bytes([code[0], code[1]]))?;
        }
        Ok(Formats { codes })
    }

    /// How many codes were sent.
    #[inline]
    pub fn count(&self) -> u16 {
        (self.codes.len() / 2) as u16
    }

    /// Whether these codes can stand for `items` values.
    #[inline]
    pub fn fit(&self, items: u16) -> bool {
        self.count() <= 1 || self.count() == items
    }

    /// The format of item `index`; text where fewer codes were sent than that.
    #[inline]
    pub fn of(&self, index: usize) -> Format {
        let low_byte = match self.codes.len() {
            0 => return Format::Text,
            2 => self.codes.get(1),
            _ => self.codes.get(index * 2 + 1),
        };
        if low_byte == Some(&1) { Format::Binary } else { Format::Text }
    }

    /// The codes as they were sent.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Format> + use<'a> {
        self.codes.chunks_exact(2).map(|c| if c[1] == 1 { Format::Binary } else { Format::Text })
    }
}

/// Type identifiers, as in Parse and ParameterDescription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oids<'a> {
    bytes: &'a [u8],
}

impl<'a> Oids<'a> {
    /// Reads a count and that many identifiers.
    #[inline]
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let count = reader.u16()?;
        Ok(Oids { bytes: reader.bytes(usize::from(count) * 4)? })
    }

    /// The identifiers in order; 0 leaves a parameter's type to the server.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.bytes.chunks_exact(4).map(|c| u32::from_be_bytes([c[0], c[1], c[2], c[3]]))
    }
}

/// Values, each null or a string of bytes: the parameters of a Bind, the columns of a DataRow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values<'a> {
    count: u16,
    /// `count` values, each behind its length; [`Values::read`] walked them once.
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// Reads a count and that many values.
    #[inline]
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let count = reader.u16()?;
        let start = reader.rest();
        for _ in 0..count {
            reader.value()?;
        }
        Ok(Values { count, bytes: &start[..start.len() - reader.rest().len()] })
    }

    /// How many values there are.
    #[inline]
    pub fn count(&self) -> u16 {
        self.count
    }

    /// The values in order, `None` for null.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        (0..self.count).map(move |_| reader.value().expect("the list was walked when it was read"))
    }
}

/// Zero-terminated strings up to an empty one, or a given number of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strings<'a> {
    /// Whole strings, each with its zero, each UTF-8.
    bytes: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Reads strings until an empty one, which is read too.
    pub(crate) fn read_to_empty(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let start = reader.rest();
        loop {
            let before = reader.rest().len();
            if reader.string()?.is_empty() {
                return Ok(Strings { bytes: &start[..start.len() - before] });
            }
        }
    }

    /// Reads exactly `count` strings.
    pub(crate) fn read_count(reader: &mut Reader<'a>, count: usize) -> Result<Self, Error> {
        let start = reader.rest();
        for _ in 0..count {
            reader.string()?;
        }
        Ok(Strings { bytes: &start[..start.len() - reader.rest().len()] })
    }

    /// The strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || {
            (!reader.rest().is_empty())
                .then(|| reader.string().expect("the strings were checked when they were read"))
        })
    }
}
