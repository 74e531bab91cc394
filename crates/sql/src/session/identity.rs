//! Who works in a session: SET SESSION AUTHORIZATION and SET ROLE.

use std::sync::Arc;

use crate::catalog::rights::READ_ALL_SETTINGS;
use crate::error::{Result, bail};
use crate::settings::{self, Context};
use crate::types::Oid;

use super::backend::Backend;
use super::names;

/// A role, as it was when it was named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    pub oid: Oid,
    pub name: Arc<str>,
    pub superuser: bool,
}

/// Whose session it is, and whose rights its statements have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    pub session: Role,
    /// SET ROLE; without it they have the session's.
    pub role: Option<Role>,
}

impl Identity {
    /// Whose rights statements have.
    pub fn current(&self) -> &Role {
        self.role.as_ref().unwrap_or(&self.session)
    }
}

/// What PostgreSQL calls running the query of a materialized view.
pub(super) const RESTRICTED: &str = "security-restricted operation";
/// Likewise what a foreign key does to the rows of its table.
pub(super) const DEFINER: &str = "security-definer function";

/// Whether a setting is one of these two.
pub(super) fn is_of_identity(name: &str) -> bool {
    name.eq_ignore_ascii_case("role") || name.eq_ignore_ascii_case("session_authorization")
}

impl Backend {
    /// The role whose rights statements have.
    #[inline]
    pub fn user_oid(&self) -> Oid {
        self.catalog.user()
    }

    /// Sets `role` or `session_authorization`; `None` is DEFAULT.
    pub(super) fn set_identity(
        &mut self,
        name: &str,
        text: Option<&str>,
        local: bool,
    ) -> Result<()> {
        let is_role = name.eq_ignore_ascii_case("role");
        if let Some(within) = self.values.restricted_within() {
            let name = if is_role { "role" } else { "session_authorization" };
            bail!(INSUFFICIENT_PRIVILEGE, "cannot set parameter \"{name}\" within {within}");
        }
        match is_role {
            true => {
                let role = self.wanted_role(text)?;
                self.values.set_role(role, local);
            }
            false => {
                let session = self.wanted_session_user(text)?;
                self.values.set_session_user(session, local);
            }
        }
        Ok(())
    }

    /// Runs what a role has written by its rights, and no others, whoever has it run.
    pub(super) fn restricted_to<T>(
        &mut self,
        role: Oid,
        within: &'static str,
        work: impl FnOnce(&mut Backend) -> Result<T>,
    ) -> Result<T> {
        let rights = self.catalog.rights_of(&self.txn, role)?;
        let name = (*rights.name).into();
        let role = Role { oid: role, name, superuser: rights.superuser };
        let before = self.values.restrict(role, within);
        let done = work(self);
        self.values.unrestrict(before);
        done
    }

    fn wanted_role(&self, text: Option<&str>) -> Result<Option<Role>> {
        let Some(name) = text else { return Ok(self.values.first_identity().role.clone()) };
        if name == "none" {
            return Ok(None);
        }
        let role = self.role_to_be(name)?;
        let session = self.values.identity.session.oid;
        if !self.catalog.rights_of(&self.txn, session)?.is_member_of(role.oid) {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to set role \"{name}\"");
        }
        Ok(Some(role))
    }

    /// Who connected may become who it likes if it may do everything, and what it was at any time.
    fn wanted_session_user(&self, text: Option<&str>) -> Result<Role> {
        let first = &self.values.first_identity().session;
        let Some(name) = text else { return Ok(first.clone()) };
        let session = self.role_to_be(name)?;
        if session.oid != first.oid && !first.superuser {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to set session authorization");
        }
        Ok(session)
    }

    fn role_to_be(&self, name: &str) -> Result<Role> {
        let found = names::role(&self.instance.store, &self.txn, name)?;
        let Some(found) = found else {
            bail!(INVALID_PARAMETER_VALUE, "role \"{name}\" does not exist");
        };
        Ok(Role {
            oid: found.row.oid("oid"),
            name: name.into(),
            superuser: found.row.bool("rolsuper"),
        })
    }
}

impl Backend {
    /// Whether the current role may set a setting at all.
    pub(super) fn may_set(&self, name: &str) -> Result<()> {
        may_set(name, self.catalog.rights(&self.txn)?.superuser)
    }

    /// Whether the current role may know a setting.
    pub(super) fn may_show(&self, name: &str) -> Result<()> {
        let is_secret = SECRET.iter().any(|secret| secret.eq_ignore_ascii_case(name));
        if is_secret && !self.has_rights_of(READ_ALL_SETTINGS)? {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "must be superuser or have privileges of pg_read_all_settings to examine \"{name}\""
            );
        }
        Ok(())
    }
}

/// Settings that tell of the machine.
pub(super) const SECRET: &[&str] = &[
    "config_file",
    "data_directory",
    "dynamic_library_path",
    "hba_file",
    "ident_file",
    "log_directory",
    "log_filename",
    "unix_socket_directories",
];

/// Whether a role may set a setting at all.
pub(super) fn may_set(name: &str, is_superuser: bool) -> Result<()> {
    let Some(setting) = settings::find(name) else { return Ok(()) };
    if setting.context == Context::Superuser && !is_superuser {
        let name = setting.name;
        bail!(INSUFFICIENT_PRIVILEGE, "permission denied to set parameter \"{name}\"");
    }
    Ok(())
}
