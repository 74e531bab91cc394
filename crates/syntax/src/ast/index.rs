//! CREATE INDEX, REINDEX.

use super::{DefOption, Expr, Name, QualifiedName, RelationRef, SortNulls};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// Absent: the server picks one.
    pub name: Option<Name>,
    pub relation: RelationRef,
    /// `USING …`; `btree` if nothing is written.
    pub method: Name,
    pub elements: Vec<IndexElement>,
    pub including: Vec<IndexElement>,
    pub filter: Option<Expr>,
    pub options: Vec<DefOption>,
    pub tablespace: Option<Name>,
    pub unique: bool,
    pub nulls_not_distinct: bool,
    pub concurrently: bool,
    pub if_not_exists: bool,
}

/// One key of an index, of an ON CONFLICT target, of an exclusion constraint or of PARTITION BY.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexElement {
    pub key: IndexKey,
    pub collation: Option<QualifiedName>,
    pub opclass: Option<QualifiedName>,
    pub opclass_options: Vec<DefOption>,
    pub order: IndexOrder,
    pub nulls: SortNulls,
}

#[derive(Clone, Debug, PartialEq)]
pub enum IndexKey {
    Column(Name),
    Expr(Expr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IndexOrder {
    #[default]
    Default,
    Asc,
    Desc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reindex {
    pub target: ReindexTarget,
    /// `CONCURRENTLY`, `VERBOSE`, `TABLESPACE`, whichever way they were written.
    pub options: Vec<DefOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ReindexTarget {
    Index(RelationRef),
    Table(RelationRef),
    Schema(Name),
    /// Without a name: the current database (grammar newer than PostgreSQL 15).
    System(Option<Name>),
    Database(Option<Name>),
}
