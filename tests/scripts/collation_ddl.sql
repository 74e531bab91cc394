-- CREATE, ALTER, DROP COLLATION, and what depends on collations.
create collation c1 (provider = icu, locale = 'de-u-co-phonebk');
create collation c1 (provider = icu, locale = 'de');
create collation if not exists c1 (provider = icu, locale = 'de');
create collation c2 (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
create collation c3 from "de-x-icu";
create collation c4 (locale = 'C');
create collation c5 (lc_collate = 'C', lc_ctype = 'POSIX');
create collation c6 (provider = libc, locale = 'nosuch');
create collation c7 (provider = icu);
create collation c8 (provider = foo, locale = 'C');
create collation c9 (locale = 'C', lc_collate = 'C');
create collation c10 (lc_collate = 'C');
create collation c11 (provider = icu, lc_collate = 'de', lc_ctype = 'de');
create collation c12 (foo = 1);
create collation c13 (locale = 'C', locale = 'C');
create collation c14 (locale = 'C', deterministic = false);
create collation c15 from "default";
create collation c16 from nosuch;
create collation c17 (from = 'C');
create collation c18 (from = "C", locale = 'C');
create collation nosuch.c18 (locale = 'C');
create collation c19 (provider = icu, locale = 'de_DE@collation=phonebook');
create collation c20c (provider = icu, locale = '@colNumeric=yes');
create collation c20d (provider = icu, locale = '');
create collation c22 (provider = icu, locale = 'de', deterministic = maybe);
create collation c23 (provider = icu, locale = 'de', deterministic);
create collation c24 (provider = icu, locale = 'de', deterministic = off);
select collname, collnamespace::regnamespace, collprovider, collisdeterministic, collencoding, collcollate, collctype, colliculocale, collversion is null from pg_collation where oid >= 16384 order by 1;
create table td (a text collate c1, b text);
create index ti on td (b collate c2);
create view vd as select b collate c3 as q from td;
drop collation c1;
drop collation c2;
drop collation c3;
drop collation c1 cascade;
drop collation c2 cascade;
\d td
select * from td;
drop collation c3 cascade;
drop collation nosuch;
drop collation if exists nosuch;
drop collation nosch.x;
drop collation if exists nosch.x;
alter collation c4 rename to c4b;
alter collation c4b rename to c5;
alter collation nosuch rename to q;
create schema sc;
alter collation c4b set schema sc;
alter collation sc.c4b set schema nosuch;
create collation c4b (locale = 'C');
alter collation c4b set schema sc;
alter collation sc.c4b owner to current_user;
alter collation sc.c4b owner to nosuch;
comment on collation sc.c4b is 'bytes';
comment on collation nosuch is 'bytes';
select obj_description('sc.c4b'::regcollation, 'pg_collation'), 'sc.c4b'::regcollation;
alter collation c5 refresh version;
alter collation c19 refresh version;
alter collation nosuch refresh version;
\dO
\dO sc.*
\dO+ c4b
create table tq (a text collate sc.c4b, b text);
create index on tq (b collate sc.c4b);
create view vq as select a, b collate sc.c4b as c from tq;
\d tq
\d vq
drop view vq;
drop table tq;
drop schema sc;
drop schema sc cascade;
create table t2 (a text default ('x' collate c19), check (a > 'b' collate c19), b text collate c5);
drop collation c19;
\d t2
insert into t2 values (default, 'q'), ('c', 'r'), ('B', 's');
drop table t2;
create table t3 as select 'a' collate c19 as x;
\d t3
drop collation c19;
alter table t3 alter x type text collate "C";
\d t3
drop collation c19;
begin;
create collation c30 (provider = icu, locale = 'sv');
select 'ö' collate c30 > 'z';
create table t4 (x text collate c30);
rollback;
select 'ö' collate c30 > 'z';
drop table td, t3;
drop collation c4b, c5, c17, c20c, c20d, c23, c24;
select count(*) from pg_collation where oid >= 16384;

-- Another collation alone: the rows stay where they are, the keys' order does not; what older rows lack is remembered.
create table cs (a int, x text collate "de-x-icu" unique) with (autovacuum_enabled = off);
insert into cs select g, chr(97 + g % 26) || g from generate_series(1, 100) g;
insert into cs values (0, 'Z'), (101, 'ä'), (102, 'B');
alter table cs add y text collate "de-x-icu" default 'late';
create index cs_y on cs (y);
create temp table was as select pg_relation_filenode('cs') node;
begin;
delete from cs where a between 10 and 99;
alter table cs alter x type text collate "C", alter y type text collate "C";
select a, x, y from cs order by x;
rollback;
select x from cs order by x limit 3;
alter table cs alter x type text collate "C";
alter table cs alter y type text collate "sv-x-icu";
select node = pg_relation_filenode('cs') from was;
set enable_seqscan = off;
select x from cs order by x limit 4;
select x, y from cs where x >= 'y' order by x;
select count(*) from cs where y = 'late';
reset enable_seqscan;
insert into cs values (200, 'B');
insert into cs (a) values (201) returning *;
alter table cs alter x type text;
select node = pg_relation_filenode('cs') from was;
alter table cs alter x type varchar(9) collate "C";
select count(*), min(y) from cs;
drop table cs, was;
