//! `(a = 1 AND b = 2) OR (a = 1 AND b = 3)`, and so `(a, b) IN ((1, 2), (1, 3))`: each alternative a range of
//! one index.

use crate::bind::tree::Expr;
use crate::catalog::{AccessMethod, TableDef};

use super::access::QueryCx;
use super::choose::{IndexChoice, choose_index};
use super::node::KeyValue;

/// More ranges than this are no better than reading everything.
pub const RANGES_MAX: usize = 1000;

/// One choice for each alternative of the condition that gives the longest keys, all of one index; if they are
/// longer than those of `single`, the best that is to be had without. Also tells which condition.
pub(super) fn choose_ranges(
    cx: &QueryCx<'_>,
    table: &TableDef,
    rel: u16,
    conditions: &[Expr],
    outer: bool,
    single: Option<&IndexChoice>,
) -> Option<(usize, Vec<IndexChoice>)> {
    if single.is_some_and(|choice| choice.unique) {
        return None;
    }
    let mut longest = single.map_or(0, |choice| plain_keys(choice).unwrap_or(0));
    let mut best = None;
    for (at, condition) in conditions.iter().enumerate() {
        let Expr::Or(alternatives) = condition else { continue };
        if alternatives.len() > RANGES_MAX {
            continue;
        }
        let rest: Vec<Expr> = conditions
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, condition)| condition.clone())
            .collect();
        let choices = of_alternatives(cx, table, rel, &rest, alternatives, outer);
        let Some(choices) = choices else { continue };
        let shortest = choices.iter().filter_map(plain_keys).min().unwrap_or(0);
        if shortest > longest {
            (longest, best) = (shortest, Some((at, choices)));
        }
    }
    best
}

/// How many keys are compared with one value each; `None` if one is compared with several.
fn plain_keys(choice: &IndexChoice) -> Option<usize> {
    let is_plain = |value: &KeyValue| !matches!(value, KeyValue::AnyOf(_));
    choice.equal.iter().all(is_plain).then_some(choice.equal.len())
}

fn of_alternatives(
    cx: &QueryCx<'_>,
    table: &TableDef,
    rel: u16,
    rest: &[Expr],
    alternatives: &[Expr],
    outer: bool,
) -> Option<Vec<IndexChoice>> {
    let mut choices: Vec<IndexChoice> = Vec::with_capacity(alternatives.len());
    // What all have in common is copied once, behind what each has of its own.
    let (mut conditions, mut own) = (rest.to_vec(), 0);
    for alternative in alternatives {
        let conjuncts = alternative.clone().into_conjuncts();
        let count = conjuncts.len();
        conditions.splice(..own, conjuncts);
        own = count;
        base::park::checkpoint();
        let mut choice = choose_index(cx, table, rel, &conditions, outer, None)?;
        // A filter is one for all ranges of a scan.
        choice.test_nothing();
        let fits = choice.index.method == AccessMethod::BTree
            && plain_keys(&choice).is_some_and(|keys| keys > 0)
            && choices.first().is_none_or(|first| first.index.oid == choice.index.oid);
        if !fits {
            return None;
        }
        choices.push(choice);
    }
    Some(choices)
}
