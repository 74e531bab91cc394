//! One query level while it is planned, and where its columns are in a node's row.

use crate::bind::query::{JoinKind, JoinTree, Query, RelColumn};
use crate::bind::tree::{Column, Expr, Slot, Ty, Var};
use crate::bind::walk;

use super::cte::PlannedCte;
use super::join::rels_in;

/// One query level.
#[derive(Default)]
pub(super) struct Level {
    /// Exec slots that the enclosing query must set before this one runs, with the expression to
    /// set each to, in the enclosing query's terms.
    pub correlation: Vec<(u16, Expr)>,
    pub ctes: Vec<PlannedCte>,
    pub cte_names: Vec<Box<str>>,
    /// Those whose rows are others each time this level's query is run.
    pub renewed: Vec<u16>,
    /// The range table's columns, for whole-row references.
    pub columns: Vec<Vec<RelColumn>>,
    /// Entries of which an outer join may give no row.
    pub nullable: Vec<u16>,
    /// The joins whose inner side, of several entries, is being planned and may refer to the outer row.
    pub laterals: Vec<Lateral>,
}

/// A join's outer row, for references from anywhere on its inner side.
pub(super) struct Lateral {
    pub layout: Layout,
    /// The exec slots to set for each row.
    pub parameters: Vec<(u16, Expr)>,
}

/// Entries of which an outer join may give no row. There their whole row is null, not a row of nulls, which whether
/// [`Column::Ctid`] is null tells: entries that are no tables have a constant under that name.
pub(super) fn nullable(query: &Query) -> Vec<u16> {
    let mut found = Vec::new();
    query.from.iter().for_each(|tree| add_nullable(tree, &mut found));
    found
}

fn add_nullable(tree: &JoinTree, found: &mut Vec<u16>) {
    let JoinTree::Join(join) = tree else { return };
    if matches!(join.kind, JoinKind::Right | JoinKind::Full) {
        found.extend(rels_in(&join.left));
    }
    if matches!(join.kind, JoinKind::Left | JoinKind::Full) {
        found.extend(rels_in(&join.right));
    }
    add_nullable(&join.left, found);
    add_nullable(&join.right, found);
}

/// Which slot of a node's row holds which column.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub slots: Vec<(u16, Column, Ty)>,
}

impl Layout {
    pub fn width(&self) -> u16 {
        self.slots.len() as u16
    }

    pub fn find(&self, rel: u16, column: Column) -> Option<u16> {
        self.slots.iter().position(|(r, c, _)| *r == rel && *c == column).map(|i| i as u16)
    }

    /// The row of a join: the left one's slots, then the right one's.
    pub fn join(&self, right: &Layout) -> Layout {
        Layout { slots: self.slots.iter().chain(&right.slots).copied().collect() }
    }

    /// Has the row all columns of this query level that the expression uses?
    pub fn covers(&self, expr: &Expr) -> bool {
        let mut all = true;
        walk::each_var(expr, 0, &mut |var, depth| {
            let has = |(rel, column, _): &(u16, Column, Ty)| {
                *rel == var.rel && (*column == var.column || var.column == Column::Whole)
            };
            all &= var.level != depth || self.slots.iter().any(has);
        });
        all
    }

    /// The slot for a column of this query level, if the row has it.
    pub fn slot(&self, var: &Var) -> Option<Expr> {
        let slot = self.find(var.rel, var.column)?;
        Some(Expr::Slot(Slot { slot, ty: var.ty }))
    }
}
