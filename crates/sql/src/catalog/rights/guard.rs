//! What guards an object: its owner and its access list.

use storage::txn::Txn;

use crate::catalog::store::row::CatalogRow;
use crate::catalog::store::schema::catalog_by_oid;
use crate::catalog::store::{BOOTSTRAP_SUPERUSER, PG_CATALOG, SessionCatalog, Store};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::func;
use crate::types::acl::{Acl, AclItem, Both, Privileges};
use crate::types::{Datum, Oid};

use super::predefined::{READ_ALL_DATA, WRITE_ALL_DATA};
use super::{Rights, is_secret_catalog, no_privilege, restricted_to};

/// What a superuser lacks.
pub const REFUSED: Both = (Privileges::NONE, Privileges::NONE);

/// Kinds of objects that somebody owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Table,
    View,
    MaterializedView,
    Index,
    Sequence,
    Database,
    Schema,
    Function,
    Language,
    Type,
    Tablespace,
    Collation,
    Extension,
}

impl Class {
    /// As messages call it.
    pub fn word(self) -> &'static str {
        match self {
            Class::Table => "table",
            Class::View => "view",
            Class::MaterializedView => "materialized view",
            Class::Index => "index",
            Class::Sequence => "sequence",
            Class::Database => "database",
            Class::Schema => "schema",
            Class::Function => "function",
            Class::Language => "language",
            Class::Type => "type",
            Class::Tablespace => "tablespace",
            Class::Collation => "collation",
            Class::Extension => "extension",
        }
    }

    /// All privileges that there are of it.
    pub fn all(self) -> Privileges {
        use Privileges as P;
        match self {
            Class::Table | Class::View | Class::MaterializedView => P::OF_TABLE,
            Class::Sequence => P::OF_SEQUENCE,
            Class::Database => P::CREATE.or(P::TEMPORARY).or(P::CONNECT),
            Class::Schema => P::USAGE.or(P::CREATE),
            Class::Function => P::EXECUTE,
            Class::Language | Class::Type => P::USAGE,
            Class::Tablespace => P::CREATE,
            Class::Index | Class::Collation | Class::Extension => P::NONE,
        }
    }

    /// Those that everybody has of it where nothing is said.
    fn of_all(self) -> Privileges {
        match self {
            Class::Database => Privileges::TEMPORARY.or(Privileges::CONNECT),
            Class::Function => Privileges::EXECUTE,
            Class::Language | Class::Type => Privileges::USAGE,
            _ => Privileges::NONE,
        }
    }

    /// The catalog of its rows, the index of their OIDs, and the columns of name, owner and access list; none has no
    /// list.
    fn catalog(self) -> [&'static str; 5] {
        match self {
            Class::Table
            | Class::View
            | Class::MaterializedView
            | Class::Index
            | Class::Sequence => {
                ["pg_class", "pg_class_oid_index", "relname", "relowner", "relacl"]
            }
            Class::Database => {
                ["pg_database", "pg_database_oid_index", "datname", "datdba", "datacl"]
            }
            Class::Schema => {
                ["pg_namespace", "pg_namespace_oid_index", "nspname", "nspowner", "nspacl"]
            }
            Class::Function => ["pg_proc", "pg_proc_oid_index", "proname", "proowner", "proacl"],
            Class::Language => {
                ["pg_language", "pg_language_oid_index", "lanname", "lanowner", "lanacl"]
            }
            Class::Type => ["pg_type", "pg_type_oid_index", "typname", "typowner", "typacl"],
            Class::Tablespace => {
                ["pg_tablespace", "pg_tablespace_oid_index", "spcname", "spcowner", "spcacl"]
            }
            Class::Collation => {
                ["pg_collation", "pg_collation_oid_index", "collname", "collowner", ""]
            }
            Class::Extension => {
                ["pg_extension", "pg_extension_oid_index", "extname", "extowner", ""]
            }
        }
    }

    /// The name of the catalog that has its rows.
    pub fn table(self) -> &'static str {
        self.catalog()[0]
    }

    /// The column of its access list.
    pub fn acl_column(self) -> &'static str {
        self.catalog()[4]
    }

    /// The column of its owner.
    pub fn owner_column(self) -> &'static str {
        self.catalog()[3]
    }

    /// The column of its name.
    pub fn name_column(self) -> &'static str {
        self.catalog()[2]
    }

    /// The index that finds its rows by OID.
    pub fn oid_index(self) -> &'static str {
        self.catalog()[1]
    }

    /// That of a relation, by its letter.
    pub fn of_relation(letter: u8) -> Class {
        match letter {
            b'S' => Class::Sequence,
            b'v' => Class::View,
            b'm' => Class::MaterializedView,
            b'i' => Class::Index,
            _ => Class::Table,
        }
    }
}

