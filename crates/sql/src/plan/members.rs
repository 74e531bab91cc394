//! `x IN (SELECT …)` where few values lead to the rows of a large table by its index: the values, each once, are joined like any
//! entry of FROM. And where few rows are asked for: each asks the sub-select's table by its index.

use std::borrow::Cow;
use std::rc::Rc;

use crate::bind::collate::{self, alike};
use crate::bind::query::{
    Distinct, Join, JoinKind, JoinTree, Query, Rel, RelColumn, RelKind, SetTree, Target,
};
use crate::bind::tree::{
    ArrayArg, ArrayOp, Call, Column, Const, Expr, SubLink, SubLinkKind, Ty, Var,
};
use crate::bind::walk;
use crate::types::{Collation, Datum, TypeId, array_of};
use syntax::ast::Loc;

use super::Indexes;
use super::access::QueryCx;
use super::choose::choose_index;
use super::estimate::{FUNCTION_ROWS, table_rows};
use super::join::{entry_rows, index_pays, lookup_cost};
use super::pull_up::{Place, place_of};
use super::push_down;
use super::semijoin::is_equality;

/// What fetching a row by its address costs, in rows read one after the other.
const ADDRESS: f64 = 4.0;
/// What it costs to look by an index for one row, in the same.
const PROBE: f64 = 8.0;
/// Rows that LIMIT with a value not known yet is supposed to let through.
const LIMITED_ROWS: f64 = 100.0;

/// The query with those of its IN conditions as joins by which an index finds the rows.
pub(super) fn joined<'q>(query: Cow<'q, Query>, indexes: &Rc<Indexes>) -> Cow<'q, Query> {
    if !query.has_sublinks {
        return query;
    }
    let conditions = query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default();
    let mut query = query;
    // Where the condition stands among those that are left. What comes in its place stands behind all of them.
    let mut at = 0;
    for condition in &conditions {
        let with = match condition {
            Expr::SubLink(link) => with_join(&query, link, at, indexes),
            _ => None,
        };
        match with {
            Some(with) => query = Cow::Owned(with),
            None => at += 1,
        }
    }
    query
}

/// The query with the condition at this place as a join, or as an array of addresses, if that pays.
fn with_join(query: &Query, link: &SubLink, at: usize, indexes: &Rc<Indexes>) -> Option<Query> {
    if let Some(named) = by_address(query, link, indexes) {
        let mut conditions = conditions_without(query, at);
        conditions.push(named);
        return Some(Query { filter: Expr::all_of(conditions), ..query.clone() });
    }
    with_members(query, link, (asks_for_keys(query, link)?, at), indexes)
}

/// The table of which a column is asked for in the members, if each row of it would be joined with one at most.
fn asks_for_keys(query: &Query, link: &SubLink) -> Option<u16> {
    let SubLinkKind::Quantified { tests, all: false } = &link.kind else { return None };
    let is_simple = tests.iter().enumerate().all(|(i, test)| {
        let target = &link.query.targets[i].expr;
        is_equality(test)
            && compares_as_distinct(test, target)
            && !walk::any(&test.args[0], &mut |part| matches!(part, Expr::SubLink(_)))
    });
    if !is_simple || walk::is_correlated(&link.query) {
        return None;
    }
    tests.iter().find_map(|test| {
        let Expr::Var(var) = test.args[0].bare() else { return None };
        let is_table =
            var.level == 0 && matches!(query.rels[usize::from(var.rel)].kind, RelKind::Table(_));
        let place = query.from.iter().find_map(|tree| place_of(tree, var.rel));
        (is_table && place == Some(Place::Plain)).then_some(var.rel)
    })
}

/// Are values the same to DISTINCT that are equal to the test?
fn compares_as_distinct(test: &Call, target: &Expr) -> bool {
    let whole = |ty: TypeId| matches!(ty, TypeId::INT2 | TypeId::INT4 | TypeId::INT8);
    let (left, right) = (test.args[0].type_id(), target.type_id());
    (left == right || whole(left) && whole(right))
        && test.args[1].type_id() == right
        && alike(test.collation, collate::of(target))
}

