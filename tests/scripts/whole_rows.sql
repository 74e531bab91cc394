-- A whole row of an outer join's other side: null where there is none, not a row of nulls.
CREATE TABLE wa (id int PRIMARY KEY, v int);
CREATE TABLE wb (id int PRIMARY KEY, aid int, t text);
INSERT INTO wa VALUES (1, 10), (2, 20), (3, NULL);
INSERT INTO wb VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 3, NULL);
INSERT INTO wb VALUES (4, NULL, NULL);
SELECT wa.id, count(wb), count(*) FROM wa LEFT JOIN wb ON wb.aid = wa.id GROUP BY wa.id ORDER BY wa.id;
SELECT wa.id, wb FROM wa LEFT JOIN wb ON wb.aid = wa.id ORDER BY wa.id, wb.id;
SELECT wa.id, wb IS NULL, wb IS NOT NULL, (wb).t FROM wa LEFT JOIN wb ON wb.aid = wa.id ORDER BY wa.id, wb.id;
SELECT wa, wb FROM wa RIGHT JOIN wb ON wb.aid = wa.id ORDER BY wb.id;
SELECT wa, wb FROM wa FULL JOIN wb ON wb.aid = wa.id ORDER BY wa.id, wb.id;
SELECT wa.id, count(wb) FROM wa LEFT JOIN (wb JOIN wa c ON c.id = wb.id) ON wb.aid = wa.id GROUP BY wa.id ORDER BY 1;
SELECT wb, count(*) FROM wa LEFT JOIN wb ON wb.aid = wa.id GROUP BY wb ORDER BY 1;
SELECT wa.id, s, s IS NULL, count(s) OVER () FROM wa LEFT JOIN (SELECT aid, NULL::text FROM wb) s ON s.aid = wa.id ORDER BY wa.id;
SELECT wa.id, s, count(s) OVER () FROM wa LEFT JOIN (VALUES (1, 'one'), (NULL, NULL)) s(a, b) ON s.a = wa.id ORDER BY wa.id;
SELECT wa.id, g, n FROM wa LEFT JOIN LATERAL (SELECT wa.v / 10, NULL::int WHERE wa.v > 10) g ON true LEFT JOIN (SELECT 1 AS k, NULL AS m) n ON n.k = wa.id ORDER BY wa.id;
WITH c AS MATERIALIZED (SELECT aid, t FROM wb) SELECT wa.id, c FROM wa LEFT JOIN c ON c.aid = wa.id ORDER BY wa.id, c.t;
SELECT wa.id, (SELECT wb), (SELECT count(wb) FROM wa x WHERE x.id = wa.id) FROM wa LEFT JOIN wb ON wb.aid = wa.id ORDER BY wa.id, wb.id;
SELECT wa.id, wb FROM wa LEFT JOIN wb ON wb.id = wa.id + 2 ORDER BY wa.id;
SELECT wa.id, coalesce((wb).t, 'none') FROM wa LEFT JOIN wb ON wb.aid = wa.id AND wb.t = 'y' WHERE wb IS NULL OR wb.t = 'y' ORDER BY wa.id;
UPDATE wa SET v = v + 1 FROM wa x LEFT JOIN wb ON wb.aid = x.id WHERE wa.id = x.id AND x.id > 1 RETURNING wa, wb;
DROP TABLE wa, wb;
-- Of a function that yields no records it is what that yields, whatever the column is called.
select g from generate_series(1, 2) as g (n);
select g from generate_series(1, 2) with ordinality as g (n);
select u, u.v, upper(u) from unnest(array['a', 'b']) as u (v);
select count(g), max(g), sum(g.n) from generate_series(1, 3) as g (n);
select g.* from generate_series(1, 2) as g (n);
select (select g + o.a) from generate_series(1, 2) as g (n), (values (10)) as o (a);
