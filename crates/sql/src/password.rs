//! Passwords of roles.

use crate::error::{Result, SqlError};

/// What is stored of a role's password in `pg_authid.rolpassword`.
///
/// # Errors
/// `0A000`: nobody is asked for passwords yet.
pub fn stored(_name: &str, _text: &str) -> Result<String> {
    Err(SqlError::unsupported("passwords are not supported yet"))
}
