//! What conditions say of one key of an index.

use crate::bind::tree::{ArrayArg, ArrayExpr, ArrayOp, Comparison, Const, Expr, NarrowTo, Ty};
use crate::bind::{collate, walk};
use crate::func::like;
use crate::types::{Collation, Datum, TypeId, array_of};

use super::choose::IndexChoice;
use super::estimate::{self, operator};
use super::fit::{about, compatible, equal_to, fit, fit_elements};
use super::node::{KeyCondition, KeyTest, KeyValue};

/// One key of an index: an expression over the entry's columns.
pub(super) struct Key<'k> {
    pub rel: u16,
    pub expr: &'k Expr,
    pub ty: Ty,
    pub collation: Collation,
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

/// What the conditions say of where the first key without an equality begins and ends.
pub(super) fn bounds(choice: &mut IndexChoice, key: &Key<'_>, conditions: &[Expr], outer: bool) {
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
    // What can't be said in the key's type is not answered, but begins or ends thereabouts.
    for condition in conditions {
        let Some((symbol, value)) = compared(condition, key, outer) else { continue };
        let (slot, to) = match symbol {
            ">" | ">=" => (&mut choice.lower, NarrowTo::Lower),
            "<" | "<=" => (&mut choice.upper, NarrowTo::Upper),
            _ => continue,
        };
        if slot.is_none() {
            *slot = about(value, key.ty.id, to).map(|value| (value, true));
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

/// What the conditions that bound nothing say of the key at `column`; that is left to be tested in the entries.
pub(super) fn tests(
    choice: &mut IndexChoice,
    column: usize,
    key: &Key<'_>,
    conditions: &[Expr],
    outer: bool,
) {
    for (i, condition) in conditions.iter().enumerate() {
        if choice.answered().any(|known| known == i) {
            continue;
        }
        if let Some(what) = test_of(condition, key, outer) {
            choice.tests.push(KeyTest { column, what });
            choice.tested.push(i);
        }
    }
}

fn test_of(condition: &Expr, key: &Key<'_>, outer: bool) -> Option<KeyCondition> {
    if let Some(value) = equality(condition, key, outer) {
        return Some(KeyCondition::Value(value));
    }
    if let Expr::IsNull(test) = condition {
        return (test.negated && !test.row && key.is(&test.arg)).then_some(KeyCondition::NotNull);
    }
    let (symbol, value) = comparison(condition, key, outer)?;
    Some(match symbol {
        ">" | ">=" => KeyCondition::Lower(value, symbol.len() == 2),
        "<" | "<=" => KeyCondition::Upper(value, symbol.len() == 2),
        _ => return None,
    })
}

/// The condition as an equality on the key.
pub(super) fn equality(condition: &Expr, key: &Key<'_>, outer: bool) -> Option<KeyValue> {
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
            let fitted = fit_elements(array, ty.id)?;
            usable(array, rel, outer).then_some(KeyValue::AnyOf(fitted))
        }
        ArrayArg::List(list) => {
            let fitted = |value: &Expr| {
                let fitted = fit(value, ty.id).or_else(|| equal_to(value, ty.id));
                fitted.filter(|_| usable(value, rel, outer))
            };
            let elements = list.iter().map(fitted).collect::<Option<Vec<Expr>>>()?;
            Some(KeyValue::AnyOf(array_of_list(elements, ty.id)?))
        }
    }
}

/// The members of a list as an array.
pub(super) fn array_of_list(elements: Vec<Expr>, element_type: TypeId) -> Option<Expr> {
    let ty = Ty::of(array_of(element_type)?);
    Some(Expr::Array(Box::new(ArrayExpr { elements, element_type, nested: false, ty })))
}

/// The condition as `column op value`, the value fitted to the column's type.
fn comparison(condition: &Expr, key: &Key<'_>, outer: bool) -> Option<(&'static str, Expr)> {
    let (symbol, value) = compared(condition, key, outer)?;
    let fitted = fit(value, key.ty.id);
    let equal = || (symbol == "=").then(|| equal_to(value, key.ty.id)).flatten();
    Some((symbol, fitted.or_else(equal)?))
}

/// The condition as `column op value`, the value as it is.
fn compared<'e>(
    condition: &'e Expr,
    key: &Key<'_>,
    outer: bool,
) -> Option<(&'static str, &'e Expr)> {
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
    (usable(value, key.rel, outer) && key.serves(call.collation)).then_some((symbol, value))
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
