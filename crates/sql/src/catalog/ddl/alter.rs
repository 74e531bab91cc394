//! ALTER TABLE.

use base::rank::Rank;
use base::{Fork, Tid};
use std::sync::Arc;

use storage::buffer::Ring;
use storage::heap::{Freeze, HeapRel};
use storage::lock::LockMode;
use storage::txn::Txn;
use syntax::ast::{
    self, AlterTable, AlterTableStep, ColumnDef, Constraint, ConstraintKind, RelationKind,
};

use crate::bind::Ty;
use crate::catalog::parameters::{self, Of};
use crate::catalog::store::builtin::attribute_row;
use crate::catalog::{self, AccessMethod, KeySource, TableDef, TableKind};
use crate::error::{Result, SqlState, bail, sql_error};
use crate::exec::{self, Cx, State};
use crate::toast;
use crate::types::{Datum, Oid};

use super::Ddl;
use super::cascade::{Dependents, Object};
use super::column::attribute_type;
use super::create_table::{missing_value, persistence_word};
use base::wait_event::{self, Event};

/// How long VACUUM FULL waits for older snapshots to go.
const OLDER_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// Bytes of rows that are stored together.
const BATCH_BYTES: usize = 64 * 1024;

/// Whether a statement of that kind may change this relation. Ownership changes through ALTER TABLE, whatever it is:
/// pg_dump writes nothing else.
fn check_kind(alter: &AlterTable, relation: &TableDef) -> Result<()> {
    let wanted = match alter.kind {
        RelationKind::Table => match relation.kind {
            TableKind::Table => return Ok(()),
            _ if alter.steps.iter().all(|s| matches!(s, AlterTableStep::OwnerTo(_))) => {
                return Ok(());
            }
            _ => "a table",
        },
        RelationKind::View if relation.kind != TableKind::View => "a view",
        RelationKind::Sequence if relation.kind != TableKind::Sequence => "a sequence",
        RelationKind::Index if relation.kind != TableKind::Index => "an index",
        _ => return Ok(()),
    };
    Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not {wanted}", relation.name))
}

/// A form of ALTER TABLE in its words, to be refused.
fn unsupported_form(step: &AlterTableStep) -> &'static str {
    match step {
        AlterTableStep::SetExpression { .. } => "ALTER COLUMN ... SET EXPRESSION",
        AlterTableStep::SetLogged => "SET LOGGED",
        AlterTableStep::SetUnlogged => "SET UNLOGGED",
        AlterTableStep::SetAccessMethod(_) => "SET ACCESS METHOD",
        AlterTableStep::Inherit(_) => "INHERIT",
        AlterTableStep::NoInherit(_) => "NO INHERIT",
        AlterTableStep::AttachPartition { .. } => "ATTACH PARTITION",
        AlterTableStep::DetachPartition { .. } => "DETACH PARTITION",
        AlterTableStep::Other(words) => words,
        _ => "in this form",
    }
}

