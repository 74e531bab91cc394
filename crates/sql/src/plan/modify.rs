//! INSERT, UPDATE, DELETE.

use std::borrow::Cow;
use std::sync::Arc;

use crate::bind::query::{ConflictUpdate, Modify, ModifyAction, RelColumn, RelKind};
use crate::bind::tree::{Column, Expr, Ty, Var};
use crate::bind::walk;
use crate::catalog::TableDef;
use crate::error::{Result, SqlError};
use crate::types::TypeId;

use super::access::QueryCx;
use super::level::{Layout, Level};
use super::node::{self, ConflictPlan, Node, TargetRow};
use super::pull_up::simplified_change;
use super::query::refresh;
use super::rewrite::Below;
use super::{Planner, members};

impl Planner {
    pub(super) fn modify(&mut self, modify: &Modify) -> Result<Node> {
        let depth = self.levels.len();
        let planned = match &modify.action {
            ModifyAction::Insert { on_conflict, .. } => {
                let conflict = on_conflict.as_ref();
                self.insert(modify, conflict)
            }
            ModifyAction::Update { .. } | ModifyAction::Delete => self.change(modify),
        };
        self.levels.truncate(depth);
        planned
    }

    fn insert(
        &mut self,
        modify: &Modify,
        conflict: Option<&crate::bind::query::OnConflict>,
    ) -> Result<Node> {
        let table = &modify.table;
        // The query's level stays below that of the rest, for what WITH names in it.
        let input = self.query(&modify.query)?;
        // What follows sees the target as entry 0 and the proposed row as entry 1.
        let columns = RelColumn::all_of(table);
        self.levels.push(Level { columns: vec![columns.clone(), columns], ..Level::default() });
        let update = conflict.and_then(|clause| clause.update.as_ref());
        let asking = update.into_iter().flat_map(|update| {
            update.sets.iter().map(|(_, expr)| expr).chain(update.filter.as_ref())
        });
        let system = system_columns(asking.chain(returned(modify)), 0);
        let own = table_layout(table, 0);
        let shown = own.join(&system_layout(&system, 0));
        let returning = self.returning(modify, &shown)?;
        let on_conflict = match conflict {
            None => None,
            Some(clause) => {
                let both = shown.join(&table_layout(table, 1));
                let update = match &clause.update {
                    None => None,
                    Some(update) => {
                        let sets = self.sets(&update.sets, &both)?;
                        let filter = match &update.filter {
                            Some(f) => Some(self.rewrite(f, &mut Below::row(&both))?),
                            None => None,
                        };
                        Some(ConflictUpdate { sets, filter })
                    }
                };
                Some(ConflictPlan { arbiters: ConflictPlan::arbiters_of(table, clause), update })
            }
        };
        Ok(Node::Modify(Arc::new(node::Modify {
            table: table.clone(),
            input,
            action: node::ModifyAction::Insert { on_conflict },
            checks: self.checks(modify, &own)?,
            generated: self.sets(&modify.generated, &own)?,
            system,
            returning,
        })))
    }

