//! `inet` and `cidr`: an address of the Internet and how many of its bits are its network's.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::scalar::invalid_syntax;
use crate::error::{Result, sql_error};

/// An address with the length of its network's part.
///
/// Ordered by PostgreSQL's rule: version 4 first, then by network, then by the length of its part, then by the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inet {
    is_v6: bool,
    bits: u8,
    /// The address from the left; zeros behind one of version 4.
    address: [u8; 16],
}

/// How the protocol calls the versions (`PGSQL_AF_INET`, `PGSQL_AF_INET6`).
const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 3;

impl Inet {
    /// Bytes in a row.
    pub const BYTES: usize = 18;

    /// # Panics
    /// If there are more bits than the address has.
    pub fn new(address: &[u8], bits: u8) -> Inet {
        let mut whole = [0; 16];
        whole[..address.len()].copy_from_slice(address);
        let inet = Inet { is_v6: address.len() == 16, bits, address: whole };
        assert!(bits <= inet.max_bits(), "an address has as many bits as its version says");
        inet
    }

    /// The bytes of the address: 4 or 16.
    pub fn address(&self) -> &[u8] {
        &self.address[..usize::from(self.max_bits() / 8)]
    }

    pub fn bits(&self) -> u8 {
        self.bits
    }

    pub fn is_v6(&self) -> bool {
        self.is_v6
    }

    pub fn max_bits(&self) -> u8 {
        if self.is_v6 { 128 } else { 32 }
    }

    /// The address as a number.
    pub fn number(&self) -> u128 {
        u128::from_be_bytes(self.address) >> (128 - u32::from(self.max_bits()))
    }

    /// The address of the same version with this number, and so many bits of network.
    pub fn with_number(&self, number: u128, bits: u8) -> Inet {
        let address = (number << (128 - u32::from(self.max_bits()))).to_be_bytes();
        Inet { bits, address, ..*self }
    }

    /// The bits that are the network's, as a number.
    pub fn netmask(&self) -> u128 {
        self.all() ^ low_bits(u32::from(self.max_bits() - self.bits))
    }

    /// All bits of an address.
    pub fn all(&self) -> u128 {
        low_bits(self.max_bits().into())
    }

    /// The network alone.
    pub fn network(&self) -> Inet {
        self.with_number(self.number() & self.netmask(), self.bits)
    }

    /// Are the first bits of both the same, and both of one version?
    pub fn shares(&self, other: &Inet, bits: u8) -> bool {
        let masked = |inet: &Inet| inet.with_number(inet.number(), bits).network().number();
        self.is_v6 == other.is_v6 && masked(self) == masked(other)
    }

    /// Reads `inet` as PostgreSQL does.
    pub fn parse(text: &str) -> Result<Inet> {
        let found = if text.contains(':') { parse_v6(text) } else { parse_v4(text, false) };
        found.ok_or_else(|| invalid_syntax("inet", text))
    }

    /// Reads `cidr`: nothing may be set behind the network's part.
    pub fn parse_cidr(text: &str) -> Result<Inet> {
        let found = if text.contains(':') { parse_v6(text) } else { parse_v4(text, true) };
        let inet = found.ok_or_else(|| invalid_syntax("cidr", text))?;
        if inet.network() != inet {
            return Err(sql_error!(INVALID_TEXT_REPRESENTATION, "invalid cidr value: \"{text}\"")
                .with_detail("Value has bits set to right of mask."));
        }
        Ok(inet)
    }

    /// The address without its network.
    pub fn host(&self) -> String {
        match <[u8; 4]>::try_from(self.address()) {
            Ok(v4) => Ipv4Addr::from(v4).to_string(),
            Err(_) => v6_text(&self.address),
        }
    }

    /// As `cidr` is written, and `inet` cast to text.
    pub fn with_length(&self) -> String {
        format!("{}/{}", self.host(), self.bits)
    }

    /// As `inet` is written.
    pub fn shown(&self) -> String {
        if self.bits == self.max_bits() { self.host() } else { self.with_length() }
    }

    /// The version as the protocol calls it.
    pub fn family(&self) -> u8 {
        if self.is_v6 { FAMILY_V6 } else { FAMILY_V4 }
    }

    /// What is sent: family, bits, whether it is `cidr`, the length of the address, the address.
    pub fn send(&self, is_cidr: bool, out: &mut Vec<u8>) {
        let length = self.address().len() as u8;
        out.extend_from_slice(&[self.family(), self.bits, u8::from(is_cidr), length]);
        out.extend_from_slice(self.address());
    }

