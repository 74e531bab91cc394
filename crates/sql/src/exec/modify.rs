//! INSERT, UPDATE, DELETE.

mod conflict;
pub(super) mod foreign_key;
pub(super) mod index;
mod point;

pub use point::{PointBuffers, PointModify};

use std::sync::Arc;

use base::ids::{Fork, Tid};
use storage::heap::{Change, Freeze, Outcome, RowBuf};
use storage::lock::RowTurn;

use crate::bind::tree::Expr;
use crate::catalog::TableDef;
use crate::error::{Result, SqlError, SqlState, sql_error};
use crate::plan::node::{self, ModifyAction, TargetRow};
use crate::toast;
use crate::types::row::{External, RowView};
use crate::types::{Datum, TypeId};

use super::eval::{eval, passes};
use super::lock_rows::{concurrent, refresh};
use super::scan::{Stored, column, stored_tid};
use super::waiting::waiting;
use super::{Cx, Operator, Running, run};

/// Applies its action to every input row; yields RETURNING's rows, or none.
pub struct Modify {
    plan: Arc<node::Modify>,
    input: Running,
    /// Rows changed so far: the command tag's number.
    pub count: u64,
    /// The input row at hand, with the target's columns as of their newest version.
    source: Vec<Datum>,
    row: Vec<Datum>,
    work: Work,
}

/// Buffers that go from row to row.
#[derive(Default)]
pub(super) struct Work {
    pub stored: RowBuf,
    /// The row version that was made, or deleted.
    pub changed: Option<Tid>,
    /// ON CONFLICT locked the row before it updated it.
    pub was_locked: bool,
    pub encoded: Vec<u8>,
    pub key: Vec<u8>,
    /// What an entry carries beside its key.
    pub carried: Vec<u8>,
    /// The target's columns before the change.
    pub old: Vec<Datum>,
    /// And after it.
    pub new: Vec<Datum>,
    pub large: Large,
}

/// Values of the row at hand that are out of line.
#[derive(Default)]
pub(super) struct Large {
    /// Of the columns that the change leaves alone; in `old` and `new` they may be empty.
    kept: Vec<(u16, External)>,
    /// Of the others: they go when the row has changed.
    dropped: Vec<External>,
    /// Stored for the new row.
    stored: Vec<External>,
}

impl Modify {
    pub fn new(plan: Arc<node::Modify>) -> Modify {
        let input = run(&plan.input);
        Modify { plan, input, count: 0, source: Vec::new(), row: Vec::new(), work: Work::default() }
    }

    /// Applies the action to the input's current row; whether a row was changed.
    fn apply(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let plan = self.plan.clone();
        self.source.clear();
        self.source.extend_from_slice(self.input.row());
        match &plan.action {
            ModifyAction::Insert { on_conflict: None } => {
                self.work.new.clone_from(&self.source);
                insert(&plan, &mut self.work, cx)?;
                Ok(true)
            }
            ModifyAction::Insert { on_conflict: Some(conflict) } => {
                conflict::insert(&plan, conflict, &self.source, &mut self.work, cx)
            }
            ModifyAction::Update { target, sets } => self.update(&plan, target, sets, cx),
            ModifyAction::Delete { target } => self.delete(&plan, target, cx),
        }
    }

    fn target(&self, target: &TargetRow) -> Option<Tid> {
        match self.source[usize::from(target.ctid)] {
            Datum::Tid(tid) => Some(stored_tid(tid)),
            _ => None,
        }
    }

    fn update(
        &mut self,
        plan: &node::Modify,
        target: &TargetRow,
        sets: &[(u16, Expr)],
        cx: &mut Cx<'_>,
    ) -> Result<bool> {
        let Some(mut tid) = self.target(target) else { return Ok(false) };
        let table = &plan.table;
        let mut turn = None;
        loop {
            foreign_key::must_be_shown(table, tid, &mut self.work, cx)?;
            if !cx.host.heap(table)?.fetch_version(tid, &mut self.work.stored)? {
                return Ok(false);
            }
            let stored = self.work.stored.bytes();
            let (old, large) = (&mut self.work.old, &mut self.work.large);
            decode_to_update(plan, stored, |at| is_set(sets, at), old, large)?;
            self.work.new.clone_from(&self.work.old);
            for (column, expr) in sets {
                self.work.new[usize::from(*column)] = eval(expr, &self.source, cx)?;
            }
            match update_row(plan, tid, &mut self.work, turn.take(), cx)? {
                Outcome::Done { .. } => return Ok(true),
                Outcome::Updated { newest, turn: mine } => {
                    let (stored, source) = (&mut self.work.stored, &mut self.source);
                    if !follow(table, target, newest, stored, source, cx)? {
                        return Ok(false);
                    }
                    tid = newest;
                    turn = mine;
                }
                outcome => return lost_race(&outcome, cx),
            }
        }
    }

