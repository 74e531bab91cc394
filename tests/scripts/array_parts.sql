-- Assignments to elements and slices of arrays.
CREATE TABLE a (id int PRIMARY KEY, c int[], m int[][], v varchar(3)[], n numeric(4, 1)[], t text, j int DEFAULT 7, d int[] DEFAULT '{9,9}');
INSERT INTO a (id, c, m, v) VALUES (1, '{1,2,3}', '{{1,2},{3,4}}', '{a,b}'), (2, NULL, NULL, NULL), (3, '{}', '{}', '{}'), (4, '[5:7]={5,6,7}', '[0:1][2:3]={{1,2},{3,4}}', '{NULL,x}');
UPDATE a SET c[2] = 20;
SELECT id, c FROM a ORDER BY id;
UPDATE a SET c[1] = c[2] + 1, c[3] = 33, j = j + 1 WHERE id < 4;
SELECT id, c, j FROM a ORDER BY id;
UPDATE a SET c[6] = NULL WHERE id = 4;
UPDATE a SET c[-1] = 0 WHERE id = 1;
UPDATE a SET c[8] = id WHERE id = 1;
SELECT id, c, array_dims(c) FROM a ORDER BY id;
UPDATE a SET m[1][2] = 12 WHERE id = 1;
UPDATE a SET m[1][2] = 12 WHERE id IN (2, 3);
UPDATE a SET m[0][3] = 12 WHERE id = 4;
SELECT id, m FROM a ORDER BY id;
UPDATE a SET m[3][1] = 1 WHERE id = 1;
UPDATE a SET m[1] = 1 WHERE id = 1;
UPDATE a SET c[1][1] = 1 WHERE id = 1;
UPDATE a SET v[1] = 'long' WHERE id = 1;
UPDATE a SET v[1] = 'abc', n[1] = 1.26, n[2] = '99.99' WHERE id = 1;
UPDATE a SET n[1] = 12345.6 WHERE id = 1;
SELECT id, v, n FROM a WHERE id = 1;
UPDATE a SET c[NULL] = 1;
UPDATE a SET c[1:NULL] = '{1}';
UPDATE a SET c[(SELECT 1)] = (SELECT 77) WHERE id = 1;
UPDATE a SET (c[2], t) = (1, 'x'), (c[3], d[1]) = (SELECT 2, 3) WHERE id = 1;
SELECT c, t, d FROM a WHERE id = 1;

-- Slices.
UPDATE a SET c = '{1,2,3,4,5}', d = NULL, m = '{{1,2,3},{4,5,6},{7,8,9}}';
UPDATE a SET c[2:3] = '{20,30}' WHERE id = 1;
UPDATE a SET c[:2] = '{8,9,10}' WHERE id = 2;
UPDATE a SET c[4:] = '{8,9,10}' WHERE id = 3;
UPDATE a SET c[:] = '{{1,2},{3,4},{5,6}}' WHERE id = 4;
SELECT id, c FROM a ORDER BY id;
UPDATE a SET c[5:7] = '{50,60,70}' WHERE id = 1;
UPDATE a SET c[-1:0] = '{-1,0}' WHERE id = 2;
UPDATE a SET c[8:9] = '{8,9}' WHERE id = 3;
UPDATE a SET c[3:4] = NULL WHERE id = 4;
SELECT id, c FROM a ORDER BY id;
UPDATE a SET c[2:3] = '{1}' WHERE id = 1;
UPDATE a SET c[3:2] = '{1}' WHERE id = 1;
UPDATE a SET d[2:3] = '{1,2}', m[2:3][1:2] = '{a,b,c,d}' WHERE id = 1;
UPDATE a SET d[2:3] = '{1,2}', m[2:3][1:2] = '{10,20,30,40}' WHERE id = 1;
UPDATE a SET d[1:2][1:2] = '{1,2,3,4,5}', m[2:2] = '{10,20,30,40}' WHERE id = 2;
UPDATE a SET m[2][1:2] = '{10,20,30,40}' WHERE id = 3;
UPDATE a SET d[3:1] = '{1,2}' WHERE id = 3;
SELECT id, d, m FROM a ORDER BY id;
UPDATE a SET d[:2] = '{1,2}' WHERE id = 4;
UPDATE a SET m[2:4][1:1] = '{1,2,3,4,5,6}' WHERE id = 1;
UPDATE a SET c[1:2][1:2] = '{1,2,3,4}' WHERE id = 1;
UPDATE a SET c[1:2] = 5 WHERE id = 1;
UPDATE a SET c[1:2] = ARRAY[1.5, 2.5] WHERE id = 1;
UPDATE a SET d[1:2147483647] = '{1}' WHERE id = 4;
UPDATE a SET d[-2147483648:2147483647] = '{1}' WHERE id = 4;
UPDATE a SET d[2147483647] = 1 WHERE id = 4;

