//! Bound queries: what a statement means, before anyone decides how to run it.

use std::sync::Arc;

pub use syntax::ast::{JoinKind, SetOperator};
use syntax::ast::{Loc, LockStrength, LockWait};

use crate::catalog::{ColumnDef, TableDef};
use crate::types::{Collation, Oid};

use super::record::is_row;
use super::tree::{Expr, SortExpr, Ty};

/// A SELECT, or the query inside INSERT, UPDATE, DELETE.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The range table: everything that [`super::tree::Var`]s can refer to.
    pub rels: Vec<Rel>,
    /// Entries and joins whose cross product the query starts from.
    pub from: Vec<JoinTree>,
    pub filter: Option<Expr>,
    pub targets: Vec<Target>,
    pub group: Option<Group>,
    pub having: Option<Expr>,
    pub windows: Vec<Window>,
    pub distinct: Option<Distinct>,
    /// Positions in `targets`.
    pub order_by: Vec<SortKey>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub with_ties: bool,
    /// Leaves are positions in `rels`; `targets` then refer to the first leaf's columns.
    pub set_op: Option<SetTree>,
    pub ctes: Vec<Cte>,
    pub locking: Vec<RowLock>,
    /// It says FOR UPDATE or the like itself: all rows that it gives are locked, whatever a query around it leaves out.
    pub for_update: bool,
    pub has_srf: bool,
    pub has_sublinks: bool,
    /// It is a view's.
    pub of_view: bool,
    /// Likewise: whose.
    pub view: Option<Arc<TableDef>>,
}

/// One output column.
#[derive(Clone, Debug)]
pub struct Target {
    pub expr: Expr,
    pub name: Box<str>,
    /// Needed for sorting or grouping only.
    pub junk: bool,
    /// The table column it is, for RowDescription.
    pub origin: Option<(Oid, i16)>,
    /// A row whose type has no name, or such rows in an array: these can't be stored.
    pub nameless: bool,
}

/// One entry of the range table.
#[derive(Clone, Debug)]
pub struct Rel {
    /// The name that columns are qualified with.
    pub alias: Box<str>,
    pub kind: RelKind,
    pub columns: Vec<RelColumn>,
    /// May refer to entries before it.
    pub lateral: bool,
    /// Where it was written, for lock and permission errors.
    pub loc: Loc,
}

#[derive(Clone, Debug)]
pub struct RelColumn {
    pub name: Box<str>,
    pub ty: Ty,
    pub collation: Collation,
    /// Dropped columns keep their number and can't be named.
    pub dropped: bool,
    /// See [`Target::nameless`].
    pub nameless: bool,
}

impl RelColumn {
    /// A table's columns.
    pub fn all_of(table: &TableDef) -> Vec<RelColumn> {
        table.columns.iter().map(RelColumn::of_table).collect()
    }

    /// A table's column.
    pub fn of_table(column: &ColumnDef) -> RelColumn {
        let ColumnDef { name, ty, collation, dropped, .. } = column;
        let (name, dropped) = (name.clone(), *dropped);
        RelColumn { name, ty: *ty, collation: *collation, dropped, nameless: false }
    }

    /// An expression with the column's type and collation, and no other meaning.
    pub fn var_of(column: &RelColumn) -> Expr {
        super::scope::var(0, 0, column)
    }

    /// Is its collation left open, though values of its type have one?
    pub fn is_open(&self) -> bool {
        self.ty.collation().is_valid() && !self.collation.is_valid()
    }

    /// One with the collation of its type.
    pub fn plain(name: impl Into<Box<str>>, ty: Ty) -> RelColumn {
        let (name, collation) = (name.into(), ty.collation());
        RelColumn { name, ty, collation, dropped: false, nameless: is_row(ty) }
    }

    /// An output of a query, as the query around it sees it.
    pub fn of_target(target: &Target) -> RelColumn {
        let (collation, nameless) = (super::collate::of(&target.expr), target.nameless);
        RelColumn { collation, nameless, ..RelColumn::plain(target.name.clone(), target.expr.ty()) }
    }
}

#[derive(Clone, Debug)]
pub enum RelKind {
    Table(Arc<TableDef>),
    Subquery(Box<Query>),
    /// Functions side by side, and whether a column of row numbers follows.
    Function {
        calls: Vec<FunctionCall>,
        ordinality: bool,
    },
    Values(Vec<Vec<Expr>>),
    /// A CTE `level` queries outwards.
    Cte {
        level: u16,
        index: u16,
    },
    /// The recursive reference inside a CTE's own query.
    Recursive {
        level: u16,
        index: u16,
    },
    /// No rows and no columns of its own: the joined columns of an aliased join.
    Join,
    /// One row: INSERT's EXCLUDED, provided by the executor.
    Excluded,
}

#[derive(Clone, Debug)]
pub struct FunctionCall {
    pub expr: Expr,
    /// How many columns it contributes.
    pub width: u16,
    /// Returns a set; else its one value is one row.
    pub set: bool,
    /// The value is a record to be spread over the columns.
    pub record: bool,
}

#[derive(Clone, Debug)]
pub enum JoinTree {
    Rel(u16),
    Join(Box<Join>),
}

