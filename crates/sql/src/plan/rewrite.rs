//! Expressions over a node's row: columns become slots, outer columns exec slots, sub-selects
//! sub-plans.

use crate::bind::tree::{AggCall, ArgList, Case, Column, Expr, IsNull, Slot, Ty, Var};
use crate::bind::walk;
use crate::error::{Result, SqlError, check_stack};
use crate::types::TypeId;

use super::Planner;
use super::group::is_one_value;
use super::level::Layout;

/// What is computed below the node at hand, beyond plain columns.
#[derive(Default)]
pub(super) struct Below<'a> {
    pub layout: Option<&'a Layout>,
    /// Whole expressions that are in the row already, with their slots: grouping keys,
    /// aggregates.
    pub computed: &'a [(Expr, Slot)],
    /// Columns that are in no row, but given.
    pub given: &'a [(Var, Expr)],
    /// Slots of window calls, in the order in which the calls are met.
    pub windows: Option<&'a [Slot]>,
    pub next_window: usize,
}

impl<'a> Below<'a> {
    pub fn row(layout: &'a Layout) -> Below<'a> {
        Below { layout: Some(layout), ..Below::default() }
    }

    /// Nothing: expressions evaluated over no row.
    pub fn nothing() -> Below<'a> {
        Below::default()
    }

    pub fn computed(computed: &'a [(Expr, Slot)]) -> Below<'a> {
        Below { computed, ..Below::default() }
    }

    /// Where the row has the expression's value, if it was computed before.
    fn slot_of(&self, expr: &Expr) -> Option<Slot> {
        let found = self.computed.iter().find(|(known, _)| is_one_value(known, expr));
        found.map(|(_, slot)| *slot)
    }
}

impl Planner {
    /// The expression over the row that `below` describes.
    pub(super) fn rewrite(&mut self, expr: &Expr, below: &mut Below<'_>) -> Result<Expr> {
        // A constant is a key of groups only where it stands alone.
        if let Expr::Const(_) = expr
            && let Some(slot) = below.slot_of(expr)
        {
            return Ok(Expr::Slot(slot));
        }
        let mut out = expr.clone();
        self.rewrite_in_place(&mut out, below)?;
        Ok(out)
    }

