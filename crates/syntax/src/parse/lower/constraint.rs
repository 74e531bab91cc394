//! Constraints, and the words after a column constraint that belong to it.

use pg_raw_parse::Node;
use pg_raw_parse::list::NodeList;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::ConstrType;

use super::name::{name, operator, opt_name, required_relation, strings};
use super::{Lower, Lowered, loc, missing, unexpected};
use crate::ast::*;
use crate::parse::SyntaxError;

impl Lower {
    /// A column's constraints. The grammar returns `DEFERRABLE`, `INITIALLY DEFERRED` and the like
    /// as list entries of their own; each belongs to the constraint before it.
    pub(super) fn column_constraints(&self, list: &NodeList) -> Lowered<Vec<Constraint>> {
        let mut constraints: Vec<Constraint> = Vec::new();
        let mut seen = SeenAttributes::default();
        for node in list {
            let Node::Constraint(node) = node else {
                return unexpected("a column's constraints", node);
            };
            if is_attribute(node.contype) {
                seen.apply(constraints.last_mut(), node)?;
            } else {
                constraints.push(self.constraint(node)?);
                seen = SeenAttributes::default();
            }
        }
        Ok(constraints)
    }

    pub(super) fn constraint(&self, node: &pg::Constraint) -> Lowered<Constraint> {
        Ok(Constraint {
            name: opt_name(node.conname()),
            kind: self.constraint_kind(node)?,
            deferrable: node.deferrable,
            initially_deferred: node.initdeferred,
            not_valid: node.skip_validation,
            no_inherit: node.is_no_inherit,
            // Only CHECK and FOREIGN KEY start out as enforced; the flag means nothing elsewhere.
            not_enforced: matches!(
                node.contype,
                ConstrType::CONSTR_CHECK | ConstrType::CONSTR_FOREIGN
            ) && !node.is_enforced,
            loc: loc(node.location),
        })
    }

    fn constraint_kind(&self, node: &pg::Constraint) -> Lowered<ConstraintKind> {
        Ok(match node.contype {
            ConstrType::CONSTR_NULL => ConstraintKind::Null,
            ConstrType::CONSTR_NOTNULL => {
                ConstraintKind::NotNull { column: strings(node.keys())?.into_iter().next() }
            }
            ConstrType::CONSTR_DEFAULT => ConstraintKind::Default(self.expr(node.raw_expr())?),
            ConstrType::CONSTR_CHECK => ConstraintKind::Check(self.expr(node.raw_expr())?),
            ConstrType::CONSTR_IDENTITY => ConstraintKind::Identity {
                always: node.generated_when as u8 == b'a',
                options: self.sequence_options(node.options())?,
            },
            ConstrType::CONSTR_GENERATED => ConstraintKind::Generated {
                expr: self.expr(node.raw_expr())?,
                stored: node.generated_kind as u8 == b's',
            },
            ConstrType::CONSTR_PRIMARY => {
                ConstraintKind::PrimaryKey(Box::new(self.index_constraint(node)?))
            }
            ConstrType::CONSTR_UNIQUE => {
                ConstraintKind::Unique(Box::new(self.index_constraint(node)?))
            }
            ConstrType::CONSTR_EXCLUSION => {
                ConstraintKind::Exclude(Box::new(self.exclusion(node)?))
            }
            ConstrType::CONSTR_FOREIGN => ConstraintKind::ForeignKey(Box::new(foreign_key(node)?)),
            _ => return unexpected("a constraint", Node::Constraint(node)),
        })
    }

    fn index_constraint(&self, node: &pg::Constraint) -> Lowered<IndexConstraint> {
        Ok(IndexConstraint {
            columns: strings(node.keys())?,
            including: strings(node.including())?,
            nulls_not_distinct: node.nulls_not_distinct,
            without_overlaps: node.without_overlaps,
            options: self.options(node.options())?,
            using_index: opt_name(node.indexname()),
            tablespace: opt_name(node.indexspace()),
        })
    }

    fn exclusion(&self, node: &pg::Constraint) -> Lowered<Exclusion> {
        let elements = self.each(node.exclusions(), |lower, pair| {
            let Node::NodeList(pair) = pair else { return unexpected("EXCLUDE", pair) };
            match (pair.get(0), pair.get(1)) {
                (Some(Node::IndexElem(element)), Some(Node::NodeList(op))) => {
                    Ok((lower.index_element(element)?, operator(op, -1)?))
                }
                _ => Err(missing("exclusion element")),
            }
        })?;
        Ok(Exclusion {
            access_method: name(node.access_method().or(Some("gist")))?,
            elements,
            including: strings(node.including())?,
            filter: self.opt_expr(node.where_clause())?,
            options: self.options(node.options())?,
            tablespace: opt_name(node.indexspace()),
        })
    }
}

