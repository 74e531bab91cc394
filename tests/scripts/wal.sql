-- Where the log is, what it has done, and the files it lies in.
select pg_typeof(wal_records), pg_typeof(wal_fpi), pg_typeof(wal_bytes), pg_typeof(wal_buffers_full), pg_typeof(wal_write),
  pg_typeof(wal_sync), pg_typeof(wal_write_time), pg_typeof(wal_sync_time), pg_typeof(stats_reset) from pg_stat_wal;
create table logged (id int primary key, t text);
insert into logged select n, repeat('x', 100) from generate_series(1, 100) n;
select wal_records >= 0, wal_fpi >= 0, wal_bytes >= 0, wal_buffers_full >= 0, wal_write >= 0, wal_sync >= 0,
  wal_write_time >= 0, wal_sync_time >= 0, stats_reset <= clock_timestamp() from pg_stat_wal;
select pg_stat_reset_shared('wal');
select stats_reset > clock_timestamp() - interval '1 minute' from pg_stat_wal;
select pg_stat_reset_shared(null);
select pg_stat_reset_shared('nonsense');
select pg_stat_reset_shared('archiver'), pg_stat_reset_shared('bgwriter'), pg_stat_reset_shared('recovery_prefetch');
select pg_current_wal_insert_lsn() >= pg_current_wal_lsn(), pg_current_wal_lsn() >= pg_current_wal_flush_lsn();
select pg_current_wal_flush_lsn() > '0/0';
select pg_wal_lsn_diff('0/3', '1/0'), pg_wal_lsn_diff('1/0', '0/3'), pg_wal_lsn_diff('0/3', null);
select pg_typeof(pg_wal_lsn_diff('0/3', '0/1')), pg_typeof(pg_current_wal_lsn()), pg_typeof(pg_walfile_name('1/1'));
create table before as select pg_current_wal_insert_lsn() as at, pg_walfile_name(pg_current_wal_insert_lsn()) as file;
insert into logged values (1000, 'y');
select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), at) between 50 and 1000000 from before;
select length(pg_walfile_name(pg_current_wal_lsn()));
select pg_walfile_name(pg_current_wal_lsn()) = file_name, file_offset >= 0 from pg_walfile_name_offset(pg_current_wal_lsn());
insert into logged values (1001, 'z');
update before set file = pg_walfile_name(pg_current_wal_insert_lsn());
select pg_switch_wal() > '0/0';
insert into logged values (1002, 'z');
select pg_walfile_name(pg_current_wal_insert_lsn()) > file from before;
select pg_reload_conf();
drop table logged, before;
