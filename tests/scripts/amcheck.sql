-- Indexes under the eyes of amcheck's functions.
CREATE EXTENSION amcheck;
CREATE TABLE checked (id int PRIMARY KEY, k int, t text);
INSERT INTO checked SELECT g, nullif(g % 30, 0), 'text ' || g FROM generate_series(1, 3000) g;
CREATE INDEX checked_k ON checked (k DESC NULLS LAST, t) INCLUDE (id);
CREATE INDEX checked_part ON checked (t) WHERE k > 7;
CREATE INDEX checked_lower ON checked (lower(t));
CREATE INDEX checked_hash ON checked USING hash (t);
UPDATE checked SET k = k + 1, t = t || '!' WHERE id % 3 = 0;
DELETE FROM checked WHERE id % 11 = 0;
SELECT bt_index_check('checked_pkey');
SELECT bt_index_check('checked_k', true);
SELECT bt_index_parent_check('checked_k');
SELECT bt_index_parent_check('checked_k', true, true);
SELECT bt_index_check('checked_part', true), bt_index_parent_check('checked_lower', true);
SELECT relname, bt_index_check(c.oid, true) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam
  WHERE i.indrelid = 'checked'::regclass AND a.amname = 'btree' ORDER BY relname;
VACUUM checked;
SELECT bt_index_parent_check('checked_k', true);
SELECT bt_index_check(NULL), bt_index_check('checked_pkey', NULL);
SELECT bt_index_check('checked_hash');
SELECT bt_index_check('checked');
SELECT bt_index_parent_check('not_there');
SELECT bt_index_check('checked_pkey', 'maybe');
SELECT count(*) FROM pg_locks WHERE relation = 'checked_pkey'::regclass;
SELECT extname, extversion FROM pg_extension WHERE extname = 'amcheck';
DROP TABLE checked;
DROP EXTENSION amcheck;
