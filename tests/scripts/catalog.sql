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
