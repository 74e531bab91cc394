//! Object identifiers.

use std::fmt;

/// An object identifier: PostgreSQL's `oid`, 32 bits unsigned, zero for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(pub u32);

impl Oid {
    /// No object.
    pub const INVALID: Oid = Oid(0);

    pub fn is_valid(self) -> bool {
        self.0 != 0
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The OID of a type. Constants for the built-in types are declared by the type table.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

impl TypeId {
    /// No type.
    pub const INVALID: TypeId = TypeId(0);

    pub fn oid(self) -> Oid {
        Oid(self.0)
    }

    pub fn is_valid(self) -> bool {
        self.0 != 0
    }
}

impl From<Oid> for TypeId {
    fn from(oid: Oid) -> TypeId {
        TypeId(oid.0)
    }
}

impl fmt::Debug for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match super::type_info(*self) {
            Some(info) => f.write_str(info.name),
            None => write!(f, "type {}", self.0),
        }
    }
}
