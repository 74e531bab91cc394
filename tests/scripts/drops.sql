-- What goes with what is dropped, and what is told of it.
create schema drops;
set search_path to drops;
-- A schema with a table that another refers to.
create schema s;
create table s.p (i int primary key);
create table f (i int references s.p, "J" int references s.p);
drop schema s;
drop schema s cascade;
insert into f values (1, 2) returning *;
\d f
drop table f;
-- One with a sequence that defaults elsewhere name.
create schema s;
create sequence s.q;
create table p (i int, j int default nextval('s.q'), k int default nextval('s.q') + 1, l int default 7);
drop schema s;
drop schema s cascade;
insert into p (i) values (1) returning *;
\d p
drop table p;
-- All of it, some of it within the schema.
create schema s;
create table s.a (i serial primary key, j int unique);
create table s.b (i int references s.a, j int default nextval('s.a_i_seq'), k int generated always as identity);
create view s.v as select a.i, b.j from s.a, s.b;
create sequence s."Odd";
create table t (i int references s.a, j int default nextval('s.a_i_seq'), k int references s.a (j));
create view v as select * from s.v;
create view w as select v.i, t.j from v, t;
create sequence q owned by s.b.i;
drop table s.a;
drop table s.a, s.b;
drop table s.b;
drop view s.v;
drop sequence s.a_i_seq;
drop sequence s.b_k_seq;
drop schema s;
begin;
drop table s.a cascade;
\d t
\d s.b
rollback;
begin;
drop table s.b, s.a cascade;
rollback;
begin;
drop view s.v, v cascade;
rollback;
begin;
drop sequence s.a_i_seq cascade;
insert into t (j) values (default) returning *;
rollback;
begin;
alter table s.a drop constraint a_pkey;
rollback;
begin;
alter table s.a drop constraint a_pkey cascade;
rollback;
drop schema s cascade;
insert into t values (1) returning *;
\d t
select * from v;
select nextval('q');
drop table t;
-- Several schemas, and some that are not there.
create schema s1;
create schema s2;
create table s1.a (i int primary key);
create table s2.b (i int references s1.a);
create view s1.v as select * from s2.b;
create table c (i int references s1.a);
drop schema s1;
drop schema s1, s2;
drop schema if exists s1, nosuch, s2 cascade;
drop table c;
-- Sequences stay with the columns that own them.
create schema s;
create table t (i int, j int);
create sequence s.q owned by t.i;
create table s.u (i int);
create sequence r owned by s.u.i;
create sequence s.r owned by s.u.i;
drop schema s;
drop schema s cascade;
select nextval('r');
select count(*) from pg_class where relname in ('q', 'r', 'u');
drop table t;
-- A sequence that goes with its table or column, and that others use.
create table t (i serial, j serial);
create table u (i int default nextval('t_i_seq'), j int default nextval('t_j_seq'));
create view v as select last_value from t_j_seq;
drop sequence t_j_seq;
alter table t drop column j;
alter table t drop column j cascade;
drop table t;
drop table t cascade;
\d u
drop table u;
create table t (i int generated always as identity);
create table u (i int default nextval('t_i_seq'));
alter table t alter column i drop identity;
drop table t cascade;
drop table u;
-- Views over views, in the order in which they were made.
create table t (i int primary key);
create view v1 as select * from t;
create view v2 as select * from v1;
create view v3 as select v2.i from v2, t;
create table f (i int references t);
create view v4 as select * from t;
drop table t;
drop table v1;
drop view v1;
drop view v2, v1;
begin;
drop view v2, v1 cascade;
rollback;
drop table t cascade;
drop table f;
-- A default that names a table.
create table t (i int);
create table u (i regclass default 't');
drop table t;
drop table t cascade;
\d u
drop table u;
-- Two that refer to each other, and one that refers to itself.
create schema s;
create table s.a (i int primary key, j int);
create table s.b (i int primary key references s.a, j int references s.b);
alter table s.a add foreign key (j) references s.b;
drop schema s;
drop schema s cascade;
-- More than are listed.
create schema s;
select 'create view s.v' || i || ' as select 1 as one' from generate_series(1, 101) i \gexec
drop schema s;
create table s.t ();
drop schema s;
drop schema s cascade;
-- With a collation.
create schema s;
create collation s.c (locale = 'C');
create table s.t (a text collate s.c);
create view s.v as select 'a' collate s.c as a;
drop schema s;
drop schema s cascade;
-- Temporary relations.
create temp table a (i int primary key);
create temp table b (i int references a);
create temp view v as select * from a, b where a.i = b.i;
drop table a;
drop table a cascade;
create temp table a (i serial primary key);
discard temp;
-- Nothing is left.
select count(*) from pg_trigger where tgrelid not in (select oid from pg_class);
select count(*) from pg_constraint where conrelid <> 0 and conrelid not in (select oid from pg_class);
select count(*) from pg_attrdef where adrelid not in (select oid from pg_class);
select count(*) from pg_depend where classid = 'pg_class'::regclass and objid not in (select oid from pg_class);
set client_min_messages = error;
drop schema drops cascade;
