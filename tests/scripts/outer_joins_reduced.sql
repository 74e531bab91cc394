-- Outer joins whose rows without a partner conditions drop are no outer joins.
CREATE SCHEMA outer_joins_reduced;
SET search_path = outer_joins_reduced;
CREATE TABLE a (id int PRIMARY KEY, x int, t text, f boolean);
CREATE TABLE b (id int PRIMARY KEY, a_id int, x int, t text, f boolean);
CREATE TABLE c (id int PRIMARY KEY, b_id int, x int, l int[]);
INSERT INTO a VALUES (1, 1, 'one', true), (2, NULL, NULL, NULL), (3, 3, 'three', false), (4, 1, '', NULL), (5, 5, 'five', true);
INSERT INTO b VALUES (1, 1, 1, 'one', true), (2, 1, NULL, NULL, NULL), (3, 3, 3, 'x', false), (4, NULL, 4, 'four', true),
    (5, 9, NULL, '', NULL), (6, 5, 5, 'five', false);
INSERT INTO c VALUES (1, 1, 1, '{1,2}'), (2, 2, NULL, NULL), (3, NULL, 3, '{}'), (4, 3, 4, '{NULL}'), (5, 7, 5, '{5,NULL}'), (6, 6, 6, '{3}');
CREATE TABLE cust (id int PRIMARY KEY, name text);
CREATE TABLE ord (id int PRIMARY KEY, cust_id int, v int);
INSERT INTO cust SELECT i, 'c' || i FROM generate_series(1, 5000) i;
INSERT INTO ord SELECT i, i % 6000, i % 10 FROM generate_series(1, 20000) i;
CREATE INDEX ON ord (cust_id);
ANALYZE;
CREATE VIEW cust_orders AS SELECT c.id AS cust, c.name, o.id AS ord, o.v, coalesce(o.v, -1) AS v_or
    FROM cust c LEFT JOIN ord o ON o.cust_id = c.id;
CREATE VIEW big AS SELECT id, cust_id, v * 2 AS twice FROM ord WHERE v > 3;

-- Plans
EXPLAIN (COSTS OFF) SELECT * FROM cust c LEFT JOIN ord o ON o.cust_id = c.id WHERE o.id = 5;
EXPLAIN (COSTS OFF) SELECT * FROM ord o RIGHT JOIN cust c ON o.cust_id = c.id WHERE o.id = 5;
EXPLAIN (COSTS OFF) SELECT * FROM cust c FULL JOIN ord o ON o.cust_id = c.id WHERE o.id = 5 AND c.name IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT * FROM cust c FULL JOIN ord o ON o.cust_id = c.id WHERE o.id = 5;
EXPLAIN (COSTS OFF) SELECT * FROM cust_orders WHERE ord = 5;
EXPLAIN (COSTS OFF) SELECT c.id, b.twice FROM cust c LEFT JOIN big b ON b.cust_id = c.id WHERE b.id = 7;

-- Answers of them
SELECT * FROM cust c LEFT JOIN ord o ON o.cust_id = c.id WHERE o.id = 5;
SELECT * FROM cust c FULL JOIN ord o ON o.cust_id = c.id WHERE o.id IN (5, 5001, 5999, 11000) ORDER BY o.id;
SELECT * FROM cust c FULL JOIN ord o ON o.cust_id = c.id WHERE c.id IN (5, 4999) ORDER BY o.id;
SELECT * FROM cust_orders WHERE ord IN (5, 5001) ORDER BY ord;
SELECT * FROM cust_orders WHERE v_or = -1 AND cust < 10 ORDER BY 1;
SELECT * FROM cust_orders WHERE cust = 4 AND v IS NOT NULL ORDER BY ord;
SELECT c.id, b.twice FROM cust c LEFT JOIN big b ON b.cust_id = c.id WHERE b.id = 7;
SELECT c.id, b.twice FROM cust c LEFT JOIN big b ON b.cust_id = c.id WHERE b.twice = 8 AND c.id < 40 ORDER BY 1;
SELECT c.cust, d.v FROM cust_orders c LEFT JOIN cust_orders d ON d.ord = c.cust WHERE d.v = 3 AND c.ord < 100 ORDER BY 1, c.ord;

