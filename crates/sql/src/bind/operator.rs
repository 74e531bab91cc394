//! Which operator `a op b` means, and how a best candidate is chosen at all.

use syntax::ast::Loc;

use crate::error::{Result, sql_error};
use crate::func::{self, CastUse, Operator};
use crate::types::{Collation, TypeId, type_name};

use super::coerce::{can_coerce, is_binary_coercible};
use super::tree::{Call, Expr, Shape, Ty};
use super::types::{category, display, element_of, is_polymorphic, is_preferred};
use super::{Binder, at};

impl Binder<'_, '_> {
    /// A call of a binary operator.
    pub(super) fn operator(
        &mut self,
        symbol: &str,
        left: Expr,
        right: Expr,
        loc: Loc,
    ) -> Result<Expr> {
        let call = self.operator_call(symbol, left, right, loc)?;
        Ok(Expr::Call(Box::new(call)))
    }

    pub(super) fn operator_call(
        &mut self,
        symbol: &str,
        left: Expr,
        right: Expr,
        loc: Loc,
    ) -> Result<Call> {
        let mut call = self.plain_call(symbol, left, right, loc)?;
        self.collate_call(&mut call)?;
        Ok(call)
    }

    /// A call that compares by no collation yet.
    pub(super) fn plain_call(
        &mut self,
        symbol: &str,
        left: Expr,
        right: Expr,
        loc: Loc,
    ) -> Result<Call> {
        let op = binary(symbol, left.type_id(), right.type_id()).map_err(|e| at(e, loc))?;
        let func = op.func;
        let (args, ty) =
            self.fit_arguments(&[op.left, op.right], op.result, vec![left, right], symbol, loc)?;
        Ok(Call {
            func,
            args,
            ty: Ty::of(ty),
            collation: Collation::NONE,
            variadic: false,
            shape: Shape::Operator(symbol.into()),
            loc,
        })
    }

    /// Likewise where one operand stands for the value of another expression.
    pub(super) fn operator_hiding(
        &mut self,
        symbol: &str,
        left: Expr,
        right: Expr,
        (at, hidden): (usize, &Expr),
        loc: Loc,
    ) -> Result<Expr> {
        let mut call = self.plain_call(symbol, left, right, loc)?;
        self.collate_with(&mut call, (at, super::collate::of(hidden)))?;
        Ok(Expr::Call(Box::new(call)))
    }

    /// A call of a prefix operator.
    pub(super) fn prefix_operator(&mut self, symbol: &str, arg: Expr, loc: Loc) -> Result<Expr> {
        let op = prefix(symbol, arg.type_id()).map_err(|e| at(e, loc))?;
        let func = op.func;
        let (args, ty) = self.fit_arguments(&[op.right], op.result, vec![arg], symbol, loc)?;
        let mut call = Call {
            func,
            args,
            ty: Ty::of(ty),
            collation: Collation::NONE,
            variadic: false,
            shape: Shape::Operator(symbol.into()),
            loc,
        };
        self.collate_call(&mut call)?;
        Ok(Expr::Call(Box::new(call)))
    }

    /// Sorting and merging need a `<` for the type.
    pub(super) fn check_sortable(&mut self, expr: &Expr) -> Result<()> {
        if orderable(expr.type_id()) {
            return self.check_order(expr);
        }
        Err(at(
            sql_error!(
                UNDEFINED_FUNCTION,
                "could not identify an ordering operator for type {}",
                display(expr.ty())
            )
            .with_hint("Use an explicit ordering operator or modify the query."),
            expr.loc(),
        ))
    }

    /// Grouping needs an `=` for the type.
    pub(super) fn check_hashable(&mut self, expr: &Expr) -> Result<()> {
        let id = expr.type_id();
        if id == TypeId::UNKNOWN || orderable(id) || comparable(id) {
            return self.check_grouping(expr);
        }
        Err(at(
            sql_error!(
                UNDEFINED_FUNCTION,
                "could not identify an equality operator for type {}",
                display(expr.ty())
            ),
            expr.loc(),
        ))
    }
}

/// Has the type a total order of its own?
pub fn orderable(id: TypeId) -> bool {
    if id == TypeId::UNKNOWN || id == TypeId::RECORD {
        return true;
    }
    if let Some(element) = element_of(id) {
        return orderable(element);
    }
    func::operators("<").any(|op| is_binary_coercible(id, op.left) && op.left == op.right)
}