impl Ddl<'_> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Result<String> {
        let tag = match alter.kind {
            RelationKind::Index => "ALTER INDEX",
            RelationKind::Sequence => "ALTER SEQUENCE",
            RelationKind::View => "ALTER VIEW",
            _ => "ALTER TABLE",
        };
        let Some(table) = self.find(&alter.relation, LockMode::AccessExclusive)? else {
            let error = super::no_relation(&alter.relation);
            if !alter.if_exists {
                return Err(error);
            }
            let text = format!("{}, skipping", error.message());
            self.host.notice("NOTICE", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
            return Ok(tag.to_owned());
        };
        self.must_be_user_table(&table)?;
        check_kind(alter, &table)?;
        self.must_not_be_in_use(&table, "ALTER TABLE")?;
        for step in &alter.steps {
            self.alter_step(table.oid, step)?;
            self.changed(table.oid)?;
        }
        Ok(tag.to_owned())
    }

    fn alter_step(&mut self, oid: Oid, step: &AlterTableStep) -> Result<()> {
        match step {
            AlterTableStep::AddColumn { if_not_exists, column } => {
                self.add_column(oid, column, *if_not_exists)
            }
            AlterTableStep::DropColumn { name, if_exists, cascade } => {
                self.drop_column(oid, name, *if_exists, *cascade)
            }
            AlterTableStep::DropExpression { column, if_exists } => {
                self.drop_expression(oid, column, *if_exists)
            }
            AlterTableStep::SetDefault { column, default } => {
                let (table, number) = self.column(oid, column)?;
                super::identity::refuse(&table, number).map_err(|error| match default {
                    Some(_) => error,
                    None => error
                        .with_hint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."),
                })?;
                let ty = table.columns[number as usize - 1].ty;
                let text = match default {
                    Some(expr) => self.default_to_store(&super::text_of(expr)?, column, ty)?,
                    None => None,
                };
                self.set_default(oid, number, text.as_deref())?;
                match text {
                    Some(text) => self.depend_on_named(oid, number, &text, column, ty),
                    None => Ok(()),
                }
            }
            AlterTableStep::SetNotNull { column } => {
                let (table, number) = self.column(oid, column)?;
                if !table.columns[number as usize - 1].not_null {
                    self.check_no_nulls(&table, number as u16 - 1)?;
                }
                self.update_attribute(oid, number, &[("attnotnull", Datum::Bool(true))])
            }
            AlterTableStep::DropNotNull { column } => self.drop_not_null(oid, column),
            AlterTableStep::AlterColumnType(change) => self.alter_type(oid, change),
            AlterTableStep::AddConstraint(constraint) => self.add_another(oid, constraint),
            AlterTableStep::AlterConstraint { name, deferrable, initially_deferred } => {
                self.alter_constraint(oid, name, *deferrable, *initially_deferred)
            }
            AlterTableStep::ValidateConstraint { name } => self.validate_constraint(oid, name),
            AlterTableStep::DropConstraint { name, if_exists, cascade } => {
                self.drop_constraint(oid, name, *if_exists, *cascade)
            }
            AlterTableStep::AddIdentity { column, always, options } => {
                self.add_identity(oid, column, *always, options)
            }
            AlterTableStep::SetIdentity { column, steps } => self.set_identity(oid, column, steps),
            AlterTableStep::DropIdentity { column, if_exists } => {
                self.drop_identity(oid, column, *if_exists)
            }
            AlterTableStep::SetOptions(options) => {
                self.change_parameters(oid, |of, lines| parameters::set(of, lines, options))
            }
            AlterTableStep::ResetOptions(options) => {
                self.change_parameters(oid, |of, lines| parameters::reset(of, lines, options))
            }
            AlterTableStep::SetTablespace(name) => self.check_tablespace_of_relation(Some(name)),
            AlterTableStep::SetStatistics { column, target } => {
                self.set_statistics(oid, column, *target)
            }
            AlterTableStep::SetColumnOptions { column, options } => {
                self.change_column_options(oid, column, |of, lines| {
                    parameters::set(of, lines, options)
                })
            }
            AlterTableStep::ResetColumnOptions { column, options } => {
                self.change_column_options(oid, column, |of, lines| {
                    parameters::reset(of, lines, options)
                })
            }
            // Hints about storage are accepted: nothing here depends on them.
            AlterTableStep::SetStorage { .. }
            | AlterTableStep::SetCompression { .. }
            | AlterTableStep::ClusterOn(_)
            | AlterTableStep::SetWithoutCluster => Ok(()),
            AlterTableStep::OwnerTo(role) => self.relation_owner(oid, role),
            other => {
                let what = unsupported_form(other);
                Err(sql_error!(FEATURE_NOT_SUPPORTED, "ALTER TABLE {what} is not supported yet"))
            }
        }
    }

    /// SET and RESET of storage parameters.
    fn change_parameters(
        &mut self,
        oid: Oid,
        change: impl FnOnce(Of, Vec<String>) -> Result<Vec<String>>,
    ) -> Result<()> {
        let relation = self.table(oid)?;
        let of = match relation.kind {
            TableKind::Table => Of::Table,
            TableKind::Index => {
                let table = self.table_of_index(oid)?;
                self.changed(table)?;
                let table = self.table(table)?;
                let index = table.index(oid);
                Of::Index(index.map_or(AccessMethod::BTree, |index| index.method))
            }
            _ => {
                return Err(sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "storage parameters of this kind of relation can't be changed"
                ));
            }
        };
        let lines = change(of, relation.parameters.clone())?;
        self.set_parameters(oid, &lines)
    }

    /// A column's number (from 1) by name.
    pub(super) fn column(&mut self, oid: Oid, name: &str) -> Result<(Arc<TableDef>, i16)> {
        let table = self.table(oid)?;
        match table.column(name) {
            Some(at) => Ok((table, at as i16 + 1)),
            None => Err(sql_error!(
                UNDEFINED_COLUMN,
                "column \"{name}\" of relation \"{}\" does not exist",
                table.name
            )),
        }
    }

    fn add_column(&mut self, oid: Oid, def: &ColumnDef, if_not_exists: bool) -> Result<()> {
        let table = self.table(oid)?;
        if table.column(&def.name).is_some() {
            let text =
                format!("column \"{}\" of relation \"{}\" already exists", def.name, table.name);
            if !if_not_exists {
                return Err(sql_error!(DUPLICATE_COLUMN, "{text}"));
            }
            self.host.notice("NOTICE", sql_error!(DUPLICATE_COLUMN, "{text}, skipping"));
            return Ok(());
        }
        let mut constraints = Vec::new();
        let persistence = persistence_word(table.persistence);
        let column =
            self.new_column(def, &table.name, table.schema, persistence, &mut constraints)?;
        let number = table.columns.len() as i16 + 1;
        let row = attribute_row(oid, number, &column.name, column.ty, column.collation)
            .set("attnotnull", column.not_null);
        self.store().insert(self.txn(), "pg_attribute", &row.build())?;
        self.update_class(oid, &[("relnatts", Datum::Int2(number))])?;
        let fill = match &column.default {
            _ if column.generated => None,
            Some(text) => Some(self.host.bind_default(text, &column.name, column.ty)?),
            None => None,
        };
        self.finish_column(oid, number, &column)?;
        self.changed(oid)?;
        self.toast_if_needed(oid)?;
        if column.generated {
            self.set_generated(oid, number, &column)?;
            let (table, at) = (self.table(oid)?, number as usize - 1);
            let expr = self.generation(&table, at)?;
            self.rewrite(&table, Freeze::No, &mut |row, cx| {
                row[at] = exec::eval(&expr, row, cx)?;
                Ok(())
            })?;
        }
        self.fill_column(oid, number, &column, fill.as_ref())?;
        constraints.iter().try_for_each(|constraint| self.add_another(oid, constraint))
    }

    /// A constraint of a table that is there. PostgreSQL does not tell then where a condition is wrong.
    fn add_another(&mut self, oid: Oid, constraint: &Constraint) -> Result<()> {
        let added = self.add_constraint(oid, constraint);
        added.map_err(|mut error| {
            if matches!(constraint.kind, ConstraintKind::Check(_)) {
                error.fields_mut().position = None;
            }
            error
        })
    }

    /// Rows that are there get the new column's value: a stable default is stored once, beside the column;
    /// a volatile one, or a sequence, rewrites the rows.
    fn fill_column(
        &mut self,
        oid: Oid,
        number: i16,
        column: &super::column::NewColumn,
        fill: Option<&crate::bind::Expr>,
    ) -> Result<()> {
        let table = self.table(oid)?;
        let at = number as usize - 1;
        let volatile = column.owned_sequence.is_some() || fill.is_some_and(exec::is_volatile);
        let Some(fill) = fill.filter(|_| !volatile) else {
            let identity = column.identity.and(column.owned_sequence);
            let filler = match (identity, fill) {
                (Some(sequence), _) => Some(exec::next_value_of(sequence, column.ty)),
                (None, fill) => fill.cloned(),
            };
            if let Some(filler) = filler {
                return self.rewrite(&table, Freeze::No, &mut |row, cx| {
                    row[at] = exec::eval(&filler, &[], cx)?;
                    Ok(())
                });
            }
            if column.not_null {
                return self.check_no_nulls(&table, number as u16 - 1);
            }
            return Ok(());
        };
        let mut state = State::default();
        let mut cx = Cx { state: &mut state, host: &mut *self.host };
        let value = exec::eval(fill, &[], &mut cx)?;
        if value.is_null() {
            return if column.not_null {
                self.check_no_nulls(&table, number as u16 - 1)
            } else {
                Ok(())
            };
        }
        let changes = [
            ("atthasmissing", Datum::Bool(true)),
            ("attmissingval", missing_value(column.ty, value)),
        ];
        self.update_attribute(oid, number, &changes)
    }

    pub(super) fn drop_column(
        &mut self,
        oid: Oid,
        name: &str,
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let table = self.table(oid)?;
        let Some(at) = table.column(name) else {
            let text = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
            if !if_exists {
                return Err(sql_error!(UNDEFINED_COLUMN, "{text}"));
            }
            self.host.notice("NOTICE", sql_error!(UNDEFINED_COLUMN, "{text}, skipping"));
            return Ok(());
        };
        let number = at as i16 + 1;
        self.refuse_if_viewed(&table, Some(name))?;
        self.drop_generated_from(oid, at, cascade)?;
        // Constraints on the column go with it, and with them their indexes.
        for found in self.store().constraints(self.txn(), oid)? {
            if found.row.int2s("conkey").contains(&number) {
                self.drop_constraint(oid, found.row.text("conname"), true, cascade)?;
            }
        }
        for index in &self.table(oid)?.indexes {
            let uses = index
                .keys
                .iter()
                .any(|k| matches!(k.source, KeySource::Column(c) if usize::from(c) == at));
            if uses || index.included.contains(&(at as u16)) {
                self.drop_index(index.oid, oid)?;
            }
        }
        self.set_default(oid, number, None)?;
        let sequences = self.owned_sequences(oid, Some(number))?;
        let sequences = sequences.into_iter().map(Object::Relation).collect();
        let whole = format!("column {name} of {}", self.relation_words(&table)?);
        self.drop_for(Some(&whole), sequences, Dependents::of(cascade))?;
        let dropped = format!("........pg.dropped.{number}........");
        let changes = [
            ("attisdropped", Datum::Bool(true)),
            ("attname", Datum::text(dropped.as_str())),
            ("attnotnull", Datum::Bool(false)),
            ("attidentity", Datum::Char(0)),
            ("attgenerated", Datum::Char(0)),
        ];
        self.update_attribute(oid, number, &changes)
    }

    fn drop_not_null(&mut self, oid: Oid, name: &str) -> Result<()> {
        let (table, number) = self.column(oid, name)?;
        super::identity::refuse(&table, number)?;
        let in_key = table
            .indexes
            .iter()
            .filter(|i| i.primary)
            .any(|i| i.key_columns().flatten().any(|c| c as i16 + 1 == number));
        if in_key {
            return Err(sql_error!(
                INVALID_TABLE_DEFINITION,
                "column \"{name}\" is in a primary key"
            ));
        }
        self.update_attribute(oid, number, &[("attnotnull", Datum::Bool(false))])
    }

    /// A column's default goes with it to another type, if it can be assigned to that.
    fn check_default_of_type(&mut self, column: &catalog::ColumnDef, ty: Ty) -> Result<()> {
        let Some(default) = column.default.as_deref().filter(|_| !column.generated) else {
            return Ok(());
        };
        match self.host.bind_default(default, &column.name, ty) {
            Err(error) if error.sqlstate() == SqlState::DATATYPE_MISMATCH => bail!(
                DATATYPE_MISMATCH,
                "default for column \"{}\" cannot be cast automatically to type {}",
                column.name,
                crate::bind::display(ty)
            ),
            bound => bound.map(drop),
        }
    }

    fn alter_type(&mut self, oid: Oid, change: &ast::AlterColumnType) -> Result<()> {
        let (table, number) = self.column(oid, &change.column)?;
        let at = number as usize - 1;
        if let Some(user) = self.generated_from(&table, at)?.first() {
            return Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "cannot alter type of a column used by a generated column"
            )
            .with_detail(format!(
                "Column \"{}\" is used by generated column \"{}\".",
                change.column, table.columns[*user].name
            )));
        }
        self.refuse_if_viewed(&table, Some(&change.column))?;
        let ty = self.host.type_of(&change.type_name)?;
        let collation = match &change.collation {
            Some(name) => self.column_collation(ty, name)?,
            None => ty.collation(),
        };
        let text = match &change.using {
            Some(using) => super::text_of(using)?,
            None => syntax::deparse::quote_ident(&change.column).into_owned(),
        };
        let value = self.host.bind_using(&table, &text, ty)?.ok_or_else(|| {
            sql_error!(
                DATATYPE_MISMATCH,
                "column \"{}\" cannot be cast automatically to type {}",
                change.column,
                crate::bind::display(ty)
            )
            .with_hint(format!(
                "You might need to specify \"USING {}::{}\".",
                change.column,
                crate::bind::display(ty)
            ))
        })?;
        self.check_default_of_type(&table.columns[at], ty)?;
        // With another collation alone, if that, the values are what they were.
        let stays = change.using.is_none() && table.columns[at].ty == ty;
        let mut changes = attribute_type(ty, collation).to_vec();
        if !stays {
            changes.push(("atthasmissing", Datum::Bool(false)));
            changes.push(("attmissingval", Datum::Null));
        }
        self.update_attribute(oid, number, &changes)?;
        self.retype_identity(&table, number, &change.type_name)?;
        self.retype_keys(&table, at as u16, ty, collation)?;
        // What was found out about the old values is not true of the new ones.
        let key = [Datum::Oid(oid), Datum::Int2(number)];
        self.delete_rows("pg_statistic", "pg_statistic_relid_att_inh_index", &key)?;
        self.changed(oid)?;
        if stays {
            return self.rebuild_indexes(oid);
        }
        self.toast_if_needed(oid)?;
        self.rewrite(&table, Freeze::No, &mut |row, cx| {
            row[at] = exec::eval(&value, row, cx)?;
            Ok(())
        })
    }

    fn rebuild_indexes(&mut self, table: Oid) -> Result<()> {
        let table = self.table(table)?;
        table.indexes.iter().try_for_each(|index| self.rebuild(&table, index.oid))
    }

    /// VACUUM FULL: the rows as they are, into new storage. The caller has locked the table alone. No snapshot that is
    /// in force sees other rows than these, so everybody is to see them: also who has taken a snapshot before this
    /// is committed.
    pub(super) fn compact(&mut self, oid: Oid) -> Result<()> {
        // A table of earlier versions may have none.
        self.toast_if_needed(oid)?;
        let table = self.table(oid)?;
        self.must_be_unwatched()?;
        self.rewrite(&table, Freeze::Yes, &mut |_, _| Ok(()))
    }

    /// Waits until no snapshot is left that would look for rows where they were: the new storage shows
    /// rows as of now.
    fn must_be_unwatched(&self) -> Result<()> {
        let txn = self.host.txn();
        txn.release_statement();
        let txns = txn.manager();
        let now = txns.wal().published();
        let give_up = base::clock::now().after(OLDER_WAIT);
        while txns.refresh().csn < now {
            base::interrupt::check().map_err(crate::error::interrupted)?;
            if base::clock::now() >= give_up {
                return Err(sql_error!(
                    OBJECT_IN_USE,
                    "cannot rewrite a table while older snapshots are in use"
                )
                .with_hint("Try again when transactions that have begun before have ended."));
            }
            let _waiting = wait_event::during(Event::OldSnapshots);
            base::park::sleep(std::time::Duration::from_millis(5));
        }
        Ok(())
    }

    /// Writes the rows of `old`, changed, into new storage of the table as it is defined now, and every index anew.
    fn rewrite(
        &mut self,
        old: &Arc<TableDef>,
        freeze: Freeze,
        change: &mut dyn FnMut(&mut Vec<Datum>, &mut Cx<'_>) -> Result<()>,
    ) -> Result<()> {
        let storage = self.store().create_storage(self.txn(), old.persistence, Rank::HeapPage)?;
        self.update_class(old.oid, &[("relfilenode", Datum::Oid(Oid(storage.0)))])?;
        self.toast_anew(old)?;
        // It goes when the transaction commits: until then it can be read.
        self.store().drop_storage(self.txn(), old.storage)?;
        self.changed(old.oid)?;
        let table = self.table(old.oid)?;
        let count = self.copy_rows(old, &table, freeze, change)?;
        let (from, to) = (self.host.heap(old)?, self.host.heap(&table)?);
        let pages = to.relation().blocks(Fork::Main)?;
        to.succeed(from, count, pages, freeze);
        let size = [
            ("relpages", Datum::Int4(pages as i32)),
            ("reltuples", Datum::Float4(count as f32)),
            ("relallvisible", Datum::Int4(0)),
        ];
        self.update_class(old.oid, &size)?;
        self.changed(old.oid)?;
        self.rebuild_indexes(old.oid)
    }

    /// Fills `table`, which is empty, with the rows of `old`, changed; how many there are.
    fn copy_rows(
        &mut self,
        old: &Arc<TableDef>,
        table: &Arc<TableDef>,
        freeze: Freeze,
        change: &mut dyn FnMut(&mut Vec<Datum>, &mut Cx<'_>) -> Result<()>,
    ) -> Result<u64> {
        let mut state = State::default();
        let mut batch = Batch::default();
        let mut count = 0;
        let mut rows = super::build::TableRows::start(self.host, old)?;
        while let Some(row) = rows.next(self.host, old)? {
            let mut row = row.to_vec();
            let mut cx = Cx { state: &mut state, host: &mut *self.host };
            change(&mut row, &mut cx)?;
            check_nulls(table, &row)?;
            count += 1;
            // It opens the heap of large values, too.
            self.host.heap(table)?;
            let target = toast::Target { table, txn: self.txn(), freeze };
            target.encode(&row, &[], &mut Vec::new(), &mut batch.bytes)?;
            batch.ends.push(batch.bytes.len());
            if batch.bytes.len() >= BATCH_BYTES {
                batch.store(self.host.heap(table)?, self.txn(), freeze)?;
            }
        }
        batch.store(self.host.heap(table)?, self.txn(), freeze)?;
        Ok(count)
    }
}

/// Rows to be stored together, one after the other, and where each ends.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    tids: Vec<Tid>,
    /// What the pages go round in, from the first rows on.
    ring: Option<Ring>,
}

impl Batch {
    fn store(&mut self, heap: &HeapRel, txn: &Txn, freeze: Freeze) -> Result<()> {
        let mut start = 0;
        let rows =
            self.ends.iter().map(|end| &self.bytes[std::mem::replace(&mut start, *end)..*end]);
        let rows: Vec<&[u8]> = rows.collect();
        let pool = heap.relation().owner();
        let ring = self.ring.get_or_insert_with(|| Ring::for_bulk_write(pool));
        heap.multi_insert(txn, &rows, freeze, Some(ring), &mut self.tids)?;
        self.bytes.clear();
        self.ends.clear();
        self.tids.clear();
        base::park::checkpoint();
        Ok(())
    }
}

fn check_nulls(table: &TableDef, row: &[Datum]) -> Result<()> {
    for (column, value) in table.columns.iter().zip(row) {
        if column.not_null && value.is_null() && !column.dropped {
            return Err(sql_error!(
                NOT_NULL_VIOLATION,
                "column \"{}\" of relation \"{}\" contains null values",
                column.name,
                table.name
            )
            .with_table(&table.schema_name, &table.name)
            .with_column(&column.name));
        }
    }
    Ok(())
}
