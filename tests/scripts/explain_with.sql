-- Queries of WITH in plans.
create table ew (a int primary key, b text);
insert into ew select g, 'x' || g from generate_series(1, 9) g;
explain (costs off) with c as materialized (select * from ew where b > 'x3') select * from c where a > 2;
explain (costs off) with c as materialized (select a from ew) select q.a from c q;
explain (costs off) with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select * from r where n > 2;
explain (costs off) with "C d" as materialized (select 1 as "X y") select "X y" from "C d";
explain (costs off) with w as (insert into ew values (10, 'y') returning a) select a from w;
explain (costs off, analyze, timing off, summary off) with c as materialized (select * from ew where b > 'x3') select count(*) from c where a > 6;
drop table ew;
