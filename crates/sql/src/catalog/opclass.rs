//! Operator classes of indexes: PostgreSQL's, of the types there are, under its OIDs.
//!
//! A key's bytes follow from its type alone (`types::keycode`), so a class is a name for what an index does anyway:
//! the classes of patterns order texts by bytes, whatever their collation. One that would order its type otherwise
//! (`bpchar_ops` of a text, `oid_ops` of an integer) is refused.

use syntax::ast::QualifiedName;

use crate::bind::{Ty, is_binary_coercible};
use crate::error::{Result, sql_error};
use crate::types::{Oid, TypeId, TypeInfo, type_name};

use super::AccessMethod;

/// An operator class.
#[derive(Debug)]
pub struct OpClass {
    pub method: AccessMethod,
    /// Its operator family, and the family's name.
    pub family: (u32, &'static str),
    pub oid: u32,
    pub name: &'static str,
    /// The type that it is declared for (`pg_opclass.opcintype`).
    pub input: TypeId,
    pub is_default: bool,
}

const fn class(
    method: AccessMethod,
    family: (u32, &'static str),
    (oid, name): (u32, &'static str),
    input: TypeId,
) -> OpClass {
    OpClass { method, family, oid, name, input, is_default: true }
}

const fn btree(family: (u32, &'static str), class_: (u32, &'static str), input: TypeId) -> OpClass {
    class(AccessMethod::BTree, family, class_, input)
}

const fn hash(family: (u32, &'static str), class_: (u32, &'static str), input: TypeId) -> OpClass {
    class(AccessMethod::Hash, family, class_, input)
}

/// One that has to be asked for by name.
const fn other(class: OpClass) -> OpClass {
    OpClass { is_default: false, ..class }
}

/// All of them, B-trees' first, in the order of their OIDs (PostgreSQL 15, `pg_opclass`).
pub const CLASSES: &[OpClass] = &[
    btree((1976, "integer_ops"), (1978, "int4_ops"), TypeId::INT4),
    btree((1976, "integer_ops"), (1979, "int2_ops"), TypeId::INT2),
    btree((1989, "oid_ops"), (1981, "oid_ops"), TypeId::OID),
    btree((434, "datetime_ops"), (3122, "date_ops"), TypeId::DATE),
    btree((1970, "float_ops"), (3123, "float8_ops"), TypeId::FLOAT8),
    btree((1976, "integer_ops"), (3124, "int8_ops"), TypeId::INT8),
    btree((1988, "numeric_ops"), (3125, "numeric_ops"), TypeId::NUMERIC),
    btree((1994, "text_ops"), (3126, "text_ops"), TypeId::TEXT),
    btree((434, "datetime_ops"), (3127, "timestamptz_ops"), TypeId::TIMESTAMPTZ),
    btree((434, "datetime_ops"), (3128, "timestamp_ops"), TypeId::TIMESTAMP),
    other(btree((2095, "text_pattern_ops"), (4217, "text_pattern_ops"), TypeId::TEXT)),
    other(btree((2095, "text_pattern_ops"), (4218, "varchar_pattern_ops"), TypeId::TEXT)),
    other(btree((2097, "bpchar_pattern_ops"), (4219, "bpchar_pattern_ops"), TypeId::BPCHAR)),
    btree((397, "array_ops"), (10_000, "array_ops"), TypeId::ANYARRAY),
    btree((424, "bool_ops"), (10_003, "bool_ops"), TypeId::BOOL),
    btree((426, "bpchar_ops"), (10_004, "bpchar_ops"), TypeId::BPCHAR),
    btree((428, "bytea_ops"), (10_006, "bytea_ops"), TypeId::BYTEA),
    btree((429, "char_ops"), (10_007, "char_ops"), TypeId::CHAR),
    other(btree((1974, "network_ops"), (10_009, "cidr_ops"), TypeId::INET)),
    btree((1970, "float_ops"), (10_012, "float4_ops"), TypeId::FLOAT4),
    btree((1974, "network_ops"), (10_015, "inet_ops"), TypeId::INET),
    btree((1982, "interval_ops"), (10_022, "interval_ops"), TypeId::INTERVAL),
    btree((1994, "text_ops"), (10_028, "name_ops"), TypeId::NAME),
    btree((1991, "oidvector_ops"), (10_032, "oidvector_ops"), TypeId::OIDVECTOR),
    btree((2994, "record_ops"), (10_034, "record_ops"), TypeId::RECORD),
    btree((1996, "time_ops"), (10_038, "time_ops"), TypeId::TIME),
    btree((2000, "timetz_ops"), (10_041, "timetz_ops"), TypeId::TIMETZ),
    other(btree((1994, "text_ops"), (10_044, "varchar_ops"), TypeId::TEXT)),
    btree((2789, "tid_ops"), (10_050, "tid_ops"), TypeId::TID),
    btree((5067, "xid8_ops"), (10_053, "xid8_ops"), TypeId::XID8),
    btree((2968, "uuid_ops"), (10_065, "uuid_ops"), TypeId::UUID),
    btree((3253, "pg_lsn_ops"), (10_067, "pg_lsn_ops"), TypeId::PG_LSN),
    btree((3522, "enum_ops"), (10_069, "enum_ops"), TypeId::ANYENUM),
    btree((4033, "jsonb_ops"), (10_088, "jsonb_ops"), TypeId::JSONB),
    hash((627, "array_ops"), (10_001, "array_ops"), TypeId::ANYARRAY),
    hash((427, "bpchar_ops"), (10_005, "bpchar_ops"), TypeId::BPCHAR),
    hash((431, "char_ops"), (10_008, "char_ops"), TypeId::CHAR),
    other(hash((1975, "network_ops"), (10_010, "cidr_ops"), TypeId::INET)),
    hash((435, "date_ops"), (10_011, "date_ops"), TypeId::DATE),
    hash((1971, "float_ops"), (10_013, "float4_ops"), TypeId::FLOAT4),
    hash((1971, "float_ops"), (10_014, "float8_ops"), TypeId::FLOAT8),
    hash((1975, "network_ops"), (10_016, "inet_ops"), TypeId::INET),
    hash((1977, "integer_ops"), (10_019, "int2_ops"), TypeId::INT2),
    hash((1977, "integer_ops"), (10_020, "int4_ops"), TypeId::INT4),
    hash((1977, "integer_ops"), (10_021, "int8_ops"), TypeId::INT8),
    hash((1983, "interval_ops"), (10_023, "interval_ops"), TypeId::INTERVAL),
    hash((1995, "text_ops"), (10_029, "name_ops"), TypeId::NAME),
    hash((1998, "numeric_ops"), (10_030, "numeric_ops"), TypeId::NUMERIC),
    hash((1990, "oid_ops"), (10_031, "oid_ops"), TypeId::OID),
    hash((1992, "oidvector_ops"), (10_033, "oidvector_ops"), TypeId::OIDVECTOR),
    hash((6194, "record_ops"), (10_035, "record_ops"), TypeId::RECORD),
    hash((1995, "text_ops"), (10_037, "text_ops"), TypeId::TEXT),
    hash((1997, "time_ops"), (10_039, "time_ops"), TypeId::TIME),
    hash((1999, "timestamptz_ops"), (10_040, "timestamptz_ops"), TypeId::TIMESTAMPTZ),
    hash((2001, "timetz_ops"), (10_042, "timetz_ops"), TypeId::TIMETZ),
    other(hash((1995, "text_ops"), (10_045, "varchar_ops"), TypeId::TEXT)),
    hash((2040, "timestamp_ops"), (10_046, "timestamp_ops"), TypeId::TIMESTAMP),
    hash((2222, "bool_ops"), (10_048, "bool_ops"), TypeId::BOOL),
    hash((2223, "bytea_ops"), (10_049, "bytea_ops"), TypeId::BYTEA),
    hash((2225, "xid_ops"), (10_051, "xid_ops"), TypeId::XID),
    hash((5032, "xid8_ops"), (10_052, "xid8_ops"), TypeId::XID8),
    hash((2226, "cid_ops"), (10_054, "cid_ops"), TypeId::CID),
    hash((2227, "tid_ops"), (10_055, "tid_ops"), TypeId::TID),
    other(hash((2229, "text_pattern_ops"), (10_056, "text_pattern_ops"), TypeId::TEXT)),
    other(hash((2229, "text_pattern_ops"), (10_057, "varchar_pattern_ops"), TypeId::TEXT)),
    other(hash((2231, "bpchar_pattern_ops"), (10_058, "bpchar_pattern_ops"), TypeId::BPCHAR)),
    hash((2969, "uuid_ops"), (10_066, "uuid_ops"), TypeId::UUID),
    hash((3254, "pg_lsn_ops"), (10_068, "pg_lsn_ops"), TypeId::PG_LSN),
    hash((3523, "enum_ops"), (10_070, "enum_ops"), TypeId::ANYENUM),
    hash((4034, "jsonb_ops"), (10_089, "jsonb_ops"), TypeId::JSONB),
];

fn of(method: AccessMethod) -> impl Iterator<Item = &'static OpClass> {
    CLASSES.iter().filter(move |class| class.method == method)
}

/// The class that an index on values of this type has unless told otherwise (`GetDefaultOpClass`).
pub fn default_for(method: AccessMethod, type_id: TypeId) -> Option<&'static OpClass> {
    let find = |input| of(method).find(|class| class.is_default && class.input == input);
    find(type_id).or_else(|| match type_id {
        TypeId::VARCHAR | TypeId::UNKNOWN => find(TypeId::TEXT),
        TypeId::CIDR => find(TypeId::INET),
        id if crate::types::type_info(id).is_some_and(TypeInfo::is_array) => find(TypeId::ANYARRAY),
        id if id.is_enum() => find(TypeId::ANYENUM),
        id if is_binary_coercible(id, TypeId::OID) => find(TypeId::OID),
        _ => None,
    })
}

/// The class of this OID, if it is one that indexes can have.
pub fn by_oid(oid: Oid) -> Option<&'static OpClass> {
    CLASSES.iter().find(|class| class.oid == oid.0)
}

