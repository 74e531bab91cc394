//! `information_schema` about functions and triggers.

use super::SystemView;
use super::information_schema::of_schema;

pub(super) static VIEWS: &[SystemView] = &[
    of_schema(
        "routines",
        13377,
        "SELECT pg_catalog.current_database() AS specific_catalog, n.nspname AS \
         specific_schema, pg_catalog.nameconcatoid(p.proname, p.oid) AS specific_name, \
         pg_catalog.current_database() AS routine_catalog, n.nspname AS routine_schema, \
         p.proname AS routine_name, CASE p.prokind WHEN 'f' THEN 'FUNCTION' WHEN 'p' THEN \
         'PROCEDURE' END::varchar AS routine_type, NULL::name AS module_catalog, NULL::name AS \
         module_schema, NULL::name AS module_name, NULL::name AS udt_catalog, NULL::name AS \
         udt_schema, NULL::name AS udt_name, CASE WHEN p.prokind = 'p' THEN NULL WHEN t.typelem \
         <> 0 AND t.typlen = -1 THEN 'ARRAY' WHEN nt.nspname = 'pg_catalog' THEN \
         pg_catalog.format_type(t.oid, NULL) ELSE 'USER-DEFINED' END::varchar AS data_type, \
         NULL::int4 AS character_maximum_length, NULL::int4 AS character_octet_length, \
         NULL::name AS character_set_catalog, NULL::name AS character_set_schema, NULL::name AS \
         character_set_name, NULL::name AS collation_catalog, NULL::name AS collation_schema, \
         NULL::name AS collation_name, NULL::int4 AS numeric_precision, NULL::int4 AS \
         numeric_precision_radix, NULL::int4 AS numeric_scale, NULL::int4 AS \
         datetime_precision, NULL::varchar AS interval_type, NULL::int4 AS interval_precision, \
         CASE WHEN nt.nspname IS NOT NULL THEN pg_catalog.current_database() END AS \
         type_udt_catalog, nt.nspname AS type_udt_schema, t.typname AS type_udt_name, \
         NULL::name AS scope_catalog, NULL::name AS scope_schema, NULL::name AS scope_name, \
         NULL::int4 AS maximum_cardinality, CASE WHEN p.prokind <> 'p' THEN 0 END::name AS \
         dtd_identifier, CASE WHEN l.lanname = 'sql' THEN 'SQL' ELSE 'EXTERNAL' END::varchar AS \
         routine_body, p.prosrc::varchar AS routine_definition, CASE WHEN l.lanname = 'c' THEN \
         p.prosrc END::varchar AS external_name, upper(l.lanname)::varchar AS \
         external_language, 'GENERAL'::varchar AS parameter_style, CASE WHEN p.provolatile = \
         'i' THEN 'YES' ELSE 'NO' END::varchar AS is_deterministic, 'MODIFIES'::varchar AS \
         sql_data_access, CASE WHEN p.prokind <> 'p' THEN CASE WHEN p.proisstrict THEN 'YES' \
         ELSE 'NO' END END::varchar AS is_null_call, NULL::varchar AS sql_path, 'YES'::varchar \
         AS schema_level_routine, 0 AS max_dynamic_result_sets, NULL::varchar AS \
         is_user_defined_cast, NULL::varchar AS is_implicitly_invocable, CASE WHEN p.prosecdef \
         THEN 'DEFINER' ELSE 'INVOKER' END::varchar AS security_type, NULL::name AS \
         to_sql_specific_catalog, NULL::name AS to_sql_specific_schema, NULL::name AS \
         to_sql_specific_name, 'NO'::varchar AS as_locator, NULL::timestamptz AS created, \
         NULL::timestamptz AS last_altered, NULL::varchar AS new_savepoint_level, 'NO'::varchar \
         AS is_udt_dependent, NULL::varchar AS result_cast_from_data_type, NULL::varchar AS \
         result_cast_as_locator, NULL::int4 AS result_cast_char_max_length, NULL::int4 AS \
         result_cast_char_octet_length, NULL::name AS result_cast_char_set_catalog, NULL::name \
         AS result_cast_char_set_schema, NULL::name AS result_cast_char_set_name, NULL::name AS \
         result_cast_collation_catalog, NULL::name AS result_cast_collation_schema, NULL::name \
         AS result_cast_collation_name, NULL::int4 AS result_cast_numeric_precision, NULL::int4 \
         AS result_cast_numeric_precision_radix, NULL::int4 AS result_cast_numeric_scale, \
         NULL::int4 AS result_cast_datetime_precision, NULL::varchar AS \
         result_cast_interval_type, NULL::int4 AS result_cast_interval_precision, NULL::name AS \
         result_cast_type_udt_catalog, NULL::name AS result_cast_type_udt_schema, NULL::name AS \
         result_cast_type_udt_name, NULL::name AS result_cast_scope_catalog, NULL::name AS \
         result_cast_scope_schema, NULL::name AS result_cast_scope_name, NULL::int4 AS \
         result_cast_maximum_cardinality, NULL::name AS result_cast_dtd_identifier FROM \
         pg_catalog.pg_namespace n JOIN pg_catalog.pg_proc p ON n.oid = p.pronamespace JOIN \
         pg_catalog.pg_language l ON p.prolang = l.oid LEFT JOIN (pg_catalog.pg_type t JOIN \
         pg_catalog.pg_namespace nt ON t.typnamespace = nt.oid) ON p.prorettype = t.oid AND \
         p.prokind <> 'p'",
    ),
    // There are none but those of foreign keys, which it does not tell of.
    of_schema(
        "triggers",
        13440,
        "SELECT NULL::name AS trigger_catalog, NULL::name AS trigger_schema, NULL::name AS \
         trigger_name, NULL::varchar AS event_manipulation, NULL::name AS event_object_catalog, \
         NULL::name AS event_object_schema, NULL::name AS event_object_table, NULL::int4 AS \
         action_order, NULL::varchar AS action_condition, NULL::varchar AS action_statement, \
         NULL::varchar AS action_orientation, NULL::varchar AS action_timing, NULL::name AS \
         action_reference_old_table, NULL::name AS action_reference_new_table, NULL::name AS \
         action_reference_old_row, NULL::name AS action_reference_new_row, NULL::timestamptz AS \
         created WHERE false",
    ),
];
