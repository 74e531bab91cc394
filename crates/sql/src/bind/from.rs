//! FROM: tables, sub-queries, functions and joins become range-table entries and names.

use syntax::ast::{
    Alias, FromFunction, FromItem, FromSubquery, FromTable, Join as AstJoin, JoinCondition,
    JoinKind, Loc, Name, RelationRef, Select, SelectBody,
};

use crate::catalog::{Natural, TableDef, TableKind, infinite_recursion};
use crate::error::{Result, SqlError, bail, check_stack, sql_error};
use crate::func::row_of_sequence;
use crate::types::{Oid, TypeId};

use super::query::{FunctionCall, Join, JoinTree, Query, Rel, RelColumn, RelKind};
use super::scope::{NsColumn, NsItem};
use super::tree::{ArgList, Expr, Ty};
use super::{Binder, ExprKind, at};

use std::sync::Arc;

impl Rel {
    /// Does the entry have `ctid` and its kin?
    pub fn has_system(&self) -> bool {
        let of_rows = |kind| !matches!(kind, TableKind::View | TableKind::Sequence);
        matches!(&self.kind, RelKind::Table(def) if of_rows(def.kind))
    }
}

/// Has the query of a sequence that is read as a relation call the function that asks for no rights: they are asked for
/// as a relation's are.
fn read_by_name(rel: &mut Rel) {
    let RelKind::Subquery(query) = &mut rel.kind else { return };
    for rel in &mut query.rels {
        let RelKind::Function { calls, .. } = &mut rel.kind else { continue };
        for call in calls {
            if let Expr::Call(call) = &mut call.expr {
                call.func = row_of_sequence();
            }
        }
    }
}

impl Binder<'_, '_> {
    /// The whole FROM list; its names become visible.
    pub(super) fn bind_from(&mut self, items: &[FromItem]) -> Result<Vec<JoinTree>> {
        let mut trees = Vec::with_capacity(items.len());
        for item in items {
            let (tree, mut names) = self.bind_item(item)?;
            check_names(&self.scope().items, &names)?;
            for name in &mut names {
                name.lateral_only = true;
                name.lateral_ok = true;
            }
            self.scope().items.extend(names);
            trees.push(tree);
        }
        for item in &mut self.scope().items {
            item.lateral_only = false;
        }
        Ok(trees)
    }

    fn bind_item(&mut self, item: &FromItem) -> Result<(JoinTree, Vec<NsItem>)> {
        check_stack()?;
        match item {
            FromItem::Table(table) => self.table_item(table),
            FromItem::Subquery(sub) => self.subquery_item(sub),
            FromItem::Function(function) => self.function_item(function),
            FromItem::Join(join) => self.join_item(join),
        }
    }

    fn table_item(&mut self, table: &FromTable) -> Result<(JoinTree, Vec<NsItem>)> {
        if table.sample.is_some() {
            return Err(SqlError::unsupported("TABLESAMPLE is not supported yet"));
        }
        let relation = &table.relation;
        if relation.schema.is_none()
            && let Some(rel) = self.cte_rel(&relation.name, relation.loc)?
        {
            return self.finish_rel(rel, None, table.alias.as_ref(), relation.loc);
        }
        let def = self.table(relation)?;
        let names = (def.schema_name.clone(), def.oid);
        let rel = self.table_rel(&def, relation.loc)?;
        let names = table.alias.is_none().then_some(names);
        self.finish_rel(rel, names, table.alias.as_ref(), relation.loc)
    }

    /// Looks a relation up, locked for reading, or fails as PostgreSQL does.
    pub(super) fn table(&mut self, relation: &RelationRef) -> Result<Arc<TableDef>> {
        match self.catalog.relation(relation)? {
            Some(def) => Ok(def),
            None => Err(self.no_relation(relation)),
        }
    }

    fn no_relation(&self, relation: &RelationRef) -> SqlError {
        let name = match &relation.schema {
            Some(schema) => format!("{schema}.{}", relation.name),
            None => relation.name.to_string(),
        };
        let error = sql_error!(UNDEFINED_TABLE, "relation \"{name}\" does not exist");
        let later = self.scopes.iter().any(|s| s.future_ctes.contains(&relation.name));
        let error = if later && relation.schema.is_none() {
            error
                .with_detail(format!(
                    "There is a WITH item named \"{name}\", but it cannot be referenced from this part of the query."
                ))
                .with_hint(
                    "Use WITH RECURSIVE, or re-order the WITH items to remove forward references.",
                )
        } else {
            error
        };
        at(error, relation.loc)
    }

