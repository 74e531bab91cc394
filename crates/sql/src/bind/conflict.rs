//! What follows INSERT's source: ON CONFLICT and RETURNING.

use std::sync::Arc;

use syntax::ast::{self, ConflictAction, ConflictTarget, IndexKey};

use crate::catalog::TableDef;
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::Oid;

use super::dml::live_columns;
use super::query::{ConflictUpdate, OnConflict, RelKind, Target};
use super::{Binder, ExprKind, at};

impl Binder<'_, '_> {
    #[allow(clippy::type_complexity, reason = "the two optional clauses after the source")]
    pub(super) fn insert_tail(
        &mut self,
        insert: &ast::Insert,
        table: &Arc<TableDef>,
    ) -> Result<(Option<OnConflict>, Vec<Target>)> {
        self.enter_target(table, insert.alias.as_deref());
        let returning = self.returning(&insert.returning)?;
        let Some(clause) = &insert.on_conflict else { return Ok((None, returning)) };
        let arbiters = match &clause.target {
            None => Vec::new(),
            Some(ConflictTarget::Constraint(name, loc)) => {
                let index =
                    table.indexes.iter().find(|i| i.constraint.is_some() && i.name == *name);
                match index {
                    Some(index) => vec![index.oid],
                    None => {
                        return Err(at(
                            sql_error!(
                                UNDEFINED_OBJECT,
                                "constraint \"{name}\" for table \"{}\" does not exist",
                                table.name
                            ),
                            *loc,
                        ));
                    }
                }
            }
            Some(ConflictTarget::Infer { elements, .. }) => infer(table, elements)?,
        };
        let update = match &clause.action {
            ConflictAction::Nothing => None,
            ConflictAction::Update { sets, filter } => {
                if clause.target.is_none() {
                    return Err(at(
                        sql_error!(
                            SYNTAX_ERROR,
                            "ON CONFLICT DO UPDATE requires inference specification or constraint name"
                        )
                        .with_hint("For example, ON CONFLICT (column_name)."),
                        clause.loc,
                    ));
                }
                let mut excluded = self.target_rel(table, Some("excluded"));
                excluded.kind = RelKind::Excluded;
                let index = self.scope().add_rel(excluded);
                let item = self.scope().item_of(index, None);
                self.scope().items.push(item);
                let sets = self.assignments(table, sets)?;
                let filter = match filter {
                    Some(f) => Some(self.with_kind(ExprKind::Where, |b| b.condition(f, "WHERE"))?),
                    None => None,
                };
                Some(ConflictUpdate { sets, filter })
            }
        };
        Ok((Some(OnConflict { arbiters, update }), returning))
    }
}

/// The unique indexes whose keys are exactly the columns of an ON CONFLICT target.
fn infer(table: &TableDef, elements: &[ast::IndexElement]) -> Result<Vec<Oid>> {
    let mut wanted = Vec::with_capacity(elements.len());
    for element in elements {
        match &element.key {
            IndexKey::Column(name) => match live_columns(table).find(|(_, c)| c.name == *name) {
                Some((i, _)) => wanted.push(i),
                None => bail!(UNDEFINED_COLUMN, "column \"{name}\" does not exist"),
            },
            IndexKey::Expr(_) => {
                return Err(SqlError::unsupported(
                    "ON CONFLICT on an expression is not supported yet",
                ));
            }
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    let found: Vec<Oid> = table
        .indexes
        .iter()
        .filter(|index| {
            if !index.unique || index.predicate.is_some() {
                return false;
            }
            let mut keys: Vec<u16> = Vec::new();
            for key in index.key_columns() {
                match key {
                    Some(column) => keys.push(column),
                    None => return false,
                }
            }
            keys.sort_unstable();
            keys == wanted
        })
        .map(|index| index.oid)
        .collect();
    if found.is_empty() {
        bail!(
            INVALID_COLUMN_REFERENCE,
            "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        );
    }
    Ok(found)
}
