-- Corners of statements that change the catalogs.
create schema ddl_edges;
set search_path to ddl_edges;
-- A column that a key carries takes the key with it, and what rests on the key is told.
create table p (a int, b int, c int, primary key (a) include (c));
create table f (a int references p);
alter table p drop column c;
begin;
alter table p drop column c cascade;
\d p
\d f
rollback;
drop table f;
begin;
alter table p drop column c;
\d p
rollback;
create unique index p_b on p (b) include (c);
create table f (a int references p, b int references p (b));
alter table p drop column c;
alter table p drop column b;
begin;
alter table p drop column c cascade;
\d p
\d f
rollback;
drop index p_b;
begin;
drop index p_b cascade;
\d f
rollback;
drop table f, p;
-- Likewise of a table that refers to itself.
create table self (a int, b int, c int, primary key (a) include (b, c), foreign key (b) references self);
alter table self drop column c;
begin;
alter table self drop column b;
\d self
rollback;
begin;
alter table self drop column c cascade;
\d self
rollback;
alter index self_pkey rename to self_key;
\d self
create unique index self_c on self (c);
alter table self add foreign key (b) references self (c);
drop index self_c;
begin;
drop index self_c cascade;
rollback;
drop table self;
-- Nothing is left of a dropped column but its place.
create table t (a int, b int default 7 not null, c int);
insert into t values (1, 2, 3);
alter table t add d int default 9;
comment on column t.b is 'about b';
comment on column t.d is 'about d';
alter table t alter d set (n_distinct = 5), alter b set statistics 7;
analyze t;
alter table t drop b, drop d;
select objsubid, description from pg_description where objoid = 't'::regclass;
select staattnum from pg_statistic where starelid = 't'::regclass order by 1;
select attnum, attname, attnotnull, atthasdef, atthasmissing, attmissingval, attoptions, attstattarget, attisdropped
    from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by 1;
