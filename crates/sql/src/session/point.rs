//! Point reads: one row by a unique key, straight from the page to the client.
//!
//! No operators are made and no row of datums: the key is encoded from the parameters, the index
//! searched, the row's bytes copied out, and its columns written into the output buffer.

use std::sync::Arc;

use base::Tid;
use storage::heap::RowBuf;

use crate::bind::tree::{Column, Expr};
use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
use crate::exec::Host;
use crate::plan::Plan;
use crate::plan::node::{IndexScan, KeyValue, Node};
use crate::types::row::RowView;
use crate::types::{Datum, output, send};

use super::Session;
use super::client::{Client, Format, Formats};
use super::prepare::Planned;

/// What a plan for a point read comes down to.
pub struct Point {
    table: Arc<TableDef>,
    index: Arc<IndexDef>,
    keys: Vec<KeySource>,
    /// For each output the table's column, from 0.
    columns: Vec<u16>,
}

enum KeySource {
    Param(u16),
    Const(Datum),
}

/// Buffers that go from read to read.
#[derive(Default)]
pub struct PointBuffers {
    key: Vec<u8>,
    tids: Vec<Tid>,
    row: RowBuf,
}

impl Point {
    /// The point read that a plan is, if it is one.
    pub fn of(plan: &Plan) -> Option<Point> {
        let (scan, outputs) = match &plan.root {
            Node::IndexScan(scan) => (scan, None),
            Node::Project(project) => match &project.input {
                Node::IndexScan(scan) => (scan, Some(&project.exprs)),
                _ => return None,
            },
            _ => return None,
        };
        let keys = unique_keys(scan)?;
        let column_of = |slot: usize| match scan.outputs.get(slot)?.column {
            Column::User(column) => Some(column),
            _ => None,
        };
        let columns = match outputs {
            None => (0..scan.outputs.len()).map(column_of).collect::<Option<Vec<u16>>>()?,
            Some(exprs) => exprs
                .iter()
                .map(|expr| match expr {
                    Expr::Slot(slot) => column_of(usize::from(slot.slot)),
                    _ => None,
                })
                .collect::<Option<Vec<u16>>>()?,
        };
        Some(Point { table: scan.table.clone(), index: scan.index.clone(), keys, columns })
    }
}

/// The key values of a scan that finds at most one row, if it is one.
fn unique_keys(scan: &IndexScan) -> Option<Vec<KeySource>> {
    let [range] = &scan.ranges[..] else { return None };
    let whole = scan.index.unique
        && scan.filter.is_none()
        && range.lower.is_none()
        && range.upper.is_none()
        && range.equal.len() == scan.index.keys.len();
    if !whole {
        return None;
    }
    range
        .equal
        .iter()
        .map(|value| match value {
            KeyValue::Is(Expr::Param(param)) => Some(KeySource::Param(param.index)),
            KeyValue::Is(Expr::Const(c)) => Some(KeySource::Const(c.value.clone())),
            _ => None,
        })
        .collect()
}

impl Session {
    /// Runs a point read to its end. The number of rows.
    pub(super) fn run_point(
        &mut self,
        point: &Point,
        planned: &Planned,
        params: &[Datum],
        formats: &Formats,
        client: &mut dyn Client,
    ) -> Result<u64> {
        let mut buffers = std::mem::take(&mut self.point_buffers);
        let found = self.find_point(point, params, &mut buffers);
        let result = match found {
            Ok(true) => self.send_point(point, planned, formats, &buffers.row, client).map(|()| 1),
            Ok(false) => Ok(0),
            Err(error) => Err(error),
        };
        self.point_buffers = buffers;
        self.backend.txn.release_statement();
        result
    }

    /// Finds the row that the statement's snapshot sees.
    fn find_point(
        &mut self,
        point: &Point,
        params: &[Datum],
        buffers: &mut PointBuffers,
    ) -> Result<bool> {
        let PointBuffers { key, tids, row } = buffers;
        key.clear();
        for (source, column) in point.keys.iter().zip(&point.index.keys) {
            let value = match source {
                KeySource::Param(index) => &params[usize::from(*index)],
                KeySource::Const(value) => value,
            };
            if value.is_null() {
                return Ok(false);
            }
            column.code().encode(value, key);
        }
        let backend = &self.backend;
        let snapshot = backend.txn.statement_snapshot();
        let heap = backend.heap(&point.table)?;
        backend.tree(&point.index)?.lookup(key, tids)?;
        for tid in tids.iter() {
            if heap.fetch(&backend.txn, &snapshot, *tid, row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn send_point(
        &self,
        point: &Point,
        planned: &Planned,
        formats: &Formats,
        row: &RowBuf,
        client: &mut dyn Client,
    ) -> Result<()> {
        let view = RowView::new(&point.table.desc, row.bytes());
        let fields = planned.fields.as_deref().unwrap_or(&[]);
        client.begin_row(point.columns.len());
        for (i, (column, field)) in point.columns.iter().zip(fields).enumerate() {
            let value = view.get(usize::from(*column));
            if value.is_null() {
                client.null_value();
                continue;
            }
            client.begin_value();
            match formats.of(i) {
                Format::Text => output(field.type_id, &value, &self.backend.io(), client.buffer())?,
                Format::Binary => send(field.type_id, &value, client.buffer())?,
            }
            client.end_value();
        }
        client.end_row();
        Ok(())
    }
}