/// The query with the members joined to the table, in the place of this condition, if its index then pays.
fn with_members(
    query: &Query,
    link: &SubLink,
    (rel, at): (u16, usize),
    indexes: &Rc<Indexes>,
) -> Option<Query> {
    let SubLinkKind::Quantified { tests, .. } = &link.kind else { return None };
    let members = query.rels.len() as u16;
    // What the tests ask of other entries is asked where these are.
    let (on, others): (Vec<Expr>, Vec<Expr>) = tests
        .iter()
        .enumerate()
        .map(|(i, test)| against(test, members, i))
        .partition(|test| walk::rels_of(test).iter().all(|of| [rel, members].contains(of)));
    let mut with = query.clone();
    with.rels.push(entry_of(&link.query));
    let rest = conditions_without(query, at);
    let is_own = |condition: &&Expr| walk::rels_of(condition) == [rel];
    let own: Vec<Expr> = rest.iter().filter(is_own).cloned().collect();
    let rows = query_rows(&link.query, indexes);
    if !index_pays(&QueryCx::new(&with, indexes), rel, &own, &on, rows) {
        return None;
    }
    with.filter = Expr::all_of(rest.into_iter().chain(others).collect());
    let at = with.from.iter_mut().find(|tree| place_of(tree, rel).is_some());
    put_beside(at.expect("it is in FROM"), rel, members, &mut Some(on));
    Some(with)
}

/// The conditions but for that at this place: a sub-select's number would not do, copies of it have the same.
fn conditions_without(query: &Query, at: usize) -> Vec<Expr> {
    let mut conditions = query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default();
    conditions.remove(at);
    conditions
}

/// `ctid IN (SELECT ctid …)` as `ctid = ANY (ARRAY(SELECT ctid …))`, if these are few: then rows are fetched by what names them.
fn by_address(query: &Query, link: &SubLink, indexes: &Rc<Indexes>) -> Option<Expr> {
    let SubLinkKind::Quantified { tests, all: false } = &link.kind else { return None };
    let [test] = &tests[..] else { return None };
    let Expr::Var(var) = &test.args[0] else { return None };
    let RelKind::Table(table) = &query.rels.get(usize::from(var.rel))?.kind else { return None };
    let fits = var.level == 0
        && var.column == Column::Ctid
        && test.args[1].type_id() == TypeId::TID
        && is_equality(test)
        && !walk::is_correlated(&link.query)
        && query_rows(&link.query, indexes) * ADDRESS < table_rows(table);
    let ty = Ty::of(array_of(TypeId::TID)?);
    fits.then(|| {
        let array = SubLink { kind: SubLinkKind::Array { nested: false }, ty, ..link.clone() };
        Expr::ArrayOp(Box::new(ArrayOp {
            func: test.func,
            symbol: "=".into(),
            left: test.args[0].clone(),
            right: ArrayArg::Array(Expr::SubLink(Box::new(array))),
            all: false,
            collation: test.collation,
            loc: link.loc,
            hashed: None,
        }))
    })
}

/// A test against the members' entry.
fn against(test: &Call, members: u16, column: usize) -> Expr {
    let mut member = test.args[1].clone();
    name_slot(&mut member, members, Column::User(column as u16), test.collation);
    let args = vec![test.args[0].clone(), member];
    Expr::Call(Box::new(Call { args, ..test.clone() }))
}

/// What stands for the sub-select's column in a test, which may cast it, as a column of an entry.
fn name_slot(expr: &mut Expr, rel: u16, column: Column, collation: Collation) {
    if let Expr::Slot(slot) = expr {
        *expr = Expr::Var(Var { level: 0, rel, column, ty: slot.ty, collation, loc: Loc::NONE });
        return;
    }
    walk::each_child_mut(expr, &mut |child| name_slot(child, rel, column, collation));
}

