//! Grouping and aggregates, by hashing.
//!
//! Groups are kept in one table per grouping set. When their memory is full no new ones are made: rows of
//! groups that are there go on being folded, all others are parted by the hash of their key into a temporary
//! file, and each part is then folded like the input itself. As every table holds at least one group, that
//! ends. What DISTINCT and ORDER BY inside of aggregates must keep goes to files of its own (`late.rs`).

mod call;
mod late;

use std::sync::Arc;

use crate::bind::tree::Expr;
use crate::error::{Result, check_stack};
use crate::plan::node;
use crate::types::{Datum, TypeId};

use super::eval::eval;
use super::group::{ENTRY_BYTES, KeyMap, check_alike, hash_of};
use super::spill::{Drain, Partitions, SpillFile, Spool, Usage, check_held, row_bytes};
use super::{Cx, Operator, Running, run};
use call::{CallState, STATE_BYTES};
use late::Late;

/// Groups its input and folds each group.
pub struct Aggregate {
    plan: Arc<node::Aggregate>,
    input: Running,
    started: bool,
    /// What is given now, the last set first.
    ready: Vec<Ready>,
    /// What did not fit.
    parts: Vec<Part>,
    file: Option<Arc<SpillFile>>,
    row: Vec<Datum>,
    memory: Memory,
}

/// Groups of one grouping set, in the order in which they appeared.
struct Groups {
    /// Which set.
    set: usize,
    /// The states of their calls, by their keys.
    groups: KeyMap<Vec<CallState>>,
    /// The set is all keys in their order.
    whole: bool,
    /// The row's keys, of another set.
    keys: Vec<Datum>,
    /// By call, what its groups could not keep.
    late: Vec<Option<Late>>,
    overflow: Option<Partitions>,
}

/// Rows of one set whose groups are still to be made.
struct Part {
    set: usize,
    round: u32,
    rows: Spool,
}

/// A whole group: its keys, its calls' states.
type Whole = (Box<[Datum]>, Vec<CallState>);

/// Whole groups, to be given.
struct Ready {
    set: usize,
    groups: Box<dyn Iterator<Item = Whole> + Send>,
    /// The next one's number.
    number: i64,
    late: Vec<Option<Late>>,
}

/// The memory of the groups at work.
#[derive(Default)]
struct Memory {
    limit: usize,
    /// Bytes of groups, and of what DISTINCT and ORDER BY keep in memory.
    groups: usize,
    late: usize,
    /// Of `groups`, what can't be put into a file.
    held: usize,
    /// No group is made any more.
    full: bool,
    peak: usize,
    batches: u64,
    /// A call's arguments, of the row at hand.
    args: Vec<Datum>,
}

impl Aggregate {
    pub fn new(plan: Arc<node::Aggregate>) -> Aggregate {
        let input = run(&plan.input);
        Aggregate {
            plan,
            input,
            started: false,
            ready: Vec::new(),
            parts: Vec::new(),
            file: None,
            row: Vec::new(),
            memory: Memory::default(),
        }
    }

    /// Folds the input.
    fn fold_input(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        check_stack()?;
        let plan = self.plan.clone();
        self.memory.start(cx);
        let mut sets: Vec<Groups> = (0..plan.sets.len()).map(|i| Groups::new(i, &plan)).collect();
        let mut turns = 0u32;
        let mut keys = Vec::with_capacity(plan.keys.len());
        while self.input.next(cx)? {
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(512) {
                cx.breathe()?;
            }
            let row = self.input.row();
            keys.clear();
            for key in &plan.keys {
                keys.push(eval(key, row, cx)?);
            }
            for groups in &mut sets {
                groups.take(&plan, &keys, row, 0, &mut self.memory, &mut self.file, cx)?;
            }
            if self.memory.is_over() {
                self.memory.relieve(&plan, &mut sets, cx)?;
            }
        }
        for (set, groups) in plan.sets.iter().zip(&mut sets) {
            if set.is_empty() && groups.groups.is_empty() {
                groups.make(hash_of(&[]), Box::default(), &plan, &mut self.memory);
            }
        }
        self.finish_fold(sets, 0, cx)
    }

