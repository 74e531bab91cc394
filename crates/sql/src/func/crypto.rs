//! Functions of the extensions `uuid-ossp` and `pgcrypto`: identifiers and digests.

use std::sync::OnceLock;

use base::sync::unmodelled::{AtomicU64, Ordering::Relaxed};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::bodies::{Bodies, scalars};
use super::digest::digest;
use crate::error::{Result, SqlError, sql_error};
use crate::types::{Datum, TimestampTz};

pub(super) const ROOMS: &[Bodies] = &[IDENTIFIERS, DIGESTS];

/// Name spaces of RFC 4122, which differ in their fourth byte.
const fn name_space(which: u8) -> Datum {
    Datum::Uuid([
        0x6b, 0xa7, 0xb8, which, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30,
        0xc8,
    ])
}

const IDENTIFIERS: Bodies = scalars! {
    "uuid_nil" => |_, _| Ok(Datum::Uuid([0; 16]));
    "uuid_ns_dns" => |_, _| Ok(name_space(0x10));
    "uuid_ns_url" => |_, _| Ok(name_space(0x11));
    "uuid_ns_oid" => |_, _| Ok(name_space(0x12));
    "uuid_ns_x500" => |_, _| Ok(name_space(0x14));
    "gen_random_uuid" => |_, _| Ok(Datum::Uuid(marked(random()?, 4)));
    "uuid_generate_v1" => |_, _| of_time(node()?).map(Datum::Uuid);
    "uuid_generate_v1mc" => |_, _| of_time(random()?).map(Datum::Uuid);
    "uuid_generate_v3" => |_, a| named(a, 3).map(Datum::Uuid);
    "uuid_generate_v5" => |_, a| named(a, 5).map(Datum::Uuid);
};

/// Random bytes, as good as the system's.
fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes)
        .map_err(|error| sql_error!(INTERNAL_ERROR, "could not generate random values: {error}"))
}

/// With the version, and as one of RFC 4122.
fn marked(mut uuid: [u8; 16], version: u8) -> [u8; 16] {
    uuid[6] = uuid[6] & 0x0f | version << 4;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}

/// Of a name within a name space.
fn named(args: &[Datum], version: u8) -> Result<[u8; 16]> {
    let Datum::Uuid(space) = args[0] else { unreachable!("declared so") };
    let mut bytes = space.to_vec();
    bytes.extend_from_slice(args[1].as_text().as_bytes());
    let sum = if version == 3 { digest::<Md5>(&bytes)? } else { digest::<Sha1>(&bytes)? };
    let uuid = sum[..16].try_into().expect("both sums are as long");
    Ok(marked(uuid, version))
}

/// From 15 October 1582 to 1 January 2000, in units of 100 ns.
const GREGORIAN_TO_2000: u64 = 0x01b2_1dd2_1381_4000 + 946_684_800 * 10_000_000;

/// Where identifiers of the time come from: made up when the first is asked for.
fn node() -> Result<[u8; 8]> {
    static NODE: OnceLock<[u8; 8]> = OnceLock::new();
    if let Some(node) = NODE.get() {
        return Ok(*node);
    }
    let made = random()?;
    Ok(*NODE.get_or_init(|| made))
}

/// Of the time, which goes on by at least one with each, and of a number and a node, which is marked as multicast: it is no
/// network card's.
fn of_time(node: [u8; 8]) -> Result<[u8; 16]> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = TimestampTz::from_clock().0.saturating_mul(10) as u64;
    let now = now.wrapping_add(GREGORIAN_TO_2000);
    // Nothing else hangs on the number but that it is had once.
    let before = LAST.fetch_update(Relaxed, Relaxed, |last| Some(now.max(last.wrapping_add(1))));
    let time = now.max(before.unwrap_or_default().wrapping_add(1)).to_be_bytes();
    let mut uuid = [0; 16];
    uuid[..4].copy_from_slice(&time[4..]);
    uuid[4..6].copy_from_slice(&time[2..4]);
    uuid[6..8].copy_from_slice(&time[..2]);
    uuid[8..].copy_from_slice(&node);
    uuid[10] |= 1;
    Ok(marked(uuid, 1))
}

const DIGESTS: Bodies = scalars! {
    "pg_digest" => |_, a| sum(a[0].as_text().as_bytes(), a[1].as_text());
    "pg_digest_bytea" => |_, a| sum(a[0].as_bytea(), a[1].as_text());
    "pg_hmac" => |_, a| {
        keyed(a[0].as_text().as_bytes(), a[1].as_text().as_bytes(), a[2].as_text())
    };
    "pg_hmac_bytea" => |_, a| keyed(a[0].as_bytea(), a[1].as_bytea(), a[2].as_text());
    "pg_random_bytes" => |_, a| {
        let count = a[0].as_int4();
        if !(1..=1024).contains(&count) {
            return Err(sql_error!(EXTERNAL_ROUTINE_INVOCATION_EXCEPTION, "Length not in range"));
        }
        let mut bytes = vec![0; count as usize];
        fill(&mut bytes)?;
        Ok(Datum::bytea(&bytes))
    };
};

type Sum = fn(&[u8]) -> Result<Vec<u8>>;

/// A digest, and the bytes that it takes in at a time.
struct Algorithm {
    sum: Sum,
    block_bytes: usize,
}

fn algorithm(name: &str) -> Result<Algorithm> {
    let (sum, block_bytes): (Sum, _) = match name.to_ascii_lowercase().as_str() {
        "md5" => (digest::<Md5>, 64),
        "sha1" => (digest::<Sha1>, 64),
        "sha224" => (digest::<Sha224>, 64),
        "sha256" => (digest::<Sha256>, 64),
        "sha384" => (digest::<Sha384>, 128),
        "sha512" => (digest::<Sha512>, 128),
        _ => return Err(no_algorithm(name)),
    };
    Ok(Algorithm { sum, block_bytes })
}

fn no_algorithm(name: &str) -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "Cannot use \"{name}\": No such hash algorithm")
}

fn sum(bytes: &[u8], name: &str) -> Result<Datum> {
    (algorithm(name)?.sum)(bytes).map(|sum| Datum::bytea(&sum))
}

/// HMAC of RFC 2104.
fn keyed(bytes: &[u8], key: &[u8], name: &str) -> Result<Datum> {
    let Algorithm { sum, block_bytes } = algorithm(name)?;
    let mut block = if key.len() > block_bytes { sum(key)? } else { key.to_vec() };
    block.resize(block_bytes, 0);
    let padded = |pad: u8, rest: &[u8]| {
        let mut all: Vec<u8> = block.iter().map(|byte| byte ^ pad).collect();
        all.extend_from_slice(rest);
        sum(&all)
    };
    let inner = padded(0x36, bytes)?;
    padded(0x5c, &inner).map(|sum| Datum::bytea(&sum))
}
