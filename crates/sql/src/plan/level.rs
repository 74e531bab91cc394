//! One query level while it is planned, and where its columns are in a node's row.

use crate::bind::query::RelColumn;
use crate::bind::tree::{Column, Expr, Slot, Ty, Var};

use super::cte::PlannedCte;

/// One query level.
#[derive(Default)]
pub(super) struct Level {
    /// Exec slots that the enclosing query must set before this one runs, with the expression to
    /// set each to, in the enclosing query's terms.
    pub correlation: Vec<(u16, Expr)>,
    pub ctes: Vec<PlannedCte>,
    /// The range table's columns, for whole-row references.
    pub columns: Vec<Vec<RelColumn>>,
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

    /// The slot for a column of this query level, if the row has it.
    pub fn slot(&self, var: &Var) -> Option<Expr> {
        let slot = self.find(var.rel, var.column)?;
        Some(Expr::Slot(Slot { slot, ty: var.ty }))
    }
}
