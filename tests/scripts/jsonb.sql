-- Values are kept by what they mean.
SELECT '{"b": 1, "a" : [1.50, -0, 1e3, 1.5E-3, true, null], "bb":{}, "b":2, "": []}'::jsonb;
SELECT ' "a\u00e4\ud83d\ude00\n\/\u0001\b" '::jsonb, ' [ ] '::jsonb, '{ }'::jsonb, 'null'::jsonb, '1.0'::jsonb;
SELECT '{"long": 1, "a": 2, "aa": 3, "ab": 4, "B": 5}'::jsonb::text;
SELECT '{"a":1'::jsonb;
SELECT '[1,]'::jsonb;
SELECT ''::jsonb;
SELECT 'nul'::jsonb;
SELECT '["a", "\u0000 x"]'::jsonb;
SELECT '"\ud800"'::jsonb;
SELECT '"\ud800x"'::jsonb;
SELECT '"\ud800\nx"'::jsonb;
SELECT '"\ud800\u0041x"'::jsonb;
SELECT '{"a" : "\ud800\ud800"}'::jsonb;
SELECT '["\udc00 abc"]'::jsonb;
SELECT '1e1000000'::jsonb;
-- Parts.
SELECT j -> 'a', j ->> 'a', j -> 'n', j ->> 'n', j -> 'x', j -> 0, j ->> 's', j -> 's'
  FROM (VALUES ('{"a": [1, {"b": "c"}], "n": null, "s": "q\"t"}'::jsonb)) t(j);
SELECT j -> 0, j -> -1, j -> 3, j -> -4, j ->> 1, j -> 'a' FROM (VALUES ('[1, "a", {"b": 2}]'::jsonb)) t(j);
SELECT '"foo"'::jsonb -> 0, '5'::jsonb -> 1, '5'::jsonb -> -1, '5'::jsonb -> 'a', '"foo"'::jsonb ->> 0;
SELECT j #> '{a,1,b}', j #>> '{a,1,b}', j #> '{a,-1}', j #>> '{a, 1}', j #> '{a,x}', j #> '{a,5}', j #> '{}', j #>> '{}'
  FROM (VALUES ('{"a": [1, {"b": "c"}]}'::jsonb)) t(j);
SELECT '"a"'::jsonb #>> '{}', '"a"'::jsonb #> '{}', 'null'::jsonb #>> '{}', '{"a": 1}'::jsonb #> '{a,b}', '{"a": 1}'::jsonb #> '{NULL}';
SELECT jsonb_extract_path('{"a": {"b": 1}}', 'a', 'b'), jsonb_extract_path_text('{"a": {"b": "x"}}', VARIADIC '{a,b}');
SELECT v, jsonb_typeof(v) FROM (VALUES ('1'::jsonb), ('"a"'), ('true'), ('null'), ('[]'), ('{}'), (NULL)) t(v);
SELECT jsonb_array_length('[1, [2, 3]]'), jsonb_array_length('[]');
SELECT jsonb_array_length('{}');
SELECT jsonb_array_length('1');
SELECT jsonb_pretty('{"a": [1, {"b": []}], "c": {}, "d": "x\n"}');
-- What is in what.
SELECT '{"a": 1, "b": [1, 2, {"c": 3}]}'::jsonb @> w, w <@ '{"a": 1, "b": [1, 2, {"c": 3}]}', w
  FROM (VALUES ('{}'::jsonb), ('{"a": 1.0}'), ('{"b": [2]}'), ('{"b": [{"c": 3}]}'), ('{"b": [{}]}'), ('{"b": 1}'), ('{"b": [[1]]}'),
    ('{"a": 1, "x": 1}'), ('[]'), ('1')) t(w);
SELECT '[1, 2, 2]'::jsonb @> '[2, 2, 2]', '[1]'::jsonb @> '1', '1'::jsonb @> '[1]', '1'::jsonb @> '1', '[[1]]'::jsonb @> '[1]',
  '[[1, 2]]'::jsonb @> '[[2]]', '["a"]'::jsonb @> '"a"', '[]'::jsonb @> '[]', '{}'::jsonb @> '[]';
