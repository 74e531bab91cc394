//! How an entry of the table of settings is written, by the kind of its values.

use super::{Context, Kind, Setting, Unit};

pub(super) const fn flag(
    name: &'static str,
    default: bool,
    context: Context,
    summary: &'static str,
) -> Setting {
    Setting { name, kind: Kind::Bool { default }, context, summary }
}

pub(super) const fn text(
    name: &'static str,
    default: &'static str,
    context: Context,
    summary: &'static str,
) -> Setting {
    Setting { name, kind: Kind::Text { default }, context, summary }
}

pub(super) const fn choice(
    name: &'static str,
    default: &'static str,
    of: &'static [&'static str],
    context: Context,
    summary: &'static str,
) -> Setting {
    Setting { name, kind: Kind::Choice { default, of }, context, summary }
}

pub(super) const fn number(
    name: &'static str,
    default: i64,
    range: (i64, i64),
    unit: Unit,
    context: Context,
    summary: &'static str,
) -> Setting {
    let kind = Kind::Integer { default, min: range.0, max: range.1, unit };
    Setting { name, kind, context, summary }
}

pub(super) const fn real(
    name: &'static str,
    default: f64,
    range: (f64, f64),
    context: Context,
    summary: &'static str,
) -> Setting {
    Setting { name, kind: Kind::Real { default, min: range.0, max: range.1 }, context, summary }
}
