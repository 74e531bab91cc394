//! Relations as the SQL layer works with them: one immutable [`TableDef`] per state of a relation's
//! catalog rows, shared by every session and plan that uses it.

use base::{Persistence, RelId, Xid};

use storage::heap::HeapRel;
use storage::index::Index;

use super::Handle;
use super::foreign_key::ForeignKeys;
use super::opclass::{self, OpClass};
use super::statistics::Statistics;
use crate::bind::Ty;
use crate::types::acl::Acl;
use crate::types::keycode::KeyColumn;
use crate::types::row::{RowDesc, ValueKind};
use crate::types::{Collation, Datum, Oid, TypeId, ValueOrder};

use std::sync::Arc;

/// First OID that is not PostgreSQL's own.
pub const FIRST_USER_OID: Oid = Oid(16384);

/// What kind of relation: `pg_class.relkind`, and the catalogs that are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    Table,
    /// The large values of a table (`crate::toast`).
    Toast,
    Index,
    Sequence,
    View,
    MaterializedView,
    /// Rows made from memory when they are read.
    Virtual,
}

impl TableKind {
    /// Whether it has rows of its own, and may have indexes.
    pub fn is_heap(self) -> bool {
        matches!(self, TableKind::Table | TableKind::MaterializedView)
    }

    /// Whether it is a query that has a name.
    pub fn has_query(self) -> bool {
        matches!(self, TableKind::View | TableKind::MaterializedView)
    }

    /// As messages call it.
    pub fn word(self) -> &'static str {
        match self {
            TableKind::Table | TableKind::Toast => "table",
            TableKind::Index => "index",
            TableKind::Sequence => "sequence",
            TableKind::View | TableKind::Virtual => "view",
            TableKind::MaterializedView => "materialized view",
        }
    }

    /// The detail of an error about a relation that something can't be done with.
    pub fn not_supported(self) -> String {
        let kinds = match self {
            TableKind::Table => "tables",
            TableKind::Toast => "TOAST tables",
            TableKind::Index => "indexes",
            TableKind::Sequence => "sequences",
            TableKind::View | TableKind::Virtual => "views",
            TableKind::MaterializedView => "materialized views",
        };
        format!("This operation is not supported for {kinds}.")
    }
}

/// A table, a view of either kind, a sequence, or an index seen as a relation.
#[derive(Debug)]
pub struct TableDef {
    pub oid: Oid,
    pub name: Box<str>,
    pub schema: Oid,
    pub schema_name: Box<str>,
    pub kind: TableKind,
    pub persistence: Persistence,
    pub owner: Oid,
    /// Who may do what with it; `None`: nothing is said.
    pub acl: Option<Arc<Acl>>,
    /// Its row type.
    pub row_type: TypeId,
    /// Every column that ever was, in attribute order; dropped ones keep their place in stored rows.
    pub columns: Vec<ColumnDef>,
    /// How rows of these columns are stored.
    pub desc: RowDesc,
    /// In OID order.
    pub indexes: Vec<Arc<IndexDef>>,
    pub checks: Vec<CheckDef>,
    pub foreign: ForeignKeys,
    /// The query of a view or a materialized view, or empty.
    pub view: Option<Box<str>>,
    /// Its rows are there to be read: not those of a materialized view that was never refreshed.
    pub populated: bool,
    /// Storage parameters, as in `pg_class.reloptions`.
    pub parameters: Vec<String>,
    /// Where the rows are (zero: nowhere).
    pub storage: RelId,
    /// As of the last VACUUM or ANALYZE: live rows (below zero: never counted), blocks, and how many of these were
    /// visible to all.
    pub stored_rows: f32,
    pub stored_blocks: u32,
    pub stored_visible: u32,
    /// What ANALYZE has found.
    pub statistics: Statistics,
    /// Its rows.
    pub heap: Handle<Arc<HeapRel>>,
    /// Where large values of its rows are.
    pub toast: Option<Arc<TableDef>>,
}

