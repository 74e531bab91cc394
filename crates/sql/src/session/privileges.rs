//! Functions that tell who may do what: `has_table_privilege` and its kin, `pg_has_role`, and those of access lists.

use std::sync::Arc;

use crate::catalog::rights::{Class, Guard, Rights, of_column};
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, SqlState, bail, sql_error};
use crate::func::Function;
use crate::types::acl::{Acl, AclItem, Both, Privileges};
use crate::types::{Datum, Oid, TypeId, TypeMod, input};

use super::backend::Backend;
use super::names;

/// Answers if it is one of these functions.
pub(super) fn call(b: &mut Backend, func: &Function, args: &[Datum]) -> Result<Option<Datum>> {
    let (class, with_role) = match func.name {
        "has_table_privilege" | "has_any_column_privilege" => (Class::Table, 3),
        "has_sequence_privilege" => (Class::Sequence, 3),
        "has_database_privilege" => (Class::Database, 3),
        "has_schema_privilege" => (Class::Schema, 3),
        "has_function_privilege" => (Class::Function, 3),
        "has_type_privilege" => (Class::Type, 3),
        "has_language_privilege" => (Class::Language, 3),
        "has_tablespace_privilege" => (Class::Tablespace, 3),
        "has_column_privilege" => (Class::Table, 4),
        "pg_has_role" => return has_role(b, func, args).map(Some),
        "makeaclitem" => return make_item(args).map(Some),
        "aclcontains" => return contains(b, args).map(Some),
        "aclitemeq" => return Ok(Some((item(b, &args[0])? == item(b, &args[1])?).into())),
        _ => return Ok(None),
    };
    let (role, rest) = match args.len() == with_role {
        true => (Some(&args[0]), &args[1..]),
        false => (None, args),
    };
    let types = &func.args[args.len() - rest.len()..];
    let rights = match role {
        None => b.catalog.rights(&b.txn)?,
        Some(role) => rights_of(b, role)?,
    };
    let oid = match types[0] {
        TypeId::OID => rest[0].as_oid(),
        _ => object_named(b, class, rest[0].as_text())?,
    };
    let answer = match func.name {
        "has_column_privilege" => of_one_column(b, oid, &rest[1], rest[2].as_text(), &rights)?,
        "has_any_column_privilege" => of_any_column(b, oid, rest[1].as_text(), &rights)?,
        _ => of_object(b, class, oid, rest[1].as_text(), &rights)?,
    };
    Ok(Some(answer.map_or(Datum::Null, Datum::Bool)))
}

/// What a role may; everybody, by the name `public` and by 0.
fn rights_of(b: &Backend, role: &Datum) -> Result<Arc<Rights>> {
    let oid = match role {
        Datum::Oid(oid) => *oid,
        name if &**name.as_text() == "public" => Oid::INVALID,
        name => role_named(b, name.as_text())?,
    };
    match b.catalog.rights_of(&b.txn, oid) {
        Err(error) if error.sqlstate() == SqlState::UNDEFINED_OBJECT => Ok(Arc::default()),
        rights => rights,
    }
}

fn role_named(b: &Backend, name: &str) -> Result<Oid> {
    let found = names::role(&b.instance.store, &b.txn, name)?;
    let missing = || sql_error!(UNDEFINED_OBJECT, "role \"{name}\" does not exist");
    found.map(|found| found.row.oid("oid")).ok_or_else(missing)
}

fn object_named(b: &Backend, class: Class, name: &str) -> Result<Oid> {
    let by_alias = |alias| input(alias, TypeMod::NONE, name, &b.io()).map(|oid| oid.as_oid());
    match class {
        Class::Table => names::relation(b, name),
        Class::Sequence => {
            let oid = names::relation(b, name)?;
            let table = names::table_by_oid(b, oid)?;
            match table.is_some_and(|table| table.kind == TableKind::Sequence) {
                true => Ok(oid),
                false => bail!(WRONG_OBJECT_TYPE, "\"{name}\" is not a sequence"),
            }
        }
        Class::Function => by_alias(TypeId::REGPROCEDURE),
        Class::Type => by_alias(TypeId::REGTYPE),
        class => b.catalog.object_named(&b.txn, class, name),
    }
}

/// One of the privileges that a text lists, and whether the right to give it is meant.
type Wanted = (Privileges, bool);

/// Reads a list of privileges.
fn read(text: &str, known: Privileges) -> Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for word in text.split(',').map(str::trim) {
        let upper = word.to_ascii_uppercase();
        let (name, option) = match upper.strip_suffix(" WITH GRANT OPTION") {
            Some(name) => (name.trim_end(), true),
            None => (&*upper, false),
        };
        match Privileges::by_word(name).filter(|one| known.has(*one)) {
            Some(one) => wanted.push((one, option)),
            None => {
                bail!(INVALID_PARAMETER_VALUE, "unrecognized privilege type: \"{word}\"")
            }
        }
    }
    Ok(wanted)
}

fn has_any((may, gives): Both, wanted: &[Wanted]) -> bool {
    wanted.iter().any(|(one, option)| if *option { gives.has(*one) } else { may.has(*one) })
}

fn of_object(
    b: &Backend,
    class: Class,
    oid: Oid,
    text: &str,
    rights: &Rights,
) -> Result<Option<bool>> {
    let wanted = read(text, class.all())?;
    let Some(guard) = b.txn.briefly(|| b.catalog.guard(&b.txn, class, oid))? else {
        return Ok(None);
    };
    if class == Class::Sequence && guard.class != Class::Sequence {
        bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a sequence", guard.name);
    }
    // Whoever may make temporary tables may do everything in their schema.
    if class == Class::Schema && b.catalog.temporary() == Some(oid) {
        let database = b.catalog.database;
        let guard = b.txn.briefly(|| b.catalog.guard(&b.txn, Class::Database, database))?;
        let may = guard.is_some_and(|g| g.privileges(rights).0.has(Privileges::TEMPORARY));
        return Ok(Some(may));
    }
    Ok(Some(has_any(guard.privileges(rights), &wanted)))
}

