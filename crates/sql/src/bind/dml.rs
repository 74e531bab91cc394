//! INSERT, UPDATE, DELETE: targets, defaults, ON CONFLICT, RETURNING.

use std::sync::Arc;

use syntax::ast::{
    self, Assignment, ColumnTarget, InsertSource, Loc, Overriding, RelationRef, SelectBody,
};

use crate::catalog::{ColumnDef, Identity, TableDef, TableKind};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::TypeId;

use super::query::{JoinTree, Modify, ModifyAction, Query, Rel, RelColumn, RelKind, Target};
use super::scope::{Scope, var};
use super::sublink::field_of;
use super::target::Goal;
use super::tree::{Column, CurrentOf, Expr, NextValue, SubLinkKind, Ty};
use super::{Binder, ExprKind, at};

impl Binder<'_, '_> {
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<Modify> {
        self.scopes.push(Scope::default());
        let bound = self.insert_in_scope(insert);
        self.scopes.pop();
        bound
    }

    /// INSERT into a table that is known already.
    pub(super) fn insert_into(
        &mut self,
        table: Arc<TableDef>,
        insert: &ast::Insert,
    ) -> Result<Modify> {
        self.scopes.push(Scope::default());
        let bound = self.insert_rest(table, insert);
        self.scopes.pop();
        bound
    }

    fn insert_in_scope(&mut self, insert: &ast::Insert) -> Result<Modify> {
        if let Some(with) = &insert.with {
            self.with_clause(with)?;
        }
        let table = self.target_table(&insert.target, "insert into")?;
        self.insert_rest(table, insert)
    }

    fn insert_rest(&mut self, table: Arc<TableDef>, insert: &ast::Insert) -> Result<Modify> {
        let goals = self.insert_goals(&table, &insert.columns)?;
        let (mut query, given) = self.insert_source(insert, &table, &goals)?;
        let written = goals[..given].iter().map(|goal| goal.column).collect();

        // RETURNING and ON CONFLICT see the target (0) and the proposed row (1), and what WITH names.
        self.scopes.push(Scope::default());
        let tail = self.insert_tail(insert, &table);
        self.scopes.pop();
        let (on_conflict, returning) = tail?;
        query.ctes = std::mem::take(&mut self.scope().ctes);
        let checks = self.checks(&table)?;
        let generated = self.generated(&table)?;
        Ok(Modify {
            rel: 0,
            query,
            action: ModifyAction::Insert {
                excluded: on_conflict.is_some().then_some(1),
                on_conflict,
            },
            written,
            returning,
            checks,
            generated,
            ctes: Vec::new(),
            table,
        })
    }

