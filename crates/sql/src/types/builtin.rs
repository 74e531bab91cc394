//! The built-in types: PostgreSQL's `pg_type` facts under PostgreSQL's OIDs.
//!
//! Source: `SELECT … FROM pg_type` of PostgreSQL 15. The catalog turns the table into rows; the
//! binder and the codecs read it directly.

use super::oid::{Oid, TypeId};

/// What `pg_type` says of one built-in type.
#[derive(Clone, Copy, Debug)]
pub struct TypeInfo {
    pub id: TypeId,
    /// `typname`.
    pub name: &'static str,
    /// `typlen`: bytes, -1 for varlena, -2 for a C string.
    pub len: i16,
    pub by_value: bool,
    /// `typtype`: `b` base, `e` enum or `p` pseudo.
    pub kind: u8,
    /// `typcategory`, the letter of PostgreSQL's table of type categories.
    pub category: u8,
    pub preferred: bool,
    /// `typelem`, zero when not subscriptable.
    pub element: TypeId,
    /// `typarray`, zero when there is none.
    pub array: TypeId,
    /// Names of the support functions; empty where the catalog shows `-`.
    pub input: &'static str,
    pub output: &'static str,
    pub receive: &'static str,
    pub send: &'static str,
    pub typmod_in: &'static str,
    pub typmod_out: &'static str,
    /// `typalign`: `c`, `s`, `i` or `d`.
    pub align: u8,
    /// `typstorage`: `p`, `e`, `m` or `x`.
    pub storage: u8,
    pub subscript: &'static str,
    pub collation: Oid,
}

impl TypeInfo {
    /// A true array type (`anyarray` and the vectors of the catalogs are not).
    pub fn is_array(self) -> bool {
        self.input == "array_in"
    }

    /// `typdelim`; every built-in type that we have separates with a comma.
    pub const DELIMITER: u8 = b',';
}

/// The facts about a type that is built in, an enum, or the array type of one, whose name only the catalogs know; `None` for the row
/// types of tables.
pub fn type_info(id: TypeId) -> Option<TypeInfo> {
    match BUILTIN_TYPES.binary_search_by_key(&id, |info| info.id) {
        Ok(at) => Some(BUILTIN_TYPES[at]),
        Err(_) => super::enums::made_type_info(id),
    }
}

/// The type of arrays of a type.
pub fn array_of(id: TypeId) -> Option<TypeId> {
    type_info(id).map(|info| info.array).filter(|array| array.is_valid())
}

/// A built-in type by its `typname`.
pub fn type_by_name(name: &str) -> Option<&'static TypeInfo> {
    BUILTIN_TYPES.iter().find(|info| info.name == name)
}

const fn array(
    id: TypeId,
    name: &'static str,
    element: u32,
    align: u8,
    collation: u32,
    typmod_in: &'static str,
    typmod_out: &'static str,
) -> TypeInfo {
    TypeInfo {
        id,
        name,
        len: -1,
        by_value: false,
        kind: if element == TypeId::RECORD.0 { b'p' } else { b'b' },
        category: if element == TypeId::RECORD.0 { b'P' } else { b'A' },
        preferred: false,
        element: TypeId(element),
        array: TypeId::INVALID,
        input: "array_in",
        output: "array_out",
        receive: "array_recv",
        send: "array_send",
        typmod_in,
        typmod_out,
        align,
        storage: b'x',
        subscript: "array_subscript_handler",
        collation: Oid(collation),
    }
}

/// Declares the `TypeId` constants and the table, one line a type, sorted by OID:
/// `base|pseudo NAME oid typname len byval category preferred element array in out receive send
/// typmodin typmodout align storage subscript collation`, or
/// `array NAME oid typname element align collation typmodin typmodout`.
macro_rules! types {
    (@kind base) => { b'b' };
    (@kind pseudo) => { b'p' };
    (@info array $id:ident $name:literal $elem:literal $align:literal $coll:literal
        $modin:literal $modout:literal) => {
        array(TypeId::$id, $name, $elem, $align, $coll, $modin, $modout)
    };
    (@info $kind:ident $id:ident $name:literal $len:literal $byval:literal $cat:literal
        $pref:literal $elem:literal $array:literal $in:literal $out:literal $recv:literal
        $send:literal $modin:literal $modout:literal $align:literal $storage:literal
        $subscript:literal $coll:literal) => {
        TypeInfo {
            id: TypeId::$id,
            name: $name,
            len: $len,
            by_value: $byval,
            kind: types!(@kind $kind),
            category: $cat,
            preferred: $pref,
            element: TypeId($elem),
            array: TypeId($array),
            input: $in,
            output: $out,
            receive: $recv,
            send: $send,
            typmod_in: $modin,
            typmod_out: $modout,
            align: $align,
            storage: $storage,
            subscript: $subscript,
            collation: Oid($coll),
        }
    };
    ($($kind:ident $id:ident $oid:literal $name:literal $($fact:literal)*;)*) => {

        impl TypeId {
            $(pub const $id: TypeId = TypeId($oid);)*
        }

        /// All built-in types, sorted by OID.
        pub static BUILTIN_TYPES: &[TypeInfo] = &[
            $(types!(@info $kind $id $name $($fact)*),)*
        ];
    };
}

