//! Unions and their kin, CTEs, recursion.

use std::sync::Arc;

use crate::bind::query::SetOperator;
use crate::error::Result;
use crate::plan::node::{self, Node};
use crate::types::Datum;

use super::group::{Key, KeyMap};
use super::{Cx, Operator, Running, run};

type Rows = Arc<Vec<Box<[Datum]>>>;

/// One input after the other.
pub struct Append {
    inputs: Vec<Running>,
    at: usize,
}

impl Append {
    pub fn new(inputs: &[Node]) -> Append {
        Append { inputs: inputs.iter().map(run).collect(), at: 0 }
    }
}

impl Operator for Append {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while let Some(input) = self.inputs.get_mut(self.at) {
            if input.next(cx)? {
                return Ok(true);
            }
            self.at += 1;
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        self.inputs[self.at].row()
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.at = 0;
        self.inputs.iter_mut().try_for_each(|input| input.rescan(cx))
    }
}

/// UNION, INTERSECT and EXCEPT over whole rows.
pub struct SetOp {
    plan: Arc<node::SetOp>,
    left: Running,
    right: Running,
    rows: Option<std::vec::IntoIter<Box<[Datum]>>>,
    row: Box<[Datum]>,
}

impl SetOp {
    pub fn new(plan: Arc<node::SetOp>) -> SetOp {
        let (left, right) = (run(&plan.left), run(&plan.right));
        SetOp { plan, left, right, rows: None, row: Box::default() }
    }

    fn combine(&mut self, cx: &mut Cx<'_>) -> Result<Vec<Box<[Datum]>>> {
        let left = cx.collect(&mut self.left)?;
        let right = cx.collect(&mut self.right)?;
        let union = matches!(self.plan.op, SetOperator::Union);
        if union {
            let mut seen: KeyMap<()> = KeyMap::default();
            let mut rows: Vec<Box<[Datum]>> = left.into_iter().chain(right).collect();
            rows.retain(|row| self.plan.all || seen.insert(Key(row.clone()), ()).is_none());
            return Ok(rows);
        }
        let mut counts: KeyMap<u64> = KeyMap::default();
        for row in right {
            *counts.entry(Key(row)).or_default() += 1;
        }
        let keep_common = matches!(self.plan.op, SetOperator::Intersect);
        let mut given: KeyMap<()> = KeyMap::default();
        let mut rows = Vec::new();
        for row in left {
            let key = Key(row);
            let count = counts.get_mut(&key);
            let common = match (count, self.plan.all) {
                (None, _) | (Some(0), true) => false,
                (Some(n), true) => {
                    *n -= 1;
                    true
                }
                (Some(_), false) => true,
            };
            let wanted = common == keep_common;
            if wanted && (self.plan.all || given.insert(key.clone(), ()).is_none()) {
                rows.push(key.0);
            }
        }
        Ok(rows)
    }
}

impl Operator for SetOp {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = Some(self.combine(cx)?.into_iter());
        }
        match self.rows.as_mut().and_then(Iterator::next) {
            Some(row) => {
                self.row = row;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.rows = None;
        self.left.rescan(cx)?;
        self.right.rescan(cx)
    }
}

/// The rows of a CTE.
pub struct CteScan {
    id: u16,
    rows: Option<Rows>,
    at: usize,
}

impl CteScan {
    pub fn new(id: u16) -> CteScan {
        CteScan { id, rows: None, at: 0 }
    }
}

impl Operator for CteScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = Some(cx.cte_rows(self.id)?);
        }
        self.at += 1;
        Ok(self.rows.as_ref().is_some_and(|rows| self.at <= rows.len()))
    }

    fn row(&self) -> &[Datum] {
        &self.rows.as_ref().expect("next said true")[self.at - 1]
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.at = 0;
        Ok(())
    }
}

/// The rows of a recursive union's last round.
pub struct WorkScan {
    id: u16,
    rows: Option<Rows>,
    at: usize,
}

impl WorkScan {
    pub fn new(id: u16) -> WorkScan {
        WorkScan { id, rows: None, at: 0 }
    }
}

impl Operator for WorkScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = Some(cx.state.work_tables[usize::from(self.id)].clone());
        }
        self.at += 1;
        Ok(self.rows.as_ref().is_some_and(|rows| self.at <= rows.len()))
    }

    fn row(&self) -> &[Datum] {
        &self.rows.as_ref().expect("next said true")[self.at - 1]
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.rows = None;
        self.at = 0;
        Ok(())
    }
}

/// WITH RECURSIVE: rounds over the work table until one adds nothing.
pub struct RecursiveUnion {
    plan: Arc<node::RecursiveUnion>,
    first: Running,
    again: Running,
    in_first: bool,
    started: bool,
    seen: KeyMap<()>,
    /// What this round has made: the next round's work table.
    made: Vec<Box<[Datum]>>,
    row: Box<[Datum]>,
}

impl RecursiveUnion {
    pub fn new(plan: Arc<node::RecursiveUnion>) -> RecursiveUnion {
        let (first, again) = (run(&plan.first), run(&plan.again));
        RecursiveUnion {
            plan,
            first,
            again,
            in_first: true,
            started: false,
            seen: KeyMap::default(),
            made: Vec::new(),
            row: Box::default(),
        }
    }

    /// Makes what this round made the work table of the next; false when it made nothing.
    fn next_round(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.made.is_empty() {
            return Ok(false);
        }
        let made = Arc::new(std::mem::take(&mut self.made));
        cx.state.work_tables[usize::from(self.plan.work_table)] = made;
        self.in_first = false;
        if std::mem::replace(&mut self.started, true) {
            self.again.rescan(cx)?;
        }
        Ok(true)
    }
}

impl Operator for RecursiveUnion {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            cx.breathe()?;
            let input = if self.in_first { &mut self.first } else { &mut self.again };
            if !input.next(cx)? {
                if !self.next_round(cx)? {
                    return Ok(false);
                }
                continue;
            }
            let row: Box<[Datum]> = input.row().into();
            if !self.plan.all && self.seen.insert(Key(row.clone()), ()).is_some() {
                continue;
            }
            self.made.push(row.clone());
            self.row = row;
            return Ok(true);
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.in_first = true;
        self.seen.clear();
        self.made.clear();
        self.first.rescan(cx)
    }
}
