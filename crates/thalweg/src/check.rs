//! `thalweg check`: every page's checksum, every structure, and that tables and indexes agree.

use std::path::Path;
use std::sync::Arc;

use base::disk::real::RealDisk;
use base::{BlockNo, Env, Fork, PageId, Persistence, RelId};
use server::config::Config;
use server::{Database, StartError};
use sql::catalog::store::{Cluster, Store};
use sql::catalog::{AccessMethod, IndexDef, TableDef, TableKind};
use sql::types::row::RowView;
use sql::types::{Datum, Oid};
use storage::check::{Content, ContentOf, Indexed, Report};
use storage::index::Index;
use storage::page::{self, PAGE_BYTES};
use storage::relfile::{self, RelFiles};
use storage::txn::{Isolation, Txn};
use storage::{Engine, check as storage_check};

/// What was looked at, and everything found wrong.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Pages whose checksums were verified.
    pub pages: u64,
    /// Tables, system tables among them.
    pub tables: u64,
    pub indexes: u64,
    pub sequences: u64,
    /// Row versions.
    pub rows: u64,
    pub entries: u64,
    /// A sentence for each fault.
    pub faults: Vec<String>,
}

/// Files that are open at a time.
const OPEN_FILES_MAX: usize = 200;

/// Verifies a data directory that no server is using. A directory that was not closed in order is
/// recovered first, as a start would do.
///
/// # Errors
/// A directory that cannot be opened. Faults inside it are in the result.
pub fn check(data: &Path) -> Result<Checked, StartError> {
    let env = Env::new(Arc::new(RealDisk::new(data)));
    if !matches!(Engine::exists(&env), Ok(true)) {
        let sentence = format!("there is no database in the directory {}", data.display());
        return Err(StartError::new(sentence));
    }
    let mut config = Config::new();
    config.read_file(data)?;
    let database = Database::open(data, "", &config)?;
    let mut checked = Checked::default();
    if let Err(fault) = structures(&database, &mut checked) {
        checked.faults.push(fault.to_string());
    }
    database.close()?;
    // Only now is everything in its place on the disk.
    if let Err(fault) = pages(&env, &mut checked) {
        checked.faults.push(fault.to_string());
    }
    Ok(checked)
}

/// Verifies everything that the `pg_class` of each database lists.
fn structures(database: &Database, checked: &mut Checked) -> Result<(), sql::error::SqlError> {
    let txn = Txn::attach(database.engine().txns(), 0, 0)?;
    txn.begin(Isolation::RepeatableRead);
    let mut report = Report::default();
    let result = databases(database.cluster(), &txn, checked, &mut report);
    txn.abort();
    (checked.rows, checked.entries) = (report.rows, report.entries);
    checked.faults.append(&mut report.faults);
    result
}

fn databases(
    cluster: &Arc<Cluster>,
    txn: &Txn,
    checked: &mut Checked,
    report: &mut Report,
) -> Result<(), sql::error::SqlError> {
    for table in cluster.shared.system_tables() {
        let before = report.faults.len();
        relation(&cluster.shared, table, checked, report);
        name_faults(&mut report.faults[before..], table.qualified());
    }
    for row in cluster.shared.scan(txn, "pg_database", |_| true)? {
        let instance = cluster.database(row.row.oid("oid"));
        let before = report.faults.len();
        relations(&instance.store, txn, checked, report)?;
        name_faults(&mut report.faults[before..], row.row.text("datname"));
    }
    Ok(())
}

/// Says of faults where they are.
fn name_faults(faults: &mut [String], place: impl std::fmt::Display) {
    for fault in faults {
        *fault = format!("{place}: {fault}");
    }
}

/// Verifies what one database has for itself.
fn relations(
    store: &Store,
    txn: &Txn,
    checked: &mut Checked,
    report: &mut Report,
) -> Result<(), sql::error::SqlError> {
    for class in store.scan(txn, "pg_class", |class| !class.bool("relisshared"))? {
        let oid: Oid = class.row.oid("oid");
        let def = match store.system_tables().find(|table| table.oid == oid) {
            Some(system) => Arc::clone(system),
            None => match store.load_table(txn, oid)? {
                Some(def) if is_on_disk(def.storage) => Arc::new(def),
                _ => continue,
            },
        };
        let before = report.faults.len();
        relation(store, &def, checked, report);
        name_faults(&mut report.faults[before..], def.qualified());
    }
    Ok(())
}

