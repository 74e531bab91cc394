//! CREATE INDEX.

use std::borrow::Cow;
use std::sync::Arc;

use base::rank::Rank;
use storage::lock::{LockMode, LockTag};
use syntax::ast::{
    CreateIndex, Expr, IndexElement, IndexKey, IndexOrder, QualifiedName, SortNulls,
};

use crate::bind::volatility::is_immutable;
use crate::bind::{self, ExprKind, Ty, collate};
use crate::catalog::opclass;
use crate::catalog::parameters::{self, Of};
use crate::catalog::store::building::Command;
use crate::catalog::store::builtin::{am_oid, attribute_row, class_row, index_row};
use crate::catalog::store::load::{EXPRESSION_SEPARATOR, INDOPTION_DESC, INDOPTION_NULLS_FIRST};
use crate::catalog::store::row::vector;
use crate::catalog::store::schema::catalog;
use crate::catalog::{AccessMethod, IndexDef, KeySource, TableDef, collation};
use crate::error::{Result, SqlError, sql_error};
use crate::func;
use crate::types::{Collation, Datum, Oid, TypeId, keycode};

use super::column::attribute_type;
use super::constraint::element_order;
use super::create_table::{parameters_value, persistence_letter};
use super::{Ddl, names};

/// PostgreSQL's `INDEX_MAX_KEYS`; a foreign key has no more, either.
pub(super) const INDEX_COLUMNS_MAX: usize = 32;

/// One key of a new index.
pub(super) struct KeySpec {
    pub source: KeySource,
    pub name: Box<str>,
    pub ty: Ty,
    pub collation: Collation,
    /// Its operator class.
    pub class: Oid,
    pub desc: bool,
    pub nulls_first: bool,
}

impl KeySpec {
    /// The column that it is, from 0, if it is one.
    pub fn column(&self) -> Option<u16> {
        match self.source {
            KeySource::Column(column) => Some(column),
            KeySource::Expr(_) => None,
        }
    }
}

/// An index to be made.
pub(super) struct NewIndex {
    pub name: String,
    pub method: AccessMethod,
    /// Storage parameters, as in `pg_class.reloptions`.
    pub parameters: Vec<String>,
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

/// How far an index is made, or taken down: `pg_index.indisvalid`, `indisready`, `indislive`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct IndexState {
    valid: bool,
    ready: bool,
    live: bool,
}

impl IndexState {
    /// Known, and empty.
    pub const ENTERED: IndexState = IndexState { valid: false, ready: false, live: true };
    /// Kept up by writers.
    pub const READY: IndexState = IndexState { valid: false, ready: true, live: true };
    /// Used.
    pub const VALID: IndexState = IndexState { valid: true, ready: true, live: true };
    /// About to be dropped.
    pub const DEAD: IndexState = IndexState { valid: false, ready: false, live: false };

    /// As `pg_index` has it.
    pub fn columns(self) -> [(&'static str, Datum); 3] {
        [
            ("indisvalid", Datum::Bool(self.valid)),
            ("indisready", Datum::Bool(self.ready)),
            ("indislive", Datum::Bool(self.live)),
        ]
    }

    fn of(index: &IndexDef) -> IndexState {
        IndexState { valid: index.valid, ready: index.ready, live: index.live }
    }
}

/// `42809` for what has no rows of its own.
fn no_index_on(relation: &TableDef) -> SqlError {
    sql_error!(WRONG_OBJECT_TYPE, "cannot create index on relation \"{}\"", relation.name)
        .with_detail(relation.kind.not_supported())
}

/// `42P17` for what may be something else for the same row tomorrow.
pub(super) fn must_be_immutable(expr: &bind::Expr, what: &str) -> Result<()> {
    match is_immutable(expr) {
        true => Ok(()),
        false => Err(sql_error!(
            INVALID_OBJECT_DEFINITION,
            "functions in {what} must be marked IMMUTABLE"
        )),
    }
}

/// The operator class of a key that is of another type now: the one that it was given, if that takes the type, or
/// otherwise the type's own.
pub(super) fn retyped_class(index: &IndexDef, place: usize, ty: Ty) -> Result<Oid> {
    let key = &index.keys[place];
    let was_default = opclass::default_for(index.method, key.ty.id);
    match opclass::by_oid(key.class) {
        Some(given) if was_default.is_none_or(|class| class.oid != given.oid) => {
            given.must_accept(ty).map(|()| key.class)
        }
        _ => default_class(ty, index.method),
    }
}

/// The operator class of a key that names none; `42704` for a type that the access method can't order.
pub(super) fn default_class(ty: Ty, method: AccessMethod) -> Result<Oid> {
    let can = match method {
        AccessMethod::BTree => keycode::has_order(ty.id),
        AccessMethod::Hash => keycode::has_equality(ty.id),
    };
    let class = opclass::default_for(method, ty.id).filter(|_| can);
    class.map(|class| Oid(class.oid)).ok_or_else(|| {
        sql_error!(
            UNDEFINED_OBJECT,
            "data type {} has no default operator class for access method \"{}\"",
            bind::display(ty),
            method.name()
        )
        .with_hint(
            "You must specify an operator class for the index or define a default operator class \
             for the data type.",
        )
    })
}

impl Ddl<'_> {
    /// CREATE INDEX.
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<()> {
        let Some((table, index)) = self.index_to_make(create, LockMode::Share)? else {
            return Ok(());
        };
        let _working = self.host.begin_building(Command::Create);
        self.new_index(&table, &index)?;
        self.changed(table.oid)
    }

