//! What belongs to a role, and what it was given: all that is in the way of dropping it.

use std::sync::Arc;

use storage::lock::LockMode;

use crate::catalog::rights::Class;
use crate::catalog::store::row::CatalogRow;
use crate::catalog::store::{Found, Store, database_tag};
use crate::error::Result;
use crate::types::{Datum, Oid, TypeId};

use super::Ddl;

/// How many lines a message tells.
const TOLD_MAX: usize = 100;

/// What is looked through in each database. Indexes and heaps of large values belong with their tables.
const CLASSES: [Class; 5] =
    [Class::Table, Class::Schema, Class::Type, Class::Collation, Class::Extension];

/// Likewise for access lists alone.
const GUARDED: [Class; 2] = [Class::Function, Class::Language];

/// What a role has in one database, or of what all databases share.
#[derive(Default)]
pub(super) struct Holdings {
    pub owned: Vec<(Class, Found)>,
    /// What it has rights to that is another's.
    pub granted: Vec<(Class, Found)>,
    /// Rows of `pg_attribute` likewise.
    pub columns: Vec<Found>,
    /// Its own default privileges, and others' that give it something.
    pub own_defaults: Vec<Found>,
    pub defaults: Vec<Found>,
}

impl Holdings {
    fn count(&self) -> usize {
        let granted = self.granted.len() + self.columns.len();
        self.owned.len() + granted + self.own_defaults.len() + self.defaults.len()
    }
}

/// Whether an object is one that stands for itself: a row type goes with its relation, an array type with its elements'.
fn stands_alone(class: Class, row: &CatalogRow) -> bool {
    match class {
        Class::Table => matches!(row.letter("relkind"), b'r' | b'v' | b'm' | b'S'),
        Class::Type => !row.oid("typrelid").is_valid() && row.letter("typtype") == b'e',
        _ => true,
    }
}

/// The number that an object was made with: an enum's OID is made of it.
fn made_as(found: &Found) -> Oid {
    let oid = found.row.oid("oid");
    let id = TypeId::from(oid);
    if id.is_enum() { id.enum_number() } else { oid }
}

