//! Functions and views as statements and in parts: `pg_get_functiondef`, `pg_get_viewdef` and their kin. All functions
//! are the system's.

use syntax::deparse::stored_ident;

use crate::catalog::TableDef;
use crate::catalog::ddl::DdlHost;
use crate::catalog::rights::{Class, default_acl};
use crate::catalog::store::row::CatalogRow;
use crate::error::{Result, bail};
use crate::types::acl::{Acl, AclItem};
use crate::types::{Datum, Oid};

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
        "acldefault" => default_privileges(&args[0], args[1].as_oid())?,
        "pg_tablespace_size" => super::database::tablespace_size(b, &args[0])?,
        _ => return Ok(None),
    }))
}

/// `pg_get_viewdef`: the query as it is stored, under the names that the view's columns have.
pub(super) fn view(b: &mut Backend, oid: Oid) -> Result<Datum> {
    let Some(view) = names::table_by_oid(b, oid)? else { return Ok(Datum::Null) };
    let Some(text) = view.view.as_deref() else { return Ok(Datum::Null) };
    let text = text.trim_end_matches(';');
    Ok(Datum::text(match has_own_names(b, &view) {
        false => format!(" {text};"),
        true => {
            let names = view.live().map(|(_, column)| stored_ident(&column.name));
            let names: Vec<_> = names.collect();
            let targets = names.iter().map(|name| format!("q.{name}")).collect::<Vec<_>>();
            let (targets, names) = (targets.join(", "), names.join(", "));
            format!(" SELECT {targets} FROM ({text}) q({names});")
        }
    }))
}

/// Whether a view's columns have other names than its query gives them. Of a query that means nothing any more there is
/// only the text.
fn has_own_names(b: &mut Backend, view: &TableDef) -> bool {
    let Ok(query) = b.view_query(view) else { return false };
    let own = view.live().map(|(_, column)| &*column.name);
    !query.visible().map(|target| &*target.name).eq(own)
}

/// `acldefault`.
fn default_privileges(kind: &Datum, owner: Oid) -> Result<Datum> {
    let Datum::Char(kind) = *kind else { return Ok(Datum::Null) };
    let of_owner = |letters: &str| {
        let item = format!("#{owner}={letters}/#{owner}", owner = owner.0);
        Acl { items: AclItem::from_stored(&item).into_iter().collect() }
    };
    let acl = match kind {
        b'c' => Acl::default(),
        b'r' => default_acl(Class::Table, owner),
        b's' => default_acl(Class::Sequence, owner),
        b'd' => default_acl(Class::Database, owner),
        b'f' => default_acl(Class::Function, owner),
        b'l' => default_acl(Class::Language, owner),
        b'n' => default_acl(Class::Schema, owner),
        b't' => default_acl(Class::Tablespace, owner),
        b'T' => default_acl(Class::Type, owner),
        // Large objects, settings, foreign servers and what makes them: there is none of them.
        b'L' => of_owner("rw"),
        b'p' => of_owner("sA"),
        b'F' | b'S' => of_owner("U"),
        _ => bail!(INTERNAL_ERROR, "unrecognized objtype abbreviation: {}", char::from(kind)),
    };
    Ok(acl.datum())
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
