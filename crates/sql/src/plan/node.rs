//! The executable plan: a tree of nodes, each a description that an operator of `exec` runs.
//!
//! A node yields rows of datums, its *slots*. Expressions of a node refer by [`Expr::Slot`] to the row it
//! works on: a scan's own outputs, the one input's row, or for a join the outer row followed by the inner
//! one. Nodes are shared (`Arc`) between executions and never change.

use std::sync::Arc;

use syntax::ast::{LockStrength, LockWait};

use crate::bind::query::{ConflictUpdate, FunctionCall, OnConflict, SetOperator};
use crate::bind::tree::{AggCall, Column, Expr, SortExpr, Ty, WindowCall};
use crate::catalog::{IndexDef, TableDef};
use crate::types::{Datum, TypeId};

use super::cost::Settings;
use super::path::{Bits, Path};

/// A plan with what must be set up to run it.
#[derive(Debug)]
pub struct Plan {
    pub root: Node,
    /// Size of the table of values that [`Expr::Exec`] refers to.
    pub exec_slots: u16,
    /// Size of the table of sub-plan states.
    pub subplans: u16,
    /// Size of the table of hashed lists.
    pub lists: u16,
    /// CTEs in the order of their ids; each is run on demand, and at most once, or once for each run of its [`Renew`].
    pub ctes: Vec<Arc<Node>>,
    /// What they are called.
    pub cte_names: Vec<Box<str>>,
    /// How many work tables recursive unions need.
    pub work_tables: u16,
    /// Indexes' keys or conditions compare columns with constants that the statement has conditions on, too: which
    /// index serves it may depend on its own constants.
    pub by_constants: bool,
}

impl Plan {
    /// Whether something is changed in WITH.
    pub fn changes_in_with(&self) -> bool {
        self.ctes.iter().any(|cte| matches!(**cte, Node::Modify(_)))
    }

    /// Whether something is changed, locks aside. Such a plan is run to its end, however many rows are wanted.
    pub fn changes(&self) -> bool {
        matches!(self.root, Node::Modify(_)) || self.changes_in_with()
    }
}

/// A sub-select to be run inside an expression.
#[derive(Debug)]
pub struct Subplan {
    pub root: Node,
    /// Depends on nothing outside: run once per execution and remembered.
    pub once: bool,
    /// What its rows can be hashed by, where it is asked once whether one equals what stands before IN.
    pub hashed: Option<RowKeys>,
    /// Of an EXISTS that rows ask by equalities.
    pub members: Option<Members>,
}

/// What a sub-select's rows are compared by with what is asked for, both of one type.
#[derive(Debug)]
pub struct RowKeys {
    /// Over the values before IN as slots; of EXISTS, over no row, once the sub-plan's exec slots are set.
    pub left: Vec<Expr>,
    /// Over the sub-select's row.
    pub right: Vec<Expr>,
    /// A null leaves it open whether rows are equal: IN. Else they are not: EXISTS.
    pub open: bool,
}

/// The rows of an EXISTS whoever asks, to be hashed by what ties them to who does. That takes reading all of them, so it is done
/// once looking for single ones has cost more.
#[derive(Debug)]
pub struct Members {
    pub root: Node,
    pub keys: RowKeys,
    /// How many rows are read for them, about.
    pub rows: f64,
}

/// What is compared with a list whose members are the same for all rows, and each of these, as values of one type that they are
/// hashed by: over the one value as slot 0.
#[derive(Debug)]
pub struct HashedList {
    /// Its place in the executor's table of such lists.
    pub id: u16,
    pub left: Expr,
    pub right: Expr,
}

/// One plan node.
#[derive(Clone, Debug)]
pub enum Node {
    /// One row without columns, if the filter (evaluated once, on no row) lets it through.
    OneRow(Option<Arc<Expr>>),
    Values(Arc<Vec<Vec<Expr>>>),
    SeqScan(Arc<SeqScan>),
    IndexScan(Arc<IndexScan>),
    BitmapHeapScan(Arc<BitmapHeapScan>),
    /// One of several scans, chosen when the values that it depends on are known.
    Choice(Arc<Choice>),
    /// Rows by address: `ctid = …`.
    TidScan(Arc<TidScan>),
    FunctionScan(Arc<FunctionScan>),
    /// Rows of a CTE.
    CteScan(Arc<KeptScan>),
    /// The input, each run of which finds the rows of some CTEs not made yet.
    Renew(Arc<Renew>),
    /// Rows that the last round of a recursive union made.
    WorkScan(Arc<KeptScan>),
    Filter(Arc<Filter>),
    /// The input, if the condition, which is over no row, is true; else no row, and the input is not started.
    Gate(Arc<Filter>),
    Project(Arc<Project>),
    /// A projection with set-returning calls at its top level.
    ProjectSet(Arc<Project>),
    NestLoop(Arc<NestLoop>),
    HashJoin(Arc<HashJoin>),
    /// Keeps the input's rows, to be read again.
    Materialize(Arc<Node>),
    Sort(Arc<Sort>),
    Limit(Arc<Limit>),
    /// Drops rows equal (in its keys) to the one before.
    Unique(Arc<Unique>),
    Aggregate(Arc<Aggregate>),
    Window(Arc<WindowAgg>),
    Append(Arc<Vec<Node>>),
    /// INTERSECT, EXCEPT and UNION by hashing whole rows.
    SetOp(Arc<SetOp>),
    RecursiveUnion(Arc<RecursiveUnion>),
    LockRows(Arc<LockRows>),
    Modify(Arc<Modify>),
}

