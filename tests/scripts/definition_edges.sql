-- What DDL says of identities, keys over computed columns, conditions of new tables and types that change.
CREATE SCHEMA de;
SET search_path = de;
-- An identity's sequence is its own, whatever else the column owns.
CREATE TABLE t (id int NOT NULL, v int);
CREATE SEQUENCE legacy OWNED BY t.id;
ALTER TABLE t ALTER id ADD GENERATED ALWAYS AS IDENTITY (START 1000);
INSERT INTO t (v) VALUES (1) RETURNING id;
ALTER TABLE t ALTER id RESTART WITH 2000;
INSERT INTO t (v) VALUES (2) RETURNING id;
SELECT last_value, is_called FROM legacy;
ALTER TABLE t ALTER id DROP IDENTITY;
SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'de'::regnamespace ORDER BY 1;
-- What is computed can't be set by a key's actions.
CREATE TABLE p (id int PRIMARY KEY);
CREATE TABLE g (a int, b int GENERATED ALWAYS AS (a) STORED REFERENCES p ON DELETE SET NULL);
CREATE TABLE g (a int, b int GENERATED ALWAYS AS (a) STORED REFERENCES p ON DELETE SET DEFAULT);
CREATE TABLE g (a int, b int GENERATED ALWAYS AS (a) STORED REFERENCES p ON UPDATE CASCADE);
CREATE TABLE g (a int, b int GENERATED ALWAYS AS (a) STORED REFERENCES p ON UPDATE SET NULL ON DELETE SET NULL);
CREATE TABLE g (a int, b int GENERATED ALWAYS AS (a) STORED REFERENCES p ON DELETE CASCADE);
ALTER TABLE g ADD FOREIGN KEY (a, b) REFERENCES p ON DELETE SET NULL;
-- SET CONSTRAINTS IMMEDIATE may name what is never put off.
SET CONSTRAINTS p_pkey IMMEDIATE;
SET CONSTRAINTS p_pkey DEFERRED;
SET CONSTRAINTS de.p_pkey DEFERRED;
SET CONSTRAINTS nosuch.p_pkey IMMEDIATE;
SET CONSTRAINTS de.nosuch IMMEDIATE;
SET CONSTRAINTS nosuch IMMEDIATE;
-- A new table meets what is not to be checked.
CREATE TABLE nv (a int, CHECK (a > 0) NOT VALID, CONSTRAINT f FOREIGN KEY (a) REFERENCES p NOT VALID);
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'nv'::regclass ORDER BY 1;
ALTER TABLE nv ADD CONSTRAINT late CHECK (a > 1) NOT VALID;
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'nv'::regclass ORDER BY 1;
CREATE TABLE twice (a int, CONSTRAINT c CHECK (a > 0), CONSTRAINT c CHECK (a > 1));
CREATE SEQUENCE twice INCREMENT 1 INCREMENT 2;
CREATE SEQUENCE twice MINVALUE 1 NO MINVALUE;
CREATE SCHEMA de_other AUTHORIZATION nosuch;
CREATE SEQUENCE size;
SELECT pg_relation_size('size'), pg_total_relation_size('size');
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT name, setting FROM pg_settings WHERE name IN ('transaction_isolation', 'transaction_read_only') ORDER BY 1;
COMMIT;
-- Storage and alignment are those of the type that a column has now.
CREATE TABLE ty (a text, b int, c int, d text);
ALTER TABLE ty ALTER a TYPE int USING a::int, ALTER b TYPE text, ALTER c TYPE bigint, ALTER d TYPE text[] USING ARRAY[d];
SELECT attname, attlen, attalign, attstorage, attndims, attbyval FROM pg_attribute
    WHERE attrelid = 'ty'::regclass AND attnum > 0 ORDER BY attnum;
-- A schema's new name is that of what is in it.
CREATE TABLE up (id int PRIMARY KEY);
CREATE TABLE down (up int REFERENCES up);
INSERT INTO up VALUES (1);
INSERT INTO down VALUES (1);
ALTER SCHEMA de RENAME TO de2;
INSERT INTO de2.down VALUES (1);
INSERT INTO de2.down VALUES (2);
SELECT 'de2.up'::regclass;
RESET search_path;
DROP SCHEMA de2 CASCADE;
