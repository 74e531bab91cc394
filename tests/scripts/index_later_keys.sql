-- Conditions on key columns behind a range or behind columns without any, and lists of values for several columns: what
-- they find, and what of them is said of the index. Rows are compared in the order of the index, and with those of the
-- table read from end to end.
-- Without autovacuum: what is visible to all decides between plans, and servers clean at their own times.
CREATE TABLE lk (id int PRIMARY KEY, a int, b int, c text, d numeric, e date, f bool) WITH (autovacuum_enabled = off);
INSERT INTO lk SELECT g, CASE WHEN g % 11 > 0 THEN g % 5 END, CASE WHEN g % 13 > 0 THEN g * 7 % 23 END,
       CASE WHEN g % 17 > 0 THEN chr(97 + g % 6) || g % 4 END, CASE WHEN g % 7 > 0 THEN (g * 31 % 19 - 9) / 4.0 END,
       CASE WHEN g % 5 > 0 THEN DATE '2024-01-01' + g % 9 END, CASE WHEN g % 3 > 0 THEN g % 2 = 0 END
FROM generate_series(1, 3000) g;
ANALYZE lk;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET enable_indexonlyscan = off;
CREATE INDEX lk_abc ON lk (a, b, c);
-- Behind a gap, and behind a range.
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE a = 1 AND c = 'c2';
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE b = 4;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE c = 'c2';
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE a > 1 AND b = 4;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE a > 1 AND a < 4 AND c = 'c2';
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE b BETWEEN 3 AND 5 AND c >= 'c';
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE c IS NULL AND b IS NULL;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE c IN ('a0', 'b1') AND b IN (1, 2, 3);
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE b = ANY (ARRAY[1, 2]) AND a = ANY (ARRAY[3, 4]) AND c = ANY (ARRAY['a0', 'b1']);
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE c > 'b' AND a IS NOT NULL AND b > 3 AND c < 'd';
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE a = 1 AND b <> 4 AND c = 'c2';
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE b = 4 AND d = 1.5;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE a = 2 AND b IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE b = 4 ORDER BY a, b, c;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE c = 'c2' ORDER BY a DESC, b DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT a FROM lk WHERE a = 3 AND b > 5 AND c < 'c' ORDER BY b DESC;
SELECT count(*), sum(id) FROM lk WHERE a = 1 AND c = 'c2';
SELECT count(*), sum(id) FROM lk WHERE b = 4;
SELECT count(*), sum(id) FROM lk WHERE c = 'c2';
SELECT count(*), sum(id) FROM lk WHERE a > 1 AND b = 4;
SELECT count(*), sum(id) FROM lk WHERE a > 1 AND a < 4 AND c = 'c2';
SELECT count(*), sum(id) FROM lk WHERE b BETWEEN 3 AND 5 AND c >= 'c';
SELECT count(*), sum(id) FROM lk WHERE c IS NULL AND b IS NULL;
SELECT count(*), sum(id) FROM lk WHERE c IS NULL AND b IS NOT NULL;
SELECT count(*), sum(id) FROM lk WHERE c IN ('a0', 'b1', NULL, 'zz') AND b IN (1, 2, 3, 3, NULL);
SELECT count(*), sum(id) FROM lk WHERE b = ANY (ARRAY[1, 2]) AND a = ANY (ARRAY[3, 4]) AND c = ANY (ARRAY['a0', 'b1']);
SELECT count(*), sum(id) FROM lk WHERE a IN (1, 2, 3, 1) AND b IN (20, 10, 0) AND c > 'b';
SELECT count(*), sum(id) FROM lk WHERE a = 1 AND a > 0 AND b <> 4 AND c = 'c2';
SELECT count(*), sum(id) FROM lk WHERE a = 1 AND a > 1;
SELECT count(*), sum(id) FROM lk WHERE a = 1 AND a = 2;
SELECT count(*), sum(id) FROM lk WHERE b > 4 AND b < 3;
SELECT count(*), sum(id) FROM lk WHERE b IN (1, 2, 3) AND b IN (2, 3, 4) AND b > 2;
SELECT count(*), sum(id) FROM lk WHERE b = NULL;
SELECT count(*), sum(id) FROM lk WHERE a > 1 AND c = ANY (NULL::text[]);
SELECT count(*), sum(id) FROM lk WHERE a > 1 AND c = ANY ('{}'::text[]);
SELECT count(*), sum(id) FROM lk WHERE a IS NULL AND c = 'a0';
SELECT count(*), sum(id) FROM lk WHERE a IS NULL AND b IS NULL AND c IS NULL;
SELECT id, a, b, c FROM lk WHERE b = 4 AND c < 'b' ORDER BY a, b, c, id;
SELECT a, b, c FROM lk WHERE c = 'c2' ORDER BY a DESC, b DESC LIMIT 3;
SELECT a, b, c FROM lk WHERE b IN (3, 4) AND c > 'f1' ORDER BY a DESC, b DESC, c DESC;
SELECT a, b, c FROM lk WHERE a < 3 AND b = 22 AND c <= 'b0' ORDER BY a DESC, b DESC, c DESC;
SELECT a, b, c FROM lk WHERE b = 22 AND c IS NULL ORDER BY a, b, c OFFSET 2 LIMIT 3;
-- Rows, and parts of them.
SELECT count(*), sum(id) FROM lk WHERE (a, b) > (2, 3) AND c = 'c2';
SELECT count(*), sum(id) FROM lk WHERE (b, c) <= (2, 'b') AND a > 1;
SELECT count(*), sum(id) FROM lk WHERE (a, c) IN ((1, 'a0'), (2, 'b1'), (4, 'e0'));
SELECT count(*), sum(id) FROM lk WHERE a = 1 AND c = 'c2' OR a = 2 AND c > 'e' OR c IS NULL AND b = 5;
-- Patterns.
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE a LIKE 'x%' AND b = 4;
CREATE INDEX lk_cab ON lk (c, a, b);
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE c LIKE 'c%' AND b = 4 AND a IN (1, 2);
SELECT count(*), sum(id) FROM lk WHERE c LIKE 'c%' AND b = 4 AND a IN (1, 2);
SELECT count(*), sum(id) FROM lk WHERE c LIKE '%2' AND b = 4;
SELECT count(*), sum(id) FROM lk WHERE a > 1 AND c LIKE 'c_' AND b = 4;
PREPARE by_pattern (text, int) AS SELECT count(*), sum(id) FROM lk WHERE c LIKE $1 AND b = $2;
EXECUTE by_pattern ('c%', 4);
EXECUTE by_pattern ('%2', 4);
EXECUTE by_pattern ('%', 4);
EXECUTE by_pattern ('c%', NULL);
EXECUTE by_pattern (NULL, 4);
DEALLOCATE by_pattern;
DROP INDEX lk_cab;
-- Parameters.
PREPARE later (int, text, int[]) AS SELECT count(*), sum(id) FROM lk WHERE a >= $1 AND c = $2 AND b = ANY ($3);
EXECUTE later (1, 'c2', '{1, 2, 3, 4, 5, 6}');
EXECUTE later (1, 'c2', '{}');
EXECUTE later (1, NULL, '{1}');
EXECUTE later (NULL, 'c2', '{1}');
EXECUTE later (4, 'a0', '{NULL, 1, 7, 15}');
EXECUTE later (-1, 'd1', '{0, 22, 11, 5}');
EXECUTE later (-1, 'd1', '{0, 22, 11, 5}');
DEALLOCATE later;
-- Long lists are not multiplied out.
SELECT count(*), sum(id) FROM lk WHERE a = ANY (SELECT g FROM generate_series(-50, 50) g) AND c = 'c2';
SELECT count(*), sum(id) FROM lk WHERE a = ANY (ARRAY(SELECT generate_series(-50, 50))) AND b = ANY (ARRAY(SELECT generate_series(-50, 4))) AND c = ANY (ARRAY['a0', 'b3', 'c2']);
SELECT count(*), sum(id) FROM lk WHERE a = ANY (ARRAY(SELECT generate_series(-50, 50))) AND b = ANY (ARRAY(SELECT generate_series(-50, 50, 2))) AND c > 'b' AND c < 'd';
SELECT count(*), sum(id) FROM lk WHERE a = ANY (ARRAY(SELECT generate_series(2, 2000))) AND b = ANY (ARRAY(SELECT generate_series(0, 2000, 3)));
-- Each column its own way.
DROP INDEX lk_abc;
CREATE INDEX lk_mixed ON lk (f DESC, a NULLS FIRST, e DESC NULLS LAST, d, b DESC);
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE a = 2 AND e > '2024-01-05' AND d <= 1.5;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE b = 3 ORDER BY f DESC, a NULLS FIRST, e DESC NULLS LAST, d, b DESC;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE b = 3 AND d < 0.5 ORDER BY f, a DESC NULLS LAST, e NULLS FIRST, d DESC NULLS FIRST, b;
SELECT count(*), sum(id) FROM lk WHERE a = 2 AND e > '2024-01-05' AND d <= 1.5;
SELECT count(*), sum(id) FROM lk WHERE a < 2 AND e <= '2024-01-05' AND b > 7;
SELECT count(*), sum(id) FROM lk WHERE a IS NULL AND e IS NULL AND b < 11;
SELECT count(*), sum(id) FROM lk WHERE e IS NULL AND d IS NULL;
SELECT count(*), sum(id) FROM lk WHERE e IS NOT NULL AND d IS NULL AND b IS NOT NULL;
SELECT count(*), sum(id) FROM lk WHERE f AND d = 0;
SELECT count(*), sum(id) FROM lk WHERE f IS NULL AND d IN (0, 0.50, -2.25);
SELECT count(*), sum(id) FROM lk WHERE d = 1.50 AND b IN (3, 5, 8);
SELECT f, a, e, d, b FROM lk WHERE b = 3 AND d < -1 ORDER BY f DESC, a NULLS FIRST, e DESC NULLS LAST, d, b DESC LIMIT 20;
SELECT f, a, e, d, b FROM lk WHERE b = 3 AND d < -1 ORDER BY f, a DESC NULLS LAST, e NULLS FIRST, d DESC NULLS FIRST, b LIMIT 20;
SELECT f, a, e, d, b FROM lk WHERE e = '2024-01-03' AND b BETWEEN 4 AND 6 ORDER BY f, a DESC NULLS LAST, e NULLS FIRST, d DESC NULLS FIRST, b LIMIT 20;
DROP INDEX lk_mixed;
-- Collations.
CREATE INDEX lk_icu ON lk (a, (c || '-Ä') COLLATE "de-x-icu", c COLLATE "C" DESC, b);
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE c || '-Ä' = 'c2-Ä' COLLATE "de-x-icu" AND b < 4;
SELECT count(*), sum(id) FROM lk WHERE a > 2 AND c COLLATE "C" > 'c' AND b = 4;
SELECT count(*), sum(id) FROM lk WHERE (c || '-Ä') COLLATE "de-x-icu" > 'd' AND b < 4;
SELECT count(*), sum(id) FROM lk WHERE c || '-Ä' = 'c2-Ä' COLLATE "de-x-icu" AND b < 4;
SELECT count(*), sum(id) FROM lk WHERE (c || '-Ä') COLLATE "de-x-icu" IN ('b1-Ä', 'b1-ä', 'c2-Ä') AND c COLLATE "C" < 'c';
DROP INDEX lk_icu;
-- Entries alone.
CREATE INDEX lk_only ON lk (a, b, c) INCLUDE (id);
VACUUM lk;
SET enable_indexonlyscan = on;
EXPLAIN (COSTS OFF) SELECT a, b, id FROM lk WHERE b = 4 AND c > 'c';
EXPLAIN (COSTS OFF) SELECT count(*) FROM lk WHERE c = 'c2';
SELECT a, b, c, id FROM lk WHERE b = 4 AND c > 'e' ORDER BY a, b, c;
SELECT a, b, c, id FROM lk WHERE b = 4 AND c > 'e' ORDER BY a DESC, b DESC, c DESC;
SELECT count(*) FROM lk WHERE c = 'c2';
SELECT count(*), sum(id) FROM lk WHERE a >= 2 AND c IS NULL;
SELECT min(c) FROM lk WHERE a = 2 AND c > 'b';
SELECT max(b), min(b) FROM lk WHERE c = 'c2';
UPDATE lk SET c = 'c2' WHERE a = 2 AND c = 'a0';
SELECT count(*), sum(id) FROM lk WHERE c = 'c2' AND a > 1;
DELETE FROM lk WHERE b = 4 AND c = 'c2';
SELECT count(*), sum(id) FROM lk WHERE c = 'c2' AND b < 9;
SET enable_indexonlyscan = off;
-- By addresses, with and without room for all of them.
SET enable_bitmapscan = on;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE a > 1 AND b = 5;
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE c = 'c2';
EXPLAIN (COSTS OFF) SELECT id FROM lk WHERE b IN (1, 2) AND c IN ('a0', 'c2') OR a = 4 AND c = 'b1';
SELECT count(*), sum(id) FROM lk WHERE a > 1 AND b = 5;
SELECT count(*), sum(id) FROM lk WHERE c = 'c2';
SELECT count(*), sum(id) FROM lk WHERE b IN (1, 2) AND c IN ('a0', 'c2') OR a = 4 AND c = 'b1';
SELECT count(*), sum(id) FROM lk WHERE c = 'c2' AND id < 2000;
SET work_mem = '64kB';
SELECT count(*), sum(id) FROM lk WHERE c > 'b' AND b < 20;
RESET work_mem;
RESET enable_indexscan;
-- Changes, and the inner side of joins.
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) UPDATE lk SET d = 0 WHERE a > 2 AND b = 6;
EXPLAIN (COSTS OFF) DELETE FROM lk WHERE c = 'd1';
BEGIN;
UPDATE lk SET d = 0, b = b + 1 WHERE a > 2 AND b = 6 AND c < 'c' RETURNING id, a, b, c;
DELETE FROM lk WHERE c = 'd1' AND b >= 20 RETURNING id, a, b;
SELECT count(*), sum(id), sum(b) FROM lk;
ROLLBACK;
CREATE TABLE lko (x int, y text, z int[]);
INSERT INTO lko VALUES (1, 'c2', '{1, 2}'), (4, 'a0', '{}'), (NULL, 'b1', '{5}'), (9, NULL, NULL), (12, 'e0', '{12, 1, NULL}');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT x, y, count(id), sum(id) FROM lko LEFT JOIN lk ON a > 1 AND b = x AND c = y GROUP BY 1, 2 ORDER BY 1, 2;
SELECT x, y, count(id), sum(id) FROM lko LEFT JOIN lk ON a = 1 AND c = y GROUP BY 1, 2 ORDER BY 1, 2;
SELECT x, y, count(id), sum(id) FROM lko LEFT JOIN lk ON c = y AND b = ANY (z) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT x, (SELECT sum(id) FROM lk WHERE b = x AND c >= y) FROM lko ORDER BY x, y;
SELECT x, y FROM lko WHERE EXISTS (SELECT FROM lk WHERE a > 2 AND b = x AND c = y) ORDER BY x, y;
DROP TABLE lko;
-- Partial, and of an expression.
DROP INDEX lk_only;
CREATE INDEX lk_partial ON lk (a, (b + 1), c) WHERE d > 0;
SELECT count(*), sum(id) FROM lk WHERE d > 0 AND b + 1 = 5 AND c < 'd';
SELECT count(*), sum(id) FROM lk WHERE d > 1 AND a IN (1, 3) AND c = 'd1';
SELECT count(*), sum(id) FROM lk WHERE d > -1 AND b + 1 = 5 AND c < 'd';
-- A unique key, the rest of whose columns is not given.
CREATE UNIQUE INDEX lk_unique ON lk (a, b, id);
SELECT id, c FROM lk WHERE id = 77;
SELECT id, c FROM lk WHERE a > 0 AND id IN (76, 77, 78) ORDER BY a, b, id;
SELECT id, c FROM lk WHERE a = 2 AND b = 10 AND id = 77 AND a > 1;
SELECT id, c FROM lk WHERE a = 2 AND b = 10 AND id = 77 AND a > 2;
DROP TABLE lk;
