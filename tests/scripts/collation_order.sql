-- Orders of texts by ICU's rules: the same words in many locales.
create table words (w text);
insert into words values
  ('Apfel'), ('Äpfel'), ('apfel'), ('Ärger'), ('Affe'), ('Adler'), ('Zaun'), ('Zäune'), ('zahlen'), ('Öl'),
  ('Ofen'), ('ofen'), ('Übel'), ('Ufer'), ('über'), ('aber'), ('Straße'), ('Strasse'), ('strasse'), ('Maß'),
  ('Masse'), ('Masz'), ('Fuß'), ('Fuss'), ('müssen'), ('mussen'), ('Müller'), ('Mueller'), ('Muller'),
  ('Mühle'), ('Goethe'), ('Göthe'), ('Götz'), ('Goetz'), ('ä'), ('Ä'), ('a'), ('A'), ('ae'), ('AE'), ('æ'),
  ('Æ'), ('ö'), ('Ö'), ('o'), ('O'), ('oe'), ('œ'), ('Œ'), ('ü'), ('Ü'), ('u'), ('U'), ('ß'), ('ss'), ('SS'),
  ('ål'), ('åka'), ('Åsa'), ('ångström'), ('Ängel'), ('ärta'), ('äpple'), ('öga'), ('önska'), ('zebra'),
  ('Zorn'), ('wagen'), ('vagn'), ('Wagner'), ('Vagner'), ('y'), ('Ymer'), ('cesta'), ('čas'), ('chléb'),
  ('chata'), ('hora'), ('holub'), ('ibis'), ('žába'), ('šátek'), ('sádra'), ('řeka'), ('ruka'), ('ďábel'),
  ('dub'), ('ťava'), ('tabák'), ('ňadra'), ('noc'), ('ú'), ('ů'), ('Úterý'), ('úl'), ('ulice'), ('Ch'), ('ch'),
  ('CH'), ('ci'), ('cz'), ('čb'), ('h'), ('g'), ('cote'), ('côte'), ('coté'), ('côté'), ('pêche'), ('péché'),
  ('pécher'), ('pêcher'), ('peche'), ('été'), ('etait'), ('était'), ('où'), ('ou'), ('Noël'), ('noel'),
  ('naïve'), ('naive'), ('élève'), ('eleve'), ('garçon'), ('garcon'), ('façade'), ('facade'), ('cœur'),
  ('coeur'), ('sœur'), ('l''eau'), ('leau'), ('ñandú'), ('nandu'), ('ñoño'), ('nono'), ('nunca'), ('llama'),
  ('lama'), ('luz'), ('chico'), ('cinco'), ('dado'), ('coche'), ('cola'), ('cuatro'), ('año'), ('ano'),
  ('źdźbło'), ('zdrowie'), ('żaba'), ('zając'), ('łódź'), ('lodz'), ('ćma'), ('cma'), ('ósmy'), ('osmy'),
  ('ąka'), ('akt'), ('ęk'), ('ekran'), ('ł'), ('l'), ('m'), ('ń'), ('n'), ('İstanbul'), ('istanbul'), ('ısı'),
  ('isi'), ('çay'), ('cay'), ('şeker'), ('seker'), ('ğ'), ('öz'), ('oz'), ('a1'), ('a2'), ('a10'), ('a20'),
  ('a100'), ('a01'), ('a001'), ('file1'), ('file10'), ('file2'), ('file9'), ('file21'), ('1'), ('2'), ('10'),
  ('9'), ('11'), ('100'), ('x-1'), ('x-10'), ('x-2'), ('v1.10'), ('v1.9'), ('v1.2'), ('resume'), ('résumé'),
  ('Resume'), ('Résumé'), ('RESUME'), ('co-op'), ('coop'), ('CO-OP'), ('co_op'), ('Co-op'), ('co'), ('op'),
  ('coop.'), ('(coop)'), ('[coop]'), ('"coop"'), ('vice-president'), ('vicepresident'), ('black'), ('bird'),
  ('blackbird'), ('black-bird'), ('ΑΒΓ'), ('αβγ'), ('Άλφα'), ('άλφα'), ('Ωμέγα'), ('ωμέγα'), ('βήτα'), ('дом'),
  ('Дом'), ('ёлка'), ('ель'), ('жук'), ('Ёж'), ('Яма'), ('юла'), ('ищи'), ('йод'), ('שלום'), ('אבא'), ('سلام'),
  ('باب'), ('e'), ('é'), ('è'), ('ê'), ('ë'), ('E'), ('É'), ('È'), ('Ê'), ('Ë'), ('ė'), ('ę'), ('i'), ('î'),
  ('ï'), ('I'), ('ı'), ('ñ'), ('N'), ('Ñ'), ('c'), ('č'), ('ç'), ('C'), ('Č'), ('Ç'), ('s'), ('š'), ('ş'),
  ('S'), ('Š'), ('z'), ('ž'), ('ż'), ('Z'), ('Ž'), ('d'), ('ď'), ('đ'), ('D'), ('Đ'), ('t'), ('ť'), ('T'),
  ('r'), ('ř'), ('R'), ('L'), ('aa'), ('Aa'), ('aA'), ('AA'), ('ab'), ('Ab'), ('aab'), ('á'), ('à'), ('â'),
  ('ã'), ('å'), ('Å'), ('-'), ('_'), (','), (';'), (':'), ('!'), ('?'), ('.'), (''''), ('('), (')'), ('['),
  (']'), ('{'), ('}'), ('@'), ('*'), ('/'), ('&'), ('#'), ('%'), ('+'), ('<'), ('='), ('>'), ('|'), ('~'),
  ('$'), ('0'), ('½'), ('²'), ('³'), ('µ'), ('black bird'), ('co op'), ('a b'), ('a  b'), ('ab c'), ('de la'),
  ('dela'), ('De La'), (' x'), ('x ');
select count(*) from words;
select string_agg(w, '|' order by w collate "und-x-icu") from words;
select string_agg(w, '|' order by w collate "en-x-icu") from words;
select string_agg(w, '|' order by w collate "en-US-x-icu") from words;
select string_agg(w, '|' order by w collate "de-x-icu") from words;
select string_agg(w, '|' order by w collate "de-AT-x-icu") from words;
select string_agg(w, '|' order by w collate "sv-x-icu") from words;
select string_agg(w, '|' order by w collate "cs-x-icu") from words;
select string_agg(w, '|' order by w collate "fr-x-icu") from words;
select string_agg(w, '|' order by w collate "fr-CA-x-icu") from words;
select string_agg(w, '|' order by w collate "da-x-icu") from words;
select string_agg(w, '|' order by w collate "nb-x-icu") from words;
select string_agg(w, '|' order by w collate "es-x-icu") from words;
select string_agg(w, '|' order by w collate "pl-x-icu") from words;
select string_agg(w, '|' order by w collate "tr-x-icu") from words;
select string_agg(w, '|' order by w collate "hu-x-icu") from words;
select string_agg(w, '|' order by w collate "et-x-icu") from words;
select string_agg(w, '|' order by w collate "ru-x-icu") from words;
select string_agg(w, '|' order by w collate "el-x-icu") from words;
select string_agg(w, '|' order by w collate "he-x-icu") from words;
select string_agg(w, '|' order by w collate "ar-x-icu") from words;
select string_agg(w, '|' order by w collate "en-US-u-va-posix-x-icu") from words;
select string_agg(w, '|' order by w collate "fi-x-icu") from words;
select string_agg(w, '|' order by w collate "sk-x-icu") from words;
select string_agg(w, '|' order by w collate "hr-x-icu") from words;
select string_agg(w, '|' order by w collate "lt-x-icu") from words;
select string_agg(w, '|' order by w collate "is-x-icu") from words;
select string_agg(w, '|' order by w collate "ro-x-icu") from words;
select string_agg(w, '|' order by w collate "cy-x-icu") from words;
select string_agg(w, '|' order by w collate "vi-x-icu") from words;
select string_agg(w, '|' order by w collate "uk-x-icu") from words;
create collation c_phonebook (provider = icu, locale = 'de-u-co-phonebk');
select string_agg(w, '|' order by w collate c_phonebook) from words;
create collation c_phonebook_old (provider = icu, locale = 'de@collation=phonebook');
select string_agg(w, '|' order by w collate c_phonebook_old) from words;
create collation c_numeric (provider = icu, locale = 'en-u-kn-true');
select string_agg(w, '|' order by w collate c_numeric) from words;
create collation c_numeric_old (provider = icu, locale = 'en@colNumeric=yes');
select string_agg(w, '|' order by w collate c_numeric_old) from words;
create collation c_upper (provider = icu, locale = 'en-u-kf-upper');
select string_agg(w, '|' order by w collate c_upper) from words;
create collation c_lower (provider = icu, locale = 'da-u-kf-lower');
select string_agg(w, '|' order by w collate c_lower) from words;
create collation c_shifted (provider = icu, locale = 'en-u-ka-shifted');
select string_agg(w, '|' order by w collate c_shifted) from words;
create collation c_shifted4 (provider = icu, locale = 'en-u-ka-shifted-ks-level4');
select string_agg(w, '|' order by w collate c_shifted4) from words;
create collation c_caselevel (provider = icu, locale = 'und-u-ks-level1-kc-true');
select string_agg(w, '|' order by w collate c_caselevel) from words;
create collation c_level1 (provider = icu, locale = 'und-u-ks-level1');
select string_agg(w, '|' order by w collate c_level1) from words;
create collation c_level2 (provider = icu, locale = 'de-u-ks-level2');
select string_agg(w, '|' order by w collate c_level2) from words;
create collation c_identic (provider = icu, locale = 'und-u-ks-identic');
select string_agg(w, '|' order by w collate c_identic) from words;
create collation c_trad (provider = icu, locale = 'es-u-co-trad');
select string_agg(w, '|' order by w collate c_trad) from words;
create collation c_space (provider = icu, locale = 'en-u-ka-shifted-kv-space');
select string_agg(w, '|' order by w collate c_space) from words;
create collation c_symbol (provider = icu, locale = 'en-u-ka-shifted-kv-symbol');
select string_agg(w, '|' order by w collate c_symbol) from words;
create collation c_root (provider = icu, locale = '');
select string_agg(w, '|' order by w collate c_root) from words;
create collation c_under (provider = icu, locale = 'fr_CA');
select string_agg(w, '|' order by w collate c_under) from words;
create collation c_many (provider = icu, locale = 'de-u-co-phonebk-kf-upper-kn-true-ks-level3');
select string_agg(w, '|' order by w collate c_many) from words;
select string_agg(w, '|' order by w collate "C") from words;
select string_agg(w, '|' order by w collate ucs_basic desc) from words;
select count(*), min(w collate "sv-x-icu"), max(w collate "sv-x-icu"), min(w collate "de-x-icu"), max(w collate "ru-x-icu") from words;
select string_agg(w, '|' order by w collate "cs-x-icu" desc) filter (where w collate "cs-x-icu" between 'c' and 'i') from words;
select string_agg(upper(w collate "de-x-icu"), '|' order by w collate "C") from words;
select string_agg(lower(w collate "de-x-icu"), '|' order by w collate "C") from words;
select string_agg(initcap(w collate "fr-x-icu"), '|' order by w collate "C") from words;
select upper(w collate "tr-x-icu"), lower(w collate "tr-x-icu"), upper(w collate "el-x-icu") from words where w in ('istanbul', 'ısı', 'I', 'Άλφα', 'i') order by w collate "C";
select initcap('hello wORLD, don''t stop-me NOW x2y 3rd o''neill' collate "en-x-icu"), lower('ΑΣ ΣΑΣ' collate "el-x-icu"), upper('ﬁ ß' collate "de-x-icu");
drop table words;
drop collation c_phonebook;
drop collation c_phonebook_old;
drop collation c_numeric;
drop collation c_numeric_old;
drop collation c_upper;
drop collation c_lower;
drop collation c_shifted;
drop collation c_shifted4;
drop collation c_caselevel;
drop collation c_level1;
drop collation c_level2;
drop collation c_identic;
drop collation c_trad;
drop collation c_space;
drop collation c_symbol;
drop collation c_root;
drop collation c_under;
drop collation c_many;
