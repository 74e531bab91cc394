//! ALTER DATABASE but for its settings, which are the session's to check; COMMENT ON DATABASE.

use storage::lock::LockMode;
use syntax::ast::{AlterDatabase, AlterDatabaseAction, AlterOwner, ObjectName, RoleKind, RoleSpec};

use crate::catalog::rights::Class;
use crate::catalog::store::Found;
use crate::error::{Result, bail, sql_error};
use crate::types::{Datum, Oid};

use super::{Ddl, Options, in_use};
use crate::catalog::ddl::DdlHost;
use crate::catalog::store::row::CatalogRow;

impl Ddl<'_> {
    pub(in super::super) fn rename_database(&mut self, name: &str, new_name: &str) -> Result<()> {
        let cluster = self.cluster()?;
        let found = cluster.locked_database(self.txn(), name, LockMode::AccessExclusive)?;
        let Some(found) = found else { bail!(INVALID_CATALOG_NAME, "{}", missing(name)) };
        self.must_own_database(&found)?;
        if !self.user_may("rolcreatedb")? {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to rename database");
        }
        self.refuse_duplicate(&cluster, new_name)?;
        let oid = found.row.oid("oid");
        if oid == self.catalog.database {
            bail!(FEATURE_NOT_SUPPORTED, "current database cannot be renamed");
        }
        if let Some(others) = self.others(&cluster, oid)? {
            return Err(in_use(&format!("database \"{name}\" is being accessed"), others));
        }
        self.change(&found, &[("datname", Datum::text(new_name))])
    }

    pub(in super::super) fn alter_database(&mut self, alter: &AlterDatabase) -> Result<()> {
        let list = match &alter.action {
            AlterDatabaseAction::Options(list) => list,
            AlterDatabaseAction::RefreshCollation => {
                let found = self.known_database(&alter.name)?;
                self.must_own_database(&found)?;
                let text = sql_error!(SUCCESSFUL_COMPLETION, "version has not changed");
                self.host.notice("NOTICE", text);
                return Ok(());
            }
            AlterDatabaseAction::Set(_) => unreachable!("the session changes settings"),
        };
        let options = Options::read(list, true)?;
        let found = self.known_database(&alter.name)?;
        self.must_own_database(&found)?;
        self.check_tablespace(options.tablespace.as_deref())?;
        let current = found.row.oid("oid") == self.catalog.database;
        if options.allow_connections == Some(false) && current {
            bail!(INVALID_PARAMETER_VALUE, "cannot disallow connections for current database");
        }
        let mut changes = Vec::new();
        changes.extend(options.is_template.map(|on| ("datistemplate", on.into())));
        changes.extend(options.allow_connections.map(|on| ("datallowconn", on.into())));
        changes.extend(options.connection_limit.map(|limit| ("datconnlimit", limit.into())));
        if changes.is_empty() { Ok(()) } else { self.change(&found, &changes) }
    }

    pub(in super::super) fn database_owner(&mut self, alter: &AlterOwner) -> Result<()> {
        let ObjectName::Name(name) = &alter.object else {
            bail!(SYNTAX_ERROR, "a database has a name");
        };
        let owner = self.role_of(&alter.new_owner)?;
        let found = self.known_database(name.last())?;
        if found.row.oid("datdba") == owner {
            return Ok(());
        }
        self.must_own_database(&found)?;
        self.must_be_member_of(owner)?;
        if !self.user_may("rolcreatedb")? {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to change owner of database");
        }
        self.give_row(Class::Database, &found, owner)?;
        // Its owner is in pg_database_owner.
        self.catalog.note_roles(self.txn())
    }

    /// The role that a new owner is named by.
    pub(in super::super) fn role_of(&mut self, role: &RoleSpec) -> Result<Oid> {
        Ok(match &role.kind {
            RoleKind::Name(name) => self.role_named(name)?,
            RoleKind::Public => bail!(UNDEFINED_OBJECT, "role \"public\" does not exist"),
            RoleKind::CurrentRole | RoleKind::CurrentUser => self.host.user(),
            RoleKind::SessionUser => self.host.session_user(),
        })
    }

    pub(in super::super) fn comment_on_database(
        &mut self,
        name: &str,
        text: Option<&str>,
    ) -> Result<()> {
        let Some(found) = self.cluster()?.database_row(self.txn(), name)? else {
            let warning = sql_error!(INVALID_CATALOG_NAME, "{}", missing(name));
            self.host.notice("WARNING", warning);
            return Ok(());
        };
        self.must_own_database(&found)?;
        self.shared_comment(found.row.oid("oid"), text)
    }

    /// The row of a database, which is neither dropped nor renamed until the transaction ends.
    pub(in super::super) fn known_database(&self, name: &str) -> Result<Found> {
        let found = self.cluster()?.locked_database(self.txn(), name, LockMode::RowExclusive)?;
        found.ok_or_else(|| sql_error!(INVALID_CATALOG_NAME, "{}", missing(name)))
    }

    fn change(&self, found: &Found, changes: &[(&str, Datum)]) -> Result<()> {
        self.store().update_columns(self.txn(), "pg_database", found, changes)?;
        Ok(self.txn().next_command()?)
    }
}

/// Replaces the settings that a database's sessions begin with: `change` makes the new list of `name=value`
/// from the old one.
pub fn change_database_settings(
    host: &mut dyn DdlHost,
    name: &str,
    change: impl FnOnce(Vec<String>) -> Result<Vec<String>>,
) -> Result<()> {
    let mut ddl = Ddl::new(host);
    let found = ddl.known_database(name)?;
    ddl.must_own_database(&found)?;
    ddl.replace_settings(found.row.oid("oid"), Oid::INVALID, change)
}

/// The index that settings are found by.
pub const SETTINGS_INDEX: &str = "pg_db_role_setting_databaseid_rol_index";

/// The settings in a row of `pg_db_role_setting`, as `name=value`.
pub fn settings_of(row: &CatalogRow) -> Vec<String> {
    match row.get("setconfig") {
        Datum::Null => Vec::new(),
        value => value.as_array().elements.iter().map(|e| e.as_text().to_string()).collect(),
    }
}

fn missing(name: &str) -> String {
    format!("database \"{name}\" does not exist")
}
