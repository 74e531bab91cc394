//! Which queries of a WITH RECURSIVE refer to which, and where one may refer to itself. Told by the names in the syntax
//! alone, before anything is bound, as in PostgreSQL.

use std::collections::{BTreeMap, BTreeSet};

use syntax::ast::{Cte, Expr, Loc, RelationRef, Select, SelectBody, SetOperator, Statement};

use crate::error::{Result, SqlError, SqlState, sql_error};

use super::at;
use super::references::{Place, References};

/// The queries, each behind those that it refers to, and whether it refers to itself.
pub(super) fn in_order(ctes: &[Cte]) -> Result<Vec<(&Cte, bool)>> {
    let numbers: BTreeMap<&str, usize> =
        ctes.iter().enumerate().map(|(i, cte)| (&*cte.name, i)).collect();
    let mut items = Vec::with_capacity(ctes.len());
    for (own, cte) in ctes.iter().enumerate() {
        let mut needs = BTreeSet::new();
        References::new(Place::Free, &mut |relation, _| {
            needs.extend(numbers.get(&*relation.name));
            Ok(())
        })
        .statement(&cte.query)?;
        let recursive = needs.remove(&own);
        items.push(Item { cte, own, needs, recursive });
    }
    sort(&mut items)?;
    for item in items.iter().filter(|item| item.recursive) {
        check(item.cte)?;
    }
    Ok(items.into_iter().map(|item| (item.cte, item.recursive)).collect())
}

struct Item<'w> {
    cte: &'w Cte,
    own: usize,
    /// The others that it refers to and that are not in order yet.
    needs: BTreeSet<usize>,
    recursive: bool,
}

fn sort(items: &mut [Item<'_>]) -> Result<()> {
    for done in 0..items.len() {
        let Some(next) = (done..items.len()).find(|i| items[*i].needs.is_empty()) else {
            let error =
                SqlError::unsupported("mutual recursion between WITH items is not implemented");
            return Err(at(error, items[done].cte.loc));
        };
        items.swap(done, next);
        let own = items[done].own;
        for item in &mut items[done + 1..] {
            item.needs.remove(&own);
        }
    }
    Ok(())
}

/// A recursive query is a UNION whose second term refers to it once, where a row of it makes rows of the answer.
fn check(cte: &Cte) -> Result<()> {
    let invalid =
        |message: String| at(SqlError::new(SqlState::INVALID_RECURSION, message), cte.loc);
    let Statement::Select(select) = &*cte.query else {
        return Err(invalid(format!(
            "recursive query \"{}\" must not contain data-modifying statements",
            cte.name
        )));
    };
    let op = match &select.body {
        SelectBody::SetOp(op) if op.op == SetOperator::Union => op,
        _ => {
            return Err(invalid(format!(
                "recursive query \"{}\" does not have the form non-recursive-term UNION [ALL] recursive-term",
                cte.name
            )));
        }
    };
    let mut count = 0;
    let mut found =
        |relation: &RelationRef, place| check_reference(cte, relation, place, &mut count);
    References::new(Place::FirstTerm, &mut found).select(&op.left)?;
    References::new(Place::Free, &mut found).select(&op.right)?;
    if let Some(with) = &select.with {
        for inner in &with.ctes {
            References::new(Place::SubLink, &mut found).statement(&inner.query)?;
        }
    }
    check_tail(select)
}

/// What would need the whole answer before it is there.
fn check_tail(select: &Select) -> Result<()> {
    let order = select.order_by.first().map(|item| (place(&item.expr), "ORDER BY"));
    let offset = select.offset.as_ref().map(|offset| (place(offset), "OFFSET"));
    let limit = select.limit.as_ref().map(|limit| (place(limit), "LIMIT"));
    let locking = select.locking.first().map(|_| (Loc::NONE, "FOR UPDATE/SHARE"));
    let Some((loc, words)) = order.or(offset).or(limit).or(locking) else { return Ok(()) };
    let message = format!("{words} in a recursive query is not implemented");
    Err(at(SqlError::unsupported(message), loc))
}

fn place(expr: &Expr) -> Loc {
    match expr {
        Expr::Const(constant) => constant.loc,
        Expr::Column(reference) => reference.loc,
        Expr::Param(param) => param.loc,
        Expr::Func(call) => call.loc,
        _ => Loc::NONE,
    }
}

fn check_reference(
    cte: &Cte,
    relation: &RelationRef,
    place: Place,
    count: &mut usize,
) -> Result<()> {
    if relation.name != cte.name {
        return Ok(());
    }
    *count += 1;
    let wrong = match place {
        Place::FirstTerm => "within its non-recursive term",
        Place::SubLink => "within a subquery",
        Place::OuterJoin => "within an outer join",
        Place::Intersect => "within INTERSECT",
        Place::Except => "within EXCEPT",
        Place::Free if *count > 1 => "more than once",
        Place::Free => return Ok(()),
    };
    Err(at(
        sql_error!(
            INVALID_RECURSION,
            "recursive reference to query \"{}\" must not appear {wrong}",
            cte.name
        ),
        relation.loc,
    ))
}
