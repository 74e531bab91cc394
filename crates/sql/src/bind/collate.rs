//! Which collation an expression's value has, and which one a function or an operator compares by.
//!
//! As in PostgreSQL ("Collation Support" in its manual): a COLLATE clause decides explicitly, a column implicitly;
//! among implicit ones the database's own gives way to any other, and two others are a conflict, which is an error
//! only where something is compared. Statements in which nothing has a collation but its type's own are not looked
//! into at all.

use syntax::ast::{self, Loc, QualifiedName};

use crate::catalog::NamedRelation;
use crate::catalog::collation::{self, Named};
use crate::error::{Result, SqlError, sql_error};
use crate::func::{self, Order};
use crate::types::{Collation, Datum, Oid, TypeId};

use super::query::RelKind;
use super::tree::{Call, Collate, Column, Expr, SubLinkKind, Ty};
use super::{Binder, at, walk};

/// How strongly an expression has its collation; ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    None,
    Implicit,
    Conflict,
    Explicit,
}

/// What is known of the collation of an expression, or of several together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derived<'e> {
    strength: Strength,
    collation: Collation,
    /// In a conflict, the other one.
    other: Oid,
    /// There is a value of which nothing says what it is compared by.
    open: bool,
    /// Of an explicit one.
    name: &'e str,
    loc: Loc,
}

const NOTHING: Derived<'static> = Derived {
    strength: Strength::None,
    collation: Collation::NONE,
    other: Oid::INVALID,
    open: false,
    name: "",
    loc: Loc::NONE,
};

