//! Leaves and the simplest nodes: one row, VALUES, sequential scan, scan by address, filter, gate, projection.

use std::sync::Arc;

use base::Fork;
use base::ids::{BlockNo, Tid};
use storage::buffer::Figure;
use storage::heap::{HeapRel, HeapScan, RowBuf};
use storage::txn::{Snapshot, TupleHeader, Txn};

use crate::bind::tree::{Column, Expr};
use crate::catalog::TableDef;
use crate::error::Result;
use crate::plan::node;
use crate::toast;
use crate::types::row::RowView;
use crate::types::{self, Datum, Oid, Record};

use super::eval::{eval, keeps, passes};
use super::{Cx, Operator, Running, run};

/// One row without columns.
pub struct OneRow {
    filter: Option<Arc<Expr>>,
    done: bool,
}

impl OneRow {
    pub fn new(filter: Option<Arc<Expr>>) -> OneRow {
        OneRow { filter, done: false }
    }
}

impl Operator for OneRow {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        Ok(!std::mem::replace(&mut self.done, true) && passes(self.filter.as_deref(), &[], cx)?)
    }

    fn row(&self) -> &[Datum] {
        &[]
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.done = false;
        Ok(())
    }
}

/// VALUES lists.
pub struct Values {
    rows: Arc<Vec<Vec<Expr>>>,
    at: usize,
    row: Vec<Datum>,
}

impl Values {
    pub fn new(rows: Arc<Vec<Vec<Expr>>>) -> Values {
        Values { rows, at: 0, row: Vec::new() }
    }
}

impl Operator for Values {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let rows = self.rows.clone();
        let Some(exprs) = rows.get(self.at) else { return Ok(false) };
        self.at += 1;
        self.row.clear();
        for expr in exprs {
            self.row.push(eval(expr, &[], cx)?);
        }
        Ok(true)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.at = 0;
        Ok(())
    }
}

/// Decodes what a scan puts out of a stored row, into `out` from its start.
pub(super) fn decode(
    table: &TableDef,
    outputs: &[node::ScanColumn],
    stored: Stored<'_>,
    out: &mut [Datum],
) -> Result<()> {
    let row = toast::inlined(table, stored.bytes, |column| {
        outputs.iter().any(|o| o.column.needs(column))
    })?;
    let view = RowView::new(&table.desc, &row);
    for (slot, output) in out.iter_mut().zip(outputs) {
        *slot = column(table, output.column, &view, stored);
    }
    Ok(())
}

/// A stored row version: where it is and what it is.
#[derive(Clone, Copy)]
pub(super) struct Stored<'r> {
    pub tid: Tid,
    pub header: TupleHeader,
    pub bytes: &'r [u8],
}

impl<'r> From<&'r RowBuf> for Stored<'r> {
    fn from(row: &'r RowBuf) -> Stored<'r> {
        Stored { tid: row.tid(), header: *row.header(), bytes: row.bytes() }
    }
}

/// One column of a stored row.
pub(super) fn column(
    table: &TableDef,
    column: Column,
    view: &RowView<'_>,
    stored: Stored<'_>,
) -> Datum {
    let header = &stored.header;
    match column {
        Column::User(i) => view.get(usize::from(i)),
        Column::Ctid => Datum::Tid(tid_value(stored.tid)),
        Column::TableOid => Datum::Oid(table.oid),
        // PostgreSQL's xid has 32 bits; ours go on counting.
        Column::Xmin => Datum::Oid(Oid(header.xmin.0 as u32)),
        Column::Xmax => Datum::Oid(Oid(header.xmax.0 as u32)),
        Column::Cmin | Column::Cmax => Datum::Oid(Oid(header.cid)),
        Column::Whole => {
            let live = table.columns.iter().enumerate().filter(|(_, c)| !c.dropped);
            let fields = live.map(|(i, c)| (c.ty.id, view.get(i))).collect();
            Datum::Record(Arc::new(Record::new(table.row_type, fields)))
        }
    }
}

/// A row's address as SQL shows it.
pub(super) fn tid_value(tid: Tid) -> types::Tid {
    types::Tid { block: tid.block.0, slot: tid.offset }
}

/// And back.
pub(super) fn stored_tid(tid: types::Tid) -> Tid {
    Tid { block: BlockNo(tid.block), offset: tid.slot }
}

/// All visible rows of a table.
pub struct SeqScan {
    plan: Arc<node::SeqScan>,
    scan: Option<HeapScan>,
    row: Vec<Datum>,
}

impl SeqScan {
    pub fn new(plan: Arc<node::SeqScan>) -> SeqScan {
        let row = vec![Datum::Null; plan.outputs.len()];
        SeqScan { plan, scan: None, row }
    }
}

impl Operator for SeqScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let plan = &*self.plan;
        let heap = cx.host.heap(&plan.table)?;
        let scan = match &mut self.scan {
            Some(scan) => scan,
            None => {
                heap.relation().count(Figure::Scans, 1);
                let scan = HeapScan::new(heap, *cx.host.snapshot())?;
                self.scan.insert(scan.reading_ahead(heap, cx.host.reach()))
            }
        };
        while let Some(row) = scan.next(heap, cx.host.txn())? {
            heap.relation().count(Figure::ScanRows, 1);
            let stored = Stored { tid: row.tid, header: row.header(), bytes: row.bytes };
            decode(&plan.table, &plan.outputs, stored, &mut self.row)?;
            if keeps(plan.filter.as_ref(), &self.row, cx)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.scan = None;
        Ok(())
    }
}

