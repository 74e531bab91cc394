//! Extensions that there are: those that `ddl/extension.rs` lists.

use super::{SystemView, view};

pub(super) static VIEWS: &[SystemView] = &[
    view(
        "pg_catalog",
        "pg_available_extensions",
        12081,
        "SELECT e.name, e.default_version, x.extversion AS installed_version, e.comment \
         FROM pg_catalog.pg_available_extensions() e (name, default_version, comment) \
         LEFT JOIN pg_catalog.pg_extension x ON e.name = x.extname",
    ),
    view(
        "pg_catalog",
        "pg_available_extension_versions",
        12085,
        "SELECT e.name, e.version, x.extname IS NOT NULL AS installed, e.superuser, e.trusted, \
         e.relocatable, e.schema, e.requires, e.comment \
         FROM pg_catalog.pg_available_extension_versions() e (name, version, superuser, trusted, \
         relocatable, schema, requires, comment) \
         LEFT JOIN pg_catalog.pg_extension x ON e.name = x.extname AND e.version = x.extversion",
    ),
];
