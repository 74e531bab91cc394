-- LIKE by an index on the text: the answers are those without one, whatever the pattern begins with.
create table words (id int primary key, w text, v varchar(20), n name, tag int);
insert into words
  select g, case g % 7 when 0 then 'wo%rd' when 1 then 'wo_rd' when 2 then 'wörd' when 3 then 'word' when 4 then null
                       when 5 then '' else 'x' end || g,
         'v' || g % 100, 'n' || g % 50, g % 3
  from generate_series(1, 700) g;
insert into words values (1001, 'a', 'a', 'a', 1), (1002, 'a' || chr(1114111), 'b', 'b', 1),
  (1003, 'a' || chr(1114111) || 'z', 'c', 'c', 2), (1004, 'b', 'd', 'd', 0), (1005, 'a' || chr(55295), 'e', 'e', 0),
  (1006, 'a' || chr(57344), 'f', 'f', 0), (1007, 'A', 'A', 'A', 0);
create index words_w on words (w);
create index words_v on words (v desc);
create index words_n on words (n);
create index words_tag on words (tag, w);
create index words_lower on words (lower(w));
select count(*), min(id), max(id) from words where w like 'wo%';
select count(*) from words where w like 'wo\%%';
select count(*) from words where w like 'wo\_%';
select count(*) from words where w like 'wo!%%' escape '!';
select count(*) from words where w like 'wo_r%';
select count(*) from words where w like 'wö%';
select count(*) from words where w like '%7';
select count(*) from words where w like '%';
select count(*) from words where w like '';
select count(*) from words where w like '_ord%';
select count(*) from words where w like null;
select id from words where w like 'word10' order by id;
select id from words where w like 'a%' order by w, id;
select id from words where w like 'a' || chr(1114111) || '%' order by id;
select id from words where w like 'a' || chr(55295) || '%' order by id;
select id from words where w like chr(1114111) || '%' order by id;
select count(*) from words where v like 'v1%';
select v, count(*) from words where v like 'v1%' group by v order by v desc;
select count(*) from words where n like 'n4%';
select count(*) from words where tag = 1 and w like 'word%';
select count(*) from words where tag = 1 and w like '%1';
select count(*) from words where lower(w) like 'wo%' and w not like '%1%';
select count(*) from words where w like 'wo%' and w > 'wor';
select count(*) from words where w like 'word1%' or w like 'x2%';
select count(*) from words where w like 'word1%' or w like '%9';
prepare by_pattern(text) as select count(*), min(w), max(id) from words where w like $1;
execute by_pattern('wo%');
execute by_pattern('%1');
execute by_pattern('');
execute by_pattern(null);
execute by_pattern('word1_');
prepare in_order(text) as select id from words where w like $1 order by w limit 5;
execute in_order('word%');
execute in_order('%d1%');
prepare of_tag(int, text) as select count(*) from words where tag = $1 and w like $2;
execute of_tag(1, 'w%');
execute of_tag(1, '%1');
select p, (select count(*) from words where w like p) from unnest(array['wo%', '%1', 'x', null, 'a%', '_o%']) p;
update words set tag = tag + 10 where w like 'a%';
delete from words where w like 'x%';
select tag, count(*) from words group by tag order by tag;
-- Collations: there is one, under several names.
create table coll (a text collate "C", b text[] collate "POSIX", c varchar collate "default");
create table coll_int (a int collate "C");
create table coll_none (a text collate "nosuch");
alter table coll add d text collate "nosuch";
alter table coll alter a type varchar collate "nosuch";
alter table coll alter b type int collate "C";
create index on coll (a collate "nosuch");
create index on coll (a collate "C");
select 1 collate "C";
select 'a' collate "nosuch";
select 'a' < 'B' collate "C";
drop table coll, words;
