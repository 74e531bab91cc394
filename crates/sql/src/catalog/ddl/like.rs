//! `CREATE TABLE … (LIKE other INCLUDING …)`: columns first, and once the table is there what refers to them.
//!
//! Storage and compression of columns and extended statistics are the same in all tables here: nothing to take over.

use storage::lock::LockMode;
use syntax::ast::{self, Loc, SequenceOption, SequenceOptionKind as Kind, TableLike};

use crate::catalog::store::schema::catalog;
use crate::catalog::{IndexDef, IndexKey, KeySource, TableDef};
use crate::error::{Result, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid, TypeId};

use super::column::NewColumn;
use super::constraint::CheckMarks;
use super::index::{KeySpec, NewIndex};
use super::{Ddl, names};

/// Where a new table comes to be.
pub(super) struct Place<'p> {
    pub table: &'p str,
    pub schema: Oid,
    pub persistence: ast::Persistence,
}

impl Ddl<'_> {
    /// Names, types, NOT NULL, and what INCLUDING asks for of what columns have by themselves.
    pub(super) fn like(
        &mut self,
        like: &TableLike,
        place: &Place<'_>,
        columns: &mut Vec<NewColumn>,
    ) -> Result<()> {
        let of = &like.relation;
        let other = self.open(of, LockMode::AccessShare);
        let other = other.map_err(|error| crate::bind::at(error, of.loc))?;
        self.must_have_of(&other, Privileges::SELECT, &[])?;
        for (_, column) in other.live() {
            let identity = column.identity.as_ref().filter(|_| like.including.identity);
            let sequence = match identity {
                None => None,
                Some(identity) => {
                    let options = self.sequence_options(identity.sequence)?;
                    let Place { table, schema, persistence } = *place;
                    // As in PostgreSQL of this type, whatever the column's.
                    let (id, name) = (TypeId::INT8, &column.name);
                    let made =
                        self.column_sequence(table, name, id, schema, persistence, &options)?;
                    Some(made.0)
                }
            };
            columns.push(NewColumn {
                name: column.name.clone(),
                ty: column.ty,
                collation: column.collation,
                not_null: column.not_null,
                default: column.default.clone().filter(|_| match column.generated {
                    true => like.including.generated,
                    false => like.including.defaults,
                }),
                generated: column.generated && like.including.generated,
                identity: identity.map(|i| if i.always { b'a' } else { b'd' }),
                owned_sequence: sequence,
            });
        }
        Ok(())
    }

    /// CHECK constraints, indexes with their constraints, comments, for the table that was made.
    pub(super) fn like_whole(&mut self, oid: Oid, like: &TableLike) -> Result<()> {
        let other = self.open(&like.relation, LockMode::AccessShare)?;
        if like.including.comments {
            self.copy_column_comments(oid, &other)?;
        }
        if like.including.constraints {
            for check in &other.checks {
                let marks = CheckMarks { no_inherit: check.no_inherit, ..CheckMarks::default() };
                self.add_check(oid, Some(&check.name), check.expr.to_string(), marks)?;
                if like.including.comments {
                    let table = self.table(oid)?;
                    let own = self.constraint_named(&table, &check.name)?.row.oid("oid");
                    self.copy_comment("pg_constraint", (check.oid, 0), (own, 0))?;
                }
            }
        }
        if like.including.indexes {
            // As PostgreSQL: the primary key's first, the others as they were made.
            let (first, rest): (Vec<_>, Vec<_>) = other.indexes.iter().partition(|i| i.primary);
            for index in first.into_iter().chain(rest) {
                let new = self.copy_index(oid, &other, index)?;
                if like.including.comments {
                    self.copy_comment("pg_class", (index.oid, 0), (new, 0))?;
                }
            }
        }
        Ok(())
    }

    fn copy_index(&mut self, oid: Oid, other: &TableDef, index: &IndexDef) -> Result<Oid> {
        let table = self.table(oid)?;
        if index.primary && table.indexes.iter().any(|i| i.primary) {
            return Err(sql_error!(
                INVALID_TABLE_DEFINITION,
                "multiple primary keys for table \"{}\" are not allowed",
                table.name
            ));
        }
        let place = |column: u16| {
            let name = &other.columns[usize::from(column)].name;
            table.column(name).expect("it has all columns of the other one") as u16
        };
        let own = self.table(index.oid)?;
        let keys = index.keys.iter().zip(&own.columns).map(|(key, column)| {
            let (source, name) = match &key.source {
                KeySource::Column(at) => {
                    let at = place(*at);
                    (KeySource::Column(at), table.columns[usize::from(at)].name.clone())
                }
                KeySource::Expr(text) => (KeySource::Expr(text.clone()), column.name.clone()),
            };
            let IndexKey { ty, collation, class, desc, nulls_first, .. } = *key;
            KeySpec { source, name, ty, collation, class, desc, nulls_first }
        });
        let keys: Vec<KeySpec> = keys.collect();
        let included: Vec<u16> = index.included.iter().map(|c| place(*c)).collect();
        let new = NewIndex {
            name: self.copied_name(&table, index, &keys, &included)?,
            method: index.method,
            parameters: index.parameters.clone(),
            included,
            keys,
            unique: index.unique,
            primary: index.primary,
            nulls_not_distinct: index.nulls_not_distinct,
            immediate: index.immediate,
            predicate: index.predicate.clone(),
        };
        let made = self.new_index(&table, &new)?;
        if index.constraint.is_some() {
            self.key_constraint(&table, &new, made, index.initially_deferred)?;
        }
        self.changed(oid)?;
        Ok(made)
    }

    fn copied_name(
        &self,
        table: &TableDef,
        index: &IndexDef,
        keys: &[KeySpec],
        included: &[u16],
    ) -> Result<String> {
        let included = included.iter().map(|c| &*table.columns[usize::from(*c)].name);
        let columns: Vec<&str> = keys.iter().map(|k| &*k.name).chain(included).collect();
        let columns = columns.join("_");
        let (column, label) = match (index.primary, index.constraint) {
            (true, _) => (None, "pkey"),
            (false, Some(_)) => (Some(columns.as_str()), "key"),
            (false, None) => (Some(columns.as_str()), "idx"),
        };
        let txn = self.txn();
        names::free_relation_name(&self.catalog, txn, table.schema, &table.name, column, label)
    }

    fn copy_column_comments(&mut self, oid: Oid, other: &TableDef) -> Result<()> {
        let table = self.table(oid)?;
        for (at, column) in other.live() {
            let Some(own) = table.column(&column.name) else { continue };
            self.copy_comment("pg_class", (other.oid, at as i32 + 1), (oid, own as i32 + 1))?;
        }
        Ok(())
    }

    /// Of an object in a catalog, or of a column by its number.
    fn copy_comment(&mut self, of: &str, from: (Oid, i32), to: (Oid, i32)) -> Result<()> {
        let class = catalog(of).oid;
        let key = [Datum::Oid(from.0), Datum::Oid(class), Datum::Int4(from.1)];
        let index = "pg_description_o_c_o_index";
        let found = self.store().find_one(self.txn(), "pg_description", index, &key)?;
        let Some(found) = found else { return Ok(()) };
        let text = found.row.text("description").to_owned();
        self.set_comment(class, to.0, to.1, Some(&text))
    }

    /// What would make a sequence like this one, its type aside.
    fn sequence_options(&self, sequence: Oid) -> Result<Vec<SequenceOption>> {
        let key = [Datum::Oid(sequence)];
        let index = "pg_sequence_seqrelid_index";
        let found = self.store().find_one(self.txn(), "pg_sequence", index, &key)?;
        let Some(found) = found else { return Ok(Vec::new()) };
        let number = |name| found.row.get(name).as_int8();
        let kinds = [
            Kind::Increment(number("seqincrement")),
            Kind::MinValue(Some(number("seqmin"))),
            Kind::MaxValue(Some(number("seqmax"))),
            Kind::Start(number("seqstart")),
            Kind::Cache(number("seqcache")),
            Kind::Cycle(found.row.bool("seqcycle")),
        ];
        Ok(kinds.map(|kind| SequenceOption { kind, loc: Loc::NONE }).into())
    }
}
