//! The session: one per connection; what the server calls. The README beside this file lists it.

mod client;

pub use client::{Client, CopyInput, Field, Format, Formats, Notice};
