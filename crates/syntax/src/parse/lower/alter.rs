//! ALTER TABLE and its kin.

use pg_raw_parse::Node;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::{AlterTableType as At, DropBehavior, ObjectType};

use super::name::{name, opt_name, qualified, relation, required_relation, required_role, string};
use super::{Lower, Lowered, loc, missing, unexpected, unsupported};
use crate::ast::*;

impl Lower {
    pub(super) fn alter_table(&self, node: &pg::AlterTableStmt) -> Lowered<AlterTable> {
        Ok(AlterTable {
            relation: required_relation(node.relation())?,
            kind: match node.objtype {
                ObjectType::OBJECT_INDEX => RelationKind::Index,
                ObjectType::OBJECT_SEQUENCE => RelationKind::Sequence,
                ObjectType::OBJECT_VIEW => RelationKind::View,
                ObjectType::OBJECT_MATVIEW => RelationKind::MaterializedView,
                ObjectType::OBJECT_FOREIGN_TABLE => RelationKind::ForeignTable,
                ObjectType::OBJECT_TYPE => RelationKind::Type,
                _ => RelationKind::Table,
            },
            if_exists: node.missing_ok,
            steps: self.each(node.cmds(), |lower, step| match step {
                Node::AlterTableCmd(step) => lower.alter_step(step),
                other => unexpected("ALTER TABLE", other),
            })?,
        })
    }

    fn alter_step(&self, node: &pg::AlterTableCmd) -> Lowered<AlterTableStep> {
        let if_exists = node.missing_ok;
        let cascade = node.behavior == DropBehavior::DROP_CASCADE;
        Ok(match node.subtype {
            At::AT_AddColumn => match node.def() {
                Node::ColumnDef(column) => AlterTableStep::AddColumn {
                    if_not_exists: node.missing_ok,
                    column: Box::new(self.column_def(column)?),
                },
                other => return unexpected("ADD COLUMN", other),
            },
            At::AT_DropColumn => {
                AlterTableStep::DropColumn { name: name(node.name())?, if_exists, cascade }
            }
            At::AT_AddConstraint => match node.def() {
                Node::Constraint(constraint) => {
                    AlterTableStep::AddConstraint(Box::new(self.constraint(constraint)?))
                }
                other => return unexpected("ADD CONSTRAINT", other),
            },
            At::AT_AlterConstraint => alter_constraint(node.def())?,
            At::AT_ValidateConstraint => {
                AlterTableStep::ValidateConstraint { name: name(node.name())? }
            }
            At::AT_DropConstraint => {
                AlterTableStep::DropConstraint { name: name(node.name())?, if_exists, cascade }
            }
            At::AT_SetRelOptions => AlterTableStep::SetOptions(self.step_options(node)?),
            At::AT_ResetRelOptions => AlterTableStep::ResetOptions(self.step_options(node)?),
            At::AT_ChangeOwner => AlterTableStep::OwnerTo(required_role(node.newowner())?),
            At::AT_ClusterOn => AlterTableStep::ClusterOn(name(node.name())?),
            At::AT_DropCluster => AlterTableStep::SetWithoutCluster,
            At::AT_SetLogged => AlterTableStep::SetLogged,
            At::AT_SetUnLogged => AlterTableStep::SetUnlogged,
            At::AT_SetAccessMethod => AlterTableStep::SetAccessMethod(opt_name(node.name())),
            At::AT_SetTableSpace => AlterTableStep::SetTablespace(name(node.name())?),
            At::AT_AddInherit => AlterTableStep::Inherit(step_relation(node)?),
            At::AT_DropInherit => AlterTableStep::NoInherit(step_relation(node)?),
            At::AT_AttachPartition | At::AT_DetachPartition => self.partition_step(node)?,
            _ => return self.alter_column(node),
        })
    }

    /// `ALTER COLUMN …`.
    fn alter_column(&self, node: &pg::AlterTableCmd) -> Lowered<AlterTableStep> {
        let column = || name(node.name());
        let if_exists = node.missing_ok;
        Ok(match node.subtype {
            At::AT_AlterColumnType => return self.alter_column_type(node),
            At::AT_ColumnDefault => AlterTableStep::SetDefault {
                column: column()?,
                default: self.opt_expr(node.def())?,
            },
            At::AT_SetNotNull => AlterTableStep::SetNotNull { column: column()? },
            At::AT_DropNotNull => AlterTableStep::DropNotNull { column: column()? },
            At::AT_SetExpression => {
                AlterTableStep::SetExpression { column: column()?, expr: self.expr(node.def())? }
            }
            At::AT_DropExpression => {
                AlterTableStep::DropExpression { column: column()?, if_exists }
            }
            At::AT_AddIdentity => match node.def() {
                Node::Constraint(identity) => AlterTableStep::AddIdentity {
                    column: column()?,
                    always: identity.generated_when as u8 == b'a',
                    options: self.sequence_options(identity.options())?,
                },
                other => return unexpected("ADD GENERATED", other),
            },
            At::AT_SetIdentity => AlterTableStep::SetIdentity {
                column: column()?,
                steps: self.identity_steps(node.def())?,
            },
            At::AT_DropIdentity => AlterTableStep::DropIdentity { column: column()?, if_exists },
            At::AT_SetStatistics => AlterTableStep::SetStatistics {
                column: match node.name() {
                    Some(name) => ColumnOrNumber::Name(name.into()),
                    None => ColumnOrNumber::Number(node.num.into()),
                },
                target: match node.def() {
                    Node::Integer(target) => Some(target.ival),
                    _ => None,
                },
            },
            At::AT_SetStorage => {
                AlterTableStep::SetStorage { column: column()?, storage: string(node.def())? }
            }
            At::AT_SetCompression => {
                AlterTableStep::SetCompression { column: column()?, method: string(node.def())? }
            }
            At::AT_SetOptions => AlterTableStep::SetColumnOptions {
                column: column()?,
                options: self.step_options(node)?,
            },
            At::AT_ResetOptions => AlterTableStep::ResetColumnOptions {
                column: column()?,
                options: self.step_options(node)?,
            },
            other => AlterTableStep::Other(other_step(other)),
        })
    }

