-- Parts of plans that are started again for each row: those that hang on nothing are kept, all others are made anew.
CREATE SCHEMA rescans;
SET search_path = rescans;
CREATE TABLE t (id int, k int, v int);
CREATE TABLE n (id int, k int, v int, s text);
INSERT INTO t SELECT i, i % 5, i % 3 FROM generate_series(1, 12) i;
INSERT INTO t VALUES (13, NULL, 2), (14, 2, NULL);
INSERT INTO n SELECT i, i % 7, i % 4, 's' || i % 6 FROM generate_series(1, 25) i;
INSERT INTO n VALUES (26, NULL, 1, 's1'), (27, 3, NULL, NULL);
ANALYZE;

-- Joins
SELECT id, (SELECT count(*) FROM n a JOIN n b ON a.k = b.k WHERE a.id = t.id) FROM t ORDER BY id;
SELECT id, (SELECT count(b.id) FROM n a LEFT JOIN n b ON a.k = b.v WHERE a.id < t.id) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM (SELECT * FROM n WHERE id < t.id) a FULL JOIN n b ON a.k = b.id) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM (SELECT * FROM n WHERE id < t.id) a RIGHT JOIN n b ON a.k = b.id WHERE a.id IS NULL) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM n a WHERE a.id < t.id AND a.k IN (SELECT v FROM n)) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM n a WHERE a.id < t.id AND NOT EXISTS (SELECT FROM n b WHERE b.v = a.k AND b.id > a.id)) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM n a, n b WHERE a.id = t.id AND a.v < b.v) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM n a JOIN n b ON a.k = b.k + t.v WHERE a.id < 9) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM n a LEFT JOIN n b ON a.k = b.k AND b.id < t.id) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM n a LEFT JOIN n b ON a.k = b.k AND b.id + a.id < t.id) FROM t ORDER BY id;
SELECT t.id, s.* FROM t, LATERAL (SELECT count(*), max(b.id) FROM n a JOIN n b ON a.v = b.v AND a.id = t.id) s ORDER BY 1;
SELECT t.id, s.* FROM t LEFT JOIN LATERAL (SELECT b.id AS b FROM n a FULL JOIN n b ON a.id = b.id AND a.id = t.id WHERE b.v = 0) s ON true ORDER BY 1, 2;
SELECT t.id, s.* FROM t, LATERAL (SELECT a.id AS a, b.id AS b FROM n a, n b WHERE a.id = t.id AND b.id > 24 ORDER BY 1, 2 LIMIT 2) s ORDER BY 1, 2, 3;

-- Sorted rows, groups, set operations, windows
SELECT id, (SELECT string_agg(q.s, ',') FROM (SELECT s, v FROM n ORDER BY s, id OFFSET 0) q WHERE q.v < t.v) FROM t ORDER BY id;
SELECT id, (SELECT q.id FROM (SELECT id FROM n ORDER BY v DESC, id LIMIT 9) q WHERE q.id > t.id ORDER BY 1 LIMIT 1) FROM t ORDER BY id;
SELECT id, (SELECT max(q.c + t.id) FROM (SELECT k, count(*) AS c FROM n GROUP BY k) q) FROM t ORDER BY id;
SELECT id, (SELECT sum(q.c) FROM (SELECT k, count(*) AS c FROM n GROUP BY ROLLUP (k)) q WHERE q.c > t.v) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM (SELECT DISTINCT v FROM n OFFSET 0) q WHERE q.v < t.v) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM (SELECT DISTINCT ON (v) v, id FROM n ORDER BY v, id DESC) q WHERE q.id < t.id + 20) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM (SELECT v FROM n EXCEPT SELECT 3) q WHERE q.v < t.v) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM (SELECT v FROM n INTERSECT ALL SELECT k FROM n) q WHERE q.v < t.v) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM (SELECT v FROM n UNION SELECT k FROM n OFFSET 1) q) + id FROM t ORDER BY id;
SELECT id, (SELECT sum(q.o) FROM (SELECT row_number() OVER (PARTITION BY v ORDER BY id) AS o, v FROM n) q WHERE q.o < t.id) FROM t ORDER BY id;
SELECT id, (SELECT array_agg(q.k ORDER BY q.k) FROM (SELECT k FROM n GROUP BY k HAVING count(*) > t.v) q) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM (SELECT k, (SELECT max(m.id) FROM n m WHERE m.k = n.k) AS x FROM n GROUP BY k) q WHERE q.x > t.id + 10) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM (SELECT k, (SELECT max(m.id) FROM n m WHERE m.k = n.k AND m.id <> t.id) AS x FROM n GROUP BY k) q WHERE q.x > 20) FROM t ORDER BY id;
SELECT id, EXISTS (SELECT 1 FROM (SELECT v FROM n ORDER BY v OFFSET 2) q WHERE q.v = t.k), t.k NOT IN (SELECT q.v + t.v FROM (SELECT DISTINCT v FROM n WHERE v IS NOT NULL) q) FROM t ORDER BY id;

