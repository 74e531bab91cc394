//! One range-table entry: which columns of it are needed, and the best way to read it.

use std::rc::Rc;
use std::sync::Arc;

use crate::bind::query::{Query, Rel, RelKind};
use crate::bind::tree::{ArrayArg, Column, Expr, IsBool, Slot, Ty, Var};
use crate::bind::walk;
use crate::catalog::TableDef;
use crate::error::{Result, SqlError};
use crate::types::{Collation, Datum, TypeId};

use super::choose::choose_index;
use super::cte::{Again, PlannedCte, Read};
use super::estimate::{self, filtered, is_volatile, operator};
use super::keys::array_of_list;
use super::level::{self, Layout};
use super::members::query_rows;
use super::node::{FunctionScan, KeptScan, Node, Project};
use super::push_down::pushed_down;
use super::rewrite::Below;
use super::{Indexes, Planner, gate};

/// A part of a query with a node of its own.
pub(super) struct Planned {
    pub node: Node,
    pub layout: Layout,
    pub rows: f64,
    /// The rows come in the order that was asked for.
    pub sorted: bool,
}

/// The query level at hand, with what is needed of each entry.
pub(super) struct QueryCx<'q> {
    pub query: &'q Query,
    /// Per entry the columns that anything refers to.
    pub needed: Vec<Vec<(Column, Ty)>>,
    nullable: Vec<u16>,
    pub(super) indexes: Rc<Indexes>,
}

/// One column of the order that a scan is asked for.
#[derive(Clone)]
pub(super) struct WantedKey {
    pub column: u16,
    pub desc: bool,
    /// Whether nulls come first, if that matters.
    pub nulls_first: Option<bool>,
    pub collation: Collation,
}

/// The order that a scan is asked for.
#[derive(Clone)]
pub(super) struct WantedOrder {
    pub rel: u16,
    pub keys: Vec<WantedKey>,
    /// An index may be read just for its order, because only some rows are wanted.
    pub limited: bool,
    /// Only the first row is wanted, for its first key, which must not be null.
    pub extreme: bool,
    /// How many rows of the entry are wanted, as is guessed, if it is joined with others.
    pub rows: Option<f64>,
}

/// Where the values of index keys may come from besides constants.
pub(super) struct Outer<'a> {
    pub layout: &'a Layout,
    /// Filled with the exec slots to set for each outer row.
    pub parameters: Vec<(u16, Expr)>,
}

impl<'q> QueryCx<'q> {
    pub fn new(query: &'q Query, indexes: &Rc<Indexes>) -> QueryCx<'q> {
        let needed = vec![Vec::new(); query.rels.len()];
        let mut cx =
            QueryCx { query, needed, nullable: level::nullable(query), indexes: indexes.clone() };
        let mut take = |var: &Var, depth: u16| {
            if var.level != depth {
                return;
            }
            cx.need(var.rel, var.column, var.ty);
        };
        walk::query_exprs(query, 0, &mut |expr, depth| walk::each_var(expr, depth, &mut take));
        cx
    }

    /// Also this column of this entry, or all that its whole row is made of.
    pub fn need(&mut self, rel: u16, column: Column, ty: Ty) {
        if column == Column::Whole {
            let columns = self.query.rels[usize::from(rel)].columns.iter().enumerate();
            for (i, info) in columns.filter(|(_, c)| !c.dropped) {
                self.need(rel, Column::User(i as u16), info.ty);
            }
            if self.nullable.contains(&rel) {
                self.need(rel, Column::Ctid, Ty::of(TypeId::TID));
            }
            return;
        }
        if !self.needs(rel, column) {
            self.needed[usize::from(rel)].push((column, ty));
        }
    }

    fn needs(&self, rel: u16, column: Column) -> bool {
        self.needed[usize::from(rel)].iter().any(|(known, _)| *known == column)
    }

    pub fn layout_of(&self, rel: u16) -> Layout {
        let columns = &self.needed[usize::from(rel)];
        Layout { slots: columns.iter().map(|(column, ty)| (rel, *column, *ty)).collect() }
    }
}

impl Planner {
    /// Plans one entry under the conditions that concern it (and, with `outer`, what comes before
    /// it in a nested loop).
    pub(super) fn entry(
        &mut self,
        cx: &QueryCx<'_>,
        rel: u16,
        conditions: Vec<Expr>,
        outer: Option<&mut Outer<'_>>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        let (once, conditions) = gate::split(conditions);
        let mut planned = self.entry_by_gates(cx, rel, conditions, outer, order, OPTIONAL_MAX)?;
        if cx.needs(rel, Column::Ctid) && planned.layout.find(rel, Column::Ctid).is_none() {
            planned = marked(rel, planned);
        }
        self.gated(planned, &once)
    }