/// Views have no storage, and what temporary tables held went with their sessions.
fn is_on_disk(storage: RelId) -> bool {
    storage != RelId(0) && storage.persistence() != Persistence::Temporary
}

fn relation(store: &Store, def: &TableDef, checked: &mut Checked, report: &mut Report) {
    let looked_at = match def.kind {
        TableKind::Table => {
            checked.tables += 1;
            checked.indexes += def.indexes.len() as u64;
            table(store, def, report)
        }
        TableKind::Sequence => {
            checked.sequences += 1;
            storage_check::sequence(&store.sequence(def.storage), report).map_err(Into::into)
        }
        _ => Ok(()),
    };
    // A page that cannot be read ends this relation's examination, not everybody's.
    if let Err(fault) = looked_at {
        report.faults.push(fault.to_string());
    }
}

/// Verifies a table with its indexes. One on an expression, or with a condition, is verified by itself:
/// what its keys should be takes a session to work out. So is one that writers do not keep up; of one that is not
/// valid only what it has must be right.
fn table(store: &Store, def: &TableDef, report: &mut Report) -> Result<(), sql::error::SqlError> {
    let trees = (def.indexes.iter())
        .map(|index| Ok((index, store.tree(index)?)))
        .collect::<Result<Vec<(&Arc<IndexDef>, &Index)>, sql::error::SqlError>>()?;
    let (plain, others): (Vec<_>, Vec<_>) =
        trees.into_iter().partition(|(index, _)| index.ready && !index.has_expressions());
    let contents: Vec<Box<ContentOf<'_>>> =
        plain.iter().map(|(index, _)| content_of(def, index)).collect();
    let indexed: Vec<Indexed<'_>> = (plain.iter().zip(&contents))
        .map(|((index, tree), content_of)| Indexed {
            index: tree,
            content_of: &**content_of,
            complete: index.valid,
            unique: index.unique
                && index.valid
                && (index.nulls_not_distinct || never_null(def, index)),
        })
        .collect();
    storage_check::table(store.heap(def)?, &indexed, report)?;
    for (_, tree) in others {
        let (mut faults, mut entries) = (Vec::new(), 0);
        tree.check(&mut |fault| faults.push(fault), &mut |_, _, _| entries += 1)?;
        report.faults.append(&mut faults);
        report.entries += entries;
    }
    Ok(())
}

/// Works out what an index on plain columns has of a stored row.
fn content_of<'d>(def: &'d TableDef, index: &'d IndexDef) -> Box<ContentOf<'d>> {
    let columns: Vec<usize> = index.key_columns().flatten().map(usize::from).collect();
    Box::new(move |row| {
        let mut values = vec![Datum::Null; def.columns.len()];
        RowView::new(&def.desc, row).decode_prefix(&mut values);
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
        if !index.included.is_empty() {
            let of_row = index.included.iter().map(|column| values[usize::from(*column)].clone());
            let of_row: Vec<Datum> = of_row.collect();
            index.carried.encode(&of_row, &mut carried).ok()?;
        }
        Some(Content { key, carried })
    })
}

/// Whether no key of the index can be null: nulls are equal to none, their bytes are to each other.
fn never_null(def: &TableDef, index: &IndexDef) -> bool {
    index.key_columns().flatten().all(|column| def.columns[usize::from(column)].not_null)
}

/// Verifies the checksum of every page on the disk.
fn pages(env: &Env, checked: &mut Checked) -> storage::Result<()> {
    let files = RelFiles::open(Arc::clone(&env.disk), OPEN_FILES_MAX)?;
    let mut bytes = [0; PAGE_BYTES];
    for rel in files.relations()? {
        for fork in [Fork::Main, Fork::FreeSpace, Fork::Visibility] {
            for block in (0..files.blocks(rel, fork)?).map(BlockNo) {
                let id = PageId { rel, fork, block };
                checked.pages += 1;
                if let Err(fault) = files.read(id, &mut bytes) {
                    checked.faults.push(fault.to_string());
                } else if let Err(mismatch) = page::verify(&bytes, id) {
                    let file = relfile::path(rel, fork);
                    checked.faults.push(format!("block {block} of file \"{file}\": {mismatch:?}"));
                }
            }
        }
    }
    Ok(())
}
