//! ANALYZE: a sample of a table's rows, and what it tells of the columns, into `pg_statistic`.

mod background;
mod column;
mod indexes;
mod sample;
mod wanted;

pub(super) use background::backend as background_backend;
pub(crate) use background::{analyze_in_background, note_cleaned};

use storage::heap::{Activity, HeapRel, MAX_ROW_BYTES, Open, vm};
use storage::lock::WaitPolicy;
use storage::txn::TUPLE_HEADER_BYTES;
use storage::vacuum::Pace;

use crate::catalog::statistics::{COMMON, CORRELATION, HISTOGRAM};
use crate::catalog::store::Found;
use crate::catalog::store::row::RowBuilder;
use crate::catalog::{ColumnDef, TableDef};
use crate::error::Result;
use crate::exec::Host;
use crate::types::{Array, Datum, Oid, TypeId, TypeInfo};

use super::backend::Backend;
use column::Sampled;
use wanted::Wanted;

/// Rows sampled for each entry of a list.
const ROWS_PER_ENTRY: usize = 300;
/// Rows sampled of a table nothing is to be written down of but its size.
const ROWS_MIN: usize = 100;

/// What ANALYZE knows of a table as a whole.
pub(super) struct Counted {
    pub rows: f64,
    pub pages: u32,
    pub sampled_pages: usize,
    pub sampled_rows: usize,
    /// Of each index, how many of the rows have an entry in it.
    pub entries: Vec<Option<f64>>,
    /// Rows on the sampled pages, and versions there that have ended.
    pub live: u64,
    /// See there.
    pub dead: u64,
    /// What the table has of transactions that have not ended, by the pages that were read.
    open: Open,
    /// What had been done to the table when the first page was read.
    before: Activity,
}

impl Counted {
    /// Counts the table as analyzed, by a background worker or not.
    pub(super) fn note(&self, heap: &HeapRel, background: bool) {
        heap.note_analyzed(background, self.rows as u64, self.pages, &self.before, self.open);
    }
}

/// ANALYZE of a table that is locked for it: samples it, and writes down what that tells of these columns (from 0) and
/// of the table as a whole; of that nothing if who is changing what `pg_class` says is not to be waited for. Who calls
/// has it [counted as analyzed](Counted::note).
pub(super) fn renew(
    b: &mut Backend,
    table: &TableDef,
    columns: &[u16],
    pace: &mut Pace<'_>,
    policy: WaitPolicy,
) -> Result<Counted> {
    let counted = analyze(b, table, columns, pace)?;
    let row = class_row_to_change(b, table.oid, policy)?;
    note_size(b, table, row, (counted.rows, counted.pages), &counted.entries)?;
    Ok(counted)
}

/// Writes down what VACUUM has found out about a table's size.
pub(super) fn note_vacuumed(b: &Backend, table: &TableDef, rows: f64, pages: u32) -> Result<()> {
    let row = class_row_to_change(b, table.oid, WaitPolicy::Block)?;
    note_size(b, table, row, (rows, pages), &indexes::of_all_rows(table, rows))
}

/// Writes down how many rows and pages a table has, how many of these are visible to all, and the same of its indexes;
/// the table's plans are made anew.
fn note_size(
    b: &Backend,
    table: &TableDef,
    row: Option<Found>,
    (rows, pages): (f64, u32),
    entries: &[Option<f64>],
) -> Result<()> {
    if let Some(row) = row {
        let (visible, _) = vm::count(b.heap(table)?.relation())?;
        let counts = size(rows, pages, visible);
        b.instance.store.update_columns(&b.txn, "pg_class", &row, &counts)?;
        b.catalog.note_figures(&b.txn, table.oid)?;
    }
    indexes::note(b, table, entries)
}

fn class_row(b: &Backend, relation: Oid) -> Result<Option<Found>> {
    let key = [Datum::Oid(relation)];
    b.instance.store.find_one(&b.txn, "pg_class", "pg_class_oid_index", &key)
}

/// Likewise, locked for a change; nothing if that takes a wait which `policy` rules out.
fn class_row_to_change(b: &Backend, relation: Oid, policy: WaitPolicy) -> Result<Option<Found>> {
    let (txn, store) = (&b.txn, &b.instance.store);
    match policy {
        WaitPolicy::Block => {
            let key = [Datum::Oid(relation)];
            store.find_to_change(txn, "pg_class", "pg_class_oid_index", &key)
        }
        WaitPolicy::Never => match class_row(b, relation)? {
            Some(found) if store.locked_row(txn, "pg_class", &found)? => Ok(Some(found)),
            _ => Ok(None),
        },
    }
}