#[derive(Clone, Debug)]
pub struct Join {
    pub kind: JoinKind,
    pub left: JoinTree,
    pub right: JoinTree,
    pub condition: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct Group {
    /// The distinct grouping expressions.
    pub keys: Vec<Expr>,
    /// Each set is a list of positions in `keys`; plain GROUP BY has one set of all.
    pub sets: Vec<Vec<u16>>,
}

#[derive(Clone, Debug)]
pub struct Window {
    pub name: Option<Box<str>>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortExpr>,
    pub frame: Frame,
}

#[derive(Clone, Debug)]
pub struct Frame {
    pub units: syntax::ast::FrameUnits,
    pub start: Bound,
    pub end: Bound,
    pub exclude: syntax::ast::FrameExclude,
    /// Written out rather than defaulted.
    pub written: bool,
}

#[derive(Clone, Debug)]
pub enum Bound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

#[derive(Clone, Debug)]
pub enum Distinct {
    /// All visible targets.
    All,
    /// Positions in `targets`.
    On(Vec<u16>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    pub target: u16,
    pub desc: bool,
    pub nulls_first: bool,
}

#[derive(Clone, Debug)]
pub enum SetTree {
    Leaf(u16),
    Op(Box<SetNode>),
}

#[derive(Clone, Debug)]
pub struct SetNode {
    pub op: SetOperator,
    pub all: bool,
    /// By column, what rows are compared as, and by.
    pub types: Vec<Ty>,
    pub collations: Vec<Collation>,
    /// What the columns of each side, as slots, become; nothing where they stay what they are.
    pub casts: [Vec<Expr>; 2],
    pub left: SetTree,
    pub right: SetTree,
}

#[derive(Clone, Debug)]
pub struct Cte {
    pub name: Box<str>,
    pub query: CteQuery,
    pub columns: Vec<RelColumn>,
    pub references: u16,
    pub materialized: Option<bool>,
    /// Of a recursive query's own WITH, which is planned with the rest, but nobody else may name.
    pub hidden: bool,
}

#[derive(Clone, Debug)]
pub enum CteQuery {
    Plain(Box<Query>),
    /// `first UNION [ALL] again`, the second referring to the first's growing result.
    Recursive {
        first: Box<Query>,
        again: Box<Query>,
        all: bool,
        /// What the columns of `again`, as slots, become; nothing where they stay what they are.
        casts: Vec<Expr>,
    },
    Modify(Box<Modify>),
}

#[derive(Clone, Debug)]
pub struct RowLock {
    pub rel: u16,
    pub strength: LockStrength,
    pub wait: LockWait,
}

/// INSERT, UPDATE or DELETE.
#[derive(Clone, Debug)]
pub struct Modify {
    pub table: Arc<TableDef>,
    /// The target's place in `query.rels`; INSERT's is an entry of its own for RETURNING.
    pub rel: u16,
    pub query: Query,
    pub action: ModifyAction,
    /// INSERT's: the columns that values are given for.
    pub written: Vec<u16>,
    /// Over `query.rels`.
    pub returning: Vec<Target>,
    /// CHECK constraints of the table, over the target's columns as `Var`s of `rel`.
    pub checks: Vec<(Box<str>, Expr)>,
    /// The generated columns and what they are, likewise.
    pub generated: Vec<(u16, Expr)>,
    pub ctes: Vec<Cte>,
}

#[derive(Clone, Debug)]
pub enum ModifyAction {
    /// `query`'s targets are one value for each column of the table, dropped ones included.
    Insert {
        on_conflict: Option<OnConflict>,
        excluded: Option<u16>,
    },
    /// New values for these columns (from 0), over `query.rels`.
    Update {
        sets: Vec<(u16, Expr)>,
    },
    Delete,
}

#[derive(Clone, Debug)]
pub struct OnConflict {
    /// Indexes (by OID) whose conflicts count; empty means all of them (DO NOTHING only).
    pub arbiters: Vec<Oid>,
    /// The expressions and conditions, over the target, that they were found by.
    pub target: Vec<Expr>,
    /// `None` is DO NOTHING. Expressions are over the target and EXCLUDED.
    pub update: Option<ConflictUpdate>,
}

#[derive(Clone, Debug)]
pub struct ConflictUpdate {
    pub sets: Vec<(u16, Expr)>,
    pub filter: Option<Expr>,
}

/// A bound statement that the planner can plan.
#[derive(Clone, Debug)]
pub enum Statement {
    Query(Box<Query>),
    Modify(Box<Modify>),
}

impl Query {
    /// Whether what its columns are is also what its rows are compared or ordered by: other types come behind that.
    pub fn hangs_on_types(&self) -> bool {
        let picks = !self.order_by.is_empty() || self.limit.is_some() || self.offset.is_some();
        self.set_op.is_some() || self.distinct.is_some() || picks
    }

    /// Whether it locks rows, or a query in its FROM does.
    pub fn is_locked(&self) -> bool {
        let within = |rel: &Rel| matches!(&rel.kind, RelKind::Subquery(query) if query.is_locked());
        !self.locking.is_empty() || self.rels.iter().any(within)
    }

    /// Whether its conditions are to leave out rows before others see them.
    pub fn is_barrier(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.is_barrier())
    }

    /// The columns that the query's consumer sees.
    pub fn visible(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|target| !target.junk)
    }

    /// Does any target or HAVING hold an aggregate, or is there a GROUP BY?
    pub fn is_grouped(&self) -> bool {
        self.group.is_some()
    }
}
