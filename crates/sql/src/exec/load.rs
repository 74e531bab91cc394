//! Rows into a table in bulk: what COPY FROM does with the rows that it has read, and CREATE TABLE AS with a query's.

use std::sync::Arc;

use base::Tid;
use storage::buffer::Ring;
use storage::heap::Freeze;

use super::Cx;
use super::modify::{self, Work, foreign_key, index};
use super::spill::row_bytes;
use crate::bind::tree::Expr;
use crate::catalog::TableDef;
use crate::error::Result;
use crate::plan::node::{self, ModifyAction, Node};
use crate::toast;
use crate::types::Datum;

/// Rows, or bytes, that are gathered before they are stored together.
const BATCH_ROWS: usize = 1000;
const BATCH_BYTES: usize = 64 * 1024;

/// Gathers rows and stores them many at a time.
pub struct Loader {
    plan: Arc<node::Modify>,
    freeze: Freeze,
    /// Encoded rows, one after the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The rows' values, kept when there are indexes to enter them into.
    rows: Vec<Box<[Datum]>>,
    /// What these take: large values are none of `bytes`.
    rows_bytes: usize,
    /// Where the next row comes from, and where each of `rows` does.
    pub line: u64,
    lines: Vec<u64>,
    /// Where the row comes from that an index has refused, if it is not the next row.
    pub refused: Option<u64>,
    tids: Vec<Tid>,
    work: Work,
    /// What the pages go round in, from the first rows on.
    ring: Option<Ring>,
}

impl Loader {
    /// `checks` and `generated` are over the table's columns as slots from 0. `freeze` only for storage that
    /// this transaction made.
    pub fn new(
        table: Arc<TableDef>,
        checks: Vec<(Box<str>, Expr)>,
        generated: Vec<(u16, Expr)>,
        freeze: Freeze,
    ) -> Loader {
        let plan = Arc::new(node::Modify {
            table,
            input: Node::OneRow(None),
            action: ModifyAction::Insert { on_conflict: None },
            checks,
            generated,
            system: Vec::new(),
            returning: None,
        });
        Loader::of(plan, freeze)
    }

    fn of(plan: Arc<node::Modify>, freeze: Freeze) -> Loader {
        Loader {
            plan,
            freeze,
            bytes: Vec::new(),
            ends: Vec::new(),
            rows: Vec::new(),
            rows_bytes: 0,
            line: 0,
            lines: Vec::new(),
            refused: None,
            tids: Vec::new(),
            work: Work::default(),
            ring: None,
        }
    }

    /// Does what an INSERT from a query, without more, would do row by row; how many rows.
    pub fn insert(plan: Arc<node::Modify>, cx: &mut Cx<'_>) -> Result<u64> {
        let mut input = super::run(&plan.input);
        let mut loader = Loader::of(plan, Freeze::No);
        let mut count: u64 = 0;
        while input.next(cx)? {
            loader.push(input.row(), cx)?;
            count += 1;
            if count.is_multiple_of(64) {
                cx.breathe()?;
            }
        }
        loader.flush(cx)?;
        cx.run_unread_changes()?;
        Ok(count)
    }

    /// Takes one row, all columns in order; generated ones may hold anything.
    pub fn push(&mut self, row: &[Datum], cx: &mut Cx<'_>) -> Result<()> {
        if self.plan.generated.is_empty() {
            modify::check_row(&self.plan, row, cx)?;
            return self.add(row, cx);
        }
        let mut completed = row.to_vec();
        modify::complete_row(&self.plan, &mut completed, cx)?;
        self.add(&completed, cx)
    }

    fn add(&mut self, row: &[Datum], cx: &mut Cx<'_>) -> Result<()> {
        let table = &*self.plan.table;
        // It opens the heap of large values, too.
        cx.host.heap(table)?;
        let target = toast::Target { table, txn: cx.host.txn(), freeze: self.freeze };
        target.encode(row, &[], &mut Vec::new(), &mut self.bytes)?;
        self.ends.push(self.bytes.len());
        if !self.plan.table.indexes.is_empty() {
            self.rows_bytes += row_bytes(row);
            self.rows.push(row.into());
            self.lines.push(self.line);
        }
        let bytes = self.bytes.len().max(self.rows_bytes);
        if self.ends.len() >= BATCH_ROWS || bytes >= BATCH_BYTES {
            self.flush(cx)?;
        }
        Ok(())
    }

    /// Stores what is gathered.
    pub fn flush(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let mut start = 0;
        let rows: Vec<&[u8]> = self
            .ends
            .iter()
            .map(|end| {
                let row = &self.bytes[start..*end];
                start = *end;
                row
            })
            .collect();
        self.tids.clear();
        let heap = cx.host.heap(&self.plan.table)?;
        let pool = heap.relation().owner();
        let ring = self.ring.get_or_insert_with(|| Ring::for_bulk_write(pool));
        heap.multi_insert(cx.host.txn(), &rows, self.freeze, Some(ring), &mut self.tids)?;
        self.bytes.clear();
        self.ends.clear();
        self.rows_bytes = 0;
        let rows = std::mem::take(&mut self.rows).into_iter().zip(self.lines.drain(..));
        for ((row, line), tid) in rows.zip(&self.tids) {
            self.work.new.clear();
            self.work.new.extend(row);
            index::insert_all(&self.plan.table, *tid, index::Made::Inserted, &mut self.work, cx)
                .inspect_err(|_| self.refused = Some(line))?;
        }
        for tid in &self.tids {
            foreign_key::inserted(&self.plan.table, *tid, cx);
        }
        Ok(())
    }
}
