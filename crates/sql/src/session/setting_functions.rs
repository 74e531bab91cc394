//! Functions about settings: `current_setting`, `set_config`, and the rows of `pg_settings`.

use crate::catalog::rights::READ_ALL_SETTINGS;
use crate::error::{Result, bail};
use crate::settings::{Context, Setting, Value};
use crate::types::{Array, Datum, TypeId};

use super::backend::Backend;
use super::identity::{SECRET, is_of_identity};

/// The rows of `pg_settings`.
pub(super) fn all_settings(b: &Backend) -> Result<Vec<Vec<Datum>>> {
    let may_see = b.has_rights_of(READ_ALL_SETTINGS)?;
    let settings = b.values.all().filter(|(s, _)| may_see || !SECRET.contains(&s.name));
    let rows = settings.map(|(setting, value)| {
        // Those of the transaction at hand are nobody's to keep.
        let raw = match setting.name.starts_with("transaction_") {
            true => Datum::text(b.show(setting.name).unwrap_or_default()),
            false => Datum::text(value.raw()),
        };
        let default = Datum::text(setting.default().raw());
        let (min, max) = match setting.kind {
            crate::settings::Kind::Integer { min, max, .. } => {
                (Datum::text(min.to_string()), Datum::text(max.to_string()))
            }
            crate::settings::Kind::Real { min, max, .. } => {
                (Datum::text(min.to_string()), Datum::text(max.to_string()))
            }
            _ => (Datum::Null, Datum::Null),
        };
        let words = match setting.kind {
            crate::settings::Kind::Choice { of, .. } => {
                let words = of.iter().map(|word| Datum::text(*word)).collect();
                Array::from_elements(TypeId::TEXT, words).into()
            }
            _ => Datum::Null,
        };
        vec![
            Datum::text(setting.name),
            raw,
            setting.unit().map(Datum::text).unwrap_or(Datum::Null),
            Datum::text("Settings"),
            Datum::text(setting.summary),
            Datum::Null,
            Datum::text(setting.context.as_str()),
            Datum::text(setting.type_name()),
            Datum::text(source(setting, &value)),
            min,
            max,
            words,
            default.clone(),
            default,
            Datum::Null,
            Datum::Null,
            false.into(),
        ]
    });
    Ok(rows.collect())
}

/// Where a value comes from, as far as that is known.
fn source(setting: &Setting, value: &Value) -> &'static str {
    match setting.context {
        _ if *value == setting.default() => "default",
        Context::Start | Context::Reload => "configuration file",
        _ => "session",
    }
}

pub(super) fn current_setting(b: &Backend, args: &[Datum]) -> Result<Datum> {
    let name = args[0].as_text();
    b.may_show(name)?;
    match b.show(name) {
        Some(value) => Ok(Datum::text(value)),
        None if args.get(1).is_some_and(Datum::as_bool) => Ok(Datum::Null),
        None => crate::settings::get(name).map(|_| Datum::Null),
    }
}

/// The function begins with a snapshot, so the transaction's isolation is settled when it is called.
pub(super) fn set_config(b: &mut Backend, name: &str, text: &str, local: bool) -> Result<()> {
    if name.eq_ignore_ascii_case("transaction_isolation") {
        let wanted = crate::settings::get("transaction_isolation")?.parse(text)?;
        if b.show(name).as_deref() != Some(wanted.as_text()) {
            bail!(
                ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION ISOLATION LEVEL must be called before any query"
            );
        }
    }
    if name.eq_ignore_ascii_case("transaction_read_only") {
        let wanted = crate::settings::get("transaction_read_only")?.parse(text)?.as_bool();
        // It is run by a query.
        if b.read_only && !wanted {
            return Err(super::transaction::too_late_to_write());
        }
        b.read_only = wanted;
        return Ok(());
    }
    if is_of_identity(name) {
        return b.set_identity(name, Some(text), local);
    }
    b.may_set(name)?;
    b.values.set(name, text, local)
}
