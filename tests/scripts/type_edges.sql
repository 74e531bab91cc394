-- Sequences as relations: what the next value is before there was one.
CREATE SEQUENCE s START 5;
SELECT last_value, is_called FROM s;
SELECT nextval('s');
SELECT last_value, is_called FROM s;
SELECT setval('s', 200, false);
SELECT last_value, is_called FROM s;
ALTER SEQUENCE s RESTART WITH 50;
SELECT last_value, is_called FROM s;
SELECT * FROM pg_sequence_parameters('s'::regclass);
SELECT last_value FROM pg_sequences WHERE sequencename = 's';
DROP SEQUENCE s;
-- Rows as texts.
SELECT ROW (1, 'a b', NULL)::text, ROW (1, 2)::varchar, md5(ROW (1, 2)::text);
SELECT t::text FROM (VALUES (1, 'x')) t(a, b);
SELECT ROW (1, 2)::text::record;
SELECT concat(ROW (1, 2)), ROW (1, 2) || 'x';
-- Keys that are equal but not the same.
CREATE TABLE te_p (k numeric PRIMARY KEY);
CREATE TABLE te_c (k numeric REFERENCES te_p ON UPDATE CASCADE);
INSERT INTO te_p VALUES (1.0);
INSERT INTO te_c VALUES (1.0);
UPDATE te_p SET k = 1.00;
SELECT * FROM te_c;
UPDATE te_p SET k = 1.00;
DROP TABLE te_c;
CREATE TABLE te_c (k numeric REFERENCES te_p ON UPDATE RESTRICT);
INSERT INTO te_c VALUES (1);
UPDATE te_p SET k = 1.00;
UPDATE te_p SET k = 1.000;
DROP TABLE te_c;
CREATE TABLE te_c (k numeric REFERENCES te_p ON UPDATE SET NULL);
INSERT INTO te_c VALUES (1);
UPDATE te_p SET k = 1.0000;
SELECT * FROM te_c;
DROP TABLE te_c;
CREATE TABLE te_c (k numeric REFERENCES te_p);
INSERT INTO te_c VALUES (1);
UPDATE te_p SET k = 1.00000;
SELECT * FROM te_p;
DROP TABLE te_c, te_p;
-- Regular expressions.
SELECT regexp_replace(E'a\nb', '\W', '-', 'gn'), regexp_replace(E'a\nb', '\D', '-', 'gn'), regexp_replace(E'a\nb', '\S', '-', 'gn');
SELECT regexp_replace(E'a\nb', '[^x]', '-', 'gn'), regexp_replace(E'a\nb', '.', '-', 'gn');
SELECT E'\n' ~ '^\12$', E'a\n' ~ '^(a)\12$', 'aa' ~ '^(a)\1$', 'S' ~ '^\123$', 'aa2' ~ '^(a)\12$';
SELECT 'abcdefghijj' ~ '^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\10$';
SELECT '?7' ~ '^\777$', 'S' ~ '^\123$';
SELECT 'a' ~ '(a)\89';
SELECT 'a' ~ '(a)\2';
