//! Which index answers a query's conditions best, and what it answers of them.

use std::sync::Arc;

use syntax::ast::Loc;

use crate::bind::tree::{Column, Expr, Ty, Var};
use crate::bind::walk;
use crate::bind::{collate, implied};
use crate::catalog::{AccessMethod, IndexDef, IndexKey, KeySource, TableDef};

use super::access::{QueryCx, WantedKey, WantedOrder};
use super::keys::{Key, bounds, equality, tests};
use super::node::{KeyTest, KeyValue};
use super::only;

/// An index together with the conditions that it answers.
#[derive(Clone)]
pub(super) struct IndexChoice {
    pub index: Arc<IndexDef>,
    pub equal: Vec<KeyValue>,
    pub lower: Option<(Expr, bool)>,
    pub upper: Option<(Expr, bool)>,
    /// Instead of both; see [`super::node::KeyRange`].
    pub pattern: Option<Expr>,
    /// Positions of the conditions that bound the range, which guarantees them.
    pub used: Vec<usize>,
    /// What is tested in the entries between the bounds, and the positions of the conditions that say so.
    pub tests: Vec<KeyTest>,
    pub tested: Vec<usize>,
    /// At most one row.
    pub unique: bool,
    pub sorted: bool,
    pub backward: bool,
    /// Its entries have all that the query needs of a row.
    pub covers: bool,
}

impl IndexChoice {
    /// The index from end to end.
    pub fn whole(index: &Arc<IndexDef>) -> IndexChoice {
        IndexChoice {
            index: index.clone(),
            equal: Vec::new(),
            lower: None,
            upper: None,
            pattern: None,
            used: Vec::new(),
            tests: Vec::new(),
            tested: Vec::new(),
            unique: false,
            sorted: false,
            backward: false,
            covers: false,
        }
    }

    /// Whether conditions bound what is read of the index.
    pub fn is_bounded(&self) -> bool {
        let bounds = self.lower.is_some() || self.upper.is_some() || self.pattern.is_some();
        bounds || !self.equal.is_empty()
    }

    /// Positions of the conditions that the index answers.
    pub fn answered(&self) -> impl Iterator<Item = usize> {
        self.used.iter().chain(&self.tested).copied()
    }

    /// Leaves what does not bound the range to be tested on the rows.
    pub fn test_nothing(&mut self) {
        self.tests.clear();
        self.tested.clear();
    }

    /// Higher is better.
    fn score(&self) -> (bool, usize, usize, bool, bool, usize) {
        let single = self.equal.iter().filter(|v| !matches!(v, KeyValue::AnyOf(_))).count();
        let bounds = [self.lower.is_some(), self.upper.is_some(), self.pattern.is_some()];
        let bounds = bounds.into_iter().filter(|is_there| *is_there).count();
        let equal = single * 2 + (self.equal.len() - single);
        (self.unique, equal, bounds, self.sorted, self.covers, self.tests.len())
    }
}

/// The index that answers most of these conditions, if any is bounded by some. (To go through all of one costs are to be
/// weighed.) Key values must not use the entry itself;
/// `outer` says whether they may use other entries.
pub(super) fn choose_index(
    cx: &QueryCx<'_>,
    table: &TableDef,
    rel: u16,
    conditions: &[Expr],
    outer: bool,
    order: Option<&WantedOrder>,
) -> Option<IndexChoice> {
    let mut best: Option<IndexChoice> = None;
    for choice in candidates(cx, table, rel, conditions, outer, order) {
        // For its order alone an index is read only as far as rows are wanted, and where it is not known how
        // many rows other conditions leave out, not for one row.
        let for_order =
            |order: &WantedOrder| order.limited && (!order.extreme || conditions.len() == 1);
        if !choice.is_bounded() && !order.is_some_and(for_order) {
            continue;
        }
        if best.as_ref().is_none_or(|b| choice.score() > b.score()) {
            best = Some(choice);
        }
    }
    best
}

/// What each index answers of these conditions, of those that answer some or give the order.
pub(super) fn candidates(
    cx: &QueryCx<'_>,
    table: &TableDef,
    rel: u16,
    conditions: &[Expr],
    outer: bool,
    order: Option<&WantedOrder>,
) -> Vec<IndexChoice> {
    let usable = |i: &&Arc<IndexDef>| i.valid && !cx.indexes.unusable.contains(&i.oid);
    let of_index = |index: &Arc<IndexDef>| {
        let keys = keys_for(cx, index, rel, conditions)?;
        let mut choice = match_index(index, &keys, rel, conditions, outer, order)?;
        choice.covers = only::covers(cx, rel, index);
        (index.method != AccessMethod::Hash || answers_by_hash(&choice)).then_some(choice)
    };
    table.indexes.iter().filter(usable).filter_map(of_index).collect()
}

/// A hash index answers equality with values, and gives no order.
fn answers_by_hash(choice: &IndexChoice) -> bool {
    let [value] = &choice.equal[..] else { return false };
    !matches!(value, KeyValue::IsNull) && choice.tests.is_empty()
}

