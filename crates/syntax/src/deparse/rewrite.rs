//! What PostgreSQL's analysis turns into something else whatever the types are.

use std::borrow::Cow;

use super::Style;
use crate::ast::*;

/// The expression in the form that is printed.
pub(super) fn rewrite(expr: &Expr, style: Style) -> Cow<'_, Expr> {
    match expr {
        Expr::InList(list) if style == Style::Untyped && is_array(list) => Cow::Borrowed(expr),
        Expr::Between(between) => Cow::Owned(comparisons(between)),
        Expr::InList(list) => Cow::Owned(membership(list, style)),
        Expr::Like(like) => Cow::Owned(match_operator(like)),
        Expr::IsDistinct(distinct) if distinct.negated => {
            let positive = IsDistinctExpr { negated: false, ..(**distinct).clone() };
            Cow::Owned(not(Expr::IsDistinct(Box::new(positive))))
        }
        Expr::Binary(binary) => by_column(binary).map_or(Cow::Borrowed(expr), Cow::Owned),
        other => Cow::Borrowed(other),
    }
}

fn not(arg: Expr) -> Expr {
    Expr::Not(Box::new(NotExpr { arg, loc: Loc::NONE }))
}

fn and(args: Vec<Expr>) -> Expr {
    Expr::And(Box::new(BoolExpr { args, loc: Loc::NONE }))
}

fn or(args: Vec<Expr>) -> Expr {
    Expr::Or(Box::new(BoolExpr { args, loc: Loc::NONE }))
}

fn operator(symbol: &str) -> Operator {
    Operator { schema: Vec::new(), symbol: symbol.into(), loc: Loc::NONE }
}

fn binary(symbol: &str, left: &Expr, right: &Expr) -> Expr {
    let (left, right) = (left.clone(), right.clone());
    Expr::Binary(Box::new(BinaryExpr { op: operator(symbol), left, right }))
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|value| FuncArg { name: None, value, loc: Loc::NONE });
    Expr::Func(Box::new(FuncCall {
        name: QualifiedName::bare(name),
        args: args.collect(),
        star: false,
        distinct: false,
        variadic: false,
        order_by: Vec::new(),
        within_group: false,
        filter: None,
        over: None,
        sql_syntax: false,
        loc: Loc::NONE,
    }))
}

fn comparisons(between: &BetweenExpr) -> Expr {
    let BetweenExpr { arg, low, high, .. } = between;
    let range = |low: &Expr, high: &Expr| {
        if between.negated {
            or(vec![binary("<", arg, low), binary(">", arg, high)])
        } else {
            and(vec![binary(">=", arg, low), binary("<=", arg, high)])
        }
    };
    match (between.symmetric, between.negated) {
        (false, _) => range(low, high),
        (true, false) => or(vec![range(low, high), range(high, low)]),
        (true, true) => and(vec![range(low, high), range(high, low)]),
    }
}

/// Whether a list's members are compared as those of an array.
fn is_array(list: &InListExpr) -> bool {
    let rows =
        matches!(list.arg, Expr::Row(_)) || list.list.iter().any(|e| matches!(e, Expr::Row(_)));
    list.list.len() > 1 && !rows
}

fn membership(list: &InListExpr, style: Style) -> Expr {
    let symbol = if list.negated { "<>" } else { "=" };
    if is_array(list) {
        let array = Expr::Array(Box::new(ArgList { args: list.list.clone(), loc: Loc::NONE }));
        return Expr::Quantified(Box::new(QuantifiedExpr {
            op: operator(symbol),
            quantifier: if list.negated { Quantifier::All } else { Quantifier::Any },
            left: list.arg.clone(),
            array,
        }));
    }
    let mut each: Vec<Expr> =
        list.list.iter().map(|item| binary(symbol, &list.arg, item)).collect();
    match (each.pop(), each.is_empty()) {
        (Some(only), true) => rewrite(&only, style).into_owned(),
        (Some(last), false) => {
            each.push(last);
            if list.negated { and(each) } else { or(each) }
        }
        (None, _) => Expr::InList(Box::new(list.clone())),
    }
}

fn match_operator(like: &LikeExpr) -> Expr {
    let symbol = match (like.kind, like.negated) {
        (LikeKind::Like, false) => "~~",
        (LikeKind::Like, true) => "!~~",
        (LikeKind::ILike, false) => "~~*",
        (LikeKind::ILike, true) => "!~~*",
        (LikeKind::SimilarTo, false) => "~",
        (LikeKind::SimilarTo, true) => "!~",
    };
    let arguments = || std::iter::once(like.pattern.clone()).chain(like.escape.clone()).collect();
    let pattern = match (like.kind, &like.escape) {
        (LikeKind::SimilarTo, _) => call("similar_to_escape", arguments()),
        (_, Some(_)) => call("like_escape", arguments()),
        (_, None) => like.pattern.clone(),
    };
    binary(symbol, &like.arg, &pattern)
}

/// `(a, b) = (c, d)` is `a = c AND b = d`, and with `<>` it is OR.
fn by_column(comparison: &BinaryExpr) -> Option<Expr> {
    let symbol = &*comparison.op.symbol;
    let (Expr::Row(left), Expr::Row(right)) = (&comparison.left, &comparison.right) else {
        return None;
    };
    if left.args.len() != right.args.len() || left.args.len() < 2 {
        return None;
    }
    let pairs = left.args.iter().zip(&right.args);
    let columns = pairs.map(|(left, right)| binary(symbol, left, right)).collect();
    match symbol {
        "=" => Some(and(columns)),
        "<>" => Some(or(columns)),
        _ => None,
    }
}
