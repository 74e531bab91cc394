//! CREATE, ALTER and DROP ROLE, USER and GROUP.

mod holdings;
mod member;
mod owned;
mod settings;

use storage::lock::{LockMode, LockTag};
use syntax::ast::{
    AlterRole, CreateRole, DropRole, RoleFlavour, RoleKind, RoleOption, RoleOptionKind, RoleSpec,
    Statement,
};

use crate::bind::at;
use crate::catalog::rights::role_row;
use crate::catalog::store::row::RowBuilder;
use crate::catalog::store::schema::catalog;
use crate::catalog::store::{BOOTSTRAP_SUPERUSER, Found};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::password;
use crate::types::{Datum, Oid, TypeId};

use super::Ddl;
pub use settings::change_role_settings;

/// What a statement says of a role; `None`: nothing.
#[derive(Default)]
struct Wanted<'s> {
    superuser: Option<bool>,
    create_db: Option<bool>,
    create_role: Option<bool>,
    inherit: Option<bool>,
    login: Option<bool>,
    replication: Option<bool>,
    bypass_rls: Option<bool>,
    connection_limit: Option<i32>,
    /// Its text; none: there is to be none.
    password: Option<Option<&'s str>>,
    valid_until: Option<&'s str>,
    in_roles: &'s [RoleSpec],
    members: &'s [RoleSpec],
    admins: &'s [RoleSpec],
}

impl<'s> Wanted<'s> {
    /// Reads options, each of which may be said once.
    fn read(options: &'s [RoleOption], notice: &mut dyn FnMut(SqlError)) -> Result<Wanted<'s>> {
        let mut wanted = Wanted::default();
        let mut said: Vec<std::mem::Discriminant<RoleOptionKind>> = Vec::new();
        for option in options {
            let kind = std::mem::discriminant(&option.kind);
            if said.contains(&kind) {
                let twice = sql_error!(SYNTAX_ERROR, "conflicting or redundant options");
                return Err(at(twice, option.loc));
            }
            said.push(kind);
            match &option.kind {
                RoleOptionKind::Superuser(on) => wanted.superuser = Some(*on),
                RoleOptionKind::CreateDb(on) => wanted.create_db = Some(*on),
                RoleOptionKind::CreateRole(on) => wanted.create_role = Some(*on),
                RoleOptionKind::Inherit(on) => wanted.inherit = Some(*on),
                RoleOptionKind::Login(on) => wanted.login = Some(*on),
                RoleOptionKind::Replication(on) => wanted.replication = Some(*on),
                RoleOptionKind::BypassRls(on) => wanted.bypass_rls = Some(*on),
                RoleOptionKind::ConnectionLimit(limit) if *limit < -1 => {
                    bail!(INVALID_PARAMETER_VALUE, "invalid connection limit: {limit}")
                }
                RoleOptionKind::ConnectionLimit(limit) => {
                    wanted.connection_limit = Some(*limit as i32);
                }
                RoleOptionKind::Password(text) => wanted.password = Some(text.as_deref()),
                RoleOptionKind::ValidUntil(text) => wanted.valid_until = Some(text),
                RoleOptionKind::InRole(roles) => wanted.in_roles = roles,
                RoleOptionKind::Members(roles) => wanted.members = roles,
                RoleOptionKind::Admins(roles) => wanted.admins = roles,
                RoleOptionKind::SysId(_) => {
                    notice(sql_error!(SUCCESSFUL_COMPLETION, "SYSID can no longer be specified"))
                }
            }
        }
        Ok(wanted)
    }

    /// The columns of `pg_authid` that it says something of, password and time aside.
    fn columns(&self) -> Vec<(&'static str, Datum)> {
        let flags = [
            ("rolsuper", self.superuser),
            ("rolcreatedb", self.create_db),
            ("rolcreaterole", self.create_role),
            ("rolinherit", self.inherit),
            ("rolcanlogin", self.login),
            ("rolreplication", self.replication),
            ("rolbypassrls", self.bypass_rls),
        ];
        let said = flags.into_iter().filter_map(|(column, on)| Some((column, Datum::Bool(on?))));
        let limit = self.connection_limit.map(|limit| ("rolconnlimit", Datum::Int4(limit)));
        said.chain(limit).collect()
    }
}

impl Ddl<'_> {
    /// Statements about roles, and about what they may.
    pub(super) fn role_statement(&mut self, statement: &Statement) -> Option<Result<String>> {
        let tag = |tag: &str| tag.to_owned();
        Some(match statement {
            Statement::CreateRole(s) => self.create_role(s).map(|()| tag("CREATE ROLE")),
            Statement::AlterRole(s) => self.alter_role(s).map(|()| tag("ALTER ROLE")),
            Statement::DropRole(s) => self.drop_roles(s).map(|()| tag("DROP ROLE")),
            Statement::GrantRole(s) => {
                let done = if s.grant { "GRANT ROLE" } else { "REVOKE ROLE" };
                self.grant_role(s).map(|()| tag(done))
            }
            Statement::Grant(s) => {
                let done = if s.grant { "GRANT" } else { "REVOKE" };
                self.grant(s).map(|()| tag(done))
            }
            Statement::AlterDefaultPrivileges(s) => {
                self.alter_default_privileges(s).map(|()| tag("ALTER DEFAULT PRIVILEGES"))
            }
            Statement::DropOwned(s) => self.drop_owned(s).map(|()| tag("DROP OWNED")),
            Statement::ReassignOwned(s) => self.reassign_owned(s).map(|()| tag("REASSIGN OWNED")),
            _ => return None,
        })
    }