-- Conditions of WHERE that a row is needed for, and others
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x = b.x ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x + 1 > a.x ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x IS NOT NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE NOT b.x IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE NOT b.x = 1 ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE NOT (b.x = 1 AND b.id = 1) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE NOT (b.x = 1 AND a.id = 1) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE NOT (b.x = 1 OR a.id = 1) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x = 1 OR b.x = 5 ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x = 1 OR a.x = 1 ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE (b.x = 1 AND a.x = 1) OR b.f ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.f ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE NOT b.f ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.f IS TRUE ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.f IS NOT TRUE ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.f IS FALSE ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.f IS NOT FALSE ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.f IS UNKNOWN ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.f IS NOT UNKNOWN ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE (b.f IS TRUE) IS FALSE ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE (b.x = 1) IS NOT NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x IS DISTINCT FROM 1 ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x IS NOT DISTINCT FROM a.x ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE coalesce(b.x, 1) = 1 ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE CASE WHEN b.x = 1 THEN false ELSE true END ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE nullif(b.x, 1) = 3 ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE greatest(b.x, 1) = 1 ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE concat(b.t, a.t) = 'one' ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.t || a.t = 'oneone' ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.t COLLATE "C" < 'p' ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x::text = '3' ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x::text::varchar::name = '3' ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.t LIKE 'f%' ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE (b.x, a.x) = (1, 1) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE (a.x, b.x) <> (1, 1) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE (a.x, b.x) < (3, 1) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE (b.x, a.x) < (3, 1) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE NOT (b.x, a.x) = (3, 1) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE random() < b.x + 10 ORDER BY 1, 2;

-- Arrays
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x IN (1, 5) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x NOT IN (1, 2) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE 1 IN (b.x, b.id) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE 1 IN (b.x, a.id) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE 4 NOT IN (b.x, a.id) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x = ANY ('{1,3}'::int[]) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE NOT b.x = ANY ('{}'::int[]) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x = ALL ('{}'::int[]) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x = ALL (ARRAY[1, a.id]) ORDER BY 1, 2;
SELECT a.id, c.id FROM a LEFT JOIN c ON c.id = a.id WHERE 5 = ANY (c.l) ORDER BY 1, 2;
SELECT a.id, c.id FROM a LEFT JOIN c ON c.id = a.id WHERE 5 <> ALL (c.l) ORDER BY 1, 2;
SELECT a.id, c.id FROM a LEFT JOIN c ON c.id = a.id WHERE c.x <> ALL (c.l) ORDER BY 1, 2;
SELECT a.id, c.id FROM a LEFT JOIN c ON c.id = a.id WHERE NOT c.x = ANY (c.l) ORDER BY 1, 2;
SELECT a.id, c.id FROM a LEFT JOIN c ON c.id = a.id WHERE (c.l)[1] = 1 ORDER BY 1, 2;
SELECT a.id, c.id FROM a LEFT JOIN c ON c.id = a.id WHERE c.l::text[] = '{1,2}' ORDER BY 1, 2;
SELECT a.id, c.id FROM a LEFT JOIN c ON c.id = a.id WHERE array_append(c.l, 1) IS NOT NULL ORDER BY 1, 2;

-- Sub-selects
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x IN (SELECT x FROM c) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x NOT IN (SELECT x FROM c WHERE x > 3) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x NOT IN (SELECT x FROM c WHERE x > 30) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x > ALL (SELECT x FROM c WHERE x > 30) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x > ANY (SELECT x FROM c) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE (a.x, b.x) IN (SELECT x, x FROM c) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE EXISTS (SELECT FROM c WHERE c.b_id = b.id) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE EXISTS (SELECT count(*) FROM c WHERE c.b_id = b.id) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE NOT EXISTS (SELECT FROM c WHERE c.b_id = b.id) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x = (SELECT max(x) FROM c WHERE c.b_id = b.id) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE (SELECT b.x IS NULL) ORDER BY 1, 2;
SELECT a.id, (SELECT string_agg(b.id::text, ',' ORDER BY b.id) FROM c LEFT JOIN b ON b.id = c.b_id WHERE b.a_id = a.id) FROM a ORDER BY 1;
SELECT a.id, l.id, l.bid FROM a, LATERAL (SELECT c.id, b.id AS bid FROM c LEFT JOIN b ON b.id = c.b_id WHERE b.x = a.x) l ORDER BY 1, 2, 3;
SELECT a.id, l.id FROM a LEFT JOIN LATERAL (SELECT b.id, b.x FROM b WHERE b.a_id = a.id ORDER BY b.id LIMIT 1) l ON true WHERE l.x > 0
    ORDER BY 1, 2;
