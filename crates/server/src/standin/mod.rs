//! Stands in for the SQL layer's sessions until they are there, with the calls that
//! `crates/sql/src/session/README.md` lists. It knows no SQL: only the statements that `pgbench`
//! sends and those that the server's tests need, by how they begin. Its transactions are storage's,
//! so its commits wait for the log as real ones do.

mod session;
mod statement;

pub(crate) use session::{Session, Status};
