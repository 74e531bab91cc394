-- Functions and input at the edges of what they take: zones of odd rules, infinities, many wildcards, lower bounds, sizes.

-- Infinities have no zone to ask for.
SELECT 'infinity'::timestamptz AT TIME ZONE 'nowhere', '-infinity'::timestamp AT TIME ZONE 'nowhere';
SELECT 'infinity'::timestamptz AT TIME ZONE interval '1 month', 'infinity'::timestamp AT TIME ZONE interval '1 month';
SELECT date_trunc('day', 'infinity'::timestamptz, 'nowhere');
SELECT now() AT TIME ZONE 'nowhere';

-- A rule whose changes of one year both lie in the next.
SELECT timestamptz '2024-01-05 00:00+00' AT TIME ZONE 'AAA167BBB167,J365/167,J365/167';
SELECT timestamptz '2024-06-05 00:00+00' AT TIME ZONE 'AAA167BBB167,J365/167,J365/167';

-- Displacements of a hundred hours and more.
SELECT timetz '12:00+00' AT TIME ZONE interval '100 hours';
SELECT timetz '12:00+00' AT TIME ZONE interval '-123 hours -4 minutes';

-- Bins that begin before what there is.
SELECT date_bin('106751990 days', timestamp '4713-01-01 BC', timestamp '4713-01-02 BC');
SELECT date_bin('15 minutes', timestamp '2024-01-01 00:14:59', timestamp '2024-01-01');

-- Seconds are rounded before they are looked at.
SELECT make_time(1, 2, 60.0000001), make_time(1, 2, 59.9999999);
SELECT make_time(1, 2, 60.000001);
SELECT make_timestamp(294276, 12, 31, 23, 59, 60);
SELECT make_timestamp(294277, 1, 1, 0, 0, 0);
SELECT make_time(1, 2, 'NaN');
SELECT make_time(1, 2, 'infinity');
SELECT make_time(1, 2, '-infinity');
SELECT make_time(1, 2, 1e10), make_time(1, 2, -0.5);

-- Transaction numbers as strtoul reads them.
SELECT '0x10'::xid, '010'::xid, '10'::xid, '0xfg'::xid, '08'::xid, '-1'::xid, '0x'::xid;
SELECT '0x10'::cid, '010'::cid, '0x10'::xid8, '010'::xid8;

-- A null for all arguments.
SELECT format('%s', VARIADIC NULL::text[]);
SELECT format('nothing', VARIADIC NULL::text[]);
SELECT concat(VARIADIC NULL::text[]) IS NULL, concat_ws(',', VARIADIC NULL::text[]) IS NULL;

-- Arrays are stacked whose bounds are the same.
SELECT array_agg(a) FROM (VALUES ('[0:1]={1,2}'::int[]), ('{3,4}')) t(a);
SELECT array_agg(a) FROM (VALUES ('[0:1]={1,2}'::int[]), ('[0:1]={3,4}')) t(a);
SELECT ARRAY(SELECT a FROM (VALUES ('[2:3]={1,2}'::int[]), ('{3,4}')) t(a));

-- Sizes.
SELECT pg_size_pretty(10.5::numeric), pg_size_pretty(-10.5::numeric), pg_size_pretty(10239.9::numeric), pg_size_pretty(10240::numeric);
SELECT pg_size_pretty(1e30::numeric), pg_size_pretty(-1e30::numeric), pg_size_pretty(0.0::numeric), pg_size_pretty(1536000.5::numeric);
SELECT n, pg_size_pretty(n::numeric) = pg_size_pretty(n::bigint)
FROM (VALUES (10239), (10240), (20479), (10485247), (10485248), (-10485248), (10736893951), (10736893952)) t(n);

-- Modifiers, and what pseudo-types read.
SELECT varchartypmodin('{NULL}');
SELECT numerictypmodin('{{1,2},{3,4}}');
SELECT varchartypmodin('{12}'), numerictypmodin('{10,2}');
SELECT trigger_in(NULL);
SELECT internal_in('x');
SELECT language_handler_in(NULL);

