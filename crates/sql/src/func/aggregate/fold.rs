//! Aggregates whose state is one value: counts, extremes, booleans, bits.

use super::Aggregates;
use crate::error::Result;
use crate::exec::spill::values_bytes;
use crate::func::{Accumulator, Context};
use crate::types::numeric::int_out_of_range;
use crate::types::{Datum, Rules, TypeId, compare_alike, compare_under};

/// Every type that has an order has the extremes.
macro_rules! extremes {
    ($($type:literal)*) => {
        &[
            $((concat!("max(", $type, ")"), |types| Extreme::start(types, true)),)*
            $((concat!("min(", $type, ")"), |types| Extreme::start(types, false)),)*
        ]
    };
}

pub(super) const EXTREMES: Aggregates = extremes!(
    "int8" "int4" "int2" "oid" "float4" "float8" "date" "time" "timetz" "timestamp" "timestamptz"
    "interval" "text" "numeric" "anyarray" "bpchar" "tid" "pg_lsn" "xid8" "inet" "anyenum"
);

pub(super) const OTHERS: Aggregates = &[
    ("count()", |_| Box::new(Count(0))),
    ("count(any)", |_| Box::new(Count(0))),
    ("bool_and(bool)", |_| Booleans::start(|counts| counts.trues == counts.rows)),
    ("every(bool)", |_| Booleans::start(|counts| counts.trues == counts.rows)),
    ("bool_or(bool)", |_| Booleans::start(|counts| counts.trues > 0)),
    ("bit_and(int2)", |_| Fold::start(|a, b| Datum::Int2(a.as_int2() & b.as_int2()))),
    ("bit_and(int4)", |_| Fold::start(|a, b| Datum::Int4(a.as_int4() & b.as_int4()))),
    ("bit_and(int8)", |_| Fold::start(|a, b| Datum::Int8(a.as_int8() & b.as_int8()))),
    ("bit_or(int2)", |_| Fold::start(|a, b| Datum::Int2(a.as_int2() | b.as_int2()))),
    ("bit_or(int4)", |_| Fold::start(|a, b| Datum::Int4(a.as_int4() | b.as_int4()))),
    ("bit_or(int8)", |_| Fold::start(|a, b| Datum::Int8(a.as_int8() | b.as_int8()))),
    ("bit_xor(int2)", |_| Fold::start(|a, b| Datum::Int2(a.as_int2() ^ b.as_int2()))),
    ("bit_xor(int4)", |_| Fold::start(|a, b| Datum::Int4(a.as_int4() ^ b.as_int4()))),
    ("bit_xor(int8)", |_| Fold::start(|a, b| Datum::Int8(a.as_int8() ^ b.as_int8()))),
];

/// Rows, or values that are not null.
struct Count(i64);

impl Accumulator for Count {
    fn add(&mut self, _: &mut Context<'_>, _: &[Datum]) -> Result<()> {
        self.0 = self.0.checked_add(1).ok_or_else(|| int_out_of_range("bigint"))?;
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(Datum::Int8(self.0))
    }

    fn is_reversible(&self) -> bool {
        true
    }

    fn remove(&mut self, _: &mut Context<'_>, _: &[Datum]) -> Result<bool> {
        self.0 -= 1;
        Ok(true)
    }
}

/// Truth values, counted so that one can be taken out again.
struct Booleans {
    counts: Counts,
    result: fn(&Counts) -> bool,
}

#[derive(Default)]
struct Counts {
    trues: i64,
    rows: i64,
}

impl Booleans {
    fn start(result: fn(&Counts) -> bool) -> Box<dyn Accumulator> {
        Box::new(Booleans { counts: Counts::default(), result })
    }
}

impl Accumulator for Booleans {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        self.counts.trues += i64::from(args[0].as_bool());
        self.counts.rows += 1;
        Ok(())
    }

    fn is_reversible(&self) -> bool {
        true
    }

    fn remove(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<bool> {
        self.counts.trues -= i64::from(args[0].as_bool());
        self.counts.rows -= 1;
        Ok(true)
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        let is_empty = self.counts.rows == 0;
        Ok((!is_empty).then(|| (self.result)(&self.counts)).into())
    }
}

/// The largest or smallest value; of equal ones the last, but the first of `bpchar`.
struct Extreme {
    type_id: TypeId,
    largest: bool,
    value: Datum,
}

/// An extreme by a collation's rules.
struct ExtremeUnder {
    rules: &'static Rules,
    type_id: TypeId,
    largest: bool,
    value: Datum,
}

/// The state of the largest or smallest value by a collation's rules.
pub(in crate::func) fn extreme_under(
    rules: &'static Rules,
    largest: bool,
    types: &[TypeId],
) -> Box<dyn Accumulator> {
    let type_id = types.first().copied().unwrap_or(TypeId::TEXT);
    Box::new(ExtremeUnder { rules, type_id, largest, value: Datum::Null })
}

impl Accumulator for ExtremeUnder {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        let better = self.value.is_null() || {
            let order = compare_under(self.rules, self.type_id, &args[0], &self.value);
            let better = if self.largest { order.is_gt() } else { order.is_lt() };
            better || (order.is_eq() && self.type_id != TypeId::BPCHAR)
        };
        if better {
            self.value = args[0].clone();
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(self.value.clone())
    }

    fn memory(&self) -> usize {
        values_bytes(std::slice::from_ref(&self.value))
    }
}

impl Extreme {
    fn start(types: &[TypeId], largest: bool) -> Box<dyn Accumulator> {
        let type_id = types.first().copied().unwrap_or(TypeId::TEXT);
        Box::new(Extreme { type_id, largest, value: Datum::Null })
    }
}

impl Accumulator for Extreme {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        let better = self.value.is_null() || {
            let order = compare_alike(self.type_id, &self.value, &args[0])?;
            let better = if self.largest { order.is_lt() } else { order.is_gt() };
            better || (order.is_eq() && self.type_id != TypeId::BPCHAR)
        };
        if better {
            self.value = args[0].clone();
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(self.value.clone())
    }

    fn memory(&self) -> usize {
        values_bytes(std::slice::from_ref(&self.value))
    }
}

/// The value of the first row.
struct First(Option<Datum>);

/// The state of a group whose first row's value is wanted.
pub(in crate::func) fn first(_: &[TypeId]) -> Box<dyn Accumulator> {
    Box::new(First(None))
}

impl Accumulator for First {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        self.0.get_or_insert_with(|| args[0].clone());
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(self.0.clone().unwrap_or(Datum::Null))
    }

    fn memory(&self) -> usize {
        values_bytes(self.0.as_slice())
    }
}

/// The first value, combined with each that follows.
struct Fold {
    value: Datum,
    combine: fn(&Datum, &Datum) -> Datum,
}

impl Fold {
    fn start(combine: fn(&Datum, &Datum) -> Datum) -> Box<dyn Accumulator> {
        Box::new(Fold { value: Datum::Null, combine })
    }
}

impl Accumulator for Fold {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        self.value = if self.value.is_null() {
            args[0].clone()
        } else {
            (self.combine)(&self.value, &args[0])
        };
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(self.value.clone())
    }
}
