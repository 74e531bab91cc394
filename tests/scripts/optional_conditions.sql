-- Conditions that a parameter may switch off, and rows by their addresses.
CREATE SCHEMA optional_conditions;
SET search_path = optional_conditions;
CREATE TABLE ord (id int PRIMARY KEY, cust_id int, state int, t text);
INSERT INTO ord SELECT i, CASE WHEN i % 20 > 0 THEN i % 700 END, i % 5, 't' || i % 50 FROM generate_series(1, 5000) i;
CREATE INDEX ON ord (cust_id);
CREATE INDEX ON ord (t);
ANALYZE ord;
PREPARE one (int) AS SELECT count(*), sum(id) FROM ord WHERE $1 IS NULL OR cust_id = $1;
EXECUTE one (7);
EXECUTE one (NULL);
EXECUTE one (-1);
PREPARE two (int, text) AS SELECT count(*), sum(id) FROM ord WHERE ($1 IS NULL OR cust_id = $1) AND ($2 IS NULL OR t = $2);
EXECUTE two (7, NULL);
EXECUTE two (NULL, 't7');
EXECUTE two (107, 't7');
EXECUTE two (NULL, NULL);
PREPARE three (int, text, int) AS SELECT id FROM ord
    WHERE (cust_id = $1 OR $1 IS NULL) AND ($2 IS NULL OR t = $2) AND ($3 IS NULL OR id > $3) AND state < 3 ORDER BY id LIMIT 4;
EXECUTE three (7, NULL, NULL);
EXECUTE three (NULL, 't7', 1000);
EXECUTE three (NULL, NULL, 4990);
EXECUTE three (NULL, NULL, NULL);
PREPARE off (boolean, int) AS SELECT count(*) FROM ord WHERE $1 OR cust_id = $2;
EXECUTE off (true, 7);
EXECUTE off (false, 7);
EXECUTE off (NULL, 7);
EXECUTE off (false, NULL);
PREPARE joined (int) AS SELECT o.id, p.id FROM ord o LEFT JOIN ord p ON p.id = o.cust_id AND ($1 IS NULL OR p.cust_id = $1)
    WHERE o.id < 9 ORDER BY 1, 2;
EXECUTE joined (NULL);
EXECUTE joined (3);
PREPARE changed (int, int) AS UPDATE ord SET state = state + 10 WHERE ($1 IS NULL OR cust_id = $1) AND id < $2 RETURNING id, state;
EXECUTE changed (5, 3000);
EXECUTE changed (NULL, 3);
SELECT (SELECT count(*) FROM ord WHERE v.x IS NULL OR cust_id = v.x) FROM (VALUES (7), (NULL), (9)) v (x);
SELECT count(*) FROM ord WHERE (random() > 2 OR cust_id = 7);

SELECT id FROM ord WHERE ctid = ANY (ARRAY(SELECT ctid FROM ord WHERE id IN (4, 3, 4000) ORDER BY id DESC)) ORDER BY id;
SELECT id FROM ord WHERE ctid = ANY ('{"(0,2)","(0,1)","(0,2)",NULL,"(9999,1)"}'::tid[]) ORDER BY id;
SELECT id FROM ord WHERE ctid IN (SELECT ctid FROM ord WHERE id < 4) ORDER BY id;
SELECT id FROM ord WHERE ctid IN ('(0,2)', '(0,3)') ORDER BY id;
SELECT id FROM ord WHERE ctid = NULL;
SELECT id FROM ord WHERE ctid IN (SELECT ctid FROM ord WHERE cust_id = 17 LIMIT 2) AND id > 100 ORDER BY id;
WITH gone AS (DELETE FROM ord WHERE ctid IN (SELECT ctid FROM ord WHERE t = 't9' ORDER BY id LIMIT 3) RETURNING id) SELECT * FROM gone ORDER BY id;
WITH gone AS (DELETE FROM ord WHERE ctid = ANY (ARRAY(SELECT ctid FROM ord WHERE t = 't9' ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED)) RETURNING id)
    SELECT * FROM gone ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM ord WHERE ctid = ANY ('{"(0,2)","(0,1)"}'::tid[]);
SELECT x.v, o.id FROM (VALUES ('(0,1)'::tid), ('(0,5)'), (NULL)) x (v), LATERAL (SELECT id FROM ord WHERE ctid = x.v) o ORDER BY 1;
