//! GRANT and REVOKE of privileges on objects.
//!
//! Whoever has the right to give a privilege gives it: the owner, or who was given it WITH GRANT OPTION. A superuser gives
//! in the owner's name. What somebody has from several is kept apart, and goes when it is taken from whom it came from.

mod defaults;
mod targets;

use syntax::ast::{Grant, ObjectKind, RoleKind, RoleSpec};

use crate::catalog::TableDef;
use crate::catalog::rights::{Class, Guard, Rights, no_privilege};
use crate::catalog::store::Found;
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::acl::{Acl, AclItem, Around, Behavior, Privileges};
use crate::types::{Datum, Oid};

use super::Ddl;

/// What a statement gives or takes.
struct Given {
    grant: bool,
    /// All that there are of the object.
    all: bool,
    privileges: Privileges,
    /// By column, by name; all that there are of one is `None`.
    columns: Vec<(Option<Privileges>, Vec<Box<str>>)>,
    /// Invalid: everybody.
    grantees: Vec<Oid>,
    option: bool,
    behavior: Behavior,
}

impl Given {
    /// Puts it into an access list, in the name of a role.
    fn apply(
        &self,
        acl: &mut Acl,
        privileges: Privileges,
        grantor: Oid,
        around: Around<'_>,
    ) -> Result<()> {
        for grantee in &self.grantees {
            if self.grant && self.option && !grantee.is_valid() {
                bail!(INVALID_GRANT_OPERATION, "grant options can only be granted to roles");
            }
            // REVOKE takes the right to give with the privilege; GRANT OPTION FOR takes that alone.
            let none = Privileges::NONE;
            let item = AclItem {
                grantee: *grantee,
                grantor,
                privileges: if self.grant || !self.option { privileges } else { none },
                options: if !self.grant || self.option { privileges } else { none },
            };
            match self.grant {
                true => acl.give(item, around)?,
                false => acl.take(item, around, self.behavior)?,
            }
        }
        Ok(())
    }
}

