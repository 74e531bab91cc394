-- The columns and types of views about what the server has done, and what can be said of their figures without counting.

SELECT * FROM pg_stat_database WHERE false \gdesc
SELECT * FROM pg_stat_database_conflicts WHERE false \gdesc
SELECT * FROM pg_stat_user_tables WHERE false \gdesc
SELECT * FROM pg_stat_user_indexes WHERE false \gdesc
SELECT * FROM pg_statio_user_tables WHERE false \gdesc
SELECT * FROM pg_statio_user_indexes WHERE false \gdesc
SELECT * FROM pg_stat_progress_vacuum WHERE false \gdesc
SELECT * FROM pg_stat_bgwriter WHERE false \gdesc
SELECT * FROM pg_stat_database WHERE false;
SELECT * FROM pg_stat_database_conflicts WHERE datname = current_database() AND confl_lock > 0;
SELECT datname, numbackends > 0, xact_commit > 0, blks_hit > 0, conflicts, deadlocks
FROM pg_stat_database WHERE datname = current_database();
SELECT datid, datname, numbackends, xact_commit, xact_rollback, sessions FROM pg_stat_database WHERE datid = 0;
SELECT pg_stat_get_db_numbackends(1), pg_stat_get_db_xact_commit(99999), pg_stat_get_db_numbackends(NULL);
SELECT sum(numbackends) >= 1 FROM pg_stat_database;
SELECT count(*) FROM pg_stat_database d FULL JOIN pg_database USING (datname) WHERE d.datname IS NULL;
