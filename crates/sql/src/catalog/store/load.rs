//! From catalog rows to [`TableDef`]s.

use std::sync::Arc;

use base::ids::{Persistence, RelId};
use storage::txn::Txn;

use crate::bind::Ty;
use crate::catalog::foreign_key::ForeignKeys;
use crate::catalog::opclass;
use crate::catalog::statistics::Statistics;
use crate::catalog::{
    AccessMethod, CheckDef, ColumnDef, Handle, Identity, IndexDef, IndexKey, KeySource, TableDef,
    TableKind,
};
use crate::error::Result;
use crate::types::row::RowDesc;
use crate::types::{Collation, Datum, Oid, TypeId};

use super::Store;
use super::access::Found;
use super::builtin::HASH_AM;
use super::row::CatalogRow;
use super::schema::CatalogSchema;

/// `pg_index.indoption`: descending.
pub const INDOPTION_DESC: i16 = 1;
/// `pg_index.indoption`: nulls first.
pub const INDOPTION_NULLS_FIRST: i16 = 2;

impl Store {
    /// A relation's definition from its catalog rows, or `None` when there is no such relation.
    pub fn load_table(&self, txn: &Txn, oid: Oid) -> Result<Option<TableDef>> {
        let key = [Datum::Oid(oid)];
        let Some(class) = self.find_one(txn, "pg_class", "pg_class_oid_index", &key)? else {
            return Ok(None);
        };
        let class = class.row;
        let kind = match class.letter("relkind") {
            b'r' => TableKind::Table,
            b't' => TableKind::Toast,
            b'i' => TableKind::Index,
            b'S' => TableKind::Sequence,
            b'v' => TableKind::View,
            b'm' => TableKind::MaterializedView,
            _ => return Ok(None),
        };
        let columns = self.load_columns(txn, oid)?;
        let indexes = match kind {
            kind if kind.is_heap() => self.load_indexes(txn, oid, &columns)?,
            _ => Vec::new(),
        };
        let statistics = match kind {
            kind if kind.is_heap() => self.load_statistics(txn, oid, &columns)?,
            _ => Statistics::default(),
        };
        let toast = match class.oid("reltoastrelid") {
            toast if toast.is_valid() => self.load_table(txn, toast)?.map(Arc::new),
            _ => None,
        };
        let namespace = class.oid("relnamespace");
        let storage = class.oid("relfilenode");
        Ok(Some(TableDef {
            oid,
            name: class.text("relname").into(),
            schema: namespace,
            schema_name: self.schema_name(txn, namespace)?.into(),
            kind,
            persistence: persistence(class.letter("relpersistence")),
            owner: class.oid("relowner"),
            acl: self.acl_of(txn, &class, "relacl")?.map(Arc::new),
            row_type: TypeId(class.oid("reltype").0),
            // Earlier commits made views of more columns than rows can have.
            desc: match kind {
                TableKind::View => RowDesc::new([]),
                _ => TableDef::row_desc(&columns),
            },
            columns,
            indexes,
            checks: self.load_checks(txn, oid)?,
            foreign: match class.bool("relhastriggers") {
                true => self.load_foreign_keys(txn, oid)?,
                false => ForeignKeys::default(),
            },
            view: self.load_view(txn, oid, kind)?,
            populated: class.bool("relispopulated"),
            parameters: class.texts("reloptions"),
            storage: RelId(storage.0),
            stored_rows: class.get("reltuples").as_float4(),
            stored_blocks: class.int4("relpages") as u32,
            stored_visible: class.int4("relallvisible") as u32,
            statistics,
            heap: Handle::default(),
            toast,
        }))
    }

