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
use crate::types::acl::{Acl, AclItem, Around, Behavior};
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
                let (owner, oid) = (found.row.oid(class.owner_column()), found.row.oid("oid"));
                match self.rights()?.has_rights_of(owner) {
                    true => self.forget_grants(*class, oid, role)?,
                    false => self.revoke_all(*class, oid, role)?,
                }
            }
            for found in &has.columns {
                let relation = found.row.oid("attrelid");
                let owner = self.table(relation)?.owner;
                match self.rights()?.has_rights_of(owner) {
                    true => self.forget_column_grants(found, owner, role)?,
                    false => self.revoke_all(Class::Table, relation, role)?,
                }
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
    fn forget_grants(&mut self, class: Class, oid: Oid, role: Oid) -> Result<()> {
        let (column, table, key) = (class.acl_column(), class.table(), [Datum::Oid(oid)]);
        self.txn().next_command()?;
        let (txn, store) = (self.txn(), self.store());
        let Some(found) = store.find_to_change(txn, table, class.oid_index(), &key)? else {
            return Ok(());
        };
        let owner = found.row.oid(class.owner_column());
        if let Some(acl) = store.acl_of(txn, &found.row, column)? {
            let changes = [(column, self.without(acl, role, owner)?.datum())];
            store.update_columns(txn, table, &found, &changes)?;
            self.changed(oid)?;
        }
        Ok(())
    }

    fn forget_column_grants(&mut self, of: &Found, owner: Oid, role: Oid) -> Result<()> {
        let (relation, number) = (of.row.oid("attrelid"), of.row.get("attnum").clone());
        let (table, index) = ("pg_attribute", "pg_attribute_relid_attnum_index");
        self.txn().next_command()?;
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::Oid(relation), number];
        let Some(found) = store.find_to_change(txn, table, index, &key)? else { return Ok(()) };
        if let Some(acl) = store.acl_of(txn, &found.row, "attacl")? {
            let acl = self.without(acl, role, owner)?;
            let value = if acl.items.is_empty() { Datum::Null } else { acl.datum() };
            store.update_columns(txn, table, &found, &[("attacl", value)])?;
            self.changed(relation)?;
        }
        Ok(())
    }

    /// An access list in which a role has nothing, and has given nothing.
    fn without(&self, mut acl: Acl, role: Oid, owner: Oid) -> Result<Acl> {
        let has_rights_of = |role, of| self.has_rights_of(role, of);
        let around = Around { owner, has_rights_of: &has_rights_of };
        let of_role = |item: &&AclItem| item.grantee == role;
        while let Some(item) = acl.items.iter().find(of_role).copied() {
            acl.take(item, around, Behavior::Cascade)?;
        }
        acl.items.retain(|item| item.grantor != role);
        Ok(acl)
    }

    fn forget_default_grants(&mut self, found: &Found, role: Oid) -> Result<()> {
        let owner = found.row.oid("defaclrole");
        if let Some(acl) = self.store().acl_of(self.txn(), &found.row, "defaclacl")? {
            let changes = [("defaclacl", self.without(acl, role, owner)?.datum())];
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
