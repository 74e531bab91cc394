-- EXISTS and NOT EXISTS that are tied to the rows around them by more than equalities.
CREATE SCHEMA exists_planned;
SET search_path = exists_planned;
CREATE TABLE t (id int PRIMARY KEY, k int, ts int, f text, n numeric);
CREATE TABLE u (id int PRIMARY KEY, k int, ts int, f text, n numeric);
INSERT INTO t SELECT i, i % 7, i * 5 % 23, 'f' || i % 4, i % 6 FROM generate_series(1, 40) i;
INSERT INTO t VALUES (41, NULL, 3, 'f1', 1), (42, 3, NULL, NULL, NULL), (43, NULL, NULL, NULL, 2), (44, 99, 1, 'f2', 3);
INSERT INTO u SELECT i, i % 9, i * 3 % 29, 'f' || i % 5, i % 8 FROM generate_series(1, 30) i;
INSERT INTO u VALUES (31, NULL, 3, 'f1', 1), (32, 3, NULL, NULL, NULL), (33, NULL, NULL, NULL, 2), (34, 77, 1, 'f9', 3);
ANALYZE;

-- The newest of each key
SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM t n WHERE n.k = t.k AND n.ts > t.ts) ORDER BY id;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t n WHERE n.k = t.k AND n.ts > t.ts AND n.id < 20) ORDER BY id;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ts <> t.ts) ORDER BY id;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND (u.ts > t.ts OR u.f = t.f)) ORDER BY id;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.f IS DISTINCT FROM t.f AND u.ts + t.ts > 40) ORDER BY id;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.n = t.n AND u.id BETWEEN t.id - 3 AND t.id + 3) ORDER BY id;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND t.ts > 10) ORDER BY id;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND t.ts IS NULL) ORDER BY id;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k + 1 = t.k + 1 AND u.f >= t.f AND u.k < t.k + 1) ORDER BY id;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ts > ALL (SELECT ts FROM t v WHERE v.k = t.k AND v.id < u.id)) ORDER BY id;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ts > (SELECT min(v.ts) FROM t v WHERE v.f = t.f AND v.id <> u.id)) ORDER BY id;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u JOIN u w ON w.k = u.id WHERE u.k = t.k AND w.ts > t.ts) ORDER BY id;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u LEFT JOIN u w ON w.k = u.id WHERE u.k = t.k AND coalesce(w.ts, 0) > t.ts) ORDER BY id;
SELECT id FROM t WHERE NOT EXISTS (SELECT DISTINCT ON (f) f FROM u WHERE u.k = t.k AND u.ts > t.ts ORDER BY f, id) ORDER BY id;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND (u.id, u.f) IS DISTINCT FROM (t.id, t.f) AND u.ts > t.ts) ORDER BY id;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ctid <> t.ctid) ORDER BY id;
SELECT id FROM t WHERE (k, ts) IN (SELECT k, max(ts) FROM t GROUP BY k) AND EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ts < t.ts) ORDER BY id;
-- Of queries further out, too
SELECT id, (SELECT count(*) FROM u WHERE NOT EXISTS (SELECT 1 FROM t v WHERE v.k = u.k AND v.ts > u.ts AND v.id < t.id)) FROM t ORDER BY id;
SELECT id, (SELECT count(*) FROM u WHERE EXISTS (SELECT 1 FROM t v WHERE v.k = u.k AND v.ts + u.ts > t.ts)) FROM t ORDER BY id;
-- The first rows in an index's order
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND u.ts > t.ts) ORDER BY id LIMIT 3;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.k AND u.ts > t.ts) ORDER BY id DESC LIMIT 3;
SELECT max(id), min(id) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ts > t.ts);
-- Where rows are changed
BEGIN;
WITH d AS (DELETE FROM t WHERE EXISTS (SELECT 1 FROM t n WHERE n.k = t.k AND n.ts > t.ts) RETURNING id) SELECT id FROM d ORDER BY id;
WITH d AS (UPDATE u SET ts = 0 WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = u.k AND t.ts < u.ts) RETURNING id) SELECT id FROM d ORDER BY id;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ts > t.ts) ORDER BY id FOR UPDATE;
ROLLBACK;