select * from t;
drop table t;
-- Whose sequence is whose.
create table t (i int generated always as identity, s serial, n int);
create table u (n int);
create view v as select n from t;
create index t_n on t (n);
create schema elsewhere;
create table elsewhere.t (n int);
alter sequence t_i_seq owned by none;
alter sequence t_i_seq owned by t.n;
alter sequence t_i_seq owned by u.n;
alter sequence t_s_seq owned by u.n;
alter sequence t_s_seq owned by u.m;
alter sequence t_s_seq owned by t_i_seq.last_value;
alter sequence t_s_seq owned by t_n.n;
alter sequence t_s_seq owned by elsewhere.t.n;
alter sequence t_s_seq owned by nothing.n;
alter sequence t_s_seq owned by n;
create sequence of_view owned by v.n;
drop view v;
select count(*) from pg_class where relname = 'of_view';
drop table u;
alter table t drop s;
\d t
drop table t, u;
drop schema elsewhere cascade;
-- As many columns as there may be, and one more.
select 'create table wide (' || string_agg('c' || i || ' int', ', ') || ')' from generate_series(1, 1600) i \gexec
alter table wide add one_more int;
alter table wide add if not exists c7 int;
alter table wide drop c1600;
alter table wide add one_more int;
-- A view's text is kept in one row here: it names its columns in front.
select 'create view much (' || string_agg('c' || i, ', ') || ') as select ' || string_agg('1', ',') from generate_series(1, 1601) i \gexec
select * from much;
select 'create view much (' || string_agg('c' || i, ', ') || ') as select ' || string_agg('1', ',') from generate_series(1, 1600) i \gexec
select 'create or replace view much (' || string_agg('c' || i, ', ') || ') as select ' || string_agg('1', ',') from generate_series(1, 1601) i \gexec
select c1600 from much;
select 'create table more as select ' || string_agg(i || ' as c' || i, ', ') from generate_series(1, 1601) i \gexec
select 'create table more (' || string_agg('c' || i || ' int', ', ') || ')' from generate_series(1, 1601) i \gexec
drop view much;
drop table wide;
select 'select count(*) from (select ' || string_agg(i || ' as c' || i, ', ') || ') s' from generate_series(1, 1664) i \gexec
select 'select count(*) from (select ' || string_agg(i || ' as c' || i, ', ') || ') s' from generate_series(1, 1665) i \gexec
select 'select count(*) from (values (' || string_agg(i::text, ', ') || ')) s' from generate_series(1, 1665) i \gexec
select 'select count(*) from (select ' || string_agg(i || ' as c' || i, ', ') || ' order by random()) s' from generate_series(1, 1664) i \gexec
select 'select 1 where exists (select ' || string_agg(i::text, ', ') || ' union all select ' || string_agg(i::text, ', ') || ')' from generate_series(1, 1665) i \gexec
-- A table that TRUNCATE names twice, or meets twice.
create table p (a int primary key);
create table f (a int references p, b int references p);
insert into p values (1);
insert into f values (1, 1);
truncate f, f;
select count(*) from f;
insert into f values (1, 1);
truncate p, f, p, ddl_edges.f;
select count(*) from p, f;
truncate p, p cascade;
truncate f, p, f cascade;
drop table f, p;
-- What uses rows of a table holds what is a foreign key's there.
create table p (a int primary key, b int);
create table f (a int references p deferrable initially deferred);
insert into p values (1, 1), (2, 2);
begin;
declare c cursor for select * from p;
savepoint s;
drop table f;
rollback to s;
alter table f drop constraint f_a_fkey;
rollback to s;
alter table f drop column a;
rollback;
begin;
delete from p where a = 1;
savepoint s;
drop table f;
rollback to s;
alter table f drop constraint f_a_fkey;
rollback to s;
alter table p drop constraint p_pkey cascade;
rollback to s;
alter table f drop a;
commit;
alter table f add a int references p deferrable initially deferred;
begin;
insert into f values (9);
savepoint s;
alter table p drop constraint p_pkey cascade;
commit;
select * from f;
delete from f;
insert into p values (1, 1);
alter table p add primary key (a);
alter table f add foreign key (a) references p deferrable initially deferred;
begin;
insert into f values (3);
savepoint s;
alter table p drop constraint p_pkey cascade;
rollback to s;
drop table p cascade;
rollback to s;
drop table f;
rollback;
begin;
declare c cursor for select * from f;
savepoint s;
drop table p cascade;
rollback to s;
alter table p drop constraint p_pkey cascade;
rollback;
begin;
drop table f;
select relation::regclass::text, mode from pg_locks where locktype = 'relation' and relation = 'p'::regclass;
rollback;
begin;
alter table f drop constraint f_a_fkey;
select relation::regclass::text, mode from pg_locks where locktype = 'relation' and relation = 'p'::regclass;
rollback;
drop table f, p cascade;
-- Views of what is temporary are.
create temp table tt (a int);
create table t (a int);
create view v as select * from tt;
select relpersistence, relnamespace = pg_my_temp_schema() as here from pg_class where relname = 'v';
create view ddl_edges.w as select * from tt;
create view pg_temp.w as select * from tt;
create view over as select * from v;
create view of_part as select * from t where exists (select 1 from tt where tt.a = t.a);
create view of_with as with x as (select * from tt) select * from t;
create view of_with2 as with x as (select * from tt) select * from x;
create temp view said as select * from tt;
create view plain as select * from t;
create or replace view plain as select a from tt;
select relpersistence from pg_class where relname = 'plain' order by 1;
create unlogged view un as select * from t;
create temp view ddl_edges.un as select * from t;
create view nowhere.un as select b from t;
create view nowhere.un as select a from t;
create view un (a, b) as select a from t;
drop table tt cascade;
drop view ddl_edges.plain;
drop table t;
-- A view that groups by a primary key needs the key.
create table t (a int primary key, b int, c int);
create table u (a int references t, n int);
create view v as select a, b, count(*) from t group by a;
create view w as select v.a from v;
create view by_key as select a, count(*) from t group by a;
create view by_both as select a, b, count(*) from t group by a, b;
create view by_join as select t.*, count(*) from t join u using (a) group by t.a;
create view within as select (select b from t group by a having a = 1) from u;
alter table t drop constraint t_pkey;
alter table u drop constraint u_a_fkey;
alter table t drop constraint t_pkey;
begin;
alter table t drop constraint t_pkey cascade;
\d
rollback;
begin;
alter table t drop column a;
rollback;
create or replace view v as select a, b, count(*) from t group by a, b;
drop view by_join;
drop view within;
alter table t drop constraint t_pkey;
create or replace view v as select a, b, count(*) from t group by a;
drop view v, w, by_key, by_both;
drop table u, t;
create table t (a int, b int, c int, primary key (a) include (c));
create view v as select a, b, count(*) from t group by a;
alter table t drop c;
alter table t drop c cascade;
drop table t;
-- What a view uses of another one it does not use of what is below that.
create table t (a int, b int);
create view v as select b from t;
create view w as select t.a, v.b from t, v;
create view whole as select v from v;
create sequence s;
create view of_sequence as select last_value, is_called from s;
alter table t drop b;
alter table t alter a type bigint;
select * from w;
select * from of_sequence;
create view x as select ctid from v;
create view x as select ctid from t;
select * from x;
drop view x, of_sequence;
drop sequence s;
drop view v cascade;
drop view w;
-- Columns that there can't be.
create view v as select t from t;
create view x as select v from v;
create view y as select (select t from t) as r, coalesce(t, t) as s, array[t, null] as u from t;
create table c as select t, v, array[v, null] as u from t, v;
drop table c;
create table c as select array_append(array[t], t) as a, array_agg(t) as b, max(a) as c from t group by t;
drop table c;
create table c as select array_append(array[row(1)], row(2)) as a;
drop view v, x, y;
drop table t;
create view v as select s from (select row(1)) s;
create view v as select s.r from (select row(1) as r) s;
create view v as select case when true then row(1) end as r;
create view v as select (select row(1)) as r;
create view v as select x from (values (1, 2)) x;
create view v as select pg_sleep(0);
create view v as select row(1, 2) as r;
create view v as select array[row(1, 2)] as r;
create view v as select 1 as a, 2 as a;
create view v (a, b) as select 1, 2;
create or replace view v as select 1 as a, 2 as b, 3 as a;
create or replace view v as select 1 as a, 2 as b, row(1) as c;
create or replace view v as select 1 as a, 2 as a;
create view v as select row(1) as r;
create view v as select 1 as a;
create table c as select row(1, 2) as r;
create table c as select 1 as a, 2 as a;
create table c (a, b) as select 1, 2, 3 as a;
create table c as select 1 as ctid;
create table c (a, xmin) as select 1, 2;
create table c (ctid int);
create table c (a int, a text);
create table c (a record);
select row(1, 2) as r into c;
create table t (a int, b int);
alter table t rename a to b;
alter table t rename a to ctid;
alter table t rename a to xmax;
alter table t rename ctid to a;
alter table t rename nope to ctid;
alter table t add xmin int;
alter view v rename a to c;
drop view v;
drop table t;
-- Clauses of a column that do not go together.
create table c (a serial default 5);
create table c (a int default 5 default 6);
create table c (a int default 5 generated always as identity);
create table c (a int generated always as identity default 5);
create table c (a int generated always as identity generated by default as identity);
create table c (a int generated always as identity generated always as (5) stored);
create table c (a int generated always as (5) stored generated always as (6) stored);
create table c (a int generated always as (5) stored default 6);
create table c (a int generated always as (5) stored generated always as identity);
create table c (a serial null);
create table c (a serial not null);
\d c
drop table c;
create table c (a serial generated always as identity);
create table c (a serial generated always as (5) stored);
create table c (a int null not null);
create table c (a int not null null);
create table c (a int null null not null);
create table c (a int null generated always as identity);
create table c (a int generated always as identity null);
create table c (a int not null generated always as identity not null);
create table d (a int null primary key);
alter table c add b serial default 5;
alter table c add b int null not null;
alter table c add b int generated by default as identity default 5;
create sequence taken;
create table e (a int generated always as identity (sequence name taken));
create table e (a int generated always as identity (sequence name c));
create table e (a int generated always as identity (sequence name e));
create table e (a int generated always as identity (sequence name nowhere.s));
create table e (a int generated always as identity (sequence name ddl_edges.s));
alter table c add b int generated always as identity (sequence name s);
alter table d alter a add generated always as identity (sequence name s);
\d e
drop table c, d, e;
-- Statements about one kind of relation, and relations of another.
create table t (a int, b int, constraint t_key unique (a), constraint positive check (a > 0));
create index t_b on t (b);
create view v as select 1 as a;
alter view t rename to x;
alter view t_b rename to x;
alter view taken rename to x;
alter sequence t rename to x;
alter sequence v rename to x;
alter sequence t_b rename to x;
alter view if exists t rename to x;
alter view if exists nope rename to x;
alter sequence nope rename to x;
alter index t rename to t2;
alter index v rename to v2;
alter index taken rename to taken2;
alter table t2 rename to t;
alter table v2 rename to v;
alter table taken2 rename to taken;
alter table t_b rename to t_c;
alter index t_c rename to t_b;
alter view v rename to t;
alter table taken rename column last_value to x;
alter sequence taken rename to t;
alter view v rename column a to b;
alter view t rename column a to aa;
alter table t rename column aa to a;
alter table if exists nope rename column a to b;
alter table if exists nope rename constraint a to b;
alter table nope rename column a to b;
alter index t_key rename to positive;
alter table t rename constraint t_key to positive;
alter table t rename constraint t_key to t_b;
alter table t rename constraint positive to t_key;
alter index t_key rename to t_unique;
\d t
comment on view t is 'x';
comment on table v is 'x';
comment on index t is 'x';
comment on sequence t is 'x';
comment on table t_b is 'x';
comment on index t_b is 'x';
comment on view v is 'x';
comment on sequence taken is 'x';
comment on column t_b.b is 'x';
comment on column taken.last_value is 'x';
comment on column t.nope is 'x';
comment on column v.b is 'x';
drop view v;
drop table t;
drop sequence taken;
create schema one;
alter schema one rename to ddl_edges;
alter schema one rename to one;
alter schema one rename to pg_catalog;
alter schema one rename to pg_one;
alter schema nowhere rename to two;
alter schema one rename to two;
drop schema two;
-- Views in a circle.
create view v1 as select 1 as a;
create view v2 as select a from v1;
create or replace view v1 as select a from v2;
select * from v1;
select * from v2;
select 1 where exists (select 1 from v2);
begin;
lock table v1;
rollback;
begin;
lock table v2 in share mode;
rollback;
create view v3 as select a from v1;
begin;
lock table v3;
rollback;
explain select * from v3;
create or replace view v1 as select 7 as a;
select * from v3;
create or replace view v1 as select a from v1;
select * from v1;
begin;
lock table v1;
rollback;
drop view v1;
drop view v1 cascade;
reset search_path;
drop schema ddl_edges cascade;
