//! Which index answers a query's conditions best, and what it answers of them.

use std::sync::Arc;

use syntax::ast::Loc;

use crate::bind::tree::{
    ArrayArg, ArrayExpr, ArrayOp, Call, Column, Comparison, Const, Expr, Shape, Ty, Var,
};
use crate::bind::walk;
use crate::bind::{collate, implied};
use crate::catalog::{AccessMethod, IndexDef, IndexKey, KeySource, TableDef};
use crate::func::{self, CastMethod, like};
use crate::types::{Collation, Datum, TypeId, type_info};

use super::access::{QueryCx, WantedOrder};
use super::estimate::{self, operator};
use super::node::KeyValue;
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
    /// Positions of the conditions that the range guarantees.
    pub used: Vec<usize>,
    /// At most one row.
    pub unique: bool,
    pub sorted: bool,
    pub backward: bool,
    /// Its entries have all that the query needs of a row.
    pub covers: bool,
}

impl IndexChoice {
    /// Whether conditions bound what is read of the index.
    pub fn is_bounded(&self) -> bool {
        let bounds = self.lower.is_some() || self.upper.is_some() || self.pattern.is_some();
        bounds || !self.used.is_empty()
    }

    /// Higher is better.
    fn score(&self) -> (bool, usize, usize, bool, bool) {
        let single = self.equal.iter().filter(|v| !matches!(v, KeyValue::AnyOf(_))).count();
        let bounds = [self.lower.is_some(), self.upper.is_some(), self.pattern.is_some()];
        let bounds = bounds.into_iter().filter(|is_there| *is_there).count();
        let equal = single * 2 + (self.equal.len() - single);
        (self.unique, equal, bounds, self.sorted, self.covers)
    }
}

/// The index that answers most of these conditions, if any answers some. Key values must not use the entry itself;
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
    !matches!(value, KeyValue::IsNull)
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
    let mut choice = IndexChoice {
        index: index.clone(),
        equal: Vec::new(),
        lower: None,
        upper: None,
        pattern: None,
        used: Vec::new(),
        unique: false,
        sorted: false,
        backward: false,
        covers: false,
    };
    let mut any_of = false;
    for (key, expr) in index.keys.iter().zip(keys) {
        // What it is compared by is the key's own business.
        let key = Key { rel, expr: expr.bare(), ty: key.ty, collation: key.collation };
        let found = conditions.iter().enumerate().find_map(|(i, condition)| {
            let value = equality(condition, &key, outer)?;
            // One list of values per scan: its values are looked up one by one.
            (!any_of || !matches!(value, KeyValue::AnyOf(_))).then_some((i, value))
        });
        match found {
            Some((i, value)) => {
                any_of |= matches!(value, KeyValue::AnyOf(_));
                choice.equal.push(value);
                choice.used.push(i);
            }
            None => {
                bounds(&mut choice, &key, conditions, outer);
                break;
            }
        }
    }
    let nulls = choice.equal.iter().any(|v| matches!(v, KeyValue::IsNull));
    let is_whole = choice.equal.len() == index.keys.len() && !any_of && !nulls;
    choice.unique = index.unique && index.immediate && is_whole;
    if let Some(order) = order
        && !any_of
        && index.method == AccessMethod::BTree
        && (choice.pattern.is_none() || !choice.equal.is_empty())
    {
        (choice.sorted, choice.backward) = gives_order(index, choice.equal.len(), rel, order);
    }
    (choice.is_bounded() || choice.sorted).then_some(choice)
}

/// What the conditions say of where the first key without an equality begins and ends.
fn bounds(choice: &mut IndexChoice, key: &Key<'_>, conditions: &[Expr], outer: bool) {
    for (i, condition) in conditions.iter().enumerate() {
        let Some((symbol, value)) = comparison(condition, key, outer) else { continue };
        let slot = match symbol {
            ">" | ">=" => &mut choice.lower,
            "<" | "<=" => &mut choice.upper,
            _ => continue,
        };
        if slot.is_none() {
            *slot = Some((value, symbol.len() == 2));
            choice.used.push(i);
        }
    }
    // `(a, b) > (x, y)` is not answered by `a >= x`, but begins there.
    for condition in conditions {
        let Expr::RowCompare(rows) = condition else { continue };
        let slot = match rows.op {
            Comparison::Gt | Comparison::Ge => &mut choice.lower,
            Comparison::Lt | Comparison::Le => &mut choice.upper,
            _ => continue,
        };
        if let Some((equal, _)) = rows.columns.first()
            && let [left, right] = &equal.args[..]
            && slot.is_none()
            && key.serves(equal.collation)
            && key.is(left)
            && usable(right, key.rel, outer)
        {
            *slot = fit(right, key.ty.id).map(|value| (value, true));
        }
    }
    if choice.lower.is_none() && choice.upper.is_none() {
        pattern(choice, key, conditions, outer);
    }
}

