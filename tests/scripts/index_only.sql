-- INCLUDE columns are in the entries, and queries that need no more are answered from them.
SET enable_seqscan = off; SET enable_bitmapscan = off;
CREATE TABLE covered (id int PRIMARY KEY, k int, v numeric, t text, n float8, u uuid);
INSERT INTO covered SELECT g, g % 50, g / 8.0, CASE WHEN g % 7 = 0 THEN NULL ELSE 'text ' || g END,
    CASE WHEN g % 9 = 0 THEN '-0'::float8 ELSE g END, NULL FROM generate_series(1, 2000) g;
CREATE INDEX covered_k ON covered (k, id DESC) INCLUDE (v, t, n);
VACUUM ANALYZE covered;
EXPLAIN (COSTS OFF) SELECT id, v, t, n FROM covered WHERE k = 3;
SELECT id, v, t, n FROM covered WHERE k = 3 AND id < 300 ORDER BY id;
SELECT id, v, t, n FROM covered WHERE k IN (9, 18, NULL, 49) AND id BETWEEN 40 AND 120 ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM covered WHERE id = 7;
EXPLAIN (COSTS OFF) SELECT id FROM covered WHERE id > 1990 ORDER BY id DESC;
SELECT id FROM covered WHERE id > 1990 ORDER BY id DESC;
EXPLAIN (COSTS OFF) SELECT u FROM covered WHERE k = 3;
EXPLAIN (COSTS OFF) SELECT ctid FROM covered WHERE k = 3;
EXPLAIN (COSTS OFF) SELECT covered FROM covered WHERE k = 3;
EXPLAIN (COSTS OFF) SELECT v FROM covered WHERE k = 3 AND t LIKE '%3' ORDER BY id DESC;
SELECT v FROM covered WHERE k = 3 AND t LIKE '%53' ORDER BY id DESC;
SELECT max(id), min(id), count(t), sum(v) FROM covered WHERE k = 21;
EXPLAIN (COSTS OFF) SELECT id FROM covered WHERE k = 3 FOR UPDATE;
-- An included value may change so that it is equal and yet another.
UPDATE covered SET v = 5.50 WHERE id = 44;
UPDATE covered SET v = 5.500, t = NULL WHERE id = 94;
UPDATE covered SET n = 0 WHERE id = 594;
SELECT id, v, t, n FROM covered WHERE k = 44 AND id < 700 ORDER BY id DESC;
DELETE FROM covered WHERE id = 144;
SELECT id, v, t FROM covered WHERE k = 44 AND id < 300 ORDER BY id DESC;
VACUUM covered;
SELECT id, v, t FROM covered WHERE k = 44 AND id < 300 ORDER BY id DESC;
-- A snapshot goes on seeing what it saw.
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE rows CURSOR FOR SELECT id, v FROM covered WHERE k = 12 AND id < 300 ORDER BY id DESC;
FETCH 2 FROM rows;
UPDATE covered SET v = -1 WHERE k = 12;
FETCH 2 FROM rows;
SELECT id, v FROM covered WHERE k = 12 AND id < 200 ORDER BY id;
ROLLBACK;
SELECT id, v FROM covered WHERE k = 12 AND id < 200 ORDER BY id;
BEGIN;
SAVEPOINT s;
DELETE FROM covered WHERE k = 13;
SELECT count(*) FROM covered WHERE k = 13;
ROLLBACK TO s;
SELECT count(*) FROM covered WHERE k = 13;
COMMIT;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT id, v FROM covered WHERE k = 3;
RESET enable_indexonlyscan;
EXPLAIN (COSTS OFF) SELECT id, v FROM covered WHERE k = 3;
-- Unique keys are the keys alone.
CREATE TABLE owners (id int, name text, note varchar(10), UNIQUE (id) INCLUDE (name, note));
INSERT INTO owners VALUES (1, 'a', 'x'), (2, NULL, NULL), (3, '', '');
INSERT INTO owners VALUES (1, 'b', 'y');
INSERT INTO owners VALUES (1, 'b', 'y') ON CONFLICT (id) DO UPDATE SET name = excluded.name;
INSERT INTO owners VALUES (1, 'b', 'y') ON CONFLICT (id, name) DO NOTHING;
SELECT id, name, note FROM owners WHERE id < 9 ORDER BY id;
\d owners
SELECT indnatts, indnkeyatts, indkey, indoption, pg_get_indexdef(indexrelid), pg_get_indexdef(indexrelid, 2, true)
  FROM pg_index WHERE indrelid = 'owners'::regclass;
SELECT attname, attnum, format_type(atttypid, atttypmod) FROM pg_attribute
  WHERE attrelid = 'owners_id_name_note_key'::regclass ORDER BY attnum;
CREATE TABLE heirs (LIKE owners INCLUDING ALL);
\d heirs
ALTER TABLE heirs ADD PRIMARY KEY (id) INCLUDE (note);
\d heirs
ALTER TABLE owners ALTER note TYPE text USING note || '!';
SELECT id, note FROM owners WHERE id < 9 ORDER BY id;
ALTER TABLE owners DROP COLUMN note;
\d owners
-- What entries can't carry: too much; and what needs no order can be carried.
CREATE TABLE wide (id int, j json, t text);
CREATE INDEX wide_id ON wide (id) INCLUDE (j);
INSERT INTO wide VALUES (1, '{"a": [1, 2]}', 'x'), (2, NULL, 'y');
EXPLAIN (COSTS OFF) SELECT id, j FROM wide WHERE id = 1;
SELECT id, j FROM wide WHERE id = 1;
CREATE INDEX wide_j ON wide (j) INCLUDE (id);
CREATE INDEX wide_expr ON wide (id) INCLUDE ((id + 1));
CREATE INDEX wide_twice ON wide (id) INCLUDE (nothing);
CREATE INDEX wide_hash ON wide USING hash (id) INCLUDE (t);
CREATE INDEX wide_order ON wide (id) INCLUDE (t DESC);
CREATE INDEX wide_nulls ON wide (id) INCLUDE (t NULLS FIRST);
CREATE INDEX wide_class ON wide (id) INCLUDE (t text_ops);
CREATE INDEX wide_collated ON wide (id) INCLUDE (t COLLATE "C");
CREATE INDEX wide_same ON wide (id) INCLUDE (id, t, t);
SELECT pg_get_indexdef('wide_same'::regclass);
-- Partial indexes, and keys that are expressions.
CREATE INDEX wide_part ON wide (id) INCLUDE (t) WHERE t > 'a';
CREATE INDEX wide_lower ON wide (lower(t)) INCLUDE (id, t);
SELECT id FROM wide WHERE lower(t) = 'y';
SELECT id, t FROM wide WHERE id > 0 AND t > 'a' ORDER BY id;
UPDATE wide SET t = 'Y' WHERE id = 2;
SELECT id, t FROM wide WHERE lower(t) = 'y';
SELECT id, t FROM wide WHERE id > 0 AND t > 'a' ORDER BY id;
DROP TABLE covered, owners, heirs, wide;
