//! What is named by kind and name: DROP, RENAME, SET SCHEMA, OWNER TO, COMMENT.

use pg_raw_parse::Node;
use pg_raw_parse::list::NodeList;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::{DropBehavior, ObjectType as Ot};

use super::name::{name, qualified, qualified_node, relation_name, required_role, string, strings};
use super::{Lower, Lowered, missing, untyped};
use crate::ast::*;

impl Lower {
    pub(super) fn drop_objects(&self, node: &pg::DropStmt) -> Lowered<DropObjects> {
        let kind = object_kind(node.remove_type);
        Ok(DropObjects {
            kind,
            names: self.each(node.objects(), |lower, object| lower.object_name(kind, object))?,
            if_exists: node.missing_ok,
            cascade: node.behavior == DropBehavior::DROP_CASCADE,
            concurrently: node.concurrent,
        })
    }

    /// The name of an object of `kind`, from the node that the grammar makes for that kind.
    pub(super) fn object_name(&self, kind: ObjectKind, node: Node<'_>) -> Lowered<ObjectName> {
        Ok(match (kind, node) {
            (
                ObjectKind::Cast
                | ObjectKind::Transform
                | ObjectKind::OperatorClass
                | ObjectKind::OperatorFamily
                | ObjectKind::UserMapping
                | ObjectKind::LargeObject
                | ObjectKind::DomainConstraint
                | ObjectKind::Other,
                _,
            ) => ObjectName::Other,
            (
                ObjectKind::Column
                | ObjectKind::Trigger
                | ObjectKind::Rule
                | ObjectKind::Policy
                | ObjectKind::TableConstraint,
                Node::NodeList(path),
            ) => split_last(path)?,
            (_, Node::ObjectWithArgs(routine)) => self.routine(routine)?,
            (_, Node::RangeVar(range)) => ObjectName::Name(relation_name(range)?),
            (ObjectKind::Type | ObjectKind::Domain, Node::TypeName(name)) => {
                ObjectName::Type(self.type_name(name)?)
            }
            (_, other) => ObjectName::Name(qualified_node(other)?),
        })
    }

    fn routine(&self, node: &pg::ObjectWithArgs) -> Lowered<ObjectName> {
        let args = if node.args_unspecified {
            None
        } else {
            // An operator without a left operand has an empty pointer in its place.
            let given = node.objargs().iter().filter(|arg| !matches!(arg, Node::None));
            Some(given.map(|arg| self.type_node(arg)).collect::<Lowered<_>>()?)
        };
        Ok(ObjectName::Routine { name: qualified(node.objname(), -1)?, args })
    }

    pub(super) fn rename(&self, node: &pg::RenameStmt) -> Lowered<Rename> {
        let kind = object_kind(node.rename_type);
        let object = match (node.relation(), node.subname()) {
            (Some(range), Some(part)) => {
                ObjectName::Of { relation: relation_name(range)?, name: part.into() }
            }
            (Some(range), None) => ObjectName::Name(relation_name(range)?),
            // Schemas, databases and roles are named in the place of a part.
            (None, Some(own)) if matches!(node.object(), Node::None) => {
                ObjectName::Name(QualifiedName::bare(own))
            }
            (None, _) => self.object_name(kind, node.object())?,
        };
        Ok(Rename {
            kind,
            relation_kind: matches!(kind, ObjectKind::Column | ObjectKind::Attribute)
                .then(|| object_kind(node.relation_type)),
            object,
            new_name: name(node.newname())?,
            if_exists: node.missing_ok,
            cascade: node.behavior == DropBehavior::DROP_CASCADE,
        })
    }

    pub(super) fn alter_object_schema(
        &self,
        node: &pg::AlterObjectSchemaStmt,
    ) -> Lowered<AlterObjectSchema> {
        let kind = object_kind(node.object_type);
        Ok(AlterObjectSchema {
            kind,
            object: match node.relation() {
                Some(range) => ObjectName::Name(relation_name(range)?),
                None => self.object_name(kind, node.object())?,
            },
            new_schema: name(node.newschema())?,
            if_exists: node.missing_ok,
        })
    }

