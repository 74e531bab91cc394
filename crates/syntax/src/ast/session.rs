//! Transactions, settings, prepared statements, cursors, COPY, EXPLAIN, maintenance, notifications.

use super::{
    DefOption, Expr, Loc, Name, QualifiedName, RelationRef, RoleSpec, Statement, TypeName,
};

#[derive(Clone, Debug, PartialEq)]
pub enum Transaction {
    /// BEGIN or START TRANSACTION; `start` tells them apart for the command tag.
    Begin {
        modes: Vec<TransactionMode>,
        start: bool,
    },
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint(Name),
    Release(Name),
    RollbackTo(Name),
    Prepare(Box<str>),
    CommitPrepared(Box<str>),
    RollbackPrepared(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionMode {
    Isolation(IsolationLevel, Loc),
    ReadOnly(bool, Loc),
    Deferrable(bool, Loc),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// SET, RESET, and their like inside ALTER ROLE and ALTER DATABASE.
#[derive(Clone, Debug, PartialEq)]
pub struct SetVariable {
    pub action: SetAction,
    /// `SET LOCAL`.
    pub local: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetAction {
    /// `SET name = values`. `SET TIME ZONE x` is `timezone`, `SET NAMES x` `client_encoding`,
    /// `SET SCHEMA x` `search_path`, `SET ROLE x` `role`, `SET SESSION AUTHORIZATION x`
    /// `session_authorization`, `SET XML OPTION x` `xmloption`, `SET SEED` `seed`.
    Value {
        name: Name,
        values: Vec<SetValue>,
        loc: Loc,
    },
    /// `SET name TO DEFAULT`, `SET TIME ZONE LOCAL`.
    Default {
        name: Name,
    },
    /// `SET name FROM CURRENT`.
    FromCurrent {
        name: Name,
    },
    /// `RESET name`.
    Reset {
        name: Name,
    },
    ResetAll,
    /// `SET TRANSACTION …`.
    Transaction(Vec<TransactionMode>),
    /// `SET SESSION CHARACTERISTICS AS TRANSACTION …`.
    SessionCharacteristics(Vec<TransactionMode>),
    /// `SET TRANSACTION SNAPSHOT '…'`.
    TransactionSnapshot(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// A string literal or a bare word.
    String(Box<str>),
    Integer(i64),
    Numeric(Box<str>),
    /// `SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE`.
    Interval {
        text: Box<str>,
        type_name: Box<TypeName>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Prepare {
    pub name: Name,
    pub types: Vec<TypeName>,
    /// SELECT, INSERT, UPDATE or DELETE.
    pub statement: Box<Statement>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    pub name: Name,
    pub args: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    pub name: Name,
    /// A query; without INTO.
    pub query: Box<Statement>,
    pub binary: bool,
    pub scroll: Option<bool>,
    /// ASENSITIVE, INSENSITIVE.
    pub insensitive: bool,
    pub asensitive: bool,
    pub hold: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    pub cursor: Name,
    pub direction: FetchDirection,
    /// MOVE: no rows come back.
    pub is_move: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchDirection {
    /// A count, or `None` for ALL.
    Forward(Option<i64>),
    Backward(Option<i64>),
    /// FIRST is 1, LAST is -1.
    Absolute(i64),
    Relative(i64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CopyStatement {
    pub source: CopySource,
    pub direction: CopyDirection,
    pub endpoint: CopyEndpoint,
    /// Old spellings (`WITH CSV HEADER`) come out as the options of the new ones.
    pub options: Vec<DefOption>,
    /// `COPY … FROM … WHERE`.
    pub filter: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CopySource {
    Table { relation: RelationRef, columns: Vec<Name> },
    Query(Box<Statement>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    From,
    To,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CopyEndpoint {
    /// STDIN or STDOUT: the client.
    Client,
    File(Box<str>),
    Program(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    pub statement: Box<Statement>,
    /// `EXPLAIN ANALYZE VERBOSE` comes out as these two options.
    pub options: Vec<DefOption>,
}

/// VACUUM or ANALYZE.
#[derive(Clone, Debug, PartialEq)]
pub struct Vacuum {
    /// False: ANALYZE.
    pub vacuum: bool,
    pub options: Vec<DefOption>,
    /// Empty: every table.
    pub relations: Vec<VacuumRelation>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct VacuumRelation {
    pub relation: RelationRef,
    pub columns: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Absent: every table that was clustered before.
    pub relation: Option<RelationRef>,
    pub index: Option<Name>,
    pub options: Vec<DefOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    pub relations: Vec<RelationRef>,
    pub restart_identity: bool,
    pub cascade: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LockTable {
    pub relations: Vec<RelationRef>,
    pub mode: LockMode,
    pub nowait: bool,
}

/// From weakest to strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    AccessShare,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    All,
    Plans,
    Sequences,
    Temp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Notify {
    pub channel: Name,
    pub payload: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SetConstraints {
    /// Empty: ALL.
    pub constraints: Vec<QualifiedName>,
    pub deferred: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DoBlock {
    pub language: Option<Name>,
    pub body: Box<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub call: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RefreshMaterializedView {
    pub relation: RelationRef,
    pub concurrently: bool,
    pub no_data: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReassignOwned {
    pub roles: Vec<RoleSpec>,
    pub new_role: RoleSpec,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropOwned {
    pub roles: Vec<RoleSpec>,
    pub cascade: bool,
}