SELECT '{"a": 1}'::jsonb ? 'a', '["a", 1]'::jsonb ? 'a', '"a"'::jsonb ? 'a', '{"b": "a"}'::jsonb ? 'a', '[1]'::jsonb ? '1',
  '{"a": 1, "b": 2}'::jsonb ?| '{c,b}', '{"a": 1}'::jsonb ?& '{a,b}', '{"a": 1}'::jsonb ?& '{a,NULL}', '{"a": 1}'::jsonb ?| '{}', '{"a": 1}'::jsonb ?& '{}';
-- Values made of others.
SELECT '{"a": 1, "b": 2}'::jsonb || '{"b": 3, "c": 4}', '[1]'::jsonb || '[2]', '[1]'::jsonb || '{"a": 1}', '{"a": 1}'::jsonb || '1',
  '1'::jsonb || '{"a": 1}', '{}'::jsonb || '[]', '[]'::jsonb || '{}', '1'::jsonb || '2', '[]'::jsonb || '1', '{}'::jsonb || '{}', '[1]'::jsonb || NULL;
SELECT '{"a": 1, "b": 2}'::jsonb - 'a', '["a", "b", "a", 1]'::jsonb - 'a', '{"a": 1, "b": 2}'::jsonb - '{a,c,NULL}'::text[], '[1, 2, 3]'::jsonb - 1,
  '[1, 2, 3]'::jsonb - -1, '[1, 2, 3]'::jsonb - 3, '[1, 2, 3]'::jsonb - -4;
SELECT '1'::jsonb - 'a';
SELECT '1'::jsonb - 1;
SELECT '{"a": 1}'::jsonb - 1;
SELECT '{"a": {"b": [1, 2]}, "c": 3}'::jsonb #- '{a,b,0}', '{"a": {"b": [1, 2]}, "c": 3}'::jsonb #- '{c}', '{"a": 1}'::jsonb #- '{x,y}',
  '{"a": 1}'::jsonb #- '{a,b}', '{"a": 1}'::jsonb #- '{}', '[1, 2]'::jsonb #- '{-1}', '[1, 2]'::jsonb #- '{7}';
SELECT '1'::jsonb #- '{a}';
SELECT '[1]'::jsonb #- '{a}';
SELECT jsonb_set('{"a": 1}', '{a}', '[2]'), jsonb_set('{"a": 1}', '{b}', '2'), jsonb_set('{"a": 1}', '{b}', '2', false), jsonb_set('{"a": {"b": 1}}', '{a,c}', '2'),
  jsonb_set('{"a": 1}', '{b,c}', '2'), jsonb_set('{"a": 1}', '{a,c}', '2'), jsonb_set('{}', '{a}', '1'), jsonb_set('{}', '{a}', '1', false), jsonb_set('{"a": 1}', '{}', '2');
SELECT jsonb_set('[1, 2]', '{0}', '9'), jsonb_set('[1, 2]', '{-1}', '9'), jsonb_set('[1, 2]', '{5}', '9'), jsonb_set('[1, 2]', '{-5}', '9'),
  jsonb_set('[1, 2]', '{5}', '9', false), jsonb_set('[[1], {"a": 2}]', '{1,a}', '9'), jsonb_set('[]', '{0}', '1'), jsonb_set('[1]', '{0}', NULL);
SELECT jsonb_set('[1]', '{a}', '2');
SELECT jsonb_set('{"a": [1]}', '{a,b}', '2');
SELECT jsonb_set('{"a": 1}', '{NULL}', '2');
SELECT jsonb_set('1', '{a}', '2');
SELECT jsonb_insert('{"a": true}', '{a,NULL}', '2');
SELECT jsonb_set('{"a": {"b": 1}}', '{a,c,NULL}', '2');
SELECT jsonb_insert('[1, 2]', '{0}', '9'), jsonb_insert('[1, 2]', '{0}', '9', true), jsonb_insert('[1, 2]', '{-1}', '9'), jsonb_insert('[1, 2]', '{-1}', '9', true),
  jsonb_insert('[1, 2]', '{7}', '9'), jsonb_insert('[1, 2]', '{-7}', '9'), jsonb_insert('{"a": 1}', '{b}', '9'), jsonb_insert('{"a": [1]}', '{a,0}', '9'), jsonb_insert('[]', '{3}', '1');
