//! CREATE TYPE … AS ENUM, ALTER TYPE and DROP TYPE.
//!
//! Columns and stored expressions know an enum by its OID, and its values by their places: a new name of the type or of a label
//! changes nothing in them. Views are texts that name it: while there is such a text, the type keeps its name, and the label that
//! stands there its own.

use std::rc::Rc;
use std::sync::Arc;

use storage::lock::{LockMode, LockTag};
use syntax::ast::{
    AlterEnum, AlterObjectSchema, AlterOwner, CreateTypeKind, DropObjects, EnumChange, LabelPlace,
    ObjectKind, ObjectName, Persistence, QualifiedName, RelationRef, Statement,
};
use syntax::deparse::quote_ident;

use crate::catalog::rights::Class;
use crate::catalog::store::Found;
use crate::catalog::store::builtin::made_type_row;
use crate::catalog::store::row::{CatalogRow, RowBuilder};
use crate::catalog::store::schema::catalog;
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::chars::to_name;
use crate::types::enums::{PLACE_MARK, expression_name};
use crate::types::{Datum, Oid, TypeId, TypeInfo, type_info, type_name};

use super::Ddl;
use super::cascade::{Dependents, Object};
use super::collation::Dependent;
use super::drop::relation_ref;

/// Bytes that a label may have.
const LABEL_MAX: usize = 63;

/// With more places than this between two labels a new one gets that in the middle; else one nearer to the first, since labels
/// that come one by one come before the same other one, or each after the one before it, more often than otherwise.
const HALVED: u32 = 1 << 20;
const SHARE: u32 = 4;

/// A label and where it is kept.
struct Label {
    place: f32,
    text: String,
    found: Found,
}