    pub(super) fn alter_owner(&self, node: &pg::AlterOwnerStmt) -> Lowered<AlterOwner> {
        let kind = object_kind(node.object_type);
        Ok(AlterOwner {
            kind,
            object: match node.relation() {
                Some(range) => ObjectName::Name(relation_name(range)?),
                None => self.object_name(kind, node.object())?,
            },
            new_owner: required_role(node.newowner())?,
        })
    }

    pub(super) fn comment(&self, node: &pg::CommentStmt) -> Lowered<Comment> {
        let kind = object_kind(node.objtype);
        let object = self.object_name(kind, node.object())?;
        Ok(Comment { kind, object, text: node.comment().map(Into::into) })
    }

    fn create_collation(&self, node: &pg::DefineStmt) -> Lowered<CreateCollation> {
        let name = qualified(untyped(node.defnames()), -1)?;
        let mut options = self.typed_options(node.definition())?;
        let from = options.iter().position(|option| &*option.name == "from");
        let from = from.map(|at| collation_name(options.remove(at).value.as_ref())).transpose()?;
        Ok(CreateCollation { name, if_not_exists: node.if_not_exists, from, options })
    }

    pub(super) fn define(&self, node: &pg::DefineStmt) -> Lowered<Statement> {
        let tag = match node.kind {
            Ot::OBJECT_TYPE => {
                let name = qualified(untyped(node.defnames()), -1)?;
                let created = CreateType { name, kind: CreateTypeKind::Base };
                return Ok(Statement::CreateType(Box::new(created)));
            }
            Ot::OBJECT_COLLATION => {
                let created = self.create_collation(node)?;
                return Ok(Statement::CreateCollation(Box::new(created)));
            }
            Ot::OBJECT_AGGREGATE => "CREATE AGGREGATE",
            Ot::OBJECT_OPERATOR => "CREATE OPERATOR",
            Ot::OBJECT_TSPARSER => "CREATE TEXT SEARCH PARSER",
            Ot::OBJECT_TSDICTIONARY => "CREATE TEXT SEARCH DICTIONARY",
            Ot::OBJECT_TSTEMPLATE => "CREATE TEXT SEARCH TEMPLATE",
            _ => "CREATE TEXT SEARCH CONFIGURATION",
        };
        Ok(Statement::Unsupported(tag))
    }
}

/// The name that `FROM` gives, as a list of its parts or, among other options, as one text.
fn collation_name(value: Option<&OptionValue>) -> Lowered<QualifiedName> {
    let text = |value: &OptionValue| match value {
        OptionValue::String(text) => Ok(text.clone()),
        _ => Err(missing("name")),
    };
    let parts = match value {
        Some(OptionValue::List(parts)) => parts.iter().map(text).collect::<Lowered<_>>()?,
        Some(value) => vec![text(value)?],
        None => return Err(missing("name")),
    };
    Ok(QualifiedName { parts, loc: Loc::NONE })
}

/// `[catalog.][schema.]relation.name`.
fn split_last(path: &NodeList) -> Lowered<ObjectName> {
    let mut parts = Vec::with_capacity(path.len());
    for part in path {
        // A constraint ON DOMAIN comes with the domain's type name in front.
        match part {
            Node::TypeName(domain) => parts.extend(strings(untyped(domain.names()))?),
            other => parts.push(string(other)?),
        }
    }
    let own = parts.pop().ok_or_else(|| missing("name"))?;
    Ok(ObjectName::Of { relation: QualifiedName { parts, loc: Loc::NONE }, name: own })
}

