//! The first packet of a connection: a session's parameters, or a request for encryption or for
//! the cancellation of somebody's query. It alone has no type byte.

use std::borrow::Cow;

use crate::error::Error;
use crate::put::{begin_length, end, put_i32, put_string, put_u32};
use crate::read::Reader;

/// Longest startup packet, its length not counted, as PostgreSQL has it.
pub const PACKET_BYTES_MAX: usize = 10_000;

/// Protocol 3.0, the version that is spoken.
pub const PROTOCOL_3_0: u32 = 3 << 16;

const CANCEL: u32 = 1234 << 16 | 5678;
const SSL: u32 = 1234 << 16 | 5679;
const GSS_ENC: u32 = 1234 << 16 | 5680;

/// Bytes of a cancel request behind its length: code, process, key.
const CANCEL_BYTES: usize = 12;

/// What a new connection asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// A session.
    Session(Session<'a>),
    /// Encryption by TLS; answered with one byte, `S` or `N`.
    Ssl,
    /// Encryption by GSSAPI; answered with one byte, `G` or `N`.
    GssEnc,
    /// Cancellation of the query that another connection runs; never answered.
    Cancel {
        /// The number from that connection's BackendKeyData.
        process: i32,
        /// The secret from that connection's BackendKeyData.
        key: u32,
    },
}

impl Request<'_> {
    /// What is wrong with a request that comes where it may not: its code is no version of the protocol.
    pub fn unexpected(&self) -> Error {
        unsupported(match self {
            Request::Session(session) => PROTOCOL_3_0 | u32::from(session.minor),
            Request::Ssl => SSL,
            Request::GssEnc => GSS_ENC,
            Request::Cancel { .. } => CANCEL,
        })
    }
}

fn unsupported(version: u32) -> Error {
    Error::UnsupportedProtocol { major: (version >> 16) as u16, minor: version as u16 }
}

/// The parameters of a new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session<'a> {
    /// Minor version of protocol 3 that the client would like. Above 0, or with options that
    /// start with `_pq_.`, the server answers NegotiateProtocolVersion and goes on with 3.0.
    pub minor: u16,
    /// Names and values, alternating, each with its zero; names are UTF-8.
    pairs: &'a [u8],
}

impl<'a> Session<'a> {
    /// Names and values in the order they were sent. Of values that are not UTF-8 what is no ASCII is lost: the client's
    /// character set is one of them.
    pub fn parameters(&self) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> + use<'a> {
        let mut reader = Reader::new(self.pairs);
        std::iter::from_fn(move || {
            if reader.rest().is_empty() {
                return None;
            }
            let checked = "the pairs were checked when they were read";
            Some((reader.string().expect(checked), lossy(reader.string_bytes().expect(checked))))
        })
    }

    /// The last value sent for `name`.
    pub fn parameter(&self, name: &str) -> Option<Cow<'a, str>> {
        self.parameters().filter(|(n, _)| *n == name).map(|(_, value)| value).last()
    }
}

/// What [`split`] found at the front of a new connection's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split<'a> {
    /// A whole packet: what it asks for and how many bytes it takes up.
    Packet(Request<'a>, usize),
    /// The buffer must hold at least this many bytes.
    Need(usize),
}

/// Splits the first startup packet off `buf` and decodes it.
///
/// # Errors
/// All are fatal but text that is not UTF-8, after which a server gives up just the same.
pub fn split(buf: &[u8]) -> Result<Split<'_>, Error> {
    let Some((header, rest)) = buf.split_first_chunk::<4>() else { return Ok(Split::Need(4)) };
    let len = (u32::from_be_bytes(*header) as usize).wrapping_sub(4);
    if !(4..=PACKET_BYTES_MAX).contains(&len) {
        return Err(Error::StartupLength);
    }
    match rest.get(..len) {
        Some(packet) => Ok(Split::Packet(decode(packet)?, 4 + len)),
        None => Ok(Split::Need(4 + len)),
    }
}

fn decode(packet: &[u8]) -> Result<Request<'_>, Error> {
    let mut reader = Reader::new(packet);
    match reader.u32()? {
        CANCEL if packet.len() != CANCEL_BYTES => Err(Error::StartupLength),
        CANCEL => Ok(Request::Cancel { process: reader.i32()?, key: reader.u32()? }),
        SSL => Ok(Request::Ssl),
        GSS_ENC => Ok(Request::GssEnc),
        version if version >> 16 == 3 => {
            let pairs = decode_pairs(reader.rest())?;
            Ok(Request::Session(Session { minor: version as u16, pairs }))
        }
        version => Err(unsupported(version)),
    }
}

/// Checks the list of names and values and returns it without the zero that ends it.
fn decode_pairs(list: &[u8]) -> Result<&[u8], Error> {
    let mut reader = Reader::new(list);
    loop {
        let before = reader.rest();
        let name = reader.string_bytes().map_err(|_| Error::StartupLayout)?;
        if name.is_empty() {
            let pairs = &list[..list.len() - before.len()];
            return reader.end().map(|()| pairs).map_err(|_| Error::StartupLayout);
        }
        crate::utf8(name)?;
        let value = reader.string_bytes().map_err(|_| Error::StartupLayout)?;
        // Nothing is named so, and what is lost of them must not make them another's name.
        if matches!(name, b"user" | b"database") {
            crate::utf8(value)?;
        }
    }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    let plain = |byte: &u8| if byte.is_ascii() { char::from(*byte) } else { '?' };
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(plain).collect()),
    }
}

/// Appends a startup packet for a session.
pub fn put_session<'p>(
    buf: &mut Vec<u8>,
    version: u32,
    parameters: impl IntoIterator<Item = (&'p str, &'p str)>,
) {
    let at = begin_length(buf);
    put_u32(buf, version);
    for (name, value) in parameters {
        put_string(buf, name);
        put_string(buf, value);
    }
    buf.push(0);
    end(buf, at);
}

/// Appends a request for TLS.
pub fn put_ssl_request(buf: &mut Vec<u8>) {
    put_bare(buf, SSL);
}

/// Appends a request for encryption by GSSAPI.
pub fn put_gss_enc_request(buf: &mut Vec<u8>) {
    put_bare(buf, GSS_ENC);
}

fn put_bare(buf: &mut Vec<u8>, code: u32) {
    let at = begin_length(buf);
    put_u32(buf, code);
    end(buf, at);
}

/// Appends a request to cancel what the connection with this process number and key runs.
pub fn put_cancel(buf: &mut Vec<u8>, process: i32, key: u32) {
    let at = begin_length(buf);
    put_u32(buf, CANCEL);
    put_i32(buf, process);
    put_u32(buf, key);
    end(buf, at);
}
