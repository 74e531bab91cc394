-- NULLIF gives its left side as it was compared.
SELECT NULLIF(1, 2.5) + 1, pg_typeof(NULLIF(1, 2.5)), NULLIF(1, 1.0), NULLIF(2, 1::bigint), pg_typeof(NULLIF(2, 1::bigint));
SELECT pg_typeof(NULLIF(1::smallint, 1)), pg_typeof(NULLIF(1.5, 1)), pg_typeof(NULLIF(1, 1.5::float8)), NULLIF(3, 1.5::float8) / 2;
SELECT pg_typeof(NULLIF('a'::varchar, 'b')), pg_typeof(NULLIF('a', 'b')), NULLIF('a'::char(3), 'b') || '.';
SELECT NULLIF('2020-01-01'::date, '2020-01-02 00:00'::timestamp), pg_typeof(NULLIF('2020-01-01'::date, '2020-01-02 00:00'::timestamp));
SELECT NULLIF('5', 3) + 1, NULLIF(ARRAY[1], ARRAY[2])[1], NULLIF(NULL, 1), NULLIF(1, NULL);
