//! Extensions: those of PostgreSQL's whose objects are built in here. CREATE EXTENSION notes that a database wants
//! one; its functions and views are there with or without.

use syntax::ast::{CreateExtension, DropObjects, ObjectName, OptionValue};

use crate::catalog::rights::Class;
use crate::catalog::store::PUBLIC;
use crate::catalog::store::row::RowBuilder;
use crate::catalog::store::schema::catalog;
use crate::error::{Result, SqlState, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::Ddl;

/// An extension, of which there is one version.
struct Extension {
    name: &'static str,
    version: &'static str,
    comment: &'static str,
    /// Who may make things in a database may have it there.
    trusted: bool,
}

const BUILT_IN: &[Extension] = &[
    Extension {
        name: "amcheck",
        version: "1.3",
        comment: "functions for verifying relation integrity",
        trusted: false,
    },
    Extension {
        name: "pg_buffercache",
        version: "1.4",
        comment: "examine the shared buffer cache",
        trusted: false,
    },
    Extension {
        name: "pg_prewarm",
        version: "1.2",
        comment: "prewarm relation data",
        trusted: false,
    },
    Extension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        trusted: true,
    },
    Extension {
        name: "pg_walinspect",
        version: "1.0",
        comment: "functions to inspect contents of PostgreSQL Write-Ahead Log",
        trusted: false,
    },
    Extension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        trusted: true,
    },
];

/// The rows of `pg_available_extensions()`.
pub fn available_extensions() -> Vec<Vec<Datum>> {
    let row = |e: &Extension| [e.name, e.version, e.comment].map(Datum::text).to_vec();
    BUILT_IN.iter().map(row).collect()
}

/// The rows of `pg_available_extension_versions()`.
pub fn available_extension_versions() -> Vec<Vec<Datum>> {
    let (superuser, relocatable) = (true, true);
    let (schema, requires) = (Datum::Null, Datum::Null);
    let rows = BUILT_IN.iter().map(|e| {
        vec![
            Datum::text(e.name),
            Datum::text(e.version),
            superuser.into(),
            e.trusted.into(),
            relocatable.into(),
            schema.clone(),
            requires.clone(),
            Datum::text(e.comment),
        ]
    });
    rows.collect()
}

impl Ddl<'_> {
    pub(super) fn create_extension(&mut self, create: &CreateExtension) -> Result<()> {
        let name = &*create.name;
        if self.extension(name)?.is_some() {
            let text = format!("extension \"{name}\" already exists");
            if !create.if_not_exists {
                return Err(sql_error!(DUPLICATE_OBJECT, "{text}"));
            }
            self.host.notice("NOTICE", sql_error!(DUPLICATE_OBJECT, "{text}, skipping"));
            return Ok(());
        }
        let Some(known) = BUILT_IN.iter().find(|known| known.name == name) else {
            return Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "extension \"{name}\" is not available"
            )
            .with_hint("The extension must first be installed on the system where PostgreSQL is running."));
        };
        self.may_have_extension(known)?;
        let schema = self.extension_schema(create)?;
        let oid = self.new_oid()?;
        let row = RowBuilder::of("pg_extension")
            .oid("oid", oid)
            .set("extname", name)
            .oid("extowner", self.host.user())
            .oid("extnamespace", schema)
            .set("extrelocatable", true)
            .set("extversion", known.version);
        self.store().insert(self.txn(), "pg_extension", &row.build())?;
        self.set_comment(catalog("pg_extension").oid, oid, 0, Some(known.comment))
    }

    fn may_have_extension(&self, known: &Extension) -> Result<()> {
        let database = self.catalog.database;
        let may_make = || self.must_have(Class::Database, database, Privileges::CREATE).is_ok();
        if self.rights()?.superuser || (known.trusted && may_make()) {
            return Ok(());
        }
        let text = format!("permission denied to create extension \"{}\"", known.name);
        Err(sql_error!(INSUFFICIENT_PRIVILEGE, "{text}").with_hint(match known.trusted {
            true => "Must have CREATE privilege on current database to create this extension.",
            false => "Must be superuser to create this extension.",
        }))
    }

    /// The schema that it is noted in. Its functions can be called with that of any schema.
    fn extension_schema(&self, create: &CreateExtension) -> Result<Oid> {
        let wanted = create.options.iter().find(|option| &*option.name == "schema");
        let Some(OptionValue::String(name)) = wanted.and_then(|option| option.value.as_ref())
        else {
            return Ok(PUBLIC);
        };
        let schema = self.catalog.named_schema(self.host.txn(), name)?;
        schema.ok_or_else(|| sql_error!(UNDEFINED_SCHEMA, "schema \"{name}\" does not exist"))
    }

    pub(super) fn drop_extensions(&mut self, drop: &DropObjects) -> Result<()> {
        for name in &drop.names {
            let ObjectName::Name(name) = name else { continue };
            let name = name.last();
            match self.extension(name)? {
                Some(found) => {
                    self.must_own_row(Class::Extension, &found)?;
                    let class = catalog("pg_extension").oid;
                    self.set_comment(class, found.row.oid("oid"), 0, None)?;
                    self.store().delete(self.txn(), "pg_extension", &found)?;
                }
                None => {
                    let text = format!("extension \"{name}\" does not exist");
                    self.missing::<()>(drop, SqlState::UNDEFINED_OBJECT, text)?;
                }
            }
        }
        Ok(())
    }

    /// The OID of an extension that the database wants.
    pub(super) fn extension_oid(&self, name: &str) -> Result<Oid> {
        let found = self.extension(name)?;
        found
            .map(|found| found.row.oid("oid"))
            .ok_or_else(|| sql_error!(UNDEFINED_OBJECT, "extension \"{name}\" does not exist"))
    }

    fn extension(&self, name: &str) -> Result<Option<crate::catalog::store::Found>> {
        let key = [Datum::text(name)];
        self.store().find_one(self.txn(), "pg_extension", "pg_extension_name_index", &key)
    }
}
