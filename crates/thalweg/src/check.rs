//! `thalweg check`: every page's checksum, every structure, and that tables and indexes agree.

use std::path::Path;
use std::sync::Arc;

use base::disk::real::RealDisk;
use base::{BlockNo, Env, Fork, PageId, Persistence, RelId};
use server::config::Config;
use server::{Database, StartError};
use sql::catalog::store::{Cluster, Store};
use sql::catalog::verify;
use sql::catalog::{TableDef, TableKind};
use sql::session::Verifier;
use sql::types::Oid;
use storage::check::Report;
use storage::page::{self, PAGE_BYTES};
use storage::relfile::{self, RelFiles};
use storage::txn::{Isolation, Txn};
use storage::{Engine, check as storage_check};

/// What was looked at, and everything found wrong.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Pages whose checksums were verified, those of status logs among them.
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
    let database = Database::open_at_rest(data, "", &config)?;
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
    let status_logs = storage_check::status_logs(database.engine().txns().txlog(), &mut report);
    // What can't be read of them is found by whoever asks what became of a transaction, too.
    if let Err(fault) = status_logs {
        report.faults.push(fault.to_string());
    }
    let result = databases(database.cluster(), &txn, checked, &mut report);
    txn.abort();
    checked.pages += report.status_pages;
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
        relation(&cluster.shared, table, None, checked, report);
        name_faults(&mut report.faults[before..], table.qualified());
    }
    for row in cluster.shared.scan(txn, "pg_database", |_| true)? {
        let instance = cluster.database(row.row.oid("oid"));
        let before = report.faults.len();
        let mut verifier = Verifier::open(cluster, &instance)?;
        relations(&instance.store, txn, &mut verifier, checked, report)?;
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
    verifier: &mut Verifier,
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
        relation(store, &def, Some(&mut *verifier), checked, report);
        name_faults(&mut report.faults[before..], def.qualified());
    }
    Ok(())
}

/// Views have no storage, and what temporary tables held went with their sessions.
fn is_on_disk(storage: RelId) -> bool {
    storage != RelId(0) && storage.persistence() != Persistence::Temporary
}

/// Without a verifier, which the tables that all databases share do not have, no index has an expression or a condition.
fn relation(
    store: &Store,
    def: &TableDef,
    verifier: Option<&mut Verifier>,
    checked: &mut Checked,
    report: &mut Report,
) {
    let looked_at = match def.kind {
        TableKind::Table | TableKind::MaterializedView => {
            checked.tables += 1;
            checked.indexes += def.indexes.len() as u64;
            let structures = match verifier {
                Some(verifier) => verifier.table(def, report),
                None => table(store, def, report),
            };
            structures.and_then(|()| sql::toast::check(store, def, &mut report.faults))
        }
        TableKind::Toast => {
            store.heap(def).and_then(|heap| Ok(storage_check::table(heap, &[], report)?))
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

/// Verifies a table with its indexes.
fn table(store: &Store, def: &TableDef, report: &mut Report) -> Result<(), sql::error::SqlError> {
    let indexes: Vec<_> = def.indexes.iter().map(|index| &**index).collect();
    verify::verify(store, def, &indexes, None, report)
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
                    checked.faults.push(format!("block {block} of file \"{file}\": {mismatch}"));
                }
            }
        }
    }
    Ok(())
}
