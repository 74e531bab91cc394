//! One aggregate call's state in one group.

use crate::bind::tree::AggCall;
use crate::error::Result;
use crate::exec::Cx;
use crate::exec::eval::{eval, passes};
use crate::exec::group::{ENTRY_BYTES, KeyMap, hash_of};
use crate::exec::sort::{KeyOrder, are_rows, check_alike, compare_keys, key_values, sort_rows};
use crate::exec::spill::{check_held, row_bytes, values_bytes};
use crate::func::Accumulator;
use crate::types::row::ValueKind;
use crate::types::{Datum, TypeId};

use super::late::Late;
use super::{Memory, arg_types};

/// What a state takes, with the accumulator behind it.
pub(super) const STATE_BYTES: usize = size_of::<CallState>() + 64;

/// Sort keys and arguments of one row.
type Kept = (Box<[Datum]>, Box<[Datum]>);

/// See the module's description.
pub(super) struct CallState {
    accumulator: Box<dyn Accumulator>,
    kept: Rows,
    growth: Growth,
}

/// Rows that are taken in when the group is whole.
enum Rows {
    /// None: each is taken in when it comes.
    No,
    /// DISTINCT: values seen, with the sort keys of the first.
    Distinct(KeyMap<Box<[Datum]>>),
    /// ORDER BY.
    All(Vec<Kept>),
}

/// Whether a call takes its rows in when the group is whole.
pub(super) fn is_late(call: &AggCall) -> bool {
    call.distinct || !call.order_by.is_empty()
}

/// How rows that are kept for a call are ordered: as it says, and with DISTINCT also by the arguments.
pub(super) fn late_order(call: &AggCall) -> Vec<KeyOrder> {
    let mut order = KeyOrder::of(&call.order_by);
    if call.distinct {
        let ascending = |ty| KeyOrder { ty, desc: false, nulls_first: false };
        order.extend(arg_types(&call.args).into_iter().map(ascending));
    }
    order
}

/// Whether the order in which rows are taken in shows in the result.
fn order_matters(call: &AggCall) -> bool {
    let float = |ty| matches!(ty, TypeId::FLOAT4 | TypeId::FLOAT8);
    match call.agg.name {
        "count" | "min" | "max" | "bool_and" | "bool_or" | "every" => false,
        "sum" | "avg" => call.args.iter().any(|arg| float(arg.type_id())),
        _ => true,
    }
}

/// What a state takes beyond [`STATE_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    No,
    /// Each value taken in.
    Each,
    /// One value.
    One,
}

impl Growth {
    fn of(call: &AggCall) -> Growth {
        let fixed = |ty| ValueKind::of_type(ty).is_some_and(|kind| kind.fixed_width().is_some());
        match call.agg.name {
            "array_agg" | "string_agg" => Growth::Each,
            "min" | "max" if !call.args.iter().all(|arg| fixed(arg.type_id())) => Growth::One,
            _ => Growth::No,
        }
    }
}

impl CallState {
    pub(super) fn new(call: &AggCall) -> CallState {
        let kept = match (call.distinct, call.order_by.is_empty()) {
            (true, _) => Rows::Distinct(KeyMap::default()),
            (false, false) => Rows::All(Vec::new()),
            (false, true) => Rows::No,
        };
        CallState {
            accumulator: call.agg.begin(&arg_types(&call.args)),
            kept,
            growth: Growth::of(call),
        }
    }

    /// Takes one input row in.
    pub(super) fn take(
        &mut self,
        call: &AggCall,
        row: &[Datum],
        memory: &mut Memory,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        if !passes(call.filter.as_ref(), row, cx)? {
            return Ok(());
        }
        // The buffer goes from row to row; an error ends the query, and may lose it.
        let mut args = std::mem::take(&mut memory.args);
        args.clear();
        for arg in &call.args {
            args.push(eval(arg, row, cx)?);
        }
        if !call.agg.strict || !args.iter().any(Datum::is_null) {
            self.take_args(call, &args, row, memory, cx)?;
        }
        memory.args = args;
        Ok(())
    }

    fn take_args(
        &mut self,
        call: &AggCall,
        args: &[Datum],
        row: &[Datum],
        memory: &mut Memory,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        match &mut self.kept {
            Rows::No => return self.add_counted(call, args, memory, cx),
            Rows::All(kept) => {
                let keys = key_values(&call.order_by, row, cx)?;
                memory.late += row_bytes(&keys) + row_bytes(args);
                kept.push((keys, args.into()));
            }
            Rows::Distinct(seen) => {
                let hash = hash_of(args);
                if seen.find(hash, args, |i| call.args[i].type_id()).is_none() {
                    let keys = key_values(&call.order_by, row, cx)?;
                    memory.late += row_bytes(&keys) + row_bytes(args) + ENTRY_BYTES;
                    seen.add(hash, args.into(), keys);
                }
            }
        }
        Ok(())
    }

