-- What VACUUM gives back of a table's end.
create table cut (a int primary key, b text) with (autovacuum_enabled = off);
insert into cut select i, repeat('x', 200) from generate_series(1, 5000) i;
select pg_relation_size('cut') as full \gset
delete from cut where a > 1000;
vacuum (truncate off) cut;
select pg_relation_size('cut') = :full as is_kept;
alter table cut set (vacuum_truncate = off);
vacuum cut;
select pg_relation_size('cut') = :full as is_kept;
vacuum (truncate) cut;
select pg_relation_size('cut') < :full / 4 as is_shorter, pg_relation_size('cut') > 0 as has_rows;
select count(*), min(a), max(a), count(b) from cut;
insert into cut select i, repeat('y', 200) from generate_series(2001, 4000) i;
select count(*), min(a), max(a), count(b) from cut;
select a from cut where a in (1000, 1001, 2000, 2001, 4000) order by a;
delete from cut;
vacuum cut;
select pg_relation_size('cut') > 0 as is_kept;
alter table cut reset (vacuum_truncate);
vacuum cut;
select pg_relation_size('cut');
select count(*) from cut;
insert into cut values (1, 'one');
select * from cut;
-- Nothing is cut off while somebody is at the table.
begin;
declare c cursor for select * from cut;
fetch c;
commit;
create temp table mine (a int);
insert into mine select generate_series(1, 5000);
delete from mine;
vacuum mine;
select pg_relation_size('mine');
vacuum (truncate maybe) cut;
-- PostgreSQL 16's.
vacuum (buffer_usage_limit 256) cut;
analyze (buffer_usage_limit '1 MB') cut;
drop table cut;
-- What VACUUM has written down of a table's pages goes with them.
create table seen (a int primary key, b int) with (autovacuum_enabled = off);
insert into seen select i, i from generate_series(1, 5000) i;
vacuum seen;
select relallvisible > 0 and relallvisible = relpages as is_known from pg_class where relname = 'seen';
truncate seen;
select relallvisible, relpages, reltuples from pg_class where relname = 'seen';
insert into seen select i, i from generate_series(1, 5000) i;
vacuum seen;
alter table seen alter b type bigint;
select relallvisible from pg_class where relname = 'seen';
drop table seen;

-- What is done for one table stays, whatever comes of the next.
CREATE TABLE kept_up (a int); INSERT INTO kept_up SELECT generate_series(1, 10);
CREATE TABLE not_kept (a int); INSERT INTO not_kept SELECT generate_series(1, 10);
ANALYZE kept_up, not_kept (b);
SELECT relname, reltuples FROM pg_class WHERE relname IN ('kept_up', 'not_kept') ORDER BY 1;
DELETE FROM kept_up WHERE a > 5;
VACUUM (ANALYZE) kept_up, not_kept (a, a);
SELECT relname, reltuples FROM pg_class WHERE relname IN ('kept_up', 'not_kept') ORDER BY 1;
BEGIN; ANALYZE kept_up, not_kept; ROLLBACK;
ANALYZE kept_up, not_kept \; SELECT 1;
VACUUM kept_up, not_kept \; SELECT 1;
VACUUM kept_up, not_kept;
VACUUM FULL kept_up, not_kept;
DROP TABLE kept_up, not_kept;
