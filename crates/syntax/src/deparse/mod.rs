//! Tree to text, as PostgreSQL 15 prints what its catalogs hold: the texts of `pg_get_expr`,
//! `pg_get_constraintdef` and `pg_get_indexdef`, and `format_type`.
//!
//! PostgreSQL prints trees whose types are resolved. A caller who wants the same text gives a tree in
//! which the binder's findings are written down: every literal that is not plainly an `int4`, a
//! `numeric` or a boolean inside a cast (`'x'` as `'x'::text`), every implicit conversion as a cast,
//! columns named as they should be printed, a CASE without ELSE with a typed NULL. What PostgreSQL's
//! analysis rewrites regardless of types is rewritten here: BETWEEN into comparisons, IN lists into
//! `= ANY (ARRAY[…])`, LIKE into `~~`, comparisons of rows into comparisons of columns.
//!
//! Everything here gives `None` for what has no place in a catalog's expressions: sub-selects, window
//! functions, aggregates' clauses.

mod definition;
mod expr;
mod forms;
mod ident;
mod rewrite;
mod types;

pub use definition::{constraint, index, index_key};
pub use expr::expr;
pub use ident::{literal, qualified, quote_ident, stored_ident};
pub use types::type_name;

/// How many parentheses: PostgreSQL's `pretty_bool` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Around every operator expression.
    Plain,
    /// Where they are needed, roughly.
    Pretty,
    /// As `Plain`, of a tree whose types are yet to be found: an IN list stays one, as its members have the type
    /// of what is compared with them, and those of an array have their own.
    Untyped,
}

#[cfg(test)]
mod tests;
