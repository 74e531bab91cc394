//! Names of things, as written after case folding, and references to relations and types.

use super::{Expr, Loc};

/// One identifier, already case-folded (or unquoted) and truncated to 63 bytes by the lexer.
pub type Name = Box<str>;

/// A name that may be qualified: `thing`, `schema.thing`, `catalog.schema.thing`.
#[derive(Clone, Debug, PartialEq)]
pub struct QualifiedName {
    /// Never empty; the last part is the thing's own name.
    pub parts: Vec<Name>,
    pub loc: Loc,
}

impl QualifiedName {
    /// An unqualified name with no place in the text.
    pub fn bare(name: &str) -> QualifiedName {
        QualifiedName { parts: vec![name.into()], loc: Loc::NONE }
    }

    /// The thing's own name: the last part.
    pub fn last(&self) -> &str {
        self.parts.last().map_or("", |part| part)
    }

    /// The schema part, if the name has one.
    pub fn schema(&self) -> Option<&str> {
        self.parts.len().checked_sub(2).map(|index| &*self.parts[index])
    }

    /// The name if it is written without any qualification.
    pub fn as_bare(&self) -> Option<&str> {
        match &self.parts[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Is this `pg_catalog.name`, as the grammar itself writes the functions behind its syntax?
    pub fn is_pg_catalog(&self, name: &str) -> bool {
        matches!(&self.parts[..], [schema, last] if &**schema == "pg_catalog" && &**last == name)
    }
}

/// A reference to a table, view, index or sequence: `[catalog.][schema.]name`.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationRef {
    pub catalog: Option<Name>,
    pub schema: Option<Name>,
    pub name: Name,
    /// `ONLY name`: without the tables that inherit from it.
    pub only: bool,
    pub loc: Loc,
}

/// How a relation lives on: written before `TABLE`, `SEQUENCE`, `VIEW` or after `INTO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Persistence {
    #[default]
    Permanent,
    Unlogged,
    Temporary,
}

/// `AS name (column, …)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    pub name: Name,
    pub columns: Vec<Name>,
}

/// A type as written: `int`, `numeric(10,2)`, `text[]`, `schema.type`, `SETOF t`, `tab.col%TYPE`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// The grammar already maps SQL's spelled-out names: `int` is `pg_catalog.int4`,
    /// `timestamp with time zone` is `pg_catalog.timestamptz`, `char` is `pg_catalog.bpchar`.
    pub name: QualifiedName,
    /// Modifiers in parentheses, as expressions. For `interval` the first is the field mask that
    /// PostgreSQL uses and the second the precision; `char` without a length has the modifier 1.
    pub modifiers: Vec<Expr>,
    /// One entry per `[]`; `Some(n)` for `[n]` (which PostgreSQL accepts and ignores).
    pub array_bounds: Vec<Option<i32>>,
    pub set_of: bool,
    /// `%TYPE`: the type of the column that `name` names.
    pub percent_type: bool,
    pub loc: Loc,
}

/// Who: a role by name or one of the words that stand for one.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleSpec {
    pub kind: RoleKind,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RoleKind {
    Name(Name),
    CurrentRole,
    CurrentUser,
    SessionUser,
    Public,
}

/// One entry of an option list: `WITH (fillfactor = 70)`, `COPY … (FORMAT csv)`,
/// `EXPLAIN (ANALYZE)`, `CREATE DATABASE … TEMPLATE x`.
#[derive(Clone, Debug, PartialEq)]
pub struct DefOption {
    /// `toast` in `toast.autovacuum_enabled`.
    pub namespace: Option<Name>,
    /// Folded to lower case where the grammar folds it; the option's own code decides what it means.
    pub name: Name,
    pub value: Option<OptionValue>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A string literal, a keyword or a bare word: PostgreSQL does not tell them apart here.
    String(Box<str>),
    Integer(i64),
    /// Any other number, in its literal's text.
    Numeric(Box<str>),
    Bool(bool),
    /// `*`, as in `FORCE_QUOTE *`.
    Star,
    List(Vec<OptionValue>),
    /// A type that is more than a bare word: `numeric(10,2)`, `SETOF int`.
    Type(Box<TypeName>),
}