SELECT jsonb_insert('{"a": 1}', '{a}', '9');
SELECT jsonb_strip_nulls('{"a": null, "b": [null, {"c": null}], "d": {"e": null}}'), jsonb_strip_nulls('null');
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL), jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'delete_key'), jsonb_set_lax('{"a": 1}', '{b}', NULL, true, 'return_target'),
  jsonb_set_lax('{"a": 1}', '{b}', '2'), jsonb_set_lax('{"a": 1}', '{b}', NULL, false), jsonb_set_lax(NULL, '{b}', '1'), jsonb_set_lax('{"a": 1}', '{a}', '2', NULL);
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'raise_exception');
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'other');
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, NULL);
SELECT jsonb_object('{b,1,a,x}'), jsonb_object('{{b,1},{a,NULL},{b,3}}'), jsonb_object('{a,b}', '{1,NULL}'), jsonb_object('{}');
SELECT jsonb_object('{a}');
SELECT jsonb_object('{NULL,1}');
SELECT jsonb_object('{a,b}', '{1}');
-- Subscripts.
SELECT j['a'], j['a'][1], j['a'][1]['b'], j['a'][-1], j['x'], j['a']['1'], j[NULL], j['s'][0], j['a'][7], (j['a'])[0], pg_typeof(j['a'])
  FROM (VALUES ('{"a": [1, {"b": "c"}], "s": "x"}'::jsonb)) t(j);
