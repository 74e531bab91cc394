-- what WITH names, in the parts of an INSERT
create table wa (id int generated always as identity, note text);
create table wb (id int primary key, v int);
with n as (insert into wa default values returning id) insert into wb values ((select id from n));
with n as (select 5 as v) insert into wb values ((select v from n), (select v + 1 from n)), (7, (select v from n)) returning *;
with n as (select 5 as v) insert into wb values (8, 8) returning id, (select v from n), (select n.v + wb.v from n);
with n as (select 9 as v) insert into wb values (8, 1) on conflict (id) do update set v = (select v from n);
with n as (select 9 as v) insert into wb values (8, 1) on conflict (id) do update set v = (select n.v + excluded.v + wb.v from n) where wb.v = (select v from n);
with n as (select generate_series(1, 3) as v) insert into wb select v + 20, v from n returning id in (select v + 21 from n), *;
with n as (select 31 as v), m as (insert into wb values ((select v from n)) returning id) insert into wb values ((select id + 1 from m)) returning id, (select id from m);
with n as (select 4 as v) update wb set v = (select v from n) where id = 7 returning id, (select v from n);
with n as (select 7 as v) delete from wb where id = (select v from n) returning id, (select v from n);
insert into wb values (40, (select count(*) from wb)), (41, 2) returning (select max(id) from wb w where w.id < wb.id);
select * from wb order by id;
-- names of a recursive query's own WITH are its own
with recursive r as (with s as (select 1 as x) select x from s union all select x + 1 from r where x < 3) select * from r, s;
with recursive s as (select 10 as x), r as (with s as (select 1 as x) select x from s union all select x + 1 from r where x < 3) select * from r, s order by 1;
with recursive r as (with s as (select 1 as x) select x from s union all select x + 1 from r where x < 3), s as (select 10 as x) select * from r, s order by 1;
with recursive r as (with s as (select 1 as x) select x from s union all select r.x + s.x from r, s where r.x < 3), t as (select * from r) select * from t order by 1;
drop table wa, wb;
