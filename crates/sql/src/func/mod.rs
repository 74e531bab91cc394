//! Functions, operators, casts and aggregates: the tables that the binder resolves calls against
//! and the executor calls through.
//!
//! The facts are in `data/*.tsv`, taken from a PostgreSQL 15 (`data/README.md` says how); the
//! bodies are registered under `prosrc` by the rooms beside this file. `table` joins the two once.
//!
//! Every entry carries PostgreSQL's OID and declared types, so that `pg_proc`, `pg_operator`,
//! `pg_cast` and `pg_aggregate` are these tables seen as rows. Bodies get evaluated arguments; what
//! a body needs besides them (the clock, session settings, catalog names) comes through
//! [`Context`].

mod aggregate;
mod array;
mod bodies;
mod collate;
mod crypto;
mod datetime;
mod digest;
mod enums;
mod float;
mod hash;
mod inet;
mod int;
mod json;
mod jsonb;
pub mod like;
mod numeric;
mod pattern;
mod plain;
mod quote;
mod regex;
mod series;
mod session;
mod system;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use aggregate::Arrays;
pub use collate::{aggregate_under, compares_records, first_value, unclear_collation, under};
pub(crate) use datetime::compared_as;
pub(crate) use json::{NAMED, ROWS_AGG};
pub(crate) use jsonb::{json_part, json_with_part};
pub use quote::{is_plain_identifier, quote_identifier, quote_literal};
pub use session::{ROW_OF_SEQUENCE, row_of_sequence};
pub use system::RandomSequence;
pub use table::{
    aggregate, aggregates, all_aggregates, all_casts, all_functions, all_operators, cast, function,
    functions, operator, operators,
};
pub(crate) use text::{check_length, check_value};

use crate::error::{Result, SqlError};
pub use crate::steps::checkpoint;
use crate::types::{Datum, FormatContext, IoContext, Names, Oid, Rules, TimestampTz, TypeId};

/// Whether functions of that name are in `information_schema`, all others being in `pg_catalog`.
pub fn is_of_information_schema(name: &str) -> bool {
    name == "_pg_expandarray"
}

/// Whether functions of that name are an extension's.
pub fn is_of_extension(name: &str) -> bool {
    functions(name).any(|function| EXTENSIONS.contains(&function.oid.0))
}

/// OIDs of the functions of extensions, which PostgreSQL leaves to those who extend it.
const EXTENSIONS: std::ops::Range<u32> = 9100..9200;

/// What may change between two calls with equal arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    Immutable,
    Stable,
    Volatile,
}

/// What texts are compared by.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    Bytes,
    Under(&'static Rules),
    /// Nothing says by what: an error when it is done.
    Unclear,
}

/// One row of `pg_proc` that can be called.
#[derive(Clone, Debug)]
pub struct Function {
    pub oid: Oid,
    pub name: &'static str,
    pub args: &'static [TypeId],
    pub result: TypeId,
    /// `prosrc`: the name under which the body is registered.
    pub source: &'static str,
    /// How many arguments at the end may be left out; [`Function::defaults`] has their values.
    pub defaults: &'static [&'static str],
    /// The last declared argument is an array that takes any number of elements.
    pub variadic: bool,
    /// Null for any null argument, without a call.
    pub strict: bool,
    pub returns_set: bool,
    pub volatility: Volatility,
    /// Names and types of the OUT columns when the result is a record, else empty.
    pub columns: &'static [(&'static str, TypeId)],
    /// The name of the only OUT column of a result that is no record.
    pub value_name: Option<&'static str>,
    /// `proargnames` of the arguments, empty when they have none.
    pub arg_names: &'static [&'static str],
    pub facts: Facts,
    pub body: Body,
}

/// What `pg_proc` says besides and only the catalog and the planner's estimates want to know.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// `prokind`: `f`, `a` or `w`.
    pub kind: u8,
    pub leakproof: bool,
    /// `proparallel`: `s`, `r` or `u`.
    pub parallel: u8,
    pub cost: f32,
    /// Rows that a set-returning function is supposed to return.
    pub rows: f32,
    /// `provariadic`: the element type, or zero.
    pub variadic_type: TypeId,
}

/// A set-returning function's values, one at a time.
pub type Rows = Box<dyn Iterator<Item = Result<Datum>> + Send>;

