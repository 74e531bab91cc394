//! INSERT, UPDATE, DELETE.

use pg_raw_parse::Node;
use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw;

use super::name::{name, opt_name, required_relation};
use super::{Lower, Lowered, loc, unexpected, unsupported};
use crate::ast::*;

impl Lower {
    pub(super) fn insert(&self, node: &pg::InsertStmt) -> Lowered<Insert> {
        Ok(Insert {
            with: self.with(node.with_clause())?,
            target: required_relation(node.relation())?,
            alias: target_alias(node.relation()),
            columns: self.each(node.cols(), |lower, column| match column {
                Node::ResTarget(column) => lower.column_target(column),
                other => unexpected("INSERT", other),
            })?,
            overriding: match node.override_ {
                raw::OverridingKind::OVERRIDING_USER_VALUE => Some(Overriding::UserValue),
                raw::OverridingKind::OVERRIDING_SYSTEM_VALUE => Some(Overriding::SystemValue),
                _ => None,
            },
            source: match node.select_stmt() {
                Node::None => InsertSource::DefaultValues,
                query => InsertSource::Query(Box::new(self.select_node(query)?)),
            },
            on_conflict: node.on_conflict_clause().map(|c| self.on_conflict(c)).transpose()?,
            returning: self.returning(node.returning_clause())?,
        })
    }

    pub(super) fn update(&self, node: &pg::UpdateStmt) -> Lowered<Update> {
        Ok(Update {
            with: self.with(node.with_clause())?,
            target: required_relation(node.relation())?,
            alias: target_alias(node.relation()),
            sets: self.assignments(node.target_list())?,
            from: self.sources(node.from_clause())?,
            filter: self.opt_expr(node.where_clause())?,
            returning: self.returning(node.returning_clause())?,
        })
    }

    pub(super) fn delete(&self, node: &pg::DeleteStmt) -> Lowered<Delete> {
        Ok(Delete {
            with: self.with(node.with_clause())?,
            target: required_relation(node.relation())?,
            alias: target_alias(node.relation()),
            using: self.sources(node.using_clause())?,
            filter: self.opt_expr(node.where_clause())?,
            returning: self.returning(node.returning_clause())?,
        })
    }

    fn returning(&self, node: Option<&pg::ReturningClause>) -> Lowered<Vec<Target>> {
        let Some(node) = node else { return Ok(Vec::new()) };
        if let Some(option) = node.options().first() {
            return unsupported("RETURNING WITH", loc(option.location));
        }
        self.targets(node.exprs())
    }

    fn column_target(&self, target: &pg::ResTarget) -> Lowered<ColumnTarget> {
        Ok(ColumnTarget {
            name: name(target.name())?,
            steps: self.indirection(target.indirection())?,
            loc: loc(target.location),
        })
    }

    /// `(a, b) = source` reaches us as one target per column, each pointing at the same source; the
    /// first brings it along.
    fn assignments(&self, list: &CastNodeList<pg::ResTarget>) -> Lowered<Vec<Assignment>> {
        let mut sets = Vec::with_capacity(list.len());
        for node in list {
            let target = self.column_target(node)?;
            let Node::MultiAssignRef(part) = node.val() else {
                sets.push(Assignment::One { target, value: self.expr(node.val())? });
                continue;
            };
            match sets.last_mut() {
                Some(Assignment::Many { targets, .. }) if part.colno > 1 => targets.push(target),
                _ => sets.push(Assignment::Many {
                    targets: vec![target],
                    source: self.expr(part.source())?,
                }),
            }
        }
        Ok(sets)
    }

    fn on_conflict(&self, node: &pg::OnConflictClause) -> Lowered<OnConflict> {
        let target = node.infer().map(|infer| self.conflict_target(infer)).transpose()?;
        let action = if node.action == raw::OnConflictAction::ONCONFLICT_UPDATE {
            ConflictAction::Update {
                sets: self.assignments(node.target_list())?,
                filter: self.opt_expr(node.where_clause())?,
            }
        } else {
            ConflictAction::Nothing
        };
        Ok(OnConflict { target, action, loc: loc(node.location) })
    }

    fn conflict_target(&self, infer: &pg::InferClause) -> Lowered<ConflictTarget> {
        let at = loc(infer.location);
        Ok(match infer.conname() {
            Some(name) => ConflictTarget::Constraint(name.into(), at),
            None => ConflictTarget::Infer {
                elements: self.index_elements(infer.index_elems())?,
                filter: self.opt_expr(infer.where_clause())?,
                loc: at,
            },
        })
    }

    pub(super) fn index_elements(&self, list: &NodeList) -> Lowered<Vec<IndexElement>> {
        self.each(list, |lower, element| match element {
            Node::IndexElem(element) => lower.index_element(element),
            other => unexpected("an index's columns", other),
        })
    }
}

fn target_alias(range: Option<&pg::RangeVar>) -> Option<Name> {
    opt_name(range.and_then(pg::RangeVar::alias).and_then(pg::Alias::aliasname))
}