    /// The index that a statement asks for, and its table, locked. `None`: there is one of that name, and that is
    /// good enough.
    pub(super) fn index_to_make(
        &mut self,
        create: &CreateIndex,
        mode: LockMode,
    ) -> Result<Option<(Arc<TableDef>, NewIndex)>> {
        let table = self.open(&create.relation, mode)?;
        self.must_own(&table)?;
        self.must_be_user_table(&table)?;
        self.must_make_beside(&table)?;
        self.must_not_be_in_use(&table, "CREATE INDEX")?;
        may_have_columns(create.elements.len() + create.including.len())?;
        let method = method_named(&create.method)?;
        if !table.kind.is_heap() {
            return Err(no_index_on(&table));
        }
        self.check_tablespace_of_relation(create.tablespace.as_deref())?;
        if method == AccessMethod::Hash {
            is_for_hash(create)?;
        }
        let names = element_names(create.elements.iter().chain(&create.including));
        let name = match &create.name {
            Some(name) => {
                if self.name_is_taken(table.schema, name, create.if_not_exists)? {
                    return Ok(None);
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
                let kind = ExprKind::IndexPredicate;
                let (text, predicate) = self.expr_to_store(filter, &table, kind)?;
                must_be_immutable(&predicate, "index predicate")?;
                Some(text.into())
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
            is_plainly_included(element)?;
        }
        let parameters = parameters::read(Of::Index(method), &create.options)?;
        let index = NewIndex {
            name,
            method,
            parameters,
            included,
            keys,
            unique: create.unique,
            primary: false,
            nulls_not_distinct: create.nulls_not_distinct,
            immediate: true,
            predicate,
        };
        Ok(Some((table, index)))
    }

    fn key_spec(
        &mut self,
        table: &Arc<TableDef>,
        method: AccessMethod,
        element: &IndexElement,
        name: String,
    ) -> Result<KeySpec> {
        let (key, within) = without_collation(&element.key);
        let (source, ty, own) = match &*key {
            IndexKey::Column(name) => {
                let column = table.column(name).ok_or_else(|| {
                    sql_error!(UNDEFINED_COLUMN, "column \"{name}\" does not exist")
                })?;
                let own = &table.columns[column];
                (KeySource::Column(column as u16), own.ty, own.collation)
            }
            IndexKey::Expr(expr) => {
                let (text, key) = self.expr_to_store(expr, table, ExprKind::IndexExpr)?;
                must_be_immutable(&key, "index expression")?;
                (KeySource::Expr(text.into()), key.ty(), collate::of(&key))
            }
        };
        let collation = self.key_collation(element.collation.as_ref().or(within), ty, own)?;
        let class = match &element.opclass {
            None => default_class(ty, method)?,
            Some(name) => self.class_named(method, name, ty)?,
        };
        if collation.loose().is_some()
            && let Some(class) = opclass::by_oid(class).filter(|class| class.is_of_patterns())
        {
            return Err(SqlError::unsupported(format!(
                "nondeterministic collations are not supported for operator class \"{}\"",
                class.name
            )));
        }
        if method == AccessMethod::Hash {
            is_without_order(element)?;
        }
        if let (Some(name), false) = (&element.opclass, element.opclass_options.is_empty()) {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "operator class {} has no options",
                name.last()
            ));
        }
        let (desc, nulls_first) = element_order(element.order, element.nulls);
        Ok(KeySpec { source, name: name.into(), ty, collation, class, desc, nulls_first })
    }

    /// The collation that a key names, or what it has by itself.
    fn key_collation(
        &mut self,
        named: Option<&QualifiedName>,
        ty: Ty,
        own: Collation,
    ) -> Result<Collation> {
        if let Some(name) = named {
            collation::check_for(ty.id)?;
            return Ok(self.collation(name)?.collation);
        }
        if ty.collation().is_valid() && !own.is_valid() {
            return Err(func::unclear_collation("index expression"));
        }
        Ok(own)
    }