    /// `$1 IS NULL OR a = $1` is known to hold, or to be `a = $1`, before the first row is read: each has a plan of its own, of
    /// which one runs, where the latter goes by an index. So for `most` of such conditions.
    fn entry_by_gates(
        &mut self,
        cx: &QueryCx<'_>,
        rel: u16,
        conditions: Vec<Expr>,
        mut outer: Option<&mut Outer<'_>>,
        order: Option<&WantedOrder>,
        most: usize,
    ) -> Result<Planned> {
        let optional = match most {
            0 => None,
            _ => optional(cx, rel, &conditions, outer.is_some(), order),
        };
        let Some(Optional { at, is_off, condition }) = optional else {
            return self.entry_of_kind(cx, rel, conditions, outer, order);
        };
        let mut without = conditions;
        without.remove(at);
        let mut with = without.clone();
        with.push(condition);
        let on = Expr::IsBool(Box::new(IsBool {
            arg: is_off.clone(),
            value: Some(true),
            negated: true,
        }));
        let all = self.entry_by_gates(cx, rel, without, outer.as_deref_mut(), order, most - 1)?;
        let all = self.gated(all, &[is_off])?;
        let few = self.entry_by_gates(cx, rel, with, outer, order, most - 1)?;
        let few = self.gated(few, &[on])?;
        let sorted = all.sorted && few.sorted;
        let node = Node::Append(Arc::new(vec![all.node, few.node]));
        Ok(Planned { node, layout: few.layout, rows: few.rows, sorted })
    }

    fn entry_of_kind(
        &mut self,
        cx: &QueryCx<'_>,
        rel: u16,
        conditions: Vec<Expr>,
        outer: Option<&mut Outer<'_>>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        let entry = &cx.query.rels[usize::from(rel)];
        let width = entry.columns.len();
        match &entry.kind {
            RelKind::Table(table) => self.table(cx, rel, table, conditions, outer, order),
            RelKind::Subquery(query) => {
                let (query, conditions) = pushed_down(query, rel, conditions);
                let (node, correlation) = self.subquery(&query)?;
                let rows = query_rows(&query, &self.indexes);
                self.derived(rel, width, &entry.columns, node, rows, correlation, conditions, outer)
            }
            RelKind::Cte { level, index } => {
                let (node, correlation, conditions) =
                    self.cte_reference(rel, entry, (*level, *index), conditions)?;
                let rows = estimate::FUNCTION_ROWS;
                self.derived(rel, width, &entry.columns, node, rows, correlation, conditions, outer)
            }
            RelKind::Recursive { level, index } => {
                let PlannedCte::Growing(table) =
                    &self.levels[self.depth_of(*level)].ctes[usize::from(*index)]
                else {
                    return Err(SqlError::internal("a recursive reference outside of its query"));
                };
                let table = *table;
                let depth = self.depth_of(*level);
                self.reads.push(Read { depth, work_table: Some(table) });
                let scan = self.kept_scan((table, true), entry, (*level, *index));
                let node = Node::WorkScan(scan);
                self.derived(rel, width, &entry.columns, node, 10.0, Vec::new(), conditions, outer)
            }
            RelKind::Function { calls, ordinality } => {
                let mut outer = outer;
                let mut rewritten = Vec::with_capacity(calls.len());
                for call in calls {
                    let expr = self.over_outer(&call.expr, outer.as_deref_mut())?;
                    let mut call = call.clone();
                    call.expr = expr;
                    rewritten.push(call);
                }
                let node = Node::FunctionScan(Arc::new(FunctionScan {
                    calls: rewritten,
                    alias: entry.alias.clone(),
                    columns: entry.columns.iter().map(|column| column.name.clone()).collect(),
                    ordinality: *ordinality,
                }));
                let rows = estimate::FUNCTION_ROWS;
                self.derived(rel, width, &entry.columns, node, rows, Vec::new(), conditions, outer)
            }
            RelKind::Values(rows) => {
                let mut outer = outer;
                let mut rewritten = Vec::with_capacity(rows.len());
                for row in rows {
                    let mut out = Vec::with_capacity(row.len());
                    for expr in row {
                        out.push(self.over_outer(expr, outer.as_deref_mut())?);
                    }
                    rewritten.push(out);
                }
                let count = rewritten.len() as f64;
                let node = Node::Values(Arc::new(rewritten));
                self.derived(rel, width, &entry.columns, node, count, Vec::new(), conditions, outer)
            }
            RelKind::Join | RelKind::Excluded => {
                Err(SqlError::internal("an entry without rows in FROM"))
            }
        }
    }

