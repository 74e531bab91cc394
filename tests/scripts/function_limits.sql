-- where values end
\set SHOW_CONTEXT never
-- roots of the smallest
select sqrt('1e-2100'::numeric) = 0, scale(sqrt('1e-2100'::numeric)), scale(sqrt('4e-100'::numeric)), sqrt('4e-100'::numeric) * 1e50;
select length(sqrt('1e-16383'::numeric)::text), sqrt('1e-16000'::numeric) = 0, sqrt('2e-1500'::numeric) * 1e750;
select sqrt('25e-2002'::numeric), sqrt('24e-2002'::numeric) = 0, sqrt('2.5e-2001'::numeric) = 0, sqrt('1e-1999'::numeric) * 1e1000;
select scale(round(1.5::numeric, 5000)), scale(round(1.5::numeric, 20000)), scale(trunc(1.5::numeric, 5000)), round(1.5::numeric, -5000);
select round('6e131071'::numeric, -131071) = '6e131071', round('6e131000'::numeric, -131001) = '1e131001', trunc('6e131000'::numeric, -131001), round('6e131071'::numeric, -200000);
-- bytes are not characters
select '\xc3a9'::bytea like '_'::bytea, '\xc3a9'::bytea like '__'::bytea, '\xc3a980'::bytea like '%\\x80'::bytea, '\xa9c3a9'::bytea like '%\\xa9'::bytea, '\x80ff'::bytea like '_%_'::bytea, '\xffa9'::bytea like '%_'::bytea;
select '\xc3a9'::bytea not like '_'::bytea, 'é' like '_', '\xe282ac41'::bytea like '%_A'::bytea, '\xe282ac41'::bytea like '___A'::bytea;
-- scientific forms of what is large, small, or long
select length(to_char('1e16400'::numeric, '9.9EEEE'));
select to_char('1.23e16380'::numeric, '9.99EEEE'), to_char('1.5e-16300'::numeric, '9.99EEEE'), to_char('-9.999e40000'::numeric, '9.99EEEE'), to_char('9.999e131071'::numeric, '9.99EEEE');
select to_char(0::numeric, '9.99EEEE'), to_char(0.000::numeric, '9EEEE'), to_char(-0.5::numeric, '9EEEE'), to_char(12345.6789::numeric, '9.999EEEE'), to_char(99.95::numeric, '9.9EEEE'), to_char(1.005::numeric, '9.99EEEE'), to_char(-0.00123::numeric, '9.99999EEEE');
select length(to_char(1.5::float8, '9.' || repeat('9', 70000) || 'EEEE'));
select length(to_char(1.5::numeric, '9.' || repeat('9', 70000) || 'EEEE'));
select length(to_char(1.5::numeric, '9.' || repeat('9', 70000)));
select length(to_char(1.5::float8, '9.' || repeat('9', 70000)));
select length(to_char(1.5::float8, repeat('9', 70000)));
select to_char(1e300::float8, '9.9EEEE'), to_char(1::int8, '9.' || repeat('9', 20) || 'EEEE'), to_char(5e-324::float8, '9.99EEEE'), to_char(0.1::float8, '9.' || repeat('9', 60) || 'EEEE');
-- bounds of arrays
select '[2147483647:2147483647]={1}'::int[];
select '[2147483646:2147483647]={1,2}'::int[];
select '[2147483646:2147483646]={1}'::int[];
select '[-2147483648:-2147483648]={1}'::int[];
select array_upper('[-2147483648:-2147483648]={1}'::int[], 1), array_lower('[-2147483648:-2147483647]={1,2}'::int[], 1);
select array_fill(1, array[2], array[2147483647]);
select array_fill(1, array[1], array[2147483647]);
select array_fill(1, array[1], array[2147483646]);
select array_append('[2147483646:2147483646]={1}'::int[], 2);
select array_append('[2147483645:2147483646]={1,2}'::int[], 2);
select '[2147483646:2147483646]={1}'::int[] || array[5, 6];
select '[2147483644:2147483644]={1}'::int[] || array[5, 6];
select 5 || '[-2147483648:-2147483648]={1}'::int[];
select array_prepend(5, '[-2147483647:-2147483647]={1}'::int[]);
select array[1, 2] || '[2147483646:2147483646]={1}'::int[];
select ('[2147483645:2147483646]={1,2}'::int[])[2147483646], ('[-2147483648:-2147483647]={1,2}'::int[])[-2147483648:], ('[2147483645:2147483646]={1,2}'::int[])[:2147483647];
select trim_array('[-2147483648:-2147483647]={1,2}'::int[], 1), trim_array(array[1, 2], 2), trim_array('[2147483645:2147483646]={1,2}'::int[], 0);
select generate_subscripts('[2147483645:2147483646]={1,2}'::int[], 1);
select array_position('[-2147483648:-2147483647]={1,2}'::int[], 2), array_positions('[2147483645:2147483646]={1,2}'::int[], 2);
select array_fill(repeat('x', 10000), array[130000000]);
-- bytes of arrays
select array_length(array[array_fill(repeat('x', 1000000), array[600]), array_fill(repeat('y', 1000000), array[600])], 1);
select array_length(array[repeat('x', 400000000), repeat('y', 400000000), repeat('z', 400000000)], 1);
select array_fill(interval '1 day', array[130000000]);
-- more bits than a number has
select bit_length(repeat('x', 268435455)), bit_length('é'), bit_length('\x00ff'::bytea);
select bit_length(repeat('x', 268435456));
select bit_length(decode(repeat('00', 268435456), 'hex'));
-- hexadecimal numbers
select '0x1p2000'::float8;
select '0x1p-2000'::float8;
select ' -0x1p2000 '::float8;
select '0x1p200'::float4;
select '0x1p-200'::float4;
select '0x1.8p1'::float4, '0x.8'::float8, '0x1p-1074'::float8, '0x10000000000000000000000000000001'::float8, '0x0p9999'::float8, '-0X1.Fp+3'::float8;
select '0x1.fffffffffffffp1023'::float8, '0x1.fffffffffffff8p0'::float8, '0x1.00000000000008p0'::float8, '0x1.000000000000080000000000000000001p0'::float8, '0x123456789abcdef01'::float8, '0x1p-149'::float4;
select '0x1p99999999999'::float8;
select '0x1p-99999999999'::float8;
select '0x'::float8;
select '0x1p'::float8;
select '0x1p+'::float8;
select '0xg'::float8;
