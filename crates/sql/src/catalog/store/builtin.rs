//! The rows that a new directory's catalogs begin with: PostgreSQL's built-in objects under its OIDs.

use crate::bind::Ty;
use crate::catalog::AccessMethod;
use crate::catalog::collation::locales;
use crate::catalog::opclass::{self, CLASSES};
use crate::catalog::rights::{DATABASE_OWNER, MEMBERSHIPS, PREDEFINED};
use crate::func;
use crate::types::acl::{Acl, AclItem};
use crate::types::collation::RULES_VERSION;
use crate::types::{BUILTIN_TYPES, Collation, Datum, Oid, TypeId, TypeInfo};

use super::load::{BOOTSTRAP_SUPERUSER, PG_CATALOG, PUBLIC};
use super::row::{RowBuilder, vector};
use super::schema::{CatalogSchema, catalog, catalogs};

/// `template1`, `template0`, `postgres`.
pub const TEMPLATE1: Oid = Oid(1);
pub const TEMPLATE0: Oid = Oid(4);
pub const POSTGRES: Oid = Oid(5);
/// `pg_default`.
pub const DEFAULT_TABLESPACE: Oid = Oid(1663);
/// The heap and B-tree access methods.
pub const HEAP_AM: Oid = Oid(2);
/// The schema of the heaps for large values, `pg_toast`.
pub const TOAST_SCHEMA: Oid = Oid(99);
pub const BTREE_AM: Oid = Oid(403);
pub const HASH_AM: Oid = Oid(405);