    /// A reference to a CTE: a scan of its kept rows, or its query again. What it needs from outside, and what of the
    /// conditions on its rows is left to be asked.
    #[allow(clippy::type_complexity, reason = "each is told above")]
    fn cte_reference(
        &mut self,
        rel: u16,
        entry: &Rel,
        (level, index): (u16, u16),
        conditions: Vec<Expr>,
    ) -> Result<(Node, Vec<(u16, Expr)>, Vec<Expr>)> {
        if level == 0
            && let Some(PlannedCte::Inline(query)) = self.level().ctes.get(usize::from(index))
        {
            let query = query.clone();
            let (query, conditions) = pushed_down(&query, rel, conditions);
            let (node, correlation) = self.subquery(&query)?;
            return Ok((node, correlation, conditions));
        }
        Ok((self.cte_rows(entry, (level, index))?, Vec::new(), conditions))
    }

    fn cte_rows(&mut self, entry: &Rel, (level, index): (u16, u16)) -> Result<Node> {
        let depth = self.depth_of(level);
        if let PlannedCte::Inline(query) = &self.levels[depth].ctes[usize::from(index)] {
            let query = query.clone();
            // Plan it where it was written, so that what it refers to is found.
            let inner = self.levels.split_off(depth + 1);
            let name = self.level().cte_names[usize::from(index)].clone();
            let before = self.reads.len();
            let planned = self.plan_again(&name, &query);
            // Levels of its own are others than those that come back now.
            let reads = self.reads.split_off(before);
            self.reads.extend(reads.into_iter().filter(|read| read.depth <= depth));
            self.levels.extend(inner);
            match planned? {
                Again::Node(node) => return Ok(node),
                Again::Kept(kept) => self.levels[depth].ctes[usize::from(index)] = kept,
            }
        }
        let PlannedCte::Kept { id, renewed } = self.levels[depth].ctes[usize::from(index)] else {
            return Err(SqlError::internal("a reference to a WITH query that is not planned"));
        };
        if renewed {
            self.reads.push(Read { depth, work_table: None });
        }
        Ok(Node::CteScan(self.kept_scan((id, renewed), entry, (level, index))))
    }

    /// `kept`: the rows' number, and whether they may be others from time to time.
    fn kept_scan(
        &self,
        kept: (u16, bool),
        entry: &Rel,
        (level, index): (u16, u16),
    ) -> Arc<KeptScan> {
        let (id, renewed) = kept;
        Arc::new(KeptScan {
            id,
            renewed,
            name: self.levels[self.depth_of(level)].cte_names[usize::from(index)].clone(),
            alias: entry.alias.clone(),
            columns: entry.columns.iter().map(|column| column.name.clone()).collect(),
        })
    }

    /// An expression of this level over the outer side's row, as exec slots.
    pub(super) fn over_outer(
        &mut self,
        expr: &Expr,
        outer: Option<&mut Outer<'_>>,
    ) -> Result<Expr> {
        let mut out = expr.clone();
        let (mut outer, mut given) = (outer, Vec::new());
        self.parameterize(&mut out, &mut outer, &mut given)?;
        self.rewrite(&out, &mut Below { given: &given, ..Below::default() })
    }

    /// `given`: columns that sub-selects take from here, and where these are.
    fn parameterize(
        &mut self,
        expr: &mut Expr,
        outer: &mut Option<&mut Outer<'_>>,
        given: &mut Vec<(Var, Expr)>,
    ) -> Result<()> {
        if let Expr::Var(var) = expr
            && var.level == 0
        {
            *expr = self.earlier(&Expr::Var(*var), outer)?;
            return Ok(());
        }
        if matches!(expr, Expr::SubLink(_)) {
            return self.parameterize_sublink(expr, outer, given);
        }
        let mut result = Ok(());
        walk::each_child_mut(expr, &mut |child| {
            if result.is_ok() {
                result = self.parameterize(child, outer, given);
            }
        });
        result
    }