-- INSERT.
INSERT INTO a (id, c[1], c[2]) VALUES (10, 1, 2);
INSERT INTO a (id, c[2], c[4], v[1:2]) VALUES (11, 1, 2, '{a,b}'), (12, 3, NULL, '{c,d,e}');
INSERT INTO a (id, d[1], c[1]) SELECT 13, 5, 6;
INSERT INTO a (id, m[1][1]) VALUES (14, 5) RETURNING id, m, d;
SELECT id, c, m, v, d FROM a WHERE id >= 10 ORDER BY id;
INSERT INTO a (id, c[1]) VALUES (10, 100) ON CONFLICT (id) DO UPDATE SET c[1] = excluded.c[1], c[5] = a.c[2];
SELECT c FROM a WHERE id = 10;
INSERT INTO a (id, c[1], c) VALUES (20, 1, '{1}');
INSERT INTO a (id, c, c[1]) VALUES (20, '{1}', 1);
INSERT INTO a (id, c[1]) VALUES (20, DEFAULT);
INSERT INTO a (id, c[1]) VALUES (20, 'x');
INSERT INTO a (id, c[1]) VALUES (20, true);
INSERT INTO a (id, c[1]) SELECT 20, true;
INSERT INTO a (id, c[1], c[1]) VALUES (20, 1, 2) RETURNING c;

-- What is refused.
UPDATE a SET c[1] = DEFAULT;
UPDATE a SET c = '{1}', c[1] = 2;
UPDATE a SET c[1] = 2, c = '{1}';
UPDATE a SET t[1] = 'x';
UPDATE a SET j[1] = 1;
UPDATE a SET j.x = 1;
UPDATE a SET c[1].x = 1;
UPDATE a SET c[1] = true;
UPDATE a SET c['x'] = 1;
UPDATE a SET c[1.5] = 1 WHERE id = 1;
UPDATE a SET nope[1] = 1;
INSERT INTO a (id, t[1]) VALUES (30, 'x');
INSERT INTO a (id, nope[1]) VALUES (30, 'x');

-- Conditions see the whole, and prepared statements take parts.
ALTER TABLE a ADD CHECK (c[1] < 1000);
UPDATE a SET c[1] = 1000 WHERE id = 10;
PREPARE p (int, int, int) AS UPDATE a SET c[$2] = $3 WHERE id = $1 RETURNING c;
EXECUTE p (10, 2, 5);
EXECUTE p (10, 3, NULL);
EXECUTE p (10, NULL, 5);
DROP TABLE a;
-- A cast of ARRAY is one of its elements, or of the arrays in it.
SELECT (ARRAY['{1,2}'::int2[], '{3,4}'::int2[]])::integer[][], ARRAY[ARRAY[1, 2], '{3,4}'::bigint[]]::text[], ARRAY['{1}'::int[], NULL]::int8[];
SELECT ARRAY['{1,2}', '{3,4}']::int[];
SELECT ARRAY['{1}'::text[], 'x']::text[];
SELECT ARRAY['{1}'::int[], '{1,2}'::int[]]::int8[];
SELECT ARRAY['{a}'::text[]]::int[];
