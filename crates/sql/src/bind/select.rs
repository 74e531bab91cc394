//! SELECT: target list, WHERE, GROUP BY, ORDER BY, DISTINCT, LIMIT, locking.

use std::collections::BTreeSet;

use syntax::ast::{
    self, GroupItem, Literal, Loc, Select, SelectBody, SelectCore, SortBy, SortDirection, SortNulls,
};

use crate::catalog::StarForm;
use crate::error::{Result, bail, check_stack, sql_error};
use crate::types::{Oid, TypeId};

use super::query::{Distinct, Group, Query, RelKind, SortKey, Target};
use super::scope::Scope;
use super::tree::{Column, Expr, Ty};
use super::{Binder, ExprKind, at, coerce, locking, volatility, walk};

/// How many columns a query may have, those counted that it is ordered by, as in PostgreSQL.
const TARGETS_MAX: usize = 1664;
/// How many grouping sets a query may have, as in PostgreSQL.
const GROUPING_SETS_MAX: usize = 4096;

impl Binder<'_, '_> {
    /// Binds a query in a scope of its own. `resolve` turns outputs of unknown type into text.
    pub(super) fn select(&mut self, select: &Select, resolve: bool) -> Result<Query> {
        check_stack()?;
        let kind = std::mem::replace(&mut self.kind, ExprKind::None);
        self.scopes.push(Scope { around: kind, ..Scope::default() });
        let bound = self.select_in_scope(select, resolve);
        self.kind = kind;
        self.scopes.pop();
        let query = bound?;
        if query.targets.len() > TARGETS_MAX {
            bail!(TOO_MANY_COLUMNS, "target lists can have at most {TARGETS_MAX} entries");
        }
        Ok(query)
    }

    fn select_in_scope(&mut self, select: &Select, resolve: bool) -> Result<Query> {
        if let Some(with) = &select.with {
            self.with_clause(with)?;
        }
        match &select.body {
            SelectBody::Core(core) => self.core(select, core, resolve),
            SelectBody::Values(values) => self.values(select, values),
            SelectBody::SetOp(op) => self.set_operation(select, op),
        }
    }

    fn core(&mut self, select: &Select, core: &SelectCore, resolve: bool) -> Result<Query> {
        if let Some(into) = &core.into {
            let refusal = sql_error!(SYNTAX_ERROR, "SELECT ... INTO is not allowed here");
            return Err(at(refusal, into.relation.loc));
        }
        let mut query = Query { from: self.bind_from(&core.from)?, ..Query::default() };
        self.window_names(&core.windows)?;
        query.targets = self.target_list(&core.targets, ExprKind::Target)?;
        if let Some(filter) = &core.filter {
            query.filter = Some(self.with_kind(ExprKind::Where, |b| b.condition(filter, "WHERE"))?);
        }
        if let Some(having) = &core.having {
            query.having =
                Some(self.with_kind(ExprKind::Having, |b| b.condition(having, "HAVING"))?);
        }
        query.order_by = self.order_by(&select.order_by, &mut query.targets)?;
        self.group_by(core, &mut query)?;
        if let Some(distinct) = &core.distinct {
            query.distinct = Some(self.distinct(distinct, &mut query)?);
        }
        self.limits(select, &mut query)?;
        if resolve {
            self.resolve_targets(&mut query.targets)?;
        }
        self.finish(&mut query)?;
        no_recursive_aggregate(&query)?;
        locking::lock(&mut query, &select.locking)?;
        if query.is_grouped() {
            let rests_on = super::grouping::check(&query)?;
            if let Some(record) = &mut self.catalog.record {
                record.constraints.extend(rests_on);
            }
        }
        Ok(query)
    }

    /// Takes what the scope gathered into the query.
    pub(super) fn finish(&mut self, query: &mut Query) -> Result<()> {
        let scope = self.scope();
        query.rels = std::mem::take(&mut scope.rels);
        query.ctes = std::mem::take(&mut scope.ctes);
        if scope.has_windows {
            query.windows = std::mem::take(&mut scope.windows);
        }
        query.has_srf = scope.has_srf;
        query.has_sublinks = scope.has_sublinks;
        if scope.has_aggregates || query.having.is_some() {
            query.group.get_or_insert_with(|| Group { keys: Vec::new(), sets: vec![Vec::new()] });
        }
        Ok(())
    }

