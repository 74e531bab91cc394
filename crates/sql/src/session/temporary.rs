//! Temporary tables whose rows, or which themselves, go with the transaction: ON COMMIT DELETE ROWS and DROP.

use base::ids::Fork;
use syntax::ast::{
    DropObjects, Loc, ObjectKind, ObjectName, OnCommit, QualifiedName, RelationRef, Statement,
    Truncate,
};

use crate::catalog::{TableDef, ddl};
use crate::error::Result;
use crate::types::Oid;

use super::Session;

impl Session {
    /// Does to the session's temporary tables what was said when they were made. To be called when nothing else is
    /// left to do before the commit.
    pub(super) fn end_temporary_tables(&mut self) -> Result<()> {
        if self.backend.on_commit.is_empty() {
            return Ok(());
        }
        let tables: Vec<(Oid, OnCommit)> = std::mem::take(&mut self.backend.on_commit);
        let mut kept = Vec::with_capacity(tables.len());
        let mut result = Ok(());
        for (oid, what) in tables {
            // One that is dropped, or was made by what was rolled back, is not there any more.
            let table = self.backend.catalog.table(&self.backend.txn, oid)?;
            let Some(table) = table.filter(|_| result.is_ok()) else { continue };
            if what == OnCommit::DeleteRows {
                kept.push((oid, what));
            }
            result = self.end_temporary_table(&table, what);
        }
        // A commit that fails drops nothing.
        self.backend.on_commit = kept;
        result
    }

    fn end_temporary_table(&mut self, table: &TableDef, what: OnCommit) -> Result<()> {
        let statement = match what {
            OnCommit::PreserveRows => return Ok(()),
            OnCommit::Drop => {
                let parts = vec![table.schema_name.clone(), table.name.clone()];
                Statement::Drop(Box::new(DropObjects {
                    kind: ObjectKind::Table,
                    names: vec![ObjectName::Name(QualifiedName { parts, loc: Loc::NONE })],
                    if_exists: false,
                    cascade: true,
                    concurrently: false,
                }))
            }
            OnCommit::DeleteRows => {
                let heap = self.backend.instance.store.heap(table)?;
                if heap.relation().blocks(Fork::Main)? == 0 {
                    return Ok(());
                }
                let relation = RelationRef {
                    catalog: None,
                    schema: Some(table.schema_name.clone()),
                    name: table.name.clone(),
                    only: false,
                    loc: Loc::NONE,
                };
                Statement::Truncate(Box::new(Truncate {
                    relations: vec![relation],
                    restart_identity: false,
                    cascade: false,
                }))
            }
        };
        let told = self.backend.notices.len();
        let done = ddl::execute(&mut self.backend, &statement);
        // Nobody asked for this now.
        self.backend.notices.truncate(told);
        done.expect("both are catalog statements").map(drop)
    }
}
