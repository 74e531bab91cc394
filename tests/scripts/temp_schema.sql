-- pg_temp: a session's own schema of temporary relations, named by statements, by functions, and by search_path.

-- As long as there is none.
SELECT * FROM pg_temp.nothing;
DROP TABLE IF EXISTS pg_temp.nothing;
DROP TABLE pg_temp.nothing;
SELECT to_regclass('pg_temp.nothing');
SELECT pg_my_temp_schema() = 0, pg_is_other_temp_schema(0), pg_is_other_temp_schema('public'::regnamespace);

CREATE TABLE pg_temp.t (a serial PRIMARY KEY, b text);
SELECT relname, relpersistence, relnamespace = pg_my_temp_schema() AS own FROM pg_class WHERE relname LIKE 't%' AND relnamespace = pg_my_temp_schema() ORDER BY 1;
INSERT INTO pg_temp.t (b) VALUES ('x'), ('y') RETURNING *;
UPDATE pg_temp.t SET b = 'z' WHERE a = 2;
SELECT nextval('pg_temp.t_a_seq'), currval('pg_temp.t_a_seq'::regclass), lastval();
SELECT pg_get_serial_sequence('pg_temp.t', 'a') LIKE 'pg_temp%.t_a_seq';
SELECT 'pg_temp.t'::regclass, to_regclass('pg_temp.nothing');
SELECT 'pg_temp.nothing'::regclass;
ALTER TABLE pg_temp.t ADD COLUMN c int DEFAULT 5;
CREATE INDEX ON pg_temp.t (c);
TABLE pg_temp.t;
CREATE TABLE pg_temp.t (a int);
CREATE TABLE IF NOT EXISTS pg_temp.t (a int);
COPY pg_temp.t TO STDOUT;
LOCK TABLE pg_temp.t;
BEGIN; LOCK TABLE pg_temp.t IN SHARE MODE; COMMIT;
ANALYZE pg_temp.t;
REINDEX TABLE pg_temp.t;
COMMENT ON TABLE pg_temp.t IS 'mine';
SELECT obj_description('pg_temp.t'::regclass);
TRUNCATE pg_temp.t;
TABLE pg_temp.t;
CREATE UNLOGGED TABLE pg_temp.u (a int);
CREATE UNLOGGED TABLE pg_temp.u AS SELECT 1 AS a;
CREATE TEMP TABLE pg_temp.u (a int) ON COMMIT DELETE ROWS;
CREATE TABLE pg_temp.v (a int) ON COMMIT DROP;
SELECT to_regclass('pg_temp.v');
CREATE TABLE public.w (a int) ON COMMIT DROP;
CREATE TEMP TABLE public.w (a int);
CREATE TEMP TABLE pg_catalog.w (a int);
CREATE TABLE pg_temp.made AS SELECT 1 AS a, 'x'::text AS b;
SELECT * INTO pg_temp.made_too FROM pg_temp.made;
CREATE SEQUENCE pg_temp.s;
CREATE VIEW pg_temp.over AS SELECT a + 1 AS a FROM pg_temp.made;
CREATE VIEW over_too AS SELECT 1 AS a;
CREATE VIEW public.over_three AS SELECT a FROM pg_temp.made;
SELECT relname, relkind, relpersistence FROM pg_class WHERE relnamespace = pg_my_temp_schema() ORDER BY 1;
SELECT * FROM pg_temp.over, pg_temp.made_too;
ALTER TABLE pg_temp.made_too RENAME TO renamed;
ALTER SEQUENCE pg_temp.s RESTART 7;
SELECT nextval('pg_temp.s'), setval('pg_temp.s', 3), last_value FROM pg_temp.s;
DROP VIEW pg_temp.over;
DROP VIEW IF EXISTS pg_temp.over;
DROP SEQUENCE pg_temp.s;
DROP INDEX pg_temp.t_c_idx;
DROP TABLE pg_temp.renamed, pg_temp.made;
DROP TABLE IF EXISTS pg_temp.nothing;
DROP TABLE pg_temp.nothing;
ALTER TABLE pg_temp.nothing ADD COLUMN a int;
TRUNCATE pg_temp.nothing;
SELECT has_table_privilege('pg_temp.t', 'SELECT');
SELECT pg_is_other_temp_schema(pg_my_temp_schema());
SELECT 'pg_temp'::regnamespace;
COMMENT ON SCHEMA pg_temp IS 'x';
DROP SCHEMA pg_temp;
CREATE SCHEMA pg_temp;

