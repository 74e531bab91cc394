//! The rows of a table that is altered: one pass over them when all steps have changed the catalogs.
//!
//! As in PostgreSQL, no step sees what another makes of the rows: each says what is to be done with them ([`Rework`]),
//! and all new values are computed from the rows as the statement has found them; but generated columns, which are
//! computed from the new ones. What is then wrong with a row is found in that pass, too.

use std::sync::Arc;

use base::rank::Rank;
use base::wait_event::{self, Event};
use base::{Fork, Tid};
use storage::buffer::Ring;
use storage::heap::{Freeze, HeapRel};
use storage::txn::Txn;

use crate::bind::{Expr, ExprKind};
use crate::catalog::TableDef;
use crate::error::{Result, SqlError, sql_error};
use crate::exec::{self, Cx, State};
use crate::toast;
use crate::types::{Datum, Oid};

use super::Ddl;

/// How long VACUUM FULL waits for older snapshots to go.
const OLDER_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// Bytes of rows that are stored together.
pub(super) const BATCH_BYTES: usize = 64 * 1024;

/// What ALTER TABLE has come to do with the rows that are there.
pub(super) struct Rework {
    /// The table as the statement has found it.
    pub old: Arc<TableDef>,
    /// Columns (from 0) that ALTER COLUMN TYPE named.
    pub retyped: Vec<u16>,
    /// What columns (from 0) are in all rows from now on, over the old row.
    values: Vec<(usize, Expr)>,
    /// Generated columns (from 0) that are computed anew.
    generated: Vec<usize>,
    /// Columns that are NOT NULL now have to be looked at.
    has_new_not_null: bool,
    /// Names of conditions that all rows have to meet.
    checks: Vec<Box<str>>,
    /// All indexes are made anew, even if the rows stay where they are.
    reindexes: bool,
}

impl Rework {
    pub(super) fn new(old: Arc<TableDef>) -> Rework {
        Rework {
            old,
            retyped: Vec::new(),
            values: Vec::new(),
            generated: Vec::new(),
            has_new_not_null: false,
            checks: Vec::new(),
            reindexes: false,
        }
    }

    /// A column (from 0) gets this value, over the old row.
    pub(super) fn set(&mut self, column: usize, value: Expr) {
        self.values.push((column, value));
    }

    /// A generated column (from 0) is computed anew, from the new row.
    pub(super) fn generate(&mut self, column: usize) {
        self.generated.push(column);
    }

    /// A condition is new, or may mean something else than it did.
    pub(super) fn check(&mut self, name: &str) {
        self.checks.push(name.into());
    }

    /// Keys are compared otherwise than they were.
    pub(super) fn reindex(&mut self) {
        self.reindexes = true;
    }

    /// The columns (from 0) that are computed.
    pub(super) fn recomputed(&self) -> Vec<u16> {
        let columns = self.values.iter().map(|(at, _)| at).chain(&self.generated);
        columns.map(|at| *at as u16).collect()
    }

    /// The rows are stored anew, and all indexes made anew with them.
    pub(super) fn rewrites(&self) -> bool {
        !self.values.is_empty() || !self.generated.is_empty()
    }

    fn looks(&self) -> bool {
        self.has_new_not_null || !self.checks.is_empty()
    }
}

/// What is to become of each row, and what it has to meet.
struct Formulas {
    table: Arc<TableDef>,
    values: Vec<(usize, Expr)>,
    generated: Vec<(usize, Expr)>,
    checks: Vec<(Box<str>, Expr)>,
}

impl Formulas {
    /// Makes a row of the old table one of the new.
    fn apply(&self, row: &mut Vec<Datum>, cx: &mut Cx<'_>) -> Result<()> {
        let values = self.values.iter().map(|(at, value)| Ok((*at, exec::eval(value, row, cx)?)));
        let values = values.collect::<Result<Vec<_>>>()?;
        for at in row.len()..self.table.columns.len() {
            row.push(self.table.desc.missing(at).clone());
        }
        for (at, value) in values {
            row[at] = value;
        }
        for (at, column) in self.table.columns.iter().enumerate() {
            if column.dropped {
                row[at] = Datum::Null;
            }
        }
        for (at, expr) in &self.generated {
            row[*at] = exec::eval(expr, row, cx)?;
        }
        self.look_at(row, cx)
    }

    /// An error for a row that may not be in the table.
    fn look_at(&self, row: &[Datum], cx: &mut Cx<'_>) -> Result<()> {
        check_nulls(&self.table, row)?;
        for (name, expr) in &self.checks {
            if matches!(exec::eval(expr, row, cx)?, Datum::Bool(false)) {
                return Err(breaks(&self.table, name));
            }
        }
        Ok(())
    }
}

