//! The log: lines on standard error, each with its time.

use crate::clock;
use std::fmt;
use std::io::Write;

/// Writes a line to the log, formatted as by `format!`. Where standard error can't be written (a full disk, a pipe that
/// nobody reads any more) the line is lost: `eprintln!` would end the process instead.
#[macro_export]
macro_rules! log {
    ($($message:tt)+) => { $crate::log::write(format_args!($($message)+)) };
}

/// Writes a line to the log; [`crate::log!`] calls it.
pub fn write(message: fmt::Arguments<'_>) {
    write_as_is(format_args!("{} thalweg: {message}", clock::utc(clock::wall_micros())));
}

/// Writes a line without the time.
pub fn write_as_is(message: fmt::Arguments<'_>) {
    // One write for the whole line, so that lines of several threads do not mix.
    let line = format!("{message}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
