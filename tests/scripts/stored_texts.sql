-- What is stored means later what it meant when it was written.
CREATE SCHEMA stx;
SET search_path = stx;
CREATE TABLE e(d date CHECK (d IN ('2024-01-01', '2024-07-01')));
CREATE INDEX e_some ON e(d) WHERE d IN ('2024-01-01', '2024-07-01');
INSERT INTO e VALUES ('2024-01-01');
INSERT INTO e VALUES ('2024-01-02');
CREATE TABLE n(
    i int CHECK (i IN ('1', '2')), n numeric CHECK (n IN ('1', '2.5')), m numeric CHECK (m IN (1, 2)),
    b bool CHECK (b IN ('t', 'f')), ts timestamp CHECK (ts IN ('2024-01-01', '2024-07-01 10:00')),
    u uuid CHECK (u IN ('11111111-1111-1111-1111-111111111111', '21111111-1111-1111-1111-111111111111')),
    f float8 CHECK (f NOT IN (1, 2.5)), s smallint CHECK (s IN (1, 2)), bi bigint CHECK (bi IN (1, 2, -3)),
    c char(3) CHECK (c IN ('a  ', 'b')), t text CHECK (t IN ('x', 'y')), o int CHECK ((i, o) IN ((1, 2), (3, 4))),
    one int CHECK (one IN (5))
);
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('n'::regclass, 'e'::regclass) ORDER BY 1;
SELECT pg_get_indexdef('e_some'::regclass);
CREATE TABLE q(id bigint, st bigint);
CREATE UNIQUE INDEX ON q(id) WHERE st IN (1, 2);
INSERT INTO q VALUES (1, 1) ON CONFLICT (id) WHERE st IN (1, 2) DO NOTHING;
INSERT INTO q VALUES (1, 2) ON CONFLICT (id) WHERE st IN (1, 2) DO NOTHING;
INSERT INTO q VALUES (1, 2) ON CONFLICT (id) WHERE st = ANY (ARRAY[1::bigint, 2::bigint]) DO NOTHING;
INSERT INTO q VALUES (1, 3) ON CONFLICT (id) WHERE st IN (1, 2) DO NOTHING;
SELECT * FROM q ORDER BY st;
CREATE TABLE c(code char(3) CHECK (code IN ('a  ', 'b  ')));
INSERT INTO c VALUES ('a');
SET datestyle = 'sql, mdy';
CREATE TABLE g(n int, d date, CHECK (n IN (1, 2) AND d > '01/02/2024'));
SET datestyle = 'sql, dmy';
INSERT INTO g VALUES (1, '2024-01-05');
INSERT INTO g VALUES (2, '2024-01-02');
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'g'::regclass;
RESET datestyle;
CREATE TABLE h(a int, b boolean GENERATED ALWAYS AS (a IN ('1', '2')) STORED, c int DEFAULT (CASE WHEN 1 IN ('1', '2') THEN 4 END));
INSERT INTO h VALUES (1), (3);
SELECT * FROM h;
CREATE TABLE r(a int CHECK (a > 0) NO INHERIT, CONSTRAINT x CHECK (a < 10) NO INHERIT);
ALTER TABLE r ADD CONSTRAINT y CHECK (a <> 5) NO INHERIT NOT VALID;
CREATE TABLE r2(LIKE r INCLUDING ALL);
SELECT conname, connoinherit, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('r'::regclass, 'r2'::regclass) ORDER BY conrelid, 1;
CREATE TABLE m USING nonsense AS SELECT 1;
CREATE TABLE m USING heap AS SELECT 1;
CREATE TABLE IF NOT EXISTS m USING nonsense AS SELECT 1;
CREATE TABLE m2(a int) USING btree;
CREATE TABLE su("system_user" int CHECK ("system_user" > 0), "user" int);
ALTER TABLE su RENAME "user" TO other;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'su'::regclass;
INSERT INTO su VALUES (0);
CREATE VIEW suv AS SELECT *, (su).* FROM su;
INSERT INTO su VALUES (1, 2);
SELECT * FROM suv;
SET client_min_messages = warning;
DROP SCHEMA stx CASCADE;
-- Lists of other comparisons than IN.
CREATE TABLE lists (a int, s text CHECK (s LIKE ANY (ARRAY['a%', 'b%'])), d int CHECK (d < ALL (ARRAY[5, 9])), e int CHECK (e = ANY (ARRAY[3])),
  f int CHECK (f <> ALL (ARRAY[3, 4])), g int CHECK (g = ALL (ARRAY[3, 3])), h int CHECK (h NOT IN (1, 2)));
ALTER TABLE lists RENAME a TO b;
ALTER TABLE lists RENAME d TO dd;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'lists'::regclass ORDER BY conname;
INSERT INTO lists (s) VALUES ('c');
INSERT INTO lists (s, dd, e, f, g, h) VALUES ('b', 4, 3, 5, 3, 3);
