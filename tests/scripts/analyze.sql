-- What ANALYZE finds out where it reads every row.
CREATE TABLE sampled (id int PRIMARY KEY, few int, skewed int, word text, part numeric, at timestamp, flag bool,
  empty int, wide varchar(200));
INSERT INTO sampled SELECT i, i % 7, CASE WHEN i % 3 = 0 THEN 1 ELSE i * 7919 % 1000 END, 'w' || i % 50,
  (i * 37 % 1000) / 10.0, timestamp '2020-01-01' + i * interval '1 hour', i % 10 = 0, NULL,
  repeat(chr(97 + i % 26), i % 90)
  FROM generate_series(1, 2000) i;
ANALYZE sampled;
SELECT attname, inherited, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs
  FROM pg_stats WHERE tablename = 'sampled' AND attname NOT IN ('at', 'wide') ORDER BY attname;
SELECT attname, histogram_bounds FROM pg_stats
  WHERE tablename = 'sampled' AND attname NOT IN ('wide') ORDER BY attname;
SELECT attname, n_distinct, most_common_elems FROM pg_stats WHERE tablename = 'sampled' AND attname = 'wide';
SELECT staattnum, stakind1, stakind2, stakind3, stakind4, staop1, staop2, staop3, stacoll1, stacoll2
  FROM pg_statistic WHERE starelid = 'sampled'::regclass ORDER BY 1;
SELECT reltuples FROM pg_class WHERE relname = 'sampled';
-- How far the rows lie in the order of their values, where they lie as they were inserted.
CREATE TABLE ordered (up int, down int, mixed int);
INSERT INTO ordered SELECT i, -i, i * 37 % 101 FROM generate_series(1, 1000) i;
ANALYZE ordered;
SELECT attname, round(correlation::numeric, 4) FROM pg_stats WHERE tablename = 'ordered' ORDER BY attname;
DROP TABLE ordered;
-- Anew, for some columns, with fewer entries: not so few that a sample of the rows would do.
SET default_statistics_target = 7;
ANALYZE sampled (few, skewed, word);
SELECT attname, n_distinct, cardinality(most_common_vals::text::text[]) FROM pg_stats
  WHERE tablename = 'sampled' AND attname IN ('few', 'id', 'skewed', 'word') ORDER BY attname;
RESET default_statistics_target;
-- Empty, single, and not orderable.
CREATE TABLE odd (a int, b json, c int[]);
ANALYZE odd;
SELECT count(*) FROM pg_stats WHERE tablename = 'odd';
INSERT INTO odd VALUES (1, '{}', '{1,2}');
ANALYZE odd;
SELECT attname, null_frac, n_distinct, most_common_vals, histogram_bounds, correlation FROM pg_stats
  WHERE tablename = 'odd' AND attname <> 'c' ORDER BY attname;
DELETE FROM odd;
VACUUM odd;
SELECT relpages >= 0, reltuples FROM pg_class WHERE relname = 'odd';
-- Gone with the table.
DROP TABLE odd;
SELECT count(*) FROM pg_statistic WHERE starelid NOT IN (SELECT oid FROM pg_class);
-- Options and what is refused.
VACUUM (ANALYZE, INDEX_CLEANUP off, TRUNCATE false, SKIP_LOCKED) sampled;
VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) sampled;
ANALYZE (SKIP_LOCKED true) sampled (id, word);
VACUUM (NONSENSE) sampled;
ANALYZE (FULL) sampled;
ANALYZE sampled (nothing);
ANALYZE sampled (id, id);
VACUUM sampled (id);
VACUUM (ANALYZE) sampled (id);
VACUUM nothing;
DELETE FROM sampled WHERE id % 2 = 0;
VACUUM FULL sampled;
SELECT count(*), sum(id), min(word) FROM sampled;
SELECT word FROM sampled WHERE id = 77;
VACUUM (FULL, ANALYZE) sampled;
SELECT reltuples FROM pg_class WHERE relname = 'sampled';
SELECT pg_relation_size('sampled') < 300000;
VACUUM (FULL, DISABLE_PAGE_SKIPPING) sampled;
BEGIN;
ANALYZE sampled;
VACUUM sampled;
ROLLBACK;
-- What was found out about a column goes with its type; of what is not there, nothing was counted.
ANALYZE sampled;
SELECT count(*) FROM pg_stats WHERE tablename = 'sampled' AND attname = 'word';
ALTER TABLE sampled ALTER COLUMN word TYPE varchar(200);
SELECT count(*) FROM pg_stats WHERE tablename = 'sampled' AND attname = 'word';
SELECT pg_stat_get_numscans(1), pg_stat_get_live_tuples(1), pg_stat_get_last_vacuum_time(1);
CREATE INDEX ON sampled (id COLLATE "C");
CREATE INDEX ON sampled ((id + 1) COLLATE "C");
CREATE INDEX ON sampled (word COLLATE "nosuch");
