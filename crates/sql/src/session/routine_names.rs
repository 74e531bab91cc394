//! Functions and operators by name and names of both: `regproc`, `regprocedure`, `regoper`, `regoperator`. All of them are in
//! the schema `pg_catalog`.

use syntax::deparse::quote_ident;

use crate::error::{Result, bail, sql_error};
use crate::func;
use crate::types::{Oid, TypeId, type_name};

use super::backend::Backend;
use super::names::{parts, type_named};

/// Functions and aggregates of a name, each with its arguments' types.
fn routines(name: &str) -> impl Iterator<Item = (Oid, &'static [TypeId])> + use<> {
    let functions = func::functions(name).map(|f| (f.oid, f.args));
    functions.chain(func::aggregates(name).map(|a| (a.oid, a.args)))
}

/// The same of a name that may have a schema. A schema that is not there is an error, any but the system's has none.
fn routines_of(
    backend: &Backend,
    text: &str,
) -> Result<impl Iterator<Item = (Oid, &'static [TypeId])> + use<>> {
    let parts = parts(text)?;
    let (schema, name) = match &parts[..] {
        [name] => (None, name),
        [schema, name] => (Some(schema.as_str()), name),
        _ => bail!(SYNTAX_ERROR, "improper qualified name (too many dotted names): {text}"),
    };
    if let Some(schema) = schema
        && backend.catalog.named_schema(&backend.txn, schema)?.is_none()
    {
        bail!(UNDEFINED_SCHEMA, "schema \"{schema}\" does not exist");
    }
    let has_any = matches!(schema, None | Some("pg_catalog"));
    Ok(routines(if has_any { name } else { "" }))
}

/// The one function of a name, whatever its arguments.
pub fn function(backend: &Backend, text: &str) -> Result<Oid> {
    let mut found = routines_of(backend, text)?;
    match (found.next(), found.next()) {
        (Some((oid, _)), None) => Ok(oid),
        (Some(_), Some(_)) => {
            bail!(AMBIGUOUS_FUNCTION, "more than one function named \"{text}\"")
        }
        (None, _) => bail!(UNDEFINED_FUNCTION, "function \"{text}\" does not exist"),
    }
}

/// The function of a name and its arguments' types: `lower(text)`.
pub fn procedure(backend: &Backend, text: &str) -> Result<Oid> {
    let Some((name, args)) = text.trim().strip_suffix(')').and_then(|t| t.split_once('(')) else {
        bail!(INVALID_TEXT_REPRESENTATION, "expected a left parenthesis");
    };
    let mut types = Vec::new();
    for arg in args.split(',').map(str::trim).filter(|arg| !arg.is_empty()) {
        types.push(TypeId(type_named(backend, arg)?.0));
    }
    routines_of(backend, name)?
        .find(|(_, args)| *args == types)
        .map(|(oid, _)| oid)
        .ok_or_else(|| sql_error!(UNDEFINED_FUNCTION, "function \"{text}\" does not exist"))
}

/// A function's name, with its schema where the name alone would not tell which of several.
pub fn of_function(oid: Oid) -> Option<String> {
    let name =
        func::function(oid).map(|f| f.name).or_else(|| func::aggregate(oid).map(|a| a.name))?;
    Some(qualified_if(routines(name).nth(1).is_some(), &quote_ident(name)))
}

/// A function's name and its arguments' types.
pub fn of_procedure(oid: Oid) -> Option<String> {
    let function = func::function(oid).map(|f| (f.name, f.args));
    let (name, args) = function.or_else(|| func::aggregate(oid).map(|a| (a.name, a.args)))?;
    let args: Vec<String> = args.iter().map(|id| type_name(*id)).collect();
    Some(format!("{}({})", quote_ident(name), args.join(",")))
}

/// The one operator of a symbol.
pub fn operator(text: &str) -> Result<Oid> {
    let mut found = func::operators(without_schema(text)).map(|op| op.oid);
    match (found.next(), found.next()) {
        (Some(oid), None) => Ok(oid),
        (Some(_), Some(_)) => bail!(AMBIGUOUS_FUNCTION, "more than one operator named {text}"),
        (None, _) => bail!(UNDEFINED_FUNCTION, "operator does not exist: {text}"),
    }
}

/// `+(int4,int4)`; NONE stands for the left side that a prefix operator has not.
pub fn operator_of_types(backend: &Backend, text: &str) -> Result<Oid> {
    let Some((name, args)) = text.trim().strip_suffix(')').and_then(|t| t.split_once('(')) else {
        bail!(INVALID_TEXT_REPRESENTATION, "expected a left parenthesis");
    };
    let mut sides = Vec::new();
    for arg in args.split(',').map(str::trim) {
        sides.push(match arg.eq_ignore_ascii_case("none") {
            true => TypeId::INVALID,
            false => TypeId(type_named(backend, arg)?.0),
        });
    }
    let [left, right] = sides[..] else {
        return Err(match sides.len() {
            1 => sql_error!(UNDEFINED_PARAMETER, "missing argument")
                .with_hint("Use NONE to denote the missing argument of a unary operator."),
            _ => sql_error!(TOO_MANY_ARGUMENTS, "too many arguments")
                .with_hint("Provide two argument types for operator."),
        });
    };
    func::operators(without_schema(name))
        .find(|op| (op.left, op.right) == (left, right))
        .map(|op| op.oid)
        .ok_or_else(|| sql_error!(UNDEFINED_FUNCTION, "operator does not exist: {text}"))
}

/// An operator's symbol, with its schema where the symbol alone would not tell which of several.
pub fn of_operator(oid: Oid) -> Option<String> {
    let symbol = func::operator(oid)?.symbol;
    Some(qualified_if(func::operators(symbol).nth(1).is_some(), symbol))
}

/// An operator's symbol and its arguments' types.
pub fn of_operator_of_types(oid: Oid) -> Option<String> {
    let op = func::operator(oid)?;
    let side = |id: TypeId| match id.is_valid() {
        true => type_name(id),
        false => "NONE".to_owned(),
    };
    Some(format!("{}({},{})", op.symbol, side(op.left), side(op.right)))
}

fn qualified_if(ambiguous: bool, name: &str) -> String {
    match ambiguous {
        true => format!("pg_catalog.{name}"),
        false => name.to_owned(),
    }
}

/// An operator's symbol without the one schema that has operators.
fn without_schema(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("pg_catalog.").unwrap_or(text)
}