#[derive(Clone, Debug)]
pub struct ColumnDef {
    pub name: Box<str>,
    pub ty: Ty,
    /// Invalid for a type that has none.
    pub collation: Collation,
    pub not_null: bool,
    pub dropped: bool,
    /// The DEFAULT expression as text, or that of a generated column.
    pub default: Option<Box<str>>,
    /// GENERATED ALWAYS AS (…) STORED: computed from the row's other columns.
    pub generated: bool,
    pub identity: Option<Identity>,
    /// What rows written before the column was added hold in it.
    pub missing: Datum,
    /// Who may do what with it beyond what they may with the table.
    pub acl: Option<Arc<Acl>>,
}

/// GENERATED … AS IDENTITY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub always: bool,
    /// The sequence behind it.
    pub sequence: Oid,
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct CheckDef {
    pub oid: Oid,
    pub name: Box<str>,
    /// As text.
    pub expr: Box<str>,
    pub validated: bool,
    /// NO INHERIT.
    pub no_inherit: bool,
}

/// How an index finds its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessMethod {
    BTree,
    /// Equality on one column that is not null.
    Hash,
}

impl AccessMethod {
    /// As `USING` and `pg_am` have it.
    pub fn name(self) -> &'static str {
        match self {
            AccessMethod::BTree => "btree",
            AccessMethod::Hash => "hash",
        }
    }
}

/// An index of a table.
#[derive(Debug)]
pub struct IndexDef {
    pub oid: Oid,
    pub name: Box<str>,
    pub method: AccessMethod,
    pub table: Oid,
    pub storage: RelId,
    pub unique: bool,
    pub primary: bool,
    pub nulls_not_distinct: bool,
    /// Equal keys never meet; of a deferrable constraint they may until a statement or the transaction is done
    /// (`pg_index.indimmediate`).
    pub immediate: bool,
    /// Of a deferrable constraint: checked at the end of the transaction unless SET CONSTRAINTS says otherwise.
    pub initially_deferred: bool,
    /// Queries may use it, and it may be trusted for uniqueness.
    pub valid: bool,
    /// Writers keep it up. One that is not ready yet counts all the same when it is decided whether a row's new
    /// version can do without entries of its own.
    pub ready: bool,
    /// False: it is about to be dropped, and concerns nobody any more.
    pub live: bool,
    /// Rows had versions when it was built that it does not know (`pg_index.indcheckxmin`): a snapshot may
    /// use it only if it sees this transaction, which built it.
    pub check_xmin: Option<Xid>,
    pub keys: Vec<IndexKey>,
    /// INCLUDE: columns (from 0) whose values entries carry beside their keys.
    pub included: Vec<u16>,
    /// How they carry them.
    pub carried: RowDesc,
    /// Storage parameters, as in `pg_class.reloptions`.
    pub parameters: Vec<String>,
    /// The constraint that it implements.
    pub constraint: Option<Oid>,
    /// The condition of a partial index, as text.
    pub predicate: Option<Box<str>>,
    /// Its entries.
    pub tree: Handle<Index>,
}

/// One key column of an index.
#[derive(Clone, Debug)]
pub struct IndexKey {
    pub source: KeySource,
    /// The type of the key's values.
    pub ty: Ty,
    /// `pg_index.indcollation`; invalid for a type that has none. [`IndexKey::order`] tells what they are ordered by.
    pub collation: Collation,
    /// Its operator class (`pg_index.indclass`).
    pub class: Oid,
    pub desc: bool,
    pub nulls_first: bool,
}

#[derive(Clone, Debug)]
pub enum KeySource {
    /// A column, from 0.
    Column(u16),
    /// An expression, as text.
    Expr(Box<str>),
}

impl ColumnDef {
    /// How its values are ordered.
    pub fn order(&self) -> ValueOrder {
        ValueOrder { type_id: self.ty.id, rules: self.collation.rules() }
    }
}

impl IndexKey {
    /// What its values are ordered by: a class of patterns has them in the order of their bytes.
    pub fn order(&self) -> Collation {
        let by_bytes = self.collation.rules().is_some()
            && opclass::by_oid(self.class).is_some_and(OpClass::is_of_patterns);
        if by_bytes { Collation::C } else { self.collation }
    }