    fn load_columns(&self, txn: &Txn, oid: Oid) -> Result<Vec<ColumnDef>> {
        let key = [Datum::Oid(oid)];
        let rows = self.find(txn, "pg_attribute", "pg_attribute_relid_attnum_index", &key)?;
        let defaults = self.find(txn, "pg_attrdef", "pg_attrdef_adrelid_adnum_index", &key)?;
        let mut columns = Vec::new();
        for Found { row, .. } in rows.iter().filter(|f| f.row.int2("attnum") > 0) {
            let number = row.int2("attnum");
            let default = defaults.iter().find(|d| d.row.int2("adnum") == number);
            let identity = match row.letter("attidentity") {
                0 => None,
                letter => Some(Identity {
                    always: letter == b'a',
                    sequence: self.sequence_of(txn, oid, number, b"i")?.unwrap_or_default(),
                }),
            };
            let missing = match row.get("attmissingval") {
                Datum::Array(array) => array.elements.first().cloned().unwrap_or(Datum::Null),
                _ => Datum::Null,
            };
            columns.push(ColumnDef {
                name: row.text("attname").into(),
                ty: Ty { id: TypeId(row.oid("atttypid").0), modifier: row.int4("atttypmod") },
                // That of a dropped column may be gone.
                collation: match row.bool("attisdropped") {
                    true => Collation::NONE,
                    false => self.collation(txn, row.oid("attcollation"))?,
                },
                not_null: row.bool("attnotnull"),
                dropped: row.bool("attisdropped"),
                default: default.map(|d| d.row.text("adbin").into()),
                acl: self.acl_of(txn, row, "attacl")?.map(Arc::new),
                generated: row.letter("attgenerated") == b's',
                identity,
                missing,
            });
        }
        Ok(columns)
    }

    /// The sequence that belongs to a column (serial or identity).
    pub fn owned_sequence(&self, txn: &Txn, table: Oid, column: i16) -> Result<Option<Oid>> {
        self.sequence_of(txn, table, column, b"ai")
    }

    /// The sequence that depends on a column in one of these ways: an identity's is not one that is merely owned.
    fn sequence_of(&self, txn: &Txn, table: Oid, column: i16, ways: &[u8]) -> Result<Option<Oid>> {
        let key = [
            Datum::Oid(super::schema::catalog("pg_class").oid),
            Datum::Oid(table),
            Datum::Int4(i32::from(column)),
        ];
        let rows = self.find(txn, "pg_depend", "pg_depend_reference_index", &key)?;
        let owned = rows.iter().find(|f| ways.contains(&f.row.letter("deptype")));
        Ok(owned.map(|f| f.row.oid("objid")))
    }

    fn load_indexes(
        &self,
        txn: &Txn,
        oid: Oid,
        columns: &[ColumnDef],
    ) -> Result<Vec<Arc<IndexDef>>> {
        let key = [Datum::Oid(oid)];
        let rows = self.find(txn, "pg_index", "pg_index_indrelid_index", &key)?;
        let mut indexes = Vec::new();
        for Found { row, made_by, .. } in &rows {
            let id = row.oid("indexrelid");
            let class = self.find_one(txn, "pg_class", "pg_class_oid_index", &[Datum::Oid(id)])?;
            let Some(class) = class else { continue };
            let constraint = self.index_constraint(txn, oid, id)?;
            indexes.push(Arc::new(IndexDef {
                oid: id,
                name: class.row.text("relname").into(),
                method: method_of(class.row.oid("relam")),
                table: oid,
                storage: RelId(class.row.oid("relfilenode").0),
                unique: row.bool("indisunique"),
                primary: row.bool("indisprimary"),
                nulls_not_distinct: row.bool("indnullsnotdistinct"),
                immediate: row.bool("indimmediate"),
                initially_deferred: constraint.as_ref().is_some_and(|c| c.row.bool("condeferred")),
                valid: row.bool("indisvalid"),
                ready: row.bool("indisready"),
                live: row.bool("indislive"),
                check_xmin: made_by.filter(|_| row.bool("indcheckxmin")),
                keys: self.index_keys(txn, id, row, columns)?,
                carried: IndexDef::carried_desc(columns, &included(row)),
                included: included(row),
                parameters: class.row.texts("reloptions"),
                constraint: constraint.map(|c| c.row.oid("oid")),
                predicate: text_or_none(row, "indpred"),
                tree: Handle::default(),
            }));
        }
        indexes.sort_by_key(|index| index.oid);
        Ok(indexes)
    }