/// A reference to rows that are kept under a number: of a CTE, or of a recursive union's work table.
#[derive(Debug)]
pub struct KeptScan {
    pub id: u16,
    /// They may be others when somebody reads them again within one execution.
    pub renewed: bool,
    /// What the CTE is called, and the reference to it.
    pub name: Box<str>,
    pub alias: Box<str>,
    pub columns: Vec<Box<str>>,
}

#[derive(Debug)]
pub struct Renew {
    /// Their ids and plans.
    pub ctes: Vec<(u16, Arc<Node>)>,
    pub input: Node,
}

/// Where a scan's slot comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanColumn {
    pub column: Column,
    pub ty: Ty,
}

#[derive(Debug)]
pub struct SeqScan {
    pub table: Arc<TableDef>,
    /// The name of the entry in the query.
    pub alias: Box<str>,
    pub outputs: Vec<ScanColumn>,
    /// Over the outputs.
    pub filter: Option<Expr>,
}

/// A range of an index, by values evaluated when the scan starts.
#[derive(Debug)]
pub struct IndexScan {
    pub table: Arc<TableDef>,
    /// The name of the entry in the query.
    pub alias: Box<str>,
    pub index: Arc<IndexDef>,
    /// One or more ranges, scanned in order (`IN` has one per value).
    pub ranges: Vec<KeyRange>,
    pub backward: bool,
    /// The range leads to one row at most, whatever kind of index it is of.
    pub single: bool,
    /// The entries have all outputs: rows are fetched only where it is not known that everybody sees them.
    pub only: bool,
    pub outputs: Vec<ScanColumn>,
    /// What the range does not already guarantee; over the outputs.
    pub filter: Option<Expr>,
}

/// Bounds over the leading columns of an index. A null value makes the range empty, except in `IsNull`.
#[derive(Clone, Debug, Default)]
pub struct KeyRange {
    /// Equality on the first columns.
    pub equal: Vec<KeyValue>,
    /// Bounds on the column after them: value and whether it is included.
    pub lower: Option<(Expr, bool)>,
    pub upper: Option<(Expr, bool)>,
    /// Instead of both: a pattern of LIKE that the column matches. What it begins with bounds the range.
    pub pattern: Option<Expr>,
    /// What is tested in the entries between the bounds, in the order of key columns. Not of one of several ranges.
    pub tests: Vec<KeyTest>,
}

/// A condition on one key column that does not bound a range: a column before it has no equality, or it is not the only
/// condition on its column.
#[derive(Clone, Debug)]
pub struct KeyTest {
    pub column: usize,
    pub what: KeyCondition,
}

/// What is asked of a key column. Nulls meet none of them but `IsNull`.
#[derive(Clone, Debug)]
pub enum KeyCondition {
    Value(KeyValue),
    NotNull,
    /// A bound, and whether it is included.
    Lower(Expr, bool),
    Upper(Expr, bool),
}

impl IndexScan {
    /// Whether the range is the whole index if a pattern happens to begin with a wildcard.
    pub fn hangs_on_pattern(&self) -> bool {
        self.ranges.iter().any(KeyRange::hangs_on_pattern)
    }
}

/// Rows whose addresses indexes have told, page by page.
#[derive(Debug)]
pub struct BitmapHeapScan {
    pub table: Arc<TableDef>,
    /// The name of the entry in the query.
    pub alias: Box<str>,
    pub bits: Bits<BitmapIndexScan>,
    pub outputs: Vec<ScanColumn>,
    /// What the indexes guarantee, tested where they can't: on pages that are lossy, and after hash indexes. Over the
    /// outputs, as is `filter`.
    pub recheck: Option<Expr>,
    /// What is always to be tested.
    pub filter: Option<Expr>,
}