    fn delete(&mut self, plan: &node::Modify, target: &TargetRow, cx: &mut Cx<'_>) -> Result<bool> {
        let Some(mut tid) = self.target(target) else { return Ok(false) };
        let table = &plan.table;
        let mut turn = None;
        loop {
            foreign_key::must_be_shown(table, tid, &mut self.work, cx)?;
            let read = plan.returning.is_some() || !table.foreign.referring.is_empty();
            if read || has_large_values(table)? {
                if !cx.host.heap(table)?.fetch_version(tid, &mut self.work.stored)? {
                    return Ok(false);
                }
                self.work.large.drop_all(table, self.work.stored.bytes());
            }
            if read {
                decode_all(table, &mut self.work)?;
            }
            let deleted = cx.host.heap(table)?.delete(cx.host.txn(), tid, turn.take());
            match deleted.map_err(waiting("deleting tuple", tid, &table.name))? {
                Outcome::Done { .. } => {
                    self.work.changed = Some(tid);
                    self.work.large.row_is_gone(table, cx)?;
                    foreign_key::deleted(table, &self.work.old, cx);
                    std::mem::swap(&mut self.work.new, &mut self.work.old);
                    return Ok(true);
                }
                Outcome::Updated { newest, turn: mine } => {
                    let (stored, source) = (&mut self.work.stored, &mut self.source);
                    if !follow(table, target, newest, stored, source, cx)? {
                        return Ok(false);
                    }
                    tid = newest;
                    turn = mine;
                }
                outcome => return lost_race(&outcome, cx),
            }
        }
    }
}

/// READ COMMITTED: takes the newest version's columns into the input row and checks the condition on it;
/// false when the row is gone or no longer meets it.
fn follow(
    table: &TableDef,
    target: &TargetRow,
    newest: Tid,
    stored: &mut RowBuf,
    source: &mut [Datum],
    cx: &mut Cx<'_>,
) -> Result<bool> {
    if !cx.host.follows_updates() {
        return Err(concurrent("update"));
    }
    if !cx.host.heap(table)?.fetch_version(newest, stored)? {
        return Ok(false);
    }
    refresh(table, &target.refresh, stored, source)?;
    passes(target.recheck.as_ref(), source, cx)
}

/// A target that another transaction deleted, or that this statement has met already.
fn lost_race(outcome: &Outcome, cx: &Cx<'_>) -> Result<bool> {
    match outcome {
        Outcome::SelfModified => Ok(false),
        Outcome::Deleted if cx.host.follows_updates() => Ok(false),
        Outcome::Deleted => Err(concurrent("delete")),
        other => Err(sql_error!(INTERNAL_ERROR, "a waiting update ended with {other:?}")),
    }
}

/// All columns of the stored row into `work.old`.
pub(super) fn decode_all(table: &TableDef, work: &mut Work) -> Result<()> {
    work.old.resize(table.columns.len(), Datum::Null);
    let row = toast::whole(table, work.stored.bytes())?;
    RowView::new(&table.desc, &row).decode_prefix(&mut work.old);
    Ok(())
}

/// The columns of a row that is to be updated. What is out of line, left alone by the update, and looked at by nobody, is
/// not read.
pub(super) fn decode_to_update(
    plan: &node::Modify,
    stored: &[u8],
    is_set: impl Fn(u16) -> bool,
    old: &mut Vec<Datum>,
    large: &mut Large,
) -> Result<()> {
    let table = &*plan.table;
    old.resize(table.columns.len(), Datum::Null);
    large.kept.clear();
    large.dropped.clear();
    let is_new = |at: u16| is_set(at) || plan.generated.iter().any(|(column, _)| *column == at);
    for (part, external) in table.desc.externals(stored) {
        match is_new(part.column) {
            true => large.dropped.push(external),
            false => large.kept.push((part.column, external)),
        }
    }
    let whole_row = plan.returning.is_some()
        || !plan.checks.is_empty()
        || !plan.generated.is_empty()
        || !table.foreign.is_empty()
        || table.indexes.iter().any(|index| index.has_expressions());
    let in_index = |at: u16| table.indexes.iter().any(|index| index.columns().any(|c| c == at));
    let row = toast::inlined_or_empty(table, stored, |at| whole_row || in_index(at as u16))?;
    RowView::new(&table.desc, &row).decode_prefix(old);
    Ok(())
}

fn is_set(sets: &[(u16, Expr)], at: u16) -> bool {
    sets.iter().any(|(column, _)| *column == at)
}

