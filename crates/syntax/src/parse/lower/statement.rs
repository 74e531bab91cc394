//! One statement: which kind it is.

use pg_raw_parse::Node;

use super::name::{name, opt_name, required_relation, required_role, roles};
use super::session::discard;
use super::{Lower, Lowered, missing, node_kind};
use crate::ast::*;
use crate::parse::SyntaxError;

/// A method of [`Lower`] for one kind of node, its result boxed in the statement's variant.
macro_rules! boxed {
    ($variant:ident, $lowered:expr) => {
        Statement::$variant(Box::new($lowered?))
    };
}

impl Lower {
    pub(super) fn statement(&self, node: Node<'_>) -> Lowered<Statement> {
        self.nested(|| self.statement_here(node))
    }

    /// Queries and what works on rows.
    fn statement_here(&self, node: Node<'_>) -> Lowered<Statement> {
        Ok(match node {
            Node::SelectStmt(node) => boxed!(Select, self.select(node)),
            Node::InsertStmt(node) => boxed!(Insert, self.insert(node)),
            Node::UpdateStmt(node) => boxed!(Update, self.update(node)),
            Node::DeleteStmt(node) => boxed!(Delete, self.delete(node)),
            Node::TransactionStmt(node) => boxed!(Transaction, self.transaction(node)),
            Node::VariableSetStmt(node) => boxed!(Set, self.set(node)),
            Node::VariableShowStmt(node) => Statement::Show(name(node.name())?),
            Node::ConstraintsSetStmt(node) => boxed!(SetConstraints, self.set_constraints(node)),
            Node::AlterSystemStmt(node) => {
                boxed!(AlterSystem, self.required_set(node.setstmt()))
            }
            Node::PrepareStmt(node) => boxed!(Prepare, self.prepare(node)),
            Node::ExecuteStmt(node) => Statement::Execute(Box::new(Execute {
                name: name(node.name())?,
                args: self.exprs(node.params())?,
            })),
            Node::DeallocateStmt(node) => Statement::Deallocate(opt_name(node.name())),
            Node::DeclareCursorStmt(node) => boxed!(DeclareCursor, self.declare_cursor(node)),
            Node::FetchStmt(node) => boxed!(Fetch, self.fetch(node)),
            Node::ClosePortalStmt(node) => Statement::CloseCursor(opt_name(node.portalname())),
            Node::CopyStmt(node) => boxed!(Copy, self.copy(node)),
            Node::ExplainStmt(node) => boxed!(Explain, self.explain(node)),
            Node::TruncateStmt(node) => boxed!(Truncate, self.truncate(node)),
            Node::LockStmt(node) => boxed!(LockTable, self.lock_table(node)),
            Node::VacuumStmt(node) => boxed!(Vacuum, self.vacuum(node)),
            Node::ClusterStmt(node) => boxed!(Cluster, self.cluster(node)),
            Node::CheckPointStmt(_) => Statement::Checkpoint(Vec::new()),
            Node::ListenStmt(node) => Statement::Listen(name(node.conditionname())?),
            Node::UnlistenStmt(node) => Statement::Unlisten(opt_name(node.conditionname())),
            Node::NotifyStmt(node) => Statement::Notify(Box::new(Notify {
                channel: name(node.conditionname())?,
                payload: opt_name(node.payload()),
            })),
            Node::DiscardStmt(node) => Statement::Discard(discard(node.target)),
            Node::DoStmt(node) => boxed!(Do, self.do_block(node)),
            Node::CallStmt(node) => boxed!(Call, self.call(node)),
            Node::LoadStmt(node) => Statement::Load(name(node.filename())?),
            other => return self.definition(other),
        })
    }

