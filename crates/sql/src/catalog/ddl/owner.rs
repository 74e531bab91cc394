//! ALTER … OWNER TO: who a relation or a schema belongs to, and what goes with it.

use syntax::ast::{AlterOwner, ObjectKind, ObjectName, RoleSpec};

use crate::catalog::TableKind;
use crate::catalog::rights::Class;
use crate::catalog::store::Found;
use crate::catalog::store::lookup::pg_class;
use crate::error::{Result, bail, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::Ddl;

impl Ddl<'_> {
    /// ALTER DATABASE, SCHEMA, COLLATION and TYPE … OWNER TO; `None` for what can't be given away yet.
    pub(super) fn alter_owner(&mut self, alter: &AlterOwner) -> Option<Result<String>> {
        let (done, tag) = match alter.kind {
            ObjectKind::Database => (self.database_owner(alter), "ALTER DATABASE"),
            ObjectKind::Schema => (self.schema_owner(alter), "ALTER SCHEMA"),
            ObjectKind::Collation => (self.collation_owner(alter), "ALTER COLLATION"),
            ObjectKind::Type => (self.type_owner(alter), "ALTER TYPE"),
            _ => return None,
        };
        Some(done.map(|()| tag.to_owned()))
    }

    /// Gives a relation, which the statement has under its lock, to a role.
    pub(super) fn relation_owner(&mut self, oid: Oid, role: &RoleSpec) -> Result<()> {
        let owner = self.role_of(role)?;
        if self.owner_of(oid)? == owner {
            return Ok(());
        }
        self.must_be_member_of(owner)?;
        self.must_take(owner, Class::Schema, self.table(oid)?.schema)?;
        self.give_relation(oid, owner)
    }

    /// Likewise, whoever does it.
    pub(super) fn give_relation(&mut self, oid: Oid, owner: Oid) -> Result<()> {
        let relation = self.table(oid)?;
        let name = &relation.name;
        match relation.kind {
            TableKind::Index => {
                let warning =
                    sql_error!(WRONG_OBJECT_TYPE, "cannot change owner of index \"{name}\"")
                        .with_hint("Change the ownership of the index's table, instead.");
                self.host.notice("WARNING", warning);
                return Ok(());
            }
            TableKind::Sequence => {
                if let Some(table) = self.table_of_sequence(oid)? {
                    let table = self.table(table)?;
                    return Err(sql_error!(
                        FEATURE_NOT_SUPPORTED,
                        "cannot change owner of sequence \"{name}\""
                    )
                    .with_detail(format!(
                        "Sequence \"{name}\" is linked to table \"{}\".",
                        table.name
                    )));
                }
            }
            TableKind::Toast => {
                return Err(sql_error!(WRONG_OBJECT_TYPE, "\"{name}\" is a TOAST table"));
            }
            TableKind::Table
            | TableKind::View
            | TableKind::MaterializedView
            | TableKind::Virtual => {}
        }
        let mut all = vec![oid];
        all.extend(relation.indexes.iter().map(|index| index.oid));
        all.extend(relation.toast.iter().map(|heap| heap.oid));
        if relation.kind == TableKind::Table {
            all.extend(self.owned_sequences(oid, None)?);
        }
        for oid in all {
            let key = [Datum::Oid(oid)];
            let (txn, store) = (self.txn(), self.store());
            if let Some(found) = store.find_one(txn, "pg_class", "pg_class_oid_index", &key)? {
                self.give_row(Class::Table, &found, owner)?;
            }
            self.give_columns(oid, relation.owner, owner)?;
            self.changed(oid)?;
        }
        self.row_type_owner(oid, owner)
    }

    /// The type of a relation's rows belongs to whom the relation does.
    fn row_type_owner(&mut self, relation: Oid, owner: Oid) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        for found in store.scan(txn, "pg_type", |row| row.oid("typrelid") == relation)? {
            store.update_columns(txn, "pg_type", &found, &[("typowner", Datum::Oid(owner))])?;
        }
        Ok(txn.next_command()?)
    }

    fn owner_of(&self, relation: Oid) -> Result<Oid> {
        let key = [Datum::Oid(relation)];
        let found = self.store().find_one(self.txn(), "pg_class", "pg_class_oid_index", &key)?;
        let found = found.ok_or_else(|| sql_error!(INTERNAL_ERROR, "{relation} is gone"))?;
        Ok(found.row.oid("relowner"))
    }

    /// The table with one of whose columns a sequence goes.
    pub(super) fn table_of_sequence(&self, sequence: Oid) -> Result<Option<Oid>> {
        let key = [Datum::Oid(pg_class()), Datum::Oid(sequence)];
        let rows = self.store().find(self.txn(), "pg_depend", "pg_depend_depender_index", &key)?;
        let owned = rows.iter().find(|f| matches!(f.row.letter("deptype"), b'a' | b'i'));
        Ok(owned.map(|found| found.row.oid("refobjid")))
    }

    fn schema_owner(&mut self, alter: &AlterOwner) -> Result<()> {
        let ObjectName::Name(name) = &alter.object else {
            bail!(SYNTAX_ERROR, "a schema has a name");
        };
        let owner = self.role_of(&alter.new_owner)?;
        let name = name.last();
        let (txn, store) = (self.txn(), self.store());
        let key = [Datum::text(name)];
        let found = store.find_one(txn, "pg_namespace", "pg_namespace_nspname_index", &key)?;
        let Some(found) = found else {
            bail!(UNDEFINED_SCHEMA, "schema \"{name}\" does not exist");
        };
        if found.row.oid("nspowner") == owner {
            return Ok(());
        }
        self.must_own_row(Class::Schema, &found)?;
        self.must_be_member_of(owner)?;
        self.must_have(Class::Database, self.catalog.database, Privileges::CREATE)?;
        self.give_row(Class::Schema, &found, owner)?;
        self.changed(found.row.oid("oid"))
    }

    /// Gives what has a row to a role: its access list follows.
    pub(super) fn give_row(&self, class: Class, found: &Found, owner: Oid) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        let mut changes = vec![(class.owner_column(), Datum::Oid(owner))];
        let column = class.acl_column();
        if !column.is_empty()
            && let Some(acl) = store.acl_of(txn, &found.row, column)?
        {
            let old = found.row.oid(class.owner_column());
            changes.push((column, acl.with_owner(old, owner).datum()));
        }
        store.update_columns(txn, class.table(), found, &changes)?;
        Ok(txn.next_command()?)
    }

    /// The access lists of a relation's columns follow its owner.
    fn give_columns(&self, relation: Oid, old: Oid, owner: Oid) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        let (table, index) = ("pg_attribute", "pg_attribute_relid_attnum_index");
        for found in store.find(txn, table, index, &[Datum::Oid(relation)])? {
            if let Some(acl) = store.acl_of(txn, &found.row, "attacl")? {
                let changes = [("attacl", acl.with_owner(old, owner).datum())];
                store.update_columns(txn, table, &found, &changes)?;
            }
        }
        Ok(txn.next_command()?)
    }
}
