-- rel.* as an argument is the whole row
create table sa (a int, b text);
insert into sa values (1, 'x'), (2, null), (null, null);
select count(sa.*), count(*), count(s.*) from sa, sa s;
select (select count(sa.*) from sa s) from sa order by 1;
select count(nobody.*) from sa;
select count(distinct sa.*) from sa;
-- the column that USING merges
create table si (k int, a int);
create table sn (k numeric, b int);
insert into si values (1, 1), (2, 2);
insert into sn values (1.00, 1), (2.0, 2);
select k, pg_typeof(k) from si join sn using (k) order by 1;
select k, pg_typeof(k) from sn join si using (k) order by 1;
select k, pg_typeof(k) from si left join sn using (k) order by 1;
select k, pg_typeof(k) from si right join sn using (k) order by 1;
select k, pg_typeof(k) from si full join sn using (k) order by 1;
select * from si natural join sn order by 1;
-- a null argument does not spare the others
select x + 1 / y from (values (null::int, 0)) v (x, y);
select 1 / y + x from (values (null::int, 0)) v (x, y);
select substr(null::text, 1 / y) from (values (0)) v (y);
-- delimiters are found from the front
select split_part('aaa', 'aa', -1), split_part('aaa', 'aa', 1), split_part('aaa', 'aa', -2), split_part('aaa', 'aa', -3);
select split_part('a,b,c', ',', -1), split_part('a,b,c', ',', -3), split_part('a,b,c', ',', -4), split_part('', ',', -1);
drop table sa, si, sn;