/// What `pg_class` is to say of a table's size.
fn size(rows: f64, pages: u32, visible: u32) -> [(&'static str, Datum); 3] {
    [
        ("relallvisible", Datum::Int4(visible.min(pages) as i32)),
        ("reltuples", Datum::Float4(rows as f32)),
        ("relpages", Datum::Int4(pages as i32)),
    ]
}

/// Samples a table and writes down what it tells of these columns (from 0).
fn analyze(
    b: &mut Backend,
    table: &TableDef,
    columns: &[u16],
    pace: &mut Pace<'_>,
) -> Result<Counted> {
    let before = b.heap(table)?.activity();
    let wanted = wanted::of(b, table, columns)?;
    let most = wanted.iter().map(|of| ROWS_PER_ENTRY * of.target).max().unwrap_or(0);
    let sample = sample::take(b, b.heap(table)?, table, most.max(ROWS_MIN), pace)?;
    for &Wanted { at, target, distinct } in &wanted {
        let column = &table.columns[usize::from(at)];
        let values: Vec<&Datum> = sample.rows.iter().map(|row| &row[usize::from(at)]).collect();
        let sampled = Sampled { rows: values.len(), total: sample.total, target };
        let operators = Operators::of(column.ty.id);
        let mut found = column::examine(&values, column.order(), operators.is_some(), sampled);
        found.distinct = distinct.unwrap_or(found.distinct);
        pace.rest()?;
        if !values.is_empty() {
            write(b, table, at, column, &mut found, operators)?;
        }
    }
    let shares = indexes::shares(b, table, &sample.rows)?;
    Ok(Counted {
        rows: sample.total,
        entries: shares.iter().map(|share| Some((share * sample.total).ceil())).collect(),
        pages: sample.pages,
        sampled_pages: sample.sampled_pages,
        sampled_rows: sample.rows.len(),
        live: sample.live,
        dead: sample.dead,
        open: sample.open,
        before,
    })
}

/// The operators by which a type's values are listed and ordered.
#[derive(Clone, Copy)]
struct Operators {
    equal: Oid,
    less: Oid,
}

impl Operators {
    fn of(ty: TypeId) -> Option<Operators> {
        // Strings of limited length have text's.
        let ty = if ty == TypeId::VARCHAR { TypeId::TEXT } else { ty };
        let is_array = crate::types::type_info(ty).is_some_and(TypeInfo::is_array);
        // Arrays have those of all arrays, enums those of all enums.
        let ty = if is_array { TypeId::ANYARRAY } else { ty };
        let ty = if ty.is_enum() { TypeId::ANYENUM } else { ty };
        let own = |symbol: &str| {
            let mut of = crate::func::operators(symbol);
            of.find(|op| op.left == ty && op.right == ty).map(|op| op.oid)
        };
        Some(Operators { equal: own("=")?, less: own("<")? })
    }
}

fn write(
    b: &Backend,
    table: &TableDef,
    at: u16,
    column: &ColumnDef,
    found: &mut column::Found,
    operators: Option<Operators>,
) -> Result<()> {
    let store = &b.instance.store;
    let def = store.system_table("pg_statistic");
    let mut encoded = Vec::new();
    let values = loop {
        let values = row(table, at, column, found, operators);
        encoded.clear();
        let fits = def.desc.encode(&values, &mut encoded).map(|()| encoded.len());
        // A row has to fit a page: with long values fewer are listed.
        match fits {
            Ok(bytes) if bytes + TUPLE_HEADER_BYTES <= MAX_ROW_BYTES => break values,
            _ if halve(found) => {}
            Ok(_) => break values,
            Err(error) => return Err(error),
        }
    };
    let key = [Datum::Oid(table.oid), Datum::Int2(at as i16 + 1), Datum::Bool(false)];
    let index = "pg_statistic_relid_att_inh_index";
    match store.find_one(&b.txn, "pg_statistic", index, &key)? {
        Some(old) => store.update(&b.txn, "pg_statistic", &old, &values),
        None => store.insert(&b.txn, "pg_statistic", &values).map(|_| ()),
    }
}

/// Takes out every other bound and the less common half of the list. False: nothing is left to take.
fn halve(found: &mut column::Found) -> bool {
    if found.bounds.len() < 3 && found.common.is_empty() {
        let had = !found.bounds.is_empty();
        found.bounds.clear();
        return had;
    }
    found.common.truncate(found.common.len() / 2);
    let old = std::mem::take(&mut found.bounds);
    let parts = if old.len() < 2 { 0 } else { old.len().div_ceil(2).max(2) };
    found.bounds = (0..parts).map(|i| old[i * (old.len() - 1) / (parts - 1)].clone()).collect();
    true
}

/// A row of `pg_statistic`.
fn row(
    table: &TableDef,
    at: u16,
    column: &ColumnDef,
    found: &column::Found,
    operators: Option<Operators>,
) -> Vec<Datum> {
    let numbers = |list: Vec<f64>| -> Datum {
        let list = list.into_iter().map(|n| Datum::Float4(n as f32)).collect();
        Array::from_elements(TypeId::FLOAT4, list).into()
    };
    let values = |list: Vec<Datum>| -> Datum { Array::from_elements(column.ty.id, list).into() };
    let mut slots: Vec<(i16, Oid, Datum, Datum)> = Vec::new();
    if let Some(Operators { equal, less }) = operators {
        if !found.common.is_empty() {
            let (list, shares) = found.common.iter().cloned().unzip();
            slots.push((COMMON, equal, numbers(shares), values(list)));
        }
        if !found.bounds.is_empty() {
            slots.push((HISTOGRAM, less, Datum::Null, values(found.bounds.clone())));
        }
        if let Some(correlation) = found.correlation {
            slots.push((CORRELATION, less, numbers(vec![correlation]), Datum::Null));
        }
    }
    let collation = column.collation.oid;
    let mut row = RowBuilder::of("pg_statistic")
        .oid("starelid", table.oid)
        .set("staattnum", Datum::Int2(at as i16 + 1))
        .set("stainherit", false)
        .set("stanullfrac", Datum::Float4(found.nulls as f32))
        .set("stawidth", Datum::Int4(found.width as i32))
        .set("stadistinct", Datum::Float4(found.distinct as f32));
    for slot in 1..=5 {
        let unused = (0, Oid::INVALID, Datum::Null, Datum::Null);
        let (kind, op, numbers, values) = slots.get(slot - 1).cloned().unwrap_or(unused);
        let collation = if kind == 0 { Oid::INVALID } else { collation };
        row = row
            .set(&format!("stakind{slot}"), Datum::Int2(kind))
            .oid(&format!("staop{slot}"), op)
            .oid(&format!("stacoll{slot}"), collation)
            .set(&format!("stanumbers{slot}"), numbers)
            .set(&format!("stavalues{slot}"), values);
    }
    row.build()
}
