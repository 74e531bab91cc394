//! Planner: from what a statement means to a tree of nodes that the executor runs.
//!
//! The README beside this file says which choices there are and how they are made.

pub mod cost;
pub mod node;
pub mod path;
pub mod rerun;
pub mod skip;
pub mod values;

mod access;
mod alternatives;
mod choose;
mod collate;
mod cte;
mod equal;
pub mod estimate;
mod extremes;
mod fit;
mod full_join;
pub mod gate;
mod group;
mod join;
mod keys;
mod level;
mod list;
mod members;
mod modify;
mod only;
mod ordered;
mod pull_up;
mod push_down;
mod quals;
mod query;
mod reduce;
mod rewrite;
mod semijoin;
mod setop;
mod sublink;
mod table;
mod target;
mod ways;
mod window;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::bind::Statement;
use crate::bind::query::RelColumn;
use crate::bind::tree::{Expr, Slot, SubPlan};
use crate::catalog::TableDef;
use crate::error::Result;
use crate::exec::IndexExprs;
use crate::types::Oid;

pub use alternatives::RANGES_MAX;
pub use cost::Settings;
pub use list::MEMBERS_MIN;
pub use node::Plan;

use cte::Read;
use level::Level;
use node::Node;

/// What the session knows of indexes beyond their definitions.
#[derive(Default)]
pub struct Indexes {
    /// Those that the statement's snapshots must not use.
    pub unusable: Vec<Oid>,
    /// Of those with expressions or a condition, what these are.
    pub exprs: Vec<(Oid, Arc<IndexExprs>)>,
    /// What the session has the planner go by.
    pub settings: Settings,
    /// Counts the blocks of a table and of its valid indexes. Only where ways to a table are weighed is that asked: a
    /// look-up by a unique key need not pay for it.
    pub measure: Option<Box<Measure>>,
    /// What was measured, by OID.
    pub measured: RefCell<Vec<(Oid, u32)>>,
    /// See [`Plan::by_constants`].
    pub by_constants: Cell<bool>,
}

/// See [`Indexes::measure`].
pub type Measure = dyn Fn(&TableDef) -> Result<Vec<(Oid, u32)>>;

impl Indexes {
    /// Measures the table and its indexes, unless that is done.
    fn measure(&self, table: &TableDef) -> Result<()> {
        if let Some(measure) = &self.measure
            && !self.measured.borrow().iter().any(|(of, _)| *of == table.oid)
        {
            let sizes = measure(table)?;
            self.measured.borrow_mut().extend(sizes);
        }
        Ok(())
    }

    /// The blocks of a table or an index that was measured; none, of one that was not.
    fn blocks(&self, oid: Oid) -> u32 {
        let measured = self.measured.borrow();
        let known = measured.iter().find(|(of, _)| *of == oid);
        known.map_or(0, |(_, blocks)| *blocks)
    }
}

/// Plans one bound statement.
pub fn plan(statement: &Statement, indexes: Indexes) -> Result<Plan> {
    let (indexes, lists) = (Rc::new(indexes), Some(0));
    let mut planner = Planner { indexes, lists, ..Planner::default() };
    let root = match statement {
        Statement::Query(query) => planner.top_query(query)?,
        Statement::Modify(modify) => planner.modify(modify)?,
    };
    Ok(Plan {
        root,
        exec_slots: planner.exec_slots,
        subplans: planner.subplans,
        lists: planner.lists.unwrap_or_default(),
        ctes: planner.ctes,
        cte_names: planner.cte_names,
        work_tables: planner.work_tables,
        by_constants: planner.indexes.by_constants.get(),
    })
}

/// An expression over one table's columns (entry 0) as one over its rows, columns being slots.
pub fn over_row(table: &TableDef, expr: &Expr) -> Result<Expr> {
    let mut planner = Planner::default();
    // A whole row is made of them.
    planner.levels.push(Level { columns: vec![RelColumn::all_of(table)], ..Level::default() });
    let layout = modify::table_layout(table, 0);
    planner.rewrite(expr, &mut rewrite::Below::row(&layout))
}

/// A column of a table's row.
pub fn column_slot(table: &TableDef, column: u16) -> Expr {
    Expr::Slot(Slot { slot: column, ty: table.columns[usize::from(column)].ty })
}

/// What is being counted while a statement is planned.
#[derive(Default)]
struct Planner {
    indexes: Rc<Indexes>,
    exec_slots: u16,
    subplans: u16,
    /// Hashed lists; an expression that is no plan's has no place to keep any.
    lists: Option<u16>,
    work_tables: u16,
    /// The references to rows that are others from time to time, in the order of planning.
    reads: Vec<Read>,
    ctes: Vec<Arc<Node>>,
    cte_names: Vec<Box<str>>,
    /// The query levels being planned, outermost first.
    levels: Vec<Level>,
    /// An EXISTS is planned that is hashed in the end: those within it need not be.
    plain_exists: bool,
    /// Sub-selects of which several take fields, by number.
    row_sources: Vec<(u32, SubPlan)>,
}

impl Planner {
    fn new_exec_slot(&mut self) -> u16 {
        self.exec_slots += 1;
        self.exec_slots - 1
    }

    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("planning happens inside a level")
    }

    /// The level that a reference `level` queries outwards means.
    fn depth_of(&self, level: u16) -> usize {
        self.levels.len() - 1 - usize::from(level)
    }
}
