//! Indexes that are made and dropped beside readers and writers, step by step. Each step is a transaction of its
//! own; the session ([`crate::session`]) waits for others in between, and holds a lock on the table throughout.
//!
//! | step | from then on |
//! |---|---|
//! | [`enter`], [`enter_copy`] | writers make no heap-only version that the index could not lead to |
//! | [`build`] | and enter new versions into the index |
//! | [`validate`] | every row that a snapshot since may see is in it |
//! | [`make_valid`], [`swap`] | queries use it |
//! | [`begin_drop`], [`swap`] | they do not, but writers keep it up |
//! | [`make_dead`] | nobody does |
//!
//! Between the steps all are waited out that hold the table by the definition of before. What fails leaves an
//! index that is not valid.

use std::sync::Arc;

use base::ids::{Csn, Tid};
use base::rank::Rank;
use storage::btree::{Liveness, NewEntry};
use storage::heap::HeapScan;
use storage::index::{Index, KnownRows};
use storage::lock::LockMode;
use syntax::ast::{CreateIndex, DropObjects};

use crate::catalog::store::building::{Phase, Told};
use crate::catalog::store::builtin::am_oid;
use crate::catalog::store::lookup::pg_class;
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, SqlError};
use crate::exec::spill::SortedKeys;
use crate::exec::{self, Cx, State};
use crate::types::row::RowView;
use crate::types::{Datum, Oid};

use super::index::IndexState;
use super::{Ddl, DdlHost, names};

/// An index that is made or dropped beside readers and writers.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    pub table: Oid,
    pub index: Oid,
}

fn ddl(host: &mut dyn DdlHost) -> Ddl<'_> {
    Ddl::new(host)
}

/// CREATE INDEX CONCURRENTLY: the index's rows in the catalogs, and empty storage. `None`: it is there already, or
/// was made at once, since nobody else uses the table.
pub fn enter(host: &mut dyn DdlHost, create: &CreateIndex) -> Result<Option<Beside>> {
    let mut ddl = ddl(host);
    let Some((table, new)) = ddl.index_to_make(create, LockMode::ShareUpdateExclusive)? else {
        return Ok(None);
    };
    if table.persistence == base::Persistence::Temporary {
        ddl.new_index(&table, &new)?;
        return Ok(None);
    }
    let index = ddl.enter_index(&table, &new, IndexState::ENTERED)?;
    if let Some(building) = ddl.host.building() {
        building.at_index(index, am_oid(new.method));
    }
    Ok(Some(Beside { table: table.oid, index }))
}

/// REINDEX CONCURRENTLY: an index like another, under a name of its own.
pub fn enter_copy(host: &mut dyn DdlHost, old: Beside) -> Result<Beside> {
    ddl(host).enter_copy(old)
}

/// Fills an index with the rows that there are. Writers keep it up from when this commits.
pub fn build(host: &mut dyn DdlHost, beside: Beside) -> Result<()> {
    let mut ddl = ddl(host);
    ddl.lock_beside(beside)?;
    let table = ddl.table(beside.table)?;
    ddl.renew_index_storage(&table, beside.index)?;
    ddl.set_index_state(&table, beside.index, IndexState::READY)?;
    ddl.build_index_beside(beside.table, beside.index)
}

/// Enters the rows that came while the index was built. Who has no snapshot older than the one returned finds all
/// that it may see.
pub fn validate(host: &mut dyn DdlHost, beside: Beside) -> Result<Csn> {
    ddl(host).validate_index(beside)
}

/// CREATE INDEX CONCURRENTLY: the index is done.
pub fn make_valid(host: &mut dyn DdlHost, beside: Beside) -> Result<()> {
    let mut ddl = ddl(host);
    ddl.lock_beside(beside)?;
    let table = ddl.table(beside.table)?;
    ddl.set_index_state(&table, beside.index, IndexState::VALID)
}

/// REINDEX CONCURRENTLY: the new index takes the old one's name and place.
pub fn swap(host: &mut dyn DdlHost, old: Beside, new: Beside) -> Result<()> {
    ddl(host).swap_indexes(old, new)
}

/// DROP INDEX CONCURRENTLY: no query is to use the index any more. `None`: there is none to wait for.
pub fn begin_drop(host: &mut dyn DdlHost, drop: &DropObjects) -> Result<Option<Beside>> {
    ddl(host).begin_drop_beside(drop)
}

/// No query uses the index any more, and no writer is to keep it up.
pub fn make_dead(host: &mut dyn DdlHost, beside: Beside) -> Result<()> {
    let mut ddl = ddl(host);
    ddl.lock_beside(beside)?;
    let table = ddl.table(beside.table)?;
    ddl.set_index_state(&table, beside.index, IndexState::DEAD)
}

/// Nobody knows the index any more.
pub fn remove(host: &mut dyn DdlHost, beside: Beside) -> Result<()> {
    let mut ddl = ddl(host);
    ddl.lock_beside(beside)?;
    ddl.drop_index(beside.index, beside.table)
}

fn index_of(table: &TableDef, index: Oid) -> Result<&Arc<IndexDef>> {
    table.index(index).ok_or_else(|| SqlError::internal("the table's lock keeps its indexes"))
}

