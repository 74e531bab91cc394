//! Queries in FROM, views among them, that are no more than rows of their own FROM under a condition become part of the
//! query around them: then its conditions reach their tables' indexes, and their tables take part in the order of joins.

use std::borrow::Cow;

use crate::bind::query::{Join, JoinKind, JoinTree, Modify, ModifyAction, Query, RelKind, Target};
use crate::bind::tree::{Column, Expr, Var};
use crate::bind::walk;

use super::cte::inlined;
use super::estimate::is_volatile_query;
use super::reduce::{has_outer, simplified};

/// The query with all that can be made part of it.
pub(super) fn pulled_up(query: &Query) -> Cow<'_, Query> {
    let mut query = Cow::Borrowed(query);
    if query.set_op.is_some() {
        return query; // Its entries are the sides.
    }
    let mut rel = 0;
    // What comes with an entry is put at the end, to be looked at in its turn.
    while rel < query.rels.len() {
        if let Some(within) = candidate(&query, rel as u16) {
            let within = within.clone();
            pull(query.to_mut(), rel as u16, within);
        }
        rel += 1;
    }
    query
}

/// An UPDATE or DELETE with its query simplified.
pub(super) fn simplified_change(modify: &Modify) -> Cow<'_, Modify> {
    let mut rels = 0..modify.query.rels.len();
    if !has_outer(&modify.query) && !rels.any(|rel| candidate(&modify.query, rel as u16).is_some())
    {
        return Cow::Borrowed(modify);
    }
    let mut modify = modify.clone();
    // What else is over its entries is taken along as targets.
    let own = modify.query.targets.len();
    let taken: Vec<Target> = beside(&mut modify).map(|expr| unnamed(expr.clone())).collect();
    modify.query.targets.extend(taken);
    modify.query = simplified(&modify.query).into_owned();
    let moved = modify.query.targets.split_off(own);
    for (place, target) in beside(&mut modify).zip(moved) {
        *place = target.expr;
    }
    Cow::Owned(modify)
}

fn unnamed(expr: Expr) -> Target {
    Target { expr, name: "".into(), junk: true, origin: None, nameless: false }
}

/// The expressions over the query's entries that are not its own.
fn beside(modify: &mut Modify) -> impl Iterator<Item = &mut Expr> {
    let sets = match &mut modify.action {
        ModifyAction::Update { sets } => &mut sets[..],
        _ => &mut [],
    };
    let sets = sets.iter_mut().map(|(_, expr)| expr);
    sets.chain(modify.returning.iter_mut().map(|target| &mut target.expr))
}

/// Which outer joins an entry of FROM is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// None that could leave it without a row.
    Plain,
    /// Of a LEFT or RIGHT JOIN the side that may have no row.
    Nullable,
    /// Below a FULL JOIN, by whose conditions it could come to be one that can't be done.
    Full,
}

/// The entry's query, if it can be made part of the one around it.
fn candidate(query: &Query, rel: u16) -> Option<&Query> {
    let kind = &query.rels[usize::from(rel)].kind;
    let within = match kind {
        RelKind::Subquery(within) => within,
        RelKind::Cte { level: 0, index } => inlined(&query.ctes[usize::from(*index)])?,
        _ => return None,
    };
    let place = query.from.iter().find_map(|tree| place_of(tree, rel))?;
    if place == Place::Full || within.is_barrier() || !is_plain(within) || refers_beside(kind) {
        return None;
    }
    // A value that is computed where its row may be missing, or where grouping sets leave it out, is null there,
    // whatever it is computed from.
    let has_sets = query.group.as_ref().is_some_and(|group| group.sets.len() > 1);
    let columns_only = place == Place::Nullable || has_sets;
    let fits = |column: &u16| {
        let target = &within.targets[usize::from(*column)].expr;
        matches!(target, Expr::Var(var) if var.level == 0)
            || !columns_only && !walk::any(target, &mut |part| matches!(part, Expr::SubLink(_)))
    };
    let used = used_columns(query, rel)?;
    // Two keys that are one column would be one key.
    let same = |a: &u16, b: &u16| {
        let target = |column: &u16| &within.targets[usize::from(*column)].expr;
        a != b && walk::same(target(a), target(b))
    };
    let is_double = |a: &u16| used.iter().any(|b| same(a, b));
    if has_sets && used.iter().any(is_double) {
        return None;
    }
    used.iter().all(fits).then_some(within)
}

pub(super) fn place_of(tree: &JoinTree, rel: u16) -> Option<Place> {
    let join = match tree {
        JoinTree::Rel(own) => return (*own == rel).then_some(Place::Plain),
        JoinTree::Join(join) => join,
    };
    let side = |tree: &JoinTree, outer: JoinKind| {
        let here = match join.kind {
            JoinKind::Full => Place::Full,
            kind if kind == outer => Place::Nullable,
            _ => Place::Plain,
        };
        place_of(tree, rel).map(|place| place.max(here))
    };
    side(&join.left, JoinKind::Right).or_else(|| side(&join.right, JoinKind::Left))
}

