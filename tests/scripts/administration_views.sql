select * from pg_shadow where usename <> 'postgres' and usename !~ '^thalweg';
select count(*) > 0 from pg_shadow where usesuper and usename = current_user;
select groname, grolist from pg_group where groname !~ '^pg_' order by 1;
select groname from pg_group where groname = 'pg_database_owner';
select * from pg_policies;
select * from pg_rules where schemaname not in ('pg_catalog', 'information_schema');
select * from pg_prepared_xacts;
select * from pg_stat_replication;
select * from pg_stat_wal_receiver;
select * from pg_replication_slots;
select name, abbrev, utc_offset, is_dst from pg_timezone_names where name in ('UTC', 'Asia/Kolkata') order by 1;
select abbrev, utc_offset, is_dst from pg_timezone_abbrevs where abbrev = 'UTC';
select * from pg_shadow \gdesc
select * from pg_group \gdesc
select * from pg_policies \gdesc
select * from pg_rules \gdesc
select * from pg_prepared_xacts \gdesc
select * from pg_replication_slots \gdesc
select * from pg_timezone_names \gdesc
select * from pg_timezone_abbrevs \gdesc
select * from pg_stat_wal_receiver \gdesc
select * from information_schema.triggers where event_object_schema <> 'x';
select specific_name, routine_name, routine_type, data_type, type_udt_schema, type_udt_name, dtd_identifier, routine_body, external_name, external_language, is_deterministic, is_null_call, security_type, as_locator, result_cast_dtd_identifier from information_schema.routines where specific_name in ('upper_871', 'now_1299', 'array_append_378', 'generate_series_1067') order by specific_name;
select count(*) from information_schema.routines where routine_schema = 'pg_catalog' and routine_name = 'int4pl';
-- Keys, number by number.
select * from information_schema._pg_expandarray(array['a', 'b', null]);
select x.n, x.x from information_schema._pg_expandarray(array[[1, 2], [3, 4]]) x;
select information_schema._pg_expandarray('{}'::int[]);
select * from information_schema._pg_expandarray('[5:6]={7,8}'::int[]);
select (information_schema._pg_expandarray(array[1.5, 2])).n, (information_schema._pg_expandarray(array[1.5, 2])).x;
select pg_typeof(x), pg_typeof(n) from information_schema._pg_expandarray('3 4'::int2vector);
select _pg_expandarray(array[1]);
select pg_catalog._pg_expandarray(array[1]);
select information_schema._pg_expandarray(1);
select information_schema.upper('x');
select nspname, proname from pg_proc p join pg_namespace n on n.oid = pronamespace where proname = '_pg_expandarray';
-- The JDBC driver's question for primary keys.
create schema keys;
set search_path = keys;
create table t (a int, b int, c int, constraint t_pk primary key (c, a));
select result.table_schem, result.table_name, result.column_name, result.key_seq, result.pk_name from (select n.nspname as table_schem, ct.relname as table_name, a.attname as column_name, (information_schema._pg_expandarray(i.indkey)).n as key_seq, ci.relname as pk_name, information_schema._pg_expandarray(i.indkey) as keys, a.attnum as a_attnum from pg_catalog.pg_class ct join pg_catalog.pg_attribute a on (ct.oid = a.attrelid) join pg_catalog.pg_namespace n on (ct.relnamespace = n.oid) join pg_catalog.pg_index i on (a.attrelid = i.indrelid) join pg_catalog.pg_class ci on (ci.oid = i.indexrelid) where true and n.nspname = 'keys' and ct.relname = 't' and i.indisprimary) result where result.a_attnum = (result.keys).x order by result.table_name, result.pk_name, result.key_seq;
drop table t;
drop schema keys;
select * from pg_get_keywords() where word in ('select', 'abort', 'int', 'left', 'as', 'zone') order by word;
select catcode, barelabel, count(*) from pg_get_keywords() group by 1, 2 order by 1, 2;
