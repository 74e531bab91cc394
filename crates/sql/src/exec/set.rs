//! Inputs one after the other, CTEs, recursion.

use std::sync::Arc;

use crate::error::Result;
use crate::plan::node::{self, Node};
use crate::types::Datum;

use super::group::{ENTRY_BYTES, KeyMap, hash_of};
use super::spill::{RowReader, RowStore, check_held, row_bytes};
use super::{Cx, Operator, Running, run};

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

/// The rows of a CTE.
pub struct CteScan {
    id: u16,
    /// All of its rows, once somebody has come to their end.
    rows: Option<Arc<RowStore>>,
    reader: RowReader,
    /// The row, where there may come more.
    row: Vec<Datum>,
}

impl CteScan {
    pub fn new(scan: &node::KeptScan) -> CteScan {
        CteScan { id: scan.id, rows: None, reader: RowReader::default(), row: Vec::new() }
    }
}

impl Operator for CteScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = cx.read_cte(self.id, &mut self.reader, &mut self.row)?;
            if self.rows.is_none() {
                return Ok(true);
            }
        }
        self.reader.next(self.rows.as_ref().expect("it was seen to"))
    }

    fn row(&self) -> &[Datum] {
        match &self.rows {
            Some(rows) => self.reader.row(rows),
            None => &self.row,
        }
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        // It may have other rows now, kept elsewhere.
        self.rows = None;
        self.reader = RowReader::default();
        Ok(())
    }

    fn repeat(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.reader.seek(0);
        Ok(())
    }
}

/// Forgets the rows of CTEs before each run of its input.
pub struct Renew {
    plan: Arc<node::Renew>,
    input: Running,
    /// They are forgotten for this run.
    done: bool,
}

impl Renew {
    pub fn new(plan: Arc<node::Renew>) -> Renew {
        let input = run(&plan.input);
        Renew { plan, input, done: false }
    }
}

impl Operator for Renew {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !std::mem::replace(&mut self.done, true) {
            self.plan.ctes.iter().for_each(|(id, plan)| cx.forget_cte(*id, plan));
        }
        self.input.next(cx)
    }

    fn row(&self) -> &[Datum] {
        self.input.row()
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.done = false;
        self.input.rescan(cx)
    }

    fn repeat(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.input.repeat(cx)
    }
}

/// The rows of a recursive union's last round.
pub struct WorkScan {
    id: u16,
    rows: Option<Arc<RowStore>>,
    reader: RowReader,
}

impl WorkScan {
    pub fn new(scan: &node::KeptScan) -> WorkScan {
        WorkScan { id: scan.id, rows: None, reader: RowReader::default() }
    }
}

impl Operator for WorkScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = cx.state.work_tables[usize::from(self.id)].clone();
        }
        self.rows.as_ref().map_or(Ok(false), |rows| self.reader.next(rows))
    }

    fn row(&self) -> &[Datum] {
        self.reader.row(self.rows.as_ref().expect("next said true"))
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.rows = None;
        self.reader = RowReader::default();
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
    /// Bytes of `seen`.
    seen_bytes: usize,
    /// What this round has made: the next round's work table.
    made: Option<RowStore>,
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
            seen_bytes: 0,
            made: None,
            row: Box::default(),
        }
    }

    /// Makes what this round made the work table of the next; false when it made nothing.
    fn next_round(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let Some(made) = self.made.take() else { return Ok(false) };
        cx.state.work_tables[usize::from(self.plan.work_table)] = Some(Arc::new(made));
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
            if !self.plan.all {
                let hash = hash_of(&row);
                if self.seen.find(hash, &row, |i| self.plan.types[i]).is_some() {
                    continue;
                }
                self.seen.add(hash, row.clone(), ());
                self.seen_bytes += row_bytes(&row) + ENTRY_BYTES;
                check_held(self.seen_bytes, "The rows of a recursive UNION")?;
            }
            self.made.get_or_insert_with(|| cx.row_store()).push(&row)?;
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
        self.seen_bytes = 0;
        self.made = None;
        self.first.rescan(cx)
    }
}
