//! Collations: there is one, of code points, under several names.

use syntax::ast::QualifiedName;

use crate::error::{Result, sql_error};
use crate::types::{TypeId, TypeMod, format_type, type_info};

/// All of them order texts as their UTF-8 bytes do.
const NAMES: &[&str] = &["default", "C", "POSIX", "ucs_basic", "C.UTF-8", "C.utf8"];

/// Makes sure that there is a collation of this name.
pub fn check(name: &QualifiedName) -> Result<()> {
    let name = name.last();
    if NAMES.contains(&name) {
        return Ok(());
    }
    Err(sql_error!(UNDEFINED_OBJECT, "collation \"{name}\" for encoding \"UTF8\" does not exist"))
}

/// Makes sure that values of type `ty` may have the collation of this name.
pub fn check_for(ty: TypeId, name: &QualifiedName) -> Result<()> {
    check(name)?;
    if type_info(ty).is_some_and(|info| info.collation.is_valid()) {
        return Ok(());
    }
    Err(sql_error!(
        DATATYPE_MISMATCH,
        "collations are not supported by type {}",
        format_type(ty, TypeMod::NONE)
    ))
}
