//! The relations that a statement's syntax names, those aside that a WITH further in has taken the name of.

use syntax::ast::{
    Assignment, ConflictAction, Cte, Distinct, Expr, FrameBound, FromItem, FuncCall, GroupItem,
    Indirection, InsertSource, Join, JoinCondition, JoinKind, Over, RelationRef, Select,
    SelectBody, SelectCore, SetOperation, SetOperator, SortBy, Statement, SubLinkKind, Target,
    WindowSpec, With,
};

use crate::error::{Result, check_stack};

/// Where a relation is named, as far as a recursive query may name itself there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Free,
    FirstTerm,
    SubLink,
    OuterJoin,
    Intersect,
    Except,
}

/// Calls `found` for each of them.
pub(super) struct References<'w, 'f> {
    taken: Vec<&'w str>,
    place: Place,
    found: &'f mut dyn FnMut(&RelationRef, Place) -> Result<()>,
}

impl<'w, 'f> References<'w, 'f> {
    pub(super) fn new(
        place: Place,
        found: &'f mut dyn FnMut(&RelationRef, Place) -> Result<()>,
    ) -> References<'w, 'f> {
        References { taken: Vec::new(), place, found }
    }

    pub(super) fn statement(&mut self, statement: &'w Statement) -> Result<()> {
        match statement {
            Statement::Select(select) => self.select(select),
            Statement::Insert(insert) => self.within(insert.with.as_ref(), |r| {
                r.relation(&insert.target)?;
                if let InsertSource::Query(query) = &insert.source {
                    r.select(query)?;
                }
                if let Some(conflict) = &insert.on_conflict
                    && let ConflictAction::Update { sets, filter } = &conflict.action
                {
                    r.assignments(sets)?;
                    r.exprs(filter)?;
                }
                r.targets(&insert.returning)
            }),
            Statement::Update(update) => self.within(update.with.as_ref(), |r| {
                r.relation(&update.target)?;
                r.assignments(&update.sets)?;
                r.sources(&update.from)?;
                r.exprs(&update.filter)?;
                r.targets(&update.returning)
            }),
            Statement::Delete(delete) => self.within(delete.with.as_ref(), |r| {
                r.relation(&delete.target)?;
                r.sources(&delete.using)?;
                r.exprs(&delete.filter)?;
                r.targets(&delete.returning)
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn select(&mut self, select: &'w Select) -> Result<()> {
        check_stack()?;
        self.within(select.with.as_ref(), |r| {
            match &select.body {
                SelectBody::Core(core) => r.core(core)?,
                SelectBody::Values(values) => r.exprs(values.rows.iter().flatten())?,
                SelectBody::SetOp(op) => r.set_operation(op)?,
            }
            r.sort(&select.order_by)?;
            r.exprs(&select.offset)?;
            r.exprs(&select.limit)
        })
    }

    /// Goes through a WITH and then through what sees its names.
    fn within(
        &mut self,
        with: Option<&'w With>,
        rest: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let Some(with) = with else { return rest(self) };
        let before = self.taken.len();
        let name = |cte: &'w Cte| &*cte.name;
        if with.recursive {
            self.taken.extend(with.ctes.iter().map(name));
        }
        for cte in &with.ctes {
            self.statement(&cte.query)?;
            if !with.recursive {
                self.taken.push(name(cte));
            }
        }
        rest(self)?;
        self.taken.truncate(before);
        Ok(())
    }

    /// Goes through something where a recursive reference is wrong, unless it is wrong already.
    fn wrong(&mut self, place: Place, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let before = self.place;
        if before == Place::Free {
            self.place = place;
        }
        f(self)?;
        self.place = before;
        Ok(())
    }

    fn set_operation(&mut self, op: &'w SetOperation) -> Result<()> {
        let (left, right) = match (op.op, op.all) {
            (SetOperator::Union, _) | (SetOperator::Intersect, false) => (Place::Free, Place::Free),
            (SetOperator::Intersect, true) => (Place::Intersect, Place::Intersect),
            (SetOperator::Except, false) => (Place::Free, Place::Except),
            (SetOperator::Except, true) => (Place::Except, Place::Except),
        };
        self.wrong(left, |r| r.select(&op.left))?;
        self.wrong(right, |r| r.select(&op.right))
    }

    fn core(&mut self, core: &'w SelectCore) -> Result<()> {
        if let Some(Distinct::On(exprs)) = &core.distinct {
            self.exprs(exprs)?;
        }
        self.targets(&core.targets)?;
        self.sources(&core.from)?;
        self.exprs(&core.filter)?;
        self.group_items(&core.group_by)?;
        self.exprs(&core.having)?;
        core.windows.iter().try_for_each(|window| self.window(window))
    }

    fn group_items(&mut self, items: &'w [GroupItem]) -> Result<()> {
        items.iter().try_for_each(|item| match item {
            GroupItem::Expr(expr) => self.expr(expr),
            GroupItem::Empty(_) => Ok(()),
            GroupItem::Rollup(items, _) | GroupItem::Cube(items, _) | GroupItem::Sets(items, _) => {
                self.group_items(items)
            }
        })
    }

    fn relation(&mut self, relation: &RelationRef) -> Result<()> {
        if relation.schema.is_some() || self.taken.contains(&&*relation.name) {
            return Ok(());
        }
        (self.found)(relation, self.place)
    }

    fn sources(&mut self, items: &'w [FromItem]) -> Result<()> {
        items.iter().try_for_each(|item| self.source(item))
    }

    fn source(&mut self, item: &'w FromItem) -> Result<()> {
        check_stack()?;
        match item {
            FromItem::Table(table) => {
                self.relation(&table.relation)?;
                match &table.sample {
                    Some(sample) => self.exprs(sample.args.iter().chain(&sample.repeatable)),
                    None => Ok(()),
                }
            }
            FromItem::Subquery(sub) => self.select(&sub.query),
            FromItem::Function(function) => {
                self.exprs(function.calls.iter().map(|item| &item.call))
            }
            FromItem::Join(join) => self.join(join),
        }
    }

    fn join(&mut self, join: &'w Join) -> Result<()> {
        let (left, right) = match join.kind {
            JoinKind::Inner => (Place::Free, Place::Free),
            JoinKind::Left => (Place::Free, Place::OuterJoin),
            JoinKind::Right => (Place::OuterJoin, Place::Free),
            JoinKind::Full => (Place::OuterJoin, Place::OuterJoin),
        };
        self.wrong(left, |r| r.source(&join.left))?;
        self.wrong(right, |r| r.source(&join.right))?;
        match &join.condition {
            JoinCondition::On(condition) => self.expr(condition),
            _ => Ok(()),
        }
    }

    fn targets(&mut self, targets: &'w [Target]) -> Result<()> {
        self.exprs(targets.iter().map(|target| &target.value))
    }

    fn assignments(&mut self, sets: &'w [Assignment]) -> Result<()> {
        self.exprs(sets.iter().map(|set| match set {
            Assignment::One { value, .. } => value,
            Assignment::Many { source, .. } => source,
        }))
    }

    fn sort(&mut self, items: &'w [SortBy]) -> Result<()> {
        self.exprs(items.iter().map(|item| &item.expr))
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'w Expr>) -> Result<()> {
        exprs.into_iter().try_for_each(|expr| self.expr(expr))
    }

    fn expr(&mut self, expr: &'w Expr) -> Result<()> {
        check_stack()?;
        match expr {
            Expr::Unary(unary) => self.expr(&unary.arg),
            Expr::Binary(binary) => self.exprs([&binary.left, &binary.right]),
            Expr::Quantified(q) => self.exprs([&q.left, &q.array]),
            Expr::InList(list) => {
                self.expr(&list.arg)?;
                self.exprs(&list.list)
            }
            Expr::Like(like) => {
                self.exprs([&like.arg, &like.pattern])?;
                self.exprs(&like.escape)
            }
            Expr::Between(between) => self.exprs([&between.arg, &between.low, &between.high]),
            Expr::IsDistinct(d) => self.exprs([&d.left, &d.right]),
            Expr::NullIf(n) => self.exprs([&n.left, &n.right]),
            Expr::And(list) | Expr::Or(list) => self.exprs(&list.args),
            Expr::Not(not) => self.expr(&not.arg),
            Expr::IsNull(test) => self.expr(&test.arg),
            Expr::IsBool(test) => self.expr(&test.arg),
            Expr::Coalesce(list)
            | Expr::Greatest(list)
            | Expr::Least(list)
            | Expr::Array(list)
            | Expr::Grouping(list) => self.exprs(&list.args),
            Expr::Row(row) => self.exprs(&row.args),
            Expr::Cast(cast) => self.expr(&cast.arg),
            Expr::Collate(collate) => self.expr(&collate.arg),
            other => self.structured(other),
        }
    }

    /// Expressions with more than expressions in them.
    fn structured(&mut self, expr: &'w Expr) -> Result<()> {
        match expr {
            Expr::Case(case) => {
                self.exprs(&case.arg)?;
                self.exprs(case.whens.iter().flat_map(|when| [&when.when, &when.then]))?;
                self.exprs(&case.default)
            }
            Expr::Indirection(access) => {
                self.expr(&access.arg)?;
                access.steps.iter().try_for_each(|step| match step {
                    Indirection::Field(_) | Indirection::Star => Ok(()),
                    Indirection::Index(index) => self.expr(index),
                    Indirection::Slice { lower, upper } => self.exprs(lower.iter().chain(upper)),
                })
            }
            Expr::SubLink(link) => {
                // It is a query of its own: what it stands in is wrong no more.
                let before = std::mem::replace(&mut self.place, Place::SubLink);
                self.select(&link.query)?;
                self.place = before;
                match &link.kind {
                    SubLinkKind::Any { left, .. } | SubLinkKind::All { left, .. } => {
                        self.expr(left)
                    }
                    _ => Ok(()),
                }
            }
            Expr::Func(call) => self.call(call),
            _ => Ok(()),
        }
    }

    fn call(&mut self, call: &'w FuncCall) -> Result<()> {
        self.exprs(call.args.iter().map(|arg| &arg.value))?;
        self.sort(&call.order_by)?;
        self.exprs(&call.filter)?;
        match &call.over {
            Some(Over::Spec(window)) => self.window(window),
            _ => Ok(()),
        }
    }

    fn window(&mut self, window: &'w WindowSpec) -> Result<()> {
        self.exprs(&window.partition_by)?;
        self.sort(&window.order_by)?;
        let Some(frame) = &window.frame else { return Ok(()) };
        [&frame.start, &frame.end].into_iter().try_for_each(|bound| match bound {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => self.expr(offset),
            _ => Ok(()),
        })
    }
}