    /// Binds the target list, `*` expanded.
    pub(super) fn target_list(
        &mut self,
        targets: &[ast::Target],
        kind: ExprKind,
    ) -> Result<Vec<Target>> {
        let mut out = Vec::with_capacity(targets.len());
        for target in targets {
            match &target.value {
                ast::Expr::Star(star) => {
                    for (name, expr) in self.star(star)? {
                        out.push(self.target(expr, name));
                    }
                }
                ast::Expr::Indirection(ind)
                    if matches!(ind.steps.last(), Some(ast::Indirection::Star)) =>
                {
                    self.with_kind(kind, |b| b.expand_record(ind, target.loc, &mut out))?;
                }
                value => {
                    let expr = self.with_kind(kind, |b| b.expr(value))?;
                    let name = match &target.alias {
                        Some(alias) => alias.clone(),
                        None => self.output_name(value),
                    };
                    out.push(self.target(expr, name));
                }
            }
        }
        Ok(out)
    }

    /// `(record).*`.
    fn expand_record(
        &mut self,
        ind: &ast::IndirectionExpr,
        loc: Loc,
        out: &mut Vec<Target>,
    ) -> Result<()> {
        let inner = match &ind.steps[..ind.steps.len() - 1] {
            [] => self.expr(&ind.arg)?,
            steps => {
                let inner = ast::IndirectionExpr { arg: ind.arg.clone(), steps: steps.to_vec() };
                self.expr(&ast::Expr::Indirection(Box::new(inner)))?
            }
        };
        let fields = self.record_fields(&inner)?.into_iter().enumerate();
        let mut found = Vec::new();
        for (i, field) in fields.filter(|(_, field)| !field.dropped) {
            found.push((field.name.clone(), self.field(inner.clone(), i as u16, &field)));
        }
        if matches!(&inner, Expr::Var(var) if var.column == Column::Whole) {
            self.record_star(loc, StarForm::Row, &found);
        }
        for (name, expr) in found {
            let nameless = self.is_nameless(&expr);
            out.push(Target { expr, name, junk: false, origin: None, nameless });
        }
        Ok(())
    }

    fn target(&mut self, expr: Expr, name: Box<str>) -> Target {
        let (origin, nameless) = (self.origin(&expr), self.is_nameless(&expr));
        Target { expr, name, junk: false, origin, nameless }
    }

    /// The table column that an expression is, for RowDescription.
    fn origin(&mut self, expr: &Expr) -> Option<(Oid, i16)> {
        let Expr::Var(var) = expr else { return None };
        let Column::User(column) = var.column else { return None };
        let depth = self.scopes.len().checked_sub(1 + usize::from(var.level))?;
        match &self.scopes[depth].rels.get(usize::from(var.rel))?.kind {
            RelKind::Table(def) => Some((def.oid, column as i16 + 1)),
            RelKind::Subquery(query) => {
                query.visible().nth(usize::from(column)).and_then(|target| target.origin)
            }
            _ => None,
        }
    }

    /// A boolean condition of a clause.
    pub(super) fn condition(&mut self, expr: &ast::Expr, clause: &str) -> Result<Expr> {
        let expr = self.expr(expr)?;
        self.boolean(expr, clause)
    }

    /// Outputs whose type nothing decided are text.
    pub(super) fn resolve_targets(&mut self, targets: &mut [Target]) -> Result<()> {
        for target in targets {
            if target.expr.type_id() == TypeId::UNKNOWN {
                let expr = std::mem::replace(&mut target.expr, Expr::bool(true));
                target.expr = coerce::resolve_unknown(self, expr)?;
            }
        }
        Ok(())
    }

    /// ORDER BY, adding junk targets for keys that aren't output columns.
    pub(super) fn order_by(
        &mut self,
        items: &[SortBy],
        targets: &mut Vec<Target>,
    ) -> Result<Vec<SortKey>> {
        let mut keys: Vec<SortKey> = Vec::with_capacity(items.len());
        for item in items {
            let index =
                self.clause_target(&item.expr, targets, ExprKind::OrderBy, "ORDER BY", true)?;
            self.resolve_targets(&mut targets[index..=index])?;
            let (desc, nulls_first) = self.sort_direction(item)?;
            self.check_sortable(&targets[index].expr)?;
            let target = index as u16;
            if !keys.iter().any(|key| key.target == target) {
                keys.push(SortKey { target, desc, nulls_first });
            }
        }
        Ok(keys)
    }