fn comparable(id: TypeId) -> bool {
    func::operators("=").any(|op| op.left == op.right && is_binary_coercible(id, op.left))
}

/// The binary operator that fits these operand types.
pub fn binary(symbol: &str, left: TypeId, right: TypeId) -> Result<&'static Operator> {
    // A literal beside a value is taken to be of the value's type first.
    let (l, r) = match (left, right) {
        (TypeId::UNKNOWN, known) => (known, known),
        (known, TypeId::UNKNOWN) => (known, known),
        both => both,
    };
    let exact = func::operators(symbol).find(|op| op.left == l && op.right == r);
    if let Some(op) = exact {
        return Ok(op);
    }
    let candidates: Vec<&'static Operator> =
        func::operators(symbol).filter(|op| op.left.is_valid()).collect();
    let signatures: Vec<Vec<TypeId>> =
        candidates.iter().map(|op| vec![op.left, op.right]).collect();
    match choose(&signatures, &[left, right]) {
        Choice::One(i) => Ok(candidates[i]),
        Choice::None => Err(sql_error!(
            UNDEFINED_FUNCTION,
            "operator does not exist: {} {symbol} {}",
            type_name(left),
            type_name(right)
        )
        .with_hint(
            "No operator matches the given name and argument types. You might need to add explicit type casts.",
        )),
        Choice::Ambiguous => Err(sql_error!(
            AMBIGUOUS_FUNCTION,
            "operator is not unique: {} {symbol} {}",
            type_name(left),
            type_name(right)
        )
        .with_hint(
            "Could not choose a best candidate operator. You might need to add explicit type casts.",
        )),
    }
}

fn prefix(symbol: &str, arg: TypeId) -> Result<&'static Operator> {
    let all = || func::operators(symbol).filter(|op| !op.left.is_valid());
    if let Some(op) = all().find(|op| op.right == arg) {
        return Ok(op);
    }
    let candidates: Vec<&'static Operator> = all().collect();
    let signatures: Vec<Vec<TypeId>> = candidates.iter().map(|op| vec![op.right]).collect();
    match choose(&signatures, &[arg]) {
        Choice::One(i) => Ok(candidates[i]),
        Choice::None => Err(sql_error!(
            UNDEFINED_FUNCTION,
            "operator does not exist: {symbol} {}",
            type_name(arg)
        )
        .with_hint(
            "No operator matches the given name and argument type. You might need to add an explicit type cast.",
        )),
        Choice::Ambiguous => Err(sql_error!(
            AMBIGUOUS_FUNCTION,
            "operator is not unique: {symbol} {}",
            type_name(arg)
        )
        .with_hint(
            "Could not choose a best candidate operator. You might need to add explicit type casts.",
        )),
    }
}

/// What came of looking for the best candidate.
pub(super) enum Choice {
    One(usize),
    None,
    Ambiguous,
}

/// PostgreSQL's rules for choosing among overloaded functions and operators (manual, chapter
/// "Type Conversion"): exact matches, then preferred types, then categories of the unknown ones.
pub(super) fn choose(signatures: &[Vec<TypeId>], input: &[TypeId]) -> Choice {
    let mut left: Vec<usize> = (0..signatures.len())
        .filter(|&i| {
            signatures[i].len() == input.len()
                && signatures[i]
                    .iter()
                    .zip(input)
                    .all(|(to, from)| can_coerce(*from, *to, CastUse::Implicit))
                && consistent(&signatures[i], input)
        })
        .collect();
    match left.len() {
        0 => return Choice::None,
        1 => return Choice::One(left[0]),
        _ => {}
    }
    // Rule 4a: keep those with most exact matches.
    keep_best(&mut left, |i| {
        count(&signatures[i], input, |to, from| from != TypeId::UNKNOWN && to == from)
    });
    if left.len() == 1 {
        return Choice::One(left[0]);
    }
    // Rule 4d: most positions that are exact or preferred.
    keep_best(&mut left, |i| {
        count(&signatures[i], input, |to, from| {
            from != TypeId::UNKNOWN
                && (to == from || (category(to) == category(from) && is_preferred(to)))
        })
    });
    if left.len() == 1 {
        return Choice::One(left[0]);
    }
    if !input.contains(&TypeId::UNKNOWN) {
        return Choice::Ambiguous;
    }
    by_unknown_categories(signatures, input, left)
}

