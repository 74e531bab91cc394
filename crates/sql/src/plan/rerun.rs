//! What a node gives when it is started again within one execution. Its rows are others where they hang on what is set
//! outside of it: values of rows around it, a recursion's last round, WITH queries that are run anew. PostgreSQL knows the
//! same by `extParam` and `chgParam`.

use std::collections::BTreeSet;

use crate::bind::query::{Bound, Frame};
use crate::bind::tree::{AggCall, Expr, SubLinkKind, SubPlan};
use crate::bind::walk;
use crate::error::check_stack;
use crate::func::Volatility;

use super::node::{BitmapIndexScan, KeyCondition, KeyRange, KeyValue, Node, WindowAgg};
use super::path::Bits;

/// What a node gives when it is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rerun {
    Same,
    /// The same, but for what volatile functions make of it.
    Volatile,
    Other,
}

impl Rerun {
    /// What the node gives, and what expressions over its row make of that.
    pub fn of(node: &Node, over: &[Expr]) -> Rerun {
        let mut seen = Seen::default();
        seen.node(node);
        seen.exprs(over);
        match (seen.hangs_on_more(), seen.is_volatile) {
            (true, _) => Rerun::Other,
            (false, true) => Rerun::Volatile,
            (false, false) => Rerun::Same,
        }
    }
}

/// What is read in a part of a plan, and what of that is made there, too.
#[derive(Default)]
struct Seen {
    slots: Used,
    /// WITH queries whose rows may be others from time to time.
    ctes: Used,
    work_tables: Used,
    /// There is something else whose value comes from elsewhere, or it can't be told.
    is_open: bool,
    is_volatile: bool,
}

/// Things with numbers of which each is made in one place of a plan.
#[derive(Default)]
struct Used {
    read: BTreeSet<u16>,
    made: BTreeSet<u16>,
}

impl Used {
    fn is_from_outside(&self) -> bool {
        !self.read.is_subset(&self.made)
    }
}

impl Seen {
    fn hangs_on_more(&self) -> bool {
        let outside = [&self.slots, &self.ctes, &self.work_tables];
        self.is_open || outside.into_iter().any(Used::is_from_outside)
    }

    fn node(&mut self, node: &Node) {
        if check_stack().is_err() {
            self.is_open = true;
            return;
        }
        match node {
            Node::OneRow(filter) => self.exprs(filter.as_deref()),
            Node::Values(rows) => self.exprs(rows.iter().flatten()),
            Node::SeqScan(_)
            | Node::IndexScan(_)
            | Node::BitmapHeapScan(_)
            | Node::TidScan(_)
            | Node::FunctionScan(_) => self.scan(node),
            Node::Choice(choice) => choice.ways.iter().for_each(|(_, way)| self.node(way)),
            Node::CteScan(scan) => {
                if scan.renewed {
                    self.ctes.read.insert(scan.id);
                }
            }
            Node::Renew(renew) => {
                for (id, cte) in &renew.ctes {
                    self.ctes.made.insert(*id);
                    self.node(cte);
                }
                self.node(&renew.input);
            }
            Node::WorkScan(scan) => {
                self.work_tables.read.insert(scan.id);
            }
            Node::Filter(filter) | Node::Gate(filter) => {
                self.expr(&filter.condition);
                self.node(&filter.input);
            }
            Node::Project(project) | Node::ProjectSet(project) => {
                self.exprs(&project.exprs);
                self.node(&project.input);
            }
            Node::Materialize(input) => self.node(input),
            Node::Append(inputs) => inputs.iter().for_each(|input| self.node(input)),
            Node::SetOp(op) => {
                self.node(&op.left);
                self.node(&op.right);
            }
            Node::RecursiveUnion(union) => {
                self.work_tables.made.insert(union.work_table);
                self.node(&union.first);
                self.node(&union.again);
            }
            Node::NestLoop(_)
            | Node::HashJoin(_)
            | Node::Sort(_)
            | Node::Limit(_)
            | Node::Unique(_)
            | Node::Aggregate(_)
            | Node::Window(_)
            | Node::LockRows(_) => self.above(node),
            Node::Modify(_) => self.is_open = true,
        }
    }

    /// Scans.
    fn scan(&mut self, node: &Node) {
        match node {
            Node::SeqScan(scan) => self.exprs(&scan.filter),
            Node::IndexScan(scan) => {
                self.ranges(&scan.ranges);
                self.exprs(&scan.filter);
            }
            Node::BitmapHeapScan(scan) => {
                self.bits(&scan.bits);
                self.exprs(scan.recheck.iter().chain(&scan.filter));
            }
            Node::TidScan(scan) => {
                self.expr(&scan.tids);
                self.exprs(&scan.filter);
            }
            Node::FunctionScan(scan) => self.exprs(scan.calls.iter().map(|call| &call.expr)),
            _ => self.is_open = true,
        }
    }

