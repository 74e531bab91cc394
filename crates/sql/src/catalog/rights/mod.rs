//! Who may do what: what a role is, what objects' access lists say, and whether that is enough.
//!
//! Every question comes down to [`Rights`] of a role and a [`Guard`] of an object. A session asks for its current role,
//! and for the owners of views. Rights are read from the catalogs once, and again when the cluster's count of changes of
//! roles has moved, or when the session's own transaction has changed something.
//!
//! A change of roles, of memberships or of an access list outdates the plans that were made before it (see
//! [`SessionCatalog::note_roles`] and `store/instance.rs`). So a plan that was found to be allowed for a role
//! need not be looked at again for it: another state of rights is another plan.

mod guard;
mod predefined;
mod relation;

pub use guard::{Class, Guard, REFUSED, default_acl};
pub use predefined::{
    CHECKPOINTER, DATABASE_OWNER, MEMBERSHIPS, MONITOR, PREDEFINED, READ_ALL_DATA,
    READ_ALL_SETTINGS, READ_ALL_STATS, SIGNAL_BACKEND, STAT_SCAN_TABLES, WRITE_ALL_DATA,
    is_secret_catalog, is_secret_view, restricted_to,
};
pub use relation::of_column;

use std::sync::Arc;

use base::hash::HashMap;
use storage::txn::{Txn, When};