    pub(super) fn sort_direction(&mut self, item: &SortBy) -> Result<(bool, bool)> {
        let desc = match &item.direction {
            SortDirection::Default | SortDirection::Asc => false,
            SortDirection::Desc => true,
            SortDirection::Using(op) => match &*op.symbol {
                "<" => false,
                ">" => true,
                other => {
                    bail!(WRONG_OBJECT_TYPE, "operator {other} is not a valid ordering operator")
                }
            },
        };
        let nulls_first = match item.nulls {
            SortNulls::Default => desc,
            SortNulls::First => true,
            SortNulls::Last => false,
        };
        Ok((desc, nulls_first))
    }

    /// The target that a GROUP BY, ORDER BY or DISTINCT ON item means: by output name or position,
    /// by being the same expression, or a new junk target.
    fn clause_target(
        &mut self,
        item: &ast::Expr,
        targets: &mut Vec<Target>,
        kind: ExprKind,
        clause: &str,
        output_names_first: bool,
    ) -> Result<usize> {
        match item {
            ast::Expr::Column(reference) if reference.path.len() == 1 => {
                let name = &reference.path[0];
                let input = !output_names_first && self.is_input_column(name)?;
                if !input && let Some(found) = by_name(targets, name, clause, reference.loc)? {
                    return Ok(found);
                }
            }
            ast::Expr::Const(constant) => match &constant.value {
                Literal::Integer(position) => {
                    let visible = targets.iter().filter(|t| !t.junk).count();
                    if *position < 1 || *position > visible as i64 {
                        return Err(at(
                            sql_error!(
                                INVALID_COLUMN_REFERENCE,
                                "{clause} position {position} is not in select list"
                            ),
                            constant.loc,
                        ));
                    }
                    return Ok(*position as usize - 1);
                }
                _ => {
                    return Err(at(
                        sql_error!(SYNTAX_ERROR, "non-integer constant in {clause}"),
                        constant.loc,
                    ));
                }
            },
            // A constant must not be lifted out of here: its value decides the meaning.
            ast::Expr::Lifted(lifted) => {
                return Err(at(
                    sql_error!(SYNTAX_ERROR, "non-integer constant in {clause}"),
                    lifted.loc,
                ));
            }
            _ => {}
        }
        let expr = self.with_kind(kind, |b| b.expr(item))?;
        if let Some(found) = targets.iter().position(|t| walk::same(&t.expr, &expr)) {
            return Ok(found);
        }
        // Constants of the list are lifted and those in here are not: the two may be one expression as they are written,
        // which matters where each evaluation gives another value.
        self.momentary |= self.params.may_be_lifted() && volatility::is_volatile(&expr);
        let name = self.output_name(item);
        targets.push(Target { expr, name, junk: true, origin: None, nameless: false });
        Ok(targets.len() - 1)
    }

    fn is_input_column(&mut self, name: &str) -> Result<bool> {
        let items = &self.scope().items;
        Ok(items
            .iter()
            .filter(|i| i.unqualified)
            .any(|i| i.columns.iter().any(|c| !c.hidden && *c.name == *name)))
    }

    fn distinct(&mut self, distinct: &ast::Distinct, query: &mut Query) -> Result<Distinct> {
        match distinct {
            ast::Distinct::All => {
                self.resolve_targets(&mut query.targets)?;
                for target in query.visible() {
                    self.check_hashable(&target.expr)?;
                }
                if query.order_by.iter().any(|key| query.targets[usize::from(key.target)].junk) {
                    let key = query
                        .order_by
                        .iter()
                        .find(|key| query.targets[usize::from(key.target)].junk)
                        .expect("just found");
                    return Err(at(
                        sql_error!(
                            INVALID_COLUMN_REFERENCE,
                            "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
                        ),
                        query.targets[usize::from(key.target)].expr.loc(),
                    ));
                }
                Ok(Distinct::All)
            }
            ast::Distinct::On(exprs) => {
                let mut on = Vec::with_capacity(exprs.len());
                for expr in exprs {
                    let index = self.clause_target(
                        expr,
                        &mut query.targets,
                        ExprKind::DistinctOn,
                        "DISTINCT ON",
                        true,
                    )?;
                    if !on.contains(&(index as u16)) {
                        on.push(index as u16);
                    }
                }
                let leading = query.order_by.iter().take(on.len());
                for key in leading {
                    if !on.contains(&key.target) {
                        bail!(
                            INVALID_COLUMN_REFERENCE,
                            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
                        );
                    }
                }
                Ok(Distinct::On(on))
            }
        }
    }