    /// Folds rows that were put off.
    fn fold_part(&mut self, part: Part, cx: &mut Cx<'_>) -> Result<()> {
        let plan = self.plan.clone();
        self.memory.start(cx);
        let mut sets = [Groups::new(part.set, &plan)];
        let mut rows: Drain = part.rows.drain();
        let mut turns = 0u32;
        let mut keys = Vec::with_capacity(plan.keys.len());
        while rows.next()? {
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(512) {
                cx.breathe()?;
            }
            let row = rows.row();
            keys.clear();
            for key in &plan.keys {
                keys.push(eval(key, row, cx)?);
            }
            let (memory, file) = (&mut self.memory, &mut self.file);
            sets[0].take(&plan, &keys, row, part.round, memory, file, cx)?;
            if self.memory.is_over() {
                self.memory.relieve(&plan, &mut sets, cx)?;
            }
        }
        self.finish_fold(sets, part.round, cx)
    }

    /// Makes groups ready to be given, and notes what they did not take in.
    fn finish_fold(
        &mut self,
        sets: impl IntoIterator<Item = Groups, IntoIter: DoubleEndedIterator>,
        round: u32,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        self.memory.end(cx);
        for mut groups in sets.into_iter().rev() {
            if let Some(overflow) = groups.overflow.take() {
                for rows in overflow.into_parts()?.into_iter().flatten() {
                    self.parts.push(Part { set: groups.set, round: round + 1, rows });
                }
            }
            let keys = self.plan.sets[groups.set].iter().map(|i| &self.plan.keys[usize::from(*i)]);
            check_alike(groups.groups.keys(), keys.map(Expr::type_id))?;
            groups.finish_late(&self.plan)?;
            self.ready.push(Ready {
                set: groups.set,
                groups: Box::new(groups.groups.into_entries()),
                number: 0,
                late: groups.late,
            });
        }
        Ok(())
    }

    /// Puts the next group's row into `self.row`; false when no ready one is left.
    fn give(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while let Some(ready) = self.ready.last_mut() {
            if let Some(group) = ready.groups.next() {
                let set = &self.plan.sets[ready.set];
                let number = ready.number;
                ready.number += 1;
                finish(&self.plan, set, group, number, &mut ready.late, &mut self.row, cx)?;
                return Ok(true);
            }
            self.ready.pop();
        }
        Ok(false)
    }
}

impl Groups {
    fn new(set: usize, plan: &node::Aggregate) -> Groups {
        let late = plan.calls.iter().map(|_| None).collect();
        let (keys, groups) = (Vec::new(), KeyMap::default());
        let whole = plan.sets[set].iter().map(|i| usize::from(*i)).eq(0..plan.keys.len());
        Groups { set, groups, whole, keys, late, overflow: None }
    }

    /// Folds one row, or puts it off.
    #[allow(clippy::too_many_arguments, reason = "the parts of an operator that is borrowed from")]
    fn take(
        &mut self,
        plan: &node::Aggregate,
        keys: &[Datum],
        row: &[Datum],
        round: u32,
        memory: &mut Memory,
        file: &mut Option<Arc<SpillFile>>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let keys = if self.whole {
            keys
        } else {
            self.keys.clear();
            let set = &plan.sets[self.set];
            self.keys.extend(set.iter().map(|i| keys[usize::from(*i)].clone()));
            &self.keys
        };
        let hash = hash_of(keys);
        let set = &plan.sets[self.set];
        let type_of = |i: usize| plan.keys[usize::from(set[i])].type_id();
        let at = match self.groups.find(hash, keys, type_of) {
            Some(at) => at,
            None if memory.full && !self.groups.is_empty() => {
                let overflow = match &mut self.overflow {
                    Some(overflow) => overflow,
                    None => {
                        let file = match file {
                            Some(file) => file,
                            None => file.insert(SpillFile::create(cx.host.temp(), memory.limit)?),
                        };
                        self.overflow.insert(Partitions::new(file, round))
                    }
                };
                return overflow.push(hash, &[row]);
            }
            None => {
                let keys = keys.into();
                self.make(hash, keys, plan, memory)
            }
        };
        for (call, state) in plan.calls.iter().zip(self.groups.value_mut(at)) {
            state.take(call, row, memory, cx)?;
        }
        Ok(())
    }

