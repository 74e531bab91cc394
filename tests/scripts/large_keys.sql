-- Keys that are too large for an index. The figures and the words are compared elsewhere: our rows have other sizes.
\set VERBOSITY sqlstate
CREATE TABLE lk (k int, t text, u text);
CREATE INDEX lk_t ON lk (t);
INSERT INTO lk SELECT 1, string_agg(md5(i::text), '') FROM generate_series(1, 60) i;
INSERT INTO lk SELECT 2, string_agg(md5(i::text), '') FROM generate_series(1, 100) i;
INSERT INTO lk SELECT 3, string_agg(md5(i::text), '') FROM generate_series(1, 150) i;
INSERT INTO lk VALUES (4, 'small');
UPDATE lk SET t = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 100) i) WHERE k = 4;
SELECT k, length(t) FROM lk ORDER BY k;
-- Columns count together, and what is only carried.
DROP INDEX lk_t;
CREATE INDEX lk_tu ON lk (t, u);
INSERT INTO lk SELECT 5, string_agg(md5(i::text), ''), string_agg(md5(i::text), '') FROM generate_series(1, 50) i;
DROP INDEX lk_tu;
CREATE INDEX lk_k ON lk (k) INCLUDE (t, u);
INSERT INTO lk SELECT 6, string_agg(md5(i::text), ''), string_agg(md5(i::text), '') FROM generate_series(1, 50) i;
DROP INDEX lk_k;
-- Builds.
INSERT INTO lk SELECT 7, string_agg(md5(i::text), '') FROM generate_series(1, 100) i;
CREATE INDEX lk_t ON lk (t);
CREATE UNIQUE INDEX lk_t ON lk (t);
CREATE INDEX CONCURRENTLY lk_t ON lk (t);
SELECT indisvalid FROM pg_index WHERE indexrelid = 'lk_t'::regclass;
DROP INDEX lk_t;
CREATE INDEX lk_part ON lk (t) WHERE k < 7;
INSERT INTO lk SELECT 8, string_agg(md5(i::text), '') FROM generate_series(1, 100) i;
UPDATE lk SET k = 0 WHERE k = 8;
-- What helps.
CREATE INDEX lk_md5 ON lk (md5(t));
CREATE INDEX lk_left ON lk (left(t, 100));
-- A hash index takes them all.
CREATE INDEX lk_hash ON lk USING hash (t);
INSERT INTO lk SELECT 9, string_agg(md5(i::text), '') FROM generate_series(1, 150) i;
INSERT INTO lk SELECT 10, string_agg(md5(i::text), '') FROM generate_series(1, 200) i;
SET enable_seqscan = off;
SELECT k FROM lk WHERE t = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 200) i);
SELECT k FROM lk WHERE t = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 100) i) ORDER BY k;
DROP TABLE lk;
