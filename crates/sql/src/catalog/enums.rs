//! Enums as a session finds them: by name, and their labels.

use std::sync::Arc;

use base::hash::HashMap;
use storage::txn::Txn;

use crate::error::Result;
use crate::types::enums::{BY_OID, Labels};
use crate::types::{Datum, Oid, TypeId};

use super::store::lookup::Stamp;
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
        let Some(schema) = schema else {
            for schema in &path.schemas {
                if let Some(found) = self.type_in(txn, *schema, name)? {
                    return Ok(Some(found));
                }
            }
            return Ok(None);
        };
        if schema == BY_OID {
            return name.parse().map_or(Ok(None), |oid| self.type_of_oid(txn, Oid(oid)));
        }
        match self.named_schema(txn, schema)? {
            Some(schema) => self.type_in(txn, schema, name),
            None => Ok(None),
        }
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

    /// An enum's labels, read anew if a look at what is known of them does not find what is wanted.
    pub fn labels_with<T>(
        &self,
        txn: &Txn,
        id: TypeId,
        wanted: impl Fn(&Labels) -> Option<T>,
    ) -> Result<Option<T>> {
        let stamp = self.stamp();
        let known = self.labels.lock().get(&id).filter(|(of, _)| *of == stamp).cloned();
        if let Some(found) = known.and_then(|(_, labels)| wanted(&labels)) {
            return Ok(Some(found));
        }
        // A commit is seen a moment before the catalogs' version moves.
        Ok(wanted(&*self.read_labels(txn, id)?))
    }

    /// All labels of an enum.
    pub fn read_labels(&self, txn: &Txn, id: TypeId) -> Result<Arc<Labels>> {
        let stamp = self.stamp();
        let rows = txn.briefly(|| self.label_rows(txn, id))?;
        let labels = Arc::new(Labels::new(rows.iter().map(|found| {
            (found.row.get("enumsortorder").as_float4(), Arc::from(found.row.text("enumlabel")))
        })));
        self.labels.lock().insert(id, (stamp, Arc::clone(&labels)));
        Ok(labels)
    }
}
