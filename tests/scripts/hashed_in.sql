-- IN and NOT IN over sub-selects whose rows are hashed.
CREATE SCHEMA hashed_in;
SET search_path = hashed_in;
CREATE TABLE l (id int PRIMARY KEY, x int, y int, t text, b bigint, s smallint, n numeric, d double precision, r real, c char(6), v varchar(9));
CREATE TABLE r (x int, y int, t text, b bigint, n numeric, d double precision, c char(3), v varchar(5));
INSERT INTO l VALUES (1, 1, 1, 'a', 1, 1, 1.0, 0, 0, 'ab', 'ab'), (2, 2, NULL, 'B', 2, 2, 1.50, '-0', 0.5, 'ab ', 'ab '),
    (3, NULL, 3, '', NULL, NULL, NULL, 'nan', 'nan', NULL, NULL), (4, NULL, NULL, NULL, 4000000000, 4, 'nan', 0.5, NULL, '', ''),
    (5, 5, 5, 'z', 5, 5, 5, 5, 5, 'xyz', 'xyz'), (6, 2, 6, 'a', 2, 2, 2, NULL, 0.1, 'a', 'a');
INSERT INTO r VALUES (1, 1, 'a', 1, 1, 0, 'ab', 'ab'), (1, 1, 'a', 1, 1.00, '-0', 'ab ', 'ab '), (2, 6, 'b', 4000000000, 1.5, 'nan', '', ''),
    (7, 3, '', 2, 'nan', 0.5, 'xy', 'xy'), (9, NULL, 'A', 9, 9, 9, 'z', 'z');
ANALYZE;

EXPLAIN (COSTS OFF) SELECT * FROM l WHERE x NOT IN (SELECT x FROM r);
EXPLAIN (COSTS OFF) SELECT * FROM l WHERE x IN (SELECT x FROM r) OR y = 3;
EXPLAIN (COSTS OFF) SELECT * FROM l WHERE (x, y) NOT IN (SELECT x, y FROM r);
EXPLAIN (COSTS OFF) SELECT id, x IN (SELECT x FROM r) FROM l;
EXPLAIN (COSTS OFF) SELECT * FROM l WHERE x NOT IN (SELECT x FROM r WHERE r.y = l.y);
EXPLAIN (COSTS OFF) SELECT * FROM l WHERE b NOT IN (SELECT x FROM r);

-- Without nulls on the right, with one, without rows
SELECT id, x IN (SELECT x FROM r), x NOT IN (SELECT x FROM r), x = ANY (SELECT x FROM r), x <> ALL (SELECT x FROM r) FROM l ORDER BY id;
SELECT id, y IN (SELECT y FROM r), y NOT IN (SELECT y FROM r), y = ANY (SELECT y FROM r), y <> ALL (SELECT y FROM r) FROM l ORDER BY id;
SELECT id, y IN (SELECT y FROM r WHERE false), y NOT IN (SELECT y FROM r WHERE false), y <> ALL (SELECT y FROM r WHERE x > 90) FROM l ORDER BY id;
SELECT id, y IN (SELECT NULL::int), y NOT IN (SELECT NULL::int), y <> ALL (SELECT NULL::int) FROM l ORDER BY id;
SELECT id, x <> ANY (SELECT x FROM r), x = ALL (SELECT x FROM r), x < ANY (SELECT x FROM r), x >= ALL (SELECT x FROM r) FROM l ORDER BY id;
SELECT id FROM l WHERE x NOT IN (SELECT x FROM r) ORDER BY id;
SELECT id FROM l WHERE x NOT IN (SELECT y FROM r) ORDER BY id;
SELECT id FROM l WHERE x NOT IN (SELECT y FROM r WHERE y IS NOT NULL) ORDER BY id;
SELECT id FROM l WHERE NOT (x IN (SELECT x FROM r) AND y > 0) ORDER BY id;
SELECT id FROM l WHERE x IN (SELECT x FROM r) OR y = 3 ORDER BY id;
SELECT id FROM l WHERE (x IN (SELECT x FROM r)) IS NULL ORDER BY id;

-- Several columns
SELECT id, x, y, (x, y) IN (SELECT x, y FROM r), (x, y) NOT IN (SELECT x, y FROM r) FROM l ORDER BY id;
SELECT id, x, y, (y, x) IN (SELECT x, y FROM r), (y, x) NOT IN (SELECT x, y FROM r) FROM l ORDER BY id;
SELECT id, x, y, (x, y) <> ALL (SELECT x, y FROM r), (x, y) = ANY (SELECT x, y FROM r), (x, y) <> ANY (SELECT x, y FROM r) FROM l ORDER BY id;
SELECT id, (x, y) IN (SELECT x, y FROM r WHERE false), (x, y) NOT IN (SELECT x, y FROM r WHERE false) FROM l ORDER BY id;
SELECT id, (x, y) IN (SELECT NULL::int, NULL::int), (x, y) NOT IN (SELECT NULL::int, NULL::int) FROM l ORDER BY id;
SELECT id, (x, y) IN (SELECT NULL::int, 1), (x, y) NOT IN (SELECT 2, NULL::int) FROM l ORDER BY id;
SELECT id, (x, y, t) IN (SELECT x, y, t FROM r), (x, t, y) NOT IN (SELECT x, t, y FROM r) FROM l ORDER BY id;
SELECT p, q, (p, q) IN (SELECT x, y FROM r UNION ALL SELECT NULL, 8), (p, q) NOT IN (SELECT x, y FROM r UNION ALL SELECT NULL, 8)
    FROM (VALUES (1, 1), (9, 1), (9, NULL), (3, 8), (3, 3), (NULL, 1), (NULL, 77), (NULL, NULL)) v (p, q) ORDER BY 1, 2;

