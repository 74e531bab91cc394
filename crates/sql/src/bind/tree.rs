//! Typed expressions: what the binder makes of the syntax tree and the executor evaluates.
//!
//! One tree serves both. The binder refers to columns by range-table entry ([`Expr::Var`]); the
//! planner replaces those by positions in the row that a plan node works on ([`Expr::Slot`]) or by
//! values that an enclosing node provides ([`Expr::Exec`]).

use std::sync::Arc;

use syntax::ast::Loc;

use crate::func::{Aggregate, Function};
use crate::types::{Collation, Datum, Oid, TypeId, type_info};

use super::query::Query;

/// A type with its modifier (-1 for none): `varchar(10)`, `numeric(8,2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ty {
    pub id: TypeId,
    pub modifier: i32,
}

impl Ty {
    pub const fn of(id: TypeId) -> Ty {
        Ty { id, modifier: -1 }
    }

    /// The collation that values of the type have by themselves; invalid if the type has none.
    pub fn collation(self) -> Collation {
        Collation::bytes(type_info(self.id).map_or(Oid::INVALID, |info| info.collation))
    }

    pub const BOOL: Ty = Ty::of(TypeId::BOOL);
    pub const INT4: Ty = Ty::of(TypeId::INT4);
    pub const INT8: Ty = Ty::of(TypeId::INT8);
    pub const TEXT: Ty = Ty::of(TypeId::TEXT);
    pub const UNKNOWN: Ty = Ty::of(TypeId::UNKNOWN);
}

/// A typed expression.
#[derive(Clone, Debug)]
pub enum Expr {
    Const(Const),
    /// Parameter of the statement, counted from 0; its type is in the statement's list.
    Param(Param),
    /// A value that an enclosing plan node provides: a correlated column, an inner index key, the
    /// result of an uncorrelated sub-select.
    Exec(Slot),
    Var(Var),
    /// A position in the node's input row.
    Slot(Slot),
    Call(Box<Call>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<IsNull>),
    /// `IS [NOT] TRUE | FALSE | UNKNOWN`.
    IsBool(Box<IsBool>),
    Case(Box<Case>),
    Coalesce(Box<ArgList>),
    /// GREATEST and LEAST.
    MinMax(Box<MinMax>),
    /// `IS [NOT] DISTINCT FROM`; the call is the equality.
    Distinct(Box<Distinct>),
    /// NULLIF; the call is the equality, its first argument the value.
    NullIf(Box<NullIf>),
    /// `a op ANY|ALL (array)`, and `IN` lists.
    ArrayOp(Box<ArrayOp>),
    /// `ARRAY[…]`.
    Array(Box<ArrayExpr>),
    /// `ROW(…)`.
    Row(Box<ArgList>),
    /// `(a, b) op (c, d)`: pairwise calls from the most significant column.
    RowCompare(Box<RowCompare>),
    Subscript(Box<Subscript>),
    Field(Box<FieldSelect>),
    /// The same bits under another type: varchar as text.
    Relabel(Box<Relabel>),
    /// `COLLATE`: the same value.
    Collate(Box<Collate>),
    /// A value's place in the order of a collation, as bytes.
    SortKey(Box<CollationKey>),
    /// A value as the key of an index whose type can't hold all of them.
    Narrow(Box<Narrow>),
    /// Through the text form of the value.
    ViaText(Box<ViaText>),
    /// A cast of every element of an array; the call takes one element in `Expr::Element`.
    ArrayCast(Box<ArrayCast>),
    /// The element at hand inside [`Expr::ArrayCast`], or the subject of `CASE x WHEN …`.
    Element(Ty),
    Aggregate(Box<AggCall>),
    Window(Box<WindowCall>),
    Grouping(Box<Grouping>),
    SubLink(Box<SubLink>),
    /// What the planner makes of a [`SubLink`].
    SubPlan(Box<SubPlan>),
    /// `CURRENT_USER`, `CURRENT_TIMESTAMP(2)`, …: functions of the session without a name.
    SqlValue(Box<SqlValue>),
    /// The next value of a column's own sequence (identity columns).
    NextValue(NextValue),
    /// `DEFAULT` in a VALUES list, until INSERT replaces it by the column's default.
    SetToDefault(Ty),
    /// `WHERE CURRENT OF`: the address of the row that the cursor is on.
    CurrentOf(Box<CurrentOf>),
}