impl Ddl<'_> {
    /// Runs a statement if it is about enums alone; its command tag.
    pub(super) fn enum_statement(&mut self, statement: &Statement) -> Option<Result<String>> {
        let (done, tag) = match statement {
            Statement::CreateType(create) => match &create.kind {
                CreateTypeKind::Enum(labels) => {
                    (self.create_enum(&create.name, labels), "CREATE TYPE")
                }
                _ => return None,
            },
            Statement::AlterEnum(alter) => (self.alter_enum(alter), "ALTER TYPE"),
            Statement::AlterObjectSchema(alter) if alter.kind == ObjectKind::Type => {
                (self.move_type(alter), "ALTER TYPE")
            }
            _ => return None,
        };
        Some(done.map(|()| tag.to_owned()))
    }

    fn create_enum(&mut self, name: &QualifiedName, labels: &[Box<str>]) -> Result<()> {
        let schema = self.type_schema(&relation_ref(name))?;
        let name = name.last();
        self.type_is_new(schema, name)?;
        let array_name = self.array_name(schema, name)?;
        let number = self.new_oid()?;
        let id = TypeId::new_enum(number);
        for (i, label) in labels.iter().enumerate() {
            check_label(label)?;
            if labels[..i].contains(label) {
                return Err(sql_error!(
                    UNIQUE_VIOLATION,
                    "duplicate key value violates unique constraint \"pg_enum_typid_label_index\""
                )
                .with_detail(format!(
                    "Key (enumtypid, enumlabel)=({id}, {label}) already exists.",
                    id = id.oid()
                )));
            }
        }
        let info = info_of(id);
        self.insert_type(&info, name, schema)?;
        self.insert_type(&info_of(info.array), &array_name, schema)?;
        for (i, label) in labels.iter().enumerate() {
            self.insert_label(id, (i + 1) as f32, label)?;
        }
        self.changed(id.oid())
    }

    fn insert_type(&self, info: &TypeInfo, name: &str, schema: Oid) -> Result<()> {
        let owner = self.host.user();
        let mut row = made_type_row(info, name, schema, owner);
        if !info.is_array() {
            let at = catalog("pg_type").column("typacl");
            row[at] = self.new_acl(Class::Type, owner, schema)?;
        }
        self.store().insert(self.txn(), "pg_type", &row).map(drop)
    }

    fn insert_label(&self, id: TypeId, place: f32, label: &str) -> Result<()> {
        let row = RowBuilder::of("pg_enum")
            .oid("oid", self.new_oid()?)
            .oid("enumtypid", id.oid())
            .set("enumsortorder", place)
            .set("enumlabel", label);
        self.store().insert(self.txn(), "pg_enum", &row.build()).map(drop)
    }

    fn type_schema(&mut self, name: &RelationRef) -> Result<Oid> {
        match self.creation_schema(name, Persistence::Permanent)? {
            (schema, Persistence::Permanent) => Ok(schema),
            _ => Err(SqlError::unsupported("types in temporary schemas are not supported")),
        }
    }

    fn type_is_new(&self, schema: Oid, name: &str) -> Result<()> {
        match self.catalog.type_in(self.txn(), schema, name)? {
            None => Ok(()),
            Some(_) => Err(sql_error!(DUPLICATE_OBJECT, "type \"{name}\" already exists")),
        }
    }

    /// A relation that has rows gives its name to their type.
    pub(super) fn row_type_is_new(&self, schema: Oid, name: &str) -> Result<()> {
        self.type_is_new(schema, name).map_err(|error| {
            error.with_hint(
                "A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.",
            )
        })
    }

    /// The name of an enum's array type: with so many underscores before that it is new.
    fn array_name(&self, schema: Oid, name: &str) -> Result<String> {
        let mut array = name.to_owned();
        loop {
            let longer = to_name(format!("_{array}").into()).to_string();
            if longer == array {
                bail!(DUPLICATE_OBJECT, "could not form array type name for type \"{name}\"");
            }
            array = longer;
            if self.catalog.type_in(self.txn(), schema, &array)?.is_none() {
                return Ok(array);
            }
        }
    }

    pub(super) fn lock_type(&self, id: TypeId, mode: LockMode) -> Result<()> {
        let (db, class) = (self.catalog.database.0, catalog("pg_type").oid.0);
        Ok(self.txn().lock(LockTag::Object { db, class, object: id.0, sub: 0 }, mode)?)
    }

    /// Keeps a type from being dropped until the transaction ends.
    pub(super) fn hold_type(&mut self, id: TypeId) -> Result<()> {
        self.must_use_type(id)?;
        if !id.is_made() {
            return Ok(());
        }
        let own = id.own_enum();
        self.lock_type(own, LockMode::AccessShare)?;
        match self.txn().briefly(|| self.catalog.type_of_oid(self.txn(), own.oid()))? {
            Some(_) => Ok(()),
            None => Err(sql_error!(UNDEFINED_OBJECT, "type with OID {} does not exist", id.oid())),
        }
    }

    /// The row of the enum that a statement is to change, locked against others that do.
    fn enum_to_alter(&mut self, name: &QualifiedName) -> Result<Found> {
        match self.hold_named_type(name, LockMode::Exclusive)? {
            Some(found) if found.row.letter("typtype") == b'e' => {
                self.must_own_type(&found)?;
                Ok(found)
            }
            Some(found) => {
                let shown = self.words_of_type(&found.row)?;
                bail!(WRONG_OBJECT_TYPE, "{shown} is not an enum")
            }
            None => Err(no_type(name)),
        }
    }

    /// The row of the type of that name, locked if a user has made it. While it is waited for it may go, or get another
    /// name.
    fn hold_named_type(&mut self, name: &QualifiedName, mode: LockMode) -> Result<Option<Found>> {
        let path = self.host.search_path()?;
        let mut held = None;
        loop {
            let txn = self.host.txn();
            let look = || self.catalog.type_row(txn, &path, name.schema(), name.last());
            let found = txn.briefly(look)?;
            let id = found.as_ref().map(|found| TypeId::from(found.row.oid("oid")));
            match id.filter(|id| id.is_made()) {
                Some(id) if held != Some(id) => {
                    self.lock_type(id.own_enum(), mode)?;
                    held = Some(id);
                }
                _ => return Ok(found),
            }
        }
    }

    fn alter_enum(&mut self, alter: &AlterEnum) -> Result<()> {
        let found = self.enum_to_alter(&alter.name)?;
        let id = TypeId::from(found.row.oid("oid"));
        let labels = self.labels_of(id)?;
        match &alter.change {
            EnumChange::Add { label, if_not_exists, place } => {
                check_label(label)?;
                if labels.iter().any(|own| *own.text == **label) {
                    let text = format!("enum label \"{label}\" already exists");
                    if !if_not_exists {
                        return Err(sql_error!(DUPLICATE_OBJECT, "{text}"));
                    }
                    self.host.notice("NOTICE", sql_error!(DUPLICATE_OBJECT, "{text}, skipping"));
                    return Ok(());
                }
                self.insert_label(id, new_place(&labels, place)?, label)?;
            }
            EnumChange::Rename { old, new } => self.rename_label(id, &labels, old, new)?,
        }
        self.changed(id.oid())
    }

    fn labels_of(&self, id: TypeId) -> Result<Vec<Label>> {
        let rows = self.catalog.label_rows(self.txn(), id)?;
        let mut labels: Vec<Label> = rows
            .into_iter()
            .map(|found| Label {
                place: found.row.get("enumsortorder").as_float4(),
                text: found.row.text("enumlabel").to_owned(),
                found,
            })
            .collect();
        labels.sort_by(|a, b| a.place.total_cmp(&b.place));
        Ok(labels)
    }

    fn rename_label(&mut self, id: TypeId, labels: &[Label], old: &str, new: &str) -> Result<()> {
        check_label(new)?;
        let label = &labels[label_at(labels, old)?];
        if labels.iter().any(|own| own.text == new) {
            bail!(DUPLICATE_OBJECT, "enum label \"{new}\" already exists");
        }
        for view in self.views_naming(catalog("pg_type").oid, id.oid())? {
            if view.view.as_deref().is_some_and(|text| may_spell(text, old)) {
                return Err(self.is_named_by(&view, id)?);
            }
        }
        let changes = [("enumlabel", Datum::text(new))];
        self.store().update_columns(self.txn(), "pg_enum", &label.found, &changes)
    }

    /// What is said where a view's text names what is to be called otherwise.
    fn is_named_by(&mut self, view: &TableDef, id: TypeId) -> Result<SqlError> {
        let (view, own) = (self.relation_words(view)?, self.words_of_id(id)?);
        Err(SqlError::unsupported("changing what a view is made of is not supported")
            .with_detail(format!("{view} depends on type {own}"))
            .with_hint("Drop the view, and make it again afterwards."))
    }

    /// A type whose name, or whose schema's, is to change must not stand in a view's text.
    pub(super) fn must_not_be_viewed(&mut self, id: TypeId) -> Result<()> {
        match self.views_naming(catalog("pg_type").oid, id.oid())?.first() {
            Some(view) => Err(self.is_named_by(view, id)?),
            None => Ok(()),
        }
    }

    /// An enum to be given another name, schema or owner.
    fn type_to_change(&mut self, object: &ObjectName) -> Result<(TypeId, Found)> {
        let (name, is_array) = match object {
            ObjectName::Name(name) => (name, false),
            ObjectName::Type(name) => (&name.name, !name.array_bounds.is_empty()),
            _ => bail!(SYNTAX_ERROR, "a type has a name"),
        };
        let found = self.hold_named_type(name, LockMode::AccessExclusive)?;
        let found = found.ok_or_else(|| no_type(name))?;
        let id = TypeId::from(found.row.oid("oid"));
        if id.is_enum() && !is_array {
            self.must_own_type(&found)?;
            return Ok((id, found));
        }
        let words = self.words_of_type(&found.row)?;
        let own = if id.is_made() { Some(self.words_of_id(id.own_enum())?) } else { None };
        Err(match own {
            Some(own) => sql_error!(WRONG_OBJECT_TYPE, "cannot alter array type {words}")
                .with_hint(format!(
                    "You can alter type {own}, which will alter the array type as well."
                )),
            None if found.row.letter("typtype") == b'c' => {
                sql_error!(WRONG_OBJECT_TYPE, "{words} is a table's row type")
                    .with_hint("Use ALTER TABLE instead.")
            }
            None => sql_error!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: type {words} belongs to the system"
            ),
        })
    }

    pub(super) fn rename_type(&mut self, object: &ObjectName, new_name: &str) -> Result<()> {
        let (id, found) = self.type_to_change(object)?;
        let schema = found.row.oid("typnamespace");
        self.type_is_new(schema, new_name)?;
        self.must_not_be_viewed(id)?;
        let array = self.array_name(schema, new_name)?;
        self.change_type(&found, &[("typname", Datum::text(new_name))])?;
        self.change_type(&self.array_row(id)?, &[("typname", Datum::text(array))])?;
        self.changed(id.oid())
    }

    fn move_type(&mut self, alter: &AlterObjectSchema) -> Result<()> {
        let (id, found) = self.type_to_change(&alter.object)?;
        let mut wanted = relation_ref(&QualifiedName::bare(found.row.text("typname")));
        wanted.schema = Some(alter.new_schema.clone());
        let schema = self.type_schema(&wanted)?;
        if schema == found.row.oid("typnamespace") {
            return Ok(());
        }
        let name = found.row.text("typname").to_owned();
        if self.catalog.type_in(self.txn(), schema, &name)?.is_some() {
            let schema = self.store().schema_name(self.txn(), schema)?;
            bail!(DUPLICATE_OBJECT, "type \"{name}\" already exists in schema \"{schema}\"");
        }
        self.must_not_be_viewed(id)?;
        let array = Datum::text(self.array_name(schema, &name)?);
        let schema = Datum::Oid(schema);
        self.change_type(&found, &[("typnamespace", schema.clone())])?;
        let changes = [("typnamespace", schema), ("typname", array)];
        self.change_type(&self.array_row(id)?, &changes)?;
        self.changed(id.oid())
    }

    pub(super) fn type_owner(&mut self, alter: &AlterOwner) -> Result<()> {
        let owner = self.role_of(&alter.new_owner)?;
        let (_, found) = self.type_to_change(&alter.object)?;
        if found.row.oid("typowner") != owner {
            self.must_be_member_of(owner)?;
            self.must_take(owner, Class::Schema, found.row.oid("typnamespace"))?;
        }
        self.give_type(&found, owner)
    }

    /// Gives an enum to a role.
    pub(super) fn give_type(&mut self, found: &Found, owner: Oid) -> Result<()> {
        let id = TypeId::from(found.row.oid("oid"));
        self.give_row(Class::Type, found, owner)?;
        self.change_type(&self.array_row(id)?, &[("typowner", Datum::Oid(owner))])?;
        self.changed(id.oid())
    }

    fn change_type(&self, found: &Found, changes: &[(&str, Datum)]) -> Result<()> {
        self.store().update_columns(self.txn(), "pg_type", found, changes)
    }

    fn array_row(&self, id: TypeId) -> Result<Found> {
        let found = self.catalog.type_of_oid(self.txn(), info_of(id).array.oid())?;
        found.ok_or_else(|| sql_error!(INTERNAL_ERROR, "an enum has no array type"))
    }

    /// The type that COMMENT names.
    pub(super) fn type_to_tell_of(&mut self, name: &QualifiedName) -> Result<Oid> {
        let found = self.hold_named_type(name, LockMode::ShareUpdateExclusive)?;
        Ok(found.ok_or_else(|| no_type(name))?.row.oid("oid"))
    }

    pub(super) fn drop_types(&mut self, drop: &DropObjects) -> Result<()> {
        for name in &drop.names {
            let ObjectName::Type(name) = name else { continue };
            let found = self.hold_named_type(&name.name, LockMode::AccessExclusive)?;
            let found = found.map(|found| (TypeId::from(found.row.oid("oid")), found));
            match found.filter(|(id, _)| id.is_made()) {
                Some((id, found)) if id.is_enum() && name.array_bounds.is_empty() => {
                    let (owner, schema) =
                        (found.row.oid("typowner"), found.row.oid("typnamespace"));
                    let words = self.words_of_type(&found.row)?;
                    self.may_drop(owner, schema, Class::Type, &words)?;
                    self.drop_enum(&found, drop.cascade)?;
                }
                Some((id, _)) => {
                    let own = format!("type {}", self.words_of_id(id.own_enum())?);
                    return Err(sql_error!(
                        DEPENDENT_OBJECTS_STILL_EXIST,
                        "cannot drop {own}[] because {own} requires it"
                    )
                    .with_hint(format!("You can drop {own} instead.")));
                }
                None => self.absent_type(drop, name)?,
            }
        }
        Ok(())
    }

    /// Drops an enum with what uses it; without CASCADE that is in the way.
    pub(super) fn drop_enum(&mut self, found: &Found, cascade: bool) -> Result<()> {
        let id = TypeId::from(found.row.oid("oid"));
        let own: Rc<str> = format!("type {}", self.words_of_type(&found.row)?).into();
        let columns = self.columns_of_type(id)?;
        let mut views = self.views_naming(catalog("pg_type").oid, id.oid())?;
        for (table, at) in &columns {
            views.extend(self.views_over(table, *at)?);
        }
        views.sort_by_key(|view| view.oid);
        views.dedup_by_key(|view| view.oid);
        self.with_views_over(&mut views)?;
        let array: Rc<str> = format!("{own}[]").into();
        let mut words: Vec<(Rc<str>, Rc<str>)> = Vec::new();
        for (table, at) in &columns {
            let column = &table.columns[*at];
            let of = self.relation_words(table)?;
            let on = if column.ty.id == id { &own } else { &array };
            words
                .push((format!("column {} of {of}", quote_ident(&column.name)).into(), on.clone()));
        }
        for view in &views {
            words.push((self.relation_words(view)?.into(), own.clone()));
        }
        self.settle(Some(&own), &words, Dependents::of(cascade))?;
        for (table, at) in &columns {
            self.catalog.lock(self.host.txn(), table.oid, LockMode::AccessExclusive)?;
            // As it is now: while the lock was waited for it may have gone, or got other names; and a column may go with one
            // that it was computed from.
            let Some(table) = self.catalog.table(self.host.txn(), table.oid)? else { continue };
            let column = &table.columns[*at];
            if !column.dropped {
                self.drop_column(table.oid, &column.name, false, Dependents::GoSilently)?;
                self.changed(table.oid)?;
            }
        }
        let views = views.iter().map(|view| Object::Relation(view.oid)).collect();
        self.drop_objects(views, Dependents::GoSilently)?;
        self.must_stand_in_no_text(id, &own)?;
        for id in [id, info_of(id).array] {
            self.delete_rows("pg_type", "pg_type_oid_index", &[Datum::Oid(id.oid())])?;
        }
        self.delete_rows("pg_enum", "pg_enum_typid_label_index", &[Datum::Oid(id.oid())])?;
        self.set_comment(catalog("pg_type").oid, id.oid(), 0, None)?;
        self.changed(id.oid())
    }

    /// Adds the views over these, which may name each other.
    fn with_views_over(&self, views: &mut Vec<Arc<TableDef>>) -> Result<()> {
        let mut looked_at = 0;
        while looked_at < views.len() {
            for view in self.views_of(views[looked_at].oid)? {
                if views.iter().all(|known| known.oid != view.oid) {
                    views.push(view);
                }
            }
            looked_at += 1;
        }
        Ok(())
    }

    /// Expressions of what is not dropped may name the type.
    fn must_stand_in_no_text(&self, id: TypeId, own: &str) -> Result<()> {
        let name = expression_name(id);
        let mut users: Vec<Dependent> = Vec::new();
        self.texts_that(|text| text.contains(&name), &mut users)?;
        let Some(user) = users.first() else { return Ok(()) };
        Err(sql_error!(
            DEPENDENT_OBJECTS_STILL_EXIST,
            "cannot drop {own} because other objects depend on it"
        )
        .with_detail(format!("{} depends on {own}", user.words))
        .with_hint("Drop what has the expression, or change it, first."))
    }

    /// Columns of tables that have values of an enum, or arrays of them: these first, and of the oldest tables.
    fn columns_of_type(&self, id: TypeId) -> Result<Vec<(Arc<TableDef>, usize)>> {
        let array = info_of(id).array;
        let wanted = |row: &CatalogRow| {
            (row.oid("atttypid") == id.oid() || row.oid("atttypid") == array.oid())
                && row.int2("attnum") > 0
                && !row.bool("attisdropped")
        };
        let mut columns = Vec::new();
        for found in self.store().scan(self.txn(), "pg_attribute", wanted)? {
            let table = self.catalog.table(self.host.txn(), found.row.oid("attrelid"))?;
            if let Some(table) = table.filter(|table| table.kind == TableKind::Table) {
                columns.push((table, found.row.int2("attnum") as usize - 1));
            }
        }
        columns.sort_by_key(|(table, at)| (table.columns[*at].ty.id == id, table.oid, *at));
        Ok(columns)
    }

    /// The enums of a schema.
    pub(super) fn enums_in(&self, schema: Oid) -> Result<Vec<Found>> {
        self.store().scan(self.txn(), "pg_type", |row| {
            row.oid("typnamespace") == schema && row.letter("typtype") == b'e'
        })
    }

    /// A type as messages name it.
    pub(super) fn words_of_type(&mut self, row: &CatalogRow) -> Result<String> {
        let id = TypeId::from(row.oid("oid"));
        if type_info(id).is_some() && !id.is_made() {
            return Ok(type_name(id));
        }
        if id.is_made() && !id.is_enum() {
            return Ok(self.words_of_id(id.own_enum())? + "[]");
        }
        let path = self.host.search_path()?;
        self.catalog.shown_type(self.host.txn(), &path, row)
    }

    fn words_of_id(&mut self, id: TypeId) -> Result<String> {
        match self.catalog.type_of_oid(self.host.txn(), id.oid())? {
            Some(found) => self.words_of_type(&found.row),
            None => Ok(type_name(id)),
        }
    }
}

