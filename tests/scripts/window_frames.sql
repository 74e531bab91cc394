-- Frames: RANGE with an offset over every type that has one, EXCLUDE, and aggregates over frames that move.
SET timezone = 'Europe/Berlin';
CREATE TABLE w (id int, g int, i2 int2, i8 int8, f4 float4, f8 float8, n numeric, d date, ts timestamp, tz timestamptz, t time, tt timetz, iv interval, x text, o oid);
INSERT INTO w SELECT i, i % 3, (i * 7) % 20, i * 1000000000::bigint, i * 0.5, (i * 3) % 7 + 0.25, ((i * 13) % 9) / 4.0, date '2024-01-28' + i * 2, timestamp '2024-01-30 12:00' + i * interval '11 hours', timestamptz '2024-03-29 22:00+01' + i * interval '7 hours', time '20:00' + i * interval '37 min', timetz '20:00+02' + i * interval '13 min', i * interval '9 days', 'x' || i, i FROM generate_series(1, 24) i;
INSERT INTO w (id, g) VALUES (25, 0), (26, 1);
INSERT INTO w (id, g, f8, n, d, ts) VALUES (27, 1, 'NaN', 'NaN', 'infinity', 'infinity'), (28, 1, 'infinity', 'infinity', '-infinity', '-infinity'), (29, 2, '-infinity', '-infinity', NULL, NULL);

SELECT id, i2, count(*) OVER v, sum(id) OVER v, first_value(i2) OVER v, last_value(i2) OVER v FROM w WINDOW v AS (ORDER BY i2 RANGE BETWEEN 2 PRECEDING AND 3 FOLLOWING) ORDER BY i2, id;
SELECT id, i2, count(*) OVER v, min(i2) OVER v, max(i2) OVER v FROM w WINDOW v AS (ORDER BY i2 DESC NULLS LAST RANGE BETWEEN 2 PRECEDING AND 3 FOLLOWING) ORDER BY i2, id;
SELECT id, i2, count(*) OVER v, min(i2) OVER v, max(i2) OVER v FROM w WINDOW v AS (ORDER BY i2 NULLS FIRST RANGE BETWEEN 4 PRECEDING AND 1 PRECEDING) ORDER BY i2, id;
SELECT id, i2, count(*) OVER v, min(i2) OVER v, max(i2) OVER v FROM w WINDOW v AS (ORDER BY i2 DESC RANGE BETWEEN 1 FOLLOWING AND 4 FOLLOWING) ORDER BY i2, id;
SELECT id, i2, count(*) OVER v FROM w WINDOW v AS (ORDER BY i2 RANGE BETWEEN UNBOUNDED PRECEDING AND 3 FOLLOWING) ORDER BY i2, id;
SELECT id, i2, count(*) OVER v FROM w WINDOW v AS (ORDER BY i2 RANGE BETWEEN 3 PRECEDING AND UNBOUNDED FOLLOWING) ORDER BY i2, id;
SELECT id, i2, count(*) OVER v FROM w WINDOW v AS (ORDER BY i2 RANGE 3 PRECEDING) ORDER BY i2, id;
SELECT id, g, count(*) OVER v FROM w WINDOW v AS (PARTITION BY g ORDER BY i2 RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) ORDER BY g, i2, id;
SELECT id, i8, count(*) OVER v FROM w WINDOW v AS (ORDER BY i8 RANGE BETWEEN 9223372036854775807 PRECEDING AND 2000000000 FOLLOWING) ORDER BY id;
SELECT id, f4, count(*) OVER v FROM w WINDOW v AS (ORDER BY f4 RANGE BETWEEN 1.5 PRECEDING AND 0.5 FOLLOWING) ORDER BY id;
SELECT id, f8, count(*) OVER v FROM w WINDOW v AS (ORDER BY f8 RANGE BETWEEN 1 PRECEDING AND 2.0 FOLLOWING) ORDER BY f8, id;
SELECT id, f8, count(*) OVER v FROM w WINDOW v AS (ORDER BY f8 RANGE BETWEEN 'inf' PRECEDING AND 'inf' FOLLOWING) ORDER BY f8, id;
SELECT id, f8, count(*) OVER v FROM w WINDOW v AS (ORDER BY f8 RANGE BETWEEN 'inf' PRECEDING AND 'inf' PRECEDING) ORDER BY f8, id;
SELECT id, f8, count(*) OVER v FROM w WINDOW v AS (ORDER BY f8 DESC RANGE BETWEEN 'inf' FOLLOWING AND 'inf' FOLLOWING) ORDER BY f8, id;
SELECT id, n, count(*) OVER v FROM w WINDOW v AS (ORDER BY n RANGE BETWEEN 0.5 PRECEDING AND 1 FOLLOWING) ORDER BY n, id;
SELECT id, n, count(*) OVER v FROM w WINDOW v AS (ORDER BY n DESC RANGE BETWEEN 'inf' PRECEDING AND 'inf' FOLLOWING) ORDER BY n, id;
SELECT id, d, count(*) OVER v FROM w WINDOW v AS (ORDER BY d RANGE BETWEEN '7 days' PRECEDING AND interval '1 month' FOLLOWING) ORDER BY d, id;
SELECT id, d, count(*) OVER v FROM w WINDOW v AS (ORDER BY d DESC RANGE BETWEEN '1 month' PRECEDING AND '36 hours' FOLLOWING) ORDER BY d, id;
SELECT id, ts, count(*) OVER v FROM w WINDOW v AS (ORDER BY ts RANGE BETWEEN '1 day' PRECEDING AND '22 hours' FOLLOWING) ORDER BY ts, id;
SELECT id, tz, count(*) OVER v FROM w WINDOW v AS (ORDER BY tz RANGE BETWEEN '1 day' PRECEDING AND '14 hours' FOLLOWING) ORDER BY tz, id;
SELECT id, t, count(*) OVER v FROM w WINDOW v AS (ORDER BY t RANGE BETWEEN '1 hour' PRECEDING AND '3 days 2 hours' FOLLOWING) ORDER BY t, id;
SELECT id, tt, count(*) OVER v FROM w WINDOW v AS (ORDER BY tt DESC RANGE BETWEEN '1 hour' PRECEDING AND '20 min' FOLLOWING) ORDER BY tt, id;
SELECT id, iv, count(*) OVER v FROM w WINDOW v AS (ORDER BY iv RANGE BETWEEN '1 month' PRECEDING AND '18 days' FOLLOWING) ORDER BY iv, id;