/// Is it FROM, WHERE and targets, the same rows whenever it is asked?
fn is_plain(query: &Query) -> bool {
    let has_more = query.set_op.is_some()
        || query.is_grouped()
        || query.distinct.is_some()
        || query.limit.is_some()
        || query.offset.is_some()
        || query.has_srf
        || query.from.is_empty();
    let lists = [query.windows.len(), query.order_by.len(), query.ctes.len()];
    !has_more && lists.iter().all(|len| *len == 0) && !query.for_update && !is_volatile_query(query)
}

/// Does an entry take values of others beside it?
fn refers_beside(kind: &RelKind) -> bool {
    let mut found = false;
    walk::rel_vars(kind, &mut |_| found = true);
    found
}

/// The columns of an entry that the query uses; nothing, if its whole row is one of them.
fn used_columns(query: &Query, rel: u16) -> Option<Vec<u16>> {
    let mut columns = Some(Vec::new());
    walk::exprs_beside_with(query, &mut |expr, depth| {
        walk::each_var(expr, depth, &mut |var, depth| {
            if var.level == depth && var.rel == rel {
                match (var.column, &mut columns) {
                    (Column::User(column), Some(columns)) => columns.push(column),
                    _ => columns = None,
                }
            }
        });
    });
    columns
}

/// Puts an entry's query into its place.
fn pull(query: &mut Query, rel: u16, mut within: Query) {
    move_out(&mut within, query.rels.len() as u16);
    query.rels[usize::from(rel)].kind = RelKind::Join;
    query.rels.append(&mut within.rels);
    let mut filter = within.filter;
    let at = query.from.iter().position(|tree| place_of(tree, rel).is_some());
    let at = at.expect("a candidate is in FROM");
    match &mut query.from[at] {
        JoinTree::Rel(_) => drop(query.from.splice(at..=at, within.from)),
        tree => put_in(tree, rel, &mut Some(joined(within.from)), &mut filter),
    }
    let by_target = |var: &Var, depth: u16| {
        let Column::User(column) = var.column else { return None };
        let is_its = var.level == depth && var.rel == rel;
        is_its.then(|| walk::moved_in(within.targets[usize::from(column)].expr.clone(), depth))
    };
    walk::exprs_beside_with_mut(query, &mut |expr, depth| {
        walk::replace_vars(expr, depth, &mut |var, depth| by_target(var, depth));
    });
    query.filter = Expr::all_of(filter.into_iter().chain(query.filter.take()).collect());
    query.locking.append(&mut within.locking);
    query.has_sublinks |= within.has_sublinks;
}

/// Has a query say everything as the one around it would, whose entries its own come after.
fn move_out(query: &mut Query, entries: u16) {
    walk::query_exprs_mut(query, 0, &mut |expr, depth| {
        walk::replace_vars(expr, depth, &mut |var, depth| {
            (var.level >= depth).then(|| {
                Expr::Var(match var.level == depth {
                    true => Var { rel: var.rel + entries, ..*var },
                    false => Var { level: var.level - 1, ..*var },
                })
            })
        });
    });
    walk::each_cte_outside_mut(query, &mut |level| *level -= 1);
    walk::each_query_mut(query, 0, &mut |query, depth| {
        walk::own_exprs_mut(query, &mut |expr| aggregates_out(expr, depth));
    });
    let mut from = std::mem::take(&mut query.from);
    from.iter_mut().for_each(|tree| renumber(tree, entries));
    query.from = from;
    query.locking.iter_mut().for_each(|lock| lock.rel += entries);
}

fn aggregates_out(expr: &mut Expr, depth: u16) {
    match expr {
        Expr::Aggregate(call) if call.level > depth => call.level -= 1,
        Expr::Grouping(call) if call.level > depth => call.level -= 1,
        _ => {}
    }
    walk::each_child_mut(expr, &mut |child| aggregates_out(child, depth));
}

fn renumber(tree: &mut JoinTree, entries: u16) {
    match tree {
        JoinTree::Rel(rel) => *rel += entries,
        JoinTree::Join(join) => {
            renumber(&mut join.left, entries);
            renumber(&mut join.right, entries);
        }
    }
}

/// All items of a FROM as one.
fn joined(from: Vec<JoinTree>) -> JoinTree {
    let join = |left, right| {
        let kind = JoinKind::Inner;
        JoinTree::Join(Box::new(Join { kind, left, right, condition: None }))
    };
    from.into_iter().reduce(join).expect("there is a FROM")
}

/// Puts a tree into the entry's place, and the condition on its rows where the lowest outer join asks which rows there are on
/// its nullable side, if the entry is there, or before what an inner join asks.
fn put_in(tree: &mut JoinTree, rel: u16, by: &mut Option<JoinTree>, filter: &mut Option<Expr>) {
    let join = match tree {
        JoinTree::Rel(own) if *own == rel => {
            *tree = by.take().expect("an entry is in one place");
            return;
        }
        JoinTree::Rel(_) => return,
        JoinTree::Join(join) => join,
    };
    for (side, outer) in [(&mut join.left, JoinKind::Right), (&mut join.right, JoinKind::Left)] {
        if place_of(side, rel).is_some() {
            put_in(side, rel, by, filter);
            if join.kind == outer || join.kind == JoinKind::Inner {
                let all = filter.take().into_iter().chain(join.condition.take());
                join.condition = Expr::all_of(all.collect());
            }
            return;
        }
    }
}