SELECT a.id, g FROM a LEFT JOIN LATERAL generate_series(1, a.x) g ON true WHERE g > 2 ORDER BY 1, 2;
SELECT a.id, g FROM a LEFT JOIN LATERAL generate_series(1, a.x) g ON true WHERE g IS NULL ORDER BY 1, 2;

-- Whole rows and system columns
SELECT a.id, b FROM a LEFT JOIN b ON b.a_id = a.id WHERE b IS NOT NULL ORDER BY 1, 2;
SELECT a.id, b FROM a LEFT JOIN b ON b.a_id = a.id WHERE b IS NULL ORDER BY 1, 2;
SELECT a.id, b, b IS NULL FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.id > 0 ORDER BY 1, b.id;
SELECT a.id, b FROM a LEFT JOIN b ON b.a_id = a.id WHERE b = b ORDER BY 1, 2;
SELECT a.id, b FROM a LEFT JOIN b ON b.a_id = a.id WHERE b = ROW(1, 1, 1, 'one'::text, true) ORDER BY 1, 2;
SELECT a.id, b.tableoid::regclass FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.tableoid > 0 ORDER BY 1, b.id;
SELECT a.id, a, b FROM a FULL JOIN b ON b.a_id = a.id WHERE b.id > 3 ORDER BY b.id;

-- All kinds, and joins of joins
SELECT a.id, b.id FROM b RIGHT JOIN a ON b.a_id = a.id WHERE b.x > 0 ORDER BY 1, 2;
SELECT a.id, b.id FROM b RIGHT JOIN a ON b.a_id = a.id WHERE a.x > 0 ORDER BY 1, 2;
SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id WHERE a.id > 0 ORDER BY 1, 2;
SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id WHERE b.id > 0 ORDER BY 1, 2;
SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id WHERE b.id + a.id > 0 ORDER BY 1, 2;
SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id WHERE b.id > 0 OR a.id > 0 ORDER BY 1, 2;
SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id AND b.x > 2 WHERE a.id > 0 ORDER BY 1, 2;
SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id < a.id WHERE a.id > 0 ORDER BY 1, 2;
SELECT id, a.x, b.x FROM a FULL JOIN b USING (id) WHERE id < 7 ORDER BY 1;
SELECT id, a.x, b.x FROM a FULL JOIN b USING (id) WHERE b.x < 7 ORDER BY 1;
SELECT id, a.x, b.x FROM a RIGHT JOIN b USING (id) WHERE a.x < 7 ORDER BY 1;
SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.a_id = a.id LEFT JOIN c ON c.b_id = b.id WHERE c.id > 0 ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.a_id = a.id LEFT JOIN c ON c.b_id = b.id WHERE b.id > 0 ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.a_id = a.id JOIN c ON c.b_id = b.id ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.a_id = a.id JOIN c ON c.x = coalesce(b.x, 1) ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN (b LEFT JOIN c ON c.b_id = b.id) ON b.a_id = a.id AND c.x = 1 ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN (b FULL JOIN c ON c.b_id = b.id) ON b.a_id = a.id ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN (b FULL JOIN c ON c.b_id = b.id) ON c.x = a.id ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM (b FULL JOIN c ON c.b_id = b.id) RIGHT JOIN a ON c.x = a.id AND b.x = 1 ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a RIGHT JOIN (b LEFT JOIN c ON c.b_id = b.id) ON b.a_id = a.id AND c.x = 1 ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM (a LEFT JOIN b ON b.a_id = a.id) LEFT JOIN c ON c.b_id = b.id AND b.x = 1 ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM (a LEFT JOIN b ON b.a_id = a.id) FULL JOIN c ON c.b_id = b.id ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM (a LEFT JOIN b ON b.a_id = a.id) FULL JOIN c ON c.b_id = b.id WHERE c.id > 0 ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM (a FULL JOIN b ON b.a_id = a.id) FULL JOIN c ON c.b_id = b.id WHERE b.id > 0 ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM (a FULL JOIN b ON b.a_id = a.id) LEFT JOIN c ON c.b_id = b.id WHERE c.x > 0 ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a FULL JOIN b ON b.a_id = a.id, c WHERE c.b_id = b.id ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM c, a LEFT JOIN b ON b.a_id = a.id WHERE c.b_id = a.id AND b.id > c.id ORDER BY 1, 2, 3;
SELECT a.id, count(b.id), count(*) FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.id > 0 GROUP BY a.id ORDER BY 1;
SELECT a.id, count(b.id), count(*) FROM a LEFT JOIN b ON b.a_id = a.id GROUP BY a.id HAVING count(b.id) > 0 ORDER BY 1;
SELECT s.id, b.id FROM (SELECT id, x + 1 AS y FROM a) s RIGHT JOIN b ON b.a_id = s.id WHERE s.y > 1 ORDER BY 1, 2;
SELECT s.id, s.one, b.id FROM (SELECT id, 1 AS one FROM a) s FULL JOIN b ON b.a_id = s.id WHERE s.one = 1 ORDER BY 1, 3;
SELECT s.id, s.one, b.id FROM (SELECT id, 1 AS one FROM a) s FULL JOIN b ON b.a_id = s.id ORDER BY 1, 3;
SELECT s.id, s.y, b.id FROM b LEFT JOIN (SELECT a.id, coalesce(c.x, 7) AS y FROM a LEFT JOIN c ON c.id = a.id AND c.x > 2) s ON s.id = b.a_id
    WHERE s.y > 1 ORDER BY 1, 3;
