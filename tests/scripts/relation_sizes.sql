-- What pg_class says of the sizes of tables and their indexes, and who writes it down.
SET client_min_messages = warning;
CREATE VIEW sizes AS
  SELECT c.relname, c.reltuples, c.relpages > 0 AS pages, c.relallvisible
  FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
  WHERE c.relname IN ('sized', 'sized_pkey', 'sized_odd', 'sized_none', 'sized_late', 'sized_hash', 'sized_expr');
CREATE TABLE sized (a int PRIMARY KEY, b int, c text) WITH (autovacuum_enabled = off);
CREATE INDEX sized_odd ON sized (b) WHERE a % 2 = 1;
SELECT * FROM sizes ORDER BY 1;
INSERT INTO sized SELECT i, i / 10, CASE WHEN i <= 400 THEN 'x' || i END FROM generate_series(1, 1000) i;
SELECT * FROM sizes ORDER BY 1;
-- A build counts the index and the table.
CREATE INDEX sized_none ON sized (b) WHERE a < 0;
SELECT * FROM sizes ORDER BY 1;
CREATE INDEX sized_expr ON sized ((b + 1));
CREATE INDEX CONCURRENTLY sized_late ON sized (c) WHERE c IS NOT NULL;
SELECT * FROM sizes ORDER BY 1;
-- ANALYZE counts rows by conditions.
INSERT INTO sized SELECT i, i, 'y' FROM generate_series(1001, 1200) i;
ANALYZE sized;
SELECT * FROM sizes ORDER BY 1;
-- VACUUM counts what it passes.
DELETE FROM sized WHERE a > 1100;
VACUUM sized;
SELECT relname, reltuples, pages FROM sizes WHERE relname IN ('sized', 'sized_pkey', 'sized_expr') ORDER BY 1;
REINDEX INDEX sized_odd;
SELECT relname, reltuples, pages FROM sizes WHERE relname = 'sized_odd';
VACUUM FULL sized;
SELECT relname, reltuples, pages FROM sizes WHERE relname <> 'sized_none' ORDER BY 1;
TRUNCATE sized;
SELECT relname, reltuples FROM sizes ORDER BY 1;
DROP TABLE sized;
DROP VIEW sizes;
