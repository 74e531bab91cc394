//! Conditions that are asked once, before a node's rows.

use crate::bind::tree::Expr;
use crate::plan::gate::is_never;
use crate::plan::node::{Filter, Node};

use super::{Names, Printer};

impl<'a> Printer<'a> {
    pub(super) fn gate(&mut self, node: &'a Node, gate: &'a Filter, depth: usize) -> Names {
        self.head(depth, "Result".to_owned(), node);
        self.one_time_filter(depth, Some(&gate.condition));
        self.sub_select(&gate.condition, depth, &Vec::new());
        let mark = self.lines.len();
        let names = self.node(&gate.input, depth + 1);
        if is_never(&gate.condition) {
            // PostgreSQL has nothing there, but what is above calls the columns by their names.
            self.lines.truncate(mark);
        }
        names
    }

    pub(super) fn one_time_filter(&mut self, depth: usize, condition: Option<&Expr>) {
        let label = "One-Time Filter";
        match condition {
            Some(condition) if is_never(condition) => self.detail(depth, label, "false"),
            condition => self.filter(depth, label, condition, &Vec::new()),
        }
    }
}