    fn create_role(&mut self, create: &CreateRole) -> Result<()> {
        let mut notices = Vec::new();
        let wanted = Wanted::read(&create.options, &mut |notice| notices.push(notice))?;
        notices.into_iter().for_each(|notice| self.host.notice("NOTICE", notice));
        let rights = self.rights()?;
        if !rights.superuser {
            let refused = match () {
                () if wanted.superuser == Some(true) => "must be superuser to create superusers",
                () if wanted.replication == Some(true) => {
                    "must be superuser to create replication users"
                }
                () if wanted.bypass_rls == Some(true) => {
                    "must be superuser to create bypassrls users"
                }
                () if !rights.create_role => "permission denied to create role",
                () => "",
            };
            if !refused.is_empty() {
                bail!(INSUFFICIENT_PRIVILEGE, "{refused}");
            }
        }
        let name = &*create.name;
        must_not_be_reserved(name, "Role names starting with \"pg_\" are reserved.")?;
        if self.role_by_name(name)?.is_some() {
            return Err(duplicate(name));
        }
        let oid = self.new_oid()?;
        let mut row = RowBuilder::of("pg_authid")
            .oid("oid", oid)
            .set("rolname", name)
            .set("rolinherit", true)
            .set("rolcanlogin", create.flavour == RoleFlavour::User)
            .set("rolconnlimit", -1);
        for (column, value) in self.changes(&wanted)? {
            row = row.set(column, value);
        }
        let written = self.store().insert(self.txn(), "pg_authid", &row.build());
        // Another may have made one of that name meanwhile.
        written.map_err(|error| match error.sqlstate() {
            crate::error::SqlState::UNIQUE_VIOLATION => duplicate(name),
            _ => error,
        })?;
        self.catalog.note_roles(self.txn())?;
        let grantor = self.host.user();
        for role in wanted.in_roles {
            let role = self.role_of(role)?;
            self.add_members(role, &[oid], false, grantor)?;
        }
        let admins = self.roles_of(wanted.admins)?;
        self.add_members(oid, &admins, true, grantor)?;
        let members = self.roles_of(wanted.members)?;
        self.add_members(oid, &members, false, grantor)
    }

