//! CREATE INDEX, REINDEX.

use base::rank::Rank;
use storage::index::Index;
use storage::lock::{LockMode, LockTag};
use syntax::ast::{
    CreateIndex, DefOption, IndexElement, IndexKey, IndexOrder, OptionValue, Reindex,
    ReindexTarget, SortNulls,
};

use crate::bind::{ExprKind, Ty};
use crate::catalog::store::builtin::{am_oid, attribute_row, class_row, index_row};
use crate::catalog::store::load::{EXPRESSION_SEPARATOR, INDOPTION_DESC, INDOPTION_NULLS_FIRST};
use crate::catalog::store::row::vector;
use crate::catalog::store::schema::catalog;
use crate::catalog::{AccessMethod, IndexDef, KeySource, TableDef, TableKind, collation};
use crate::error::{Result, SqlError, sql_error};
use crate::types::{Datum, Oid, TypeId, keycode};

use super::constraint::element_order;
use super::create_table::persistence_letter;
use super::{Ddl, Stored, names};

/// One key of a new index.
pub(super) struct KeySpec {
    pub source: KeySource,
    pub name: Box<str>,
    pub ty: Ty,
    pub desc: bool,
    pub nulls_first: bool,
}

/// An index to be made.
pub(super) struct NewIndex {
    pub name: String,
    pub method: AccessMethod,
    /// How full a hash index is to be; the default if `None`.
    pub fill_percent: Option<u8>,
    pub keys: Vec<KeySpec>,
    pub unique: bool,
    pub primary: bool,
    pub nulls_not_distinct: bool,
    /// See [`IndexDef::immediate`](crate::catalog::IndexDef::immediate).
    pub immediate: bool,
    pub predicate: Option<Box<str>>,
    /// INCLUDE columns, from 0.
    pub included: Vec<u16>,
}

/// `42704` for a type that the access method can't order.
pub(super) fn no_operator_class(ty: Ty, method: &str) -> SqlError {
    sql_error!(
        UNDEFINED_OBJECT,
        "data type {} has no default operator class for access method \"{method}\"",
        crate::bind::display(ty)
    )
    .with_hint(
        "You must specify an operator class for the index or define a default operator class for \
         the data type.",
    )
}