/// Rules 4e and 4f: what the unknown literals should be taken for.
fn by_unknown_categories(
    signatures: &[Vec<TypeId>],
    input: &[TypeId],
    mut left: Vec<usize>,
) -> Choice {
    let mut resolved = true;
    let mut chosen: Vec<Option<(u8, bool)>> = vec![None; input.len()];
    for (n, _) in input.iter().enumerate().filter(|(_, id)| **id == TypeId::UNKNOWN) {
        let mut slot: Option<(u8, bool)> = None;
        let mut conflict = false;
        let mut has_string = false;
        for &i in &left {
            let to = signatures[i][n];
            let (cat, pref) = (category(to), is_preferred(to));
            has_string |= cat == b'S';
            match slot {
                None => slot = Some((cat, pref)),
                Some((c, p)) if c == cat => slot = Some((c, p || pref)),
                Some(_) => conflict = true,
            }
        }
        if conflict {
            if has_string {
                let pref = left
                    .iter()
                    .any(|&i| category(signatures[i][n]) == b'S' && is_preferred(signatures[i][n]));
                slot = Some((b'S', pref));
            } else {
                resolved = false;
                break;
            }
        }
        chosen[n] = slot;
    }
    if resolved {
        let fits: Vec<usize> = left
            .iter()
            .copied()
            .filter(|&i| {
                chosen.iter().enumerate().all(|(n, slot)| match slot {
                    None => true,
                    Some((cat, pref)) => {
                        let to = signatures[i][n];
                        category(to) == *cat && (!pref || is_preferred(to))
                    }
                })
            })
            .collect();
        if !fits.is_empty() {
            left = fits;
        }
        if left.len() == 1 {
            return Choice::One(left[0]);
        }
    }
    // Last: suppose that the unknowns are of the one known type.
    let known: Vec<TypeId> = input.iter().copied().filter(|id| *id != TypeId::UNKNOWN).collect();
    if let Some(first) = known.first()
        && known.iter().all(|id| id == first)
    {
        let fits: Vec<usize> = left
            .iter()
            .copied()
            .filter(|&i| {
                let all = vec![*first; signatures[i].len()];
                signatures[i].iter().all(|to| can_coerce(*first, *to, CastUse::Implicit))
                    && consistent(&signatures[i], &all)
            })
            .collect();
        if let [only] = fits[..] {
            return Choice::One(only);
        }
    }
    Choice::Ambiguous
}

fn count(signature: &[TypeId], input: &[TypeId], test: impl Fn(TypeId, TypeId) -> bool) -> usize {
    signature.iter().zip(input).filter(|(to, from)| test(**to, **from)).count()
}

fn keep_best(left: &mut Vec<usize>, score: impl Fn(usize) -> usize) {
    let best = left.iter().map(|&i| score(i)).max().unwrap_or(0);
    left.retain(|&i| score(i) == best);
}

/// Do the polymorphic positions agree on one element type?
fn consistent(signature: &[TypeId], input: &[TypeId]) -> bool {
    let mut element: Option<TypeId> = None;
    // Those of the ANYCOMPATIBLE family need only go into one of them.
    let mut compatible = Vec::new();
    for (to, from) in signature.iter().zip(input) {
        if !is_polymorphic(*to) || *from == TypeId::UNKNOWN {
            continue;
        }
        let own = match *to {
            TypeId::ANYARRAY => element_of(*from),
            TypeId::ANYNONARRAY if element_of(*from).is_some() => None,
            TypeId::ANYENUM if !from.is_enum() => None,
            TypeId::ANYELEMENT | TypeId::ANYNONARRAY | TypeId::ANYENUM => Some(*from),
            TypeId::ANYCOMPATIBLEARRAY => match element_of(*from) {
                Some(own) => {
                    compatible.push(own);
                    continue;
                }
                None => None,
            },
            TypeId::ANYCOMPATIBLENONARRAY if element_of(*from).is_some() => None,
            TypeId::ANYCOMPATIBLE | TypeId::ANYCOMPATIBLENONARRAY => {
                compatible.push(*from);
                continue;
            }
            _ => continue,
        };
        match (element, own) {
            (_, None) => return false,
            (None, own) => element = own,
            (Some(a), Some(b)) if a != b => return false,
            _ => {}
        }
    }
    // Nothing is taken for a label of an enum that is not known.
    if element.is_none() && signature.contains(&TypeId::ANYENUM) {
        return false;
    }
    let all_fit = |to: &TypeId| {
        compatible.iter().all(|from| from == to || can_coerce(*from, *to, CastUse::Implicit))
    };
    compatible.is_empty() || compatible.iter().any(all_fit)
}
