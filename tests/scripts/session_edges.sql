-- Sessions at their edges: sleeps that are no time, settings set twice, blocks that do not begin, temporary tables that refer to others.

SELECT pg_sleep('NaN');
SELECT pg_sleep('-infinity'), pg_sleep(-1);
SELECT pg_sleep_until('-infinity');

-- What is set after what was set LOCAL stays.
BEGIN; SET LOCAL work_mem = '1MB'; SET work_mem = '2MB'; COMMIT;
SHOW work_mem;
BEGIN; SET work_mem = '3MB'; SET LOCAL work_mem = '1MB'; COMMIT;
SHOW work_mem;
BEGIN; SET work_mem = '4MB'; SET LOCAL work_mem = '1MB'; SET work_mem = '5MB'; SET LOCAL work_mem = '6MB'; COMMIT;
SHOW work_mem;
BEGIN; SET LOCAL a.b = 'x'; SET a.b = 'y'; SET LOCAL a.b = 'z'; COMMIT;
SHOW a.b;
BEGIN; SET work_mem = '7MB'; SAVEPOINT s; SET LOCAL work_mem = '1MB'; SET work_mem = '8MB'; ROLLBACK TO s; COMMIT;
SHOW work_mem;

-- A block that does not begin is not to be ended.
SELECT 1 \; BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 2;
BEGIN;
BEGIN;
SELECT 3;
COMMIT;

-- Locks in a message of several statements.
CREATE TABLE locked (a int);
LOCK TABLE locked;
LOCK TABLE locked \; SELECT 1;

-- Levels are set before what looks at anything.
BEGIN; DECLARE c CURSOR FOR SELECT 1; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; ROLLBACK;
BEGIN; EXPLAIN (COSTS OFF) SELECT 1; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; ROLLBACK;
BEGIN; SAVEPOINT s; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; ROLLBACK;
BEGIN; SAVEPOINT s; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; ROLLBACK;
BEGIN; SHOW work_mem; SET LOCAL work_mem = '1MB'; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SHOW transaction_isolation; ROLLBACK;

-- Temporary tables that refer to others are emptied together.
CREATE TEMP TABLE p (a int PRIMARY KEY) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE c (a int REFERENCES p) ON COMMIT DELETE ROWS;
INSERT INTO p VALUES (1);
SELECT count(*) FROM p;
BEGIN; INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (1); SELECT count(*) FROM c; COMMIT;
SELECT (SELECT count(*) FROM p), (SELECT count(*) FROM c);
BEGIN; CREATE TEMP TABLE q (a int PRIMARY KEY) ON COMMIT DROP; CREATE TEMP TABLE r (a int REFERENCES q) ON COMMIT DROP; COMMIT;
SELECT count(*) FROM pg_class WHERE relname IN ('q', 'r');
DROP TABLE locked;

-- Who asks for it reads it in any character set.
SET application_name = E'gr\u00fcn\tis';
SHOW application_name;
RESET application_name;

-- What looked at anything has a snapshot, although it failed.
PREPARE divided (int) AS SELECT $1;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SAVEPOINT s;
EXECUTE divided (1 / (pg_backend_pid() - pg_backend_pid()));
ROLLBACK TO s;
RELEASE s;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
ROLLBACK;
DEALLOCATE divided;

-- What a renamed schema or constraint is called everywhere.
CREATE SCHEMA se_a;
CREATE TABLE se_a.p (id int PRIMARY KEY);
CREATE TABLE se_a.c (id int CONSTRAINT fk1 REFERENCES se_a.p, s serial);
INSERT INTO se_a.p VALUES (1);
INSERT INTO se_a.c VALUES (1);
ALTER SCHEMA se_a RENAME TO se_b;
INSERT INTO se_b.p VALUES (2);
INSERT INTO se_b.c VALUES (2);
INSERT INTO se_b.c VALUES (3);
SELECT se_b.c.id FROM se_b.c ORDER BY 1;
SELECT 'se_b.c'::regclass, pg_get_serial_sequence('se_b.c', 's');
CREATE VIEW se_b.v AS SELECT p.id FROM se_b.p;
SELECT * FROM se_b.v ORDER BY 1;
DROP VIEW se_b.v;
ALTER TABLE se_b.c RENAME CONSTRAINT fk1 TO fk2;
DELETE FROM se_b.p WHERE id = 1;
DROP SCHEMA se_b CASCADE;
-- set_config with nulls; names with a dot stay known.
SELECT set_config(NULL, 'x', false);
SELECT set_config('work_mem', '1MB', NULL);
SHOW work_mem;
SELECT set_config('work_mem', NULL, false);
SHOW work_mem;
BEGIN;
SET LOCAL se.user = '1';
COMMIT;
SELECT current_setting('se.user'), current_setting('se.user', true);
-- The same view twice in a message.
CREATE TABLE se_t (a int);
CREATE OR REPLACE VIEW se_v AS SELECT * FROM se_t\; CREATE OR REPLACE VIEW se_v AS SELECT * FROM se_t;
SELECT pg_get_viewdef('se_v') ~ 'se_t';
DROP VIEW se_v;
DROP TABLE se_t;
-- A parameter where there is none, beside constants.
CREATE TABLE se_n (a int, id int);
INSERT INTO se_n VALUES (1, 5);
UPDATE se_n SET a = $1 WHERE id = 5;
INSERT INTO se_n VALUES ($1, 2);
SELECT $1 + 1;
SELECT a FROM se_n WHERE id = 5 AND a = $2;
SELECT * FROM se_n;
DROP TABLE se_n;
-- Told channels that were left.
LISTEN se_c;
BEGIN;
NOTIFY se_c, 'kept';
UNLISTEN se_c;
COMMIT;
