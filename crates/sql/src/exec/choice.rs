//! Which of several ways a table is read, by the values that the statement runs with.

use std::sync::Arc;

use base::ids::Fork;

use crate::bind::tree::{Column, Expr};
use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
use crate::plan::cost::Heap;
use crate::plan::node;
use crate::plan::path::Facts;
use crate::plan::values::{filled_in, rows_wanted};
use crate::types::Datum;

use super::eval::eval;
use super::{Cx, Operator, Running, spill};

/// The way that was chosen when the scan was started.
pub struct Choice {
    plan: Arc<node::Choice>,
    chosen: Option<Running>,
}

impl Choice {
    pub fn new(plan: Arc<node::Choice>) -> Choice {
        Choice { plan, chosen: None }
    }
}

/// The best of the ways by what is known now.
pub fn choose(plan: &node::Choice, cx: &mut Cx<'_>) -> Result<usize> {
    let mut value = |expr: &Expr| eval(expr, &[], cx);
    let conditions: Vec<Expr> =
        plan.conditions.iter().map(|condition| filled_in(condition, &mut value)).collect();
    let wanted = plan.wanted.as_ref().and_then(|top| {
        let count = filled_in(&top.count, &mut value);
        let offset = top.offset.as_ref().map(|offset| filled_in(offset, &mut value));
        rows_wanted(&node::Top { count, offset })
    });
    let wanted = wanted.or(plan.guessed);
    let blocks = cx.host.heap(&plan.table)?.relation().blocks(Fork::Main)?;
    let host = &*cx.host;
    let pages = |index: &IndexDef| {
        let blocks = host.tree(index).map(|tree| tree.relation().blocks(Fork::Main));
        f64::from(blocks.ok().and_then(std::result::Result::ok).unwrap_or(0))
    };
    let columns = |expr: &Expr| column_of(expr, plan);
    let facts = Facts {
        settings: &plan.settings,
        table: &plan.table,
        heap: Heap::of(&plan.table, blocks),
        index_pages: &pages,
        conditions: &conditions,
        columns: &columns,
        ordered: plan.ordered,
        wanted,
    };
    Ok(facts.best(plan.ways.iter().map(|(path, _)| path)))
}

/// The table's column that a slot of the scan holds.
fn column_of<'p>(expr: &Expr, plan: &'p node::Choice) -> Option<(&'p TableDef, u16)> {
    let Expr::Slot(slot) = expr else { return None };
    match plan.outputs.get(usize::from(slot.slot))?.column {
        Column::User(column) => Some((&plan.table, column)),
        _ => None,
    }
}

impl Operator for Choice {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let mut chosen = match self.chosen.take() {
            Some(chosen) => chosen,
            None => {
                let at = choose(&self.plan, cx)?;
                cx.run(&self.plan.ways[at].1)
            }
        };
        let found = chosen.next(cx);
        self.chosen = Some(chosen);
        found
    }

    fn row(&self) -> &[Datum] {
        self.chosen.as_ref().expect("a row was found").row()
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        match &mut self.chosen {
            Some(chosen) => chosen.rescan(cx),
            None => Ok(()),
        }
    }

    fn usage(&self) -> Option<spill::Usage> {
        self.chosen.as_ref().and_then(|chosen| chosen.usage())
    }
}
