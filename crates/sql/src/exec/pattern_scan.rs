//! A range of an index by what a LIKE pattern begins with, which is known only when the scan starts: a pattern that
//! begins with a wildcard is better answered by reading the table.

use std::sync::Arc;

use crate::error::Result;
use crate::func::like;
use crate::plan::node;
use crate::types::Datum;

use super::eval::eval;
use super::index_scan::IndexScan;
use super::scan::SeqScan;
use super::{Cx, Operator, Running};

/// The scan by index or of the whole table, whichever the patterns allow.
pub struct PatternScan {
    plan: Arc<node::IndexScan>,
    scan: Option<Running>,
}

impl PatternScan {
    pub fn new(plan: Arc<node::IndexScan>) -> PatternScan {
        PatternScan { plan, scan: None }
    }

    fn choose(&self, cx: &mut Cx<'_>) -> Result<Running> {
        for pattern in self.plan.ranges.iter().filter_map(|range| range.pattern.as_ref()) {
            let pattern = eval(pattern, &[], cx)?;
            if pattern.is_null() || !like::literal_start(pattern.as_text()).is_empty() {
                continue;
            }
            let plan = &*self.plan;
            return Ok(Box::new(SeqScan::new(Arc::new(node::SeqScan {
                table: plan.table.clone(),
                alias: plan.alias.clone(),
                outputs: plan.outputs.clone(),
                filter: plan.filter.clone(),
            }))));
        }
        Ok(Box::new(IndexScan::new(self.plan.clone())))
    }
}

impl Operator for PatternScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let mut scan = match self.scan.take() {
            Some(scan) => scan,
            None => self.choose(cx)?,
        };
        let found = scan.next(cx);
        self.scan = Some(scan);
        found
    }

    fn row(&self) -> &[Datum] {
        self.scan.as_ref().expect("a row was found").row()
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.scan = None;
        Ok(())
    }
}
