//! One range-table entry: which columns of it are needed, and the best way to read it.

use std::sync::Arc;

use crate::bind::query::{Query, RelKind};
use crate::bind::tree::{
    ArrayArg, ArrayExpr, ArrayOp, Call, Column, Const, Expr, Shape, Slot, Ty, Var,
};
use crate::bind::walk;
use crate::catalog::{IndexDef, KeySource, TableDef, TableKind};
use crate::error::{Result, SqlError};
use crate::func::{self, CastMethod};
use crate::types::{Datum, Oid, TypeId, type_info};

use super::Planner;
use super::cte::PlannedCte;
use super::estimate::{self, filtered, operator, table_rows};
use super::level::Layout;
use super::node::{
    FunctionScan, IndexScan, KeyRange, KeyValue, Node, ScanColumn, SeqScan, TidScan,
};
use super::rewrite::Below;

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
    /// Indexes that must not be used.
    unusable: Arc<[Oid]>,
}

/// The order that a scan is asked for: columns of the entry with direction.
pub(super) struct WantedOrder {
    pub rel: u16,
    pub keys: Vec<(u16, bool, bool)>,
    /// An index may be read just for its order, because only some rows are wanted.
    pub limited: bool,
}

/// Where the values of index keys may come from besides constants.
pub(super) struct Outer<'a> {
    pub layout: &'a Layout,
    /// Filled with the exec slots to set for each outer row.
    pub parameters: Vec<(u16, Expr)>,
}

