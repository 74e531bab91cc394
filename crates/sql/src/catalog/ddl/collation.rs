//! CREATE, ALTER and DROP COLLATION.
//!
//! Columns and indexes know their collations by OID. Expressions and views are text that names them: while there is
//! such a text, the collation keeps its name.

use std::rc::Rc;

use storage::lock::{LockMode, LockTag};
use syntax::ast::{
    AlterObjectSchema, AlterOwner, CreateCollation, DefOption, DropObjects, ObjectKind, ObjectName,
    OptionValue, Persistence, QualifiedName, RelationRef, Statement,
};
use syntax::deparse::quote_ident;

use crate::bind::at;
use crate::catalog::collation::{Named, undefined};
use crate::catalog::rights::Class;
use crate::catalog::store::Found;
use crate::catalog::store::row::{CatalogRow, RowBuilder};
use crate::catalog::store::schema::catalog;
use crate::catalog::{FIRST_USER_OID, TableKind};
use crate::error::{Result, SqlError, SqlState, bail, sql_error};
use crate::options::boolean;
use crate::types::collation::RULES_VERSION;
use crate::types::{Collation, Datum, Oid};

use super::Ddl;
use super::cascade::{Dependents, Object};
use super::drop::relation_ref;

/// `pg_collation.collencoding` of UTF-8, which collations of the system's locales are for.
const UTF8: i32 = 6;

/// What CREATE COLLATION says.
#[derive(Default)]
struct Definition {
    provider: Option<Box<str>>,
    locale: Option<Box<str>>,
    collate: Option<Box<str>>,
    ctype: Option<Box<str>>,
    deterministic: Option<bool>,
    version: Option<Box<str>>,
}

/// What uses a collation, or names a type.
pub(super) struct Dependent {
    oid: Oid,
    /// As messages name it.
    pub words: String,
    what: Use,
}

enum Use {
    Column {
        table: Oid,
        name: String,
    },
    Index {
        table: Oid,
    },
    View,
    /// An expression's text.
    Text,
}

