-- Operator classes of indexes.
CREATE TABLE oc (a int, b text, v varchar(20), c char(5), n name, j json, r regclass, f float4, x xid, u uuid, ar int[], i2 smallint, ts timestamptz);
-- What there is not.
CREATE INDEX ON oc (a nonsense_ops);
CREATE INDEX ON oc (a public.nonsense_ops);
CREATE INDEX ON oc (a nosuch.int4_ops);
CREATE INDEX ON oc (a public.int4_ops);
CREATE INDEX ON oc (a foo.foo.int4_ops);
CREATE INDEX ON oc (a a.b.c.int4_ops);
CREATE INDEX ON oc (x xid_ops);
CREATE INDEX ON oc (x);
CREATE INDEX ON oc (j);
CREATE INDEX ON oc (b nosuch_ops, nosuch);
CREATE INDEX ON oc (b text_pattern_ops, nosuch);
CREATE INDEX ON oc USING hash (b nonsense);
CREATE INDEX ON oc (a) INCLUDE (b text_ops);
-- What does not fit.
CREATE INDEX ON oc (a text_ops);
CREATE INDEX ON oc (v int4_ops DESC);
CREATE INDEX ON oc (n text_ops);
CREATE INDEX ON oc (j int4_ops);
CREATE INDEX ON oc (ar int4_ops);
CREATE INDEX ON oc (v text_pattern_ops, c text_pattern_ops);
CREATE INDEX ON oc (lower(b) text_pattern_ops, (a + 1) int4_ops, (a + 1) text_ops);
CREATE INDEX ON oc (a int8_ops);
CREATE INDEX ON oc USING hash (b int4_ops DESC);
CREATE INDEX ON oc USING hash (b text_pattern_ops DESC);
CREATE INDEX ON oc (b text_ops (siglen = 12));
-- What does.
CREATE INDEX ON oc (a pg_catalog.int4_ops);
CREATE INDEX ON oc (v text_ops);
CREATE INDEX ON oc (v varchar_ops);
CREATE INDEX ON oc (n name_ops);
CREATE INDEX ON oc (n);
CREATE INDEX ON oc (r);
CREATE INDEX ON oc (r oid_ops);
CREATE INDEX ON oc (f float4_ops DESC);
CREATE INDEX ON oc (i2 int2_ops NULLS FIRST);
CREATE INDEX ON oc (ts timestamptz_ops, u uuid_ops);
CREATE INDEX ON oc USING hash (x xid_ops);
CREATE INDEX ON oc USING hash (b text_pattern_ops);
CREATE INDEX ON oc USING hash (v varchar_ops);
CREATE INDEX ON oc USING hash (c bpchar_pattern_ops);
CREATE INDEX ON oc (ar array_ops);
CREATE INDEX ON oc (b text_pattern_ops DESC NULLS LAST);
CREATE INDEX ON oc (b text_pattern_ops, v varchar_pattern_ops, c bpchar_pattern_ops);
CREATE INDEX ON oc (lower(b) text_pattern_ops, (a + 1) int4_ops) WHERE a > 0;
\d oc
SELECT c.relname, i.indclass, pg_get_indexdef(indexrelid, 1, true) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'oc'::regclass ORDER BY 1;
SELECT indexdef FROM pg_indexes WHERE tablename = 'oc' AND indexdef LIKE '%pattern%' ORDER BY 1;
SELECT amname, opcname, opcintype::regtype, opcdefault, opfname FROM pg_opclass o JOIN pg_am m ON m.oid = opcmethod JOIN pg_opfamily f ON f.oid = opcfamily WHERE amname IN ('btree', 'hash') AND (opcname LIKE 'text%' OR opcname LIKE 'varchar%' OR opcname LIKE 'name%' OR opcname LIKE 'int_\_ops' OR opcname LIKE 'bpchar%') ORDER BY 1, 2;
CREATE TABLE oc2 (LIKE oc INCLUDING ALL);
\d oc2
DROP TABLE oc2;
-- Conflicts.
CREATE UNIQUE INDEX oc_u ON oc (b text_pattern_ops) WHERE a IS NULL;
CREATE UNIQUE INDEX oc_e ON oc (upper(b) text_pattern_ops, a) WHERE a IS NULL;
INSERT INTO oc (b) VALUES ('a') ON CONFLICT (b) WHERE a IS NULL DO NOTHING;
INSERT INTO oc (b) VALUES ('a') ON CONFLICT (b text_ops) WHERE a IS NULL DO NOTHING;
INSERT INTO oc (b) VALUES ('a') ON CONFLICT (b text_pattern_ops) WHERE a IS NULL DO NOTHING;
INSERT INTO oc (b) VALUES ('a') ON CONFLICT (b varchar_pattern_ops) WHERE a IS NULL DO NOTHING;
INSERT INTO oc (b) VALUES ('a') ON CONFLICT (b nonsense) WHERE a IS NULL DO NOTHING;
INSERT INTO oc (b) VALUES ('a') ON CONFLICT (b int4_ops) WHERE a IS NULL DO NOTHING;
INSERT INTO oc (b) VALUES ('b') ON CONFLICT (a int4_ops, upper(b) text_pattern_ops) WHERE a IS NULL DO NOTHING;
INSERT INTO oc (b) VALUES ('c') ON CONFLICT (a int4_ops, upper(b) text_ops) WHERE a IS NULL DO NOTHING;
INSERT INTO oc (b) VALUES ('a') ON CONFLICT (b DESC) DO NOTHING;
INSERT INTO oc (b) VALUES ('a') ON CONFLICT (b NULLS FIRST) DO NOTHING;
DROP TABLE oc;
-- What they find, and other types.
CREATE TABLE oc (k int, b text, v varchar(30));
INSERT INTO oc SELECT i, 'key ' || i % 500, 'v' || i FROM generate_series(1, 3000) i;
CREATE INDEX oc_b ON oc (b text_pattern_ops);
CREATE INDEX oc_v ON oc (v);
CREATE INDEX oc_k ON oc (k);
CREATE INDEX oc_h ON oc USING hash (b varchar_pattern_ops);
SET enable_seqscan = off;
SELECT count(*) FROM oc WHERE b = 'key 7';
SELECT count(*) FROM oc WHERE b LIKE 'key 7%';
SELECT count(*) FROM oc WHERE b < 'key 7';
SELECT b FROM oc ORDER BY b DESC LIMIT 2;
ALTER TABLE oc ALTER b TYPE varchar(20);
ALTER TABLE oc ALTER v TYPE text;
ALTER TABLE oc ALTER k TYPE bigint;
\d oc
\d oc_k
SELECT c.relname, i.indclass FROM pg_index i JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'oc'::regclass ORDER BY 1;
ALTER TABLE oc ALTER b TYPE int USING 1;
ALTER TABLE oc ALTER b TYPE char(3) USING 'x';
ALTER TABLE oc ALTER k TYPE json USING '1';
SELECT count(*) FROM oc WHERE b LIKE 'key 7%';
SELECT count(*) FROM oc WHERE k = 77;
RESET enable_seqscan;
DROP TABLE oc;
CREATE TABLE oc (b text);
CREATE INDEX oc_h ON oc USING hash (b);
\d oc_h
DROP TABLE oc;
-- Classes of patterns order by bytes, whatever the collation says.
CREATE TABLE op (id int, t text COLLATE "de-x-icu", v varchar(20) COLLATE "en-x-icu");
INSERT INTO op SELECT i, chr(97 + i % 26) || i, CASE i % 3 WHEN 0 THEN 'B' WHEN 1 THEN 'a' ELSE 'ä' END || i FROM generate_series(1, 300) i;
CREATE UNIQUE INDEX op_t ON op (t text_pattern_ops);
CREATE INDEX op_v ON op (v varchar_pattern_ops, id);
CREATE INDEX op_h ON op USING hash (v varchar_pattern_ops);
SELECT indexdef FROM pg_indexes WHERE tablename = 'op' ORDER BY indexname;
SET enable_seqscan = off;
SELECT count(*), min(v), max(v) FROM op WHERE v LIKE 'B1%';
SELECT t FROM op WHERE t LIKE 'c%' ORDER BY t LIMIT 3;
SELECT v FROM op WHERE v < 'ä1' ORDER BY v DESC LIMIT 3;
SELECT v FROM op ORDER BY v, id LIMIT 3;
SELECT id FROM op WHERE t = 'f5';
SELECT v FROM op WHERE v = 'B99';
RESET enable_seqscan;
INSERT INTO op VALUES (301, 'f5');
CREATE INDEX op_tn ON op (t);
ALTER TABLE op ALTER t TYPE text COLLATE "C";
ALTER TABLE op ALTER t TYPE text COLLATE "sv-x-icu";
SELECT t FROM op WHERE t LIKE 'z2%' ORDER BY t;
CREATE COLLATION op_loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE INDEX ON op (t COLLATE op_loose text_pattern_ops);
CREATE INDEX ON op (v COLLATE op_loose varchar_pattern_ops);
DROP TABLE op;
DROP COLLATION op_loose;
