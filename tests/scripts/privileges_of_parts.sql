-- Rights at the edges of statements: what leaks through conditions, what is asked of schemas, of parts of statements, of
-- settings.

CREATE ROLE pp_bob;
CREATE ROLE pp_own;
CREATE SCHEMA pp_s;
GRANT USAGE, CREATE ON SCHEMA pp_s TO pp_own;
GRANT USAGE ON SCHEMA pp_s TO pp_bob;

-- Views that are to hide rows.
CREATE TABLE pp_s.acl (c int PRIMARY KEY, u name);
CREATE TABLE pp_s.bt (a int PRIMARY KEY, b text, c int REFERENCES pp_s.acl);
INSERT INTO pp_s.acl VALUES (1, 'pp_bob'), (2, 'other');
INSERT INTO pp_s.bt SELECT i, CASE WHEN i % 2 = 0 THEN i::text ELSE 'secret' || i END, CASE WHEN i % 2 = 0 THEN 1 ELSE 2 END FROM generate_series(1, 20) i;
CREATE VIEW pp_s.joined WITH (security_barrier) AS SELECT bt.a, bt.b FROM pp_s.bt JOIN pp_s.acl ON bt.c = acl.c WHERE acl.u = current_user;
CREATE VIEW pp_s.exist WITH (security_barrier) AS SELECT a, b FROM pp_s.bt WHERE EXISTS (SELECT FROM pp_s.acl WHERE acl.c = bt.c AND u = current_user);
CREATE VIEW pp_s.isin WITH (security_barrier) AS SELECT a, b FROM pp_s.bt WHERE c IN (SELECT c FROM pp_s.acl WHERE u = current_user);
CREATE VIEW pp_s.plain WITH (security_barrier = 'On') AS SELECT a, b FROM pp_s.bt WHERE c = 1;
CREATE VIEW pp_s.around AS SELECT * FROM pp_s.joined;
GRANT SELECT ON pp_s.joined, pp_s.exist, pp_s.isin, pp_s.plain, pp_s.around TO pp_bob;
SET ROLE pp_bob;
SELECT count(*) FROM pp_s.joined WHERE b::int > 0;
SELECT count(*) FROM pp_s.exist WHERE b::int > 0;
SELECT count(*) FROM pp_s.isin WHERE b::int > 0;
SELECT count(*) FROM pp_s.plain WHERE b::int > 0;
SELECT count(*) FROM pp_s.around WHERE b::int > 0;
SELECT count(*) FROM pp_s.joined j JOIN pp_s.plain p USING (a) WHERE j.b::int + p.b::int > 0;
SELECT count(*) FROM generate_series(1, 3) i, LATERAL (SELECT * FROM pp_s.isin WHERE b::int > i) x;
WITH w AS (SELECT * FROM pp_s.exist) SELECT count(*) FROM w WHERE 10 / (a % 2 - 1) < 0;
SELECT a, b FROM pp_s.joined WHERE a = 4;
SELECT a, b FROM pp_s.joined WHERE a = 3;
SELECT a, b FROM pp_s.exist WHERE a IN (2, 3, 4) ORDER BY a;
SELECT count(*) FROM pp_s.isin WHERE a > 3 AND b::int > 0 OR a IS NULL;
RESET ROLE;

-- Indexes are made where things may be made, and are their table's owner's.
SET ROLE pp_own;
CREATE TABLE pp_s.t (a int, b int);
RESET ROLE;
REVOKE CREATE ON SCHEMA pp_s FROM pp_own;
SET ROLE pp_own;
CREATE INDEX ON pp_s.t (a);
ALTER TABLE pp_s.t ADD UNIQUE (a);
CREATE TEMP TABLE pp_temp (a int);
CREATE INDEX ON pp_temp (a);
RESET ROLE;
CREATE UNIQUE INDEX pp_i ON pp_s.t (a) WHERE b > 0;
SELECT relowner::regrole FROM pg_class WHERE relname = 'pp_i';
SET ROLE pp_own;
DROP TABLE pp_temp;
ALTER INDEX pp_s.pp_i SET (fillfactor = 80);

-- What ON CONFLICT is said by is read.
GRANT INSERT, SELECT (a) ON pp_s.t TO pp_bob;
SET ROLE pp_bob;
RESET ROLE;
SET ROLE pp_bob;
INSERT INTO pp_s.t VALUES (1, 1) ON CONFLICT (a) WHERE b > 0 DO NOTHING;
RESET ROLE;
GRANT SELECT (b) ON pp_s.t TO pp_bob;
SET ROLE pp_bob;
INSERT INTO pp_s.t VALUES (1, 1) ON CONFLICT (a) WHERE b > 0 DO NOTHING;
INSERT INTO pp_s.t VALUES (1, 1) ON CONFLICT (a) WHERE b > 0 DO NOTHING;
INSERT INTO pp_s.t VALUES (1, 1) ON CONFLICT (a) WHERE b > 0 DO UPDATE SET b = 2;
RESET ROLE;
CREATE UNIQUE INDEX ON pp_s.t ((a + b));
REVOKE SELECT (b) ON pp_s.t FROM pp_bob;
SET ROLE pp_bob;
INSERT INTO pp_s.t VALUES (5, 1) ON CONFLICT ((a + b)) DO NOTHING;
RESET ROLE;
GRANT SELECT (b) ON pp_s.t TO pp_bob;
SET ROLE pp_bob;
INSERT INTO pp_s.t VALUES (5, 1) ON CONFLICT ((a + b)) DO NOTHING;
RESET ROLE;