/// Rows by address.
pub struct TidScan {
    plan: Arc<node::TidScan>,
    /// The addresses, once they are known, and how many of them were looked at.
    tids: Option<Vec<Tid>>,
    at: usize,
    stored: RowBuf,
    row: Vec<Datum>,
}

impl TidScan {
    pub fn new(plan: Arc<node::TidScan>) -> TidScan {
        let row = vec![Datum::Null; plan.outputs.len()];
        TidScan { plan, tids: None, at: 0, stored: RowBuf::default(), row }
    }

    fn next_tid(&mut self, cx: &mut Cx<'_>) -> Result<Option<Tid>> {
        if self.tids.is_none() {
            let mut tids = named(eval(&self.plan.tids, &[], cx)?);
            let blocks = cx.host.heap(&self.plan.table)?.relation().blocks(Fork::Main)?;
            tids.retain(|tid| tid.block.0 < blocks);
            self.tids = Some(tids);
        }
        let tid = self.tids.as_ref().and_then(|tids| tids.get(self.at)).copied();
        self.at += 1;
        Ok(tid)
    }
}

/// The addresses that a value names, each once, in the order of the table.
fn named(value: Datum) -> Vec<Tid> {
    let of = |value: &Datum| match value {
        Datum::Tid(tid) => Some(stored_tid(*tid)),
        _ => None,
    };
    let mut tids: Vec<Tid> = match &value {
        Datum::Array(array) => array.elements.iter().filter_map(of).collect(),
        value => of(value).into_iter().collect(),
    };
    tids.sort_unstable_by_key(|tid| (tid.block, tid.offset));
    tids.dedup();
    tids
}

impl Operator for TidScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let plan = self.plan.clone();
        while let Some(tid) = self.next_tid(cx)? {
            let heap = cx.host.heap(&plan.table)?;
            let (txn, snapshot) = (cx.host.txn(), cx.host.snapshot());
            let found = match plan.tids {
                Expr::CurrentOf(_) => fetch_newest(heap, txn, snapshot, tid, &mut self.stored)?,
                _ => heap.fetch_at(txn, snapshot, tid, &mut self.stored)?,
            };
            if !found {
                continue;
            }
            decode(&plan.table, &plan.outputs, (&self.stored).into(), &mut self.row)?;
            if keeps(plan.filter.as_ref(), &self.row, cx)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        (self.tids, self.at) = (None, 0);
        Ok(())
    }
}

/// The version at `tid`, or the one that followed it, that the snapshot sees: what a cursor stands on may
/// have been changed through it.
fn fetch_newest(
    heap: &HeapRel,
    txn: &Txn,
    snapshot: &Snapshot,
    mut tid: Tid,
    stored: &mut RowBuf,
) -> Result<bool> {
    while !heap.fetch_at(txn, snapshot, tid, stored)? {
        if !heap.fetch_version(tid, stored)? || stored.header().successor == tid {
            return Ok(false);
        }
        tid = stored.header().successor;
    }
    Ok(true)
}

/// Rows that meet a condition.
pub struct Filter {
    plan: Arc<node::Filter>,
    input: Running,
}

impl Filter {
    pub fn new(plan: Arc<node::Filter>) -> Filter {
        let input = run(&plan.input);
        Filter { plan, input }
    }
}

impl Operator for Filter {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let mut dropped = 0u32;
        while self.input.next(cx)? {
            if keeps(Some(&self.plan.condition), self.input.row(), cx)? {
                return Ok(true);
            }
            dropped = dropped.wrapping_add(1);
            if dropped.is_multiple_of(1024) {
                cx.breathe()?;
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        self.input.row()
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.input.rescan(cx)
    }
}

/// All of the input or nothing of it, as the condition says when it starts.
pub struct Gate {
    plan: Arc<node::Filter>,
    input: Running,
    /// What the condition said; nothing since the last start.
    open: Option<bool>,
    /// The input was started, ever.
    used: bool,
}

impl Gate {
    pub fn new(plan: Arc<node::Filter>) -> Gate {
        let input = run(&plan.input);
        Gate { plan, input, open: None, used: false }
    }
}

impl Operator for Gate {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let open = match self.open {
            Some(open) => open,
            None => *self.open.insert(passes(Some(&self.plan.condition), &[], cx)?),
        };
        self.used |= open;
        Ok(open && self.input.next(cx)?)
    }

    fn row(&self) -> &[Datum] {
        self.input.row()
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.open = None;
        if self.used { self.input.rescan(cx) } else { Ok(()) }
    }

    fn repeat(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        // Nothing has changed, so the condition hasn't either.
        if self.used { self.input.repeat(cx) } else { Ok(()) }
    }
}

/// New columns from each row.
pub struct Project {
    plan: Arc<node::Project>,
    input: Running,
    row: Vec<Datum>,
}

impl Project {
    pub fn new(plan: Arc<node::Project>) -> Project {
        let input = run(&plan.input);
        Project { plan, input, row: Vec::new() }
    }
}

impl Operator for Project {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.input.next(cx)? {
            return Ok(false);
        }
        self.row.clear();
        for expr in &self.plan.exprs {
            self.row.push(eval(expr, self.input.row(), cx)?);
        }
        Ok(true)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.input.rescan(cx)
    }
}
