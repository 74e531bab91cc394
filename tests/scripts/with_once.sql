-- WITH queries whose rows must be computed once, and those that differ from round to round of a recursion.
CREATE SEQUENCE once;
WITH c AS (SELECT nextval('once') n) SELECT g, (SELECT n FROM c WHERE g > 0) FROM generate_series(1, 3) g;
WITH c AS NOT MATERIALIZED (SELECT nextval('once') n) SELECT a.n = b.n FROM c a, c b;
WITH c AS NOT MATERIALIZED (SELECT 1 a, (SELECT nextval('once') WHERE g > 0) n FROM generate_series(1, 1) g) SELECT a.n = b.n FROM c a, c b;
WITH c AS (SELECT * FROM (SELECT random() r) s) SELECT (SELECT r FROM c WHERE g > 0) = (SELECT r FROM c WHERE g < 9) FROM generate_series(1, 2) g;
SELECT nextval('once');
WITH RECURSIVE r(n) AS (
    SELECT 1
    UNION ALL
    (WITH c AS MATERIALIZED (SELECT n + 1 AS m FROM r WHERE n < 5) SELECT m FROM c))
SELECT * FROM r;
WITH RECURSIVE r(n) AS (
    SELECT 1
    UNION ALL
    (WITH c AS (SELECT n + 1 AS m FROM r WHERE n < 5) SELECT a.m FROM c a, c b WHERE a.m = b.m))
SELECT * FROM r;
WITH RECURSIVE r(n) AS (
    SELECT 1
    UNION ALL
    (WITH c AS MATERIALIZED (SELECT n + 1 AS m FROM r WHERE n < 5), d AS MATERIALIZED (SELECT m FROM c), k AS MATERIALIZED (SELECT 0 AS z)
     SELECT m + z FROM d, k))
SELECT * FROM r;
DROP SEQUENCE once;