impl Ddl<'_> {
    /// Runs a statement if it is about collations alone; its command tag.
    pub(super) fn collation_statement(&mut self, statement: &Statement) -> Option<Result<String>> {
        let done = match statement {
            Statement::CreateCollation(create) => {
                return Some(self.create_collation(create).map(|()| "CREATE COLLATION".to_owned()));
            }
            Statement::RefreshCollation(name) => self.refresh_collation(name),
            Statement::AlterObjectSchema(s) if s.kind == ObjectKind::Collation => {
                self.move_collation(s)
            }
            _ => return None,
        };
        Some(done.map(|()| "ALTER COLLATION".to_owned()))
    }

    /// The collation of that name, which is not dropped until the transaction ends.
    pub(super) fn collation(&mut self, name: &QualifiedName) -> Result<Named> {
        let path = self.host.search_path()?;
        let found = self.catalog.collation(self.host.txn(), &path, name)?;
        if found.collation.oid < FIRST_USER_OID {
            return Ok(found);
        }
        self.lock_collation(found.collation.oid, LockMode::AccessShare)?;
        self.catalog.collation(self.host.txn(), &path, name)
    }

    /// The name of a collation that is there.
    pub(super) fn collation_name(&self, oid: Oid) -> Result<String> {
        let found = self.store().collation_row(self.txn(), oid)?;
        Ok(found.map_or_else(String::new, |found| found.row.text("collname").to_owned()))
    }

    fn lock_collation(&self, oid: Oid, mode: LockMode) -> Result<()> {
        let (db, class) = (self.catalog.database.0, catalog("pg_collation").oid.0);
        Ok(self.txn().lock(LockTag::Object { db, class, object: oid.0, sub: 0 }, mode)?)
    }

    fn collation_schema(&mut self, name: &RelationRef) -> Result<Oid> {
        match self.creation_schema(name, Persistence::Permanent)? {
            (schema, Persistence::Permanent) => Ok(schema),
            _ => Err(SqlError::unsupported("collations in temporary schemas are not supported")),
        }
    }

    fn create_collation(&mut self, create: &CreateCollation) -> Result<()> {
        let reference = relation_ref(&create.name);
        let schema = self.collation_schema(&reference)?;
        let row = match &create.from {
            Some(from) => {
                if !create.options.is_empty() {
                    return Err(redundant(
                        "FROM cannot be specified together with any other options.",
                    ));
                }
                self.copied(from)?
            }
            None => Definition::read(&create.options)?.row()?,
        };
        let name = create.name.last();
        if self.catalog.collation_in(self.host.txn(), schema, name)?.is_some() {
            let text = format!("collation \"{name}\" already exists");
            if !create.if_not_exists {
                return Err(sql_error!(DUPLICATE_OBJECT, "{text}"));
            }
            self.host.notice("NOTICE", sql_error!(DUPLICATE_OBJECT, "{text}, skipping"));
            return Ok(());
        }
        let oid = self.new_oid()?;
        let row = row
            .oid("oid", oid)
            .set("collname", name)
            .oid("collnamespace", schema)
            .oid("collowner", self.host.user());
        self.store().insert(self.txn(), "pg_collation", &row.build())?;
        self.changed(oid)
    }

    /// The row of a collation like another one.
    fn copied(&mut self, from: &QualifiedName) -> Result<RowBuilder> {
        let path = self.host.search_path()?;
        let found = self.catalog.collation_row(self.host.txn(), &path, from)?;
        let found = found.ok_or_else(|| undefined(from))?;
        if found.row.letter("collprovider") == b'd' {
            bail!(INVALID_OBJECT_DEFINITION, "collation \"default\" cannot be copied");
        }
        let copied = [
            "collprovider",
            "collisdeterministic",
            "collencoding",
            "collcollate",
            "collctype",
            "colliculocale",
            "collversion",
        ];
        Ok(copied.into_iter().fold(RowBuilder::of("pg_collation"), |row, column| {
            row.set(column, found.row.get(column).clone())
        }))
    }

    /// A collation to be altered, its row and the schema that it is in.
    fn collation_to_alter(&mut self, name: &QualifiedName) -> Result<Found> {
        let path = self.host.search_path()?;
        let found = |ddl: &Self| ddl.catalog.collation_row(ddl.host.txn(), &path, name);
        let oid = found(self)?.ok_or_else(|| undefined(name))?.row.oid("oid");
        if oid < FIRST_USER_OID {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: collation \"{}\" belongs to the system",
                name.last()
            );
        }
        self.lock_collation(oid, LockMode::AccessExclusive)?;
        let found = found(self)?.ok_or_else(|| undefined(name))?;
        self.must_own_row(Class::Collation, &found)?;
        Ok(found)
    }

    pub(super) fn rename_collation(&mut self, name: &QualifiedName, new_name: &str) -> Result<()> {
        let found = self.collation_to_alter(name)?;
        let schema = found.row.oid("collnamespace");
        self.must_be_free(schema, new_name)?;
        self.must_not_be_named(&found)?;
        self.change_collation(&found, &[("collname", Datum::text(new_name))])
    }

    fn move_collation(&mut self, alter: &AlterObjectSchema) -> Result<()> {
        let ObjectName::Name(name) = &alter.object else {
            bail!(SYNTAX_ERROR, "a collation has a name");
        };
        let found = self.collation_to_alter(name)?;
        let mut wanted = relation_ref(&QualifiedName::bare(found.row.text("collname")));
        wanted.schema = Some(alter.new_schema.clone());
        let schema = self.collation_schema(&wanted)?;
        if schema == found.row.oid("collnamespace") {
            return Ok(());
        }
        self.must_be_free(schema, found.row.text("collname"))?;
        self.must_not_be_named(&found)?;
        self.change_collation(&found, &[("collnamespace", Datum::Oid(schema))])
    }

    pub(super) fn collation_owner(&mut self, alter: &AlterOwner) -> Result<()> {
        let ObjectName::Name(name) = &alter.object else {
            bail!(SYNTAX_ERROR, "a collation has a name");
        };
        let owner = self.role_of(&alter.new_owner)?;
        let found = self.collation_to_alter(name)?;
        if found.row.oid("collowner") != owner {
            self.must_be_member_of(owner)?;
            self.must_take(owner, Class::Schema, found.row.oid("collnamespace"))?;
        }
        self.change_collation(&found, &[("collowner", Datum::Oid(owner))])
    }

    /// ALTER COLLATION … REFRESH VERSION.
    fn refresh_collation(&mut self, name: &QualifiedName) -> Result<()> {
        let path = self.host.search_path()?;
        let found = self.catalog.collation_row(self.host.txn(), &path, name)?;
        let found = found.ok_or_else(|| undefined(name))?;
        self.must_own_row(Class::Collation, &found)?;
        let actual = (found.row.letter("collprovider") == b'i').then_some(RULES_VERSION);
        if actual.is_none_or(|actual| found.row.text("collversion") == actual) {
            let text = sql_error!(SUCCESSFUL_COMPLETION, "version has not changed");
            self.host.notice("NOTICE", text);
            return Ok(());
        }
        let text =
            format!("changing version from {} to {RULES_VERSION}", found.row.text("collversion"));
        self.host.notice("NOTICE", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
        self.change_collation(&found, &[("collversion", Datum::text(RULES_VERSION))])
    }

    fn change_collation(&mut self, found: &Found, changes: &[(&str, Datum)]) -> Result<()> {
        self.store().update_columns(self.txn(), "pg_collation", found, changes)?;
        self.changed(found.row.oid("oid"))
    }

    fn must_be_free(&self, schema: Oid, name: &str) -> Result<()> {
        if self.catalog.collation_in(self.txn(), schema, name)?.is_none() {
            return Ok(());
        }
        let schema = self.store().schema_name(self.txn(), schema)?;
        bail!(
            DUPLICATE_OBJECT,
            "collation \"{name}\" for encoding \"UTF8\" already exists in schema \"{schema}\""
        )
    }

    /// Texts name what they use: it keeps its name.
    fn must_not_be_named(&self, found: &Found) -> Result<()> {
        let users = self.dependents(found)?;
        let named = users.iter().find(|user| matches!(user.what, Use::View | Use::Text));
        let Some(user) = named else { return Ok(()) };
        let name = found.row.text("collname");
        Err(SqlError::unsupported("renaming a collation that an expression names is not supported")
            .with_detail(format!("{} depends on collation {}", user.words, quote_ident(name))))
    }

    pub(super) fn drop_collations(&mut self, drop: &DropObjects) -> Result<()> {
        for name in &drop.names {
            let ObjectName::Name(name) = name else { continue };
            if let Some(schema) = name.schema()
                && self.catalog.named_schema(self.host.txn(), schema)?.is_none()
            {
                let text = format!("schema \"{schema}\" does not exist");
                self.missing::<()>(drop, SqlState::UNDEFINED_SCHEMA, text)?;
                continue;
            }
            let Some(found) = self.hold_collation(name)? else {
                if !drop.if_exists {
                    return Err(undefined(name));
                }
                let text = format!("collation \"{}\" does not exist", name.last());
                self.missing::<()>(drop, SqlState::UNDEFINED_OBJECT, text)?;
                continue;
            };
            let (owner, schema) = (found.row.oid("collowner"), found.row.oid("collnamespace"));
            self.may_drop(owner, schema, Class::Collation, found.row.text("collname"))?;
            if found.row.oid("oid") < FIRST_USER_OID {
                bail!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "cannot drop collation {} because it is required by the database system",
                    quote_ident(name.last())
                );
            }
            self.drop_collation(&found, drop.cascade)?;
        }
        Ok(())
    }

    /// The collation of that name, locked if it is not the system's own. While it is waited for it may go, or get another
    /// name.
    fn hold_collation(&mut self, name: &QualifiedName) -> Result<Option<Found>> {
        let path = self.host.search_path()?;
        let mut held = None;
        loop {
            let found = self.catalog.collation_row(self.host.txn(), &path, name)?;
            let oid = found.as_ref().map(|found| found.row.oid("oid"));
            match oid {
                Some(oid) if oid >= FIRST_USER_OID && held != Some(oid) => {
                    self.lock_collation(oid, LockMode::AccessExclusive)?;
                    held = Some(oid);
                }
                _ => return Ok(found),
            }
        }
    }

    /// Drops a collation with what uses it; without CASCADE that is in the way.
    pub(super) fn drop_collation(&mut self, found: &Found, cascade: bool) -> Result<()> {
        let users = self.dependents(found)?;
        let own: Rc<str> = format!("collation {}", self.shown_collation(&found.row)?).into();
        let words: Vec<(Rc<str>, Rc<str>)> =
            users.iter().map(|user| (user.words.as_str().into(), own.clone())).collect();
        if !cascade {
            self.settle(Some(&own), &words, Dependents::Hold)?;
        }
        if let Some(text) = users.iter().find(|user| matches!(user.what, Use::Text)) {
            return Err(SqlError::unsupported(
                "dropping a collation together with an expression that names it is not supported",
            )
            .with_detail(format!("{} depends on {own}", text.words)));
        }
        self.settle(Some(&own), &words, Dependents::of(cascade))?;
        for user in &users {
            self.drop_user(user)?;
        }
        let oid = found.row.oid("oid");
        self.delete_rows("pg_collation", "pg_collation_oid_index", &[Datum::Oid(oid)])?;
        self.set_comment(catalog("pg_collation").oid, oid, 0, None)?;
        self.changed(oid)
    }

    fn drop_user(&mut self, user: &Dependent) -> Result<()> {
        let relation = match &user.what {
            Use::Column { table, .. } | Use::Index { table } => *table,
            Use::View | Use::Text => user.oid,
        };
        self.catalog.lock(self.host.txn(), relation, LockMode::AccessExclusive)?;
        match &user.what {
            Use::Column { table, name } => {
                self.drop_column(*table, name, true, Dependents::Go)?;
                self.changed(*table)
            }
            Use::Index { table } => self.drop_index(user.oid, *table),
            Use::View => self.drop_objects(vec![Object::Relation(user.oid)], Dependents::Go),
            Use::Text => Ok(()),
        }
    }

    /// The collations of a schema.
    pub(super) fn collations_in(&self, schema: Oid) -> Result<Vec<Found>> {
        let wanted = |row: &CatalogRow| row.oid("collnamespace") == schema;
        let mut rows = self.store().scan(self.txn(), "pg_collation", wanted)?;
        rows.sort_by_key(|found| found.row.oid("oid"));
        Ok(rows)
    }

    pub(super) fn shown_collation(&mut self, row: &CatalogRow) -> Result<String> {
        let name = row.text("collname");
        let path = self.host.search_path()?;
        let bare = QualifiedName::bare(name);
        let first = self.catalog.collation_row(self.host.txn(), &path, &bare)?;
        if first.is_some_and(|first| first.row.oid("oid") == row.oid("oid")) {
            return Ok(quote_ident(name).into_owned());
        }
        let schema = self.store().schema_name(self.txn(), row.oid("collnamespace"))?;
        Ok(format!("{}.{}", quote_ident(&schema), quote_ident(name)))
    }

    /// What uses a collation, but for indexes of columns that do; the oldest first.
    fn dependents(&self, found: &Found) -> Result<Vec<Dependent>> {
        let oid = found.row.oid("oid");
        let mut users = Vec::new();
        self.columns_with(oid, &mut users)?;
        self.indexes_with(oid, &mut users)?;
        self.views_with(oid, &mut users)?;
        self.texts_with(&found.row, &mut users)?;
        users.sort_by_key(|user| user.oid);
        Ok(users)
    }

    fn columns_with(&self, collation: Oid, users: &mut Vec<Dependent>) -> Result<()> {
        let wanted = |row: &CatalogRow| {
            row.oid("attcollation") == collation
                && row.int2("attnum") > 0
                && !row.bool("attisdropped")
        };
        for found in self.store().scan(self.txn(), "pg_attribute", wanted)? {
            let oid = found.row.oid("attrelid");
            let Some(table) = self.catalog.table(self.host.txn(), oid)? else { continue };
            if table.kind != TableKind::Table {
                continue;
            }
            let name = found.row.text("attname");
            let words =
                format!("column {} of table {}", quote_ident(name), quote_ident(&table.name));
            users.push(Dependent {
                oid,
                words,
                what: Use::Column { table: oid, name: name.into() },
            });
        }
        Ok(())
    }

    fn indexes_with(&self, collation: Oid, users: &mut Vec<Dependent>) -> Result<()> {
        let wanted = |row: &CatalogRow| row.oids("indcollation").contains(&collation);
        for found in self.store().scan(self.txn(), "pg_index", wanted)? {
            let (oid, table) = (found.row.oid("indexrelid"), found.row.oid("indrelid"));
            let table = self.table(table)?;
            let Some(index) = table.index(oid) else { continue };
            let goes_anyway = index
                .key_columns()
                .flatten()
                .any(|column| table.columns[usize::from(column)].collation.oid == collation);
            if !goes_anyway {
                let words = format!("index {}", quote_ident(&index.name));
                users.push(Dependent { oid, words, what: Use::Index { table: table.oid } });
            }
        }
        Ok(())
    }

    fn views_with(&self, collation: Oid, users: &mut Vec<Dependent>) -> Result<()> {
        let views = self.views_naming(catalog("pg_collation").oid, collation)?;
        users.extend(views.iter().map(|view| {
            let words = format!("{} {}", view.kind.word(), quote_ident(&view.name));
            Dependent { oid: view.oid, words, what: Use::View }
        }));
        Ok(())
    }

    fn texts_with(&self, row: &CatalogRow, users: &mut Vec<Dependent>) -> Result<()> {
        let name = row.text("collname");
        let schema = self.store().schema_name(self.txn(), row.oid("collnamespace"))?;
        self.texts_that(|text| names_collation(text, &schema, name), users)
    }

    /// Stored expressions, but for views, with such a text.
    pub(super) fn texts_that(
        &self,
        names: impl Fn(&str) -> bool,
        users: &mut Vec<Dependent>,
    ) -> Result<()> {
        for (table, columns) in [
            ("pg_attrdef", &["adbin"][..]),
            ("pg_constraint", &["conbin"]),
            ("pg_index", &["indexprs", "indpred"]),
        ] {
            let wanted = |row: &CatalogRow| columns.iter().any(|column| names(row.text(column)));
            for found in self.store().scan(self.txn(), table, wanted)? {
                users.push(self.text_user(table, &found.row)?);
            }
        }
        Ok(())
    }

    fn text_user(&self, catalog: &str, row: &CatalogRow) -> Result<Dependent> {
        let (oid, words) = match catalog {
            "pg_attrdef" => {
                let table = self.table(row.oid("adrelid"))?;
                let column = &table.columns[row.int2("adnum") as usize - 1];
                let what = if column.generated { "" } else { "default value for " };
                let (column, table) = (quote_ident(&column.name), quote_ident(&table.name));
                (row.oid("oid"), format!("{what}column {column} of table {table}"))
            }
            "pg_constraint" => {
                let table = self.table(row.oid("conrelid"))?;
                let (name, table) = (quote_ident(row.text("conname")), quote_ident(&table.name));
                (row.oid("oid"), format!("constraint {name} on table {table}"))
            }
            _ => {
                let oid = row.oid("indexrelid");
                let table = self.table(row.oid("indrelid"))?;
                let name = table.index(oid).map_or("", |index| &index.name);
                (oid, format!("index {}", quote_ident(name)))
            }
        };
        Ok(Dependent { oid, words, what: Use::Text })
    }
}