    pub(super) fn limits(&mut self, select: &Select, query: &mut Query) -> Result<()> {
        let limit = select.limit.as_ref();
        query.limit = self.limit(limit, ExprKind::Limit, "LIMIT")?;
        query.offset = self.limit(select.offset.as_ref(), ExprKind::Offset, "OFFSET")?;
        query.with_ties = select.with_ties;
        if select.with_ties && query.order_by.is_empty() {
            bail!(SYNTAX_ERROR, "WITH TIES cannot be specified without ORDER BY clause");
        }
        Ok(())
    }

    fn limit(
        &mut self,
        expr: Option<&ast::Expr>,
        kind: ExprKind,
        words: &str,
    ) -> Result<Option<Expr>> {
        let Some(expr) = expr else { return Ok(None) };
        if let ast::Expr::Const(c) = expr
            && c.value == Literal::Null
        {
            return Ok(None);
        }
        let bound = self.with_kind(kind, |b| b.expr(expr))?;
        must_have_no_columns(&bound, words)?;
        self.coerce_to_specific(bound, Ty::INT8, words).map(Some)
    }

    fn group_by(&mut self, core: &SelectCore, query: &mut Query) -> Result<()> {
        if core.group_by.is_empty() {
            return Ok(());
        }
        let mut group = Group { keys: Vec::new(), sets: vec![Vec::new()] };
        for item in &core.group_by {
            let sets = self.group_item(item, query, &mut group.keys)?;
            // Refused before they are built: a few CUBEs make billions.
            if group.sets.len() * sets.len() > GROUPING_SETS_MAX {
                bail!(
                    STATEMENT_TOO_COMPLEX,
                    "too many grouping sets present (maximum {GROUPING_SETS_MAX})"
                );
            }
            group.sets = product(&group.sets, &sets);
        }
        if core.group_distinct {
            // The order of its columns makes no other set of it.
            let mut seen = BTreeSet::new();
            group.sets.retain(|set| seen.insert(set.iter().copied().collect::<BTreeSet<_>>()));
        }
        query.group = Some(group);
        Ok(())
    }

    fn group_item(
        &mut self,
        item: &GroupItem,
        query: &mut Query,
        keys: &mut Vec<Expr>,
    ) -> Result<Vec<Vec<u16>>> {
        match item {
            GroupItem::Expr(ast::Expr::Row(row)) if !row.explicit => {
                let mut set = Vec::new();
                for arg in &row.args {
                    let key = self.group_key(arg, query, keys)?;
                    push_new(&mut set, key);
                }
                Ok(vec![set])
            }
            GroupItem::Expr(expr) => Ok(vec![vec![self.group_key(expr, query, keys)?]]),
            GroupItem::Empty(_) => Ok(vec![Vec::new()]),
            GroupItem::Sets(items, _) => {
                let mut sets = Vec::new();
                for item in items {
                    sets.extend(self.group_item(item, query, keys)?);
                }
                Ok(sets)
            }
            GroupItem::Rollup(items, _) => {
                let parts = self.group_parts(items, query, keys)?;
                let prefixes = (0..=parts.len()).rev();
                Ok(prefixes.map(|n| merge(parts[..n].iter())).collect())
            }
            GroupItem::Cube(items, loc) => {
                let parts = self.group_parts(items, query, keys)?;
                if parts.len() > 12 {
                    return Err(at(
                        sql_error!(TOO_MANY_COLUMNS, "CUBE is limited to 12 elements"),
                        *loc,
                    ));
                }
                let masks = (0..1u32 << parts.len()).rev();
                let width = parts.len();
                Ok(masks
                    .map(|mask| {
                        let chosen = parts
                            .iter()
                            .enumerate()
                            .filter(|(i, _)| mask & (1 << (width - 1 - i)) != 0);
                        merge(chosen.map(|(_, part)| part))
                    })
                    .collect())
            }
        }
    }

    fn group_parts(
        &mut self,
        items: &[GroupItem],
        query: &mut Query,
        keys: &mut Vec<Expr>,
    ) -> Result<Vec<Vec<u16>>> {
        let mut parts = Vec::with_capacity(items.len());
        for item in items {
            parts.push(merge(self.group_item(item, query, keys)?.iter()));
        }
        Ok(parts)
    }