    fn index_keys(
        &self,
        txn: &Txn,
        index: Oid,
        row: &CatalogRow,
        columns: &[ColumnDef],
    ) -> Result<Vec<IndexKey>> {
        let options = row.int2s("indoption");
        let classes = row.oids("indclass");
        let collations = row.oids("indcollation");
        let expressions = text_or_none(row, "indexprs").unwrap_or_default();
        let mut expressions = expressions.split(EXPRESSION_SEPARATOR);
        let own = self.load_columns(txn, index)?;
        let mut keys = Vec::new();
        let count = usize::try_from(row.int2("indnkeyatts")).unwrap_or(0);
        for (i, number) in row.int2s("indkey").into_iter().take(count).enumerate() {
            let option = options.get(i).copied().unwrap_or(0);
            let (source, ty) = match usize::try_from(number - 1) {
                Ok(column) => (KeySource::Column(column as u16), columns[column].ty),
                Err(_) => {
                    let text = expressions.next().unwrap_or_default();
                    (KeySource::Expr(text.into()), own[i].ty)
                }
            };
            keys.push(IndexKey {
                source,
                ty,
                collation: self.collation(txn, collations.get(i).copied().unwrap_or_default())?,
                class: classes.get(i).copied().unwrap_or_default(),
                desc: option & INDOPTION_DESC != 0,
                nulls_first: option & INDOPTION_NULLS_FIRST != 0,
            });
        }
        Ok(keys)
    }

    fn index_constraint(&self, txn: &Txn, table: Oid, index: Oid) -> Result<Option<Found>> {
        let rows = self.constraints(txn, table)?;
        let own = |f: &&Found| {
            f.row.oid("conindid") == index && matches!(f.row.letter("contype"), b'p' | b'u')
        };
        Ok(rows.into_iter().find(|found| own(&found)))
    }

    /// The rows of `pg_constraint` of a table.
    pub fn constraints(&self, txn: &Txn, table: Oid) -> Result<Vec<Found>> {
        let index = "pg_constraint_conrelid_contypid_conname_index";
        self.find(txn, "pg_constraint", index, &[Datum::Oid(table)])
    }

    fn load_checks(&self, txn: &Txn, oid: Oid) -> Result<Vec<CheckDef>> {
        let rows = self.constraints(txn, oid)?;
        let checks = rows.iter().filter(|f| f.row.letter("contype") == b'c');
        Ok(checks
            .map(|Found { row, .. }| CheckDef {
                oid: row.oid("oid"),
                name: row.text("conname").into(),
                expr: row.text("conbin").into(),
                validated: row.bool("convalidated"),
                no_inherit: row.bool("connoinherit"),
            })
            .collect())
    }

    fn load_view(&self, txn: &Txn, oid: Oid, kind: TableKind) -> Result<Option<Box<str>>> {
        if !kind.has_query() {
            return Ok(None);
        }
        let index = "pg_rewrite_rel_rulename_index";
        let rule = self.find_one(txn, "pg_rewrite", index, &[Datum::Oid(oid)])?;
        Ok(rule.map(|f| f.row.text("ev_action").into()))
    }

    /// A schema's name.
    pub fn schema_name(&self, txn: &Txn, oid: Oid) -> Result<String> {
        let key = [Datum::Oid(oid)];
        let row = self.find_one(txn, "pg_namespace", "pg_namespace_oid_index", &key)?;
        Ok(row.map_or_else(String::new, |f| f.row.text("nspname").to_owned()))
    }
}

