//! VACUUM and ANALYZE.

use storage::heap::HeapScan;
use storage::lock::LockMode;
use storage::vacuum::Options;
use syntax::ast::{DefOption, OptionValue, Vacuum};

use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, sql_error};
use crate::exec::Host;
use crate::types::{Datum, Oid};

use super::Session;

impl Session {
    pub(super) fn vacuum(&mut self, vacuum: &Vacuum) -> Result<String> {
        if vacuum.vacuum {
            self.refuse_block("VACUUM")?;
        }
        let asked = |option: &DefOption| &*option.name == "analyze" && is_on(option);
        let analyzes = !vacuum.vacuum || vacuum.options.iter().any(asked);
        let mut tables = Vec::new();
        for one in &vacuum.relations {
            let found = self.backend.with_catalog(|catalog| catalog.relation(&one.relation))?;
            let Some(table) = found else {
                return Err(crate::bind::at(
                    sql_error!(
                        UNDEFINED_TABLE,
                        "relation \"{}\" does not exist",
                        one.relation.name
                    ),
                    one.relation.loc,
                ));
            };
            tables.push(table.oid);
        }
        if vacuum.relations.is_empty() {
            tables = self.every_table()?;
        }
        for oid in tables {
            // Keeps indexes from being added or dropped meanwhile, and other vacuums away.
            let backend = &self.backend;
            backend.catalog.lock(&backend.txn, oid, LockMode::ShareUpdateExclusive)?;
            // As it is under the lock; it may have been dropped before.
            let Some(table) = backend.catalog.table(&backend.txn, oid)? else { continue };
            if vacuum.vacuum {
                self.clean_table(&table)?;
            }
            self.count_table(&table, analyzes)?;
        }
        Ok(if vacuum.vacuum { "VACUUM" } else { "ANALYZE" }.to_owned())
    }
}

impl Session {
    /// All tables, system tables among them, but for temporary ones.
    fn every_table(&self) -> Result<Vec<Oid>> {
        let backend = &self.backend;
        let classes = backend.instance.store.scan(&backend.txn, "pg_class", |row| {
            row.letter("relkind") == b'r' && row.letter("relpersistence") != b't'
        })?;
        Ok(classes.iter().map(|found| found.row.oid("oid")).collect())
    }

    /// Removes a table's dead rows and their index entries.
    fn clean_table(&mut self, table: &TableDef) -> Result<()> {
        if table.kind != TableKind::Table {
            return Ok(());
        }
        let backend = &self.backend;
        // This transaction's own snapshot must not keep alive what nobody else sees.
        backend.txn.release_statement();
        let store = &backend.instance.store;
        let mut trees = Vec::with_capacity(table.indexes.len());
        for index in &table.indexes {
            trees.push(store.tree(index)?.clone());
        }
        storage::vacuum::vacuum(backend.heap(table)?, &trees, &Options::default())?;
        Ok(())
    }

    /// Counts a table's rows and blocks, for the planner and `pg_class`.
    fn count_table(&mut self, table: &TableDef, analyzes: bool) -> Result<()> {
        if table.kind != TableKind::Table || table.is_catalog() {
            return Ok(());
        }
        let backend = &self.backend;
        let heap = backend.heap(table)?;
        let before = heap.activity();
        let snapshot = backend.txn.statement_snapshot();
        let mut scan = HeapScan::new(heap, snapshot)?;
        let mut rows = 0u64;
        while scan.next(heap, &backend.txn)?.is_some() {
            rows += 1;
            if rows.is_multiple_of(1024) {
                base::park::checkpoint();
                base::interrupt::check().map_err(crate::error::interrupted)?;
            }
        }
        let blocks = heap.relation().blocks(base::Fork::Main)?;
        if analyzes {
            heap.note_analyzed(false, rows, &before);
        }
        let store = &backend.instance.store;
        let key = [Datum::Oid(table.oid)];
        let row = store.find_one(&backend.txn, "pg_class", "pg_class_oid_index", &key)?;
        if let Some(row) = row {
            let counts = [
                ("reltuples", Datum::Float4(rows as f32)),
                ("relpages", Datum::Int4(blocks as i32)),
            ];
            store.update_columns(&backend.txn, "pg_class", &row, &counts)?;
            backend.catalog.note_change(&backend.txn, table.oid)?;
        }
        Ok(())
    }
}

/// Whether an option without a value, or with a word or number for yes, is set.
fn is_on(option: &DefOption) -> bool {
    match &option.value {
        None => true,
        Some(OptionValue::Bool(on)) => *on,
        Some(OptionValue::Integer(n)) => *n != 0,
        Some(OptionValue::String(word)) => {
            !matches!(&*word.to_ascii_lowercase(), "off" | "false" | "no" | "0")
        }
        Some(_) => true,
    }
}
