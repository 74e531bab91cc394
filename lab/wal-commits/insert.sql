\set aid random(1, 100000 * :scale)
insert into pgbench_inserts values (:aid, 'a row of about the length of one of pgbench''s history');
