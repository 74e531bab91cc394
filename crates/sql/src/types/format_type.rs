//! Type names as SQL spells them.

use super::{TypeId, TypeMod, type_info, typmod_out};

/// Stands on both sides of a type's number in the place of its name; no text that people write has it.
const LEFT_OPEN: char = '\u{2}';

/// A text with the names that [`format_type`] has left open; `None`: there are none. What `name` doesn't know is `???`, as other
/// types without names are.
pub fn fill_in(text: &str, mut name: impl FnMut(TypeId) -> Option<String>) -> Option<String> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(LEFT_OPEN) {
        let Some((number, behind)) = after.split_once(LEFT_OPEN) else { break };
        filled.push_str(before);
        match number.parse().ok().and_then(|oid| name(TypeId(oid))) {
            Some(known) => filled.push_str(&known),
            None => filled.push_str("???"),
        }
        rest = behind;
    }
    (rest.len() < text.len()).then(|| filled + rest)
}

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

/// The name of a type with its modifier, as `format_type` gives it. Names of enums are only in the catalogs: they are left open here
/// ([`fill_in`]). `???` for other types that are not built in.
pub fn format_type(type_id: TypeId, typmod: TypeMod) -> String {
    let Some(info) = type_info(type_id) else {
        return if type_id.is_valid() { "???".to_owned() } else { "-".to_owned() };
    };
    if info.is_array() {
        return format_type(info.element, typmod) + "[]";
    }
    if type_id.is_enum() {
        return format!("{LEFT_OPEN}{}{LEFT_OPEN}", type_id.0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Oid;

    #[test]
    fn names_that_are_left_open_are_filled_in() {
        let id = TypeId::new_enum(Oid(16_384));
        let open = format!("{} = {}", format_type(id, TypeMod::NONE), type_name(id));
        let name = |asked| (asked == id).then(|| "mood".to_owned());
        assert_eq!(fill_in(&open, name).as_deref(), Some("mood = mood"));
        let array = type_info(id).unwrap().array;
        assert_eq!(fill_in(&type_name(array), name).as_deref(), Some("mood[]"));
        let unknown = format_type(TypeId::new_enum(Oid(7)), TypeMod::NONE);
        assert_eq!(fill_in(&unknown, name).as_deref(), Some("???"));
        assert_eq!(fill_in("a \u{2} b", name), None);
        assert_eq!(fill_in("nothing", name), None);
    }
}
