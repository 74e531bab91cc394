-- Which conditions are asked first, and what is computed for rows that nobody wants.
CREATE SCHEMA oc;
SET search_path = oc;
CREATE TABLE t (a int, b int);
INSERT INTO t VALUES (10, 0), (10, 2);
CREATE VIEW v AS SELECT * FROM t WHERE b <> 0;
-- A view's condition before those on it, ON before WHERE, the cheap before the dear.
SELECT * FROM v WHERE a / b > 1;
SELECT t.* FROM t JOIN t u ON u.a = t.a AND t.b <> 0 WHERE t.a / t.b > 1 ORDER BY 1, 2;
SELECT * FROM t WHERE a / b > 1 AND b <> 0;
SELECT * FROM t WHERE b <> 0 AND a / b > 1;
SELECT b FROM t GROUP BY b HAVING sum(a) / sum(b) > 1 AND sum(b) <> 0;
SELECT * FROM (SELECT s FROM (VALUES ('x'), ('7')) AS l (s) WHERE s ~ '^[0-9]+$') q WHERE s::int > 5;
SELECT * FROM t LEFT JOIN (SELECT a, b FROM t WHERE b <> 0) u ON u.a / u.b > 1 ORDER BY 1, 2, 4;
SELECT * FROM t WHERE a / b > 1 AND b IS NOT NULL AND b <> 0;
CREATE VIEW va AS SELECT * FROM t WHERE abs(b) > 0;
SELECT va.* FROM (VALUES (1), (2)) u (x) JOIN va ON 10 / va.b > 1 ORDER BY 1, 2;
SELECT (SELECT 1 WHERE 10 / t.b + t.b > 0 AND t.b <> 0) FROM t ORDER BY b;
SELECT * FROM t t1 WHERE EXISTS
    (SELECT 1 FROM t t2 WHERE t2.a = t1.a AND 10 / (t1.b - t2.b) + 1 > 0 AND t1.b <> t2.b) ORDER BY 1, 2;
-- Equally dear ones as written.
SELECT * FROM t WHERE a / b > 1 AND a / (b + 1) > 1;
SELECT * FROM t WHERE b > 0 AND 10 / b > 1;
-- One answer of a list, found by several ways.
CREATE TABLE big (id int PRIMARY KEY, x int);
INSERT INTO big SELECT i, i FROM generate_series(1, 10000) i;
CREATE TABLE small (k int);
INSERT INTO small VALUES (1), (2);
ANALYZE big, small;
WITH c AS NOT MATERIALIZED (SELECT * FROM big WHERE id IN (SELECT k FROM small))
    SELECT count(*) FROM c c1, c c2 WHERE c2.id = 5;
WITH c AS NOT MATERIALIZED (SELECT * FROM big WHERE id IN (SELECT k FROM small))
    SELECT c1.id, c2.id FROM c c1, c c2 WHERE c2.x < 9000 ORDER BY 1, 2;
-- What takes long is computed for the rows that LIMIT lets through.
CREATE TABLE few (id int);
CREATE TABLE several (k int, v int);
INSERT INTO few VALUES (1), (2);
INSERT INTO several VALUES (1, 1), (1, 2);
SELECT id, (SELECT v FROM several WHERE several.k = few.id) FROM few ORDER BY id DESC LIMIT 1;
SELECT id, (SELECT v FROM several WHERE several.k = few.id) FROM few ORDER BY id LIMIT 1;
SELECT id FROM few ORDER BY id DESC, (SELECT v FROM several WHERE several.k = few.id) LIMIT 1;
SELECT 1 / b, (SELECT max(v) FROM several WHERE several.k = t.b) FROM t ORDER BY b DESC LIMIT 1;
SELECT b, random() < 0, (SELECT max(v) FROM several WHERE several.k = t.b) FROM t ORDER BY b DESC LIMIT 1;
-- Volatile sub-selects are asked each by itself.
CREATE SEQUENCE sq;
SELECT sum((SELECT nextval('sq') + 0 * t.a)), sum((SELECT nextval('sq') + 0 * t.a)) FROM t;
SELECT count(*) BETWEEN 1 AND 9999 FROM big WHERE EXISTS
    (SELECT 1 FROM small WHERE small.k = big.id % 3 AND small.k <= big.x AND random() < 0.5);
-- Aggregates of a query further out among those that indexes answer.
CREATE TABLE o (x int);
CREATE TABLE i (a int, b int);
CREATE INDEX ON i (a);
CREATE INDEX ON i (b);
INSERT INTO o VALUES (1), (2);
INSERT INTO i SELECT n, 100 - n FROM generate_series(1, 50) n;
ANALYZE i;
SELECT (SELECT max(i.a) + min(i.b) + max(o.x) FROM i) FROM o;
SELECT (SELECT max(i.a ORDER BY o.x) FROM i) FROM o;
SELECT max(a ORDER BY b), min(b) FROM i;
-- Sub-selects that are alike are one key.
SELECT (SELECT max(v) FROM several s WHERE s.k = few.id) FROM few
    GROUP BY (SELECT max(v) FROM several s WHERE s.k = few.id) ORDER BY 1;
SELECT (SELECT min(v) FROM several s WHERE s.k = few.id) FROM few
    GROUP BY (SELECT max(v) FROM several s WHERE s.k = few.id);
-- FOR UPDATE of a view or a query in FROM.
CREATE VIEW vf AS SELECT * FROM few;
SELECT * FROM t LEFT JOIN (SELECT * FROM few) s ON s.id = t.b FOR UPDATE;
SELECT * FROM t LEFT JOIN vf s ON s.id = t.b FOR UPDATE OF t;
SELECT * FROM vf ORDER BY id LIMIT 1 FOR UPDATE;
DROP SCHEMA oc CASCADE;
