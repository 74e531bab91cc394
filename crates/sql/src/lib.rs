//! Types, catalog, binder, planner, executor, session.

pub mod bind;
pub mod cache;
pub mod catalog;
pub mod error;
pub mod exec;
pub mod func;
mod options;
pub mod password;
pub mod plan;
pub mod session;
pub mod settings;
mod steps;
pub mod toast;
pub mod types;
