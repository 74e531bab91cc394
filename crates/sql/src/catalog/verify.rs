//! What an index should have of its table's rows, for those who verify it: `thalweg check`, and the functions of
//! amcheck.

use storage::check::{Content, ContentOf, Indexed};
use storage::index::Index;

use super::{AccessMethod, IndexDef, TableDef};
use crate::types::Datum;
use crate::types::row::RowView;

/// An index on plain columns that writers keep up. What the keys of others should be takes a session to work out:
/// they are verified by themselves.
pub struct Verified<'d> {
    table: &'d TableDef,
    index: &'d IndexDef,
    entries: &'d Index,
    content_of: Box<ContentOf<'d>>,
}

impl<'d> Verified<'d> {
    /// `None`: the index has expressions or a condition, or is not kept up.
    pub fn new(
        table: &'d TableDef,
        index: &'d IndexDef,
        entries: &'d Index,
    ) -> Option<Verified<'d>> {
        let fits = index.ready && !index.has_expressions();
        fits.then(|| Verified { table, index, entries, content_of: content_of(table, index) })
    }

    /// For [`storage::check::table`]. Of an index that is not valid only what it has must be right.
    pub fn indexed(&self) -> Indexed<'_> {
        let index = self.index;
        let distinct = index.nulls_not_distinct || never_null(self.table, index);
        Indexed {
            index: self.entries,
            content_of: &*self.content_of,
            complete: index.valid,
            unique: index.unique && index.valid && distinct,
        }
    }
}

/// Works out what an index on plain columns has of a stored row.
fn content_of<'d>(table: &'d TableDef, index: &'d IndexDef) -> Box<ContentOf<'d>> {
    let columns: Vec<usize> = index.key_columns().flatten().map(usize::from).collect();
    Box::new(move |row| {
        let mut values = vec![Datum::Null; table.columns.len()];
        RowView::new(&table.desc, row).decode_prefix(&mut values);
        let mut key = Vec::new();
        let mut has_null = false;
        for (part, column) in index.keys.iter().zip(&columns) {
            has_null |= values[*column].is_null();
            part.code().encode(&values[*column], &mut key);
        }
        // A hash index has no entry for null.
        if index.method == AccessMethod::Hash && has_null {
            return None;
        }
        let mut carried = Vec::new();
        crate::exec::carry(index, &values, &mut carried).ok()?;
        Some(Content { key, carried })
    })
}

/// Whether no key of the index can be null: nulls are equal to none, their bytes are to each other.
fn never_null(table: &TableDef, index: &IndexDef) -> bool {
    index.key_columns().flatten().all(|column| table.columns[usize::from(column)].not_null)
}