/// What a LIKE says of where the key begins and ends: all texts that match begin as the pattern does. The condition
/// itself is left to be tested.
fn pattern(choice: &mut IndexChoice, key: &Key<'_>, conditions: &[Expr], outer: bool) {
    if !compatible(key.ty.id, TypeId::TEXT) || key.collation.rules().is_some() {
        return;
    }
    for condition in conditions {
        let Expr::Call(call) = condition else { continue };
        let [text, pattern] = &call.args[..] else { continue };
        // Loose rules refuse it, all others go by letters.
        let is_like = operator(call) == Some("~~") && call.collation.loose().is_none();
        if !is_like || !key.is(text) || !usable(pattern, key.rel, outer) {
            continue;
        }
        let Expr::Const(c) = pattern.bare() else {
            choice.pattern = Some(pattern.clone());
            continue;
        };
        if c.value.is_null() {
            continue;
        }
        let start = like::literal_start(c.value.as_text());
        if start.is_empty() {
            continue;
        }
        let bound = |text: String| {
            Expr::Const(Const { value: Datum::text(text), ty: Ty::of(TypeId::TEXT), loc: c.loc })
        };
        choice.upper = like::after_start(&start).map(|end| (bound(end), false));
        choice.lower = Some((bound(start), true));
        choice.pattern = None;
        return;
    }
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
    let fixed_columns: Vec<u16> = index.keys[..fixed]
        .iter()
        .filter_map(|key| match key.source {
            KeySource::Column(column) => Some(column),
            KeySource::Expr(_) => None,
        })
        .collect();
    let wanted: Vec<_> =
        order.keys.iter().filter(|key| !fixed_columns.contains(&key.column)).collect();
    let rest = &index.keys[fixed..];
    if wanted.len() > rest.len() {
        return (false, false);
    }
    let mut backward = None;
    for (wanted, key) in wanted.iter().zip(rest) {
        let KeySource::Column(own) = key.source else { return (false, false) };
        let serves = collate::serves(key.collation, key.ty.collation(), wanted.collation);
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

/// One key of an index: an expression over the entry's columns.
struct Key<'k> {
    rel: u16,
    expr: &'k Expr,
    ty: Ty,
    collation: Collation,
}

impl Key<'_> {
    /// Are comparisons under this collation those that the key is ordered by?
    fn serves(&self, comparison: Collation) -> bool {
        collate::serves(self.collation, self.ty.collation(), comparison)
    }

    /// Is the expression this key, under its own name or a text type's?
    fn is(&self, expr: &Expr) -> bool {
        match expr {
            _ if walk::same(expr, self.expr) => true,
            Expr::Relabel(relabel) => {
                compatible(relabel.arg.type_id(), relabel.ty.id) && self.is(&relabel.arg)
            }
            Expr::Collate(collate) => self.is(&collate.arg),
            _ => false,
        }
    }
}

/// The condition as an equality on the key.
fn equality(condition: &Expr, key: &Key<'_>, outer: bool) -> Option<KeyValue> {
    match condition {
        Expr::Call(_) => {
            let (symbol, value) = comparison(condition, key, outer)?;
            (symbol == "=").then_some(KeyValue::Is(value))
        }
        Expr::IsNull(test) if !test.negated && !test.row => {
            key.is(&test.arg).then_some(KeyValue::IsNull)
        }
        Expr::ArrayOp(op) if !op.all && &*op.symbol == "=" => any_of(op, key, outer),
        _ => None,
    }
}

