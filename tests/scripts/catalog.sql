create table cat (id serial primary key, name varchar(20) not null default 'n', amount numeric(8,2), tags text[], at timestamptz default now(), check (amount >= 0), unique (name));
create index cat_amount on cat (amount desc, at);
create sequence lone;
create schema other;
create table other.t (a int);
\d cat
\d cat_amount
\d cat_pkey
\d lone
\dt
\dt other.*
\di
\ds
\dn
\d nosuch
\df upper
select relname, relkind, relnatts from pg_class where relname like 'cat%' order by 1;
select attname, atttypid::regtype, attnotnull, atthasdef from pg_attribute where attrelid = 'cat'::regclass and attnum > 0 order by attnum;
select conname, contype from pg_constraint where conrelid = 'cat'::regclass order by 1;
select nspname from pg_namespace where nspname in ('public', 'pg_catalog', 'other') order by 1;
select datname from pg_database where datname = 'postgres';
select typname, typlen from pg_type where oid in (16, 23, 25, 1700) order by oid;
select column_name, data_type, is_nullable from information_schema.columns where table_name = 'cat' order by ordinal_position;
select table_name from information_schema.tables where table_schema = 'other';
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'cat'::regclass order by 1;
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'cat'::regclass order by 1;
select format_type(1043, 24), to_regclass('nosuch') is null, pg_table_is_visible('cat'::regclass);
select current_database(), current_schema(), current_setting('server_encoding');
drop table cat, other.t;
drop schema other;
drop sequence lone;
\l postgres
\l
\db
\du
\sf pg_sleep
\sf nosuch
select pg_get_functiondef(1);
select pg_get_functiondef(2108);
select pg_get_function_sqlbody('md5(text)'::regprocedure), pg_get_function_arg_default('md5(text)'::regprocedure, 1);
select pg_tablespace_size('pg_global') > 0, pg_tablespace_size('pg_default') > pg_database_size('postgres'), pg_tablespace_size((select oid from pg_tablespace where spcname = 'pg_global')) > 0;
select pg_tablespace_size('nosuch');
\dn+
select nspname, obj_description(oid, 'pg_namespace') from pg_namespace where nspname in ('public', 'pg_catalog') order by 1;
select typname[0], typname[3], typname[4] = '', typname[63] = '', typname[64] is null, typname[-1] is null, pg_typeof(typname[0]) from pg_type where typname = 'int4';
select ('ab'::name)[1:2];
select ('ab'::text)[1];
select acldefault('c', 10), acldefault('r', 10), acldefault('s', 10), acldefault('d', 10), acldefault('f', 10), acldefault('n', 10), acldefault('T', 10), acldefault('t', 10);
select acldefault('x', 10);
select acldefault('n', null);
select * from pg_seclabels;
select * from pg_user_mappings;
create table cat (id serial, n int default 5, at timestamptz default now());
create sequence lone;
alter table cat alter column n set default nextval('lone') + nextval('cat_id_seq');
create table cat2 (like cat including defaults);
select refobjid::regclass, deptype, adrelid::regclass, adnum from pg_depend d join pg_attrdef a on a.oid = d.objid where classid = 'pg_attrdef'::regclass and refclassid = 'pg_class'::regclass and refobjid in ('lone'::regclass, 'cat_id_seq'::regclass) order by 3, 4, 1::text;
drop table cat2;
alter table cat alter column n drop default;
select count(*) from pg_depend where classid = 'pg_attrdef'::regclass and refobjid = 'lone'::regclass;
drop table cat;
drop sequence lone;
set synchronize_seqscans = on;
set default_tablespace = '';
set default_tablespace = pg_default;
reset default_tablespace;
set default_table_access_method = heap;
set default_table_access_method = nosuch;
set xmloption = content;
set check_function_bodies = off;
reset check_function_bodies;
set session_replication_role = origin;
set escape_string_warning = on;
show log_statement;
show log_min_duration_statement;
\df lpad
\df pg_size_*
\df nosuch
