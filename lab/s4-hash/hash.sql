\set aid random(1, 100000 * :scale)
SELECT abalance FROM accounts_hash WHERE aid = :aid;
