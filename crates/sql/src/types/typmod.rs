//! Type modifiers: the `(n)` of `varchar(n)`, `numeric(p, s)`, `timestamp(p)`, `interval … (p)`.

use super::oid::TypeId;
use crate::error::{Result, bail};

/// PostgreSQL's `typmod`: what `pg_attribute.atttypmod` and row descriptions carry; -1 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeMod(pub i32);

/// Added to lengths and precisions, so that 0 stays distinct from none.
const HEADER: i32 = 4;
/// Longest `varchar(n)` and `char(n)`.
const MAX_CHAR_LENGTH: i32 = 10 * 1024 * 1024;
/// Most digits that `numeric(p)` may declare.
const MAX_PRECISION: i32 = 1000;
/// Fractional digits of a second.
pub const MAX_SECOND_PRECISION: i32 = 6;

impl TypeMod {
    pub const NONE: TypeMod = TypeMod(-1);

    pub fn is_some(self) -> bool {
        self.0 >= 0
    }

    /// `varchar(n)` and `char(n)`, n in characters.
    pub fn for_length(n: i32) -> TypeMod {
        TypeMod(n + HEADER)
    }

    /// The n of `varchar(n)` and `char(n)`.
    pub fn length(self) -> Option<usize> {
        (self.0 >= HEADER).then(|| (self.0 - HEADER) as usize)
    }

    /// `numeric(precision, scale)`.
    pub fn for_numeric(precision: i32, scale: i32) -> TypeMod {
        TypeMod(((precision << 16) | (scale & 0x7ff)) + HEADER)
    }

    /// Precision and scale of a `numeric`; the scale may be negative.
    pub fn numeric(self) -> Option<(i32, i32)> {
        (self.0 >= HEADER).then(|| {
            let bits = self.0 - HEADER;
            ((bits >> 16) & 0xffff, ((bits & 0x7ff) ^ 0x400) - 0x400)
        })
    }

    /// Fractional digits of a `time`, `timestamp` and their kin with a zone.
    pub fn second_precision(self) -> Option<i32> {
        (self.0 >= 0).then_some(self.0)
    }

    /// The fields and the precision of an `interval`.
    pub fn interval(self) -> Option<(IntervalFields, Option<i32>)> {
        (self.0 >= 0).then(|| {
            let precision = self.0 & 0xffff;
            (
                IntervalFields((self.0 >> 16) & 0x7fff),
                (precision != IntervalFields::FULL_PRECISION).then_some(precision),
            )
        })
    }
}

/// Which fields an `interval` keeps, as PostgreSQL's bit mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalFields(pub i32);

impl IntervalFields {
    pub const MONTH: i32 = 1 << 1;
    pub const YEAR: i32 = 1 << 2;
    pub const DAY: i32 = 1 << 3;
    pub const HOUR: i32 = 1 << 10;
    pub const MINUTE: i32 = 1 << 11;
    pub const SECOND: i32 = 1 << 12;
    pub const FULL_RANGE: i32 = 0x7fff;
    pub const FULL_PRECISION: i32 = 0xffff;

    /// The words that `format_type` shows, with a leading blank; empty for all fields.
    pub fn words(self) -> Option<&'static str> {
        const Y: i32 = IntervalFields::YEAR;
        const MO: i32 = IntervalFields::MONTH;
        const D: i32 = IntervalFields::DAY;
        const H: i32 = IntervalFields::HOUR;
        const MI: i32 = IntervalFields::MINUTE;
        const S: i32 = IntervalFields::SECOND;
        const YM: i32 = Y | MO;
        const DH: i32 = D | H;
        const DM: i32 = D | H | MI;
        const DS: i32 = D | H | MI | S;
        const HM: i32 = H | MI;
        const HS: i32 = H | MI | S;
        const MS: i32 = MI | S;
        Some(match self.0 {
            Y => " year",
            MO => " month",
            D => " day",
            H => " hour",
            MI => " minute",
            S => " second",
            YM => " year to month",
            DH => " day to hour",
            DM => " day to minute",
            DS => " day to second",
            HM => " hour to minute",
            HS => " hour to second",
            MS => " minute to second",
            IntervalFields::FULL_RANGE => "",
            _ => return None,
        })
    }
}

