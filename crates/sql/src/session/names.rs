//! Objects by name and names of objects: what the `reg*` types read and write.

use storage::txn::Txn;
use syntax::ast::{self, SelectBody, Statement};
use syntax::deparse::quote_ident;

use crate::catalog::TableDef;
use crate::catalog::collation::undefined;
use crate::catalog::ddl::is_temporary_schema;
use crate::catalog::rights::Class;
use crate::catalog::store::{Found, Store};
use crate::error::{Result, SqlError, SqlState, bail, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid, TypeId, array_of, type_by_name, type_info};

use super::backend::Backend;
use super::enum_names::label_of_type;
use super::routine_names;

use std::sync::Arc;

/// See [`crate::types::Names::object_by_name`].
pub fn by_name(backend: &Backend, alias: TypeId, text: &str) -> Result<Oid> {
    match alias {
        TypeId::REGCLASS => relation(backend, text),
        TypeId::REGTYPE => type_named(backend, text),
        TypeId::REGNAMESPACE => {
            let name = single(text)?;
            backend
                .catalog
                .schema(&backend.txn, &name)?
                .ok_or_else(|| sql_error!(UNDEFINED_SCHEMA, "schema \"{name}\" does not exist"))
        }
        TypeId::REGROLE => {
            let name = single(text)?;
            let found = role(&backend.instance.store, &backend.txn, &name)?
                .map(|found| found.row.oid("oid"));
            found.ok_or_else(|| sql_error!(UNDEFINED_OBJECT, "role \"{name}\" does not exist"))
        }
        TypeId::REGPROC => routine_names::function(backend, text),
        TypeId::REGPROCEDURE => routine_names::procedure(backend, text),
        TypeId::REGOPER => routine_names::operator(text),
        TypeId::REGOPERATOR => routine_names::operator_of_types(backend, text),
        TypeId::REGCOLLATION => collation(backend, text),
        _ => Err(SqlError::unsupported(format!("input of {alias:?} is not supported yet"))),
    }
}

/// See [`crate::types::Names::object_name`].
pub fn of_object(backend: &Backend, alias: TypeId, oid: Oid) -> Result<Option<String>> {
    let store = &backend.instance.store;
    let by_oid = |table: &str, index: &str, column: &str| -> Result<Option<String>> {
        let row = store.find_one(&backend.txn, table, index, &[Datum::Oid(oid)])?;
        Ok(row.map(|found| found.row.text(column).to_owned()))
    };
    Ok(match alias {
        TypeId::REGCLASS => match backend.catalog.table(&backend.txn, oid)? {
            Some(table) => Some(relation_name(backend, &table)?),
            None => by_oid("pg_class", "pg_class_oid_index", "relname")?
                .map(|name| quote_ident(&name).into_owned()),
        },
        TypeId::REGTYPE if type_info(TypeId(oid.0)).is_some() => {
            label_of_type(backend, TypeId(oid.0))?
        }
        TypeId::REGTYPE => by_oid("pg_type", "pg_type_oid_index", "typname")?
            .map(|name| quote_ident(&name).into_owned()),
        TypeId::REGNAMESPACE => by_oid("pg_namespace", "pg_namespace_oid_index", "nspname")?
            .map(|name| quote_ident(&name).into_owned()),
        TypeId::REGROLE => by_oid("pg_authid", "pg_authid_oid_index", "rolname")?
            .map(|name| quote_ident(&name).into_owned()),
        TypeId::REGPROC => routine_names::of_function(oid),
        TypeId::REGPROCEDURE => routine_names::of_procedure(oid),
        TypeId::REGOPER => routine_names::of_operator(oid),
        TypeId::REGOPERATOR => routine_names::of_operator_of_types(oid),
        TypeId::REGCOLLATION => collation_name(backend, oid)?,
        _ => None,
    })
}

fn collation(backend: &Backend, text: &str) -> Result<Oid> {
    let parts = parts(text)?.into_iter().map(String::into_boxed_str).collect();
    let name = ast::QualifiedName { parts, loc: ast::Loc::NONE };
    let path = backend.search_path()?;
    let found = backend.catalog.collation_row(&backend.txn, &path, &name)?;
    found.map(|found| found.row.oid("oid")).ok_or_else(|| undefined(&name))
}

/// Is the quoted name one without a schema?
pub fn is_bare(name: &str) -> bool {
    parts(name).is_ok_and(|parts| parts.len() == 1)
}

