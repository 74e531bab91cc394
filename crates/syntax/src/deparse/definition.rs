//! Constraints and indexes.

use super::Style;
use super::expr::expr;
use super::ident::{literal, qualified, quote_ident, unqualified_builtin};
use crate::ast::*;

/// What `pg_get_constraintdef` gives: the constraint without its name.
pub fn constraint(constraint: &Constraint, style: Style) -> Option<String> {
    let mut text = match &constraint.kind {
        ConstraintKind::Check(check) => format!("CHECK ({})", expr(check, style)?),
        ConstraintKind::PrimaryKey(key) => format!("PRIMARY KEY {}", key_columns(key)),
        ConstraintKind::Unique(key) if key.nulls_not_distinct => {
            format!("UNIQUE NULLS NOT DISTINCT {}", key_columns(key))
        }
        ConstraintKind::Unique(key) => format!("UNIQUE {}", key_columns(key)),
        ConstraintKind::ForeignKey(key) => foreign_key(key),
        ConstraintKind::Exclude(exclusion) => exclude(exclusion, style)?,
        _ => return None,
    };
    if constraint.deferrable {
        text.push_str(" DEFERRABLE");
    }
    if constraint.initially_deferred {
        text.push_str(" INITIALLY DEFERRED");
    }
    if constraint.no_inherit {
        text.push_str(" NO INHERIT");
    }
    if constraint.not_valid {
        text.push_str(" NOT VALID");
    }
    Some(text)
}

fn names(names: &[Name]) -> String {
    names.iter().map(|name| quote_ident(name)).collect::<Vec<_>>().join(", ")
}

fn key_columns(key: &IndexConstraint) -> String {
    let mut text = format!("({})", names(&key.columns));
    if !key.including.is_empty() {
        text.push_str(&format!(" INCLUDE ({})", names(&key.including)));
    }
    text
}

fn foreign_key(key: &ForeignKey) -> String {
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {}({})",
        names(&key.columns),
        relation(&key.referenced),
        names(&key.referenced_columns)
    );
    match key.matching {
        ForeignKeyMatch::Simple => {}
        ForeignKeyMatch::Full => text.push_str(" MATCH FULL"),
        ForeignKeyMatch::Partial => text.push_str(" MATCH PARTIAL"),
    }
    for (words, action) in [(" ON UPDATE ", key.on_update), (" ON DELETE ", key.on_delete)] {
        let action = match action {
            ForeignKeyAction::NoAction => continue,
            ForeignKeyAction::Restrict => "RESTRICT",
            ForeignKeyAction::Cascade => "CASCADE",
            ForeignKeyAction::SetNull => "SET NULL",
            ForeignKeyAction::SetDefault => "SET DEFAULT",
        };
        text.push_str(words);
        text.push_str(action);
    }
    if !key.on_delete_columns.is_empty() {
        text.push_str(&format!(" ({})", names(&key.on_delete_columns)));
    }
    text
}

fn exclude(exclusion: &Exclusion, style: Style) -> Option<String> {
    let elements: Vec<String> = exclusion
        .elements
        .iter()
        .map(|(element, op)| Some(format!("{} WITH {}", index_element(element, style)?, op.symbol)))
        .collect::<Option<_>>()?;
    let method = quote_ident(&exclusion.access_method);
    let mut text = format!("EXCLUDE USING {method} ({})", elements.join(", "));
    if !exclusion.including.is_empty() {
        text.push_str(&format!(" INCLUDE ({})", names(&exclusion.including)));
    }
    if let Some(filter) = &exclusion.filter {
        text.push_str(&format!(" WHERE ({})", expr(filter, style)?));
    }
    Some(text)
}

fn relation(relation: &RelationRef) -> String {
    let parts = [relation.catalog.clone(), relation.schema.clone(), Some(relation.name.clone())];
    qualified(&QualifiedName { parts: parts.into_iter().flatten().collect(), loc: Loc::NONE })
}

/// What `pg_get_indexdef` gives. The relation is printed as it is given: the caller qualifies it
/// (always, for the plain style) and says `ONLY` where it is partitioned; operator classes and
/// collations are to be given where they are not the default.
pub fn index(index: &CreateIndex, style: Style) -> Option<String> {
    let elements = |elements: &[IndexElement]| -> Option<String> {
        let each: Option<Vec<String>> =
            elements.iter().map(|element| index_element(element, style)).collect();
        Some(each?.join(", "))
    };
    let mut text = format!(
        "CREATE {}INDEX {} ON {}{} USING {} ({})",
        if index.unique { "UNIQUE " } else { "" },
        quote_ident(index.name.as_ref()?),
        if index.relation.only { "ONLY " } else { "" },
        relation(&index.relation),
        quote_ident(&index.method),
        elements(&index.elements)?,
    );
    if !index.including.is_empty() {
        text.push_str(&format!(" INCLUDE ({})", elements(&index.including)?));
    }
    if index.nulls_not_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    if !index.options.is_empty() {
        let options: Vec<String> = index.options.iter().map(storage_option).collect();
        text.push_str(&format!(" WITH ({})", options.join(", ")));
    }
    if let Some(tablespace) = &index.tablespace {
        text.push_str(&format!(" TABLESPACE {}", quote_ident(tablespace)));
    }
    if let Some(filter) = &index.filter {
        text.push_str(&format!(" WHERE {}", expr(filter, style)?));
    }
    Some(text)
}

/// One key alone, as `pg_get_indexdef` with a column number gives it.
pub fn index_key(element: &IndexElement, style: Style) -> Option<String> {
    match &element.key {
        IndexKey::Column(name) => Some(quote_ident(name).into_owned()),
        IndexKey::Expr(key) => {
            let text = expr(key, style)?;
            Some(if looks_like_function(key) { text } else { format!("({text})") })
        }
    }
}

fn looks_like_function(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Func(_)
            | Expr::Coalesce(_)
            | Expr::Greatest(_)
            | Expr::Least(_)
            | Expr::NullIf(_)
            | Expr::SqlValue(_)
    )
}

fn index_element(element: &IndexElement, style: Style) -> Option<String> {
    let mut text = index_key(element, style)?;
    if let Some(collation) = &element.collation {
        text.push_str(&format!(" COLLATE {}", unqualified_builtin(collation)));
    }
    if let Some(opclass) = &element.opclass {
        text.push_str(&format!(" {}", unqualified_builtin(opclass)));
    }
    let descending = element.order == IndexOrder::Desc;
    if descending {
        text.push_str(" DESC");
    }
    match (descending, element.nulls) {
        (true, SortNulls::Last) => text.push_str(" NULLS LAST"),
        (false, SortNulls::First) => text.push_str(" NULLS FIRST"),
        _ => {}
    }
    Some(text)
}

/// `fillfactor='70'`: a value is quoted unless it could be a name.
fn storage_option(option: &DefOption) -> String {
    let value = match &option.value {
        None => "true".to_string(),
        Some(OptionValue::String(text) | OptionValue::Numeric(text)) => text.to_string(),
        Some(OptionValue::Integer(value)) => value.to_string(),
        Some(OptionValue::Bool(value)) => value.to_string(),
        Some(_) => String::new(),
    };
    let plain = matches!(quote_ident(&value), std::borrow::Cow::Borrowed(_));
    let value = if plain { value } else { literal(&value) };
    format!("{}={value}", quote_ident(&option.name))
}
