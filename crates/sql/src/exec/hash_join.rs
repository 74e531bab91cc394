//! Joining by equality of keys.
//!
//! A pass reads as many inner rows into a hash table as memory holds. What is left of them is parted by the
//! hash of its keys into a temporary file. Each outer row then looks for matches in the table, and goes to the
//! file, too, if its part of the inner rows is not empty; it takes along whether it has had a match. A part is
//! joined by a pass of its own, under other bits of the hash. As every pass takes at least one inner row into
//! its table, that ends, also where one key's rows alone are larger than memory. A table of all inner rows is asked again
//! when the join is started again, if these are the same.

use std::sync::Arc;

use base::hash::HashMap;

use crate::error::{Result, check_stack};
use crate::plan::node::{self, JoinType};
use crate::plan::rerun::Rerun;
use crate::types::Datum;

use super::eval::{eval, passes};
use super::group::{ENTRY_BYTES, are_equal, hash_of};
use super::spill::{Drain, Partitions, SpillFile, Spool, Usage, row_bytes};
use super::{Cx, Operator, Running, run};

/// No row.
const NONE: u32 = u32::MAX;
/// The least number of buckets that EXPLAIN tells of.
const BUCKETS_MIN: u64 = 1024;

/// Inner rows in a hash table.
#[derive(Default)]
struct Table {
    rows: Vec<Inner>,
    /// First and last row with a hash of keys.
    chains: HashMap<u64, (u32, u32)>,
    bytes: usize,
}

struct Inner {
    /// Its values, then its keys.
    row: Box<[Datum]>,
    /// The next row with the same hash.
    next: u32,
    matched: bool,
}

/// Where the rows of a side come from.
enum Source {
    Input,
    Part(Box<Drain>),
    Nothing,
}

/// Rows with the same part of their hash. An outer row begins with whether it has had a match.
struct Part {
    round: u32,
    inner: Spool,
    outer: Option<Spool>,
}

struct Overflow {
    inner: Partitions,
    outer: Partitions,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Build,
    Probe,
    /// Inner rows without a match, from this number on.
    Leftover(usize),
    Done,
}

/// The current outer row.
#[derive(Clone, Copy)]
struct Probe {
    hash: u64,
    /// A key is null: there is no match.
    null: bool,
    /// The next row of the table to look at.
    next: u32,
    matched: bool,
}

/// See the module's description.
pub struct HashJoin {
    plan: Arc<node::HashJoin>,
    outer: Running,
    inner: Running,
    outer_source: Source,
    inner_source: Source,
    phase: Phase,
    round: u32,
    table: Table,
    overflow: Option<Overflow>,
    file: Option<Arc<SpillFile>>,
    parts: Vec<Part>,
    row: Vec<Datum>,
    outer_keys: Vec<Datum>,
    probe: Option<Probe>,
    /// What the inner side gives when it is started again; looked into then.
    rerun: Option<Rerun>,
    /// Some inner row has a null key; there is an inner row (NOT IN).
    has_null_key: bool,
    has_inner: bool,
    passes: u64,
    buckets: u64,
    peak: usize,
}

impl Table {
    fn bytes_of(row: &[Datum]) -> usize {
        row_bytes(row) + ENTRY_BYTES
    }

    /// Takes a row in. `hash` is that of its keys, if none is null.
    fn push(&mut self, row: &[Datum], hash: Option<u64>) {
        let number = u32::try_from(self.rows.len()).expect("fewer rows than memory holds");
        self.bytes += Table::bytes_of(row);
        if let Some(hash) = hash {
            let (_, last) = self.chains.entry(hash).or_insert((number, number));
            if *last != number {
                self.rows[*last as usize].next = number;
                *last = number;
            }
        }
        self.rows.push(Inner { row: row.into(), next: NONE, matched: false });
    }
}

impl HashJoin {
    pub fn new(plan: Arc<node::HashJoin>) -> HashJoin {
        let (outer, inner) = (run(&plan.outer), run(&plan.inner));
        let row = vec![Datum::Null; usize::from(plan.outer_width + plan.inner_width)];
        HashJoin {
            plan,
            outer,
            inner,
            outer_source: Source::Input,
            inner_source: Source::Input,
            phase: Phase::Build,
            round: 0,
            table: Table::default(),
            overflow: None,
            file: None,
            parts: Vec::new(),
            row,
            outer_keys: Vec::new(),
            probe: None,
            rerun: None,
            has_null_key: false,
            has_inner: false,
            passes: 0,
            buckets: 0,
            peak: 0,
        }
    }

