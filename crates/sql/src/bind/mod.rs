//! Binder: gives the names of a statement their meaning and its expressions their types.
//!
//! The rules are PostgreSQL's: how names are looked up from the inside out, how the types of
//! literals and parameters are found, which operator or function a call means, what is implicit
//! about a cast. The result ([`query::Statement`]) refers to catalog objects directly.

pub mod deparse;
pub mod query;
pub mod tree;
pub mod volatility;
pub mod walk;

pub mod coerce;
pub mod collate;
mod column;
mod conflict;
mod dml;
mod expr;
mod from;
mod func;
mod grouping;
pub(crate) mod implied;
mod json;
pub mod locking;
mod named;
mod naming;
pub mod needs;
mod operator;
mod record;
mod recursion;
mod references;
mod rows;
pub mod same;
mod scope;
mod select;
mod setop;
mod stored;
mod sublink;
mod subscript;
mod target;
mod types;
mod values;
mod window;
mod with;

use syntax::ast::{self, Loc};

use crate::catalog::Catalog;
use crate::error::{Result, SqlError, bail};
use crate::types::{Oid, TypeId};

pub use coerce::{CastContext, is_binary_coercible};
pub use naming::key_name;
pub use query::{Query, Statement};
pub use scope::ExprKind;
pub use tree::{Expr, Ty};
pub use types::{display, element_of};

use scope::Scope;

/// Types of a statement's parameters, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Params {
    /// By number from 0; `INVALID` while open.
    pub types: Vec<TypeId>,
    /// Parameters may be used that were not declared, and get their type from their surroundings.
    pub open: bool,
}

impl Params {
    /// No parameters at all.
    pub fn none() -> Params {
        Params::default()
    }

    /// Declared types (zero: to be inferred), more allowed.
    pub fn open(types: Vec<TypeId>) -> Params {
        Params { types, open: true }
    }

    /// Whether there may be constants among them that were lifted out of the statement's text.
    fn may_be_lifted(&self) -> bool {
        !self.open && !self.types.is_empty()
    }

    /// The type of parameter `index` (from 0): `UNKNOWN` while open.
    fn get(&mut self, index: usize, number: u32, loc: Loc) -> Result<TypeId> {
        if number == 0 || number > 65535 {
            return Err(no_parameter(number, loc));
        }
        if index >= self.types.len() {
            if !self.open {
                return Err(no_parameter(number, loc));
            }
            self.types.resize(index + 1, TypeId::INVALID);
        }
        let id = self.types[index];
        Ok(if id.is_valid() { id } else { TypeId::UNKNOWN })
    }

    /// Gives an open parameter its type.
    fn resolve(&mut self, param: &tree::Param, id: TypeId) -> Result<()> {
        let slot = &mut self.types[usize::from(param.index)];
        if !slot.is_valid() || *slot == TypeId::UNKNOWN {
            *slot = id;
        } else if *slot != id {
            return Err(at(
                crate::error::sql_error!(
                    AMBIGUOUS_PARAMETER,
                    "inconsistent types deduced for parameter ${}",
                    param.index + 1
                )
                .with_detail(format!(
                    "{} versus {}",
                    types::display(Ty::of(*slot)),
                    types::display(Ty::of(id))
                )),
                param.loc,
            ));
        }
        Ok(())
    }
}

fn no_parameter(number: u32, loc: Loc) -> SqlError {
    at(crate::error::sql_error!(UNDEFINED_PARAMETER, "there is no parameter ${number}"), loc)
}

/// Points an error at a place of the statement.
pub fn at(error: SqlError, loc: Loc) -> SqlError {
    match loc.offset() {
        Some(offset) => error.at(offset),
        None => error,
    }
}

/// Binds one statement. Made anew for each.
pub struct Binder<'a, 'c> {
    pub catalog: &'a mut Catalog<'c>,
    pub params: &'a mut Params,
    /// Query levels from the outermost to the one at hand.
    scopes: Vec<Scope>,
    /// The views whose queries are at hand, from the outermost on.
    views: Vec<Oid>,
    /// What the expression at hand is for.
    kind: ExprKind,
    /// How many sub-selects there are in expressions.
    sublinks: u32,
    /// Something has a collation that is not its type's own.
    collated: bool,
    /// What was bound says something by this text's own constants, or by the settings and the time, that no other
    /// reading of the same key need say: a plan of it is not kept for others.
    momentary: bool,
}

impl<'a, 'c> Binder<'a, 'c> {
    pub fn new(catalog: &'a mut Catalog<'c>, params: &'a mut Params) -> Binder<'a, 'c> {
        Binder {
            catalog,
            params,
            scopes: Vec::new(),
            views: Vec::new(),
            kind: ExprKind::None,
            sublinks: 0,
            collated: false,
            momentary: false,
        }
    }

    /// Whether a plan of what was bound serves only the text at hand, here and now.
    pub fn is_momentary(&self) -> bool {
        self.momentary
    }

    /// A number that no other sub-select of the statement has.
    fn next_sublink(&mut self) -> u32 {
        self.sublinks += 1;
        self.sublinks
    }

    /// Binds a statement that can be planned.
    pub fn statement(&mut self, statement: &ast::Statement) -> Result<Statement> {
        let bound = match statement {
            ast::Statement::Select(select) => Statement::Query(Box::new(self.query(select)?)),
            ast::Statement::Insert(insert) => Statement::Modify(Box::new(self.insert(insert)?)),
            ast::Statement::Update(update) => Statement::Modify(Box::new(self.update(update)?)),
            ast::Statement::Delete(delete) => Statement::Modify(Box::new(self.delete(delete)?)),
            _ => bail!(SYNTAX_ERROR, "statement can't be planned"),
        };
        Ok(bound)
    }

    /// A whole query whose columns of unknown type become text, as at the top of a statement.
    pub fn query(&mut self, select: &ast::Select) -> Result<Query> {
        self.select(select, true)
    }

    /// Every parameter must have a type once the statement is bound.
    pub fn check_params(&self) -> Result<()> {
        for (i, id) in self.params.types.iter().enumerate() {
            if !id.is_valid() || *id == TypeId::UNKNOWN {
                bail!(
                    INDETERMINATE_DATATYPE,
                    "could not determine data type of parameter ${}",
                    i + 1
                );
            }
        }
        Ok(())
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("expressions are bound inside a scope")
    }

    /// What the expression at hand, or the one of the query so many queries outwards that it stands in, is for.
    fn kind_at(&self, level: u16) -> ExprKind {
        match level {
            0 => self.kind,
            level => self.scopes[self.scopes.len() - usize::from(level)].around,
        }
    }

    /// Runs `f` with the expression kind set, for messages about what is not allowed where.
    fn with_kind<T>(
        &mut self,
        kind: ExprKind,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.kind, kind);
        let result = f(self);
        self.kind = before;
        result
    }
}