/// The access list of an object of which nothing is said.
pub fn default_acl(class: Class, owner: Oid) -> Acl {
    let item = |grantee, privileges: Privileges| AclItem {
        grantee,
        grantor: owner,
        privileges,
        options: Privileges::NONE,
    };
    let of_all = (!class.of_all().is_empty()).then(|| item(Oid::INVALID, class.of_all()));
    Acl { items: of_all.into_iter().chain([item(owner, class.all())]).collect() }
}

/// What guards an object.
#[derive(Clone, Debug)]
pub struct Guard {
    pub class: Class,
    pub oid: Oid,
    pub name: Box<str>,
    pub owner: Oid,
    /// `None`: nothing is said.
    pub acl: Option<Acl>,
}

impl Guard {
    /// That of an object without a row: a function that there was not when the directory was made.
    ///
    /// # Errors
    /// `42704` for anything else.
    pub(super) fn unsaid(class: Class, oid: Oid) -> Result<Guard> {
        let name = match class {
            Class::Function => {
                let aggregate = || func::aggregate(oid).map(|aggregate| aggregate.name);
                func::function(oid).map(|function| function.name).or_else(aggregate)
            }
            _ => None,
        };
        let missing =
            || sql_error!(UNDEFINED_OBJECT, "{} with OID {} does not exist", class.word(), oid.0);
        let name = name.ok_or_else(missing)?.into();
        Ok(Guard { class, oid, name, owner: BOOTSTRAP_SUPERUSER, acl: None })
    }

    /// What is said, or goes without saying.
    pub fn effective(&self) -> Acl {
        if let Some(acl) = &self.acl {
            return acl.clone();
        }
        let mut acl = default_acl(self.class, self.owner);
        let everybody = |privileges| AclItem {
            grantee: Oid::INVALID,
            grantor: self.owner,
            privileges,
            options: Privileges::NONE,
        };
        match self.class {
            Class::Table
                if catalog_by_oid(self.oid).is_some() && !is_secret_catalog(&self.name) =>
            {
                acl.items.push(everybody(Privileges::SELECT));
            }
            // Directories of before there were privileges say nothing of these.
            Class::Schema if self.oid == PG_CATALOG || &*self.name == "information_schema" => {
                acl.items.push(everybody(Privileges::USAGE));
            }
            Class::Function => {
                if let Some(roles) = restricted_to(self.oid, &self.name) {
                    acl.items.retain(|item| item.grantee.is_valid());
                    let given = roles
                        .iter()
                        .map(|role| AclItem { grantee: *role, ..everybody(Privileges::EXECUTE) });
                    acl.items.extend(given);
                }
            }
            _ => {}
        }
        acl
    }

