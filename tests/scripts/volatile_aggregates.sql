-- Volatile aggregates are each their own.
CREATE TABLE vol AS SELECT a FROM generate_series(1, 100) a;
SELECT sum(random()) = sum(random()) AS same, sum(a) = sum(a) AS equal FROM vol;
SELECT count(*) FROM vol HAVING sum(random()) <> sum(random());
SELECT sum(random()) = r FROM (SELECT sum(random()) r FROM vol) s, vol GROUP BY r;
DROP TABLE vol;