-- WITH and recursion
SELECT id, (WITH c AS MATERIALIZED (SELECT v FROM n WHERE id < 9) SELECT count(*) FROM n a JOIN c ON c.v = a.v WHERE a.id < t.id) FROM t ORDER BY id;
SELECT id, (WITH c AS MATERIALIZED (SELECT t.id AS y) SELECT count(*) FROM n JOIN (SELECT y FROM c ORDER BY y) d ON d.y < n.id) FROM t ORDER BY id;
SELECT id, (WITH c AS MATERIALIZED (SELECT t.id AS y) SELECT sum(n.id + d.y) FROM n JOIN (SELECT DISTINCT y FROM c) d ON d.y = n.id) FROM t ORDER BY id;
WITH c AS MATERIALIZED (SELECT v FROM n WHERE id < 9) SELECT id, (SELECT count(*) FROM n a JOIN (SELECT DISTINCT v FROM c) c ON c.v = a.v WHERE a.id < t.id) FROM t ORDER BY id;
WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT b.id FROM r JOIN n b ON b.id = r.i + 1) SELECT count(*), max(i) FROM r;
WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT q.i + 1 FROM (SELECT i, 0 AS z FROM r ORDER BY i) q JOIN (VALUES (0)) w(z) USING (z) WHERE q.i < 5) SELECT * FROM r;
WITH RECURSIVE r AS (SELECT 1 AS i UNION SELECT a.id FROM n a, n b, r WHERE a.k = b.id AND b.v = r.i % 4 AND a.id < 20) SELECT count(*), sum(i) FROM r;
SELECT id, (WITH RECURSIVE r AS (SELECT t.id AS i UNION ALL SELECT b.id FROM r JOIN n b ON b.k = r.i AND b.id > r.i) SELECT count(*) FROM r) FROM t ORDER BY id;
SELECT * FROM t, LATERAL (WITH RECURSIVE r AS (SELECT t.v AS i UNION ALL SELECT i + 1 FROM r JOIN (SELECT max(v) AS m FROM n) x ON r.i < x.m) SELECT count(*) AS c FROM r) s ORDER BY t.id;

-- A part that was read to its middle only
SELECT id, (SELECT b.id FROM n a, n b WHERE a.id = t.id AND b.v = a.v ORDER BY a.id LIMIT 1) IS NULL FROM t ORDER BY id;
SELECT id, EXISTS (SELECT 1 FROM n a, n b WHERE a.v = t.v AND b.k > a.k) FROM t ORDER BY id;
SELECT id, (SELECT sum(x) FROM (SELECT b.id AS x FROM n a JOIN n b ON a.k = b.k WHERE a.id = t.id ORDER BY b.id LIMIT 2) q) FROM t ORDER BY id;
