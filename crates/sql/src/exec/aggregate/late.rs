//! What DISTINCT and ORDER BY inside of one aggregate call keep of all groups, beyond memory: sorted by the
//! group's number, then as the call wants it.

use crate::bind::tree::AggCall;
use crate::error::Result;
use crate::exec::Cx;
use crate::exec::group::are_equal;
use crate::exec::sort::KeyOrder;
use crate::exec::spill::{Sorted, Sorter};
use crate::types::{Datum, TypeId};

use super::arg_types;
use super::call::late_order;

/// The least memory of a sorter.
const SORTER_BYTES_MIN: usize = 16 << 10;

/// See the module's description. A row's keys are the group's number, the call's sort keys, and with DISTINCT
/// the arguments; its values are the arguments.
pub(super) struct Late {
    /// With DISTINCT, the arguments' types.
    distinct: Option<Vec<TypeId>>,
    rows: Rows,
    /// The arguments given last, with DISTINCT, and their group.
    last: Option<(i64, Box<[Datum]>)>,
    /// The next row has been moved to, and is of a later group.
    ahead: bool,
}

enum Rows {
    Coming(Sorter),
    Sorted(Sorted),
    End,
}

impl Late {
    pub(super) fn new(call: &AggCall, limit: usize, cx: &mut Cx<'_>) -> Late {
        let mut order = vec![KeyOrder { ty: TypeId::INT8, desc: false, nulls_first: false }];
        order.extend(late_order(call));
        let sorter = Sorter::new(cx.host.temp(), limit.max(SORTER_BYTES_MIN), order, None);
        let distinct = call.distinct.then(|| arg_types(&call.args));
        Late { distinct, rows: Rows::Coming(sorter), last: None, ahead: false }
    }

    pub(super) fn push(&mut self, group: i64, keys: &[Datum], args: &[Datum]) -> Result<()> {
        let Rows::Coming(sorter) = &mut self.rows else {
            unreachable!("rows come before any is read")
        };
        let more: &[Datum] = if self.distinct.is_some() { args } else { &[] };
        let number = std::iter::once(Datum::Int8(group));
        let keys = number.chain(keys.iter().cloned()).chain(more.iter().cloned());
        sorter.push(&mut keys.collect(), args)
    }

    /// No more rows come.
    pub(super) fn sort(&mut self) -> Result<()> {
        if let Rows::Coming(sorter) = std::mem::replace(&mut self.rows, Rows::End) {
            self.rows = Rows::Sorted(sorter.finish()?);
        }
        Ok(())
    }

    /// The arguments of the group's next row. Groups are asked for in the order of their numbers, each until
    /// there is no more.
    pub(super) fn next(&mut self, group: i64) -> Result<Option<&[Datum]>> {
        let Rows::Sorted(sorted) = &mut self.rows else { return Ok(None) };
        loop {
            if !std::mem::replace(&mut self.ahead, false) && !sorted.next()? {
                self.rows = Rows::End;
                return Ok(None);
            }
            if sorted.keys()[0].as_int8() != group {
                self.ahead = true;
                return Ok(None);
            }
            let Some(types) = &self.distinct else { break };
            let args = sorted.row();
            let same = |last: &[Datum]| are_equal(last, args, |i| types[i]);
            if self.last.as_ref().is_some_and(|(of, last)| *of == group && same(last)) {
                continue;
            }
            self.last = Some((group, args.into()));
            break;
        }
        let Rows::Sorted(sorted) = &self.rows else { unreachable!("looked at just now") };
        Ok(Some(sorted.row()))
    }
}
