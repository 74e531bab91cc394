//! Records that become JSON: their fields' names are put beside them.

use crate::error::{Result, SqlError};
use crate::func::{Aggregate, NAMED, ROWS_AGG};
use crate::types::{Array, Collation, Datum, TypeId};

use super::query::RelColumn;
use super::record::is_row;
use super::tree::{Call, Expr, Shape, Ty};
use super::{Binder, at};

/// Whether arguments of a function become JSON.
pub(super) fn makes_json(name: &str) -> bool {
    matches!(
        name,
        "to_json"
            | "row_to_json"
            | "array_to_json"
            | "json_agg"
            | "json_build_array"
            | "json_build_object"
            | "json_object_agg"
            | "to_jsonb"
            | "jsonb_agg"
            | "jsonb_build_array"
            | "jsonb_build_object"
            | "jsonb_object_agg"
    )
}

impl Binder<'_, '_> {
    /// The argument with names for the fields of its records.
    ///
    /// # Errors
    /// `0A000` where the names can't be told.
    pub(super) fn named_rows(&mut self, arg: Expr) -> Result<Expr> {
        if !is_row(arg.ty()) {
            return Ok(arg);
        }
        match arg {
            Expr::Row(mut row) => {
                let args = std::mem::take(&mut row.args);
                row.args =
                    args.into_iter().map(|arg| self.named_rows(arg)).collect::<Result<_>>()?;
                Ok(Expr::Row(row))
            }
            Expr::Array(mut array) => {
                let elements = std::mem::take(&mut array.elements);
                array.elements =
                    elements.into_iter().map(|arg| self.named_rows(arg)).collect::<Result<_>>()?;
                Ok(Expr::Array(array))
            }
            arg if arg.type_id() == TypeId::RECORD => self.named_row(arg),
            arg => Err(unknown_names(&arg)),
        }
    }

    fn named_row(&mut self, arg: Expr) -> Result<Expr> {
        let loc = arg.loc();
        let fields = self.record_fields(&arg).map_err(|_| unknown_names(&arg))?;
        let fields = fields.iter().filter(|field| !field.dropped);
        if fields.clone().any(|field| is_row(field.ty)) {
            return Err(unknown_names(&arg));
        }
        let names = fields.map(|field| Datum::text(&*field.name)).collect();
        let names = Array::from_elements(TypeId::TEXT, names);
        let names = Expr::constant(names.into(), Ty::of(TypeId::TEXT_ARRAY));
        Ok(Expr::Call(Box::new(Call {
            func: &NAMED,
            args: vec![arg, names],
            ty: Ty::of(TypeId::RECORD),
            collation: Collation::NONE,
            variadic: false,
            shape: Shape::Function,
            loc,
        })))
    }

    /// The arguments of an aggregate and, where those are rows that become JSON, another aggregate with its declared
    /// arguments.
    pub(super) fn json_aggregate(
        &mut self,
        agg: &mut &'static Aggregate,
        declared: &mut Vec<TypeId>,
        args: Vec<Expr>,
    ) -> Result<Vec<Expr>> {
        if !makes_json(agg.name) {
            return Ok(args);
        }
        let args: Vec<Expr> =
            args.into_iter().map(|arg| self.named_rows(arg)).collect::<Result<_>>()?;
        let of_rows = |arg: &Expr| is_row(arg.ty());
        if agg.name == "json_agg" && args.iter().all(of_rows) {
            *agg = &ROWS_AGG;
            *declared = ROWS_AGG.args.to_vec();
        }
        let make = if agg.name.starts_with("jsonb") { "to_jsonb" } else { "to_json" };
        let as_json = |arg: Expr| {
            let loc = arg.loc();
            if of_rows(&arg) { self.function(make, vec![arg], loc) } else { Ok(arg) }
        };
        args.into_iter().map(as_json).collect()
    }
}

/// Whether it makes rows of objects, and so has three arguments more than was written ([`with_columns`]).
pub(super) fn has_columns(source: &str) -> bool {
    matches!(
        source,
        "json_to_record" | "json_to_recordset" | "jsonb_to_record" | "jsonb_to_recordset"
    )
}

/// The call with the columns behind its arguments, where it makes rows of objects.
pub(super) fn with_columns(mut expr: Expr, columns: &[RelColumn]) -> Expr {
    if let Expr::Call(call) = &mut expr
        && has_columns(call.func.source)
    {
        let list = |element: TypeId, array: TypeId, values: Vec<Datum>| {
            Expr::constant(Array::from_elements(element, values).into(), Ty::of(array))
        };
        let names = columns.iter().map(|column| Datum::text(&*column.name)).collect();
        let types = columns.iter().map(|column| Datum::Oid(column.ty.id.oid())).collect();
        let modifiers = columns.iter().map(|column| Datum::Int4(column.ty.modifier)).collect();
        call.args.push(list(TypeId::TEXT, TypeId::TEXT_ARRAY, names));
        call.args.push(list(TypeId::OID, TypeId::OID_ARRAY, types));
        call.args.push(list(TypeId::INT4, TypeId::INT4_ARRAY, modifiers));
    }
    expr
}

fn unknown_names(arg: &Expr) -> SqlError {
    at(
        SqlError::unsupported("JSON of a row whose columns' names are not known is not supported"),
        arg.loc(),
    )
}