/// A collation's name, with its schema if it would not be found without.
pub fn collation_name(backend: &Backend, oid: Oid) -> Result<Option<String>> {
    let (txn, store) = (&backend.txn, &backend.instance.store);
    let Some(found) = store.collation_row(txn, oid)? else { return Ok(None) };
    let name = found.row.text("collname");
    let path = backend.search_path()?;
    let bare = ast::QualifiedName::bare(name);
    let first = backend.catalog.collation_row(txn, &path, &bare)?;
    let quoted = quote_ident(name);
    if first.is_some_and(|first| first.row.oid("oid") == oid) {
        return Ok(Some(quoted.into_owned()));
    }
    let schema = store.schema_name(txn, found.row.oid("collnamespace"))?;
    Ok(Some(format!("{}.{quoted}", quote_ident(&schema))))
}

/// A relation's name, with its schema if it would not be found without.
pub fn relation_name(backend: &Backend, table: &TableDef) -> Result<String> {
    let path = backend.search_path()?;
    let visible =
        backend.catalog.resolve(&backend.txn, &path, None, &table.name)? == Some(table.oid);
    Ok(if visible {
        quote_ident(&table.name).into_owned()
    } else {
        format!("{}.{}", quote_ident(&table.schema_name), quote_ident(&table.name))
    })
}

/// The first schema of the path that exists.
pub fn current_schema(backend: &Backend) -> Result<Option<String>> {
    match backend.search_path()?.creation {
        Some(oid) => Ok(Some(backend.instance.store.schema_name(&backend.txn, oid)?)),
        None => Ok(None),
    }
}

/// Has the schema temporary relations of another session?
pub fn is_anothers_temporary(backend: &Backend, schema: Oid) -> Result<bool> {
    let (txn, store) = (&backend.txn, &backend.instance.store);
    let index = "pg_namespace_oid_index";
    let found = store.find_one(txn, "pg_namespace", index, &[Datum::Oid(schema)])?;
    let is_temporary = found.is_some_and(|found| is_temporary_schema(found.row.text("nspname")));
    Ok(is_temporary && backend.catalog.temporary() != Some(schema))
}

/// A relation by the text of its name.
pub fn relation(backend: &Backend, text: &str) -> Result<Oid> {
    let parts = parts(text)?;
    let (schema, name) = match &parts[..] {
        [name] => (None, name),
        [schema, name] => (Some(schema.as_str()), name),
        [database, schema, name] => {
            if **database != *backend.database {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "cross-database references are not implemented: \"{}\"",
                    parts.join(".")
                );
            }
            (Some(schema.as_str()), name)
        }
        _ => bail!(SYNTAX_ERROR, "improper relation name (too many dotted names): {text}"),
    };
    let path = backend.search_path()?;
    let (catalog, txn) = (&backend.catalog, &backend.txn);
    let found = catalog.resolve(txn, &path, schema, name)?;
    found.ok_or_else(|| catalog.no_relation(txn, schema, name))
}

impl Backend {
    /// See [`no_relation`](crate::catalog::store::SessionCatalog::no_relation).
    pub fn no_relation(&self, name: &ast::RelationRef) -> SqlError {
        self.catalog.no_relation(&self.txn, name.schema.as_deref(), &name.name)
    }
}

/// A relation's definition by OID, without a lock.
pub fn table_by_oid(backend: &Backend, oid: Oid) -> Result<Option<Arc<TableDef>>> {
    backend.catalog.table(&backend.txn, oid)
}

/// A role's row of `pg_authid`.
pub fn role(store: &Store, txn: &Txn, name: &str) -> Result<Option<Found>> {
    store.find_one(txn, "pg_authid", "pg_authid_rolname_index", &[Datum::text(name)])
}

/// Refuses to call a function that not everybody may call.
pub fn must_be_allowed(b: &Backend, function: &str) -> Result<()> {
    let rights = b.catalog.rights(&b.txn)?;
    if rights.superuser {
        return Ok(());
    }
    let (store, index) = (&b.instance.store, "pg_proc_proname_args_nsp_index");
    for found in store.find(&b.txn, "pg_proc", index, &[Datum::text(function)])? {
        let guard = b.catalog.guard_of(&b.txn, Class::Function, &found.row)?;
        if guard.privileges(&rights).0.has(Privileges::EXECUTE) {
            return Ok(());
        }
    }
    bail!(INSUFFICIENT_PRIVILEGE, "permission denied for function {function}");
}

/// Whether a role may do everything; one that is gone may nothing.
pub fn is_superuser(b: &Backend, role: Oid) -> Result<bool> {
    match b.catalog.rights_of(&b.txn, role) {
        Ok(rights) => Ok(rights.superuser),
        Err(error) if error.sqlstate() == SqlState::UNDEFINED_OBJECT => Ok(false),
        Err(error) => Err(error),
    }
}