    /// Tables, indexes and everything else that is created, altered, dropped or granted.
    fn definition(&self, node: Node<'_>) -> Lowered<Statement> {
        Ok(match node {
            Node::CreateStmt(node) => boxed!(CreateTable, self.create_table(node)),
            Node::CreateTableAsStmt(node) => boxed!(CreateTableAs, self.create_table_as(node)),
            Node::AlterTableStmt(node) => boxed!(AlterTable, self.alter_table(node)),
            Node::IndexStmt(node) => boxed!(CreateIndex, self.create_index(node)),
            Node::ReindexStmt(node) => boxed!(Reindex, self.reindex(node)),
            Node::CreateSeqStmt(node) => boxed!(CreateSequence, self.create_sequence(node)),
            Node::AlterSeqStmt(node) => boxed!(AlterSequence, self.alter_sequence(node)),
            Node::CreateSchemaStmt(node) => boxed!(CreateSchema, self.create_schema(node)),
            Node::CreatedbStmt(node) => Statement::CreateDatabase(Box::new(CreateDatabase {
                name: name(node.dbname())?,
                options: self.typed_options(node.options())?,
            })),
            Node::AlterDatabaseStmt(node) => alter_database(
                node.dbname(),
                AlterDatabaseAction::Options(self.typed_options(node.options())?),
            )?,
            Node::AlterDatabaseSetStmt(node) => alter_database(
                node.dbname(),
                AlterDatabaseAction::Set(Box::new(self.required_set(node.setstmt())?)),
            )?,
            Node::AlterDatabaseRefreshCollStmt(node) => {
                alter_database(node.dbname(), AlterDatabaseAction::RefreshCollation)?
            }
            Node::DropdbStmt(node) => boxed!(DropDatabase, self.drop_database(node)),
            Node::ViewStmt(node) => boxed!(CreateView, self.create_view(node)),
            Node::RefreshMatViewStmt(node) => {
                Statement::RefreshMaterializedView(Box::new(RefreshMaterializedView {
                    relation: required_relation(node.relation())?,
                    concurrently: node.concurrent,
                    no_data: node.skip_data,
                }))
            }
            Node::DropStmt(node) => boxed!(Drop, self.drop_objects(node)),
            Node::RenameStmt(node) => boxed!(Rename, self.rename(node)),
            Node::AlterObjectSchemaStmt(node) => {
                boxed!(AlterObjectSchema, self.alter_object_schema(node))
            }
            Node::AlterOwnerStmt(node) => boxed!(AlterOwner, self.alter_owner(node)),
            Node::CommentStmt(node) => boxed!(Comment, self.comment(node)),
            other => return self.rarer_definition(other),
        })
    }

    fn rarer_definition(&self, node: Node<'_>) -> Lowered<Statement> {
        Ok(match node {
            Node::CreateFunctionStmt(node) => boxed!(CreateFunction, self.create_function(node)),
            Node::CreateExtensionStmt(node) => boxed!(CreateExtension, self.create_extension(node)),
            Node::CompositeTypeStmt(node) => boxed!(CreateType, self.composite_type(node)),
            Node::CreateEnumStmt(node) => boxed!(CreateType, self.enum_type(node)),
            Node::AlterEnumStmt(node) => boxed!(AlterEnum, self.alter_enum(node)),
            Node::CreateRangeStmt(node) => Statement::CreateType(Box::new(CreateType {
                name: super::name::qualified(super::untyped(node.type_name()), -1)?,
                kind: CreateTypeKind::Range,
            })),
            Node::DefineStmt(node) => self.define(node)?,
            Node::AlterCollationStmt(node) => {
                Statement::RefreshCollation(super::name::qualified(node.collname(), -1)?)
            }
            Node::CreateDomainStmt(node) => boxed!(CreateDomain, self.create_domain(node)),
            Node::CreateStatsStmt(node) => boxed!(CreateStatistics, self.create_statistics(node)),
            Node::GrantStmt(node) => boxed!(Grant, self.grant(node)),
            Node::GrantRoleStmt(node) => boxed!(GrantRole, self.grant_role(node)),
            Node::AlterDefaultPrivilegesStmt(node) => {
                boxed!(AlterDefaultPrivileges, self.alter_default_privileges(node))
            }
            Node::CreateRoleStmt(node) => boxed!(CreateRole, self.create_role(node)),
            Node::AlterRoleStmt(node) => self.alter_role(node)?,
            Node::AlterRoleSetStmt(node) => boxed!(AlterRoleSet, self.alter_role_set(node)),
            Node::DropRoleStmt(node) => Statement::DropRole(Box::new(DropRole {
                roles: roles(node.roles())?,
                if_exists: node.missing_ok,
            })),
            Node::ReassignOwnedStmt(node) => Statement::ReassignOwned(Box::new(ReassignOwned {
                roles: roles(node.roles())?,
                new_role: required_role(node.newrole())?,
            })),
            Node::DropOwnedStmt(node) => Statement::DropOwned(Box::new(DropOwned {
                roles: roles(node.roles())?,
                cascade: node.behavior == pg_raw_parse::raw::DropBehavior::DROP_CASCADE,
            })),
            Node::None => return Err(missing("statement")),
            other => Statement::Unsupported(tag(other)?),
        })
    }
}

