-- Unique keys that may repeat for a while.
CREATE TABLE plain (id int PRIMARY KEY);
INSERT INTO plain VALUES (1), (2), (3);
UPDATE plain SET id = id + 1;
CREATE TABLE soon (id int PRIMARY KEY DEFERRABLE, code text UNIQUE DEFERRABLE INITIALLY IMMEDIATE, n int);
CREATE TABLE late (id int, at int, note text, CONSTRAINT late_pkey PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT late_place UNIQUE (at, note) DEFERRABLE INITIALLY DEFERRED);
\d soon
\d late
SELECT conname, contype, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid IN ('soon'::regclass, 'late'::regclass) ORDER BY 1;
SELECT c.relname, i.indisunique, i.indisprimary, i.indimmediate FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid IN ('soon'::regclass, 'late'::regclass) ORDER BY 1;
-- Refused.
CREATE TABLE bad (id int UNIQUE INITIALLY DEFERRED NOT DEFERRABLE);
CREATE TABLE bad (id int UNIQUE NOT DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE bad (id int CHECK (id > 0) DEFERRABLE);
CREATE TABLE bad (id int NOT NULL DEFERRABLE);
CREATE TABLE bad (id int REFERENCES soon);
CREATE TABLE bad (code text REFERENCES soon (code));
-- At the end of each statement.
INSERT INTO soon SELECT g, 'c' || g, 0 FROM generate_series(1, 5) g;
UPDATE soon SET id = id + 1;
UPDATE soon SET id = 7 - id;
UPDATE soon SET code = 'c' || id;
UPDATE soon SET code = 'same' WHERE id < 4;
INSERT INTO soon VALUES (2, 'again', 0);
INSERT INTO soon VALUES (20, 'c2', 0);
INSERT INTO soon VALUES (30, NULL, 0), (31, NULL, 0);
INSERT INTO soon VALUES (40, 'x', 0), (41, 'y', 0), (40, 'z', 0);
SELECT * FROM soon ORDER BY id;
BEGIN;
INSERT INTO soon VALUES (2, 'again', 0);
SELECT 1;
ROLLBACK;
-- At the end of the transaction.
INSERT INTO late SELECT g, g, 'n' FROM generate_series(1, 4) g;
BEGIN;
INSERT INTO late VALUES (1, 10, 'one more');
SELECT id, at FROM late WHERE id = 1 ORDER BY at;
SELECT count(*) FROM late l JOIN late m USING (id);
UPDATE late SET note = 'both' WHERE id = 1;
DELETE FROM late WHERE at = 1;
COMMIT;
SELECT * FROM late ORDER BY id, at;
BEGIN;
INSERT INTO late VALUES (1, 11, 'one more');
INSERT INTO late VALUES (2, 12, 'two more');
COMMIT;
SELECT count(*) FROM late;
INSERT INTO late VALUES (1, 11, 'one more');
BEGIN;
UPDATE late SET at = 5, note = 'm';
UPDATE late SET at = id;
COMMIT;
BEGIN;
UPDATE late SET at = 5, note = 'm';
COMMIT;
SELECT * FROM late ORDER BY id, at;
-- One after the other changes places.
BEGIN;
UPDATE late SET id = 2 WHERE id = 1 AND note = 'm';
UPDATE late SET id = 1 WHERE id = 2 AND at = 2;
COMMIT;
SELECT * FROM late ORDER BY id, at;
-- SET CONSTRAINTS.
BEGIN;
SET CONSTRAINTS soon_pkey DEFERRED;
INSERT INTO soon VALUES (2, 'again', 0);
SET CONSTRAINTS soon_pkey IMMEDIATE;
ROLLBACK;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO soon VALUES (2, 'again', 0);
DELETE FROM soon WHERE id = 2 AND code = 'again';
SET CONSTRAINTS ALL IMMEDIATE;
COMMIT;
BEGIN;
SET CONSTRAINTS late_pkey IMMEDIATE;
INSERT INTO late VALUES (3, 13, 'three more');
ROLLBACK;
BEGIN;
SET CONSTRAINTS late_place IMMEDIATE;
INSERT INTO late VALUES (3, 13, 'three more');
SET CONSTRAINTS late_pkey IMMEDIATE;
ROLLBACK;
SET CONSTRAINTS plain_pkey DEFERRED;
BEGIN;
SET CONSTRAINTS plain_pkey DEFERRED;
ROLLBACK;
-- Savepoints take back what would have been looked at.
BEGIN;
SAVEPOINT a;
INSERT INTO late VALUES (3, 13, 'three more');
ROLLBACK TO a;
COMMIT;
BEGIN;
INSERT INTO late VALUES (3, 13, 'three more');
SAVEPOINT a;
DELETE FROM late WHERE at = 13;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO a;
COMMIT;
BEGIN;
INSERT INTO late VALUES (3, 13, 'three more');
SAVEPOINT a;
DELETE FROM late WHERE at = 13;
RELEASE a;
COMMIT;
SELECT * FROM late ORDER BY id, at;
-- No arbiters.
INSERT INTO late VALUES (1, 1, 'x') ON CONFLICT DO NOTHING;
INSERT INTO late VALUES (1, 1, 'x') ON CONFLICT (id) DO NOTHING;
INSERT INTO late VALUES (1, 1, 'x') ON CONFLICT (id) DO UPDATE SET note = 'y';
INSERT INTO late VALUES (1, 1, 'x') ON CONFLICT ON CONSTRAINT late_place DO NOTHING;
-- No functional dependency, and no row that is known to be the only one.
SELECT id, at FROM late GROUP BY id ORDER BY 1;
SELECT id, code FROM soon GROUP BY id ORDER BY 1;
BEGIN;
INSERT INTO late VALUES (1, 21, 'p'), (1, 22, 'q');
PREPARE by_id (int) AS SELECT at FROM late WHERE id = $1 ORDER BY at;
EXECUTE by_id (1);
PREPARE change (int) AS UPDATE late SET note = 'r' WHERE id = $1;
EXECUTE change (1);
SELECT at, note FROM late WHERE id = 1 ORDER BY at;
PREPARE leave (int) AS DELETE FROM late WHERE id = $1;
EXECUTE leave (1);
COMMIT;
SELECT count(*) FROM late;
-- Added later, COPY, dropped.
CREATE TABLE grown (a int, b int);
INSERT INTO grown VALUES (1, 1), (1, 2);
ALTER TABLE grown ADD CONSTRAINT grown_a UNIQUE (a) DEFERRABLE INITIALLY DEFERRED;
DELETE FROM grown WHERE b = 2;
ALTER TABLE grown ADD CONSTRAINT grown_a UNIQUE (a) DEFERRABLE INITIALLY DEFERRED;
BEGIN;
COPY grown FROM stdin;
1	7
2	8
\.
SELECT * FROM grown ORDER BY b;
COMMIT;
BEGIN;
COPY grown FROM stdin;
1	7
2	8
\.
UPDATE grown SET a = 3 WHERE b = 1;
COMMIT;
SELECT * FROM grown ORDER BY b;
ALTER TABLE grown ALTER CONSTRAINT grown_a NOT DEFERRABLE;
ALTER TABLE grown DROP CONSTRAINT grown_a;
INSERT INTO grown VALUES (1, 9);
SELECT * FROM grown ORDER BY b;
CREATE TABLE "both" (a int UNIQUE DEFERRABLE, b int, UNIQUE (b) DEFERRABLE);
INSERT INTO "both" VALUES (1, 1), (2, 2), (3, 3);
UPDATE "both" SET a = 4 - a, b = 4 - b;
UPDATE "both" SET a = 2;
TABLE "both" ORDER BY a;
CREATE TABLE twice (LIKE "both" INCLUDING ALL);
INSERT INTO twice SELECT * FROM "both";
UPDATE twice SET a = a + 1, b = b - 1;
\d twice
DROP TABLE plain, soon, late, grown, "both", twice;
