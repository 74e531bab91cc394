-- When outputs are computed: volatile ones and sets after ORDER BY, and only for the rows that LIMIT lets through.
CREATE SEQUENCE tgt;
SELECT x, nextval('tgt') FROM (VALUES (3), (1), (2)) v(x) ORDER BY x;
SELECT x, nextval('tgt') FROM (VALUES (3), (1), (2)) v(x) ORDER BY x DESC LIMIT 1;
SELECT x, nextval('tgt') FROM (VALUES (3), (1), (2)) v(x) ORDER BY x LIMIT 1 OFFSET 1;
SELECT x + 1 AS y, nextval('tgt') FROM (VALUES (3), (1), (2)) v(x) ORDER BY y DESC, x;
SELECT nextval('tgt') n, x FROM (VALUES (3), (1), (2)) v(x) ORDER BY -x;
SELECT nextval('tgt') n, x FROM (VALUES (3), (1), (2)) v(x) ORDER BY n DESC;
SELECT sum(x), x % 2 AS odd, nextval('tgt') FROM generate_series(1, 5) x GROUP BY x % 2 ORDER BY odd;
SELECT x, row_number() OVER (ORDER BY x DESC) r, nextval('tgt') FROM (VALUES (3), (1), (2)) v(x) ORDER BY r;
SELECT x, rank() OVER (ORDER BY -x) + nextval('tgt') - nextval('tgt') r FROM (VALUES (3), (1), (2)) v(x) ORDER BY x FETCH FIRST 2 ROWS WITH TIES;
SELECT nextval('tgt');
SELECT x, generate_series(1, x) g FROM (VALUES (3), (1), (2)) v(x) ORDER BY x;
SELECT x, generate_series(2, x) g FROM (VALUES (3), (1), (2)) v(x) ORDER BY x LIMIT 2;
SELECT x, generate_series(1, x) g FROM (VALUES (3), (1), (2)) v(x) ORDER BY x DESC, g DESC LIMIT 2;
SELECT x * 2 AS y, generate_series(1, x) + 10 g, nextval('tgt') FROM (VALUES (3), (1), (2)) v(x) ORDER BY y LIMIT 4;
SELECT 'b' COLLATE "C" AS t, nextval('tgt') UNION ALL SELECT 'a', nextval('tgt') ORDER BY 1;
SELECT t, nextval('tgt') FROM (VALUES ('b'), ('A'), ('a'), ('B')) v(t) ORDER BY t COLLATE "C" LIMIT 3;
-- What min reads is in order; the rows made of it are not.
CREATE TABLE tgt_t (a int);
INSERT INTO tgt_t SELECT generate_series(1, 100);
CREATE INDEX ON tgt_t (a);
SELECT min(a), generate_series(1, 3) g FROM tgt_t ORDER BY g DESC;
SELECT max(a), generate_series(1, 3) g FROM tgt_t ORDER BY g DESC LIMIT 2;
DROP TABLE tgt_t;
DROP SEQUENCE tgt;
