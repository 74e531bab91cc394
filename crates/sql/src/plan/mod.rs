//! Planner: how a bound statement is run.

pub mod node;