    /// The whole sub-select is evaluated on one outer row, if that has all columns that it takes.
    fn parameterize_sublink(
        &mut self,
        expr: &mut Expr,
        outer: &mut Option<&mut Outer<'_>>,
        given: &mut Vec<(Var, Expr)>,
    ) -> Result<()> {
        let mut taken: Vec<Var> = Vec::new();
        walk::each_var(expr, 0, &mut |var, depth| {
            if var.level == depth {
                taken.push(Var { level: 0, ..*var });
            }
        });
        let has_all = outer.as_ref().is_some_and(|outer| outer.layout.covers(expr))
            || self.level().laterals.iter().any(|join| join.layout.covers(expr));
        if has_all && !taken.is_empty() {
            *expr = self.earlier(&expr.clone(), outer)?;
            return Ok(());
        }
        for var in taken {
            if !given.iter().any(|(known, _)| known.same(&var)) {
                let value = self.earlier(&Expr::Var(var), outer)?;
                given.push((var, value));
            }
        }
        Ok(())
    }

    /// A value of entries before the one at hand: from the outer row of its own join, or of a join further out.
    fn earlier(&mut self, expr: &Expr, outer: &mut Option<&mut Outer<'_>>) -> Result<Expr> {
        if let Some(outer) = outer
            && outer.layout.covers(expr)
        {
            return self.outer_parameter(expr, outer);
        }
        let slot = self.new_exec_slot();
        self.set_further_out(slot, expr)?;
        Ok(Expr::Exec(Slot { slot, ty: expr.ty() }))
    }

    /// Has the innermost of the joins around that can do so set an exec slot for each of its outer rows.
    fn set_further_out(&mut self, slot: u16, expr: &Expr) -> Result<()> {
        let Some(at) = self.level().laterals.iter().rposition(|join| join.layout.covers(expr))
        else {
            return Err(SqlError::internal("a lateral reference without an outer side"));
        };
        let layout = self.level().laterals[at].layout.clone();
        let value = self.rewrite(expr, &mut Below::row(&layout))?;
        self.level().laterals[at].parameters.push((slot, value));
        Ok(())
    }

    pub(super) fn outer_parameter(&mut self, expr: &Expr, outer: &mut Outer<'_>) -> Result<Expr> {
        let ty = expr.ty();
        let value = self.rewrite(expr, &mut Below::row(outer.layout))?;
        let known = outer.parameters.iter().find(|(_, e)| walk::same(e, &value));
        let slot = match known {
            Some((slot, _)) => *slot,
            None => {
                let slot = self.new_exec_slot();
                outer.parameters.push((slot, value));
                slot
            }
        };
        Ok(Expr::Exec(Slot { slot, ty }))
    }

    /// An entry whose node yields all its columns in order.
    #[allow(clippy::too_many_arguments, reason = "what every kind of derived entry has")]
    fn derived(
        &mut self,
        rel: u16,
        width: usize,
        columns: &[crate::bind::query::RelColumn],
        node: Node,
        rows: f64,
        correlation: Vec<(u16, Expr)>,
        conditions: Vec<Expr>,
        outer: Option<&mut Outer<'_>>,
    ) -> Result<Planned> {
        let own = self.split_correlation(correlation);
        let mut outer = outer;
        for (slot, expr) in own {
            match outer.as_deref_mut().filter(|outer| outer.layout.covers(&expr)) {
                Some(outer) => {
                    let value = self.rewrite(&expr, &mut Below::row(outer.layout))?;
                    outer.parameters.push((slot, value));
                }
                None => self.set_further_out(slot, &expr)?,
            }
        }
        let slots = (0..width).map(|i| (rel, Column::User(i as u16), columns[i].ty)).collect();
        let layout = Layout { slots };
        let rows = filtered(rows, &conditions);
        let node = self.filter(node, conditions, &layout)?;
        Ok(Planned { node, layout, rows, sorted: false })
    }