impl Ddl<'_> {
    pub(super) fn grant(&mut self, grant: &Grant) -> Result<()> {
        if let Some(grantor) = &grant.granted_by
            && self.role_of(grantor)? != self.host.user()
        {
            bail!(FEATURE_NOT_SUPPORTED, "grantor must be current user");
        }
        let grantees = self.grantees(&grant.grantees)?;
        let kind = targets::kind_of(&grant.on);
        let class = targets::class_of(kind)?;
        let given = read(grant, class, kind, grantees)?;
        for object in self.granted_objects(&grant.on, class)? {
            match class {
                Class::Table | Class::Sequence => self.grant_on_relation(object, class, &given)?,
                class => self.grant_on_object(object, class, &given)?,
            }
        }
        Ok(())
    }

    /// Takes all of an object from a role that the current role can take.
    pub(in super::super) fn revoke_all(&mut self, class: Class, oid: Oid, role: Oid) -> Result<()> {
        let given = Given {
            grant: false,
            all: true,
            privileges: Privileges::NONE,
            columns: Vec::new(),
            grantees: vec![role],
            option: false,
            behavior: Behavior::Cascade,
        };
        match class {
            Class::Table => self.grant_on_relation(oid, class, &given),
            class => self.grant_on_object(oid, class, &given),
        }
    }

    /// Those who get something, or lose it; they are not dropped meanwhile.
    fn grantees(&mut self, roles: &[RoleSpec]) -> Result<Vec<Oid>> {
        let mut grantees = Vec::new();
        for role in roles {
            let oid = match role.kind {
                RoleKind::Public => Oid::INVALID,
                _ => self.role_of(role)?,
            };
            if oid.is_valid() {
                self.hold_role(oid)?;
            }
            grantees.push(oid);
        }
        Ok(grantees)
    }

    fn grant_on_object(&mut self, oid: Oid, class: Class, given: &Given) -> Result<()> {
        let (found, guard) = self.guarded(class, oid)?;
        if class == Class::Type && self.is_array_type(oid)? {
            return Err(sql_error!(
                INVALID_GRANT_OPERATION,
                "cannot set privileges of array types"
            )
            .with_hint("Set the privileges of the element type instead."));
        }
        let wanted = if given.all { class.all() } else { given.privileges };
        let mut acl = guard.effective();
        let (grantor, may) = self.grantor(&guard, &acl, wanted)?;
        let names = Told { name: &guard.name, column: None, given };
        let privileges = {
            let has_any = self.has_any(&guard);
            self.restricted(&names, wanted, may, has_any)?
        };
        self.apply(given, &mut acl, privileges, (grantor, guard.owner))?;
        self.write_acl(class, &found, &acl)?;
        self.changed(oid)
    }

    /// An object's row, locked, and what guards it by that.
    fn guarded(&self, class: Class, oid: Oid) -> Result<(Found, Guard)> {
        let (txn, store) = (self.txn(), self.store());
        let (table, index) = (class.table(), class.oid_index());
        let found = store.find_to_change(txn, table, index, &[Datum::Oid(oid)])?;
        let missing = || sql_error!(INTERNAL_ERROR, "{} {oid} is gone", class.word());
        let found = found.ok_or_else(missing)?;
        let guard = self.catalog.guard_of(txn, class, &found.row)?;
        Ok((found, guard))
    }

    /// Writes an object's access list into the row that it was read from.
    fn write_acl(&self, class: Class, found: &Found, acl: &Acl) -> Result<()> {
        let changes = [(class.acl_column(), acl.datum())];
        self.store().update_columns(self.txn(), class.table(), found, &changes)?;
        Ok(self.txn().next_command()?)
    }

    fn is_array_type(&self, oid: Oid) -> Result<bool> {
        let key = [Datum::Oid(oid)];
        let found = self.store().find_one(self.txn(), "pg_type", "pg_type_oid_index", &key)?;
        Ok(found.is_some_and(|f| f.row.oid("typelem").is_valid() && f.row.int2("typlen") == -1))
    }

    /// Puts what is given into an access list, in the name of a role, of an object of another.
    fn apply(
        &self,
        given: &Given,
        acl: &mut Acl,
        privileges: Privileges,
        (grantor, owner): (Oid, Oid),
    ) -> Result<()> {
        let has_rights_of = |role, of| self.has_rights_of(role, of);
        given.apply(acl, privileges, grantor, Around { owner, has_rights_of: &has_rights_of })
    }

    /// Whether a role has all that another has; one that is gone has nothing.
    pub(in super::super) fn has_rights_of(&self, role: Oid, of: Oid) -> bool {
        self.catalog.rights_of(self.txn(), role).is_ok_and(|rights| rights.has_rights_of(of))
    }

    /// In whose name the current role gives, and which of the privileges it may.
    fn grantor(&self, guard: &Guard, acl: &Acl, wanted: Privileges) -> Result<(Oid, Privileges)> {
        let rights = self.rights()?;
        if rights.superuser || rights.role == guard.owner {
            return Ok((guard.owner, wanted));
        }
        let mut best = (rights.role, Privileges::NONE);
        for role in rights.inherited() {
            let may = match *role == guard.owner {
                true => wanted,
                false => directly(acl, *role).and(wanted),
            };
            if may == wanted {
                return Ok((*role, may));
            }
            if may.count() > best.1.count() {
                best = (*role, may);
            }
        }
        Ok(best)
    }

    /// Whether the current role has anything of an object.
    fn has_any(&self, guard: &Guard) -> Result<()> {
        let (may, gives) = guard.privileges(&*self.rights()?);
        // A view is granted as a table is.
        let is_view = matches!(guard.class, Class::View | Class::MaterializedView);
        let class = if is_view { Class::Table } else { guard.class };
        match may.or(gives).is_empty() {
            true => Err(no_privilege(class, &guard.name)),
            false => Ok(()),
        }
    }

    /// The privileges that can be given; the client is told of those that can't.
    fn restricted(
        &mut self,
        told: &Told<'_>,
        wanted: Privileges,
        may: Privileges,
        has_any: Result<()>,
    ) -> Result<Privileges> {
        if may.is_empty() && !wanted.is_empty() {
            has_any?;
        }
        if let Some(warning) = told.warning(wanted, may) {
            self.host.notice("WARNING", warning);
        }
        Ok(may)
    }

    fn grant_on_relation(&mut self, oid: Oid, said: Class, given: &Given) -> Result<()> {
        let (found, guard) = self.guarded(Class::Table, oid)?;
        // Read after whoever was changing it is done.
        let table = self.table(oid)?;
        let (class, name) = (guard.class, &guard.name);
        match class {
            Class::Index => bail!(WRONG_OBJECT_TYPE, "\"{name}\" is an index"),
            class if said == Class::Sequence && class != Class::Sequence => {
                bail!(WRONG_OBJECT_TYPE, "\"{name}\" is not a sequence")
            }
            _ => {}
        }
        let mut wanted = if given.all { class.all() } else { given.privileges };
        if said == Class::Table && class == Class::Sequence {
            let others = wanted.without(Privileges::OF_SEQUENCE);
            if !others.is_empty() {
                let text = format!(
                    "sequence \"{name}\" only supports USAGE, SELECT, and UPDATE privileges"
                );
                self.host.notice("WARNING", sql_error!(INVALID_GRANT_OPERATION, "{text}"));
                wanted = wanted.and(Privileges::OF_SEQUENCE);
            }
        } else if class != Class::Sequence && wanted.has(Privileges::USAGE) {
            bail!(INVALID_GRANT_OPERATION, "invalid privilege type USAGE for table");
        }
        let mut of_columns = columns(given, &table)?;
        if class == Class::Sequence
            && of_columns.iter().any(|(_, privileges)| *privileges != Privileges::SELECT)
        {
            let text = format!("sequence \"{name}\" only supports SELECT column privileges");
            self.host.notice("WARNING", sql_error!(INVALID_GRANT_OPERATION, "{text}"));
            let only = |(at, of): (usize, Privileges)| (at, of.and(Privileges::SELECT));
            of_columns = of_columns.into_iter().map(only).collect();
            of_columns.retain(|(_, privileges)| !privileges.is_empty());
        }
        let before = guard.effective();
        if !wanted.is_empty() {
            let mut acl = before.clone();
            let (grantor, may) = self.grantor(&guard, &acl, wanted)?;
            let names = Told { name, column: None, given };
            let privileges = {
                let has_any = self.has_any(&guard);
                self.restricted(&names, wanted, may, has_any)?
            };
            self.apply(given, &mut acl, privileges, (grantor, guard.owner))?;
            self.write_acl(Class::Table, &found, &acl)?;
        }
        // What is taken of the whole is taken of its columns.
        let taken = wanted.and(Privileges::OF_COLUMN);
        if !given.grant && !taken.is_empty() {
            for (number, _) in table.live() {
                match of_columns.iter_mut().find(|(column, _)| *column == number) {
                    Some((_, privileges)) => *privileges = privileges.or(taken),
                    None if table.columns[number].acl.is_some() => {
                        of_columns.push((number, taken));
                    }
                    None => {}
                }
            }
        }
        for (column, privileges) in of_columns {
            self.grant_on_column(&table, &guard, &before, column, privileges, given)?;
        }
        self.changed(oid)
    }

    fn grant_on_column(
        &mut self,
        table: &TableDef,
        guard: &Guard,
        of_table: &Acl,
        column: usize,
        wanted: Privileges,
        given: &Given,
    ) -> Result<()> {
        let key = [Datum::Oid(table.oid), Datum::Int2(column as i16 + 1)];
        let (catalog, index) = ("pg_attribute", "pg_attribute_relid_attnum_index");
        let found = self.store().find_to_change(self.txn(), catalog, index, &key)?;
        let Some(found) = found else { return Ok(()) };
        let before = self.store().acl_of(self.txn(), &found.row, "attacl")?;
        let mut acl = before.clone().unwrap_or_default();
        let mut both = of_table.clone();
        both.items.extend(acl.items.iter().copied());
        let (grantor, may) = self.grantor(guard, &both, wanted)?;
        let name = table.columns[column].name.clone();
        let names = Told { name: &guard.name, column: Some(&name), given };
        let (own, rights) = (acl.clone(), self.rights()?);
        let has_any = match anything(&own, guard, &rights) {
            true => Ok(()),
            false => Err(sql_error!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied for column \"{name}\" of relation \"{}\"",
                guard.name
            )),
        };
        let privileges = self.restricted(&names, wanted, may, has_any)?;
        self.apply(given, &mut acl, privileges, (grantor, guard.owner))?;
        let value = if acl.items.is_empty() { Datum::Null } else { acl.datum() };
        if before.is_none() && value.is_null() {
            return Ok(());
        }
        self.store().update_columns(self.txn(), catalog, &found, &[("attacl", value)])?;
        Ok(self.txn().next_command()?)
    }
}

