-- ADD CONSTRAINT … USING INDEX: an index that is there becomes a key.
CREATE TABLE ui (a int, b int, t text, c text COLLATE "C");
INSERT INTO ui SELECT g, g * 2, 't' || g, 'c' || g FROM generate_series(1, 20) g;
CREATE UNIQUE INDEX ui_a ON ui (a);
CREATE UNIQUE INDEX ui_b ON ui (b);
CREATE UNIQUE INDEX ui_ab ON ui (a, b) INCLUDE (t);
CREATE INDEX ui_plain ON ui (a);
CREATE UNIQUE INDEX ui_desc ON ui (a DESC);
CREATE UNIQUE INDEX ui_nulls ON ui (b, a NULLS FIRST);
CREATE UNIQUE INDEX ui_expr ON ui ((a + 1));
CREATE UNIQUE INDEX ui_part ON ui (a) WHERE b > 0;
CREATE UNIQUE INDEX ui_class ON ui (t text_pattern_ops);
CREATE UNIQUE INDEX ui_c ON ui (c);
CREATE UNIQUE INDEX ui_distinct ON ui (t) NULLS NOT DISTINCT;
ALTER TABLE ui ADD PRIMARY KEY USING INDEX ui_a;
\d ui
ALTER TABLE ui ADD PRIMARY KEY USING INDEX ui_b;
ALTER TABLE ui ADD UNIQUE USING INDEX ui_a;
ALTER TABLE ui ADD CONSTRAINT ui_renamed UNIQUE USING INDEX ui_b;
ALTER TABLE ui ADD CONSTRAINT ui_several UNIQUE USING INDEX ui_ab DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ui ADD UNIQUE USING INDEX ui_c;
ALTER TABLE ui ADD UNIQUE USING INDEX ui_distinct;
\d ui
SELECT conname, contype, conkey, condeferrable, condeferred, conindid::regclass, pg_get_constraintdef(oid)
FROM pg_constraint WHERE conrelid = 'ui'::regclass ORDER BY conname;
SELECT indexrelid::regclass, indisprimary, indisunique, indimmediate FROM pg_index WHERE indrelid = 'ui'::regclass
ORDER BY indexrelid::regclass::text;
-- Keys hold.
INSERT INTO ui VALUES (NULL, 1, 'x', 'x');
INSERT INTO ui VALUES (1, 1, 'x', 'x');
INSERT INTO ui VALUES (21, 2, 'x', 'x');
INSERT INTO ui VALUES (21, 42, 't1', 'x');
INSERT INTO ui VALUES (21, 42, 't21', 'c1');
BEGIN;
UPDATE ui SET b = 0 WHERE a = 20;
INSERT INTO ui VALUES (22, 44, 't22', 'c22') ON CONFLICT ON CONSTRAINT ui_renamed DO NOTHING;
COMMIT;
-- What can't become one.
ALTER TABLE ui ADD UNIQUE USING INDEX ui_plain;
ALTER TABLE ui ADD UNIQUE USING INDEX ui_desc;
ALTER TABLE ui ADD UNIQUE USING INDEX ui_nulls;
ALTER TABLE ui ADD UNIQUE USING INDEX ui_expr;
ALTER TABLE ui ADD UNIQUE USING INDEX ui_part;
ALTER TABLE ui ADD UNIQUE USING INDEX ui_class;
ALTER TABLE ui ADD UNIQUE USING INDEX ui_missing;
ALTER TABLE ui ADD UNIQUE USING INDEX ui;
CREATE TABLE ui_other (a int);
CREATE UNIQUE INDEX ui_other_a ON ui_other (a);
ALTER TABLE ui ADD UNIQUE USING INDEX ui_other_a;
ALTER TABLE ui_other ADD CONSTRAINT ui UNIQUE USING INDEX ui_other_a;
-- A primary key makes its columns NOT NULL, and finds out whether they are.
INSERT INTO ui_other VALUES (NULL);
ALTER TABLE ui_other ADD PRIMARY KEY USING INDEX ui_other_a;
DELETE FROM ui_other;
ALTER TABLE ui_other ADD CONSTRAINT ui_key PRIMARY KEY USING INDEX ui_other_a;
\d ui_other
DROP INDEX ui_key;
ALTER TABLE ui_other DROP CONSTRAINT ui_key;
\d ui_other
-- In a transaction that takes it back.
CREATE UNIQUE INDEX ui_other_a ON ui_other (a);
BEGIN;
ALTER TABLE ui_other ADD CONSTRAINT ui_again UNIQUE USING INDEX ui_other_a;
ROLLBACK;
\d ui_other
DROP TABLE ui, ui_other;