-- Wildcards without number.
SELECT 'a' LIKE repeat('%', 1000000) || 'b', 'b' LIKE repeat('%', 1000000) || 'b', 'ab' LIKE repeat('%', 100) || '_b';
SELECT p, 'äb' LIKE p, '' LIKE p, 'xäb' LIKE p
FROM unnest(ARRAY['%_', '_%', '%__', '%___', '%_%_%', '__%', '%_b', '_%_', '%%_%%b', '%_%_%_b', '%', '']) p;
SELECT 'abc' LIKE '%_\';
SELECT 'abc' LIKE 'x%_\';
SELECT convert_to('äb', 'UTF8') LIKE '%__', convert_to('äb', 'UTF8') LIKE '%____';

-- Sets of many characters; bytes in bytes.
SELECT btrim('äxyzä', repeat('b', 100) || 'ä'), ltrim('äxyzä', repeat('b', 100) || 'ä'), rtrim('äxyzä', repeat('b', 100) || 'ä');
SELECT length(btrim(repeat('a', 100000), repeat('b', 100000) || 'a'));
SELECT btrim('\x0102030201'::bytea, '\x0201'::bytea), ltrim('\x0102030201'::bytea, '\x01'), rtrim('\x0102030201'::bytea, '\x01');
SELECT position('\x0302'::bytea IN '\x0102030201'), position('\x'::bytea IN '\x01'), position('\x05'::bytea IN '\x01');

-- Matches that are counted only; parameters out of range.
SELECT regexp_count(repeat('ab', 1000), 'a'), regexp_count('aaa', 'x*'), regexp_count('', ''), regexp_count('abc', 'b', 3);
SELECT regexp_instr('a', 'a', 1, 1, 2147483647);
SELECT regexp_instr('a', 'a', 1, 1, -1);
SELECT regexp_replace('abcabc', '(b)(c)', '\2\1\&\\', 'g');
SELECT '{NULL}'::text ~ repeat('a', 4000001);

-- Roots, logarithms and divisors of many digits.
SELECT md5(sqrt(('1' || repeat('3', 3000))::numeric)::text), md5(sqrt(('12' || repeat('3', 3000))::numeric)::text);
SELECT md5(sqrt(2::numeric(1000, 800))::text), sqrt(1e-800::numeric(1000, 1000)), sqrt(1e1000::numeric), sqrt(99999999::numeric);
SELECT md5(ln(('1' || repeat('3', 500))::numeric)::text), md5(ln(0.00001::numeric(500, 400))::text);
SELECT sqrt(n::numeric), sqrt(n + 0.5::numeric(30, 20)) FROM generate_series(0, 20) n;
SELECT gcd(2::numeric ^ 300, 6::numeric ^ 200);
SELECT radians('1e-323'::float8);
SELECT radians(0::float8), radians(180::float8), radians('-infinity'::float8);
SELECT setseed('NaN');
SELECT setseed('-infinity');
SELECT setseed(1.5);

-- "ago" stands behind a unit or a time.
SELECT interval '1 day ago', interval '1:00 ago', interval '1-2 ago', interval '@ 1 day 2:00 ago', interval '-1 day ago', interval '1 day ago 2 hours';
SELECT interval '1 ago';
SELECT interval '-1 ago';
SELECT interval '1.5 ago';
SELECT interval '1 ago day';
SELECT interval '@ 1 ago';
SELECT interval '1 ago' day;
SELECT interval '1 day 2 ago';
SELECT interval 'ago';

-- Pieces of texts, as rows and in arrays.
SELECT t, d, n, string_to_array(t, d, n), ARRAY(SELECT string_to_table(t, d, n)), string_to_array(t, d), (SELECT count(*) FROM string_to_table(t, d))
FROM (VALUES ('a,,b,', ',', ''), (',', ',', NULL), ('', ',', ''), ('äöä', NULL, 'ö'), ('ab', '', 'ab'), ('ä--ö---', '--', '-'), (NULL, ',', NULL), ('a', 'a', ''), ('abc', 'd', 'abc')) v(t, d, n);
SELECT string_to_table('x1y1z', '1') LIMIT 2;
