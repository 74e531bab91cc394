//! Collations by name and by OID.

use storage::txn::Txn;
use syntax::ast::QualifiedName;

use crate::error::{Result, SqlError, sql_error};
use crate::types::collation::RULES_VERSION;
use crate::types::{Collation, Datum, Oid, TypeId, TypeMod, format_type, type_info};

use super::store::row::CatalogRow;
use super::store::{Found, SearchPath, SessionCatalog, Store};

/// `pg_collation.collencoding` of collations that are for UTF-8 alone, and of those for all encodings.
const ENCODINGS: [i32; 2] = [6, -1];

/// The locales that directories are made with ICU collations of.
pub fn locales() -> impl Iterator<Item = &'static str> {
    include_str!("data/locales.txt").lines()
}

/// A collation with its name.
#[derive(Clone, Debug)]
pub struct Named {
    pub collation: Collation,
    pub schema: Box<str>,
    pub name: Box<str>,
}

impl Store {
    /// A collation's row.
    pub fn collation_row(&self, txn: &Txn, oid: Oid) -> Result<Option<Found>> {
        self.find_one(txn, "pg_collation", "pg_collation_oid_index", &[Datum::Oid(oid)])
    }

    /// What texts are compared by under the collation with this OID; none, if that is invalid.
    pub fn collation(&self, txn: &Txn, oid: Oid) -> Result<Collation> {
        let plain = [Collation::NONE, Collation::DEFAULT, Collation::C, Collation::POSIX];
        if let Some(known) = plain.into_iter().find(|known| known.oid == oid) {
            return Ok(known);
        }
        let row = self.collation_row(txn, oid)?;
        let row = row
            .ok_or_else(|| sql_error!(INTERNAL_ERROR, "cache lookup failed for collation {oid}"))?;
        of_row(&row.row)
    }
}

fn of_row(row: &CatalogRow) -> Result<Collation> {
    let oid = row.oid("oid");
    match row.letter("collprovider") {
        b'i' if row.text("collversion") != RULES_VERSION => Err(sql_error!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "collation \"{}\" was made with version {} of its rules, this program has version {RULES_VERSION}",
            row.text("collname"),
            row.text("collversion")
        )
        .with_hint(
            "Run ALTER COLLATION ... REFRESH VERSION, and rebuild the indexes that it orders.",
        )),
        b'i' => Collation::icu(oid, row.text("colliculocale"), row.bool("collisdeterministic")),
        _ => Ok(Collation::bytes(oid)),
    }
}

impl SessionCatalog {
    /// The row of the collation that a name means, along the path if no schema is given.
    pub fn collation_row(
        &self,
        txn: &Txn,
        path: &SearchPath,
        name: &QualifiedName,
    ) -> Result<Option<Found>> {
        let schemas = match name.schema() {
            None => path.schemas.clone(),
            Some(schema) => match self.named_schema(txn, schema)? {
                Some(oid) => vec![oid],
                None => {
                    return Err(sql_error!(UNDEFINED_SCHEMA, "schema \"{schema}\" does not exist"));
                }
            },
        };
        for schema in schemas {
            if let Some(found) = self.collation_in(txn, schema, name.last())? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The row of a schema's collation.
    pub fn collation_in(&self, txn: &Txn, schema: Oid, name: &str) -> Result<Option<Found>> {
        let store = &self.instance.store;
        for encoding in ENCODINGS {
            let key = [Datum::text(name), Datum::Int4(encoding), Datum::Oid(schema)];
            let index = "pg_collation_name_enc_nsp_index";
            if let Some(found) = store.find_one(txn, "pg_collation", index, &key)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The collation that a name means.
    pub fn collation(&self, txn: &Txn, path: &SearchPath, name: &QualifiedName) -> Result<Named> {
        let found = self.collation_row(txn, path, name)?.ok_or_else(|| undefined(name))?;
        self.named(txn, &found.row)
    }

    /// The collation of a row of `pg_collation`.
    pub fn named(&self, txn: &Txn, row: &CatalogRow) -> Result<Named> {
        let schema = self.instance.store.schema_name(txn, row.oid("collnamespace"))?;
        let (schema, name) = (schema.into(), row.text("collname").into());
        Ok(Named { collation: of_row(row)?, schema, name })
    }
}

/// There is no collation of that name.
pub fn undefined(name: &QualifiedName) -> SqlError {
    let name = name.parts.join(".");
    sql_error!(UNDEFINED_OBJECT, "collation \"{name}\" for encoding \"UTF8\" does not exist")
}

/// Makes sure that values of type `ty` have collations.
pub fn check_for(ty: TypeId) -> Result<()> {
    if type_info(ty).is_some_and(|info| info.collation.is_valid()) {
        return Ok(());
    }
    Err(sql_error!(
        DATATYPE_MISMATCH,
        "collations are not supported by type {}",
        format_type(ty, TypeMod::NONE)
    ))
}
