//! REFRESH MATERIALIZED VIEW CONCURRENTLY: only what differs is changed, and readers go on.
//!
//! The rows that the query has now and those that are there are sorted together by their bytes, so that equal ones
//! meet; temporary files take what memory does not. What is met on one side alone is inserted or deleted, the deletions
//! first: new rows may have keys of those that go. As in PostgreSQL rows are equal when their values look the same, not
//! when `=` finds so.

use std::sync::Arc;

use base::Tid;
use storage::heap::{Freeze, Outcome, RowBuf};

use crate::catalog::TableDef;
use crate::error::{Result, SqlError, sql_error};
use crate::exec::spill::{KeySorter, RowReader, RowStore};
use crate::exec::{Cx, Loader, State};
use crate::toast;
use crate::types::row::RowView;
use crate::types::{Datum, Record, TypeId, output_string};

use super::Ddl;
use super::build::TableRows;
use super::matview::tells_rows;

/// Between how many rows others have their turn.
const TURN_ROWS: u32 = 256;

/// Equal rows: how many the query has, and where those are that the view has.
#[derive(Default)]
struct Equal {
    bytes: Vec<u8>,
    new: u64,
    old: Vec<Tid>,
}

/// What becomes of equal rows.
struct Fate {
    inserted: u64,
    /// So many of the old ones stay.
    kept: usize,
}