fn info_of(id: TypeId) -> TypeInfo {
    type_info(id).expect("what is made of labels has facts")
}

fn no_type(name: &QualifiedName) -> SqlError {
    sql_error!(UNDEFINED_OBJECT, "type \"{}\" does not exist", name.parts.join("."))
}

/// Whether a literal of a text may be, or have in it, this label, quotes doubled or not; with escapes it may be any.
fn may_spell(text: &str, label: &str) -> bool {
    let escapes = ["E'", "e'", "U&'", "u&'"].iter().any(|sign| text.contains(sign));
    // In an array's text quotes and backslashes are escaped.
    let plain = !label.contains(['\'', '"', '\\']);
    escapes || !plain || text.contains(label)
}

fn check_label(label: &str) -> Result<()> {
    let detail = if label.len() > LABEL_MAX {
        format!("Labels must be {LABEL_MAX} bytes or less.")
    } else if label.starts_with(PLACE_MARK) {
        "Labels must not begin with the control character U+0001.".to_owned()
    } else {
        return Ok(());
    };
    Err(sql_error!(INVALID_NAME, "invalid enum label \"{label}\"").with_detail(detail))
}

fn label_at(labels: &[Label], label: &str) -> Result<usize> {
    let at = labels.iter().position(|own| own.text == label);
    at.ok_or_else(|| {
        sql_error!(INVALID_PARAMETER_VALUE, "\"{label}\" is not an existing enum label")
    })
}