fn any_of(op: &ArrayOp, key: &Key<'_>, outer: bool) -> Option<KeyValue> {
    let Key { rel, ty, .. } = *key;
    if !key.is(&op.left) || !key.serves(op.collation) {
        return None;
    }
    match &op.right {
        ArrayArg::Array(array) => {
            let element = crate::bind::element_of(array.type_id())?;
            (compatible(element, ty.id) && usable(array, rel, outer))
                .then(|| KeyValue::AnyOf(array.clone()))
        }
        ArrayArg::List(list) => {
            let fits = list.iter().all(|e| compatible(e.type_id(), ty.id) && usable(e, rel, outer));
            let array = type_info(ty.id).map(|info| info.array).filter(|id| id.is_valid())?;
            fits.then(|| {
                KeyValue::AnyOf(Expr::Array(Box::new(ArrayExpr {
                    elements: list.clone(),
                    element_type: ty.id,
                    nested: false,
                    ty: Ty::of(array),
                })))
            })
        }
    }
}

/// The condition as `column op value`, the value fitted to the column's type.
fn comparison(condition: &Expr, key: &Key<'_>, outer: bool) -> Option<(&'static str, Expr)> {
    let Expr::Call(call) = condition else { return None };
    let symbol = operator(call)?;
    let [left, right] = &call.args[..] else { return None };
    let (value, symbol) = if key.is(left) {
        (right, plain(symbol)?)
    } else if key.is(right) {
        (left, commuted(symbol)?)
    } else {
        return None;
    };
    if !usable(value, key.rel, outer) || !key.serves(call.collation) {
        return None;
    }
    Some((symbol, fit(value, key.ty.id)?))
}

fn plain(symbol: &str) -> Option<&'static str> {
    ["=", "<", "<=", ">", ">="].into_iter().find(|s| *s == symbol)
}

fn commuted(symbol: &str) -> Option<&'static str> {
    Some(match symbol {
        "=" => "=",
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        _ => return None,
    })
}

/// May the value be computed before the scan starts?
fn usable(value: &Expr, rel: u16, outer: bool) -> bool {
    let rels = walk::rels_of(value);
    (if outer { !rels.contains(&rel) } else { rels.is_empty() }) && !estimate::is_volatile(value)
}

/// Do the two types have the same values in the same order?
fn compatible(a: TypeId, b: TypeId) -> bool {
    let texts = [TypeId::TEXT, TypeId::VARCHAR, TypeId::NAME];
    a == b || (texts.contains(&a) && texts.contains(&b))
}

/// The value as one of the key's type, if that loses nothing.
fn fit(value: &Expr, ty: TypeId) -> Option<Expr> {
    let own = value.type_id();
    if compatible(own, ty) {
        return Some(value.clone());
    }
    if let Expr::Const(c) = value
        && let Some(value) = fit_constant(&c.value, ty)
    {
        return Some(Expr::Const(Const { value, ty: Ty::of(ty), loc: c.loc }));
    }
    widen(value, ty)
}

/// Integers of a narrower type, as the wider one.
pub(super) fn widen(value: &Expr, ty: TypeId) -> Option<Expr> {
    let own = value.type_id();
    let wider = matches!(
        (own, ty),
        (TypeId::INT2, TypeId::INT4 | TypeId::INT8) | (TypeId::INT4, TypeId::INT8)
    );
    if !wider {
        return None;
    }
    let CastMethod::Function(func) = func::cast(own, ty)?.method else { return None };
    Some(Expr::Call(Box::new(Call {
        func,
        args: vec![value.clone()],
        ty: Ty::of(ty),
        collation: Collation::NONE,
        variadic: false,
        shape: Shape::ImplicitCast,
        loc: value.loc(),
    })))
}

pub(super) fn fit_constant(value: &Datum, ty: TypeId) -> Option<Datum> {
    let n = match value {
        Datum::Int2(n) => i64::from(*n),
        Datum::Int4(n) => i64::from(*n),
        Datum::Int8(n) => *n,
        _ => return None,
    };
    Some(match ty {
        TypeId::INT2 => Datum::Int2(n.try_into().ok()?),
        TypeId::INT4 => Datum::Int4(n.try_into().ok()?),
        TypeId::INT8 => Datum::Int8(n),
        _ => return None,
    })
}
