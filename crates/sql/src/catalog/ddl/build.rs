//! Reading a whole table, and filling a new index from it.

use std::sync::Arc;

use base::Fork;
use base::ids::Tid;
use storage::btree::NewEntry;
use storage::hash;
use storage::heap::{HeapRel, HeapScan, RowBuf, vm};
use storage::index::Index;
use storage::txn::{Snapshot, Txn};

use crate::catalog::store::building::{Building, Phase, Step, Told};
use crate::catalog::store::builtin::am_oid;
use crate::catalog::{AccessMethod, IndexDef, TableDef, parameters};
use crate::error::{Result, SqlError};
use crate::exec::spill::KeySorter;
use crate::exec::{self, Cx, State};
use crate::toast;
use crate::types::keycode::KeyColumn;
use crate::types::row::RowView;
use crate::types::{Datum, Oid};

use super::{Ddl, DdlHost};

/// All rows of a table that the transaction sees, as a rule as of now.
pub(super) struct TableRows {
    scan: HeapScan,
    root: Tid,
    values: Vec<Datum>,
    count: u32,
    snapshot: Snapshot,
    /// Who is told of the blocks, how many were begun, and how many there are.
    building: Option<Arc<Building>>,
    blocks: u32,
    blocks_total: u32,
}

impl TableRows {
    pub(super) fn start(host: &mut dyn DdlHost, table: &TableDef) -> Result<TableRows> {
        let snapshot = host.txn().fresh_snapshot();
        TableRows::start_at(host, table, snapshot)
    }

    /// Those that a snapshot sees, which is in force.
    pub(super) fn start_at(
        host: &mut dyn DdlHost,
        table: &TableDef,
        snapshot: Snapshot,
    ) -> Result<TableRows> {
        let reach = host.maintenance_reach();
        let heap = host.heap(table)?;
        let scan = HeapScan::for_index(heap, snapshot)?.reading_ahead(heap, reach);
        let values = vec![Datum::Null; table.columns.len()];
        let building = host.building().cloned();
        let blocks_total = scan.blocks_left();
        if let Some(building) = &building {
            building.tell(Told::BlocksTotal, i64::from(blocks_total));
        }
        let root = Tid::INVALID;
        Ok(TableRows { scan, root, values, count: 0, snapshot, building, blocks: 0, blocks_total })
    }

    /// The next row's columns.
    pub(super) fn next(
        &mut self,
        host: &mut dyn DdlHost,
        table: &TableDef,
    ) -> Result<Option<&[Datum]>> {
        self.count = self.count.wrapping_add(1);
        if self.count.is_multiple_of(256) {
            base::park::checkpoint();
            base::interrupt::check().map_err(crate::error::interrupted)?;
        }
        let Some(row) = self.scan.next(host.heap(table)?, host.txn())? else {
            self.note_end();
            return Ok(None);
        };
        self.root = row.root;
        note_block(self.building.as_deref(), &mut self.blocks, row.root);
        let row = toast::whole(table, row.bytes)?;
        RowView::new(&table.desc, &row).decode_prefix(&mut self.values);
        Ok(Some(&self.values))
    }

