//! Puts the lifted constants into a parsed tree.
//!
//! The constants are found by their place in the text, so the walk must visit just those places
//! where the lexer lifts: a constant in a place that the walk leaves out (a type's modifier) stays
//! unfound, and the replacement fails.

use super::{Lift, LiftedValue};
use crate::ast::*;

/// Replaces in the whole statement; true if each constant was found once, with its value.
pub(super) fn run(lift: &Lift<'_>, statement: &mut Statement) -> bool {
    let mut replacer = Replacer { lift, found: vec![false; lift.len()], failed: false };
    match statement {
        Statement::Select(select) => replacer.select(select),
        Statement::Insert(insert) => replacer.insert(insert),
        Statement::Update(update) => replacer.update(update),
        Statement::Delete(delete) => replacer.delete(delete),
        _ => return false,
    }
    !replacer.failed && replacer.found.iter().all(|found| *found)
}

struct Replacer<'a> {
    lift: &'a Lift<'a>,
    found: Vec<bool>,
    failed: bool,
}

impl Replacer<'_> {
    fn constant(&mut self, expr: &mut Expr) {
        let Expr::Const(constant) = expr else { return };
        let Some(offset) = constant.loc.offset() else { return };
        let slots = self.lift.slots;
        let Ok(slot) = slots.binary_search_by_key(&offset, |slot| slot.span.start) else { return };
        let same = match (&constant.value, self.lift.value(slot)) {
            (Literal::Integer(a), LiftedValue::Integer(b)) => *a == b,
            (Literal::Numeric(a), LiftedValue::Numeric(b)) => **a == *b,
            (Literal::String(a), LiftedValue::String(b)) => **a == *b,
            _ => false,
        };
        self.failed |= !same || std::mem::replace(&mut self.found[slot], true);
        let literal = std::mem::replace(&mut constant.value, Literal::Null);
        let lifted = LiftedConst { slot: slot as u32, literal, loc: constant.loc };
        *expr = Expr::Lifted(Box::new(lifted));
    }

    fn exprs(&mut self, exprs: &mut [Expr]) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn optional(&mut self, expr: &mut Option<Expr>) {
        if let Some(expr) = expr {
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Const(_) => self.constant(expr),
            Expr::Unary(unary) => self.expr(&mut unary.arg),
            Expr::Binary(binary) => {
                self.expr(&mut binary.left);
                self.expr(&mut binary.right);
            }
            Expr::Quantified(quantified) => {
                self.expr(&mut quantified.left);
                self.expr(&mut quantified.array);
            }
            Expr::InList(list) => {
                self.expr(&mut list.arg);
                self.exprs(&mut list.list);
            }
            Expr::Like(like) => {
                self.expr(&mut like.arg);
                self.expr(&mut like.pattern);
                self.optional(&mut like.escape);
            }
            Expr::Between(between) => {
                self.expr(&mut between.arg);
                self.expr(&mut between.low);
                self.expr(&mut between.high);
            }
            Expr::IsDistinct(distinct) => {
                self.expr(&mut distinct.left);
                self.expr(&mut distinct.right);
            }
            Expr::NullIf(nullif) => {
                self.expr(&mut nullif.left);
                self.expr(&mut nullif.right);
            }
            Expr::And(list) | Expr::Or(list) => self.exprs(&mut list.args),
            Expr::Not(not) => self.expr(&mut not.arg),
            Expr::IsNull(test) => self.expr(&mut test.arg),
            Expr::IsBool(test) => self.expr(&mut test.arg),
            Expr::Coalesce(list)
            | Expr::Greatest(list)
            | Expr::Least(list)
            | Expr::Array(list)
            | Expr::Grouping(list) => self.exprs(&mut list.args),
            other => self.structured(other),
        }
    }

    /// Expressions with more than expressions in them.
    fn structured(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Case(case) => {
                self.optional(&mut case.arg);
                for when in &mut case.whens {
                    self.expr(&mut when.when);
                    self.expr(&mut when.then);
                }
                self.optional(&mut case.default);
            }
            // The type's modifiers are no expressions of the statement.
            Expr::Cast(cast) => self.expr(&mut cast.arg),
            Expr::Collate(collate) => self.expr(&mut collate.arg),
            Expr::Row(row) => self.exprs(&mut row.args),
            Expr::Indirection(access) => {
                self.expr(&mut access.arg);
                self.steps(&mut access.steps);
            }
            Expr::SubLink(link) => {
                if let SubLinkKind::Any { left, .. } | SubLinkKind::All { left, .. } =
                    &mut link.kind
                {
                    self.expr(left);
                }
                self.select(&mut link.query);
            }
            Expr::Func(call) => self.call(call),
            _ => {}
        }
    }

    fn steps(&mut self, steps: &mut [Indirection]) {
        for step in steps {
            match step {
                Indirection::Field(_) | Indirection::Star => {}
                Indirection::Index(index) => self.expr(index),
                Indirection::Slice { lower, upper } => {
                    self.optional(lower);
                    self.optional(upper);
                }
            }
        }
    }

    fn call(&mut self, call: &mut FuncCall) {
        for arg in &mut call.args {
            self.expr(&mut arg.value);
        }
        self.sort(&mut call.order_by);
        self.optional(&mut call.filter);
        if let Some(Over::Spec(window)) = &mut call.over {
            self.exprs(&mut window.partition_by);
            self.sort(&mut window.order_by);
            if let Some(frame) = &mut window.frame {
                self.bound(&mut frame.start);
                self.bound(&mut frame.end);
            }
        }
    }

    fn bound(&mut self, bound: &mut FrameBound) {
        if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
            self.expr(offset);
        }
    }

    fn sort(&mut self, list: &mut [SortBy]) {
        for sort in list {
            self.expr(&mut sort.expr);
        }
    }

    fn select(&mut self, select: &mut Select) {
        match &mut select.body {
            SelectBody::Core(core) => self.core(core),
            SelectBody::Values(values) => {
                for row in &mut values.rows {
                    self.exprs(row);
                }
            }
            // The lexer refuses these.
            SelectBody::SetOp(_) => self.failed = true,
        }
        self.failed |= select.with.is_some();
        self.sort(&mut select.order_by);
        self.optional(&mut select.limit);
        self.optional(&mut select.offset);
    }

    fn core(&mut self, core: &mut SelectCore) {
        // The lexer refuses these, for what they mean depends on constants being equal.
        self.failed |= core.distinct.is_some() || core.into.is_some();
        self.failed |= !core.group_by.is_empty() || !core.windows.is_empty();
        self.targets(&mut core.targets);
        self.sources(&mut core.from);
        self.optional(&mut core.filter);
        self.optional(&mut core.having);
    }

    fn targets(&mut self, targets: &mut [Target]) {
        for target in targets {
            self.expr(&mut target.value);
        }
    }

    fn sources(&mut self, items: &mut [FromItem]) {
        for item in items {
            self.source(item);
        }
    }

    fn source(&mut self, item: &mut FromItem) {
        match item {
            FromItem::Table(table) => {
                if let Some(sample) = &mut table.sample {
                    self.exprs(&mut sample.args);
                    self.optional(&mut sample.repeatable);
                }
            }
            FromItem::Subquery(subquery) => self.select(&mut subquery.query),
            FromItem::Function(function) => {
                for call in &mut function.calls {
                    self.expr(&mut call.call);
                }
            }
            FromItem::Join(join) => {
                self.source(&mut join.left);
                self.source(&mut join.right);
                if let JoinCondition::On(condition) = &mut join.condition {
                    self.expr(condition);
                }
            }
        }
    }

    fn insert(&mut self, insert: &mut Insert) {
        self.failed |= insert.with.is_some();
        for column in &mut insert.columns {
            self.steps(&mut column.steps);
        }
        if let InsertSource::Query(query) = &mut insert.source {
            self.select(query);
        }
        if let Some(conflict) = &mut insert.on_conflict
            && let ConflictAction::Update { sets, filter } = &mut conflict.action
        {
            self.assignments(sets);
            self.optional(filter);
        }
        self.targets(&mut insert.returning);
    }

    fn update(&mut self, update: &mut Update) {
        self.failed |= update.with.is_some();
        self.assignments(&mut update.sets);
        self.sources(&mut update.from);
        self.optional(&mut update.filter);
        self.targets(&mut update.returning);
    }

    fn delete(&mut self, delete: &mut Delete) {
        self.failed |= delete.with.is_some();
        self.sources(&mut delete.using);
        self.optional(&mut delete.filter);
        self.targets(&mut delete.returning);
    }

    fn assignments(&mut self, sets: &mut [Assignment]) {
        for set in sets {
            match set {
                Assignment::One { target, value } => {
                    self.steps(&mut target.steps);
                    self.expr(value);
                }
                Assignment::Many { targets, source } => {
                    for target in targets {
                        self.steps(&mut target.steps);
                    }
                    self.expr(source);
                }
            }
        }
    }
}
