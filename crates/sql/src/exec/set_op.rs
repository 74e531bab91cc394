//! UNION, INTERSECT and EXCEPT over whole rows, by hashing.
//!
//! A table takes in the distinct rows that there is room for: those of the right input with their numbers,
//! and those of the left one that were given and must not be given again. Once it is full it stays as it is;
//! rows that it knows are decided at once, all others are parted by their hash into a temporary file, and
//! each part is then treated like the inputs themselves. As every table knows at least one row, that ends.

use std::sync::Arc;

use crate::bind::query::SetOperator;
use crate::error::{Result, check_stack};
use crate::plan::node;
use crate::types::Datum;

use super::group::{ENTRY_BYTES, KeyMap, check_alike, hash_of};
use super::spill::{Drain, Partitions, SpillFile, Spool, row_bytes};
use super::{Cx, Operator, Running, run};

/// What is known of a row.
#[derive(Default)]
struct Entry {
    /// How many rows on the right are not paired yet.
    right: u64,
    /// It was given.
    given: bool,
}

/// Where the rows of one side come from.
enum Source {
    Input(Running),
    Part(Box<Drain>),
    Nothing,
}

/// Rows of both sides with the same part of their hash.
struct Part {
    round: u32,
    left: Option<Spool>,
    right: Option<Spool>,
}

/// What the table had no room for.
struct Overflow {
    left: Partitions,
    right: Partitions,
}

/// See the module's description.
pub struct SetOp {
    plan: Arc<node::SetOp>,
    left: Source,
    right: Source,
    /// The inputs, while parts are being worked on.
    inputs: Option<(Running, Running)>,
    table: KeyMap<Entry>,
    used: usize,
    /// The right side is in the table; with UNION, the left one was given.
    right_done: bool,
    left_done: bool,
    round: u32,
    overflow: Option<Overflow>,
    file: Option<Arc<SpillFile>>,
    parts: Vec<Part>,
    row: Vec<Datum>,
}

impl SetOp {
    pub fn new(plan: Arc<node::SetOp>) -> SetOp {
        let (left, right) = (run(&plan.left), run(&plan.right));
        SetOp {
            plan,
            left: Source::Input(left),
            right: Source::Input(right),
            inputs: None,
            table: KeyMap::default(),
            used: 0,
            right_done: false,
            left_done: false,
            round: 0,
            overflow: None,
            file: None,
            parts: Vec::new(),
            row: Vec::new(),
        }
    }

    fn is_union(&self) -> bool {
        matches!(self.plan.op, SetOperator::Union)
    }

    /// Whether the table takes the row at hand, which it does not know. Once it has refused one it takes no more.
    fn takes(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.overflow.is_some() {
            return Ok(false);
        }
        let limit = cx.host.hash_mem_bytes();
        let bytes = row_bytes(&self.row) + ENTRY_BYTES + size_of::<Entry>();
        if self.used + bytes <= limit || self.table.is_empty() {
            self.used += bytes;
            return Ok(true);
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(SpillFile::create(cx.host.temp(), limit)?),
        };
        let parts = || Partitions::new(file, self.round);
        self.overflow = Some(Overflow { left: parts(), right: parts() });
        Ok(false)
    }

    /// Reads the right side into the table.
    fn take_right(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let mut count = 0u32;
        while self.right.next(&mut self.row, cx)? {
            count = count.wrapping_add(1);
            if count.is_multiple_of(512) {
                cx.breathe()?;
            }
            let hash = hash_of(&self.row);
            if let Some(at) = self.table.find(hash, &self.row, |i| self.plan.types[i]) {
                self.table.value_mut(at).right += 1;
            } else if self.takes(cx)? {
                let key = self.row.as_slice().into();
                self.table.add(hash, key, Entry { right: 1, given: false });
            } else if let Some(overflow) = &mut self.overflow {
                overflow.right.push(hash, &[&self.row])?;
            }
        }
        self.overflow.iter_mut().try_for_each(|overflow| overflow.right.seal())
    }

