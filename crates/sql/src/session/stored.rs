//! Expressions in the catalogs: defaults, conditions, keys of indexes.
//!
//! They are stored as SQL text that means the same to every session, whatever its settings and its search
//! path: constants have their types, dates and times are ISO and UTC, objects such as a sequence stand as
//! their numbers. They are shown in the words of the session that asks.

use std::sync::Arc;

use crate::bind::deparse::Deparser;
use crate::bind::tree::{Column, Expr, Shape};
use crate::bind::{Binder, ExprKind, Params, walk};
use crate::catalog::TableDef;
use crate::catalog::ddl::Stored;
use crate::error::Result;
use crate::types::{Datum, FormatContext, IoContext, Names, Oid, TypeId, TypeMod};
use syntax::deparse::quote_ident;

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
                    match kind {
                        ExprKind::Check | ExprKind::IndexPredicate => {
                            binder.condition_of(expr, kind)
                        }
                        _ => binder.known(expr),
                    }
                }
            }
        })
    }

    /// The text to store for an expression that somebody wrote.
    pub(super) fn text_to_store(&mut self, text: &str, stored: Stored<'_>) -> Result<String> {
        let bound = self.bind_stored(text, stored)?;
        let table = stored.table();
        let full = self.neutral_text(&bound, &|at| table.map(|t| &*t.columns[at].name));
        // What does not come back as it was stays as it was written.
        let comes_back =
            self.bind_stored(&full, stored).is_ok_and(|again| walk::same(&again, &bound));
        Ok(if comes_back { full } else { text.to_owned() })
    }

    /// The stored text with another name for a column, from 0.
    pub(super) fn text_renamed(
        &mut self,
        text: &str,
        table: &Arc<TableDef>,
        kind: ExprKind,
        column: usize,
        name: &str,
    ) -> Result<String> {
        let bound = self.bind_stored(text, Stored::Over { table, kind })?;
        let names = |at: usize| Some(if at == column { name } else { &*table.columns[at].name });
        Ok(self.neutral_text(&bound, &names))
    }

    /// How a stored expression looks to this session.
    pub(super) fn shown_expr(&mut self, text: &str, table: &Arc<TableDef>) -> String {
        let Ok(bound) = self.bind_shown(text, table) else { return text.to_owned() };
        put(&bound, &self.io(), &|at| Some(&*table.columns[at].name))
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
        let format = FormatContext::new();
        let numbers = Numbers(self);
        let io = IoContext { format: &format, now: self.io().now, names: &numbers };
        put(expr, &io, name)
    }
}

fn put<'n>(expr: &Expr, io: &IoContext<'_>, column: &dyn Fn(usize) -> Option<&'n str>) -> String {
    let name = |expr: &Expr| {
        let found = match expr {
            Expr::Var(var) => match var.column {
                Column::User(at) => column(usize::from(at)),
                _ => None,
            },
            _ => None,
        };
        // What has no name here can't be bound again.
        found.map_or_else(|| "?".to_owned(), |name| quote_ident(name).into_owned())
    };
    Deparser { io, name: &name, one_line: false }.expr(expr)
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

    fn input_user_type(&self, type_id: TypeId, text: &str, typmod: TypeMod) -> Result<Datum> {
        self.0.input_user_type(type_id, text, typmod)
    }
}