/// How a function runs.
#[derive(Clone, Copy)]
pub enum Body {
    Scalar(fn(&mut Context<'_>, &[Datum]) -> Result<Datum>),
    /// Values of the result type; records for a function with columns.
    Set(fn(&mut Context<'_>, &[Datum]) -> Result<Rows>),
    /// Needs the session or the catalogs: the executor has the code, by OID.
    Session,
    /// A window function: the executor's window node has the code, by OID.
    Window,
    /// [`Body::Scalar`] under a collation's rules.
    Under(&'static Rules, fn(&'static Rules, &mut Context<'_>, &[Datum]) -> Result<Datum>),
    /// Can't be done under a collation: the error, and what it is about.
    Refused(fn(&str) -> SqlError, &'static str),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Body::Scalar(_) => "Scalar",
            Body::Set(_) => "Set",
            Body::Session => "Session",
            Body::Window => "Window",
            Body::Under(..) => "Under",
            Body::Refused(..) => "Refused",
        })
    }
}

/// What bodies may ask of the session that runs them.
pub struct Context<'a> {
    /// `now()`: the transaction's start.
    pub transaction_start: TimestampTz,
    /// `statement_timestamp()`.
    pub statement_start: TimestampTz,
    /// The types of the call's arguments, for polymorphic functions.
    pub arg_types: &'a [TypeId],
    /// The type the call yields.
    pub result_type: TypeId,
    /// The call was written with VARIADIC: its last argument is the array of the others.
    pub variadic: bool,
    pub session: &'a mut dyn SessionInfo,
}

impl Context<'_> {
    /// What text conversions look at.
    pub fn io(&self) -> IoContext<'_> {
        IoContext {
            format: self.session.format(),
            now: self.transaction_start,
            names: self.session.names(),
        }
    }
}

/// What bodies and text conversions depend on of the session.
pub trait SessionInfo {
    /// The settings that decide how values look, parsed once when they are set.
    fn format(&self) -> &FormatContext;
    /// The catalog, for the `reg*` types and types that users made.
    fn names(&self) -> &dyn Names;
    /// The value of a setting by name, for `current_setting`.
    fn setting(&self, name: &str) -> Option<String>;
    /// The state of `random()`.
    fn random(&mut self) -> &mut RandomSequence;
}

/// One row of `pg_operator`.
#[derive(Debug)]
pub struct Operator {
    pub oid: Oid,
    pub symbol: &'static str,
    /// `INVALID` for a prefix operator.
    pub left: TypeId,
    pub right: TypeId,
    pub result: TypeId,
    pub func: &'static Function,
    pub commutator: Oid,
    pub negator: Oid,
    pub merges: bool,
    pub hashes: bool,
}

/// Where a cast may be applied without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastUse {
    Implicit,
    Assignment,
    Explicit,
}

#[derive(Clone, Copy, Debug)]
pub enum CastMethod {
    Function(&'static Function),
    /// The same datum serves both types.
    Binary,
    /// Through the text form.
    InOut,
}

/// One row of `pg_cast`.
#[derive(Debug)]
pub struct Cast {
    pub oid: Oid,
    pub source: TypeId,
    pub target: TypeId,
    pub allowed: CastUse,
    pub method: CastMethod,
}

/// The running value of one aggregate in one group.
pub trait Accumulator: Send {
    /// Takes one row's arguments in. Strict aggregates never see nulls.
    fn add(&mut self, cx: &mut Context<'_>, args: &[Datum]) -> Result<()>;
    /// The aggregate's value so far; more rows may follow, as in a growing window frame.
    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Datum>;
    /// Whether rows can be taken out again, as a frame moves on.
    fn is_reversible(&self) -> bool {
        false
    }
    /// Takes a row out that is in. False: what is left can't be told, and has to be added up anew.
    fn remove(&mut self, _: &mut Context<'_>, _: &[Datum]) -> Result<bool> {
        Ok(false)
    }
    /// Bytes held beyond the object itself, for memory limits.
    fn memory(&self) -> usize {
        0
    }
}

/// One row of `pg_aggregate` (and of `pg_proc`).
#[derive(Clone, Debug)]
pub struct Aggregate {
    pub oid: Oid,
    pub name: &'static str,
    pub args: &'static [TypeId],
    pub result: TypeId,
    pub variadic: bool,
    /// Rows with a null argument are skipped.
    pub strict: bool,
    pub facts: Facts,
    /// Makes the state for arguments of these types.
    pub start: fn(arg_types: &[TypeId]) -> Box<dyn Accumulator>,
    /// What an extreme goes by instead of its type's order.
    pub rules: Option<&'static Rules>,
}

impl Aggregate {
    /// The state of a group before its first row.
    pub fn begin(&self, arg_types: &[TypeId]) -> Box<dyn Accumulator> {
        match self.rules {
            None => (self.start)(arg_types),
            Some(rules) => aggregate::extreme_under(rules, self.name == "max", arg_types),
        }
    }
}
