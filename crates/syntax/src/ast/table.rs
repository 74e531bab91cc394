//! CREATE TABLE, ALTER TABLE, and their constraints.

use super::{AlterSequenceStep, DefOption, Expr, IndexElement, IntoClause, Loc, Name, OnCommit};
use super::{Operator, Persistence, QualifiedName, RelationRef, RoleSpec, SequenceOption};
use super::{Statement, TypeName};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub relation: RelationRef,
    pub persistence: Persistence,
    pub if_not_exists: bool,
    pub elements: Vec<TableElement>,
    /// `INHERITS (…)`.
    pub inherits: Vec<RelationRef>,
    /// `PARTITION BY …`.
    pub partition_by: Option<PartitionBy>,
    /// `PARTITION OF parent FOR VALUES …`.
    pub partition_of: Option<PartitionOf>,
    /// `OF type`.
    pub of_type: Option<TypeName>,
    pub access_method: Option<Name>,
    pub options: Vec<DefOption>,
    pub on_commit: Option<OnCommit>,
    pub tablespace: Option<Name>,
}

/// `CREATE TABLE … AS query`, `CREATE MATERIALIZED VIEW … AS query`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableAs {
    pub into: IntoClause,
    /// SELECT or EXECUTE.
    pub query: Box<Statement>,
    pub materialized_view: bool,
    pub if_not_exists: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    Column(ColumnDef),
    Constraint(Constraint),
    Like(TableLike),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    pub name: Name,
    /// Absent only in `CREATE TABLE … OF type`.
    pub type_name: Option<TypeName>,
    pub collation: Option<QualifiedName>,
    pub storage: Option<Name>,
    pub compression: Option<Name>,
    /// In the order written.
    pub constraints: Vec<Constraint>,
    pub loc: Loc,
}

/// A constraint on a column or on a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// `CONSTRAINT name`.
    pub name: Option<Name>,
    pub kind: ConstraintKind,
    pub deferrable: bool,
    pub initially_deferred: bool,
    /// `NOT VALID`.
    pub not_valid: bool,
    pub no_inherit: bool,
    /// `NOT ENFORCED` (grammar newer than PostgreSQL 15).
    pub not_enforced: bool,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// `NULL`, which constrains nothing but clashes with NOT NULL.
    Null,
    /// The column named only where it is a table constraint (grammar newer than PostgreSQL 15).
    NotNull {
        column: Option<Name>,
    },
    Default(Expr),
    Check(Expr),
    /// `GENERATED ALWAYS | BY DEFAULT AS IDENTITY (…)`.
    Identity {
        always: bool,
        options: Vec<SequenceOption>,
    },
    /// `GENERATED ALWAYS AS (…) STORED`; virtual columns are newer than PostgreSQL 15.
    Generated {
        expr: Expr,
        stored: bool,
    },
    PrimaryKey(Box<IndexConstraint>),
    Unique(Box<IndexConstraint>),
    ForeignKey(Box<ForeignKey>),
    Exclude(Box<Exclusion>),
}

