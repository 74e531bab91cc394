//! Stands in for the SQL layer's sessions until they are there, with the calls that
//! `crates/sql/src/session/README.md` lists. It knows no SQL: only the statements that `pgbench`
//! sends and those that the server's tests need, by how they begin.

mod session;
mod statement;
mod wal;

use std::sync::Arc;

pub(crate) use session::{Session, Status};
pub(crate) use wal::{DurableWatch, Wal};

/// The database.
pub struct Instance {
    wal: Wal,
}

impl Instance {
    pub fn open() -> Arc<Instance> {
        Arc::new(Instance { wal: Wal::open() })
    }

    pub(crate) fn wal(&self) -> &Wal {
        &self.wal
    }
}