/// The modifier that a type makes of the constants in its parentheses.
///
/// For `interval`, the first constant is the field mask that the parser found. A precision above
/// six is reduced, as PostgreSQL does with a warning.
pub fn typmod_in(type_id: TypeId, args: &[i32]) -> Result<TypeMod> {
    match type_id {
        TypeId::VARCHAR | TypeId::VARCHAR_ARRAY => char_typmod(args, "varchar"),
        TypeId::BPCHAR | TypeId::BPCHAR_ARRAY => char_typmod(args, "char"),
        TypeId::NUMERIC | TypeId::NUMERIC_ARRAY => numeric_typmod(args),
        TypeId::TIME | TypeId::TIME_ARRAY => second_typmod(args, "TIME", ""),
        TypeId::TIMETZ | TypeId::TIMETZ_ARRAY => second_typmod(args, "TIME", " WITH TIME ZONE"),
        TypeId::TIMESTAMP | TypeId::TIMESTAMP_ARRAY => second_typmod(args, "TIMESTAMP", ""),
        TypeId::TIMESTAMPTZ | TypeId::TIMESTAMPTZ_ARRAY => {
            second_typmod(args, "TIMESTAMP", " WITH TIME ZONE")
        }
        TypeId::INTERVAL | TypeId::INTERVAL_ARRAY => interval_typmod(args),
        _ => bail!(
            SYNTAX_ERROR,
            "type modifier is not allowed for type \"{}\"",
            match super::type_info(type_id) {
                Some(info) if !type_id.is_made() => info.name.to_owned(),
                _ => super::format_type(type_id, TypeMod::NONE),
            }
        ),
    }
}

fn char_typmod(args: &[i32], name: &str) -> Result<TypeMod> {
    let &[n] = args else { bail!(INVALID_PARAMETER_VALUE, "invalid type modifier") };
    if n < 1 {
        bail!(INVALID_PARAMETER_VALUE, "length for type {name} must be at least 1");
    }
    if n > MAX_CHAR_LENGTH {
        bail!(INVALID_PARAMETER_VALUE, "length for type {name} cannot exceed {MAX_CHAR_LENGTH}");
    }
    Ok(TypeMod::for_length(n))
}

fn numeric_typmod(args: &[i32]) -> Result<TypeMod> {
    let (precision, scale) = match *args {
        [precision] => (precision, 0),
        [precision, scale] => (precision, scale),
        _ => bail!(INVALID_PARAMETER_VALUE, "invalid NUMERIC type modifier"),
    };
    if !(1..=MAX_PRECISION).contains(&precision) {
        bail!(
            INVALID_PARAMETER_VALUE,
            "NUMERIC precision {precision} must be between 1 and {MAX_PRECISION}"
        );
    }
    if !(-MAX_PRECISION..=MAX_PRECISION).contains(&scale) {
        bail!(
            INVALID_PARAMETER_VALUE,
            "NUMERIC scale {scale} must be between {} and {MAX_PRECISION}",
            -MAX_PRECISION
        );
    }
    Ok(TypeMod::for_numeric(precision, scale))
}

fn second_typmod(args: &[i32], name: &str, zone: &str) -> Result<TypeMod> {
    let &[precision] = args else { bail!(INVALID_PARAMETER_VALUE, "invalid type modifier") };
    if precision < 0 {
        bail!(INVALID_PARAMETER_VALUE, "{name}({precision}){zone} precision must not be negative");
    }
    Ok(TypeMod(precision.min(MAX_SECOND_PRECISION)))
}

fn interval_typmod(args: &[i32]) -> Result<TypeMod> {
    let (fields, precision) = match *args {
        [fields] => (fields, None),
        [fields, precision] => (fields, Some(precision)),
        _ => bail!(INVALID_PARAMETER_VALUE, "invalid INTERVAL type modifier"),
    };
    if IntervalFields(fields).words().is_none() {
        bail!(INVALID_PARAMETER_VALUE, "invalid INTERVAL type modifier");
    }
    let precision = match precision {
        None if fields == IntervalFields::FULL_RANGE => return Ok(TypeMod::NONE),
        None => IntervalFields::FULL_PRECISION,
        Some(p) if p < 0 => {
            bail!(INVALID_PARAMETER_VALUE, "INTERVAL({p}) precision must not be negative")
        }
        Some(p) => p.min(MAX_SECOND_PRECISION),
    };
    Ok(TypeMod((precision & 0xffff) | (fields << 16)))
}

/// The modifier as written after the type's name, e.g. `(10,2)`; empty for none.
pub fn typmod_out(type_id: TypeId, typmod: TypeMod) -> String {
    let element = super::type_info(type_id)
        .filter(|info| info.is_array())
        .map_or(type_id, |info| info.element);
    let text = match element {
        TypeId::VARCHAR | TypeId::BPCHAR => typmod.length().map(|n| format!("({n})")),
        TypeId::NUMERIC => typmod.numeric().map(|(p, s)| format!("({p},{s})")),
        TypeId::TIME | TypeId::TIMESTAMP => typmod.second_precision().map(|p| format!("({p})")),
        TypeId::TIMETZ | TypeId::TIMESTAMPTZ => {
            let precision = typmod.second_precision().map_or(String::new(), |p| format!("({p})"));
            return if typmod.is_some() { precision + " with time zone" } else { precision };
        }
        TypeId::INTERVAL => typmod.interval().map(|(fields, precision)| {
            let words = fields.words().unwrap_or("");
            precision.map_or(words.to_owned(), |p| format!("{words}({p})"))
        }),
        _ => typmod.is_some().then(|| format!("({})", typmod.0)),
    };
    text.unwrap_or_default()
}