    /// Reads the inner side: into the table, then into the file.
    fn build(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        check_stack()?;
        self.passes += 1;
        let limit = cx.host.hash_mem_bytes();
        let keep_null = self.gives_leftovers();
        let mut count = 0u32;
        let mut whole = Vec::new();
        loop {
            let more = match &mut self.inner_source {
                Source::Input => self.inner.next(cx)?,
                Source::Part(drain) => drain.next()?,
                Source::Nothing => false,
            };
            if !more {
                break;
            }
            let row = match &self.inner_source {
                Source::Part(drain) => drain.row(),
                _ => self.inner.row(),
            };
            count = count.wrapping_add(1);
            if count.is_multiple_of(1024) {
                cx.breathe()?;
            }
            whole.clear();
            whole.extend_from_slice(row);
            for key in &self.plan.inner_keys {
                whole.push(eval(key, row, cx)?);
            }
            let keys = &whole[row.len()..];
            let null = keys.iter().any(Datum::is_null);
            self.has_inner = true;
            self.has_null_key |= null;
            if null && !keep_null {
                continue;
            }
            if let Some(overflow) = &mut self.overflow {
                overflow.inner.push(hash_of(keys), &[row])?;
                continue;
            }
            let bytes = Table::bytes_of(&whole);
            if self.table.bytes + bytes > limit && !self.table.rows.is_empty() {
                let file = match &self.file {
                    Some(file) => file,
                    None => self.file.insert(SpillFile::create(cx.host.temp(), limit)?),
                };
                let parts = || Partitions::new(file, self.round);
                let overflow = self.overflow.insert(Overflow { inner: parts(), outer: parts() });
                overflow.inner.push(hash_of(keys), &[row])?;
                continue;
            }
            let hash = (!null).then(|| hash_of(keys));
            self.table.push(&whole, hash);
        }
        if let Some(overflow) = &mut self.overflow {
            overflow.inner.seal()?;
        }
        self.peak = self.peak.max(self.table.bytes);
        self.buckets = self.buckets.max(self.table.chains.capacity() as u64);
        cx.host.temp().note_peak(self.table.bytes);
        Ok(())
    }

