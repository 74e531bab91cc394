-- Corners of binding: what is compared as a row, grouped, united or called where it may not be, as PostgreSQL has it.

create table be_t (a int, b int);
insert into be_t values (1, 10), (2, null), (null, 30), (1, 11);
create table be_u (a int, b int);
insert into be_u values (1, 10), (2, 20);

-- Rows are distinct where one of their fields is.
select row(1) is distinct from row(1::bigint);
select row(1,2) is distinct from row(1,null);
select row(1,2) is not distinct from row(1,null);
select (1,null) is distinct from (1,null), (1,null) is not distinct from (1,null);
select row() is distinct from row(), row() is not distinct from row();
select row(1,'x') is not distinct from row(1.0,'x'::text);
select row(null,1) is distinct from null, row(null,null) is distinct from null;
select row(1,2) is distinct from row(1);
select row(1) is not distinct from row(1,2);
select row('a',1) is distinct from row(1,'a');
select a, b from be_t where (a,b) is distinct from (1,10) order by a, b;
select row(t.*) is not distinct from row(u.*) as same, t.a, u.a from be_t t, be_u u where t.a = u.a order by 2, 3, 1;
select row(t.*) = row(u.*) as same, t.a, u.a from be_t t, be_u u where t.a = u.a order by 2, 3, 1;

-- What may not be grouped by, or summed.
select sum(grouping(a)) from be_t group by a;
select sum(1 + count(*)) from be_t;
select sum(a) filter (where grouping(a) = 0) from be_t group by a;
select grouping(a) as g, count(*) from be_t group by g;
select grouping(a) as g, count(*) from be_t group by a, 1;
select row_number() over () as r from be_t group by r;
select row_number() over () as r from be_t group by 1;
select 1 + count(*) as c from be_t group by c;
select a, grouping(a) as g, row_number() over (order by a) as r from be_t group by a order by g, a;

-- Two literals of no type are texts.
select '1' union select '2' union select 3;
select null union select null union select 1;
select 1 union values('2');
values(null) union values(1);
values('1') union values(1);
select 3 union (select '1' union select '2');
select '1' union all select 2 union all select 3.5;
select '1.5' union all select 2 union all select 3.5;
select null union all select 1 union all select null order by 1;
select '1' intersect select '1' except select 1;
select 'a' union all select 'b'::varchar(3);
select pg_typeof(x) from (select '1' union all select null) as s(x);
insert into be_u values ('3', '4'), (null, '5');
insert into be_u values ('3', '4'), (null, '5') order by 1;
insert into be_u select '6', '7';
insert into be_u select '6', '7' union select '8', '9';
table be_u order by a, b;

-- Sets have no place in CASE and COALESCE.
select case when true then generate_series(1,2) end;
select case generate_series(1,2) when 1 then 2 end;
select case when a = 1 then 1 else generate_series(1, generate_series(1,2)) end from be_t;
select case when generate_series(1,2) = 1 then 1 end, generate_series(1,2);
select coalesce(generate_series(1,2),1);
select coalesce(1, 2 + generate_series(1,2));
select coalesce((select generate_series(1,1)),1);
select greatest(generate_series(1,2),1);

-- Bounds of grouping sets.
select grouping(a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a) from be_t group by a order by 1 limit 1;
select grouping(a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a) from be_t group by a;
select count(*) from be_t group by cube(a,b,a,b,a,b,a,b,a,b,a,b), cube(a);
select count(*) from be_t group by cube(a,b,a,b,a,b,a,b,a,b,a,b), cube(a,b,a,b,a,b,a,b,a,b,a,b), cube(a,b,a,b,a,b,a,b,a,b,a,b);
select count(*) from be_t group by distinct cube(a,b,a,b,a,b,a,b,a,b,a,b), cube(a);
select count(*) from be_t group by grouping sets (cube(a,b,a,b,a,b,a,b,a,b,a,b), (a));
select count(*) from (select 1 from be_t group by cube(a,b,a,b,a,b,a,b,a,b), rollup(a,b,a)) as s;

-- Words that have no meaning where they stand.
select row_number() filter (where true) over () from be_t;
select lag(a) filter (where nope) over () from be_t;
select count(*) filter (where a = 1) over () from be_t limit 1;
select * from be_t join be_u using (a,a);
select * from be_t join be_u using (a,b,a);
select * from be_t join be_u using (nope,nope);
select 1 order by null;
select count(*) from be_t group by null;
select distinct on (null) a from be_t;
select 1 order by true;
select 1 order by null::int;
drop table be_t, be_u;