pub(super) fn object_kind(kind: Ot::Type) -> ObjectKind {
    const KINDS: &[(Ot::Type, ObjectKind)] = &[
        (Ot::OBJECT_ACCESS_METHOD, ObjectKind::AccessMethod),
        (Ot::OBJECT_AGGREGATE, ObjectKind::Aggregate),
        (Ot::OBJECT_ATTRIBUTE, ObjectKind::Attribute),
        (Ot::OBJECT_CAST, ObjectKind::Cast),
        (Ot::OBJECT_COLUMN, ObjectKind::Column),
        (Ot::OBJECT_COLLATION, ObjectKind::Collation),
        (Ot::OBJECT_CONVERSION, ObjectKind::Conversion),
        (Ot::OBJECT_DATABASE, ObjectKind::Database),
        (Ot::OBJECT_DOMAIN, ObjectKind::Domain),
        (Ot::OBJECT_DOMCONSTRAINT, ObjectKind::DomainConstraint),
        (Ot::OBJECT_EVENT_TRIGGER, ObjectKind::EventTrigger),
        (Ot::OBJECT_EXTENSION, ObjectKind::Extension),
        (Ot::OBJECT_FDW, ObjectKind::ForeignDataWrapper),
        (Ot::OBJECT_FOREIGN_SERVER, ObjectKind::ForeignServer),
        (Ot::OBJECT_FOREIGN_TABLE, ObjectKind::ForeignTable),
        (Ot::OBJECT_FUNCTION, ObjectKind::Function),
        (Ot::OBJECT_INDEX, ObjectKind::Index),
        (Ot::OBJECT_LANGUAGE, ObjectKind::Language),
        (Ot::OBJECT_LARGEOBJECT, ObjectKind::LargeObject),
        (Ot::OBJECT_MATVIEW, ObjectKind::MaterializedView),
        (Ot::OBJECT_OPCLASS, ObjectKind::OperatorClass),
        (Ot::OBJECT_OPERATOR, ObjectKind::Operator),
        (Ot::OBJECT_OPFAMILY, ObjectKind::OperatorFamily),
        (Ot::OBJECT_PARAMETER_ACL, ObjectKind::ParameterAcl),
        (Ot::OBJECT_POLICY, ObjectKind::Policy),
        (Ot::OBJECT_PROCEDURE, ObjectKind::Procedure),
        (Ot::OBJECT_PUBLICATION, ObjectKind::Publication),
        (Ot::OBJECT_ROLE, ObjectKind::Role),
        (Ot::OBJECT_ROUTINE, ObjectKind::Routine),
        (Ot::OBJECT_RULE, ObjectKind::Rule),
        (Ot::OBJECT_SCHEMA, ObjectKind::Schema),
        (Ot::OBJECT_SEQUENCE, ObjectKind::Sequence),
        (Ot::OBJECT_STATISTIC_EXT, ObjectKind::Statistics),
        (Ot::OBJECT_SUBSCRIPTION, ObjectKind::Subscription),
        (Ot::OBJECT_TABCONSTRAINT, ObjectKind::TableConstraint),
        (Ot::OBJECT_TABLE, ObjectKind::Table),
        (Ot::OBJECT_TABLESPACE, ObjectKind::Tablespace),
        (Ot::OBJECT_TRANSFORM, ObjectKind::Transform),
        (Ot::OBJECT_TRIGGER, ObjectKind::Trigger),
        (Ot::OBJECT_TSCONFIGURATION, ObjectKind::TextSearchConfiguration),
        (Ot::OBJECT_TSDICTIONARY, ObjectKind::TextSearchDictionary),
        (Ot::OBJECT_TSPARSER, ObjectKind::TextSearchParser),
        (Ot::OBJECT_TSTEMPLATE, ObjectKind::TextSearchTemplate),
        (Ot::OBJECT_TYPE, ObjectKind::Type),
        (Ot::OBJECT_USER_MAPPING, ObjectKind::UserMapping),
        (Ot::OBJECT_VIEW, ObjectKind::View),
    ];
    let found = KINDS.iter().find(|(raw, _)| *raw == kind);
    found.map_or(ObjectKind::Other, |(_, kind)| *kind)
}
