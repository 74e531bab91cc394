//! Catalog rows by column name.

use crate::types::{Datum, Oid, TypeId};

use super::schema::{CatalogSchema, catalog};

/// A row under construction: every column starts with its type's empty value, or null where it may be.
pub struct RowBuilder {
    schema: &'static CatalogSchema,
    values: Vec<Datum>,
}

impl RowBuilder {
    /// A row of the system table `name`.
    pub fn of(name: &str) -> RowBuilder {
        let schema = catalog(name);
        let values = schema.columns.iter().map(|column| match column.not_null {
            true => empty(column.type_id),
            false => Datum::Null,
        });
        RowBuilder { schema, values: values.collect() }
    }

    /// Sets a column.
    pub fn set(mut self, column: &str, value: impl Into<Datum>) -> RowBuilder {
        let at = self.schema.column(column);
        self.values[at] = value.into();
        self
    }

    /// Sets a `"char"` column to a letter.
    pub fn letter(self, column: &str, letter: u8) -> RowBuilder {
        self.set(column, Datum::Char(letter))
    }

    /// Sets an OID column.
    pub fn oid(self, column: &str, oid: Oid) -> RowBuilder {
        self.set(column, Datum::Oid(oid))
    }

    /// The values, in column order.
    pub fn build(self) -> Vec<Datum> {
        self.values
    }
}

/// What a column that nobody set holds.
fn empty(type_id: TypeId) -> Datum {
    match type_id {
        TypeId::BOOL => Datum::Bool(false),
        TypeId::CHAR => Datum::Char(0),
        TypeId::INT2 => Datum::Int2(0),
        TypeId::INT4 => Datum::Int4(0),
        TypeId::INT8 | TypeId::PG_LSN => Datum::Int8(0),
        TypeId::FLOAT4 => Datum::Float4(0.0),
        TypeId::OID | TypeId::XID | TypeId::REGPROC => Datum::Oid(Oid::INVALID),
        TypeId::INT2VECTOR => vector(TypeId::INT2, Vec::new()),
        TypeId::OIDVECTOR => vector(TypeId::OID, Vec::new()),
        _ => Datum::text(""),
    }
}

/// An int2vector or oidvector: subscripts from 0.
pub fn vector(element: TypeId, values: Vec<Datum>) -> Datum {
    Datum::from(crate::types::Array::with_lower(element, 0, values))
}

/// A row that was read, by column name.
pub struct CatalogRow {
    pub schema: &'static CatalogSchema,
    pub values: Vec<Datum>,
}

impl CatalogRow {
    pub fn get(&self, column: &str) -> &Datum {
        &self.values[self.schema.column(column)]
    }

    pub fn oid(&self, column: &str) -> Oid {
        self.get(column).as_oid()
    }

    /// Text of a `name` or `text` column; empty for null.
    pub fn text(&self, column: &str) -> &str {
        match self.get(column) {
            Datum::Null => "",
            value => value.as_text().as_str(),
        }
    }

    pub fn bool(&self, column: &str) -> bool {
        self.get(column).as_bool()
    }

    pub fn letter(&self, column: &str) -> u8 {
        self.get(column).as_char()
    }

    pub fn int2(&self, column: &str) -> i16 {
        self.get(column).as_int2()
    }

    pub fn int4(&self, column: &str) -> i32 {
        self.get(column).as_int4()
    }

    /// The numbers of an int2vector or smallint[]; empty for null.
    pub fn int2s(&self, column: &str) -> Vec<i16> {
        match self.get(column) {
            Datum::Null => Vec::new(),
            value => value.as_array().elements.iter().map(Datum::as_int2).collect(),
        }
    }

    /// The elements of an oidvector; empty for null.
    pub fn oids(&self, column: &str) -> Vec<Oid> {
        match self.get(column) {
            Datum::Null => Vec::new(),
            value => value.as_array().elements.iter().map(Datum::as_oid).collect(),
        }
    }

    /// The elements of a text[]; empty for null.
    pub fn texts(&self, column: &str) -> Vec<String> {
        match self.get(column) {
            Datum::Null => Vec::new(),
            value => value.as_array().elements.iter().map(|e| e.as_text().to_string()).collect(),
        }
    }

    /// A copy with some columns changed.
    pub fn with(&self, changes: &[(&str, Datum)]) -> Vec<Datum> {
        let mut values = self.values.clone();
        for (column, value) in changes {
            values[self.schema.column(column)] = value.clone();
        }
        values
    }
}
