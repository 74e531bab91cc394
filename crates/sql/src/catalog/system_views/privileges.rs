//! What `information_schema` tells of roles and of who may do what.

use super::SystemView;
use super::information_schema::of_schema;

/// Who may be given something: all roles, and everybody.
macro_rules! granted {
    ($columns:literal, $from:literal, $owner:literal, $where:literal) => {
        concat!(
            "SELECT g.rolname AS grantor, r.rolname AS grantee, ",
            $columns,
            ", CASE WHEN pg_catalog.pg_has_role(r.oid, ",
            $owner,
            ", 'USAGE') OR x.is_grantable THEN 'YES' ELSE 'NO' END::varchar AS is_grantable FROM ",
            $from,
            " JOIN pg_catalog.pg_authid g ON g.oid = x.grantor \
             JOIN (SELECT oid, rolname FROM pg_catalog.pg_authid UNION ALL \
             SELECT 0::oid, 'PUBLIC'::name) r ON r.oid = x.grantee WHERE ",
            $where,
            " AND (pg_catalog.pg_has_role(g.oid, 'USAGE') \
             OR pg_catalog.pg_has_role(r.oid, 'USAGE') OR r.rolname = 'PUBLIC')"
        )
    };
}

/// Of what a view tells, what the roles at hand have or have given.
macro_rules! of_roles {
    ($view:literal) => {
        concat!(
            "SELECT * FROM information_schema.",
            $view,
            " WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles) \
             OR grantee IN (SELECT role_name FROM information_schema.enabled_roles)"
        )
    };
}

