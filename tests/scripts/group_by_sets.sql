-- Sets that are grouped by are unfolded first.
CREATE TABLE gs (id int, tags text[]);
INSERT INTO gs VALUES (1, '{a,b}'), (2, '{b,c}'), (3, '{}'), (4, NULL), (5, '{b}');
SELECT unnest(tags) tag, count(*) FROM gs GROUP BY tag ORDER BY tag;
SELECT unnest(tags) tag, count(*), sum(id) FROM gs GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 2;
SELECT count(*), unnest(tags) FROM gs GROUP BY 2 HAVING count(*) > 1;
SELECT upper(unnest(tags)) tag, count(*) FROM gs GROUP BY tag ORDER BY tag DESC;
SELECT generate_series(1, 2) + 1 AS g, unnest(tags) tag, count(*), max(id) FROM gs GROUP BY g, tag ORDER BY g, tag;
SELECT id % 2 AS odd, generate_series(1, id) g, count(*) FROM gs GROUP BY ROLLUP (id % 2, 2) ORDER BY 1, 2;
SELECT id % 2 AS odd, generate_series(1, id) g, count(*) FROM gs GROUP BY odd, g ORDER BY 3 DESC, 1, 2 LIMIT 4;
SELECT count(*) FROM gs GROUP BY unnest(tags) ORDER BY count(*);
SELECT unnest(tags) tag, count(*), generate_series(1, 2) FROM gs GROUP BY tag ORDER BY tag, 3;
SELECT DISTINCT unnest(tags) tag, count(*) > 1 FROM gs GROUP BY tag ORDER BY tag;
DROP TABLE gs;
