//! Type names to types, and types to the names that messages show.

use syntax::ast::{self, Expr as AstExpr, Literal, TypeName};

use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::{TypeId, TypeMod, format_type, type_info, type_name, typmod_in};

use super::tree::Ty;
use super::{Binder, at};

impl Binder<'_, '_> {
    /// The type that a type name means.
    pub fn type_name(&mut self, name: &TypeName) -> Result<Ty> {
        if name.percent_type {
            return Err(at(SqlError::unsupported("%TYPE is not supported yet"), name.loc));
        }
        let qualified = &name.name;
        let id = self.catalog.type_by_name(qualified.schema(), qualified.last(), name.loc)?;
        let Some(id) = id else {
            return Err(at(
                sql_error!(UNDEFINED_OBJECT, "type \"{}\" does not exist", written(name)),
                name.loc,
            ));
        };
        let modifier = if name.modifiers.is_empty() {
            -1
        } else {
            let args = modifiers(&name.modifiers).map_err(|e| at(e, name.loc))?;
            typmod_in(id, &args).map_err(|e| at(e, name.loc))?.0
        };
        if name.array_bounds.is_empty() {
            return Ok(Ty { id, modifier });
        }
        match self.catalog.array_of(id) {
            Some(array) => Ok(Ty { id: array, modifier }),
            None => Err(at(
                sql_error!(
                    UNDEFINED_OBJECT,
                    "could not find array type for data type {}",
                    display(Ty::of(id))
                ),
                name.loc,
            )),
        }
    }
}

/// The name as the user would write it, for errors.
fn written(name: &TypeName) -> String {
    let mut text = name.name.parts.join(".");
    for bound in &name.array_bounds {
        match bound {
            Some(n) => text.push_str(&format!("[{n}]")),
            None => text.push_str("[]"),
        }
    }
    text
}

fn modifiers(exprs: &[AstExpr]) -> Result<Vec<i32>> {
    exprs
        .iter()
        .map(|expr| match expr {
            AstExpr::Const(ast::Const { value: Literal::Integer(n), .. }) => i32::try_from(*n)
                .map_err(|_| {
                    sql_error!(
                        NUMERIC_VALUE_OUT_OF_RANGE,
                        "value \"{n}\" is out of range for type integer"
                    )
                }),
            AstExpr::Const(ast::Const { value: Literal::String(text), .. }) => {
                text.trim().parse().map_err(|_| {
                    sql_error!(
                        INVALID_TEXT_REPRESENTATION,
                        "invalid input syntax for type integer: \"{text}\""
                    )
                })
            }
            _ => bail!(SYNTAX_ERROR, "type modifiers must be simple constants or identifiers"),
        })
        .collect()
}

/// The type as messages and `format_type` show it: `character varying(10)`.
pub fn display(ty: Ty) -> String {
    format_type(ty.id, TypeMod(ty.modifier))
}

/// Types in a message's argument list.
pub(super) fn display_list(types: &[TypeId]) -> String {
    types.iter().map(|id| type_name(*id)).collect::<Vec<_>>().join(", ")
}

/// The element type, if this is a true array type (or one of the catalogs' vectors).
pub fn element_of(id: TypeId) -> Option<TypeId> {
    match id {
        TypeId::INT2VECTOR => Some(TypeId::INT2),
        TypeId::OIDVECTOR => Some(TypeId::OID),
        _ => type_info(id).filter(|info| info.is_array()).map(|info| info.element),
    }
}

pub fn is_polymorphic(id: TypeId) -> bool {
    matches!(
        id,
        TypeId::ANYELEMENT
            | TypeId::ANYARRAY
            | TypeId::ANYNONARRAY
            | TypeId::ANYENUM
            | TypeId::ANYCOMPATIBLE
            | TypeId::ANYCOMPATIBLEARRAY
            | TypeId::ANYCOMPATIBLENONARRAY
    )
}

/// `typcategory`; `U` for types that we know nothing of.
pub fn category(id: TypeId) -> u8 {
    type_info(id).map_or(b'U', |info| info.category)
}

pub fn is_preferred(id: TypeId) -> bool {
    type_info(id).is_some_and(|info| info.preferred)
}