types! {
    base BOOL 16 "bool" 1 true b'B' true 0 1000 "boolin" "boolout" "boolrecv" "boolsend" "" "" b'c' b'p' "" 0;
    base BYTEA 17 "bytea" -1 false b'U' false 0 1001 "byteain" "byteaout" "bytearecv" "byteasend" "" "" b'i' b'x' "" 0;
    base CHAR 18 "char" 1 true b'Z' false 0 1002 "charin" "charout" "charrecv" "charsend" "" "" b'c' b'p' "" 0;
    base NAME 19 "name" 64 false b'S' false 18 1003 "namein" "nameout" "namerecv" "namesend" "" "" b'c' b'p' "raw_array_subscript_handler" 950;
    base INT8 20 "int8" 8 true b'N' false 0 1016 "int8in" "int8out" "int8recv" "int8send" "" "" b'd' b'p' "" 0;
    base INT2 21 "int2" 2 true b'N' false 0 1005 "int2in" "int2out" "int2recv" "int2send" "" "" b's' b'p' "" 0;
    base INT2VECTOR 22 "int2vector" -1 false b'A' false 21 1006 "int2vectorin" "int2vectorout" "int2vectorrecv" "int2vectorsend" "" "" b'i' b'p' "array_subscript_handler" 0;
    base INT4 23 "int4" 4 true b'N' false 0 1007 "int4in" "int4out" "int4recv" "int4send" "" "" b'i' b'p' "" 0;
    base REGPROC 24 "regproc" 4 true b'N' false 0 1008 "regprocin" "regprocout" "regprocrecv" "regprocsend" "" "" b'i' b'p' "" 0;
    base TEXT 25 "text" -1 false b'S' true 0 1009 "textin" "textout" "textrecv" "textsend" "" "" b'i' b'x' "" 100;
    base OID 26 "oid" 4 true b'N' true 0 1028 "oidin" "oidout" "oidrecv" "oidsend" "" "" b'i' b'p' "" 0;
    base TID 27 "tid" 6 false b'U' false 0 1010 "tidin" "tidout" "tidrecv" "tidsend" "" "" b's' b'p' "" 0;
    base XID 28 "xid" 4 true b'U' false 0 1011 "xidin" "xidout" "xidrecv" "xidsend" "" "" b'i' b'p' "" 0;
    base CID 29 "cid" 4 true b'U' false 0 1012 "cidin" "cidout" "cidrecv" "cidsend" "" "" b'i' b'p' "" 0;
    base OIDVECTOR 30 "oidvector" -1 false b'A' false 26 1013 "oidvectorin" "oidvectorout" "oidvectorrecv" "oidvectorsend" "" "" b'i' b'p' "array_subscript_handler" 0;
    base JSON 114 "json" -1 false b'U' false 0 199 "json_in" "json_out" "json_recv" "json_send" "" "" b'i' b'x' "" 0;
    base PG_NODE_TREE 194 "pg_node_tree" -1 false b'Z' false 0 0 "pg_node_tree_in" "pg_node_tree_out" "pg_node_tree_recv" "pg_node_tree_send" "" "" b'i' b'x' "" 100;
    array JSON_ARRAY 199 "_json" 114 b'i' 0 "" "";
    pseudo TABLE_AM_HANDLER 269 "table_am_handler" 4 true b'P' false 0 0 "table_am_handler_in" "table_am_handler_out" "" "" "" "" b'i' b'p' "" 0;
    array XID8_ARRAY 271 "_xid8" 5069 b'd' 0 "" "";
    pseudo INDEX_AM_HANDLER 325 "index_am_handler" 4 true b'P' false 0 0 "index_am_handler_in" "index_am_handler_out" "" "" "" "" b'i' b'p' "" 0;
    base CIDR 650 "cidr" -1 false b'I' false 0 651 "cidr_in" "cidr_out" "cidr_recv" "cidr_send" "" "" b'i' b'm' "" 0;
    array CIDR_ARRAY 651 "_cidr" 650 b'i' 0 "" "";
    base FLOAT4 700 "float4" 4 true b'N' false 0 1021 "float4in" "float4out" "float4recv" "float4send" "" "" b'i' b'p' "" 0;
    base FLOAT8 701 "float8" 8 true b'N' true 0 1022 "float8in" "float8out" "float8recv" "float8send" "" "" b'd' b'p' "" 0;
    pseudo UNKNOWN 705 "unknown" -2 false b'X' false 0 0 "unknownin" "unknownout" "unknownrecv" "unknownsend" "" "" b'c' b'p' "" 0;
    base INET 869 "inet" -1 false b'I' true 0 1041 "inet_in" "inet_out" "inet_recv" "inet_send" "" "" b'i' b'm' "" 0;
    array BOOL_ARRAY 1000 "_bool" 16 b'i' 0 "" "";
    array BYTEA_ARRAY 1001 "_bytea" 17 b'i' 0 "" "";
    array CHAR_ARRAY 1002 "_char" 18 b'i' 0 "" "";
    array NAME_ARRAY 1003 "_name" 19 b'i' 950 "" "";
    array INT2_ARRAY 1005 "_int2" 21 b'i' 0 "" "";
    array INT2VECTOR_ARRAY 1006 "_int2vector" 22 b'i' 0 "" "";
    array INT4_ARRAY 1007 "_int4" 23 b'i' 0 "" "";
    array REGPROC_ARRAY 1008 "_regproc" 24 b'i' 0 "" "";
    array TEXT_ARRAY 1009 "_text" 25 b'i' 100 "" "";
    array TID_ARRAY 1010 "_tid" 27 b'i' 0 "" "";
    array XID_ARRAY 1011 "_xid" 28 b'i' 0 "" "";
    array CID_ARRAY 1012 "_cid" 29 b'i' 0 "" "";
    array OIDVECTOR_ARRAY 1013 "_oidvector" 30 b'i' 0 "" "";
    array BPCHAR_ARRAY 1014 "_bpchar" 1042 b'i' 100 "bpchartypmodin" "bpchartypmodout";
    array VARCHAR_ARRAY 1015 "_varchar" 1043 b'i' 100 "varchartypmodin" "varchartypmodout";
    array INT8_ARRAY 1016 "_int8" 20 b'd' 0 "" "";
    array FLOAT4_ARRAY 1021 "_float4" 700 b'i' 0 "" "";
    array FLOAT8_ARRAY 1022 "_float8" 701 b'd' 0 "" "";
    array OID_ARRAY 1028 "_oid" 26 b'i' 0 "" "";
    base ACLITEM 1033 "aclitem" 12 false b'U' false 0 1034 "aclitemin" "aclitemout" "" "" "" "" b'i' b'p' "" 0;
    array ACLITEM_ARRAY 1034 "_aclitem" 1033 b'i' 0 "" "";
    array INET_ARRAY 1041 "_inet" 869 b'i' 0 "" "";
    base BPCHAR 1042 "bpchar" -1 false b'S' false 0 1014 "bpcharin" "bpcharout" "bpcharrecv" "bpcharsend" "bpchartypmodin" "bpchartypmodout" b'i' b'x' "" 100;
    base VARCHAR 1043 "varchar" -1 false b'S' false 0 1015 "varcharin" "varcharout" "varcharrecv" "varcharsend" "varchartypmodin" "varchartypmodout" b'i' b'x' "" 100;
    base DATE 1082 "date" 4 true b'D' false 0 1182 "date_in" "date_out" "date_recv" "date_send" "" "" b'i' b'p' "" 0;
    base TIME 1083 "time" 8 true b'D' false 0 1183 "time_in" "time_out" "time_recv" "time_send" "timetypmodin" "timetypmodout" b'd' b'p' "" 0;
    base TIMESTAMP 1114 "timestamp" 8 true b'D' false 0 1115 "timestamp_in" "timestamp_out" "timestamp_recv" "timestamp_send" "timestamptypmodin" "timestamptypmodout" b'd' b'p' "" 0;
    array TIMESTAMP_ARRAY 1115 "_timestamp" 1114 b'd' 0 "timestamptypmodin" "timestamptypmodout";
    array DATE_ARRAY 1182 "_date" 1082 b'i' 0 "" "";
    array TIME_ARRAY 1183 "_time" 1083 b'd' 0 "timetypmodin" "timetypmodout";
    base TIMESTAMPTZ 1184 "timestamptz" 8 true b'D' true 0 1185 "timestamptz_in" "timestamptz_out" "timestamptz_recv" "timestamptz_send" "timestamptztypmodin" "timestamptztypmodout" b'd' b'p' "" 0;
    array TIMESTAMPTZ_ARRAY 1185 "_timestamptz" 1184 b'd' 0 "timestamptztypmodin" "timestamptztypmodout";
    base INTERVAL 1186 "interval" 16 false b'T' true 0 1187 "interval_in" "interval_out" "interval_recv" "interval_send" "intervaltypmodin" "intervaltypmodout" b'd' b'p' "" 0;
    array INTERVAL_ARRAY 1187 "_interval" 1186 b'd' 0 "intervaltypmodin" "intervaltypmodout";
    array NUMERIC_ARRAY 1231 "_numeric" 1700 b'i' 0 "numerictypmodin" "numerictypmodout";
    array CSTRING_ARRAY 1263 "_cstring" 2275 b'i' 0 "" "";
    base TIMETZ 1266 "timetz" 12 false b'D' false 0 1270 "timetz_in" "timetz_out" "timetz_recv" "timetz_send" "timetztypmodin" "timetztypmodout" b'd' b'p' "" 0;
    array TIMETZ_ARRAY 1270 "_timetz" 1266 b'd' 0 "timetztypmodin" "timetztypmodout";
    base NUMERIC 1700 "numeric" -1 false b'N' false 0 1231 "numeric_in" "numeric_out" "numeric_recv" "numeric_send" "numerictypmodin" "numerictypmodout" b'i' b'm' "" 0;
    base REFCURSOR 1790 "refcursor" -1 false b'U' false 0 2201 "textin" "textout" "textrecv" "textsend" "" "" b'i' b'x' "" 0;
    array REFCURSOR_ARRAY 2201 "_refcursor" 1790 b'i' 0 "" "";
    base REGPROCEDURE 2202 "regprocedure" 4 true b'N' false 0 2207 "regprocedurein" "regprocedureout" "regprocedurerecv" "regproceduresend" "" "" b'i' b'p' "" 0;
    base REGOPER 2203 "regoper" 4 true b'N' false 0 2208 "regoperin" "regoperout" "regoperrecv" "regopersend" "" "" b'i' b'p' "" 0;
    base REGOPERATOR 2204 "regoperator" 4 true b'N' false 0 2209 "regoperatorin" "regoperatorout" "regoperatorrecv" "regoperatorsend" "" "" b'i' b'p' "" 0;
    base REGCLASS 2205 "regclass" 4 true b'N' false 0 2210 "regclassin" "regclassout" "regclassrecv" "regclasssend" "" "" b'i' b'p' "" 0;
    base REGTYPE 2206 "regtype" 4 true b'N' false 0 2211 "regtypein" "regtypeout" "regtyperecv" "regtypesend" "" "" b'i' b'p' "" 0;
    array REGPROCEDURE_ARRAY 2207 "_regprocedure" 2202 b'i' 0 "" "";
    array REGOPER_ARRAY 2208 "_regoper" 2203 b'i' 0 "" "";
    array REGOPERATOR_ARRAY 2209 "_regoperator" 2204 b'i' 0 "" "";
    array REGCLASS_ARRAY 2210 "_regclass" 2205 b'i' 0 "" "";
    array REGTYPE_ARRAY 2211 "_regtype" 2206 b'i' 0 "" "";
    pseudo RECORD 2249 "record" -1 false b'P' false 0 2287 "record_in" "record_out" "record_recv" "record_send" "" "" b'd' b'x' "" 0;
    pseudo CSTRING 2275 "cstring" -2 false b'P' false 0 1263 "cstring_in" "cstring_out" "cstring_recv" "cstring_send" "" "" b'c' b'p' "" 0;
    pseudo ANY 2276 "any" 4 true b'P' false 0 0 "any_in" "any_out" "" "" "" "" b'i' b'p' "" 0;
    pseudo ANYARRAY 2277 "anyarray" -1 false b'P' false 0 0 "anyarray_in" "anyarray_out" "anyarray_recv" "anyarray_send" "" "" b'd' b'x' "" 0;
    pseudo VOID 2278 "void" 4 true b'P' false 0 0 "void_in" "void_out" "void_recv" "void_send" "" "" b'i' b'p' "" 0;
    pseudo TRIGGER 2279 "trigger" 4 true b'P' false 0 0 "trigger_in" "trigger_out" "" "" "" "" b'i' b'p' "" 0;
    pseudo LANGUAGE_HANDLER 2280 "language_handler" 4 true b'P' false 0 0 "language_handler_in" "language_handler_out" "" "" "" "" b'i' b'p' "" 0;
    pseudo INTERNAL 2281 "internal" 8 true b'P' false 0 0 "internal_in" "internal_out" "" "" "" "" b'd' b'p' "" 0;
    pseudo ANYELEMENT 2283 "anyelement" 4 true b'P' false 0 0 "anyelement_in" "anyelement_out" "" "" "" "" b'i' b'p' "" 0;
    array RECORD_ARRAY 2287 "_record" 2249 b'd' 0 "" "";
    pseudo ANYNONARRAY 2776 "anynonarray" 4 true b'P' false 0 0 "anynonarray_in" "anynonarray_out" "" "" "" "" b'i' b'p' "" 0;
    array TXID_SNAPSHOT_ARRAY 2949 "_txid_snapshot" 2970 b'd' 0 "" "";
    base UUID 2950 "uuid" 16 false b'U' false 0 2951 "uuid_in" "uuid_out" "uuid_recv" "uuid_send" "" "" b'c' b'p' "" 0;
    array UUID_ARRAY 2951 "_uuid" 2950 b'i' 0 "" "";
    base TXID_SNAPSHOT 2970 "txid_snapshot" -1 false b'U' false 0 2949 "txid_snapshot_in" "txid_snapshot_out" "txid_snapshot_recv" "txid_snapshot_send" "" "" b'd' b'x' "" 0;
    base PG_LSN 3220 "pg_lsn" 8 true b'U' false 0 3221 "pg_lsn_in" "pg_lsn_out" "pg_lsn_recv" "pg_lsn_send" "" "" b'd' b'p' "" 0;
    array PG_LSN_ARRAY 3221 "_pg_lsn" 3220 b'd' 0 "" "";
    pseudo ANYENUM 3500 "anyenum" 4 true b'P' false 0 0 "anyenum_in" "anyenum_out" "" "" "" "" b'i' b'p' "" 0;
    base JSONB 3802 "jsonb" -1 false b'U' false 0 3807 "jsonb_in" "jsonb_out" "jsonb_recv" "jsonb_send" "" "" b'i' b'x' "jsonb_subscript_handler" 0;
    array JSONB_ARRAY 3807 "_jsonb" 3802 b'i' 0 "" "";
    pseudo EVENT_TRIGGER 3838 "event_trigger" 4 true b'P' false 0 0 "event_trigger_in" "event_trigger_out" "" "" "" "" b'i' b'p' "" 0;
    base REGNAMESPACE 4089 "regnamespace" 4 true b'N' false 0 4090 "regnamespacein" "regnamespaceout" "regnamespacerecv" "regnamespacesend" "" "" b'i' b'p' "" 0;
    array REGNAMESPACE_ARRAY 4090 "_regnamespace" 4089 b'i' 0 "" "";
    base REGROLE 4096 "regrole" 4 true b'N' false 0 4097 "regrolein" "regroleout" "regrolerecv" "regrolesend" "" "" b'i' b'p' "" 0;
    array REGROLE_ARRAY 4097 "_regrole" 4096 b'i' 0 "" "";
    base REGCOLLATION 4191 "regcollation" 4 true b'N' false 0 4192 "regcollationin" "regcollationout" "regcollationrecv" "regcollationsend" "" "" b'i' b'p' "" 0;
    array REGCOLLATION_ARRAY 4192 "_regcollation" 4191 b'i' 0 "" "";
    base PG_SNAPSHOT 5038 "pg_snapshot" -1 false b'U' false 0 5039 "pg_snapshot_in" "pg_snapshot_out" "pg_snapshot_recv" "pg_snapshot_send" "" "" b'd' b'x' "" 0;
    array PG_SNAPSHOT_ARRAY 5039 "_pg_snapshot" 5038 b'd' 0 "" "";
    base XID8 5069 "xid8" 8 true b'U' false 0 271 "xid8in" "xid8out" "xid8recv" "xid8send" "" "" b'd' b'p' "" 0;
    pseudo ANYCOMPATIBLE 5077 "anycompatible" 4 true b'P' false 0 0 "anycompatible_in" "anycompatible_out" "" "" "" "" b'i' b'p' "" 0;
    pseudo ANYCOMPATIBLEARRAY 5078 "anycompatiblearray" -1 false b'P' false 0 0 "anycompatiblearray_in" "anycompatiblearray_out" "anycompatiblearray_recv" "anycompatiblearray_send" "" "" b'd' b'x' "" 0;
    pseudo ANYCOMPATIBLENONARRAY 5079 "anycompatiblenonarray" 4 true b'P' false 0 0 "anycompatiblenonarray_in" "anycompatiblenonarray_out" "" "" "" "" b'i' b'p' "" 0;
}
