-- rows against the rows of a sub-select
select (1, 2) <> all (select 1, 3), (1, 2) <> any (select 1, 3);
select (1, 2) <> all (select 1, 2), (1, 2) <> any (select 1, 2);
select (1, 2) <> all (values (1, 3), (1, 2)), (1, 2) <> any (values (1, 3), (1, 2));
select (1, 2) = all (values (1, 2), (1, 2)), (1, 2) = all (values (1, 3), (1, 2));
select (1, null) <> all (select 1, 3), (1, null) <> any (select 1, 3), (1, null) <> all (select 2, 3);
select (1, 2) <> all (select 1, 3 where false), (1, 2) <> any (select 1, 3 where false);
create table rl (a int, b int);
insert into rl values (1, 1), (1, 2), (2, null), (null, null);
select * from rl where (a, b) <> all (select 1, 1) order by a, b;
select * from rl where (a, b) <> any (values (1, 1), (1, 2)) order by a, b;
select * from rl where not (a, b) <> all (select 1, 1) order by a, b;
select * from rl o where (a, b) <> all (select i.b, i.a from rl i where i.a = o.a) order by a, b;
-- arrays of arrays
select array(select array[1, 2] union all select array[3, 4]);
select array(select array[[a, b], [b, a]] from rl where b is not null order by a, b);
select array_ndims(array(select array[a] from rl)), array(select array[1] where false);
select array(select null::int[]);
select array(select '{}'::int[]);
select array(select array[1] union all select array[2, 3]);
select pg_typeof(array(select indkey from pg_index limit 0)), array_length(array(select proargtypes from pg_proc limit 2), 1);
select array[null::int[]], array[null::int[], null], array['{}'::int[], null];
select array[array[1], null::int[]];
select array[null::int[], array[1]];
drop table rl;
