//! What tests of this crate need in place of a catalog.

use super::context::Names;
use super::{Datum, Oid, TypeId, TypeMod};
use crate::error::{Result, SqlError};

/// A catalog without objects.
pub(crate) struct NoNames;

impl Names for NoNames {
    fn object_by_name(&self, _: TypeId, text: &str) -> Result<Oid> {
        Err(SqlError::unsupported(text))
    }

    fn object_name(&self, _: TypeId, _: Oid) -> Result<Option<String>> {
        Ok(None)
    }

    fn input_user_type(&self, _: TypeId, text: &str, _: TypeMod) -> Result<Datum> {
        Err(SqlError::unsupported(text))
    }
}
