-- Changes in WITH are run, whatever way the statement itself goes.
CREATE TABLE pe_lu (a int PRIMARY KEY); INSERT INTO pe_lu SELECT generate_series(1, 5);
WITH w AS (INSERT INTO pe_lu VALUES (6)) SELECT a FROM pe_lu WHERE a = 4;
WITH w AS (INSERT INTO pe_lu VALUES (7) RETURNING a) SELECT * FROM pe_lu WHERE a = 100;
WITH w AS (UPDATE pe_lu SET a = 8 WHERE a = 7) SELECT a FROM pe_lu WHERE a = 1;
SELECT * FROM pe_lu ORDER BY 1;
DROP TABLE pe_lu;

-- A row of columns of two tables, one of them in an outer join.
CREATE TABLE pe_b (id int PRIMARY KEY, g int); INSERT INTO pe_b SELECT i, i FROM generate_series(1, 5000) i;
CREATE TABLE pe_a (k int); INSERT INTO pe_a VALUES (1); CREATE TABLE pe_z (id int);
CREATE TABLE pe_m (p int, q int); INSERT INTO pe_m VALUES (1, 1), (5, 5);
ANALYZE pe_b, pe_a, pe_z, pe_m;
SELECT b.id, a.k FROM pe_b b LEFT JOIN pe_z z ON z.id = b.id, pe_a a WHERE (b.id, a.k) IN (SELECT p, q FROM pe_m);
SELECT b.id, a.k FROM (pe_z z RIGHT JOIN pe_b b ON z.id = b.id) CROSS JOIN pe_a a WHERE (b.id, a.k) IN (SELECT p, q FROM pe_m);
SELECT b.id, a.k FROM pe_b b, pe_a a WHERE (b.id, a.k) IN (SELECT p, q FROM pe_m) FOR UPDATE OF b;
SELECT b.id FROM pe_b b LEFT JOIN pe_z z ON z.id = b.id FOR UPDATE;
SELECT b.id FROM pe_b b LEFT JOIN pe_z z ON z.id = b.id FOR SHARE OF z;
SELECT b.id FROM pe_b b LEFT JOIN pe_z z ON z.id = b.id WHERE b.id = 3 FOR UPDATE OF b;
SELECT b.id FROM pe_b b LEFT JOIN pe_a a ON a.k = b.id WHERE a.k = 1 FOR UPDATE;
SELECT b.id FROM pe_b b FULL JOIN pe_a a ON a.k = b.id FOR UPDATE OF b;

-- An address beside a join by an index.
SELECT a.k, b.g FROM pe_a a JOIN pe_b b ON a.k = b.id WHERE b.ctid = '(0,1)';
SELECT a.k, b.g FROM pe_a a LEFT JOIN pe_b b ON a.k = b.id AND b.ctid = '(0,1)';
SELECT a.k, b.g FROM pe_a a LEFT JOIN pe_b b ON a.k = b.id AND b.ctid = '(0,2)';
DROP TABLE pe_b, pe_a, pe_z, pe_m;

-- Rows by their addresses after they were changed in place.
CREATE TABLE pe_t (id int, v int); INSERT INTO pe_t VALUES (1, 0), (2, 0); UPDATE pe_t SET v = 1 WHERE id = 1;
SELECT ctid, * FROM pe_t ORDER BY id;
SELECT * FROM pe_t WHERE ctid = '(0,3)';
SELECT * FROM pe_t WHERE ctid = '(0,1)';
SELECT * FROM pe_t WHERE ctid = '(0,77)';
SELECT * FROM pe_t WHERE ctid = '(77,1)';
UPDATE pe_t SET v = 2 WHERE ctid = (SELECT ctid FROM pe_t WHERE id = 1);
UPDATE pe_t SET v = 3 WHERE ctid IN (SELECT ctid FROM pe_t WHERE v > 0 LIMIT 1);
UPDATE pe_t SET v = 4 WHERE ctid = ANY (ARRAY(SELECT ctid FROM pe_t WHERE v > 0));
BEGIN; DECLARE c CURSOR FOR SELECT * FROM pe_t ORDER BY v DESC; FETCH c;
ROLLBACK;
BEGIN; DECLARE c CURSOR FOR SELECT * FROM pe_t; FETCH c; FETCH c;
UPDATE pe_t SET v = 7 WHERE CURRENT OF c;
UPDATE pe_t SET v = v + 1 WHERE CURRENT OF c;
DELETE FROM pe_t WHERE CURRENT OF c;
DELETE FROM pe_t WHERE CURRENT OF c;
COMMIT;
SELECT * FROM pe_t;
DROP TABLE pe_t;

