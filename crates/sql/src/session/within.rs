//! Statements that are not planned, and have one within that is: EXPLAIN, DECLARE CURSOR, CREATE TABLE AS, SELECT INTO.
//! A client of the extended protocol may have parameters in it.

use std::borrow::Cow;
use std::sync::Arc;

use syntax::ast::Statement;

use crate::bind::Params;
use crate::error::Result;
use crate::types::{Datum, TypeId};

use super::backend::Executed;
use super::prepare::{is_plannable, is_select_into};
use super::utility::select_into;
use super::{Planned, Session};

/// The parameters of the statement being run, if it is not planned.
#[derive(Clone, Default)]
pub(super) struct Given {
    pub types: Vec<TypeId>,
    pub values: Vec<Datum>,
}

impl Given {
    /// For planning what is within the statement.
    pub fn params(&self) -> Params {
        Params { types: self.types.clone(), open: false }
    }
}

/// The statement within one.
fn within(statement: &Statement) -> Result<Option<Cow<'_, Statement>>> {
    Ok(match statement {
        _ if is_plannable(statement) => Some(Cow::Borrowed(statement)),
        Statement::Explain(explain) => within(&explain.statement)?,
        Statement::DeclareCursor(declare) => within(&declare.query)?,
        Statement::CreateTableAs(create) => within(&create.query)?,
        Statement::Select(select) if is_select_into(select) => {
            Some(Cow::Owned(*select_into(select)?.query))
        }
        _ => None,
    })
}

impl Session {
    /// The types of the parameters in what is within a statement, beyond those that were declared.
    pub(super) fn infer_within(
        &mut self,
        statement: &Statement,
        declared: Vec<TypeId>,
    ) -> Result<Vec<TypeId>> {
        let Some(inner) = within(statement)? else { return Ok(declared) };
        self.begin_if_idle();
        Ok(self.plan(&inner, Params::open(declared))?.params)
    }

    /// Plans what EXPLAIN explains; with the parameters' values.
    pub(super) fn plan_within(&mut self, inner: &Statement) -> Result<(Arc<Planned>, Vec<Datum>)> {
        Ok((self.plan(inner, self.given.params())?.into(), self.given.values.clone()))
    }

    /// Plans the query of CREATE TABLE AS if it has parameters: whoever makes the table does not know them.
    pub(super) fn plan_with_given(&mut self, query: &Statement) -> Result<()> {
        if !self.given.types.is_empty() && is_plannable(query) {
            let planned = self.plan(query, self.given.params())?;
            let (planned, params) = (planned.into(), self.given.values.clone());
            self.backend.executed = Some(Executed { planned, params, profile: None });
        }
        Ok(())
    }
}
