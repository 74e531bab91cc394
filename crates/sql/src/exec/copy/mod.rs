//! COPY's text and CSV formats: options, reading records, writing records. Bytes only; values are the
//! caller's.

mod options;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use options::{Columns, CopyFormat, Header, Kind};
pub use read::{CopyReader, Record};
pub use write::write_record;