#[derive(Clone, Debug)]
pub struct CurrentOf {
    pub cursor: Box<str>,
    /// The table that is changed.
    pub table: Oid,
    pub table_name: Box<str>,
}

#[derive(Clone, Debug)]
pub struct Const {
    pub value: Datum,
    pub ty: Ty,
    pub loc: Loc,
}

#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub index: u16,
    pub ty: Ty,
    pub loc: Loc,
}

#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub slot: u16,
    pub ty: Ty,
}

/// A column of a range-table entry.
#[derive(Clone, Copy, Debug)]
pub struct Var {
    /// How many queries outwards the entry is; 0 is the query the expression stands in.
    pub level: u16,
    pub rel: u16,
    pub column: Column,
    pub ty: Ty,
    pub collation: Collation,
    pub loc: Loc,
}

/// Which column of a range-table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// Counted from 0, dropped ones included.
    User(u16),
    Ctid,
    TableOid,
    Xmin,
    Xmax,
    Cmin,
    Cmax,
    /// The whole row as a record.
    Whole,
}

impl Column {
    /// Whether it tells of the row's version.
    pub fn is_system(self) -> bool {
        !matches!(self, Column::User(_) | Column::Whole)
    }

    /// Whether it is made of the table's column at `column`.
    pub fn needs(self, column: usize) -> bool {
        match self {
            Column::User(own) => usize::from(own) == column,
            Column::Whole => true,
            _ => false,
        }
    }
}

/// How a call was written, for EXPLAIN and stored expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Function,
    /// The operator's symbol.
    Operator(Box<str>),
    /// A cast that was written.
    ExplicitCast,
    /// A cast that was not.
    ImplicitCast,
    /// SQL's own syntax: EXTRACT and its kin.
    SqlSyntax,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub func: &'static Function,
    pub args: Vec<Expr>,
    /// The result; for a polymorphic function the type it came out as.
    pub ty: Ty,
    /// What it compares by; see [`super::collate`].
    pub collation: Collation,
    /// The last argument is the array of a variadic call.
    pub variadic: bool,
    pub shape: Shape,
    pub loc: Loc,
}

#[derive(Clone, Debug)]
pub struct IsNull {
    pub arg: Expr,
    pub negated: bool,
    /// The argument is a row: null if every field is, not null if no field is.
    pub row: bool,
}

#[derive(Clone, Debug)]
pub struct IsBool {
    pub arg: Expr,
    pub value: Option<bool>,
    pub negated: bool,
}

#[derive(Clone, Debug)]
pub struct Case {
    /// The subject of `CASE x WHEN …`; the conditions compare with [`Expr::Element`]. Without conditions it is a row of
    /// a sub-select, and the default compares its fields.
    pub arg: Option<Expr>,
    pub whens: Vec<(Expr, Expr)>,
    pub default: Option<Expr>,
    pub ty: Ty,
}

#[derive(Clone, Debug)]
pub struct ArgList {
    pub args: Vec<Expr>,
    pub ty: Ty,
}

#[derive(Clone, Debug)]
pub struct MinMax {
    pub args: Vec<Expr>,
    pub greatest: bool,
    pub collation: Collation,
    pub ty: Ty,
}

#[derive(Clone, Debug)]
pub struct Distinct {
    pub equal: Call,
    pub negated: bool,
}

#[derive(Clone, Debug)]
pub struct NullIf {
    pub equal: Call,
    pub ty: Ty,
}

#[derive(Clone, Debug)]
pub struct ArrayOp {
    pub func: &'static Function,
    pub symbol: Box<str>,
    pub left: Expr,
    pub right: ArrayArg,
    /// ANY if not ALL.
    pub all: bool,
    pub collation: Collation,
    pub loc: Loc,
    /// The planner's: how the members are hashed.
    pub hashed: Option<Arc<crate::plan::node::HashedList>>,
}

/// The right side of an [`ArrayOp`].
#[derive(Clone, Debug)]
pub enum ArrayArg {
    /// An expression of an array type.
    Array(Expr),
    /// The members of an IN list, each of the element type.
    List(Vec<Expr>),
}

