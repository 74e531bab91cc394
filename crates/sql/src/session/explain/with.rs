//! Queries of WITH, and who reads their rows.

use syntax::deparse::quote_ident;

use crate::plan::node::{KeptScan, Node, Plan};

use super::{Names, Printer};

impl<'a> Printer<'a> {
    /// A reference to a query of WITH, or to the last round's rows of a recursion.
    pub(super) fn kept_scan(
        &mut self,
        what: &str,
        depth: usize,
        node: &'a Node,
        scan: &KeptScan,
    ) -> Names {
        let (on, entry) = self.names.enter(&scan.name, &scan.alias);
        self.head(depth, format!("{what} on {on}"), node);
        self.names.qualify(&entry, quoted(&scan.columns))
    }

    /// The queries of WITH whose rows are kept, among the lines of the plan's first node.
    pub(super) fn with_queries(&mut self, plan: &'a Plan) {
        let below = self.inputs_from(1, 0);
        self.between(below, |p| {
            for (name, node) in plan.cte_names.iter().zip(&plan.ctes) {
                p.lines.push(format!("  CTE {name}"));
                let mark = p.lines.len();
                p.node(node, 1);
                p.lines[mark..].iter_mut().for_each(|line| line.insert_str(0, "  "));
            }
        });
    }
}

/// What a scan's own condition calls its columns, where that is a node of its own.
pub(super) fn own_names(scan: &Node) -> Option<Names> {
    match scan {
        Node::CteScan(scan) | Node::WorkScan(scan) => Some(quoted(&scan.columns)),
        Node::FunctionScan(scan) => Some(quoted(&scan.columns)),
        _ => None,
    }
}

pub(super) fn quoted(names: &[Box<str>]) -> Names {
    names.iter().map(|name| quote_ident(name).into_owned()).collect()
}
