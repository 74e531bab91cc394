//! Writing what a client sends: for tests, benchmark clients and the laboratory.

use super::{Execute, Target};
use crate::lists::Format;
use crate::put::{begin, end, put_count, put_i16, put_string, put_u32, put_value};

/// Messages from a client, one behind the other in one buffer.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    buf: Vec<u8>,
}

impl Requests {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything written so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buf
    }

    /// Forgets everything written so far and keeps the memory.
    pub fn clear(&mut self) {
        self.buf.clear();
    }

    fn bare(&mut self, tag: u8) {
        self.buf.extend_from_slice(&[tag, 0, 0, 0, 4]);
    }

    fn message(&mut self, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
        let at = begin(&mut self.buf, tag);
        body(&mut self.buf);
        end(&mut self.buf, at);
    }

    /// A simple query.
    pub fn query(&mut self, text: &str) {
        self.message(b'Q', |buf| put_string(buf, text));
    }

    /// Prepares a statement; `types` may be shorter than its parameters.
    pub fn parse(&mut self, name: &str, query: &str, types: &[u32]) {
        self.message(b'P', |buf| {
            put_string(buf, name);
            put_string(buf, query);
            put_count(buf, types.len());
            types.iter().for_each(|&oid| put_u32(buf, oid));
        });
    }

    /// Binds a statement. Of the formats there may be none, one, or one for each value.
    pub fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        parameter_formats: &[Format],
        parameters: &[Option<&[u8]>],
        result_formats: &[Format],
    ) {
        self.message(b'B', |buf| {
            put_string(buf, portal);
            put_string(buf, statement);
            put_formats(buf, parameter_formats);
            put_values(buf, parameters);
            put_formats(buf, result_formats);
        });
    }

    /// Asks for the shape of a statement or portal.
    pub fn describe(&mut self, target: Target<'_>) {
        self.message(b'D', |buf| put_target(buf, target));
    }

    /// Runs a portal.
    pub fn execute(&mut self, execute: Execute<'_>) {
        self.message(b'E', |buf| {
            put_string(buf, execute.portal);
            put_u32(buf, execute.rows_max);
        });
    }

    /// Forgets a statement or portal.
    pub fn close(&mut self, target: Target<'_>) {
        self.message(b'C', |buf| put_target(buf, target));
    }

    /// Asks for everything answered so far.
    pub fn flush(&mut self) {
        self.bare(b'H');
    }

    /// Ends a run of extended-protocol messages.
    pub fn sync(&mut self) {
        self.bare(b'S');
    }

    /// A piece of copied data.
    pub fn copy_data(&mut self, data: &[u8]) {
        self.message(b'd', |buf| buf.extend_from_slice(data));
    }

    /// The end of copied data.
    pub fn copy_done(&mut self) {
        self.bare(b'c');
    }

    /// Gives up a copy.
    pub fn copy_fail(&mut self, reason: &str) {
        self.message(b'f', |buf| put_string(buf, reason));
    }

    /// Calls a function by the protocol's old way.
    pub fn function_call(
        &mut self,
        function: u32,
        argument_formats: &[Format],
        arguments: &[Option<&[u8]>],
        result_format: Format,
    ) {
        self.message(b'F', |buf| {
            put_u32(buf, function);
            put_formats(buf, argument_formats);
            put_values(buf, arguments);
            put_i16(buf, result_format.code());
        });
    }

    /// Answers a request for a password.
    pub fn password(&mut self, password: &str) {
        self.message(b'p', |buf| put_string(buf, password));
    }

    /// Opens a SASL exchange.
    pub fn sasl_initial(&mut self, mechanism: &str, response: Option<&[u8]>) {
        self.message(b'p', |buf| {
            put_string(buf, mechanism);
            put_value(buf, response);
        });
    }

    /// Goes on with a SASL exchange.
    pub fn sasl_response(&mut self, response: &[u8]) {
        self.message(b'p', |buf| buf.extend_from_slice(response));
    }

    /// Says goodbye.
    pub fn terminate(&mut self) {
        self.bare(b'X');
    }
}

fn put_formats(buf: &mut Vec<u8>, formats: &[Format]) {
    put_count(buf, formats.len());
    formats.iter().for_each(|format| put_i16(buf, format.code()));
}

fn put_values(buf: &mut Vec<u8>, values: &[Option<&[u8]>]) {
    put_count(buf, values.len());
    values.iter().for_each(|value| put_value(buf, *value));
}

fn put_target(buf: &mut Vec<u8>, target: Target<'_>) {
    let (kind, name) = match target {
        Target::Statement(name) => (b'S', name),
        Target::Portal(name) => (b'P', name),
    };
    buf.push(kind);
    put_string(buf, name);
}