/// The name of a role, as a value.
pub fn role_name(b: &Backend, role: Oid) -> Result<Datum> {
    Ok(Datum::text(&*b.catalog.rights_of(&b.txn, role)?.name))
}

/// A relation's row type, by name.
pub fn row_type(backend: &Backend, schema: Option<&str>, name: &str) -> Result<Option<TypeId>> {
    let path = backend.search_path()?;
    let found = match schema {
        // A schema that is not there has no types.
        Some(schema) if backend.catalog.named_schema(&backend.txn, schema)?.is_none() => None,
        schema => backend.catalog.resolve(&backend.txn, &path, schema, name)?,
    };
    let Some(oid) = found else { return Ok(None) };
    let table = backend.catalog.table(&backend.txn, oid)?;
    Ok(table.map(|table| table.row_type).filter(|id| id.is_valid()))
}

/// A type by the text of its name.
pub fn type_named(backend: &Backend, text: &str) -> Result<Oid> {
    let missing = || sql_error!(UNDEFINED_OBJECT, "type \"{text}\" does not exist");
    let parsed = crate::catalog::parse(&format!("SELECT NULL::{text}")).map_err(|_| missing())?;
    let Some(Statement::Select(select)) = parsed.first().map(|p| &p.statement) else {
        return Err(missing());
    };
    let SelectBody::Core(core) = &select.body else { return Err(missing()) };
    let Some(ast::Expr::Cast(cast)) = core.targets.first().map(|t| &t.value) else {
        return Err(missing());
    };
    let name = cast.target.name.last();
    let schema = cast.target.name.schema();
    let id = match type_by_name(name).filter(|_| matches!(schema, None | Some("pg_catalog"))) {
        Some(info) if cast.target.array_bounds.is_empty() => info.id,
        Some(info) => info.array,
        None => {
            let id = backend.type_by_its_name(schema, name)?.ok_or_else(missing)?;
            match cast.target.array_bounds.is_empty() {
                true => id,
                false => array_of(id).ok_or_else(missing)?,
            }
        }
    };
    Ok(id.oid())
}

fn single(text: &str) -> Result<String> {
    let mut parts = parts(text)?;
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => bail!(INVALID_NAME, "invalid name syntax"),
    }
}

/// The parts of a qualified name: folded unless quoted.
pub fn parts(text: &str) -> Result<Vec<String>> {
    let invalid = || sql_error!(INVALID_NAME, "invalid name syntax");
    let mut parts = Vec::new();
    let mut chars = text.trim().chars().peekable();
    loop {
        let mut part = String::new();
        if chars.next_if_eq(&'"').is_some() {
            loop {
                match chars.next() {
                    Some('"') if chars.next_if_eq(&'"').is_none() => break,
                    Some(c) => part.push(c),
                    None => return Err(invalid()),
                }
            }
        } else {
            while let Some(c) = chars.next_if(|c| *c != '.') {
                part.extend(c.to_lowercase());
            }
            if part.is_empty() {
                return Err(invalid());
            }
        }
        parts.push(part);
        match chars.next() {
            None => return Ok(parts),
            Some('.') => {}
            Some(_) => return Err(invalid()),
        }
    }
}

/// The deferrable constraints that SET CONSTRAINTS means by a name. `all` of them must be: not those that are to be
/// immediate.
///
/// # Errors
/// `42704` without any constraint of the name, `42809` where one is not deferrable and has to be.
pub fn deferrable_constraints(
    backend: &Backend,
    name: &ast::QualifiedName,
    all: bool,
) -> Result<Vec<Oid>> {
    let shown = name.last();
    let schemas = match name.parts.len() {
        1 => backend.search_path()?.schemas.clone(),
        n => {
            let schema = &name.parts[n - 2];
            let found = backend.catalog.named_schema(&backend.txn, schema)?;
            let missing = || sql_error!(UNDEFINED_SCHEMA, "schema \"{schema}\" does not exist");
            vec![found.ok_or_else(missing)?]
        }
    };
    let store = &backend.instance.store;
    for schema in schemas {
        let key = [Datum::text(shown), Datum::Oid(schema)];
        let index = "pg_constraint_conname_nsp_index";
        let rows = store.find(&backend.txn, "pg_constraint", index, &key)?;
        if rows.is_empty() {
            continue;
        }
        let deferrable = || rows.iter().filter(|found| found.row.bool("condeferrable"));
        if all && deferrable().count() < rows.len() {
            bail!(WRONG_OBJECT_TYPE, "constraint \"{shown}\" is not deferrable");
        }
        return Ok(deferrable().map(|found| found.row.oid("oid")).collect());
    }
    bail!(UNDEFINED_OBJECT, "constraint \"{shown}\" does not exist")
}
