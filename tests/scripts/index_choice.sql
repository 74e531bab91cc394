-- Which index is chosen where a hash index and a B-tree stand on one column, with all settings as they are.
-- Without autovacuum: what is visible to all decides between plans, and servers clean at their own times.
CREATE TABLE ic (id int, a int, b int, t text, s text) WITH (autovacuum_enabled = off);
INSERT INTO ic SELECT i, i, i % 20, 'text ' || i, 'a longer text for the index to hold, number ' || i FROM generate_series(1, 50000) i;
CREATE INDEX ic_a_tree ON ic (a);
CREATE INDEX ic_a_hash ON ic USING hash (a);
CREATE INDEX ic_t_hash ON ic USING hash (t);
CREATE INDEX ic_t_tree ON ic (t);
CREATE INDEX ic_s_tree ON ic (s);
CREATE INDEX ic_s_hash ON ic USING hash (s);
ANALYZE ic;
-- One row: the hash index needs no descent.
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE a = 77;
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE t = 'text 77';
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE s = 'a longer text for the index to hold, number 77';
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE a = 77 AND b = 3;
SELECT * FROM ic WHERE a = 77;
SELECT * FROM ic WHERE t = 'text 77';
-- What a hash index can't do.
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE a < 77;
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE a BETWEEN 7 AND 9;
EXPLAIN (COSTS OFF) SELECT * FROM ic ORDER BY a LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE a IS NULL;
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE t > 'text 99990';
SELECT count(*) FROM ic WHERE a BETWEEN 7 AND 9;
-- Neither pays.
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE b = 3;
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE a > 77;
-- One of them alone.
DROP INDEX ic_a_hash, ic_t_tree;
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE a = 77;
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE t = 'text 77';
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE t > 'text 99990';
-- A key of many rows.
CREATE INDEX ic_b_tree ON ic (b);
CREATE INDEX ic_b_hash ON ic USING hash (b);
INSERT INTO ic VALUES (0, 0, 21, 'rare', 'rare');
EXPLAIN (COSTS OFF) SELECT * FROM ic WHERE b = 21;
DROP TABLE ic;
-- A unique key and a hash index on the same column: one row either way, and the hash index needs no descent.
CREATE TABLE ik (id int PRIMARY KEY, b int, t text UNIQUE, u int) WITH (autovacuum_enabled = off);
INSERT INTO ik SELECT i, i % 20, 'text ' || i, i FROM generate_series(1, 50000) i;
CREATE INDEX ik_id_hash ON ik USING hash (id);
CREATE INDEX ik_t_hash ON ik USING hash (t);
CREATE INDEX ik_few_hash ON ik USING hash (id) WHERE b = 3;
CREATE TABLE iv (x int) WITH (autovacuum_enabled = off);
INSERT INTO iv VALUES (1), (50000);
ANALYZE ik, iv;
EXPLAIN (COSTS OFF) SELECT * FROM ik WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT * FROM ik WHERE t = 'text 77';
EXPLAIN (COSTS OFF) SELECT * FROM ik WHERE id = 77 AND b = 7;
EXPLAIN (COSTS OFF) SELECT id FROM ik WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT * FROM ik WHERE id = 77 ORDER BY id;
EXPLAIN (COSTS OFF) SELECT * FROM ik WHERE id = 77 FOR UPDATE;
EXPLAIN (COSTS OFF) SELECT (SELECT t FROM ik WHERE ik.id = iv.x) FROM iv;
EXPLAIN (COSTS OFF) SELECT * FROM iv JOIN ik ON ik.id = iv.x;
EXPLAIN (COSTS OFF) UPDATE ik SET b = 1 WHERE id = 77;
EXPLAIN (COSTS OFF) DELETE FROM ik WHERE id = 77;
EXPLAIN (COSTS OFF) INSERT INTO ik VALUES (77, 1, 'x') ON CONFLICT (id) DO UPDATE SET b = 2;
SELECT * FROM ik WHERE id = 77;
UPDATE ik SET b = b + 1 WHERE id = 77 RETURNING *;
UPDATE ik SET id = 100077, t = 'other' WHERE id = 77 RETURNING *;
SELECT * FROM ik WHERE id = 77;
SELECT * FROM ik WHERE id = 100077;
DELETE FROM ik WHERE id = 78 RETURNING *;
DELETE FROM ik WHERE id = 78 RETURNING *;
INSERT INTO ik VALUES (79, 1, 'x') ON CONFLICT (id) DO UPDATE SET b = ik.b + 1000 RETURNING *;
INSERT INTO ik VALUES (79, 1, 'x') ON CONFLICT DO NOTHING;
INSERT INTO ik VALUES (79, 1, 'x');
PREPARE by_id(int) AS SELECT id, b FROM ik WHERE id = $1;
EXECUTE by_id(79);
EXECUTE by_id(78);
EXECUTE by_id(NULL);
-- What is visible to all need not be fetched through the B-tree.
VACUUM ik;
EXPLAIN (COSTS OFF) SELECT id FROM ik WHERE id = 80;
EXPLAIN (COSTS OFF) SELECT b FROM ik WHERE id = 80;
-- With the constraint alone, and with the hash index alone.
DROP INDEX ik_id_hash;
EXPLAIN (COSTS OFF) SELECT * FROM ik WHERE id = 80;
EXPLAIN (COSTS OFF) SELECT * FROM ik WHERE id = 80 AND b = 3;
ALTER TABLE ik DROP CONSTRAINT ik_t_key;
EXPLAIN (COSTS OFF) SELECT * FROM ik WHERE t = 'text 80';
DROP TABLE ik, iv;
