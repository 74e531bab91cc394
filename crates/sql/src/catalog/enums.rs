//! Enums as a session finds them: by name, and their labels.

use std::sync::Arc;

use base::hash::HashMap;
use storage::txn::Txn;
use syntax::deparse::quote_ident;

use crate::error::Result;
use crate::types::enums::{BY_OID, Labels};
use crate::types::{Datum, Oid, TypeId};

use super::store::lookup::Stamp;
use super::store::row::CatalogRow;
use super::store::{Found, SearchPath, SessionCatalog};

/// Labels that a session has read, and what state of the catalogs they are good for.
pub type Known = HashMap<TypeId, (Stamp, Arc<Labels>)>;

impl SessionCatalog {
    /// The row of the type that a name means, along the path if no schema is given.
    pub fn type_row(
        &self,
        txn: &Txn,
        path: &SearchPath,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<Found>> {
        if schema == Some(BY_OID) {
            return name.parse().map_or(Ok(None), |oid| self.type_of_oid(txn, Oid(oid)));
        }
        self.first_in(txn, path, schema, |schema| self.type_in(txn, schema, name))
    }

    /// A type's name, with its schema if it would not be found without.
    pub fn shown_type(&self, txn: &Txn, path: &SearchPath, row: &CatalogRow) -> Result<String> {
        let name = quote_ident(row.text("typname"));
        let first = self.type_row(txn, path, None, row.text("typname"))?;
        if first.is_some_and(|first| first.row.oid("oid") == row.oid("oid")) {
            return Ok(name.into_owned());
        }
        let schema = self.instance.store.schema_name(txn, row.oid("typnamespace"))?;
        Ok(format!("{}.{name}", quote_ident(&schema)))
    }

    /// The row of a schema's type.
    pub fn type_in(&self, txn: &Txn, schema: Oid, name: &str) -> Result<Option<Found>> {
        let key = [Datum::text(name), Datum::Oid(schema)];
        self.instance.store.find_one(txn, "pg_type", "pg_type_typname_nsp_index", &key)
    }

    /// A type's row.
    pub fn type_of_oid(&self, txn: &Txn, oid: Oid) -> Result<Option<Found>> {
        self.instance.store.find_one(txn, "pg_type", "pg_type_oid_index", &[Datum::Oid(oid)])
    }

    /// The enum, or array type of one, that a name means.
    pub fn made_type(
        &self,
        txn: &Txn,
        path: &SearchPath,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<TypeId>> {
        let found = self.type_row(txn, path, schema, name)?;
        let id = found.map(|found| TypeId::from(found.row.oid("oid")));
        Ok(id.filter(|id| id.is_made()))
    }

    /// Rows of an enum's labels.
    pub fn label_rows(&self, txn: &Txn, id: TypeId) -> Result<Vec<Found>> {
        let key = [Datum::Oid(id.oid())];
        self.instance.store.find(txn, "pg_enum", "pg_enum_typid_label_index", &key)
    }

    /// What is wanted of an enum's labels, which are read anew where those that are known have it not.
    pub fn labels_with<T>(
        &self,
        txn: &Txn,
        id: TypeId,
        wanted: impl Fn(&Labels) -> Option<T>,
    ) -> Result<Option<T>> {
        let stamp = self.stamp();
        if let Some((of, labels)) = self.labels.lock().get(&id)
            && *of == stamp
            && let Some(found) = wanted(labels)
        {
            return Ok(Some(found));
        }
        // A commit is seen a moment before the catalogs' version moves.
        Ok(wanted(&*self.read_labels(txn, id)?))
    }

    /// All labels of an enum.
    pub fn labels(&self, txn: &Txn, id: TypeId) -> Result<Arc<Labels>> {
        let stamp = self.stamp();
        let known = self.labels.lock().get(&id).filter(|(of, _)| *of == stamp).cloned();
        known.map_or_else(|| self.read_labels(txn, id), |(_, labels)| Ok(labels))
    }

    fn read_labels(&self, txn: &Txn, id: TypeId) -> Result<Arc<Labels>> {
        let stamp = self.stamp();
        let rows = txn.briefly(|| self.label_rows(txn, id))?;
        let labels = Arc::new(Labels::new(rows.iter().map(|found| {
            (found.row.get("enumsortorder").as_float4(), Arc::from(found.row.text("enumlabel")))
        })));
        self.labels.lock().insert(id, (stamp, Arc::clone(&labels)));
        Ok(labels)
    }
}
