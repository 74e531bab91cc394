//! CREATE VIEW and DROP VIEW.
//!
//! A view is stored as the text of its query, made to mean the same anywhere and later ([`super::view_text`]). What a
//! view names depends on it (`pg_depend`): it can't be dropped without the view, nor renamed; nor can it have a new
//! column by whose name the text would mean something else.

use std::sync::Arc;

use storage::lock::LockMode;
use syntax::ast::{CreateView, DefOption, Persistence, Statement};

use crate::bind::query::RelColumn;
use crate::bind::same::same_query;
use crate::bind::{Query, Ty, walk};
use crate::catalog::parameters::{self, Of};
use crate::catalog::rights::Class;
use crate::catalog::store::builtin::{attribute_row, class_row, row_type_row};
use crate::catalog::store::lookup::pg_class;
use crate::catalog::store::row::RowBuilder;
use crate::catalog::store::schema::catalog;
use crate::catalog::{FIRST_USER_OID, Record, TableDef, TableKind, parse};
use crate::error::{Result, SqlError, sql_error};
use crate::func;
use crate::types::{Datum, Oid, TypeId};

use super::column::{are_named_apart, check_type_of, has_room_for};
use super::create_table::persistence_letter;
use super::matview::changes_rows;
use super::view_text::written_out;
use super::{Columns, Ddl};

