//! Functions as statements and in parts: `pg_get_functiondef` and its kin. All functions are the system's.

use crate::catalog::store::row::CatalogRow;
use crate::error::{Result, bail};
use crate::types::{Array, Datum, Oid, TypeId};

use super::backend::Backend;
use super::functions::{arguments, result_type};
use super::names;

/// What `prolang` says of functions in this program, and of those that are SQL.
const LANGUAGES: &[(u32, &str)] = &[(12, "internal"), (13, "c"), (14, "sql")];

/// Rows that the planner takes a set to have, where the function does not say.
const USUAL_ROWS: f64 = 1000.0;

/// Answers if it is one of these functions.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    Ok(Some(match name {
        "pg_get_functiondef" => function(b, args[0].as_oid())?,
        // Bodies in SQL are PostgreSQL's own, and not kept as text; defaults of arguments neither.
        "pg_get_function_sqlbody" | "pg_get_function_arg_default" => Datum::Null,
        "acldefault" => default_privileges(b, &args[0], args[1].as_oid())?,
        "pg_tablespace_size" => super::database::tablespace_size(b, &args[0])?,
        _ => return Ok(None),
    }))
}

/// Who may do what with an object whose owner has said nothing about it, by the kind of object: first anybody's
/// rights, then the owner's.
const DEFAULT_PRIVILEGES: &[(u8, &str, &str)] = &[
    (b'c', "", ""),
    (b'r', "", "arwdDxt"),
    (b's', "", "rwU"),
    (b'd', "Tc", "CTc"),
    (b'f', "X", "X"),
    (b'l', "U", "U"),
    (b'L', "", "rw"),
    (b'n', "", "UC"),
    (b'p', "", "sA"),
    (b't', "", "C"),
    (b'F', "", "U"),
    (b'S', "", "U"),
    (b'T', "U", "U"),
];

/// `acldefault`.
fn default_privileges(b: &Backend, kind: &Datum, owner: Oid) -> Result<Datum> {
    let Datum::Char(kind) = *kind else { return Ok(Datum::Null) };
    let found = DEFAULT_PRIVILEGES.iter().find(|(letter, ..)| *letter == kind);
    let Some((_, public, own)) = found else {
        bail!(INTERNAL_ERROR, "unrecognized objtype abbreviation: {}", char::from(kind));
    };
    let role = names::role_by_oid(&b.instance.store, &b.txn, owner)?;
    let name = role.map_or_else(|| owner.to_string(), |role| role.row.text("rolname").to_owned());
    let name = syntax::deparse::quote_ident(&name).into_owned();
    let mut items = Vec::new();
    if !public.is_empty() {
        items.push(Datum::text(format!("={public}/{name}")));
    }
    if !own.is_empty() {
        items.push(Datum::text(format!("{name}={own}/{name}")));
    }
    Ok(Array::from_elements(TypeId::ACLITEM, items).into())
}

/// A function as CREATE FUNCTION.
fn function(b: &Backend, oid: Oid) -> Result<Datum> {
    let store = &b.instance.store;
    let found = store.find_one(&b.txn, "pg_proc", "pg_proc_oid_index", &[Datum::Oid(oid)])?;
    let Some(found) = found else { return Ok(Datum::Null) };
    let row = &found.row;
    let name = row.text("proname");
    if row.letter("prokind") == b'a' {
        bail!(WRONG_OBJECT_TYPE, "\"{name}\" is an aggregate function");
    }
    let schema = store.schema_name(&b.txn, row.oid("pronamespace"))?;
    let quoted = syntax::deparse::quote_ident(name);
    let language = row.oid("prolang").0;
    let language = LANGUAGES.iter().find(|(oid, _)| *oid == language).map_or("internal", |l| l.1);
    let mut text = format!(
        "CREATE OR REPLACE FUNCTION {schema}.{quoted}({})\n RETURNS {}\n LANGUAGE {language}\n",
        arguments(oid).unwrap_or_default(),
        result_type(oid).unwrap_or_default(),
    );
    let options = options(row);
    if !options.is_empty() {
        text.push_str(&format!("{options}\n"));
    }
    text.push_str(&format!("AS $function${}$function$\n", row.text("prosrc")));
    Ok(Datum::text(text))
}

/// What a function's definition says beside its body, each with a blank before it.
fn options(row: &CatalogRow) -> String {
    let mut options = String::new();
    if row.letter("prokind") == b'w' {
        options.push_str(" WINDOW");
    }
    options.push_str(match row.letter("provolatile") {
        b'i' => " IMMUTABLE",
        b's' => " STABLE",
        _ => "",
    });
    options.push_str(match row.letter("proparallel") {
        b's' => " PARALLEL SAFE",
        b'r' => " PARALLEL RESTRICTED",
        _ => "",
    });
    for (column, word) in [
        ("proisstrict", " STRICT"),
        ("prosecdef", " SECURITY DEFINER"),
        ("proleakproof", " LEAKPROOF"),
    ] {
        if row.bool(column) {
            options.push_str(word);
        }
    }
    let cost = f64::from(row.get("procost").as_float4());
    if cost != 1.0 {
        options.push_str(&format!(" COST {cost}"));
    }
    let rows = f64::from(row.get("prorows").as_float4());
    if rows > 0.0 && rows != USUAL_ROWS {
        options.push_str(&format!(" ROWS {rows}"));
    }
    options
}
