-- IN and EXISTS by indexes: few values lead to the rows of a large table, few rows ask a large table.
CREATE SCHEMA members_planned;
SET search_path = members_planned;
CREATE TABLE cust (id int PRIMARY KEY, name text, region int);
CREATE TABLE ord (id bigint PRIMARY KEY, cust_id int, state int, code char(6));
CREATE TABLE item (ord_id int, line int, qty int, PRIMARY KEY (ord_id, line));
CREATE TABLE few (k int, l int, t text);
CREATE INDEX ON ord (cust_id);
CREATE INDEX ON ord (code);
CREATE INDEX ON cust (region);
INSERT INTO cust SELECT i, 'c' || i, i % 100 FROM generate_series(1, 5000) i;
INSERT INTO ord SELECT i, CASE WHEN i % 50 > 0 THEN 1 + i % 5000 END, i % 5, 'o' || i % 900 FROM generate_series(1, 12000) i;
INSERT INTO item SELECT i, l, i % 9 FROM generate_series(1, 8000) i, generate_series(1, 2) l;
INSERT INTO few VALUES (1, 1, 'c1'), (1, 1, 'c1'), (2, 2, 'c2'), (NULL, 3, NULL), (4, NULL, 'c4'), (7000, 2, 'x');
ANALYZE;

SELECT id FROM cust WHERE id IN (SELECT k FROM few) ORDER BY id;
SELECT id FROM cust WHERE id NOT IN (SELECT k FROM few WHERE k IS NOT NULL) AND id < 6 ORDER BY id;
SELECT id FROM cust WHERE id NOT IN (SELECT k FROM few) AND id < 6 ORDER BY id;
SELECT * FROM item WHERE (ord_id, line) IN (SELECT k, l FROM few) ORDER BY 1, 2;
SELECT * FROM item WHERE ord_id IN (SELECT id FROM ord WHERE cust_id = 17) ORDER BY 1, 2;
SELECT id FROM ord WHERE cust_id IN (SELECT id FROM cust WHERE region = 7 AND name < 'c2') AND state = 3 ORDER BY id;
SELECT id FROM ord WHERE id IN (SELECT k FROM few UNION ALL SELECT l FROM few) ORDER BY id;
SELECT id FROM ord WHERE id IN (SELECT sum(l) FROM few GROUP BY k) ORDER BY id;
SELECT id FROM ord WHERE id IN (SELECT id FROM ord WHERE state = 2 ORDER BY id DESC LIMIT 3) ORDER BY id;
SELECT id FROM ord WHERE id = ANY (SELECT k FROM few) AND cust_id IN (SELECT id FROM cust WHERE id < 100) ORDER BY id;
SELECT count(*) FROM ord WHERE code IN (SELECT 'o17' UNION SELECT 'o18    ');
SELECT count(*) FROM ord WHERE code IN (SELECT t FROM few);
SELECT c.id, o.id FROM cust c LEFT JOIN ord o ON o.cust_id = c.id WHERE c.id IN (SELECT k FROM few) ORDER BY 1, 2;
SELECT c.id, o.id FROM cust c LEFT JOIN ord o ON o.cust_id = c.id WHERE o.id IN (SELECT k FROM few) ORDER BY 1, 2;
SELECT c.id, o.id FROM cust c FULL JOIN ord o ON o.cust_id = c.id WHERE c.id IN (SELECT k FROM few) ORDER BY 1, 2;
WITH w AS (SELECT k FROM few WHERE l < 3) SELECT id FROM ord WHERE id IN (SELECT k FROM w) ORDER BY id;
WITH w AS MATERIALIZED (SELECT k FROM few WHERE l < 3) SELECT id FROM ord WHERE id IN (SELECT k FROM w WHERE k > 1) ORDER BY id;
WITH w AS MATERIALIZED (SELECT k FROM few WHERE l < 3), v AS (SELECT id FROM ord WHERE id IN (SELECT k FROM w)) SELECT * FROM v ORDER BY 1;
SELECT id, (SELECT count(*) FROM ord WHERE ord.cust_id = c.id AND ord.id IN (SELECT k FROM few)) FROM cust c WHERE id < 5 ORDER BY id;

SELECT id FROM cust c WHERE id < 8 AND EXISTS (SELECT 1 FROM ord o WHERE o.cust_id = c.id AND o.state = 2) ORDER BY id;
SELECT id FROM cust c WHERE id < 60 AND NOT EXISTS (SELECT 1 FROM ord o WHERE o.cust_id = c.id) ORDER BY id;
SELECT id FROM cust c WHERE id < 8 AND id IN (SELECT cust_id FROM ord WHERE state = 2) ORDER BY id;
SELECT id FROM cust c WHERE id < 8 AND id IN (SELECT cust_id FROM ord WHERE state = 2 UNION SELECT k FROM few) ORDER BY id;
SELECT id FROM cust c WHERE id < 8 AND id IN (SELECT cust_id FROM ord GROUP BY cust_id HAVING count(*) > 2) ORDER BY id;
SELECT id FROM cust c WHERE id < 8 AND (id, region) IN (SELECT cust_id, state FROM ord) ORDER BY id;
SELECT id FROM cust c WHERE id < 8 AND NOT (id IN (SELECT cust_id FROM ord)) ORDER BY id;
SELECT k FROM few f WHERE k IN (SELECT cust_id FROM ord) ORDER BY k;
SELECT k FROM few f WHERE EXISTS (SELECT 1 FROM ord o JOIN cust c ON c.id = o.cust_id WHERE o.cust_id = f.k AND c.region < 4) ORDER BY k;
SELECT k, l FROM few f WHERE (k, l) IN (SELECT ord_id, line FROM item) ORDER BY 1, 2;
SELECT k FROM few f WHERE EXISTS (SELECT 1 FROM (SELECT cust_id AS c FROM ord) o WHERE o.c = f.k) ORDER BY k;

WITH set AS (UPDATE ord SET state = 9 WHERE id IN (SELECT id FROM ord WHERE state = 1 ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED) RETURNING id, state)
    SELECT * FROM set ORDER BY id;
WITH gone AS (DELETE FROM item WHERE ord_id IN (SELECT id FROM ord WHERE cust_id = 17) RETURNING *) SELECT * FROM gone ORDER BY 1, 2;
DELETE FROM item WHERE (ord_id, line) IN (SELECT k, l FROM few);
UPDATE cust SET name = 'seen' WHERE id IN (SELECT k FROM few) AND EXISTS (SELECT 1 FROM ord o WHERE o.cust_id = cust.id);
SELECT id, name FROM cust WHERE name = 'seen' ORDER BY id;
PREPARE first (int) AS SELECT id FROM ord WHERE id IN (SELECT id FROM ord WHERE state = $1 ORDER BY id LIMIT 2) ORDER BY id;
EXECUTE first (0);
EXECUTE first (4);
