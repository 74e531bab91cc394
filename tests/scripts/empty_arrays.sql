-- ALL over an empty array is true of a null as well, so it does not speak for an index over what is not null
create table ea (id int, x int);
insert into ea select i, case when i % 10 = 0 then null else i end from generate_series(1, 2000) i;
create index on ea (id) where x is not null;
analyze ea;
select id, x from ea where id = 10 and x <> all ('{}'::int[]);
select count(*) from ea where id between 10 and 20 and x > all ('{}'::int[]);
select id, x from ea where id = 10 and x = any ('{}'::int[]);
select id, x from ea where id = 10 and (x = any ('{}'::int[])) = false;
select id, x from ea where id = 11 and x = any ('{11}'::int[]);
drop table ea;
