BEGIN;
INSERT INTO pgbench_test VALUES (1);
SELECT pg_sleep(10);
COMMIT;
