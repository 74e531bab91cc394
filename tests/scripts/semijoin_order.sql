-- IN and EXISTS as joins below ORDER BY and LIMIT: what a join drops does not count, and it need not keep an order.
CREATE TABLE sj (id int PRIMARY KEY, a int, b int);
INSERT INTO sj SELECT g, g % 1000, (g * 7919) % 20011 FROM generate_series(1, 20000) g;
CREATE INDEX sj_a ON sj (a);
CREATE TABLE sj_few (k int);
INSERT INTO sj_few SELECT g * 100 FROM generate_series(1, 50) g;
CREATE TABLE sj_many (k int, filler text);
INSERT INTO sj_many SELECT g, repeat('x', 40) FROM generate_series(1, 20000) g;
ANALYZE sj, sj_few, sj_many;
SELECT id FROM sj WHERE a > 0 AND id IN (SELECT k FROM sj_few) ORDER BY b LIMIT 1;
SELECT id FROM sj WHERE a > 500 AND id IN (SELECT k FROM sj_few) ORDER BY b LIMIT 1;
SELECT id FROM sj WHERE a > 0 AND EXISTS (SELECT FROM sj_few WHERE k = id) ORDER BY b LIMIT 3;
SELECT id FROM sj WHERE a > 0 AND NOT EXISTS (SELECT FROM sj_many WHERE k = id + 5) ORDER BY b LIMIT 3;
SELECT id FROM sj WHERE a < 4 AND id IN (SELECT k + 1 FROM sj_few) ORDER BY b DESC LIMIT 3 OFFSET 1;
SET work_mem = '64kB';
SELECT id FROM sj WHERE id IN (SELECT k FROM sj_many) ORDER BY id LIMIT 3;
SELECT id FROM sj WHERE id IN (SELECT k FROM sj_many) ORDER BY id DESC LIMIT 3;
SELECT id FROM sj WHERE EXISTS (SELECT FROM sj_many WHERE k = id) AND a = 7 ORDER BY id;
SELECT id FROM sj WHERE NOT EXISTS (SELECT FROM sj_many WHERE k = id + 3) ORDER BY id;
RESET work_mem;
-- Which of equal rows stay says nothing about which keys there are.
SELECT id FROM sj WHERE EXISTS (SELECT DISTINCT ON (k) k, 1 FROM sj_few WHERE k = id ORDER BY k, 2) ORDER BY id LIMIT 3;
SELECT id FROM sj WHERE EXISTS (SELECT DISTINCT ON (f.k % 7) f.k FROM sj_few f WHERE f.k = sj.id) ORDER BY id LIMIT 3;
SELECT count(*) FROM sj WHERE NOT EXISTS (SELECT DISTINCT k, 2 FROM sj_few WHERE k = id);
DROP TABLE sj, sj_few, sj_many;