/// The row addresses in ranges of an index.
#[derive(Debug)]
pub struct BitmapIndexScan {
    pub index: Arc<IndexDef>,
    pub ranges: Vec<KeyRange>,
}

/// Ways to read one table that give the same rows.
#[derive(Debug)]
pub struct Choice {
    pub table: Arc<TableDef>,
    pub outputs: Vec<ScanColumn>,
    pub ways: Vec<(Path, Node)>,
    /// What the ways go by, over the outputs.
    pub conditions: Vec<Expr>,
    /// An order is asked for; ways that do not give it sort.
    pub ordered: bool,
    pub wanted: Option<Top>,
    /// How many rows are wanted of the first ones, as is guessed, where no LIMIT says so of this table alone.
    pub guessed: Option<f64>,
    pub settings: Settings,
}

#[derive(Clone, Debug)]
pub enum KeyValue {
    /// An expression of the column's type, over no row.
    Is(Expr),
    IsNull,
    /// `= ANY (array)`: one lookup per distinct element.
    AnyOf(Expr),
}

#[derive(Debug)]
pub struct TidScan {
    pub table: Arc<TableDef>,
    /// The name of the entry in the query.
    pub alias: Box<str>,
    /// The address of a row, or an array of them, over no row.
    pub tids: Expr,
    pub outputs: Vec<ScanColumn>,
    pub filter: Option<Expr>,
}

#[derive(Debug)]
pub struct FunctionScan {
    pub calls: Vec<FunctionCall>,
    /// The name of the entry in the query, and those of its columns.
    pub alias: Box<str>,
    pub columns: Vec<Box<str>>,
    pub ordinality: bool,
}

#[derive(Debug)]
pub struct Filter {
    pub input: Node,
    pub condition: Expr,
}

