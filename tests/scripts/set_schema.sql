create schema test_moved_from;
create schema test_moved_to;
set search_path to test_moved_from;
create table t (id serial primary key, a int unique, b text check (b > 'a') default 'q', unique (a, b));
create index on t (b);
create table u (t int references t);
insert into t (a, b) values (1, 'b'), (2, 'c');
alter table t set schema test_moved_to;
insert into t (a) values (3);
insert into test_moved_to.t (a) values (3);
insert into u values (3);
insert into u values (4);
select * from test_moved_to.t order by id;
\d test_moved_to.t
\d u
alter sequence test_moved_to.t_id_seq set schema test_moved_from;
create sequence s;
alter sequence s set schema test_moved_to;
select nextval('test_moved_to.s');
create view v as select a from test_moved_to.t;
alter view v set schema test_moved_to;
select * from test_moved_to.v order by a;
create materialized view m as select a, b from test_moved_to.t;
create unique index m_a on m (a);
alter table m set schema test_moved_to;
refresh materialized view concurrently test_moved_to.m;
\d test_moved_to.m
alter table nosuch set schema test_moved_to;
alter table if exists nosuch set schema test_moved_to;
alter view if exists nosuch set schema test_moved_to;
alter table test_moved_to.t set schema nosuch;
alter table test_moved_to.t set schema test_moved_to;
alter table test_moved_to.t set schema pg_temp;
alter table test_moved_to.t set schema pg_toast;
create temporary table temporary_one (a int);
alter table temporary_one set schema test_moved_to;
drop table temporary_one;
-- Each kind by its own statement, or by ALTER TABLE.
alter view test_moved_to.t set schema test_moved_from;
alter sequence test_moved_to.t set schema test_moved_from;
alter materialized view test_moved_to.t set schema test_moved_from;
alter table test_moved_to.v set schema test_moved_from;
alter table v set schema test_moved_to;
alter table test_moved_to.s set schema test_moved_from;
alter table test_moved_to.t_pkey set schema test_moved_from;
alter table pg_class set schema test_moved_from;
-- Names that are there.
create table test_moved_from.m (a int);
alter materialized view test_moved_to.m set schema test_moved_from;
drop table m;
create table m_a (a int);
alter materialized view test_moved_to.m set schema test_moved_from;
drop table m_a;
create type m as enum ('x');
alter materialized view test_moved_to.m set schema test_moved_from;
drop type m;
alter materialized view test_moved_to.m set schema test_moved_from;
begin;
alter materialized view m set schema test_moved_to;
rollback;
select count(*) from m;
select relname, relkind, relnamespace::regnamespace from pg_class
  where relnamespace in ('test_moved_from'::regnamespace, 'test_moved_to'::regnamespace) order by 1;
select conname, connamespace::regnamespace from pg_constraint
  where connamespace in ('test_moved_from'::regnamespace, 'test_moved_to'::regnamespace) order by 1;
select typname, typnamespace::regnamespace from pg_type where typrelid in ('m'::regclass, 'test_moved_to.t'::regclass)
  order by 1;
select refobjid::regnamespace from pg_depend where objid = 'm'::regclass and refclassid = 'pg_namespace'::regclass;
-- Who may.
create role mover;
grant usage, create on schema test_moved_from to mover;
grant usage on schema test_moved_to to mover;
set role mover;
create table test_moved_from.own (a int);
alter table test_moved_from.own set schema test_moved_to;
alter table test_moved_to.t set schema test_moved_from;
reset role;
grant create on schema test_moved_to to mover;
set role mover;
alter table test_moved_from.own set schema test_moved_to;
reset role;
begin read only;
alter table u set schema test_moved_to;
rollback;
drop owned by mover;
drop role mover;
drop schema test_moved_from cascade;
drop schema test_moved_to cascade;