impl Ddl<'_> {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<()> {
        let method = method_named(&create.method)?;
        if create.concurrently {
            return Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "CREATE INDEX CONCURRENTLY is not supported"
            ));
        }
        let table = self.open(&create.relation, LockMode::Share)?;
        self.must_be_user_table(&table)?;
        if table.kind != TableKind::Table {
            return Err(sql_error!(
                WRONG_OBJECT_TYPE,
                "cannot create index on relation \"{}\"",
                table.name
            ));
        }
        let mut fill_percent = None;
        if method == AccessMethod::Hash {
            is_for_hash(create)?;
            fill_percent = fill_factor(&create.options)?;
        }
        let names = element_names(create.elements.iter().chain(&create.including));
        let name = match &create.name {
            Some(name) => {
                if self.name_is_taken(table.schema, name, create.if_not_exists)? {
                    return Ok(());
                }
                name.to_string()
            }
            None => {
                let (txn, columns) = (self.host.txn(), names.join("_"));
                let (schema, of) = (table.schema, &table.name);
                names::free_relation_name(&self.catalog, txn, schema, of, Some(&columns), "idx")?
            }
        };
        let named = create.elements.iter().zip(names);
        let keys = named.map(|(e, name)| self.key_spec(&table, method, e, name));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let predicate = match &create.filter {
            None => None,
            Some(filter) => {
                let stored = Stored::Over { table: &table, kind: ExprKind::IndexPredicate };
                Some(self.text_to_store(super::text_of(filter)?, stored)?.into())
            }
        };
        let mut included = Vec::with_capacity(create.including.len());
        for element in &create.including {
            let IndexKey::Column(name) = &element.key else {
                return Err(sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "expressions are not supported in included columns"
                ));
            };
            included.push(included_column(&table, name)?);
        }
        let index = NewIndex {
            name,
            method,
            fill_percent,
            included,
            keys,
            unique: create.unique,
            primary: false,
            nulls_not_distinct: create.nulls_not_distinct,
            immediate: true,
            predicate,
        };
        self.new_index(&table, &index)?;
        self.changed(table.oid)
    }

    fn key_spec(
        &mut self,
        table: &std::sync::Arc<TableDef>,
        method: AccessMethod,
        element: &IndexElement,
        name: String,
    ) -> Result<KeySpec> {
        let (source, ty) = match &element.key {
            IndexKey::Column(name) => {
                let column = table.column(name).ok_or_else(|| {
                    sql_error!(UNDEFINED_COLUMN, "column \"{name}\" does not exist")
                })?;
                (KeySource::Column(column as u16), table.columns[column].ty)
            }
            IndexKey::Expr(expr) => {
                let stored = Stored::Over { table, kind: ExprKind::IndexExpr };
                let text = self.text_to_store(super::text_of(expr)?, stored)?;
                let bound = self.host.bind_table_expr(table, &text, ExprKind::IndexExpr)?;
                (KeySource::Expr(text.into()), bound.ty())
            }
        };
        if let Some(name) = &element.collation {
            collation::check_for(ty.id, name)?;
        }
        let has_class = match method {
            AccessMethod::BTree => keycode::has_order(ty.id),
            AccessMethod::Hash => keycode::has_equality(ty.id),
        };
        if !has_class {
            return Err(no_operator_class(ty, method.name()));
        }
        if method == AccessMethod::Hash {
            is_without_order(element)?;
        }
        let (desc, nulls_first) = element_order(element.order, element.nulls);
        Ok(KeySpec { source, name: name.into(), ty, desc, nulls_first })
    }

    /// Writes a new index's rows, makes its storage, fills it from the table.
    pub(super) fn new_index(&mut self, table: &TableDef, new: &NewIndex) -> Result<Oid> {
        let oid = self.new_oid()?;
        let owner = self.host.user();
        let txn = self.host.txn();
        let store = self.store();
        let storage = store.create_storage(txn, table.persistence, Rank::IndexPage)?;
        let width = new.keys.len() + new.included.len();
        let class = class_row(oid, &new.name, table.schema, b'i', width)
            .oid("relam", am_oid(new.method))
            .oid("relowner", owner)
            .oid("relfilenode", Oid(storage.0))
            .letter("relpersistence", persistence_letter(table.persistence));
        store.insert(txn, "pg_class", &class.build())?;
        let mut keys = Vec::new();
        for (i, key) in new.keys.iter().enumerate() {
            let row = attribute_row(oid, i as i16 + 1, &key.name, key.ty);
            store.insert(txn, "pg_attribute", &row.build())?;
            let number = match key.source {
                KeySource::Column(column) => column as i16 + 1,
                KeySource::Expr(_) => 0,
            };
            keys.push((number, key.ty.id));
        }
        for (i, column) in new.included.iter().enumerate() {
            let column = &table.columns[usize::from(*column)];
            let number = (new.keys.len() + i + 1) as i16;
            let row = attribute_row(oid, number, &column.name, column.ty);
            store.insert(txn, "pg_attribute", &row.build())?;
        }
        store.insert(txn, "pg_index", &pg_index_row(oid, table.oid, new, &keys))?;
        self.note_index(table.oid)?;
        self.changed(table.oid)?;
        self.build_index(table.oid, oid, new.fill_percent)?;
        Ok(oid)
    }

    /// Notes that a table has an index. Several may be made at a time: only one of their makers changes the row.
    fn note_index(&mut self, table: Oid) -> Result<()> {
        let has_index = |ddl: &mut Self| {
            let (txn, store) = (ddl.txn(), ddl.store());
            let class = store.find_one(txn, "pg_class", "pg_class_oid_index", &[table.into()])?;
            Ok::<_, SqlError>(class.is_some_and(|class| class.row.bool("relhasindex")))
        };
        if has_index(self)? {
            return Ok(());
        }
        let (db, class) = (self.catalog.database.0, catalog("pg_class").oid.0);
        let row = LockTag::Object { db, class, object: table.0, sub: 0 };
        self.txn().lock(row, LockMode::Exclusive)?;
        if has_index(self)? {
            return Ok(());
        }
        self.update_class(table, &[("relhasindex", Datum::Bool(true))])
    }

    /// Changes a relation's `pg_class` row.
    pub(super) fn update_class(&mut self, oid: Oid, changes: &[(&str, Datum)]) -> Result<()> {
        self.txn().next_command()?;
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::Oid(oid)];
        let found = store.find_one(txn, "pg_class", "pg_class_oid_index", &key)?;
        let found = found.ok_or_else(|| sql_error!(INTERNAL_ERROR, "relation {oid} is gone"))?;
        store.update_columns(txn, "pg_class", &found, changes)
    }

    pub(super) fn reindex(&mut self, reindex: &Reindex) -> Result<()> {
        match &reindex.target {
            ReindexTarget::Table(name) => {
                // Readers lock the table, not its indexes, and must not lose the old one's storage.
                let table = self.open(name, LockMode::AccessExclusive)?;
                self.must_be_user_table(&table)?;
                for index in &table.indexes {
                    self.rebuild(&table, index.oid)?;
                }
                Ok(())
            }
            ReindexTarget::Index(name) => {
                let index = self.open(name, LockMode::AccessShare)?;
                if index.kind != TableKind::Index {
                    return Err(sql_error!(
                        WRONG_OBJECT_TYPE,
                        "\"{}\" is not an index",
                        index.name
                    ));
                }
                let table = self.table_of_index(index.oid)?;
                self.catalog.lock(self.host.txn(), table, LockMode::AccessExclusive)?;
                let table = self.table(table)?;
                self.rebuild(&table, index.oid)
            }
            _ => Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "REINDEX of whole schemas and databases is not supported"
            )),
        }
    }

    /// The table that an index is of.
    pub(super) fn table_of_index(&self, index: Oid) -> Result<Oid> {
        let key = [Datum::Oid(index)];
        let row =
            self.store().find_one(self.txn(), "pg_index", "pg_index_indexrelid_index", &key)?;
        row.map(|f| f.row.oid("indrelid"))
            .ok_or_else(|| sql_error!(INTERNAL_ERROR, "index {index} is gone"))
    }

    /// Gives an index new storage and fills it.
    pub(super) fn rebuild(&mut self, table: &TableDef, index: Oid) -> Result<()> {
        self.catalog.lock(self.host.txn(), index, LockMode::AccessExclusive)?;
        let old = table.index(index).map(|i| i.storage);
        let fill_percent = match table.index(index) {
            Some(old) => self.fill_percent(old)?,
            None => None,
        };
        let storage =
            self.store().create_storage(self.txn(), table.persistence, Rank::IndexPage)?;
        self.update_class(index, &[("relfilenode", Datum::Oid(Oid(storage.0)))])?;
        if let Some(old) = old {
            self.store().drop_storage(self.txn(), old)?;
        }
        self.changed(table.oid)?;
        self.build_index(table.oid, index, fill_percent)
    }
}