impl ArrayArg {
    /// What is listed and the same for all rows need not become an array first; IN is stored like this.
    pub fn of(array: Expr) -> ArrayArg {
        let listed = matches!(&array, Expr::Array(a) if !a.nested
            && !a.elements.is_empty()
            && a.elements.iter().all(super::walk::is_one_for_all));
        match array {
            Expr::Array(array) if listed => ArrayArg::List(array.elements),
            array => ArrayArg::Array(array),
        }
    }
}

#[derive(Clone, Debug)]
pub struct ArrayExpr {
    pub elements: Vec<Expr>,
    pub element_type: TypeId,
    /// The elements are arrays themselves, to become the inner dimensions.
    pub nested: bool,
    pub ty: Ty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Lt,
    Le,
    Eq,
    Ge,
    Gt,
    Ne,
}

#[derive(Clone, Debug)]
pub struct RowCompare {
    pub op: Comparison,
    /// For each column its equality and its strict comparison (`<` or `>`), with the two sides as
    /// the calls' arguments.
    pub columns: Vec<(Call, Option<Call>)>,
}

#[derive(Clone, Debug)]
pub struct Subscript {
    pub arg: Expr,
    /// One per dimension: an index, or the bounds of a slice.
    pub steps: Vec<SubscriptStep>,
    /// The array's element or slice is this one; the value is the whole array.
    pub assigned: Option<Expr>,
    pub ty: Ty,
}

#[derive(Clone, Debug)]
pub enum SubscriptStep {
    Index(Expr),
    Slice(Option<Expr>, Option<Expr>),
}

#[derive(Clone, Debug)]
pub struct FieldSelect {
    pub arg: Expr,
    /// From 0.
    pub field: u16,
    pub ty: Ty,
    pub collation: Collation,
}

#[derive(Clone, Debug)]
pub struct Relabel {
    pub arg: Expr,
    pub ty: Ty,
    pub explicit: bool,
}

#[derive(Clone, Debug)]
pub struct Collate {
    pub arg: Expr,
    pub collation: Collation,
    /// The collation's schema and name.
    pub schema: Box<str>,
    pub name: Box<str>,
    pub loc: Loc,
}

/// What the planner makes of keys that are compared under rules of their own.
#[derive(Clone, Debug)]
pub struct CollationKey {
    pub arg: Expr,
    pub collation: Collation,
}

