//! ALTER ROLE … SET and RESET: what a role's sessions begin with, which the session checks.

use syntax::ast::{AlterRoleSet, RoleKind};

use crate::catalog::ddl::{DdlHost, SETTINGS_INDEX, settings_of};
use crate::catalog::store::row::RowBuilder;
use crate::error::{Result, bail};
use crate::types::{Array, Datum, Oid, TypeId};

use super::{Ddl, must_not_be_reserved};

/// Replaces the settings of a role: `change` makes the new list of `name=value` from the old one.
pub fn change_role_settings(
    host: &mut dyn DdlHost,
    alter: &AlterRoleSet,
    change: impl FnOnce(Vec<String>) -> Result<Vec<String>>,
) -> Result<()> {
    let mut ddl = Ddl::new(host);
    let role = ddl.role_to_set(alter)?;
    let database = match &alter.database {
        Some(name) => {
            let found = ddl.known_database(name)?;
            if !role.is_valid() {
                ddl.must_own_database(&found)?;
            }
            found.row.oid("oid")
        }
        None => Oid::INVALID,
    };
    if !role.is_valid() && !database.is_valid() && !ddl.rights()?.superuser {
        bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to alter settings globally");
    }
    ddl.replace_settings(database, role, change)
}

impl Ddl<'_> {
    /// The role whose settings the statement changes, if it may; invalid for all.
    fn role_to_set(&mut self, alter: &AlterRoleSet) -> Result<Oid> {
        let Some(role) = &alter.role else { return Ok(Oid::INVALID) };
        if let RoleKind::Name(name) = &role.kind {
            must_not_be_reserved(name, "Cannot alter reserved roles.")?;
        }
        let oid = self.role_of(role)?;
        let found = self.known_role(oid)?;
        let rights = self.rights()?;
        match found.row.bool("rolsuper") {
            true if !rights.superuser => {
                bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to alter superusers")
            }
            false if !rights.superuser && !rights.create_role && oid != self.host.user() => {
                bail!(INSUFFICIENT_PRIVILEGE, "permission denied")
            }
            _ => {
                self.hold_role(oid)?;
                Ok(oid)
            }
        }
    }

    /// Replaces the settings of a database, of a role, or of a role in a database.
    pub(in super::super) fn replace_settings(
        &mut self,
        database: Oid,
        role: Oid,
        change: impl FnOnce(Vec<String>) -> Result<Vec<String>>,
    ) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::Oid(database), Datum::Oid(role)];
        let old = store.find_one(txn, "pg_db_role_setting", SETTINGS_INDEX, &key)?;
        let list = change(old.as_ref().map(|old| settings_of(&old.row)).unwrap_or_default())?;
        let array = Array::from_elements(
            TypeId::TEXT,
            list.iter().map(|entry| Datum::text(entry.as_str())).collect(),
        );
        match (old, list.is_empty()) {
            (Some(old), true) => store.delete(txn, "pg_db_role_setting", &old)?,
            (Some(old), false) => {
                let changes = [("setconfig", Datum::from(array))];
                store.update_columns(txn, "pg_db_role_setting", &old, &changes)?;
            }
            (None, true) => {}
            (None, false) => {
                let row = RowBuilder::of("pg_db_role_setting")
                    .oid("setdatabase", database)
                    .oid("setrole", role)
                    .set("setconfig", array);
                store.insert(txn, "pg_db_role_setting", &row.build())?;
            }
        }
        Ok(txn.next_command()?)
    }

    /// A role that goes leaves no settings.
    pub(super) fn forget_settings_of(&mut self, role: Oid) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        for found in store.scan(txn, "pg_db_role_setting", |row| row.oid("setrole") == role)? {
            store.delete(txn, "pg_db_role_setting", &found)?;
        }
        Ok(txn.next_command()?)
    }
}
