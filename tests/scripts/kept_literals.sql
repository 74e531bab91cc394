-- constants that are read by the settings of the moment
set timezone = 'UTC';
select timestamptz '2024-01-01 00:00';
select timestamptz '2024-01-01 00:00' = timestamptz '2024-01-01 00:00+00';
set timezone = 'America/New_York';
select timestamptz '2024-01-01 00:00';
select timestamptz '2024-01-01 00:00' = timestamptz '2024-01-01 00:00+00';
set timezone = 'UTC';
set datestyle = 'ISO, MDY';
select date '01/02/2024', timestamp '01/02/2024 10:00', date[] '{01/02/2024}';
set datestyle = 'ISO, DMY';
select date '01/02/2024', timestamp '01/02/2024 10:00', date[] '{01/02/2024}';
select date '2024-01-02', timestamp '2024-01-02 10:00';
set datestyle = 'ISO, MDY';
select interval '-1 2:03:04';
set intervalstyle = 'sql_standard';
select interval '-1 2:03:04' = interval '-1 days -02:03:04';
set intervalstyle = 'postgres';
select interval '-1 2:03:04' = interval '-1 days -02:03:04';
-- and by what is written out they do not change
create table kz (at timestamptz default '2024-01-01 00:00', n int);
set timezone = 'America/New_York';
insert into kz (n) values (1);
select timestamptz '2024-01-01 00:00:00+00', timestamp '2024-01-01 00:00:00+00', timestamptz '2024-01-01 00:00:00.5-03:30';
select date_trunc('day', timestamptz '2024-01-01 00:00:00+00'), (timestamptz '2024-01-01 00:00:00+00')::date;
select 'x' || timestamptz '2024-01-01 00:00:00+00', '2024-01-01 00:00'::text::timestamptz;
set timezone = 'UTC';
insert into kz (n) values (2);
select timestamptz '2024-01-01 00:00:00+00', timestamp '2024-01-01 00:00:00+00', timestamptz '2024-01-01 00:00:00.5-03:30';
select date_trunc('day', timestamptz '2024-01-01 00:00:00+00'), (timestamptz '2024-01-01 00:00:00+00')::date;
select 'x' || timestamptz '2024-01-01 00:00:00+00', '2024-01-01 00:00'::text::timestamptz;
select * from kz order by n;
-- the time
create table kl (n int, t timestamp);
insert into kl values (1, timestamp 'now');
select pg_sleep(0.01);
insert into kl values (1, timestamp 'now');
select count(distinct t) from kl;
select date 'today' = current_date, timestamptz 'now' = now();
select pg_sleep(0.01);
select date 'today' = current_date, timestamptz 'now' = now();
-- in ORDER BY
create table kd (d date);
insert into kd values ('2024-01-20'), ('2024-02-20');
select d from kd order by d > '01/02/2024', d;
set datestyle = 'ISO, DMY';
select d from kd order by d > '01/02/2024', d;
select d from kd order by d > '02/01/2024' desc, d desc;
set datestyle = 'ISO, MDY';
select d from kd order by d > '02/01/2024' desc, d desc;
-- a prepared statement reads them once
set timezone = 'UTC';
prepare kp as select timestamptz '2024-01-01 00:00' = timestamptz '2024-01-01 00:00+00';
execute kp;
set timezone = 'America/New_York';
execute kp;
prepare kq as select timestamptz '2024-01-01 00:00' = timestamptz '2024-01-01 00:00+00';
execute kq;
set timezone = 'UTC';
execute kp;
execute kq;
-- the fields of an interval say how its text is read
select '5'::interval minute, '5'::interval hour, '5'::interval;
select '7'::interval minute, '7'::interval hour, '7'::interval;
create table ki (m interval minute, y interval year to month, s interval second(1));
insert into ki values ('5', '2', '3.14');
insert into ki values ('6', '3', '4.15');
update ki set m = '8' where y = '3 years';
select * from ki order by 1;
-- an expression of the list and of ORDER BY that looks the same is the same
select count(*) from (select r, lag(r) over () as before from (select random() * 10 as r from generate_series(1, 50) order by random() * 10) s) t where r < before;
select setseed(0.5);
with s as (select random() * 10 as r from generate_series(1, 50) order by random() * 10) select count(*) from (select r, lag(r) over () as before from s) t where r < before;
drop table kl, kd, ki, kz;
