-- What ANALYZE is told of columns.
CREATE TABLE told (a int, b int, c text, d int) WITH (autovacuum_enabled = off);
INSERT INTO told SELECT i, i % 10, 'w' || i % 40, i % 20 FROM generate_series(1, 1000) i;
ALTER TABLE told ALTER COLUMN a SET STATISTICS 5, ALTER COLUMN b SET STATISTICS 0, ALTER c SET STATISTICS 20000;
ALTER TABLE told ALTER COLUMN a SET STATISTICS -2;
ALTER TABLE told ALTER COLUMN nothing SET STATISTICS 5;
ALTER TABLE told ALTER COLUMN nothing SET STATISTICS -2;
ALTER TABLE told ALTER COLUMN ctid SET STATISTICS 5;
ALTER TABLE told ALTER COLUMN 1 SET STATISTICS 5;
SELECT attname, attstattarget, attoptions FROM pg_attribute WHERE attrelid = 'told'::regclass AND attnum > 0 ORDER BY attnum;
ANALYZE told;
SELECT attname, n_distinct, cardinality(histogram_bounds::text::text[]), cardinality(most_common_vals::text::text[])
  FROM pg_stats WHERE tablename = 'told' ORDER BY attname;
ALTER TABLE told ALTER COLUMN b SET STATISTICS -1;
ANALYZE told (b);
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'told' AND attname = 'b';
-- None anew: what was known stays.
ALTER TABLE told ALTER COLUMN b SET STATISTICS 0;
DELETE FROM told WHERE b > 4;
ANALYZE told;
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'told' ORDER BY attname;
-- How many values there are.
ALTER TABLE told ALTER COLUMN d SET (n_distinct = -0.25, n_distinct_inherited = 7);
ALTER TABLE told ALTER COLUMN c SET (n_distinct = 123);
ANALYZE told;
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'told' ORDER BY attname;
SELECT attname, attstattarget, attoptions FROM pg_attribute WHERE attrelid = 'told'::regclass AND attnum > 0 ORDER BY attnum;
\d+ told
ALTER TABLE told ALTER COLUMN d RESET (n_distinct);
ALTER TABLE told ALTER COLUMN c SET (n_distinct = 0);
ANALYZE told;
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'told' ORDER BY attname;
SELECT attname, attoptions FROM pg_attribute WHERE attrelid = 'told'::regclass AND attnum > 0 ORDER BY attnum;
ALTER TABLE told ALTER COLUMN d RESET (n_distinct_inherited, n_distinct);
SELECT attname, attoptions FROM pg_attribute WHERE attrelid = 'told'::regclass AND attname = 'd';
ALTER TABLE told ALTER COLUMN d SET (n_distinct = -2);
ALTER TABLE told ALTER COLUMN d SET (n_distinct = many);
ALTER TABLE told ALTER COLUMN d SET (fillfactor = 50);
ALTER TABLE told ALTER COLUMN nothing SET (n_distinct = 5);
ALTER TABLE told ALTER COLUMN d RESET (n_distinct = 5);
ALTER TABLE told ALTER COLUMN xmin SET (n_distinct = 5);
-- They stay with the column, whatever its type and name.
ALTER TABLE told ALTER COLUMN a TYPE bigint;
ALTER TABLE told RENAME COLUMN a TO aa;
SELECT attname, attstattarget FROM pg_attribute WHERE attrelid = 'told'::regclass AND attname = 'aa';
BEGIN;
ALTER TABLE told ALTER COLUMN aa SET STATISTICS 77;
ROLLBACK;
SELECT attname, attstattarget FROM pg_attribute WHERE attrelid = 'told'::regclass AND attname = 'aa';
-- Of an index's columns those that are computed.
CREATE INDEX told_i ON told (b, (d + 1)) INCLUDE (c);
ALTER INDEX told_i ALTER COLUMN 2 SET STATISTICS 400;
ALTER INDEX told_i ALTER COLUMN 1 SET STATISTICS 400;
ALTER INDEX told_i ALTER COLUMN 3 SET STATISTICS 400;
ALTER INDEX told_i ALTER COLUMN 4 SET STATISTICS 400;
ALTER INDEX told_i ALTER COLUMN 0 SET STATISTICS 400;
SELECT attnum, attstattarget FROM pg_attribute WHERE attrelid = 'told_i'::regclass ORDER BY 1;
DROP TABLE told;
-- Arrays are values like others; of their elements nothing is known.
CREATE TABLE lists (few int[], many text[], part numeric[], flat bool[], square float8[]) WITH (autovacuum_enabled = off);
INSERT INTO lists SELECT ARRAY[i % 5, i % 3], ARRAY['a', 'n' || i], CASE WHEN i % 4 = 0 THEN NULL ELSE ARRAY[i % 10, NULL] END,
  '{}', ARRAY[[1.5, i], [2, 3]] FROM generate_series(1, 300) i;
ANALYZE lists;
SELECT attname, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs, round(correlation::numeric, 3)
  FROM pg_stats WHERE tablename = 'lists' ORDER BY attname;
SELECT attname, histogram_bounds FROM pg_stats WHERE tablename = 'lists' AND attname <> 'square' ORDER BY attname;
SELECT staattnum, stakind1, stakind2, staop1, staop2 FROM pg_statistic WHERE starelid = 'lists'::regclass ORDER BY 1;
DROP TABLE lists;