/// Whether rows of the table may have values out of line.
pub(super) fn has_large_values(table: &TableDef) -> Result<bool> {
    Ok(match table.toast_rows() {
        Some(pieces) => pieces.relation().blocks(Fork::Main)? > 0,
        None => false,
    })
}

impl Large {
    /// All that a stored row has out of line goes with it.
    pub fn drop_all(&mut self, table: &TableDef, stored: &[u8]) {
        self.dropped.clear();
        self.dropped.extend(table.desc.externals(stored).into_iter().map(|(_, external)| external));
    }

    /// The row, or the version, that had them has been deleted or replaced.
    pub fn row_is_gone(&mut self, table: &TableDef, cx: &Cx<'_>) -> Result<()> {
        self.stored.clear();
        match self.dropped.is_empty() {
            true => Ok(()),
            false => toast::delete(table, cx.host.txn(), &std::mem::take(&mut self.dropped)),
        }
    }

    /// The new row was not stored.
    fn row_is_not(&mut self, table: &TableDef, cx: &Cx<'_>) -> Result<()> {
        match self.stored.is_empty() {
            true => Ok(()),
            false => toast::take_back(table, cx.host.txn(), &std::mem::take(&mut self.stored)),
        }
    }
}

/// Encodes `work.new`; large values are stored.
fn encode_new(table: &TableDef, work: &mut Work, kept: bool, cx: &Cx<'_>) -> Result<()> {
    work.encoded.clear();
    let Large { kept: all, stored, .. } = &mut work.large;
    if !kept {
        all.clear();
    }
    stored.clear();
    let target = toast::Target { table, txn: cx.host.txn(), freeze: Freeze::No };
    target.encode(&work.new, all, stored, &mut work.encoded)
}

/// Computes the generated columns of `row` and checks it.
pub(super) fn complete_row(plan: &node::Modify, row: &mut [Datum], cx: &mut Cx<'_>) -> Result<()> {
    for (column, expr) in &plan.generated {
        row[usize::from(*column)] = eval(expr, row, cx)?;
    }
    check_row(plan, row, cx)
}

/// NOT NULL and CHECK constraints on `row`, the table's columns in order.
pub(super) fn check_row(plan: &node::Modify, row: &[Datum], cx: &mut Cx<'_>) -> Result<()> {
    let table = &plan.table;
    for (column, value) in table.columns.iter().zip(row) {
        if column.not_null && value.is_null() && !column.dropped {
            let error = sql_error!(
                NOT_NULL_VIOLATION,
                "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                column.name,
                table.name
            );
            return Err(about_row(error, table, row, cx)
                .with_table(&table.schema_name, &table.name)
                .with_column(&column.name));
        }
    }
    for (name, condition) in &plan.checks {
        if matches!(eval(condition, row, cx)?, Datum::Bool(false)) {
            let error = sql_error!(
                CHECK_VIOLATION,
                "new row for relation \"{}\" violates check constraint \"{name}\"",
                table.name
            );
            return Err(about_row(error, table, row, cx)
                .with_table(&table.schema_name, &table.name)
                .with_constraint(name));
        }
    }
    Ok(())
}

/// The error about a row that was to be changed, which names its values that were not read, too.
#[cold]
fn with_whole_row(
    mut error: SqlError,
    plan: &node::Modify,
    work: &mut Work,
    cx: &mut Cx<'_>,
) -> SqlError {
    let table = &plan.table;
    if error.sqlstate() != SqlState::NOT_NULL_VIOLATION || work.large.kept.is_empty() {
        return error;
    }
    if let Err(worse) = decode_all(table, work) {
        return worse;
    }
    for (column, _) in &work.large.kept {
        let at = usize::from(*column);
        work.new[at] = work.old[at].clone();
    }
    error.fields_mut().detail = failing_row(table, &work.new, cx);
    error
}

/// An error with the row that it is about.
fn about_row(error: SqlError, table: &TableDef, row: &[Datum], cx: &mut Cx<'_>) -> SqlError {
    match failing_row(table, row, cx) {
        Some(detail) => error.with_detail(detail),
        None => error,
    }
}

