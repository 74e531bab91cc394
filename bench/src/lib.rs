//! Micro-benchmarks, the canned-reply ceiling and in-process drivers.

pub mod cpu;
pub mod figures;
pub mod options;
pub mod pgbench;
pub mod record;
pub mod servers;
