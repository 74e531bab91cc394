create table gs (id int primary key, name text, n int);
insert into gs values (1, 'a', 10), (2, 'b', 20);
-- a primary key says what the rest is only where it is in every set
select id, name, count(*) from gs group by id order by 1;
select id, name, count(*) from gs group by rollup (id);
select id, name, count(*) from gs group by grouping sets ((id), (n));
select id, name, count(*) from gs group by grouping sets ((id), (id, n)) order by 1, 2, 3;
select id, name, n, count(*) from gs group by id, rollup (n) order by 1, 2, 3, 4;
-- sets are the same whatever the order of their columns
select id, n, count(*) from gs group by distinct grouping sets ((id, n), (n, id)) order by 1, 2;
select id, n, count(*) from gs group by grouping sets ((id, n), (n, id)) order by 1, 2;
select id, n, count(*) from gs group by distinct rollup (id, n), rollup (n, id) order by 1, 2;
-- GROUPING is asked of grouping columns
select grouping(id), count(*) from gs group by id order by 1;
select grouping(n), count(*) from gs group by id;
select grouping(id), count(*) from gs;
select grouping(id, n), id, n from gs group by cube (id, n) order by 1, 2, 3;
select id from gs group by id having grouping(name) = 0;
drop table gs;
