//! Statements about one row that is found by a unique key, or insert one, and reads of the few rows that have a key:
//! run without operators.
//!
//! A read goes straight from the page to the client: no row of datums is made, the row's columns are
//! written into the output buffer from its bytes. A change is [`PointModify`]'s.

use crate::bind::tree::{Column, Expr};
use crate::error::Result;
use crate::exec::{Cx, PointBuffers, PointKey, PointModify, State};
use crate::plan::Plan;
use crate::plan::node::Node;
use crate::toast;
use crate::types::Datum;
use crate::types::row::RowView;

use super::Session;
use super::client::{Client, Formats};
use super::portal::{put_value, send_row};
use super::prepare::Planned;

/// The short way that a plan can go.
pub enum Point {
    Read(PointRead),
    Change(PointModify),
}

/// A read of one row, or few.
pub struct PointRead {
    key: PointKey,
    /// For each output the table's column, from 0.
    columns: Vec<u16>,
}

impl Point {
    /// What a plan comes down to, if it is about one row.
    pub fn of(plan: &Plan) -> Option<Point> {
        match &plan.root {
            Node::Modify(_) => PointModify::of(plan).map(Point::Change),
            _ => PointRead::of(plan).map(Point::Read),
        }
    }
}

impl PointRead {
    fn of(plan: &Plan) -> Option<PointRead> {
        // Changes in WITH are run with the statement, whether or not it reads of them.
        if !plan.ctes.is_empty() {
            return None;
        }
        let (scan, outputs) = match &plan.root {
            Node::IndexScan(scan) => (scan, None),
            Node::Project(project) => match &project.input {
                Node::IndexScan(scan) => (scan, Some(&project.exprs)),
                _ => return None,
            },
            _ => return None,
        };
        if scan.filter.is_some() {
            return None;
        }
        let key = PointKey::whole(scan)?;
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
        Some(PointRead { key, columns })
    }
}

impl Session {
    /// Runs a statement about one row to its end. The number of rows; `None` if there are more than few, then nothing
    /// has been done. `params` are taken or left.
    pub(super) fn run_point(
        &mut self,
        point: &Point,
        planned: &Planned,
        params: &mut Vec<Datum>,
        formats: &Formats,
        client: &mut dyn Client,
    ) -> Result<Option<u64>> {
        let mut buffers = std::mem::take(&mut self.point_buffers);
        let result = match point {
            Point::Read(read) => {
                self.read_point(read, planned, params, formats, client, &mut buffers)
            }
            Point::Change(change) => {
                self.change_point(change, planned, params, formats, client, &mut buffers).map(Some)
            }
        };
        self.point_buffers = buffers;
        result
    }

    fn read_point(
        &mut self,
        read: &PointRead,
        planned: &Planned,
        params: &[Datum],
        formats: &Formats,
        client: &mut dyn Client,
        buffers: &mut PointBuffers,
    ) -> Result<Option<u64>> {
        let (backend, lookup) = (&self.backend, &mut buffers.lookup);
        let snapshot = backend.txn.statement_snapshot();
        let mut send = |row: &[u8]| self.send_point(read, planned, formats, row, client);
        let result = match read.key.is_unique() {
            true => match read.key.find(backend, &snapshot, params, lookup) {
                Ok(true) => send(lookup.row.bytes()).map(|()| Some(1)),
                Ok(false) => Ok(Some(0)),
                Err(error) => Err(error),
            },
            false => read.key.find_few(backend, &snapshot, params, lookup, send),
        };
        self.backend.txn.release_statement();
        result
    }

    fn change_point(
        &mut self,
        change: &PointModify,
        planned: &Planned,
        params: &mut Vec<Datum>,
        formats: &Formats,
        client: &mut dyn Client,
        buffers: &mut PointBuffers,
    ) -> Result<u64> {
        let backend = &mut self.backend;
        backend.snapshot = backend.txn.statement_snapshot();
        let mut state = State::new(&planned.plan, std::mem::take(params));
        let changed = change.run(buffers, &mut Cx { state: &mut state, host: backend });
        *params = state.params;
        let changed = changed?;
        if changed && let Some(fields) = &planned.fields {
            send_row(&self.backend, client, fields, formats, &buffers.returned)?;
        }
        self.finish_statement()?;
        Ok(u64::from(changed))
    }

    fn send_point(
        &self,
        read: &PointRead,
        planned: &Planned,
        formats: &Formats,
        row: &[u8],
        client: &mut dyn Client,
    ) -> Result<()> {
        let table = &*read.key.table;
        let row = toast::inlined(table, row, |column| {
            read.columns.iter().any(|c| usize::from(*c) == column)
        })?;
        let view = RowView::new(&table.desc, &row);
        let fields = planned.fields.as_deref().unwrap_or(&[]);
        client.begin_row(read.columns.len());
        for (i, (column, field)) in read.columns.iter().zip(fields).enumerate() {
            let value = view.get(usize::from(*column));
            if value.is_null() {
                client.null_value();
                continue;
            }
            client.begin_value();
            let io = self.backend.io();
            put_value(field.type_id, &value, formats.of(i), &io, client.buffer())?;
            client.end_value();
        }
        client.end_row()
    }
}