impl Ddl<'_> {
    /// How full a hash index was to be when it was made.
    pub(super) fn fill_percent(&self, index: &IndexDef) -> Result<Option<u8>> {
        match self.store().tree(index)? {
            Index::Hash(hash) => Ok(hash.fill_percent()?),
            Index::BTree(_) => Ok(None),
        }
    }
}

fn pg_index_row(oid: Oid, table: Oid, new: &NewIndex, keys: &[(i16, TypeId)]) -> Vec<Datum> {
    let option = |key: &KeySpec| {
        let desc = if key.desc { INDOPTION_DESC } else { 0 };
        let nulls = if key.nulls_first { INDOPTION_NULLS_FIRST } else { 0 };
        Datum::Int2(desc | nulls)
    };
    let expressions: Vec<&str> = new
        .keys
        .iter()
        .filter_map(|key| match &key.source {
            KeySource::Expr(text) => Some(&**text),
            KeySource::Column(_) => None,
        })
        .collect();
    let included: Vec<i16> = new.included.iter().map(|column| *column as i16 + 1).collect();
    let mut row = index_row(oid, table, new.method, keys, &included)
        .set("indisunique", new.unique)
        .set("indisprimary", new.primary)
        .set("indnullsnotdistinct", new.nulls_not_distinct)
        .set("indimmediate", new.immediate)
        .set("indoption", vector(TypeId::INT2, new.keys.iter().map(option).collect()));
    if !expressions.is_empty() {
        row = row.set("indexprs", expressions.join(&EXPRESSION_SEPARATOR.to_string()));
    }
    if let Some(predicate) = &new.predicate {
        row = row.set("indpred", &**predicate);
    }
    row.build()
}

