-- Orders of indexes, nulls among the keys, read in both directions; and uniqueness of nulls.
CREATE TABLE io (id int, a int, b int, t text);
INSERT INTO io SELECT g, CASE WHEN g % 7 > 0 THEN g * 37 % 101 END, CASE WHEN g % 5 > 0 THEN g * 53 % 11 END,
       CASE WHEN g % 6 > 0 THEN 't' || g * 29 % 97 END
FROM generate_series(1, 400) g;
ANALYZE io;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
-- Ascending, nulls last: what an index is unless told otherwise.
CREATE INDEX io_a ON io (a);
EXPLAIN (COSTS OFF) SELECT a FROM io ORDER BY a;
EXPLAIN (COSTS OFF) SELECT a FROM io ORDER BY a DESC;
EXPLAIN (COSTS OFF) SELECT a FROM io ORDER BY a DESC NULLS FIRST;
SELECT a FROM io ORDER BY a OFFSET 338 LIMIT 8;
SELECT a FROM io ORDER BY a DESC OFFSET 54 LIMIT 6;
SELECT count(*), count(a), min(a), max(a) FROM io WHERE a > 50;
SELECT count(*), count(a), min(a), max(a) FROM io WHERE a <= 50;
SELECT count(*), count(a) FROM io WHERE a IS NULL;
SELECT count(*), count(a) FROM io WHERE a IS NOT NULL;
SELECT min(a), max(a) FROM io;
DROP INDEX io_a;
-- Ascending, nulls first.
CREATE INDEX io_a ON io (a NULLS FIRST);
EXPLAIN (COSTS OFF) SELECT a FROM io ORDER BY a NULLS FIRST;
EXPLAIN (COSTS OFF) SELECT a FROM io ORDER BY a DESC NULLS LAST;
SELECT a FROM io ORDER BY a NULLS FIRST OFFSET 54 LIMIT 6;
SELECT a FROM io ORDER BY a DESC NULLS LAST OFFSET 338 LIMIT 8;
SELECT count(*), count(a), min(a), max(a) FROM io WHERE a > 50;
SELECT count(*), count(a), min(a), max(a) FROM io WHERE a <= 50;
SELECT count(*), count(a) FROM io WHERE a IS NULL;
SELECT min(a), max(a) FROM io;
\d io_a
DROP INDEX io_a;
-- Descending, nulls first, as they are there unless told otherwise.
CREATE INDEX io_a ON io (a DESC);
EXPLAIN (COSTS OFF) SELECT a FROM io ORDER BY a DESC;
EXPLAIN (COSTS OFF) SELECT a FROM io ORDER BY a;
SELECT a FROM io ORDER BY a DESC OFFSET 54 LIMIT 6;
SELECT a FROM io ORDER BY a OFFSET 338 LIMIT 8;
SELECT count(*), count(a), min(a), max(a) FROM io WHERE a > 50;
SELECT count(*), count(a), min(a), max(a) FROM io WHERE a BETWEEN 20 AND 30;
SELECT min(a), max(a) FROM io;
DROP INDEX io_a;
-- Descending, nulls last.
CREATE INDEX io_a ON io (a DESC NULLS LAST);
EXPLAIN (COSTS OFF) SELECT a FROM io ORDER BY a DESC NULLS LAST;
EXPLAIN (COSTS OFF) SELECT a FROM io ORDER BY a NULLS FIRST;
SELECT a FROM io ORDER BY a DESC NULLS LAST OFFSET 338 LIMIT 8;
SELECT a FROM io ORDER BY a NULLS FIRST OFFSET 54 LIMIT 6;
SELECT count(*), count(a), min(a), max(a) FROM io WHERE a < 50;
SELECT count(*), count(a) FROM io WHERE a IS NULL;
\d io_a
DROP INDEX io_a;
-- Several columns, each its own way.
CREATE INDEX io_abt ON io (a DESC NULLS LAST, b, t DESC);
EXPLAIN (COSTS OFF) SELECT a, b, t FROM io ORDER BY a DESC NULLS LAST, b, t DESC;
EXPLAIN (COSTS OFF) SELECT a, b, t FROM io ORDER BY a NULLS FIRST, b DESC, t;
SELECT a, b, t, id FROM io WHERE a > 94 ORDER BY a DESC NULLS LAST, b, t DESC;
SELECT a, b, t, id FROM io WHERE a > 94 ORDER BY a NULLS FIRST, b DESC, t;
SELECT a, b, t, id FROM io WHERE a IS NULL AND b >= 8 ORDER BY b, t DESC;
SELECT a, b, t, id FROM io WHERE a IS NULL AND b IS NULL ORDER BY t;
SELECT count(*), sum(id) FROM io WHERE a = 37 AND b > 3;
SELECT count(*), sum(id) FROM io WHERE a IN (1, 37, 99, NULL) AND b < 6;
SELECT count(*), sum(id) FROM io WHERE (a, b) > (50, 5);
SELECT a, b FROM io WHERE a <= 3 ORDER BY a DESC NULLS LAST, b LIMIT 5;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT a, b, t FROM io ORDER BY a DESC NULLS LAST, b, t DESC;
FETCH 2 FROM c;
MOVE 340 FROM c;
FETCH 3 FROM c;
FETCH BACKWARD 3 FROM c;
COMMIT;
DROP TABLE io;
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_sort;
-- Nulls are distinct, or they are not.
CREATE TABLE un (a int, b text, c int);
CREATE UNIQUE INDEX un_ab ON un (a, b);
INSERT INTO un VALUES (1, NULL, 1), (1, NULL, 2), (NULL, NULL, 3), (NULL, NULL, 4);
CREATE UNIQUE INDEX un_bad ON un (a, b) NULLS NOT DISTINCT;
DELETE FROM un WHERE c IN (2, 4);
CREATE UNIQUE INDEX un_one ON un (a, b) NULLS NOT DISTINCT;
INSERT INTO un VALUES (1, NULL, 5);
INSERT INTO un VALUES (NULL, NULL, 5);
INSERT INTO un VALUES (NULL, 'x', 5), (2, NULL, 6);
INSERT INTO un VALUES (NULL, 'x', 7);
INSERT INTO un VALUES (1, NULL, 7) ON CONFLICT DO NOTHING;
INSERT INTO un VALUES (1, NULL, 8) ON CONFLICT (a, b) DO UPDATE SET c = excluded.c;
UPDATE un SET a = 1 WHERE a = 2;
UPDATE un SET c = c + 100 WHERE b IS NULL;
BEGIN;
DELETE FROM un WHERE a = 1;
INSERT INTO un VALUES (1, NULL, 9);
INSERT INTO un VALUES (1, NULL, 10);
ROLLBACK;
SELECT * FROM un ORDER BY c;
\d un
SELECT indexrelid::regclass, indisunique, indnullsnotdistinct FROM pg_index WHERE indrelid = 'un'::regclass ORDER BY 1;
ALTER TABLE un ADD CONSTRAINT un_c UNIQUE NULLS NOT DISTINCT (c);
INSERT INTO un VALUES (7, 'y', NULL);
INSERT INTO un VALUES (8, 'y', NULL);
ALTER TABLE un ADD CONSTRAINT un_late UNIQUE NULLS NOT DISTINCT (c, a) DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO un VALUES (NULL, 'z', 200), (NULL, 'zz', 201);
UPDATE un SET c = 300 WHERE b = 'zz';
COMMIT;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'un'::regclass ORDER BY 1;
REINDEX TABLE un;
SELECT * FROM un ORDER BY c, a;
DROP TABLE un;