fn alter_database(name: Option<&str>, action: AlterDatabaseAction) -> Lowered<Statement> {
    let name = super::name::name(name)?;
    Ok(Statement::AlterDatabase(Box::new(AlterDatabase { name, action })))
}

/// The command tag of a statement that has no tree.
fn tag(node: Node<'_>) -> Lowered<&'static str> {
    const TAGS: &[(&str, &str)] = &[
        ("MergeStmt", "MERGE"),
        ("CreateTrigStmt", "CREATE TRIGGER"),
        ("CreateEventTrigStmt", "CREATE EVENT TRIGGER"),
        ("AlterEventTrigStmt", "ALTER EVENT TRIGGER"),
        ("RuleStmt", "CREATE RULE"),
        ("CreatePolicyStmt", "CREATE POLICY"),
        ("AlterPolicyStmt", "ALTER POLICY"),
        ("CreateAmStmt", "CREATE ACCESS METHOD"),
        ("CreatePLangStmt", "CREATE LANGUAGE"),
        ("CreateTableSpaceStmt", "CREATE TABLESPACE"),
        ("DropTableSpaceStmt", "DROP TABLESPACE"),
        ("AlterTableSpaceOptionsStmt", "ALTER TABLESPACE"),
        ("AlterTableMoveAllStmt", "ALTER TABLE"),
        ("AlterExtensionStmt", "ALTER EXTENSION"),
        ("AlterExtensionContentsStmt", "ALTER EXTENSION"),
        ("CreateFdwStmt", "CREATE FOREIGN DATA WRAPPER"),
        ("AlterFdwStmt", "ALTER FOREIGN DATA WRAPPER"),
        ("CreateForeignServerStmt", "CREATE SERVER"),
        ("AlterForeignServerStmt", "ALTER SERVER"),
        // The only kind of statement that the library has no Rust type for.
        ("Invalid", "CREATE FOREIGN TABLE"),
        ("CreateUserMappingStmt", "CREATE USER MAPPING"),
        ("AlterUserMappingStmt", "ALTER USER MAPPING"),
        ("DropUserMappingStmt", "DROP USER MAPPING"),
        ("ImportForeignSchemaStmt", "IMPORT FOREIGN SCHEMA"),
        ("CreateOpClassStmt", "CREATE OPERATOR CLASS"),
        ("CreateOpFamilyStmt", "CREATE OPERATOR FAMILY"),
        ("AlterOpFamilyStmt", "ALTER OPERATOR FAMILY"),
        ("AlterOperatorStmt", "ALTER OPERATOR"),
        ("AlterFunctionStmt", "ALTER FUNCTION"),
        ("AlterTypeStmt", "ALTER TYPE"),
        ("AlterDomainStmt", "ALTER DOMAIN"),
        ("AlterStatsStmt", "ALTER STATISTICS"),
        ("AlterObjectDependsStmt", "ALTER … DEPENDS ON EXTENSION"),
        ("CreateConversionStmt", "CREATE CONVERSION"),
        ("CreateCastStmt", "CREATE CAST"),
        ("CreateTransformStmt", "CREATE TRANSFORM"),
        ("AlterTSDictionaryStmt", "ALTER TEXT SEARCH DICTIONARY"),
        ("AlterTSConfigurationStmt", "ALTER TEXT SEARCH CONFIGURATION"),
        ("CreatePublicationStmt", "CREATE PUBLICATION"),
        ("AlterPublicationStmt", "ALTER PUBLICATION"),
        ("CreateSubscriptionStmt", "CREATE SUBSCRIPTION"),
        ("AlterSubscriptionStmt", "ALTER SUBSCRIPTION"),
        ("DropSubscriptionStmt", "DROP SUBSCRIPTION"),
        ("SecLabelStmt", "SECURITY LABEL"),
    ];
    let kind = node_kind(node);
    let found = TAGS.iter().find(|(name, _)| *name == kind);
    found.map(|(_, tag)| *tag).ok_or_else(|| {
        Box::new(SyntaxError::unsupported(&format!("this statement ({kind})"), Loc::NONE))
    })
}
