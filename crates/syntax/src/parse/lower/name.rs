//! Names, relations, types, roles, options.

use pg_raw_parse::Node;
use pg_raw_parse::const_val::ConstValue;
use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::RoleSpecType;

use super::{Lower, Lowered, literal, loc, missing, unexpected, untyped};
use crate::ast::*;

/// The text of a String node.
pub(super) fn string(node: Node<'_>) -> Lowered<Name> {
    match node {
        Node::String(string) => Ok(string.sval().unwrap_or("").into()),
        other => unexpected("a list of names", other),
    }
}

/// A list of String nodes.
pub(super) fn strings(list: &NodeList) -> Lowered<Vec<Name>> {
    list.iter().map(string).collect()
}

/// A name that the grammar always fills in.
pub(super) fn name(text: Option<&str>) -> Lowered<Name> {
    text.map(Into::into).ok_or_else(|| missing("name"))
}

pub(super) fn opt_name(text: Option<&str>) -> Option<Name> {
    text.map(Into::into)
}

pub(super) fn qualified(list: &NodeList, at: i32) -> Lowered<QualifiedName> {
    Ok(QualifiedName { parts: strings(list)?, loc: loc(at) })
}

/// A qualified name inside a node that may also be a single String.
pub(super) fn qualified_node(node: Node<'_>) -> Lowered<QualifiedName> {
    match node {
        Node::NodeList(list) => qualified(list, -1),
        Node::TypeName(name) => qualified(untyped(name.names()), name.location),
        other => Ok(QualifiedName { parts: vec![string(other)?], loc: Loc::NONE }),
    }
}

/// An operator's name: the last part is the symbol.
pub(super) fn operator(list: &NodeList, at: i32) -> Lowered<Operator> {
    let mut schema = strings(list)?;
    let symbol = schema.pop().ok_or_else(|| missing("operator"))?;
    Ok(Operator { schema, symbol, loc: loc(at) })
}

pub(super) fn relation(range: &pg::RangeVar) -> Lowered<RelationRef> {
    Ok(RelationRef {
        catalog: opt_name(range.catalogname()),
        schema: opt_name(range.schemaname()),
        name: name(range.relname())?,
        only: !range.inh,
        loc: loc(range.location),
    })
}

/// A relation that the grammar always fills in.
pub(super) fn required_relation(range: Option<&pg::RangeVar>) -> Lowered<RelationRef> {
    relation(range.ok_or_else(|| missing("relation"))?)
}

pub(super) fn relation_node(node: Node<'_>) -> Lowered<RelationRef> {
    match node {
        Node::RangeVar(range) => relation(range),
        other => unexpected("a list of relations", other),
    }
}

pub(super) fn relations(list: &NodeList) -> Lowered<Vec<RelationRef>> {
    list.iter().map(relation_node).collect()
}

/// A relation's name alone, as the objects of COMMENT, RENAME and their like are named.
pub(super) fn relation_name(range: &pg::RangeVar) -> Lowered<QualifiedName> {
    let parts = [range.catalogname(), range.schemaname(), range.relname()];
    Ok(QualifiedName {
        parts: parts.into_iter().flatten().map(Into::into).collect(),
        loc: loc(range.location),
    })
}

pub(super) fn persistence(range: Option<&pg::RangeVar>) -> Persistence {
    match range.map(|range| range.relpersistence as u8) {
        Some(b't') => Persistence::Temporary,
        Some(b'u') => Persistence::Unlogged,
        _ => Persistence::Permanent,
    }
}

pub(super) fn alias(alias: Option<&pg::Alias>) -> Lowered<Option<Alias>> {
    let Some(alias) = alias else { return Ok(None) };
    Ok(Some(Alias { name: name(alias.aliasname())?, columns: strings(alias.colnames())? }))
}

pub(super) fn role(spec: &pg::RoleSpec) -> Lowered<RoleSpec> {
    let kind = match spec.roletype {
        RoleSpecType::ROLESPEC_CSTRING => RoleKind::Name(name(spec.rolename())?),
        RoleSpecType::ROLESPEC_CURRENT_ROLE => RoleKind::CurrentRole,
        RoleSpecType::ROLESPEC_CURRENT_USER => RoleKind::CurrentUser,
        RoleSpecType::ROLESPEC_SESSION_USER => RoleKind::SessionUser,
        _ => RoleKind::Public,
    };
    Ok(RoleSpec { kind, loc: loc(spec.location) })
}

pub(super) fn required_role(spec: Option<&pg::RoleSpec>) -> Lowered<RoleSpec> {
    role(spec.ok_or_else(|| missing("role"))?)
}