SELECT ('[1, 2]'::jsonb)[1], ('[1, 2]'::jsonb)[1::int2], ('{"1": 2}'::jsonb)[1], ('5'::jsonb)[0], (NULL::jsonb)['a'], ('{"a": 1}'::jsonb)['a'::varchar];
SELECT ('{"a": 1}'::jsonb)['a':'b'];
SELECT ('{"a": 1}'::jsonb)[:];
SELECT ('{"a": 1}'::jsonb)[1::bigint];
SELECT ('{"a": 1}'::jsonb)[1.5];
SELECT ('{"a": 1}'::json)['a'];
CREATE TABLE js (id int, j jsonb);
INSERT INTO js (id, j['a']) VALUES (1, '1');
INSERT INTO js (id, j[1]) VALUES (2, '"x"');
INSERT INTO js (id, j['a'][2]['b']) VALUES (3, '{"c": 1}');
INSERT INTO js VALUES (4, '{"a": [1, 2], "s": 5}'), (5, NULL), (6, '[]'), (7, '{"a": {}}');
SELECT * FROM js ORDER BY id;
UPDATE js SET j['k'] = '[7]' WHERE id IN (1, 3, 4, 5, 7);
UPDATE js SET j['a'][0] = '9' WHERE id IN (3, 4);
UPDATE js SET j['a'][4] = 'null', j['z']['y'] = '1' WHERE id = 4;
UPDATE js SET j[2] = NULL WHERE id = 6;
UPDATE js SET j[-1]['x'] = 'true' WHERE id = 2;
UPDATE js SET j['a']['n'][1] = '1', j['a']['m'] = to_jsonb(id) WHERE id = 7 RETURNING j['a'];
SELECT * FROM js ORDER BY id;
UPDATE js SET j['s']['t'] = '1' WHERE id = 4;
UPDATE js SET j[-9] = '1' WHERE id = 6;
UPDATE js SET j['a'] = '1' WHERE id = 6;
UPDATE js SET j[NULL] = '1' WHERE id = 6;
UPDATE js SET j['a'] = 1 WHERE id = 4;
UPDATE js SET j['a':'b'] = '1' WHERE id = 4;
UPDATE js SET j = '5' WHERE id = 6;
UPDATE js SET j[0] = '1' WHERE id = 6;
CREATE INDEX ON js ((j['k']));
SELECT indexdef FROM pg_indexes WHERE tablename = 'js';
SELECT id FROM js WHERE j['k'] = '[7]' AND j['a'][0] = '9' ORDER BY id;
PREPARE part (text, int) AS SELECT id, j[$1][$2] FROM js WHERE j[$1][$2] IS NOT NULL ORDER BY id;
EXECUTE part ('a', 0);
CREATE VIEW jsv AS SELECT id, j['a'][0] AS first FROM js;
SELECT * FROM jsv WHERE first IS NOT NULL ORDER BY id;
DROP TABLE js CASCADE;
SELECT v, jsonb_hash(v) FROM (VALUES ('1'::jsonb), ('1.00'), ('"a"'), ('true'), ('false'), ('null'), ('[]'), ('{}'), ('[1, [2, "x"]]'), ('{"a": 1, "b": {"c": null}}'), ('0')) t(v);
-- Rows of entries.
SELECT * FROM jsonb_array_elements('[1, "a", null, {"b": [2]}]');
SELECT jsonb_array_elements_text('[1, "a", null, {"b": [2]}]');
SELECT * FROM jsonb_each('{"b": [1], "a": null, "c": "x"}');
SELECT key, value FROM jsonb_each_text('{"b": [1], "a": null, "c": "x"}') ORDER BY key;
SELECT jsonb_object_keys('{"bb": 1, "c": 2, "a": 3}');
SELECT t.id, e.value FROM (VALUES (1, '[1, 2]'::jsonb), (2, '[]'), (3, '["x"]')) t(id, j), jsonb_array_elements(t.j) e;
SELECT * FROM jsonb_array_elements('{}');
SELECT * FROM jsonb_array_elements_text('1');
SELECT * FROM jsonb_each('[]');
SELECT * FROM jsonb_each_text('1');
SELECT jsonb_object_keys('[]');
SELECT jsonb_object_keys('1');
-- Objects as rows.
SELECT * FROM jsonb_to_record('{"a": 1, "b": "x\"y", "c": [1, 2], "d": {"e": null}, "f": "2024-02-29", "g": null, "n": 1.50}')
  AS x(a int, b text, c int[], d jsonb, f date, g text, missing int, n numeric(5, 1));
SELECT * FROM json_to_record('{"a" : 1e2, "b": {"x":  1}, "c": [[1, 2], [3, null]], "d": "[1,  2]", "a": "7", "t": true, "l": [ 1,"a" ]}')
  AS x(a int, b json, c int[], d jsonb, t bool, l text);
