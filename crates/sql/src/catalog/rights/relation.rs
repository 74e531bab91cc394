//! Who may do what with a relation, as it is defined, and with its columns.

use storage::txn::Txn;

use crate::catalog::store::SessionCatalog;
use crate::catalog::{TableDef, TableKind};
use crate::error::Result;
use crate::types::acl::{Both, Privileges};

use super::{Class, Guard, Rights, no_privilege};

impl Class {
    /// That of a relation.
    pub fn of(relation: &TableDef) -> Class {
        match relation.kind {
            TableKind::Sequence => Class::Sequence,
            TableKind::View | TableKind::Virtual => Class::View,
            TableKind::MaterializedView => Class::MaterializedView,
            TableKind::Index => Class::Index,
            TableKind::Table | TableKind::Toast => Class::Table,
        }
    }
}

impl SessionCatalog {
    /// What guards a relation as it is defined; a catalog's definition says nothing of that.
    pub fn guard_of_relation(&self, txn: &Txn, relation: &TableDef) -> Result<Guard> {
        let class = Class::of(relation);
        if relation.is_catalog()
            && let Some(guard) = txn.briefly(|| self.guard(txn, Class::Table, relation.oid))?
        {
            return Ok(guard);
        }
        Ok(Guard {
            class,
            oid: relation.oid,
            name: relation.name.clone(),
            owner: relation.owner,
            acl: relation.acl.as_deref().cloned(),
        })
    }

    /// Refuses to go on unless the current role has all of these privileges for a relation, or for these columns of it
    /// (from 0).
    pub fn must_have_of(
        &self,
        txn: &Txn,
        relation: &TableDef,
        wanted: Privileges,
        columns: &[u16],
    ) -> Result<()> {
        let rights = self.rights(txn)?;
        if rights.superuser {
            return Ok(());
        }
        let has_all = self.guard_of_relation(txn, relation)?.privileges(&rights).0.has(wanted);
        let has = |column: &u16| of_column(relation, *column, &rights).0.has(wanted);
        match has_all || (!columns.is_empty() && columns.iter().all(has)) {
            true => Ok(()),
            false => Err(no_privilege(Class::of(relation), &relation.name)),
        }
    }
}

/// What a role may do with one column (from 0), and give to others, by what is said of that alone.
pub fn of_column(relation: &TableDef, column: u16, rights: &Rights) -> Both {
    let acl = relation.columns.get(usize::from(column)).and_then(|column| column.acl.as_ref());
    acl.map_or(Both::default(), |acl| acl.of_roles(|role| rights.has_rights_of(role)))
}
