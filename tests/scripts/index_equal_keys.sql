-- Equal keys share entries: built, inserted, updated, deleted, vacuumed, told not to.
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE TABLE few (id int, k int, t text, n int, f float8);
INSERT INTO few SELECT g, g % 7, repeat('long ', 40) || g % 3, CASE WHEN g % 5 > 0 THEN g % 4 END,
       (CASE g % 3 WHEN 0 THEN '0' WHEN 1 THEN '-0' ELSE 'NaN' END)::float8
FROM generate_series(1, 12000) g;
CREATE INDEX few_k ON few (k);
CREATE INDEX few_k_off ON few (k) WITH (deduplicate_items = off);
CREATE INDEX few_t ON few (t);
CREATE INDEX few_n ON few (n DESC, k);
CREATE INDEX few_f ON few (f);
CREATE INDEX few_with ON few (k) INCLUDE (id);
CREATE UNIQUE INDEX few_id ON few (id);
VACUUM ANALYZE few;
SELECT pg_relation_size('few_k') < pg_relation_size('few_k_off') / 2,
       pg_relation_size('few_t') < pg_relation_size('few_k_off') / 2;
SET enable_seqscan = off;
SELECT k, count(*) FROM few GROUP BY k ORDER BY k;
SELECT id FROM few WHERE k = 3 ORDER BY id LIMIT 5;
SELECT count(*), min(id), max(id) FROM few WHERE k BETWEEN 2 AND 4 AND n = 1;
SELECT k FROM few WHERE k > 4 ORDER BY k DESC OFFSET 1712 LIMIT 4;
SELECT k FROM few WHERE k > 4 ORDER BY k OFFSET 1712 LIMIT 4;
SELECT n, k, count(*) FROM few GROUP BY n, k HAVING k = 2 ORDER BY n DESC, k;
SELECT count(*) FROM few WHERE f = 0;
SELECT f::text, count(*) FROM few GROUP BY f::text ORDER BY 1;
SELECT right(t, 3), count(*) FROM few WHERE t > 'long' GROUP BY t ORDER BY t;
SELECT k, id FROM few WHERE k = 6 AND id < 60 ORDER BY id DESC;
-- Rows go, others take their places: among those that are there.
DELETE FROM few WHERE id % 3 = 0;
VACUUM few;
SELECT k, count(*) FROM few GROUP BY k ORDER BY k;
INSERT INTO few SELECT g, g % 7, repeat('long ', 40) || g % 3, g % 4, 1 FROM generate_series(12001, 16000) g;
UPDATE few SET k = (k + 1) % 7 WHERE id % 10 = 1;
UPDATE few SET id = id WHERE k = 5;
UPDATE few SET f = f + 1;
SELECT k, count(*), sum(id) FROM few GROUP BY k ORDER BY k;
SELECT count(*) FROM few WHERE t < 'm' AND k = 4;
BEGIN;
DECLARE back SCROLL CURSOR FOR SELECT k FROM few WHERE k < 2 ORDER BY k;
MOVE 2000 FROM back;
FETCH 2 FROM back;
MOVE BACKWARD 1990 FROM back;
FETCH BACKWARD 2 FROM back;
DELETE FROM few WHERE k = 1;
FETCH 2 FROM back;
ROLLBACK;
DELETE FROM few WHERE k IN (0, 3);
VACUUM few;
SELECT k, count(*) FROM few GROUP BY k ORDER BY k;
SELECT bt_index_parent_check(c.oid::regclass, true) FROM pg_class c WHERE relname LIKE 'few\__%' AND relkind = 'i';
-- Unique: the versions of a row share its key, and the key stays one.
CREATE TABLE counters (id int PRIMARY KEY, n int) WITH (fillfactor = 100);
CREATE INDEX counters_n ON counters (n);
INSERT INTO counters SELECT g, 0 FROM generate_series(1, 200) g;
SELECT 'UPDATE counters SET n = n + 1' FROM generate_series(1, 60) \gexec
INSERT INTO counters VALUES (77, 0);
SELECT count(*), sum(n) FROM counters WHERE id BETWEEN 50 AND 99;
SELECT n, count(*) FROM counters WHERE n > 0 GROUP BY n;
SELECT bt_index_check('counters_pkey', true), bt_index_check('counters_n', true);
-- The choice is heeded, and may change.
CREATE TABLE grown (k int);
CREATE INDEX grown_on ON grown (k);
CREATE INDEX grown_off ON grown (k) WITH (deduplicate_items = off);
INSERT INTO grown SELECT g % 50 FROM generate_series(1, 20000) g;
SELECT pg_relation_size('grown_on') < pg_relation_size('grown_off') / 2;
ALTER INDEX grown_on SET (deduplicate_items = off);
ALTER INDEX grown_off RESET (deduplicate_items);
REINDEX TABLE grown;
SELECT pg_relation_size('grown_off') < pg_relation_size('grown_on') / 2;
SELECT pg_get_indexdef('grown_on'::regclass), pg_get_indexdef('grown_off'::regclass);
SELECT count(*) FROM grown WHERE k = 7;
DROP TABLE few, counters, grown;