pub(super) fn opt_role(spec: Option<&pg::RoleSpec>) -> Lowered<Option<RoleSpec>> {
    spec.map(role).transpose()
}

pub(super) fn roles(list: &NodeList) -> Lowered<Vec<RoleSpec>> {
    list.iter()
        .map(|node| match node {
            Node::RoleSpec(spec) => role(spec),
            other => unexpected("a list of roles", other),
        })
        .collect()
}

impl Lower {
    pub(super) fn type_name(&self, node: &pg::TypeName) -> Lowered<TypeName> {
        let array_bounds = node
            .array_bounds()
            .iter()
            .map(|bound| match bound {
                Node::Integer(bound) => Ok(Some(bound.ival).filter(|bound| *bound >= 0)),
                other => unexpected("array bounds", other),
            })
            .collect::<Lowered<_>>()?;
        Ok(TypeName {
            name: qualified(untyped(node.names()), node.location)?,
            modifiers: self.each(node.typmods(), Self::expr)?,
            array_bounds,
            set_of: node.setof,
            percent_type: node.pct_type,
            loc: loc(node.location),
        })
    }

    pub(super) fn required_type(&self, node: Option<&pg::TypeName>) -> Lowered<TypeName> {
        self.type_name(node.ok_or_else(|| missing("type"))?)
    }

    pub(super) fn opt_type(&self, node: Option<&pg::TypeName>) -> Lowered<Option<TypeName>> {
        node.map(|node| self.type_name(node)).transpose()
    }

    pub(super) fn type_node(&self, node: Node<'_>) -> Lowered<TypeName> {
        match node {
            Node::TypeName(name) => self.type_name(name),
            other => unexpected("a list of types", other),
        }
    }

    pub(super) fn options(&self, list: &NodeList) -> Lowered<Vec<DefOption>> {
        list.iter()
            .map(|node| match node {
                Node::DefElem(option) => self.option(option),
                other => unexpected("an option list", other),
            })
            .collect()
    }

    pub(super) fn typed_options(
        &self,
        list: &CastNodeList<pg::DefElem>,
    ) -> Lowered<Vec<DefOption>> {
        self.options(untyped(list))
    }

    pub(super) fn option(&self, option: &pg::DefElem) -> Lowered<DefOption> {
        Ok(DefOption {
            namespace: opt_name(option.defnamespace()),
            name: name(option.defname())?,
            value: match option.arg() {
                Node::None => None,
                value => Some(self.option_value(value)?),
            },
            loc: loc(option.location),
        })
    }

    fn option_value(&self, node: Node<'_>) -> Lowered<OptionValue> {
        Ok(match node {
            Node::String(string) => OptionValue::String(string.sval().unwrap_or("").into()),
            Node::Integer(integer) => OptionValue::Integer(integer.ival.into()),
            Node::Float(float) => number(float.fval().unwrap_or("0")),
            Node::Boolean(boolean) => OptionValue::Bool(boolean.boolval),
            Node::A_Star(_) => OptionValue::Star,
            Node::NodeList(list) => {
                OptionValue::List(self.nested(|| self.each(list, Self::option_value))?)
            }
            Node::TypeName(name) => match bare_word(name)? {
                Some(word) => OptionValue::String(word),
                None => OptionValue::Type(Box::new(self.type_name(name)?)),
            },
            Node::A_Const(constant) => match constant.val() {
                Some(ConstValue::Integer(value)) => OptionValue::Integer(value.into()),
                Some(ConstValue::Float(text)) => number(text),
                Some(ConstValue::Boolean(value)) => OptionValue::Bool(value),
                Some(ConstValue::String(text)) => OptionValue::String(text.into()),
                _ => return unexpected("an option's value", node),
            },
            other => return unexpected("an option's value", other),
        })
    }
}

fn number(text: &str) -> OptionValue {
    match literal::number(text) {
        Literal::Integer(value) => OptionValue::Integer(value),
        _ => OptionValue::Numeric(text.into()),
    }
}

/// A word that the grammar took for a type because any identifier may name one: `on`, `btree`,
/// `public.thing`.
fn bare_word(name: &pg::TypeName) -> Lowered<Option<Box<str>>> {
    let plain = name.typmods().is_empty()
        && name.array_bounds().is_empty()
        && !name.setof
        && !name.pct_type;
    if !plain {
        return Ok(None);
    }
    let parts = strings(untyped(name.names()))?;
    // `SystemTypeName`s come from keywords such as `int`, which were one word in the text.
    let parts = match &parts[..] {
        [schema, rest @ ..] if &**schema == "pg_catalog" && !rest.is_empty() => rest,
        all => all,
    };
    Ok(Some(parts.join(".").into()))
}