/// Each of the sub-select's rows once, as an entry of FROM.
fn entry_of(members: &Query) -> Rel {
    let columns: Vec<RelColumn> = members.visible().map(RelColumn::of_target).collect();
    let target = |(i, column): (usize, &RelColumn)| {
        let RelColumn { ty, collation, .. } = *column;
        let column = Column::User(i as u16);
        let expr = Expr::Var(Var { level: 0, rel: 0, column, ty, collation, loc: Loc::NONE });
        Target { expr, name: "".into(), junk: false, origin: None, nameless: false }
    };
    let targets = columns.iter().enumerate().map(target).collect();
    let mut within = members.clone();
    // It stands one query further in than it did, and refers to no columns outside of it.
    walk::each_cte_outside_mut(&mut within, &mut |level| *level += 1);
    let within = rel_of(RelKind::Subquery(Box::new(within)), columns.clone());
    let once = Query {
        rels: vec![within],
        from: vec![JoinTree::Rel(0)],
        targets,
        distinct: Some(Distinct::All),
        ..Query::default()
    };
    rel_of(RelKind::Subquery(Box::new(once)), columns)
}

fn rel_of(kind: RelKind, columns: Vec<RelColumn>) -> Rel {
    Rel { alias: "ANY_subquery".into(), kind, columns, lateral: false, loc: Loc::NONE }
}

/// Joins the members with the entry where that is in the tree.
fn put_beside(tree: &mut JoinTree, rel: u16, members: u16, on: &mut Option<Vec<Expr>>) {
    match tree {
        JoinTree::Rel(own) if *own == rel => {
            let condition = on.take().and_then(Expr::all_of);
            let (left, right) = (JoinTree::Rel(rel), JoinTree::Rel(members));
            let join = Join { kind: JoinKind::Inner, left, right, condition };
            *tree = JoinTree::Join(Box::new(join));
        }
        JoinTree::Rel(_) => {}
        JoinTree::Join(join) => {
            for side in [&mut join.left, &mut join.right] {
                if on.is_some() {
                    put_beside(side, rel, members, on);
                }
            }
        }
    }
}

/// How many rows a query gives, roughly.
pub(super) fn query_rows(query: &Query, indexes: &Rc<Indexes>) -> f64 {
    let rows = match &query.set_op {
        Some(tree) => tree_rows(query, tree, indexes),
        None => from_rows(query, indexes),
    };
    let rows = match &query.group {
        Some(group) if group.keys.is_empty() => 1.0,
        Some(_) => rows / 10.0,
        None => rows,
    };
    match query.limit {
        None => rows.max(1.0),
        Some(_) => rows.min(limit_rows(query)).max(1.0),
    }
}

/// How many rows a query's OFFSET and LIMIT ask for, as far as that is known.
pub(super) fn limit_rows(query: &Query) -> f64 {
    let known = |expr: &Option<Expr>, unknown: f64| match expr {
        None => 0.0,
        Some(Expr::Const(Const { value: Datum::Int8(rows), .. })) => *rows as f64,
        Some(_) => unknown,
    };
    known(&query.limit, LIMITED_ROWS) + known(&query.offset, LIMITED_ROWS)
}

fn tree_rows(query: &Query, tree: &SetTree, indexes: &Rc<Indexes>) -> f64 {
    match tree {
        SetTree::Leaf(rel) => match &query.rels[usize::from(*rel)].kind {
            RelKind::Subquery(leaf) => query_rows(leaf, indexes),
            _ => FUNCTION_ROWS,
        },
        SetTree::Op(node) => {
            tree_rows(query, &node.left, indexes) + tree_rows(query, &node.right, indexes)
        }
    }
}

/// How many rows of its entries are read for all of a query's, roughly.
pub(super) fn rows_read(query: &Query, indexes: &Rc<Indexes>) -> f64 {
    let cx = QueryCx::new(query, indexes);
    let rels = query.from.iter().flat_map(super::join::rels_in);
    rels.map(|rel| entry_rows(&cx, rel, &[])).sum()
}

/// The rows of the largest entry: joins are mostly by keys.
fn from_rows(query: &Query, indexes: &Rc<Indexes>) -> f64 {
    let conditions = query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default();
    let cx = QueryCx::new(query, indexes);
    let rels = query.from.iter().flat_map(super::join::rels_in);
    let rows = rels.map(|rel| {
        let own = conditions.iter().filter(|condition| walk::rels_of(condition) == [rel]);
        let own: Vec<Expr> = own.cloned().collect();
        entry_rows(&cx, rel, &own)
    });
    rows.fold(1.0, f64::max)
}

