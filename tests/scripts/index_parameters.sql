-- WITH of indexes: checked, kept, shown, heeded.
CREATE TABLE filled (id int, k int, t text, UNIQUE (k) WITH (fillfactor = 40));
CREATE INDEX filled_id ON filled (id) WITH (fillfactor = 70, deduplicate_items = off);
CREATE INDEX filled_hash ON filled USING hash (t) WITH (fillfactor = 30);
CREATE INDEX filled_on ON filled (t) WITH (deduplicate_items);
CREATE INDEX bad ON filled (id) WITH (fillfactor = 9);
CREATE INDEX bad ON filled (id) WITH (fillfactor = 101);
CREATE INDEX bad ON filled (id) WITH (fillfactor = half);
CREATE INDEX bad ON filled (id) WITH (fillfactor = 50, fillfactor = 60);
CREATE INDEX bad ON filled (id) WITH (deduplicate_items = perhaps);
CREATE INDEX bad ON filled (id) WITH (buffering = auto);
CREATE INDEX bad ON filled (id) WITH (toast.fillfactor = 50);
CREATE INDEX bad ON filled USING hash (id) WITH (deduplicate_items = on);
CREATE INDEX bad ON filled USING hash (id) WITH (fillfactor = 5);
CREATE INDEX filled_scale ON filled (id, k) WITH (vacuum_cleanup_index_scale_factor = 0.5);
SELECT relname, reloptions FROM pg_class WHERE relname LIKE 'filled%' ORDER BY relname;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'filled'::regclass ORDER BY 1;
\d+ filled
\d+ filled_id
ALTER INDEX filled_id SET (fillfactor = 50);
SELECT pg_get_indexdef('filled_id'::regclass);
ALTER INDEX filled_id SET (fillfactor = 5);
ALTER INDEX filled_id SET (nothing = 5);
ALTER INDEX filled_id RESET (deduplicate_items);
SELECT pg_get_indexdef('filled_id'::regclass);
ALTER INDEX filled_id RESET (fillfactor, nothing);
SELECT pg_get_indexdef('filled_id'::regclass);
ALTER INDEX filled_hash SET (deduplicate_items = on);
ALTER INDEX filled_hash SET (fillfactor = 90);
ALTER INDEX IF EXISTS not_there SET (fillfactor = 90);
ALTER INDEX not_there SET (fillfactor = 90);
CREATE TABLE alike (LIKE filled INCLUDING INDEXES);
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'alike'::regclass ORDER BY 1;
ALTER TABLE filled ADD PRIMARY KEY (id) WITH (fillfactor = 20, deduplicate_items = off);
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'filled'::regclass ORDER BY 1;
REINDEX INDEX filled_hash;
SELECT reloptions FROM pg_class WHERE relname = 'filled_hash';
-- The less full, the more pages.
CREATE TABLE many AS SELECT g FROM generate_series(1, 20000) g;
CREATE INDEX many_full ON many (g) WITH (fillfactor = 100);
CREATE INDEX many_half ON many (g) WITH (fillfactor = 50);
CREATE INDEX many_tenth ON many (g) WITH (fillfactor = 10);
SELECT pg_relation_size('many_half') > 1.8 * pg_relation_size('many_full'),
       pg_relation_size('many_tenth') > 8 * pg_relation_size('many_full');
CREATE TABLE grown (g int);
CREATE INDEX grown_full ON grown (g) WITH (fillfactor = 100);
CREATE INDEX grown_tenth ON grown (g) WITH (fillfactor = 10);
INSERT INTO grown SELECT generate_series(1, 20000);
SELECT pg_relation_size('grown_tenth') > 5 * pg_relation_size('grown_full');
ALTER INDEX many_tenth SET (fillfactor = 100);
REINDEX INDEX many_tenth;
SELECT pg_relation_size('many_tenth') < 1.2 * pg_relation_size('many_full');
TRUNCATE filled;
SELECT reloptions FROM pg_class WHERE relname IN ('filled_hash', 'filled_pkey') ORDER BY relname;
DROP TABLE filled, alike, many, grown;