/// An index's INCLUDE columns, from 0.
fn included(row: &CatalogRow) -> Vec<u16> {
    let count = usize::try_from(row.int2("indnkeyatts")).unwrap_or(0);
    let numbers = row.int2s("indkey").into_iter().skip(count);
    numbers.filter_map(|number| u16::try_from(number - 1).ok()).collect()
}

/// Between the expressions of `pg_index.indexprs`, which no expression's text holds.
pub const EXPRESSION_SEPARATOR: char = '\u{1f}';

fn text_or_none(row: &CatalogRow, column: &str) -> Option<Box<str>> {
    match row.get(column) {
        Datum::Null => None,
        value => Some(value.as_text().as_str().into()),
    }
}

/// The access method that `pg_class.relam` of an index names.
fn method_of(am: Oid) -> AccessMethod {
    if am == HASH_AM { AccessMethod::Hash } else { AccessMethod::BTree }
}

/// From `pg_class.relpersistence`.
pub fn persistence(letter: u8) -> Persistence {
    match letter {
        b'u' => Persistence::Unlogged,
        b't' => Persistence::Temporary,
        _ => Persistence::Permanent,
    }
}

/// A system table's definition, from the list. `storage_of` says where each relation's bytes are.
pub fn system_definition(
    schema: &'static CatalogSchema,
    storage_of: &dyn Fn(Oid) -> RelId,
) -> TableDef {
    let columns: Vec<ColumnDef> = schema
        .columns
        .iter()
        .map(|column| ColumnDef {
            name: column.name.into(),
            ty: Ty::of(column.type_id),
            collation: Ty::of(column.type_id).collation(),
            not_null: column.not_null,
            dropped: false,
            default: None,
            generated: false,
            identity: None,
            missing: Datum::Null,
            acl: None,
        })
        .collect();
    let indexes = schema.indexes.iter().map(|index| {
        let key = |column: &u16| IndexKey {
            source: KeySource::Column(*column),
            ty: columns[usize::from(*column)].ty,
            collation: columns[usize::from(*column)].collation,
            class: opclass::default_for(AccessMethod::BTree, columns[usize::from(*column)].ty.id)
                .map_or(Oid::INVALID, |class| Oid(class.oid)),
            desc: false,
            nulls_first: false,
        };
        Arc::new(IndexDef {
            oid: index.oid,
            name: index.name.into(),
            method: AccessMethod::BTree,
            table: schema.oid,
            storage: storage_of(index.oid),
            unique: index.unique,
            primary: index.primary,
            nulls_not_distinct: false,
            immediate: true,
            initially_deferred: false,
            valid: true,
            ready: true,
            live: true,
            check_xmin: None,
            keys: index.columns.iter().map(key).collect(),
            included: Vec::new(),
            carried: RowDesc::new([]),
            parameters: Vec::new(),
            constraint: None,
            predicate: None,
            tree: Handle::default(),
        })
    });
    TableDef {
        oid: schema.oid,
        name: schema.name.into(),
        schema: PG_CATALOG,
        schema_name: "pg_catalog".into(),
        kind: TableKind::Table,
        persistence: Persistence::Permanent,
        owner: BOOTSTRAP_SUPERUSER,
        acl: None,
        row_type: schema.row_type,
        desc: TableDef::row_desc(&columns),
        indexes: indexes.collect(),
        columns,
        checks: Vec::new(),
        foreign: ForeignKeys::default(),
        view: None,
        populated: true,
        parameters: Vec::new(),
        storage: storage_of(schema.oid),
        stored_rows: -1.0,
        stored_blocks: 0,
        stored_visible: 0,
        statistics: Statistics::default(),
        heap: Handle::default(),
        toast: None,
    }
}

/// The schema `pg_catalog`.
pub const PG_CATALOG: Oid = Oid(11);
/// The schema `public`.
pub const PUBLIC: Oid = Oid(2200);
/// The role that owns what the system made.
pub const BOOTSTRAP_SUPERUSER: Oid = Oid(10);
