//! PostgreSQL's hash functions, whose values users store and partition by.
//!
//! Source: Bob Jenkins, "lookup3" (2006), with the starting values of PostgreSQL.

use super::bodies::{Bodies, scalars};
use crate::types::chars::without_padding;
use crate::types::numeric::Sign;
use crate::types::{Datum, Numeric};

pub(super) const ROOMS: &[Bodies] = &[HASHES];

fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    *a = a.wrapping_sub(*c) ^ c.rotate_left(4);
    *c = c.wrapping_add(*b);
    *b = b.wrapping_sub(*a) ^ a.rotate_left(6);
    *a = a.wrapping_add(*c);
    *c = c.wrapping_sub(*b) ^ b.rotate_left(8);
    *b = b.wrapping_add(*a);
    *a = a.wrapping_sub(*c) ^ c.rotate_left(16);
    *c = c.wrapping_add(*b);
    *b = b.wrapping_sub(*a) ^ a.rotate_left(19);
    *a = a.wrapping_add(*c);
    *c = c.wrapping_sub(*b) ^ b.rotate_left(4);
    *b = b.wrapping_add(*a);
}

fn finish(a: &mut u32, b: &mut u32, c: &mut u32) {
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
}

pub(super) fn hash_bytes(bytes: &[u8]) -> u32 {
    let start = 0x9e37_79b9u32.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |chunk: &[u8], at: usize| -> u32 {
        let mut four = [0; 4];
        let rest = chunk.get(at..).unwrap_or(&[]);
        let len = rest.len().min(4);
        four[..len].copy_from_slice(&rest[..len]);
        u32::from_le_bytes(four)
    };
    let mut chunks = bytes.chunks_exact(12);
    for chunk in &mut chunks {
        a = a.wrapping_add(word(chunk, 0));
        b = b.wrapping_add(word(chunk, 4));
        c = c.wrapping_add(word(chunk, 8));
        mix(&mut a, &mut b, &mut c);
    }
    let rest = chunks.remainder();
    a = a.wrapping_add(word(rest, 0));
    b = b.wrapping_add(word(rest, 4));
    // The lowest byte of c is reserved for the length.
    c = c.wrapping_add(word(rest, 8) << 8);
    finish(&mut a, &mut b, &mut c);
    c
}

fn hash_u32(value: u32) -> u32 {
    let start = 0x9e37_79b9u32.wrapping_add(4).wrapping_add(3_923_095);
    let (mut a, mut b, mut c) = (start.wrapping_add(value), start, start);
    finish(&mut a, &mut b, &mut c);
    c
}

/// Small values hash as the narrower integers do.
fn hash_i64(value: i64) -> u32 {
    let low = value as u32;
    let high = (value >> 32) as u32;
    hash_u32(low ^ if value >= 0 { high } else { !high })
}

fn hash_f64(value: f64) -> u32 {
    if value == 0.0 {
        return 0;
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    hash_bytes(&value.to_le_bytes())
}

/// The digits without zeros at the ends, and the weight.
pub(super) fn hash_numeric(value: &Numeric) -> u32 {
    let parts = value.parts();
    match parts.sign {
        Sign::Positive | Sign::Negative => {}
        _ => return 0,
    }
    if parts.digits.is_empty() {
        return u32::MAX;
    }
    let bytes: Vec<u8> = parts.digits.iter().flat_map(|digit| digit.to_le_bytes()).collect();
    hash_bytes(&bytes) ^ parts.weight as u32
}

fn result(hash: u32) -> crate::error::Result<Datum> {
    Ok(Datum::Int4(hash as i32))
}

const HASHES: Bodies = scalars! {
    "hashint2" => |_, a| result(hash_u32(i32::from(a[0].as_int2()) as u32));
    "hashint4" => |_, a| result(hash_u32(a[0].as_int4() as u32));
    "hashint8" => |_, a| result(hash_i64(a[0].as_int8()));
    "hashoid" => |_, a| result(hash_u32(a[0].as_oid().0));
    "hashenum" => |_, a| result(hash_u32(a[0].as_oid().0));
    "hashchar" => |_, a| result(hash_u32(i32::from(a[0].as_char() as i8) as u32));
    "hashfloat4" => |_, a| result(hash_f64(f64::from(a[0].as_float4())));
    "hashfloat8" => |_, a| result(hash_f64(a[0].as_float8()));
    "hashtext" => |_, a| result(hash_bytes(a[0].as_text().as_bytes()));
    "hashname" => |_, a| result(hash_bytes(a[0].as_text().as_bytes()));
    "hashbpchar" => |_, a| result(hash_bytes(without_padding(a[0].as_text()).as_bytes()));
    "hashvarlena" => |_, a| result(hash_bytes(a[0].as_bytea()));
    "hash_numeric" => |_, a| result(hash_numeric(a[0].as_numeric()));
    "uuid_hash" => |_, a| result(hash_bytes(&a[0].as_uuid()));
    "time_hash" => |_, a| result(hash_i64(a[0].as_time().0));
    "timestamp_hash" => |_, a| result(hash_i64(match &a[0] {
        Datum::Timestamp(v) => v.0,
        other => other.as_timestamptz().0,
    }));
    "timetz_hash" => |_, a| {
        let value = a[0].as_timetz();
        result(hash_i64(value.time.0) ^ hash_u32(value.zone_west_s as u32))
    };
    "interval_hash" => |_, a| result(hash_i64(a[0].as_interval().span() as i64));
};
