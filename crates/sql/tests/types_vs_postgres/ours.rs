//! The same questions, put to our own functions.

use sql::error::{Result, SqlError};
use sql::func::{self, Body, CastMethod, Context, RandomSequence, SessionInfo};
use sql::types::array::Dimension;
use sql::types::{
    Array, Datum, FormatContext, IoContext, Names, Oid, TimestampTz, TypeId, TypeMod, input,
    output_string, receive, send,
};

use crate::server::Answer;

/// A catalog that knows no name.
struct NoCatalog;

impl Names for NoCatalog {
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

pub struct Ours {
    pub format: FormatContext,
    random: RandomSequence,
}

impl SessionInfo for Ours {
    fn format(&self) -> &FormatContext {
        &self.format
    }

    fn names(&self) -> &dyn Names {
        &NoCatalog
    }

    fn setting(&self, _: &str) -> Option<String> {
        None
    }

    fn random(&mut self) -> &mut RandomSequence {
        &mut self.random
    }
}

/// The moment that both sides take for now.
pub const NOW: TimestampTz = TimestampTz(0);

pub fn answer(result: Result<Option<String>>) -> Answer {
    match result {
        Ok(None) => Answer::Null,
        Ok(Some(text)) => Answer::Text(text),
        Err(error) => Answer::Error {
            sqlstate: error.sqlstate().as_str().to_owned(),
            message: error.message().to_owned(),
            detail: error.fields().detail.clone(),
            hint: error.fields().hint.clone(),
        },
    }
}

/// Rows as an array; rows that are arrays themselves are stacked.
fn stack(row_type: TypeId, rows: Vec<Datum>) -> Array {
    let Some(Datum::Array(first)) = rows.first() else {
        return Array::from_elements(row_type, rows);
    };
    let len = rows.len() as i32;
    let mut dims = vec![Dimension { len, lower: 1 }];
    dims.extend_from_slice(&first.dims);
    let element_type = first.element_type;
    let elements = rows.iter().flat_map(|row| row.as_array().elements.clone()).collect();
    Array { element_type, dims, elements }
}

impl Ours {
    pub fn new() -> Ours {
        Ours { format: FormatContext::new(), random: RandomSequence::default() }
    }

    fn io(&self) -> IoContext<'_> {
        IoContext { format: &self.format, now: NOW, names: &NoCatalog }
    }

    pub fn read(&self, type_id: TypeId, typmod: TypeMod, text: &str) -> Result<Datum> {
        input(type_id, typmod, text, &self.io())
    }

    pub fn write(&self, type_id: TypeId, value: &Datum) -> Result<Option<String>> {
        if value.is_null() {
            return Ok(None);
        }
        output_string(type_id, value, &self.io()).map(Some)
    }

    /// Text to value and back to text.
    pub fn round_trip(&self, type_id: TypeId, typmod: TypeMod, text: &str) -> Answer {
        let value = self.read(type_id, typmod, text);
        answer(value.and_then(|value| self.write(type_id, &value)))
    }

    /// The binary form in hexadecimal; checks on the way that it reads back.
    pub fn binary(&self, type_id: TypeId, text: &str) -> Result<String> {
        let value = self.read(type_id, TypeMod::NONE, text)?;
        let mut bytes = Vec::new();
        send(type_id, &value, &NoCatalog, &mut bytes)?;
        let back = receive(type_id, TypeMod::NONE, &bytes, &self.io())?;
        assert_eq!(
            self.write(type_id, &back)?,
            self.write(type_id, &value)?,
            "binary form of {text} as {type_id:?}"
        );
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Calls a body with arguments of these types.
    pub fn call(
        &mut self,
        function: &'static func::Function,
        types: &[TypeId],
        result_type: TypeId,
        values: &[Datum],
    ) -> Result<Datum> {
        if function.strict && values.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        let mut context = Context {
            transaction_start: NOW,
            statement_start: NOW,
            arg_types: types,
            result_type,
            variadic: false,
            session: self,
        };
        match function.body {
            Body::Scalar(body) => body(&mut context, values),
            Body::Set(body) => {
                let rows: Vec<Datum> = body(&mut context, values)?.collect::<Result<_>>()?;
                Ok(stack(result_type, rows).into())
            }
            _ => Err(SqlError::unsupported(function.name)),
        }
    }

    /// The function of that name and these declared types.
    pub fn function(&self, name: &str, types: &[TypeId]) -> &'static func::Function {
        func::functions(name)
            .find(|f| f.args == types)
            .unwrap_or_else(|| panic!("no function {name}{types:?}"))
    }

    /// A conversion as an explicit cast does it.
    pub fn cast(
        &mut self,
        source: TypeId,
        target: TypeId,
        typmod: TypeMod,
        text: &str,
    ) -> Result<Option<String>> {
        let value = self.read(source, TypeMod::NONE, text)?;
        let cast = func::cast(source, target)
            .unwrap_or_else(|| panic!("no cast from {source:?} to {target:?}"));
        let mut converted = match cast.method {
            CastMethod::Binary => value,
            CastMethod::InOut => {
                let text = self.write(source, &value)?.unwrap_or_default();
                self.read(target, TypeMod::NONE, &text)?
            }
            CastMethod::Function(function) => {
                let extra = [Datum::Int4(typmod.0), Datum::Bool(true)];
                let mut values = vec![value];
                values.extend_from_slice(&extra[..function.args.len() - 1]);
                let types = function.args;
                self.call(function, types, target, &values)?
            }
        };
        // The length or precision of the target, by its cast to itself.
        if typmod.is_some()
            && let Some(func::Cast { method: CastMethod::Function(resize), .. }) =
                func::cast(target, target)
        {
            let extra = [Datum::Int4(typmod.0), Datum::Bool(true)];
            let mut values = vec![converted];
            values.extend_from_slice(&extra[..resize.args.len() - 1]);
            converted = self.call(resize, resize.args, target, &values)?;
        }
        self.write(target, &converted)
    }

    /// An aggregate over values in text form; nulls are missing texts.
    pub fn aggregate(
        &mut self,
        name: &str,
        types: &[TypeId],
        rows: &[Vec<Option<&str>>],
    ) -> Result<Option<String>> {
        let aggregate = func::aggregates(name)
            .find(|a| a.args == types)
            .unwrap_or_else(|| panic!("no aggregate {name}{types:?}"));
        let rows: Vec<Vec<Datum>> = rows
            .iter()
            .map(|row| {
                row.iter()
                    .zip(types)
                    .map(|(text, type_id)| match text {
                        None => Ok(Datum::Null),
                        Some(text) => self.read(*type_id, TypeMod::NONE, text),
                    })
                    .collect::<Result<Vec<_>>>()
            })
            .collect::<Result<_>>()?;
        let mut state = (aggregate.start)(types);
        let mut context = Context {
            transaction_start: NOW,
            statement_start: NOW,
            arg_types: types,
            result_type: aggregate.result,
            variadic: false,
            session: self,
        };
        for row in &rows {
            if !(aggregate.strict && row.iter().any(Datum::is_null)) {
                state.add(&mut context, row)?;
            }
        }
        let value = state.finish(&mut context)?;
        self.write(aggregate.result, &value)
    }
}