-- A sequence is read under a view by its owner's rights.
CREATE SEQUENCE pp_s.sq START 7;
CREATE VIEW pp_s.sqv AS SELECT last_value, is_called FROM pp_s.sq;
GRANT SELECT ON pp_s.sqv TO pp_bob;
SET ROLE pp_bob;
SELECT * FROM pp_s.sqv;
SELECT last_value FROM pp_s.sq;
RESET ROLE;
GRANT SELECT ON pp_s.sq TO pp_bob;
SET ROLE pp_bob;
SELECT last_value FROM pp_s.sq;
RESET ROLE;

-- Settings that a superuser has made for a role stay.
ALTER ROLE pp_bob SET log_statement = 'all';
ALTER ROLE pp_bob SET work_mem = '5MB';
SET ROLE pp_bob;
ALTER ROLE pp_bob RESET ALL;
ALTER ROLE pp_bob RESET log_statement;
SELECT set_config('log_statement', NULL, false);
RESET log_statement;
RESET ROLE;
SELECT setconfig FROM pg_db_role_setting WHERE setrole = 'pp_bob'::regrole;
ALTER ROLE pp_bob RESET ALL;
SELECT setconfig FROM pg_db_role_setting WHERE setrole = 'pp_bob'::regrole;

-- Who the session is goes back to each by itself.
GRANT pp_own TO pp_bob;
BEGIN;
SET LOCAL SESSION AUTHORIZATION pp_bob;
SET ROLE pp_own;
SELECT session_user = 'pp_bob', current_user;
COMMIT;
SELECT session_user = 'pp_bob', current_user;
RESET ROLE;
BEGIN;
SET LOCAL ROLE pp_own;
SET SESSION AUTHORIZATION pp_bob;
COMMIT;
SELECT session_user, current_user;
RESET SESSION AUTHORIZATION;
BEGIN;
SET SESSION AUTHORIZATION pp_bob;
SAVEPOINT s;
SET LOCAL ROLE pp_own;
SELECT session_user, current_user;
ROLLBACK TO s;
SELECT session_user, current_user;
ROLLBACK;
SELECT session_user = 'pp_bob', current_user = 'pp_bob';

-- Functions outside plans.
REVOKE EXECUTE ON FUNCTION pg_sleep(float8) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION abs(int) FROM PUBLIC;
PREPARE pp_e (text) AS SELECT 1;
SET ROLE pp_bob;
PREPARE pp_n (int) AS SELECT $1;
EXECUTE pp_n(abs(-1));
EXECUTE pp_n(1 + 1);
SELECT abs(-1);
RESET ROLE;
GRANT INSERT ON pp_s.t TO pp_bob;
GRANT EXECUTE ON FUNCTION pg_sleep(float8), abs(int) TO PUBLIC;
SET ROLE pp_bob;
EXECUTE pp_n(abs(-1));
RESET ROLE;
DEALLOCATE ALL;

-- Languages that nobody is to be trusted with.
GRANT USAGE ON LANGUAGE internal TO pp_bob;
REVOKE USAGE ON LANGUAGE c FROM pp_bob;
GRANT USAGE ON LANGUAGE sql TO pp_bob;
GRANT USAGE ON LANGUAGE nothing TO pp_bob;
REVOKE USAGE ON LANGUAGE sql FROM pp_bob;

-- Extensions that are trusted are for whoever may make things in the database.
SET ROLE pp_bob;
CREATE EXTENSION pgcrypto;
CREATE EXTENSION amcheck;
RESET ROLE;
GRANT CREATE ON DATABASE postgres TO pp_bob;
SET ROLE pp_bob;
CREATE EXTENSION pgcrypto SCHEMA pp_s;
CREATE EXTENSION IF NOT EXISTS "uuid-ossp";
CREATE EXTENSION amcheck;
SELECT extname, extowner::regrole FROM pg_extension WHERE extname <> 'plpgsql' ORDER BY 1;
DROP EXTENSION pgcrypto, "uuid-ossp";
RESET ROLE;
REVOKE CREATE ON DATABASE postgres FROM pp_bob;
SELECT DISTINCT name, trusted FROM pg_available_extension_versions WHERE name IN ('pgcrypto', 'uuid-ossp', 'amcheck', 'pg_prewarm') ORDER BY 1;

-- Columns of sequences.
GRANT UPDATE (last_value), SELECT (is_called) ON pp_s.sq TO pp_bob;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'pp_s.sq'::regclass AND attacl IS NOT NULL;
GRANT SELECT (last_value) ON pp_s.sq TO pp_bob;
REVOKE ALL ON pp_s.sq FROM pp_bob;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'pp_s.sq'::regclass AND attacl IS NOT NULL;

