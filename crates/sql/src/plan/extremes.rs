//! `min` and `max` of a column: where an index gives the column's order, its first row tells.

use std::borrow::Cow;
use std::rc::Rc;

use syntax::ast::Loc;

use crate::bind::collate;
use crate::bind::query::{JoinTree, Query, RelKind, Target};
use crate::bind::tree::{AggCall, Column, Expr, IsNull, SubLink, SubLinkKind, Var};
use crate::bind::walk;

use super::Indexes;
use super::access::{QueryCx, WantedKey, WantedOrder};
use super::choose::choose_index;
use super::group::{is_one_value, only_calls};
use super::semijoin::{asks_for_more, is_candidate};

/// The order whose first row tells what `min` or `max` of a column is, if the query asks just that of one table.
pub(super) fn extreme(query: &Query) -> Option<WantedOrder> {
    let rel = whole_table(query)?;
    let filter = query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default();
    if filter.iter().any(|condition| is_candidate(condition) && !asks_for_more(condition)) {
        return None;
    }
    match &only_calls(query)?[..] {
        [call] => order_of(call, rel),
        _ => None,
    }
}

/// The query with each of several `min` and `max` asked by a sub-select of its own, if for each there is an index by which
/// one row is read.
pub(super) fn apart<'q>(query: Cow<'q, Query>, indexes: &Rc<Indexes>) -> Cow<'q, Query> {
    match in_parts(&query, indexes) {
        Some(parts) => Cow::Owned(parts),
        None => query,
    }
}

fn in_parts(query: &Query, indexes: &Rc<Indexes>) -> Option<Query> {
    let rel = whole_table(query)?;
    let filter = query.filter.as_ref();
    let is_of_groups = |part: &Expr| matches!(part, Expr::Aggregate(_) | Expr::Grouping(_));
    // Those in WHERE are of queries further out.
    let has_more =
        query.has_sublinks || filter.is_some_and(|f| walk::any(f, &mut { is_of_groups }));
    if has_more || !indexes.settings.indexscan {
        return None;
    }
    let calls = only_calls(query).filter(|calls| calls.len() > 1)?;
    for call in &calls {
        let order = order_of(call, rel)?;
        if !is_answered(query, indexes, &order) {
            return None;
        }
    }
    let links: Vec<Expr> = calls.iter().map(|call| asked_alone(query, call)).collect();
    let mut parts = query.clone();
    parts.from = Vec::new();
    parts.filter = parts.having.take();
    parts.group = None;
    parts.has_sublinks = true;
    let exprs = parts.targets.iter_mut().map(|target| &mut target.expr).chain(&mut parts.filter);
    exprs.for_each(|expr| put_links(expr, &calls, &links));
    Some(parts)
}

/// The table that a query without groups makes one row of.
fn whole_table(query: &Query) -> Option<u16> {
    let [JoinTree::Rel(rel)] = query.from[..] else { return None };
    let group = query.group.as_ref()?;
    let is_whole = group.keys.is_empty() && matches!(&group.sets[..], [set] if set.is_empty());
    is_whole.then_some(rel)
}

fn order_of(call: &AggCall, rel: u16) -> Option<WantedOrder> {
    let desc = match call.agg.name {
        "min" => false,
        "max" => true,
        _ => return None,
    };
    let ([Expr::Var(var)], None, []) = (&call.args[..], &call.filter, &call.order_by[..]) else {
        return None;
    };
    let Column::User(column) = var.column else { return None };
    (var.level == 0 && var.rel == rel).then(|| {
        let (nulls_first, collation) = (None, collate::of(&call.args[0]));
        let keys = vec![WantedKey { column, desc, nulls_first, collation }];
        WantedOrder { rel, keys, limited: true, extreme: true, rows: None }
    })
}

/// Is the order that of an index, within the bounds that the conditions set and no further?
fn is_answered(query: &Query, indexes: &Rc<Indexes>, order: &WantedOrder) -> bool {
    let RelKind::Table(table) = &query.rels[usize::from(order.rel)].kind else { return false };
    let mut conditions = query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default();
    let own = conditions.len();
    conditions.push(order.first_key_not_null(query));
    let cx = QueryCx::new(query, indexes);
    let choice = choose_index(&cx, table, order.rel, &conditions, false, Some(order));
    choice.is_some_and(|choice| choice.sorted && (0..own).all(|at| choice.used.contains(&at)))
}

/// The sub-select that asks for one of the query's aggregates.
fn asked_alone(query: &Query, call: &AggCall) -> Expr {
    let expr = Expr::Aggregate(Box::new(call.clone()));
    let mut filter = query.filter.clone();
    if let Some(filter) = &mut filter {
        walk::replace_vars(filter, 0, &mut |var, depth| {
            let is_outside = var.level > depth;
            is_outside.then(|| Expr::Var(Var { level: var.level + 1, ..*var }))
        });
    }
    let alone = Query {
        rels: query.rels.clone(),
        from: query.from.clone(),
        filter,
        targets: vec![Target { expr, name: "".into(), junk: false, origin: None, nameless: false }],
        group: query.group.clone(),
        ..Query::default()
    };
    let (kind, query) = (SubLinkKind::Scalar, Box::new(alone));
    // Only sub-selects in conditions are told from each other.
    Expr::SubLink(Box::new(SubLink { id: u32::MAX, kind, query, ty: call.ty, loc: call.loc }))
}

fn put_links(expr: &mut Expr, calls: &[AggCall], links: &[Expr]) {
    // Those of queries further out are constants here.
    if let Expr::Aggregate(call) = expr
        && call.level == 0
    {
        let whole = Expr::Aggregate(call.clone());
        let is_it = |one: &AggCall| is_one_value(&Expr::Aggregate(Box::new(one.clone())), &whole);
        let at = calls.iter().position(is_it).expect("all aggregates were gathered");
        *expr = links[at].clone();
        return;
    }
    walk::each_child_mut(expr, &mut |child| put_links(child, calls, links));
}

impl WantedOrder {
    pub(super) fn first_key_not_null(&self, query: &Query) -> Expr {
        let column = self.keys[0].column;
        let own = &query.rels[usize::from(self.rel)].columns[usize::from(column)];
        let (ty, collation, column) = (own.ty, own.collation, Column::User(column));
        let (rel, loc) = (self.rel, Loc::NONE);
        let arg = Expr::Var(Var { level: 0, rel, column, ty, collation, loc });
        Expr::IsNull(Box::new(IsNull { arg, negated: true, row: false }))
    }
}