-- What is refused.
SELECT sum(id) OVER (ORDER BY i2 RANGE -1 PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY i2 RANGE NULL PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY f8 RANGE 'NaN' PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY n RANGE -0.5 PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY d RANGE '-1 day' PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY t RANGE '-1 hour' PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY i2 RANGE 1.5 PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY d RANGE 1 PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY x RANGE 1 PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY o RANGE 1 PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY i2, id RANGE 1 PRECEDING) FROM w;
SELECT sum(id) OVER (RANGE 1 PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY i2 RANGE id PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY i2 ROWS g PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY i2 ROWS 'x' PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY i2 GROUPS true PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY i2 ROWS -1 PRECEDING) FROM w;
SELECT sum(id) OVER (ORDER BY i2 GROUPS BETWEEN -1 PRECEDING AND 1 FOLLOWING) FROM w;
SELECT sum(id) OVER (ORDER BY ts RANGE '1000000 years' PRECEDING) FROM w WHERE id < 3;
SELECT id FROM w LIMIT id;
SELECT count(*) OVER (ORDER BY i2 RANGE -1 PRECEDING) FROM w WHERE false;

-- EXCLUDE.
SELECT id, i2, array_agg(id) OVER (ORDER BY i2 / 4 ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW) c, array_agg(id) OVER (ORDER BY i2 / 4 ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING EXCLUDE GROUP) g, array_agg(id) OVER (ORDER BY i2 / 4 ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING EXCLUDE TIES) t FROM (SELECT * FROM w WHERE id < 15 ORDER BY i2 / 4, id) s;
SELECT id, first_value(id) OVER v, last_value(id) OVER v, nth_value(id, 2) OVER v, nth_value(id, 4) OVER v, nth_value(id, 400) OVER v FROM (SELECT * FROM w WHERE id < 15 ORDER BY i2 / 4, id) s WINDOW v AS (ORDER BY i2 / 4 RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES);
SELECT id, first_value(id) OVER v, last_value(id) OVER v, nth_value(id, 2) OVER v, nth_value(id, 4) OVER v FROM (SELECT * FROM w WHERE id < 15 ORDER BY i2 / 4, id) s WINDOW v AS (ORDER BY i2 / 4 ROWS BETWEEN 1 FOLLOWING AND 4 FOLLOWING EXCLUDE GROUP);
SELECT id, first_value(id) OVER v, last_value(id) OVER v, nth_value(id, 1) OVER v, nth_value(id, 3) OVER v FROM (SELECT * FROM w WHERE id < 15 ORDER BY i2 / 4, id) s WINDOW v AS (ORDER BY i2 / 4 GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW);