    /// Moves to the next outer row.
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let width = usize::from(self.plan.outer_width);
        let mut matched = false;
        match &mut self.outer_source {
            Source::Input => {
                if !self.outer.next(cx)? {
                    return Ok(false);
                }
                self.row[..width].clone_from_slice(self.outer.row());
            }
            Source::Part(drain) => {
                if !drain.next()? {
                    return Ok(false);
                }
                matched = matches!(drain.row()[0], Datum::Bool(true));
                self.row[..width].swap_with_slice(&mut drain.row_mut()[1..]);
            }
            Source::Nothing => return Ok(false),
        }
        self.outer_keys.clear();
        for key in &self.plan.outer_keys {
            self.outer_keys.push(eval(key, &self.row[..width], cx)?);
        }
        let null = self.outer_keys.iter().any(Datum::is_null);
        let hash = hash_of(&self.outer_keys);
        let chain = if null { None } else { self.table.chains.get(&hash) };
        let next = chain.map_or(NONE, |(first, _)| *first);
        self.probe = Some(Probe { hash, null, next, matched });
        Ok(true)
    }

    /// The next inner row that matches the current outer one.
    fn next_match(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let Some(probe) = &mut self.probe else { return Ok(false) };
        let width = usize::from(self.plan.outer_width);
        let mut tried = 0u32;
        while let Some(inner) = self.table.rows.get_mut(probe.next as usize) {
            probe.next = inner.next;
            tried = tried.wrapping_add(1);
            if tried.is_multiple_of(1024) {
                cx.breathe()?;
            }
            let (values, keys) = inner.row.split_at(self.row.len() - width);
            if !are_equal(keys, &self.outer_keys, |i| self.plan.inner_keys[i].type_id()) {
                continue;
            }
            self.row[width..].clone_from_slice(values);
            if passes(self.plan.condition.as_ref(), &self.row, cx)? {
                inner.matched = true;
                probe.matched = true;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The table has no more matches for the current outer row. Whether it is given without one.
    fn leave(&mut self) -> Result<bool> {
        let Some(probe) = self.probe.take() else { return Ok(false) };
        let width = usize::from(self.plan.outer_width);
        if let Some(overflow) = &mut self.overflow
            && !probe.null
            && overflow.inner.has(probe.hash)
        {
            let matched = [Datum::Bool(probe.matched)];
            overflow.outer.push(probe.hash, &[&matched, &self.row[..width]])?;
            return Ok(false);
        }
        if probe.matched || !self.keeps_unmatched(probe.null) {
            return Ok(false);
        }
        self.row[width..].fill(Datum::Null);
        Ok(true)
    }

    /// Whether an outer row without a match is given.
    fn keeps_unmatched(&self, null: bool) -> bool {
        match self.plan.kind {
            JoinType::Left | JoinType::Full | JoinType::Anti => true,
            // NOT IN: unknown, and so false, when either side has a null; true over an empty list.
            JoinType::NullAwareAnti => !self.has_null_key && (!null || !self.has_inner),
            _ => false,
        }
    }

    /// Whether the table holds all inner rows, and they would be the same ones again.
    fn keeps_table(&mut self) -> bool {
        if self.phase == Phase::Build || self.file.is_some() {
            return false;
        }
        let plan = &self.plan;
        let rerun = || Rerun::of(&plan.inner, &plan.inner_keys);
        *self.rerun.get_or_insert_with(rerun) != Rerun::Other
    }

    fn gives_leftovers(&self) -> bool {
        matches!(self.plan.kind, JoinType::Right | JoinType::Full)
    }

    /// The next inner row, from this one on, that no outer row matched.
    fn next_leftover(&mut self, from: usize) -> bool {
        let width = usize::from(self.plan.outer_width);
        let rest = &self.table.rows[from..];
        let Some(at) = rest.iter().position(|inner| !inner.matched) else { return false };
        self.row[..width].fill(Datum::Null);
        let inner_width = self.row.len() - width;
        self.row[width..].clone_from_slice(&rest[at].row[..inner_width]);
        self.phase = Phase::Leftover(from + at + 1);
        true
    }

    /// Goes on to the next part; false when there is none.
    fn next_part(&mut self) -> Result<bool> {
        if self.file.is_none() {
            // The table may be asked again.
            return Ok(false);
        }
        self.table = Table::default();
        if let Some(overflow) = self.overflow.take() {
            let round = overflow.inner.next_round();
            let outer = overflow.outer.into_parts()?;
            for (inner, outer) in overflow.inner.into_parts()?.into_iter().zip(outer) {
                let Some(inner) = inner else { continue };
                if outer.is_some() || self.gives_leftovers() {
                    self.parts.push(Part { round, inner, outer });
                }
            }
        }
        let Some(part) = self.parts.pop() else { return Ok(false) };
        self.round = part.round;
        self.inner_source = Source::Part(Box::new(part.inner.drain()));
        self.outer_source = match part.outer {
            Some(outer) => Source::Part(Box::new(outer.drain())),
            None => Source::Nothing,
        };
        self.phase = Phase::Build;
        Ok(true)
    }

    /// Gives the next row of the pass; false at its end.
    fn next_of_pass(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if let Phase::Leftover(from) = self.phase {
                return Ok(self.next_leftover(from));
            }
            if self.probe.is_none() && !self.advance(cx)? {
                if !self.gives_leftovers() {
                    return Ok(false);
                }
                self.phase = Phase::Leftover(0);
                continue;
            }
            cx.breathe()?;
            if self.next_match(cx)? {
                match self.plan.kind {
                    JoinType::Semi => {
                        self.probe = None;
                        return Ok(true);
                    }
                    JoinType::Anti | JoinType::NullAwareAnti => self.probe = None,
                    _ => return Ok(true),
                }
            } else if self.leave()? {
                return Ok(true);
            }
        }
    }
}

impl Operator for HashJoin {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            match self.phase {
                Phase::Done => return Ok(false),
                Phase::Build => {
                    self.build(cx)?;
                    self.phase = Phase::Probe;
                }
                Phase::Probe | Phase::Leftover(_) => {}
            }
            if self.next_of_pass(cx)? {
                return Ok(true);
            }
            if !self.next_part()? {
                self.phase = Phase::Done;
            }
        }
    }

    fn row(&self) -> &[Datum] {
        // What only asks whether there is an inner row gives the outer one.
        match self.plan.kind {
            JoinType::Semi | JoinType::Anti | JoinType::NullAwareAnti => {
                &self.row[..usize::from(self.plan.outer_width)]
            }
            _ => &self.row,
        }
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.probe = None;
        if self.keeps_table() {
            if self.gives_leftovers() {
                self.table.rows.iter_mut().for_each(|inner| inner.matched = false);
            }
            self.phase = Phase::Probe;
            return self.outer.rescan(cx);
        }
        self.table = Table::default();
        (self.overflow, self.file) = (None, None);
        self.parts.clear();
        (self.outer_source, self.inner_source) = (Source::Input, Source::Input);
        (self.phase, self.round) = (Phase::Build, 0);
        (self.has_null_key, self.has_inner) = (false, false);
        self.inner.rescan(cx)?;
        self.outer.rescan(cx)
    }

    fn usage(&self) -> Option<Usage> {
        (self.passes > 0).then(|| Usage::Hash {
            batches: self.passes,
            buckets: self.buckets.next_power_of_two().max(BUCKETS_MIN),
            peak_bytes: self.peak as u64,
            disk_bytes: self.file.as_ref().map_or(0, |file| file.bytes()),
        })
    }
}
