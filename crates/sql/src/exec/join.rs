//! Joins by nested loops.

use std::sync::Arc;

use crate::error::Result;
use crate::plan::node::{self, JoinType};
use crate::types::Datum;

use super::eval::{eval, passes};
use super::{Cx, Operator, Running, run};

/// For each outer row, all of the inner side.
pub struct NestLoop {
    plan: Arc<node::NestLoop>,
    outer: Running,
    /// The inner side.
    operator: Running,
    row: Vec<Datum>,
    /// There is an outer row, and this says whether it has met a match.
    current: Option<bool>,
    inner: InnerSide,
    /// The inner side's next row's number. It gives its rows in the same order each time, where these count.
    at: usize,
    /// With FULL: which inner rows have met a match, as far as any has.
    matched: Vec<bool>,
    /// With FULL: the outer side has ended, and inner rows without a match are given.
    leftovers: bool,
}

/// What must happen to the inner side before it is read again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InnerSide {
    New,
    /// It was read for an outer row.
    Read,
    /// Likewise, and what it depends on may have changed since.
    Stale,
}

impl NestLoop {
    pub fn new(plan: Arc<node::NestLoop>) -> NestLoop {
        let (outer, operator) = (run(&plan.outer), run(&plan.inner));
        let width = usize::from(plan.outer_width + plan.inner_width);
        let row = vec![Datum::Null; width];
        let is_same_each_time = plan.parameters.is_empty();
        assert!(plan.kind != JoinType::Full || is_same_each_time, "FULL counts inner rows");
        NestLoop {
            plan,
            outer,
            operator,
            row,
            current: None,
            inner: InnerSide::New,
            at: 0,
            matched: Vec::new(),
            leftovers: false,
        }
    }

    /// Takes the next outer row and starts the inner side over for it.
    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.outer.next(cx)? {
            return Ok(false);
        }
        let width = usize::from(self.plan.outer_width);
        self.row[..width].clone_from_slice(self.outer.row());
        for (slot, expr) in &self.plan.parameters {
            cx.state.exec[usize::from(*slot)] = eval(expr, &self.row[..width], cx)?;
        }
        self.start_inner(cx)?;
        self.current = Some(false);
        Ok(true)
    }

    /// Starts the inner side over.
    fn start_inner(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.at = 0;
        match std::mem::replace(&mut self.inner, InnerSide::Read) {
            InnerSide::New => Ok(()),
            InnerSide::Read if self.plan.parameters.is_empty() => self.operator.repeat(cx),
            InnerSide::Read | InnerSide::Stale => self.operator.rescan(cx),
        }
    }

    /// Moves the inner side to its next match.
    fn next_match(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let width = usize::from(self.plan.outer_width);
        while self.operator.next(cx)? {
            let at = self.at;
            self.at += 1;
            if self.at.is_multiple_of(1024) {
                cx.breathe()?;
            }
            self.row[width..].clone_from_slice(self.operator.row());
            if passes(self.plan.condition.as_ref(), &self.row, cx)? {
                if self.plan.kind == JoinType::Full {
                    self.matched.resize(self.matched.len().max(at + 1), false);
                    self.matched[at] = true;
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves to the next inner row that no outer row matched.
    fn next_leftover(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let width = usize::from(self.plan.outer_width);
        while self.operator.next(cx)? {
            cx.breathe()?;
            let matched = self.matched.get(self.at).is_some_and(|matched| *matched);
            self.at += 1;
            if !matched {
                self.row[..width].fill(Datum::Null);
                self.row[width..].clone_from_slice(self.operator.row());
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn inner_nulls(&mut self) {
        self.row[usize::from(self.plan.outer_width)..].fill(Datum::Null);
    }
}

impl Operator for NestLoop {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if self.leftovers {
                return self.next_leftover(cx);
            }
            let Some(matched) = self.current else {
                if self.advance(cx)? {
                    continue;
                }
                if self.plan.kind != JoinType::Full {
                    return Ok(false);
                }
                self.start_inner(cx)?;
                self.leftovers = true;
                continue;
            };
            cx.breathe()?;
            if self.next_match(cx)? {
                self.current = Some(true);
                match self.plan.kind {
                    JoinType::Semi => {
                        self.current = None;
                        return Ok(true);
                    }
                    JoinType::Anti | JoinType::NullAwareAnti => self.current = None,
                    _ => return Ok(true),
                }
                continue;
            }
            self.current = None;
            let keeps_unmatched = matches!(
                self.plan.kind,
                JoinType::Left | JoinType::Full | JoinType::Anti | JoinType::NullAwareAnti
            );
            if keeps_unmatched && !matched {
                self.inner_nulls();
                return Ok(true);
            }
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.current = None;
        self.matched.clear();
        self.leftovers = false;
        if self.inner == InnerSide::Read {
            self.inner = InnerSide::Stale;
        }
        self.outer.rescan(cx)
    }
}