SELECT v.n, b.id FROM b LEFT JOIN (VALUES (1, 'p'), (3, NULL)) v (n, w) ON v.n = b.a_id WHERE v.w = 'p' ORDER BY 1, 2;
SELECT s.total, b.id FROM b LEFT JOIN (SELECT b_id, sum(x) AS total FROM c GROUP BY b_id) s ON s.b_id = b.id WHERE s.total > 0 ORDER BY 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.id > 1 ORDER BY 1, 2 FOR UPDATE;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.id > 1 ORDER BY 1, 2 FOR UPDATE OF b;
PREPARE q (int) AS SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x = $1 ORDER BY 1, 2;
EXECUTE q (3);
EXECUTE q (NULL);

-- Changes
UPDATE a SET t = b.t FROM c LEFT JOIN b ON b.id = c.b_id WHERE b.a_id = a.id AND c.id < 4 RETURNING a.id, a.t, b, c.id;
UPDATE a SET t = s.t FROM c LEFT JOIN (SELECT id, a_id, upper(t) AS t FROM b) s ON s.id = c.b_id WHERE s.a_id = a.id AND c.id = 1
    RETURNING a.id, a.t, s, c.id;
DELETE FROM c USING a LEFT JOIN b ON b.a_id = a.id WHERE c.b_id = b.id AND b.x = 1 RETURNING c.id, a.id, b.id;
DELETE FROM c USING a LEFT JOIN b ON b.a_id = a.id WHERE c.b_id = a.id AND b.x IS NULL RETURNING c.id, a.id, b.id;

-- Rows without a partner
TRUNCATE a, b, c;
INSERT INTO a VALUES (1, 1, 'one', true), (2, NULL, NULL, NULL), (3, 3, 'three', false), (4, 1, '', NULL), (5, 5, 'five', true);
INSERT INTO b VALUES (1, 1, 1, 'one', true), (2, 1, NULL, NULL, NULL), (3, 3, 3, 'x', false), (4, NULL, 4, 'four', true),
    (5, 9, NULL, '', NULL), (6, 5, 5, 'five', false);