impl Ddl<'_> {
    fn holdings_of(&self, store: &Store, role: Oid, class: Class, to: &mut Holdings) -> Result<()> {
        let txn = self.txn();
        let (owner, column) = (class.owner_column(), class.acl_column());
        let rows = store.scan(txn, class.table(), |row| {
            let has_list = !column.is_empty() && !row.get(column).is_null();
            stands_alone(class, row) && (row.oid(owner) == role || has_list)
        })?;
        for found in rows {
            if found.row.oid(owner) == role {
                to.owned.push((class, found));
            } else if store.acl_of(txn, &found.row, column)?.is_some_and(|acl| acl.names(role)) {
                to.granted.push((class, found));
            }
        }
        Ok(())
    }

    /// What a role has in a database.
    pub(super) fn holdings_in(&self, store: &Store, role: Oid) -> Result<Holdings> {
        let txn = self.txn();
        let mut all = Holdings::default();
        for class in CLASSES {
            self.holdings_of(store, role, class, &mut all)?;
        }
        for class in GUARDED {
            self.holdings_of(store, role, class, &mut all)?;
        }
        for found in store.scan(txn, "pg_attribute", |row| !row.get("attacl").is_null())? {
            let acl = store.acl_of(txn, &found.row, "attacl")?;
            let relation = found.row.oid("attrelid");
            let own = |(class, of): &(Class, Found)| {
                *class == Class::Table && of.row.oid("oid") == relation
            };
            if acl.is_some_and(|acl| acl.names(role)) && !all.owned.iter().any(own) {
                all.columns.push(found);
            }
        }
        for found in store.scan(txn, "pg_default_acl", |_| true)? {
            let acl = store.acl_of(txn, &found.row, "defaclacl")?;
            if found.row.oid("defaclrole") == role {
                all.own_defaults.push(found);
            } else if acl.is_some_and(|acl| acl.names(role)) {
                all.defaults.push(found);
            }
        }
        Ok(all)
    }

    /// What a role has of what all databases share.
    pub(super) fn shared_holdings(&self, role: Oid) -> Result<Holdings> {
        let mut all = Holdings::default();
        for class in [Class::Database, Class::Tablespace] {
            self.holdings_of(self.store(), role, class, &mut all)?;
        }
        Ok(all)
    }

    /// The lines that tell what is in the way of dropping a role; `None`: nothing.
    pub(super) fn what_hangs_on(&mut self, role: Oid) -> Result<Option<String>> {
        let catalog = Arc::clone(&self.catalog);
        let here = self.holdings_in(&catalog.instance.store, role)?;
        let shared = self.shared_holdings(role)?;
        // In the order of OIDs, as PostgreSQL tells them.
        let mut lines: Vec<((Oid, i16), String)> = Vec::new();
        for (class, found) in here.owned.iter().chain(&shared.owned) {
            let words = self.words_of(*class, &found.row)?;
            lines.push(((made_as(found), 0), format!("owner of {words}")));
        }
        for (class, found) in here.granted.iter().chain(&shared.granted) {
            let words = self.words_of(*class, &found.row)?;
            lines.push(((made_as(found), 0), format!("privileges for {words}")));
        }
        for found in &here.columns {
            let (relation, number) = (found.row.oid("attrelid"), found.row.int2("attnum"));
            let table = self.table(relation)?;
            let words = self.relation_words(&table)?;
            let column = syntax::deparse::quote_ident(found.row.text("attname"));
            let text = format!("privileges for column {column} of {words}");
            lines.push(((relation, number), text));
        }
        for (found, what) in (here.own_defaults.iter().map(|found| (found, "owner of")))
            .chain(here.defaults.iter().map(|found| (found, "privileges for")))
        {
            let text = format!("{what} {}", self.words_of_defaults(&found.row)?);
            lines.push(((found.row.oid("oid"), 0), text));
        }
        lines.sort_by_key(|line| line.0);
        let mut lines: Vec<String> = lines.into_iter().map(|(_, text)| text).collect();
        lines.extend(self.elsewhere(role)?);
        if lines.is_empty() {
            return Ok(None);
        }
        if lines.len() > TOLD_MAX {
            let more = lines.len() - TOLD_MAX;
            lines.truncate(TOLD_MAX);
            let objects = if more == 1 { "object" } else { "objects" };
            lines.push(format!("and {more} other {objects} (see server log for list)"));
        }
        Ok(Some(lines.join("\n")))
    }

    /// What a role has in other databases.
    fn elsewhere(&self, role: Oid) -> Result<Vec<String>> {
        let cluster = self.catalog.instance.cluster()?;
        let mut lines = Vec::new();
        for found in self.store().scan(self.txn(), "pg_database", |_| true)? {
            let oid = found.row.oid("oid");
            if oid == self.catalog.database {
                continue;
            }
            self.txn().lock(database_tag(oid), LockMode::AccessShare)?;
            let name = found.row.text("datname");
            let key = [Datum::text(name)];
            let index = "pg_database_datname_index";
            if self.store().find_one(self.txn(), "pg_database", index, &key)?.is_none() {
                continue;
            }
            match self.holdings_in(&cluster.database(oid).store, role)?.count() {
                0 => {}
                1 => lines.push(format!("1 object in database {name}")),
                n => lines.push(format!("{n} objects in database {name}")),
            }
        }
        Ok(lines)
    }

    fn words_of(&mut self, class: Class, row: &CatalogRow) -> Result<String> {
        Ok(match class {
            Class::Table
            | Class::View
            | Class::MaterializedView
            | Class::Sequence
            | Class::Index => {
                let table = self.table(row.oid("oid"))?;
                self.relation_words(&table)?
            }
            Class::Type => self.words_of_type(row).map(|words| format!("type {words}"))?,
            Class::Collation => {
                self.shown_collation(row).map(|words| format!("collation {words}"))?
            }
            _ => {
                let name = syntax::deparse::quote_ident(row.text(class.name_column()));
                format!("{} {name}", class.word())
            }
        })
    }

    fn words_of_defaults(&self, row: &CatalogRow) -> Result<String> {
        let what = match row.letter("defaclobjtype") {
            b'S' => "sequences",
            b'f' => "functions",
            b'T' => "types",
            b'n' => "schemas",
            _ => "relations",
        };
        let role = self.name_of(row.oid("defaclrole"))?;
        let schema = row.oid("defaclnamespace");
        let place = match schema.is_valid() {
            true => format!(" in schema {}", self.store().schema_name(self.txn(), schema)?),
            false => String::new(),
        };
        Ok(format!("default privileges on new {what} belonging to role {role}{place}"))
    }
}
