//! What an index should have of its table's rows, for those who verify it: `thalweg check`, and the functions of
//! amcheck.

use std::cell::RefCell;

use storage::check::{self, Content, Expected, ExpectedOf, Indexed, Report};
use storage::index::Index;

use super::store::Store;
use super::{AccessMethod, IndexDef, TableDef};
use crate::error::Result;
use crate::exec::{self, Cx, Host, State};
use crate::toast;
use crate::types::Datum;
use crate::types::row::RowView;

/// Who works out expressions and conditions of indexes, one after the other.
pub struct Evaluator<'h>(RefCell<(&'h mut dyn Host, State)>);

impl<'h> Evaluator<'h> {
    pub fn new(host: &'h mut dyn Host) -> Evaluator<'h> {
        Evaluator(RefCell::new((host, State::default())))
    }

    /// An index's key of a row; `None` when the index leaves the row out.
    fn key_of(&self, index: &IndexDef, row: &[Datum]) -> Result<Option<Vec<Datum>>> {
        let (host, state) = &mut *self.0.borrow_mut();
        exec::index_values(index, row, &mut Cx { state, host: &mut **host })
    }
}

/// An index that writers keep up, under examination.
struct Verified<'d> {
    index: &'d IndexDef,
    entries: &'d Index,
    expected_of: Box<ExpectedOf<'d>>,
}

impl<'d> Verified<'d> {
    /// `None`: nobody keeps it up, or it has expressions or a condition, and nobody works these out.
    fn new(
        table: &'d TableDef,
        index: &'d IndexDef,
        entries: &'d Index,
        evaluator: Option<&'d Evaluator<'_>>,
    ) -> Option<Verified<'d>> {
        let fits = index.ready && (!index.has_expressions() || evaluator.is_some());
        let expected_of = || expected_of(table, index, evaluator);
        fits.then(|| Verified { index, entries, expected_of: expected_of() })
    }

    /// For [`storage::check::table`]. Of an index that is not valid only what it has must be right.
    fn indexed(&self) -> Indexed<'_> {
        Indexed {
            index: self.entries,
            expected_of: &*self.expected_of,
            complete: self.index.valid,
            unique: self.index.unique && self.index.valid,
        }
    }
}

/// Verifies a table and some of its indexes: their structures, and that they agree. An index that is not kept up
/// is verified by itself, and without an evaluator one with expressions or a condition.
///
/// # Errors
/// A page that can't be read.
pub fn verify(
    store: &Store,
    table: &TableDef,
    indexes: &[&IndexDef],
    evaluator: Option<&Evaluator<'_>>,
    report: &mut Report,
) -> Result<()> {
    let (mut with_rows, mut others) = (Vec::new(), Vec::new());
    for index in indexes {
        let entries = store.tree(index)?;
        match Verified::new(table, index, entries, evaluator) {
            Some(verified) => with_rows.push(verified),
            None => others.push(entries),
        }
    }
    let indexed: Vec<Indexed<'_>> = with_rows.iter().map(Verified::indexed).collect();
    check::table(store.heap(table)?, &indexed, report)?;
    others.into_iter().try_for_each(|entries| verify_alone(entries, report))
}

/// Verifies an index by itself.
///
/// # Errors
/// A page that can't be read.
pub fn verify_alone(entries: &Index, report: &mut Report) -> Result<()> {
    let (mut faults, mut count) = (Vec::new(), 0);
    entries.check(&mut |fault| faults.push(fault), &mut |_, _, _| count += 1)?;
    report.faults.append(&mut faults);
    report.entries += count;
    Ok(())
}

/// Works out what an index has of a stored row.
fn expected_of<'d>(
    table: &'d TableDef,
    index: &'d IndexDef,
    evaluator: Option<&'d Evaluator<'_>>,
) -> Box<ExpectedOf<'d>> {
    Box::new(move |row| {
        let mut values = vec![Datum::Null; table.columns.len()];
        let wanted =
            |column| index.has_expressions() || index.columns().any(|c| usize::from(c) == column);
        let row = toast::inlined_or_empty(table, row, wanted);
        let row = row.map_err(|error| error.fields().message.clone())?;
        RowView::new(&table.desc, &row).decode_prefix(&mut values);
        let of_columns = || {
            let columns = index.key_columns().flatten().map(usize::from);
            Ok(Some(columns.map(|column| values[column].clone()).collect()))
        };
        let key_values: Result<Option<Vec<Datum>>> = match evaluator {
            Some(evaluator) if index.has_expressions() => evaluator.key_of(index, &values),
            _ => of_columns(),
        };
        let key_values = key_values.map_err(|error| error.fields().message.clone())?;
        let is_held = |values: &Vec<Datum>| {
            // A hash index has no entry for null.
            index.method != AccessMethod::Hash || !values.iter().any(Datum::is_null)
        };
        let Some(key_values) = key_values.filter(is_held) else { return Ok(None) };
        let (mut key, mut carried) = (Vec::new(), Vec::new());
        exec::index_key(index, &key_values, &mut key);
        exec::carry(index, &values, &mut carried).map_err(|e| e.fields().message.clone())?;
        let alone = exec::must_be_alone(index, &key_values);
        Ok(Some(Expected { content: Content { key, carried }, alone }))
    })
}