    /// What a statement makes of a role's row.
    fn changes(&mut self, wanted: &Wanted<'_>) -> Result<Vec<(&'static str, Datum)>> {
        let mut changes = wanted.columns();
        if let Some(password) = wanted.password {
            let kept = password.map(password::stored).transpose()?.flatten();
            if password.is_some() && kept.is_none() {
                let text = "empty string is not a valid password, clearing password";
                self.host.notice("NOTICE", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
            }
            changes.push(("rolpassword", kept.map_or(Datum::Null, Datum::text)));
        }
        if let Some(text) = wanted.valid_until {
            let until = self.host.value_of(TypeId::TIMESTAMPTZ, text)?;
            changes.push(("rolvaliduntil", until));
        }
        Ok(changes)
    }

    fn alter_role(&mut self, alter: &AlterRole) -> Result<()> {
        let mut notices = Vec::new();
        let wanted = Wanted::read(&alter.options, &mut |notice| notices.push(notice))?;
        notices.into_iter().for_each(|notice| self.host.notice("NOTICE", notice));
        if let RoleKind::Name(name) = &alter.role.kind {
            must_not_be_reserved(name, "Cannot alter reserved roles.")?;
        }
        let oid = self.role_of(&alter.role)?;
        let found = self.known_role(oid)?;
        let row = &found.row;
        let rights = self.rights()?;
        if !rights.superuser {
            let only_own = wanted.columns().is_empty()
                && wanted.valid_until.is_none()
                && wanted.password.is_some()
                && oid == self.host.user();
            let refused = match () {
                () if row.bool("rolsuper") || wanted.superuser.is_some() => {
                    "must be superuser to alter superuser roles or change superuser attribute"
                }
                () if row.bool("rolreplication") || wanted.replication.is_some() => {
                    "must be superuser to alter replication roles or change replication attribute"
                }
                () if wanted.bypass_rls.is_some() => {
                    "must be superuser to change bypassrls attribute"
                }
                () if !rights.create_role && !only_own => "permission denied",
                () => "",
            };
            if !refused.is_empty() {
                bail!(INSUFFICIENT_PRIVILEGE, "{refused}");
            }
        }
        let changes = self.changes(&wanted)?;
        if !changes.is_empty() {
            self.store().update_columns(self.txn(), "pg_authid", &found, &changes)?;
        }
        self.catalog.note_roles(self.txn())
    }

    fn drop_roles(&mut self, drop: &DropRole) -> Result<()> {
        let rights = self.rights()?;
        if !rights.superuser && !rights.create_role {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to drop role");
        }
        let mut roles = Vec::new();
        for role in &drop.roles {
            let RoleKind::Name(name) = &role.kind else {
                bail!(INVALID_PARAMETER_VALUE, "cannot use special role specifier in DROP ROLE");
            };
            let Some(found) = self.role_by_name(name)? else {
                self.skip(no_role(name), drop.if_exists)?;
                continue;
            };
            let oid = found.row.oid("oid");
            if oid == self.host.user() {
                bail!(OBJECT_IN_USE, "current user cannot be dropped");
            }
            if oid == self.host.session_user() {
                bail!(OBJECT_IN_USE, "session user cannot be dropped");
            }
            if found.row.bool("rolsuper") && !rights.superuser {
                bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to drop superusers");
            }
            self.lock_role(oid, LockMode::AccessExclusive)?;
            // Those that go with it need not be looked at again.
            self.forget_memberships(oid)?;
            roles.push((oid, name));
        }
        for (oid, name) in roles {
            self.drop_role(oid, name)?;
        }
        self.catalog.note_roles(self.txn())
    }

    fn drop_role(&mut self, oid: Oid, name: &str) -> Result<()> {
        if oid < crate::catalog::FIRST_USER_OID {
            bail!(
                DEPENDENT_OBJECTS_STILL_EXIST,
                "cannot drop role {name} because it is required by the database system"
            );
        }
        if let Some(detail) = self.what_hangs_on(oid)? {
            return Err(sql_error!(
                DEPENDENT_OBJECTS_STILL_EXIST,
                "role \"{name}\" cannot be dropped because some objects depend on it"
            )
            .with_detail(detail));
        }
        if let Some(found) = role_row(self.store(), self.txn(), oid)? {
            self.store().delete(self.txn(), "pg_authid", &found)?;
        }
        self.comment_for_all(catalog("pg_authid").oid, oid, None)?;
        self.forget_settings_of(oid)
    }

    pub(super) fn rename_role(&mut self, name: &str, new_name: &str) -> Result<()> {
        let found = self.role_by_name(name)?.ok_or_else(|| no_role(name))?;
        let oid = found.row.oid("oid");
        if oid == self.host.session_user() {
            bail!(FEATURE_NOT_SUPPORTED, "session user cannot be renamed");
        }
        if oid == self.host.user() {
            bail!(FEATURE_NOT_SUPPORTED, "current user cannot be renamed");
        }
        must_not_be_reserved(name, "Role names starting with \"pg_\" are reserved.")?;
        must_not_be_reserved(new_name, "Role names starting with \"pg_\" are reserved.")?;
        if self.role_by_name(new_name)?.is_some() {
            return Err(duplicate(new_name));
        }
        let rights = self.rights()?;
        if found.row.bool("rolsuper") && !rights.superuser {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to rename superusers");
        }
        if !rights.superuser && !rights.create_role {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to rename role");
        }
        let mut changes = vec![("rolname", Datum::text(new_name))];
        // The name was mixed into it.
        if found.row.text("rolpassword").starts_with("md5") {
            changes.push(("rolpassword", Datum::Null));
            let text = "MD5 password cleared because of role rename";
            self.host.notice("NOTICE", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
        }
        self.store().update_columns(self.txn(), "pg_authid", &found, &changes)?;
        self.catalog.note_roles(self.txn())
    }

    pub(super) fn comment_on_role(&mut self, name: &str, text: Option<&str>) -> Result<()> {
        let found = self.role_by_name(name)?.ok_or_else(|| no_role(name))?;
        let rights = self.rights()?;
        if found.row.bool("rolsuper") {
            if !rights.superuser {
                bail!(INSUFFICIENT_PRIVILEGE, "must be superuser");
            }
        } else if !rights.superuser && !rights.create_role {
            bail!(INSUFFICIENT_PRIVILEGE, "must have CREATEROLE privilege");
        }
        self.comment_for_all(catalog("pg_authid").oid, found.row.oid("oid"), text)
    }

    fn role_by_name(&self, name: &str) -> Result<Option<Found>> {
        let key = [Datum::text(name)];
        self.store().find_one(self.txn(), "pg_authid", "pg_authid_rolname_index", &key)
    }

    fn known_role(&self, oid: Oid) -> Result<Found> {
        let found = role_row(self.store(), self.txn(), oid)?;
        found.ok_or_else(|| sql_error!(UNDEFINED_OBJECT, "role {oid} does not exist"))
    }

    fn roles_of(&mut self, roles: &[RoleSpec]) -> Result<Vec<Oid>> {
        roles.iter().map(|role| self.role_of(role)).collect()
    }

    /// Keeps a role from being dropped until the transaction ends: it is about to have something.
    pub(super) fn hold_role(&self, role: Oid) -> Result<()> {
        // The one that made the directory stays.
        if role == BOOTSTRAP_SUPERUSER {
            return Ok(());
        }
        self.lock_role(role, LockMode::AccessShare)?;
        match role_row(self.store(), self.txn(), role)? {
            Some(_) => Ok(()),
            None => bail!(UNDEFINED_OBJECT, "role {role} was concurrently dropped"),
        }
    }

    /// Whoever gives something to a role keeps it from being dropped meanwhile.
    pub(super) fn lock_role(&self, role: Oid, mode: LockMode) -> Result<()> {
        let (db, class) = (0, catalog("pg_authid").oid.0);
        Ok(self.txn().lock(LockTag::Object { db, class, object: role.0, sub: 0 }, mode)?)
    }
}

fn must_not_be_reserved(name: &str, detail: &str) -> Result<()> {
    if name.starts_with("pg_") {
        let refused = sql_error!(RESERVED_NAME, "role name \"{name}\" is reserved");
        return Err(refused.with_detail(detail));
    }
    Ok(())
}

fn duplicate(name: &str) -> SqlError {
    sql_error!(DUPLICATE_OBJECT, "role \"{name}\" already exists")
}

fn no_role(name: &str) -> SqlError {
    sql_error!(UNDEFINED_OBJECT, "role \"{name}\" does not exist")
}