/// `Failing row contains (1, null, …).`, long values cut as PostgreSQL cuts them; where not all columns may be read,
/// those that may, by their names.
fn failing_row(table: &TableDef, row: &[Datum], cx: &mut Cx<'_>) -> Option<String> {
    const VALUE_BYTES_MAX: usize = 64;
    let readable = cx.host.readable(table);
    let (mut names, mut shown) = (Vec::new(), Vec::new());
    let columns = table.columns.iter().zip(row).enumerate().filter(|(_, (c, _))| !c.dropped);
    for (at, (column, value)) in columns {
        if readable.as_ref().is_some_and(|readable| !readable.contains(&(at as u16))) {
            continue;
        }
        let text = match value {
            Datum::Null => "null".to_owned(),
            value => display(value, column.ty.id, cx),
        };
        names.push(&*column.name);
        match text.len() > VALUE_BYTES_MAX {
            true => {
                shown.push(format!("{}...", &text[..text.floor_char_boundary(VALUE_BYTES_MAX)]))
            }
            false => shown.push(text),
        }
    }
    let shown = shown.join(", ");
    match readable {
        None => Some(format!("Failing row contains ({shown}).")),
        Some(_) if names.is_empty() => None,
        Some(_) => Some(format!("Failing row contains ({}) = ({shown}).", names.join(", "))),
    }
}

/// A value in text form, for an error's detail.
pub(super) fn display(value: &Datum, type_id: TypeId, cx: &Cx<'_>) -> String {
    crate::types::output_string(type_id, value, &cx.host.io()).unwrap_or_else(|_| "?".to_owned())
}

/// What RETURNING is told of the changed row's version, behind the columns in `work.new`.
fn system_columns(plan: &node::Modify, work: &mut Work, cx: &mut Cx<'_>) -> Result<()> {
    if plan.system.is_empty() {
        return Ok(());
    }
    let table = &*plan.table;
    let there = match work.changed {
        Some(tid) => cx.host.heap(table)?.fetch_version(tid, &mut work.stored)?,
        None => false,
    };
    if !there {
        return Err(SqlError::internal("a row is gone within the command that changed it"));
    }
    let mut stored = Stored::from(&work.stored);
    if std::mem::take(&mut work.was_locked) {
        // PostgreSQL leaves the lock with the new version.
        stored.header.xmax = stored.header.xmin;
    }
    let view = RowView::new(&table.desc, stored.bytes);
    work.new.extend(plan.system.iter().map(|which| column(table, *which, &view, stored)));
    Ok(())
}

/// Inserts `work.new` with its index entries.
fn insert(plan: &node::Modify, work: &mut Work, cx: &mut Cx<'_>) -> Result<Tid> {
    complete_row(plan, &mut work.new, cx)?;
    let table = &plan.table;
    // It opens the heap of large values, too.
    cx.host.heap(table)?;
    encode_new(table, work, false, cx)?;
    let tid = cx.host.heap(table)?.insert(cx.host.txn(), &work.encoded)?;
    work.changed = Some(tid);
    index::insert_all(table, tid, index::Made::Inserted, work, cx)?;
    foreign_key::inserted(table, tid, cx);
    Ok(tid)
}

/// Writes `work.new` as the new version of `work.old` at `tid`.
pub(super) fn update_row(
    plan: &node::Modify,
    tid: Tid,
    work: &mut Work,
    turn: Option<RowTurn>,
    cx: &mut Cx<'_>,
) -> Result<Outcome> {
    if let Err(error) = complete_row(plan, &mut work.new, cx) {
        return Err(with_whole_row(error, plan, work, cx));
    }
    let table = &plan.table;
    encode_new(table, work, true, cx)?;
    let change = Change {
        hot: !index::any_key_changed(table, &work.old, &work.new, cx)?,
        key: index::referenced_key_changed(table, &work.old, &work.new),
    };
    let updated = cx.host.heap(table)?.update(cx.host.txn(), tid, &work.encoded, change, turn);
    let outcome = updated.map_err(waiting("updating tuple", tid, &table.name))?;
    if let Outcome::Done { tid, heap_only } = outcome {
        work.changed = Some(tid);
        work.large.row_is_gone(table, cx)?;
        if !heap_only {
            index::insert_all(table, tid, index::Made::Updated, work, cx)?;
        }
        if !table.foreign.is_empty() {
            let mine = cx.host.txn().is_mine(work.stored.header().xmin);
            foreign_key::updated(table, tid, work, mine, cx);
        }
    } else {
        work.large.row_is_not(table, cx)?;
    }
    Ok(outcome)
}

impl Operator for Modify {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while self.input.next(cx)? {
            if !self.apply(cx)? {
                continue;
            }
            self.count += 1;
            if self.count.is_multiple_of(64) {
                cx.breathe()?;
            }
            let plan = self.plan.clone();
            let Some(returning) = &plan.returning else { continue };
            system_columns(&plan, &mut self.work, cx)?;
            let mut visible = std::mem::take(&mut self.work.new);
            visible.extend_from_slice(&self.source);
            self.row.clear();
            for expr in returning {
                self.row.push(eval(expr, &visible, cx)?);
            }
            self.work.new = visible;
            return Ok(true);
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        Err(sql_error!(INTERNAL_ERROR, "a data-modifying plan runs once"))
    }
}