/// Entries of an index's block, with short keys.
const ENTRIES_OF_A_BLOCK: u64 = 400;

impl Ddl<'_> {
    /// The locks for one step.
    fn lock_beside(&mut self, beside: Beside) -> Result<()> {
        for relation in [beside.table, beside.index] {
            self.catalog.lock(self.host.txn(), relation, LockMode::ShareUpdateExclusive)?;
        }
        Ok(())
    }

    fn enter_copy(&mut self, old: Beside) -> Result<Beside> {
        self.lock_beside(old)?;
        let table = self.table(old.table)?;
        let definition = index_of(&table, old.index)?.clone();
        if let Some(building) = self.host.building() {
            building.at_index(old.index, am_oid(definition.method));
        }
        let new = self.new_oid()?;
        let name = {
            let (txn, schema) = (self.host.txn(), table.schema);
            let of = &definition.name;
            names::free_relation_name(&self.catalog, txn, schema, of, None, "ccnew")?
        };
        let (txn, store) = (self.host.txn(), self.store());
        let storage = store.create_storage(txn, table.persistence, Rank::IndexPage)?;
        let key = [Datum::Oid(old.index)];
        let gone = || SqlError::internal("an index has its rows in the catalogs");
        let class = store.find_one(txn, "pg_class", "pg_class_oid_index", &key)?;
        let class = class.ok_or_else(gone)?.row.with(&[
            ("oid", Datum::Oid(new)),
            ("relname", Datum::text(&*name)),
            ("relfilenode", Datum::Oid(Oid(storage.0))),
        ]);
        store.insert(txn, "pg_class", &class)?;
        for column in store.find(txn, "pg_attribute", "pg_attribute_relid_attnum_index", &key)? {
            let column = column.row.with(&[("attrelid", Datum::Oid(new))]);
            store.insert(txn, "pg_attribute", &column)?;
        }
        let index = store.find_one(txn, "pg_index", "pg_index_indexrelid_index", &key)?;
        let no = Datum::Bool(false);
        let mut changes = vec![
            ("indexrelid", Datum::Oid(new)),
            ("indisprimary", no.clone()),
            ("indisclustered", no.clone()),
            ("indisreplident", no.clone()),
            ("indcheckxmin", no),
        ];
        changes.extend(IndexState::ENTERED.columns());
        store.insert(txn, "pg_index", &index.ok_or_else(gone)?.row.with(&changes))?;
        self.changed(old.table)?;
        Ok(Beside { table: old.table, index: new })
    }

    /// See [`swap`].
    fn swap_indexes(&mut self, old: Beside, new: Beside) -> Result<()> {
        self.lock_beside(old)?;
        self.lock_beside(new)?;
        let table = self.table(old.table)?;
        let name = index_of(&table, old.index)?.name.clone();
        let aside = {
            let (txn, schema) = (self.host.txn(), table.schema);
            names::free_relation_name(&self.catalog, txn, schema, &name, None, "ccold")?
        };
        self.update_class(old.index, &[("relname", Datum::text(&*aside))])?;
        self.update_class(new.index, &[("relname", Datum::text(&*name))])?;
        self.take_over_place(old.index, new.index)?;
        self.take_over_constraints(old.index, new.index)?;
        self.take_over_comment(old.index, new.index)?;
        for changed in [old.index, new.index, old.table] {
            self.changed(changed)?;
        }
        Ok(())
    }

    /// What the table uses the old index for, it uses the new one for.
    fn take_over_place(&mut self, old: Oid, new: Oid) -> Result<()> {
        const PLACES: [&str; 5] =
            ["indisprimary", "indisexclusion", "indimmediate", "indisclustered", "indisreplident"];
        let (txn, store) = (self.host.txn(), self.store());
        txn.next_command()?;
        let row = |index: Oid| {
            let key = [Datum::Oid(index)];
            let found = store.find_one(txn, "pg_index", "pg_index_indexrelid_index", &key)?;
            found.ok_or_else(|| SqlError::internal("an index has a row in pg_index"))
        };
        let (from, to) = (row(old)?, row(new)?);
        let mut taken: Vec<(&str, Datum)> =
            PLACES.iter().map(|place| (*place, from.row.get(place).clone())).collect();
        taken.extend(IndexState::VALID.columns());
        store.update_columns(txn, "pg_index", &to, &taken)?;
        // What is immediate stays so: it is kept up as before.
        let left = PLACES.iter().filter(|place| **place != "indimmediate");
        let mut left: Vec<(&str, Datum)> = left.map(|place| (*place, Datum::Bool(false))).collect();
        left.extend(IndexState::READY.columns());
        store.update_columns(txn, "pg_index", &from, &left)
    }

    /// The constraint that the index implements, and foreign keys that refer to it.
    fn take_over_constraints(&mut self, old: Oid, new: Oid) -> Result<()> {
        let (txn, store) = (self.host.txn(), self.store());
        let of_old = store.scan(txn, "pg_constraint", |row| row.oid("conindid") == old)?;
        for found in of_old {
            store.update_columns(txn, "pg_constraint", &found, &[("conindid", Datum::Oid(new))])?;
            self.changed(found.row.oid("conrelid"))?;
        }
        for found in store.scan(txn, "pg_trigger", |row| row.oid("tgconstrindid") == old)? {
            store.update_columns(
                txn,
                "pg_trigger",
                &found,
                &[("tgconstrindid", Datum::Oid(new))],
            )?;
        }
        Ok(())
    }

    fn take_over_comment(&mut self, old: Oid, new: Oid) -> Result<()> {
        let (txn, store) = (self.host.txn(), self.store());
        let key = [Datum::Oid(old), Datum::Oid(pg_class())];
        for found in store.find(txn, "pg_description", "pg_description_o_c_o_index", &key)? {
            store.update_columns(txn, "pg_description", &found, &[("objoid", Datum::Oid(new))])?;
        }
        Ok(())
    }

    /// See [`validate`].
    fn validate_index(&mut self, beside: Beside) -> Result<Csn> {
        self.lock_beside(beside)?;
        // Everybody who writes knows the index: what this does not see has its entry, or is getting it.
        let snapshot = self.host.txn().fresh_snapshot();
        let _ = self.host.txn().hold(snapshot);
        let table = self.table(beside.table)?;
        let index = index_of(&table, beside.index)?.clone();
        let mut sorted = self.known_rows(&index)?;
        let mut next = || -> Result<Option<Tid>> { Ok(sorted.next_entry()?.map(|(_, tid)| tid)) };
        let mut known = KnownRows::default();
        let tree = self.host.tree(&index)?.clone();
        let mut scan = HeapScan::for_index(self.host.heap(&table)?, snapshot)?;
        self.tell(Told::BlocksTotal, i64::from(scan.blocks_left()));
        let (mut values, mut state) = (vec![Datum::Null; table.columns.len()], State::default());
        let mut done = 0;
        loop {
            let root = {
                let Some(row) = scan.next(self.host.heap(&table)?, self.host.txn())? else { break };
                if row.tid.block.0 >= done {
                    done = row.tid.block.0 + 1;
                    if let Some(building) = self.host.building() {
                        building.tell(Told::BlocksDone, i64::from(done));
                    }
                }
                if known.has(row.root, &mut next)? {
                    continue;
                }
                let bytes = crate::toast::whole(&table, row.bytes)?;
                RowView::new(&table.desc, &bytes).decode_prefix(&mut values);
                row.root
            };
            self.enter_missing(&table, &index, &tree, root, &values, &mut state)?;
        }
        Ok(snapshot.csn)
    }

    /// The rows that an index has entries for.
    fn known_rows(&mut self, index: &IndexDef) -> Result<SortedKeys> {
        self.enters(Phase::ScanIndex);
        let tree = self.host.tree(index)?.clone();
        let blocks = tree.relation().blocks(base::Fork::Main)?;
        self.tell(Told::BlocksTotal, i64::from(blocks));
        // They come in the order of their keys, not of their addresses.
        let mut sorter = self.key_sorter(u64::from(blocks) * ENTRIES_OF_A_BLOCK);
        tree.each_tid(&mut |tid| sorter.push(&tid.to_u64().to_be_bytes(), tid))?;
        self.tell(Told::BlocksDone, i64::from(blocks));
        self.enters(Phase::SortRows);
        let known = sorter.finish()?;
        self.enters(Phase::ScanTable);
        Ok(known)
    }

    /// Enters a row that came while the index was built. It may have gone since: then others may have its key.
    fn enter_missing(
        &mut self,
        table: &TableDef,
        index: &IndexDef,
        tree: &Index,
        root: Tid,
        row: &[Datum],
        state: &mut State,
    ) -> Result<()> {
        let mut cx = Cx { state, host: &mut *self.host };
        let Some(values) = exec::index_values(index, row, &mut cx)? else { return Ok(()) };
        if !index.holds(&values) {
            return Ok(());
        }
        let mut key = Vec::new();
        exec::index_key(index, &values, &mut key);
        let mut carried = Vec::new();
        exec::carry(index, row, &mut carried)?;
        let entry = NewEntry { key: &key, carried: &carried, tid: root };
        if !exec::must_be_alone(index, &values) {
            let entered = tree.insert(entry);
            return entered.map_err(|error| exec::refused(error, table, index, root));
        }
        let (heap, txn) = (self.host.heap(table)?, self.host.txn());
        let mut judge = |other: Tid| -> storage::Result<Liveness> { heap.liveness(txn, other) };
        match tree.insert_unique(txn, entry, &mut judge, &mut |other| heap.is_gone(other)) {
            Ok(()) => Ok(()),
            Err(storage::Error::Duplicate { .. }) => match heap.liveness(txn, root)? {
                Liveness::Dead => {
                    let entered = tree.insert(entry);
                    entered.map_err(|error| exec::refused(error, table, index, root))
                }
                _ => {
                    let mut cx = Cx { state, host: &mut *self.host };
                    Err(exec::duplicate(table, index, &values, &mut cx))
                }
            },
            Err(other) => Err(exec::refused(other, table, index, root)),
        }
    }
}
