//! Which ways there are to a table's rows under given conditions.

use std::cmp::Ordering;
use std::convert::Infallible;

use crate::bind::tree::Expr;
use crate::bind::walk;
use crate::catalog::{AccessMethod, TableDef};

use super::access::{QueryCx, WantedOrder};
use super::alternatives::{RANGES_MAX, choose_ranges};
use super::choose::{IndexChoice, candidates};
use super::estimate;
use super::node::{KeyCondition, KeyRange};
use super::only;
use super::path::{Bits, Clause, Facts, IndexPath, Leaf, Path, Terms, TestedClause, parts};

/// Share of rows that a bound keeps of which nothing is known, and a pattern.
const BOUND: f64 = 1.0 / 3.0;
const PATTERN: f64 = 0.005;

/// A way, with what its node is made of.
pub(super) enum Way {
    Seq,
    /// One range of an index, or several of the same.
    Index(Vec<IndexChoice>, IndexPath),
    Bitmap(Box<BitsChoice>),
}

/// The ranges that a set of addresses comes from.
pub(super) type BitsChoice = Bits<(IndexChoice, Leaf)>;

impl Way {
    pub fn path(&self) -> Path {
        match self {
            Way::Seq => Path::Seq,
            Way::Index(_, path) => Path::Index(path.clone()),
            Way::Bitmap(bits) => Path::Bitmap(leaves_of(bits)),
        }
    }
}

/// What is known of the entry when its ways are looked for.
pub(super) struct Entry<'a, 'q> {
    pub cx: &'a QueryCx<'q>,
    pub table: &'a TableDef,
    pub rel: u16,
    pub conditions: &'a [Expr],
    /// Values may come from other entries.
    pub outer: bool,
    pub order: Option<&'a WantedOrder>,
    pub facts: &'a Facts<'a>,
}

/// All ways that may be the best one for some values. The first is to read the whole table.
pub(super) fn ways(entry: &Entry<'_, '_>) -> Vec<Way> {
    let Entry { cx, table, rel, conditions, outer, order, .. } = *entry;
    let mut choices = candidates(cx, table, rel, conditions, outer, order);
    choices.reverse();
    drop_outdone(&mut choices);
    let mut ways = vec![Way::Seq];
    let mut sets: Vec<BitsChoice> = Vec::new();
    for choice in &choices {
        if let Some(leaf) = leaf(entry, choice, &|at| Clause { at, arm: None }) {
            sets.push(Bits::Index((choice.clone(), leaf)));
        }
    }
    let single = choices.iter().filter(|choice| choice.is_bounded());
    let single = single.max_by_key(|choice| (choice.unique, choice.equal.len()));
    if let Some((at, ranges)) = choose_ranges(cx, table, rel, conditions, outer, single) {
        ways.extend(of_ranges(entry, at, ranges));
    }
    // Of indexes that cost the same the last one, as PostgreSQL has it.
    for index in table.indexes.iter().rev() {
        let whole = || only::whole_instead(cx, rel, conditions, index, order);
        let of_index = choices.iter().find(|choice| choice.index.oid == index.oid);
        let Some(choice) = of_index.cloned().or_else(whole) else { continue };
        if choice.index.method == AccessMethod::BTree || choice.is_bounded() {
            let path = index_path(entry, &choice);
            ways.push(Way::Index(vec![choice], path));
        }
    }
    sets.extend((0..conditions.len()).filter_map(|at| any_of(entry, at)));
    sets.retain(|set| !has_sublinks(entry.conditions, set));
    let together = (sets.len() > 1).then(|| best_together(entry.facts, &sets)).flatten();
    ways.extend(sets.into_iter().chain(together).map(|set| Way::Bitmap(Box::new(set))));
    ways
}

fn index_path(entry: &Entry<'_, '_>, choice: &IndexChoice) -> IndexPath {
    let terms = terms(choice, bounds_of(entry, choice), &|at| Clause { at, arm: None });
    IndexPath {
        index: choice.index.clone(),
        ranges: vec![terms],
        only: choice.covers,
        sorted: choice.sorted,
    }
}