    /// What a role may, and what it may give to others.
    pub fn privileges(&self, rights: &Rights) -> Both {
        let all = self.class.all();
        if rights.superuser {
            return (all, all);
        }
        let (mut may, mut gives) = self.effective().of_roles(|role| rights.has_rights_of(role));
        if rights.has_rights_of(self.owner) {
            gives = all;
        }
        if matches!(
            self.class,
            Class::Table | Class::View | Class::MaterializedView | Class::Sequence
        ) {
            if catalog_by_oid(self.oid).is_some() {
                may = may.without(Privileges::CHANGES);
            }
            if rights.has_rights_of(READ_ALL_DATA) {
                may = may.or(Privileges::SELECT);
            }
            if rights.has_rights_of(WRITE_ALL_DATA) && catalog_by_oid(self.oid).is_none() {
                let changes = Privileges::INSERT.or(Privileges::UPDATE).or(Privileges::DELETE);
                may = may.or(changes);
            }
        }
        if self.class == Class::Schema
            && [READ_ALL_DATA, WRITE_ALL_DATA].iter().any(|role| rights.has_rights_of(*role))
        {
            may = may.or(Privileges::USAGE);
        }
        (may, gives)
    }

    /// `42501` about it.
    pub fn refusal(&self) -> SqlError {
        no_privilege(self.class, &self.name)
    }
}

impl Store {
    /// The access list in a row; `None` where it says nothing.
    pub fn acl_of(&self, txn: &Txn, row: &CatalogRow, column: &str) -> Result<Option<Acl>> {
        let value = match row.get(column) {
            Datum::Null => return Ok(None),
            value => value,
        };
        let items = value.as_array().elements.iter();
        let acl = items.map(|item| self.acl_item(txn, item.as_text().as_str()));
        Ok(Some(Acl { items: acl.collect::<Result<_>>()? }))
    }

    /// Directories of before there were privileges have items with names.
    fn acl_item(&self, txn: &Txn, text: &str) -> Result<AclItem> {
        AclItem::parse_with(text, &|name| {
            let key = [Datum::text(name)];
            let found = self.find_one(txn, "pg_authid", "pg_authid_rolname_index", &key)?;
            // Who is gone has nothing.
            Ok(found.map_or(Oid(u32::MAX), |found| found.row.oid("oid")))
        })
    }
}

impl SessionCatalog {
    /// What guards an object; `None`: there is none with this OID.
    pub fn guard(&self, txn: &Txn, class: Class, oid: Oid) -> Result<Option<Guard>> {
        let [table, index, ..] = class.catalog();
        let found = self.instance.store.find_one(txn, table, index, &[Datum::Oid(oid)])?;
        found.map(|found| self.guard_of(txn, class, &found.row)).transpose()
    }

    /// The object of a class whose names have no schema.
    ///
    /// # Errors
    /// There is none with this name.
    pub fn object_named(&self, txn: &Txn, class: Class, name: &str) -> Result<Oid> {
        let column = class.name_column();
        let store = &self.instance.store;
        let found = store.scan(txn, class.table(), |row| row.text(column) == name)?;
        match (found.first(), class) {
            (Some(found), _) => Ok(found.row.oid("oid")),
            (None, Class::Database) => {
                bail!(INVALID_CATALOG_NAME, "database \"{name}\" does not exist")
            }
            (None, Class::Schema) => bail!(UNDEFINED_SCHEMA, "schema \"{name}\" does not exist"),
            (None, class) => bail!(UNDEFINED_OBJECT, "{} \"{name}\" does not exist", class.word()),
        }
    }

    /// What guards an object, by its row.
    pub fn guard_of(&self, txn: &Txn, class: Class, row: &CatalogRow) -> Result<Guard> {
        let [table, _, name, owner, acl] = class.catalog();
        let class = match table {
            "pg_class" => Class::of_relation(row.letter("relkind")),
            _ => class,
        };
        let acl = match acl {
            "" => None,
            acl => self.instance.store.acl_of(txn, row, acl)?,
        };
        Ok(Guard {
            class,
            oid: row.oid("oid"),
            name: row.text(name).into(),
            owner: row.oid(owner),
            acl,
        })
    }
}
