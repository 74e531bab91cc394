-- Which line an error of COPY is about, and what its options name.
CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL, c int CHECK (c > 0));
\echo a unique index
COPY t FROM STDIN;
1	x	1
2	y	2
1	z	3
4	u	4
\.
\echo NOT NULL
COPY t FROM STDIN;
1	x	1
2	\N	2
3	z	3
\.
\echo CHECK
COPY t FROM STDIN (FORMAT csv);
1,x,1
2,y,0
3,z,3
\.
\echo fine
COPY t FROM STDIN (FORMAT csv, FORCE_NULL (c), FORCE_NOT_NULL (b));
1,x,""
2,,5
\.
COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (b));
COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE *);
COPY t (a, b) TO STDOUT (FORMAT csv, FORCE_QUOTE (c));
COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (d));
COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (b, b));
COPY (SELECT a AS x, b FROM t) TO STDOUT (FORMAT csv, FORCE_QUOTE (x));
COPY (SELECT a AS x, b FROM t) TO STDOUT (FORMAT csv, FORCE_QUOTE (a));
COPY t (a, b) FROM STDIN (FORMAT csv, FORCE_NULL (c));
COPY t (a, b) FROM STDIN (FORMAT csv, FORCE_NOT_NULL (c));
COPY t (a, b) FROM STDIN (FORMAT csv, FORCE_NOT_NULL (d));
COPY t (a, b) FROM STDIN (FORMAT csv, FORCE_NULL (a, a));
COPY t (a, a) TO STDOUT;
COPY t (a, a) FROM STDIN;
COPY t TO STDOUT (HEADER match);
COPY t TO STDOUT (FORMAT csv, HEADER match);
-- What of a row an error shows.
INSERT INTO t VALUES (5, repeat('ä', 100), 0);
INSERT INTO t VALUES (5, 'x' || repeat('ä', 100), 0);
CREATE TABLE large (a int NOT NULL, b text);
ALTER TABLE large ALTER b SET STORAGE EXTERNAL;
INSERT INTO large VALUES (1, repeat('large ', 2000));
UPDATE large SET a = NULL;
DROP TABLE t, large;