/// A relation that is there, and what guards it.
fn relation(b: &Backend, oid: Oid) -> Result<Option<(Arc<TableDef>, Guard)>> {
    let Some(guard) = b.txn.briefly(|| b.catalog.guard(&b.txn, Class::Table, oid))? else {
        return Ok(None);
    };
    Ok(names::table_by_oid(b, oid)?.map(|table| (table, guard)))
}

fn of_one_column(
    b: &Backend,
    oid: Oid,
    column: &Datum,
    text: &str,
    rights: &Rights,
) -> Result<Option<bool>> {
    let wanted = read(text, Privileges::OF_COLUMN)?;
    let Some((table, guard)) = relation(b, oid)? else { return Ok(None) };
    let at = match column {
        Datum::Int2(number) => {
            let at = usize::try_from(number - 1).ok();
            match at.filter(|at| table.columns.get(*at).is_some_and(|column| !column.dropped)) {
                Some(at) => at,
                // System columns have no list of their own.
                None if *number < 0 => {
                    return Ok(Some(has_any(guard.privileges(rights), &wanted)));
                }
                None => return Ok(None),
            }
        }
        name => match table.column(name.as_text()) {
            Some(at) => at,
            None => bail!(
                UNDEFINED_COLUMN,
                "column \"{}\" of relation \"{}\" does not exist",
                name.as_text(),
                table.name
            ),
        },
    };
    let whole = has_any(guard.privileges(rights), &wanted);
    Ok(Some(whole || has_any(of_column(&table, at as u16, rights), &wanted)))
}

fn of_any_column(b: &Backend, oid: Oid, text: &str, rights: &Rights) -> Result<Option<bool>> {
    let wanted = read(text, Privileges::OF_COLUMN)?;
    let Some((table, guard)) = relation(b, oid)? else { return Ok(None) };
    let whole = has_any(guard.privileges(rights), &wanted);
    let mut columns = table.live();
    let any = columns.any(|(at, _)| has_any(of_column(&table, at as u16, rights), &wanted));
    Ok(Some(whole || any))
}

/// `pg_has_role`.
fn has_role(b: &Backend, func: &Function, args: &[Datum]) -> Result<Datum> {
    let rights = match args.len() {
        3 => match &args[0] {
            Datum::Oid(_) => rights_of(b, &args[0])?,
            name => {
                let oid = role_named(b, name.as_text())?;
                b.catalog.rights_of(&b.txn, oid)?
            }
        },
        _ => b.catalog.rights(&b.txn)?,
    };
    let at = args.len() - 2;
    let role = match func.args[at] {
        TypeId::OID => args[at].as_oid(),
        _ => role_named(b, args[at].as_text())?,
    };
    for word in args[at + 1].as_text().split(',').map(str::trim) {
        let holds = match &*word.to_ascii_uppercase() {
            "USAGE" => rights.has_rights_of(role),
            "MEMBER" => rights.is_member_of(role),
            "USAGE WITH GRANT OPTION"
            | "USAGE WITH ADMIN OPTION"
            | "MEMBER WITH GRANT OPTION"
            | "MEMBER WITH ADMIN OPTION" => rights.administers(role),
            _ => bail!(INVALID_PARAMETER_VALUE, "unrecognized privilege type: \"{word}\""),
        };
        if holds {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

fn item(b: &Backend, value: &Datum) -> Result<AclItem> {
    AclItem::parse(value.as_text().as_str(), b)
}

/// `makeaclitem(grantee, grantor, privileges, is_grantable)`.
fn make_item(args: &[Datum]) -> Result<Datum> {
    let every = Privileges::OF_TABLE.or(Class::Database.all()).or(Class::Function.all());
    let every = every.or(Class::Schema.all()).or(Privileges::SET).or(Privileges::ALTER_SYSTEM);
    let word = args[2].as_text().to_string();
    let Some(privileges) = Privileges::by_word(&word).filter(|one| every.has(*one)) else {
        bail!(INVALID_PARAMETER_VALUE, "unrecognized privilege type: \"{word}\"");
    };
    let options = if args[3].as_bool() { privileges } else { Privileges::NONE };
    let item =
        AclItem { grantee: args[0].as_oid(), grantor: args[1].as_oid(), privileges, options };
    Ok(Datum::text(item.stored()))
}

/// `aclitem[] @> aclitem`.
fn contains(b: &Backend, args: &[Datum]) -> Result<Datum> {
    let (acl, wanted) = (Acl::from_datum(&args[0], b)?, item(b, &args[1])?);
    let has = |own: &AclItem| {
        own.grantee == wanted.grantee
            && own.grantor == wanted.grantor
            && own.privileges.has(wanted.privileges)
            && own.options.has(wanted.options)
    };
    Ok(acl.items.iter().any(has).into())
}

/// The rows of `aclexplode`.
pub(super) fn exploded(b: &Backend, list: &Datum) -> Result<Vec<Vec<Datum>>> {
    let acl = Acl::from_datum(list, b)?;
    let rows = acl.items.iter().flat_map(|item| {
        item.privileges.each().map(|one| {
            vec![
                Datum::Oid(item.grantor),
                Datum::Oid(item.grantee),
                Datum::text(one.word()),
                item.options.has(one).into(),
            ]
        })
    });
    Ok(rows.collect())
}