    /// The operator class that a key names.
    fn class_named(&mut self, method: AccessMethod, name: &QualifiedName, ty: Ty) -> Result<Oid> {
        let whole = || name.parts.join(".");
        match &name.parts[..] {
            [database, _, _] if **database != *self.host.database() => {
                return Err(sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "cross-database references are not implemented: {}",
                    whole()
                ));
            }
            [_, _, _, _, ..] => {
                return Err(sql_error!(
                    SYNTAX_ERROR,
                    "improper qualified name (too many dotted names): {}",
                    whole()
                ));
            }
            _ => {}
        }
        if let Some(schema) = name.schema() {
            self.named_schema(schema)?;
        }
        let class = opclass::named(method, name)?;
        class.must_accept(ty)?;
        Ok(Oid(class.oid))
    }

    /// Lets the indexes of a column know that it has another type: a key keeps the operator class that it was
    /// given, if that takes the type, and otherwise has the type's own.
    pub(super) fn retype_keys(
        &mut self,
        table: &TableDef,
        column: u16,
        ty: Ty,
        collation: Collation,
    ) -> Result<()> {
        for index in &table.indexes {
            let mut classes: Vec<Oid> = index.keys.iter().map(|key| key.class).collect();
            let mut collations: Vec<Oid> = index.keys.iter().map(|k| k.collation.oid).collect();
            let places = index.key_columns().enumerate();
            let places: Vec<usize> =
                places.filter(|(_, c)| *c == Some(column)).map(|(i, _)| i).collect();
            for place in &places {
                classes[*place] = retyped_class(index, *place, ty)?;
            }
            let included = index.included.iter().position(|c| *c == column);
            let included = included.map(|at| at + index.keys.len());
            let shown = places.iter().copied().chain(included);
            // A hash index has the hash of whatever it is.
            for place in shown.filter(|_| index.method == AccessMethod::BTree) {
                let own = match collations.get(place) {
                    Some(_) => self.retyped(table, index, place, collation, &mut collations),
                    None => collation,
                };
                let shown = attribute_type(ty, own);
                self.update_attribute(index.oid, place as i16 + 1, &shown)?;
            }
            if !places.is_empty() {
                for place in &places {
                    self.retyped(table, index, *place, collation, &mut collations);
                }
                let oids = |oids: Vec<Oid>| {
                    vector(TypeId::OID, oids.into_iter().map(Datum::Oid).collect())
                };
                let changes = [("indclass", oids(classes)), ("indcollation", oids(collations))];
                self.update_index(index.oid, &changes)?;
            }
        }
        Ok(())
    }

    /// The collation of a key whose column has another one: its own, unless it was given one.
    fn retyped(
        &self,
        table: &TableDef,
        index: &IndexDef,
        place: usize,
        new: Collation,
        collations: &mut [Oid],
    ) -> Collation {
        let key = &index.keys[place];
        let KeySource::Column(column) = key.source else { return key.collation };
        let was_own = key.collation == table.columns[usize::from(column)].collation;
        if !was_own && new.is_valid() {
            return key.collation;
        }
        collations[place] = new.oid;
        new
    }

    /// Makes an index and fills it from the table, which nobody writes; unless the table is about to be written anew, and
    /// all its indexes with it.
    pub(super) fn new_index(&mut self, table: &TableDef, new: &NewIndex) -> Result<Oid> {
        let oid = self.enter_index(table, new, IndexState::VALID)?;
        if self.has_its_rows() {
            self.build_index(table.oid, oid)?;
        }
        Ok(oid)
    }

    /// Writes a new index's rows, makes its storage.
    pub(super) fn enter_index(
        &mut self,
        table: &TableDef,
        new: &NewIndex,
        state: IndexState,
    ) -> Result<Oid> {
        let oid = self.new_oid()?;
        let owner = table.owner;
        let txn = self.host.txn();
        let store = self.store();
        let storage = store.create_storage(txn, table.persistence, Rank::IndexPage)?;
        let width = new.keys.len() + new.included.len();
        let class = class_row(oid, &new.name, table.schema, b'i', width)
            .oid("relam", am_oid(new.method))
            .oid("relowner", owner)
            .oid("relfilenode", Oid(storage.0))
            .letter("relpersistence", persistence_letter(table.persistence))
            .set("reloptions", parameters_value(&new.parameters));
        store.insert(txn, "pg_class", &class.build())?;
        let mut keys = Vec::new();
        for (i, key) in new.keys.iter().enumerate() {
            let ty = stored_type(new.method, key);
            let shown = if ty == key.ty { key.collation } else { ty.collation() };
            let row = attribute_row(oid, i as i16 + 1, &key.name, ty, shown);
            store.insert(txn, "pg_attribute", &row.build())?;
            let number = match key.source {
                KeySource::Column(column) => column as i16 + 1,
                KeySource::Expr(_) => 0,
            };
            keys.push((number, key.ty.id, key.collation));
        }
        let mut names: Vec<String> = new.keys.iter().map(|key| key.name.to_string()).collect();
        for (i, column) in new.included.iter().enumerate() {
            let column = &table.columns[usize::from(*column)];
            let number = (new.keys.len() + i + 1) as i16;
            let name = free_name(&names, &column.name);
            let row = attribute_row(oid, number, &name, column.ty, column.collation);
            names.push(name);
            store.insert(txn, "pg_attribute", &row.build())?;
        }
        store.insert(txn, "pg_index", &pg_index_row(oid, table.oid, new, &keys, state))?;
        self.note_index(table.oid)?;
        self.changed(table.oid)?;
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

    /// Writes down how far an index is.
    pub(super) fn set_index_state(
        &mut self,
        table: &TableDef,
        index: Oid,
        state: IndexState,
    ) -> Result<()> {
        if table.index(index).is_some_and(|index| IndexState::of(index) == state) {
            return Ok(());
        }
        self.update_index(index, &state.columns())?;
        self.changed(table.oid)
    }

    /// Changes an index's `pg_index` row.
    pub(super) fn update_index(&mut self, index: Oid, changes: &[(&str, Datum)]) -> Result<()> {
        self.txn().next_command()?;
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::Oid(index)];
        let row = store.find_one(txn, "pg_index", "pg_index_indexrelid_index", &key)?;
        let row = row.ok_or_else(|| SqlError::internal("an index has a row in pg_index"))?;
        store.update_columns(txn, "pg_index", &row, changes)
    }

    /// Changes a relation's `pg_class` row.
    pub(super) fn update_class(&mut self, oid: Oid, changes: &[(&str, Datum)]) -> Result<()> {
        self.txn().next_command()?;
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::Oid(oid)];
        let found = store.find_to_change(txn, "pg_class", "pg_class_oid_index", &key)?;
        let found = found.ok_or_else(|| sql_error!(INTERNAL_ERROR, "relation {oid} is gone"))?;
        store.update_columns(txn, "pg_class", &found, changes)
    }
}