    /// Hands all rows that are left to `take`, undecoded, with their roots.
    fn each(
        &mut self,
        heap: &HeapRel,
        txn: &Txn,
        table: &TableDef,
        index: &IndexDef,
        mut take: impl FnMut(RowView<'_>, Tid) -> Result<()>,
    ) -> Result<()> {
        // Reading each page is a point to yield and to be canceled at.
        while let Some(row) = self.scan.next(heap, txn)? {
            note_block(self.building.as_deref(), &mut self.blocks, row.root);
            let wanted = |column| index.columns().any(|c| usize::from(c) == column);
            let bytes = toast::inlined(table, row.bytes, wanted)?;
            take(RowView::new(&table.desc, &bytes), row.root)?;
        }
        self.note_end();
        Ok(())
    }

    /// Tells of the blocks behind the last row, too.
    fn note_end(&self) {
        if let Some(building) = &self.building {
            building.tell(Told::BlocksDone, i64::from(self.blocks_total));
        }
    }

    /// The address that index entries of the current row carry.
    pub(super) fn root(&self) -> Tid {
        self.root
    }

    /// Whether an older snapshot may see row versions that were not handed out.
    pub(super) fn has_older(&self) -> bool {
        self.scan.has_older()
    }
}

/// Bytes of a TID, and of a key's length, in what is sorted.
const TID_BYTES: usize = 6;
const LENGTH_BYTES: usize = 2;

/// Makes a key that sorts by itself and by the TID, and takes along what its entry carries: key, TID, carried bytes,
/// key's length. No key begins another.
fn join_parts(key: &mut Vec<u8>, carried: &[u8], tid: Tid) {
    // A key that is longer is refused when it is entered.
    let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
    key.extend_from_slice(&tid.to_u64().to_be_bytes()[2..]);
    key.extend_from_slice(carried);
    key.extend_from_slice(&length.to_le_bytes());
}

/// The key, and what its entry carries.
fn parts<'s>(index: &IndexDef, sorted: &'s [u8]) -> (&'s [u8], &'s [u8]) {
    if index.included.is_empty() {
        return (sorted, &[]);
    }
    let (rest, length) = sorted.split_at(sorted.len() - LENGTH_BYTES);
    let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
    let (key, rest) = rest.split_at(length);
    (key, &rest[TID_BYTES..])
}

/// Rows of a block of which nothing is known.
const ROWS_OF_A_BLOCK: f64 = 100.0;

/// How many entries a table of so many blocks will have in an index, about.
fn entries_expected(table: &TableDef, blocks: u32) -> u64 {
    let density = match (table.stored_rows, table.stored_blocks) {
        (rows, in_blocks) if rows >= 0.0 && in_blocks > 0 => f64::from(rows) / f64::from(in_blocks),
        _ => ROWS_OF_A_BLOCK,
    };
    (density * f64::from(blocks)) as u64
}

/// Tells of a block when its first row is met.
fn note_block(building: Option<&Building>, blocks: &mut u32, root: Tid) {
    if root.block.0 >= *blocks {
        *blocks = root.block.0 + 1;
        if let Some(building) = building {
            building.tell(Told::BlocksDone, i64::from(*blocks));
        }
    }
}

