//! Plans that are allowed, and can't be run: they read a materialized view that has no rows yet, or change or lock rows
//! of one. As in PostgreSQL that is said when they are run, and after what is not allowed.

use crate::bind::needs::{Need, Needs};
use crate::bind::query::{Cte, CteQuery, Modify, Statement as Bound};
use crate::catalog::TableKind;
use crate::error::{Result, SqlError, sql_error};
use crate::types::acl::Privileges;

use super::backend::Backend;
use super::prepare::Planned;

/// Why a plan can't be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unready {
    /// It changes rows of the materialized view of that name.
    Changes(Box<str>),
    /// It locks some of that one.
    Locks(Box<str>),
    /// That one has no rows yet.
    NotPopulated(Box<str>),
}

impl Unready {
    /// What keeps a statement with these needs from being run.
    pub fn of(bound: &Bound, needs: &Needs) -> Option<Unready> {
        let changed = match bound {
            Bound::Query(query) => changed_with(&query.ctes),
            Bound::Modify(modify) => changed_by(modify),
        };
        if let Some(view) = changed {
            return Some(Unready::Changes(view));
        }
        Unready::reads(needs)
    }

    /// Likewise what fills a relation.
    fn reads(needs: &Needs) -> Option<Unready> {
        let is_view = |need: &&Need| need.table.kind == TableKind::MaterializedView;
        let mut views = needs.tables.iter().filter(is_view);
        if let Some(locked) = views.find(|need| need.wanted.has(Privileges::UPDATE)) {
            return Some(Unready::Locks(locked.table.name.clone()));
        }
        let read = needs.tables.iter().filter(|need| need.is_run);
        let mut read = read.map(|need| &need.table);
        let empty = read.find(|table| !table.populated);
        empty.map(|view| Unready::NotPopulated(view.name.clone()))
    }

    fn error(&self) -> SqlError {
        match self {
            Unready::Changes(name) => {
                sql_error!(WRONG_OBJECT_TYPE, "cannot change materialized view \"{name}\"")
            }
            Unready::Locks(name) => {
                sql_error!(WRONG_OBJECT_TYPE, "cannot lock rows in materialized view \"{name}\"")
            }
            Unready::NotPopulated(name) => sql_error!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "materialized view \"{name}\" has not been populated"
            )
            .with_hint("Use the REFRESH MATERIALIZED VIEW command."),
        }
    }
}

/// The materialized view that one of these changes.
fn changed_with(ctes: &[Cte]) -> Option<Box<str>> {
    ctes.iter().find_map(|cte| match &cte.query {
        CteQuery::Modify(modify) => changed_by(modify),
        _ => None,
    })
}

fn changed_by(modify: &Modify) -> Option<Box<str>> {
    match modify.table.kind {
        TableKind::MaterializedView => Some(modify.table.name.clone()),
        _ => changed_with(&modify.ctes),
    }
}

impl Backend {
    /// Refuses a plan that can't be run, though it may.
    #[inline]
    pub(super) fn must_be_ready(&self, planned: &Planned) -> Result<()> {
        planned.unready.as_ref().map_or(Ok(()), |unready| Err(unready.error()))
    }

    /// Likewise what a relation is to be filled from.
    pub(super) fn must_be_ready_to_fill(&self, needs: &Needs) -> Result<()> {
        Unready::reads(needs).map_or(Ok(()), |unready| Err(unready.error()))
    }

    /// Refuses what can't even be explained.
    pub(super) fn must_be_explained(&self, planned: &Planned) -> Result<()> {
        match &planned.unready {
            None | Some(Unready::NotPopulated(_)) => Ok(()),
            Some(unready) => Err(unready.error()),
        }
    }
}