    /// How its values become key bytes.
    pub fn code(&self) -> KeyColumn {
        KeyColumn {
            type_id: self.ty.id,
            rules: self.order().rules(),
            descending: self.desc,
            nulls_first: self.nulls_first,
        }
    }
}

impl KeySource {
    /// As an error's detail shows it: the column's name, or the expression.
    pub fn name(&self, table: &TableDef) -> String {
        match self {
            KeySource::Column(column) => table.columns[usize::from(*column)].name.to_string(),
            KeySource::Expr(text) => text.to_string(),
        }
    }
}

impl TableDef {
    /// A system catalog, real or computed.
    pub fn is_catalog(&self) -> bool {
        self.oid < FIRST_USER_OID
    }

    /// Whether a view's query is run by the rights of who asks, and not by its owner's.
    pub fn asks_as_invoker(&self) -> bool {
        self.is_on("security_invoker")
    }

    /// Whether a view's rows are not to be looked at before its own conditions have left them.
    pub fn is_barrier(&self) -> bool {
        self.is_on("security_barrier")
    }

    fn is_on(&self, parameter: &str) -> bool {
        let mut lines = self.parameters.iter();
        let value = lines.find_map(|line| line.strip_prefix(parameter)?.strip_prefix('='));
        value.is_some_and(|value| super::parameters::boolean(parameter, value).unwrap_or(true))
    }

    /// The live columns with their numbers from 0.
    pub fn live(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.dropped)
    }

    /// Has a column another collation than its type's own?
    pub fn is_collated(&self) -> bool {
        self.columns.iter().any(|column| column.collation != column.ty.collation())
    }

    /// A live column by name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.live().find(|(_, column)| *column.name == *name).map(|(i, _)| i)
    }

    /// The row layout of a list of columns. Dropped columns keep the type that they had.
    pub fn row_desc(columns: &[ColumnDef]) -> RowDesc {
        RowDesc::with_missing(columns.iter().map(|column| {
            let kind = match column.ty.id {
                // pg_attribute.attmissingval: an array of whatever the column holds.
                TypeId::ANYARRAY => ValueKind::Array,
                id => ValueKind::of_type(id).unwrap_or(ValueKind::Text),
            };
            (kind, column.missing.clone())
        }))
    }

    /// The pieces of its large values; whoever has opened the table's rows has opened these, too.
    pub fn toast_rows(&self) -> Option<&HeapRel> {
        self.toast.as_ref()?.heap.get().map(|heap| &**heap)
    }

    pub fn index(&self, oid: Oid) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.oid == oid)
    }

    /// `schema.name`, as messages about one certain relation show it.
    pub fn qualified(&self) -> String {
        format!("{}.{}", self.schema_name, self.name)
    }
}

impl IndexDef {
    /// Whether rows with these key values have an entry: a hash index has none for null.
    pub fn holds(&self, values: &[Datum]) -> bool {
        self.method == AccessMethod::BTree || !values.iter().any(Datum::is_null)
    }

    /// Key columns of the table from 0; `None` for an expression.
    pub fn key_columns(&self) -> impl Iterator<Item = Option<u16>> {
        self.keys.iter().map(|key| match key.source {
            KeySource::Column(column) => Some(column),
            KeySource::Expr(_) => None,
        })
    }

    /// The table's columns that entries have: those that are keys, and those that they carry.
    pub fn columns(&self) -> impl Iterator<Item = u16> {
        self.key_columns().flatten().chain(self.included.iter().copied())
    }

    /// How entries carry these columns' values.
    pub fn carried_desc(columns: &[ColumnDef], included: &[u16]) -> RowDesc {
        RowDesc::new(included.iter().map(|column| {
            let ty = columns[usize::from(*column)].ty.id;
            ValueKind::of_type(ty).unwrap_or(ValueKind::Text)
        }))
    }

    /// Has it a key that is an expression, or a condition?
    pub fn has_expressions(&self) -> bool {
        self.predicate.is_some()
            || self.keys.iter().any(|key| matches!(key.source, KeySource::Expr(_)))
    }
}
