-- WITH queries that take values of an enclosing query are run once for each of its rows, whoever reads them how often.
CREATE TABLE o (x int);
INSERT INTO o VALUES (1), (2), (3);
SELECT x, (WITH c AS MATERIALIZED (SELECT o.x + 1 AS y) SELECT a.y + b.y FROM c a, c b) FROM o ORDER BY x;
SELECT x, (WITH c AS (SELECT o.x + 1 AS y) SELECT a.y + b.y FROM c a, c b) FROM o ORDER BY x;
SELECT x, (WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < o.x)
           SELECT (SELECT sum(n) FROM r) + (SELECT count(*) FROM r)) FROM o ORDER BY x;
SELECT x, (WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < o.x)
           SELECT count(*) FROM r a, r b) FROM o ORDER BY x;
SELECT x, (WITH c AS (SELECT o.x AS y) SELECT (SELECT max(y) FROM c) + (SELECT (SELECT min(y) FROM c))) FROM o ORDER BY x;
SELECT x, (WITH c AS (SELECT o.x AS y) SELECT y FROM c WHERE y = (SELECT max(y) FROM c)) FROM o ORDER BY x;
SELECT x, (WITH c AS (SELECT o.x AS y) SELECT count(*) FROM o p WHERE p.x <= (SELECT y FROM c)) FROM o ORDER BY x;
SELECT x, (WITH c AS MATERIALIZED (SELECT o.x AS y), d AS MATERIALIZED (SELECT y * 10 AS z FROM c)
           SELECT (SELECT z FROM d) + (SELECT sum(y) FROM c)) FROM o ORDER BY x;
SELECT x, (WITH c AS MATERIALIZED (SELECT o.x AS y)
           SELECT (WITH d AS MATERIALIZED (SELECT y FROM c) SELECT a.y + b.y FROM d a, d b)) FROM o ORDER BY x;
SELECT * FROM o, LATERAL (WITH RECURSIVE r AS (SELECT o.x AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3)
           SELECT a.n, b.n AS m FROM r a JOIN r b ON a.n = b.n + 1) s ORDER BY 1, 2, 3;
SELECT * FROM o LEFT JOIN LATERAL (WITH c AS MATERIALIZED (SELECT o.x AS n WHERE o.x > 1)
           SELECT a.n, b.n AS m FROM c a CROSS JOIN c b) s ON true ORDER BY 1, 2, 3;
WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL
    (WITH c AS MATERIALIZED (SELECT a + 1 AS b FROM r WHERE a < 4) SELECT c.b FROM c WHERE c.b <= (SELECT max(b) FROM c)))
SELECT * FROM r;
WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL
    (WITH c AS (SELECT a + 1 AS b FROM r WHERE a < 4) SELECT p.b FROM c p JOIN c q USING (b)))
SELECT * FROM r;
-- What is volatile is asked once.
SELECT bool_and(same) FROM (SELECT (WITH c AS MATERIALIZED (SELECT random() + o.x AS v) SELECT a.v = b.v FROM c a, c b) AS same FROM o) s;
SELECT bool_and(same) FROM (SELECT (WITH c AS (SELECT random() + o.x AS v) SELECT a.v = (SELECT v FROM c) FROM c a) AS same FROM o) s;
SELECT count(DISTINCT v) FROM (SELECT (WITH c AS MATERIALIZED (SELECT random() + o.x AS v) SELECT v FROM c) AS v FROM o) s;
-- Read in part only.
SELECT x, (WITH RECURSIVE r AS (SELECT o.x AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r OFFSET 3 LIMIT 1) FROM o ORDER BY x;
SELECT x FROM o WHERE EXISTS (WITH c AS MATERIALIZED (SELECT generate_series(1, o.x) AS g)
           SELECT FROM c WHERE g = 3 AND (SELECT count(*) FROM c) = 3);
UPDATE o SET x = (WITH c AS (SELECT o.x AS v) SELECT v + (SELECT max(v) FROM c) FROM c) RETURNING x;
-- Volatile keys are computed once for each row.
SELECT count(*) = sum(n) FROM (SELECT count(*) AS n FROM generate_series(1, 1000) GROUP BY (random() * 10)::int) s;
SELECT max(n) <= 1000, bool_and(n >= 1) FROM (SELECT count(*) OVER (PARTITION BY (random() * 3)::int) AS n FROM generate_series(1, 1000)) s;
SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY random()) AS n FROM generate_series(1, 100)) s WHERE n BETWEEN 1 AND 100;
-- Windows that need no row behind the one at hand end with their reader.
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n, row_number() OVER () FROM r LIMIT 3;
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r)
SELECT n, sum(n) OVER (ROWS UNBOUNDED PRECEDING), count(*) FILTER (WHERE n % 2 = 0) OVER (ROWS UNBOUNDED PRECEDING) FROM r LIMIT 4;
SELECT g % 3 AS p, g, row_number() OVER w, rank() OVER w, dense_rank() OVER w
FROM generate_series(1, 9) g WINDOW w AS (PARTITION BY g % 3 ORDER BY g / 4) ORDER BY p, g;
SELECT p, v, rank() OVER (PARTITION BY p ORDER BY v), dense_rank() OVER (PARTITION BY p ORDER BY v DESC NULLS LAST)
FROM (VALUES (1, 1), (1, NULL), (1, 1), (NULL, 2), (NULL, 2), (NULL, 3)) t(p, v) ORDER BY p, v;
SELECT p, v, sum(v) OVER (PARTITION BY p ORDER BY v ROWS UNBOUNDED PRECEDING), array_agg(v) OVER (PARTITION BY p ORDER BY v ROWS UNBOUNDED PRECEDING)
FROM (VALUES (1, 1), (1, 5), (1, 3), (2, 2), (2, 4)) t(p, v) ORDER BY p, v;
SELECT x, (SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY g) AS r FROM generate_series(1, o.x) g) s) FROM o ORDER BY x;
-- ANY and ALL that can't be hashed read no further than they must.
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT 5 < ANY (SELECT n FROM r), 3 > ALL (SELECT n FROM r);
SELECT g, g < ANY (SELECT x FROM o), g > ALL (SELECT x FROM o) FROM generate_series(1, 7) g;
DROP TABLE o;
