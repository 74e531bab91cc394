//! DROP OWNED and REASSIGN OWNED.

use std::sync::Arc;

use storage::lock::LockMode;
use syntax::ast::{DropOwned, ReassignOwned};

use crate::catalog::FIRST_USER_OID;
use crate::catalog::ddl::cascade::{Dependents, Object};
use crate::catalog::rights::Class;
use crate::catalog::store::Found;
use crate::catalog::store::schema::catalog;
use crate::error::{Result, bail};
use crate::types::acl::{Acl, AclItem, Behavior};
use crate::types::{Datum, Oid};

use super::Ddl;

impl Ddl<'_> {
    pub(super) fn drop_owned(&mut self, drop: &DropOwned) -> Result<()> {
        let roles = self.roles_of(&drop.roles)?;
        for role in &roles {
            if !self.rights()?.has_rights_of(*role) {
                bail!(INSUFFICIENT_PRIVILEGE, "permission denied to drop objects");
            }
        }
        let here = Arc::clone(&self.catalog);
        let mut objects = Vec::new();
        for role in roles {
            if role < FIRST_USER_OID {
                let name = self.name_of(role)?;
                bail!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "cannot drop objects owned by role {name} because they are required by the \
                     database system"
                );
            }
            let has = self.holdings_in(&here.instance.store, role)?;
            let shared = self.shared_holdings(role)?;
            for (class, found) in has.granted.iter().chain(&shared.granted) {
                self.forget_grants(*class, found, role)?;
            }
            for found in &has.columns {
                self.forget_column_grants(found, role)?;
            }
            for found in &has.own_defaults {
                self.store().delete(self.txn(), "pg_default_acl", found)?;
            }
            for found in &has.defaults {
                self.forget_default_grants(found, role)?;
            }
            self.txn().next_command()?;
            for (class, found) in has.owned {
                objects.extend(self.object_to_drop(class, found)?);
            }
        }
        self.drop_objects(objects, Dependents::of(drop.cascade))
    }

    fn object_to_drop(&mut self, class: Class, found: Found) -> Result<Option<Object>> {
        let oid = found.row.oid("oid");
        Ok(match class {
            // A column's own sequence goes with its table.
            Class::Table if self.table_of_sequence(oid)?.is_some() => None,
            Class::Table => {
                self.catalog.lock(self.host.txn(), oid, LockMode::AccessExclusive)?;
                Some(Object::Relation(oid))
            }
            Class::Schema => {
                self.catalog.lock_schema(self.txn(), oid, LockMode::AccessExclusive)?;
                Some(Object::Schema(found))
            }
            Class::Type => Some(Object::Type(found)),
            Class::Collation => Some(Object::Collation(found)),
            Class::Extension => {
                self.set_comment(catalog("pg_extension").oid, oid, 0, None)?;
                self.store().delete(self.txn(), "pg_extension", &found)?;
                None
            }
            _ => None,
        })
    }

    /// A role has no rights to an object any more.
    fn forget_grants(&mut self, class: Class, found: &Found, role: Oid) -> Result<()> {
        let column = class.acl_column();
        let owner = found.row.oid(class.owner_column());
        if let Some(acl) = self.store().acl_of(self.txn(), &found.row, column)? {
            let changes = [(column, without(acl, role, owner)?.datum())];
            self.store().update_columns(self.txn(), class.table(), found, &changes)?;
            self.changed(found.row.oid("oid"))?;
        }
        Ok(())
    }

    fn forget_column_grants(&mut self, found: &Found, role: Oid) -> Result<()> {
        let relation = found.row.oid("attrelid");
        let owner = self.table(relation)?.owner;
        if let Some(acl) = self.store().acl_of(self.txn(), &found.row, "attacl")? {
            let acl = without(acl, role, owner)?;
            let value = if acl.items.is_empty() { Datum::Null } else { acl.datum() };
            let changes = [("attacl", value)];
            self.store().update_columns(self.txn(), "pg_attribute", found, &changes)?;
            self.changed(relation)?;
        }
        Ok(())
    }

    fn forget_default_grants(&mut self, found: &Found, role: Oid) -> Result<()> {
        let owner = found.row.oid("defaclrole");
        if let Some(acl) = self.store().acl_of(self.txn(), &found.row, "defaclacl")? {
            let changes = [("defaclacl", without(acl, role, owner)?.datum())];
            self.store().update_columns(self.txn(), "pg_default_acl", found, &changes)?;
        }
        Ok(())
    }

    pub(super) fn reassign_owned(&mut self, reassign: &ReassignOwned) -> Result<()> {
        let roles = self.roles_of(&reassign.roles)?;
        let new = self.role_of(&reassign.new_role)?;
        for role in roles.iter().chain([&new]) {
            if !self.rights()?.has_rights_of(*role) {
                bail!(INSUFFICIENT_PRIVILEGE, "permission denied to reassign objects");
            }
        }
        let here = Arc::clone(&self.catalog);
        for role in roles {
            if role < FIRST_USER_OID {
                let name = self.name_of(role)?;
                bail!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "cannot reassign ownership of objects owned by role {name} because they are \
                     required by the database system"
                );
            }
            let has = self.holdings_in(&here.instance.store, role)?.owned;
            let shared = self.shared_holdings(role)?.owned;
            for (class, found) in has.iter().chain(&shared) {
                self.reassign(*class, found, new)?;
            }
        }
        self.catalog.note_roles(self.txn())
    }

    fn reassign(&mut self, class: Class, found: &Found, new: Oid) -> Result<()> {
        let oid = found.row.oid("oid");
        match class {
            Class::Table if self.table_of_sequence(oid)?.is_some() => Ok(()),
            Class::Table => {
                self.catalog.lock(self.host.txn(), oid, LockMode::AccessExclusive)?;
                self.give_relation(oid, new)
            }
            Class::Type => self.give_type(found, new),
            class => {
                self.give_row(class, found, new)?;
                self.changed(oid)
            }
        }
    }
}

/// An access list in which a role has nothing, and has given nothing.
fn without(mut acl: Acl, role: Oid, owner: Oid) -> Result<Acl> {
    let of_role = |item: &&AclItem| item.grantee == role;
    while let Some(item) = acl.items.iter().find(of_role).copied() {
        acl.take(item, owner, Behavior::Cascade)?;
    }
    acl.items.retain(|item| item.grantor != role);
    Ok(acl)
}
