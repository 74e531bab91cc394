-- What an index, or a generated column, computes must be the same for ever.
CREATE TABLE im (a int, t text, d date, s timestamp, z timestamptz, n numeric, arr timestamptz[]);
CREATE INDEX ON im ((a + 1));
CREATE INDEX ON im (lower(t));
CREATE INDEX ON im ((d + 1));
CREATE INDEX ON im ((s::date));
CREATE INDEX ON im ((n::text));
CREATE INDEX ON im ((a::text));
CREATE INDEX ON im ((coalesce(a, 0)));
CREATE INDEX ON im ((nullif(a, 0)));
CREATE INDEX ON im ((a IS DISTINCT FROM 3));
CREATE INDEX ON im ((a = ANY (ARRAY[1, 2, 3])));
CREATE INDEX ON im ((extract(year FROM s)));
CREATE INDEX ON im ((date_trunc('day', s)));
CREATE INDEX ON im ((random()));
CREATE INDEX ON im ((now()));
CREATE INDEX ON im ((current_date - d));
CREATE INDEX ON im ((current_user || t));
CREATE INDEX ON im ((z::date));
CREATE INDEX ON im ((z::text));
CREATE INDEX ON im ((s::text));
CREATE INDEX ON im ((s::timestamptz));
CREATE INDEX ON im ((t::timestamptz));
CREATE INDEX ON im ((t::date));
CREATE INDEX ON im ((arr::text));
CREATE INDEX ON im ((extract(hour FROM z)));
CREATE INDEX ON im ((date_trunc('day', z)));
CREATE INDEX ON im ((date_trunc('day', z, 'UTC')));
CREATE INDEX ON im ((s > z));
CREATE INDEX ON im ((s IS DISTINCT FROM z));
CREATE INDEX ON im ((nullif(s, z)));
CREATE INDEX ON im ((s = ANY (arr)));
CREATE INDEX ON im (((s, a) < (z, 1)));
CREATE INDEX ON im ((to_char(s, 'YYYY')));
CREATE INDEX ON im ((t::regclass));
-- Conditions, too.
CREATE INDEX im_yes ON im (a) WHERE a > 3 AND t LIKE 'x%';
CREATE INDEX im_yes2 ON im (a) WHERE s > '2020-01-01';
CREATE INDEX ON im (a) WHERE z > now();
CREATE INDEX ON im (a) WHERE z > '2020-01-01'::date;
CREATE INDEX ON im (a) WHERE a > random();
CREATE INDEX ON im (a) WHERE a > nextval('nowhere');
\d im
-- CHECK may ask what it likes.
ALTER TABLE im ADD CONSTRAINT im_check CHECK (z <= now());
INSERT INTO im (z) VALUES ('4000-01-01 00:00:00+00');
-- Errors in expressions have their places.
CREATE INDEX ON im ((a + nowhere));
CREATE INDEX ON im (lowest(t));
CREATE INDEX ON im (a) WHERE nowhere > 3;
CREATE INDEX ON im (a) WHERE a;
CREATE INDEX ON im ((count(*)));
CREATE INDEX ON im ((SELECT 1));
CREATE INDEX ON im ((generate_series(1, a)));
ALTER TABLE im ADD CHECK (nowhere > 3);
ALTER TABLE im ADD CHECK (a);
ALTER TABLE im ADD CHECK (count(*) > 0);
DROP TABLE im;
