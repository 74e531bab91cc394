set client_encoding='nope';
set client_encoding='iso-8859-1';
show client_encoding;
select pg_client_encoding();
select chr(8364);
set client_encoding='UTF8';
select convert_to(chr(8364),'LATIN1');
select convert_from('\x81','WIN1252');
select convert_from('\x81','nope');
select convert_to('a','nope');
select pg_char_to_encoding('latin-9'), pg_encoding_to_char(16), pg_encoding_to_char(99);
select convert_to(convert_from('\xa4e9','LATIN9'),'WIN1252');
select encode(convert_to('Привет', 'KOI8R'), 'hex'), encode(convert_to('Привет', 'WIN1251'), 'hex');
select name, setting from pg_settings where name = 'client_encoding';
reset client_encoding;
show client_encoding;
create table ce (a text);
copy ce from stdin with (encoding 'nope');
copy ce from stdin with (encoding 'latin1');
cafe
\.
copy ce to stdout with (encoding 'WIN1252');
drop table ce;