use super::store::lookup::Stamp;
use super::store::{Found, SessionCatalog, Store};
use crate::error::{Result, SqlError, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

/// What a role is and may, apart from what objects' access lists say.
#[derive(Clone, Debug, Default)]
pub struct Rights {
    pub role: Oid,
    pub name: Box<str>,
    pub superuser: bool,
    pub create_role: bool,
    pub create_db: bool,
    pub replication: bool,
    /// The roles whose rights it has, itself among them, in the order in which they are found.
    inherited: Vec<Oid>,
    /// The roles that it may become, itself among them.
    member: Vec<Oid>,
    /// Those whose membership it may give.
    admin: Vec<Oid>,
}

impl Rights {
    /// Whether it has all that a role has.
    pub fn has_rights_of(&self, role: Oid) -> bool {
        self.superuser || self.inherited.contains(&role)
    }

    /// Whether it is a role, or a member of it, directly or not.
    pub fn is_member_of(&self, role: Oid) -> bool {
        self.superuser || self.is_listed_member_of(role)
    }

    /// Likewise, a superuser being in no more than it was put into.
    pub fn is_listed_member_of(&self, role: Oid) -> bool {
        self.member.contains(&role)
    }

    /// Whether it may give the membership of a role to others; of itself nobody may by this.
    pub fn administers(&self, role: Oid) -> bool {
        self.superuser || self.admin.contains(&role)
    }

    /// The roles whose rights it has.
    pub fn inherited(&self) -> &[Oid] {
        &self.inherited
    }
}

/// What a session knows of roles, and the state of affairs that it knows it of.
#[derive(Default)]
pub(super) struct KnownRoles {
    key: (u64, Stamp),
    roles: HashMap<Oid, Arc<Rights>>,
}

impl SessionCatalog {
    /// What the session's current role may.
    pub fn rights(&self, txn: &Txn) -> Result<Arc<Rights>> {
        self.rights_of(txn, self.user())
    }

    /// What a role may.
    ///
    /// # Errors
    /// `42704` where it is gone.
    pub fn rights_of(&self, txn: &Txn, role: Oid) -> Result<Arc<Rights>> {
        // Loaded first: what is read later is at least as new.
        let own = if self.is_changed() { self.stamp() } else { Stamp::default() };
        let key = (self.instance.roles_version(), own);
        {
            let mut known = self.roles.lock();
            if known.key != key {
                known.key = key;
                known.roles.clear();
            }
            if let Some(rights) = known.roles.get(&role) {
                return Ok(rights.clone());
            }
        }
        let rights = Arc::new(txn.briefly(|| load(self, txn, role))?);
        let mut known = self.roles.lock();
        if known.key == key {
            known.roles.insert(role, rights.clone());
        }
        Ok(rights)
    }

    /// This transaction has changed roles, or who is in which. Everybody's plans are out of date once it commits.
    pub fn note_roles(&self, txn: &Txn) -> Result<()> {
        self.note_change(txn, Oid::INVALID)?;
        let cluster = self.instance.cluster()?;
        txn.on(When::Commit, move || cluster.roles_changed());
        Ok(())
    }

    /// Refuses to go on unless the current role has the privileges for an object.
    pub fn must_have(&self, txn: &Txn, class: Class, oid: Oid, wanted: Privileges) -> Result<()> {
        let rights = self.rights(txn)?;
        if rights.superuser {
            return Ok(());
        }
        let guard = match txn.briefly(|| self.guard(txn, class, oid))? {
            Some(guard) => guard,
            None => Guard::unsaid(class, oid)?,
        };
        match guard.privileges(&rights).0.has(wanted) {
            true => Ok(()),
            false => Err(guard.refusal()),
        }
    }

    /// Whether the current role is the owner of an object, or may act as that.
    pub fn owns(&self, txn: &Txn, owner: Oid) -> Result<bool> {
        Ok(self.rights(txn)?.has_rights_of(owner))
    }

    /// Refuses to go on unless the current role may act as the owner.
    pub fn must_own(&self, txn: &Txn, owner: Oid, class: Class, name: &str) -> Result<()> {
        match self.owns(txn, owner)? {
            true => Ok(()),
            false => Err(not_owner(class, name)),
        }
    }
}

/// `42501` for who is not the owner.
pub fn not_owner(class: Class, name: &str) -> SqlError {
    sql_error!(INSUFFICIENT_PRIVILEGE, "must be owner of {} {name}", class.word())
}

/// `42501` for who has not the privileges.
pub fn no_privilege(class: Class, name: &str) -> SqlError {
    sql_error!(INSUFFICIENT_PRIVILEGE, "permission denied for {} {name}", class.word())
}

/// Reads what a role may from the catalogs.
fn load(catalog: &SessionCatalog, txn: &Txn, role: Oid) -> Result<Rights> {
    let store = &catalog.instance.store;
    let Some(found) = role_row(store, txn, role)? else {
        return Err(sql_error!(UNDEFINED_OBJECT, "role with OID {} does not exist", role.0));
    };
    let row = &found.row;
    let owner = database_owner(store, txn, catalog.database)?;
    let (inherited, _) = closure(store, txn, role, owner, true)?;
    let (member, admin) = closure(store, txn, role, owner, false)?;
    Ok(Rights {
        role,
        name: row.text("rolname").into(),
        superuser: row.bool("rolsuper"),
        create_role: row.bool("rolcreaterole"),
        create_db: row.bool("rolcreatedb"),
        replication: row.bool("rolreplication"),
        inherited,
        member,
        admin,
    })
}

/// A role's row of `pg_authid`.
pub fn role_row(store: &Store, txn: &Txn, role: Oid) -> Result<Option<Found>> {
    store.find_one(txn, "pg_authid", "pg_authid_oid_index", &[Datum::Oid(role)])
}

fn database_owner(store: &Store, txn: &Txn, database: Oid) -> Result<Oid> {
    let index = "pg_database_oid_index";
    let found = store.find_one(txn, "pg_database", index, &[Datum::Oid(database)])?;
    Ok(found.map_or(Oid::INVALID, |found| found.row.oid("datdba")))
}

/// The roles that one is in, itself first, and those of them whose membership it may give. `inherits`: those alone whose
/// rights come with the membership.
fn closure(
    store: &Store,
    txn: &Txn,
    role: Oid,
    database_owner: Oid,
    inherits: bool,
) -> Result<(Vec<Oid>, Vec<Oid>)> {
    let mut all = vec![role];
    let mut admin = Vec::new();
    let mut at = 0;
    while let Some(member) = all.get(at).copied() {
        at += 1;
        if inherits && !role_row(store, txn, member)?.is_some_and(|r| r.row.bool("rolinherit")) {
            continue;
        }
        let key = [Datum::Oid(member)];
        let index = "pg_auth_members_member_role_index";
        for found in store.find(txn, "pg_auth_members", index, &key)? {
            let of = found.row.oid("roleid");
            if found.row.bool("admin_option") {
                admin.push(of);
            }
            if !all.contains(&of) {
                all.push(of);
            }
        }
        if member == database_owner && !all.contains(&DATABASE_OWNER) {
            all.push(DATABASE_OWNER);
        }
    }
    Ok((all, admin))
}

/// Whether a role is in another, as things are; a superuser is in no more than it was put into.
pub fn is_in(store: &Store, txn: &Txn, member: Oid, role: Oid) -> Result<bool> {
    Ok(closure(store, txn, member, Oid::INVALID, false)?.0.contains(&role))
}