impl Ddl<'_> {
    pub(super) fn refresh_concurrently(&mut self, view: &Arc<TableDef>) -> Result<()> {
        let mut sorter = self.key_sorter(view.stored_rows.max(0.0) as u64 * 2);
        let mut bytes = Vec::new();
        self.host.each_row_of(view, &mut |_, row| {
            bytes.clear();
            view.desc.encode_any(row, &[], &mut bytes);
            sorter.push(&bytes, Tid::INVALID)
        })?;
        self.add_old_rows(view, &mut sorter)?;
        let mut missing = RowStore::new(self.host.temp(), self.host.maintenance_mem_bytes());
        self.delete_others(view, sorter, &mut missing)?;
        self.txn().next_command()?;
        self.insert_missing(view, &missing)
    }

    /// Those that the query's snapshot sees: under REPEATABLE READ there may be others by now, which are left alone.
    fn add_old_rows(&mut self, view: &Arc<TableDef>, sorter: &mut KeySorter) -> Result<()> {
        let mut bytes = Vec::new();
        let snapshot = self.txn().statement_snapshot();
        let mut rows = TableRows::start_at(self.host, view, snapshot)?;
        while let Some(row) = rows.next(self.host, view)? {
            bytes.clear();
            view.desc.encode_any(row, &[], &mut bytes);
            sorter.push(&bytes, rows.root())?;
        }
        Ok(())
    }

    /// Deletes the rows that the query has no more; those that it has and the view has not are added to `missing`.
    fn delete_others(
        &mut self,
        view: &Arc<TableDef>,
        sorter: KeySorter,
        missing: &mut RowStore,
    ) -> Result<()> {
        let mut entries = sorter.finish()?;
        let mut equal = Equal::default();
        let mut row = vec![Datum::Null; view.columns.len()];
        let mut count: u32 = 0;
        loop {
            let next = entries.next_entry()?;
            let goes_on = next.is_some_and(|(bytes, _)| bytes == equal.bytes);
            if !goes_on {
                self.settle_equal(view, &equal, &mut row, missing)?;
                equal.new = 0;
                equal.old.clear();
            }
            let Some((bytes, tid)) = next else { return Ok(()) };
            if !goes_on {
                equal.bytes.clear();
                equal.bytes.extend_from_slice(bytes);
            }
            match tid == Tid::INVALID {
                true => equal.new += 1,
                false => equal.old.push(tid),
            }
            count = count.wrapping_add(1);
            if count.is_multiple_of(TURN_ROWS) {
                base::park::checkpoint();
                base::interrupt::check().map_err(crate::error::interrupted)?;
            }
        }
    }

    fn settle_equal(
        &mut self,
        view: &Arc<TableDef>,
        equal: &Equal,
        row: &mut [Datum],
        missing: &mut RowStore,
    ) -> Result<()> {
        if equal.new == 0 && equal.old.is_empty() {
            return Ok(());
        }
        RowView::new(&view.desc, &equal.bytes).decode_prefix(row);
        if equal.new > 1 && !row.iter().any(Datum::is_null) {
            return Err(self.has_duplicates(view, row));
        }
        let fate = fate_of(equal, has_key(view, row));
        for _ in 0..fate.inserted {
            missing.push(row)?;
        }
        equal.old[fate.kept..].iter().try_for_each(|tid| self.delete_row(view, *tid))
    }

    fn has_duplicates(&mut self, view: &TableDef, row: &[Datum]) -> SqlError {
        let types = view.columns.iter().map(|column| column.ty.id);
        let fields = types.zip(row.iter().cloned()).collect();
        let record = Datum::Record(Arc::new(Record::new(TypeId::RECORD, fields)));
        let shown = output_string(TypeId::RECORD, &record, &self.host.io());
        let error = sql_error!(
            CARDINALITY_VIOLATION,
            "new data for materialized view \"{}\" contains duplicate rows without any null columns",
            view.name
        );
        match shown {
            Ok(shown) => error.with_detail(format!("Row: {shown}")),
            Err(_) => error,
        }
    }

    /// Nobody else changes the view's rows, nor locks them.
    fn delete_row(&mut self, view: &TableDef, tid: Tid) -> Result<()> {
        let mut stored = RowBuf::new();
        let heap = self.host.heap(view)?;
        let mut large = Vec::new();
        if view.toast.is_some() && heap.fetch_version(tid, &mut stored)? {
            let all = view.desc.externals(stored.bytes());
            large.extend(all.into_iter().map(|(_, external)| external));
        }
        match heap.delete(self.host.txn(), tid, None)? {
            Outcome::Done { .. } => toast::delete(view, self.host.txn(), &large),
            Outcome::Deleted => Err(deleted_meanwhile()),
            other => Err(SqlError::internal(format!("deleting row {tid} ended with {other:?}"))),
        }
    }

    fn insert_missing(&mut self, view: &Arc<TableDef>, missing: &RowStore) -> Result<()> {
        let mut loader = Loader::new(view.clone(), Vec::new(), Vec::new(), Freeze::No);
        let mut state = State::default();
        let mut rows = RowReader::default();
        while rows.next(missing)? {
            let mut cx = Cx { state: &mut state, host: &mut *self.host };
            loader.push(rows.row(missing), &mut cx)?;
        }
        loader.flush(&mut Cx { state: &mut state, host: &mut *self.host })?;
        Ok(self.txn().next_command()?)
    }
}

/// `40001`: somebody else has refreshed the view since the transaction's snapshot.
fn deleted_meanwhile() -> SqlError {
    sql_error!(T_R_SERIALIZATION_FAILURE, "could not serialize access due to concurrent delete")
}

/// Whether no column of an index that tells rows apart is null.
fn has_key(view: &TableDef, row: &[Datum]) -> bool {
    let mut columns = view.indexes.iter().filter(|index| tells_rows(index));
    let is_whole = |column: u16| !row[usize::from(column)].is_null();
    columns.all(|index| index.key_columns().flatten().all(is_whole))
}

/// Rows without a key are told apart by nothing, and paired off; of those with one the view has one at most, which
/// stands for all that the query has.
fn fate_of(equal: &Equal, has_key: bool) -> Fate {
    let kept = equal.old.len().min(usize::try_from(equal.new).unwrap_or(usize::MAX));
    let inserted = match has_key && kept > 0 {
        true => 0,
        false => equal.new - kept as u64,
    };
    Fate { inserted, kept }
}
