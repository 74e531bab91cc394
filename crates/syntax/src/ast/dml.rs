//! INSERT, UPDATE, DELETE.

use super::{Expr, FromItem, IndexElement, Indirection, Loc, Name, RelationRef, Select};
use super::{Target, With};

#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    pub with: Option<With>,
    pub target: RelationRef,
    /// `INSERT INTO t AS x`.
    pub alias: Option<Name>,
    /// Empty if no column list is written.
    pub columns: Vec<ColumnTarget>,
    pub overriding: Option<Overriding>,
    pub source: InsertSource,
    pub on_conflict: Option<OnConflict>,
    /// Empty without RETURNING.
    pub returning: Vec<Target>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    DefaultValues,
    /// `VALUES …` (whose rows may hold [`Expr::Default`]) or any query.
    Query(Box<Select>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    SystemValue,
    UserValue,
}

/// A column to assign to, with the way into it: `a`, `a[1]`, `a.f`.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTarget {
    pub name: Name,
    pub steps: Vec<Indirection>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    pub target: Option<ConflictTarget>,
    pub action: ConflictAction,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConflictTarget {
    /// `(columns or expressions) [WHERE predicate]`: any unique index that fits.
    Infer { elements: Vec<IndexElement>, filter: Option<Expr>, loc: Loc },
    /// `ON CONSTRAINT name`.
    Constraint(Name, Loc),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConflictAction {
    Nothing,
    Update { sets: Vec<Assignment>, filter: Option<Expr> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub with: Option<With>,
    pub target: RelationRef,
    pub alias: Option<Name>,
    pub sets: Vec<Assignment>,
    pub from: Vec<FromItem>,
    pub filter: Option<Expr>,
    pub returning: Vec<Target>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// `a = value`, where the value may be [`Expr::Default`].
    One { target: ColumnTarget, value: Expr },
    /// `(a, b) = source`: a row expression, a sub-select, or anything the binder must refuse.
    Many { targets: Vec<ColumnTarget>, source: Expr },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    pub with: Option<With>,
    pub target: RelationRef,
    pub alias: Option<Name>,
    pub using: Vec<FromItem>,
    pub filter: Option<Expr>,
    pub returning: Vec<Target>,
}
