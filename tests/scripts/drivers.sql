-- What drivers ask by themselves: recursive queries within others, connections made as new.
create table tree (id int primary key, parent int);
insert into tree values (1, null), (2, 1), (3, 2), (4, 2), (5, 1), (6, null);
select t.id, (with recursive up(id, depth) as (
    select p.parent, 0 from tree p where p.id = t.id
    union all
    select p.parent, u.depth + 1 from tree p, up u where u.id = p.id and p.parent is not null
) select id from up order by depth desc limit 1) as root, (with recursive up(id) as (
    select t.id union select p.parent from tree p join up u on p.id = u.id
) select count(id) from up) as ancestors
from tree t order by id;
select pg_advisory_unlock_all();
close all;
unlisten *;
reset all;
drop table if exists public.nosuch, tree;
