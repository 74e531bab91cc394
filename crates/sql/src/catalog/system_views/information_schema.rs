//! `information_schema`, as far as there are views of it.

use super::{SystemView, view};

pub(super) const fn of_schema(name: &'static str, oid: u32, query: &'static str) -> SystemView {
    view("information_schema", name, oid, query)
}

pub(super) static VIEWS: &[SystemView] = &[
    of_schema(
        "schemata",
        13382,
        "SELECT pg_catalog.current_database() AS catalog_name, n.nspname AS schema_name, \
         pg_catalog.pg_get_userbyid(n.nspowner) AS schema_owner, \
         NULL::name AS default_character_set_catalog, NULL::name AS default_character_set_schema, \
         NULL::name AS default_character_set_name, NULL::varchar AS sql_path \
         FROM pg_catalog.pg_namespace n WHERE pg_catalog.pg_has_role(n.nspowner, 'USAGE') \
         OR pg_catalog.has_schema_privilege(n.oid, 'CREATE, USAGE')",
    ),
    of_schema(
        "tables",
        13425,
        "SELECT pg_catalog.current_database() AS table_catalog, n.nspname AS table_schema, \
         c.relname AS table_name, CASE WHEN n.nspname LIKE 'pg_temp_%' THEN 'LOCAL TEMPORARY' \
         WHEN c.relkind IN ('r', 'p') THEN 'BASE TABLE' WHEN c.relkind = 'v' THEN 'VIEW' \
         ELSE NULL END AS table_type, NULL::name AS self_referencing_column_name, \
         NULL::varchar AS reference_generation, NULL::name AS user_defined_type_catalog, \
         NULL::name AS user_defined_type_schema, NULL::name AS user_defined_type_name, \
         CASE WHEN c.relkind IN ('r', 'p') THEN 'YES' ELSE 'NO' END AS is_insertable_into, \
         'NO'::varchar AS is_typed, NULL::varchar AS commit_action \
         FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'v', 'f', 'p') \
         AND NOT pg_catalog.pg_is_other_temp_schema(n.oid) AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') \
         OR pg_catalog.has_table_privilege(c.oid, \
         'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
         OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))",
    ),
    of_schema(
        "columns",
        13295,
        "SELECT pg_catalog.current_database() AS table_catalog, n.nspname AS table_schema, \
         c.relname AS table_name, a.attname AS column_name, a.attnum::int4 AS ordinal_position, \
         CASE WHEN a.attgenerated = '' \
         THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END \
         AS column_default, \
         CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable, \
         CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY' \
         WHEN t.typnamespace = 11 THEN pg_catalog.format_type(a.atttypid, NULL) \
         ELSE 'USER-DEFINED' END AS data_type, \
         CASE WHEN a.atttypid IN (1042, 1043) AND a.atttypmod >= 0 THEN a.atttypmod - 4 END \
         AS character_maximum_length, \
         CASE WHEN a.atttypid IN (1042, 1043) AND a.atttypmod >= 0 THEN (a.atttypmod - 4) * 4 \
         WHEN a.atttypid IN (25, 1042, 1043) THEN 1073741824 END AS character_octet_length, \
         CASE a.atttypid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 \
         WHEN 701 THEN 53 WHEN 1700 THEN CASE WHEN a.atttypmod >= 0 \
         THEN ((a.atttypmod - 4) >> 16) & 65535 END END AS numeric_precision, \
         CASE WHEN a.atttypid IN (20, 21, 23, 700, 701) THEN 2 WHEN a.atttypid = 1700 THEN 10 END \
         AS numeric_precision_radix, \
         CASE WHEN a.atttypid IN (20, 21, 23) THEN 0 WHEN a.atttypid = 1700 AND a.atttypmod >= 0 \
         THEN (a.atttypmod - 4) & 65535 END AS numeric_scale, \
         CASE WHEN a.atttypid = 1082 THEN 0 WHEN a.atttypid IN (1083, 1114, 1184, 1266) \
         THEN CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END WHEN a.atttypid = 1186 \
         THEN CASE WHEN a.atttypmod < 0 OR a.atttypmod & 65535 = 65535 THEN 6 \
         ELSE a.atttypmod & 65535 END END AS datetime_precision, \
         NULL::varchar AS interval_type, NULL::int4 AS interval_precision, \
         NULL::name AS character_set_catalog, NULL::name AS character_set_schema, \
         NULL::name AS character_set_name, CASE WHEN nco.nspname IS NOT NULL \
         THEN pg_catalog.current_database() END AS collation_catalog, \
         nco.nspname AS collation_schema, co.collname AS collation_name, \
         NULL::name AS domain_catalog, NULL::name AS domain_schema, NULL::name AS domain_name, \
         pg_catalog.current_database() AS udt_catalog, nt.nspname AS udt_schema, \
         t.typname AS udt_name, NULL::name AS scope_catalog, NULL::name AS scope_schema, \
         NULL::name AS scope_name, NULL::int4 AS maximum_cardinality, \
         a.attnum::name AS dtd_identifier, 'NO' AS is_self_referencing, \
         CASE WHEN a.attidentity IN ('a', 'd') THEN 'YES' ELSE 'NO' END AS is_identity, \
         CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END \
         AS identity_generation, s.seqstart::varchar AS identity_start, \
         s.seqincrement::varchar AS identity_increment, s.seqmax::varchar AS identity_maximum, \
         s.seqmin::varchar AS identity_minimum, \
         CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END AS identity_cycle, \
         CASE WHEN a.attgenerated = '' THEN 'NEVER' ELSE 'ALWAYS' END AS is_generated, \
         CASE WHEN a.attgenerated <> '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END \
         AS generation_expression, \
         CASE WHEN c.relkind IN ('r', 'p') THEN 'YES' ELSE 'NO' END AS is_updatable \
         FROM pg_catalog.pg_attribute a \
         JOIN pg_catalog.pg_class c ON a.attrelid = c.oid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
         JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace \
         LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
         LEFT JOIN pg_catalog.pg_depend p ON p.refclassid = 1259 AND p.refobjid = a.attrelid \
         AND p.refobjsubid = a.attnum AND p.classid = 1259 AND p.deptype = 'i' \
         LEFT JOIN pg_catalog.pg_sequence s ON s.seqrelid = p.objid \
         LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation AND co.oid <> 100 \
         LEFT JOIN pg_catalog.pg_namespace nco ON nco.oid = co.collnamespace \
         WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p') \
         AND NOT pg_catalog.pg_is_other_temp_schema(n.oid) \
         AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') \
         OR pg_catalog.has_column_privilege(c.oid, a.attnum, \
         'SELECT, INSERT, UPDATE, REFERENCES'))",
    ),
    of_schema(
        "table_constraints",
        13411,
        "SELECT pg_catalog.current_database() AS constraint_catalog, \
         nc.nspname AS constraint_schema, c.conname AS constraint_name, \
         pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema, \
         r.relname AS table_name, CASE c.contype WHEN 'c' THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' \
         WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' END::varchar AS constraint_type, \
         CASE WHEN c.condeferrable THEN 'YES' ELSE 'NO' END::varchar AS is_deferrable, \
         CASE WHEN c.condeferred THEN 'YES' ELSE 'NO' END::varchar AS initially_deferred, \
         'YES'::varchar AS enforced, CASE WHEN c.contype = 'u' THEN \
         CASE WHEN i.indnullsnotdistinct THEN 'NO' ELSE 'YES' END END::varchar AS nulls_distinct \
         FROM pg_catalog.pg_constraint c \
         JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace \
         JOIN pg_catalog.pg_class r ON r.oid = c.conrelid AND r.relkind IN ('r', 'p') \
         JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace \
         LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.conindid \
         WHERE c.contype NOT IN ('t', 'x') AND (pg_catalog.pg_has_role(r.relowner, 'USAGE') \
         OR pg_catalog.has_table_privilege(r.oid, \
         'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
         OR pg_catalog.has_any_column_privilege(r.oid, 'INSERT, UPDATE, REFERENCES')) UNION ALL \
         SELECT pg_catalog.current_database(), nr.nspname, \
         (nr.oid::text || '_' || r.oid::text || '_' || a.attnum::text || '_not_null')::name, \
         pg_catalog.current_database(), nr.nspname, r.relname, 'CHECK', 'NO', 'NO', 'YES', NULL \
         FROM pg_catalog.pg_attribute a \
         JOIN pg_catalog.pg_class r ON r.oid = a.attrelid AND r.relkind IN ('r', 'p') \
         JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace \
         WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped AND (pg_catalog.pg_has_role(r.relowner, 'USAGE') \
         OR pg_catalog.has_table_privilege(r.oid, \
         'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
         OR pg_catalog.has_any_column_privilege(r.oid, 'INSERT, UPDATE, REFERENCES'))",
    ),
    of_schema(
        "key_column_usage",
        13329,
        "SELECT pg_catalog.current_database() AS constraint_catalog, \
         nc.nspname AS constraint_schema, c.conname AS constraint_name, \
         pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema, \
         r.relname AS table_name, a.attname AS column_name, \
         pg_catalog.array_position(c.conkey, a.attnum) AS ordinal_position, \
         CASE WHEN c.contype = 'f' THEN (SELECT pg_catalog.array_position(u.conkey, \
         c.confkey[pg_catalog.array_position(c.conkey, a.attnum)]) \
         FROM pg_catalog.pg_constraint u WHERE u.conindid = c.conindid \
         AND u.conrelid = c.confrelid AND u.contype IN ('p', 'u')) END \
         AS position_in_unique_constraint \
         FROM pg_catalog.pg_constraint c \
         JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace \
         JOIN pg_catalog.pg_class r ON r.oid = c.conrelid AND r.relkind IN ('r', 'p') \
         JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace \
         JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = ANY (c.conkey) \
         WHERE c.contype IN ('p', 'u', 'f') AND NOT a.attisdropped \
         AND (pg_catalog.pg_has_role(r.relowner, 'USAGE') \
         OR pg_catalog.has_column_privilege(r.oid, a.attnum, \
         'SELECT, INSERT, UPDATE, REFERENCES'))",
    ),
    of_schema(
        "referential_constraints",
        13339,
        "SELECT pg_catalog.current_database() AS constraint_catalog, \
         nc.nspname AS constraint_schema, c.conname AS constraint_name, \
         CASE WHEN nu.nspname IS NOT NULL THEN pg_catalog.current_database() END \
         AS unique_constraint_catalog, nu.nspname AS unique_constraint_schema, \
         u.conname AS unique_constraint_name, CASE c.confmatchtype WHEN 'f' THEN 'FULL' \
         WHEN 'p' THEN 'PARTIAL' WHEN 's' THEN 'NONE' END::varchar AS match_option, \
         CASE c.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' \
         WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' \
         END::varchar AS update_rule, \
         CASE c.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' \
         WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' \
         END::varchar AS delete_rule \
         FROM pg_catalog.pg_constraint c \
         JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace \
         LEFT JOIN pg_catalog.pg_constraint u ON u.conindid = c.conindid \
         AND u.conrelid = c.confrelid AND u.contype IN ('p', 'u') \
         LEFT JOIN pg_catalog.pg_namespace nu ON nu.oid = u.connamespace \
         JOIN pg_catalog.pg_class t ON t.oid = c.conrelid \
         WHERE c.contype = 'f' AND (pg_catalog.pg_has_role(t.relowner, 'USAGE') \
         OR pg_catalog.has_table_privilege(t.oid, \
         'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
         OR pg_catalog.has_any_column_privilege(t.oid, 'INSERT, UPDATE, REFERENCES'))",
    ),
    of_schema(
        "constraint_column_usage",
        13300,
        "SELECT pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema, \
         r.relname AS table_name, a.attname AS column_name, \
         pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema, \
         c.conname AS constraint_name \
         FROM pg_catalog.pg_constraint c \
         JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace \
         JOIN pg_catalog.pg_class r ON r.relkind IN ('r', 'p') \
         AND r.oid = CASE c.contype WHEN 'f' THEN c.confrelid ELSE c.conrelid END \
         JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace \
         JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid \
         AND a.attnum = ANY (CASE c.contype WHEN 'f' THEN c.confkey ELSE c.conkey END) \
         WHERE c.contype IN ('c', 'p', 'u', 'f') AND NOT a.attisdropped \
         AND pg_catalog.pg_has_role(r.relowner, 'USAGE')",
    ),
    of_schema(
        "check_constraints",
        13260,
        "SELECT pg_catalog.current_database() AS constraint_catalog, \
         n.nspname AS constraint_schema, c.conname AS constraint_name, \
         substr(pg_catalog.pg_get_constraintdef(c.oid), 7)::varchar AS check_clause \
         FROM pg_catalog.pg_constraint c \
         LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace \
         JOIN pg_catalog.pg_class k ON k.oid = c.conrelid \
         WHERE c.contype = 'c' AND pg_catalog.pg_has_role(k.relowner, 'USAGE') UNION ALL \
         SELECT pg_catalog.current_database(), n.nspname, \
         (n.oid::text || '_' || r.oid::text || '_' || a.attnum::text || '_not_null')::name, \
         (a.attname || ' IS NOT NULL')::varchar \
         FROM pg_catalog.pg_attribute a \
         JOIN pg_catalog.pg_class r ON r.oid = a.attrelid AND r.relkind IN ('r', 'p') \
         JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace \
         WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped \
         AND pg_catalog.pg_has_role(r.relowner, 'USAGE')",
    ),
    of_schema(
        "sequences",
        13386,
        "SELECT pg_catalog.current_database() AS sequence_catalog, n.nspname AS sequence_schema, \
         c.relname AS sequence_name, pg_catalog.format_type(s.seqtypid, NULL)::varchar AS data_type, \
         CASE s.seqtypid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 END AS numeric_precision, \
         2 AS numeric_precision_radix, 0 AS numeric_scale, s.seqstart::varchar AS start_value, \
         s.seqmin::varchar AS minimum_value, s.seqmax::varchar AS maximum_value, \
         s.seqincrement::varchar AS increment, \
         CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END::varchar AS cycle_option \
         FROM pg_catalog.pg_namespace n \
         JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relkind = 'S' \
         JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid \
         WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend \
         WHERE classid = 1259 AND objid = c.oid AND deptype = 'i') \
         AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') \
         OR pg_catalog.has_sequence_privilege(c.oid, 'SELECT, UPDATE, USAGE'))",
    ),
    of_schema(
        "views",
        13483,
        "SELECT pg_catalog.current_database() AS table_catalog, n.nspname AS table_schema, \
         c.relname AS table_name, CASE WHEN pg_catalog.pg_has_role(c.relowner, 'USAGE') \
         THEN pg_catalog.pg_get_viewdef(c.oid)::varchar END AS view_definition, \
         'NONE'::varchar AS check_option, 'NO'::varchar AS is_updatable, \
         'NO'::varchar AS is_insertable_into, 'NO'::varchar AS is_trigger_updatable, \
         'NO'::varchar AS is_trigger_deletable, 'NO'::varchar AS is_trigger_insertable_into \
         FROM pg_catalog.pg_namespace n \
         JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid WHERE c.relkind = 'v' \
         AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') \
         OR pg_catalog.has_table_privilege(c.oid, \
         'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
         OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))",
    ),
];
