//! Names and literals, quoted where they must be.

use std::borrow::Cow;

use crate::ast::QualifiedName;

/// The name as it can stand in SQL: in double quotes unless it is lower case and no keyword that
/// PostgreSQL 15 treats specially anywhere. PostgreSQL's `quote_ident`.
pub fn quote_ident(name: &str) -> Cow<'_, str> {
    let mut bytes = name.bytes();
    let safe = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && KEYWORDS.binary_search(&name).is_err();
    if safe {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    }
}

/// Likewise, but so that the parser here takes it, which is of a later PostgreSQL: `system_user` is reserved there.
pub fn stored_ident(name: &str) -> Cow<'_, str> {
    match name {
        "system_user" => Cow::Borrowed("\"system_user\""),
        name => quote_ident(name),
    }
}

/// A qualified name, each part quoted where it must be.
pub fn qualified(name: &QualifiedName) -> String {
    name.parts.iter().map(|part| quote_ident(part)).collect::<Vec<_>>().join(".")
}

/// The name without the `pg_catalog.` that the grammar or the binder wrote in front.
pub(super) fn unqualified_builtin(name: &QualifiedName) -> String {
    match &name.parts[..] {
        [schema, own] if &**schema == "pg_catalog" => quote_ident(own).into_owned(),
        _ => qualified(name),
    }
}

/// A string literal, with `standard_conforming_strings` on: quotes doubled, backslashes plain.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// PostgreSQL 15's keywords, less those of the unreserved category, in order.
const KEYWORDS: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

#[cfg(test)]
mod tests {
    use super::KEYWORDS;

    #[test]
    fn keywords_are_in_order() {
        assert!(KEYWORDS.is_sorted());
        assert_eq!(KEYWORDS.len(), 151);
    }
}
