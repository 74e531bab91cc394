//! The rows of one partition, and a value for each.

use crate::bind::tree::SortExpr;
use crate::error::Result;
use crate::exec::Cx;
use crate::exec::eval::eval;
use crate::exec::sort::{KeyOrder, compare_keys};
use crate::exec::spill::{RowReader, RowStore, check_held, values_bytes};
use crate::types::Datum;

/// Readers of a partition that lies in a file: frames, neighbours and the row at hand are read side by side.
const READERS: usize = 3;
/// A reader that is no further away than this goes on; otherwise the next in turn jumps.
const NEAR_ROWS: usize = 64;

/// One partition, whole.
pub(super) struct Partition {
    /// Rows, each with its sort keys behind.
    rows: RowStore,
    /// Values of a row without the keys.
    width: usize,
    order: Vec<KeyOrder>,
    /// The numbers of the rows that begin a group of peers.
    groups: Vec<u32>,
    /// The last row, with its keys behind; the last row's keys.
    whole: Vec<Datum>,
    last: Vec<Datum>,
    readers: [RowReader; READERS],
    turn: usize,
}

impl Partition {
    pub(super) fn new(width: usize, order: Vec<KeyOrder>, cx: &mut Cx<'_>) -> Partition {
        Partition {
            rows: cx.row_store(),
            width,
            order,
            groups: Vec::new(),
            whole: Vec::new(),
            last: Vec::new(),
            readers: Default::default(),
            turn: 0,
        }
    }

    pub(super) fn push(
        &mut self,
        row: &[Datum],
        order_by: &[SortExpr],
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        self.whole.clear();
        self.whole.extend_from_slice(row);
        for key in order_by {
            self.whole.push(eval(&key.expr, row, cx)?);
        }
        let keys = &self.whole[row.len()..];
        if self.groups.is_empty() || compare_keys(&self.order, &self.last, keys).is_ne() {
            self.last.clear();
            self.last.extend_from_slice(keys);
            let number = u32::try_from(self.len()).expect("the groups' limit comes first");
            self.groups.push(number);
            check_held(size_of_val(&*self.groups), "The groups of a window's partition")?;
        }
        self.rows.push(&self.whole)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of the group of peers that row `i` belongs to.
    pub(super) fn group_of(&self, i: usize) -> usize {
        self.groups.partition_point(|first| *first as usize <= i) - 1
    }

    /// The half-open range of rows of a group, if there is one of this number.
    pub(super) fn group(&self, number: usize) -> Option<(usize, usize)> {
        let first = *self.groups.get(number)? as usize;
        let end = self.groups.get(number + 1).map_or(self.len(), |next| *next as usize);
        Some((first, end))
    }

    /// The half-open range of rows that are row `i`'s peers.
    pub(super) fn peers(&self, i: usize) -> (usize, usize) {
        self.group(self.group_of(i)).expect("each row has peers")
    }

    /// A row, with its sort keys behind.
    pub(super) fn row(&mut self, i: usize) -> Result<&[Datum]> {
        if self.rows.in_memory(i).is_none() {
            let near = |reader: &RowReader| reader.distance_to(i).is_some_and(|n| n <= NEAR_ROWS);
            let reader = self.readers.iter().position(near).unwrap_or_else(|| {
                self.turn = (self.turn + 1) % READERS;
                self.turn
            });
            return self.readers[reader].get(&self.rows, i);
        }
        Ok(self.rows.in_memory(i).expect("looked at just now"))
    }

    /// A row without its sort keys.
    pub(super) fn own(&mut self, i: usize) -> Result<&[Datum]> {
        let width = self.width;
        Ok(&self.row(i)?[..width])
    }

    /// A row's first sort key.
    pub(super) fn first_key(&mut self, i: usize) -> Result<&Datum> {
        let width = self.width;
        Ok(&self.row(i)?[width])
    }
}

/// A value for each row: the first ones in memory, the others in a file.
pub(super) struct ValueStore {
    values: Vec<Datum>,
    bytes: usize,
    limit: usize,
    more: RowStore,
    reader: RowReader,
}

impl ValueStore {
    pub(super) fn new(cx: &mut Cx<'_>) -> ValueStore {
        let (limit, more) = (cx.host.work_mem_bytes(), RowStore::new(cx.host.temp(), 0));
        ValueStore { values: Vec::new(), bytes: 0, limit, more, reader: RowReader::default() }
    }

    pub(super) fn push(&mut self, value: Datum) -> Result<()> {
        if !self.more.is_empty() {
            return self.more.push(&[value]);
        }
        self.bytes += values_bytes(std::slice::from_ref(&value));
        if self.bytes > self.limit {
            return self.more.push(&[value]);
        }
        self.values.push(value);
        Ok(())
    }

    pub(super) fn get(&mut self, i: usize) -> Result<Datum> {
        match self.values.get(i) {
            Some(value) => Ok(value.clone()),
            None => Ok(self.reader.get(&self.more, i - self.values.len())?[0].clone()),
        }
    }
}