    pub(super) fn rewrite_all(
        &mut self,
        exprs: &[Expr],
        below: &mut Below<'_>,
    ) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.rewrite(expr, below)).collect()
    }

    fn rewrite_in_place(&mut self, expr: &mut Expr, below: &mut Below<'_>) -> Result<()> {
        check_stack()?;
        if !matches!(expr, Expr::Const(_))
            && let Some(slot) = below.slot_of(expr)
        {
            *expr = Expr::Slot(slot);
            return Ok(());
        }
        match expr {
            Expr::Var(var) if var.level > 0 => {
                let outer = Expr::Var(Var { level: var.level - 1, ..*var });
                *expr = self.outer(outer, var.ty);
                return Ok(());
            }
            Expr::Var(var) => {
                let var = *var;
                *expr = self.column(&var, below)?;
                return Ok(());
            }
            Expr::Aggregate(agg) if agg.level > 0 => {
                let ty = agg.ty;
                let outer = lower_aggregate(agg);
                *expr = self.outer(outer, ty);
                return Ok(());
            }
            Expr::Grouping(grouping) if grouping.level > 0 => {
                let outer = lower(expr);
                *expr = self.outer(outer, Ty::INT4);
                return Ok(());
            }
            Expr::Aggregate(_) | Expr::Grouping(_) => {
                return Err(SqlError::internal("an aggregate outside of a grouped query"));
            }
            Expr::Window(_) => {
                let slots = below.windows.unwrap_or(&[]);
                let Some(slot) = slots.get(below.next_window) else {
                    return Err(SqlError::internal("a window call without a window"));
                };
                below.next_window += 1;
                *expr = Expr::Slot(*slot);
                return Ok(());
            }
            Expr::SubLink(link) => {
                let link = link.clone();
                *expr = self.sublink(&link, below)?;
                return Ok(());
            }
            _ => {}
        }
        let mut result = Ok(());
        walk::each_child_mut(expr, &mut |child| {
            if result.is_ok() {
                result = self.rewrite_in_place(child, below);
            }
        });
        if let Expr::ArrayOp(op) = expr {
            self.hash_list(op);
        }
        result
    }

    fn column(&mut self, var: &Var, below: &mut Below<'_>) -> Result<Expr> {
        if let Some((_, value)) = below.given.iter().find(|(known, _)| known.same(var)) {
            return Ok(value.clone());
        }
        if let Some(layout) = below.layout {
            if let Some(slot) = layout.slot(var) {
                return Ok(slot);
            }
            if var.column == Column::Whole {
                let parts = self.whole_row(var);
                let args = self.rewrite_all(&parts, below)?;
                let ty = Ty::of(TypeId::RECORD);
                let row = Expr::Row(Box::new(ArgList { args, ty }));
                let marker = layout.find(var.rel, Column::Ctid);
                return Ok(match marker.filter(|_| self.level().nullable.contains(&var.rel)) {
                    Some(slot) => unless_null(Slot { slot, ty: Ty::of(TypeId::TID) }, row),
                    None => row,
                });
            }
        }
        if var.column == Column::Whole && !below.computed.is_empty() {
            let parts = self.whole_row(var);
            let args = self.rewrite_all(&parts, below)?;
            return Ok(Expr::Row(Box::new(ArgList { args, ty: Ty::of(TypeId::RECORD) })));
        }
        Err(SqlError::internal(format!(
            "column {:?} of entry {} is not in the row",
            var.column, var.rel
        )))
    }

    /// The columns that a whole-row reference stands for.
    pub(super) fn whole_row(&self, var: &Var) -> Vec<Expr> {
        let level = self.levels.last().expect("planning happens inside a level");
        let columns = level.columns[usize::from(var.rel)].iter().enumerate();
        columns
            .filter(|(_, column)| !column.dropped)
            .map(|(i, column)| {
                let (ty, collation) = (column.ty, column.collation);
                Expr::Var(Var { column: Column::User(i as u16), ty, collation, ..*var })
            })
            .collect()
    }

    /// A value of the enclosing query: an exec slot that it sets.
    fn outer(&mut self, expr: Expr, ty: Ty) -> Expr {
        let known = self.level().correlation.iter().find(|(_, e)| walk::same(e, &expr));
        let slot = match known {
            Some((slot, _)) => *slot,
            None => {
                let slot = self.new_exec_slot();
                self.level().correlation.push((slot, expr));
                slot
            }
        };
        Expr::Exec(Slot { slot, ty })
    }

    /// Sorts a sub-query's correlation: what this level's rows provide stays with the caller, what
    /// comes from further out becomes this level's own correlation, in the same exec slot.
    pub(super) fn split_correlation(&mut self, entries: Vec<(u16, Expr)>) -> Vec<(u16, Expr)> {
        let mut own = Vec::new();
        for (slot, expr) in entries {
            let mut outer_only = true;
            let mut has_any = false;
            walk::each_var(&expr, 0, &mut |var, depth| {
                has_any = true;
                outer_only &= var.level > depth;
            });
            if let Expr::Aggregate(agg) = &expr {
                has_any = true;
                outer_only = agg.level > 0;
            }
            if has_any && outer_only {
                let lowered = lower(&expr);
                self.level().correlation.push((slot, lowered));
            } else {
                own.push((slot, expr));
            }
        }
        own
    }
}

/// A row, or null where an outer join has none.
fn unless_null(marker: Slot, row: Expr) -> Expr {
    let is_null = IsNull { arg: Expr::Slot(marker), negated: false, row: false };
    let ty = row.ty();
    let whens = vec![(Expr::IsNull(Box::new(is_null)), Expr::null(ty))];
    Expr::Case(Box::new(Case { arg: None, whens, default: Some(row), ty }))
}

/// The expression as seen one query further out.
fn lower(expr: &Expr) -> Expr {
    walk::moved_out(expr.clone(), 1)
}

fn lower_aggregate(agg: &AggCall) -> Expr {
    lower(&Expr::Aggregate(Box::new(agg.clone())))
}