    fn change(&mut self, modify: &Modify) -> Result<Node> {
        let modify = &*simplified_change(modify);
        let sets = match &modify.action {
            ModifyAction::Update { sets } => Some(sets),
            _ => None,
        };
        let table = &modify.table;
        let query = &*members::joined(Cow::Borrowed(&modify.query), &self.indexes);
        self.enter(query)?;
        let mut cx = QueryCx::new(query, &self.indexes);
        cx.need(modify.rel, Column::Ctid, Ty::of(TypeId::TID));
        // What is assigned, returned and kept must be in the joined row.
        let outside = sets.into_iter().flatten().map(|(_, expr)| expr);
        let mut wanted = Vec::new();
        each_own_var(outside, |var| wanted.push((var.rel, var.column, var.ty)));
        // RETURNING's system columns of the target are those of the new version.
        let system = system_columns(returned(modify), modify.rel);
        each_own_var(returned(modify), |var| {
            if var.rel != modify.rel || !var.column.is_system() {
                wanted.push((var.rel, var.column, var.ty));
            }
        });
        for (rel, column, ty) in wanted {
            cx.need(rel, column, ty);
        }
        if !matches!(query.rels[usize::from(modify.rel)].kind, RelKind::Table(_)) {
            return Err(SqlError::internal("the target of a change is a table"));
        }
        let planned = self.rows(&cx, None)?;
        let layout = planned.layout;
        let target = TargetRow {
            ctid: layout.find(modify.rel, Column::Ctid).expect("asked for above"),
            refresh: refresh(&layout, modify.rel),
            recheck: self.recheck(query, &layout)?,
        };
        let action = match sets {
            Some(sets) => node::ModifyAction::Update { target, sets: self.sets(sets, &layout)? },
            None => node::ModifyAction::Delete { target },
        };
        let own = table_layout(table, modify.rel).join(&system_layout(&system, modify.rel));
        let returning = self.returning(modify, &own.join(&layout))?;
        Ok(Node::Modify(Arc::new(node::Modify {
            table: table.clone(),
            input: planned.node,
            action,
            checks: self.checks(modify, &table_layout(table, 0))?,
            generated: self.sets(&modify.generated, &table_layout(table, 0))?,
            system,
            returning,
        })))
    }

    fn sets(&mut self, sets: &[(u16, Expr)], layout: &Layout) -> Result<Vec<(u16, Expr)>> {
        sets.iter()
            .map(|(column, expr)| Ok((*column, self.rewrite(expr, &mut Below::row(layout))?)))
            .collect()
    }

    fn returning(&mut self, modify: &Modify, layout: &Layout) -> Result<Option<Vec<Expr>>> {
        if modify.returning.is_empty() {
            return Ok(None);
        }
        let mut exprs = Vec::with_capacity(modify.returning.len());
        for target in &modify.returning {
            exprs.push(self.rewrite(&target.expr, &mut Below::row(layout))?);
        }
        Ok(Some(exprs))
    }

    fn checks(&mut self, modify: &Modify, own: &Layout) -> Result<Vec<(Box<str>, Expr)>> {
        modify
            .checks
            .iter()
            .map(|(name, expr)| Ok((name.clone(), self.rewrite(expr, &mut Below::row(own))?)))
            .collect()
    }
}

/// All columns of a table, in order, as those of entry `rel`.
pub(super) fn table_layout(table: &TableDef, rel: u16) -> Layout {
    let columns = table.columns.iter().enumerate();
    Layout { slots: columns.map(|(i, c)| (rel, Column::User(i as u16), c.ty)).collect() }
}

fn returned(modify: &Modify) -> impl Iterator<Item = &Expr> {
    modify.returning.iter().map(|target| &target.expr)
}

/// The variables of the statement's own level.
fn each_own_var<'e>(exprs: impl Iterator<Item = &'e Expr>, mut f: impl FnMut(&Var)) {
    for expr in exprs {
        walk::each_var(expr, 0, &mut |var, depth| {
            if var.level == depth {
                f(var);
            }
        });
    }
}

/// The system columns of entry `rel` that the expressions use.
fn system_columns<'e>(exprs: impl Iterator<Item = &'e Expr>, rel: u16) -> Vec<Column> {
    let mut columns = Vec::new();
    each_own_var(exprs, |var| {
        if var.rel == rel && var.column.is_system() && !columns.contains(&var.column) {
            columns.push(var.column);
        }
    });
    columns
}

/// Their types are not looked at: a variable brings its own.
fn system_layout(columns: &[Column], rel: u16) -> Layout {
    let slots = columns.iter().map(|column| (rel, *column, Ty::of(TypeId::UNKNOWN)));
    Layout { slots: slots.collect() }
}
