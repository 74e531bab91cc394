//! Who may connect to what.

use std::sync::Arc;

use storage::lock::LockMode;
use storage::txn::Txn;

use crate::catalog::ddl::{SETTINGS_INDEX, settings_of};
use crate::catalog::store::{BOOTSTRAP_SUPERUSER, Cluster, Instance, Presence};
use crate::error::{Result, bail, sql_error};
use crate::password::{self, Verifier};
use crate::types::{Datum, Oid};

use super::names;

/// A session that may begin.
pub(super) struct Admitted {
    pub instance: Arc<Instance>,
    pub presence: Presence,
    pub role: Oid,
    pub is_superuser: bool,
    /// What ALTER DATABASE SET has said, as `name=value`.
    pub settings: Vec<String>,
}

/// Finds role and database, and lists the session as one of the database. The database is locked until the
/// transaction ends, so that it is not dropped, renamed or copied in between.
pub(super) fn admit(
    cluster: &Arc<Cluster>,
    txn: &Txn,
    pid: i32,
    database: &str,
    user: &str,
) -> Result<Admitted> {
    let store = &cluster.shared;
    let Some(role) = names::role(store, txn, user)? else {
        bail!(INVALID_AUTHORIZATION_SPECIFICATION, "role \"{user}\" does not exist");
    };
    if !role.row.bool("rolcanlogin") {
        bail!(INVALID_AUTHORIZATION_SPECIFICATION, "role \"{user}\" is not permitted to log in");
    }
    let is_superuser = role.row.bool("rolsuper");
    let Some(row) = cluster.locked_database(txn, database, LockMode::RowExclusive)? else {
        bail!(INVALID_CATALOG_NAME, "database \"{database}\" does not exist");
    };
    if !row.row.bool("datallowconn") {
        bail!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "database \"{database}\" is not currently accepting connections"
        );
    }
    let oid = row.row.oid("oid");
    let role = role.row.oid("oid");
    let presence = cluster.enter(pid, oid, role);
    let limit = row.row.int4("datconnlimit");
    if limit >= 0 && !is_superuser && cluster.sessions_of(oid).len() > limit as usize {
        bail!(TOO_MANY_CONNECTIONS, "too many connections for database \"{database}\"");
    }
    let instance = cluster.database(oid);
    let settings = settings_for(cluster, txn, oid)?;
    Ok(Admitted { instance, presence, role, is_superuser, settings })
}

/// What `pg_authid` keeps of a role's password: a verifier, or why there is none, to the log.
pub(super) fn password_of(
    cluster: &Cluster,
    txn: &Txn,
    user: &str,
) -> Result<std::result::Result<Verifier, &'static str>> {
    let Some(role) = names::role(&cluster.shared, txn, user)? else {
        return Ok(Err("there is no such role"));
    };
    let kept = match role.row.get("rolpassword") {
        Datum::Null => return Ok(Err("the role has no password")),
        kept => kept.as_text(),
    };
    let until = role.row.get("rolvaliduntil");
    if !until.is_null() && until.as_timestamptz() < super::stamp() {
        return Ok(Err("the role's password has expired"));
    }
    let known = Verifier::parse(kept);
    Ok(known.ok_or("the role's password is kept as an MD5 sum and must be set again"))
}

/// What is kept of the password of the role that the directory was made with.
pub(super) fn first_verifier(cluster: &Cluster, txn: &Txn) -> Result<Option<String>> {
    let role = names::role_by_oid(&cluster.shared, txn, BOOTSTRAP_SUPERUSER)?;
    Ok(role.and_then(|role| match role.row.get("rolpassword") {
        Datum::Null => None,
        kept => Some(kept.as_text().to_string()),
    }))
}

/// Gives the role that the directory was made with a password, if it has none; whether it did.
pub(super) fn first_password(cluster: &Cluster, txn: &Txn, text: &str) -> Result<bool> {
    let store = &cluster.shared;
    let role = names::role_by_oid(store, txn, BOOTSTRAP_SUPERUSER)?;
    let role = role.ok_or_else(|| sql_error!(DATA_CORRUPTED, "the directory has no superuser"))?;
    let Some(kept) = password::stored(text)?.filter(|_| role.row.get("rolpassword").is_null())
    else {
        return Ok(false);
    };
    store.update_columns(txn, "pg_authid", &role, &[("rolpassword", Datum::text(kept))])?;
    Ok(true)
}

/// The settings that a session of a database begins with, as `name=value`.
pub(super) fn settings_for(cluster: &Cluster, txn: &Txn, database: Oid) -> Result<Vec<String>> {
    let key = [Datum::Oid(database), Datum::Oid(Oid::INVALID)];
    let found = cluster.shared.find_one(txn, "pg_db_role_setting", SETTINGS_INDEX, &key)?;
    Ok(found.map(|found| settings_of(&found.row)).unwrap_or_default())
}