/// What a role was itself given the right to give.
fn directly(acl: &Acl, role: Oid) -> Privileges {
    let own = acl.items.iter().filter(|item| item.grantee == role);
    own.fold(Privileges::NONE, |sum, item| sum.or(item.options))
}

/// Whether a role has anything of a column, by its own list or by the table's.
fn anything(acl: &Acl, guard: &Guard, rights: &Rights) -> bool {
    let (may, gives) = acl.of_roles(|role| rights.has_rights_of(role));
    let (of_table, gives_of_table) = guard.privileges(rights);
    let all = may.or(gives).or(of_table).or(gives_of_table);
    !all.and(Privileges::OF_COLUMN).is_empty()
}

/// What the client is told of privileges that nobody gave.
struct Told<'a> {
    name: &'a str,
    column: Option<&'a str>,
    given: &'a Given,
}

impl Told<'_> {
    fn warning(&self, wanted: Privileges, may: Privileges) -> Option<SqlError> {
        let of = match self.column {
            Some(column) => format!("column \"{column}\" of relation \"{}\"", self.name),
            None => format!("\"{}\"", self.name),
        };
        let none = may.is_empty() && !wanted.is_empty();
        let fewer = may != wanted && !self.given.all;
        Some(match (self.given.grant, none, fewer) {
            (true, true, _) => {
                sql_error!(WARNING_PRIVILEGE_NOT_GRANTED, "no privileges were granted for {of}")
            }
            (true, _, true) => {
                let text = format!("not all privileges were granted for {of}");
                sql_error!(WARNING_PRIVILEGE_NOT_GRANTED, "{text}")
            }
            (false, true, _) => {
                let text = format!("no privileges could be revoked for {of}");
                sql_error!(WARNING_PRIVILEGE_NOT_REVOKED, "{text}")
            }
            (false, _, true) => {
                let text = format!("not all privileges could be revoked for {of}");
                sql_error!(WARNING_PRIVILEGE_NOT_REVOKED, "{text}")
            }
            _ => return None,
        })
    }
}

