//! What INSERT and UPDATE assign to: columns, and parts of columns.

use std::sync::Arc;

use syntax::ast::{ColumnTarget, Indirection, Loc};

use crate::catalog::{ColumnDef, TableDef};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::TypeId;

use super::query::RelColumn;
use super::scope::var;
use super::subscript::{no_parts, part_of};
use super::tree::{Expr, Subscript, SubscriptStep, Ty};
use super::types::display;
use super::{Binder, at};

/// A column that is assigned to, or a part of it.
#[derive(Clone, Copy)]
pub(super) struct Goal<'t> {
    /// From 0.
    pub column: u16,
    /// The type of what is assigned.
    pub ty: Ty,
    /// Where its name was written, and the way into it; `None`: in no list of columns.
    target: Option<&'t ColumnTarget>,
}

impl<'t> Goal<'t> {
    /// What a target names.
    ///
    /// # Errors
    /// `42703` for a column that there is not, `42804` for a part of what has none.
    pub fn of(table: &TableDef, target: &'t ColumnTarget) -> Result<Goal<'t>> {
        Goal::placed(table, target, target.loc)
    }

    /// The same in the list of INSERT: PostgreSQL does not tell then where a column stands that has no parts.
    pub fn of_list(table: &TableDef, target: &'t ColumnTarget) -> Result<Goal<'t>> {
        Goal::placed(table, target, Loc::NONE)
    }

    fn placed(table: &TableDef, target: &'t ColumnTarget, place: Loc) -> Result<Goal<'t>> {
        let column = named_column(table, target)?;
        let ty = part_type(&table.columns[usize::from(column)], target, place)?;
        Ok(Goal { column, ty, target: Some(target) })
    }

    /// A column as a whole, which no list names.
    pub fn whole(column: u16, def: &ColumnDef) -> Goal<'static> {
        Goal { column, ty: def.ty, target: None }
    }

    /// Where it was written.
    fn loc(&self) -> Loc {
        self.target.map_or(Loc::NONE, |target| target.loc)
    }

    /// `0A000` for DEFAULT as the value of a part.
    pub fn no_default(&self) -> SqlError {
        at(sql_error!(FEATURE_NOT_SUPPORTED, "cannot set an array element to DEFAULT"), self.loc())
    }

    pub fn is_part(&self) -> bool {
        self.target.is_some_and(|target| !target.steps.is_empty())
    }

    /// The values to come, as a column of a range-table entry.
    pub fn as_column(&self, table: &TableDef) -> RelColumn {
        let column = RelColumn::of_table(&table.columns[usize::from(self.column)]);
        RelColumn { ty: self.ty, ..column }
    }
}

impl Binder<'_, '_> {
    /// A value converted to what is assigned to.
    pub(super) fn coerce_to_goal(
        &mut self,
        expr: Expr,
        table: &TableDef,
        goal: &Goal<'_>,
        loc: Loc,
    ) -> Result<Expr> {
        let def = &table.columns[usize::from(goal.column)];
        if !goal.is_part() {
            return self.coerce_to_column(expr, def.ty, &def.name, loc);
        }
        // As in PostgreSQL, what is wrong with it is told of the part, whatever the expression.
        let (own, place) = (expr.ty(), goal.loc());
        match self.coerce(expr, goal.ty, crate::func::CastUse::Assignment, loc)? {
            Some(expr) => Ok(expr),
            None => Err(at(
                sql_error!(
                    DATATYPE_MISMATCH,
                    "subscripted assignment to \"{}\" requires type {} but expression is of type {}",
                    def.name,
                    display(goal.ty),
                    display(own)
                )
                .with_hint("You will need to rewrite or cast the expression."),
                place,
            )),
        }
    }

    /// The column's value once a part of it is `value`, another part maybe having been assigned to before; a whole
    /// column is just that.
    pub(super) fn assigned(&mut self, before: Expr, goal: &Goal<'_>, value: Expr) -> Result<Expr> {
        let Some(target) = goal.target.filter(|target| !target.steps.is_empty()) else {
            return Ok(value);
        };
        let of = before.type_id();
        let steps = target.steps.iter().map(|step| self.subscript(step, of));
        let steps = steps.collect::<Result<Vec<SubscriptStep>>>()?;
        let ty = before.ty();
        Ok(Expr::Subscript(Box::new(Subscript { arg: before, steps, assigned: Some(value), ty })))
    }

    /// Enters a column's new value. Only parts of a column can be assigned to more than once.
    pub(super) fn push_set(
        &mut self,
        out: &mut Vec<(u16, Expr)>,
        table: &Arc<TableDef>,
        goal: &Goal<'_>,
        value: Expr,
    ) -> Result<()> {
        let def = &table.columns[usize::from(goal.column)];
        let known = out.iter().position(|(column, _)| *column == goal.column);
        let Some(known) = known else {
            let info = RelColumn::of_table(def);
            let before = var(0, usize::from(goal.column), &info);
            let value = self.assigned(before, goal, value)?;
            out.push((goal.column, value));
            return Ok(());
        };
        let is_part = |expr: &Expr| matches!(expr, Expr::Subscript(s) if s.assigned.is_some());
        if !goal.is_part() || !is_part(&out[known].1) {
            bail!(SYNTAX_ERROR, "multiple assignments to same column \"{}\"", def.name);
        }
        let before = std::mem::replace(&mut out[known].1, Expr::null(def.ty));
        out[known].1 = self.assigned(before, goal, value)?;
        Ok(())
    }
}

/// The type of what a target names.
fn part_type(def: &ColumnDef, target: &ColumnTarget, place: Loc) -> Result<Ty> {
    let mut ty = def.ty;
    let mut slice = false;
    for step in &target.steps {
        match step {
            Indirection::Star => {
                bail!(SYNTAX_ERROR, "row expansion via \"*\" is not supported here")
            }
            Indirection::Field(field) => {
                let ty = if slice { def.ty } else { ty };
                return Err(at(
                    sql_error!(
                        DATATYPE_MISMATCH,
                        "cannot assign to field \"{field}\" of column \"{}\" because its type {} is not a composite type",
                        target.name,
                        display(ty)
                    ),
                    target.loc,
                ));
            }
            step => {
                slice |= matches!(step, Indirection::Slice { .. });
                ty = Ty { id: element_type(def, place)?, modifier: def.ty.modifier };
            }
        }
    }
    Ok(if slice { def.ty } else { ty })
}

fn element_type(def: &ColumnDef, place: Loc) -> Result<TypeId> {
    let part = part_of(def.ty.id).filter(|_| def.ty.id != TypeId::NAME);
    part.ok_or_else(|| at(no_parts(def.ty), place))
}

/// The column that a target names, or that it names a part of.
fn named_column(table: &TableDef, target: &ColumnTarget) -> Result<u16> {
    match super::dml::live_columns(table).find(|(_, c)| *c.name == *target.name) {
        Some((i, _)) => Ok(i),
        None if super::column::system_column(&target.name).is_some() => Err(at(
            sql_error!(FEATURE_NOT_SUPPORTED, "cannot assign to system column \"{}\"", target.name),
            target.loc,
        )),
        None => Err(at(
            sql_error!(
                UNDEFINED_COLUMN,
                "column \"{}\" of relation \"{}\" does not exist",
                target.name,
                table.name
            ),
            target.loc,
        )),
    }
}
