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

-- Both terms of a recursive query have the same types, modifiers included.
with recursive t(x) as (select 'a'::varchar(3) union all select (x || 'b')::varchar(5) from t where length(x) < 3) select * from t;
with recursive t(x) as (select 'a'::varchar(3) union all select (x || 'b')::varchar(3) from t where length(x) < 3) select * from t;
with recursive t(x) as (select 'a'::varchar union all select x || 'b' from t where length(x) < 3) select * from t;
with recursive t(x) as (select 1::numeric(4,1) union all select (x + 1)::numeric(4,2) from t where x < 3) select * from t;
with recursive t(x) as (select 1::numeric(4,1) union all select (x + 1)::numeric(4,1) from t where x < 3) select * from t;
with recursive t(x) as (select 1::numeric(4,1) union all select x + 1 from t where x < 3) select * from t;
with recursive t(x) as (select 1 union all select x + 1::bigint from t where x < 3) select * from t;
with recursive t(x) as (select 1::bigint union all select 2 from t where x < 2) select * from t;
with recursive t(x) as (select 1 union all select 'two'::text from t) select * from t;
with recursive t(x, y) as (select 1, 2 union all select x + 1, '3' from t where x < 3) select * from t;
with recursive t(x) as (select 'a' union all select x || 'b' from t where length(x) < 3) select * from t;
with recursive t(x) as (select 'a' union all select 'b' from t where x = 'a') select * from t;
with recursive t(x) as (select null union all select 1 from t) select * from t;
with recursive t(x) as (select 1 union all select x, x from t) select * from t;
with recursive t(x) as (select 'a'::varchar(3)::varchar union all select (x || 'b')::varchar from t where length(x) < 3) select * from t;

-- A cast to the same type without a modifier takes the modifier away, and nothing else.
create table be_m (v varchar(5), n numeric(4,1), c char(4), l varchar(5)[]);
create index be_m_v on be_m (v);
insert into be_m values ('a', 1.5, 'b', '{c,d}');
create view be_w as select v::varchar as v, n::numeric as n, c::bpchar as c, l::varchar[] as l, v::varchar || 'x' as x from be_m;
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'be_w'::regclass and attnum > 0 order by attnum;
select * from be_w;
select v::varchar, count(*) from be_m group by v::varchar;
select v::varchar, count(*) from be_m group by v;
select n from be_m where v::varchar = 'a';
select distinct n::numeric from be_m order by n::numeric;
drop view be_w;
drop table be_m;

-- Where a recursive query may refer to itself.
with recursive t(x) as (select x from t union all select 1) select * from t;
with recursive t(x) as (select 1 where exists (select 1 from t) union all select x + 1 from t where x < 3) select * from t;
with recursive t(x) as (select 1 union all select x + 1 from t where x < (select max(x) from t)) select * from t;
with recursive t(x) as (select 1 union all select x + 1 from be_u where exists (select 1 from t)) select * from t;
with recursive t(x) as (select 1 union all select (select max(x) from t)) select * from t;
with recursive t(x) as (select 1 union all select 2 having (select count(*) from t) > 0) select * from t;
with recursive t(x) as (select 1 union all select u.a from be_u u left join t on t.x = u.a) select * from t;
with recursive t(x) as (select 1 union all select u.a from t right join be_u u on t.x = u.a) select * from t;
with recursive t(x) as (select 1 union all select u.a from t full join be_u u on t.x = u.a) select * from t;
with recursive t(x) as (select 1 union all select t.x + 1 from t left join be_u u on t.x = u.a where t.x < 3) select * from t;
with recursive t(x) as (select 1 union all select t.x + 1 from be_u u right join t on t.x = u.a where t.x < 3) select * from t;
with recursive t(x) as (select 1 union all (select x + 1 from t where x < 3 except select 7)) select * from t;
with recursive t(x) as (select 1 union all (select 1 except select x from t)) select * from t;
with recursive t(x) as (select 1 union all (select x + 1 from t except all select 7)) select * from t;
with recursive t(x) as (select 1 union all (select x + 1 from t intersect select 2)) select * from t;
with recursive t(x) as (select 1 union all (select x + 1 from t intersect all select 2)) select * from t;
with recursive t(x) as (select 1 union all select t1.x + 1 from t t1, t t2 where t1.x < 3) select * from t;
with recursive t(x) as (select 1 union all (select x + 1 from t union all select x + 2 from t)) select * from t;
with recursive t(x) as (select 1 union all select count(*)::int from t) select * from t;
with recursive t(x) as (select 1 union all select x + 1 from t group by x having sum(x) < 3) select * from t;
with recursive t(x) as (select 1 union all select x + 1 from t where x < 3 group by x) select * from t;
with recursive t(x) as (select 1 union all select s.x + 1 from (select x from t) s where s.x < 3) select * from t;
with recursive t(x) as (select 1 union all (with v as (select x from t) select x + 1 from v where x < 3)) select * from t;
with recursive t(x) as (select 1 union all (with t as (select 5 as x) select x from t)) select * from t;
with recursive t(x) as (with v as (select * from t) select 1 union all select x + 1 from t where x < 3) select * from t;
with recursive t(x) as (with v(b) as (select 1) select b from v union all select x + b from t, v where x < 3) select * from t;
with recursive t(x) as (select 1 intersect select x from t) select * from t;
with recursive t(x) as (select x from t) select * from t;
with recursive t(x) as (insert into be_u select * from t returning a) select * from t;
with recursive t(x) as (select 1 union all select x + 1 from t where x < 3 order by 1) select * from t;
with recursive t(x) as (select 1 union all select x + 1 from t where x < 3 limit 5) select * from t;
with recursive t(x) as (select 1 union all select x + 1 from t where x < 3 offset 5) select * from t;
with recursive t(x) as (select 1 union all select x + 1 from t where x < 3 for update) select * from t;
with recursive t(x) as (select 1 union all select x + 1 from public.t where x < 3) select * from t;

-- The queries of WITH RECURSIVE stand in any order.
with recursive a as (select * from b), b as (select 1 as q) select * from a;
with recursive a as (select * from b, c), b as (select q + 1 as r from c), c as (select 1 as q) select * from a;
with recursive a as (select * from b), b as (select * from a) select * from a;
with recursive z as (select 1 as q), a as (select * from b), b as (select * from c), c as (select * from a) select * from z;
with recursive a(x) as (select y from b union all select x + 1 from a where x < 4), b(y) as (select 2) select * from a;
with recursive a as (select (select q from b) as p), b as (with c as (select 3 as q) select * from c) select * from a;
with recursive a as (select * from b), b as (with a as (select 1 as q) select * from a) select * from a;
with recursive a as (insert into be_u select * from b returning a, b), b as (select 100, 200) select * from a;
with a as (select * from b), b as (select 1 as q) select * from a;
with recursive a as (select * from nowhere), b as (select 1 as q) select * from a;
create view be_v as with recursive a as (select * from b), b as (select 1 as q) select * from a;
select * from be_v;
drop view be_v;
drop table be_t, be_u;
