//! What statements that are not planned are called in messages.

use std::borrow::Cow;

use syntax::ast::{ObjectKind, RelationKind, Statement};

/// What a statement is called.
pub(super) fn called(statement: &Statement) -> Cow<'static, str> {
    match statement {
        Statement::AlterTable(alter) => alter_of_relation(alter.kind).into(),
        Statement::Drop(drop) => format!("DROP {}", kind(drop.kind)).into(),
        Statement::Rename(rename) => {
            let of = match rename.kind {
                ObjectKind::Column => rename.relation_kind.unwrap_or(ObjectKind::Table),
                ObjectKind::TableConstraint => ObjectKind::Table,
                other => other,
            };
            format!("ALTER {}", kind(of)).into()
        }
        Statement::AlterOwner(alter) => format!("ALTER {}", kind(alter.kind)).into(),
        Statement::AlterObjectSchema(alter) => format!("ALTER {}", kind(alter.kind)).into(),
        other => always_called(other).into(),
    }
}

/// Likewise where it is that form of the statement that matters.
pub(super) fn form(statement: &Statement) -> Cow<'static, str> {
    match statement {
        Statement::Rename(_) => "ALTER ... RENAME".into(),
        Statement::AlterOwner(_) => "ALTER ... OWNER TO".into(),
        Statement::AlterObjectSchema(_) => "ALTER ... SET SCHEMA".into(),
        other => called(other),
    }
}

fn alter_of_relation(kind: RelationKind) -> &'static str {
    match kind {
        RelationKind::Index => "ALTER INDEX",
        RelationKind::Sequence => "ALTER SEQUENCE",
        RelationKind::View => "ALTER VIEW",
        RelationKind::MaterializedView => "ALTER MATERIALIZED VIEW",
        RelationKind::Type => "ALTER TYPE",
        RelationKind::ForeignTable => "ALTER FOREIGN TABLE",
        RelationKind::Table => "ALTER TABLE",
    }
}

fn kind(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Aggregate => "AGGREGATE",
        ObjectKind::Collation => "COLLATION",
        ObjectKind::Database => "DATABASE",
        ObjectKind::Domain | ObjectKind::DomainConstraint => "DOMAIN",
        ObjectKind::Extension => "EXTENSION",
        ObjectKind::Function => "FUNCTION",
        ObjectKind::Index => "INDEX",
        ObjectKind::MaterializedView => "MATERIALIZED VIEW",
        ObjectKind::Procedure => "PROCEDURE",
        ObjectKind::Role => "ROLE",
        ObjectKind::Rule => "RULE",
        ObjectKind::Schema => "SCHEMA",
        ObjectKind::Sequence => "SEQUENCE",
        ObjectKind::Statistics => "STATISTICS",
        ObjectKind::Table => "TABLE",
        ObjectKind::Tablespace => "TABLESPACE",
        ObjectKind::Trigger => "TRIGGER",
        ObjectKind::Type | ObjectKind::Attribute => "TYPE",
        ObjectKind::View => "VIEW",
        _ => "...",
    }
}

/// Those that have one name each.
fn always_called(statement: &Statement) -> &'static str {
    match statement {
        Statement::CreateTable(_) => "CREATE TABLE",
        Statement::CreateTableAs(create) if create.materialized_view => "CREATE MATERIALIZED VIEW",
        Statement::CreateTableAs(_) => "CREATE TABLE AS",
        Statement::CreateIndex(_) => "CREATE INDEX",
        Statement::Reindex(_) => "REINDEX",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::AlterSequence(_) => "ALTER SEQUENCE",
        Statement::CreateSchema(_) => "CREATE SCHEMA",
        Statement::CreateDatabase(_) => "CREATE DATABASE",
        Statement::AlterDatabase(_) => "ALTER DATABASE",
        Statement::DropDatabase(_) => "DROP DATABASE",
        Statement::CreateView(_) => "CREATE VIEW",
        Statement::Comment(_) => "COMMENT",
        Statement::CreateFunction(create) if create.procedure => "CREATE PROCEDURE",
        Statement::CreateFunction(_) => "CREATE FUNCTION",
        Statement::CreateExtension(_) => "CREATE EXTENSION",
        Statement::CreateCollation(_) => "CREATE COLLATION",
        Statement::RefreshCollation(_) => "ALTER COLLATION",
        Statement::CreateType(_) => "CREATE TYPE",
        Statement::AlterEnum(_) => "ALTER TYPE",
        Statement::CreateDomain(_) => "CREATE DOMAIN",
        Statement::CreateStatistics(_) => "CREATE STATISTICS",
        Statement::Grant(grant) if !grant.grant => "REVOKE",
        Statement::GrantRole(grant) if !grant.grant => "REVOKE ROLE",
        Statement::Grant(_) => "GRANT",
        Statement::GrantRole(_) => "GRANT ROLE",
        Statement::CreateRole(_) => "CREATE ROLE",
        Statement::AlterRole(_) | Statement::AlterRoleSet(_) => "ALTER ROLE",
        Statement::DropRole(_) => "DROP ROLE",
        Statement::Truncate(_) => "TRUNCATE TABLE",
        Statement::Listen(_) => "LISTEN",
        Statement::Notify(_) => "NOTIFY",
        Statement::Do(_) => "DO",
        Statement::Call(_) => "CALL",
        Statement::Cluster(_) => "CLUSTER",
        Statement::AlterDefaultPrivileges(_) => "ALTER DEFAULT PRIVILEGES",
        Statement::ReassignOwned(_) => "REASSIGN OWNED",
        Statement::DropOwned(_) => "DROP OWNED",
        Statement::AlterSystem(_) => "ALTER SYSTEM",
        Statement::Load(_) => "LOAD",
        Statement::RefreshMaterializedView(_) => "REFRESH MATERIALIZED VIEW",
        _ => "this statement",
    }
}