/// The class that a statement names; `42704` if the access method has none of that name. The schema, if the name has
/// one, has been found.
pub fn named(method: AccessMethod, name: &QualifiedName) -> Result<&'static OpClass> {
    let here = name.schema().is_none_or(|schema| schema == "pg_catalog");
    let found = of(method).find(|class| class.name == name.last()).filter(|_| here);
    found.ok_or_else(|| {
        let name = name.parts.join(".");
        let method = method.name();
        sql_error!(
            UNDEFINED_OBJECT,
            "operator class \"{name}\" does not exist for access method \"{method}\""
        )
    })
}

impl OpClass {
    /// Does it order texts by their bytes, whatever the key's collation?
    pub fn is_of_patterns(&self) -> bool {
        self.name.ends_with("_pattern_ops")
    }

    /// `42804` unless the class is one for values of this type, and `0A000` if it would have an index order them
    /// otherwise than their type does.
    pub fn must_accept(&self, ty: Ty) -> Result<()> {
        if !is_binary_coercible(ty.id, self.input) {
            return Err(sql_error!(
                DATATYPE_MISMATCH,
                "operator class \"{}\" does not accept data type {}",
                self.name,
                type_name(ty.id)
            ));
        }
        let family = |id| default_for(self.method, id).map(|class| class.family);
        if family(ty.id) != family(self.input) {
            return Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "operator class \"{}\" on data type {} is not supported",
                self.name,
                type_name(ty.id)
            ));
        }
        Ok(())
    }
}