-- What a role has by another counts where rights to give are taken, and given in a circle.
CREATE ROLE pp_h1;
CREATE ROLE pp_h2 IN ROLE pp_h1;
CREATE ROLE pp_h3;
CREATE TABLE pp_s.c (a int);
ALTER TABLE pp_s.c OWNER TO pp_h1;
GRANT USAGE ON SCHEMA pp_s TO pp_h1, pp_h3;
SET ROLE pp_h1;
GRANT SELECT ON pp_s.c TO pp_h2 WITH GRANT OPTION;
RESET ROLE;
SET ROLE pp_h2;
GRANT SELECT ON pp_s.c TO pp_h3 WITH GRANT OPTION;
RESET ROLE;
SET ROLE pp_h1;
REVOKE SELECT ON pp_s.c FROM pp_h2;
REVOKE SELECT ON pp_s.c FROM pp_h2 CASCADE;
RESET ROLE;
SELECT relacl FROM pg_class WHERE relname = 'c' AND relnamespace = 'pp_s'::regnamespace;
SET ROLE pp_h3;
GRANT SELECT ON pp_s.c TO pp_h2 WITH GRANT OPTION;
RESET ROLE;

-- A member takes nothing from its group that it could not revoke.
CREATE TABLE pp_s.d (a int, b int);
GRANT SELECT, INSERT (b) ON pp_s.d TO pp_h1;
-- Each system warns in its own order, PostgreSQL of system columns, too.
SET client_min_messages = error;
SET ROLE pp_h2;
DROP OWNED BY pp_h1;
DROP OWNED BY pp_h2;
RESET ROLE;
RESET client_min_messages;
SELECT relname, relacl FROM pg_class WHERE relname IN ('c', 'd') AND relnamespace = 'pp_s'::regnamespace;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'pp_s.d'::regclass AND attacl IS NOT NULL;
DROP OWNED BY pp_h1;
SELECT relname, relacl FROM pg_class WHERE relname IN ('c', 'd') AND relnamespace = 'pp_s'::regnamespace;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'pp_s.d'::regclass AND attacl IS NOT NULL;

-- Whoever may make temporary tables no longer makes none, even where there are some.
CREATE TYPE pp_s.e AS ENUM ('x');
REVOKE USAGE ON TYPE pp_s.e FROM PUBLIC;
CREATE TABLE pp_s.te AS SELECT 'x'::pp_s.e AS x;
GRANT SELECT ON pp_s.te TO pp_bob;
GRANT CREATE ON SCHEMA pp_s TO pp_bob;
CREATE TEMP TABLE pp_first (a int);
SET ROLE pp_bob;
CREATE VIEW pp_s.tev AS SELECT x FROM pp_s.te;
CREATE TEMP TABLE pp_second (a int);
RESET ROLE;
ALTER TABLE pp_first OWNER TO pp_bob;
REVOKE TEMP ON DATABASE postgres FROM PUBLIC;
SET ROLE pp_bob;
SELECT count(*) FROM pp_second;
RESET ROLE;
GRANT TEMP ON DATABASE postgres TO PUBLIC;
DROP TABLE pp_first, pp_second;

-- What a foreign key does to rows is done by the rights of their table's owner.
CREATE TABLE pp_s.fk_t (a int PRIMARY KEY);
INSERT INTO pp_s.fk_t VALUES (0), (1), (2), (3);
GRANT REFERENCES ON pp_s.fk_t TO pp_bob;
SET ROLE pp_bob;
CREATE TABLE pp_s.fk_r (a int DEFAULT (set_config('role', 'none', false) IS NULL)::int REFERENCES pp_s.fk_t ON DELETE SET DEFAULT);
INSERT INTO pp_s.fk_r VALUES (1);
CREATE TABLE pp_s.fk_l (a int DEFAULT (set_config('log_statement', 'all', false) IS NULL)::int REFERENCES pp_s.fk_t ON DELETE SET DEFAULT);
INSERT INTO pp_s.fk_l VALUES (2);
CREATE TABLE pp_s.fk_c (a int REFERENCES pp_s.fk_t ON DELETE SET NULL ON UPDATE CASCADE, CHECK (current_user = 'pp_bob'));
INSERT INTO pp_s.fk_c VALUES (3);
RESET ROLE;
DELETE FROM pp_s.fk_t WHERE a = 1;
DELETE FROM pp_s.fk_t WHERE a = 2;
UPDATE pp_s.fk_t SET a = 4 WHERE a = 3;
SELECT * FROM pp_s.fk_c;
DELETE FROM pp_s.fk_t WHERE a = 4;
SELECT * FROM pp_s.fk_c;
SELECT current_user = session_user, current_setting('log_statement');
INSERT INTO pp_s.fk_c VALUES (NULL);

DROP SCHEMA pp_s CASCADE;
DROP ROLE pp_bob, pp_own, pp_h1, pp_h2, pp_h3;
