-- IN and NOT IN of lists, = ANY and <> ALL of arrays, with so many members that these are hashed.
CREATE SCHEMA hashed_lists;
SET search_path = hashed_lists;
CREATE TABLE l (id int PRIMARY KEY, i int, s smallint, b bigint, n numeric, d double precision, r real, t text, c char(6), v varchar(9), dt date, ts timestamp, u uuid, bo bool);
INSERT INTO l VALUES (1, 1, 1, 1, 1, 1.0, 0, 'a', 'ab', 'ab', '2024-01-01', '2024-01-01', '00000000-0000-0000-0000-000000000001', true),
    (2, 2, 2, 4000000000, 2.50, 'nan', '-0', 'B', 'ab ', 'ab ', '2024-01-02', '2024-01-02 12:00', '00000000-0000-0000-0000-000000000002', false),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, -7, 9, 9, 'nan', 0.5, 'nan', '', '', '', 'infinity', '-infinity', '00000000-0000-0000-0000-00000000000a', true),
    (5, 10, 10, 10, 10, 10, 0.1, 'j', 'j', 'j', '2024-01-10', '2024-01-10', '00000000-0000-0000-0000-00000000000b', NULL);

-- Without nulls, with one, with nothing else
SELECT id, i IN (1, 2, 3, 4, 5, 6, 7, 8, 9), i NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9) FROM l ORDER BY id;
SELECT id, i IN (1, 2, 3, 4, NULL, 6, 7, 8, 9), i NOT IN (1, 2, 3, 4, NULL, 6, 7, 8, 9) FROM l ORDER BY id;
SELECT id, i = ANY ('{1,2,3,4,5,6,7,8,9}'), i <> ALL ('{1,2,3,4,5,6,7,8,9}') FROM l ORDER BY id;
SELECT id, i = ANY ('{1,2,3,4,NULL,6,7,8,9}'), i <> ALL ('{1,2,3,4,NULL,6,7,8,9}') FROM l ORDER BY id;
SELECT id, i = ANY ('{NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL}'::int[]), i <> ALL ('{NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL}'::int[]) FROM l ORDER BY id;
SELECT id, i = ANY ('{}'::int[]), i <> ALL ('{}'::int[]), i = ANY (NULL::int[]), i <> ALL (NULL::int[]) FROM l ORDER BY id;
SELECT id, i = ANY ('{{1,2,3},{4,5,6},{7,8,9}}'), i <> ALL ('{{1,2,3},{4,5,6},{7,8,10}}') FROM l ORDER BY id;
SELECT id, i = ALL ('{1,1,1,1,1,1,1,1,1}'), i <> ANY ('{1,1,1,1,1,1,1,1,1}'), i < ANY ('{1,2,3,4,5,6,7,8,9}'), i >= ALL ('{1,2,3,4,5,6,7,8,9}') FROM l ORDER BY id;
SELECT id, NULL IN (1, 2, 3, 4, 5, 6, 7, 8, 9), NULL::int NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9), 5 IN (1, 2, 3, 4, 5, 6, 7, 8, 9) FROM l ORDER BY id;
SELECT id FROM l WHERE i IN (9, 8, 7, 6, 5, 4, 3, 2, 1) ORDER BY id;
SELECT id FROM l WHERE i NOT IN (9, 8, 7, 6, 5, 4, 3, 2, 1) ORDER BY id;
SELECT id FROM l WHERE i NOT IN (9, 8, 7, 6, 5, 4, 3, 2, NULL) ORDER BY id;
SELECT id FROM l WHERE (i IN (9, 8, 7, 6, 5, 4, 3, 2, NULL)) IS NULL ORDER BY id;
SELECT id FROM l WHERE NOT (i IN (9, 8, 7, 6, 5, 4, 3, 2, 1) AND n > 1) ORDER BY id;

