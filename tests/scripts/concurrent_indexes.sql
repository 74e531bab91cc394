-- CREATE INDEX, DROP INDEX and REINDEX … CONCURRENTLY, where nobody else is at the table.
CREATE TABLE k (a int PRIMARY KEY, b int, c text);
INSERT INTO k SELECT g, g, 'x' || g FROM generate_series(1, 100) g;
INSERT INTO k VALUES (200, 50, 'x');
-- Not in a transaction block.
BEGIN;
CREATE INDEX CONCURRENTLY i ON k (b);
ROLLBACK;
BEGIN;
DROP INDEX CONCURRENTLY k_pkey;
ROLLBACK;
BEGIN;
REINDEX INDEX CONCURRENTLY k_pkey;
ROLLBACK;
BEGIN;
REINDEX SCHEMA public;
ROLLBACK;
BEGIN;
REINDEX SCHEMA CONCURRENTLY public;
ROLLBACK;
BEGIN;
REINDEX TABLE k;
ROLLBACK;
-- What can't be.
CREATE INDEX CONCURRENTLY ON pg_class (relname);
CREATE INDEX CONCURRENTLY i ON nosuch (b);
CREATE INDEX CONCURRENTLY i ON k (nosuch);
CREATE UNIQUE INDEX CONCURRENTLY i ON k USING hash (b);
CREATE INDEX CONCURRENTLY i ON k (b);
CREATE INDEX CONCURRENTLY i ON k (b);
CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON k (b);
CREATE INDEX CONCURRENTLY ON k (c);
CREATE INDEX CONCURRENTLY ON k ((b + 1), c);
CREATE INDEX CONCURRENTLY h ON k USING hash (c) WITH (fillfactor = 50);
CREATE INDEX CONCURRENTLY p ON k (b DESC NULLS LAST) INCLUDE (a) WHERE c LIKE 'x1%';
\d k
-- Left behind by a failure: not used, not kept up, in the way of nothing.
CREATE UNIQUE INDEX CONCURRENTLY u ON k (b);
CREATE UNIQUE INDEX CONCURRENTLY u ON k (b);
\d k
SELECT indisvalid, indisready, indislive, indisunique FROM pg_index WHERE indexrelid = 'u'::regclass;
INSERT INTO k VALUES (1000, 1001, 'x');
INSERT INTO k VALUES (1000, 999, 'x');
INSERT INTO k VALUES (1001, 1, 'x') ON CONFLICT (b) DO NOTHING;
INSERT INTO k VALUES (1000, 1, 'x') ON CONFLICT DO NOTHING;
CREATE TABLE k2 (b int REFERENCES k (b));
REINDEX INDEX u;
REINDEX INDEX CONCURRENTLY u;
SELECT relname FROM pg_class WHERE relname LIKE 'u%' AND relkind = 'i' ORDER BY 1;
DELETE FROM k WHERE a >= 200;
REINDEX TABLE CONCURRENTLY k;
REINDEX INDEX CONCURRENTLY u;
\d k
INSERT INTO k VALUES (1001, 1, 'x');
INSERT INTO k VALUES (1001, 1, 'x') ON CONFLICT (b) DO UPDATE SET c = 'met';
SELECT * FROM k WHERE b = 1;
DROP INDEX CONCURRENTLY u_ccnew;
-- An error in an expression.
CREATE INDEX CONCURRENTLY fx ON k ((10 / (a - 4)));
UPDATE k SET c = c || 'y', a = a WHERE b = 2;
UPDATE k SET c = c || 'z' WHERE b = 2;
\d k
REINDEX INDEX CONCURRENTLY fx;
DROP INDEX CONCURRENTLY fx_ccnew;
DELETE FROM k WHERE a = 4;
REINDEX INDEX fx;
INSERT INTO k VALUES (4, 400, 'x');
SELECT indisvalid, indisready FROM pg_index WHERE indexrelid = 'fx'::regclass;
DROP INDEX CONCURRENTLY fx;
-- Names, numbers, comments and constraints.
SELECT 'k_pkey'::regclass::oid AS pkey, 'u'::regclass::oid AS u \gset
COMMENT ON INDEX k_pkey IS 'the key';
CREATE TABLE ref (b int REFERENCES k (b));
REINDEX TABLE CONCURRENTLY k;
SELECT 'k_pkey'::regclass::oid = :pkey AS same_key, 'u'::regclass::oid = :u AS same_u;
SELECT obj_description('k_pkey'::regclass);
SELECT conname, conindid::regclass, contype FROM pg_constraint WHERE conrelid = 'k'::regclass OR confrelid = 'k'::regclass ORDER BY 1;
SELECT indexrelid::regclass, indisprimary, indisunique, indisvalid, indisready, indislive FROM pg_index WHERE indrelid = 'k'::regclass ORDER BY indexrelid::regclass::text;
SELECT relname FROM pg_class WHERE relname LIKE '%\_cc%';
\d k
INSERT INTO ref VALUES (999999);
INSERT INTO k VALUES (11, 8, 'again');
INSERT INTO k VALUES (11, 800, 'again');
DROP INDEX CONCURRENTLY k_pkey;
REINDEX TABLE CONCURRENTLY ref;
REINDEX TABLE ref;
-- DROP INDEX CONCURRENTLY.
DROP INDEX CONCURRENTLY i, u;
DROP INDEX CONCURRENTLY i CASCADE;
DROP INDEX CONCURRENTLY nosuch;
DROP INDEX CONCURRENTLY IF EXISTS nosuch;
DROP INDEX CONCURRENTLY k;
DROP INDEX CONCURRENTLY i;
DROP INDEX CONCURRENTLY IF EXISTS i;
DROP INDEX CONCURRENTLY pg_class_oid_index;
-- Many at a time, and what is no index.
REINDEX INDEX CONCURRENTLY pg_class_oid_index;
REINDEX TABLE CONCURRENTLY pg_class;
REINDEX SYSTEM CONCURRENTLY postgres;
REINDEX DATABASE CONCURRENTLY postgres;
REINDEX DATABASE postgres;
REINDEX DATABASE other;
REINDEX SYSTEM other;
REINDEX SCHEMA CONCURRENTLY public;
REINDEX SCHEMA CONCURRENTLY pg_catalog;
REINDEX SCHEMA nosuch;
REINDEX SCHEMA public;
REINDEX (CONCURRENTLY off) INDEX u;
REINDEX (CONCURRENTLY nope) INDEX u;
REINDEX (bogus) INDEX u;
REINDEX (TABLESPACE nosuch) INDEX u;
REINDEX (TABLESPACE pg_default) INDEX u;
REINDEX (TABLESPACE pg_default, CONCURRENTLY) INDEX u;
REINDEX INDEX CONCURRENTLY k;
REINDEX TABLE CONCURRENTLY u;
REINDEX INDEX k;
REINDEX TABLE u;
REINDEX INDEX CONCURRENTLY nosuch;
REINDEX TABLE CONCURRENTLY nosuch;
CREATE VIEW kv AS SELECT 1 AS x;
CREATE INDEX CONCURRENTLY i ON kv (x);
REINDEX TABLE CONCURRENTLY kv;
REINDEX INDEX CONCURRENTLY kv;
DROP INDEX CONCURRENTLY kv;
DROP VIEW kv;
-- Temporary tables, and tables that a crash empties.
CREATE TEMP TABLE tt (a int);
INSERT INTO tt VALUES (1), (1);
CREATE INDEX CONCURRENTLY tti ON tt (a);
REINDEX TABLE CONCURRENTLY tt;
REINDEX INDEX CONCURRENTLY tti;
SELECT indisvalid FROM pg_index WHERE indrelid = 'tt'::regclass;
DROP INDEX CONCURRENTLY tti;
DROP TABLE tt;
CREATE UNLOGGED TABLE ul (a int);
INSERT INTO ul SELECT g FROM generate_series(1, 500) g;
CREATE UNIQUE INDEX CONCURRENTLY uli ON ul (a);
REINDEX TABLE CONCURRENTLY ul;
\d ul
DROP TABLE ul;
-- What TRUNCATE and ALTER TABLE make of an index that had failed.
DELETE FROM k WHERE a > 3;
CREATE UNIQUE INDEX CONCURRENTLY bad ON k ((a % 2));
CREATE INDEX CONCURRENTLY bad2 ON k ((2 / (a - 1)));
TRUNCATE k CASCADE;
SELECT indexrelid::regclass, indisvalid, indisready FROM pg_index WHERE indrelid = 'k'::regclass ORDER BY indexrelid::regclass::text;
INSERT INTO k VALUES (2, 2, 'x'), (3, 3, 'x'), (5, 5, 'x');
INSERT INTO k VALUES (1, 1, 'x');
DELETE FROM k WHERE a = 3;
ALTER TABLE k ALTER b TYPE bigint;
SELECT indexrelid::regclass, indisvalid, indisready FROM pg_index WHERE indrelid = 'k'::regclass ORDER BY indexrelid::regclass::text;
INSERT INTO k VALUES (3, 3, 'x');
SELECT * FROM pg_stat_progress_create_index;
DROP TABLE ref, k;
