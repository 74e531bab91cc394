//! Catalogs: what the names of a statement stand for.
//!
//! [`TableDef`] is a relation as planned and executed against. [`Catalog`] is what the binder asks:
//! relations and types by name, literals to values. Where the answers come from is behind
//! [`Lookup`], which the session implements over the stored catalogs (and tests over a list).

pub mod collation;
pub mod ddl;
pub mod enums;
pub mod foreign_key;
mod handle;
pub mod opclass;
pub mod parameters;
pub mod rights;
pub mod statistics;
pub mod store;
pub mod system_views;
mod table;
pub mod verify;
mod view;

pub use handle::Handle;
pub use table::{
    AccessMethod, CheckDef, ColumnDef, FIRST_USER_OID, Identity, IndexDef, IndexKey, KeySource,
    TableDef, TableKind,
};
pub use view::{
    Access, Catalog, Lookup, NamedColumn, NamedRelation, Natural, Record, Star, StarForm,
    infinite_recursion, other_database, parse,
};
