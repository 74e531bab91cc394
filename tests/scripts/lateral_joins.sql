-- References from inside a nested join to entries before it.
CREATE TABLE la (id int PRIMARY KEY, v int);
CREATE TABLE lb (id int, w int);
INSERT INTO la SELECT g, g % 3 FROM generate_series(1, 6) g;
INSERT INTO lb SELECT g % 4, g FROM generate_series(1, 9) g;
ANALYZE la, lb;
SELECT la.id, x.w, g FROM la, (lb x LEFT JOIN LATERAL generate_series(1, la.v) g ON g < x.w) WHERE x.id = la.id ORDER BY 1, 2, 3;
SELECT la.id, lb.w, g FROM la LEFT JOIN (lb CROSS JOIN LATERAL generate_series(1, la.v) g) ON lb.id = la.id ORDER BY 1, 2, 3;
SELECT la.id, lb.w, s.n FROM la LEFT JOIN (lb JOIN LATERAL (SELECT la.v + lb.w AS n, count(*) FROM lb c WHERE c.id = la.id) s ON s.n % 2 = 0) ON lb.id = la.id ORDER BY 1, 2, 3;
SELECT la.id, s.n, t.m FROM la CROSS JOIN ((SELECT 1 AS one) o LEFT JOIN LATERAL (SELECT max(w) AS n FROM lb WHERE lb.id = la.v) s ON true LEFT JOIN LATERAL (SELECT s.n + la.id AS m) t ON t.m > 5) ORDER BY 1;
SELECT la.id, lb.w, v.k FROM la LEFT JOIN (lb LEFT JOIN LATERAL (VALUES (la.id), (lb.w)) v(k) ON v.k > 3) ON lb.id = la.v ORDER BY 1, 2, 3;
SELECT a.id, b.w, g FROM la a LEFT JOIN (lb b LEFT JOIN (lb c CROSS JOIN LATERAL generate_series(a.v, c.id) g) ON c.w = b.w) ON b.id = a.id WHERE a.id < 4 ORDER BY 1, 2, 3;
SELECT a.id, count(*), count(g) FROM la a LEFT JOIN (la b LEFT JOIN LATERAL generate_series(1, (SELECT a.v)) g ON true) ON b.id = a.id GROUP BY a.id ORDER BY 1;
SELECT (SELECT sum(g) FROM (lb CROSS JOIN LATERAL generate_series(1, la.v) g)) FROM la ORDER BY la.id;
DROP TABLE la, lb;
