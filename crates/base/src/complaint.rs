//! Lines on standard error, from whoever has nobody to answer to.

use std::fmt;
use std::io::Write;

/// Writes a line to standard error, formatted as by `format!`. Where that can't be written (a full disk, a pipe that
/// nobody reads any more) the line is lost: `eprintln!` would end the process instead.
#[macro_export]
macro_rules! complain {
    ($($message:tt)+) => { $crate::complaint::write(format_args!($($message)+)) };
}

/// Writes a line to standard error; [`crate::complain!`] calls it.
pub fn write(message: fmt::Arguments<'_>) {
    // One write for the whole line, so that lines of several threads do not mix.
    let line = format!("{message}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
