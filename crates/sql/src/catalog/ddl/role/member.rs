//! GRANT and REVOKE of membership in roles.

use syntax::ast::{GrantRole, OptionValue};

use crate::catalog::rights::{DATABASE_OWNER, is_in};
use crate::catalog::store::row::RowBuilder;
use crate::error::{Result, bail, sql_error};
use crate::types::{Datum, Oid};

use super::Ddl;

/// Finds members by role.
const BY_ROLE: &str = "pg_auth_members_role_member_index";
/// Finds roles by member.
const BY_MEMBER: &str = "pg_auth_members_member_role_index";

impl Ddl<'_> {
    pub(super) fn grant_role(&mut self, grant: &GrantRole) -> Result<()> {
        let mut admin = false;
        for option in &grant.options {
            match (&*option.name, &option.value) {
                ("admin", None | Some(OptionValue::Bool(true))) => admin = true,
                ("admin", Some(OptionValue::Bool(false))) if !grant.grant => admin = true,
                ("admin", Some(OptionValue::Bool(false))) => {}
                (other, _) => bail!(
                    FEATURE_NOT_SUPPORTED,
                    "option {} of a membership is not supported",
                    other.to_uppercase()
                ),
            }
        }
        let grantor = match &grant.granted_by {
            Some(role) => self.role_of(role)?,
            None => self.host.user(),
        };
        let members = self.roles_of(&grant.members)?;
        for name in &grant.roles {
            let role = self.role_named(name)?;
            match grant.grant {
                true => self.add_members(role, &members, admin, grantor)?,
                false => self.remove_members(role, &members, admin)?,
            }
        }
        Ok(())
    }

    /// Refuses to go on unless the current role may say who is in a role.
    fn must_administer(&mut self, role: Oid) -> Result<()> {
        let rights = self.rights()?;
        let of = self.known_role(role)?;
        match of.row.bool("rolsuper") {
            true if !rights.superuser => {
                bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to alter superusers")
            }
            false if !rights.create_role && !rights.administers(role) => bail!(
                INSUFFICIENT_PRIVILEGE,
                "must have admin option on role \"{}\"",
                of.row.text("rolname")
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn add_members(
        &mut self,
        role: Oid,
        members: &[Oid],
        admin: bool,
        grantor: Oid,
    ) -> Result<()> {
        if members.is_empty() {
            return Ok(());
        }
        for held in members.iter().chain([&role]) {
            self.hold_role(*held)?;
        }
        self.must_administer(role)?;
        let name = self.name_of(role)?;
        if role == DATABASE_OWNER {
            bail!(INTERNAL_ERROR, "role \"{name}\" cannot have explicit members");
        }
        if grantor != self.host.user() && !self.rights()?.superuser {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to set grantor");
        }
        for member in members {
            let member_name = self.name_of(*member)?;
            if *member == DATABASE_OWNER {
                bail!(INTERNAL_ERROR, "role \"{member_name}\" cannot be a member of any role");
            }
            if is_in(self.store(), self.txn(), role, *member)? {
                bail!(
                    INVALID_GRANT_OPERATION,
                    "role \"{name}\" is a member of role \"{member_name}\""
                );
            }
            self.add_member(role, *member, admin, grantor, (&name, &member_name))?;
        }
        self.catalog.note_roles(self.txn())
    }

    fn add_member(
        &mut self,
        role: Oid,
        member: Oid,
        admin: bool,
        grantor: Oid,
        (name, member_name): (&str, &str),
    ) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::Oid(role), Datum::Oid(member)];
        match store.find_one(txn, "pg_auth_members", BY_ROLE, &key)? {
            Some(found) if !admin || found.row.bool("admin_option") => {
                let text = format!("role \"{member_name}\" is already a member of role \"{name}\"");
                self.host.notice("NOTICE", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
            }
            Some(found) => {
                let changes = [("admin_option", true.into()), ("grantor", Datum::Oid(grantor))];
                store.update_columns(txn, "pg_auth_members", &found, &changes)?;
            }
            None => {
                let row = RowBuilder::of("pg_auth_members")
                    .oid("roleid", role)
                    .oid("member", member)
                    .oid("grantor", grantor)
                    .set("admin_option", admin);
                store.insert(txn, "pg_auth_members", &row.build())?;
            }
        }
        Ok(self.txn().next_command()?)
    }

    /// `admin`: takes away no more than the right to give the membership on.
    fn remove_members(&mut self, role: Oid, members: &[Oid], admin: bool) -> Result<()> {
        if members.is_empty() {
            return Ok(());
        }
        self.must_administer(role)?;
        for member in members {
            let key = [Datum::Oid(role), Datum::Oid(*member)];
            let (txn, store) = (self.txn(), self.store());
            match store.find_one(txn, "pg_auth_members", BY_ROLE, &key)? {
                None => {
                    let text = format!(
                        "role \"{}\" is not a member of role \"{}\"",
                        self.name_of(*member)?,
                        self.name_of(role)?
                    );
                    self.host.notice("WARNING", sql_error!(WARNING, "{text}"));
                }
                Some(found) if admin => {
                    let changes = [("admin_option", false.into())];
                    store.update_columns(txn, "pg_auth_members", &found, &changes)?;
                }
                Some(found) => store.delete(txn, "pg_auth_members", &found)?,
            }
            self.txn().next_command()?;
        }
        self.catalog.note_roles(self.txn())
    }

    /// A role that goes is in none any more, and none is in it.
    pub(super) fn forget_memberships(&mut self, role: Oid) -> Result<()> {
        for index in [BY_ROLE, BY_MEMBER] {
            self.delete_rows("pg_auth_members", index, &[Datum::Oid(role)])?;
            self.txn().next_command()?;
        }
        Ok(())
    }

    pub(super) fn name_of(&self, role: Oid) -> Result<String> {
        Ok(self.known_role(role)?.row.text("rolname").to_owned())
    }
}