    /// An entry for a table, or for the query of a view.
    pub(super) fn table_rel(&mut self, def: &Arc<TableDef>, loc: Loc) -> Result<Rel> {
        match def.kind {
            TableKind::Index => {
                return Err(at(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is an index", def.name), loc));
            }
            TableKind::Toast => {
                let refusal = SqlError::unsupported(format!(
                    "reading TOAST relation \"{}\" is not supported",
                    def.name
                ));
                return Err(at(refusal, loc));
            }
            TableKind::View | TableKind::Sequence if self.catalog.record.is_some() => {}
            TableKind::View => {
                let text = def.view.as_deref().expect("a view has a query");
                if self.views.contains(&def.oid) {
                    return Err(infinite_recursion(def));
                }
                self.views.push(def.oid);
                let rel = self.view_rel(def, text, loc);
                self.views.pop();
                return rel;
            }
            // A sequence is read through its function, never as a heap.
            TableKind::Sequence => {
                let text = format!(
                    "SELECT last_value, 0::int8 AS log_cnt, is_called \
                     FROM pg_catalog.pg_get_sequence_data({oid})",
                    oid = def.oid
                );
                let mut rel = self.view_rel(def, &text, loc)?;
                read_by_name(&mut rel);
                return Ok(rel);
            }
            _ => {}
        }
        self.note_collations(def);
        let columns = RelColumn::all_of(def);
        Ok(Rel {
            alias: def.name.clone(),
            kind: RelKind::Table(def.clone()),
            columns,
            lateral: false,
            loc,
        })
    }

    fn view_rel(&mut self, def: &Arc<TableDef>, text: &str, loc: Loc) -> Result<Rel> {
        let statement = self.catalog.parse_stored(text)?;
        let syntax::ast::Statement::Select(select) = &statement else {
            return Err(SqlError::internal("a view's text is a query"));
        };
        // A view sees nothing of the query that uses it.
        let scopes = std::mem::take(&mut self.scopes);
        let kind = std::mem::replace(&mut self.kind, ExprKind::None);
        self.catalog.lookup.in_stored_text(true);
        let bound = self.query(select);
        self.catalog.lookup.in_stored_text(false);
        self.scopes = scopes;
        self.kind = kind;
        let query = Query { of_view: true, view: Some(def.clone()), ..bound? };
        self.note_collations(def);
        let columns = RelColumn::all_of(def);
        Ok(Rel {
            alias: def.name.clone(),
            kind: RelKind::Subquery(Box::new(query)),
            columns,
            lateral: false,
            loc,
        })
    }

    fn subquery_item(&mut self, sub: &FromSubquery) -> Result<(JoinTree, Vec<NsItem>)> {
        let before = std::mem::replace(&mut self.scope().lateral_active, sub.lateral);
        let bound = self.select(&sub.query, true);
        self.scope().lateral_active = before;
        let query = bound?;
        let columns = query.visible().map(RelColumn::of_target).collect();
        let rel = Rel {
            alias: "".into(),
            kind: RelKind::Subquery(Box::new(query)),
            columns,
            lateral: sub.lateral,
            loc: Loc::NONE,
        };
        if sub.alias.is_none() {
            bail!(SYNTAX_ERROR, "subquery in FROM must have an alias");
        }
        self.finish_rel(rel, None, sub.alias.as_ref(), Loc::NONE)
    }

    fn function_item(&mut self, function: &FromFunction) -> Result<(JoinTree, Vec<NsItem>)> {
        let before = std::mem::replace(&mut self.scope().lateral_active, true);
        let bound = self.function_calls(function);
        self.scope().lateral_active = before;
        let (calls, mut columns, first_name) = bound?;
        if function.with_ordinality {
            columns.push(RelColumn::plain("ordinality", Ty::INT8));
        }
        // A scalar function's only column takes the alias for its name.
        if let (Some(alias), [call]) = (&function.alias, &calls[..])
            && !call.record
            && value_name(&call.expr).is_none()
            && alias.columns.is_empty()
        {
            columns[0].name = alias.name.clone();
        }
        let rel = Rel {
            alias: first_name,
            kind: RelKind::Function { calls, ordinality: function.with_ordinality },
            columns,
            lateral: true,
            loc: Loc::NONE,
        };
        self.finish_rel(rel, None, function.alias.as_ref(), Loc::NONE)
    }

    #[allow(clippy::type_complexity, reason = "calls, their columns and the default alias")]
    fn function_calls(
        &mut self,
        function: &FromFunction,
    ) -> Result<(Vec<FunctionCall>, Vec<RelColumn>, Box<str>)> {
        let mut calls = Vec::new();
        let mut columns: Vec<RelColumn> = Vec::new();
        let mut first_name: Option<Box<str>> = None;
        for item in &function.calls {
            let expr = self.with_kind(ExprKind::FromFunction, |b| b.expr(&item.call))?;
            let name: Box<str> = match item.as_func() {
                Some(call) => call.name.last().into(),
                None => self.output_name(&item.call),
            };
            first_name.get_or_insert_with(|| name.clone());
            let defs =
                if item.column_defs.is_empty() { &function.column_defs } else { &item.column_defs };
            let expr = super::coerce::resolve_unknown(self, expr)?;
            let declared = self.record_columns(&expr, defs, &name)?;
            let expr = match &declared {
                Some(columns) => super::json::with_columns(expr, columns),
                None => expr,
            };
            let name = value_name(&expr).map_or(name, Into::into);
            let set = super::func::returns_set(&expr);
            let record = declared.is_some();
            let own = declared.unwrap_or_else(|| {
                let collation = super::collate::of(&expr);
                let nameless = self.is_nameless(&expr);
                let plain = RelColumn::plain(name.clone(), expr.ty());
                vec![RelColumn { collation, nameless, ..plain }]
            });
            calls.push(FunctionCall { expr, width: own.len() as u16, set, record });
            columns.extend(own);
        }
        Ok((calls, columns, first_name.unwrap_or_else(|| "".into())))
    }

    /// The columns of a call whose value is a record; `None` for a scalar.
    fn record_columns(
        &mut self,
        expr: &Expr,
        defs: &[syntax::ast::FunctionColumn],
        name: &str,
    ) -> Result<Option<Vec<RelColumn>>> {
        if !defs.is_empty() {
            if expr.type_id() != TypeId::RECORD {
                bail!(
                    SYNTAX_ERROR,
                    "a column definition list is only allowed for functions returning \"record\""
                );
            }
            let columns = defs.iter().map(|def| {
                let ty = self.type_name(&def.type_name)?;
                Ok(RelColumn::plain(def.name.clone(), ty))
            });
            return columns.collect::<Result<_>>().map(Some);
        }
        if let Expr::Call(call) = expr
            && !call.func.columns.is_empty()
        {
            return Ok(Some(super::record::columns_of(call)));
        }
        if expr.type_id() == TypeId::RECORD {
            return Err(at(
                sql_error!(
                    SYNTAX_ERROR,
                    "a column definition list is required for functions returning \"record\""
                ),
                expr.loc(),
            ));
        }
        let _ = name;
        Ok(None)
    }

    /// Enters the relation in the range table under its alias.
    pub(super) fn finish_rel(
        &mut self,
        mut rel: Rel,
        table: Option<(Box<str>, Oid)>,
        alias: Option<&Alias>,
        loc: Loc,
    ) -> Result<(JoinTree, Vec<NsItem>)> {
        if let Some(alias) = alias {
            rel.alias = alias.name.clone();
            rename(&mut rel.columns, &alias.columns, &alias.name, loc)?;
        }
        let index = self.scope().add_rel(rel);
        let item = self.scope().item_of(index, table);
        Ok((JoinTree::Rel(index), vec![item]))
    }

    fn join_item(&mut self, join: &AstJoin) -> Result<(JoinTree, Vec<NsItem>)> {
        let (left, mut left_items) = self.bind_item(&join.left)?;
        let lateral_ok = matches!(join.kind, JoinKind::Inner | JoinKind::Left);
        let depth = self.scope().items.len();
        for item in &left_items {
            let mut item = item.clone();
            item.lateral_only = true;
            item.lateral_ok = lateral_ok;
            self.scope().items.push(item);
        }
        let right = self.bind_item(&join.right);
        self.scope().items.truncate(depth);
        let (right, mut right_items) = right?;
        check_names(&left_items, &right_items)?;

        let mut columns = Vec::new();
        let condition = match &join.condition {
            JoinCondition::None => None,
            JoinCondition::On(expr) => {
                let visible = left_items.iter().chain(&right_items).cloned().collect();
                let before = std::mem::replace(&mut self.scope().items, visible);
                let bound = self.with_kind(ExprKind::JoinOn, |b| b.condition(expr, "JOIN/ON"));
                self.scope().items = before;
                Some(bound?)
            }
            JoinCondition::Using { columns: names, alias } => {
                let kind = join.kind;
                let merged = self.merge(kind, names, &left_items, &right_items, &mut columns)?;
                if let Some(alias) = alias {
                    let item = merged_item(&alias.name, &columns);
                    check_names(&left_items, std::slice::from_ref(&item))?;
                    check_names(&right_items, std::slice::from_ref(&item))?;
                    right_items.push(item);
                }
                merged
            }
            JoinCondition::Natural => {
                let names = common_names(&left_items, &right_items);
                if let Some(record) = &mut self.catalog.record {
                    let loc = beginning(&join.right);
                    record.naturals.push(Natural { loc, names: names.clone() });
                }
                self.merge(join.kind, &names, &left_items, &right_items, &mut columns)?
            }
        };
        let merged: Vec<Box<str>> = columns.iter().map(|c: &NsColumn| c.name.clone()).collect();
        for item in left_items.iter().chain(&right_items).filter(|i| i.unqualified) {
            let rest = item.columns.iter().filter(|c| !c.hidden && !merged.contains(&c.name));
            columns.extend(rest.cloned());
        }
        for item in left_items.iter_mut().chain(&mut right_items) {
            item.unqualified = false;
            if join.alias.is_some() {
                item.qualified = false;
            }
        }
        let mut items = left_items;
        items.append(&mut right_items);
        if let Some(alias) = &join.alias {
            if alias.columns.len() > columns.len() {
                bail!(
                    INVALID_COLUMN_REFERENCE,
                    "join expression \"{}\" has {} columns available but {} columns specified",
                    alias.name,
                    columns.len(),
                    alias.columns.len()
                );
            }
            for (column, name) in columns.iter_mut().zip(&alias.columns) {
                column.name = name.clone();
            }
        }
        items.push(NsItem {
            alias: join.alias.as_ref().map_or("".into(), |alias| alias.name.clone()),
            table: None,
            columns,
            rel: None,
            qualified: join.alias.is_some(),
            unqualified: true,
            lateral_only: false,
            lateral_ok: true,
        });
        let tree = JoinTree::Join(Box::new(Join { kind: join.kind, left, right, condition }));
        Ok((tree, items))
    }

    /// USING: the condition, and the merged columns in `out`.
    fn merge(
        &mut self,
        kind: JoinKind,
        names: &[Name],
        left: &[NsItem],
        right: &[NsItem],
        out: &mut Vec<NsColumn>,
    ) -> Result<Option<Expr>> {
        let mut conditions = Vec::new();
        for name in names {
            if out.iter().any(|column| column.name == *name) {
                bail!(
                    DUPLICATE_COLUMN,
                    "column name \"{name}\" appears more than once in USING clause"
                );
            }
            let l = using_column(left, name, "left")?;
            let r = using_column(right, name, "right")?;
            conditions.push(self.operator("=", l.clone(), r.clone(), Loc::NONE)?);
            let ty = self.common_type(&[l.clone(), r.clone()], "JOIN/USING")?;
            // Of two that are equal the one is shown that is of the common type already.
            let by_right = l.type_id() != ty.id && r.type_id() == ty.id;
            let l = self.coerce_common(l, ty, "JOIN/USING")?;
            let r = self.coerce_common(r, ty, "JOIN/USING")?;
            let expr = match kind {
                JoinKind::Inner if by_right => r,
                JoinKind::Inner | JoinKind::Left => l,
                JoinKind::Right => r,
                JoinKind::Full => {
                    Expr::Coalesce(Box::new(ArgList { ty: l.ty(), args: vec![l, r] }))
                }
            };
            out.push(NsColumn { name: name.clone(), expr, hidden: false });
        }
        Ok(Expr::all_of(conditions))
    }
}

/// What a function calls its only value.
fn value_name(expr: &Expr) -> Option<&'static str> {
    if let Expr::Call(call) = expr { call.func.value_name } else { None }
}

/// Gives the columns the names of an alias's column list.
pub(super) fn rename(
    columns: &mut [RelColumn],
    names: &[Name],
    alias: &str,
    loc: Loc,
) -> Result<()> {
    let visible = columns.iter().filter(|c| !c.dropped).count();
    if names.len() > visible {
        return Err(at(
            sql_error!(
                INVALID_COLUMN_REFERENCE,
                "table \"{alias}\" has {visible} columns available but {} columns specified",
                names.len()
            ),
            loc,
        ));
    }
    for (column, name) in columns.iter_mut().filter(|c| !c.dropped).zip(names) {
        column.name = name.clone();
    }
    Ok(())
}

/// No two names of one FROM may be the same, unless they are the same name in different schemas.
fn check_names(before: &[NsItem], new: &[NsItem]) -> Result<()> {
    for item in new.iter().filter(|item| item.qualified) {
        let clash =
            before.iter().filter(|b| b.qualified && b.alias == item.alias).any(|b| {
                match (&b.table, &item.table) {
                    (Some((_, x)), Some((_, y))) => x == y,
                    _ => true,
                }
            });
        if clash {
            bail!(DUPLICATE_ALIAS, "table name \"{}\" specified more than once", item.alias);
        }
    }
    Ok(())
}

/// `USING (…) AS alias`: a name for the merged columns alone.
fn merged_item(alias: &str, columns: &[NsColumn]) -> NsItem {
    NsItem {
        alias: alias.into(),
        table: None,
        columns: columns.to_vec(),
        rel: None,
        qualified: true,
        unqualified: false,
        lateral_only: false,
        lateral_ok: true,
    }
}

/// Where the first name of an entry stands.
fn beginning(item: &FromItem) -> Loc {
    match item {
        FromItem::Table(table) => table.relation.loc,
        FromItem::Join(join) => beginning(&join.left),
        FromItem::Function(function) => {
            let call = function.calls.first().and_then(|item| item.as_func());
            call.map_or(Loc::NONE, |call| call.loc)
        }
        FromItem::Subquery(sub) => first_output(&sub.query),
    }
}

fn first_output(query: &Select) -> Loc {
    match &query.body {
        // What comes first there has names of its own.
        _ if query.with.is_some() => Loc::NONE,
        SelectBody::Core(core) => core.targets.first().map_or(Loc::NONE, |target| target.loc),
        SelectBody::SetOp(op) => first_output(&op.left),
        SelectBody::Values(_) => Loc::NONE,
    }
}

fn common_names(left: &[NsItem], right: &[NsItem]) -> Vec<Name> {
    let shown = |items: &[NsItem]| -> Vec<Box<str>> {
        let visible = items.iter().filter(|i| i.unqualified);
        visible.flat_map(|i| &i.columns).filter(|c| !c.hidden).map(|c| c.name.clone()).collect()
    };
    let right = shown(right);
    shown(left).into_iter().filter(|name| right.contains(name)).collect()
}

fn using_column(items: &[NsItem], name: &str, side: &str) -> Result<Expr> {
    let mut found = items
        .iter()
        .filter(|i| i.unqualified)
        .flat_map(|i| &i.columns)
        .filter(|c| !c.hidden && *c.name == *name);
    match (found.next(), found.next()) {
        (Some(column), None) => Ok(column.expr.clone()),
        (Some(_), Some(_)) => bail!(
            AMBIGUOUS_COLUMN,
            "common column name \"{name}\" appears more than once in {side} table"
        ),
        (None, _) => bail!(
            UNDEFINED_COLUMN,
            "column \"{name}\" specified in USING clause does not exist in {side} table"
        ),
    }
}
