-- servers: track_commit_timestamp=on
show track_commit_timestamp;
set track_commit_timestamp = off;
select name, setting, context, boot_val from pg_settings where name = 'track_commit_timestamp';
select pg_xact_commit_timestamp('0');
select pg_xact_commit_timestamp('1'), pg_xact_commit_timestamp('2');
select pg_xact_commit_timestamp_origin('0');
select * from pg_xact_commit_timestamp_origin('2');
create table timed (id int, v text);
insert into timed values (1, 'alone');
begin;
insert into timed values (2, 'top');
savepoint a;
insert into timed values (3, 'sub');
savepoint b;
insert into timed values (4, 'sub of sub');
rollback to b;
insert into timed values (5, 'after');
release a;
select pg_xact_commit_timestamp(pg_current_xact_id()::xid);
select id, pg_xact_commit_timestamp(xmin) is null as unknown from timed order by id;
commit;
select id, pg_xact_commit_timestamp(xmin) between now() - interval '1 minute' and now() as recent from timed order by id;
select count(distinct pg_xact_commit_timestamp(xmin)), count(distinct xmin::text) from timed where id > 1;
select (select pg_xact_commit_timestamp(xmin) from timed where id = 1) < (select pg_xact_commit_timestamp(xmin) from timed where id = 2);
-- The latest is the transaction, not one of its subtransactions.
select xid = (select xmin from timed where id = 2), timestamp = (select pg_xact_commit_timestamp(xmin) from timed where id = 5) from pg_last_committed_xact();
select roident from pg_last_committed_xact();
select roident, timestamp = (select pg_xact_commit_timestamp(xmin) from timed where id = 2) from pg_xact_commit_timestamp_origin((select xmin from timed where id = 3));
begin;
insert into timed values (6, 'rolled back');
select pg_current_xact_id()::xid as gone \gset
rollback;
select pg_xact_commit_timestamp(:'gone');
update timed set v = 'again' where id = 1;
select pg_xact_commit_timestamp(xmin) = (pg_last_committed_xact()).timestamp from timed where id = 1;
drop table timed;
