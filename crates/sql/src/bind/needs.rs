//! What a statement must be allowed: every relation and every function that it is made of, with what it does to which
//! columns, and by whose rights.
//!
//! It is found in the bound statement, where everything is still there that was written: views with their queries, WITH
//! queries that nobody reads, columns that no plan will fetch.

use std::sync::Arc;

use crate::catalog::TableDef;
use crate::types::Oid;
use crate::types::acl::Privileges;

use super::query::{
    Cte, CteQuery, Modify, ModifyAction, OnConflict, Query, Rel, RelKind, Statement,
};
use super::tree::{Column, Expr, SubLinkKind, Var, WindowFunc};
use super::walk;

/// See the module's description.
#[derive(Default, Debug)]
pub struct Needs {
    pub tables: Vec<Need>,
    pub functions: Vec<Oid>,
}

/// What is done to one relation at one place of a statement.
#[derive(Debug)]
pub struct Need {
    pub table: Arc<TableDef>,
    /// The role whose rights count; `None`: the session's current one.
    pub by: Option<Oid>,
    pub wanted: Privileges,
    /// It is not in a WITH query that nobody reads, which is not run.
    pub is_run: bool,
    pub selected: Columns,
    /// From 0.
    pub inserted: Vec<u16>,
    pub updated: Vec<u16>,
}

/// Columns that are read.
#[derive(Default, Debug)]
pub struct Columns {
    /// All there are, as one row.
    pub whole: bool,
    /// `ctid` and its kin.
    pub system: bool,
    /// From 0.
    pub own: Vec<u16>,
}

impl Needs {
    /// What a bound statement needs.
    pub fn of(statement: &Statement) -> Needs {
        let mut finder = Finder::default();
        match statement {
            Statement::Query(query) => finder.query(query),
            Statement::Modify(modify) => finder.modify(modify),
        }
        finder.needs
    }

    /// What a bound expression needs that reads no relation.
    pub fn of_expr(expr: &Expr) -> Needs {
        let mut finder = Finder::default();
        finder.expr(expr);
        finder.needs
    }

    /// Has each relation's owner's rights count: what foreign keys look up.
    pub fn by_owners(&mut self) {
        for need in &mut self.tables {
            need.by = Some(need.table.owner);
        }
    }
}

#[derive(Default)]
struct Finder {
    needs: Needs,
    /// By query level, outermost first, and range-table entry: which need is a table's.
    levels: Vec<Vec<Option<usize>>>,
    by: Option<Oid>,
    /// In a WITH query that nobody reads.
    is_idle: bool,
}

impl Finder {
    fn add(&mut self, table: &Arc<TableDef>, wanted: Privileges) -> usize {
        let selected = Columns::default();
        let (table, by) = (table.clone(), self.by);
        let (inserted, updated) = (Vec::new(), Vec::new());
        let is_run = !self.is_idle;
        self.needs.tables.push(Need { table, by, wanted, is_run, selected, inserted, updated });
        self.needs.tables.len() - 1
    }

    /// The need of a range-table entry that is a relation.
    fn rel(&mut self, rel: &Rel) -> Option<usize> {
        match &rel.kind {
            RelKind::Table(table) => Some(self.add(table, Privileges::SELECT)),
            RelKind::Subquery(query) => {
                query.view.as_ref().map(|view| self.add(view, Privileges::SELECT))
            }
            _ => None,
        }
    }

    fn query(&mut self, query: &Query) {
        let level = query.rels.iter().map(|rel| self.rel(rel)).collect();
        self.levels.push(level);
        self.inside(query);
        self.levels.pop();
    }

    /// What a query holds, whose level has been entered.
    fn inside(&mut self, query: &Query) {
        for lock in &query.locking {
            self.want(lock.rel, Privileges::UPDATE);
        }
        walk::own_exprs(query, &mut |expr| self.expr(expr));
        for (at, rel) in query.rels.iter().enumerate() {
            match &rel.kind {
                RelKind::Subquery(within) if within.view.is_some() => {
                    if within.is_locked() {
                        self.want(at as u16, Privileges::UPDATE);
                    }
                    self.view(within);
                }
                RelKind::Subquery(within) => self.query(within),
                _ => {}
            }
        }
        query.ctes.iter().for_each(|cte| self.cte(cte));
    }

    /// A view's query sees nothing around it, and has its owner's rights.
    fn view(&mut self, query: &Query) {
        let Some(view) = &query.view else { return };
        let levels = std::mem::take(&mut self.levels);
        let before = self.by;
        // Whoever asks is the session's role, not the owner of a view around this one.
        self.by = (!view.asks_as_invoker()).then_some(view.owner);
        self.query(query);
        self.by = before;
        self.levels = levels;
    }

    fn cte(&mut self, cte: &Cte) {
        let before = self.is_idle;
        self.is_idle |= cte.references == 0 && !matches!(cte.query, CteQuery::Modify(_));
        match &cte.query {
            CteQuery::Plain(query) => self.query(query),
            CteQuery::Recursive { first, again, .. } => {
                self.query(first);
                self.query(again);
            }
            CteQuery::Modify(modify) => self.modify(modify),
        }
        self.is_idle = before;
    }

    fn modify(&mut self, modify: &Modify) {
        match &modify.action {
            ModifyAction::Insert { on_conflict, .. } => self.insert(modify, on_conflict.as_ref()),
            ModifyAction::Update { sets } => {
                self.change(modify, Privileges::UPDATE, |finder, target| {
                    let updated = sets.iter().map(|(column, _)| *column);
                    finder.needs.tables[target].updated.extend(updated);
                    sets.iter().for_each(|(_, value)| finder.value(value));
                });
            }
            ModifyAction::Delete => self.change(modify, Privileges::DELETE, |_, _| {}),
        }
        modify.ctes.iter().for_each(|cte| self.cte(cte));
    }

