//! Sub-selects inside expressions.

use syntax::ast::{self, Loc};

use crate::error::{Result, SqlError, sql_error};
use crate::types::TypeId;

use super::query::RelColumn;
use super::tree::{Case, Expr, FieldSelect, Slot, SubLink, SubLinkKind, Ty};
use super::types::display;
use super::volatility::is_volatile_query;
use super::{Binder, at, walk};

impl Binder<'_, '_> {
    pub(super) fn sublink(&mut self, link: &ast::SubLink) -> Result<Expr> {
        self.may_stand_here(link.loc)?;
        let query = self.select(&link.query, true)?;
        self.scope().has_sublinks = true;
        let outputs: Vec<RelColumn> = query.visible().map(RelColumn::of_target).collect();
        let columns: Vec<Ty> = outputs.iter().map(|output| output.ty).collect();
        let too_many =
            || at(sql_error!(SYNTAX_ERROR, "subquery must return only one column"), link.loc);
        let (kind, ty) = match &link.kind {
            ast::SubLinkKind::Exists => (SubLinkKind::Exists, Ty::BOOL),
            ast::SubLinkKind::Scalar => match columns[..] {
                [only] => (SubLinkKind::Scalar, only),
                _ => return Err(too_many()),
            },
            ast::SubLinkKind::Array => match columns[..] {
                [only] => {
                    let of_arrays = || super::types::element_of(only.id).map(|_| (only.id, true));
                    let of_values = self.catalog.array_of(only.id).map(|id| (id, false));
                    let Some((id, nested)) = of_values.or_else(of_arrays) else {
                        return Err(at(
                            sql_error!(
                                UNDEFINED_OBJECT,
                                "could not find array type for data type {}",
                                display(only)
                            ),
                            link.loc,
                        ));
                    };
                    (SubLinkKind::Array { nested }, Ty::of(id))
                }
                _ => return Err(too_many()),
            },
            ast::SubLinkKind::Any { left, op } => {
                let default =
                    ast::Operator { schema: Vec::new(), symbol: "=".into(), loc: link.loc };
                let op = op.as_ref().unwrap_or(&default);
                (self.quantified_link(left, op, &outputs, false, link)?, Ty::BOOL)
            }
            ast::SubLinkKind::All { left, op } => {
                (self.quantified_link(left, op, &outputs, true, link)?, Ty::BOOL)
            }
        };
        let (id, query, loc) = (self.next_sublink(), Box::new(query), link.loc);
        let bound = Expr::SubLink(Box::new(SubLink { id, kind, query, ty, loc }));
        Ok(if rows_differ(&link.kind) { Expr::Not(Box::new(bound)) } else { bound })
    }

    fn may_stand_here(&self, loc: Loc) -> Result<()> {
        if !self.kind.allows_sublinks() {
            let words = match self.kind {
                super::ExprKind::Default => "DEFAULT expression",
                super::ExprKind::Check => "check constraint",
                super::ExprKind::IndexExpr => "index expression",
                super::ExprKind::IndexPredicate => "index predicate",
                super::ExprKind::Execute => "EXECUTE parameter",
                super::ExprKind::Using => "transform expression",
                super::ExprKind::CopyWhere => "COPY FROM WHERE condition",
                super::ExprKind::Generated => "column generation expression",
                kind => kind.words(),
            };
            return Err(at(
                sql_error!(FEATURE_NOT_SUPPORTED, "cannot use subquery in {words}"),
                loc,
            ));
        }
        Ok(())
    }

    /// `(a, b) = (SELECT …)`: NULL where there is no row.
    pub(super) fn row_compare_link(
        &mut self,
        op: &ast::Operator,
        left: &[ast::Expr],
        link: &ast::SubLink,
    ) -> Result<Expr> {
        self.may_stand_here(op.loc)?;
        let left = self.row_fields(left)?;
        let (row, columns) = self.row_link(link)?;
        check_width(left.len(), columns.len(), op.loc)?;
        let mut pairs = Vec::with_capacity(left.len());
        for (i, (left, column)) in left.into_iter().zip(&columns).enumerate() {
            pairs.push((left, field_of(row.clone(), i, column)));
        }
        let compared = self.compare_pairs(op, pairs)?;
        // Otherwise the fields are the same for all rows of the query at hand, and may be asked for apart, by an index.
        let by_row = is_volatile_query(&row.query) || walk::asks_around(&row.query);
        Ok(if columns.len() > 1 && by_row { of_one_run(row, compared) } else { compared })
    }

