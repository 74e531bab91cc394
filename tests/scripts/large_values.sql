-- Values that a page has no room for: stored, read, changed, taken back. Texts of digests do not compress.
CREATE TABLE lv (id int PRIMARY KEY, note text, body text, data bytea, n numeric, tags text[]);
SELECT reltoastrelid <> 0 AS has FROM pg_class WHERE relname = 'lv';
SELECT relkind, relnamespace::regnamespace FROM pg_class WHERE oid = (SELECT reltoastrelid FROM pg_class WHERE relname = 'lv');
CREATE TABLE lv_narrow (a int, b varchar(100), c numeric(10, 2), d timestamptz, e char(84));
SELECT reltoastrelid <> 0 AS has FROM pg_class WHERE relname = 'lv_narrow';
INSERT INTO lv SELECT g, 'note ' || g, (SELECT string_agg(md5((g * 100000 + i)::text), '') FROM generate_series(1, 40 * g * g) i)
FROM generate_series(1, 12) g;
SELECT id, note, length(body), md5(body) FROM lv ORDER BY id;
SELECT pg_relation_size('lv') < pg_table_size('lv'), pg_table_size('lv') < pg_total_relation_size('lv');
-- Only what is asked for: rows are short.
SELECT count(*), max(note) FROM lv;
SELECT substr(body, 1, 32), right(body, 32) FROM lv WHERE id = 12;
SELECT length((lv).body), (lv).note FROM lv WHERE id = 5;
-- What compresses stays, or goes compressed.
UPDATE lv SET note = repeat('abc', 100000) WHERE id = 1;
UPDATE lv SET note = (SELECT string_agg(md5((i % 3000)::text), '') FROM generate_series(1, 30000) i) WHERE id = 2;
SELECT id, length(note), md5(note) FROM lv WHERE id IN (1, 2) ORDER BY id;
-- Other types.
UPDATE lv SET data = decode((SELECT string_agg(md5(i::text), '') FROM generate_series(1, 2000) i), 'hex') WHERE id = 3;
UPDATE lv SET n = (SELECT string_agg((i * 7919 % 100000)::text, '') FROM generate_series(1, 5000) i)::numeric WHERE id = 3;
UPDATE lv SET tags = (SELECT array_agg(md5(i::text)) FROM generate_series(1, 3000) i) WHERE id = 3;
SELECT length(data), md5(data), md5(n::text), n % 97, array_length(tags, 1), tags[3000], md5(tags::text), length(body), md5(body)
FROM lv WHERE id = 3;
-- Several in a row.
UPDATE lv SET note = body, body = note WHERE id BETWEEN 4 AND 6;
SELECT id, length(note), md5(note), body FROM lv WHERE id BETWEEN 4 AND 6 ORDER BY id;
-- An update that leaves it alone, by the key and otherwise.
UPDATE lv SET note = 'short' WHERE id = 7;
UPDATE lv SET note = 'shorter' WHERE note = 'short';
UPDATE lv SET note = upper(note), tags = '{}' WHERE id = 7;
SELECT id, note, md5(body) FROM lv WHERE id = 7;
UPDATE lv SET body = '' WHERE id = 8;
UPDATE lv SET body = body || 'x' WHERE id = 9;
UPDATE lv SET body = NULL WHERE id = 10;
SELECT id, length(body), md5(body) FROM lv WHERE id BETWEEN 8 AND 10 ORDER BY id;
-- RETURNING, ON CONFLICT, FROM, USING.
UPDATE lv SET note = 'returned' WHERE id = 11 RETURNING id, note, length(body), md5(body);
INSERT INTO lv (id, body) SELECT 12, string_agg(md5(i::text), '') FROM generate_series(1, 500) i
ON CONFLICT (id) DO UPDATE SET note = 'conflict ' || length(excluded.body) || ' ' || length(lv.body) RETURNING id, note, md5(body);
INSERT INTO lv (id, body) SELECT 12, string_agg(md5(i::text), '') FROM generate_series(1, 500) i
ON CONFLICT (id) DO UPDATE SET body = excluded.body || lv.note RETURNING id, length(body), md5(body);
INSERT INTO lv (id, body) SELECT 12, string_agg(md5(i::text), '') FROM generate_series(1, 500) i ON CONFLICT DO NOTHING;
UPDATE lv SET body = b.body FROM lv b WHERE lv.id = 8 AND b.id = 7;
SELECT md5(body) FROM lv WHERE id IN (7, 8);
DELETE FROM lv USING lv b WHERE lv.id = 6 AND b.id = 7 AND length(b.body) > 1000 RETURNING lv.id, md5(lv.note);
DELETE FROM lv WHERE id = 5 RETURNING id, md5(note);
-- Taken back.
BEGIN;
UPDATE lv SET body = 'gone' WHERE id = 7;
SAVEPOINT s;
DELETE FROM lv WHERE id = 7;
ROLLBACK TO s;
SELECT body FROM lv WHERE id = 7;
ROLLBACK;
SELECT md5(body) FROM lv WHERE id = 7;
BEGIN;
SAVEPOINT s;
DELETE FROM lv WHERE id = 7;
ROLLBACK TO s;
DELETE FROM lv WHERE id = 7;
INSERT INTO lv SELECT 7, 'again', string_agg(md5(i::text), '') FROM generate_series(1, 1000) i;
COMMIT;
SELECT note, length(body), md5(body) FROM lv WHERE id = 7;
-- Conditions, sorts, groups, joins, cursors.
SELECT id FROM lv WHERE body LIKE 'c4ca4238a0b923820dcc509a6f75849bc81e728d%' ORDER BY id;
SELECT count(DISTINCT body) FROM lv;
SELECT a.id, b.id FROM lv a JOIN lv b ON a.body = b.body AND a.id < b.id;
BEGIN;
DECLARE c CURSOR FOR SELECT id, length(body) FROM lv ORDER BY body DESC NULLS LAST, id;
FETCH 2 FROM c;
FETCH 2 FROM c;
COMMIT;
SELECT id FROM lv WHERE id = 7 FOR UPDATE;
-- Constraints and generated columns look at it.
ALTER TABLE lv ADD CONSTRAINT lv_body CHECK (length(body) < 500000);
INSERT INTO lv (id, body) VALUES (20, repeat('x', 500000));
ALTER TABLE lv ADD digest text GENERATED ALWAYS AS (md5(body)) STORED;
SELECT id, digest = md5(body) FROM lv ORDER BY id;
UPDATE lv SET body = body || 'y' WHERE id = 7;
UPDATE lv SET note = 'n' WHERE id = 7;
SELECT digest = md5(body), length(body) FROM lv WHERE id = 7;
-- Indexes of expressions over it, and a hash index on it.
CREATE INDEX lv_md5 ON lv (md5(body));
CREATE INDEX lv_hash ON lv USING hash (body);
SET enable_seqscan = off;
SELECT id FROM lv WHERE md5(body) = (SELECT digest FROM lv WHERE id = 9);
SELECT b.id FROM lv a JOIN lv b ON b.body = a.body WHERE a.id = 9;
UPDATE lv SET body = (SELECT string_agg(md5((i + 5)::text), '') FROM generate_series(1, 1000) i) WHERE id = 4;
SELECT id FROM lv WHERE body = (SELECT string_agg(md5((i + 5)::text), '') FROM generate_series(1, 1000) i);
RESET enable_seqscan;
-- The table written anew.
VACUUM lv;
VACUUM FULL lv;
SELECT id, length(note), md5(body), length(data), md5(n::text), array_length(tags, 1) FROM lv ORDER BY id;
ALTER TABLE lv ALTER id TYPE bigint;
SELECT id, md5(body) FROM lv ORDER BY id;
ANALYZE lv;
SELECT attname, null_frac > 0 AS nulls FROM pg_stats WHERE tablename = 'lv' AND attname IN ('id', 'body') ORDER BY attname;
CREATE TABLE lv_copy AS SELECT * FROM lv;
SELECT count(*), sum(length(body)) FROM lv_copy;
INSERT INTO lv_copy SELECT * FROM lv_copy;
SELECT count(*), sum(length(body)) FROM lv_copy;
TRUNCATE lv_copy;
SELECT pg_table_size('lv_copy') < 10000;
-- A table that gets a long column later; one whose rows are kept longer.
ALTER TABLE lv_narrow ADD t text;
SELECT reltoastrelid <> 0 AS has FROM pg_class WHERE relname = 'lv_narrow';
INSERT INTO lv_narrow (a, t) SELECT g, (SELECT string_agg(md5((g * 1000 + i)::text), '') FROM generate_series(1, 300) i) FROM generate_series(1, 3) g;
SELECT a, md5(t) FROM lv_narrow ORDER BY a;
CREATE TABLE lv_target (a int, t text) WITH (toast_tuple_target = 8160);
INSERT INTO lv_target SELECT 1, string_agg(md5(i::text), '') FROM generate_series(1, 200) i;
INSERT INTO lv_target SELECT 2, string_agg(md5(i::text), '') FROM generate_series(1, 252) i;
SELECT a, length(t), md5(t), pg_table_size('lv_target') > 0 FROM lv_target ORDER BY a;
-- COPY, temporary and unlogged tables.
COPY (SELECT id, md5(body), left(body, 40) FROM lv WHERE id = 7) TO STDOUT;
CREATE TEMPORARY TABLE lv_temp (a int, t text) ON COMMIT DELETE ROWS;
BEGIN;
INSERT INTO lv_temp SELECT 1, string_agg(md5(i::text), '') FROM generate_series(1, 3000) i;
SELECT a, md5(t) FROM lv_temp;
COMMIT;
SELECT count(*) FROM lv_temp;
CREATE UNLOGGED TABLE lv_unlogged (a int, t text);
INSERT INTO lv_unlogged SELECT 1, string_agg(md5(i::text), '') FROM generate_series(1, 3000) i;
SELECT a, md5(t) FROM lv_unlogged;
INSERT INTO pg_toast.pg_toast_1 VALUES (1);
DROP TABLE lv, lv_copy, lv_narrow, lv_target, lv_temp, lv_unlogged;
SELECT count(*) FROM pg_class t WHERE relkind = 't' AND NOT EXISTS (SELECT 1 FROM pg_class c WHERE c.reltoastrelid = t.oid);
