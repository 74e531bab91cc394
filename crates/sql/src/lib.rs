//! Types, catalog, binder, planner, executor, session.

pub mod error;
pub mod func;
pub mod session;
pub mod types;
