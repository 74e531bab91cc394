//! What follows INSERT's source: ON CONFLICT and RETURNING.

use std::sync::Arc;

use syntax::ast::{self, ConflictAction, ConflictTarget, IndexKey};

use crate::catalog::opclass::{self, OpClass};
use crate::catalog::{AccessMethod, IndexDef, KeySource, TableDef};
use crate::error::{Result, bail, sql_error};
use crate::types::{Collation, Oid};

use super::dml::live_columns;
use super::query::{ConflictUpdate, OnConflict, RelKind, Target};
use super::tree::Expr;
use super::{Binder, ExprKind, at, walk};

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
        let (arbiters, target) = match &clause.target {
            None => Default::default(),
            Some(ConflictTarget::Constraint(name, loc)) => {
                let index =
                    table.indexes.iter().find(|i| i.constraint.is_some() && i.name == *name);
                match index {
                    Some(index) => (vec![index.oid], Vec::new()),
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
            Some(ConflictTarget::Infer { elements, filter, loc }) => {
                elements
                    .iter()
                    .try_for_each(|e| is_unordered(e).map_err(|error| at(error, *loc)))?;
                self.infer(table, elements, filter.as_ref())?
            }
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
        Ok((Some(OnConflict { arbiters, target, update }), returning))
    }

    /// The unique indexes whose keys are exactly those of an ON CONFLICT target, and whose condition, if
    /// they have one, follows from the target's; and what the target reads beside key columns.
    fn infer(
        &mut self,
        table: &Arc<TableDef>,
        elements: &[ast::IndexElement],
        filter: Option<&ast::Expr>,
    ) -> Result<(Vec<Oid>, Vec<Expr>)> {
        let mut columns: Vec<u16> = Vec::new();
        let mut exprs: Vec<Expr> = Vec::new();
        let mut traits: Vec<(Wanted, Trait)> = Vec::new();
        for element in elements {
            let wanted = match &element.key {
                IndexKey::Column(name) => {
                    match live_columns(table).find(|(_, c)| c.name == *name) {
                        Some((i, _)) => columns.push(i),
                        None => bail!(UNDEFINED_COLUMN, "column \"{name}\" does not exist"),
                    }
                    Wanted::Column(columns[columns.len() - 1])
                }
                IndexKey::Expr(expr) => {
                    exprs.push(self.with_kind(ExprKind::IndexExpr, |b| b.expr(expr))?);
                    Wanted::Expr(exprs.len() - 1)
                }
            };
            if let Some(name) = &element.opclass {
                let class = opclass::named(AccessMethod::BTree, name)?;
                traits.push((wanted, Trait::Class(class)));
            }
            if let Some(name) = &element.collation {
                let collation = self.collation_named(name)?.collation;
                traits.push((wanted, Trait::Collation(collation)));
            }
        }
        columns.sort_unstable();
        columns.dedup();
        let given = match filter {
            Some(f) => self
                .with_kind(ExprKind::IndexPredicate, |b| b.condition(f, "WHERE"))?
                .into_conjuncts(),
            None => Vec::new(),
        };
        let mut found = Vec::new();
        for index in table.indexes.iter().filter(|index| index.unique && index.valid) {
            if self.has_keys(table, index, &columns, &exprs)?
                && self.has_traits(table, index, &traits, &exprs)?
                && self.predicate_holds(table, index, &given)?
            {
                found.push(index.oid);
            }
        }
        if found.is_empty() {
            bail!(
                INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification"
            );
        }
        Ok((found, exprs.into_iter().chain(given).collect()))
    }

    fn has_keys(
        &mut self,
        table: &Arc<TableDef>,
        index: &IndexDef,
        columns: &[u16],
        exprs: &[Expr],
    ) -> Result<bool> {
        let mut own: Vec<u16> = index.key_columns().flatten().collect();
        own.sort_unstable();
        own.dedup();
        if own != columns {
            return Ok(false);
        }
        let mut keys = Vec::new();
        for key in &index.keys {
            if let KeySource::Expr(text) = &key.source {
                keys.push(self.table_expr(table, text, ExprKind::IndexExpr)?);
            }
        }
        Ok(keys.iter().all(|key| exprs.iter().any(|expr| walk::same(key, expr)))
            && exprs.iter().all(|expr| keys.iter().any(|key| walk::same(key, expr))))
    }

    /// Is there, for each operator class and each collation that the target names, a key with it, or with a like class?
    fn has_traits(
        &mut self,
        table: &Arc<TableDef>,
        index: &IndexDef,
        traits: &[(Wanted, Trait)],
        exprs: &[Expr],
    ) -> Result<bool> {
        for (wanted, of_key) in traits {
            let mut found = false;
            for key in &index.keys {
                let is_meant = match (&key.source, wanted) {
                    (KeySource::Column(column), Wanted::Column(wanted)) => column == wanted,
                    (KeySource::Expr(text), Wanted::Expr(at)) => {
                        let key = self.table_expr(table, text, ExprKind::IndexExpr)?;
                        walk::same(&key, &exprs[*at])
                    }
                    _ => false,
                };
                found |= is_meant
                    && match of_key {
                        Trait::Class(class) => opclass::by_oid(key.class).is_some_and(|own| {
                            (own.family, own.input) == (class.family, class.input)
                        }),
                        Trait::Collation(collation) => key.collation == *collation,
                    };
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn predicate_holds(
        &mut self,
        table: &Arc<TableDef>,
        index: &IndexDef,
        given: &[Expr],
    ) -> Result<bool> {
        let Some(text) = &index.predicate else { return Ok(true) };
        let predicate = self.table_expr(table, text, ExprKind::IndexPredicate)?;
        let predicate = self.condition_of(predicate, ExprKind::IndexPredicate)?;
        Ok(predicate.into_conjuncts().iter().all(|part| super::implied::follows(part, given)))
    }
}

/// What an ON CONFLICT target says of a key.
enum Trait {
    Class(&'static OpClass),
    Collation(Collation),
}

/// A key that an ON CONFLICT target names.
#[derive(Clone, Copy)]
enum Wanted {
    Column(u16),
    /// By its place among the target's expressions.
    Expr(usize),
}

/// `42P10` for an order, of which a conflict knows nothing.
fn is_unordered(element: &ast::IndexElement) -> Result<()> {
    let what = if element.order != ast::IndexOrder::Default {
        "ASC/DESC"
    } else if element.nulls != ast::SortNulls::Default {
        "NULLS FIRST/LAST"
    } else {
        return Ok(());
    };
    bail!(INVALID_COLUMN_REFERENCE, "{what} is not allowed in ON CONFLICT clause")
}
