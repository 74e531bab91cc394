//! Queries: SELECT, VALUES, set operations, and all that hangs on them.

use super::{Alias, DefOption, Expr, FuncCall, Loc, Name, Operator, Persistence};
use super::{QualifiedName, RelationRef, Statement, TypeName};

/// A query with what may follow any query: WITH before it, ORDER BY, LIMIT and locking after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub with: Option<With>,
    pub body: SelectBody,
    pub order_by: Vec<SortBy>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    /// `FETCH FIRST n ROWS WITH TIES`.
    pub with_ties: bool,
    /// Several clauses may name different tables.
    pub locking: Vec<Locking>,
}

impl Select {
    /// `SELECT targets FROM from`.
    pub fn plain(targets: Vec<Target>, from: FromItem) -> Select {
        let core = SelectCore {
            distinct: None,
            targets,
            into: None,
            from: vec![from],
            filter: None,
            group_by: Vec::new(),
            group_distinct: false,
            having: None,
            windows: Vec::new(),
        };
        Select {
            with: None,
            body: SelectBody::Core(Box::new(core)),
            order_by: Vec::new(),
            limit: None,
            offset: None,
            with_ties: false,
            locking: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum SelectBody {
    Core(Box<SelectCore>),
    Values(Box<Values>),
    SetOp(Box<SetOperation>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct SelectCore {
    pub distinct: Option<Distinct>,
    /// Empty in `SELECT FROM t`, which is allowed.
    pub targets: Vec<Target>,
    /// `SELECT … INTO t`.
    pub into: Option<IntoClause>,
    pub from: Vec<FromItem>,
    pub filter: Option<Expr>,
    pub group_by: Vec<GroupItem>,
    /// `GROUP BY DISTINCT`.
    pub group_distinct: bool,
    pub having: Option<Expr>,
    pub windows: Vec<WindowSpec>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// Never empty; the binder checks that all rows are equally long.
    pub rows: Vec<Vec<Expr>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SetOperation {
    pub op: SetOperator,
    pub all: bool,
    pub left: Select,
    pub right: Select,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Distinct {
    All,
    On(Vec<Expr>),
}

/// One entry of a target list, or of RETURNING.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub value: Expr,
    pub alias: Option<Name>,
    pub loc: Loc,
}

/// Where `SELECT INTO` and `CREATE TABLE AS` put their rows.
#[derive(Clone, Debug, PartialEq)]
pub struct IntoClause {
    pub relation: RelationRef,
    pub persistence: Persistence,
    pub columns: Vec<Name>,
    pub access_method: Option<Name>,
    pub options: Vec<DefOption>,
    pub on_commit: Option<OnCommit>,
    pub tablespace: Option<Name>,
    /// `WITH NO DATA`.
    pub no_data: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCommit {
    PreserveRows,
    DeleteRows,
    Drop,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FromItem {
    Table(Box<FromTable>),
    Subquery(Box<FromSubquery>),
    Function(Box<FromFunction>),
    Join(Box<Join>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct FromTable {
    pub relation: RelationRef,
    pub alias: Option<Alias>,
    pub sample: Option<TableSample>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableSample {
    pub method: QualifiedName,
    pub args: Vec<Expr>,
    pub repeatable: Option<Expr>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FromSubquery {
    pub lateral: bool,
    pub query: Select,
    /// PostgreSQL 15 demands one; the grammar here (16 and later) does not.
    pub alias: Option<Alias>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FromFunction {
    pub lateral: bool,
    pub with_ordinality: bool,
    /// One for a plain call, any number in `ROWS FROM (…)`.
    pub calls: Vec<FromCall>,
    /// Written with `ROWS FROM`.
    pub rows_from: bool,
    pub alias: Option<Alias>,
    /// `AS t (a int, b text)` of a plain call.
    pub column_defs: Vec<FunctionColumn>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FromCall {
    /// Usually a [`FuncCall`]; the grammar also lets in what looks like one (`CURRENT_DATE`, CAST).
    pub call: Expr,
    /// `f(…) AS (a int, b text)` inside ROWS FROM.
    pub column_defs: Vec<FunctionColumn>,
}

impl FromCall {
    /// The call, if it is an ordinary one.
    pub fn as_func(&self) -> Option<&FuncCall> {
        match &self.call {
            Expr::Func(call) => Some(call),
            _ => None,
        }
    }
}

/// One column of a column definition list.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionColumn {
    pub name: Name,
    pub type_name: TypeName,
    pub collation: Option<QualifiedName>,
    pub loc: Loc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// `CROSS JOIN`, or an inner join with a condition.
    Inner,
    Left,
    Right,
    Full,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub left: FromItem,
    pub right: FromItem,
    pub condition: JoinCondition,
    /// `(a JOIN b …) AS x`.
    pub alias: Option<Alias>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    /// `CROSS JOIN`.
    None,
    Natural,
    Using {
        columns: Vec<Name>,
        alias: Option<Alias>,
    },
    On(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    Expr(Expr),
    /// `()`.
    Empty(Loc),
    Rollup(Vec<GroupItem>, Loc),
    Cube(Vec<GroupItem>, Loc),
    Sets(Vec<GroupItem>, Loc),
}

#[derive(Clone, Debug, PartialEq)]
pub struct SortBy {
    pub expr: Expr,
    pub direction: SortDirection,
    pub nulls: SortNulls,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SortDirection {
    /// Nothing written: ascending.
    Default,
    Asc,
    Desc,
    Using(Operator),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SortNulls {
    /// Nothing written: last when ascending, first when descending.
    #[default]
    Default,
    First,
    Last,
}

/// `WINDOW w AS (…)`, or what stands in `OVER (…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpec {
    /// The window's own name in a WINDOW clause.
    pub name: Option<Name>,
    /// The window that this one refines: `(w ORDER BY …)`.
    pub base: Option<Name>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortBy>,
    /// `None` if no frame clause is written: RANGE UNBOUNDED PRECEDING to CURRENT ROW.
    pub frame: Option<Frame>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub units: FrameUnits,
    pub start: FrameBound,
    pub end: FrameBound,
    /// Was `BETWEEN … AND …` written, or only the start?
    pub between: bool,
    pub exclude: FrameExclude,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnits {
    Range,
    Rows,
    Groups,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameExclude {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Locking {
    pub strength: LockStrength,
    /// `OF a, b`: names of FROM items; empty means all of them.
    pub of: Vec<RelationRef>,
    pub wait: LockWait,
}

/// From weakest to strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

/// In the order in which one prevails over another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockWait {
    Block,
    SkipLocked,
    NoWait,
}

#[derive(Clone, Debug, PartialEq)]
pub struct With {
    pub recursive: bool,
    /// Never empty.
    pub ctes: Vec<Cte>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    pub name: Name,
    pub columns: Vec<Name>,
    /// `AS [NOT] MATERIALIZED`.
    pub materialized: Option<bool>,
    /// SELECT, INSERT, UPDATE or DELETE.
    pub query: Box<Statement>,
    pub search: Option<CteSearch>,
    pub cycle: Option<Box<CteCycle>>,
    pub loc: Loc,
}

/// `SEARCH BREADTH | DEPTH FIRST BY columns SET column`.
#[derive(Clone, Debug, PartialEq)]
pub struct CteSearch {
    pub columns: Vec<Name>,
    pub breadth_first: bool,
    pub set: Name,
    pub loc: Loc,
}

/// `CYCLE columns SET mark [TO value DEFAULT default] USING path`.
#[derive(Clone, Debug, PartialEq)]
pub struct CteCycle {
    pub columns: Vec<Name>,
    pub mark: Name,
    pub value: Expr,
    pub default: Expr,
    pub path: Name,
    pub loc: Loc,
}
