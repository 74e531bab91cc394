//! ALTER DEFAULT PRIVILEGES: what new objects' access lists are.

use syntax::ast::{AlterDefaultPrivileges, ObjectKind, RoleKind};

use crate::catalog::rights::{Class, default_acl};
use crate::catalog::store::row::RowBuilder;
use crate::error::{Result, bail, sql_error};
use crate::types::acl::{Acl, AclItem, Around};
use crate::types::{Datum, Oid};

use super::{Ddl, Given, targets};

/// Finds default privileges by role, schema and kind.
const INDEX: &str = "pg_default_acl_role_nsp_obj_index";

/// The letter of a kind of objects in `pg_default_acl`.
fn letter(class: Class) -> u8 {
    match class {
        Class::Sequence => b'S',
        Class::Function => b'f',
        Class::Type => b'T',
        Class::Schema => b'n',
        _ => b'r',
    }
}

impl Ddl<'_> {
    pub(in super::super) fn alter_default_privileges(
        &mut self,
        alter: &AlterDefaultPrivileges,
    ) -> Result<()> {
        let grant = &alter.grant;
        let kind = targets::kind_of(&grant.on);
        let class = match kind {
            ObjectKind::Table => Class::Table,
            kind => targets::class_of(kind)?,
        };
        let grantees = self.grantees(&grant.grantees)?;
        let given = super::read(grant, class, kind, grantees)?;
        if !given.columns.is_empty() {
            bail!(INVALID_GRANT_OPERATION, "default privileges cannot be set for columns");
        }
        if class == Class::Table && !class.all().has(given.privileges) {
            let other = given.privileges.without(class.all());
            return Err(super::invalid(other, "relation"));
        }
        let mut roles = Vec::new();
        for role in &alter.roles {
            if role.kind == RoleKind::Public {
                bail!(UNDEFINED_OBJECT, "role \"public\" does not exist");
            }
            let oid = self.role_of(role)?;
            self.must_be_member_of(oid)?;
            roles.push(oid);
        }
        if roles.is_empty() {
            roles.push(self.host.user());
        }
        let mut schemas = Vec::new();
        for schema in &alter.schemas {
            if class == Class::Schema {
                bail!(
                    INVALID_GRANT_OPERATION,
                    "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS"
                );
            }
            let found = self.catalog.schema(self.txn(), schema)?;
            schemas.push(found.ok_or_else(|| {
                sql_error!(UNDEFINED_SCHEMA, "schema \"{schema}\" does not exist")
            })?);
        }
        if schemas.is_empty() {
            schemas.push(Oid::INVALID);
        }
        for role in roles {
            for schema in &schemas {
                self.set_defaults(role, *schema, class, &given)?;
            }
        }
        Ok(())
    }

    /// In a schema they come on top of what goes without saying, and of what is said for all.
    fn set_defaults(&mut self, role: Oid, schema: Oid, class: Class, given: &Given) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::Oid(role), Datum::Oid(schema), Datum::Char(letter(class))];
        let old = store.find_one(txn, "pg_default_acl", INDEX, &key)?;
        let plain = match schema.is_valid() {
            true => Acl::default(),
            false => default_acl(class, role),
        };
        let mut acl = match &old {
            Some(found) => store.acl_of(txn, &found.row, "defaclacl")?.unwrap_or_default(),
            None => plain.clone(),
        };
        let wanted = if given.all { class.all() } else { given.privileges };
        self.apply(given, &mut acl, wanted, (role, role))?;
        match (old, sorted(&acl) == sorted(&plain)) {
            (Some(found), true) => store.delete(txn, "pg_default_acl", &found)?,
            (None, true) => {}
            (Some(found), false) => {
                let changes = [("defaclacl", acl.datum())];
                store.update_columns(txn, "pg_default_acl", &found, &changes)?;
            }
            (None, false) => {
                let row = RowBuilder::of("pg_default_acl")
                    .oid("oid", self.new_oid()?)
                    .oid("defaclrole", role)
                    .oid("defaclnamespace", schema)
                    .letter("defaclobjtype", letter(class))
                    .set("defaclacl", acl.datum());
                store.insert(txn, "pg_default_acl", &row.build())?;
            }
        }
        Ok(self.txn().next_command()?)
    }

    /// The access list of a new object of a role; null where nothing is said.
    pub(in super::super) fn new_acl(&self, class: Class, owner: Oid, schema: Oid) -> Result<Datum> {
        self.hold_role(owner)?;
        let (txn, store) = (self.txn(), self.store());
        let said = |schema: Oid| -> Result<Option<Acl>> {
            let key = [Datum::Oid(owner), Datum::Oid(schema), Datum::Char(letter(class))];
            match store.find_one(txn, "pg_default_acl", INDEX, &key)? {
                Some(found) => store.acl_of(txn, &found.row, "defaclacl"),
                None => Ok(None),
            }
        };
        let of_schema = if schema.is_valid() { said(schema)? } else { None };
        let of_all = said(Oid::INVALID)?;
        if of_schema.is_none() && of_all.is_none() {
            return Ok(Datum::Null);
        }
        let plain = default_acl(class, owner);
        let mut acl = of_all.unwrap_or_else(|| plain.clone());
        for item in of_schema.unwrap_or_default().items {
            acl.give(
                item,
                Around { owner, has_rights_of: &|role, of| self.has_rights_of(role, of) },
            )?;
        }
        let acl = sorted(&acl);
        Ok(if acl == sorted(&plain) { Datum::Null } else { acl.datum() })
    }

    /// Default privileges that a schema or a role has go with it.
    pub(in super::super) fn forget_defaults_in(&mut self, schema: Oid) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        for found in store.scan(txn, "pg_default_acl", |r| r.oid("defaclnamespace") == schema)? {
            store.delete(txn, "pg_default_acl", &found)?;
        }
        Ok(txn.next_command()?)
    }
}

/// In an order of their own, so that equal lists are the same.
fn sorted(acl: &Acl) -> Acl {
    let mut acl = acl.clone();
    acl.items.sort_by_key(|item: &AclItem| (item.grantee, item.grantor));
    acl
}