    /// A node under conditions over its row.
    pub(super) fn filter(
        &mut self,
        node: Node,
        mut conditions: Vec<Expr>,
        layout: &Layout,
    ) -> Result<Node> {
        super::quals::order(&mut conditions);
        let conditions = self.rewrite_all(&conditions, &mut Below::row(layout))?;
        Ok(match Expr::all_of(conditions) {
            None => node,
            Some(condition) => {
                Node::Filter(Arc::new(super::node::Filter { input: node, condition }))
            }
        })
    }
}

/// How many optional conditions of an entry have plans of their own, with and without them.
const OPTIONAL_MAX: usize = 2;

/// `is_off OR condition`, of which the former is about no row.
struct Optional {
    at: usize,
    is_off: Expr,
    condition: Expr,
}

/// The first of the conditions that is so, and goes by an index if it is on.
fn optional(
    cx: &QueryCx<'_>,
    rel: u16,
    conditions: &[Expr],
    outer: bool,
    order: Option<&WantedOrder>,
) -> Option<Optional> {
    let RelKind::Table(table) = &cx.query.rels[usize::from(rel)].kind else { return None };
    conditions.iter().enumerate().find_map(|(at, condition)| {
        let Expr::Or(arms) = condition else { return None };
        let (off, on): (Vec<Expr>, Vec<Expr>) = arms.iter().cloned().partition(|arm| {
            walk::rels_of(arm).is_empty()
                && !is_volatile(arm)
                && !walk::any(arm, &mut |part| matches!(part, Expr::SubLink(_)))
        });
        let condition = Expr::any_of(on)?;
        let own = std::slice::from_ref(&condition);
        let choice = choose_index(cx, table, rel, own, outer, order)?;
        let by_it = choice.used.contains(&0) && !choice.equal.is_empty();
        by_it.then_some(Optional { at, is_off: Expr::any_of(off)?, condition })
    })
}

/// With a constant in place of a row's address, by which rows are told from those that an outer join lacks.
fn marked(rel: u16, planned: Planned) -> Planned {
    let Planned { node: input, mut layout, rows, sorted } = planned;
    let slots = layout.slots.iter().enumerate();
    let mut exprs: Vec<Expr> =
        slots.map(|(i, (_, _, ty))| Expr::Slot(Slot { slot: i as u16, ty: *ty })).collect();
    let ty = Ty::of(TypeId::BOOL);
    exprs.push(Expr::constant(Datum::Bool(true), ty));
    layout.slots.push((rel, Column::Ctid, ty));
    Planned { node: Node::Project(Arc::new(Project { input, exprs })), layout, rows, sorted }
}

/// The table's column that an expression is.
pub(super) fn column_of<'t>(
    expr: &Expr,
    rel: u16,
    table: &'t TableDef,
) -> Option<(&'t TableDef, u16)> {
    match expr {
        Expr::Var(var) if var.level == 0 && var.rel == rel => match var.column {
            Column::User(column) => Some((table, column)),
            _ => None,
        },
        _ => None,
    }
}

/// What the condition `ctid = …` or `ctid = ANY (…)` names, and the other conditions.
pub(super) fn tid_conditions(rel: u16, conditions: &[Expr]) -> Option<(Expr, Vec<Expr>)> {
    let named = conditions.iter().enumerate().find_map(|(at, c)| Some((at, named_tids(rel, c)?)));
    let (position, value) = named?;
    let rest =
        conditions.iter().enumerate().filter(|(i, _)| *i != position).map(|(_, c)| c.clone());
    Some((value, rest.collect()))
}

fn named_tids(rel: u16, condition: &Expr) -> Option<Expr> {
    let is_ctid = |e: &Expr| matches!(e, Expr::Var(v) if v.level == 0 && v.rel == rel && v.column == Column::Ctid);
    let is_known = |value: &&Expr| walk::rels_of(value).is_empty();
    match condition {
        Expr::Call(call) if operator(call) == Some("=") => {
            let [left, right] = &call.args[..] else { return None };
            let other = is_ctid(left).then_some(right).or(is_ctid(right).then_some(left));
            other.filter(is_known).cloned()
        }
        Expr::ArrayOp(op) if !op.all && &*op.symbol == "=" && is_ctid(&op.left) => {
            let array = match &op.right {
                ArrayArg::Array(array) => array.clone(),
                ArrayArg::List(list) => array_of_list(list.clone(), TypeId::TID)?,
            };
            Some(array).filter(|array| is_known(&array))
        }
        _ => None,
    }
}
