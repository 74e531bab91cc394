//! Expressions.
//!
//! `Expr` itself is small (a tag and at most a vector, a string or a box), so that recursion over
//! deep trees costs little stack per level; everything bigger sits in a boxed struct.

use super::{Loc, Name, QualifiedName, Select, SortBy, TypeName, WindowSpec};

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `a`, `t.a`, `s.t.a`. What the parts mean is the binder's to find out: `a.b` may be a table's
    /// column or a column's field.
    Column(ColumnRef),
    /// `*`, `t.*`, `s.t.*`.
    Star(StarRef),
    Const(Const),
    /// `$n`.
    Param(ParamRef),
    /// A constant that was lifted out of the statement so that its plan can be reused; see
    /// [`crate::lift`]. Never made by [`crate::parse()`].
    Lifted(Box<LiftedConst>),
    /// A prefix operator: `- a`, `@ a`, `~ a`.
    Unary(Box<UnaryExpr>),
    /// An infix operator.
    Binary(Box<BinaryExpr>),
    /// `a op ANY (array)`, `a op ALL (array)`.
    Quantified(Box<QuantifiedExpr>),
    /// `a [NOT] IN (b, c, …)`.
    InList(Box<InListExpr>),
    /// `a [NOT] LIKE b [ESCAPE c]`, and ILIKE, and SIMILAR TO.
    Like(Box<LikeExpr>),
    /// `a [NOT] BETWEEN [SYMMETRIC] b AND c`.
    Between(Box<BetweenExpr>),
    /// `a IS [NOT] DISTINCT FROM b`.
    IsDistinct(Box<IsDistinctExpr>),
    /// `NULLIF (a, b)`.
    NullIf(Box<NullIfExpr>),
    /// `a AND b AND …`, flattened: at least two.
    And(Box<BoolExpr>),
    /// `a OR b OR …`, flattened: at least two.
    Or(Box<BoolExpr>),
    Not(Box<NotExpr>),
    /// `a IS [NOT] NULL`.
    IsNull(Box<IsNullExpr>),
    /// `a IS [NOT] TRUE | FALSE | UNKNOWN`.
    IsBool(Box<IsBoolExpr>),
    Case(Box<CaseExpr>),
    Coalesce(Box<ArgList>),
    Greatest(Box<ArgList>),
    Least(Box<ArgList>),
    /// `CAST (a AS t)`, `a::t`, `t 'literal'`.
    Cast(Box<CastExpr>),
    Collate(Box<CollateExpr>),
    /// `ARRAY[…]`; nested brackets are nested `Array`s.
    Array(Box<ArgList>),
    /// `ROW (…)` or `(a, b)`.
    Row(Box<RowExpr>),
    /// `a[1]`, `a[1:2]`, `(a).f`, `(a).*`.
    Indirection(Box<IndirectionExpr>),
    SubLink(Box<SubLink>),
    Func(Box<FuncCall>),
    /// `CURRENT_TIMESTAMP` and its kin.
    SqlValue(Box<SqlValueExpr>),
    /// `GROUPING (a, b)`.
    Grouping(Box<ArgList>),
    /// `DEFAULT` where a value may stand in INSERT and UPDATE.
    Default(Loc),
    /// `WHERE CURRENT OF cursor`.
    CurrentOf(Box<CursorRef>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRef {
    /// Never empty.
    pub path: Vec<Name>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StarRef {
    /// What stands before `.*`; empty for a bare `*`.
    pub path: Vec<Name>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Const {
    pub value: Literal,
    /// For a negative number, the place of its minus sign.
    pub loc: Loc,
}

/// A literal, before it has a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// An integer that fits 64 bits: `int4` if it fits 32, else `int8`. A minus sign directly
    /// before a number belongs to it.
    Integer(i64),
    /// Any other number, as decimal text that `numeric` reads (no underscores, no radix prefix).
    Numeric(Box<str>),
    /// Of unknown type until its surroundings give it one.
    String(Box<str>),
    /// `B'101'` is `b101`, `X'1F'` is `x1F`.
    Bits(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ParamRef {
    /// 1-based; `$0` parses as PostgreSQL lets it, and is the binder's to refuse.
    pub number: u32,
    pub loc: Loc,
}

/// Two lifted constants are equal if they have the same slot and their literals the same kind.
#[derive(Clone, Debug)]
pub struct LiftedConst {
    /// 0-based index into the statement's list of lifted constants.
    pub slot: u32,
    /// The literal of the text that this tree was parsed from. Its kind (and, for an integer,
    /// whether it is `int4` or `int8`) holds for every text with the same key; its value does not.
    pub literal: Literal,
    pub loc: Loc,
}

impl PartialEq for LiftedConst {
    fn eq(&self, other: &LiftedConst) -> bool {
        let same_kind = match (&self.literal, &other.literal) {
            (Literal::Integer(a), Literal::Integer(b)) => {
                i32::try_from(*a).is_ok() == i32::try_from(*b).is_ok()
            }
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        self.slot == other.slot && same_kind
    }
}

/// An operator as written: `+`, or `OPERATOR(schema.+)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    pub schema: Vec<Name>,
    pub symbol: Name,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct UnaryExpr {
    pub op: Operator,
    pub arg: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BinaryExpr {
    pub op: Operator,
    pub left: Expr,
    pub right: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// Also written `SOME`.
    Any,
    All,
}

#[derive(Clone, Debug, PartialEq)]
pub struct QuantifiedExpr {
    pub op: Operator,
    pub quantifier: Quantifier,
    pub left: Expr,
    /// An expression whose value is an array; `ANY (SELECT …)` is a [`SubLink`].
    pub array: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct InListExpr {
    pub arg: Expr,
    /// Never empty; `IN (SELECT …)` is a [`SubLink`].
    pub list: Vec<Expr>,
    pub negated: bool,
    pub loc: Loc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikeKind {
    Like,
    ILike,
    SimilarTo,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LikeExpr {
    pub kind: LikeKind,
    pub negated: bool,
    pub arg: Expr,
    pub pattern: Expr,
    pub escape: Option<Expr>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BetweenExpr {
    pub arg: Expr,
    pub low: Expr,
    pub high: Expr,
    pub negated: bool,
    pub symmetric: bool,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IsDistinctExpr {
    pub left: Expr,
    pub right: Expr,
    /// `IS NOT DISTINCT FROM`.
    pub negated: bool,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NullIfExpr {
    pub left: Expr,
    pub right: Expr,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BoolExpr {
    pub args: Vec<Expr>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NotExpr {
    pub arg: Expr,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IsNullExpr {
    pub arg: Expr,
    pub negated: bool,
    pub loc: Loc,
}

/// What `IS …` asks of a boolean. `None` is `UNKNOWN`.
#[derive(Clone, Debug, PartialEq)]
pub struct IsBoolExpr {
    pub arg: Expr,
    pub value: Option<bool>,
    pub negated: bool,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseExpr {
    /// `CASE arg WHEN value …`; `None` for `CASE WHEN condition …`.
    pub arg: Option<Expr>,
    /// Never empty.
    pub whens: Vec<CaseWhen>,
    pub default: Option<Expr>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseWhen {
    pub when: Expr,
    pub then: Expr,
    pub loc: Loc,
}

/// A list of expressions behind a keyword.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgList {
    pub args: Vec<Expr>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CastExpr {
    pub arg: Expr,
    pub target: TypeName,
    /// The place of `CAST` or `::`; for `t 'literal'` the place of the type.
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CollateExpr {
    pub arg: Expr,
    pub collation: QualifiedName,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RowExpr {
    pub args: Vec<Expr>,
    /// Written with the word `ROW`.
    pub explicit: bool,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndirectionExpr {
    pub arg: Expr,
    /// Never empty; applied from left to right.
    pub steps: Vec<Indirection>,
}

/// One step into a value: a field, or a subscript.
#[derive(Clone, Debug, PartialEq)]
pub enum Indirection {
    Field(Name),
    Star,
    Index(Expr),
    Slice { lower: Option<Expr>, upper: Option<Expr> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct SubLink {
    pub kind: SubLinkKind,
    pub query: Select,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SubLinkKind {
    /// `EXISTS (…)`.
    Exists,
    /// `(SELECT …)` as a value.
    Scalar,
    /// `ARRAY (SELECT …)`.
    Array,
    /// `a IN (…)` without an operator, `a op ANY (…)` with one. `NOT IN` is `Not` around it.
    Any { left: Expr, op: Option<Operator> },
    /// `a op ALL (…)`.
    All { left: Expr, op: Operator },
}

#[derive(Clone, Debug, PartialEq)]
pub struct FuncCall {
    pub name: QualifiedName,
    pub args: Vec<FuncArg>,
    /// `count(*)`.
    pub star: bool,
    pub distinct: bool,
    /// The last argument is marked `VARIADIC`.
    pub variadic: bool,
    /// `agg(… ORDER BY …)`, or the list of `WITHIN GROUP (ORDER BY …)`.
    pub order_by: Vec<SortBy>,
    pub within_group: bool,
    pub filter: Option<Expr>,
    pub over: Option<Over>,
    /// Written in SQL's own syntax: `EXTRACT (x FROM y)`, `a AT TIME ZONE b`, `TRIM (…)`, `POSITION
    /// (…)`, `OVERLAY`, `SUBSTRING … FROM`, `NORMALIZE`, `OVERLAPS`. The name is then `pg_catalog`'s.
    pub sql_syntax: bool,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FuncArg {
    /// `name => value`.
    pub name: Option<Name>,
    pub value: Expr,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// `OVER w`.
    Named(Name, Loc),
    /// `OVER (…)`.
    Spec(WindowSpec),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlValueKind {
    CurrentDate,
    CurrentTime,
    CurrentTimestamp,
    LocalTime,
    LocalTimestamp,
    CurrentRole,
    CurrentUser,
    /// `USER`.
    User,
    SessionUser,
    CurrentCatalog,
    CurrentSchema,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SqlValueExpr {
    pub kind: SqlValueKind,
    /// `CURRENT_TIMESTAMP (3)`.
    pub precision: Option<i32>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CursorRef {
    pub name: Name,
}