impl<'q> QueryCx<'q> {
    pub fn new(query: &'q Query, unusable: &Arc<[Oid]>) -> QueryCx<'q> {
        let mut needed: Vec<Vec<(Column, Ty)>> = vec![Vec::new(); query.rels.len()];
        let mut take = |var: &Var, depth: u16| {
            if var.level != depth {
                return;
            }
            let list = &mut needed[usize::from(var.rel)];
            let mut add = |column: Column, ty: Ty| {
                if !list.iter().any(|(known, _)| *known == column) {
                    list.push((column, ty));
                }
            };
            if var.column == Column::Whole {
                let columns = query.rels[usize::from(var.rel)].columns.iter().enumerate();
                for (i, info) in columns.filter(|(_, c)| !c.dropped) {
                    add(Column::User(i as u16), info.ty);
                }
            } else {
                add(var.column, var.ty);
            }
        };
        walk::query_exprs(query, 0, &mut |expr, depth| walk::each_var(expr, depth, &mut take));
        QueryCx { query, needed, unusable: unusable.clone() }
    }

    /// Also this column of this entry.
    pub fn need(&mut self, rel: u16, column: Column, ty: Ty) {
        let list = &mut self.needed[usize::from(rel)];
        if !list.iter().any(|(known, _)| *known == column) {
            list.push((column, ty));
        }
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
        let entry = &cx.query.rels[usize::from(rel)];
        let width = entry.columns.len();
        match &entry.kind {
            RelKind::Table(table) => self.table(cx, rel, table, conditions, outer, order),
            RelKind::Subquery(query) => {
                let (node, correlation) = self.subquery(query)?;
                let rows = estimate::FUNCTION_ROWS;
                self.derived(rel, width, &entry.columns, node, rows, correlation, conditions, outer)
            }
            RelKind::Cte { level, index } => {
                let (level, index) = (*level, *index);
                let (node, correlation) = self.cte_reference(level, index)?;
                let rows = estimate::FUNCTION_ROWS;
                self.derived(rel, width, &entry.columns, node, rows, correlation, conditions, outer)
            }
            RelKind::Recursive { level, index } => {
                let PlannedCte::Growing(table) = self.planned_cte(*level, *index) else {
                    return Err(SqlError::internal("a recursive reference outside of its query"));
                };
                let node = Node::WorkScan(*table);
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

    /// A reference to a CTE: a scan of its kept rows, or its query again.
    fn cte_reference(&mut self, level: u16, index: u16) -> Result<(Node, Vec<(u16, Expr)>)> {
        let depth = self.levels.len() - 1 - usize::from(level);
        match &self.levels[depth].ctes[usize::from(index)] {
            PlannedCte::Kept(id) => Ok((Node::CteScan(*id), Vec::new())),
            PlannedCte::Correlated(node, correlation) if level == 0 => {
                Ok((node.clone(), correlation.clone()))
            }
            PlannedCte::Correlated(..) => Err(SqlError::unsupported(
                "a recursive WITH query that refers to an enclosing query can't be used in a nested \
                 query yet",
            )),
            PlannedCte::Inline(query) => {
                let query = query.clone();
                if level == 0 {
                    return self.subquery(&query);
                }
                // Plan it where it was written, so that what it refers to is found.
                let inner = self.levels.split_off(depth + 1);
                let planned = self.subquery(&query);
                self.levels.extend(inner);
                let (node, correlation) = planned?;
                if !correlation.is_empty() {
                    return Err(SqlError::unsupported(
                        "a WITH query that refers to an enclosing query can't be used in a nested query yet",
                    ));
                }
                Ok((node, Vec::new()))
            }
            PlannedCte::Unused | PlannedCte::Growing(_) => {
                Err(SqlError::internal("a reference to a WITH query that is not planned"))
            }
        }
    }

    /// An expression of this level over the outer side's row, as exec slots.
    fn over_outer(&mut self, expr: &Expr, outer: Option<&mut Outer<'_>>) -> Result<Expr> {
        let mut out = expr.clone();
        let mut outer = outer;
        self.parameterize(&mut out, &mut outer)?;
        self.rewrite(&out, &mut Below::nothing())
    }

    fn parameterize(&mut self, expr: &mut Expr, outer: &mut Option<&mut Outer<'_>>) -> Result<()> {
        if let Expr::Var(var) = expr
            && var.level == 0
        {
            let Some(outer) = outer else {
                return Err(SqlError::internal("a lateral reference without an outer side"));
            };
            *expr = self.outer_parameter(&Expr::Var(*var), outer)?;
            return Ok(());
        }
        if matches!(expr, Expr::SubLink(_)) {
            // The whole sub-select is evaluated on the outer row.
            let mut local = false;
            walk::each_var(expr, 0, &mut |var, depth| local |= var.level == depth);
            if local && let Some(outer) = outer {
                *expr = self.outer_parameter(&expr.clone(), outer)?;
            }
            return Ok(());
        }
        let mut result = Ok(());
        walk::each_child_mut(expr, &mut |child| {
            if result.is_ok() {
                result = self.parameterize(child, outer);
            }
        });
        result
    }

    fn outer_parameter(&mut self, expr: &Expr, outer: &mut Outer<'_>) -> Result<Expr> {
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
        if let Some(outer) = outer {
            for (slot, expr) in own {
                let value = self.rewrite(&expr, &mut Below::row(outer.layout))?;
                outer.parameters.push((slot, value));
            }
        } else if !own.is_empty() {
            return Err(SqlError::internal("a lateral reference without an outer side"));
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
        conditions: Vec<Expr>,
        layout: &Layout,
    ) -> Result<Node> {
        let conditions = self.rewrite_all(&conditions, &mut Below::row(layout))?;
        Ok(match Expr::all_of(conditions) {
            None => node,
            Some(condition) => {
                Node::Filter(Arc::new(super::node::Filter { input: node, condition }))
            }
        })
    }

    fn table(
        &mut self,
        cx: &QueryCx<'_>,
        rel: u16,
        table: &Arc<TableDef>,
        conditions: Vec<Expr>,
        mut outer: Option<&mut Outer<'_>>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        let layout = cx.layout_of(rel);
        let outputs: Vec<ScanColumn> = layout
            .slots
            .iter()
            .map(|(_, column, ty)| ScanColumn { column: *column, ty: *ty })
            .collect();
        let rows = filtered(table_rows(table), &conditions);
        if table.kind == TableKind::Table {
            if let Some((tids, rest)) = tid_conditions(rel, &conditions) {
                let mut exprs = Vec::with_capacity(tids.len());
                for tid in tids {
                    exprs.push(self.over_outer(&tid, outer.as_deref_mut())?);
                }
                let filter = self.rewrite_all(&rest, &mut Below::row(&layout))?;
                let node = Node::TidScan(Arc::new(TidScan {
                    table: table.clone(),
                    tids: exprs,
                    outputs,
                    filter: Expr::all_of(filter),
                }));
                return Ok(Planned { node, layout, rows: 1.0, sorted: false });
            }
            let choice = choose_index(cx, table, rel, &conditions, outer.is_some(), order);
            if let Some(choice) = choice {
                return self.index_scan(table, choice, conditions, layout, outputs, outer, order);
            }
        }
        let filter = self.rewrite_all(&conditions, &mut Below::row(&layout))?;
        let node = Node::SeqScan(Arc::new(SeqScan {
            table: table.clone(),
            outputs,
            filter: Expr::all_of(filter),
        }));
        Ok(Planned { node, layout, rows, sorted: false })
    }

    #[allow(clippy::too_many_arguments, reason = "the choice and what it was made from")]
    fn index_scan(
        &mut self,
        table: &Arc<TableDef>,
        choice: IndexChoice,
        conditions: Vec<Expr>,
        layout: Layout,
        outputs: Vec<ScanColumn>,
        mut outer: Option<&mut Outer<'_>>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        let mut range = KeyRange::default();
        for value in choice.equal {
            range.equal.push(match value {
                KeyValue::IsNull => KeyValue::IsNull,
                KeyValue::Is(expr) => KeyValue::Is(self.over_outer(&expr, outer.as_deref_mut())?),
                KeyValue::AnyOf(expr) => {
                    KeyValue::AnyOf(self.over_outer(&expr, outer.as_deref_mut())?)
                }
            });
        }
        for (bound, into) in [(choice.lower, &mut range.lower), (choice.upper, &mut range.upper)] {
            if let Some((expr, inclusive)) = bound {
                *into = Some((self.over_outer(&expr, outer.as_deref_mut())?, inclusive));
            }
        }
        let rest: Vec<Expr> = conditions
            .iter()
            .enumerate()
            .filter(|(i, _)| !choice.used.contains(i))
            .map(|(_, c)| c.clone())
            .collect();
        let filter = self.rewrite_all(&rest, &mut Below::row(&layout))?;
        let rows = if choice.unique { 1.0 } else { filtered(table_rows(table), &conditions) };
        let node = Node::IndexScan(Arc::new(IndexScan {
            table: table.clone(),
            index: choice.index,
            ranges: vec![range],
            backward: choice.backward,
            outputs,
            filter: Expr::all_of(filter),
        }));
        Ok(Planned { node, layout, rows, sorted: order.is_some() && choice.sorted })
    }
}

/// An index together with the conditions that it answers.
pub(super) struct IndexChoice {
    pub index: Arc<IndexDef>,
    pub equal: Vec<KeyValue>,
    pub lower: Option<(Expr, bool)>,
    pub upper: Option<(Expr, bool)>,
    /// Positions of the conditions that the range guarantees.
    pub used: Vec<usize>,
    /// At most one row.
    pub unique: bool,
    pub sorted: bool,
    pub backward: bool,
}

impl IndexChoice {
    /// Higher is better.
    fn score(&self) -> (bool, usize, usize, bool) {
        let single = self.equal.iter().filter(|v| !matches!(v, KeyValue::AnyOf(_))).count();
        let bounds = usize::from(self.lower.is_some()) + usize::from(self.upper.is_some());
        (self.unique, single * 2 + (self.equal.len() - single), bounds, self.sorted)
    }
}

/// The best index for these conditions, if any is better than reading the whole table. Key values
/// must not use the entry itself; `outer` says whether they may use other entries.
pub(super) fn choose_index(
    cx: &QueryCx<'_>,
    table: &TableDef,
    rel: u16,
    conditions: &[Expr],
    outer: bool,
    order: Option<&WantedOrder>,
) -> Option<IndexChoice> {
    let mut best: Option<IndexChoice> = None;
    let usable =
        |i: &&Arc<IndexDef>| i.valid && !i.has_expressions() && !cx.unusable.contains(&i.oid);
    for index in table.indexes.iter().filter(usable) {
        let Some(choice) = match_index(index, rel, conditions, outer, order) else { continue };
        if best.as_ref().is_none_or(|b| choice.score() > b.score()) {
            best = Some(choice);
        }
    }
    best
}

fn match_index(
    index: &Arc<IndexDef>,
    rel: u16,
    conditions: &[Expr],
    outer: bool,
    order: Option<&WantedOrder>,
) -> Option<IndexChoice> {
    let mut choice = IndexChoice {
        index: index.clone(),
        equal: Vec::new(),
        lower: None,
        upper: None,
        used: Vec::new(),
        unique: false,
        sorted: false,
        backward: false,
    };
    let mut any_of = false;
    for key in &index.keys {
        let KeySource::Column(column) = key.source else { break };
        let found = conditions.iter().enumerate().find_map(|(i, condition)| {
            let value = equality(condition, rel, column, key.ty, outer)?;
            // One list of values per scan: its values are looked up one by one.
            (!any_of || !matches!(value, KeyValue::AnyOf(_))).then_some((i, value))
        });
        match found {
            Some((i, value)) => {
                any_of |= matches!(value, KeyValue::AnyOf(_));
                choice.equal.push(value);
                choice.used.push(i);
            }
            None => {
                for (i, condition) in conditions.iter().enumerate() {
                    let Some((symbol, value)) = comparison(condition, rel, column, key.ty, outer)
                    else {
                        continue;
                    };
                    let slot = match symbol {
                        ">" | ">=" => &mut choice.lower,
                        "<" | "<=" => &mut choice.upper,
                        _ => continue,
                    };
                    if slot.is_none() {
                        *slot = Some((value, symbol.len() == 2));
                        choice.used.push(i);
                    }
                }
                break;
            }
        }
    }
    let nulls = choice.equal.iter().any(|v| matches!(v, KeyValue::IsNull));
    choice.unique = index.unique && choice.equal.len() == index.keys.len() && !any_of && !nulls;
    if let Some(order) = order
        && !any_of
    {
        (choice.sorted, choice.backward) = gives_order(index, choice.equal.len(), rel, order);
    }
    let useful =
        !choice.used.is_empty() || (choice.sorted && order.is_some_and(|order| order.limited));
    useful.then_some(choice)
}

/// Do the keys after the first `fixed` come in the wanted order, and reading which way?
fn gives_order(index: &IndexDef, fixed: usize, rel: u16, order: &WantedOrder) -> (bool, bool) {
    if order.rel != rel {
        return (false, false);
    }
    let fixed_columns: Vec<u16> = index.keys[..fixed]
        .iter()
        .filter_map(|key| match key.source {
            KeySource::Column(column) => Some(column),
            KeySource::Expr(_) => None,
        })
        .collect();
    let wanted: Vec<_> =
        order.keys.iter().filter(|(column, ..)| !fixed_columns.contains(column)).collect();
    let rest = &index.keys[fixed..];
    if wanted.len() > rest.len() {
        return (false, false);
    }
    let mut backward = None;
    for ((column, desc, nulls_first), key) in wanted.iter().zip(rest) {
        let KeySource::Column(own) = key.source else { return (false, false) };
        if own != *column {
            return (false, false);
        }
        let reversed = key.desc != *desc;
        let nulls_fit = (key.nulls_first != *nulls_first) == reversed;
        if !nulls_fit || backward.is_some_and(|b| b != reversed) {
            return (false, false);
        }
        backward = Some(reversed);
    }
    (true, backward.unwrap_or(false))
}

/// The condition as an equality on the column.
fn equality(condition: &Expr, rel: u16, column: u16, ty: Ty, outer: bool) -> Option<KeyValue> {
    match condition {
        Expr::Call(_) => {
            let (symbol, value) = comparison(condition, rel, column, ty, outer)?;
            (symbol == "=").then_some(KeyValue::Is(value))
        }
        Expr::IsNull(test) if !test.negated && !test.row => {
            is_column(&test.arg, rel, column).then_some(KeyValue::IsNull)
        }
        Expr::ArrayOp(op) if !op.all && &*op.symbol == "=" => any_of(op, rel, column, ty, outer),
        _ => None,
    }
}

fn any_of(op: &ArrayOp, rel: u16, column: u16, ty: Ty, outer: bool) -> Option<KeyValue> {
    if !is_column(&op.left, rel, column) {
        return None;
    }
    match &op.right {
        ArrayArg::Array(array) => {
            let element = crate::bind::element_of(array.type_id())?;
            (compatible(element, ty.id) && usable(array, rel, outer))
                .then(|| KeyValue::AnyOf(array.clone()))
        }
        ArrayArg::List(list) => {
            let fits = list.iter().all(|e| compatible(e.type_id(), ty.id) && usable(e, rel, outer));
            let array = type_info(ty.id).map(|info| info.array).filter(|id| id.is_valid())?;
            fits.then(|| {
                KeyValue::AnyOf(Expr::Array(Box::new(ArrayExpr {
                    elements: list.clone(),
                    element_type: ty.id,
                    nested: false,
                    ty: Ty::of(array),
                })))
            })
        }
    }
}

/// The condition as `column op value`, the value fitted to the column's type.
pub(super) fn comparison(
    condition: &Expr,
    rel: u16,
    column: u16,
    ty: Ty,
    outer: bool,
) -> Option<(&'static str, Expr)> {
    let Expr::Call(call) = condition else { return None };
    let symbol = operator(call)?;
    let [left, right] = &call.args[..] else { return None };
    let (value, symbol) = if is_column(left, rel, column) {
        (right, plain(symbol)?)
    } else if is_column(right, rel, column) {
        (left, commuted(symbol)?)
    } else {
        return None;
    };
    if !usable(value, rel, outer) {
        return None;
    }
    Some((symbol, fit(value, ty.id)?))
}

fn plain(symbol: &str) -> Option<&'static str> {
    ["=", "<", "<=", ">", ">="].into_iter().find(|s| *s == symbol)
}

fn commuted(symbol: &str) -> Option<&'static str> {
    Some(match symbol {
        "=" => "=",
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        _ => return None,
    })
}

/// Is the expression this column, under its own name or a text type's?
fn is_column(expr: &Expr, rel: u16, column: u16) -> bool {
    match expr {
        Expr::Var(var) => var.level == 0 && var.rel == rel && var.column == Column::User(column),
        Expr::Relabel(relabel) => {
            let free = compatible(relabel.arg.type_id(), relabel.ty.id);
            free && is_column(&relabel.arg, rel, column)
        }
        _ => false,
    }
}

/// May the value be computed before the scan starts?
fn usable(value: &Expr, rel: u16, outer: bool) -> bool {
    let rels = walk::rels_of(value);
    (if outer { !rels.contains(&rel) } else { rels.is_empty() }) && !estimate::is_volatile(value)
}

/// Do the two types have the same values in the same order?
fn compatible(a: TypeId, b: TypeId) -> bool {
    let texts = [TypeId::TEXT, TypeId::VARCHAR, TypeId::NAME];
    a == b || (texts.contains(&a) && texts.contains(&b))
}

/// The value as one of the key's type, if that loses nothing.
fn fit(value: &Expr, ty: TypeId) -> Option<Expr> {
    let own = value.type_id();
    if compatible(own, ty) {
        return Some(value.clone());
    }
    if let Expr::Const(c) = value
        && let Some(value) = fit_constant(&c.value, ty)
    {
        return Some(Expr::Const(Const { value, ty: Ty::of(ty), loc: c.loc }));
    }
    widen(value, ty)
}

/// Integers of a narrower type, as the wider one.
pub(super) fn widen(value: &Expr, ty: TypeId) -> Option<Expr> {
    let own = value.type_id();
    let wider = matches!(
        (own, ty),
        (TypeId::INT2, TypeId::INT4 | TypeId::INT8) | (TypeId::INT4, TypeId::INT8)
    );
    if !wider {
        return None;
    }
    let CastMethod::Function(func) = func::cast(own, ty)?.method else { return None };
    Some(Expr::Call(Box::new(Call {
        func,
        args: vec![value.clone()],
        ty: Ty::of(ty),
        variadic: false,
        shape: Shape::ImplicitCast,
        loc: value.loc(),
    })))
}

fn fit_constant(value: &Datum, ty: TypeId) -> Option<Datum> {
    let n = match value {
        Datum::Int2(n) => i64::from(*n),
        Datum::Int4(n) => i64::from(*n),
        Datum::Int8(n) => *n,
        _ => return None,
    };
    Some(match ty {
        TypeId::INT2 => Datum::Int2(n.try_into().ok()?),
        TypeId::INT4 => Datum::Int4(n.try_into().ok()?),
        TypeId::INT8 => Datum::Int8(n),
        _ => return None,
    })
}

/// `ctid = …` and `ctid = ANY (…)` conditions, and the others.
fn tid_conditions(rel: u16, conditions: &[Expr]) -> Option<(Vec<Expr>, Vec<Expr>)> {
    let is_ctid = |e: &Expr| matches!(e, Expr::Var(v) if v.level == 0 && v.rel == rel && v.column == Column::Ctid);
    let position = conditions.iter().position(|condition| match condition {
        Expr::Call(call) if operator(call) == Some("=") => {
            (is_ctid(&call.args[0]) && walk::rels_of(&call.args[1]).is_empty())
                || (is_ctid(&call.args[1]) && walk::rels_of(&call.args[0]).is_empty())
        }
        _ => false,
    })?;
    let Expr::Call(call) = &conditions[position] else { return None };
    let value = if is_ctid(&call.args[0]) { &call.args[1] } else { &call.args[0] };
    let rest =
        conditions.iter().enumerate().filter(|(i, _)| *i != position).map(|(_, c)| c.clone());
    Some((vec![value.clone()], rest.collect()))
}
