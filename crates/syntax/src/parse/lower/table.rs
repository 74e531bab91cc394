//! CREATE TABLE, CREATE TABLE AS, partitioning clauses.

use pg_raw_parse::Node;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::{ObjectType, PartitionStrategy as RawStrategy, TableLikeOption};

use super::name::{name, opt_name, persistence, qualified, relations, required_relation};
use super::select::on_commit;
use super::{Lower, Lowered, loc, missing, unexpected};
use crate::ast::*;

impl Lower {
    pub(super) fn create_table(&self, node: &pg::CreateStmt) -> Lowered<CreateTable> {
        let mut inherits = relations(node.inh_relations())?;
        // With PARTITION OF, the parent is the one entry of the inheritance list.
        let partition_of = match node.partbound() {
            Some(bound) => Some(PartitionOf {
                parent: inherits.pop().ok_or_else(|| missing("partition parent"))?,
                bound: self.partition_bound(bound)?,
            }),
            None => None,
        };
        Ok(CreateTable {
            relation: required_relation(node.relation())?,
            persistence: persistence(node.relation()),
            if_not_exists: node.if_not_exists,
            elements: self.each(node.table_elts(), Self::table_element)?,
            inherits,
            partition_by: node.partspec().map(|spec| self.partition_by(spec)).transpose()?,
            partition_of,
            of_type: self.opt_type(node.of_typename())?,
            access_method: opt_name(node.access_method()),
            options: self.options(node.options())?,
            on_commit: on_commit(node.oncommit),
            tablespace: opt_name(node.tablespacename()),
        })
    }

    pub(super) fn create_table_as(&self, node: &pg::CreateTableAsStmt) -> Lowered<CreateTableAs> {
        Ok(CreateTableAs {
            into: self.target_table(node.into().ok_or_else(|| missing("target table"))?)?,
            query: Box::new(self.statement(node.query())?),
            materialized_view: node.objtype == ObjectType::OBJECT_MATVIEW,
            if_not_exists: node.if_not_exists,
        })
    }

    fn table_element(&self, node: Node<'_>) -> Lowered<TableElement> {
        Ok(match node {
            Node::ColumnDef(column) => TableElement::Column(self.column_def(column)?),
            Node::Constraint(constraint) => TableElement::Constraint(self.constraint(constraint)?),
            Node::TableLikeClause(like) => TableElement::Like(TableLike {
                relation: required_relation(like.relation())?,
                including: like_including(like.options),
            }),
            other => return unexpected("CREATE TABLE", other),
        })
    }

    pub(super) fn column_def(&self, node: &pg::ColumnDef) -> Lowered<ColumnDef> {
        Ok(ColumnDef {
            name: name(node.colname())?,
            type_name: self.opt_type(node.type_name())?,
            collation: node
                .coll_clause()
                .map(|clause| qualified(clause.collname(), clause.location))
                .transpose()?,
            storage: opt_name(node.storage_name()),
            compression: opt_name(node.compression()),
            constraints: self.column_constraints(node.constraints())?,
            loc: loc(node.location),
        })
    }

    fn partition_by(&self, node: &pg::PartitionSpec) -> Lowered<PartitionBy> {
        let keys = node.part_params().iter().map(|key| {
            Ok(IndexElement {
                key: match key.name() {
                    Some(column) => IndexKey::Column(column.into()),
                    None => IndexKey::Expr(self.expr(key.expr())?),
                },
                collation: opt_qualified(key.collation())?,
                opclass: opt_qualified(key.opclass())?,
                opclass_options: Vec::new(),
                order: IndexOrder::Default,
                nulls: SortNulls::Default,
            })
        });
        Ok(PartitionBy {
            strategy: match node.strategy {
                RawStrategy::PARTITION_STRATEGY_LIST => PartitionStrategy::List,
                RawStrategy::PARTITION_STRATEGY_RANGE => PartitionStrategy::Range,
                _ => PartitionStrategy::Hash,
            },
            keys: keys.collect::<Lowered<_>>()?,
            loc: loc(node.location),
        })
    }

    pub(super) fn partition_bound(&self, node: &pg::PartitionBoundSpec) -> Lowered<PartitionBound> {
        if node.is_default {
            return Ok(PartitionBound::Default);
        }
        Ok(match node.strategy as u8 {
            b'l' => PartitionBound::List(self.exprs(node.listdatums())?),
            b'r' => PartitionBound::Range {
                from: self.exprs(node.lowerdatums())?,
                to: self.exprs(node.upperdatums())?,
            },
            _ => PartitionBound::Hash { modulus: node.modulus, remainder: node.remainder },
        })
    }
}

/// A qualified name, or none where the list is empty.
pub(super) fn opt_qualified(list: &pg_raw_parse::list::NodeList) -> Lowered<Option<QualifiedName>> {
    if list.is_empty() { Ok(None) } else { qualified(list, -1).map(Some) }
}

fn like_including(options: u32) -> LikeIncluding {
    let has = |option: u32| options & option != 0;
    LikeIncluding {
        comments: has(TableLikeOption::CREATE_TABLE_LIKE_COMMENTS),
        compression: has(TableLikeOption::CREATE_TABLE_LIKE_COMPRESSION),
        constraints: has(TableLikeOption::CREATE_TABLE_LIKE_CONSTRAINTS),
        defaults: has(TableLikeOption::CREATE_TABLE_LIKE_DEFAULTS),
        generated: has(TableLikeOption::CREATE_TABLE_LIKE_GENERATED),
        identity: has(TableLikeOption::CREATE_TABLE_LIKE_IDENTITY),
        indexes: has(TableLikeOption::CREATE_TABLE_LIKE_INDEXES),
        statistics: has(TableLikeOption::CREATE_TABLE_LIKE_STATISTICS),
        storage: has(TableLikeOption::CREATE_TABLE_LIKE_STORAGE),
    }
}