/// Where a new label comes to be.
fn new_place(labels: &[Label], place: &LabelPlace) -> Result<f32> {
    let at = match place {
        LabelPlace::Last => labels.len(),
        LabelPlace::Before(label) => label_at(labels, label)?,
        LabelPlace::After(label) => label_at(labels, label)? + 1,
    };
    let low = at.checked_sub(1).map_or(0.0, |before| labels[before].place);
    let high = labels.get(at).map(|label| label.place);
    let new = match high {
        None => Some(low.floor() + 1.0).filter(|new| *new > low),
        Some(high) => between(low, high),
    };
    new.ok_or_else(|| {
        sql_error!(PROGRAM_LIMIT_EXCEEDED, "there is no room for another label at this place")
            .with_detail(
                "Labels keep the places that they were given, and those between two are all taken.",
            )
            .with_hint(
                "Make a new type with the labels in their order, and convert the columns to it.",
            )
    })
}

/// A place between two others.
fn between(low: f32, high: f32) -> Option<f32> {
    let (first, room) = (low.to_bits(), high.to_bits() - low.to_bits());
    match room {
        0 | 1 => None,
        room if room > HALVED => Some(low + (high - low) / 2.0),
        room => Some(f32::from_bits(first + (room / SHARE).max(1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many labels get a place between two, each between the last one and one of its neighbours.
    fn room(low: f32, high: f32, moves_low: bool) -> usize {
        let (mut low, mut high) = (low, high);
        for count in 0.. {
            let Some(new) = between(low, high) else { return count };
            assert!(low < new && new < high);
            *(if moves_low { &mut low } else { &mut high }) = new;
        }
        unreachable!("numbers come to an end")
    }

    #[test]
    fn many_labels_have_room_between_two_others() {
        for (low, high) in [(0.0, 1.0), (1.0, 2.0), (7.0, 8.0), (1000.0, 1001.0)] {
            // Before the same other one, or each behind the last.
            assert!(room(low, high, true) >= 30, "{low} {high}");
        }
        // Each before the last.
        assert!(room(1.0, 2.0, false) >= 10);
        assert_eq!(between(1.0, 2.0), Some(1.5));
    }
}
