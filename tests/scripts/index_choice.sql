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
