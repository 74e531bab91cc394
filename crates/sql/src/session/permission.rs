//! Whether the session's current role may do what a plan does.
//!
//! Everything that is planned is asked about here before it runs: [`super::portal::Run`] asks, whatever runs it, and so
//! does who sends something to the client beforehand, or goes the short way. That a plan is allowed to a role is noted in
//! it: nothing can be taken from the role without the plan being out of date (`catalog::rights`). What is not planned
//! asks for itself.

use crate::bind::needs::{Columns, Need, Needs};
use crate::catalog::rights::{Class, Rights, is_secret_view, no_privilege, of_column};
use crate::catalog::{FIRST_USER_OID, TableDef, TableKind};
use crate::error::Result;
use crate::types::Oid;
use crate::types::acl::Privileges;

use super::backend::Backend;
use super::prepare::Planned;

impl Backend {
    /// Refuses a plan that writes to what it must not, that the current role may not run, or that can't be run.
    #[inline]
    pub(super) fn admit(&self, planned: &Planned) -> Result<()> {
        self.refuse_if_read_only(planned)?;
        self.permit(planned)?;
        self.must_be_ready(planned)
    }

    /// Refuses a plan that the current role may not run.
    #[inline]
    pub(super) fn permit(&self, planned: &Planned) -> Result<()> {
        match planned.is_allowed_to(self.user_oid()) {
            true => Ok(()),
            false => self.look_into(planned),
        }
    }

    #[cold]
    fn look_into(&self, planned: &Planned) -> Result<()> {
        let role = self.user_oid();
        self.must_be_allowed(&planned.needs)?;
        planned.is_allowed_from_now_on(role);
        Ok(())
    }

    /// Refuses what the current role may not.
    pub(super) fn must_be_allowed(&self, needs: &Needs) -> Result<()> {
        for need in &needs.tables {
            let role = need.by.unwrap_or(self.user_oid());
            let rights = self.catalog.rights_of(&self.txn, role)?;
            if !rights.superuser && !self.is_allowed(need, &rights)? {
                return Err(no_privilege(Class::of(&need.table), &need.table.name));
            }
        }
        let rights = self.catalog.rights(&self.txn)?;
        if rights.superuser {
            return Ok(());
        }
        for function in &needs.functions {
            self.catalog.must_have(&self.txn, Class::Function, *function, Privileges::EXECUTE)?;
        }
        Ok(())
    }

    fn is_allowed(&self, need: &Need, rights: &Rights) -> Result<bool> {
        if need.table.kind == TableKind::View && need.table.oid < FIRST_USER_OID {
            let reads = need.wanted == Privileges::SELECT;
            return Ok(reads && !is_secret_view(&need.table.name));
        }
        let guard = self.catalog.guard_of_relation(&self.txn, &need.table)?;
        let rest = need.wanted.without(guard.privileges(rights).0);
        if rest.is_empty() {
            return Ok(true);
        }
        let by_columns = [
            (Privileges::SELECT, reads(&need.table, &need.selected, rights)),
            (Privileges::INSERT, changes(&need.table, &need.inserted, Privileges::INSERT, rights)),
            (Privileges::UPDATE, changes(&need.table, &need.updated, Privileges::UPDATE, rights)),
        ];
        let allowed = by_columns.iter().filter(|(_, is_allowed)| *is_allowed);
        Ok(allowed.fold(rest, |rest, (one, _)| rest.without(*one)).is_empty())
    }

    /// Whether the current role has any of these privileges for a relation.
    pub(super) fn has_any_of(&self, table: &TableDef, wanted: Privileges) -> Result<bool> {
        let rights = self.catalog.rights(&self.txn)?;
        if rights.superuser {
            return Ok(true);
        }
        let may = self.catalog.guard_of_relation(&self.txn, table)?.privileges(&rights).0;
        Ok(!may.and(wanted).is_empty())
    }

    /// Likewise, or refuses to go on.
    pub(super) fn must_have_any(&self, table: &TableDef, wanted: Privileges) -> Result<()> {
        match self.has_any_of(table, wanted)? {
            true => Ok(()),
            false => Err(no_privilege(Class::of(table), &table.name)),
        }
    }

    /// The columns (from 0) of a table that the current role may read; `None`: all of them.
    pub(super) fn readable_columns(&self, table: &TableDef) -> Option<Vec<u16>> {
        let Ok(rights) = self.catalog.rights(&self.txn) else { return Some(Vec::new()) };
        let whole = rights.superuser
            || self
                .catalog
                .guard_of_relation(&self.txn, table)
                .is_ok_and(|guard| guard.privileges(&rights).0.has(Privileges::SELECT));
        if whole {
            return None;
        }
        let may = |column: &u16| of_column(table, *column, &rights).0.has(Privileges::SELECT);
        Some(live(table).filter(may).collect())
    }

    /// Whether the current role has the rights of a role: one that the system is watched by, and the like.
    pub(super) fn has_rights_of(&self, role: Oid) -> Result<bool> {
        Ok(self.catalog.rights(&self.txn)?.has_rights_of(role))
    }
}

fn live(table: &TableDef) -> impl Iterator<Item = u16> {
    let columns = table.columns.iter().enumerate();
    columns.filter(|(_, column)| !column.dropped).map(|(at, _)| at as u16)
}

/// Whether a role may read these columns, which it may not read of all.
fn reads(table: &TableDef, columns: &Columns, rights: &Rights) -> bool {
    let may = |column: &u16| of_column(table, *column, rights).0.has(Privileges::SELECT);
    if columns.system || (columns.whole && !live(table).all(|column| may(&column))) {
        return false;
    }
    match columns.own.is_empty() && !columns.whole {
        // Only how many rows there are.
        true => live(table).any(|column| may(&column)),
        false => columns.own.iter().all(may),
    }
}

/// Likewise change them.
fn changes(table: &TableDef, columns: &[u16], wanted: Privileges, rights: &Rights) -> bool {
    let may = |column: &u16| of_column(table, *column, rights).0.has(wanted);
    match columns.is_empty() {
        true => live(table).any(|column| may(&column)),
        false => columns.iter().all(may),
    }
}