-- Types
SELECT id, s IN (1, 2, 3, 4, 5, 6, 7, 8, 9), b IN (1, 2, 3, 4, 5, 6, 7, 8, 9), i IN (1, 2, 3, 4, 5, 6, 7, 8, 4000000000), s NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 4000000000) FROM l ORDER BY id;
SELECT id, n IN (1, 2, 3, 4, 5, 6, 7, 8, 'nan'), n NOT IN (1.00, 2.5, 3, 4, 5, 6, 7, 8, 9), i IN (1, 2.0, 3, 4, 5, 6, 7, 8, 9.5), b IN (1, 2.0, 3, 4, 5, 6, 7, 8, 4e9) FROM l ORDER BY id;
SELECT id, d IN (1, 2, 3, 4, 5, 6, 7, 8, 'nan'), d NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 0.5), r IN (0, 1, 2, 3, 4, 5, 6, 7, 'nan'), r IN (0.1, 1, 2, 3, 4, 5, 6, 7, 8), r = ANY ('{0.1,1,2,3,4,5,6,7,8}'::float4[]), r = ANY ('{0.1,1,2,3,4,5,6,7,8}'::float8[]) FROM l ORDER BY id;
SELECT id, t IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'), t NOT IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', ''), t IN ('a ', 'b ', 'c', 'd', 'e', 'f', 'g', 'h', 'j') FROM l ORDER BY id;
SELECT id, c IN ('ab', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'), c IN ('ab   ', 'b', 'c', 'd', 'e', 'f', 'g', 'h', '  '), v IN ('ab', 'b', 'c', 'd', 'e', 'f', 'g', 'h', ''), v NOT IN ('ab ', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i') FROM l ORDER BY id;
SELECT id, c = ANY ('{ab,b,c,d,e,f,g,h,i}'::text[]), c = ANY ('{ab,b,c,d,e,f,g,h,i}'::char(4)[]), v = ANY ('{ab,b,c,d,e,f,g,h,i}'::char(4)[]), v = ANY ('{ab,b,c,d,e,f,g,h,i}'::varchar[]), t = ANY ('{ab,b,c,d,e,f,g,j,a}'::name[]), t::name = ANY ('{ab,b,c,d,e,f,g,j,a}'::text[]) FROM l ORDER BY id;
SELECT id, dt IN ('2024-01-01', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-06', '2024-01-07', '2024-01-08', '2024-01-09', 'infinity'), ts IN ('2024-01-01', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-06', '2024-01-07', '2024-01-08', '2024-01-09', '-infinity') FROM l ORDER BY id;
SELECT id, ts IN ('2024-01-01'::date, '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-06', '2024-01-07', '2024-01-08', '2024-01-09', '2024-01-10') FROM l ORDER BY id;
SELECT id, u IN ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000003', '00000000-0000-0000-0000-000000000004', '00000000-0000-0000-0000-000000000005', '00000000-0000-0000-0000-000000000006', '00000000-0000-0000-0000-000000000007', '00000000-0000-0000-0000-000000000008', '00000000-0000-0000-0000-000000000009', '00000000-0000-0000-0000-00000000000A') FROM l ORDER BY id;
SELECT id, bo IN (true, true, true, true, true, true, true, true, true), bo NOT IN (true, true, true, true, NULL, true, true, true, true) FROM l ORDER BY id;
SELECT v, v IN ('1 day'::interval, '2 days', '3 days', '4 days', '5 days', '6 days', '7 days', '8 days', '9 days') FROM (VALUES ('24 hours'::interval), ('1 day 1 s'), ('216 hours'), (NULL)) w (v) ORDER BY 1;
SELECT id, (ctid IN ('(0,1)', '(0,2)', '(0,3)', '(0,4)', '(0,40)', '(0,41)', '(0,42)', '(0,43)', '(0,44)')) FROM l ORDER BY id;
SELECT v, v IN ('t'::"char", 'u', 'v', 'w', 'x', 'y', 'z', 'a', 'b') FROM (VALUES ('t'::"char"), ('c')) w (v);
SELECT v, v = ANY ('{1,2,3,4,5,6,7,8,9}'::oid[]), v <> ALL ('{1,2,3,4,5,6,7,8,9}'::oid[]) FROM (VALUES (1::oid), (1259::oid)) w (v);
SELECT v, v IN ('\x01'::bytea, '\x02', '\x03', '\x04', '\x05', '\x06', '\x07', '\x08', '') FROM (VALUES ('\x01'::bytea), ('\x00'), ('')) w (v);

-- Collations
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT id, t COLLATE loose IN ('A', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'), t COLLATE loose NOT IN ('A', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'J'), t COLLATE "C" IN ('A', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i') FROM l ORDER BY id;
SELECT id, t COLLATE loose = ANY ('{A,b,c,d,e,f,g,h,i}'), t COLLATE loose <> ALL ('{A,b,c,d,e,f,g,h,NULL}') FROM l ORDER BY id;