#[derive(Debug)]
pub struct Project {
    pub input: Node,
    pub exprs: Vec<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinType {
    Inner,
    Left,
    /// Hash joins only.
    Right,
    /// In loops, the inner side gives the same rows in the same order each time.
    Full,
    /// Outer rows that have a match, each once; the inner row is not part of the result.
    Semi,
    /// Outer rows that have none.
    Anti,
    /// As [`JoinType::Anti`], with the null semantics of NOT IN.
    NullAwareAnti,
}

#[derive(Debug)]
pub struct NestLoop {
    pub outer: Node,
    pub inner: Node,
    pub outer_width: u16,
    pub inner_width: u16,
    pub kind: JoinType,
    /// Exec slots to set from the outer row before the inner side is run again; without any, the inner
    /// side is the same for every outer row.
    pub parameters: Vec<(u16, Expr)>,
    pub condition: Option<Expr>,
}

#[derive(Debug)]
pub struct HashJoin {
    pub outer: Node,
    pub inner: Node,
    pub outer_width: u16,
    pub inner_width: u16,
    pub kind: JoinType,
    /// Over the outer row, and over the inner row from its slot 0; of equal types pairwise.
    pub outer_keys: Vec<Expr>,
    pub inner_keys: Vec<Expr>,
    /// Beyond the keys; over the joined row.
    pub condition: Option<Expr>,
}

#[derive(Debug)]
pub struct Sort {
    pub input: Node,
    pub keys: Vec<SortExpr>,
    /// Only the first rows are wanted.
    pub top: Option<Top>,
}

/// How many of the first rows a LIMIT above wants. The expressions are cheap, stable, and over no row.
#[derive(Clone, Debug)]
pub struct Top {
    pub count: Expr,
    pub offset: Option<Expr>,
}

#[derive(Debug)]
pub struct Limit {
    pub input: Node,
    /// int8, over no row; null is "all".
    pub count: Option<Expr>,
    pub offset: Option<Expr>,
    /// WITH TIES: rows equal to the last in these keys come too.
    pub ties: Option<Vec<SortExpr>>,
}

#[derive(Debug)]
pub struct Unique {
    pub input: Node,
    /// Over the input's row.
    pub keys: Vec<Expr>,
}

/// Grouping by hashing. The result row is the keys, then the aggregates, then (with several grouping sets)
/// one int4 per GROUPING call.
#[derive(Debug)]
pub struct Aggregate {
    pub input: Node,
    pub keys: Vec<Expr>,
    /// Positions in `keys`; one set of all of them for a plain GROUP BY, one empty set without.
    pub sets: Vec<Vec<u16>>,
    pub calls: Vec<AggCall>,
    /// For each GROUPING call the positions of its arguments in `keys`.
    pub groupings: Vec<Vec<u16>>,
}

/// Window calls that share one partitioning and order. The result row is the input's, then the calls'.
/// The input comes sorted by partition and order.
#[derive(Debug)]
pub struct WindowAgg {
    pub input: Node,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortExpr>,
    pub frame: crate::bind::query::Frame,
    pub calls: Vec<WindowCall>,
}

#[derive(Debug)]
pub struct SetOp {
    pub left: Node,
    pub right: Node,
    pub op: SetOperator,
    pub all: bool,
    /// Of the columns.
    pub types: Vec<TypeId>,
}

#[derive(Debug)]
pub struct RecursiveUnion {
    pub first: Node,
    pub again: Node,
    pub work_table: u16,
    pub all: bool,
    /// Of the columns.
    pub types: Vec<TypeId>,
}

/// FOR UPDATE and its kin. The input's slots carry each table's ctid.
#[derive(Debug)]
pub struct LockRows {
    pub input: Node,
    pub tables: Vec<LockedTable>,
    /// Outer joins that locked rows are on the outer side of, innermost first: over the input's slots.
    pub outer: Vec<OuterRecheck>,
    /// The condition to check again on a row of which something has changed, over the input's slots.
    pub recheck: Option<Expr>,
}

#[derive(Debug)]
pub struct LockedTable {
    pub table: Arc<TableDef>,
    /// The slot with the row's address; null when an outer join gave no row.
    pub ctid: u16,
    pub strength: LockStrength,
    pub wait: LockWait,
    /// After another transaction changed the row: which slots are this table's columns, to be filled anew.
    pub refresh: Vec<(u16, ScanColumn)>,
}

/// An outer join's condition; where a changed row no longer meets it, the other side's slots become null.
#[derive(Clone, Debug)]
pub struct OuterRecheck {
    pub condition: Expr,
    pub nulled: Vec<u16>,
}

/// INSERT, UPDATE, DELETE.
///
/// For UPDATE and DELETE the input row is `input_width` slots of which `ctid` is the target row's address
/// and `refresh` says which hold its columns; when another transaction changed the row first (READ COMMITTED)
/// these are filled from the newest version, `recheck` is evaluated, and the action is tried again.
#[derive(Debug)]
pub struct Modify {
    pub table: Arc<TableDef>,
    pub input: Node,
    pub action: ModifyAction,
    /// Over the new row (for DELETE the old one), all table columns in order, as slots from 0.
    pub checks: Vec<(Box<str>, Expr)>,
    /// The generated columns and what they are, over the new row likewise.
    pub generated: Vec<(u16, Expr)>,
    /// The target's system columns that RETURNING and ON CONFLICT ask for.
    pub system: Vec<Column>,
    /// Over the table's columns as slots from 0, `system`, then (UPDATE and DELETE) the input row.
    pub returning: Option<Vec<Expr>>,
}

#[derive(Debug)]
pub enum ModifyAction {
    /// The input row is one value per column, dropped ones included.
    Insert {
        on_conflict: Option<ConflictPlan>,
    },
    Update {
        target: TargetRow,
        sets: Vec<(u16, Expr)>,
    },
    Delete {
        target: TargetRow,
    },
}

/// How an input row names the target row.
#[derive(Debug)]
pub struct TargetRow {
    pub ctid: u16,
    pub refresh: Vec<(u16, ScanColumn)>,
    pub recheck: Option<Expr>,
}

#[derive(Debug)]
pub struct ConflictPlan {
    pub arbiters: OnConflictArbiters,
    /// `None` is DO NOTHING. Expressions are over the existing row's columns, then its `system` ones, then the
    /// excluded row's.
    pub update: Option<ConflictUpdate>,
}

/// Which indexes count; empty is all.
pub type OnConflictArbiters = Vec<Arc<IndexDef>>;

impl ConflictPlan {
    /// The arbiters of a bound clause, from the table's indexes.
    pub fn arbiters_of(table: &TableDef, bound: &OnConflict) -> OnConflictArbiters {
        table.indexes.iter().filter(|i| bound.arbiters.contains(&i.oid)).cloned().collect()
    }
}

impl KeyRange {
    /// Whether it is the whole index if its pattern happens to begin with a wildcard.
    pub fn hangs_on_pattern(&self) -> bool {
        self.equal.is_empty() && self.pattern.is_some()
    }

    /// The range of one key value per leading column.
    pub fn point(values: Vec<Expr>) -> KeyRange {
        KeyRange { equal: values.into_iter().map(KeyValue::Is).collect(), ..KeyRange::default() }
    }
}

impl Node {
    /// A single row of constants.
    pub fn constant_row(values: Vec<(Datum, Ty)>) -> Node {
        let row = values.into_iter().map(|(value, ty)| Expr::constant(value, ty)).collect();
        Node::Values(Arc::new(vec![row]))
    }
}