/// `23514`: a row that is there does not meet a condition.
fn breaks(table: &TableDef, check: &str) -> SqlError {
    sql_error!(
        CHECK_VIOLATION,
        "check constraint \"{check}\" of relation \"{}\" is violated by some row",
        table.name
    )
    .with_table(&table.schema_name, &table.name)
    .with_constraint(check)
}

impl Ddl<'_> {
    /// What the statement at hand, an ALTER TABLE, has come to do with the rows.
    pub(super) fn rework(&mut self) -> &mut Rework {
        self.rework.as_mut().expect("only ALTER TABLE changes what rows are")
    }

    /// Whether the rows are as the catalogs say; not while ALTER TABLE has yet to rewrite them.
    pub(super) fn has_its_rows(&self) -> bool {
        self.rework.as_ref().is_none_or(|work| !work.rewrites())
    }

    /// Does what the steps of an ALTER TABLE have come to do with the rows.
    pub(super) fn finish_rework(&mut self, oid: Oid) -> Result<()> {
        let Some(mut work) = self.rework.take() else { return Ok(()) };
        if work.rewrites() {
            let formulas = self.formulas(oid, &mut work)?;
            return self.rewrite(&work.old, Freeze::No, &mut |row, cx| formulas.apply(row, cx));
        }
        if work.looks() {
            let formulas = self.formulas(oid, &mut work)?;
            self.look_at_rows(&formulas)?;
        }
        if work.reindexes { self.rebuild_indexes(oid) } else { Ok(()) }
    }

    fn formulas(&mut self, oid: Oid, work: &mut Rework) -> Result<Formulas> {
        self.changed(oid)?;
        let table = self.table(oid)?;
        let mut generated = Vec::new();
        for at in &work.generated {
            generated.push((*at, self.generation(&table, *at)?));
        }
        let mut checks = Vec::new();
        for name in &work.checks {
            let check = table.checks.iter().find(|check| check.name == *name);
            let check = check.ok_or_else(|| SqlError::internal("a condition was not stored"))?;
            let expr = self.host.bind_table_expr(&table, &check.expr, ExprKind::Check)?;
            checks.push((name.clone(), expr));
        }
        let values = std::mem::take(&mut work.values);
        Ok(Formulas { table, values, generated, checks })
    }

    fn look_at_rows(&mut self, formulas: &Formulas) -> Result<()> {
        let table = &formulas.table;
        let mut state = State::default();
        let mut rows = super::build::TableRows::start(self.host, table)?;
        while let Some(row) = rows.next(self.host, table)? {
            formulas.look_at(row, &mut Cx { state: &mut state, host: &mut *self.host })?;
        }
        Ok(())
    }

    /// A column is NOT NULL from now on: `23502` if a row has a null there, once the statement's steps are done.
    pub(super) fn must_have_no_nulls(&mut self) {
        // A table that is being made has no rows.
        if let Some(work) = &mut self.rework {
            work.has_new_not_null = true;
        }
    }

    /// A condition is in force from now on: `23514` if a row fails it, once the statement's steps are done.
    pub(super) fn must_meet(&mut self, check: &str) {
        if let Some(work) = &mut self.rework {
            work.check(check);
        }
    }

    pub(super) fn rebuild_indexes(&mut self, table: Oid) -> Result<()> {
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
            count += 1;
            // It opens the heap of large values, too.
            self.host.heap(table)?;
            let target = toast::Target { table, txn: self.txn(), freeze };
            batch.add(&target, &row)?;
            if batch.bytes() >= BATCH_BYTES {
                batch.store(self.host.heap(table)?, self.txn(), freeze)?;
            }
        }
        batch.store(self.host.heap(table)?, self.txn(), freeze)?;
        Ok(count)
    }
}

/// Rows to be stored together, one after the other, and where each ends.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    tids: Vec<Tid>,
    /// What the pages go round in, from the first rows on.
    ring: Option<Ring>,
}

impl Batch {
    /// Adds a row.
    pub(super) fn add(&mut self, target: &toast::Target<'_>, row: &[Datum]) -> Result<()> {
        target.encode(row, &[], &mut Vec::new(), &mut self.bytes)?;
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// Bytes of the rows that are to be stored.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn store(&mut self, heap: &HeapRel, txn: &Txn, freeze: Freeze) -> Result<()> {
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

/// `23502`: a column (from 0) that must not have nulls has one.
fn has_nulls(table: &TableDef, column: usize) -> SqlError {
    let column = &table.columns[column].name;
    sql_error!(
        NOT_NULL_VIOLATION,
        "column \"{column}\" of relation \"{}\" contains null values",
        table.name
    )
    .with_table(&table.schema_name, &table.name)
    .with_column(column)
}

fn check_nulls(table: &TableDef, row: &[Datum]) -> Result<()> {
    for (at, (column, value)) in table.columns.iter().zip(row).enumerate() {
        if column.not_null && value.is_null() && !column.dropped {
            return Err(has_nulls(table, at));
        }
    }
    Ok(())
}
