//! ALTER ROLE, as far as it goes: who knows which password.

use syntax::ast::{AlterRole, RoleOption, RoleOptionKind};

use crate::error::{Result, SqlError, sql_error};
use crate::password;
use crate::types::Datum;

use super::Ddl;

impl Ddl<'_> {
    pub(super) fn alter_role(&mut self, alter: &AlterRole) -> Result<()> {
        let [RoleOption { kind: RoleOptionKind::Password(password), .. }] = &alter.options[..]
        else {
            let message = "ALTER ROLE of something else than the password is not supported yet";
            return Err(SqlError::unsupported(message));
        };
        let role = self.role_of(&alter.role)?;
        let key = [Datum::Oid(role)];
        let found = self.store().find_one(self.txn(), "pg_authid", "pg_authid_oid_index", &key)?;
        let found =
            found.ok_or_else(|| sql_error!(UNDEFINED_OBJECT, "role {role} does not exist"))?;
        let kept = match password {
            Some(text) => password::stored(text)?,
            None => None,
        };
        if password.is_some() && kept.is_none() {
            let text = "empty string is not a valid password, clearing password";
            self.host.notice("NOTICE", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
        }
        let changes = [("rolpassword", kept.map_or(Datum::Null, Datum::text))];
        self.store().update_columns(self.txn(), "pg_authid", &found, &changes)?;
        Ok(self.txn().next_command()?)
    }
}
