//! EXPLAIN of CREATE TABLE AS and SELECT INTO: the query's plan is shown, and with ANALYZE the table is made.

use std::sync::Arc;

use syntax::ast::{CreateTableAs, Statement};

use crate::catalog::ddl;
use crate::error::Result;
use crate::exec::watch::Profile;
use crate::session::Session;
use crate::session::backend::Executed;
use crate::session::prepare::{Planned, is_select_into};
use crate::session::utility::select_into;
use crate::types::Datum;

/// What a statement makes of its query's rows; `None` for one that makes no table.
pub(super) fn created(statement: &Statement) -> Result<Option<CreateTableAs>> {
    Ok(match statement {
        Statement::CreateTableAs(create) => Some((**create).clone()),
        Statement::Select(select) if is_select_into(select) => Some(select_into(select)?),
        _ => None,
    })
}

impl Session {
    /// Whether the table would be made, and not passed over because it is there.
    pub(super) fn would_create(&mut self, create: &CreateTableAs) -> Result<bool> {
        ddl::would_create(&mut self.backend, create)
    }

    /// Makes the table of the rows of its query, which is planned, and watched. As in PostgreSQL, a READ ONLY
    /// transaction refuses what the query writes, not the table; and what is prepared may be a change with RETURNING.
    pub(super) fn create_watched(
        &mut self,
        create: CreateTableAs,
        planned: &Arc<Planned>,
        params: Vec<Datum>,
        profile: Arc<Profile>,
    ) -> Result<()> {
        let (planned, profile) = (Arc::clone(planned), Some(profile));
        self.backend.executed = Some(Executed { planned, params, profile });
        self.define_anyway(&Statement::CreateTableAs(Box::new(create))).map(drop)
    }
}
