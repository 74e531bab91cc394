//! Enums by name, names of enums, and their labels, to a session.

use std::sync::Arc;

use crate::error::{Result, SqlError, sql_error};
use crate::types::enums::{Labels, no_label, read_label};
use crate::types::{Datum, Oid, TypeId, fill_in};

use super::backend::Backend;

impl Backend {
    /// A type that a user has made, by name: an enum, the array type of one, or a relation's row type.
    pub(super) fn type_by_its_name(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<TypeId>> {
        let path = self.search_path()?;
        let made = || self.catalog.made_type(&self.txn, &path, schema, name);
        match self.txn.briefly(made)? {
            None => super::names::row_type(self, schema, name),
            made => Ok(made),
        }
    }

    /// The schema of an enum, or of the array type of one.
    pub(super) fn schema_of_made(&self, id: TypeId) -> Result<Box<str>> {
        let (txn, store) = (&self.txn, &self.instance.store);
        txn.briefly(|| {
            let found = self.catalog.type_of_oid(txn, id.oid())?;
            let found = found.ok_or_else(|| gone(id))?;
            Ok(store.schema_name(txn, found.row.oid("typnamespace"))?.into())
        })
    }

    /// An enum's name, with its schema if it would not be found without; `None`: there is no such type.
    pub(super) fn name_of_enum(&self, id: TypeId) -> Result<Option<String>> {
        let (txn, catalog) = (&self.txn, &self.catalog);
        let path = self.search_path()?;
        txn.briefly(|| {
            let Some(found) = catalog.type_of_oid(txn, id.oid())? else { return Ok(None) };
            catalog.shown_type(txn, &path, &found.row).map(Some)
        })
    }

    /// Whether a type is found without its schema; `None`: there is none.
    pub(super) fn type_is_visible(&self, oid: Oid) -> Result<Option<bool>> {
        let (txn, catalog) = (&self.txn, &self.catalog);
        let path = self.search_path()?;
        txn.briefly(|| {
            let Some(found) = catalog.type_of_oid(txn, oid)? else { return Ok(None) };
            let first = catalog.type_row(txn, &path, None, found.row.text("typname"))?;
            Ok(Some(first.is_some_and(|first| first.row.oid("oid") == oid)))
        })
    }

    /// A text of an error or a result with the names of enums that it leaves open.
    pub(super) fn with_type_names(&self, text: String) -> String {
        fill_in(&text, |id| self.name_of_enum(id).ok().flatten()).unwrap_or(text)
    }

    /// Likewise all that an error says.
    pub(super) fn name_types(&self, mut error: SqlError) -> SqlError {
        let fields = error.fields_mut();
        fields.message = self.with_type_names(std::mem::take(&mut fields.message));
        for text in [&mut fields.detail, &mut fields.hint, &mut fields.context] {
            *text = text.take().map(|text| self.with_type_names(text));
        }
        error
    }

    /// Reads a label.
    pub(super) fn enum_of_text(&self, id: TypeId, text: &str) -> Result<Datum> {
        let read = |labels: &Labels| read_label(labels, text);
        match self.catalog.labels_with(&self.txn, id, read)? {
            Some(value) => Ok(value),
            None => Err(no_label(&self.name_of_enum(id)?.ok_or_else(|| gone(id))?, text)),
        }
    }

    /// The label of a value.
    pub(super) fn label_of(&self, id: TypeId, value: Oid) -> Result<Option<Arc<str>>> {
        self.catalog.labels_with(&self.txn, id, |labels| labels.label(value).cloned())
    }
}

fn gone(id: TypeId) -> SqlError {
    sql_error!(UNDEFINED_OBJECT, "type with OID {} does not exist", id.oid())
}

/// A type's name by itself, of whoever made it.
pub(super) fn label_of_type(backend: &Backend, id: TypeId) -> Result<Option<String>> {
    if id.is_made() && backend.name_of_enum(id.own_enum())?.is_none() {
        return Ok(None);
    }
    Ok(Some(backend.with_type_names(crate::types::type_name(id))))
}