/// Does a stored expression name the collation?
fn names_collation(text: &str, schema: &str, name: &str) -> bool {
    let (schema, name) = (quote_ident(schema), quote_ident(name));
    text.match_indices("COLLATE ").any(|(at, word)| {
        let rest = &text[at + word.len()..];
        let rest = rest.strip_prefix(&*schema).and_then(|r| r.strip_prefix('.')).unwrap_or(rest);
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '"');
        rest.strip_prefix(&*name).is_some_and(|behind| !behind.starts_with(is_part))
    })
}

fn redundant(detail: &str) -> SqlError {
    sql_error!(SYNTAX_ERROR, "conflicting or redundant options").with_detail(detail)
}

impl Definition {
    fn read(options: &[DefOption]) -> Result<Definition> {
        let mut definition = Definition::default();
        for (i, option) in options.iter().enumerate() {
            let known =
                ["locale", "lc_collate", "lc_ctype", "provider", "deterministic", "version"];
            if !known.contains(&&*option.name) {
                let error = sql_error!(
                    SYNTAX_ERROR,
                    "collation attribute \"{}\" not recognized",
                    option.name
                );
                return Err(at(error, option.loc));
            }
            if options[..i].iter().any(|before| before.name == option.name) {
                let error = sql_error!(SYNTAX_ERROR, "conflicting or redundant options");
                return Err(at(error, option.loc));
            }
            match &*option.name {
                "locale" => definition.locale = Some(text(option)?),
                "lc_collate" => definition.collate = Some(text(option)?),
                "lc_ctype" => definition.ctype = Some(text(option)?),
                "provider" => definition.provider = Some(text(option)?),
                "version" => definition.version = Some(text(option)?),
                _ => definition.deterministic = Some(boolean(option)?),
            }
        }
        if definition.locale.is_some()
            && (definition.collate.is_some() || definition.ctype.is_some())
        {
            return Err(redundant(
                "LOCALE cannot be specified together with LC_COLLATE or LC_CTYPE.",
            ));
        }
        Ok(definition)
    }

