//! The executor: operators that run plan nodes, one row at a time.
//!
//! [`run`] makes an [`Operator`] for a [`Node`]. `next` moves it to its next row, `row` shows that row;
//! `rescan` starts it over, with whatever the exec slots hold by then; what does not hang on these, or on anything else
//! that may be other by then ([`crate::plan::rerun`]), is kept where that spares more than it costs. Operators own what
//! they keep (hash tables, sorted rows), so a cursor's operators can rest between two FETCHes.

mod aggregate;
mod bitmap_scan;
mod choice;
pub mod copy;
mod eval;
mod function;
mod group;
mod hash_join;
mod help;
mod index_only_scan;
mod index_scan;
mod join;
mod keep;
mod key_filter;
mod key_range;
mod limit;
mod load;
mod lock_rows;
mod modify;
mod pattern_scan;
mod point;
mod scan;
mod set;
mod set_op;
mod sort;
pub mod spill;
mod state;
mod waiting;
pub mod watch;
mod window;

pub use choice::choose;
pub use eval::{eval, eval_bool};
pub use help::{
    carry, columns_of, duplicate, index_key, index_values, key_text, must_be_alone, next_value_of,
};
pub use index_only_scan::covers;
pub use load::Loader;
pub use modify::foreign_key::Event;
pub(crate) use modify::index::{encode as encode_key, refused};
pub use modify::{Modify, PointBuffers, PointModify};
pub use point::{Lookup, PointKey};
pub use state::{Cx, Host, IndexExprs, State};
pub(crate) use waiting::waiting;

use state::breathe;

use crate::error::{Result, check_stack};
use crate::plan::node::Node;
use crate::types::Datum;

/// A running plan node.
pub trait Operator: Send {
    /// Moves to the next row; false at the end (and it may not be called again before a rescan).
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool>;
    /// The current row. Only after `next` said true.
    fn row(&self) -> &[Datum];
    /// Starts over.
    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()>;
    /// Starts over where nothing has changed that its rows depend on.
    fn repeat(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.rescan(cx)
    }
    /// How it got on with its memory, for EXPLAIN ANALYZE.
    fn usage(&self) -> Option<spill::Usage> {
        None
    }
}

/// An operator of any kind.
pub type Running = Box<dyn Operator>;

/// Makes the operators of a plan tree. Nothing is read before the first `next`.
pub fn run(node: &Node) -> Running {
    watch::watched(node, operator(node))
}

fn operator(node: &Node) -> Running {
    // Making operators can't fail; running this one does.
    if check_stack().is_err() {
        return Box::new(TooDeep);
    }
    match node {
        Node::OneRow(filter) => boxed(|| scan::OneRow::new(filter.clone())),
        Node::Values(rows) => boxed(|| scan::Values::new(rows.clone())),
        Node::SeqScan(plan) => boxed(|| scan::SeqScan::new(plan.clone())),
        Node::IndexScan(plan) if plan.hangs_on_pattern() => {
            boxed(|| pattern_scan::PatternScan::new(plan.clone()))
        }
        Node::IndexScan(plan) if plan.only => {
            boxed(|| index_only_scan::IndexOnlyScan::new(plan.clone()))
        }
        Node::IndexScan(plan) => boxed(|| index_scan::IndexScan::new(plan.clone())),
        Node::BitmapHeapScan(plan) => boxed(|| bitmap_scan::BitmapHeapScan::new(plan.clone())),
        Node::Choice(plan) => boxed(|| choice::Choice::new(plan.clone())),
        Node::TidScan(plan) => boxed(|| scan::TidScan::new(plan.clone())),
        Node::FunctionScan(plan) => boxed(|| function::FunctionScan::new(plan.clone())),
        Node::CteScan(scan) => boxed(|| set::CteScan::new(scan)),
        Node::WorkScan(scan) => boxed(|| set::WorkScan::new(scan)),
        Node::Filter(plan) => boxed(|| scan::Filter::new(plan.clone())),
        Node::Gate(plan) => boxed(|| scan::Gate::new(plan.clone())),
        Node::Renew(plan) => boxed(|| set::Renew::new(plan.clone())),
        Node::Project(plan) => boxed(|| scan::Project::new(plan.clone())),
        Node::ProjectSet(plan) => boxed(|| function::ProjectSet::new(plan.clone())),
        Node::NestLoop(plan) => boxed(|| join::NestLoop::new(plan.clone())),
        Node::HashJoin(plan) => boxed(|| hash_join::HashJoin::new(plan.clone())),
        Node::Materialize(input) => boxed(|| keep::Materialize::new(input.clone())),
        Node::Sort(plan) => boxed(|| sort::Sort::new(plan.clone())),
        Node::Limit(plan) => boxed(|| limit::Limit::new(plan.clone())),
        Node::Unique(plan) => boxed(|| limit::Unique::new(plan.clone())),
        Node::Aggregate(plan) => {
            boxed(|| keep::Keeping::new(node.clone(), aggregate::Aggregate::new(plan.clone())))
        }
        Node::Window(plan) => boxed(|| window::Window::new(plan.clone())),
        Node::Append(inputs) => boxed(|| set::Append::new(inputs)),
        Node::SetOp(plan) => {
            boxed(|| keep::Keeping::new(node.clone(), set_op::SetOp::new(plan.clone())))
        }
        Node::RecursiveUnion(plan) => boxed(|| set::RecursiveUnion::new(plan.clone())),
        Node::LockRows(plan) => boxed(|| lock_rows::LockRows::new(plan.clone())),
        Node::Modify(plan) => boxed(|| modify::Modify::new(plan.clone())),
    }
}

/// Not inlined, so that [`operator`], which nested plans call as deep as they are, has a small frame of its own.
#[inline(never)]
fn boxed<O: Operator + 'static>(make: impl FnOnce() -> O) -> Running {
    Box::new(make())
}

/// In place of an operator that would have been made too close to the end of the stack.
struct TooDeep;

impl Operator for TooDeep {
    fn next(&mut self, _: &mut Cx<'_>) -> Result<bool> {
        Err(crate::error::too_deep())
    }

    fn row(&self) -> &[Datum] {
        &[]
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        Ok(())
    }
}
