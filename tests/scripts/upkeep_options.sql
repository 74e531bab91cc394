-- Options of VACUUM that go with no others, and what is no table.
CREATE TABLE kept (i int);
CREATE VIEW seen AS SELECT 1 AS x;
CREATE SEQUENCE counted;
CREATE INDEX kept_i ON kept (i);
VACUUM (PARALLEL 2, FULL) kept;
VACUUM (FULL, PARALLEL 0) kept;
VACUUM (PARALLEL -1) kept;
VACUUM (PARALLEL 1025) kept;
VACUUM (PARALLEL) kept;
VACUUM (PARALLEL many) kept;
VACUUM (PARALLEL 4) kept;
VACUUM (PROCESS_TOAST false, FULL) kept;
VACUUM (FULL, PROCESS_TOAST) kept;
VACUUM seen;
ANALYZE seen;
VACUUM FULL seen;
VACUUM (ANALYZE) seen;
ANALYZE seen (x);
VACUUM counted;
VACUUM kept_i;
ANALYZE kept_i, kept;
VACUUM pg_stat_activity;
DROP VIEW seen;
DROP SEQUENCE counted;
DROP TABLE kept;
-- Settings that tell what is built in.
SHOW zero_damaged_pages;
SHOW ignore_checksum_failure;
SHOW temp_buffers;
SHOW temp_buffers;
SHOW max_prepared_transactions;
SET data_checksums = off;
-- Views of commands at work.
SELECT * FROM pg_stat_progress_analyze;
SELECT * FROM pg_stat_progress_cluster;
SELECT * FROM pg_stat_progress_copy;
SELECT * FROM pg_stat_progress_basebackup;
SELECT pg_stat_clear_snapshot();
-- Extensions that there are.
SELECT name, default_version, installed_version, comment FROM pg_available_extensions
  WHERE name IN ('amcheck', 'pg_prewarm', 'pg_walinspect') ORDER BY name;
CREATE EXTENSION amcheck;
SELECT name, installed_version = default_version FROM pg_available_extensions WHERE name IN ('amcheck', 'pg_prewarm') ORDER BY 1;
SELECT name, version, installed, superuser, trusted, relocatable, schema, requires FROM pg_available_extension_versions
  WHERE (name, version) IN (('amcheck', '1.3'), ('pg_prewarm', '1.2')) ORDER BY name;
DROP EXTENSION amcheck;