    /// Reads what [`Inet::send`] wrote, from its first four bytes and a way to take the others.
    pub fn receive<'b>(
        head: [u8; 4],
        is_cidr: bool,
        rest: impl FnOnce(usize) -> Result<&'b [u8]>,
    ) -> Result<Inet> {
        let name = if is_cidr { "cidr" } else { "inet" };
        let bad = |what: &str| {
            sql_error!(INVALID_BINARY_REPRESENTATION, "invalid {what} in external \"{name}\" value")
        };
        let (max_bits, bytes) = match head[0] {
            FAMILY_V4 => (32, 4),
            FAMILY_V6 => (128, 16),
            _ => return Err(bad("address family")),
        };
        if head[1] > max_bits {
            return Err(bad("bits"));
        }
        if head[3] != bytes {
            return Err(bad("length"));
        }
        let inet = Inet::new(rest(bytes.into())?, head[1]);
        if is_cidr && inet.network() != inet {
            return Err(sql_error!(
                INVALID_BINARY_REPRESENTATION,
                "invalid external \"cidr\" value"
            )
            .with_detail("Value has bits set to right of mask."));
        }
        Ok(inet)
    }

    /// The form in rows: version, bits, 16 bytes of address.
    pub fn to_bytes(self) -> [u8; Inet::BYTES] {
        let mut bytes = [0; Inet::BYTES];
        (bytes[0], bytes[1]) = (u8::from(self.is_v6), self.bits);
        bytes[2..].copy_from_slice(&self.address);
        bytes
    }

    pub fn from_bytes(bytes: [u8; Inet::BYTES]) -> Inet {
        let mut address = [0; 16];
        address.copy_from_slice(&bytes[2..]);
        Inet { is_v6: bytes[0] != 0, bits: bytes[1], address }
    }
}

impl Ord for Inet {
    fn cmp(&self, other: &Inet) -> std::cmp::Ordering {
        // A network comes before those within it: these have the same bits and more.
        let key = |inet: &Inet| (inet.is_v6, inet.network().address, inet.bits, inet.address);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Inet {
    fn partial_cmp(&self, other: &Inet) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// So many ones.
fn low_bits(count: u32) -> u128 {
    1u128.checked_shl(count).map_or(u128::MAX, |bit| bit - 1)
}

/// Up to four numbers between points, and the length behind a slash.
fn parse_v4(text: &str, is_cidr: bool) -> Option<Inet> {
    let (numbers, length) = match text.split_once('/') {
        Some((numbers, length)) => (numbers, Some(length)),
        None => (text, None),
    };
    let mut address = [0u8; 4];
    let mut given = 0;
    for number in numbers.split('.') {
        *address.get_mut(given)? = digits(number)?;
        given += 1;
    }
    let bits = match length {
        Some(length) => digits(length).filter(|bits| *bits <= 32)?,
        None if is_cidr => class_bits(address[0]).max(8 * given as u8),
        None if given == 4 => 32,
        None => return None,
    };
    if !is_cidr && usize::from(bits / 8) > given {
        return None;
    }
    // The class of multicast addresses alone.
    let bits = if length.is_none() && bits == 8 && address[0] == 224 { 4 } else { bits };
    Some(Inet::new(&address, bits))
}

/// The length that the class of an address says.
fn class_bits(first: u8) -> u8 {
    match first {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    }
}

/// A number of digits alone.
fn digits(text: &str) -> Option<u8> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

fn parse_v6(text: &str) -> Option<Inet> {
    let (address, bits) = match text.split_once('/') {
        // No zeros lead.
        Some((_, length)) if length.len() > 1 && length.starts_with('0') => return None,
        Some((address, length)) => (address, digits(length).filter(|bits| *bits <= 128)?),
        None => (text, 128),
    };
    let address: Ipv6Addr = address.parse().ok()?;
    Some(Inet::new(&address.octets(), bits))
}

/// The longest run of zeros left out, and the last 32 bits as version 4 has them where all before is zero (or `ffff`).
fn v6_text(address: &[u8; 16]) -> String {
    let words: [u16; 8] =
        std::array::from_fn(|i| u16::from_be_bytes([address[2 * i], address[2 * i + 1]]));
    let (mut start, mut length) = (0, 0);
    let mut at = 0;
    while at < words.len() {
        let run = words[at..].iter().take_while(|word| **word == 0).count();
        if run > length.max(1) {
            (start, length) = (at, run);
        }
        at += run.max(1);
    }
    let ends_in_v4 = start == 0
        && (length == 6 || (length == 7 && words[7] != 1) || (length == 5 && words[5] == 0xffff));
    let mut out = String::new();
    for (i, word) in words.iter().enumerate() {
        if (start..start + length).contains(&i) {
            out.push_str(if i == start { ":" } else { "" });
            continue;
        }
        out.push_str(if i > 0 { ":" } else { "" });
        if i == 6 && ends_in_v4 {
            let last: [u8; 4] = [address[12], address[13], address[14], address[15]];
            out.push_str(&Ipv4Addr::from(last).to_string());
            return out;
        }
        out.push_str(&format!("{word:x}"));
    }
    if length > 0 && start + length == words.len() {
        out.push(':');
    }
    out
}
