-- owners: who may be one, and what they then own
\pset format unaligned
create table owned (id serial primary key, a int unique);
create view owned_view as select * from owned;
create sequence owned_seq;
create index owned_a on owned (a);
create schema owned_schema;
create table owned_schema.t (a int);
create collation owned_coll (provider = icu, locale = 'de');
create database owned_db;
alter table owned owner to nobody;
alter table nosuch owner to postgres;
alter table nosuch owner to nobody;
alter table if exists nosuch owner to postgres;
alter table owned owner to public;
alter table owned owner to none;
alter table owned owner to current_user;
alter table owned owner to session_user, add column b int;
alter table owned owner to pg_database_owner;
select relname, pg_get_userbyid(relowner) from pg_class where relname like 'owned%' order by 1;
select typname, pg_get_userbyid(typowner) from pg_type where typname in ('owned', 'owned_view') order by 1;
alter table owned owner to current_role;
select relname, pg_get_userbyid(relowner) from pg_class where relname like 'owned%' order by 1;
alter view owned_view owner to nobody;
alter view owned_view owner to pg_database_owner;
alter view owned owner to postgres;
alter table owned_view owner to pg_database_owner;
alter sequence owned_seq owner to nobody;
alter sequence owned_seq owner to pg_database_owner;
alter sequence owned owner to postgres;
alter sequence owned_id_seq owner to pg_database_owner;
alter table owned_seq owner to pg_database_owner;
alter table owned_id_seq owner to pg_database_owner;
alter index owned_a owner to pg_database_owner;
alter index owned_a owner to postgres;
alter index owned owner to postgres;
alter table owned_a owner to pg_database_owner;
alter table owned_a owner to postgres;
alter index nosuch owner to postgres;
alter view nosuch owner to postgres;
alter sequence nosuch owner to postgres;
alter view if exists nosuch owner to postgres;
select relname, pg_get_userbyid(relowner) from pg_class where relname like 'owned%' order by 1;
begin;
alter table owned owner to pg_database_owner;
savepoint s;
alter table owned owner to pg_database_owner;
rollback to s;
select pg_get_userbyid(relowner) from pg_class where relname = 'owned';
rollback;
select pg_get_userbyid(relowner) from pg_class where relname = 'owned';
alter schema owned_schema owner to nobody;
alter schema nosuch owner to postgres;
alter schema owned_schema owner to pg_database_owner;
\dn owned_schema
alter collation owned_coll owner to nobody;
alter collation nosuch owner to postgres;
alter collation owned_coll owner to pg_database_owner;
\dO owned_coll
alter database owned_db owner to nobody;
alter database nosuch owner to postgres;
alter database owned_db owner to pg_database_owner;
select datname, pg_get_userbyid(datdba) from pg_database where datname = 'owned_db';
\dt owned
\dv owned_view
\ds owned_seq
drop database owned_db;
drop collation owned_coll;
drop schema owned_schema cascade;
drop view owned_view;
drop table owned;
drop sequence owned_seq;