    /// The row of a collation like this, but for its name and owner.
    fn row(self) -> Result<RowBuilder> {
        let icu = match self.provider.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None | Some("libc") => false,
            Some("icu") => true,
            Some(_) => bail!(
                INVALID_OBJECT_DEFINITION,
                "unrecognized collation provider: {}",
                self.provider.unwrap_or_default()
            ),
        };
        let missing = |what: &str| {
            sql_error!(INVALID_OBJECT_DEFINITION, "parameter \"{what}\" must be specified")
        };
        let deterministic = self.deterministic.unwrap_or(true);
        let row = RowBuilder::of("pg_collation").set("collisdeterministic", deterministic);
        if icu {
            let locale = self.locale.ok_or_else(|| missing("locale"))?;
            Collation::icu(Oid::INVALID, &locale, deterministic)?;
            let version = self.version.as_deref().unwrap_or(RULES_VERSION);
            return Ok(row
                .letter("collprovider", b'i')
                .set("collencoding", -1)
                .set("colliculocale", &*locale)
                .set("collversion", version));
        }
        let collate = self.collate.or_else(|| self.locale.clone());
        let ctype = self.ctype.or(self.locale);
        let collate = collate.ok_or_else(|| missing("lc_collate"))?;
        let ctype = ctype.ok_or_else(|| missing("lc_ctype"))?;
        if !deterministic {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "nondeterministic collations not supported with this provider"
            );
        }
        for locale in [&collate, &ctype] {
            if !matches!(&**locale, "C" | "POSIX") {
                return Err(sql_error!(
                    INVALID_PARAMETER_VALUE,
                    "could not create locale \"{locale}\": No such file or directory"
                )
                .with_detail(format!(
                    "The operating system could not find any locale data for the locale name \"{locale}\"."
                )));
            }
        }
        Ok(row
            .letter("collprovider", b'c')
            .set("collencoding", UTF8)
            .set("collcollate", &*collate)
            .set("collctype", &*ctype))
    }
}

fn text(option: &DefOption) -> Result<Box<str>> {
    match &option.value {
        Some(OptionValue::String(text)) => Ok(text.clone()),
        Some(OptionValue::Integer(number)) => Ok(number.to_string().into()),
        _ => bail!(SYNTAX_ERROR, "{} requires a parameter", option.name),
    }
}