    /// Whether the left row at hand is part of the result, as far as can be told now.
    fn decide(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.is_union() && self.plan.all {
            return Ok(true);
        }
        let keep_common = matches!(self.plan.op, SetOperator::Intersect);
        let hash = hash_of(&self.row);
        if let Some(at) = self.table.find(hash, &self.row, |i| self.plan.types[i]) {
            let entry = self.table.value_mut(at);
            let common = entry.right > 0;
            if self.plan.all {
                entry.right -= u64::from(common);
                return Ok(common == keep_common);
            }
            return Ok(common == keep_common && !std::mem::replace(&mut entry.given, true));
        }
        if let Some(overflow) = &mut self.overflow
            && overflow.right.has(hash)
        {
            overflow.left.push(hash, &[&self.row])?;
            return Ok(false);
        }
        // There is none like it on the right.
        if keep_common || self.plan.all {
            return Ok(!keep_common);
        }
        if self.takes(cx)? {
            let key = self.row.as_slice().into();
            self.table.add(hash, key, Entry { right: 0, given: true });
            return Ok(true);
        }
        if let Some(overflow) = &mut self.overflow {
            overflow.left.push(hash, &[&self.row])?;
        }
        Ok(false)
    }

    /// Goes on to the next part; false when there is none.
    fn next_part(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        cx.host.temp().note_peak(self.used);
        check_alike(self.table.keys(), self.plan.types.iter().copied())?;
        self.table.clear();
        self.used = 0;
        if let Some(overflow) = self.overflow.take() {
            let round = overflow.left.next_round();
            let right = overflow.right.into_parts()?;
            for (left, right) in overflow.left.into_parts()?.into_iter().zip(right) {
                // Without rows on the left there is nothing to give.
                if left.is_some() {
                    self.parts.push(Part { round, left, right });
                }
            }
        }
        let Some(part) = self.parts.pop() else { return Ok(false) };
        self.round = part.round;
        let left = std::mem::replace(&mut self.left, Source::of(part.left));
        let right = std::mem::replace(&mut self.right, Source::of(part.right));
        if let (Source::Input(left), Source::Input(right)) = (left, right) {
            self.inputs = Some((left, right));
        }
        (self.right_done, self.left_done) = (false, false);
        Ok(true)
    }
}

impl Source {
    fn of(spool: Option<Spool>) -> Source {
        spool.map_or(Source::Nothing, |spool| Source::Part(Box::new(spool.drain())))
    }

    /// Puts the next row into `row`.
    fn next(&mut self, row: &mut Vec<Datum>, cx: &mut Cx<'_>) -> Result<bool> {
        match self {
            Source::Nothing => Ok(false),
            Source::Input(input) => {
                let more = input.next(cx)?;
                if more {
                    row.clear();
                    row.extend_from_slice(input.row());
                }
                Ok(more)
            }
            Source::Part(drain) => {
                let more = drain.next()?;
                if more {
                    std::mem::swap(row, drain.row_mut());
                }
                Ok(more)
            }
        }
    }
}

impl Operator for SetOp {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        check_stack()?;
        loop {
            cx.breathe()?;
            // UNION gives its right side as it gives its left one.
            if self.is_union() {
                let side = if self.left_done { &mut self.right } else { &mut self.left };
                if side.next(&mut self.row, cx)? {
                    if self.decide(cx)? {
                        return Ok(true);
                    }
                    continue;
                }
                if !std::mem::replace(&mut self.left_done, true) {
                    continue;
                }
            } else {
                if !std::mem::replace(&mut self.right_done, true) {
                    self.take_right(cx)?;
                }
                if self.left.next(&mut self.row, cx)? {
                    if self.decide(cx)? {
                        return Ok(true);
                    }
                    continue;
                }
            }
            if !self.next_part(cx)? {
                return Ok(false);
            }
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        if let Some((left, right)) = self.inputs.take() {
            (self.left, self.right) = (Source::Input(left), Source::Input(right));
        }
        self.table.clear();
        (self.used, self.round) = (0, 0);
        (self.overflow, self.file) = (None, None);
        self.parts.clear();
        (self.right_done, self.left_done) = (false, false);
        for side in [&mut self.left, &mut self.right] {
            if let Source::Input(input) = side {
                input.rescan(cx)?;
            }
        }
        Ok(())
    }
}
