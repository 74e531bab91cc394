//! Addresses: `inet` and `cidr`.

use super::bodies::{Bodies, comparisons, scalars};
use super::hash::hash_bytes;
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::{Datum, Inet, TypeId};

pub(super) const ROOMS: &[Bodies] = &[COMPARE, NETWORKS, PARTS, BITS];

const COMPARE: Bodies = comparisons!(INET, "network_eq" "network_ne" "network_lt" "network_le"
    "network_gt" "network_ge" "network_cmp" "network_larger" "network_smaller");

/// Is the first network all of the second one, or within it?
fn within(inner: &Datum, outer: &Datum) -> bool {
    let (inner, outer) = (inner.as_inet(), outer.as_inet());
    inner.bits() >= outer.bits() && inner.shares(&outer, outer.bits())
}

fn is_longer(a: &Datum, b: &Datum) -> bool {
    a.as_inet().bits() > b.as_inet().bits()
}

const NETWORKS: Bodies = scalars! {
    "network_sub" => |_, a| Ok(Datum::Bool(is_longer(&a[0], &a[1]) && within(&a[0], &a[1])));
    "network_subeq" => |_, a| Ok(Datum::Bool(within(&a[0], &a[1])));
    "network_sup" => |_, a| Ok(Datum::Bool(is_longer(&a[1], &a[0]) && within(&a[1], &a[0])));
    "network_supeq" => |_, a| Ok(Datum::Bool(within(&a[1], &a[0])));
    "network_overlap" => |_, a| Ok(Datum::Bool(within(&a[0], &a[1]) || within(&a[1], &a[0])));
    "hashinet" => |_, a| {
        let inet = a[0].as_inet();
        let mut bytes = vec![inet.family(), inet.bits()];
        bytes.extend_from_slice(inet.address());
        Ok(Datum::Int4(hash_bytes(&bytes) as i32))
    };
    "inet_same_family" => |_, a| {
        Ok(Datum::Bool(a[0].as_inet().is_v6() == a[1].as_inet().is_v6()))
    };
    "inet_merge" => |_, a| {
        let (x, y) = (a[0].as_inet(), a[1].as_inet());
        if x.is_v6() != y.is_v6() {
            bail!(INVALID_PARAMETER_VALUE, "cannot merge addresses from different families");
        }
        let shorter = x.bits().min(y.bits());
        let common = (0..=shorter).rev().find(|bits| x.shares(&y, *bits)).unwrap_or(0);
        Ok(Datum::Inet(x.with_number(x.number(), common).network()))
    };
};

const PARTS: Bodies = scalars! {
    "network_family" => |_, a| Ok(Datum::Int4(if a[0].as_inet().is_v6() { 6 } else { 4 }));
    "network_masklen" => |_, a| Ok(Datum::Int4(a[0].as_inet().bits().into()));
    "network_host" => |_, a| Ok(a[0].as_inet().host().into());
    "network_show" => |_, a| Ok(a[0].as_inet().with_length().into());
    "network_network" => |_, a| Ok(Datum::Inet(a[0].as_inet().network()));
    "inet_to_cidr" => |_, a| Ok(Datum::Inet(a[0].as_inet().network()));
    "network_broadcast" => |_, a| {
        let inet = a[0].as_inet();
        Ok(Datum::Inet(inet.with_number(inet.number() | hostmask(&inet), inet.bits())))
    };
    "network_netmask" => |_, a| {
        let inet = a[0].as_inet();
        Ok(Datum::Inet(inet.with_number(inet.netmask(), inet.max_bits())))
    };
    "network_hostmask" => |_, a| {
        let inet = a[0].as_inet();
        Ok(Datum::Inet(inet.with_number(hostmask(&inet), inet.max_bits())))
    };
    "inet_set_masklen" => |_, a| with_bits(&a[0], a[1].as_int4()).map(Datum::Inet);
    "cidr_set_masklen" => |_, a| {
        Ok(Datum::Inet(with_bits(&a[0], a[1].as_int4())?.network()))
    };
};

fn hostmask(inet: &Inet) -> u128 {
    inet.all() ^ inet.netmask()
}

/// -1 stands for all of the address.
fn with_bits(value: &Datum, bits: i32) -> Result<Inet> {
    let inet = value.as_inet();
    let wanted = if bits == -1 { Some(inet.max_bits()) } else { u8::try_from(bits).ok() };
    let wanted = wanted.filter(|wanted| *wanted <= inet.max_bits());
    wanted
        .map(|wanted| inet.with_number(inet.number(), wanted))
        .ok_or_else(|| sql_error!(INVALID_PARAMETER_VALUE, "invalid mask length: {bits}"))
}

const BITS: Bodies = scalars! {
    "inetnot" => |_, a| {
        let inet = a[0].as_inet();
        Ok(Datum::Inet(inet.with_number(inet.number() ^ inet.all(), inet.bits())))
    };
    "inetand" => |_, a| combined(a, "AND", |x, y| x & y);
    "inetor" => |_, a| combined(a, "OR", |x, y| x | y);
    "inetpl" => |_, a| moved(&a[0], a[1].as_int8().into());
    "sql:2631" => |_, a| moved(&a[1], a[0].as_int8().into());
    "inetmi_int8" => |_, a| moved(&a[0], -i128::from(a[1].as_int8()));
    "inetmi" => |_, a| {
        let (x, y) = (a[0].as_inet(), a[1].as_inet());
        if x.is_v6() != y.is_v6() {
            bail!(INVALID_PARAMETER_VALUE, "cannot subtract inet values of different sizes");
        }
        let (more, less) = (x.number().max(y.number()), x.number().min(y.number()));
        let distance = i128::try_from(more - less).ok();
        let signed = distance.map(|d| if x.number() < y.number() { -d } else { d });
        signed.and_then(|d| i64::try_from(d).ok()).map(Datum::Int8).ok_or_else(out_of_range)
    };
};

fn combined(args: &[Datum], name: &str, combine: fn(u128, u128) -> u128) -> Result<Datum> {
    let (x, y) = (args[0].as_inet(), args[1].as_inet());
    if x.is_v6() != y.is_v6() {
        bail!(INVALID_PARAMETER_VALUE, "cannot {name} inet values of different sizes");
    }
    let number = combine(x.number(), y.number());
    Ok(Datum::Inet(x.with_number(number, x.bits().max(y.bits()))))
}

fn moved(value: &Datum, by: i128) -> Result<Datum> {
    let inet = value.as_inet();
    let moved = inet.number().checked_add_signed(by).filter(|number| *number <= inet.all());
    let number = moved.ok_or_else(out_of_range)?;
    Ok(Datum::Inet(inet.with_number(number, inet.bits())))
}

#[cold]
fn out_of_range() -> SqlError {
    sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}