/// An index's keys as this query would write them; `None` if the index lacks rows that the conditions let
/// through.
pub(super) fn keys_for(
    cx: &QueryCx<'_>,
    index: &IndexDef,
    rel: u16,
    conditions: &[Expr],
) -> Option<Vec<Expr>> {
    let column = |at: u16, ty: Ty| {
        let columns = &cx.query.rels[usize::from(rel)].columns;
        let collation = columns.get(usize::from(at)).map_or(ty.collation(), |own| own.collation);
        let (column, loc) = (Column::User(at), Loc::NONE);
        Expr::Var(Var { level: 0, rel, column, ty, collation, loc })
    };
    if !index.has_expressions() {
        let plain = |key: &IndexKey| match key.source {
            KeySource::Column(at) => Some(column(at, key.ty)),
            KeySource::Expr(_) => None,
        };
        return index.keys.iter().map(plain).collect();
    }
    let (_, exprs) = cx.indexes.exprs.iter().find(|(oid, _)| *oid == index.oid)?;
    if exprs.keys.iter().chain(&exprs.predicate).any(|expr| is_touched(expr, rel, conditions)) {
        cx.indexes.by_constants.set(true);
    }
    let over_rel = |expr: &Expr| {
        let mut expr = expr.clone();
        slots_to_columns(&mut expr, &column);
        expr
    };
    if let Some(predicate) = &exprs.predicate {
        let parts = over_rel(predicate).into_conjuncts();
        if !parts.iter().all(|part| implied::follows(part, conditions)) {
            return None;
        }
    }
    Some(exprs.keys.iter().map(over_rel).collect())
}

/// Does an index's expression compare columns with constants, and the conditions are about these columns, too?
fn is_touched(expr: &Expr, rel: u16, conditions: &[Expr]) -> bool {
    fn slots(expr: &Expr, columns: &mut Vec<u16>, constants: &mut bool) {
        match expr {
            Expr::Slot(slot) => columns.push(slot.slot),
            Expr::Const(_) => *constants = true,
            _ => walk::each_child(expr, &mut |child| slots(child, columns, constants)),
        }
    }
    let (mut columns, mut constants) = (Vec::new(), false);
    slots(expr, &mut columns, &mut constants);
    constants
        && columns.iter().all(|column| {
            let mut used = false;
            for condition in conditions {
                walk::each_var(condition, 0, &mut |var, depth| {
                    used |=
                        var.level == depth && var.rel == rel && var.column == Column::User(*column);
                });
            }
            used
        })
}

fn slots_to_columns(expr: &mut Expr, column: &impl Fn(u16, Ty) -> Expr) {
    if let Expr::Slot(slot) = expr {
        *expr = column(slot.slot, slot.ty);
        return;
    }
    walk::each_child_mut(expr, &mut |child| slots_to_columns(child, column));
}

fn match_index(
    index: &Arc<IndexDef>,
    keys: &[Expr],
    rel: u16,
    conditions: &[Expr],
    outer: bool,
    order: Option<&WantedOrder>,
) -> Option<IndexChoice> {
    let mut choice = IndexChoice::whole(index);
    // What a column is compared by is the key's own business.
    let key_at = |at: usize| {
        let key = &index.keys[at];
        Key { rel, expr: keys[at].bare(), ty: key.ty, collation: key.order() }
    };
    for at in 0..index.keys.len() {
        let key = key_at(at);
        let found = conditions
            .iter()
            .enumerate()
            .find_map(|(i, condition)| equality(condition, &key, outer).map(|value| (i, value)));
        let Some((i, value)) = found else {
            bounds(&mut choice, &key, conditions, outer);
            break;
        };
        choice.equal.push(value);
        choice.used.push(i);
    }
    let any_of = choice.equal.iter().any(|value| matches!(value, KeyValue::AnyOf(_)));
    let nulls = choice.equal.iter().any(|v| matches!(v, KeyValue::IsNull));
    let is_whole = choice.equal.len() == index.keys.len() && !any_of && !nulls;
    choice.unique = index.unique && index.immediate && is_whole;
    // Of one row the rest is tested on itself, as a point read does.
    if index.method == AccessMethod::BTree && !choice.unique {
        let lengths = index.keys.iter().map(|key| key.code().code_length());
        let testable = lengths.take_while(Option::is_some).count();
        (0..testable).for_each(|at| tests(&mut choice, at, &key_at(at), conditions, outer));
    }
    if let Some(order) = order
        && !any_of
        && index.method == AccessMethod::BTree
        && (choice.pattern.is_none() || !choice.equal.is_empty())
    {
        (choice.sorted, choice.backward) = gives_order(index, choice.equal.len(), rel, order);
    }
    (choice.is_bounded() || choice.sorted || !choice.tests.is_empty()).then_some(choice)
}

/// Do the keys after the first `fixed` come in the wanted order, and reading which way?
pub(super) fn gives_order(
    index: &IndexDef,
    fixed: usize,
    rel: u16,
    order: &WantedOrder,
) -> (bool, bool) {
    if order.rel != rel {
        return (false, false);
    }
    // Values that are equal by a collation may come one before the other by another.
    let is_fixed = |wanted: &WantedKey| {
        index.keys[..fixed].iter().any(|key| {
            matches!(key.source, KeySource::Column(own) if own == wanted.column)
                && (key.collation.loose().is_none()
                    || collate::serves(key.order(), key.ty.collation(), wanted.collation))
        })
    };
    let wanted: Vec<_> = order.keys.iter().filter(|key| !is_fixed(key)).collect();
    let rest = &index.keys[fixed..];
    if wanted.len() > rest.len() {
        return (false, false);
    }
    let mut backward = None;
    for (wanted, key) in wanted.iter().zip(rest) {
        let KeySource::Column(own) = key.source else { return (false, false) };
        let serves = collate::serves(key.order(), key.ty.collation(), wanted.collation);
        if own != wanted.column || !serves {
            return (false, false);
        }
        let reversed = key.desc != wanted.desc;
        let nulls_fit =
            wanted.nulls_first.is_none_or(|first| (key.nulls_first != first) == reversed);
        if !nulls_fit || backward.is_some_and(|b| b != reversed) {
            return (false, false);
        }
        backward = Some(reversed);
    }
    (true, backward.unwrap_or(false))
}
