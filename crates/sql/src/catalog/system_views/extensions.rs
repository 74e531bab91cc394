//! Extensions that there are: those that `ddl/extension.rs` knows. There is one version of each.

use super::{SystemView, view};

pub(super) static VIEWS: &[SystemView] = &[
    view(
        "pg_catalog",
        "pg_available_extensions",
        12081,
        "SELECT e.name, e.version AS default_version, x.extversion AS installed_version, \
         e.comment FROM (VALUES ('amcheck'::name, '1.3'::text, 'functions for verifying relation \
         integrity'::text), ('pg_buffercache', '1.4', 'examine the shared buffer cache'), \
         ('pg_prewarm', '1.2', 'prewarm relation data'), ('pg_walinspect', '1.0', 'functions to \
         inspect contents of PostgreSQL Write-Ahead Log')) AS e (name, version, comment) LEFT \
         JOIN pg_catalog.pg_extension x ON e.name = x.extname",
    ),
    view(
        "pg_catalog",
        "pg_available_extension_versions",
        12085,
        "SELECT e.name, e.version, x.extname IS NOT NULL AS installed, true AS superuser, false \
         AS trusted, true AS relocatable, NULL::name AS schema, NULL::name[] AS requires, \
         e.comment FROM (VALUES ('amcheck'::name, '1.3'::text, 'functions for verifying relation \
         integrity'::text), ('pg_buffercache', '1.4', 'examine the shared buffer cache'), \
         ('pg_prewarm', '1.2', 'prewarm relation data'), ('pg_walinspect', '1.0', 'functions to \
         inspect contents of PostgreSQL Write-Ahead Log')) AS e (name, version, comment) LEFT \
         JOIN pg_catalog.pg_extension x ON e.name = x.extname AND e.version = x.extversion",
    ),
];