/// What a statement says of columns, by their numbers from 0.
fn columns(given: &Given, table: &TableDef) -> Result<Vec<(usize, Privileges)>> {
    let mut all: Vec<(usize, Privileges)> = Vec::new();
    for (privileges, names) in &given.columns {
        let privileges = privileges.unwrap_or(Privileges::OF_COLUMN);
        for name in names {
            let Some(at) = table.column(name) else { return Err(super::no_column(table, name)) };
            match all.iter_mut().find(|(column, _)| *column == at) {
                Some((_, known)) => *known = known.or(privileges),
                None => all.push((at, privileges)),
            }
        }
    }
    all.sort_by_key(|(column, _)| *column);
    Ok(all)
}

/// Reads what a statement gives, which must be privileges that there are of such objects.
fn read(grant: &Grant, class: Class, kind: ObjectKind, grantees: Vec<Oid>) -> Result<Given> {
    let mut given = Given {
        grant: grant.grant,
        all: grant.privileges.is_empty(),
        privileges: Privileges::NONE,
        columns: Vec::new(),
        grantees,
        option: grant.grant_option,
        behavior: if grant.cascade { Behavior::Cascade } else { Behavior::Restrict },
    };
    let fit = match class {
        Class::Table => Privileges::OF_TABLE.or(Privileges::OF_SEQUENCE),
        class => class.all(),
    };
    for said in &grant.privileges {
        let one = match &said.name {
            None => None,
            Some(word) => Some(Privileges::by_word(word).ok_or_else(|| {
                sql_error!(SYNTAX_ERROR, "unrecognized privilege type \"{word}\"")
            })?),
        };
        if said.columns.is_empty() {
            let one = one.unwrap_or(class.all());
            if !fit.has(one) {
                return Err(invalid(one, targets::word(kind)));
            }
            given.privileges = given.privileges.or(one);
            continue;
        }
        if class != Class::Table {
            bail!(INVALID_GRANT_OPERATION, "column privileges are only valid for relations");
        }
        if let Some(one) = one.filter(|one| !Privileges::OF_COLUMN.has(*one)) {
            return Err(invalid(one, "column"));
        }
        given.columns.push((one, said.columns.clone()));
    }
    Ok(given)
}

fn invalid(privilege: Privileges, word: &str) -> SqlError {
    let name = privilege.word();
    sql_error!(INVALID_GRANT_OPERATION, "invalid privilege type {name} for {word}")
}
