//! What a session does for databases: their settings, which it can judge, and their size.

use base::ids::{Fork, RelId};
use base::rank::Rank;
use storage::lock::LockMode;
use syntax::ast::{AlterDatabase, AlterDatabaseAction, AlterRoleSet, SetAction, SetVariable};

use crate::catalog::ddl::{change_database_settings, change_role_settings};
use crate::catalog::rights::{Class, READ_ALL_STATS};
use crate::catalog::store::Cluster;
use crate::error::{Result, SqlError, bail};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::Session;
use super::backend::Backend;
use super::identity::may_set;
use super::set::{Values, joined};

/// Bytes of a page.
const BLOCK_BYTES: i64 = 8192;

impl Session {
    /// ALTER DATABASE … SET and RESET.
    pub(super) fn alter_database(&mut self, alter: &AlterDatabase) -> Result<Option<String>> {
        match &alter.action {
            AlterDatabaseAction::Set(set) => {
                self.alter_database_setting(&alter.name, set)?;
                Ok(Some("ALTER DATABASE".to_owned()))
            }
            AlterDatabaseAction::Options(options) => {
                if options.iter().any(|option| &*option.name == "tablespace") {
                    self.refuse_block("ALTER DATABASE SET TABLESPACE")?;
                }
                Ok(None)
            }
            AlterDatabaseAction::RefreshCollation => Ok(None),
        }
    }

    fn alter_database_setting(&mut self, database: &str, set: &SetVariable) -> Result<()> {
        let change = self.change_of(set)?;
        change_database_settings(&mut self.backend, database, |list| change.applied(list))
    }

    /// ALTER ROLE … SET and RESET.
    pub(super) fn alter_role_setting(&mut self, alter: &AlterRoleSet) -> Result<()> {
        let change = self.change_of(&alter.set)?;
        change_role_settings(&mut self.backend, alter, |list| change.applied(list))
    }

    /// What a statement does to a list of settings.
    fn change_of(&self, set: &SetVariable) -> Result<ChangeOfSettings> {
        let (name, value) = match &set.action {
            SetAction::Value { name, values, .. } => (name, Some(joined(name, values)?)),
            SetAction::FromCurrent { name } => (name, self.backend.values.show(name)),
            SetAction::Default { name } | SetAction::Reset { name } => (name, None),
            SetAction::ResetAll => {
                let by_superuser = self.backend.catalog.rights(&self.backend.txn)?.superuser;
                return Ok(ChangeOfSettings::All { by_superuser });
            }
            _ => return Err(SqlError::unsupported("this setting is not supported here")),
        };
        self.backend.may_set(name)?;
        Ok(ChangeOfSettings::One(name.to_string(), value))
    }
}

/// See [`Session::change_of`].
enum ChangeOfSettings {
    /// All that who asks may set.
    All {
        by_superuser: bool,
    },
    One(String, Option<String>),
}

impl ChangeOfSettings {
    fn applied(&self, mut list: Vec<String>) -> Result<Vec<String>> {
        let (name, value) = match self {
            ChangeOfSettings::One(name, value) => (name, value),
            ChangeOfSettings::All { by_superuser } => {
                list.retain(|entry| may_set(name_of(entry), *by_superuser).is_err());
                return Ok(list);
            }
        };
        let name = match value {
            Some(_) if name.eq_ignore_ascii_case("role") => "role".to_owned(),
            Some(value) => Values::check(name, value)?,
            None => spelled(name),
        };
        let of = |entry: &String| name_of(entry) == name;
        let at = list.iter().position(of);
        match (at, value) {
            (Some(at), Some(value)) => list[at] = format!("{name}={value}"),
            (Some(at), None) => drop(list.remove(at)),
            (None, Some(value)) => list.push(format!("{name}={value}")),
            (None, None) => {}
        }
        Ok(list)
    }
}

