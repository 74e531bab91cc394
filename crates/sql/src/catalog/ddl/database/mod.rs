//! CREATE, DROP and ALTER DATABASE.
//!
//! Each works with a lock on the database (`database_tag`) that keeps others from connecting to it, and waits
//! a little for those who are about to leave. What is made or dropped is so when the transaction commits.

mod alter;
mod options;

use std::sync::Arc;
use std::time::Duration;

use base::clock;
use base::interrupt::Interrupt;
use storage::lock::LockMode;
use syntax::ast::{CreateDatabase, DropDatabase};

use crate::catalog::rights::{Class, role_row};
use crate::catalog::store::row::RowBuilder;
use crate::catalog::store::schema::catalog;
use crate::catalog::store::{Cluster, Found};
use crate::error::{Result, SqlError, bail, interrupted, sql_error};
use crate::types::{Datum, Oid};

use super::Ddl;
pub use alter::{SETTINGS_INDEX, change_database_settings, settings_of};
use base::wait_event::{self, Event};
use options::{Encoding, Options};

/// How long sessions that are about to end are waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks whether they have.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The template that is known to be untouched.
const TEMPLATE0: &str = "template0";
/// The template of who names none.
const TEMPLATE1: &str = "template1";

impl Ddl<'_> {
    fn cluster(&self) -> Result<Arc<Cluster>> {
        self.catalog.instance.cluster()
    }

    pub(super) fn create_database(&mut self, create: &CreateDatabase) -> Result<()> {
        let options = Options::read(&create.options, false)?;
        let cluster = self.cluster()?;
        let owner = match &options.owner {
            Some(name) => self.role_named(name)?,
            None => self.host.user(),
        };
        if !self.user_may("rolcreatedb")? {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to create database");
        }
        self.must_be_member_of(owner)?;
        let template_name = options.template.as_deref().unwrap_or(TEMPLATE1);
        let template = cluster.locked_database(self.txn(), template_name, LockMode::Share)?;
        let Some(template) = template else {
            bail!(INVALID_CATALOG_NAME, "template database \"{template_name}\" does not exist");
        };
        if !template.row.bool("datistemplate")
            && !self.rights()?.has_rights_of(template.row.oid("datdba"))
        {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to copy database \"{template_name}\"");
        }
        check_strategy(&options)?;
        check_locale(&options, template_name)?;
        self.check_tablespace(options.tablespace.as_deref())?;
        self.refuse_duplicate(&cluster, &create.name)?;
        let source = template.row.oid("oid");
        if let Some(others) = self.others(&cluster, source)? {
            let text = format!("source database \"{template_name}\" is being accessed");
            return Err(in_use(&text, others));
        }
        let oid = cluster.copy_database(self.txn(), source)?;
        let row = RowBuilder::of("pg_database")
            .oid("oid", oid)
            .set("datname", &*create.name)
            .oid("datdba", owner)
            .set("encoding", template.row.int4("encoding"))
            .letter("datlocprovider", template.row.letter("datlocprovider"))
            .set("datistemplate", options.is_template.unwrap_or(false))
            .set("datallowconn", options.allow_connections.unwrap_or(true))
            .set("datconnlimit", options.connection_limit.unwrap_or(-1))
            .oid("dattablespace", template.row.oid("dattablespace"))
            .set("datcollate", template.row.text("datcollate"))
            .set("datctype", template.row.text("datctype"));
        let written = self.store().insert(self.txn(), "pg_database", &row.build());
        // Another may have made one of that name meanwhile.
        written.map_err(|error| match error.sqlstate() {
            crate::error::SqlState::UNIQUE_VIOLATION => duplicate(&create.name),
            _ => error,
        })?;
        Ok(self.txn().next_command()?)
    }

    pub(super) fn drop_database(&mut self, drop: &DropDatabase) -> Result<()> {
        let cluster = self.cluster()?;
        let name = &drop.name;
        let found = cluster.locked_database(self.txn(), name, LockMode::AccessExclusive)?;
        let Some(found) = found else {
            let error = sql_error!(INVALID_CATALOG_NAME, "database \"{name}\" does not exist");
            return self.skip(error, drop.if_exists);
        };
        self.must_own_database(&found)?;
        let oid = found.row.oid("oid");
        if oid == self.catalog.database {
            bail!(OBJECT_IN_USE, "cannot drop the currently open database");
        }
        if found.row.bool("datistemplate") {
            bail!(WRONG_OBJECT_TYPE, "cannot drop a template database");
        }
        if drop.force {
            for pid in cluster.sessions_of(oid) {
                cluster.interrupt_session(pid, Interrupt::Terminate);
            }
        }
        if let Some(others) = self.others(&cluster, oid)? {
            return Err(in_use(&format!("database \"{name}\" is being accessed"), others));
        }
        for (storage, _) in cluster.storage(self.txn(), oid)? {
            self.store().drop_storage(self.txn(), storage)?;
        }
        self.store().delete(self.txn(), "pg_database", &found)?;
        self.shared_comment(oid, None)?;
        let index = "pg_db_role_setting_databaseid_rol_index";
        self.delete_rows("pg_db_role_setting", index, &[Datum::Oid(oid)])?;
        self.txn().on(storage::txn::When::Commit, move || cluster.forget_database(oid));
        Ok(())
    }

    /// How many other sessions a database has that do not go away soon; `None`: none.
    fn others(&self, cluster: &Cluster, database: Oid) -> Result<Option<usize>> {
        let own = usize::from(database == self.catalog.database);
        let give_up = clock::now().after(PATIENCE);
        loop {
            let others = cluster.sessions_of(database).len() - own;
            if others == 0 {
                return Ok(None);
            }
            if clock::now() >= give_up {
                return Ok(Some(others));
            }
            let _waiting = wait_event::during(Event::BackendEnd);
            base::park::sleep(LOOK_EVERY);
            base::interrupt::check().map_err(interrupted)?;
        }
    }

    fn refuse_duplicate(&self, cluster: &Cluster, name: &str) -> Result<()> {
        match cluster.database_row(self.txn(), name)? {
            Some(_) => Err(duplicate(name)),
            None => Ok(()),
        }
    }

    /// All data is in one place, which PostgreSQL calls `pg_default`.
    pub(in super::super) fn check_tablespace(&self, name: Option<&str>) -> Result<()> {
        match name {
            None | Some("pg_default") => Ok(()),
            Some("pg_global") => {
                bail!(INVALID_PARAMETER_VALUE, "pg_global cannot be used as default tablespace")
            }
            Some(name) => bail!(UNDEFINED_OBJECT, "tablespace \"{name}\" does not exist"),
        }
    }

    /// Likewise of a relation.
    pub(in super::super) fn check_tablespace_of_relation(&self, name: Option<&str>) -> Result<()> {
        match name {
            Some("pg_global") => bail!(
                INVALID_PARAMETER_VALUE,
                "only shared relations can be placed in pg_global tablespace"
            ),
            name => self.check_tablespace(name),
        }
    }

    pub(in super::super) fn role_named(&self, name: &str) -> Result<Oid> {
        let key = [Datum::text(name)];
        let found =
            self.store().find_one(self.txn(), "pg_authid", "pg_authid_rolname_index", &key)?;
        let missing = || sql_error!(UNDEFINED_OBJECT, "role \"{name}\" does not exist");
        found.map(|found| found.row.oid("oid")).ok_or_else(missing)
    }

    /// Whether the session's role has a property, or is a superuser's.
    pub(in super::super) fn user_may(&self, property: &str) -> Result<bool> {
        let role = role_row(self.store(), self.txn(), self.host.user())?;
        Ok(role.is_some_and(|role| role.row.bool("rolsuper") || role.row.bool(property)))
    }

    pub(in super::super) fn must_own_database(&self, database: &Found) -> Result<()> {
        self.must_own_row(Class::Database, database)
    }

    /// Replaces the comment on a database.
    fn shared_comment(&mut self, database: Oid, text: Option<&str>) -> Result<()> {
        self.comment_for_all(catalog("pg_database").oid, database, text)
    }

    /// Likewise on another object that all databases share.
    pub(in super::super) fn comment_for_all(
        &mut self,
        class: Oid,
        object: Oid,
        text: Option<&str>,
    ) -> Result<()> {
        let key = [Datum::Oid(object), Datum::Oid(class)];
        self.delete_rows("pg_shdescription", "pg_shdescription_o_c_index", &key)?;
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let row = RowBuilder::of("pg_shdescription").oid("objoid", object);
            let row = row.oid("classoid", class).set("description", text);
            self.store().insert(self.txn(), "pg_shdescription", &row.build())?;
        }
        Ok(self.txn().next_command()?)
    }
}

