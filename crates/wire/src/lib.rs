//! PostgreSQL's protocol, version 3: pure encoding and decoding, no sockets.
//!
//! Both directions of both sides are here, because a server, its tests and the benchmark clients
//! must agree on every byte:
//!
//! | | decode | encode |
//! |---|---|---|
//! | what a client sends | [`frontend::Message`], [`startup::Request`] | [`frontend::Requests`] |
//! | what a server sends | [`backend::Message`] | [`backend::Replies`] |
//!
//! Decoding happens in place. [`frame::split`] finds the first complete message in a byte slice,
//! and the decoded message borrows from that slice: nothing is copied and nothing is allocated,
//! on good input and on bad. Lists inside a message (parameters, formats, type identifiers) are
//! checked once while the message is decoded and handed out as iterators that cannot fail.
//!
//! Encoding appends to one growing buffer. A server answers a whole batch of pipelined requests
//! into one [`backend::Replies`] and hands it to the socket with a single write.
//!
//! What is accepted, what is refused, and with which SQLSTATE and words, follows PostgreSQL 15;
//! [`Error`] says for each fault whether the connection can go on.
//!
//! Source: the "Frontend/Backend Protocol" chapter of PostgreSQL's manual.

pub mod backend;
mod error;
pub mod frame;
pub mod frontend;
mod lists;
mod put;
mod read;
pub mod startup;

#[cfg(test)]
mod tests;

pub use error::{Error, utf8};
pub use lists::{Format, Formats, Oids, Strings, Values};
pub use put::put_decimal;