    fn group_key(
        &mut self,
        expr: &ast::Expr,
        query: &mut Query,
        keys: &mut Vec<Expr>,
    ) -> Result<u16> {
        let before = query.targets.len();
        let index =
            self.clause_target(expr, &mut query.targets, ExprKind::GroupBy, "GROUP BY", false)?;
        self.resolve_targets(&mut query.targets[index..=index])?;
        let key = query.targets[index].expr.clone();
        // Grouping needs no column of its own.
        query.targets.truncate(before.max(index.min(before)));
        if let Some(aggregate) = find_aggregate(&key) {
            return Err(at(
                sql_error!(GROUPING_ERROR, "aggregate functions are not allowed in GROUP BY"),
                aggregate,
            ));
        }
        if let Some(window) = find_window(&key) {
            return Err(at(
                sql_error!(WINDOWING_ERROR, "window functions are not allowed in GROUP BY"),
                window,
            ));
        }
        self.check_hashable(&key)?;
        if let Some(found) = keys.iter().position(|k| walk::same(k, &key)) {
            return Ok(found as u16);
        }
        keys.push(key);
        Ok((keys.len() - 1) as u16)
    }
}

/// The first aggregate of the query at hand in an expression. GROUPING counts as one.
pub(super) fn find_aggregate(expr: &Expr) -> Option<Loc> {
    let is_own = |e: &Expr| {
        matches!(e, Expr::Aggregate(a) if a.level == 0)
            || matches!(e, Expr::Grouping(g) if g.level == 0)
    };
    find(expr, is_own)
}

/// `42P19` for an aggregate over the rows of a recursive query's last round: there are more rounds to come.
fn no_recursive_aggregate(query: &Query) -> Result<()> {
    if !query.rels.iter().any(|rel| matches!(rel.kind, RelKind::Recursive { .. })) {
        return Ok(());
    }
    let mut found = None;
    walk::own_exprs(query, &mut |expr| found = found.or_else(|| find_aggregate(expr)));
    let Some(loc) = found else { return Ok(()) };
    let message = "aggregate functions are not allowed in a recursive query's recursive term";
    Err(at(sql_error!(INVALID_RECURSION, "{message}"), loc))
}

fn find_window(expr: &Expr) -> Option<Loc> {
    find(expr, |e| matches!(e, Expr::Window(_)))
}

fn find(expr: &Expr, is_it: impl Fn(&Expr) -> bool) -> Option<Loc> {
    let mut found = None;
    walk::any(expr, &mut |e| {
        if is_it(e) {
            found = Some(e.loc());
        }
        found.is_some()
    });
    found
}

fn by_name(targets: &[Target], name: &str, clause: &str, loc: Loc) -> Result<Option<usize>> {
    let mut found: Option<usize> = None;
    for (i, target) in targets.iter().enumerate().filter(|(_, t)| !t.junk && *t.name == *name) {
        match found {
            Some(first) if !walk::same(&targets[first].expr, &target.expr) => {
                return Err(at(
                    sql_error!(AMBIGUOUS_COLUMN, "{clause} \"{name}\" is ambiguous"),
                    loc,
                ));
            }
            Some(_) => {}
            None => found = Some(i),
        }
    }
    Ok(found)
}

fn push_new(set: &mut Vec<u16>, key: u16) {
    if !set.contains(&key) {
        set.push(key);
    }
}

fn merge<'a>(parts: impl Iterator<Item = &'a Vec<u16>>) -> Vec<u16> {
    let mut set = Vec::new();
    for key in parts.flatten() {
        push_new(&mut set, *key);
    }
    set
}

fn product(left: &[Vec<u16>], right: &[Vec<u16>]) -> Vec<Vec<u16>> {
    left.iter().flat_map(|l| right.iter().map(move |r| merge([l, r].into_iter()))).collect()
}

/// `42P10` for a clause whose value is one for all rows.
pub(super) fn must_have_no_columns(expr: &Expr, clause: &str) -> Result<()> {
    let mut place = None;
    walk::each_var(expr, 0, &mut |var, depth| {
        if var.level == depth && place.is_none() {
            place = Some(var.loc);
        }
    });
    let Some(place) = place else { return Ok(()) };
    Err(at(
        sql_error!(INVALID_COLUMN_REFERENCE, "argument of {clause} must not contain variables"),
        place,
    ))
}