fn check_strategy(options: &Options) -> Result<()> {
    match options.strategy.as_deref() {
        // There is one way to copy, which logs; the words are PostgreSQL's.
        None | Some("wal_log" | "file_copy") => Ok(()),
        Some(other) => {
            Err(sql_error!(INVALID_PARAMETER_VALUE, "invalid create database strategy \"{other}\"")
                .with_hint("Valid strategies are \"wal_log\" and \"file_copy\"."))
        }
    }
}

/// Databases are in UTF-8, and sort by bytes.
fn check_locale(options: &Options, template: &str) -> Result<()> {
    if let Some(Encoding::Other(name)) = &options.encoding {
        if template != TEMPLATE0 {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "new encoding ({name}) is incompatible with the encoding of the template database \
                 (UTF8)"
            )
            .with_hint(
                "Use the same encoding as in the template database, or use template0 as template.",
            ));
        }
        return Err(sql_error!(FEATURE_NOT_SUPPORTED, "encoding \"{name}\" is not supported")
            .with_hint("Databases are in UTF8."));
    }
    for name in [&options.collate, &options.ctype].into_iter().flatten() {
        if !matches!(&**name, "C" | "POSIX" | "") {
            return Err(sql_error!(WRONG_OBJECT_TYPE, "invalid locale name: \"{name}\"")
                .with_hint("The locales of databases are \"C\" and \"POSIX\"."));
        }
    }
    match options.provider.as_deref() {
        None | Some("libc") => Ok(()),
        Some("icu") => bail!(FEATURE_NOT_SUPPORTED, "locale provider icu is not supported"),
        Some(other) => {
            bail!(INVALID_OBJECT_DEFINITION, "unrecognized locale provider: {other}")
        }
    }
}

fn duplicate(name: &str) -> SqlError {
    sql_error!(DUPLICATE_DATABASE, "database \"{name}\" already exists")
}

fn in_use(what: &str, others: usize) -> SqlError {
    let detail = match others {
        1 => "There is 1 other session using the database.".to_owned(),
        n => format!("There are {n} other sessions using the database."),
    };
    sql_error!(OBJECT_IN_USE, "{what} by other users").with_detail(detail)
}