/// The names of an index's columns, each once.
fn element_names<'e>(elements: impl Iterator<Item = &'e IndexElement>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for element in elements {
        let wanted = match &element.key {
            IndexKey::Column(name) => name,
            IndexKey::Expr(expr) => crate::bind::key_name(expr),
        };
        let taken = |name: &String| names.contains(name);
        let numbered = (1..).map(|n: u32| format!("{wanted}{n}"));
        let free = std::iter::once(wanted.to_owned()).chain(numbered).find(|name| !taken(name));
        names.extend(free);
    }
    names
}

/// A column that INCLUDE names, from 0.
pub(super) fn included_column(table: &TableDef, name: &str) -> Result<u16> {
    let column = table.column(name);
    column
        .map(|column| column as u16)
        .ok_or_else(|| sql_error!(UNDEFINED_COLUMN, "column \"{name}\" does not exist"))
}

fn method_named(method: &str) -> Result<AccessMethod> {
    match method {
        "btree" => Ok(AccessMethod::BTree),
        "hash" => Ok(AccessMethod::Hash),
        "gin" | "gist" | "brin" | "spgist" => {
            Err(sql_error!(FEATURE_NOT_SUPPORTED, "access method \"{method}\" is not supported"))
        }
        _ => Err(sql_error!(UNDEFINED_OBJECT, "access method \"{method}\" does not exist")),
    }
}

/// What a hash index cannot be, in the order in which PostgreSQL looks.
fn is_for_hash(create: &CreateIndex) -> Result<()> {
    let what = if create.unique {
        "unique indexes"
    } else if !create.including.is_empty() {
        "included columns"
    } else if create.elements.len() > 1 {
        "multicolumn indexes"
    } else {
        return Ok(());
    };
    Err(unsupported_by_hash(what))
}

fn is_without_order(element: &IndexElement) -> Result<()> {
    if element.order != IndexOrder::Default {
        return Err(unsupported_by_hash("ASC/DESC options"));
    }
    if element.nulls != SortNulls::Default {
        return Err(unsupported_by_hash("NULLS FIRST/LAST options"));
    }
    Ok(())
}

fn unsupported_by_hash(what: &str) -> SqlError {
    sql_error!(FEATURE_NOT_SUPPORTED, "access method \"hash\" does not support {what}")
}

/// `WITH (fillfactor = …)`.
fn fill_factor(options: &[DefOption]) -> Result<Option<u8>> {
    let mut percent = None;
    for option in options {
        if &*option.name != "fillfactor" {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "unrecognized parameter \"{}\"",
                option.name
            ));
        }
        let (number, text) = match &option.value {
            Some(OptionValue::Integer(number)) => (Some(*number), number.to_string()),
            Some(OptionValue::String(text) | OptionValue::Numeric(text)) => {
                (text.parse().ok(), text.to_string())
            }
            _ => (None, "true".to_owned()),
        };
        let Some(number) = number else {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "invalid value for integer option \"fillfactor\": {text}"
            ));
        };
        if !(10..=100).contains(&number) {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "value {text} out of bounds for option \"fillfactor\""
            )
            .with_detail("Valid values are between \"10\" and \"100\"."));
        }
        percent = Some(number as u8);
    }
    Ok(percent)
}