-- Equal by one collation, one before the other by another.
CREATE COLLATION pe_ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE pe_c (a text COLLATE pe_ci, b int); INSERT INTO pe_c VALUES ('X', 2), ('x', 1), ('X', 3), ('x', 4);
CREATE INDEX ON pe_c (a, b);
SET enable_seqscan = off;
SELECT * FROM pe_c WHERE a = 'x' ORDER BY a COLLATE "C", b;
SELECT * FROM pe_c WHERE a = 'x' ORDER BY a COLLATE "C", b LIMIT 1;
SELECT * FROM pe_c WHERE a = 'x' ORDER BY a, b;
RESET enable_seqscan;
DROP TABLE pe_c; DROP COLLATION pe_ci;

-- A constant that is a key of groups is one where it stands alone.
SELECT 1 AS x, a, 1 + a AS y FROM (VALUES (5)) t (a) GROUP BY GROUPING SETS ((x), (a)) ORDER BY a;
SELECT 'k' AS x, a, 'k' || a AS y FROM (VALUES (5)) t (a) GROUP BY GROUPING SETS ((x), (a)) ORDER BY a;

-- WITH is run as far as it is read.
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT * FROM t LIMIT 3;
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT EXISTS (SELECT * FROM t WHERE n = 5);
WITH x AS MATERIALIZED (SELECT generate_series(1, 2000000000) g) SELECT * FROM x LIMIT 1;
WITH x AS MATERIALIZED (SELECT generate_series(1, 2000) g) SELECT count(*), (SELECT sum(g) FROM x) FROM x;
WITH x AS MATERIALIZED (SELECT generate_series(1, 4) g) SELECT a.g, b.g FROM x a JOIN LATERAL (SELECT * FROM x WHERE x.g > a.g LIMIT 1) b ON true;

-- A sub-select within the key of a sub-select.
CREATE TABLE pe_o (b int); INSERT INTO pe_o VALUES (1), (2), (3);
CREATE TABLE pe_i (a int); INSERT INTO pe_i VALUES (10), (30);
CREATE TABLE pe_u (x int, y int); INSERT INTO pe_u VALUES (10, 1), (5, 1), (20, 2), (30, 3);
SELECT * FROM pe_o o WHERE EXISTS (SELECT 1 FROM pe_i t WHERE t.a = (SELECT max(x) FROM pe_u u WHERE u.y = o.b)) ORDER BY 1;
SELECT * FROM pe_o o WHERE NOT EXISTS (SELECT 1 FROM pe_i t WHERE t.a = (SELECT max(x) FROM pe_u u WHERE u.y = o.b)) ORDER BY 1;
DROP TABLE pe_o, pe_i, pe_u;

-- A date for which there is no time, beside an index of times.
CREATE TABLE pe_ts (t timestamp, z timestamptz); CREATE INDEX ON pe_ts (t); CREATE INDEX ON pe_ts (z);
INSERT INTO pe_ts VALUES ('2024-01-01', '2024-01-01'), ('infinity', 'infinity');
SET enable_seqscan = off;
SELECT t FROM pe_ts WHERE t < date '5874897-12-31' ORDER BY t;
SELECT t FROM pe_ts WHERE t > date '5874897-12-31' ORDER BY t;
SELECT z FROM pe_ts WHERE z <= date '5874897-12-31' ORDER BY z;
SELECT t FROM pe_ts WHERE t = date '5874897-12-31';
SELECT t FROM pe_ts WHERE t < date '2024-06-01' ORDER BY t;
RESET enable_seqscan;
DROP TABLE pe_ts;

-- Changes in WITH that nobody reads, wherever the statement goes.
CREATE TABLE pe_w (a int);
CREATE TABLE pe_n AS WITH w AS (INSERT INTO pe_w VALUES (1) RETURNING a) SELECT 1 AS x;
SELECT * FROM pe_w; SELECT * FROM pe_n;
WITH w AS (INSERT INTO pe_w VALUES (2)) SELECT 5 AS x INTO pe_o;
SELECT * FROM pe_w ORDER BY 1;
WITH w AS (INSERT INTO pe_w VALUES (3)) INSERT INTO pe_n SELECT 2 FROM pe_w WHERE a = 3;
WITH w AS (DELETE FROM pe_w WHERE a = 1) SELECT count(*) FROM pe_w;
SELECT * FROM pe_w ORDER BY 1;
COPY (WITH w AS (INSERT INTO pe_w VALUES (4)) SELECT 1) TO STDOUT;
COPY (WITH w AS (INSERT INTO pe_w VALUES (5) RETURNING a) SELECT a FROM w) TO STDOUT;
PREPARE pe_p AS WITH w AS (INSERT INTO pe_w VALUES (6)) SELECT 1;
EXECUTE pe_p;
CREATE TABLE pe_q AS EXECUTE pe_p;
SELECT * FROM pe_w ORDER BY 1;
SELECT * FROM pe_n ORDER BY 1;
DROP TABLE IF EXISTS pe_w, pe_n, pe_o, pe_q;