/// What an index stands behind: PRIMARY KEY and UNIQUE.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexConstraint {
    /// Empty in a column constraint and with `USING INDEX`.
    pub columns: Vec<Name>,
    pub including: Vec<Name>,
    pub nulls_not_distinct: bool,
    /// `WITHOUT OVERLAPS` (grammar newer than PostgreSQL 15).
    pub without_overlaps: bool,
    pub options: Vec<DefOption>,
    /// `USING INDEX name` in ALTER TABLE.
    pub using_index: Option<Name>,
    pub tablespace: Option<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// Empty in a column constraint.
    pub columns: Vec<Name>,
    pub referenced: RelationRef,
    /// Empty: the referenced table's primary key.
    pub referenced_columns: Vec<Name>,
    pub matching: ForeignKeyMatch,
    pub on_update: ForeignKeyAction,
    pub on_delete: ForeignKeyAction,
    /// `ON DELETE SET NULL (columns)`.
    pub on_delete_columns: Vec<Name>,
    /// `PERIOD` (grammar newer than PostgreSQL 15).
    pub with_period: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignKeyMatch {
    Simple,
    Full,
    Partial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignKeyAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Exclusion {
    pub access_method: Name,
    pub elements: Vec<(IndexElement, Operator)>,
    pub including: Vec<Name>,
    pub filter: Option<Expr>,
    pub options: Vec<DefOption>,
    pub tablespace: Option<Name>,
}

/// `LIKE other INCLUDING …`.
#[derive(Clone, Debug, PartialEq)]
pub struct TableLike {
    pub relation: RelationRef,
    pub including: LikeIncluding,
}

/// What LIKE takes over besides names, types and NOT NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LikeIncluding {
    pub comments: bool,
    pub compression: bool,
    pub constraints: bool,
    pub defaults: bool,
    pub generated: bool,
    pub identity: bool,
    pub indexes: bool,
    pub statistics: bool,
    pub storage: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    pub strategy: PartitionStrategy,
    pub keys: Vec<IndexElement>,
    pub loc: Loc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionStrategy {
    List,
    Range,
    Hash,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionOf {
    pub parent: RelationRef,
    pub bound: PartitionBound,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBound {
    Default,
    List(Vec<Expr>),
    /// MINVALUE and MAXVALUE are column references of these names.
    Range {
        from: Vec<Expr>,
        to: Vec<Expr>,
    },
    Hash {
        modulus: i32,
        remainder: i32,
    },
}

/// `ALTER TABLE` and its kin, for whatever kind of relation.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub relation: RelationRef,
    pub kind: RelationKind,
    pub if_exists: bool,
    pub steps: Vec<AlterTableStep>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationKind {
    Table,
    Index,
    Sequence,
    View,
    MaterializedView,
    ForeignTable,
    /// A composite type.
    Type,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableStep {
    AddColumn {
        if_not_exists: bool,
        column: Box<ColumnDef>,
    },
    DropColumn {
        name: Name,
        if_exists: bool,
        cascade: bool,
    },
    AlterColumnType(Box<AlterColumnType>),
    SetDefault {
        column: Name,
        default: Option<Expr>,
    },
    SetNotNull {
        column: Name,
    },
    DropNotNull {
        column: Name,
    },
    SetExpression {
        column: Name,
        expr: Expr,
    },
    DropExpression {
        column: Name,
        if_exists: bool,
    },
    AddIdentity {
        column: Name,
        always: bool,
        options: Vec<SequenceOption>,
    },
    SetIdentity {
        column: Name,
        steps: Vec<AlterSequenceStep>,
    },
    DropIdentity {
        column: Name,
        if_exists: bool,
    },
    /// The column by name, or by number for an index; `None` is the default target.
    SetStatistics {
        column: ColumnOrNumber,
        target: Option<i32>,
    },
    SetStorage {
        column: Name,
        storage: Name,
    },
    SetCompression {
        column: Name,
        method: Name,
    },
    SetColumnOptions {
        column: Name,
        options: Vec<DefOption>,
    },
    ResetColumnOptions {
        column: Name,
        options: Vec<DefOption>,
    },
    AddConstraint(Box<Constraint>),
    AlterConstraint {
        name: Name,
        deferrable: bool,
        initially_deferred: bool,
    },
    ValidateConstraint {
        name: Name,
    },
    DropConstraint {
        name: Name,
        if_exists: bool,
        cascade: bool,
    },
    SetOptions(Vec<DefOption>),
    ResetOptions(Vec<DefOption>),
    OwnerTo(RoleSpec),
    ClusterOn(Name),
    SetWithoutCluster,
    SetLogged,
    SetUnlogged,
    SetAccessMethod(Option<Name>),
    SetTablespace(Name),
    Inherit(RelationRef),
    NoInherit(RelationRef),
    AttachPartition {
        partition: RelationRef,
        bound: Option<PartitionBound>,
    },
    DetachPartition {
        partition: RelationRef,
    },
    /// A form that is recognised and not modelled; in words, for the error message.
    Other(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterColumnType {
    pub column: Name,
    pub type_name: TypeName,
    pub collation: Option<QualifiedName>,
    pub using: Option<Expr>,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnOrNumber {
    Name(Name),
    Number(i32),
}
