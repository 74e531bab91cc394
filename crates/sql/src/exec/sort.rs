//! Operators that keep rows: materialize and sort.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::bind::tree::SortExpr;
use crate::error::Result;
use crate::plan::node;
use crate::types::{Datum, TypeId, compare};

use super::eval::eval;
use super::{Cx, Operator, Running, run};

/// Keeps the input's rows for later passes.
pub struct Materialize {
    input: Running,
    rows: Option<Vec<Box<[Datum]>>>,
    at: usize,
}

impl Materialize {
    pub fn new(input: Running) -> Materialize {
        Materialize { input, rows: None, at: 0 }
    }
}

impl Operator for Materialize {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = Some(cx.collect(&mut self.input)?);
        }
        self.at += 1;
        Ok(self.rows.as_ref().is_some_and(|rows| self.at <= rows.len()))
    }

    fn row(&self) -> &[Datum] {
        let rows = self.rows.as_ref().expect("next said true");
        &rows[self.at - 1]
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.at = 0;
        Ok(())
    }
}

/// How one sort key orders two values.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyOrder {
    pub ty: TypeId,
    pub desc: bool,
    pub nulls_first: bool,
}

impl KeyOrder {
    pub(super) fn of(keys: &[SortExpr]) -> Vec<KeyOrder> {
        let order = |key: &SortExpr| KeyOrder {
            ty: key.expr.type_id(),
            desc: key.desc,
            nulls_first: key.nulls_first,
        };
        keys.iter().map(order).collect()
    }

    pub(super) fn compare(&self, a: &Datum, b: &Datum) -> Ordering {
        match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if self.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if self.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let order = compare(self.ty, a, b);
                if self.desc { order.reverse() } else { order }
            }
        }
    }
}

/// Compares two lists of key values.
pub(super) fn compare_keys(order: &[KeyOrder], a: &[Datum], b: &[Datum]) -> Ordering {
    for (i, key) in order.iter().enumerate() {
        let order = key.compare(&a[i], &b[i]);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Evaluates the sort keys over a row.
pub(super) fn key_values(
    keys: &[SortExpr],
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<Box<[Datum]>> {
    keys.iter().map(|key| eval(&key.expr, row, cx)).collect()
}

/// A row with its key values.
struct Keyed {
    keys: Box<[Datum]>,
    row: Box<[Datum]>,
}

/// Sorts its input; stable, so equal rows keep the order in which they came.
pub struct Sort {
    plan: Arc<node::Sort>,
    input: Running,
    order: Vec<KeyOrder>,
    rows: Option<Vec<Keyed>>,
    at: usize,
}

impl Sort {
    pub fn new(plan: Arc<node::Sort>) -> Sort {
        let input = run(&plan.input);
        let order = KeyOrder::of(&plan.keys);
        Sort { plan, input, order, rows: None, at: 0 }
    }

    fn fill(&mut self, cx: &mut Cx<'_>) -> Result<Vec<Keyed>> {
        let top = self.plan.top.and_then(|n| usize::try_from(n).ok());
        let mut rows = Vec::new();
        while self.input.next(cx)? {
            let keys = key_values(&self.plan.keys, self.input.row(), cx)?;
            rows.push(Keyed { keys, row: self.input.row().into() });
            if let Some(top) = top
                && rows.len() >= top.saturating_mul(2).max(1024)
            {
                self.sort(&mut rows);
                rows.truncate(top);
            }
            if rows.len().is_multiple_of(1024) {
                cx.breathe()?;
            }
        }
        self.sort(&mut rows);
        Ok(rows)
    }

    fn sort(&self, rows: &mut [Keyed]) {
        rows.sort_by(|a, b| {
            base::park::checkpoint();
            compare_keys(&self.order, &a.keys, &b.keys)
        });
    }
}

impl Operator for Sort {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = Some(self.fill(cx)?);
        }
        self.at += 1;
        Ok(self.rows.as_ref().is_some_and(|rows| self.at <= rows.len()))
    }

    fn row(&self) -> &[Datum] {
        let rows = self.rows.as_ref().expect("next said true");
        &rows[self.at - 1].row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.rows = None;
        self.at = 0;
        self.input.rescan(cx)
    }
}