/// What the planner makes of values beside keys of another type.
#[derive(Clone, Debug)]
pub struct Narrow {
    /// A number of more bits than the key's; a date or time of another type.
    pub arg: Expr,
    pub ty: Ty,
    pub to: NarrowTo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NarrowTo {
    /// The same number; null where the type has none, since nothing is equal to it. The same time; one beyond all where
    /// the type has none.
    Equal,
    /// A value of which surely none that is asked for is below: the least number where the type has none; a day before.
    Lower,
    /// Likewise above.
    Upper,
}

#[derive(Clone, Debug)]
pub struct ViaText {
    pub arg: Expr,
    pub ty: Ty,
    pub explicit: bool,
    pub loc: Loc,
}

#[derive(Clone, Debug)]
pub struct ArrayCast {
    pub arg: Expr,
    /// Casts [`Expr::Element`].
    pub cast: Expr,
    pub element_type: TypeId,
    pub ty: Ty,
    pub explicit: bool,
}

/// One aggregate of a query level.
#[derive(Clone, Debug)]
pub struct AggCall {
    pub agg: &'static Aggregate,
    pub args: Vec<Expr>,
    pub star: bool,
    pub distinct: bool,
    /// Positions in `args` are not used: the keys are expressions of the same input row.
    pub order_by: Vec<SortExpr>,
    pub filter: Option<Expr>,
    pub ty: Ty,
    /// The query level it belongs to, outwards.
    pub level: u16,
    pub loc: Loc,
}

#[derive(Clone, Debug)]
pub struct SortExpr {
    pub expr: Expr,
    pub desc: bool,
    pub nulls_first: bool,
    /// What values are ordered by; the executor finds that done in the expression.
    pub collation: Collation,
}

impl SortExpr {
    pub fn new(expr: Expr, desc: bool, nulls_first: bool) -> SortExpr {
        let collation = super::collate::of(&expr);
        SortExpr { expr, desc, nulls_first, collation }
    }
}

/// The function of a window call.
#[derive(Clone, Copy, Debug)]
pub enum WindowFunc {
    Aggregate(&'static Aggregate),
    Function(&'static Function),
}

#[derive(Clone, Debug)]
pub struct WindowCall {
    pub func: WindowFunc,
    pub args: Vec<Expr>,
    pub star: bool,
    pub filter: Option<Expr>,
    /// Into the query's list of windows.
    pub window: u16,
    pub ty: Ty,
    pub loc: Loc,
}

/// `GROUPING (…)`.
#[derive(Clone, Debug)]
pub struct Grouping {
    pub args: Vec<Expr>,
    /// The query level it belongs to, outwards.
    pub level: u16,
    pub loc: Loc,
}

/// What a sub-select is asked for.
#[derive(Clone, Debug)]
pub enum SubLinkKind {
    Exists,
    /// One column of at most one row.
    Scalar,
    /// One row for several columns of an UPDATE, or to be compared with another, as a record.
    Row {
        /// It is what the other one with the same number gave last.
        again: bool,
    },
    /// `ARRAY(select)`; of a column of arrays, an array of one dimension more.
    Array {
        nested: bool,
    },
    /// `left op ANY|ALL (select)`: the calls' right arguments are [`Expr::Slot`]s into the
    /// sub-select's row.
    Quantified {
        tests: Vec<Call>,
        all: bool,
    },
}

#[derive(Clone, Debug)]
pub struct SubLink {
    /// One of its statement's; a copy has its original's.
    pub id: u32,
    pub kind: SubLinkKind,
    pub query: Box<Query>,
    pub ty: Ty,
    pub loc: Loc,
}

#[derive(Clone, Debug)]
pub struct SubPlan {
    pub kind: SubLinkKind,
    pub plan: Arc<crate::plan::node::Subplan>,
    /// Exec slots to set from the current row before each run: the correlation.
    pub args: Vec<(u16, Expr)>,
    /// Its place in the executor's table of sub-plan states.
    pub id: u16,
    pub ty: Ty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlValueKind {
    CurrentDate,
    CurrentTime,
    CurrentTimestamp,
    LocalTime,
    LocalTimestamp,
    CurrentUser,
    SessionUser,
    CurrentCatalog,
    CurrentSchema,
}

#[derive(Clone, Debug)]
pub struct SqlValue {
    pub kind: SqlValueKind,
    /// As written, for the column's name and for EXPLAIN.
    pub written: &'static str,
    pub ty: Ty,
}

#[derive(Clone, Copy, Debug)]
pub struct NextValue {
    pub sequence: crate::types::Oid,
    pub ty: Ty,
}

impl Expr {
    pub fn constant(value: Datum, ty: Ty) -> Expr {
        Expr::Const(Const { value, ty, loc: Loc::NONE })
    }

    pub fn null(ty: Ty) -> Expr {
        Expr::constant(Datum::Null, ty)
    }

    pub fn bool(value: bool) -> Expr {
        Expr::constant(Datum::Bool(value), Ty::BOOL)
    }

    /// The expression's type.
    pub fn ty(&self) -> Ty {
        match self {
            Expr::Const(c) => c.ty,
            Expr::Param(p) => p.ty,
            Expr::Exec(s) | Expr::Slot(s) => s.ty,
            Expr::Var(v) => v.ty,
            Expr::Call(c) => c.ty,
            Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsBool(_)
            | Expr::Distinct(_)
            | Expr::ArrayOp(_)
            | Expr::RowCompare(_) => Ty::BOOL,
            Expr::CurrentOf(_) => Ty::of(TypeId::TID),
            Expr::Case(c) => c.ty,
            Expr::Coalesce(l) | Expr::Row(l) => l.ty,
            Expr::MinMax(m) => m.ty,
            Expr::NullIf(n) => n.ty,
            Expr::Array(a) => a.ty,
            Expr::Subscript(s) => s.ty,
            Expr::Field(f) => f.ty,
            Expr::Relabel(r) => r.ty,
            Expr::Collate(c) => c.arg.ty(),
            Expr::SortKey(_) => Ty::of(TypeId::BYTEA),
            Expr::Narrow(n) => n.ty,
            Expr::ViaText(v) => v.ty,
            Expr::ArrayCast(a) => a.ty,
            Expr::Element(ty) | Expr::SetToDefault(ty) => *ty,
            Expr::Aggregate(a) => a.ty,
            Expr::Window(w) => w.ty,
            Expr::Grouping(_) => Ty::INT4,
            Expr::SubLink(s) => s.ty,
            Expr::SubPlan(s) => s.ty,
            Expr::SqlValue(v) => v.ty,
            Expr::NextValue(n) => n.ty,
        }
    }

    pub fn type_id(&self) -> TypeId {
        self.ty().id
    }

    /// Where the expression was written, for error positions: the leftmost known place.
    pub fn loc(&self) -> Loc {
        match self {
            Expr::Const(c) => c.loc,
            Expr::Param(p) => p.loc,
            Expr::Var(v) => v.loc,
            Expr::Call(c) => {
                let first = c.args.first().map_or(Loc::NONE, Expr::loc);
                match (first.offset(), c.loc.offset()) {
                    (Some(arg), Some(own)) if arg < own => first,
                    (Some(_), None) => first,
                    _ => c.loc,
                }
            }
            Expr::Aggregate(a) => a.loc,
            Expr::Window(w) => w.loc,
            Expr::SubLink(s) => s.loc,
            Expr::Relabel(r) => r.arg.loc(),
            Expr::Collate(c) => c.arg.loc(),
            Expr::Narrow(n) => n.arg.loc(),
            Expr::ViaText(v) => v.arg.loc(),
            Expr::ArrayCast(a) => a.arg.loc(),
            Expr::ArrayOp(a) => a.left.loc(),
            Expr::And(args) | Expr::Or(args) => args.first().map_or(Loc::NONE, Expr::loc),
            Expr::Not(arg) => arg.loc(),
            Expr::IsNull(n) => n.arg.loc(),
            Expr::IsBool(n) => n.arg.loc(),
            Expr::Subscript(s) => s.arg.loc(),
            Expr::Field(f) => f.arg.loc(),
            Expr::Coalesce(l) | Expr::Row(l) => l.args.first().map_or(Loc::NONE, Expr::loc),
            Expr::MinMax(m) => m.args.first().map_or(Loc::NONE, Expr::loc),
            Expr::Case(c) => c.whens.first().map_or(Loc::NONE, |(when, _)| when.loc()),
            Expr::Distinct(d) => d.equal.args.first().map_or(Loc::NONE, Expr::loc),
            Expr::NullIf(d) => d.equal.args.first().map_or(Loc::NONE, Expr::loc),
            Expr::Array(a) => a.elements.first().map_or(Loc::NONE, Expr::loc),
            Expr::Grouping(g) => g.loc,
            _ => Loc::NONE,
        }
    }

    /// The expression without the COLLATE around it: the same value.
    pub fn bare(&self) -> &Expr {
        match self {
            Expr::Collate(c) => c.arg.bare(),
            other => other,
        }
    }

    /// A string literal whose type is still open.
    pub fn is_unknown_literal(&self) -> bool {
        matches!(self, Expr::Const(c) if c.ty.id == TypeId::UNKNOWN)
    }

    /// Is this the constant `true`?
    pub fn is_true(&self) -> bool {
        matches!(self, Expr::Const(Const { value: Datum::Bool(true), .. }))
    }

    /// `a AND b`, flattened.
    pub fn and(self, other: Expr) -> Expr {
        let mut all = self.into_conjuncts();
        all.extend(other.into_conjuncts());
        if all.len() == 1 { all.remove(0) } else { Expr::And(all) }
    }

    /// The parts that must all be true.
    pub fn into_conjuncts(self) -> Vec<Expr> {
        match self {
            Expr::And(args) => args.into_iter().flat_map(Expr::into_conjuncts).collect(),
            other => vec![other],
        }
    }

    /// All of them, or nothing if there are none.
    pub fn all_of(mut conjuncts: Vec<Expr>) -> Option<Expr> {
        match conjuncts.len() {
            0 => None,
            1 => conjuncts.pop(),
            _ => Some(Expr::And(conjuncts)),
        }
    }

    /// One condition of several of which one must hold.
    pub fn any_of(mut arms: Vec<Expr>) -> Option<Expr> {
        match arms.len() {
            0 => None,
            1 => arms.pop(),
            _ => Some(Expr::Or(arms)),
        }
    }
}

impl Var {
    /// The same column?
    pub fn same(&self, other: &Var) -> bool {
        self.level == other.level && self.rel == other.rel && self.column == other.column
    }
}