INSERT INTO c VALUES (1, 1, 1, '{1,2}'), (2, 2, NULL, NULL), (3, NULL, 3, '{}'), (4, 3, 4, '{NULL}'), (5, 7, 5, '{5,NULL}'), (6, 6, 6, '{3}');
EXPLAIN (COSTS OFF) SELECT * FROM cust c LEFT JOIN ord o ON o.cust_id = c.id WHERE o.cust_id IS NULL;
EXPLAIN (COSTS OFF) SELECT o.* FROM ord o LEFT JOIN cust c ON o.cust_id = c.id WHERE c.id IS NULL;
SELECT count(*), count(c), min(o.id), max(o.id) FROM ord o LEFT JOIN cust c ON o.cust_id = c.id WHERE c.id IS NULL;
SELECT o.id, c FROM ord o LEFT JOIN cust c ON o.cust_id = c.id WHERE c.id IS NULL ORDER BY 1 LIMIT 3;
SELECT a.*, b.*, b FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.a_id IS NULL ORDER BY 1;
SELECT a.*, b.*, b FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.id IS NULL ORDER BY 1;
SELECT a.*, b.*, b FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x IS NULL ORDER BY 1, b.id;
SELECT a.id, b.id FROM b RIGHT JOIN a ON b.a_id = a.id WHERE b.a_id IS NULL ORDER BY 1;
SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id WHERE b.a_id IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id WHERE b.a_id IS NULL AND a.id > 0 ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id AND b.x > 1 WHERE b.x IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id AND b.x IS NOT NULL WHERE b.x IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id < a.id WHERE b.a_id IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id < a.id AND b.x = a.x WHERE b.a_id IS NULL AND b.t IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.x IN (1, 3) WHERE b.x IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.x IN (1, a.id) OR b.a_id = a.id WHERE b.x IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON coalesce(b.a_id, 2) = a.id WHERE b.a_id IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id IS NOT DISTINCT FROM a.x WHERE b.a_id IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.x <> ALL ('{}'::int[]) WHERE b.x IS NULL ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.a_id IS NULL OR b.x = 1 ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.a_id IS NULL AND coalesce(b.x, a.x) = 1 ORDER BY 1, 2;
SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.a_id = a.id LEFT JOIN c ON c.b_id = b.id WHERE c.b_id IS NULL ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.a_id = a.id LEFT JOIN c ON c.b_id = b.id WHERE b.a_id IS NULL ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN (b LEFT JOIN c ON c.b_id = b.id) ON b.a_id = a.id WHERE b.a_id IS NULL ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN (b JOIN c ON c.b_id = b.id) ON b.a_id = a.id WHERE b.a_id IS NULL ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN (b FULL JOIN c ON c.b_id = b.id) ON c.x = a.id WHERE c.x IS NULL ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.a_id = a.id JOIN c ON c.x = a.id WHERE b.a_id IS NULL ORDER BY 1, 2, 3;
SELECT a.id, b.id, c.id FROM a LEFT JOIN (b LEFT JOIN c ON c.b_id = b.id AND c.x > 1) ON b.a_id = a.id AND c.b_id IS NULL ORDER BY 1, 2, 3;
SELECT a.id, l.id FROM a LEFT JOIN LATERAL (SELECT b.id, b.x FROM b WHERE b.a_id = a.id ORDER BY id LIMIT 1) l ON l.x > 1 WHERE l.x IS NULL
    ORDER BY 1;
SELECT a.id, v.k FROM a LEFT JOIN (SELECT a_id AS k, count(*) AS n FROM b GROUP BY a_id) v ON v.k = a.id WHERE v.k IS NULL ORDER BY 1;
SELECT a.id, a.t, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.a_id IS NULL ORDER BY 1 FOR UPDATE OF a;
SELECT count(*) FROM b WHERE (SELECT count(*) FROM a LEFT JOIN c ON c.b_id = a.id AND c.x < b.x WHERE c.b_id IS NULL) = 4;
UPDATE a SET t = 'alone' FROM a o LEFT JOIN b ON b.a_id = o.id WHERE o.id = a.id AND b.a_id IS NULL RETURNING a.id, b;
DELETE FROM a USING a o LEFT JOIN b ON b.a_id = o.id WHERE o.id = a.id AND b.a_id IS NULL AND o.id > 2 RETURNING a.id, b.id, b;