/// Several ranges of one index, one for each alternative of the condition at `at`.
fn of_ranges(entry: &Entry<'_, '_>, at: usize, ranges: Vec<IndexChoice>) -> Option<Way> {
    let first = ranges.first()?;
    let Expr::Or(arms) = &entry.conditions[at] else { return None };
    let of_arms = ranges.iter().zip(arms).enumerate().map(|(arm, (range, alternative))| {
        terms(range, 1.0, &|used| clause_of(at, arm, parts(alternative).len(), used))
    });
    let path = IndexPath {
        index: first.index.clone(),
        ranges: of_arms.collect(),
        only: first.covers,
        sorted: false,
    };
    Some(Way::Index(ranges, path))
}

/// A position among the parts of an alternative, followed by the other conditions.
fn clause_of(at: usize, arm: usize, parts: usize, position: usize) -> Clause {
    if position < parts {
        return Clause { at, arm: Some((arm, position)) };
    }
    let other = position - parts;
    Clause { at: other + usize::from(other >= at), arm: None }
}

/// The addresses that an index tells under the conditions that it answers, if it bounds anything.
fn leaf(
    entry: &Entry<'_, '_>,
    choice: &IndexChoice,
    clause: &dyn Fn(usize) -> Clause,
) -> Option<Leaf> {
    let is_all = !choice.is_bounded() && choice.tests.is_empty();
    if is_all || choice.pattern.is_some() {
        return None;
    }
    let terms = terms(choice, bounds_of(entry, choice), clause);
    Some(Leaf { index: choice.index.clone(), terms })
}

/// What a choice goes by; `clause` tells which condition is at a position.
fn terms(choice: &IndexChoice, bounds: f64, clause: &dyn Fn(usize) -> Clause) -> Terms {
    let tested = choice.tests.iter().zip(&choice.tested).map(|(test, at)| TestedClause {
        column: test.column,
        is_equality: matches!(test.what, KeyCondition::Value(_)),
        clause: clause(*at),
    });
    Terms {
        bounding: choice.used.iter().map(|at| clause(*at)).collect(),
        equal: choice.equal.len(),
        bounds,
        tested: tested.collect(),
    }
}

/// Leaves out who tests all entries of an index for what another one is bounded by, and offers nothing else.
fn drop_outdone(choices: &mut Vec<IndexChoice>) {
    let is_outdone = |choice: &IndexChoice| {
        let offers_more = choice.is_bounded() || choice.sorted || choice.covers;
        !offers_more
            && choices.iter().any(|other| {
                other.is_bounded() && choice.tested.iter().all(|at| other.used.contains(at))
            })
    };
    let kept: Vec<bool> = choices.iter().map(|choice| !is_outdone(choice)).collect();
    let mut kept = kept.into_iter();
    choices.retain(|_| kept.next().unwrap_or(true));
}

/// Share of rows within bounds that no condition states as such: of a LIKE, or of a comparison of rows.
fn bounds_of(entry: &Entry<'_, '_>, choice: &IndexChoice) -> f64 {
    if choice.pattern.is_some() {
        return PATTERN;
    }
    let bounds = [&choice.lower, &choice.upper].into_iter().flatten().count();
    if bounds + choice.equal.len() <= choice.used.len() {
        return 1.0;
    }
    let keys = &choice.index.keys[choice.equal.len()..];
    let range = KeyRange {
        lower: choice.lower.clone(),
        upper: choice.upper.clone(),
        ..KeyRange::default()
    };
    let known = estimate::range_share(entry.table, keys, &range, entry.facts.heap.rows);
    known.unwrap_or(if bounds == 2 { PATTERN } else { BOUND })
}