    /// The table to be written, which must be one.
    pub(super) fn target_table(
        &mut self,
        target: &RelationRef,
        verb: &str,
    ) -> Result<Arc<TableDef>> {
        let def = self.catalog.relation_for_write(target)?;
        let Some(def) = def else {
            let name = match &target.schema {
                Some(schema) => format!("{schema}.{}", target.name),
                None => target.name.to_string(),
            };
            return Err(at(
                sql_error!(UNDEFINED_TABLE, "relation \"{name}\" does not exist"),
                target.loc,
            ));
        };
        match def.kind {
            // Whether rows of a materialized view may be changed is said when the plan is run.
            TableKind::Table | TableKind::MaterializedView => {}
            TableKind::View => {
                bail!(OBJECT_NOT_IN_PREREQUISITE_STATE, "cannot {verb} view \"{}\"", def.name)
            }
            TableKind::Sequence => {
                bail!(WRONG_OBJECT_TYPE, "cannot change sequence \"{}\"", def.name)
            }
            TableKind::Toast => {
                bail!(WRONG_OBJECT_TYPE, "cannot change TOAST relation \"{}\"", def.name)
            }
            TableKind::Index => {
                return Err(at(
                    sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is an index", def.name),
                    target.loc,
                ));
            }
            TableKind::Virtual => bail!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: \"{}\" is a system catalog",
                def.name
            ),
        }
        if def.is_catalog() && !self.catalog.allow_system_table_mods() {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: \"{}\" is a system catalog",
                def.name
            );
        }
        Ok(def)
    }

    fn insert_goals<'n>(
        &mut self,
        table: &TableDef,
        names: &'n [ColumnTarget],
    ) -> Result<Vec<Goal<'n>>> {
        if names.is_empty() {
            return Ok(live_columns(table).map(|(i, def)| Goal::whole(i, def)).collect());
        }
        let mut goals: Vec<Goal<'n>> = Vec::with_capacity(names.len());
        for target in names {
            let goal = Goal::of_list(table, target)?;
            let is_twice = |other: &Goal<'_>| {
                other.column == goal.column && !(other.is_part() && goal.is_part())
            };
            if goals.iter().any(is_twice) {
                return Err(at(
                    sql_error!(
                        DUPLICATE_COLUMN,
                        "column \"{}\" specified more than once",
                        target.name
                    ),
                    target.loc,
                ));
            }
            goals.push(goal);
        }
        Ok(goals)
    }

    /// The query whose targets are the table's columns in order, and for how many of the goals it has values.
    fn insert_source(
        &mut self,
        insert: &ast::Insert,
        table: &TableDef,
        goals: &[Goal<'_>],
    ) -> Result<(Query, usize)> {
        let named = !insert.columns.is_empty();
        let overriding = insert.overriding;
        let mut query = Query::default();
        let values: Vec<Expr> = match &insert.source {
            InsertSource::DefaultValues => Vec::new(),
            InsertSource::Query(select) => match plain_values(select) {
                Some([row]) => {
                    let mut bound = Vec::with_capacity(row.len());
                    self.insert_row(row, table, goals, named, overriding, &mut bound)?;
                    let scope = self.scope();
                    query.has_sublinks = scope.has_sublinks;
                    query.has_srf = scope.has_srf;
                    bound
                }
                Some(rows) => {
                    self.insert_rows(rows, table, goals, named, overriding, &mut query)?
                }
                None => self.insert_select(select, table, goals, named, &mut query)?,
            },
        };
        // Of several rows of values each was looked at by itself.
        let rows = matches!(&query.rels[..], [Rel { kind: RelKind::Values(_), .. }]);
        for (goal, value) in goals.iter().zip(&values).filter(|_| !rows) {
            let written = !matches!(value, Expr::SetToDefault(_));
            check_identity(&table.columns[usize::from(goal.column)], written, overriding)?;
        }
        let user_value = overriding == Some(Overriding::UserValue);
        for (i, column) in table.columns.iter().enumerate() {
            let mut given: Option<Expr> = None;
            let own = goals.iter().zip(&values).filter(|(goal, _)| usize::from(goal.column) == i);
            for (goal, value) in own {
                let before = given.take().unwrap_or_else(|| Expr::null(column.ty));
                given = Some(self.assigned(before, goal, value.clone())?);
            }
            let expr = match given {
                Some(Expr::SetToDefault(_)) | None => self.default_value(table, i)?,
                Some(_) if user_value && column.identity.is_some() => {
                    self.default_value(table, i)?
                }
                Some(expr) => expr,
            };
            query.targets.push(Target {
                expr,
                name: column.name.clone(),
                junk: false,
                origin: None,
                nameless: false,
            });
        }
        Ok((query, values.len()))
    }

    /// One VALUES row: its expressions become the query's targets directly.
    fn insert_row(
        &mut self,
        row: &[ast::Expr],
        table: &TableDef,
        goals: &[Goal<'_>],
        named: bool,
        _overriding: Option<Overriding>,
        out: &mut Vec<Expr>,
    ) -> Result<()> {
        check_width(row.len(), goals.len(), named, || {
            row.get(goals.len()).map_or(Loc::NONE, ast_loc)
        })?;
        for (expr, goal) in row.iter().zip(goals) {
            out.push(self.insert_value(expr, table, goal)?);
        }
        Ok(())
    }

    fn insert_value(
        &mut self,
        expr: &ast::Expr,
        table: &TableDef,
        goal: &Goal<'_>,
    ) -> Result<Expr> {
        if let ast::Expr::Default(_) = expr {
            return match goal.is_part() {
                true => Err(goal.no_default()),
                false => Ok(Expr::SetToDefault(goal.ty)),
            };
        }
        let bound = self.with_kind(ExprKind::InsertTarget, |b| b.expr(expr))?;
        let loc = bound.loc();
        self.coerce_to_goal(bound, table, goal, loc)
    }

    /// Several VALUES rows: a range-table entry, with DEFAULT replaced row by row.
    fn insert_rows(
        &mut self,
        rows: &[Vec<ast::Expr>],
        table: &TableDef,
        goals: &[Goal<'_>],
        named: bool,
        overriding: Option<Overriding>,
        query: &mut Query,
    ) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != rows[0].len() {
                let loc = row.first().map_or(Loc::NONE, ast_loc);
                return Err(at(
                    sql_error!(SYNTAX_ERROR, "VALUES lists must all be the same length"),
                    loc,
                ));
            }
            let mut out = Vec::with_capacity(row.len());
            self.insert_row(row, table, goals, named, overriding, &mut out)?;
            bound.push(out);
        }
        query.has_sublinks = self.scope().has_sublinks;
        for row in &mut bound {
            for (expr, goal) in row.iter_mut().zip(goals) {
                let column = usize::from(goal.column);
                let written = !matches!(expr, Expr::SetToDefault(_));
                check_identity(&table.columns[column], written, overriding)?;
                if !written {
                    *expr = self.default_value(table, column)?;
                }
            }
        }
        let width = bound[0].len();
        let infos: Vec<RelColumn> =
            goals[..width].iter().map(|goal| goal.as_column(table)).collect();
        query.rels.push(Rel {
            alias: "*VALUES*".into(),
            kind: RelKind::Values(bound),
            columns: infos.clone(),
            lateral: false,
            loc: Loc::NONE,
        });
        query.from.push(JoinTree::Rel(0));
        Ok(infos.iter().enumerate().map(|(i, info)| var(0, i, info)).collect())
    }

    fn insert_select(
        &mut self,
        select: &ast::Select,
        table: &TableDef,
        goals: &[Goal<'_>],
        named: bool,
        query: &mut Query,
    ) -> Result<Vec<Expr>> {
        let mut source = self.select(select, false)?;
        let width = source.visible().count();
        check_width(width, goals.len(), named, || {
            source.visible().nth(goals.len()).map_or(Loc::NONE, |t| t.expr.loc())
        })?;
        let mut infos = Vec::with_capacity(width);
        let simple = source.set_op.is_none();
        for (target, goal) in source.targets.iter_mut().filter(|t| !t.junk).zip(goals) {
            // Literals take the column's type where that can't change what the query means.
            if target.expr.type_id() == TypeId::UNKNOWN && simple {
                let expr = std::mem::replace(&mut target.expr, Expr::bool(true));
                let loc = expr.loc();
                target.expr = self.coerce_to_goal(expr, table, goal, loc)?;
            }
            infos.push((RelColumn::of_target(target), target.expr.loc()));
        }
        let rel_columns: Vec<RelColumn> = infos.iter().map(|(info, _)| info.clone()).collect();
        query.rels.push(Rel {
            alias: "*SELECT*".into(),
            kind: RelKind::Subquery(Box::new(source)),
            columns: rel_columns,
            lateral: false,
            loc: Loc::NONE,
        });
        query.from.push(JoinTree::Rel(0));
        let mut values = Vec::with_capacity(infos.len());
        for (i, ((info, loc), goal)) in infos.iter().zip(goals).enumerate() {
            values.push(self.coerce_to_goal(var(0, i, info), table, goal, *loc)?);
        }
        Ok(values)
    }

    /// What a column gets when no value is given.
    pub fn default_value(&mut self, table: &TableDef, column: usize) -> Result<Expr> {
        let def = &table.columns[column];
        // A generated column is computed once the others are known.
        if def.dropped || def.generated {
            return Ok(Expr::null(def.ty));
        }
        if let Some(identity) = &def.identity {
            let call = Expr::NextValue(NextValue { sequence: identity.sequence, ty: Ty::INT8 });
            return self.coerce_to_column(call, def.ty, &def.name, Loc::NONE);
        }
        let Some(text) = &def.default else { return Ok(Expr::null(def.ty)) };
        let parsed = self.catalog.parse_stored_expr(text)?;
        let expr = self.with_kind(ExprKind::Default, |b| b.expr(&parsed))?;
        self.coerce_to_column(expr, def.ty, &def.name, Loc::NONE)
    }

    /// The table's CHECK constraints over its columns as entry 0.
    pub fn checks(&mut self, table: &Arc<TableDef>) -> Result<Vec<(Box<str>, Expr)>> {
        if table.checks.is_empty() {
            return Ok(Vec::new());
        }
        let mut checks = Vec::with_capacity(table.checks.len());
        for check in &table.checks {
            let expr = self.table_expr(table, &check.expr, ExprKind::Check)?;
            let expr = self.boolean(expr, "CHECK")?;
            checks.push((check.name.clone(), expr));
        }
        Ok(checks)
    }

    /// A stored expression over the columns of one table, which is entry 0.
    pub fn table_expr(
        &mut self,
        table: &Arc<TableDef>,
        text: &str,
        kind: ExprKind,
    ) -> Result<Expr> {
        let parsed = self.catalog.parse_stored_expr(text)?;
        self.bind_over_table(table, &parsed, kind)
    }

    /// An expression over the columns of one table, which is entry 0.
    pub fn bind_over_table(
        &mut self,
        table: &Arc<TableDef>,
        expr: &ast::Expr,
        kind: ExprKind,
    ) -> Result<Expr> {
        let scopes = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope::default());
        let rel = self.target_rel(table, None);
        let index = self.scope().add_rel(rel);
        let item = self.scope().item_of(index, Some((table.schema_name.clone(), table.oid)));
        self.scope().items.push(item);
        let bound = self.with_kind(kind, |b| b.expr(expr));
        self.scopes = scopes;
        bound
    }

    pub(super) fn target_rel(&mut self, table: &Arc<TableDef>, alias: Option<&str>) -> Rel {
        self.note_collations(table);
        Rel {
            alias: alias.unwrap_or(&table.name).into(),
            kind: RelKind::Table(table.clone()),
            columns: RelColumn::all_of(table),
            lateral: false,
            loc: Loc::NONE,
        }
    }

    /// Enters the target of a statement as entry 0 and makes its name visible.
    pub(super) fn enter_target(&mut self, table: &Arc<TableDef>, alias: Option<&str>) -> u16 {
        let rel = self.target_rel(table, alias);
        let index = self.scope().add_rel(rel);
        let names = alias.is_none().then(|| (table.schema_name.clone(), table.oid));
        let item = self.scope().item_of(index, names);
        self.scope().items.push(item);
        index
    }

    /// The row of the table that is changed has the address of the row that the cursor is on.
    pub(super) fn current_of(&mut self, cursor: &ast::CursorRef) -> Result<Expr> {
        let Some(RelKind::Table(table)) = self.scope().rels.first().map(|rel| &rel.kind) else {
            return Err(SqlError::internal("WHERE CURRENT OF without a table"));
        };
        let current = CurrentOf {
            cursor: cursor.name.clone(),
            table: table.oid,
            table_name: table.name.clone(),
        };
        let address = super::scope::var_of(0, Column::Ctid, Ty::of(TypeId::TID));
        self.operator("=", address, Expr::CurrentOf(Box::new(current)), Loc::NONE)
    }

    pub(super) fn returning(&mut self, targets: &[ast::Target]) -> Result<Vec<Target>> {
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let mut bound = self.target_list(targets, ExprKind::Returning)?;
        self.resolve_targets(&mut bound)?;
        Ok(bound)
    }

    pub(super) fn update(&mut self, update: &ast::Update) -> Result<Modify> {
        self.scopes.push(Scope::default());
        let bound = self.update_in_scope(update);
        self.scopes.pop();
        bound
    }

    fn update_in_scope(&mut self, update: &ast::Update) -> Result<Modify> {
        if let Some(with) = &update.with {
            self.with_clause(with)?;
        }
        let table = self.target_table(&update.target, "update")?;
        self.enter_target(&table, update.alias.as_deref());
        let mut query = Query { from: vec![JoinTree::Rel(0)], ..Query::default() };
        query.from.extend(self.bind_from(&update.from)?);
        if let Some(filter) = &update.filter {
            query.filter = Some(self.with_kind(ExprKind::Where, |b| b.condition(filter, "WHERE"))?);
        }
        let sets = self.assignments(&table, &update.sets)?;
        let returning = self.returning(&update.returning)?;
        self.finish(&mut query)?;
        let checks = self.checks(&table)?;
        let generated = self.generated(&table)?;
        Ok(Modify {
            rel: 0,
            query,
            action: ModifyAction::Update { sets },
            written: Vec::new(),
            returning,
            checks,
            generated,
            ctes: Vec::new(),
            table,
        })
    }

    pub(super) fn assignments(
        &mut self,
        table: &Arc<TableDef>,
        sets: &[Assignment],
    ) -> Result<Vec<(u16, Expr)>> {
        let mut out: Vec<(u16, Expr)> = Vec::new();
        for set in sets {
            match set {
                Assignment::One { target, value } => {
                    let goal = Goal::of(table, target)?;
                    let value = self.set_value(table, &goal, value, target.loc)?;
                    self.push_set(&mut out, table, &goal, value)?;
                }
                Assignment::Many { targets, source } => {
                    self.assign_row(table, targets, source, &mut out)?
                }
            }
        }
        Ok(out)
    }

    fn set_value(
        &mut self,
        table: &Arc<TableDef>,
        goal: &Goal<'_>,
        value: &ast::Expr,
        loc: Loc,
    ) -> Result<Expr> {
        let def = &table.columns[usize::from(goal.column)];
        if let ast::Expr::Default(_) = value {
            return match goal.is_part() {
                true => Err(goal.no_default()),
                false => self.default_value(table, usize::from(goal.column)),
            };
        }
        let why = match &def.identity {
            Some(Identity { always: true, .. }) => "an identity column defined as GENERATED ALWAYS",
            _ if def.generated => "a generated column",
            _ => "",
        };
        if !why.is_empty() {
            return Err(sql_error!(
                GENERATED_ALWAYS,
                "column \"{}\" can only be updated to DEFAULT",
                def.name
            )
            .with_detail(format!("Column \"{}\" is {why}.", def.name)));
        }
        let bound = self.with_kind(ExprKind::UpdateSource, |b| b.expr(value))?;
        self.coerce_to_goal(bound, table, goal, loc)
    }

    /// `(a, b) = (x, y)` and `(a, b) = (SELECT …)`.
    fn assign_row(
        &mut self,
        table: &Arc<TableDef>,
        targets: &[ColumnTarget],
        source: &ast::Expr,
        out: &mut Vec<(u16, Expr)>,
    ) -> Result<()> {
        let count = |n: usize, loc: Loc| {
            if n == targets.len() {
                return Ok(());
            }
            Err(at(
                sql_error!(SYNTAX_ERROR, "number of columns does not match number of values"),
                loc,
            ))
        };
        match source {
            ast::Expr::Row(row) => {
                count(row.args.len(), row.loc)?;
                for (target, value) in targets.iter().zip(&row.args) {
                    let goal = Goal::of(table, target)?;
                    let value = self.set_value(table, &goal, value, target.loc)?;
                    self.push_set(out, table, &goal, value)?;
                }
                Ok(())
            }
            ast::Expr::SubLink(link) => {
                let (mut row, columns) =
                    self.with_kind(ExprKind::UpdateSource, |b| b.row_link(link))?;
                count(columns.len(), link.loc)?;
                for (i, (target, column)) in targets.iter().zip(&columns).enumerate() {
                    let goal = Goal::of(table, target)?;
                    let field = field_of(row.clone(), i, column);
                    row.kind = SubLinkKind::Row { again: true };
                    let value = self.coerce_to_goal(field, table, &goal, target.loc)?;
                    self.push_set(out, table, &goal, value)?;
                }
                Ok(())
            }
            _ => bail!(
                FEATURE_NOT_SUPPORTED,
                "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression"
            ),
        }
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<Modify> {
        self.scopes.push(Scope::default());
        let bound = self.delete_in_scope(delete);
        self.scopes.pop();
        bound
    }

    fn delete_in_scope(&mut self, delete: &ast::Delete) -> Result<Modify> {
        if let Some(with) = &delete.with {
            self.with_clause(with)?;
        }
        let table = self.target_table(&delete.target, "delete from")?;
        self.enter_target(&table, delete.alias.as_deref());
        let mut query = Query { from: vec![JoinTree::Rel(0)], ..Query::default() };
        query.from.extend(self.bind_from(&delete.using)?);
        if let Some(filter) = &delete.filter {
            query.filter = Some(self.with_kind(ExprKind::Where, |b| b.condition(filter, "WHERE"))?);
        }
        let returning = self.returning(&delete.returning)?;
        self.finish(&mut query)?;
        Ok(Modify {
            rel: 0,
            query,
            action: ModifyAction::Delete,
            written: Vec::new(),
            returning,
            checks: Vec::new(),
            generated: Vec::new(),
            ctes: Vec::new(),
            table,
        })
    }
}

pub(super) fn live_columns(table: &TableDef) -> impl Iterator<Item = (u16, &ColumnDef)> {
    table.columns.iter().enumerate().filter(|(_, c)| !c.dropped).map(|(i, c)| (i as u16, c))
}

/// The rows of a query that is a bare VALUES list.
fn plain_values(select: &ast::Select) -> Option<&[Vec<ast::Expr>]> {
    let plain = select.with.is_none()
        && select.order_by.is_empty()
        && select.limit.is_none()
        && select.offset.is_none()
        && select.locking.is_empty();
    match &select.body {
        SelectBody::Values(values) if plain => Some(&values.rows),
        _ => None,
    }
}

fn check_width(given: usize, wanted: usize, named: bool, loc: impl FnOnce() -> Loc) -> Result<()> {
    if given > wanted {
        return Err(at(
            sql_error!(SYNTAX_ERROR, "INSERT has more expressions than target columns"),
            loc(),
        ));
    }
    if named && given < wanted {
        return Err(sql_error!(SYNTAX_ERROR, "INSERT has more target columns than expressions"));
    }
    Ok(())
}

fn check_identity(column: &ColumnDef, written: bool, overriding: Option<Overriding>) -> Result<()> {
    if written && column.generated {
        return Err(sql_error!(
            GENERATED_ALWAYS,
            "cannot insert a non-DEFAULT value into column \"{}\"",
            column.name
        )
        .with_detail(format!("Column \"{}\" is a generated column.", column.name)));
    }
    if written
        && overriding.is_none()
        && let Some(Identity { always: true, .. }) = &column.identity
    {
        return Err(sql_error!(
            GENERATED_ALWAYS,
            "cannot insert a non-DEFAULT value into column \"{}\"",
            column.name
        )
        .with_detail(format!(
            "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
            column.name
        ))
        .with_hint("Use OVERRIDING SYSTEM VALUE to override."));
    }
    Ok(())
}

/// Where an expression of the syntax tree begins, as far as that is known without binding it.
pub(super) fn ast_loc(expr: &ast::Expr) -> Loc {
    match expr {
        ast::Expr::Const(c) => c.loc,
        ast::Expr::Lifted(c) => c.loc,
        ast::Expr::Column(c) => c.loc,
        ast::Expr::Param(p) => p.loc,
        ast::Expr::Func(f) => f.loc,
        ast::Expr::Cast(c) => ast_loc(&c.arg),
        ast::Expr::Binary(b) => ast_loc(&b.left),
        ast::Expr::Default(loc) => *loc,
        _ => Loc::NONE,
    }
}