fn foreign_key(node: &pg::Constraint) -> Lowered<ForeignKey> {
    Ok(ForeignKey {
        columns: strings(node.fk_attrs())?,
        referenced: required_relation(node.pktable())?,
        referenced_columns: strings(node.pk_attrs())?,
        matching: match node.fk_matchtype as u8 {
            b'f' => ForeignKeyMatch::Full,
            b'p' => ForeignKeyMatch::Partial,
            _ => ForeignKeyMatch::Simple,
        },
        on_update: action(node.fk_upd_action as u8),
        on_delete: action(node.fk_del_action as u8),
        on_delete_columns: strings(node.fk_del_set_cols())?,
        with_period: node.fk_with_period,
    })
}

fn action(code: u8) -> ForeignKeyAction {
    match code {
        b'r' => ForeignKeyAction::Restrict,
        b'c' => ForeignKeyAction::Cascade,
        b'n' => ForeignKeyAction::SetNull,
        b'd' => ForeignKeyAction::SetDefault,
        _ => ForeignKeyAction::NoAction,
    }
}

fn is_attribute(contype: ConstrType::Type) -> bool {
    (ConstrType::CONSTR_ATTR_DEFERRABLE..=ConstrType::CONSTR_ATTR_NOT_ENFORCED).contains(&contype)
}

/// Which attribute words the current column constraint already has.
#[derive(Default)]
struct SeenAttributes {
    deferrability: bool,
    initially: bool,
    enforced: bool,
}

impl SeenAttributes {
    fn apply(&mut self, target: Option<&mut Constraint>, node: &pg::Constraint) -> Lowered<()> {
        let fail =
            |message: String| Err(Box::new(SyntaxError::syntax(message, loc(node.location))));
        let (word, seen) = match node.contype {
            ConstrType::CONSTR_ATTR_DEFERRABLE => ("DEFERRABLE", &mut self.deferrability),
            ConstrType::CONSTR_ATTR_NOT_DEFERRABLE => ("NOT DEFERRABLE", &mut self.deferrability),
            ConstrType::CONSTR_ATTR_DEFERRED => ("INITIALLY DEFERRED", &mut self.initially),
            ConstrType::CONSTR_ATTR_IMMEDIATE => ("INITIALLY IMMEDIATE", &mut self.initially),
            ConstrType::CONSTR_ATTR_ENFORCED => ("ENFORCED", &mut self.enforced),
            _ => ("NOT ENFORCED", &mut self.enforced),
        };
        let enforcement = word.ends_with("ENFORCED");
        let Some(target) = target.filter(|target| takes_attribute(&target.kind, enforcement))
        else {
            return fail(format!("misplaced {word} clause"));
        };
        if std::mem::replace(seen, true) {
            let pair = match word {
                "DEFERRABLE" | "NOT DEFERRABLE" => "DEFERRABLE/NOT DEFERRABLE",
                "INITIALLY DEFERRED" | "INITIALLY IMMEDIATE" => "INITIALLY IMMEDIATE/DEFERRED",
                _ => "ENFORCED/NOT ENFORCED",
            };
            return fail(format!("multiple {pair} clauses not allowed"));
        }
        match word {
            "DEFERRABLE" => target.deferrable = true,
            "NOT DEFERRABLE" => target.deferrable = false,
            "INITIALLY DEFERRED" => {
                target.initially_deferred = true;
                // Deferred implies deferrable unless the text says otherwise.
                target.deferrable |= !self.deferrability;
            }
            "INITIALLY IMMEDIATE" => target.initially_deferred = false,
            _ => target.not_enforced = word == "NOT ENFORCED",
        }
        if target.initially_deferred && !target.deferrable {
            let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            return fail(message.to_string());
        }
        Ok(())
    }
}

fn takes_attribute(kind: &ConstraintKind, enforcement: bool) -> bool {
    match kind {
        ConstraintKind::ForeignKey(_) => true,
        ConstraintKind::Check(_) => enforcement,
        ConstraintKind::PrimaryKey(_) | ConstraintKind::Unique(_) | ConstraintKind::Exclude(_) => {
            !enforcement
        }
        _ => false,
    }
}
