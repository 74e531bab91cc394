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

fn changes_in_with(query: &Statement) -> bool {
    let Statement::Select(select) = query else { return false };
    let ctes = select.with.iter().flat_map(|with| &with.ctes);
    ctes.into_iter().any(|cte| !matches!(*cte.query, Statement::Select(_)))
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

    /// Plans the query of CREATE TABLE AS if it has parameters, which whoever makes the table does not know, or changes
    /// rows in WITH, which an INSERT of its rows could not.
    pub(super) fn plan_to_fill(&mut self, query: &Statement) -> Result<()> {
        let beforehand = !self.given.types.is_empty() || changes_in_with(query);
        if beforehand && is_plannable(query) {
            let planned = self.plan(query, self.given.params())?;
            let (planned, params) = (planned.into(), self.given.values.clone());
            self.backend.executed = Some(Executed { planned, params, profile: None });
        }
        Ok(())
    }
}
