//! Names of output columns, and the expressions that are names themselves (`CURRENT_USER`, …).

use syntax::ast::{self, Indirection};

use crate::types::TypeId;

use super::Binder;
use super::tree::{Expr, SqlValue, SqlValueKind, Ty};

impl Binder<'_, '_> {
    /// The name that an output column gets when none is written.
    pub(super) fn output_name(&self, expr: &ast::Expr) -> Box<str> {
        name_of(expr).1.unwrap_or("?column?").into()
    }
}

/// The name of an index's column that is an expression.
pub fn key_name(expr: &ast::Expr) -> &str {
    match name_of(expr) {
        // A type's name is nothing to call a key by.
        (2.., Some(name)) => name,
        (_, Some(name)) if !matches!(expr, ast::Expr::Cast(_)) => name,
        _ => "expr",
    }
}

pub(super) fn sql_value(value: &ast::SqlValueExpr) -> Expr {
    use ast::SqlValueKind as K;
    let modifier = value.precision.map_or(-1, |p| p.min(6));
    let (kind, written, id) = match value.kind {
        K::CurrentDate => (SqlValueKind::CurrentDate, "current_date", TypeId::DATE),
        K::CurrentTime => (SqlValueKind::CurrentTime, "current_time", TypeId::TIMETZ),
        K::CurrentTimestamp => {
            (SqlValueKind::CurrentTimestamp, "current_timestamp", TypeId::TIMESTAMPTZ)
        }
        K::LocalTime => (SqlValueKind::LocalTime, "localtime", TypeId::TIME),
        K::LocalTimestamp => (SqlValueKind::LocalTimestamp, "localtimestamp", TypeId::TIMESTAMP),
        K::CurrentRole => (SqlValueKind::CurrentUser, "current_role", TypeId::NAME),
        K::CurrentUser => (SqlValueKind::CurrentUser, "current_user", TypeId::NAME),
        K::User => (SqlValueKind::CurrentUser, "user", TypeId::NAME),
        K::SessionUser => (SqlValueKind::SessionUser, "session_user", TypeId::NAME),
        K::CurrentCatalog => (SqlValueKind::CurrentCatalog, "current_catalog", TypeId::NAME),
        K::CurrentSchema => (SqlValueKind::CurrentSchema, "current_schema", TypeId::NAME),
    };
    Expr::SqlValue(Box::new(SqlValue { kind, written, ty: Ty { id, modifier } }))
}

/// How strongly an expression suggests a column name, and which: PostgreSQL's rules.
fn name_of(expr: &ast::Expr) -> (u8, Option<&str>) {
    match expr {
        ast::Expr::Column(c) => (2, c.path.last().map(|n| &**n)),
        ast::Expr::Indirection(ind) => {
            let field = ind.steps.iter().rev().find_map(|s| match s {
                Indirection::Field(name) => Some(&**name),
                _ => None,
            });
            match field {
                Some(name) => (2, Some(name)),
                None => name_of(&ind.arg),
            }
        }
        ast::Expr::Func(call) => (2, Some(call.name.last())),
        ast::Expr::NullIf(_) => (2, Some("nullif")),
        ast::Expr::Coalesce(_) => (2, Some("coalesce")),
        ast::Expr::Greatest(_) => (2, Some("greatest")),
        ast::Expr::Least(_) => (2, Some("least")),
        ast::Expr::Grouping(_) => (2, Some("grouping")),
        ast::Expr::Array(_) => (2, Some("array")),
        ast::Expr::Row(_) => (2, Some("row")),
        ast::Expr::Collate(c) => name_of(&c.arg),
        ast::Expr::Cast(cast) => match name_of(&cast.arg) {
            (strength @ 2.., name) => (strength, name),
            _ => (1, Some(cast.target.name.last())),
        },
        ast::Expr::Case(case) => match case.default.as_ref().map(name_of) {
            Some((strength @ 2.., name)) => (strength, name),
            _ => (1, Some("case")),
        },
        ast::Expr::SqlValue(v) => match sql_value(v) {
            Expr::SqlValue(value) => (2, Some(value.written)),
            _ => (0, None),
        },
        ast::Expr::SubLink(link) => match &link.kind {
            ast::SubLinkKind::Exists => (2, Some("exists")),
            ast::SubLinkKind::Array => (2, Some("array")),
            ast::SubLinkKind::Scalar => (2, first_column(&link.query)),
            _ => (0, None),
        },
        _ => (0, None),
    }
}

fn first_column(query: &ast::Select) -> Option<&str> {
    match &query.body {
        ast::SelectBody::Core(core) => {
            let target = core.targets.first()?;
            match &target.alias {
                Some(alias) => Some(alias),
                None => name_of(&target.value).1,
            }
        }
        ast::SelectBody::Values(_) => Some("column1"),
        ast::SelectBody::SetOp(op) => first_column(&op.left),
    }
}
