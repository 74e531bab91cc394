-- a sub-select that gives several columns is run once for each row
create table ua (id int primary key, a int, b text);
create table us (x int, y int);
insert into ua select i from generate_series(1, 40) i;
insert into us select i, i from generate_series(1, 50) i;
update ua set (a, b) = (select x, y from us order by random() limit 1);
select count(*) from ua where a::text <> b;
update ua set (b, a) = (select y, x from us where us.x >= ua.id - 100 order by random() limit 1);
select count(*), count(distinct a) > 1 from ua where a::text = b;
update ua set (a, b) = (select x, y from us where us.x = ua.id + 20);
select count(*), count(a), sum(a), min(b) from ua;
update ua set (a, b) = (select x, y from us where us.x > ua.id);
update ua set (a, b) = (select x from us where us.x = ua.id);
insert into ua values (1, 0, 0) on conflict (id) do update set (a, b) = (select x, y + excluded.a from us where us.x >= ua.id order by random() limit 1);
select count(*) from ua where id = 1 and a::text = b;
with w as (update ua set (a, b) = (select x, y from us where us.x = ua.id) where id < 4 returning *) select * from w order by id;
update ua set (a, b) = (select x, y from us where us.x = ua.id), id = (select -x from us where us.x = ua.id) where id = 5 returning *;
update ua set (a, b) = (select us.x, (select count(*) from us i where i.x < us.x) from us where us.x = ua.id) where id in (6, 7) returning *;
drop table ua, us;
