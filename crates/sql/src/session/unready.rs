//! Plans that are allowed, and can't be run: they read a materialized view that has no rows yet, or lock rows of one.
//! As in PostgreSQL that is said when they are run.

use crate::bind::needs::Needs;
use crate::catalog::TableKind;
use crate::error::{Result, SqlError, sql_error};
use crate::types::acl::Privileges;

use super::backend::Backend;
use super::prepare::Planned;

/// Why a plan can't be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unready {
    /// It locks rows of the materialized view of that name.
    Locks(Box<str>),
    /// That one has no rows yet.
    NotPopulated(Box<str>),
}

impl Unready {
    /// What keeps a statement with these needs from being run.
    pub fn of(needs: &Needs) -> Option<Unready> {
        let views = needs.tables.iter().map(|need| (&need.table, need.wanted));
        let mut views = views.filter(|(table, _)| table.kind == TableKind::MaterializedView);
        let is_locked = |wanted: Privileges| wanted.has(Privileges::UPDATE);
        if let Some((view, _)) = views.clone().find(|(_, wanted)| is_locked(*wanted)) {
            return Some(Unready::Locks(view.name.clone()));
        }
        let empty = views.find(|(view, _)| !view.populated);
        empty.map(|(view, _)| Unready::NotPopulated(view.name.clone()))
    }

    fn error(&self) -> SqlError {
        match self {
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

impl Backend {
    /// Refuses a plan that can't be run, though it may.
    #[inline]
    pub(super) fn must_be_ready(&self, planned: &Planned) -> Result<()> {
        planned.unready.as_ref().map_or(Ok(()), |unready| Err(unready.error()))
    }

    /// Likewise what is to be planned.
    pub(super) fn must_be_ready_for(&self, needs: &Needs) -> Result<()> {
        Unready::of(needs).map_or(Ok(()), |unready| Err(unready.error()))
    }

    /// Refuses what can't even be explained.
    pub(super) fn must_be_explained(&self, planned: &Planned) -> Result<()> {
        match &planned.unready {
            Some(unready @ Unready::Locks(_)) => Err(unready.error()),
            _ => Ok(()),
        }
    }
}
