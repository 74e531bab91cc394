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
-- What asks for a server that follows another.
select pg_is_in_recovery(), pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn(), pg_last_xact_replay_timestamp();
select pg_is_wal_replay_paused();
select pg_get_wal_replay_pause_state();
select pg_wal_replay_pause();
select pg_wal_replay_resume();
select pg_promote();
select * from pg_backup_stop();
select archived_count, last_archived_wal, last_archived_time, failed_count, last_failed_wal, last_failed_time,
  stats_reset <= clock_timestamp() from pg_stat_archiver;
-- The files, and the control file.
checkpoint;
select count(*) > 0, bool_and(size > 0), bool_and(modification <= clock_timestamp() + interval '1 minute') from pg_ls_waldir();
select pg_walfile_name(pg_current_wal_lsn()) in (select name from pg_ls_waldir());
select checkpoint_lsn >= redo_lsn, length(redo_wal_file), timeline_id, prev_timeline_id, next_xid ~ '^[0-9]+:[0-9]+$',
  next_oid > 10000::oid, checkpoint_time <= clock_timestamp(), pg_typeof(next_multixact_id), pg_typeof(oldest_xid)
  from pg_control_checkpoint();
select system_identifier <> 0, pg_control_last_modified <= clock_timestamp() + interval '1 minute' from pg_control_system();
select max_data_alignment, database_block_size, max_identifier_length, max_index_columns, float8_pass_by_value from pg_control_init();
select * from pg_control_recovery();
select name, setting, unit, vartype, min_val, max_val from pg_settings where name in ('archive_mode', 'backend_flush_after',
  'bgwriter_delay', 'bgwriter_flush_after', 'bgwriter_lru_maxpages', 'checkpoint_flush_after', 'checkpoint_warning',
  'track_io_timing', 'vacuum_cost_limit', 'vacuum_cost_page_dirty', 'vacuum_cost_page_hit', 'vacuum_cost_page_miss',
  'wal_keep_size', 'wal_log_hints', 'wal_writer_flush_after') and name <> 'archive_mode' order by name collate "C";
show archive_mode;
show archive_command;
show huge_pages;
show checkpoint_completion_target;
show bgwriter_lru_multiplier;
show wal_writer_delay;
show vacuum_cost_delay;
show checkpoint_flush_after;