-- Frames that move: rows are taken out of sums, where that can be.
CREATE TABLE m (id int, i int, b bigint, n numeric, f float8, q int);
INSERT INTO m SELECT i, (i * 37) % 11 - 5, (i % 3) * 4000000000000000000, CASE i % 5 WHEN 0 THEN 1.25 WHEN 1 THEN 3 WHEN 2 THEN 0.00001 * i WHEN 3 THEN NULL ELSE i END, 1e17 * (i % 3), CASE WHEN i % 4 > 0 THEN i END FROM generate_series(1, 40) i;
UPDATE m SET n = 'NaN' WHERE id = 20;
UPDATE m SET n = 'infinity' WHERE id = 30;
SELECT id, sum(i) OVER v, avg(i) OVER v, count(*) OVER v, count(q) OVER v, sum(q) OVER v, sum(n) OVER v, avg(n) OVER v, sum(f) OVER v FROM m WINDOW v AS (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING) ORDER BY id;
SELECT id, sum(b) OVER v, avg(b) OVER v, min(b) OVER v, count(*) FILTER (WHERE i > 0) OVER v, sum(i) FILTER (WHERE q > 5) OVER v FROM m WINDOW v AS (ORDER BY id ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING) ORDER BY id;
SELECT id, sum(i) OVER v, sum(n) OVER v, count(q) OVER v, max(i) OVER v, string_agg(i::text, ',') OVER v FROM m WINDOW v AS (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) ORDER BY id;
SELECT id, sum(i) OVER v, avg(n) OVER v FROM m WINDOW v AS (ORDER BY i RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING) ORDER BY id;
SELECT id, sum(i) OVER v, sum(n) OVER v FROM m WINDOW v AS (ORDER BY i GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) ORDER BY id;
SELECT id, var_pop(i) OVER v, var_samp(b) OVER v, stddev(n) OVER v, stddev_pop(q) OVER v, variance(n) OVER v FROM m WINDOW v AS (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING) ORDER BY id;
SELECT id, stddev(i::int2) OVER v, var_pop(n) OVER v, var_samp(n) FILTER (WHERE i > 0) OVER v FROM m WINDOW v AS (ORDER BY id ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING) ORDER BY id;
SELECT id, sum(q * interval '1 day 1 hour') OVER v, avg(i * interval '1 mon 1.5 days') OVER v, bool_and(i > -4) OVER v, bool_or(q % 4 = 1) OVER v, every(q > 5) OVER v FROM m WINDOW v AS (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING) ORDER BY id;
SELECT id, bool_or(q IS NULL) FILTER (WHERE i < 0) OVER v, bool_and(NULL::bool) OVER v, sum(NULL::interval) OVER v FROM m WINDOW v AS (ORDER BY i RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING) ORDER BY id;
SELECT sum(interval '170000000 years') OVER (ORDER BY i ROWS 1 PRECEDING) FROM generate_series(1, 3) i;
SELECT max(s), count(*), count(*) FILTER (WHERE t) FROM (SELECT variance(i) OVER v s, bool_and(i % 20000 > 0) OVER v t FROM generate_series(1, 20000) i WINDOW v AS (ORDER BY i ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)) x;
SELECT sum(s), count(*) FROM (SELECT sum(i) OVER (ORDER BY i ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) s FROM generate_series(1, 20000) i) t;
SELECT sum(s), count(*) FROM (SELECT count(*) OVER (ORDER BY i RANGE BETWEEN 5000 PRECEDING AND 5000 FOLLOWING) s FROM generate_series(1, 20000) i) t;
SELECT sum(s), count(*) FROM (SELECT nth_value(i, 10000) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) s FROM generate_series(1, 20000) i) t;
SET work_mem = '64kB';
SELECT sum(s), count(*) FROM (SELECT sum(i) OVER (ORDER BY i RANGE BETWEEN 5000 PRECEDING AND 100 FOLLOWING) s FROM generate_series(1, 20000) i) t;
RESET work_mem;
DROP TABLE m, w;
