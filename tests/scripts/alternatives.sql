-- Rows by lists of keys: alternatives become ranges of an index, and give each row once.
CREATE TABLE keyed (a int, b int, c int, d text, PRIMARY KEY (a, b, c));
INSERT INTO keyed SELECT a, b, c, a || '-' || b || '-' || c
  FROM generate_series(1, 3) a, generate_series(1, 20) b, generate_series(1, 3) c;
SELECT d FROM keyed WHERE (a, b, c) IN ((1, 2, 3), (2, 1, 1), (1, 2, 3), (9, 9, 9)) ORDER BY d;
SELECT d FROM keyed WHERE (a, b) IN ((1, 2), (3, 4)) AND c = 2 ORDER BY d;
SELECT count(*), min(d), max(d) FROM keyed WHERE a = 1 AND b = 2 OR a = 1 AND b BETWEEN 1 AND 3;
SELECT count(*) FROM keyed WHERE a = 1 AND b > 18 OR a = 1 AND b > 10 AND c = 1 OR a = 1 AND b = 11;
SELECT count(*) FROM keyed WHERE a = 1 OR a = 1 AND b = 2 OR a = 3 AND b < 2;
SELECT count(*) FROM keyed WHERE (a = 1 OR a = 2) AND (b = 3 OR b = 4 AND c = 1);
SELECT count(*) FROM keyed WHERE a = 1 AND b = 2 OR d = '3-3-3';
SELECT count(*) FROM keyed WHERE (a, b) IN ((1, NULL), (NULL, 2), (2, 2));
SELECT d FROM keyed WHERE (a, b, c) IN ((1, 2, 3), (2, 1, 1)) ORDER BY a DESC, b DESC, c DESC FOR UPDATE;
SELECT d FROM keyed WHERE a = 2 AND b < 3 OR a = 1 AND b > 19 ORDER BY a, b, c LIMIT 4;
PREPARE keys (int, int, int, int) AS SELECT d FROM keyed WHERE (a, b) IN (($1, $2), ($3, $4)) AND c = 1 ORDER BY d;
EXECUTE keys (1, 2, 3, 4);
EXECUTE keys (1, 2, 1, 2);
EXECUTE keys (1, NULL, 3, 20);
UPDATE keyed SET d = 'new' WHERE (a, b, c) IN ((1, 1, 1), (1, 1, 2), (1, 1, 1));
DELETE FROM keyed WHERE (a, b, c) IN ((1, 1, 1), (3, 3, 3));
SELECT d, count(*) FROM keyed WHERE a = 1 AND b = 1 GROUP BY d ORDER BY d;
CREATE INDEX keyed_down ON keyed (b DESC, c);
SELECT count(*) FROM keyed WHERE b = 5 AND c = 1 OR b = 5 AND c > 1 OR b = 6;
-- What is equal to something pinned is pinned, too.
CREATE TABLE paired (a int, b int, e text);
INSERT INTO paired SELECT a, b, a * b FROM generate_series(1, 4) a, generate_series(1, 4) b;
SELECT keyed.d, paired.e FROM keyed, paired WHERE keyed.a = paired.a AND paired.a = 2 AND keyed.b = paired.b AND keyed.b = 3 AND keyed.c = 1;
SELECT count(*) FROM keyed JOIN paired ON keyed.a = paired.a AND keyed.b = paired.b WHERE paired.a = 2 AND keyed.a = 3;
SELECT count(*) FROM keyed, paired WHERE keyed.a = paired.a AND paired.a = paired.b AND keyed.b = 2;
SELECT count(*) FROM keyed, paired WHERE keyed.a = paired.a AND keyed.a = NULL;
SELECT paired.e, (SELECT count(*) FROM keyed, paired v WHERE keyed.a = v.a AND v.a = paired.a AND keyed.b = v.b AND keyed.c = 1)
  FROM paired WHERE b = 1 ORDER BY 1;
SELECT count(*) FROM paired LEFT JOIN keyed ON keyed.a = paired.a AND keyed.b = paired.b WHERE paired.a = 4;
SELECT count(*) FROM keyed, paired x, paired y WHERE keyed.a = x.a AND x.a = y.a AND y.a = 1 AND keyed.b = x.b AND x.b = y.b AND keyed.c = 2;
PREPARE pinned (int) AS SELECT count(*) FROM keyed, paired WHERE keyed.a = paired.a AND paired.a = $1 AND keyed.b = 1 AND paired.b = 1;
EXECUTE pinned (2);
EXECUTE pinned (NULL);