/// Of an entry `name=value`.
fn name_of(entry: &str) -> &str {
    entry.split_once('=').map_or(entry, |(name, _)| name)
}

/// The setting's own spelling of its name.
fn spelled(name: &str) -> String {
    crate::settings::find(name).map_or_else(|| name.to_ascii_lowercase(), |s| s.name.to_owned())
}

/// `pg_database_size`: the bytes of its relations, not of what all databases share.
pub(super) fn size(backend: &Backend, database: &Datum) -> Result<Datum> {
    let cluster = backend.instance.cluster()?;
    let name = match database {
        Datum::Oid(oid) => match database_name(backend, *oid)? {
            Some(name) => name,
            None => return Ok(Datum::Null),
        },
        name => name.as_text().to_string(),
    };
    let Some(found) = cluster.locked_database(&backend.txn, &name, LockMode::AccessShare)? else {
        bail!(INVALID_CATALOG_NAME, "database \"{name}\" does not exist");
    };
    let oid = found.row.oid("oid");
    if !backend.has_rights_of(READ_ALL_STATS)? {
        let wanted = Privileges::CONNECT;
        backend.catalog.must_have(&backend.txn, Class::Database, oid, wanted)?;
    }
    let storage = cluster.storage(&backend.txn, oid)?;
    bytes_of(&cluster, storage).map(Datum::from)
}

fn bytes_of(cluster: &Cluster, storage: impl IntoIterator<Item = (RelId, Rank)>) -> Result<i64> {
    let mut bytes = 0;
    for (storage, rank) in storage {
        let relation = cluster.engine().pool().relation(storage, rank);
        for fork in [Fork::Main, Fork::FreeSpace, Fork::Visibility] {
            match relation.blocks(fork) {
                Ok(blocks) => bytes += i64::from(blocks) * BLOCK_BYTES,
                // Dropped since its name was read.
                Err(storage::Error::NoSuchRelation(_)) => {}
                Err(other) => return Err(other.into()),
            }
        }
    }
    Ok(bytes)
}

/// The oids of the two tablespaces that there are.
const PG_DEFAULT: Oid = Oid(1663);
const PG_GLOBAL: Oid = Oid(1664);

/// `pg_tablespace_size`: what all databases take, or what they share.
pub(super) fn tablespace_size(backend: &Backend, tablespace: &Datum) -> Result<Datum> {
    let oid = match tablespace {
        Datum::Oid(oid) => *oid,
        name => match &*name.as_text().to_string() {
            "pg_default" => PG_DEFAULT,
            "pg_global" => PG_GLOBAL,
            other => bail!(UNDEFINED_OBJECT, "tablespace \"{other}\" does not exist"),
        },
    };
    let store = &backend.instance.store;
    let is_own = oid == PG_DEFAULT;
    if !is_own && !backend.has_rights_of(READ_ALL_STATS)? {
        let wanted = Privileges::CREATE;
        backend.catalog.must_have(&backend.txn, Class::Tablespace, oid, wanted)?;
    }
    if is_own {
        let mut bytes = 0;
        for found in store.scan(&backend.txn, "pg_database", |_| true)? {
            // One that is being dropped has no size any more.
            if let Datum::Int8(size) = size(backend, &Datum::Oid(found.row.oid("oid")))? {
                bytes += size;
            }
        }
        return Ok(bytes.into());
    }
    if oid != PG_GLOBAL {
        return Ok(Datum::Null);
    }
    let cluster = backend.instance.cluster()?;
    bytes_of(&cluster, cluster.shared_storage()).map(Datum::from)
}

fn database_name(backend: &Backend, oid: Oid) -> Result<Option<String>> {
    let key = [Datum::Oid(oid)];
    let store = &backend.instance.store;
    let found = store.find_one(&backend.txn, "pg_database", "pg_database_oid_index", &key)?;
    Ok(found.map(|found| found.row.text("datname").to_owned()))
}
