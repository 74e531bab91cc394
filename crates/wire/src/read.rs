//! A cursor over the body of one message.

use crate::error::{Error, invalid};

/// Takes values off the front of a message body; each method fails with the words PostgreSQL
/// has for a body that ends too early.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Reader { rest: body }
    }

    /// What has not been read yet.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        let (&first, rest) = self.rest.split_first().ok_or(Error::NoDataLeft)?;
        self.rest = rest;
        Ok(first)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(Error::InsufficientData)?;
        self.rest = rest;
        Ok(*head)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn i16(&mut self) -> Result<i16, Error> {
        self.array().map(i16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn i32(&mut self) -> Result<i32, Error> {
        self.array().map(i32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or(Error::InsufficientData)?;
        self.rest = rest;
        Ok(head)
    }

    /// A value behind its 32-bit length, `None` where the length is -1.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>, Error> {
        match self.i32()? {
            -1 => Ok(None),
            len => {
                let len = usize::try_from(len).map_err(|_| Error::InsufficientData)?;
                self.bytes(len).map(Some)
            }
        }
    }

    /// A zero-terminated string, as bytes without the zero.
    #[inline]
    pub(crate) fn string_bytes(&mut self) -> Result<&'a [u8], Error> {
        let len = self.rest.iter().position(|&b| b == 0).ok_or(Error::UnterminatedString)?;
        let text = &self.rest[..len];
        self.rest = &self.rest[len + 1..];
        Ok(text)
    }

    /// A zero-terminated string in UTF-8.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<&'a str, Error> {
        let bytes = self.string_bytes()?;
        std::str::from_utf8(bytes).map_err(|fault| invalid(bytes, fault.valid_up_to()))
    }

    /// Everything that has not been read yet.
    #[inline]
    pub(crate) fn remainder(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Requires that nothing is left.
    #[inline]
    pub(crate) fn end(self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(Error::TrailingData) }
    }
}