/// A key without the COLLATE around its expression, which is the key's own, and what that names.
fn without_collation(key: &IndexKey) -> (Cow<'_, IndexKey>, Option<&QualifiedName>) {
    let IndexKey::Expr(Expr::Collate(collate)) = key else { return (Cow::Borrowed(key), None) };
    let bare = match &collate.arg {
        Expr::Column(reference) if reference.path.len() == 1 => {
            IndexKey::Column(reference.path[0].clone())
        }
        other => IndexKey::Expr(other.clone()),
    };
    (Cow::Owned(bare), Some(&collate.collation))
}

/// What `pg_attribute` shows of a key: by hash its hash, as in PostgreSQL; but an expression's type is kept there.
fn stored_type(method: AccessMethod, key: &KeySpec) -> Ty {
    match (method, &key.source) {
        (AccessMethod::Hash, KeySource::Column(_)) => Ty::of(TypeId::INT4),
        _ => key.ty,
    }
}

fn pg_index_row(
    oid: Oid,
    table: Oid,
    new: &NewIndex,
    keys: &[(i16, TypeId, Collation)],
    state: IndexState,
) -> Vec<Datum> {
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
        .set(
            "indclass",
            vector(TypeId::OID, new.keys.iter().map(|k| Datum::Oid(k.class)).collect()),
        )
        .set("indoption", vector(TypeId::INT2, new.keys.iter().map(option).collect()));
    for (column, value) in state.columns() {
        row = row.set(column, value);
    }
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
        let name = free_name(&names, wanted);
        names.push(name);
    }
    names
}

/// The name, with a number behind it if it is there already.
fn free_name(names: &[String], wanted: &str) -> String {
    let (mut name, mut number) = (wanted.to_owned(), 0);
    while names.contains(&name) {
        number += 1;
        name = format!("{wanted}{number}");
    }
    name
}

/// `42P17` for what only keys can have, in the order in which PostgreSQL looks.
fn is_plainly_included(element: &IndexElement) -> Result<()> {
    let what = if element.collation.is_some() {
        "a collation"
    } else if element.opclass.is_some() {
        "an operator class"
    } else if element.order != IndexOrder::Default {
        "ASC/DESC options"
    } else if element.nulls != SortNulls::Default {
        "NULLS FIRST/LAST options"
    } else {
        return Ok(());
    };
    Err(sql_error!(INVALID_OBJECT_DEFINITION, "including column does not support {what}"))
}

/// May an index have as many columns, those of INCLUDE counted?
pub(super) fn may_have_columns(count: usize) -> Result<()> {
    if count > INDEX_COLUMNS_MAX {
        return Err(sql_error!(
            TOO_MANY_COLUMNS,
            "cannot use more than {INDEX_COLUMNS_MAX} columns in an index"
        ));
    }
    Ok(())
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
