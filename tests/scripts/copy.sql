create table c (a int, b text, d date);
copy c from stdin;
1	one	2020-01-01
2	tab\there	\N
3	\N	2020-02-02
\.
select * from c order by a;
copy c to stdout;
copy c (b, a) to stdout with (format csv, header);
copy (select a, b from c where a > 1 order by a) to stdout with (format csv, force_quote (b), null 'nil');
copy c from stdin with (format csv, header true, null 'NULL');
a,b,d
10,"quoted, ""comma""",2021-01-01
11,NULL,NULL
12,"multi
line",2021-03-03
\.
select * from c where a >= 10 order by a;
copy c from stdin;
x	bad	2020-01-01
\.
copy c from stdin;
20	too	2020-01-01	many
\.
copy c from stdin;
20
\.
copy c from stdin with (delimiter '|');
30|pipe|2022-02-02
\.
select * from c where a = 30;
copy c (a) from stdin;
40
41
\.
select count(*) from c;
copy nosuch from stdin;
copy c to stdout with (format binary, header);
begin;
truncate c;
copy c from stdin with (freeze);
1	frozen	2020-01-01
\.
commit;
select * from c;
copy c from stdin with (freeze);
drop table c;
create table z (a int, b text);
copy z from stdin;
1	fine
2	a\000b
\.
copy z from stdin;
1	a\x00b
\.
copy z from stdin;
1	a\xc3b
\.
select * from z;
drop table z;

-- The mark of the data's end ends the line that it stands in, too.
CREATE TABLE marked (a text);
COPY marked FROM STDIN;
one
two\.
three
\.
TABLE marked;
COPY marked FROM STDIN;
one\.two
three
\.
COPY marked FROM STDIN;
\.x
three
\.
COPY marked FROM STDIN WITH (FORMAT csv);
one\.
\.two
\.
TABLE marked;
TRUNCATE marked;
COPY marked FROM STDIN;
one
two\.x
\.
COPY marked FROM STDIN WITH (HEADER);
one\.
two
\.
TABLE marked;
DROP TABLE marked;