-- In the path.
SET search_path = pg_temp;
CREATE TABLE first (a int);
SELECT relpersistence FROM pg_class WHERE relname = 'first';
CREATE TABLE public.first (a int, b int);
TABLE first;
SELECT relpersistence FROM pg_class WHERE relname = 'first' ORDER BY 1;
CREATE INDEX first_index ON first (a);
CREATE VIEW first_view AS SELECT 1 AS a;
CREATE SEQUENCE first_sequence;
SELECT 1 AS a INTO first_too;
SELECT relname, relpersistence FROM pg_class WHERE relname LIKE 'first%' ORDER BY 1, 2;
SET search_path = public, pg_temp;
TABLE first;
SELECT pg_table_is_visible('pg_temp.first'::regclass), pg_table_is_visible('public.first'::regclass);
CREATE TABLE second (a int);
CREATE TEMP TABLE second (a int, b int);
TABLE second;
SELECT relpersistence FROM pg_class WHERE relname = 'second' ORDER BY 1;
SELECT current_schema(), cardinality(current_schemas(false)), cardinality(current_schemas(true));
SET search_path = public, pg_catalog;
SELECT current_schema(), current_schemas(false), cardinality(current_schemas(true));
SET search_path = public, public, nowhere, public;
SELECT current_schemas(false);
SET search_path = nowhere;
CREATE TABLE third (a int);
SELECT current_schema(), current_schemas(false);
SET search_path = '';
CREATE TEMP TABLE third (a int);
TABLE third;
RESET search_path;
SELECT current_schema(), current_schemas(false);
DROP TABLE public.first, public.second CASCADE;
DROP VIEW over_too;

-- A new session that first names it in its path.
\c
SET search_path = pg_temp, public;
CREATE TABLE here (a int);
SELECT relpersistence, relnamespace = pg_my_temp_schema() AS own FROM pg_class WHERE relname = 'here';
\c
SELECT to_regclass('here'), to_regclass('public.here');
BEGIN;
CREATE TABLE pg_temp.gone (a int);
ROLLBACK;
SELECT to_regclass('pg_temp.gone'), pg_my_temp_schema() = 0;
CREATE TABLE pg_temp.again (a int);
SELECT relpersistence FROM pg_class WHERE relname = 'again';

-- Date styles that contradict themselves.
SET datestyle = 'iso, sql';
SET datestyle = 'dmy, mdy';
SET datestyle = 'german, iso';
SET datestyle = 'iso, iso';
SHOW datestyle;
SET datestyle = 'german, mdy';
SHOW datestyle;
SET datestyle = 'mdy, german';
SHOW datestyle;
SET datestyle = 'german';
SHOW datestyle;
SET datestyle = 'german, dmy';
SHOW datestyle;
SET datestyle = 'iso';
SHOW datestyle;
SET datestyle = 'ymd';
SHOW datestyle;
SET datestyle = default;

-- RESET ALL resets what a value for the transaction hides.
SET work_mem = '9MB';
BEGIN; SET LOCAL work_mem = '4MB'; RESET ALL; COMMIT;
SHOW work_mem;
SET work_mem = '9MB';
BEGIN; SET LOCAL work_mem = '4MB'; RESET ALL; ROLLBACK;
SHOW work_mem;
RESET work_mem;
SHOW work_mem;