impl Ddl<'_> {
    pub(super) fn create_view(&mut self, create: &CreateView) -> Result<()> {
        let checks =
            |option: &DefOption| option.namespace.is_none() && &*option.name == "check_option";
        if create.check_option.is_some() || create.options.iter().any(checks) {
            return Err(SqlError::unsupported("WITH CHECK OPTION is not supported"));
        }
        let parameters = parameters::read(Of::View, &create.options)?;
        let query = Statement::Select(Box::new(create.query.clone()));
        let (bound, mut columns, record) = self.host.bind_view(&query)?;
        name_columns(&mut columns, create)?;
        if changes_rows(&bound) {
            let text = "views must not contain data-modifying statements in WITH";
            return Err(SqlError::unsupported(text));
        }
        let used = Used::of(&record);
        let persistence = self.view_persistence(create, &used)?;
        if let Some(open) = columns.iter().find(|column| column.is_open()) {
            return Err(func::unclear_collation(&format!("view column \"{}\"", open.name)));
        }
        let name = &create.relation.name;
        let (schema, persistence) = self.creation_schema(&create.relation, persistence)?;
        let known = match create.replace {
            true => self.hold_named(schema, name)?,
            false => self.catalog.relation_oid(self.host.txn(), schema, name)?,
        };
        match known {
            Some(oid) if create.replace => self.can_be_replaced(oid, &columns)?,
            _ => check_columns(&columns)?,
        }
        if known.is_some() && !create.replace {
            return Err(sql_error!(DUPLICATE_TABLE, "relation \"{name}\" already exists"));
        }
        let is_own =
            |other: &Statement| matches!(other, Statement::CreateView(other) if **other == *create);
        let text = self.view_text(&is_own, &record)?;
        self.must_mean_the_same(&text, &bound)?;
        let view = match known {
            Some(oid) => {
                self.replace_view(oid, &columns, &text, &used)?;
                oid
            }
            None => {
                let letter = persistence_letter(super::create_table::persistence(persistence));
                self.new_view(name, schema, letter, &columns, &text, &used)?
            }
        };
        if known.is_some() || !parameters.is_empty() {
            self.set_parameters(view, &parameters)?;
        }
        Ok(())
    }

    /// How long a view is there: no longer than the temporary relations that it names.
    fn view_persistence(&mut self, create: &CreateView, used: &Used) -> Result<Persistence> {
        match create.persistence {
            Persistence::Unlogged => Err(sql_error!(
                SYNTAX_ERROR,
                "views cannot be unlogged because they do not have storage"
            )),
            Persistence::Permanent if self.names_temporary(used)? => {
                let name = &create.relation.name;
                let text = format!("view \"{name}\" will be a temporary view");
                self.host.notice("NOTICE", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
                Ok(Persistence::Temporary)
            }
            other => Ok(other),
        }
    }

    pub(super) fn names_temporary(&self, used: &Used) -> Result<bool> {
        for oid in used.relations.iter().filter(|oid| **oid >= FIRST_USER_OID) {
            let relation = self.catalog.table(self.host.txn(), *oid)?;
            if relation.is_some_and(|r| r.persistence == base::Persistence::Temporary) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn new_view(
        &mut self,
        name: &str,
        schema: Oid,
        letter: u8,
        columns: &Columns,
        text: &str,
        used: &Used,
    ) -> Result<Oid> {
        self.row_type_is_new(schema, name)?;
        let oid = self.new_oid()?;
        let row_type = TypeId(self.new_oid()?.0);
        let owner = self.host.user();
        let (txn, store) = (self.host.txn(), self.store());
        let class = class_row(oid, name, schema, b'v', columns.len())
            .oid("reltype", row_type.oid())
            .oid("relowner", owner)
            .set("relacl", self.new_acl(Class::Table, owner, schema)?)
            .letter("relpersistence", letter)
            .set("relhasrules", true);
        store.insert(txn, "pg_class", &class.build())?;
        store.insert(txn, "pg_type", &row_type_row(row_type, name, schema, oid, owner))?;
        self.add_view_columns(oid, columns, 0)?;
        self.write_query(oid, text, used)?;
        self.changed(oid)?;
        Ok(oid)
    }

    fn add_view_columns(&mut self, oid: Oid, columns: &Columns, from: usize) -> Result<()> {
        for (i, column) in columns.iter().enumerate().skip(from) {
            let RelColumn { name, ty, collation, .. } = column;
            self.must_use_type(ty.id)?;
            let row = attribute_row(oid, i as i16 + 1, name, *ty, *collation);
            self.store().insert(self.txn(), "pg_attribute", &row.build())?;
        }
        Ok(())
    }

    /// Stores a view's query, and what it uses.
    ///
    /// As in PostgreSQL the rule is what depends on that, and the view on nothing: who dumps the database follows the
    /// rules to find in which order materialized views can be filled.
    pub(super) fn write_query(&mut self, view: Oid, text: &str, used: &Used) -> Result<()> {
        let rule = self.new_oid()?;
        let row = RowBuilder::of("pg_rewrite")
            .oid("oid", rule)
            .set("rulename", "_RETURN")
            .oid("ev_class", view)
            .letter("ev_type", b'1')
            .letter("ev_enabled", b'O')
            .set("is_instead", true)
            .set("ev_qual", "<>")
            .set("ev_action", text);
        self.store().insert(self.txn(), "pg_rewrite", &row.build())?;
        let of =
            |class, oids: &[Oid]| oids.iter().map(move |oid| (class, *oid)).collect::<Vec<_>>();
        let mut used = [
            of(pg_class(), &used.relations),
            of(catalog("pg_collation").oid, &used.collations),
            of(catalog("pg_type").oid, &used.types),
            of(catalog("pg_constraint").oid, &used.constraints),
        ]
        .concat();
        used.retain(|(_, oid)| *oid >= FIRST_USER_OID);
        used.sort_unstable();
        used.dedup();
        let used = used.into_iter().map(|(class, object)| (class, object, b'n'));
        for (class, object, kind) in std::iter::once((pg_class(), view, b'i')).chain(used) {
            let row = RowBuilder::of("pg_depend")
                .oid("classid", pg_rewrite())
                .oid("objid", rule)
                .oid("refclassid", class)
                .oid("refobjid", object)
                .letter("deptype", kind);
            self.store().insert(self.txn(), "pg_depend", &row.build())?;
        }
        Ok(())
    }

    /// What has that name, locked. While it is waited for it may go, or get another name.
    fn hold_named(&self, schema: Oid, name: &str) -> Result<Option<Oid>> {
        let named = || self.catalog.relation_oid(self.host.txn(), schema, name);
        let mut found = named()?;
        while let Some(oid) = found {
            self.catalog.lock(self.host.txn(), oid, LockMode::AccessExclusive)?;
            let now = named()?;
            if now == found {
                break;
            }
            found = now;
        }
        Ok(found)
    }

    /// CREATE OR REPLACE VIEW: columns may only be added.
    fn can_be_replaced(&mut self, oid: Oid, columns: &Columns) -> Result<()> {
        let old = self.table(oid)?;
        if old.kind != TableKind::View {
            return Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not a view", old.name));
        }
        if columns.len() < old.columns.len() {
            return Err(sql_error!(INVALID_TABLE_DEFINITION, "cannot drop columns from view"));
        }
        for (was, column) in old.columns.iter().zip(columns) {
            let RelColumn { name, ty, .. } = column;
            if was.name != *name {
                return Err(sql_error!(
                    INVALID_TABLE_DEFINITION,
                    "cannot change name of view column \"{}\" to \"{name}\"",
                    was.name
                )
                .with_hint(
                    "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
                ));
            }
            if was.ty != *ty {
                return Err(sql_error!(
                    INVALID_TABLE_DEFINITION,
                    "cannot change data type of view column \"{name}\" from {} to {}",
                    crate::bind::display(was.ty),
                    crate::bind::display(*ty)
                ));
            }
            if was.collation != column.collation {
                let (was, new) = (was.collation.oid, column.collation.oid);
                return Err(sql_error!(
                    INVALID_TABLE_DEFINITION,
                    "cannot change collation of view column \"{name}\" from \"{}\" to \"{}\"",
                    self.collation_name(was)?,
                    self.collation_name(new)?
                ));
            }
        }
        for (at, column) in columns.iter().enumerate().skip(old.columns.len()) {
            if columns[..at].iter().any(|earlier| earlier.name == column.name) {
                return Err(sql_error!(
                    DUPLICATE_COLUMN,
                    "column \"{}\" of relation \"{}\" already exists",
                    column.name,
                    old.name
                ));
            }
            has_room_for(at + 1)?;
            check_type_of(column)?;
        }
        Ok(())
    }

    /// Its new query may name the view itself, or others that do: who reads it is told then, as in PostgreSQL.
    fn replace_view(&mut self, oid: Oid, columns: &Columns, text: &str, used: &Used) -> Result<()> {
        let old = self.table(oid)?;
        self.must_own(&old)?;
        let added: Vec<&str> = columns[old.columns.len()..].iter().map(|c| &*c.name).collect();
        let mut over = self.asked_of(oid, &added)?;
        over.retain(|(view, _)| view.oid != oid);
        self.add_view_columns(oid, columns, old.columns.len())?;
        self.update_class(oid, &[("relnatts", Datum::Int2(columns.len() as i16))])?;
        self.forget_query(oid)?;
        self.write_query(oid, text, used)?;
        self.changed(oid)?;
        self.must_ask_the_same(&old, over)
    }

    /// The query's text with everything written out.
    pub(super) fn view_text(
        &self,
        is_own: &dyn Fn(&Statement) -> bool,
        record: &Record,
    ) -> Result<String> {
        let whole = self.host.statement_text();
        let parsed = parse(&whole)?;
        let places = record.places();
        let own = parsed.iter().find(|one| {
            // The same may stand there more than once.
            let span = one.span.start..one.span.end;
            is_own(within(&one.statement)) && places.iter().all(|at| span.contains(at))
        });
        let own = own.ok_or_else(|| SqlError::internal("a view's statement is in its text"))?;
        let statement = &whole[own.span.start as usize..own.span.end as usize];
        written_out(statement, own.span.start as usize, record)
    }

    /// Fails where the text, as it is stored, is not the query that was given.
    pub(super) fn must_mean_the_same(&mut self, text: &str, query: &Query) -> Result<()> {
        let mut parsed = parse(text)?;
        let again = match parsed.pop() {
            Some(only) if parsed.is_empty() => self.host.bind_view(&only.statement).ok(),
            _ => None,
        };
        if again.is_some_and(|(again, ..)| same_query(&again, query)) {
            return Ok(());
        }
        Err(SqlError::unsupported("this form of query is not supported in a view")
            .with_hint("Name the tables' columns and give joins no names."))
    }

    /// The views that name a relation.
    pub(super) fn views_of(&self, relation: Oid) -> Result<Vec<Arc<TableDef>>> {
        self.views_naming(pg_class(), relation)
    }

    /// The views that depend on an object of the system table `class`, the oldest first.
    pub(super) fn views_naming(&self, class: Oid, object: Oid) -> Result<Vec<Arc<TableDef>>> {
        let key = [Datum::Oid(class), Datum::Oid(object)];
        let rows = self.store().find(self.txn(), "pg_depend", "pg_depend_reference_index", &key)?;
        let mut views = Vec::new();
        for found in rows.iter().filter(|found| found.row.letter("deptype") == b'n') {
            let object = found.row.oid("objid");
            let view = match found.row.oid("classid") {
                class if class == pg_rewrite() => self.view_of_rule(object)?,
                // Earlier versions had views themselves depend on what they use.
                class if class == pg_class() => Some(object),
                _ => None,
            };
            let Some(oid) = view else { continue };
            if let Some(view) = self.catalog.table(self.host.txn(), oid)?
                && view.kind.has_query()
            {
                views.push(view);
            }
        }
        views.sort_by_key(|view| view.oid);
        Ok(views)
    }

    fn view_of_rule(&self, rule: Oid) -> Result<Option<Oid>> {
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::Oid(rule)];
        let found = store.find_one(txn, "pg_rewrite", "pg_rewrite_oid_index", &key)?;
        Ok(found.map(|found| found.row.oid("ev_class")))
    }

    /// Removes a view's query, and what that depends on.
    pub(super) fn forget_query(&mut self, view: Oid) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::Oid(view)];
        for found in store.find(txn, "pg_rewrite", "pg_rewrite_rel_rulename_index", &key)? {
            self.forget(pg_rewrite(), found.row.oid("oid"))?;
            self.store().delete(self.txn(), "pg_rewrite", &found)?;
        }
        self.forget_owner(view)
    }

    /// Removes one view, over which there are no others.
    pub(super) fn drop_view(&mut self, view: &TableDef) -> Result<()> {
        self.forget_query(view.oid)?;
        self.delete_rows("pg_type", "pg_type_oid_index", &[Datum::Oid(view.row_type.oid())])?;
        for sequence in self.owned_sequences(view.oid, None)? {
            self.drop_sequence(sequence)?;
        }
        self.drop_relation_rows(view.oid)
    }

    /// Texts of views name what they use: it keeps its name. `column`, from 0: this one of the relation.
    pub(super) fn refuse_if_viewed(
        &mut self,
        relation: &TableDef,
        column: Option<usize>,
    ) -> Result<()> {
        let views = match column {
            Some(column) => self.views_over(relation, column)?,
            None => self.views_of(relation.oid)?,
        };
        let Some(view) = views.first() else { return Ok(()) };
        let (view, relation) = (self.relation_words(view)?, self.relation_words(relation)?);
        Err(SqlError::unsupported("changing what a view is made of is not supported")
            .with_detail(format!("{view} depends on {relation}"))
            .with_hint("Drop the view, and make it again afterwards."))
    }

    /// What those views over a relation ask now to whose texts a new column of one of these names may be something, for
    /// [`Ddl::must_ask_the_same`]. To find that out locks what else they read: the others are left alone.
    pub(super) fn asked_of(
        &mut self,
        relation: Oid,
        names: &[&str],
    ) -> Result<Vec<(Arc<TableDef>, Box<Query>)>> {
        let mut asked = Vec::new();
        let mut views = self.views_of(relation)?;
        views.retain(|view| view.view.as_deref().is_none_or(|text| may_name(text, names)));
        for view in views {
            if let Some(query) = self.asked_by(&view)? {
                asked.push((view, query));
            }
        }
        Ok(asked)
    }

    /// What a view asks now; `None` if its text means nothing.
    fn asked_by(&mut self, view: &TableDef) -> Result<Option<Box<Query>>> {
        match self.host.view_query(view) {
            Ok(query) => Ok(Some(query)),
            // It is names, types or literals that are wrong; what else went wrong ends the statement.
            Err(error) if matches!(error.sqlstate().class(), "0A" | "22" | "42") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A new name of a relation must not be found where texts of views mean another one.
    pub(super) fn must_ask_the_same(
        &mut self,
        relation: &TableDef,
        before: Vec<(Arc<TableDef>, Box<Query>)>,
    ) -> Result<()> {
        for (view, asked) in before {
            if !self.asked_by(&view)?.is_some_and(|now| same_query(&now, &asked)) {
                let (view, relation) =
                    (self.relation_words(&view)?, self.relation_words(relation)?);
                return Err(SqlError::unsupported(
                    "a column whose name would change what a view means is not supported",
                )
                .with_detail(format!("{view} depends on {relation}"))
                .with_hint("Drop the view, and make it again afterwards."));
            }
        }
        Ok(())
    }

    /// The views that use a column (from 0) of a relation, the oldest first.
    pub(super) fn views_over(
        &mut self,
        relation: &TableDef,
        column: usize,
    ) -> Result<Vec<Arc<TableDef>>> {
        let mut users = Vec::new();
        for view in self.views_of(relation.oid)? {
            let mut query = self.host.view_query(&view)?;
            if walk::uses_column(&mut query, relation.oid, column) {
                users.push(view);
            }
        }
        Ok(users)
    }
}

/// What is said within EXPLAIN.
fn within(statement: &Statement) -> &Statement {
    match statement {
        Statement::Explain(explain) => within(&explain.statement),
        other => other,
    }
}

/// The system table of views' queries.
fn pg_rewrite() -> Oid {
    catalog("pg_rewrite").oid
}

/// What a view's query names, and the keys that it rests on.
pub(super) struct Used {
    relations: Vec<Oid>,
    collations: Vec<Oid>,
    types: Vec<Oid>,
    constraints: Vec<Oid>,
}

impl Used {
    pub(super) fn of(record: &Record) -> Used {
        Used {
            relations: record.relations.iter().map(|relation| relation.oid).collect(),
            collations: record.collations.iter().map(|collation| collation.oid).collect(),
            types: record.types.iter().map(|named| named.oid).collect(),
            constraints: record.constraints.clone(),
        }
    }
}

/// Gives a view's columns the names that the statement has for them, and literals a type.
fn name_columns(columns: &mut Columns, create: &CreateView) -> Result<()> {
    if create.columns.len() > columns.len() {
        return Err(sql_error!(
            SYNTAX_ERROR,
            "CREATE VIEW specifies more column names than columns"
        ));
    }
    for (column, name) in columns.iter_mut().zip(&create.columns) {
        column.name = name.clone();
    }
    for column in columns.iter_mut().filter(|column| column.ty.id == TypeId::UNKNOWN) {
        (column.ty, column.collation) = (Ty::TEXT, Ty::TEXT.collation());
    }
    Ok(())
}

/// May one of the names stand in the text, or what stands for names that are not there: `*` of rows, TABLE and NATURAL, as texts
/// of earlier versions have them, and names in escapes?
fn may_name(text: &str, names: &[&str]) -> bool {
    let text = text.to_lowercase();
    let quoted = names.iter().any(|name| name.contains('"'));
    let stands_for_more = ["natural", ".*", "table", "u&"].iter().any(|word| text.contains(word));
    let named = names.iter().any(|name| text.contains(&name.to_lowercase()));
    !names.is_empty() && (quoted || stands_for_more || named)
}

/// An error for columns that no view can have. Having none of the system's, it may have any name.
fn check_columns(columns: &Columns) -> Result<()> {
    has_room_for(columns.len())?;
    are_named_apart(columns.iter().map(|column| &*column.name))?;
    columns.iter().try_for_each(check_type_of)
}
