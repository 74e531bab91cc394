//! Joins: nested loops and hashing.

use std::sync::Arc;

use base::hash::HashMap;

use crate::bind::tree::Expr;
use crate::error::Result;
use crate::plan::node::{self, JoinType};
use crate::types::{Datum, is_equal};

use super::eval::{eval, passes};
use super::group::hash_of;
use super::{Cx, Operator, Running, run};

/// For each outer row, all of the inner side.
pub struct NestLoop {
    plan: Arc<node::NestLoop>,
    outer: Running,
    inner: Running,
    row: Vec<Datum>,
    /// There is an outer row, and this says whether it has met a match.
    current: Option<bool>,
    inner_started: bool,
}

impl NestLoop {
    pub fn new(plan: Arc<node::NestLoop>) -> NestLoop {
        let (outer, inner) = (run(&plan.outer), run(&plan.inner));
        let width = usize::from(plan.outer_width + plan.inner_width);
        let row = vec![Datum::Null; width];
        NestLoop { plan, outer, inner, row, current: None, inner_started: false }
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
        if std::mem::replace(&mut self.inner_started, true) {
            self.inner.rescan(cx)?;
        }
        self.current = Some(false);
        Ok(true)
    }

    /// Moves the inner side to its next match.
    fn next_match(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let width = usize::from(self.plan.outer_width);
        while self.inner.next(cx)? {
            self.row[width..].clone_from_slice(self.inner.row());
            if passes(self.plan.condition.as_ref(), &self.row, cx)? {
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
            let Some(matched) = self.current else {
                if !self.advance(cx)? {
                    return Ok(false);
                }
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
            let keeps_unmatched =
                matches!(self.plan.kind, JoinType::Left | JoinType::Anti | JoinType::NullAwareAnti);
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
        self.outer.rescan(cx)
    }
}

/// The inner side in a hash table.
#[derive(Default)]
struct Table {
    rows: Vec<Box<[Datum]>>,
    keys: Vec<Box<[Datum]>>,
    matched: Vec<bool>,
    /// Row numbers by the hash of their keys.
    buckets: HashMap<u64, Vec<u32>>,
    /// Some inner row has a null key (NOT IN).
    has_null_key: bool,
}

/// Joins by equality of keys.
pub struct HashJoin {
    plan: Arc<node::HashJoin>,
    outer: Running,
    inner: Running,
    table: Option<Table>,
    row: Vec<Datum>,
    outer_keys: Vec<Datum>,
    /// Candidates for the current outer row: its bucket's hash and how many were looked at.
    probe: Option<(u64, usize, bool)>,
    /// Row number of the next unmatched inner row to give, once the outer side has ended.
    leftover: Option<usize>,
}

impl HashJoin {
    pub fn new(plan: Arc<node::HashJoin>) -> HashJoin {
        let (outer, inner) = (run(&plan.outer), run(&plan.inner));
        let row = vec![Datum::Null; usize::from(plan.outer_width + plan.inner_width)];
        HashJoin {
            plan,
            outer,
            inner,
            table: None,
            row,
            outer_keys: Vec::new(),
            probe: None,
            leftover: None,
        }
    }

    fn build(&mut self, cx: &mut Cx<'_>) -> Result<Table> {
        let mut table = Table::default();
        while self.inner.next(cx)? {
            let row = self.inner.row();
            let keys = values(&self.plan.inner_keys, row, cx)?;
            let null = keys.iter().any(Datum::is_null);
            table.has_null_key |= null;
            if null && !matches!(self.plan.kind, JoinType::Right | JoinType::Full) {
                continue;
            }
            let number = u32::try_from(table.rows.len()).expect("fewer rows than memory holds");
            if !null {
                table.buckets.entry(hash_of(&keys)).or_default().push(number);
            }
            table.rows.push(row.into());
            table.keys.push(keys);
            table.matched.push(false);
            if number.is_multiple_of(1024) {
                cx.breathe()?;
            }
        }
        Ok(table)
    }

    fn advance(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.outer.next(cx)? {
            return Ok(false);
        }
        let width = usize::from(self.plan.outer_width);
        self.row[..width].clone_from_slice(self.outer.row());
        self.outer_keys.clear();
        for key in &self.plan.outer_keys {
            self.outer_keys.push(eval(key, &self.row[..width], cx)?);
        }
        self.probe = Some((hash_of(&self.outer_keys), 0, false));
        Ok(true)
    }

    /// The next inner row that matches the current outer one.
    fn next_match(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let Some((hash, mut at, matched)) = self.probe else { return Ok(false) };
        let mut table = self.table.take().expect("built before probing");
        let width = usize::from(self.plan.outer_width);
        let null = self.outer_keys.iter().any(Datum::is_null);
        let mut found = false;
        if !null && let Some(bucket) = table.buckets.get(&hash) {
            while at < bucket.len() {
                let number = bucket[at] as usize;
                at += 1;
                let same = table.keys[number].iter().zip(&self.outer_keys);
                if !same.into_iter().all(|(a, b)| is_equal(a, b)) {
                    continue;
                }
                self.row[width..].clone_from_slice(&table.rows[number]);
                match passes(self.plan.condition.as_ref(), &self.row, cx) {
                    Ok(true) => {
                        table.matched[number] = true;
                        found = true;
                        break;
                    }
                    Ok(false) => {}
                    Err(e) => {
                        self.table = Some(table);
                        return Err(e);
                    }
                }
            }
        }
        self.table = Some(table);
        self.probe = Some((hash, at, matched || found));
        Ok(found)
    }

    /// Inner rows that no outer row matched.
    fn next_leftover(&mut self) -> bool {
        let width = usize::from(self.plan.outer_width);
        let table = self.table.as_ref().expect("built before");
        let from = self.leftover.unwrap_or(0);
        let next = (from..table.rows.len()).find(|i| !table.matched[*i]);
        self.leftover = Some(next.map_or(table.rows.len(), |i| i + 1));
        let Some(i) = next else { return false };
        self.row[..width].fill(Datum::Null);
        self.row[width..].clone_from_slice(&table.rows[i]);
        true
    }

    /// What becomes of an outer row without a match.
    fn keeps_unmatched(&self) -> bool {
        let table = self.table.as_ref().expect("built before");
        match self.plan.kind {
            JoinType::Left | JoinType::Full | JoinType::Anti => true,
            // NOT IN: unknown, and so false, when either side has a null; true over an empty list.
            JoinType::NullAwareAnti => {
                let null = self.outer_keys.iter().any(Datum::is_null);
                !table.has_null_key && (!null || table.rows.is_empty())
            }
            _ => false,
        }
    }
}

impl Operator for HashJoin {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.table.is_none() {
            self.table = Some(self.build(cx)?);
        }
        loop {
            if self.leftover.is_some() {
                return Ok(self.next_leftover());
            }
            if self.probe.is_none() && !self.advance(cx)? {
                if matches!(self.plan.kind, JoinType::Right | JoinType::Full) {
                    self.leftover = Some(0);
                    continue;
                }
                return Ok(false);
            }
            cx.breathe()?;
            let had_match = self.probe.is_some_and(|(_, _, matched)| matched);
            if self.next_match(cx)? {
                match self.plan.kind {
                    JoinType::Semi => {
                        self.probe = None;
                        return Ok(true);
                    }
                    JoinType::Anti | JoinType::NullAwareAnti => self.probe = None,
                    _ => return Ok(true),
                }
                continue;
            }
            self.probe = None;
            if !had_match && self.keeps_unmatched() {
                self.row[usize::from(self.plan.outer_width)..].fill(Datum::Null);
                return Ok(true);
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
        self.leftover = None;
        self.table = None;
        self.inner.rescan(cx)?;
        self.outer.rescan(cx)
    }
}

fn values(exprs: &[Expr], row: &[Datum], cx: &mut Cx<'_>) -> Result<Box<[Datum]>> {
    exprs.iter().map(|e| eval(e, row, cx)).collect()
}
