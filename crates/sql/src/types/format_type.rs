//! Type names as SQL spells them.

use super::{TypeId, TypeMod, type_info, typmod_out};

/// The name of a type by itself, as messages and `regtype` show it: that of `character` does not depend on whether there
/// is a length.
pub fn type_name(type_id: TypeId) -> String {
    match type_id {
        TypeId::BPCHAR => "character".to_owned(),
        id => match type_info(id) {
            Some(info) if info.is_array() => type_name(info.element) + "[]",
            _ => format_type(id, TypeMod::NONE),
        },
    }
}

/// The name of a built-in type with its modifier, as `format_type` gives it; `???` for others,
/// whose names only the catalog knows.
pub fn format_type(type_id: TypeId, typmod: TypeMod) -> String {
    let Some(info) = type_info(type_id) else {
        return if type_id.is_valid() { "???".to_owned() } else { "-".to_owned() };
    };
    if info.is_array() {
        return format_type(info.element, typmod) + "[]";
    }
    let modifier = if typmod.is_some() { typmod_out(type_id, typmod) } else { String::new() };
    let name = match type_id {
        TypeId::BOOL => "boolean",
        TypeId::BPCHAR if typmod.is_some() => "character",
        TypeId::BPCHAR => "bpchar",
        TypeId::CHAR => "\"char\"",
        TypeId::FLOAT4 => "real",
        TypeId::FLOAT8 => "double precision",
        TypeId::INT2 => "smallint",
        TypeId::INT4 => "integer",
        TypeId::INT8 => "bigint",
        TypeId::VARCHAR => "character varying",
        TypeId::ANY => "\"any\"",
        TypeId::TIME if modifier.is_empty() => "time without time zone",
        TypeId::TIMETZ if modifier.is_empty() => "time with time zone",
        TypeId::TIMESTAMP if modifier.is_empty() => "timestamp without time zone",
        TypeId::TIMESTAMPTZ if modifier.is_empty() => "timestamp with time zone",
        TypeId::TIMETZ => "time",
        TypeId::TIMESTAMPTZ => "timestamp",
        TypeId::TIME => return format!("time{modifier} without time zone"),
        TypeId::TIMESTAMP => return format!("timestamp{modifier} without time zone"),
        _ => info.name,
    };
    format!("{name}{modifier}")
}