    fn change(
        &mut self,
        modify: &Modify,
        wanted: Privileges,
        more: impl FnOnce(&mut Finder, usize),
    ) {
        let target = self.add(&modify.table, wanted);
        let mut level = Vec::with_capacity(modify.query.rels.len());
        for (at, rel) in modify.query.rels.iter().enumerate() {
            let need = if at == usize::from(modify.rel) { Some(target) } else { self.rel(rel) };
            level.push(need);
        }
        self.levels.push(level);
        self.inside(&modify.query);
        more(self, target);
        modify.returning.iter().for_each(|output| self.expr(&output.expr));
        self.levels.pop();
    }

    fn insert(&mut self, modify: &Modify, on_conflict: Option<&OnConflict>) {
        let target = self.add(&modify.table, Privileges::INSERT);
        self.needs.tables[target].inserted.extend(&modify.written);
        let level = modify.query.rels.iter().map(|rel| self.rel(rel)).collect();
        self.levels.push(level);
        self.inside(&modify.query);
        // RETURNING and ON CONFLICT stand further in: the target, and the row that is proposed.
        self.levels.push(vec![Some(target), Some(target)]);
        modify.returning.iter().for_each(|output| self.expr(&output.expr));
        if let Some(conflict) = on_conflict {
            self.conflict(modify, target, conflict);
        }
        self.levels.pop();
        self.levels.pop();
    }

    fn conflict(&mut self, modify: &Modify, target: usize, conflict: &OnConflict) {
        for index in modify.table.indexes.iter().filter(|i| conflict.arbiters.contains(&i.oid)) {
            let need = &mut self.needs.tables[target];
            need.wanted = need.wanted.or(Privileges::SELECT);
            need.selected.own.extend(index.key_columns().flatten());
        }
        conflict.target.iter().for_each(|expr| self.expr(expr));
        let Some(update) = &conflict.update else { return };
        let need = &mut self.needs.tables[target];
        need.wanted = need.wanted.or(Privileges::UPDATE);
        need.updated.extend(update.sets.iter().map(|(column, _)| *column));
        update.sets.iter().for_each(|(_, value)| self.value(value));
        update.filter.iter().for_each(|filter| self.expr(filter));
    }

    fn want(&mut self, rel: u16, more: Privileges) {
        let level = self.levels.last().expect("a query's level is entered");
        if let Some(need) = level.get(usize::from(rel)).copied().flatten() {
            let need = &mut self.needs.tables[need];
            need.wanted = need.wanted.or(more);
        }
    }

    /// The new value of a column. Where a part of it is assigned, the rest of it is not read.
    fn value(&mut self, value: &Expr) {
        match value {
            Expr::Subscript(part) if part.assigned.is_some() => {
                if !matches!(part.arg, Expr::Var(_)) {
                    self.value(&part.arg);
                }
                let arg: *const Expr = &part.arg;
                walk::each_child(value, &mut |child| {
                    if !std::ptr::eq(child, arg) {
                        self.expr(child);
                    }
                });
            }
            value => self.expr(value),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Var(var) => self.var(var),
            Expr::Call(call) => {
                self.function(call.func.oid);
                // What the row of a cursor is found by is not read for anybody.
                if call.args.iter().any(|arg| matches!(arg, Expr::CurrentOf(_))) {
                    return;
                }
            }
            Expr::Aggregate(call) => self.function(call.agg.oid),
            Expr::Window(call) => match call.func {
                WindowFunc::Aggregate(aggregate) => self.function(aggregate.oid),
                WindowFunc::Function(function) => self.function(function.oid),
            },
            Expr::ArrayOp(op) => self.function(op.func.oid),
            Expr::Distinct(distinct) => self.function(distinct.equal.func.oid),
            Expr::NullIf(nullif) => self.function(nullif.equal.func.oid),
            Expr::RowCompare(compare) => {
                for (equal, order) in &compare.columns {
                    self.function(equal.func.oid);
                    order.iter().for_each(|call| self.function(call.func.oid));
                }
            }
            Expr::SubLink(link) => {
                if let SubLinkKind::Quantified { tests, .. } = &link.kind {
                    tests.iter().for_each(|test| self.function(test.func.oid));
                }
                self.query(&link.query);
            }
            _ => {}
        }
        walk::each_child(expr, &mut |child| self.expr(child));
    }

    /// One without an OID is nothing that anybody could write.
    fn function(&mut self, oid: Oid) {
        if oid.is_valid() && !self.needs.functions.contains(&oid) {
            self.needs.functions.push(oid);
        }
    }

    fn var(&mut self, var: &Var) {
        let level = self.levels.len().checked_sub(1 + usize::from(var.level));
        let Some(level) = level else {
            return self.everything();
        };
        let Some(need) = self.levels[level].get(usize::from(var.rel)).copied().flatten() else {
            return;
        };
        let need = &mut self.needs.tables[need];
        need.wanted = need.wanted.or(Privileges::SELECT);
        match var.column {
            Column::User(column) if need.selected.own.contains(&column) => {}
            Column::User(column) => need.selected.own.push(column),
            Column::Whole => need.selected.whole = true,
            _ => need.selected.system = true,
        }
    }

    /// A column of nobody knows what: whoever runs the statement must be allowed all of it.
    fn everything(&mut self) {
        for need in &mut self.needs.tables {
            need.wanted = need.wanted.or(Privileges::SELECT);
            need.selected.system = true;
        }
    }
}
