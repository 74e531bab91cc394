//! Schemas.

use syntax::ast::{CreateSchema, DropObjects, ObjectName, RoleKind};

use base::hash::HashSet;
use storage::lock::LockMode;

use crate::catalog::rights::Class;
use crate::catalog::store::Found;
use crate::catalog::store::row::{CatalogRow, RowBuilder};
use crate::error::{Result, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::cascade::{Dependents, Object};
use super::{Ddl, DdlHost};

/// What the names of schemas of temporary relations begin with, toast tables' not among them.
const PREFIX: &str = "pg_temp_";

/// The schema of a session's temporary relations.
pub fn temporary_schema_name(session: u32) -> String {
    format!("{PREFIX}{session}")
}

/// Does a schema of that name have a session's temporary relations?
pub fn is_temporary(schema: &str) -> bool {
    schema.starts_with(PREFIX)
}

pub(super) fn check_new_name(name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        return Err(sql_error!(RESERVED_NAME, "unacceptable schema name \"{name}\"")
            .with_detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    Ok(())
}

impl Ddl<'_> {
    pub(super) fn create_schema(&mut self, create: &CreateSchema) -> Result<()> {
        let owner = match &create.authorization {
            Some(role) => self.role_of(role)?,
            None => self.host.user(),
        };
        self.must_have(Class::Database, self.catalog.database, Privileges::CREATE)?;
        self.must_be_member_of(owner)?;
        let name = match (&create.name, &create.authorization) {
            (Some(name), _) => name.clone(),
            (None, Some(role)) => match &role.kind {
                RoleKind::Name(name) => name.clone(),
                _ => self.catalog.rights_of(self.txn(), owner)?.name.clone(),
            },
            (None, None) => return Err(sql_error!(SYNTAX_ERROR, "a schema needs a name")),
        };
        check_new_name(&name)?;
        if self.catalog.schema(self.host.txn(), &name)?.is_some() {
            let text = format!("schema \"{name}\" already exists");
            if !create.if_not_exists {
                return Err(sql_error!(DUPLICATE_SCHEMA, "{text}"));
            }
            self.host.notice("NOTICE", sql_error!(DUPLICATE_SCHEMA, "{text}, skipping"));
            return Ok(());
        }
        if !create.elements.is_empty() {
            return Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "elements inside CREATE SCHEMA are not supported"
            ));
        }
        self.new_schema(&name, owner)?;
        Ok(())
    }

    /// Writes a schema's row.
    pub(super) fn new_schema(&mut self, name: &str, owner: Oid) -> Result<Oid> {
        let oid = self.new_oid()?;
        let row = RowBuilder::of("pg_namespace")
            .oid("oid", oid)
            .set("nspname", name)
            .oid("nspowner", owner)
            .set("nspacl", self.new_acl(Class::Schema, owner, Oid::INVALID)?);
        self.store().insert(self.txn(), "pg_namespace", &row.build())?;
        self.changed(oid)?;
        Ok(oid)
    }

    pub(super) fn drop_schemas(&mut self, drop: &DropObjects) -> Result<()> {
        let mut schemas = Vec::new();
        for name in &drop.names {
            let ObjectName::Name(name) = name else { continue };
            let name = name.last();
            let (txn, store) = (self.txn(), self.store());
            let index = "pg_namespace_nspname_index";
            let found = store.find_one(txn, "pg_namespace", index, &[Datum::text(name)])?;
            let is_there = |found: &Found| {
                let mode = LockMode::AccessExclusive;
                self.catalog.lock_schema(txn, found.row.oid("oid"), mode)
            };
            let found = match found {
                Some(found) if is_there(&found)? => Some(found),
                _ => None,
            };
            let Some(found) = found else {
                let text = format!("schema \"{name}\" does not exist");
                self.missing::<()>(drop, crate::error::SqlState::UNDEFINED_SCHEMA, text)?;
                continue;
            };
            self.must_own_row(Class::Schema, &found)?;
            let oid = found.row.oid("oid");
            if oid == crate::catalog::store::PG_CATALOG || name == "information_schema" {
                return Err(sql_error!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "cannot drop schema {name} because it is required by the database system"
                ));
            }
            schemas.push(Object::Schema(found));
        }
        self.drop_objects(schemas, Dependents::of(drop.cascade))
    }

    /// Drops what is in sessions' schemas of temporary relations, at most so many of them; whether that was all.
    fn empty_temporary_schemas(&mut self, schemas: &[Oid], most: usize) -> Result<bool> {
        let (txn, store) = (self.txn(), self.store());
        let is_in_one = |row: &CatalogRow| schemas.contains(&row.oid("relnamespace"));
        let rows = store.scan(txn, "pg_class", is_in_one)?;
        let mut relations = Vec::new();
        for found in &rows {
            let oid = found.row.oid("oid");
            match found.row.letter("relkind") {
                b'r' | b'v' | b'm' => relations.push(oid),
                b'S' if !self.is_owned(oid)? => relations.push(oid),
                _ => {}
            }
        }
        let is_all = relations.len() <= most;
        sort_to_drop(&rows, &mut relations);
        relations.truncate(most);
        let relations = relations.into_iter().map(Object::Relation).collect();
        self.drop_objects(relations, Dependents::GoSilently)?;
        Ok(is_all)
    }

    fn is_owned(&self, sequence: Oid) -> Result<bool> {
        let class = crate::catalog::store::lookup::pg_class();
        let key = [Datum::Oid(class), Datum::Oid(sequence)];
        let rows = self.store().find(self.txn(), "pg_depend", "pg_depend_depender_index", &key)?;
        Ok(rows.iter().any(|f| matches!(f.row.letter("deptype"), b'a' | b'i')))
    }
}

/// Puts those first that may be made of others: views, then what was made later.
fn sort_to_drop(rows: &[Found], relations: &mut [Oid]) {
    let views = |found: &&Found| matches!(found.row.letter("relkind"), b'v' | b'm');
    let views: HashSet<Oid> = rows.iter().filter(views).map(|f| f.row.oid("oid")).collect();
    relations.sort_by_key(|oid| (!views.contains(oid), std::cmp::Reverse(*oid)));
}

/// Drops what is in a session's schema of temporary relations.
pub fn empty_temporary_schema(host: &mut dyn DdlHost, schema: Oid) -> Result<()> {
    Ddl::new(host).empty_temporary_schemas(&[schema], usize::MAX).map(drop)
}

/// Relations that are dropped in one transaction where there may be any number of them: with all that belongs to them
/// they are no more than a transaction can drop.
const MOST: usize = 128;

/// Drops some of what is in a session's schema of temporary relations; whether that was all.
pub fn empty_temporary_schema_in_steps(host: &mut dyn DdlHost, schema: Oid) -> Result<bool> {
    Ddl::new(host).empty_temporary_schemas(&[schema], MOST)
}

/// Drops some of what is in any session's schema of temporary relations; whether that was all.
pub fn empty_temporary_schemas_in_steps(host: &mut dyn DdlHost) -> Result<bool> {
    let mut ddl = Ddl::new(host);
    let has_temporary = |row: &CatalogRow| is_temporary(row.text("nspname"));
    let schemas = ddl.store().scan(ddl.txn(), "pg_namespace", has_temporary)?;
    let schemas: Vec<Oid> = schemas.iter().map(|found| found.row.oid("oid")).collect();
    if schemas.is_empty() {
        return Ok(true);
    }
    ddl.empty_temporary_schemas(&schemas, MOST)
}