/// The condition as one on each of so few rows that asking the sub-select's table by its index, for each of them, costs less
/// than reading it once.
pub(super) fn asked_by_row(condition: &Expr, rows: f64, indexes: &Rc<Indexes>) -> Option<Expr> {
    match condition {
        Expr::Not(arg) => {
            let asked = asked_by_row(arg, rows, indexes)?;
            // What is not known to be in is not known to be out.
            matches!(&**arg, Expr::SubLink(link) if matches!(link.kind, SubLinkKind::Exists))
                .then(|| Expr::Not(Box::new(asked)))
        }
        Expr::SubLink(link) => {
            let exists = match &link.kind {
                SubLinkKind::Exists => (**link).clone(),
                SubLinkKind::Quantified { tests, all: false } => as_exists(link, tests)?,
                _ => return None,
            };
            let query = super::pull_up::pulled_up(&exists.query);
            probe_pays(&query, rows, indexes).then(|| Expr::SubLink(Box::new(exists)))
        }
        _ => None,
    }
}

/// `x IN (SELECT y …)` as `EXISTS (SELECT … WHERE x = y)`, which is the same where null is as good as false.
fn as_exists(link: &SubLink, tests: &[Call]) -> Option<SubLink> {
    let columns: Vec<u16> = (0..tests.len() as u16).collect();
    let is_more = |part: &Expr| matches!(part, Expr::SubLink(_));
    let mut lefts = tests.iter().map(|test| &test.args[0]);
    // What it locks are all of its rows, whoever asks.
    if !link.query.locking.is_empty()
        || lefts.any(|left| walk::any(left, &mut |part| is_more(part)))
        || !push_down::can_ask(&link.query, &columns)
    {
        return None;
    }
    let on = tests.iter().enumerate().map(|(i, test)| against(test, u16::MAX, i));
    let on: Vec<Expr> = on.collect();
    let mut exists = link.clone();
    push_down::ask(&mut exists.query, u16::MAX, &on, 1);
    exists.kind = SubLinkKind::Exists;
    exists.ty = Ty::BOOL;
    Some(exists)
}

/// Does an index of its one table, or the first of several, answer with values of the row that asks?
pub(super) fn probe_pays(query: &Query, rows: f64, indexes: &Rc<Indexes>) -> bool {
    let settings = &indexes.settings;
    if !(settings.nestloop && (settings.indexscan || settings.bitmapscan)) {
        return false;
    }
    let conditions = query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default();
    let is_outward = |condition: &Expr| {
        let mut found = false;
        walk::each_var(condition, 0, &mut |var, depth| found |= var.level > depth);
        found
    };
    let cx = QueryCx::new(query, indexes);
    let rels = query.from.iter().filter_map(|tree| match tree {
        JoinTree::Rel(rel) => Some(*rel),
        JoinTree::Join(_) => None,
    });
    rels.into_iter().any(|rel| {
        let RelKind::Table(table) = &query.rels[usize::from(rel)].kind else { return false };
        let own = conditions.iter().filter(|condition| walk::rels_of(condition) == [rel]);
        let own: Vec<Expr> = own.cloned().collect();
        let Some(choice) = choose_index(&cx, table, rel, &own, false, None) else { return false };
        let by_row = choice.used.iter().any(|at| is_outward(&own[*at]));
        let (each, mut reading) = (lookup_cost(table, &choice), table_rows(table));
        let answered = choice.used.iter().map(|at| &own[*at]).filter(|asked| is_outward(asked));
        let is_answered =
            answered.clone().count() == conditions.iter().filter(|asked| is_outward(asked)).count();
        let is_equal = |asked: &Expr| matches!(asked, Expr::Call(call) if is_equality(call));
        let mut probe = each;
        if is_answered && !answered.clone().all(is_equal) {
            // By its hash a row meets others of its key, by half of them on average; the index leads to one that counts.
            reading += rows * (each - PROBE).max(0.0) / 2.0;
            probe = PROBE;
        }
        by_row && !choice.equal.is_empty() && rows * probe < reading
    })
}