-- Types
SELECT id, b NOT IN (SELECT x FROM r), x NOT IN (SELECT b FROM r), s NOT IN (SELECT x FROM r), s NOT IN (SELECT b FROM r) FROM l ORDER BY id;
SELECT id, n NOT IN (SELECT n FROM r), n NOT IN (SELECT x FROM r), x NOT IN (SELECT n FROM r), n NOT IN (SELECT d FROM r) FROM l ORDER BY id;
SELECT id, d NOT IN (SELECT d FROM r), r NOT IN (SELECT d FROM r), x NOT IN (SELECT d FROM r) FROM l ORDER BY id;
SELECT id, t NOT IN (SELECT t FROM r), t COLLATE "C" NOT IN (SELECT t FROM r) FROM l ORDER BY id;
SELECT id, c NOT IN (SELECT c FROM r), v NOT IN (SELECT v FROM r), c NOT IN (SELECT v FROM r), v NOT IN (SELECT c FROM r) FROM l ORDER BY id;
SELECT id, c NOT IN (SELECT c::text FROM r), t NOT IN (SELECT c FROM r), t NOT IN (SELECT v FROM r) FROM l ORDER BY id;
SELECT id, t::name NOT IN (SELECT t FROM r), t NOT IN (SELECT t::name FROM r) FROM l ORDER BY id;
SELECT id, ARRAY[x, y] NOT IN (SELECT ARRAY[x, y] FROM r) FROM l ORDER BY id;
SELECT id, (x > 1) IN (SELECT x > 1 FROM r), t::bytea NOT IN (SELECT t::bytea FROM r) FROM l ORDER BY id;
SELECT v, v NOT IN (SELECT '24 hours'::interval) FROM (VALUES ('1 day'::interval), ('23 hours'), (NULL)) w (v) ORDER BY 1;
SELECT v, v NOT IN (SELECT '2024-01-01'::date) FROM (VALUES ('2024-01-01'::timestamp), ('2024-01-01 01:00'), (NULL)) w (v) ORDER BY 1;
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT id, t COLLATE loose NOT IN (SELECT t FROM r), t IN (SELECT t COLLATE loose FROM r) FROM l ORDER BY id;
SELECT id, t IN (SELECT t FROM r UNION ALL SELECT 'z') OR false, r IN (SELECT d::real FROM r) OR false FROM l ORDER BY id;
SELECT id, t COLLATE "C" NOT IN (SELECT t COLLATE "POSIX" FROM r) FROM l ORDER BY id;

-- Within and around
SELECT l.id, (SELECT l) NOT IN (SELECT l FROM l WHERE id < 3) FROM l ORDER BY id;
SELECT id, ROW(x, y) = ANY (SELECT x, y FROM r), (VALUES (2)) IN (SELECT x FROM r), (SELECT x) NOT IN (SELECT x FROM r) FROM l ORDER BY id;
SELECT id FROM l WHERE x NOT IN (SELECT x FROM r WHERE r.y = l.y) ORDER BY id;
SELECT id, x NOT IN (SELECT x FROM r WHERE r.y = l.y), y NOT IN (SELECT x FROM r WHERE r.t = l.t) FROM l ORDER BY id;
SELECT id, (SELECT count(*) FROM r WHERE r.x NOT IN (SELECT x FROM l WHERE x IS NOT NULL) AND r.y < o.id) FROM l o ORDER BY id;
SELECT id, (SELECT count(*) FROM r WHERE r.x NOT IN (SELECT x FROM l WHERE l.id < o.id)) FROM l o ORDER BY id;
SELECT id, x IN (SELECT x FROM r WHERE y NOT IN (SELECT x FROM l WHERE x IS NOT NULL)) FROM l ORDER BY id;
SELECT id, CASE WHEN x IN (SELECT x FROM r) THEN 'in' WHEN y NOT IN (SELECT y FROM r) THEN 'out' END FROM l ORDER BY id;
SELECT x IN (SELECT x FROM r) AS known, count(*) FROM l GROUP BY 1 ORDER BY 1;
SELECT a.id, b.x FROM l a LEFT JOIN r b ON a.x = b.x AND a.y NOT IN (SELECT y FROM r WHERE y > 1) ORDER BY 1, 2;
SELECT id FROM l WHERE 1 NOT IN (SELECT x FROM r WHERE x > 1) AND 2 IN (SELECT x FROM r) ORDER BY id;
WITH w AS (SELECT x FROM r) SELECT id FROM l WHERE x NOT IN (SELECT x FROM w) AND x NOT IN (SELECT 3 * x FROM w) ORDER BY id;
PREPARE q (int) AS SELECT id FROM l WHERE x NOT IN (SELECT x FROM r WHERE x > $1) ORDER BY id;
EXECUTE q (0);
EXECUTE q (1);
EXECUTE q (NULL);
UPDATE l SET t = 'none' WHERE x NOT IN (SELECT x FROM r) RETURNING id;
DELETE FROM l WHERE x NOT IN (SELECT x FROM r WHERE x < 3) RETURNING id;

-- Many rows, also more than memory holds
CREATE TABLE many (x int, y text);
INSERT INTO many SELECT i, 'text of some length number ' || i FROM generate_series(1, 30000) i;
SELECT count(*) FROM generate_series(1, 40000) g WHERE g NOT IN (SELECT x FROM many);
SELECT count(*) FROM generate_series(29001, 40000) g WHERE (g, 'text of some length number ' || g) NOT IN (SELECT x, y FROM many);
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT count(*) FROM generate_series(29999, 30004) g WHERE g NOT IN (SELECT x FROM many);
SELECT count(*) FROM generate_series(29999, 30004) g WHERE (g, 'text of some length number ' || g) NOT IN (SELECT x, y FROM many);
