//! Expressions in the catalogs: defaults, conditions, keys of indexes.
//!
//! They are stored as SQL text that means the same to every session, whatever its settings and its search
//! path: constants have their types, dates and times are ISO and UTC, objects such as a sequence stand as
//! their numbers. They are shown in the words of the session that asks.

use std::borrow::Cow;
use std::sync::Arc;

use crate::bind::deparse::Deparser;
use crate::bind::tree::{Column, Expr, Shape};
use crate::bind::{Binder, ExprKind, Params, walk};
use crate::catalog::ddl::Stored;
use crate::catalog::{FIRST_USER_OID, TableDef};
use crate::error::Result;
use crate::types::enums::{Labels, expression_name};
use crate::types::{
    Datum, FormatContext, IoContext, Names, Oid, TypeId, TypeMod, is_oid_alias, output_string,
};
use syntax::ast;
use syntax::deparse::{quote_ident, stored_ident};

use super::backend::Backend;

impl Backend {
    /// Binds a stored expression; columns are the table's, entry 0.
    pub(super) fn bind_stored(&mut self, text: &str, stored: Stored<'_>) -> Result<Expr> {
        self.with_catalog(|catalog| {
            let mut params = Params::none();
            let mut binder = Binder::new(catalog, &mut params);
            match stored {
                Stored::Default { column, ty } => binder.default_expr(text, column, ty),
                Stored::Over { table, kind } => {
                    let expr = binder.table_expr(table, text, kind)?;
                    finished(&mut binder, expr, kind)
                }
            }
        })
    }

    /// Binds an expression that is to be stored, as it stands in the statement.
    pub(super) fn bind_to_store(
        &mut self,
        table: &Arc<TableDef>,
        expr: &ast::Expr,
        kind: ExprKind,
    ) -> Result<Expr> {
        self.with_catalog(|catalog| {
            let mut params = Params::none();
            let mut binder = Binder::new(catalog, &mut params);
            let expr = binder.bind_over_table(table, expr, kind)?;
            finished(&mut binder, expr, kind)
        })
    }

    /// The text of an expression that means the same to every session, with the column `renamed.0` (from 0)
    /// under another name; `None` if such a text does not come back as the same expression.
    pub(super) fn lasting_text(
        &mut self,
        text: &str,
        stored: Stored<'_>,
        renamed: Option<(usize, &str)>,
    ) -> Result<Option<String>> {
        let bound = self.bind_stored(text, stored)?;
        let table = stored.table();
        let own = |at: usize| table.map(|t| &*t.columns[at].name);
        let full = self.neutral_text(&bound, &own);
        if !self.bind_stored(&full, stored).is_ok_and(|again| walk::same(&again, &bound)) {
            return Ok(None);
        }
        let Some((column, name)) = renamed else { return Ok(Some(full)) };
        let names = |at: usize| if at == column { Some(name) } else { own(at) };
        Ok(Some(self.neutral_text(&bound, &names)))
    }

    /// How a literal is written that is this value to every session; `None`: as it is. And the relation that it names.
    pub(super) fn lasting_literal(
        &self,
        id: TypeId,
        value: &Datum,
    ) -> Result<(Option<String>, Option<Oid>)> {
        if !is_oid_alias(id) {
            let text = self.neutrally(|io| output_string(id, value, io))?;
            return Ok((Some(text), None));
        }
        let oid = value.as_oid();
        if id == TypeId::REGCLASS {
            let named = |table: Arc<TableDef>| {
                let (schema, name) = (quote_ident(&table.schema_name), quote_ident(&table.name));
                (Some(format!("{schema}.{name}")), Some(table.oid))
            };
            return Ok(self.catalog.table(&self.txn, oid)?.map_or((None, None), named));
        }
        // The system's own have one name for all.
        Ok(((oid >= FIRST_USER_OID).then(|| oid.to_string()), None))
    }

    /// How a stored expression looks to this session.
    pub(super) fn shown_expr(&mut self, text: &str, table: &Arc<TableDef>) -> String {
        let Ok(bound) = self.bind_shown(text, table) else { return text.to_owned() };
        let column = |at: usize| Some(&*table.columns[at].name);
        put(&bound, &self.io(), quote_ident, &column, false)
    }

    /// Whether an index key's expression can stand without parentheses.
    pub(super) fn is_call(&mut self, text: &str, table: &Arc<TableDef>) -> bool {
        match self.bind_shown(text, table) {
            Ok(Expr::Call(call)) => matches!(call.shape, Shape::Function | Shape::SqlSyntax),
            Ok(Expr::Coalesce(_) | Expr::MinMax(_) | Expr::NullIf(_) | Expr::SqlValue(_)) => true,
            _ => false,
        }
    }

    fn bind_shown(&mut self, text: &str, table: &Arc<TableDef>) -> Result<Expr> {
        self.with_catalog(|catalog| {
            let mut params = Params::none();
            Binder::new(catalog, &mut params).table_expr(table, text, ExprKind::Check)
        })
    }

    fn neutral_text<'n>(&self, expr: &Expr, name: &dyn Fn(usize) -> Option<&'n str>) -> String {
        self.neutrally(|io| put(expr, io, stored_ident, name, true))
    }

    /// Writes something as no session's settings say.
    fn neutrally<T>(&self, write: impl FnOnce(&IoContext<'_>) -> T) -> T {
        let format = FormatContext::new();
        let numbers = Numbers(self);
        write(&IoContext { format: &format, now: self.io().now, names: &numbers })
    }
}

/// A condition, or a value of a known type.
fn finished(binder: &mut Binder<'_, '_>, expr: Expr, kind: ExprKind) -> Result<Expr> {
    match kind {
        ExprKind::Check | ExprKind::IndexPredicate => binder.condition_of(expr, kind),
        _ => binder.known(expr),
    }
}

fn put<'n>(
    expr: &Expr,
    io: &IoContext<'_>,
    quoted: fn(&str) -> Cow<'_, str>,
    column: &dyn Fn(usize) -> Option<&'n str>,
    keeps_lists: bool,
) -> String {
    let name = |expr: &Expr| {
        let found = match expr {
            Expr::Var(var) => match var.column {
                Column::User(at) => column(usize::from(at)),
                _ => None,
            },
            _ => None,
        };
        // What has no name here can't be bound again.
        found.map_or_else(|| "?".to_owned(), |name| quoted(name).into_owned())
    };
    Deparser { io, name: &name, one_line: false, keeps_lists }.expr(expr)
}

/// Objects by number: their names depend on who asks, and change.
struct Numbers<'a>(&'a Backend);

impl Names for Numbers<'_> {
    fn object_by_name(&self, alias: TypeId, text: &str) -> Result<Oid> {
        self.0.object_by_name(alias, text)
    }

    fn object_name(&self, _: TypeId, _: Oid) -> Result<Option<String>> {
        Ok(None)
    }

    fn enum_name(&self, type_id: TypeId) -> Result<Option<String>> {
        Ok(Some(expression_name(type_id)))
    }

    fn enum_labels(&self, type_id: TypeId) -> Result<Arc<Labels>> {
        self.0.enum_labels(type_id)
    }

    fn input_user_type(&self, type_id: TypeId, text: &str, typmod: TypeMod) -> Result<Datum> {
        self.0.input_user_type(type_id, text, typmod)
    }
}