-- Expressions that move to the query around theirs, with sub-selects in them.
CREATE TABLE pe_o (b int); INSERT INTO pe_o VALUES (1), (2), (3);
CREATE TABLE pe_i (a int); INSERT INTO pe_i VALUES (10), (30);
CREATE TABLE pe_u (x int, y int); INSERT INTO pe_u VALUES (10, 1), (5, 1), (20, 2), (30, 3);
WITH c AS MATERIALIZED (SELECT * FROM pe_u) SELECT * FROM pe_o o WHERE EXISTS (SELECT 1 FROM pe_i t WHERE t.a = (SELECT max(x) FROM c WHERE c.y = o.b)) ORDER BY 1;
WITH c AS MATERIALIZED (SELECT * FROM pe_u) SELECT * FROM pe_o o WHERE NOT EXISTS (SELECT 1 FROM pe_i t WHERE t.a = (SELECT max(x) FROM c WHERE c.y = o.b AND EXISTS (SELECT 1 FROM c d WHERE d.x = c.x AND d.y = o.b))) ORDER BY 1;
SELECT (SELECT sum((SELECT max(u.x) FROM pe_u u WHERE u.y = o.b))) FROM pe_o o;
SELECT b % 2, (SELECT sum((SELECT max(u.x) FROM pe_u u WHERE u.y = o.b)) FROM pe_i LIMIT 1) FROM pe_o o GROUP BY 1 ORDER BY 1;
WITH c AS MATERIALIZED (SELECT * FROM pe_u) SELECT (SELECT (SELECT sum((SELECT max(c.x) FROM c WHERE c.y = o.b)))) FROM pe_o o;
DROP TABLE pe_o, pe_i, pe_u;

-- IN of a sub-select whose columns are cast for the comparison, asked by rows.
CREATE TABLE pe_s (a int, i int, bp char(5)); CREATE INDEX ON pe_s (a);
INSERT INTO pe_s SELECT g, g, 'x' FROM generate_series(1, 2000) g; ANALYZE pe_s;
CREATE TABLE pe_t (id int PRIMARY KEY, a int, n numeric, x text, x5 char(8));
INSERT INTO pe_t SELECT g, g, g, 'x', 'x' FROM generate_series(1, 100) g; ANALYZE pe_t;
SELECT id FROM pe_t WHERE id = 1 AND (a, n) IN (SELECT a, i FROM pe_s);
SELECT id FROM pe_t WHERE id = 2 AND (a, x) IN (SELECT a, bp FROM pe_s);
SELECT id FROM pe_t WHERE id = 3 AND (a, x5) IN (SELECT a, bp FROM pe_s);
SELECT id FROM pe_t WHERE id = 4 AND (a, n) IN (SELECT a, i + 1 FROM pe_s);
SELECT id FROM pe_t WHERE id < 4 AND a IN (SELECT i::int8 FROM pe_s WHERE pe_s.a = pe_t.a) ORDER BY id;
DROP TABLE pe_s, pe_t;

-- Grouping sets over one column under two names.
CREATE TABLE pe_g (x int, y int); INSERT INTO pe_g VALUES (1, 1), (1, 2), (2, 1);
SELECT p, q, count(*), grouping(p), grouping(q) FROM (SELECT x AS p, x AS q FROM pe_g) s GROUP BY GROUPING SETS ((p), (q)) ORDER BY grouping(p), count(*) DESC;
SELECT p, q, count(*) FROM (SELECT x AS p, x AS q FROM pe_g) s GROUP BY ROLLUP (p, q) ORDER BY 1, 2, 3;
SELECT p, q, count(*) FROM (SELECT x AS p, y AS q FROM pe_g) s GROUP BY GROUPING SETS ((p), (q)) ORDER BY 1, 2;
DROP TABLE pe_g;

-- Frames whose offsets are wrong, whoever looks at them.
SELECT row_number() OVER (ORDER BY g ROWS -1 PRECEDING) FROM generate_series(1, 3) g;
SELECT rank() OVER (ORDER BY g ROWS NULL::int PRECEDING) FROM generate_series(1, 3) g;
SELECT sum(g) OVER (ORDER BY g ROWS -1 PRECEDING) FROM generate_series(1, 0) g;
