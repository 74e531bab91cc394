//! Types, catalog, binder, planner, executor, session.

pub mod error;
pub mod types;