    fn alter_column_type(&self, node: &pg::AlterTableCmd) -> Lowered<AlterTableStep> {
        let Node::ColumnDef(def) = node.def() else {
            return unexpected("ALTER COLUMN TYPE", node.def());
        };
        Ok(AlterTableStep::AlterColumnType(Box::new(AlterColumnType {
            column: name(node.name())?,
            type_name: self.required_type(def.type_name())?,
            collation: def
                .coll_clause()
                .map(|clause| qualified(clause.collname(), clause.location))
                .transpose()?,
            using: self.opt_expr(def.raw_default())?,
            loc: loc(def.location),
        })))
    }

    fn identity_steps(&self, node: Node<'_>) -> Lowered<Vec<AlterSequenceStep>> {
        let Node::NodeList(list) = node else { return unexpected("SET GENERATED", node) };
        self.each(list, |lower, step| match step {
            Node::DefElem(option) if option.defname() == Some("generated") => {
                let always = matches!(option.arg(), Node::Integer(when) if when.ival == 'a' as i32);
                Ok(AlterSequenceStep::Generated { always })
            }
            Node::DefElem(option) => lower.sequence_option(option).map(AlterSequenceStep::Option),
            other => unexpected("SET GENERATED", other),
        })
    }

    fn step_options(&self, node: &pg::AlterTableCmd) -> Lowered<Vec<DefOption>> {
        match node.def() {
            Node::NodeList(list) => self.options(list),
            Node::None => Ok(Vec::new()),
            other => unexpected("an option list", other),
        }
    }

    fn partition_step(&self, node: &pg::AlterTableCmd) -> Lowered<AlterTableStep> {
        let Node::PartitionCmd(part) = node.def() else {
            return unexpected("PARTITION", node.def());
        };
        let partition = required_relation(part.name())?;
        Ok(if node.subtype == At::AT_AttachPartition {
            let bound = part.bound().map(|bound| self.partition_bound(bound)).transpose()?;
            AlterTableStep::AttachPartition { partition, bound }
        } else {
            AlterTableStep::DetachPartition { partition }
        })
    }
}

fn step_relation(node: &pg::AlterTableCmd) -> Lowered<RelationRef> {
    match node.def() {
        Node::RangeVar(range) => relation(range),
        other => unexpected("INHERIT", other),
    }
}

fn alter_constraint(node: Node<'_>) -> Lowered<AlterTableStep> {
    let Node::ATAlterConstraint(change) = node else {
        return unexpected("ALTER CONSTRAINT", node);
    };
    if change.alter_enforceability || change.alter_inheritability {
        return unsupported("ALTER CONSTRAINT with ENFORCED or INHERIT", Loc::NONE);
    }
    Ok(AlterTableStep::AlterConstraint {
        name: change.conname().map(Into::into).ok_or_else(|| missing("constraint name"))?,
        deferrable: change.deferrable,
        initially_deferred: change.initdeferred,
    })
}

/// A form that has no tree, in the words of the manual.
fn other_step(step: At::Type) -> &'static str {
    match step {
        At::AT_EnableTrig
        | At::AT_EnableAlwaysTrig
        | At::AT_EnableReplicaTrig
        | At::AT_EnableTrigAll
        | At::AT_EnableTrigUser => "ENABLE TRIGGER",
        At::AT_DisableTrig | At::AT_DisableTrigAll | At::AT_DisableTrigUser => "DISABLE TRIGGER",
        At::AT_EnableRule | At::AT_EnableAlwaysRule | At::AT_EnableReplicaRule => "ENABLE RULE",
        At::AT_DisableRule => "DISABLE RULE",
        At::AT_AddOf => "OF",
        At::AT_DropOf => "NOT OF",
        At::AT_ReplicaIdentity => "REPLICA IDENTITY",
        At::AT_EnableRowSecurity => "ENABLE ROW LEVEL SECURITY",
        At::AT_DisableRowSecurity => "DISABLE ROW LEVEL SECURITY",
        At::AT_ForceRowSecurity => "FORCE ROW LEVEL SECURITY",
        At::AT_NoForceRowSecurity => "NO FORCE ROW LEVEL SECURITY",
        At::AT_GenericOptions | At::AT_AlterColumnGenericOptions => "OPTIONS",
        At::AT_DetachPartitionFinalize => "DETACH PARTITION FINALIZE",
        At::AT_DropOids => "SET WITHOUT OIDS",
        _ => "this form of ALTER",
    }
}