SELECT * FROM jsonb_to_recordset('[{"a": 1, "b": "foo"}, {"b": null, "c": true}, {}]') AS x(a int, b varchar(2), c bool);
SELECT * FROM jsonb_to_recordset('[{"a": 1, "b": "fo"}, {"b": null, "c": true}, {}]') AS x(a int, b varchar(2), c bool);
SELECT x.a, y.b FROM json_to_recordset('[{"a": 1, "r": [{"b": 2}, {"b": 3}]}, {"a": 4, "r": []}]') AS x(a int, r json), json_to_recordset(x.r) AS y(b int);
SELECT * FROM ROWS FROM (jsonb_to_recordset('[{"a": 1}, {"a": 2}]') AS (a int), generate_series(1, 3)) AS t(a, n);
SELECT * FROM jsonb_to_record('{"c": ["a", ["b"]]}') AS x(c text[]);
SELECT * FROM jsonb_to_record('{"c": [[1], [1, 2]]}') AS x(c int[]);
SELECT * FROM jsonb_to_record('{"c": 5}') AS x(c int[]);
SELECT * FROM jsonb_to_record('{"c": []}') AS x(c int[]);
SELECT * FROM jsonb_to_record('{"a": "x"}') AS x(a int);
SELECT * FROM jsonb_to_record('[]') AS x(a int);
SELECT * FROM json_to_record('1') AS x(a int);
SELECT * FROM jsonb_to_recordset('{}') AS x(a int);
SELECT * FROM json_to_recordset('{}') AS x(a int);
SELECT * FROM json_to_recordset('1') AS x(a int);
SELECT * FROM jsonb_to_recordset('[1]') AS x(a int);
SELECT * FROM json_to_recordset('[1]') AS x(a int);
SELECT * FROM jsonb_to_record(NULL) AS x(a int);
SELECT * FROM jsonb_to_record('{}');
SELECT jsonb_to_record('{"a": 1}');
SELECT json_strip_nulls('{"a" : null, "b": [null, {"c": null, "d" : "x\u0041\n"}], "e" : 1.0, "f": {}}'), json_strip_nulls('null'), json_strip_nulls('[ 1 , null ]');
-- SQL's values to JSON.
SET TimeZone = 'UTC';
SELECT to_jsonb(1), to_jsonb(1.50), to_jsonb('a"b'::text), to_jsonb(true), to_jsonb(NULL::int), to_jsonb('NaN'::float8), to_jsonb('Infinity'::float4), to_jsonb(1e20::float8),
  to_jsonb(ARRAY[[1, 2], [3, NULL]]), to_jsonb('{}'::int[]), to_jsonb('[1 , 2]'::json), to_jsonb('[1 , 2]'::jsonb), to_jsonb('\x41'::bytea);
SELECT to_jsonb('2024-02-29'::date), to_jsonb('2024-02-29 12:34:56.5'::timestamp), to_jsonb('2024-02-29 12:34:56+03'::timestamptz), to_jsonb('infinity'::timestamp),
  to_jsonb('0044-03-15 12:00 BC'::timestamp), to_jsonb('0044-03-15 BC'::date), to_jsonb('1 day 02:03'::interval), to_jsonb('12:34'::time);
SET TimeZone = 'Asia/Kolkata';
SET DateStyle = 'SQL, DMY';
SELECT to_jsonb('2024-02-29 12:34:56+00'::timestamptz), to_jsonb('2024-02-29'::date), jsonb_build_object('2024-02-29'::date, '0044-03-15 12:00+00 BC'::timestamptz);
RESET DateStyle;
SET TimeZone = 'UTC';
SELECT jsonb_build_array(1, 'a', NULL, true, ARRAY[1, 2], '{"x": 1}'::jsonb), jsonb_build_array(), jsonb_build_array(VARIADIC ARRAY['a', 'b']);
SELECT jsonb_build_object('a', 1, 'b', 'x', 3, NULL, true, '[1]'::jsonb), jsonb_build_object(), jsonb_build_object('a', 1, 'a', 2), jsonb_build_object(VARIADIC ARRAY['a', 'b']);
SELECT jsonb_build_object('a');
SELECT jsonb_build_object(NULL, 1);
SELECT jsonb_build_object('a', 1, NULL, 1);
SELECT jsonb_build_object(ARRAY[1], 1);
SELECT jsonb_build_object('{}'::jsonb, 1);
SELECT jsonb_agg(x), jsonb_agg(x ORDER BY x DESC), jsonb_agg(x) FILTER (WHERE x > 9) FROM (VALUES (1), (NULL), (3)) t(x);
SELECT jsonb_object_agg(k, v) FROM (VALUES ('b', 1), ('a', NULL), ('b', 3)) t(k, v);
SELECT jsonb_object_agg(k, v) FROM (VALUES ('b', 1), (NULL, 2)) t(k, v);
SELECT jsonb_agg(x) OVER (ORDER BY x) FROM (VALUES (1), (2)) t(x);
SELECT to_jsonb(t), jsonb_build_object('row', t), jsonb_build_array(t, ROW (1, 'x')) FROM (VALUES (1, 'a', '[1]'::jsonb)) t(id, name, j);
SELECT jsonb_agg(t ORDER BY id DESC), jsonb_object_agg(id, t) FROM (VALUES (1, 'a'), (2, NULL)) t(id, name);
SELECT to_json('{"b": 1, "a": [2]}'::jsonb), json_build_object('j', '[1, 2]'::jsonb), json_agg(j) FROM (VALUES ('{"x": 1}'::jsonb), (NULL)) t(j);
SELECT json_build_object('{}'::jsonb, 1);
-- Casts.
SELECT 'true'::jsonb::bool, '1.5'::jsonb::int, '1.5'::jsonb::numeric, '-3'::jsonb::int8, '7'::jsonb::int2, '1e3'::jsonb::float8, '2.5'::jsonb::real, '{"a":1}'::json::jsonb, '{"b":1}'::jsonb::json;
SELECT '"1"'::jsonb::int;
SELECT 'null'::jsonb::bool;
SELECT '[]'::jsonb::numeric;
SELECT '{}'::jsonb::float8;
SELECT 'true'::jsonb::int8;
SELECT '1'::jsonb::bool;
SELECT '100000'::jsonb::int2;
SELECT 1::jsonb;
-- Order and equality.
SELECT j FROM (VALUES ('{"a": 1}'::jsonb), ('[]'), ('null'), ('"a"'), ('"B"'), ('10'), ('9.5'), ('true'), ('false'), ('[1]'), ('[1, 2]'), ('[null]'), ('{}'), ('{"b": 0}'),
  ('{"a": 0, "b": 1}'), ('[[]]'), ('{"a": "x"}'), ('{"aa": 1}'), ('""'), ('-1'), (NULL)) t(j) ORDER BY j;