/// What the alternatives of a condition lead to, if indexes answer something of each.
fn any_of(entry: &Entry<'_, '_>, at: usize) -> Option<BitsChoice> {
    let Entry { cx, table, rel, outer, .. } = *entry;
    let Expr::Or(arms) = &entry.conditions[at] else { return None };
    if arms.len() > RANGES_MAX {
        return None;
    }
    let others = entry.conditions.iter().enumerate().filter(|(other, _)| *other != at);
    let (mut conditions, mut own): (Vec<Expr>, usize) =
        (others.map(|(_, condition)| condition.clone()).collect(), 0);
    let mut any = Vec::with_capacity(arms.len());
    for (arm, alternative) in arms.iter().enumerate() {
        let count = parts(alternative).len();
        conditions.splice(..own, parts(alternative).iter().cloned());
        own = count;
        base::park::checkpoint();
        let mut choices = candidates(cx, table, rel, &conditions, outer, None);
        choices.reverse();
        drop_outdone(&mut choices);
        let mut sets: Vec<BitsChoice> = Vec::new();
        for choice in choices {
            if !choice.answered().any(|at| at < count) {
                continue;
            }
            let clause = |used| clause_of(at, arm, count, used);
            if let Some(leaf) = leaf(entry, &choice, &clause) {
                sets.push(Bits::Index((choice, leaf)));
            }
        }
        let alone = match sets.len() {
            0 => return None,
            1 => sets.pop()?,
            _ => match best_together(entry.facts, &sets) {
                Some(set) => set,
                None => cheapest(entry.facts, sets)?,
            },
        };
        any.push(alone);
    }
    Some(Bits::Or(any))
}

fn cheapest(facts: &Facts<'_>, sets: Vec<BitsChoice>) -> Option<BitsChoice> {
    let cost = |set: &BitsChoice| facts.bitmap_scan(&leaves_of(set)).total;
    sets.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// The sets of which it costs least to take what is in all of them (`choose_bitmap_and`); `None` if that costs more
/// than the best alone.
fn best_together(facts: &Facts<'_>, sets: &[BitsChoice]) -> Option<BitsChoice> {
    struct Known<'s> {
        set: &'s BitsChoice,
        conditions: Vec<usize>,
        bits: Bits<Leaf>,
    }
    let rows = facts.rows();
    let mut all: Vec<Known<'_>> = sets
        .iter()
        .map(|set| Known { set, conditions: conditions_of(set), bits: leaves_of(set) })
        .collect();
    let selectivity = |a: &Known<'_>, b: &Known<'_>| -> Ordering {
        let (a, b) = (facts.bitmap(&a.bits, rows), facts.bitmap(&b.bits, rows));
        a.total.total_cmp(&b.total).then(a.share.total_cmp(&b.share))
    };
    all.sort_by(selectivity);
    let cost = |chosen: &[usize]| {
        let bits = chosen.iter().map(|at| all[*at].bits.clone()).collect();
        facts.bitmap_scan(&Bits::And(bits)).total
    };
    let mut best: Option<(f64, Vec<usize>)> = None;
    for first in 0..all.len() {
        let (mut chosen, mut least) = (vec![first], cost(&[first]));
        for next in first + 1..all.len() {
            let overlaps = chosen
                .iter()
                .any(|at| all[*at].conditions.iter().any(|c| all[next].conditions.contains(c)));
            if overlaps {
                continue;
            }
            chosen.push(next);
            match cost(&chosen) {
                less if less < least => least = less,
                _ => {
                    chosen.pop();
                }
            }
        }
        if best.as_ref().is_none_or(|(known, _)| least < *known) {
            best = Some((least, chosen));
        }
    }
    let (_, chosen) = best.filter(|(_, chosen)| chosen.len() > 1)?;
    Some(Bits::And(chosen.iter().map(|at| all[*at].set.clone()).collect()))
}

/// The set as paths know it.
fn leaves_of(set: &BitsChoice) -> Bits<Leaf> {
    let Ok(bits) = set.map::<Leaf, Infallible>(&mut |(_, leaf)| Ok(leaf.clone()));
    bits
}

/// The conditions that a set goes by.
fn conditions_of(set: &BitsChoice) -> Vec<usize> {
    let mut conditions = Vec::new();
    set.leaves(&mut |(_, leaf)| conditions.extend(leaf.terms.clauses().map(|clause| clause.at)));
    conditions
}

/// Its conditions are evaluated in more than one place, which sub-selects must not be.
fn has_sublinks(conditions: &[Expr], set: &BitsChoice) -> bool {
    let is_sublink =
        |at: usize| walk::any(&conditions[at], &mut |expr| matches!(expr, Expr::SubLink(_)));
    conditions_of(set).into_iter().any(is_sublink)
}
