//! Grouping and aggregates, by hashing.

use std::sync::Arc;

use base::hash::HashMap;

use crate::bind::tree::{AggCall, Expr};
use crate::error::Result;
use crate::func::Accumulator;
use crate::plan::node;
use crate::types::{Datum, TypeId};

use super::eval::{eval, passes};
use super::group::{Key, KeyMap};
use super::sort::{KeyOrder, compare_keys, key_values};
use super::{Cx, Operator, Running, run};

/// Groups its input and folds each group.
pub struct Aggregate {
    plan: Arc<node::Aggregate>,
    input: Running,
    /// Finished rows, and how many were given.
    rows: Option<std::vec::IntoIter<Vec<Datum>>>,
    row: Vec<Datum>,
}

/// Sort keys and arguments of one row.
type Kept = (Box<[Datum]>, Box<[Datum]>);

/// One call's state in one group.
struct CallState {
    accumulator: Box<dyn Accumulator>,
    /// Values seen, for DISTINCT.
    seen: Option<KeyMap<()>>,
    /// Sort keys and arguments kept until the group is whole, for ORDER BY.
    kept: Vec<Kept>,
}

/// One group.
struct Group {
    keys: Box<[Datum]>,
    states: Vec<CallState>,
}

/// Groups of one grouping set, in the order in which they appeared.
#[derive(Default)]
struct Groups {
    by_key: HashMap<Key, usize>,
    groups: Vec<Group>,
}

impl Aggregate {
    pub fn new(plan: Arc<node::Aggregate>) -> Aggregate {
        let input = run(&plan.input);
        Aggregate { plan, input, rows: None, row: Vec::new() }
    }

    fn fold(&mut self, cx: &mut Cx<'_>) -> Result<Vec<Vec<Datum>>> {
        let plan = self.plan.clone();
        let mut sets: Vec<Groups> = plan.sets.iter().map(|_| Groups::default()).collect();
        let mut turns = 0u32;
        while self.input.next(cx)? {
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(512) {
                cx.breathe()?;
            }
            let row = self.input.row();
            let keys = plan.keys.iter().map(|k| eval(k, row, cx)).collect::<Result<Vec<_>>>()?;
            for (set, groups) in plan.sets.iter().zip(&mut sets) {
                let key: Box<[Datum]> = set.iter().map(|i| keys[usize::from(*i)].clone()).collect();
                let group = groups.find(key, &plan.calls);
                for (call, state) in plan.calls.iter().zip(&mut group.states) {
                    state.take(call, row, cx)?;
                }
            }
        }
        for (set, groups) in plan.sets.iter().zip(&mut sets) {
            if set.is_empty() && groups.groups.is_empty() {
                groups.find(Box::default(), &plan.calls);
            }
        }
        let mut rows = Vec::new();
        for (set, groups) in plan.sets.iter().zip(sets) {
            for group in groups.groups {
                rows.push(finish(&plan, set, group, cx)?);
            }
        }
        Ok(rows)
    }
}

impl Groups {
    fn find(&mut self, key: Box<[Datum]>, calls: &[AggCall]) -> &mut Group {
        let next = self.groups.len();
        let at = match self.by_key.entry(Key(key)) {
            std::collections::hash_map::Entry::Occupied(found) => *found.get(),
            std::collections::hash_map::Entry::Vacant(free) => {
                let keys = free.key().0.clone();
                let states = calls.iter().map(CallState::new).collect();
                self.groups.push(Group { keys, states });
                *free.insert(next)
            }
        };
        &mut self.groups[at]
    }
}

/// The group's row: all keys (null where the set lacks them), the aggregates, the GROUPING values.
fn finish(
    plan: &node::Aggregate,
    set: &[u16],
    group: Group,
    cx: &mut Cx<'_>,
) -> Result<Vec<Datum>> {
    let mut row = vec![Datum::Null; plan.keys.len()];
    for (i, value) in set.iter().zip(group.keys) {
        row[usize::from(*i)] = value;
    }
    for (call, state) in plan.calls.iter().zip(group.states) {
        row.push(state.finish(call, cx)?);
    }
    for arguments in &plan.groupings {
        let bits = arguments.iter().fold(0, |bits, key| bits << 1 | i32::from(!set.contains(key)));
        row.push(Datum::Int4(bits));
    }
    Ok(row)
}

/// The types of a call's arguments.
pub(super) fn arg_types(args: &[Expr]) -> Vec<TypeId> {
    args.iter().map(Expr::type_id).collect()
}

impl CallState {
    fn new(call: &AggCall) -> CallState {
        CallState {
            accumulator: (call.agg.start)(&arg_types(&call.args)),
            seen: call.distinct.then(KeyMap::default),
            kept: Vec::new(),
        }
    }

    /// Takes one input row in.
    fn take(&mut self, call: &AggCall, row: &[Datum], cx: &mut Cx<'_>) -> Result<()> {
        if !passes(call.filter.as_ref(), row, cx)? {
            return Ok(());
        }
        let args: Box<[Datum]> =
            call.args.iter().map(|a| eval(a, row, cx)).collect::<Result<_>>()?;
        if call.agg.strict && args.iter().any(Datum::is_null) {
            return Ok(());
        }
        if let Some(seen) = &mut self.seen
            && seen.insert(Key(args.clone()), ()).is_some()
        {
            return Ok(());
        }
        if !call.order_by.is_empty() {
            self.kept.push((key_values(&call.order_by, row, cx)?, args));
            return Ok(());
        }
        self.add(call, &args, cx)
    }

    fn add(&mut self, call: &AggCall, args: &[Datum], cx: &mut Cx<'_>) -> Result<()> {
        let types = arg_types(&call.args);
        let accumulator = &mut self.accumulator;
        cx.with_context(&types, call.ty.id, |context| accumulator.add(context, args))
    }

    fn finish(mut self, call: &AggCall, cx: &mut Cx<'_>) -> Result<Datum> {
        let order = KeyOrder::of(&call.order_by);
        let mut kept = std::mem::take(&mut self.kept);
        kept.sort_by(|a, b| compare_keys(&order, &a.0, &b.0));
        for (_, args) in kept {
            self.add(call, &args, cx)?;
        }
        let types = arg_types(&call.args);
        let accumulator = &mut self.accumulator;
        cx.with_context(&types, call.ty.id, |context| accumulator.finish(context))
    }
}

impl Operator for Aggregate {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = Some(self.fold(cx)?.into_iter());
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
        self.input.rescan(cx)
    }
}