    /// A sub-select that gives its one row as a record, and the row's columns.
    pub(super) fn row_link(&mut self, link: &ast::SubLink) -> Result<(SubLink, Vec<RelColumn>)> {
        let query = self.select(&as_record(&link.query), true)?;
        self.scope().has_sublinks = true;
        let columns = query.rels[0].columns.clone();
        let (id, kind) = (self.next_sublink(), SubLinkKind::Row { again: false });
        let (query, ty) = (Box::new(query), Ty::of(TypeId::RECORD));
        Ok((SubLink { id, kind, query, ty, loc: link.loc }, columns))
    }

    fn quantified_link(
        &mut self,
        left: &ast::Expr,
        op: &ast::Operator,
        columns: &[RelColumn],
        all: bool,
        link: &ast::SubLink,
    ) -> Result<SubLinkKind> {
        self.check_operator_schema(op)?;
        let left: Vec<Expr> = match left {
            ast::Expr::Row(row) => {
                row.args.iter().map(|arg| self.expr(arg)).collect::<Result<_>>()?
            }
            single => vec![self.expr(single)?],
        };
        check_width(left.len(), columns.len(), link.loc)?;
        if left.len() > 1 && !matches!(&*op.symbol, "=" | "<>") {
            return Err(at(
                SqlError::unsupported(
                    "row comparison with a sub-select by an ordering operator is not supported yet",
                ),
                link.loc,
            ));
        }
        // Rows differ where not all of their columns are equal: `<> ALL` is asked as NOT (`= ANY`), and `<> ANY` as
        // NOT (`= ALL`).
        let differ = rows_differ(&link.kind);
        let (symbol, all) = if differ { ("=", !all) } else { (&*op.symbol, all) };
        let mut tests = Vec::with_capacity(left.len());
        for (i, (left, column)) in left.into_iter().zip(columns).enumerate() {
            let right = Expr::Slot(Slot { slot: i as u16, ty: column.ty });
            let mut test = self.plain_call(symbol, left, right, op.loc)?;
            self.collate_with(&mut test, (1, column.collation))?;
            if test.ty.id != TypeId::BOOL {
                return Err(at(
                    sql_error!(
                        DATATYPE_MISMATCH,
                        "row comparison operator must yield type boolean, not type {}",
                        display(test.ty)
                    ),
                    op.loc,
                ));
            }
            tests.push(test);
        }
        Ok(SubLinkKind::Quantified { tests, all })
    }
}

fn check_width(left: usize, columns: usize, loc: Loc) -> Result<()> {
    let wrong = match left.cmp(&columns) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => "many",
        std::cmp::Ordering::Greater => "few",
    };
    Err(at(sql_error!(SYNTAX_ERROR, "subquery has too {wrong} columns"), loc))
}

/// `SELECT row FROM (query) AS row`.
fn as_record(query: &ast::Select) -> ast::Select {
    // As no column is called.
    let name: ast::Name = "?row?".into();
    let alias = ast::Alias { name: name.clone(), columns: Vec::new() };
    let from = ast::FromSubquery { lateral: false, query: query.clone(), alias: Some(alias) };
    let value = ast::Expr::Column(ast::ColumnRef { path: vec![name], loc: Loc::NONE });
    let target = ast::Target { value, alias: None, loc: Loc::NONE };
    ast::Select::plain(vec![target], ast::FromItem::Subquery(Box::new(from)))
}

/// A field of the record that a sub-select gives.
pub(super) fn field_of(row: SubLink, at: usize, column: &RelColumn) -> Expr {
    Expr::Field(Box::new(FieldSelect {
        arg: Expr::SubLink(Box::new(row)),
        field: at as u16,
        ty: column.ty,
        collation: column.collation,
    }))
}

/// A comparison with the fields of the row that a sub-select gives, for which it is run once.
fn of_one_run(row: SubLink, mut compared: Expr) -> Expr {
    take_from_element(&mut compared, &row);
    let (arg, ty) = (Some(Expr::SubLink(Box::new(row))), Ty::BOOL);
    Expr::Case(Box::new(Case { arg, whens: Vec::new(), default: Some(compared), ty }))
}

fn take_from_element(expr: &mut Expr, row: &SubLink) {
    match expr {
        Expr::SubLink(link) if link.id == row.id => *expr = Expr::Element(row.ty),
        _ => walk::each_child_mut(expr, &mut |child| take_from_element(child, row)),
    }
}

/// Whether a row of several columns is asked to differ from those of the sub-select.
fn rows_differ(kind: &ast::SubLinkKind) -> bool {
    match kind {
        ast::SubLinkKind::Any { left: ast::Expr::Row(row), op: Some(op) }
        | ast::SubLinkKind::All { left: ast::Expr::Row(row), op } => {
            row.args.len() > 1 && &*op.symbol == "<>"
        }
        _ => false,
    }
}
