//! Indexes, sequences, schemas, databases, views, types, functions.

use pg_raw_parse::Node;
use pg_raw_parse::list::NodeList;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::{ReindexObjectType, SortByDir, ViewCheckOption};

use super::name::{name, opt_name, opt_role, persistence, qualified, relation_name};
use super::name::{required_relation, string, strings};
use super::select::nulls;
use super::table::opt_qualified;
use super::{Lower, Lowered, literal, loc, missing, unexpected, unsupported, untyped};
use crate::ast::*;
use crate::parse::SyntaxError;

impl Lower {
    pub(super) fn create_index(&self, node: &pg::IndexStmt) -> Lowered<CreateIndex> {
        Ok(CreateIndex {
            name: opt_name(node.idxname()),
            relation: required_relation(node.relation())?,
            method: name(node.access_method())?,
            elements: self.index_elements(untyped(node.index_params()))?,
            including: self.index_elements(node.index_including_params())?,
            filter: self.opt_expr(node.where_clause())?,
            options: self.typed_options(node.options())?,
            tablespace: opt_name(node.table_space()),
            unique: node.unique,
            nulls_not_distinct: node.nulls_not_distinct,
            concurrently: node.concurrent,
            if_not_exists: node.if_not_exists,
        })
    }

    pub(super) fn index_element(&self, node: &pg::IndexElem) -> Lowered<IndexElement> {
        Ok(IndexElement {
            key: match node.name() {
                Some(column) => IndexKey::Column(column.into()),
                None => IndexKey::Expr(self.expr(node.expr())?),
            },
            collation: opt_qualified(node.collation())?,
            opclass: opt_qualified(node.opclass())?,
            opclass_options: self.options(node.opclassopts())?,
            order: match node.ordering {
                SortByDir::SORTBY_ASC => IndexOrder::Asc,
                SortByDir::SORTBY_DESC => IndexOrder::Desc,
                _ => IndexOrder::Default,
            },
            nulls: nulls(node.nulls_ordering),
        })
    }

    pub(super) fn reindex(&self, node: &pg::ReindexStmt) -> Lowered<Reindex> {
        let target = match node.kind {
            ReindexObjectType::REINDEX_OBJECT_INDEX => {
                ReindexTarget::Index(required_relation(node.relation())?)
            }
            ReindexObjectType::REINDEX_OBJECT_TABLE => {
                ReindexTarget::Table(required_relation(node.relation())?)
            }
            ReindexObjectType::REINDEX_OBJECT_SCHEMA => ReindexTarget::Schema(name(node.name())?),
            ReindexObjectType::REINDEX_OBJECT_SYSTEM => {
                ReindexTarget::System(opt_name(node.name()))
            }
            _ => ReindexTarget::Database(opt_name(node.name())),
        };
        Ok(Reindex { target, options: self.typed_options(node.params())? })
    }

    pub(super) fn create_sequence(&self, node: &pg::CreateSeqStmt) -> Lowered<CreateSequence> {
        Ok(CreateSequence {
            relation: required_relation(node.sequence())?,
            persistence: persistence(node.sequence()),
            if_not_exists: node.if_not_exists,
            options: self.sequence_options(node.options())?,
        })
    }

    pub(super) fn alter_sequence(&self, node: &pg::AlterSeqStmt) -> Lowered<AlterSequence> {
        Ok(AlterSequence {
            relation: required_relation(node.sequence())?,
            if_exists: node.missing_ok,
            options: self.sequence_options(node.options())?,
        })
    }

    pub(super) fn sequence_options(&self, list: &NodeList) -> Lowered<Vec<SequenceOption>> {
        self.each(list, |lower, option| match option {
            Node::DefElem(option) => lower.sequence_option(option),
            other => unexpected("a sequence's options", other),
        })
    }

    pub(super) fn sequence_option(&self, node: &pg::DefElem) -> Lowered<SequenceOption> {
        let at = loc(node.location);
        let value = || bigint(node.arg());
        let opt_value = || match node.arg() {
            Node::None => Ok(None),
            number => bigint(number).map(Some),
        };
        let parts = || match node.arg() {
            Node::NodeList(list) => qualified(list, node.location),
            other => unexpected("a sequence's options", other),
        };
        let kind = match node.defname().unwrap_or("") {
            "as" => match node.arg() {
                Node::TypeName(name) => SequenceOptionKind::As(self.type_name(name)?),
                other => return unexpected("AS", other),
            },
            "increment" => SequenceOptionKind::Increment(value()?),
            "minvalue" => SequenceOptionKind::MinValue(opt_value()?),
            "maxvalue" => SequenceOptionKind::MaxValue(opt_value()?),
            "start" => SequenceOptionKind::Start(value()?),
            "restart" => SequenceOptionKind::Restart(opt_value()?),
            "cache" => SequenceOptionKind::Cache(value()?),
            "cycle" => {
                SequenceOptionKind::Cycle(matches!(node.arg(), Node::Boolean(b) if b.boolval))
            }
            "owned_by" => SequenceOptionKind::OwnedBy(
                Some(parts()?).filter(|owner| owner.as_bare() != Some("none")),
            ),
            "sequence_name" => SequenceOptionKind::SequenceName(parts()?),
            "logged" => SequenceOptionKind::Logged(true),
            "unlogged" => SequenceOptionKind::Logged(false),
            other => return unsupported(&format!("sequence option \"{other}\""), at),
        };
        Ok(SequenceOption { kind, loc: at })
    }

