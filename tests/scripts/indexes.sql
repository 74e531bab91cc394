-- What partial indexes, indexes of expressions, and the ends of an index answer.
create schema ix; set search_path = ix;
create table o (id serial primary key, status int, placed timestamp, cust int, note text);
insert into o(status, placed, cust, note) select i%4, timestamp '2020-01-01' + i * interval '1 minute', i%1000, case when i%5>0 then 'n'||i end from generate_series(1,2500) i;
create index o1 on o (status, placed desc) where note is not null; create index o2 on o (cust, placed); analyze o;
select * from o where (cust, placed) > (5, '2020-01-05') order by cust, placed limit 2;
create index ol on o (lower(note)); create index oe on o ((cust % 10), placed); create index op on o (placed) where status = 3; create index oq on o (id) where cust > 900; analyze o;
select id from o where lower(note) = 'n7';
select id from o where lower(note) in ('n7','n8') order by 1;
select id from o where cust % 10 = 3 and placed < '2020-01-01 01:00' order by placed limit 2;
select id from o where status = 3 and placed < '2020-01-01 00:12' order by placed;
select id from o where status = 2 and placed < '2020-01-01 00:12' order by placed;
select count(*), min(id), max(id) from o where cust = 950 and id < 5000;
update o set status = 3 where id = 2; select id from o where status = 3 and placed < '2020-01-01 00:12' order by placed;
update o set note = 'N7' where id = 5; select id from o where lower(note) = 'n7' order by 1;
select min(cust), max(cust) from o; select max(cust) from o; select min(cust) from o where cust > 17; select max(placed) from o where cust = 5; select max(id) from o where id < 0; select max(id)+1, max(id) from o; select max(note) from o where cust=5;
create table mm (a int); create index on mm (a); insert into mm values (null),(3),(null),(1); select max(a) from mm; select min(a) from mm; delete from mm where a is not null; select max(a), coalesce(max(a),0) from mm; select max(a) from mm having max(a) is null;
select cust, (select max(id) from o i where i.cust = o.cust) from o where id < 4 order by id;
prepare pp(int) as select count(*) from o where status = $1 and placed < '2020-01-01 00:12'; execute pp(3); execute pp(2);
select count(*) from o where (cust, placed) > (990, '2020-01-05'); select count(*) from o where (cust, placed) <= (5, '2020-01-05');
select cust, placed from o where (cust, placed) < (5, '2020-01-02') order by cust desc, placed desc limit 3;
select cust, placed from o where (cust, placed) >= (5, '2020-01-14') order by cust, placed limit 3;
select count(*) from o where (cust, id) > (998.5, 3); select count(*) from o where (cust, placed) > (null, '2020-01-05');
explain (costs off) select id from o where lower(note) = 'n7';
explain (costs off) select * from o where id in (1, 2, 3);
set client_min_messages = error; drop schema ix cascade;
-- no more than 32 columns
reset search_path;
select 'create table wide (' || string_agg('c' || i || ' int', ', ' order by i) || ')' from generate_series(1, 34) i \gexec
select 'create index on wide (' || string_agg('c' || i, ', ' order by i) || ')' from generate_series(1, 33) i \gexec
select 'create index on wide (' || string_agg('c' || i, ', ' order by i) || ', nosuch)' from generate_series(1, 32) i \gexec
select 'create index w32 on wide (' || string_agg('c' || i, ', ' order by i) || ')' from generate_series(1, 32) i \gexec
select 'create index on wide (' || string_agg('c' || i, ', ' order by i) || ') include (c33)' from generate_series(1, 32) i \gexec
select 'create index on wide using nosuch (' || string_agg('c' || i, ', ' order by i) || ')' from generate_series(1, 33) i \gexec
select 'alter table wide add primary key (' || string_agg('c' || i, ', ' order by i) || ')' from generate_series(1, 33) i \gexec
select 'alter table wide add unique (' || string_agg('c' || i, ', ' order by i) || ') include (c33)' from generate_series(1, 32) i \gexec
select 'create table wide2 (' || string_agg('c' || i || ' int', ', ' order by i) || ', unique (' || string_agg('c' || i, ', ' order by i) || '))' from generate_series(1, 33) i \gexec
select 'alter table wide add foreign key (' || string_agg('c' || i, ', ' order by i) || ') references wide' from generate_series(1, 33) i \gexec
select 'alter table wide add foreign key (' || string_agg('nosuch' || i, ', ' order by i) || ') references wide' from generate_series(1, 33) i \gexec
select indexrelid::regclass, indnatts from pg_index where indrelid = 'wide'::regclass order by 1;
drop table wide;