    /// Nodes with inputs and more than one kind of expressions.
    fn above(&mut self, node: &Node) {
        match node {
            Node::NestLoop(join) => {
                for (slot, value) in &join.parameters {
                    self.slots.made.insert(*slot);
                    self.expr(value);
                }
                self.exprs(&join.condition);
                self.node(&join.outer);
                self.node(&join.inner);
            }
            Node::HashJoin(join) => {
                self.exprs(join.outer_keys.iter().chain(&join.inner_keys).chain(&join.condition));
                self.node(&join.outer);
                self.node(&join.inner);
            }
            Node::Sort(sort) => {
                self.exprs(sort.keys.iter().map(|key| &key.expr));
                if let Some(top) = &sort.top {
                    self.exprs(std::iter::once(&top.count).chain(&top.offset));
                }
                self.node(&sort.input);
            }
            Node::Limit(limit) => {
                self.exprs(limit.count.iter().chain(&limit.offset));
                self.exprs(limit.ties.iter().flatten().map(|key| &key.expr));
                self.node(&limit.input);
            }
            Node::Unique(unique) => {
                self.exprs(&unique.keys);
                self.node(&unique.input);
            }
            Node::Aggregate(grouping) => {
                self.exprs(&grouping.keys);
                grouping.calls.iter().for_each(|call| self.call(call));
                self.node(&grouping.input);
            }
            Node::Window(window) => self.window(window),
            Node::LockRows(lock) => {
                let outer = lock.outer.iter().map(|join| &join.condition);
                self.exprs(outer.chain(&lock.recheck));
                self.node(&lock.input);
            }
            _ => self.is_open = true,
        }
    }

    fn window(&mut self, window: &WindowAgg) {
        self.exprs(&window.partition_by);
        self.exprs(window.order_by.iter().map(|key| &key.expr));
        let Frame { start, end, .. } = &window.frame;
        for bound in [start, end] {
            if let Bound::Preceding(by) | Bound::Following(by) = bound {
                self.expr(by);
            }
        }
        for call in &window.calls {
            self.exprs(call.args.iter().chain(&call.filter));
        }
        self.node(&window.input);
    }

    fn call(&mut self, call: &AggCall) {
        self.exprs(call.args.iter().chain(&call.filter));
        self.exprs(call.order_by.iter().map(|key| &key.expr));
    }

    fn bits(&mut self, bits: &Bits<BitmapIndexScan>) {
        match bits {
            Bits::Index(scan) => self.ranges(&scan.ranges),
            Bits::And(parts) | Bits::Or(parts) => parts.iter().for_each(|part| self.bits(part)),
        }
    }

    fn ranges(&mut self, ranges: &[KeyRange]) {
        for range in ranges {
            range.equal.iter().for_each(|value| self.key(value));
            let bounds = [&range.lower, &range.upper].into_iter().flatten();
            self.exprs(bounds.map(|(bound, _)| bound).chain(&range.pattern));
            for test in &range.tests {
                match &test.what {
                    KeyCondition::Value(value) => self.key(value),
                    KeyCondition::Lower(bound, _) | KeyCondition::Upper(bound, _) => {
                        self.expr(bound);
                    }
                    KeyCondition::NotNull => {}
                }
            }
        }
    }

    fn key(&mut self, value: &KeyValue) {
        match value {
            KeyValue::Is(value) | KeyValue::AnyOf(value) => self.expr(value),
            KeyValue::IsNull => {}
        }
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &Expr) {
        if check_stack().is_err() {
            self.is_open = true;
            return;
        }
        match expr {
            Expr::Exec(slot) => {
                self.slots.read.insert(slot.slot);
            }
            Expr::SubPlan(plan) => self.sub_plan(plan),
            Expr::Call(call) => self.is_volatile |= call.func.volatility == Volatility::Volatile,
            Expr::NextValue(_) => self.is_volatile = true,
            _ => {}
        }
        walk::each_child(expr, &mut |child| self.expr(child));
    }

    /// One that depends on nothing outside has the same value all along.
    fn sub_plan(&mut self, plan: &SubPlan) {
        if plan.plan.once {
            return;
        }
        // Others take fields of the row that it gave last, wherever they are.
        self.is_open |= matches!(plan.kind, SubLinkKind::Row { .. });
        self.slots.made.extend(plan.args.iter().map(|(slot, _)| *slot));
        self.node(&plan.plan.root);
    }
}