    pub(super) fn create_schema(&self, node: &pg::CreateSchemaStmt) -> Lowered<CreateSchema> {
        Ok(CreateSchema {
            name: opt_name(node.schemaname()),
            authorization: opt_role(node.authrole())?,
            if_not_exists: node.if_not_exists,
            elements: self.each(node.schema_elts(), Self::statement)?,
        })
    }

    pub(super) fn drop_database(&self, node: &pg::DropdbStmt) -> Lowered<DropDatabase> {
        let options = self.options(node.options())?;
        Ok(DropDatabase {
            name: name(node.dbname())?,
            if_exists: node.missing_ok,
            force: options.iter().any(|option| &*option.name == "force"),
        })
    }

    pub(super) fn create_view(&self, node: &pg::ViewStmt) -> Lowered<CreateView> {
        Ok(CreateView {
            relation: required_relation(node.view())?,
            persistence: persistence(node.view()),
            columns: strings(node.aliases())?,
            query: self.select_node(node.query())?,
            replace: node.replace,
            options: self.options(node.options())?,
            check_option: match node.with_check_option {
                ViewCheckOption::LOCAL_CHECK_OPTION => Some(CheckOption::Local),
                ViewCheckOption::CASCADED_CHECK_OPTION => Some(CheckOption::Cascaded),
                _ => None,
            },
        })
    }

    pub(super) fn create_function(&self, node: &pg::CreateFunctionStmt) -> Lowered<CreateFunction> {
        let language = node.options().iter().find(|option| option.defname() == Some("language"));
        Ok(CreateFunction {
            name: qualified(node.funcname(), -1)?,
            procedure: node.is_procedure,
            replace: node.replace,
            returns: self.opt_type(node.return_type())?,
            language: language.map(|option| string(option.arg())).transpose()?,
        })
    }

    pub(super) fn create_extension(
        &self,
        node: &pg::CreateExtensionStmt,
    ) -> Lowered<CreateExtension> {
        Ok(CreateExtension {
            name: name(node.extname())?,
            if_not_exists: node.if_not_exists,
            options: self.typed_options(node.options())?,
        })
    }

    pub(super) fn create_domain(&self, node: &pg::CreateDomainStmt) -> Lowered<CreateDomain> {
        Ok(CreateDomain {
            name: qualified(untyped(node.domainname()), -1)?,
            type_name: self.required_type(node.type_name())?,
            collation: node
                .coll_clause()
                .map(|clause| qualified(clause.collname(), clause.location))
                .transpose()?,
            constraints: self.column_constraints(untyped(node.constraints()))?,
        })
    }

    pub(super) fn create_statistics(
        &self,
        node: &pg::CreateStatsStmt,
    ) -> Lowered<CreateStatistics> {
        let exprs = self.each(node.exprs(), |lower, element| match element {
            Node::StatsElem(element) => match element.name() {
                Some(column) => {
                    Ok(Expr::Column(ColumnRef { path: vec![column.into()], loc: Loc::NONE }))
                }
                None => lower.expr(element.expr()),
            },
            other => unexpected("CREATE STATISTICS", other),
        })?;
        let Some(Node::RangeVar(range)) = untyped(node.relations()).first() else {
            return unsupported("CREATE STATISTICS on anything but a table", Loc::NONE);
        };
        Ok(CreateStatistics {
            name: opt_qualified(untyped(node.defnames()))?,
            kinds: strings(untyped(node.stat_types()))?,
            exprs,
            relation: super::name::relation(range)?,
            if_not_exists: node.if_not_exists,
        })
    }

    pub(super) fn composite_type(&self, node: &pg::CompositeTypeStmt) -> Lowered<CreateType> {
        let name = relation_name(node.typevar().ok_or_else(|| missing("type"))?)?;
        Ok(CreateType { name, kind: CreateTypeKind::Composite })
    }

    pub(super) fn enum_type(&self, node: &pg::CreateEnumStmt) -> Lowered<CreateType> {
        let labels = strings(untyped(node.vals()))?;
        let name = qualified(untyped(node.type_name()), -1)?;
        Ok(CreateType { name, kind: CreateTypeKind::Enum(labels) })
    }

    pub(super) fn alter_enum(&self, node: &pg::AlterEnumStmt) -> Lowered<AlterEnum> {
        let text = |text: Option<&str>| text.map(Box::from).ok_or_else(|| missing("label"));
        let label = text(node.new_val())?;
        let change = match node.old_val() {
            Some(old) => EnumChange::Rename { old: old.into(), new: label },
            None => EnumChange::Add {
                label,
                if_not_exists: node.skip_if_new_val_exists,
                place: match node.new_val_neighbor() {
                    None => LabelPlace::Last,
                    Some(other) if node.new_val_is_after => LabelPlace::After(other.into()),
                    Some(other) => LabelPlace::Before(other.into()),
                },
            },
        };
        Ok(AlterEnum { name: qualified(untyped(node.type_name()), -1)?, change })
    }
}

/// A whole number of 64 bits, with PostgreSQL's words where it is not one.
fn bigint(node: Node<'_>) -> Lowered<i64> {
    match node {
        Node::Integer(integer) => Ok(integer.ival.into()),
        Node::Float(float) => {
            let text = float.fval().unwrap_or("0");
            match literal::number(text) {
                Literal::Integer(value) => Ok(value),
                _ if text.contains(['.', 'e', 'E']) => Err(Box::new(SyntaxError::new(
                    "22P02",
                    format!("invalid input syntax for type bigint: \"{text}\""),
                    Loc::NONE,
                ))),
                _ => Err(Box::new(SyntaxError::new(
                    "22003",
                    format!("value \"{text}\" is out of range for type bigint"),
                    Loc::NONE,
                ))),
            }
        }
        other => unexpected("a number", other),
    }
}