-- Members that are known when a statement runs, each time anew
PREPARE q (int[]) AS SELECT id, i = ANY ($1), i <> ALL ($1) FROM l ORDER BY id;
EXECUTE q ('{1,2,3,4,5,6,7,8,9}');
EXECUTE q ('{10,NULL,3,4,5,6,7,8,9}');
EXECUTE q ('{10}');
EXECUTE q ('{}');
EXECUTE q (NULL);
PREPARE p (int, text) AS SELECT id, i IN ($1, 2, 3, 4, 5, 6, 7, 8, $1 + 9), t = ANY (string_to_array($2, ',')) FROM l ORDER BY id;
EXECUTE p (1, 'a,b,c,d,e,f,g,h,i');
EXECUTE p (NULL, 'j');
EXECUTE p (-7, NULL);
SELECT id, i = ANY (ARRAY(SELECT generate_series(1, 9))), i <> ALL (ARRAY(SELECT x FROM generate_series(1, 9) x WHERE x > 1)) FROM l ORDER BY id;
SELECT id, i = ANY ((SELECT array_agg(x) FROM generate_series(1, 9) x)), i = ANY ((SELECT array_agg(x) FROM generate_series(1, 0) x)) FROM l ORDER BY id;
SELECT id, i = ANY (ARRAY(SELECT x FROM generate_series(1, 12) x WHERE x > l.id)) FROM l ORDER BY id;
SELECT id, (SELECT count(*) FROM generate_series(1, 12) g WHERE g IN (l.i, 2, 3, 4, 5, 6, 7, 8, 9)) FROM l ORDER BY id;
SELECT id, (SELECT count(*) FROM generate_series(1, 12) g WHERE g + l.i IN (1, 2, 3, 4, 5, 6, 7, 8, 9)) FROM l ORDER BY id;
SELECT id, i IN (id, 2, 3, 4, 5, 6, 7, 8, 9), id IN (i, i, i, i, i, i, i, i, 4) FROM l ORDER BY id;
SELECT id, CASE WHEN i IN (1, 2, 3, 4, 5, 6, 7, 8, 9) THEN 'in' WHEN i NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9) THEN 'out' END FROM l ORDER BY id;
SELECT i IN (1, 2, 3, 4, 5, 6, 7, 8, 9) AS known, count(*) FROM l GROUP BY 1 ORDER BY 1;
SELECT a.id, b.id FROM l a JOIN l b ON a.i + b.i IN (2, 3, 4, 11, 12, 13, 14, 15, 20) ORDER BY 1, 2;
SELECT id FROM l WHERE id IN (1, 2, 3, 4, 11, 12, 13, 14, 15) AND i NOT IN (2, 3, 4, 5, 6, 7, 8, 9, 11) ORDER BY id;
UPDATE l SET t = 'in' WHERE i IN (1, 2, 3, 4, 5, 6, 7, 8, 9);
DELETE FROM l WHERE t NOT IN ('in', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i');
SELECT id, t FROM l ORDER BY id;
CREATE TABLE checked (x int CHECK (x IN (1, 2, 3, 4, 5, 6, 7, 8, 9)), y int GENERATED ALWAYS AS (CASE WHEN x IN (2, 3, 4, 5, 6, 7, 8, 9, 10) THEN 1 ELSE 0 END) STORED);
CREATE INDEX ON checked (x) WHERE x NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 10);
INSERT INTO checked VALUES (1), (9), (NULL);
INSERT INTO checked VALUES (3), (10);
INSERT INTO checked SELECT x FROM generate_series(1, 12) x WHERE x IN (1, 2, 3, 4, 5, 6, 7, 8, 9) AND x NOT IN (3, 4, 5, 6, 7, 8, 20, 21, 22);
SELECT * FROM checked ORDER BY x, y;
SELECT count(*) FROM generate_series(1, 30000) g WHERE g = ANY (ARRAY(SELECT generate_series(1, 60000, 2))) AND g <> ALL (ARRAY(SELECT generate_series(1, 90000, 3)));
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT count(*) FROM generate_series(1, 300) g WHERE g = ANY (ARRAY(SELECT generate_series(1, 6000, 2)));
