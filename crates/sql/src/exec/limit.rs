//! LIMIT, OFFSET, WITH TIES; dropping repeated rows of sorted input.

use std::sync::Arc;

use crate::bind::tree::Expr;
use crate::error::{Result, sql_error};
use crate::plan::node;
use crate::types::Datum;

use super::eval::eval;
use super::group::are_equal;
use super::sort::{KeyOrder, compare_keys, key_values};
use super::{Cx, Operator, Running, run};

/// LIMIT and OFFSET.
pub struct Limit {
    plan: Arc<node::Limit>,
    input: Running,
    /// Rows still to give; `None` is all. Outer `None` before the start.
    left: Option<Option<u64>>,
    last: Option<Box<[Datum]>>,
}

impl Limit {
    pub fn new(plan: Arc<node::Limit>) -> Limit {
        let input = run(&plan.input);
        Limit { plan, input, left: None, last: None }
    }

    fn start(&mut self, cx: &mut Cx<'_>) -> Result<Option<u64>> {
        let offset = amount(self.plan.offset.as_ref(), cx)?.transpose_negative(|| {
            sql_error!(INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE, "OFFSET must not be negative")
        })?;
        let count = amount(self.plan.count.as_ref(), cx)?.transpose_negative(|| {
            sql_error!(INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT must not be negative")
        })?;
        if count != Some(0) {
            for skipped in 0..offset.unwrap_or(0) {
                if !self.input.next(cx)? {
                    return Ok(Some(0));
                }
                if skipped % 1024 == 1023 {
                    cx.breathe()?;
                }
            }
        }
        Ok(count)
    }

    /// After the last row: one that ties with it.
    fn next_tie(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let (Some(keys), Some(last)) = (&self.plan.ties, &self.last) else { return Ok(false) };
        if !self.input.next(cx)? {
            self.last = None;
            return Ok(false);
        }
        let values = key_values(keys, self.input.row(), cx)?;
        let ties = compare_keys(&KeyOrder::of(keys), &values, last).is_eq();
        if !ties {
            self.last = None;
        }
        Ok(ties)
    }
}

/// The value of a LIMIT or OFFSET: `None` when absent or null.
fn amount(expr: Option<&Expr>, cx: &mut Cx<'_>) -> Result<Option<i64>> {
    match expr.map(|e| eval(e, &[], cx)).transpose()? {
        None | Some(Datum::Null) => Ok(None),
        Some(value) => Ok(Some(value.as_int8())),
    }
}

trait TransposeNegative {
    /// Unsigned, or the error.
    fn transpose_negative(
        self,
        error: impl FnOnce() -> crate::error::SqlError,
    ) -> Result<Option<u64>>;
}

impl TransposeNegative for Option<i64> {
    fn transpose_negative(
        self,
        error: impl FnOnce() -> crate::error::SqlError,
    ) -> Result<Option<u64>> {
        match self.map(u64::try_from) {
            None => Ok(None),
            Some(Ok(n)) => Ok(Some(n)),
            Some(Err(_)) => Err(error()),
        }
    }
}

impl Operator for Limit {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let left = match self.left {
            Some(left) => left,
            None => {
                let left = self.start(cx)?;
                *self.left.insert(left)
            }
        };
        match left {
            None => self.input.next(cx),
            Some(0) => self.next_tie(cx),
            Some(n) => {
                if !self.input.next(cx)? {
                    self.left = Some(Some(0));
                    return Ok(false);
                }
                self.left = Some(Some(n - 1));
                if n == 1
                    && let Some(keys) = &self.plan.ties
                {
                    self.last = Some(key_values(keys, self.input.row(), cx)?);
                }
                Ok(true)
            }
        }
    }

    fn row(&self) -> &[Datum] {
        self.input.row()
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.left = None;
        self.last = None;
        self.input.rescan(cx)
    }
}

/// Drops rows that repeat the one before.
pub struct Unique {
    plan: Arc<node::Unique>,
    input: Running,
    last: Option<Vec<Datum>>,
}

impl Unique {
    pub fn new(plan: Arc<node::Unique>) -> Unique {
        let input = run(&plan.input);
        Unique { plan, input, last: None }
    }
}

impl Operator for Unique {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let mut dropped = 0u32;
        while self.input.next(cx)? {
            let row = self.input.row();
            let keys = self.plan.keys.iter().map(|key| eval(key, row, cx));
            let keys = keys.collect::<Result<Vec<Datum>>>()?;
            let repeated = self
                .last
                .as_ref()
                .is_some_and(|last| are_equal(&keys, last, |i| self.plan.keys[i].type_id()));
            if !repeated {
                self.last = Some(keys);
                return Ok(true);
            }
            dropped = dropped.wrapping_add(1);
            if dropped.is_multiple_of(1024) {
                cx.breathe()?;
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        self.input.row()
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.last = None;
        self.input.rescan(cx)
    }
}
