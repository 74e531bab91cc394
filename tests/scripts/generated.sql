create schema test_generated;
set search_path to test_generated;
create table p (a int, b text, c int);
create unique index p_part on p (a) where c > 0;
create unique index p_expr on p (lower(b));
insert into p values (1, 'A', 1);
insert into p values (1, 'B', 0);
insert into p values (1, 'C', 2);
insert into p values (3, 'a', 2);
insert into p values (1, 'D', 3) on conflict (a) do nothing;
insert into p values (1, 'D', 3) on conflict (a) where c > 0 do nothing;
insert into p values (1, 'D', 3) on conflict (a) where c > 0 do update set b = excluded.b returning *;
insert into p values (9, 'd', 3) on conflict (lower(b)) do update set c = p.c + excluded.c returning *;
insert into p values (9, 'd', 3) on conflict (upper(b)) do nothing;
insert into p values (9, 'd', 3) on conflict (lower(b), a) do nothing;
insert into p values (1, 'zz', 0) on conflict (a) where c > 5 do nothing;
insert into p values (1, 'zy', 0) on conflict (a) where c = 5 do nothing;
insert into p values (1, 'zx', 0) on conflict (a) where c < 5 do nothing;
insert into p values (1, 'zz', 0) on conflict (a) where c > 0 and b is not null do nothing;
insert into p values (1, 'zz', 5) on conflict do nothing;
select * from p order by b;
create unique index p_two on p ((a + c), b);
insert into p values (1, 'D', 3) on conflict ((a + c), b) do nothing;
insert into p values (3, 'D', 1) on conflict ((c + a), b) do nothing;
update p set b = 'B' where b = 'D';
explain (costs off) insert into p values (1, 'D', 3) on conflict (a) where c > 0 do nothing;
explain (costs off) insert into p values (1, 'D', 3) on conflict do nothing;
create table g (a int primary key, b int generated always as (a * 2) stored, c text default 'q', d text generated always as (c || a::text) stored);
insert into g (a) values (1), (2);
insert into g values (3, default, 'z');
insert into g values (4, 5);
insert into g (a, b) values (4, 5);
insert into g (a, b) values (4, default), (5, default);
insert into g (a, b) overriding system value values (6, 1);
update g set a = 10 where a = 1;
update g set b = 10 where a = 1;
update g set b = default, c = 'w' where a = 5 returning *;
update g set (a, c) = (20, 'v') where a = 2 returning *;
select * from g order by a;
create index on g (b);
select * from g where b = 20;
alter table g add column e int generated always as (a + 1) stored;
select * from g order by a;
alter table g alter column b drop expression;
alter table g alter column b drop expression;
alter table g alter column b drop expression if exists;
insert into g (a, b) values (7, 8) returning *;
insert into g (a) values (7) on conflict (a) do update set c = 'again' returning *;
insert into g (a) values (30) on conflict (a) do update set d = 'x';
alter table g alter column a type bigint;
alter table g drop column a;
create table g4 (a int, b float generated always as (random()) stored);
create table g5 (a int, b int default 3 generated always as (a) stored);
create table g8 (a int, b int generated always as (a / 0) stored not null check (b > 0));
insert into g8 values (1);
create table g9 (a int, b int generated always as (a - 5) stored not null check (b > 0));
insert into g9 values (1);
insert into g9 values (null);
insert into g9 values (9);
update g9 set a = 2;
select attname, attgenerated, atthasdef from pg_attribute where attrelid = 'g9'::regclass and attnum > 0 order by attnum;
create table g10 (like g9);
create table g11 (like g9 including generated);
insert into g10 values (1, 1);
insert into g11 values (1);
select * from g10, g11;
\d g11
copy g9 to stdout;
copy g9 (b) to stdout;
copy g9 (a, b) from stdin;
copy g9 from stdin;
12
13
\.
select * from g9 order by a;
alter table g drop column a cascade;
select * from g order by 1;
create index inc on p (a) include (b, c);
create unique index inc2 on p (a, b) include (c);
create index inc3 on p (a) include ((b || 'x'));
create index inc3 on p (a) include (nosuch);
\d p
create table incl (a int, b int, c text, primary key (a) include (c), unique (b) include (c));
\d incl
insert into incl values (1, 1, 'x'), (2, 1, 'y');
insert into incl values (1, 1, 'x'), (1, 2, 'y');
select indexdef from pg_indexes where tablename = 'incl' order by 1;
select indnatts, indnkeyatts, indkey from pg_index where indrelid = 'incl'::regclass order by indexrelid;
insert into incl values (1, 1, 'x'), (2, 2, 'y');
update incl set c = 'z' where a = 1;
select * from incl where a = 1;
insert into inc values (1);
select * from inc;
alter table incl drop column c;
\d incl
\d+ incl
\d inc
select array['a'] || array['b', 'c'], array[1] || 2, 1 || array[2], array[1] || array[2.5];