/// A table's name and one row of it.
pub type BuiltinRow = (&'static str, Vec<Datum>);

/// Everything but the rows that describe the catalogs' own relations.
pub fn rows(superuser: &str) -> Vec<BuiltinRow> {
    let mut rows = Vec::new();
    namespaces(&mut rows);
    roles(superuser, &mut rows);
    databases(&mut rows);
    access_methods(&mut rows);
    rows.extend(BUILTIN_TYPES.iter().map(|info| ("pg_type", type_row(info))));
    functions(&mut rows);
    operators(&mut rows);
    casts(&mut rows);
    operator_classes(&mut rows);
    collations_and_languages(&mut rows);
    rows
}

fn namespaces(rows: &mut Vec<BuiltinRow>) {
    let all = [
        (PG_CATALOG, "pg_catalog", "system catalog schema"),
        (TOAST_SCHEMA, "pg_toast", "reserved schema for TOAST tables"),
        (PUBLIC, "public", "standard public schema"),
        (Oid(13_000), "information_schema", ""),
    ];
    for (oid, name, comment) in all {
        let row = RowBuilder::of("pg_namespace").oid("oid", oid).set("nspname", name);
        // PostgreSQL's pg_database_owner owns public; pg_dump knows these privileges as the usual ones.
        let row = match oid == PUBLIC {
            true => row.oid("nspowner", DATABASE_OWNER).set(
                "nspacl",
                privileges(&[(DATABASE_OWNER, "UC"), (Oid::INVALID, "U")], DATABASE_OWNER),
            ),
            false => row.oid("nspowner", BOOTSTRAP_SUPERUSER),
        };
        rows.push(("pg_namespace", row.build()));
        if !comment.is_empty() {
            let row = RowBuilder::of("pg_description").oid("objoid", oid);
            let row = row.oid("classoid", catalog("pg_namespace").oid).set("description", comment);
            rows.push(("pg_description", row.build()));
        }
    }
}

/// A list of who may do what.
fn privileges(items: &[(Oid, &str)], grantor: Oid) -> Datum {
    let item = |(grantee, letters): &(Oid, &str)| {
        let role = if grantee.is_valid() { format!("#{}", grantee.0) } else { String::new() };
        AclItem::from_stored(&format!("{role}={letters}/#{}", grantor.0)).expect("it is one")
    };
    Acl { items: items.iter().map(item).collect() }.datum()
}

fn roles(superuser: &str, rows: &mut Vec<BuiltinRow>) {
    rows.push(("pg_authid", role_row(BOOTSTRAP_SUPERUSER, superuser, true)));
    rows.extend(PREDEFINED.iter().map(|(oid, name)| ("pg_authid", role_row(*oid, name, false))));
    rows.extend(MEMBERSHIPS.iter().map(|pair| ("pg_auth_members", membership_row(*pair))));
}

/// The row of a role that may do everything, or of one that groups others.
pub(super) fn role_row(oid: Oid, name: &str, all: bool) -> Vec<Datum> {
    RowBuilder::of("pg_authid")
        .oid("oid", oid)
        .set("rolname", name)
        .set("rolsuper", all)
        .set("rolinherit", true)
        .set("rolcreaterole", all)
        .set("rolcreatedb", all)
        .set("rolcanlogin", all)
        .set("rolreplication", all)
        .set("rolbypassrls", all)
        .set("rolconnlimit", -1)
        .build()
}

/// The row that puts a member into a role.
pub(super) fn membership_row((role, member): (Oid, Oid)) -> Vec<Datum> {
    let row = RowBuilder::of("pg_auth_members").oid("roleid", role).oid("member", member);
    row.oid("grantor", BOOTSTRAP_SUPERUSER).build()
}

fn databases(rows: &mut Vec<BuiltinRow>) {
    let template = [(Oid::INVALID, "c"), (BOOTSTRAP_SUPERUSER, "CTc")];
    for (oid, name) in [(TEMPLATE1, "template1"), (TEMPLATE0, "template0"), (POSTGRES, "postgres")]
    {
        let row = RowBuilder::of("pg_database")
            .oid("oid", oid)
            .set("datname", name)
            .oid("datdba", BOOTSTRAP_SUPERUSER)
            .set("encoding", 6)
            .letter("datlocprovider", b'c')
            .set("datistemplate", oid != POSTGRES)
            .set("datallowconn", oid != TEMPLATE0)
            .set("datconnlimit", -1)
            .oid("dattablespace", DEFAULT_TABLESPACE)
            .set("datcollate", "C")
            .set("datctype", "C");
        let row = match oid == POSTGRES {
            true => row,
            false => row.set("datacl", privileges(&template, BOOTSTRAP_SUPERUSER)),
        };
        rows.push(("pg_database", row.build()));
    }
    for (oid, comment) in [
        (TEMPLATE1, "default template for new databases"),
        (TEMPLATE0, "unmodifiable empty database"),
        (POSTGRES, "default administrative connection database"),
    ] {
        let row = RowBuilder::of("pg_shdescription").oid("objoid", oid);
        let row = row.oid("classoid", catalog("pg_database").oid).set("description", comment);
        rows.push(("pg_shdescription", row.build()));
    }
    for (oid, name) in [(DEFAULT_TABLESPACE, "pg_default"), (Oid(1664), "pg_global")] {
        let row = RowBuilder::of("pg_tablespace").oid("oid", oid).set("spcname", name);
        rows.push(("pg_tablespace", row.oid("spcowner", BOOTSTRAP_SUPERUSER).build()));
    }
}

fn access_methods(rows: &mut Vec<BuiltinRow>) {
    let methods = [(HEAP_AM, "heap", b't'), (BTREE_AM, "btree", b'i'), (HASH_AM, "hash", b'i')];
    for (oid, name, kind) in methods {
        let row = RowBuilder::of("pg_am").oid("oid", oid).set("amname", name);
        rows.push(("pg_am", row.letter("amtype", kind).build()));
    }
}

/// PostgreSQL's collations, with the OIDs that one has on Debian.
fn collations(rows: &mut Vec<BuiltinRow>) {
    let row = |oid: Oid, name: &str, provider: u8, encoding: i32| {
        RowBuilder::of("pg_collation")
            .oid("oid", oid)
            .set("collname", name)
            .oid("collnamespace", PG_CATALOG)
            .oid("collowner", BOOTSTRAP_SUPERUSER)
            .letter("collprovider", provider)
            .set("collisdeterministic", true)
            .set("collencoding", encoding)
    };
    rows.push(("pg_collation", row(Collation::DEFAULT.oid, "default", b'd', -1).build()));
    for (oid, name, locale, encoding) in [
        (Collation::C.oid, "C", "C", -1),
        (Collation::POSIX.oid, "POSIX", "POSIX", -1),
        (Oid(12_340), "ucs_basic", "C", 6),
        (Oid(12_341), "C.utf8", "C.utf8", 6),
    ] {
        let row = row(oid, name, b'c', encoding).set("collcollate", locale);
        rows.push(("pg_collation", row.set("collctype", locale).build()));
    }
    for (oid, locale) in (12_342..).zip(locales()) {
        let row = row(Oid(oid), &format!("{locale}-x-icu"), b'i', -1);
        let row = row.set("colliculocale", locale).set("collversion", RULES_VERSION);
        rows.push(("pg_collation", row.build()));
    }
    for (oid, comment) in [
        (Collation::DEFAULT.oid, "database's default collation"),
        (Collation::C.oid, "standard C collation"),
        (Collation::POSIX.oid, "standard POSIX collation"),
    ] {
        let row = RowBuilder::of("pg_description").oid("objoid", oid);
        let row = row.oid("classoid", catalog("pg_collation").oid).set("description", comment);
        rows.push(("pg_description", row.build()));
    }
}

fn collations_and_languages(rows: &mut Vec<BuiltinRow>) {
    collations(rows);
    for (oid, name) in [(Oid(12), "internal"), (Oid(13), "c"), (Oid(14), "sql")] {
        let row = RowBuilder::of("pg_language").oid("oid", oid).set("lanname", name);
        let row = row.oid("lanowner", BOOTSTRAP_SUPERUSER).set("lanpltrusted", name == "sql");
        rows.push(("pg_language", row.build()));
    }
}

/// The OID of the built-in function of this name, as support functions are looked up.
fn proc_oid(name: &str) -> Oid {
    func::functions(name).next().map_or(Oid::INVALID, |f| f.oid)
}

fn type_row(info: &TypeInfo) -> Vec<Datum> {
    made_type_row(info, info.name, PG_CATALOG, BOOTSTRAP_SUPERUSER)
}

/// The row of a type of that name.
pub fn made_type_row(info: &TypeInfo, name: &str, schema: Oid, owner: Oid) -> Vec<Datum> {
    RowBuilder::of("pg_type")
        .oid("oid", info.id.oid())
        .set("typname", name)
        .oid("typnamespace", schema)
        .oid("typowner", owner)
        .set("typlen", info.len)
        .set("typbyval", info.by_value)
        .letter("typtype", info.kind)
        .letter("typcategory", info.category)
        .set("typispreferred", info.preferred)
        .set("typisdefined", true)
        .letter("typdelim", TypeInfo::DELIMITER)
        .oid("typelem", info.element.oid())
        .oid("typarray", info.array.oid())
        .oid("typinput", proc_oid(info.input))
        .oid("typoutput", proc_oid(info.output))
        .oid("typreceive", proc_oid(info.receive))
        .oid("typsend", proc_oid(info.send))
        .letter("typalign", info.align)
        .letter("typstorage", info.storage)
        .set("typtypmod", -1)
        .oid("typcollation", info.collation)
        .build()
}

/// The row of a relation's row type.
pub fn row_type_row(oid: TypeId, name: &str, schema: Oid, relation: Oid, owner: Oid) -> Vec<Datum> {
    RowBuilder::of("pg_type")
        .oid("oid", oid.oid())
        .set("typname", name)
        .oid("typnamespace", schema)
        .oid("typowner", owner)
        .set("typlen", -1i16)
        .letter("typtype", b'c')
        .letter("typcategory", b'C')
        .set("typisdefined", true)
        .letter("typdelim", b',')
        .oid("typrelid", relation)
        .letter("typalign", b'd')
        .letter("typstorage", b'x')
        .set("typtypmod", -1)
        .build()
}

fn type_vector(types: &[TypeId]) -> Datum {
    vector(TypeId::OID, types.iter().map(|t| Datum::Oid(t.oid())).collect())
}

fn functions(rows: &mut Vec<BuiltinRow>) {
    for f in func::all_functions() {
        let volatility = match f.volatility {
            func::Volatility::Immutable => b'i',
            func::Volatility::Stable => b's',
            func::Volatility::Volatile => b'v',
        };
        let row = proc_row(f.oid, f.name, f.args, f.result)
            .letter("prokind", f.facts.kind)
            .set("proisstrict", f.strict)
            .set("proretset", f.returns_set)
            .set("proleakproof", f.facts.leakproof)
            .letter("proparallel", f.facts.parallel)
            .set("procost", f.facts.cost)
            .set("prorows", f.facts.rows)
            .letter("provolatile", volatility)
            .set("pronargdefaults", f.defaults.len() as i16)
            .oid("provariadic", variadic_element(f.variadic, f.args));
        rows.push(("pg_proc", row.build()));
    }
    for agg in func::all_aggregates() {
        let row = proc_row(agg.oid, agg.name, agg.args, agg.result)
            .letter("prokind", b'a')
            .letter("provolatile", b'i')
            .oid("provariadic", variadic_element(agg.variadic, agg.args));
        rows.push(("pg_proc", row.build()));
        let row = RowBuilder::of("pg_aggregate").oid("aggfnoid", agg.oid).letter("aggkind", b'n');
        rows.push(("pg_aggregate", row.build()));
    }
}

fn variadic_element(variadic: bool, args: &[TypeId]) -> Oid {
    let last = args.last().filter(|_| variadic);
    let element = last.and_then(|t| crate::types::type_info(*t)).map(|info| info.element.oid());
    element.unwrap_or(Oid::INVALID)
}

fn proc_row(oid: Oid, name: &str, args: &[TypeId], result: TypeId) -> RowBuilder {
    let namespace = if func::is_of_information_schema(name) { Oid(13_000) } else { PG_CATALOG };
    RowBuilder::of("pg_proc")
        .oid("oid", oid)
        .set("proname", name)
        .oid("pronamespace", namespace)
        .oid("proowner", BOOTSTRAP_SUPERUSER)
        .oid("prolang", Oid(12))
        .set("procost", 1.0f32)
        .letter("proparallel", b's')
        .set("pronargs", args.len() as i16)
        .oid("prorettype", result.oid())
        .set("proargtypes", type_vector(args))
        .set("prosrc", name)
}

fn operators(rows: &mut Vec<BuiltinRow>) {
    for op in func::all_operators() {
        let kind = if op.left.is_valid() { b'b' } else { b'l' };
        let row = RowBuilder::of("pg_operator")
            .oid("oid", op.oid)
            .set("oprname", op.symbol)
            .oid("oprnamespace", PG_CATALOG)
            .oid("oprowner", BOOTSTRAP_SUPERUSER)
            .letter("oprkind", kind)
            .set("oprcanmerge", op.merges)
            .set("oprcanhash", op.hashes)
            .oid("oprleft", op.left.oid())
            .oid("oprright", op.right.oid())
            .oid("oprresult", op.result.oid())
            .oid("oprcom", op.commutator)
            .oid("oprnegate", op.negator)
            .oid("oprcode", op.func.oid);
        rows.push(("pg_operator", row.build()));
    }
}

fn casts(rows: &mut Vec<BuiltinRow>) {
    for cast in func::all_casts() {
        let (function, method) = match cast.method {
            func::CastMethod::Function(f) => (f.oid, b'f'),
            func::CastMethod::Binary => (Oid::INVALID, b'b'),
            func::CastMethod::InOut => (Oid::INVALID, b'i'),
        };
        let context = match cast.allowed {
            func::CastUse::Implicit => b'i',
            func::CastUse::Assignment => b'a',
            func::CastUse::Explicit => b'e',
        };
        let row = RowBuilder::of("pg_cast")
            .oid("oid", cast.oid)
            .oid("castsource", cast.source.oid())
            .oid("casttarget", cast.target.oid())
            .oid("castfunc", function)
            .letter("castcontext", context)
            .letter("castmethod", method);
        rows.push(("pg_cast", row.build()));
    }
}

fn operator_classes(rows: &mut Vec<BuiltinRow>) {
    let mut families: Vec<u32> = Vec::new();
    for class in CLASSES {
        let am = am_oid(class.method);
        let (family, name) = class.family;
        if !families.contains(&family) {
            families.push(family);
            let row = RowBuilder::of("pg_opfamily").oid("oid", Oid(family));
            let row = row.oid("opfmethod", am).set("opfname", name);
            let row = row.oid("opfnamespace", PG_CATALOG).oid("opfowner", BOOTSTRAP_SUPERUSER);
            rows.push(("pg_opfamily", row.build()));
        }
        let row = RowBuilder::of("pg_opclass")
            .oid("oid", Oid(class.oid))
            .oid("opcmethod", am)
            .set("opcname", class.name)
            .oid("opcnamespace", PG_CATALOG)
            .oid("opcowner", BOOTSTRAP_SUPERUSER)
            .oid("opcfamily", Oid(family))
            .oid("opcintype", class.input.oid())
            .set("opcdefault", class.is_default);
        rows.push(("pg_opclass", row.build()));
    }
}

/// The access method's `pg_am` row.
pub fn am_oid(method: AccessMethod) -> Oid {
    match method {
        AccessMethod::BTree => BTREE_AM,
        AccessMethod::Hash => HASH_AM,
    }
}

/// The rows that describe the catalogs themselves. They don't say where the catalogs are stored: that
/// follows from whose they are (`layout.rs`).
pub fn self_description() -> Vec<BuiltinRow> {
    let mut rows = Vec::new();
    for schema in catalogs() {
        rows.push(("pg_class", table_class_row(schema)));
        let row_type =
            row_type_row(schema.row_type, schema.name, PG_CATALOG, schema.oid, BOOTSTRAP_SUPERUSER);
        rows.push(("pg_type", row_type));
        for (i, column) in schema.columns.iter().enumerate() {
            let ty = Ty::of(column.type_id);
            let row = attribute_row(schema.oid, i as i16 + 1, column.name, ty, ty.collation());
            rows.push(("pg_attribute", row.set("attnotnull", column.not_null).build()));
        }
        for index in &schema.indexes {
            let class = class_row(index.oid, index.name, PG_CATALOG, b'i', index.columns.len())
                .oid("relam", BTREE_AM)
                .set("relisshared", schema.shared);
            rows.push(("pg_class", class.build()));
            let mut keys = Vec::new();
            for (i, column) in index.columns.iter().enumerate() {
                let of = &schema.columns[usize::from(*column)];
                let ty = Ty::of(of.type_id);
                let row = attribute_row(index.oid, i as i16 + 1, of.name, ty, ty.collation());
                rows.push(("pg_attribute", row.build()));
                keys.push((*column as i16 + 1, of.type_id, ty.collation()));
            }
            let row = index_row(index.oid, schema.oid, AccessMethod::BTree, &keys, &[])
                .set("indisunique", index.unique)
                .set("indisprimary", index.primary);
            rows.push(("pg_index", row.build()));
        }
    }
    rows
}

fn table_class_row(schema: &CatalogSchema) -> Vec<Datum> {
    class_row(schema.oid, schema.name, PG_CATALOG, b'r', schema.columns.len())
        .oid("relam", HEAP_AM)
        .oid("reltype", schema.row_type.oid())
        .set("relhasindex", !schema.indexes.is_empty())
        .set("relisshared", schema.shared)
        .letter("relreplident", b'n')
        .build()
}

/// A `pg_class` row with what all kinds have in common.
pub fn class_row(oid: Oid, name: &str, schema: Oid, kind: u8, columns: usize) -> RowBuilder {
    RowBuilder::of("pg_class")
        .oid("oid", oid)
        .set("relname", name)
        .oid("relnamespace", schema)
        .oid("relowner", BOOTSTRAP_SUPERUSER)
        .letter("relkind", kind)
        .letter("relpersistence", b'p')
        .set("relnatts", columns as i16)
        .set("reltuples", -1.0f32)
        .set("relispopulated", true)
        .letter("relreplident", if matches!(kind, b'r' | b'm') { b'd' } else { b'n' })
}

/// A `pg_attribute` row.
pub fn attribute_row(
    relation: Oid,
    number: i16,
    name: &str,
    ty: Ty,
    collation: Collation,
) -> RowBuilder {
    let info = crate::types::type_info(ty.id);
    let facts = |f: fn(TypeInfo) -> u8, default: u8| info.map_or(default, f);
    RowBuilder::of("pg_attribute")
        .oid("attrelid", relation)
        .set("attname", name)
        .oid("atttypid", ty.id.oid())
        .set("attstattarget", -1)
        .set("attlen", info.map_or(-1, |i| i.len))
        .set("attnum", number)
        .set("attndims", i32::from(info.is_some_and(TypeInfo::is_array)))
        .set("attcacheoff", -1)
        .set("atttypmod", ty.modifier)
        .set("attbyval", info.is_some_and(|i| i.by_value))
        .letter("attalign", facts(|i| i.align, b'd'))
        .letter("attstorage", facts(|i| i.storage, b'x'))
        .set("attislocal", true)
        .oid("attcollation", collation.oid)
}

/// A `pg_index` row; keys are column numbers (0: an expression), types and collations, `included` further columns. Operator classes are
/// the types' own.
pub fn index_row(
    index: Oid,
    table: Oid,
    method: AccessMethod,
    keys: &[(i16, TypeId, Collation)],
    included: &[i16],
) -> RowBuilder {
    let int2s =
        |values: Vec<i16>| vector(TypeId::INT2, values.into_iter().map(Datum::Int2).collect());
    let oids = |values: Vec<Oid>| vector(TypeId::OID, values.into_iter().map(Datum::Oid).collect());
    let class = |t| opclass::default_for(method, t).map_or(Oid::INVALID, |class| Oid(class.oid));
    RowBuilder::of("pg_index")
        .oid("indexrelid", index)
        .oid("indrelid", table)
        .set("indnatts", (keys.len() + included.len()) as i16)
        .set("indnkeyatts", keys.len() as i16)
        .set("indimmediate", true)
        .set("indisvalid", true)
        .set("indisready", true)
        .set("indislive", true)
        .set(
            "indkey",
            int2s(keys.iter().map(|(n, ..)| *n).chain(included.iter().copied()).collect()),
        )
        .set("indcollation", oids(keys.iter().map(|(.., collation)| collation.oid).collect()))
        .set("indclass", oids(keys.iter().map(|(_, t, _)| class(*t)).collect()))
        .set("indoption", int2s(vec![0; keys.len()]))
}