-- In targets, under OR and elsewhere, asked by more rows than one would look for one by one
INSERT INTO t SELECT 100 + i, i % 60, i % 31, 'f' || i % 7, i % 11 FROM generate_series(1, 400) i;
INSERT INTO u SELECT 100 + i, i % 90, i % 37, 'f' || i % 9, i % 13 FROM generate_series(1, 300) i;
ANALYZE;
SELECT id, EXISTS (SELECT 1 FROM u WHERE u.k = t.k), NOT EXISTS (SELECT 1 FROM u WHERE u.ts = t.ts AND u.f = t.f) FROM t ORDER BY id;
SELECT count(*) FROM t WHERE ts = 3 OR EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ts > 20);
SELECT count(*) FROM t WHERE ts = 3 OR NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ts > 20);
SELECT count(*) FROM t WHERE NOT (ts > 3 AND EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.n = t.n));
SELECT sum(CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.k + 1 = t.k AND u.f < 'f5') THEN ts ELSE -1 END) FROM t;
SELECT count(*), count(u.id) FROM t LEFT JOIN u ON u.id = t.id AND EXISTS (SELECT 1 FROM u v WHERE v.k = t.k AND v.ts = 4);
SELECT k, count(*) FROM t GROUP BY k HAVING count(*) > 12 OR EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.n = 5) ORDER BY k;
SELECT f, EXISTS (SELECT 1 FROM u WHERE u.id - 100 = max(t.ts)), EXISTS (SELECT 1 FROM u WHERE u.f = t.f AND u.k = count(t.id)) FROM t GROUP BY f ORDER BY f;
SELECT count(*) FROM t WHERE ts = 1 OR EXISTS (SELECT 1 FROM u JOIN u w ON w.id = u.id + 1 WHERE u.k = t.k AND w.f = 'f3');
SELECT count(*) FROM t WHERE ts = 1 OR EXISTS (SELECT f FROM u WHERE u.k = t.k AND u.n IN (SELECT n FROM t WHERE k = 3) ORDER BY f);
SELECT count(*) FROM t WHERE ts = 1 OR EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND EXISTS (SELECT 1 FROM t v WHERE v.id = u.id AND v.f = 'f2'));
SELECT id, (SELECT count(*) FROM u WHERE u.ts = 1 OR EXISTS (SELECT 1 FROM t v WHERE v.k = u.k AND v.ts = t.ts)) FROM t WHERE id < 12 ORDER BY id;
WITH c AS MATERIALIZED (SELECT * FROM u WHERE ts > 5) SELECT count(*) FROM t WHERE ts = 1 OR EXISTS (SELECT 1 FROM c WHERE c.k = t.k AND c.f = t.f);
SELECT id, (WITH c AS MATERIALIZED (SELECT * FROM u WHERE ts = t.ts) SELECT count(*) FROM t v WHERE v.id < 60 AND (v.ts = 1 OR EXISTS (SELECT 1 FROM c WHERE c.k = v.k))) FROM t WHERE id < 12 ORDER BY id;
SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.f = t.f::char(5)) IS NOT TRUE;
PREPARE asked (int) AS SELECT count(*) FROM t WHERE ts = $1 OR EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.ts = $1);
EXECUTE asked (3);
EXECUTE asked (30);
EXECUTE asked (NULL);
UPDATE t SET f = CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.n = t.n) THEN 'seen' ELSE f END;
SELECT f, count(*) FROM t GROUP BY f ORDER BY f;
DELETE FROM t WHERE ts = 7 OR NOT EXISTS (SELECT 1 FROM u WHERE u.ts = t.ts);
SELECT count(*) FROM t;
