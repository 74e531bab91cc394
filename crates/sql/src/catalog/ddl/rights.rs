//! Who may change what: statements that define things ask here.

use crate::catalog::TableDef;
use crate::catalog::rights::{Class, Guard, Rights, no_privilege, not_owner};
use crate::catalog::store::Found;
use crate::error::{Result, bail, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Oid, TypeId};

use base::Persistence;
use std::sync::Arc;

use super::Ddl;

impl Ddl<'_> {
    /// What the current role may.
    pub(super) fn rights(&self) -> Result<Arc<Rights>> {
        self.catalog.rights(self.txn())
    }

    /// Refuses to go on unless the current role may act as a relation's owner.
    pub(super) fn must_own(&self, relation: &TableDef) -> Result<()> {
        let class = Class::of(relation);
        self.catalog.must_own(self.txn(), relation.owner, class, &relation.name)
    }

    /// Likewise, in the words of statements about a part of it.
    pub(super) fn must_own_of_part(&self, relation: &TableDef) -> Result<()> {
        match self.catalog.owns(self.txn(), relation.owner)? {
            true => Ok(()),
            false => Err(sql_error!(
                INSUFFICIENT_PRIVILEGE,
                "must be owner of relation {}",
                relation.name
            )),
        }
    }

    /// Likewise of an enum.
    pub(super) fn must_own_type(&mut self, found: &Found) -> Result<()> {
        let name = self.words_of_type(&found.row)?;
        self.catalog.must_own(self.txn(), found.row.oid("typowner"), Class::Type, &name)
    }

    /// Likewise of what else has a row.
    pub(super) fn must_own_row(&self, class: Class, found: &Found) -> Result<()> {
        let (owner, name) = (found.row.oid(class.owner_column()), class.name_column());
        self.catalog.must_own(self.txn(), owner, class, found.row.text(name))
    }

    /// Likewise of what is there.
    pub(super) fn must_own_object(&self, class: Class, oid: Oid) -> Result<()> {
        let guard = self.guard(class, oid)?;
        self.catalog.must_own(self.txn(), guard.owner, guard.class, &guard.name)
    }

    /// Who owns something may drop it, and so may the owner of the schema that it is in.
    pub(super) fn may_drop(&self, owner: Oid, schema: Oid, class: Class, name: &str) -> Result<()> {
        let rights = self.rights()?;
        if rights.has_rights_of(owner) {
            return Ok(());
        }
        let guard = self.catalog.guard(self.txn(), Class::Schema, schema)?;
        match guard.is_some_and(|guard| rights.has_rights_of(guard.owner)) {
            true => Ok(()),
            false => Err(not_owner(class, name)),
        }
    }

    /// Refuses to go on unless the current role has these privileges.
    pub(super) fn must_have(&self, class: Class, oid: Oid, wanted: Privileges) -> Result<()> {
        self.catalog.must_have(self.txn(), class, oid, wanted)
    }

    /// Refuses to go on unless the current role has these privileges for a relation, or for these columns of it (from 0).
    pub(super) fn must_have_of(
        &self,
        relation: &TableDef,
        wanted: Privileges,
        columns: &[u16],
    ) -> Result<()> {
        self.catalog.must_have_of(self.txn(), relation, wanted, columns)
    }

    /// Refuses to go on unless the current role may make things in a relation's schema.
    pub(super) fn must_make_beside(&self, relation: &TableDef) -> Result<()> {
        let schema = relation.schema;
        if relation.persistence != Persistence::Temporary {
            return self.must_have(Class::Schema, schema, Privileges::CREATE);
        }
        match self.catalog.may_make_temporary(self.txn())? {
            true => Ok(()),
            false => Err(self.guard(Class::Schema, schema)?.refusal()),
        }
    }

    /// Whoever gives something away may do so only to a role that it could become.
    pub(super) fn must_be_member_of(&self, role: Oid) -> Result<()> {
        self.hold_role(role)?;
        if self.rights()?.is_member_of(role) {
            return Ok(());
        }
        let name = self.catalog.rights_of(self.txn(), role)?.name.clone();
        bail!(INSUFFICIENT_PRIVILEGE, "must be member of role \"{name}\"")
    }

    /// What is given away stays where its new owner could have made it.
    pub(super) fn must_take(&self, owner: Oid, class: Class, place: Oid) -> Result<()> {
        let rights = self.catalog.rights_of(self.txn(), owner)?;
        if self.rights()?.superuser {
            return Ok(());
        }
        let guard = self.catalog.guard(self.txn(), class, place)?;
        match guard {
            Some(guard) if !guard.privileges(&rights).0.has(Privileges::CREATE) => {
                Err(guard.refusal())
            }
            _ => Ok(()),
        }
    }

    /// What guards an object that is there.
    pub(super) fn guard(&self, class: Class, oid: Oid) -> Result<Guard> {
        let guard = self.catalog.guard(self.txn(), class, oid)?;
        guard.ok_or_else(|| sql_error!(INTERNAL_ERROR, "{} {oid} is gone", class.word()))
    }

    /// A column with a value of a type that somebody made: not everybody may use it.
    pub(super) fn must_use_type(&mut self, id: TypeId) -> Result<()> {
        let id = id.own_enum();
        if !id.is_made() || self.must_have(Class::Type, id.oid(), Privileges::USAGE).is_ok() {
            return Ok(());
        }
        let name = match self.catalog.type_of_oid(self.txn(), id.oid())? {
            Some(found) => self.words_of_type(&found.row)?,
            None => id.oid().to_string(),
        };
        Err(no_privilege(Class::Type, &name))
    }
}