SELECT '1.0'::jsonb = '1.00', '{"a": 1, "b": 2}'::jsonb = '{"b": 2, "a": 1.0}', '[1]'::jsonb < '[1, 0]', '[2]'::jsonb < '[1, 0]', '1'::jsonb <> '"1"', '{}'::jsonb >= '[9]';
SELECT j, count(*) FROM (VALUES ('1.0'::jsonb), ('1.00'), ('[1]'), ('[1.0]'), ('{"a": 1}')) t(j) GROUP BY j ORDER BY j;
SELECT DISTINCT j FROM (VALUES ('{"a": 1, "b": 2}'::jsonb), ('{"b": 2, "a": 1}')) t(j);
SELECT count(*) FROM (VALUES ('1.0'::jsonb), ('2')) a(j) JOIN (VALUES ('1.00'::jsonb), ('2.0')) b(j) USING (j);
SELECT '1'::jsonb IN ('1.0', '2'), max(j::text) FROM (VALUES ('1'::jsonb)) t(j);
-- In tables.
CREATE TABLE jb (id int PRIMARY KEY, j jsonb DEFAULT '{}' NOT NULL, CHECK (jsonb_typeof(j) <> 'number'));
INSERT INTO jb VALUES (1, '{"a": 1, "t": ["x", "y"]}'), (2, '{"a": 2}'), (3, '[1, 2]'), (4, DEFAULT), (5, jsonb_build_object('big', repeat('x', 5000)));
INSERT INTO jb VALUES (6, '1');
INSERT INTO jb VALUES (6, '{');
SELECT id, j FROM jb WHERE id < 5 ORDER BY id;
SELECT id, length(j ->> 'big') FROM jb WHERE j ? 'big';
SELECT id FROM jb WHERE j @> '{"t": ["y"]}';
SELECT id FROM jb WHERE (j ->> 'a')::int > 1 OR j -> 't' ->> 0 = 'x' ORDER BY id;
UPDATE jb SET j = jsonb_set(j, '{a}', '5') WHERE id = 1 RETURNING j;
UPDATE jb SET j = j || '{"n": null}' WHERE id = 2 RETURNING j, j -> 'n' = 'null', (j -> 'x') IS NULL;
DELETE FROM jb WHERE id = 5;
CREATE INDEX jb_j ON jb (j);
CREATE INDEX jb_h ON jb USING hash (j);
CREATE INDEX jb_a ON jb ((j -> 'a'));
CREATE UNIQUE INDEX jb_u ON jb ((j ->> 'a'));
SELECT indexdef FROM pg_indexes WHERE tablename = 'jb' ORDER BY indexname;
SET enable_seqscan = off;
SELECT id FROM jb WHERE j = '{"n": null, "a": 2.0}';
SELECT id FROM jb WHERE j > '[]' AND j < '{"a": 3}' ORDER BY j;
SELECT id FROM jb WHERE j -> 'a' = '5';
RESET enable_seqscan;
INSERT INTO jb VALUES (7, '{"a": 5}');
ALTER TABLE jb ADD k jsonb DEFAULT '[1]';
SELECT id, k FROM jb ORDER BY id LIMIT 2;
ALTER TABLE jb ALTER k TYPE text;
ALTER TABLE jb ALTER k TYPE jsonb USING k::jsonb;
SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = 'jb' ORDER BY ordinal_position;
CREATE VIEW jbv AS SELECT id, j ->> 'a' AS a, j @> '{"a": 2}' AS two FROM jb;
SELECT * FROM jbv WHERE two;
SELECT array_agg(j ORDER BY id), (array_agg(j ORDER BY id))[2] FROM jb WHERE id IN (2, 3);
SELECT '{"{\"a\": 1}", "[2]"}'::jsonb[], ARRAY['1'::jsonb, NULL], '{1}'::jsonb[] = '{1.0}'::jsonb[];
PREPARE q (jsonb) AS SELECT id FROM jb WHERE j @> $1 ORDER BY id;
EXECUTE q ('{"a": 2}');
EXECUTE q ('{}');
ANALYZE jb;
SELECT count(*) FROM jb WHERE j = '{}';
DROP TABLE jb CASCADE;
SELECT pg_typeof('{}'::jsonb), format_type(3802, NULL), 'jsonb'::regtype, 'jsonb[]'::regtype;
-- Limits, and what is cheap to ask and dear to make.
SELECT * FROM json_to_record('{"a": [[[[[[[1]]]]]]]}') AS x (a int[]);
SELECT a FROM json_to_record('{"a": "{1,2}"}') AS x (a int[]);
SELECT a FROM jsonb_to_record('{"a": "{1,2}"}') AS x (a int[]);
SELECT '["a", "b"]'::jsonb ?| '{{c,b},{d,e}}', '["a", "b"]'::jsonb ?& '{{a,b},{a,NULL}}';
SELECT '{"a": 1, "b": 2, "c": 3}'::jsonb - '{a,c,c,NULL}'::text[], '["a", "b", 1]'::jsonb - '{a,x}'::text[];
SELECT json_agg(ARRAY[t] ORDER BY t.id DESC) FROM (VALUES (1, 'a'), (2, 'b')) t (id, name);
SELECT jsonb_agg(ARRAY[t] ORDER BY t.id DESC) FROM (VALUES (1, 'a'), (2, 'b')) t (id, name);
SELECT jsonb_agg(DISTINCT t) FROM (VALUES (1, 'a'), (2, 'b'), (1, 'a')) t (id, name);
SELECT jsonb_object_agg(k, v) FROM (VALUES ('bb', 1), ('a', 2), ('bb', 3), ('c', NULL)) t (k, v);
SELECT jsonb_object_agg(k, v), jsonb_agg(v) FROM (VALUES ('a', '[1, {"x": 2}]'::jsonb)) t (k, v) WHERE false;
SELECT jsonb_agg(v), jsonb_object_agg(v ->> 0, v) FROM (VALUES ('[1, {"x": 2}]'::jsonb), ('[]'), ('["b"]')) t (v) WHERE v ->> 0 IS NOT NULL;
CREATE VIEW of_record AS SELECT x.a, x.b FROM jsonb_to_record('{"a": 1, "b": "y"}') AS x (a int, b text);
SELECT * FROM of_record;
DROP VIEW of_record;