    /// Takes a row in and counts what it adds to the state.
    fn add_counted(
        &mut self,
        call: &AggCall,
        args: &[Datum],
        memory: &mut Memory,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        match self.growth {
            Growth::No => return self.add(call, args, cx),
            Growth::Each => {
                let bytes = values_bytes(args);
                memory.groups += bytes;
                memory.held += bytes;
                self.add(call, args, cx)?;
            }
            Growth::One => {
                let before = self.accumulator.memory();
                self.add(call, args, cx)?;
                let after = self.accumulator.memory();
                memory.groups = (memory.groups + after).saturating_sub(before);
                memory.held = (memory.held + after).saturating_sub(before);
            }
        }
        Ok(())
    }

    fn add(&mut self, call: &AggCall, args: &[Datum], cx: &mut Cx<'_>) -> Result<()> {
        let types = arg_types(&call.args);
        let accumulator = &mut self.accumulator;
        cx.with_context(&types, call.ty.id, |context| accumulator.add(context, args))
    }

    /// Moves what is kept to a sorter.
    pub(super) fn move_to(&mut self, late: &mut Late, group: i64) -> Result<()> {
        match &mut self.kept {
            Rows::No => Ok(()),
            Rows::All(kept) => std::mem::take(kept)
                .into_iter()
                .try_for_each(|(keys, args)| late.push(group, &keys, &args)),
            Rows::Distinct(seen) => std::mem::take(seen)
                .into_entries()
                .try_for_each(|(args, keys)| late.push(group, &keys, &args)),
        }
    }

    /// The value of the group with this number.
    pub(super) fn finish(
        mut self,
        call: &AggCall,
        group: i64,
        late: Option<&mut Late>,
        cx: &mut Cx<'_>,
    ) -> Result<Datum> {
        match late {
            Some(late) => self.add_late(call, group, late, cx)?,
            None => self.add_kept(call, cx)?,
        }
        let types = arg_types(&call.args);
        let accumulator = &mut self.accumulator;
        cx.with_context(&types, call.ty.id, |context| accumulator.finish(context))
    }

    /// Takes in what is kept in memory.
    fn add_kept(&mut self, call: &AggCall, cx: &mut Cx<'_>) -> Result<()> {
        let order = KeyOrder::of(&call.order_by);
        match std::mem::replace(&mut self.kept, Rows::No) {
            Rows::No => Ok(()),
            Rows::All(mut kept) => {
                let by_keys = |a: &Kept, b: &Kept| compare_keys(&order, &a.0, &b.0);
                let are_alike = |a: &Kept, b: &Kept| check_alike(&order, &a.0, &b.0);
                sort_rows(&mut kept, by_keys, are_rows(&order).then_some(&are_alike))?;
                kept.into_iter().try_for_each(|(_, args)| self.add(call, &args, cx))
            }
            Rows::Distinct(seen) => {
                let mut kept: Vec<Kept> = seen.into_entries().collect();
                let mut whole = late_order(call);
                let of_rows = are_rows(&whole);
                // PostgreSQL sorts them all, and fails where that can't be done.
                if of_rows || order_matters(call) {
                    let args_order = whole.split_off(order.len());
                    let by_keys = |(args, keys): &Kept, (other_args, other_keys): &Kept| {
                        compare_keys(&order, keys, other_keys)
                            .then_with(|| compare_keys(&args_order, args, other_args))
                    };
                    let are_alike = |(args, keys): &Kept, (other_args, other_keys): &Kept| {
                        check_alike(&order, keys, other_keys)?;
                        check_alike(&args_order, args, other_args)
                    };
                    sort_rows(&mut kept, by_keys, of_rows.then_some(&are_alike))?;
                }
                kept.into_iter().try_for_each(|(args, _)| self.add(call, &args, cx))
            }
        }
    }

    /// Takes in what a sorter has of the group.
    fn add_late(
        &mut self,
        call: &AggCall,
        group: i64,
        late: &mut Late,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let mut bytes = 0;
        let mut turns = 0u32;
        while let Some(args) = late.next(group)? {
            if self.growth == Growth::Each {
                bytes += values_bytes(args);
                check_held(bytes, "The state of an aggregate")?;
            }
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(1024) {
                cx.breathe()?;
            }
            let types = arg_types(&call.args);
            let accumulator = &mut self.accumulator;
            cx.with_context(&types, call.ty.id, |context| accumulator.add(context, args))?;
        }
        Ok(())
    }
}