impl<'e> Derived<'e> {
    pub(super) fn implicit(collation: Collation, loc: Loc) -> Derived<'e> {
        let strength = if collation.is_valid() { Strength::Implicit } else { Strength::None };
        Derived { strength, collation, loc, ..NOTHING }
    }

    /// What this and another argument have together.
    pub(super) fn merge(&mut self, next: Derived<'e>) -> Result<()> {
        let open = self.open | next.open;
        if next.strength > self.strength {
            *self = Derived { open, ..next };
            return Ok(());
        }
        self.open = open;
        if next.strength < self.strength || next.collation == self.collation {
            return Ok(());
        }
        match self.strength {
            Strength::Implicit if self.collation == Collation::DEFAULT => {
                *self = Derived { open, ..next };
            }
            Strength::Implicit if next.collation != Collation::DEFAULT => {
                self.strength = Strength::Conflict;
                self.other = next.collation.oid;
                self.loc = next.loc;
            }
            Strength::Explicit => {
                return Err(at(
                    sql_error!(
                        COLLATION_MISMATCH,
                        "collation mismatch between explicit collations \"{}\" and \"{}\"",
                        self.name,
                        next.name
                    ),
                    next.loc,
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// What a comparison goes by.
    fn by(&self) -> (Collation, Order) {
        match self.strength {
            Strength::Conflict => (Collation::UNCLEAR, Order::Unclear),
            Strength::None if self.open => (Collation::UNCLEAR, Order::Unclear),
            _ => (self.collation, self.collation.rules().map_or(Order::Bytes, Order::Under)),
        }
    }

    /// The collation; none in a conflict.
    fn collation(&self) -> Collation {
        if self.strength == Strength::Conflict { Collation::NONE } else { self.collation }
    }
}

/// The collation of an expression's value; none, if its type has none or a conflict leaves it open.
pub fn of(expr: &Expr) -> Collation {
    derive(expr).map_or(Collation::NONE, |derived| derived.collation())
}

/// Does a comparison under one collation mean the same as under the other? Where nobody derived one it is that of
/// the type.
pub fn alike(a: Collation, b: Collation) -> bool {
    let open = !a.is_valid() || !b.is_valid();
    a == b || (open && a.rules().is_none() && b.rules().is_none())
}

/// May a comparison be answered by a key of an index? `own` is the collation of the key, whose type has
/// `of_type` by itself.
pub fn serves(own: Collation, of_type: Collation, comparison: Collation) -> bool {
    !own.is_valid() || own == comparison || (!comparison.is_valid() && own == of_type)
}

/// See the module's description.
pub(super) fn derive(expr: &Expr) -> Result<Derived<'_>> {
    let own = expr.ty().collation();
    let mut merged = NOTHING;
    match expr {
        Expr::Collate(c) => {
            derive(&c.arg)?;
            let (collation, name, loc) = (c.collation, &*c.name, c.loc);
            let strength = Strength::Explicit;
            return Ok(Derived { strength, collation, name, loc, ..NOTHING });
        }
        Expr::Var(var) => {
            let open = own.is_valid() && !var.collation.is_valid();
            return Ok(Derived { open, ..Derived::implicit(var.collation, var.loc) });
        }
        Expr::Field(field) => return Ok(Derived::implicit(field.collation, field.arg.loc())),
        Expr::SubLink(link) => {
            let column = match link.kind {
                SubLinkKind::Scalar | SubLinkKind::Array { .. } => link.query.visible().next(),
                _ => None,
            };
            let collation = column.map_or(Collation::NONE, |target| of(&target.expr));
            return Ok(Derived::implicit(collation, link.loc));
        }
        _ if !own.is_valid() => return Ok(NOTHING),
        Expr::Case(case) => {
            for result in case.whens.iter().map(|(_, then)| then).chain(&case.default) {
                merged.merge(derive(result)?)?;
            }
        }
        Expr::Subscript(subscript) => merged = derive(&subscript.arg)?,
        Expr::ArrayCast(cast) => merged = derive(&cast.arg)?,
        Expr::Aggregate(call) => merged = together(&call.args)?,
        Expr::Window(call) => merged = together(&call.args)?,
        _ => {
            let mut result = Ok(());
            walk::each_child(expr, &mut |child| {
                if result.is_ok() {
                    result = derive(child).and_then(|next| merged.merge(next));
                }
            });
            result?;
        }
    }
    if merged.strength == Strength::None {
        return Ok(Derived::implicit(own, expr.loc()));
    }
    Ok(merged)
}

fn together<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Result<Derived<'e>> {
    let mut merged = NOTHING;
    for expr in exprs {
        merged.merge(derive(expr)?)?;
    }
    Ok(merged)
}

impl Binder<'_, '_> {
    /// `arg COLLATE name`.
    pub(super) fn collate(&mut self, collate: &ast::CollateExpr) -> Result<Expr> {
        let arg = self.expr(&collate.arg)?;
        let arg = super::coerce::resolve_unknown(self, arg)?;
        collation::check_for(arg.type_id()).map_err(|error| at(error, collate.loc))?;
        let named = self.collation_named(&collate.collation)?;
        let Named { collation, schema, name } = named;
        self.collated = true;
        let collate = Collate { arg, collation, schema, name, loc: collate.loc };
        Ok(Expr::Collate(Box::new(collate)))
    }

    /// `COLLATION FOR (arg)`, which is known before anything is evaluated.
    pub(super) fn collation_for(&mut self, arg: &Expr) -> Result<Expr> {
        if arg.type_id() == TypeId::UNKNOWN {
            return Ok(Expr::null(Ty::TEXT));
        }
        collation::check_for(arg.type_id())?;
        let collation = derive(arg)?.collation();
        let name = match collation.is_valid() {
            true => self.catalog.lookup.collation_label(collation.oid)?,
            false => None,
        };
        Ok(Expr::constant(name.map_or(Datum::Null, Datum::text), Ty::TEXT))
    }

    /// The collation of that name.
    pub(super) fn collation_named(&mut self, name: &QualifiedName) -> Result<Named> {
        let named = self.catalog.lookup.collation(name).map_err(|error| at(error, name.loc))?;
        if let Some(record) = &mut self.catalog.record {
            let open = name.schema().is_none() && &*named.schema != "pg_catalog";
            let (schema, oid) = (open.then(|| named.schema.clone()), named.collation.oid);
            record.collations.push(NamedRelation { loc: name.loc, schema, oid });
        }
        Ok(named)
    }

    /// Notes that columns of the table may be compared by collations of their own.
    pub(super) fn note_collations(&mut self, table: &crate::catalog::TableDef) {
        self.collated |= table.is_collated();
    }

    /// Has a call compare by the collation of its arguments.
    pub(super) fn collate_call(&self, call: &mut Call) -> Result<()> {
        if !self.collated {
            return Ok(());
        }
        let by = together(&call.args)?.by();
        self.compare_by(call, by)
    }

    /// Likewise where an argument stands for a value with a collation that the expression at hand does not show.
    pub(super) fn collate_with(&self, call: &mut Call, hidden: (usize, Collation)) -> Result<()> {
        if !self.collated {
            return Ok(());
        }
        let mut derived = NOTHING;
        for (i, arg) in call.args.iter().enumerate() {
            derived.merge(match hidden {
                (at, collation) if at == i => Derived::implicit(collation, arg.loc()),
                _ => derive(arg)?,
            })?;
        }
        let by = derived.by();
        self.compare_by(call, by)
    }

    fn compare_by(&self, call: &mut Call, (collation, order): (Collation, Order)) -> Result<()> {
        if func::compares_records(call.func) {
            return call.args.iter().try_for_each(|arg| self.refuse_record(arg));
        }
        (call.collation, call.func) = (collation, func::under(call.func, order));
        Ok(())
    }

    /// What arguments that are compared with each other are compared by; an error in a conflict.
    pub(super) fn common_collation<'e>(
        &self,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<(Collation, Order)> {
        if !self.collated {
            return Ok((Collation::NONE, Order::Bytes));
        }
        Ok(together(exprs)?.by())
    }

    /// Makes sure that values can be sorted: that it is clear by what, and known how.
    pub(super) fn check_order(&mut self, expr: &Expr) -> Result<()> {
        self.check_clear(expr, "string comparison")
    }

    /// Likewise that they can be grouped.
    pub(super) fn check_grouping(&mut self, expr: &Expr) -> Result<()> {
        self.check_clear(expr, "string hashing")
    }

    fn check_clear(&mut self, expr: &Expr, what: &str) -> Result<()> {
        if !self.collated {
            return Ok(());
        }
        let derived = derive(expr)?;
        if derived.strength == Strength::Conflict {
            let (one, other) = (derived.collation.oid, derived.other);
            return Err(self.mismatch(one, other, derived.loc)?);
        }
        if matches!(derived.by(), (_, Order::Unclear)) {
            return Err(func::unclear_collation(what));
        }
        if matches!(expr.type_id(), TypeId::RECORD | TypeId::RECORD_ARRAY) {
            return self.refuse_record(expr);
        }
        Ok(())
    }

    /// Only makes sure that no two COLLATE clauses contradict each other.
    pub(super) fn check_explicit(&self, expr: &Expr) -> Result<()> {
        if self.collated { derive(expr).map(|_| ()) } else { Ok(()) }
    }

    /// Records are compared by bytes: refuses those with a field that has another order.
    fn refuse_record(&self, expr: &Expr) -> Result<()> {
        let simple = match expr {
            Expr::Row(row) => row.args.iter().all(|arg| match arg.type_id() {
                TypeId::RECORD | TypeId::RECORD_ARRAY => self.refuse_record(arg).is_ok(),
                _ => of(arg).rules().is_none(),
            }),
            Expr::Var(var) if var.column == Column::Whole => {
                let depth = self.scopes.len().checked_sub(1 + usize::from(var.level));
                let rel = depth.and_then(|at| self.scopes[at].rels.get(usize::from(var.rel)));
                rel.is_some_and(|rel| {
                    !matches!(rel.kind, RelKind::Join)
                        && rel.columns.iter().all(|column| column.collation.rules().is_none())
                })
            }
            _ => false,
        };
        if simple {
            return Ok(());
        }
        Err(at(
            SqlError::unsupported(
                "comparing records with fields of ICU collations is not supported yet",
            ),
            expr.loc(),
        ))
    }

    /// The collation of a column of a set operation or of VALUES; `may_be_open`: nothing is compared.
    pub(super) fn column_collation<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        may_be_open: bool,
    ) -> Result<Collation> {
        let mut exprs = exprs.into_iter();
        if !self.collated {
            return Ok(exprs.next().map_or(Collation::NONE, |expr| expr.ty().collation()));
        }
        let derived = together(exprs)?;
        if derived.strength == Strength::Conflict && !may_be_open {
            let (one, other) = (derived.collation.oid, derived.other);
            return Err(self.mismatch(one, other, derived.loc)?);
        }
        Ok(derived.collation())
    }

    /// The collation of a column of a recursive query, whose two terms must agree on it. Also in a statement that is not
    /// looked into otherwise: a `name` that has become `text` keeps its collation, which is not that of `text`.
    pub(super) fn recursive_collation(
        &mut self,
        exprs: [&Expr; 2],
        may_be_open: bool,
    ) -> Result<Collation> {
        if self.collated {
            return self.column_collation(exprs, may_be_open);
        }
        Ok(together(exprs)?.collation())
    }

    /// `42P21` of two columns.
    fn mismatch(&mut self, one: Oid, other: Oid, loc: Loc) -> Result<SqlError> {
        let one = self.catalog.lookup.collation_name(one)?;
        let other = self.catalog.lookup.collation_name(other)?;
        Ok(at(
            sql_error!(
                COLLATION_MISMATCH,
                "collation mismatch between implicit collations \"{one}\" and \"{other}\""
            )
            .with_hint(
                "You can choose the collation by applying the COLLATE clause to one or both expressions.",
            ),
            loc,
        ))
    }
}