pub(super) static VIEWS: &[SystemView] = &[
    of_schema(
        "enabled_roles",
        13325,
        "SELECT a.rolname AS role_name FROM pg_catalog.pg_authid a \
         WHERE pg_catalog.pg_has_role(a.oid, 'USAGE')",
    ),
    of_schema(
        "applicable_roles",
        13236,
        "SELECT a.rolname AS grantee, b.rolname AS role_name, \
         CASE WHEN m.admin_option THEN 'YES' ELSE 'NO' END::varchar AS is_grantable \
         FROM (SELECT member, roleid, admin_option FROM pg_catalog.pg_auth_members \
         UNION SELECT d.datdba, o.oid, false FROM pg_catalog.pg_database d, \
         pg_catalog.pg_authid o WHERE d.datname = pg_catalog.current_database() \
         AND o.rolname = 'pg_database_owner') m \
         JOIN pg_catalog.pg_authid a ON m.member = a.oid \
         JOIN pg_catalog.pg_authid b ON m.roleid = b.oid \
         WHERE pg_catalog.pg_has_role(a.oid, 'USAGE')",
    ),
    of_schema(
        "administrable_role_authorizations",
        13241,
        "SELECT grantee, role_name, is_grantable FROM information_schema.applicable_roles \
         WHERE is_grantable = 'YES'",
    ),
    of_schema(
        "table_privileges",
        13416,
        concat!(
            "SELECT grantor, grantee, table_catalog, table_schema, table_name, privilege_type, \
             is_grantable, \
             CASE WHEN privilege_type = 'SELECT' THEN 'YES' ELSE 'NO' END::varchar \
             AS with_hierarchy FROM (",
            granted!(
                "pg_catalog.current_database() AS table_catalog, n.nspname AS table_schema, \
                 c.relname AS table_name, x.privilege_type::varchar AS privilege_type",
                "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 CROSS JOIN LATERAL pg_catalog.aclexplode(coalesce(c.relacl, \
                 pg_catalog.acldefault('r', c.relowner))) x",
                "c.relowner",
                "c.relkind IN ('r', 'v', 'f', 'p') AND x.privilege_type <> 'USAGE'"
            ),
            ") p"
        ),
    ),
    of_schema("role_table_grants", 13421, of_roles!("table_privileges")),
    of_schema(
        "column_privileges",
        13285,
        granted!(
            "pg_catalog.current_database() AS table_catalog, n.nspname AS table_schema, \
             x.relname AS table_name, x.attname AS column_name, \
             x.privilege_type::varchar AS privilege_type",
            "(SELECT e.grantor, e.grantee, a.attname, c.relname, c.relnamespace, \
             e.privilege_type, e.is_grantable, c.relowner \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid \
             CROSS JOIN LATERAL pg_catalog.aclexplode(coalesce(c.relacl, \
             pg_catalog.acldefault('r', c.relowner))) e \
             WHERE c.relkind IN ('r', 'v', 'f', 'p') AND a.attnum > 0 AND NOT a.attisdropped \
             UNION SELECT e.grantor, e.grantee, a.attname, c.relname, c.relnamespace, \
             e.privilege_type, e.is_grantable, c.relowner \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid \
             CROSS JOIN LATERAL pg_catalog.aclexplode(coalesce(a.attacl, \
             pg_catalog.acldefault('c', c.relowner))) e \
             WHERE c.relkind IN ('r', 'v', 'f', 'p') AND a.attnum > 0 AND NOT a.attisdropped) x \
             JOIN pg_catalog.pg_namespace n ON n.oid = x.relnamespace",
            "x.relowner",
            "x.privilege_type IN ('INSERT', 'SELECT', 'UPDATE', 'REFERENCES')"
        ),
    ),
    of_schema("role_column_grants", 13344, of_roles!("column_privileges")),
    of_schema(
        "routine_privileges",
        13353,
        granted!(
            "pg_catalog.current_database() AS specific_catalog, n.nspname AS specific_schema, \
             (p.proname || '_' || p.oid::text)::name AS specific_name, \
             pg_catalog.current_database() AS routine_catalog, n.nspname AS routine_schema, \
             p.proname AS routine_name, 'EXECUTE'::varchar AS privilege_type",
            "pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
             CROSS JOIN LATERAL pg_catalog.aclexplode(coalesce(p.proacl, \
             pg_catalog.acldefault('f', p.proowner))) x",
            "p.proowner",
            "x.privilege_type = 'EXECUTE'"
        ),
    ),
    of_schema("role_routine_grants", 13358, of_roles!("routine_privileges")),
    of_schema(
        "udt_privileges",
        13445,
        granted!(
            "pg_catalog.current_database() AS udt_catalog, n.nspname AS udt_schema, \
             t.typname AS udt_name, 'TYPE USAGE'::varchar AS privilege_type",
            "pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace \
             CROSS JOIN LATERAL pg_catalog.aclexplode(coalesce(t.typacl, \
             pg_catalog.acldefault('T', t.typowner))) x",
            "t.typowner",
            "t.typtype = 'c' AND x.privilege_type = 'USAGE'"
        ),
    ),
    of_schema("role_udt_grants", 13450, of_roles!("udt_privileges")),
    of_schema(
        "usage_privileges",
        13454,
        concat!(
            "SELECT u.rolname AS grantor, 'PUBLIC'::name AS grantee, \
             pg_catalog.current_database() AS object_catalog, n.nspname AS object_schema, \
             c.collname AS object_name, 'COLLATION'::varchar AS object_type, \
             'USAGE'::varchar AS privilege_type, 'NO'::varchar AS is_grantable \
             FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_authid u ON u.oid = c.collowner \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace UNION ALL ",
            granted!(
                "pg_catalog.current_database() AS object_catalog, n.nspname AS object_schema, \
                 c.relname AS object_name, 'SEQUENCE'::varchar AS object_type, \
                 'USAGE'::varchar AS privilege_type",
                "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 CROSS JOIN LATERAL pg_catalog.aclexplode(coalesce(c.relacl, \
                 pg_catalog.acldefault('r', c.relowner))) x",
                "c.relowner",
                "c.relkind = 'S' AND x.privilege_type = 'USAGE'"
            )
        ),
    ),
    of_schema("role_usage_grants", 13459, of_roles!("usage_privileges")),
];