/// What `pg_class` says of a relation's size.
fn size(rows: u64, pages: u32) -> [(&'static str, Datum); 2] {
    [("reltuples", Datum::Float4(rows as f32)), ("relpages", Datum::Int4(pages as i32))]
}

/// What an index is built from.
struct Entries {
    sorter: KeySorter,
    count: u64,
    /// Of the table, also those without an entry.
    rows: u64,
    /// Older snapshots may see versions that have no entry.
    has_older: bool,
    /// Sees the rows.
    snapshot: Snapshot,
}

/// What an index was filled with.
struct Filled {
    entries: u64,
    rows: u64,
    has_older: bool,
}

impl Ddl<'_> {
    /// Fills an empty index from its table: entries sorted, pages written in order. Equal keys of a
    /// unique index are `23505`. The index gets one entry for each row that there is, under the key of its
    /// newest version; where older snapshots may see other versions, or rows deleted since, they must do
    /// without the index (`pg_index.indcheckxmin`).
    pub(super) fn build_index(&mut self, table: Oid, index: Oid) -> Result<()> {
        let table = self.table(table)?;
        let filled = self.fill_index(&table, index)?;
        self.note_sizes(&table, index, &filled)?;
        self.set_check_xmin(&table, index, filled.has_older)
    }

    /// The same while others write. What they write, and what older snapshots see, is the caller's care.
    pub(super) fn build_index_beside(&mut self, table: Oid, index: Oid) -> Result<()> {
        // In force to the end of the transaction, whatever is looked up meanwhile.
        let _ = self.host.txn().hold(self.host.txn().fresh_snapshot());
        let table = self.table(table)?;
        let filled = self.fill_index(&table, index)?;
        self.note_sizes(&table, index, &filled)
    }

    /// Writes down how large the new index is, and the table; not of one of whose indexes somebody else is making, too.
    fn note_sizes(&mut self, table: &TableDef, index: Oid, filled: &Filled) -> Result<()> {
        let index = self.table(table.oid)?.index(index).expect("the index was just made").clone();
        let pages = self.host.tree(&index)?.relation().blocks(Fork::Main)?;
        self.update_class(index.oid, &size(filled.entries, pages))?;
        let heap = self.host.heap(table)?.relation();
        let (pages, (visible, _)) = (heap.blocks(Fork::Main)?, vm::count(heap)?);
        if table.is_catalog() || (filled.rows == 0 && table.stored_rows < 0.0) {
            return Ok(());
        }
        let key = [Datum::Oid(table.oid)];
        let (txn, store) = (self.host.txn(), self.store());
        let Some(found) = store.find_one(txn, "pg_class", "pg_class_oid_index", &key)? else {
            return Ok(());
        };
        if store.locked_row(txn, "pg_class", &found)? {
            let visible = ("relallvisible", Datum::Int4(visible.min(pages) as i32));
            let [rows, pages] = size(filled.rows, pages);
            store.update_columns(txn, "pg_class", &found, &[rows, pages, visible])?;
            self.changed(table.oid)?;
        }
        Ok(())
    }

    fn fill_index(&mut self, table: &TableDef, index: Oid) -> Result<Filled> {
        let index = table.index(index).expect("the index was just made").clone();
        let mut state = State::default();
        if let Some(building) = self.host.building() {
            building.at_table(table.oid);
            building.at_index(index.oid, am_oid(index.method));
            building.enter(Phase::Build);
        }
        self.tell(Told::Step, Step::ScanTable as i64);
        let Entries { sorter, count, rows, has_older, snapshot } =
            self.index_entries(table, &index, &mut state)?;
        self.tell(Told::Step, Step::SortRows as i64);
        let mut entries = sorter.finish()?;
        self.tell(Told::Step, Step::Load as i64);
        self.tell(Told::RowsTotal, count as i64);
        let building = self.host.building().cloned();
        let mut done = 0;
        let mut loaded = || {
            done += 1;
            if let Some(building) = &building {
                building.tell(Told::RowsDone, done);
            }
            base::park::checkpoint();
        };
        match self.host.tree(&index)?.clone() {
            Index::BTree(tree) => {
                let mut builder = tree.build()?;
                let mut last: Option<Vec<u8>> = None;
                while let Some((sorted, tid)) = entries.next_entry()? {
                    let (key, carried) = parts(&index, sorted);
                    if index.unique {
                        if last.as_deref() == Some(key) {
                            self.check_repeated(table, &index, tid, &snapshot, &mut state)?;
                        }
                        let last = last.get_or_insert_default();
                        last.clear();
                        last.extend_from_slice(key);
                    }
                    let entry = NewEntry { key, carried, tid };
                    builder.push(entry).map_err(|e| exec::refused(e, table, &index, tid))?;
                    loaded();
                }
                builder.finish()?;
            }
            Index::Hash(hash) => {
                let percent = parameters::fill_percent(&index.parameters);
                let mut builder = hash.build(count, percent.unwrap_or(hash::FILL_PERCENT))?;
                while let Some((order, tid)) = entries.next_entry()? {
                    builder.push_in_order(order, tid)?;
                    loaded();
                }
                builder.finish()?;
            }
        }
        Ok(Filled { entries: count, rows, has_older })
    }

    /// All rows' keys; for a hash index their hashes instead, in the order of its buckets.
    fn index_entries(
        &mut self,
        table: &TableDef,
        index: &IndexDef,
        state: &mut State,
    ) -> Result<Entries> {
        let mut rows = TableRows::start(self.host, table)?;
        let expected = entries_expected(table, rows.scan.blocks_left());
        let mut sorter = self.key_sorter(expected);
        let mut key = Vec::new();
        let mut count = 0;
        let is_hash = index.method == AccessMethod::Hash;
        let mut push = |key: &mut Vec<u8>, carried: &[u8], root: Tid| {
            count += 1;
            if is_hash {
                return sorter.push(&hash::build_order(hash::key_hash(key)), root);
            }
            if !carried.is_empty() {
                join_parts(key, carried, root);
            }
            sorter.push(key, root)
        };
        let mut carried = Vec::new();
        if !index.has_expressions() {
            let columns: Vec<(KeyColumn, usize)> = index
                .keys
                .iter()
                .zip(index.key_columns())
                .map(|(key, column)| (key.code(), usize::from(column.expect("plain columns"))))
                .collect();
            let heap = self.host.heap(table)?;
            let mut met = 0;
            rows.each(heap, self.host.txn(), table, index, |row, root| {
                met += 1;
                if is_hash && row.is_null(columns[0].1) {
                    return Ok(());
                }
                key.clear();
                columns.iter().for_each(|(code, column)| code.encode(&row.get(*column), &mut key));
                if !index.included.is_empty() {
                    let values = index.included.iter().map(|column| row.get(usize::from(*column)));
                    carried.clear();
                    index.carried.encode(&values.collect::<Vec<_>>(), &mut carried)?;
                }
                push(&mut key, &carried, root)
            })?;
            return Ok(Entries {
                sorter,
                count,
                rows: met,
                has_older: rows.has_older(),
                snapshot: rows.snapshot,
            });
        }
        let mut met = 0;
        while let Some(row) = rows.next(self.host, table)? {
            met += 1;
            let row = row.to_vec();
            let mut cx = Cx { state, host: &mut *self.host };
            let Some(values) = exec::index_values(index, &row, &mut cx)? else { continue };
            if !index.holds(&values) {
                continue;
            }
            key.clear();
            exec::index_key(index, &values, &mut key);
            exec::carry(index, &row, &mut carried)?;
            push(&mut key, &carried, rows.root())?;
        }
        let has_older = rows.has_older();
        Ok(Entries { sorter, count, rows: met, has_older, snapshot: rows.snapshot })
    }

    /// A sorter for so many entries, about.
    pub(super) fn key_sorter(&self, expected: u64) -> KeySorter {
        let (space, memory) = (self.host.temp(), self.host.maintenance_mem_bytes());
        KeySorter::with(space, memory, self.host.sort_helpers(), expected)
    }

    /// Notes in `pg_index` who may use the index just built.
    fn set_check_xmin(&mut self, table: &TableDef, index: Oid, check: bool) -> Result<()> {
        let (txn, store) = (self.host.txn(), self.store());
        let key = [Datum::Oid(index)];
        let row = store.find_one(txn, "pg_index", "pg_index_indexrelid_index", &key)?;
        let row = row.ok_or_else(|| SqlError::internal("an index has a row in pg_index"))?;
        // Written again when it has to be checked, so that its maker is who built the index.
        if check || row.row.bool("indcheckxmin") {
            txn.next_command()?;
            let changes = [("indcheckxmin", Datum::Bool(check))];
            store.update_columns(txn, "pg_index", &row, &changes)?;
            self.changed(table.oid)?;
        }
        Ok(())
    }

    /// The row's key in a unique index is that of the row before; only keys with nulls may repeat. Look at the
    /// row to find out.
    fn check_repeated(
        &mut self,
        table: &TableDef,
        index: &IndexDef,
        tid: Tid,
        snapshot: &Snapshot,
        state: &mut State,
    ) -> Result<()> {
        let mut stored = RowBuf::default();
        let heap = self.host.heap(table)?;
        if !heap.fetch(self.host.txn(), snapshot, tid, &mut stored)? {
            return Ok(());
        }
        let mut row = vec![Datum::Null; table.columns.len()];
        let bytes = toast::whole(table, stored.bytes())?;
        RowView::new(&table.desc, &bytes).decode_prefix(&mut row);
        let mut cx = Cx { state, host: &mut *self.host };
        let Some(values) = exec::index_values(index, &row, &mut cx)? else { return Ok(()) };
        if !exec::must_be_alone(index, &values) {
            return Ok(());
        }
        let key = exec::key_text(table, index, &values, &cx);
        Err(crate::error::sql_error!(
            UNIQUE_VIOLATION,
            "could not create unique index \"{}\"",
            index.name
        )
        .with_detail(format!("Key {key} is duplicated."))
        .with_table(&table.schema_name, &table.name)
        .with_constraint(&index.name))
    }
}
