//! Who may connect to what.

use std::sync::Arc;

use storage::lock::LockMode;
use storage::txn::Txn;

use crate::catalog::ddl::{SETTINGS_INDEX, settings_of};
use crate::catalog::rights::{self, Class, Rights, role_row};
use crate::catalog::store::{BOOTSTRAP_SUPERUSER, Cluster, Instance, Presence, SessionCatalog};
use crate::error::{Result, bail, sql_error};
use crate::password::{self, Verifier};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::identity::{Identity, Role};
use super::names;

/// A session that may begin.
pub(super) struct Admitted {
    pub instance: Arc<Instance>,
    pub presence: Presence,
    pub identity: Identity,
    /// What ALTER DATABASE SET and ALTER ROLE SET have said, as `name=value`; the last counts.
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
    let session =
        Role { oid: role.row.oid("oid"), name: user.into(), superuser: role.row.bool("rolsuper") };
    let is_superuser = session.superuser;
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
    let instance = cluster.database(oid);
    let catalog = SessionCatalog::new(instance.clone());
    let rights = catalog.rights_of(txn, session.oid)?;
    let guard = catalog.guard_of(txn, Class::Database, &row.row)?;
    if !guard.privileges(&rights).0.has(Privileges::CONNECT) {
        let refused =
            sql_error!(INSUFFICIENT_PRIVILEGE, "permission denied for database \"{database}\"");
        return Err(refused.with_detail("User does not have CONNECT privilege."));
    }
    let presence = cluster.enter(pid, oid, session.oid);
    let most = role.row.int4("rolconnlimit");
    if most >= 0 && !is_superuser && cluster.sessions_by(session.oid) > most as usize {
        bail!(TOO_MANY_CONNECTIONS, "too many connections for role \"{user}\"");
    }
    let limit = row.row.int4("datconnlimit");
    if limit >= 0 && !is_superuser && cluster.sessions_of(oid).len() > limit as usize {
        bail!(TOO_MANY_CONNECTIONS, "too many connections for database \"{database}\"");
    }
    let settings = settings_for(cluster, txn, oid, session.oid)?;
    let role = first_role(cluster, txn, &rights, &settings)?;
    Ok(Admitted { instance, presence, identity: Identity { session, role }, settings })
}

/// The role that the settings make of the session's from the beginning on; none that it may not have.
fn first_role(
    cluster: &Cluster,
    txn: &Txn,
    rights: &Rights,
    settings: &[String],
) -> Result<Option<Role>> {
    let named = settings.iter().rev().find_map(|setting| setting.strip_prefix("role="));
    let Some(name) = named.filter(|name| *name != "none") else { return Ok(None) };
    let found = names::role(&cluster.shared, txn, name)?;
    Ok(found.filter(|found| rights.is_member_of(found.row.oid("oid"))).map(|found| Role {
        oid: found.row.oid("oid"),
        name: name.into(),
        superuser: found.row.bool("rolsuper"),
    }))
}

/// Whether a role is another, or a member of that.
pub(super) fn is_in(cluster: &Cluster, txn: &Txn, member: &str, role: &str) -> Result<bool> {
    let store = &cluster.shared;
    let (member, role) = (names::role(store, txn, member)?, names::role(store, txn, role)?);
    match (member, role) {
        (Some(member), Some(role)) => {
            rights::is_in(store, txn, member.row.oid("oid"), role.row.oid("oid"))
        }
        _ => Ok(false),
    }
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
    let role = role_row(&cluster.shared, txn, BOOTSTRAP_SUPERUSER)?;
    Ok(role.and_then(|role| match role.row.get("rolpassword") {
        Datum::Null => None,
        kept => Some(kept.as_text().to_string()),
    }))
}

/// Gives the role that the directory was made with a password, if it has none; whether it did.
pub(super) fn first_password(cluster: &Cluster, txn: &Txn, text: &str) -> Result<bool> {
    let store = &cluster.shared;
    let role = role_row(store, txn, BOOTSTRAP_SUPERUSER)?;
    let role = role.ok_or_else(|| sql_error!(DATA_CORRUPTED, "the directory has no superuser"))?;
    let Some(kept) = password::stored(text)?.filter(|_| role.row.get("rolpassword").is_null())
    else {
        return Ok(false);
    };
    store.update_columns(txn, "pg_authid", &role, &[("rolpassword", Datum::text(kept))])?;
    Ok(true)
}

/// The settings that a session of a role in a database begins with, as `name=value`: those of all come first, then those
/// of the database, of the role, and of both. A role that is invalid is nobody's.
pub(super) fn settings_for(
    cluster: &Cluster,
    txn: &Txn,
    database: Oid,
    role: Oid,
) -> Result<Vec<String>> {
    let none = Oid::INVALID;
    let mut settings = Vec::new();
    let mut places = vec![(none, none), (database, none)];
    if role.is_valid() {
        places.extend([(none, role), (database, role)]);
    }
    for (database, role) in places {
        let key = [Datum::Oid(database), Datum::Oid(role)];
        let found = cluster.shared.find_one(txn, "pg_db_role_setting", SETTINGS_INDEX, &key)?;
        settings.extend(found.iter().flat_map(|found| settings_of(&found.row)));
    }
    Ok(settings)
}
