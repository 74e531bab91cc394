//! What names mean at one query level.

use crate::types::Oid;

use super::query::{Cte, Rel, RelColumn, Window};
use super::tree::{Column, Expr, Ty, Var};
use syntax::ast::Loc;

/// What an expression stands in: decides what may not occur in it, and in which words that is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExprKind {
    #[default]
    None,
    Target,
    Where,
    JoinOn,
    Having,
    Filter,
    GroupBy,
    OrderBy,
    DistinctOn,
    Limit,
    Offset,
    FromFunction,
    WindowPartition,
    WindowOrder,
    WindowFrame,
    Values,
    InsertTarget,
    UpdateSource,
    Returning,
    Default,
    Check,
    Generated,
    IndexExpr,
    IndexPredicate,
    Using,
    Execute,
    CopyWhere,
    PartitionBound,
}

impl ExprKind {
    /// The clause in the words of "… are not allowed in …".
    pub fn words(self) -> &'static str {
        match self {
            ExprKind::None => "this context",
            ExprKind::Target => "SELECT",
            ExprKind::Where => "WHERE",
            ExprKind::JoinOn => "JOIN conditions",
            ExprKind::Having => "HAVING",
            ExprKind::Filter => "FILTER",
            ExprKind::GroupBy => "GROUP BY",
            ExprKind::OrderBy => "ORDER BY",
            ExprKind::DistinctOn => "DISTINCT ON",
            ExprKind::Limit => "LIMIT",
            ExprKind::Offset => "OFFSET",
            ExprKind::FromFunction => "functions in FROM",
            ExprKind::WindowPartition => "window PARTITION BY",
            ExprKind::WindowOrder => "window ORDER BY",
            ExprKind::WindowFrame => "window frame clauses",
            ExprKind::Values => "VALUES",
            ExprKind::InsertTarget => "INSERT",
            ExprKind::UpdateSource => "UPDATE",
            ExprKind::Returning => "RETURNING",
            ExprKind::Default => "DEFAULT expressions",
            ExprKind::Check => "check constraints",
            ExprKind::Generated => "column generation expressions",
            ExprKind::IndexExpr => "index expressions",
            ExprKind::IndexPredicate => "index predicates",
            ExprKind::Using => "transform expressions",
            ExprKind::Execute => "EXECUTE parameters",
            ExprKind::CopyWhere => "COPY FROM WHERE conditions",
            ExprKind::PartitionBound => "partition bound",
        }
    }

    /// May an aggregate of this query level stand here?
    pub fn allows_aggregates(self) -> bool {
        matches!(
            self,
            ExprKind::Target
                | ExprKind::Having
                | ExprKind::OrderBy
                | ExprKind::DistinctOn
                | ExprKind::WindowPartition
                | ExprKind::WindowOrder
                | ExprKind::WindowFrame
        )
    }

    pub fn allows_windows(self) -> bool {
        matches!(self, ExprKind::Target | ExprKind::OrderBy | ExprKind::DistinctOn)
    }

    pub fn allows_sets(self) -> bool {
        matches!(
            self,
            ExprKind::Target
                | ExprKind::GroupBy
                | ExprKind::OrderBy
                | ExprKind::DistinctOn
                | ExprKind::FromFunction
                | ExprKind::Values
                | ExprKind::InsertTarget
        )
    }

    pub fn allows_sublinks(self) -> bool {
        !matches!(
            self,
            ExprKind::Default
                | ExprKind::Check
                | ExprKind::Generated
                | ExprKind::IndexExpr
                | ExprKind::IndexPredicate
                | ExprKind::Using
                | ExprKind::Execute
                | ExprKind::CopyWhere
                | ExprKind::PartitionBound
        )
    }
}

/// One name that FROM brought in: a range-table entry or a join.
#[derive(Clone, Debug)]
pub(super) struct NsItem {
    /// Empty for a join without alias.
    pub alias: Box<str>,
    /// The schema and the table's own OID, for `schema.table.column`; only of unaliased tables.
    pub table: Option<(Box<str>, Oid)>,
    pub columns: Vec<NsColumn>,
    /// For whole-row references and system columns.
    pub rel: Option<u16>,
    /// `alias.column` may be used.
    pub qualified: bool,
    /// `column` may be used, and `*` shows it.
    pub unqualified: bool,
    /// Only from LATERAL items, while FROM is being read.
    pub lateral_only: bool,
    /// False on the nullable side's far end: referring to it is an error.
    pub lateral_ok: bool,
}

#[derive(Clone, Debug)]
pub(super) struct NsColumn {
    pub name: Box<str>,
    pub expr: Expr,
    pub hidden: bool,
}

/// One query level while it is bound.
#[derive(Default)]
pub(super) struct Scope {
    /// What the expression of the query around it is for that it stands in; `None` in FROM.
    pub around: ExprKind,
    pub rels: Vec<Rel>,
    pub items: Vec<NsItem>,
    /// A LATERAL item is being bound: it sees what stands before it.
    pub lateral_active: bool,
    pub ctes: Vec<Cte>,
    /// CTEs of this level that come later in a non-recursive WITH: named for the error's hint.
    pub future_ctes: Vec<Box<str>>,
    pub windows: Vec<Window>,
    pub has_aggregates: bool,
    pub has_windows: bool,
    pub has_srf: bool,
    pub has_sublinks: bool,
}

impl Scope {
    /// Adds a range-table entry and answers its number.
    pub fn add_rel(&mut self, rel: Rel) -> u16 {
        self.rels.push(rel);
        (self.rels.len() - 1) as u16
    }

    /// The name that an entry is known by, with all its columns.
    pub fn item_of(&self, rel: u16, table: Option<(Box<str>, Oid)>) -> NsItem {
        let entry = &self.rels[usize::from(rel)];
        let columns = entry
            .columns
            .iter()
            .enumerate()
            .map(|(i, column)| NsColumn {
                name: column.name.clone(),
                expr: var(rel, i, column),
                hidden: column.dropped,
            })
            .collect();
        NsItem {
            alias: entry.alias.clone(),
            table,
            columns,
            rel: Some(rel),
            qualified: true,
            unqualified: true,
            lateral_only: false,
            lateral_ok: true,
        }
    }
}

/// A column of an entry of the level at hand.
pub(super) fn var(rel: u16, column: usize, info: &RelColumn) -> Expr {
    let (column, collation) = (Column::User(column as u16), info.collation);
    Expr::Var(Var { level: 0, rel, column, ty: info.ty, collation, loc: Loc::NONE })
}

pub(super) fn var_of(rel: u16, column: Column, ty: Ty) -> Expr {
    Expr::Var(Var { level: 0, rel, column, ty, collation: ty.collation(), loc: Loc::NONE })
}