    /// Makes a group; its number.
    fn make(
        &mut self,
        hash: u64,
        keys: Box<[Datum]>,
        plan: &node::Aggregate,
        memory: &mut Memory,
    ) -> usize {
        memory.groups += row_bytes(&keys)
            + ENTRY_BYTES
            + size_of::<Vec<CallState>>()
            + plan.calls.len() * STATE_BYTES;
        self.groups.add(hash, keys, plan.calls.iter().map(CallState::new).collect())
    }

    /// Moves what DISTINCT and ORDER BY keep in memory to sorters.
    fn move_late(&mut self, plan: &node::Aggregate, limit: usize, cx: &mut Cx<'_>) -> Result<()> {
        for (at, call) in plan.calls.iter().enumerate().filter(|(_, call)| call::is_late(call)) {
            let late = self.late[at].get_or_insert_with(|| Late::new(call, limit, cx));
            for (number, states) in self.groups.values_mut().enumerate() {
                states[at].move_to(late, number as i64)?;
            }
        }
        Ok(())
    }

    /// No more rows come: where anything went to a sorter the rest follows, and it is sorted.
    fn finish_late(&mut self, plan: &node::Aggregate) -> Result<()> {
        for (at, late) in self.late.iter_mut().enumerate() {
            let Some(late) = late else { continue };
            debug_assert!(call::is_late(&plan.calls[at]), "other calls keep nothing");
            for (number, states) in self.groups.values_mut().enumerate() {
                states[at].move_to(late, number as i64)?;
            }
            late.sort()?;
        }
        Ok(())
    }
}

impl Memory {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.limit = cx.host.hash_mem_bytes();
        (self.groups, self.late, self.held, self.full) = (0, 0, 0, false);
        self.batches += 1;
    }

    fn end(&mut self, cx: &mut Cx<'_>) {
        let used = self.groups + self.late;
        self.peak = self.peak.max(used);
        cx.host.temp().note_peak(used.saturating_sub(self.held));
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.groups + self.late > self.limit
    }

    /// Memory is full: moves what can be moved, and makes no more groups where that is not enough.
    fn relieve(
        &mut self,
        plan: &node::Aggregate,
        sets: &mut [Groups],
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        check_held(self.held, "The states of aggregates")?;
        if self.late > self.limit / 4 {
            self.end(cx);
            let calls = plan.calls.iter().filter(|call| call::is_late(call)).count();
            let limit = self.limit / 4 / (calls * sets.len()).max(1);
            for groups in sets {
                groups.move_late(plan, limit, cx)?;
            }
            self.late = 0;
        }
        self.full |= self.groups > self.limit / 4 * 3;
        Ok(())
    }
}

/// The group's row: all keys (null where the set lacks them), the aggregates, the GROUPING values.
fn finish(
    plan: &node::Aggregate,
    set: &[u16],
    (keys, states): Whole,
    number: i64,
    late: &mut [Option<Late>],
    row: &mut Vec<Datum>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    row.clear();
    row.resize(plan.keys.len(), Datum::Null);
    for (i, value) in set.iter().zip(keys) {
        row[usize::from(*i)] = value;
    }
    for ((call, state), late) in plan.calls.iter().zip(states).zip(late) {
        row.push(state.finish(call, number, late.as_mut(), cx)?);
    }
    for arguments in &plan.groupings {
        let bits = arguments.iter().fold(0, |bits, key| bits << 1 | i32::from(!set.contains(key)));
        row.push(Datum::Int4(bits));
    }
    Ok(())
}

/// The types of a call's arguments.
pub(super) fn arg_types(args: &[Expr]) -> Vec<TypeId> {
    args.iter().map(Expr::type_id).collect()
}

impl Operator for Aggregate {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !std::mem::replace(&mut self.started, true) {
            self.fold_input(cx)?;
        }
        loop {
            if self.give(cx)? {
                return Ok(true);
            }
            let Some(part) = self.parts.pop() else { return Ok(false) };
            self.fold_part(part, cx)?;
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.started = false;
        self.ready.clear();
        self.parts.clear();
        self.file = None;
        self.input.rescan(cx)
    }

    fn usage(&self) -> Option<Usage> {
        if !self.started {
            return None;
        }
        Some(Usage::Hash {
            batches: self.memory.batches,
            buckets: 0,
            peak_bytes: self.memory.peak as u64,
            disk_bytes: self.file.as_ref().map_or(0, |file| file.bytes()),
        })
    }
}
