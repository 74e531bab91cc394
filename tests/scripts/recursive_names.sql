-- A name that has become text keeps its collation in both terms.
with recursive t (a, d) as (select array_agg(attname::text), 0 from pg_attribute where attrelid = 1259 union all select null, d + 1 from t where d < 1) select d from t;
with recursive t (a, d) as (select x.a, 0 from (select array_agg(attname::text) as a from pg_attribute where attrelid = 1259) x union all select x.a, d + 1 from (select array_agg(attname::text) as a from pg_attribute where attrelid = 1259) x, t where d < 1) select d from t;
with recursive t (a, d) as (select x.a, 0 from (select (case when true then (select array_agg(attname::text) from pg_attribute where attrelid = 1259) else null end) as a) x union all select x.a, d + 1 from (select (case when true then (select array_agg(attname::text) from pg_attribute where attrelid = 1259) else null end) as a) x, t where d < 1) select d from t;
with recursive t (a, d) as (select attname, 0 from pg_attribute where attrelid = 1259 and attnum = 1 union all select attname, d + 1 from pg_attribute, t where d < 1 and attnum = 1 and attrelid = 1259) select d from t;
with recursive t (a, d) as (select attname::text, 0 from pg_attribute where attrelid = 1259 and attnum = 1 union all select attname::text, d + 1 from pg_attribute, t where d < 1 and attnum = 1 and attrelid = 1259) select d from t;
with recursive t (a, d) as (select attname, 0 from pg_attribute where attrelid = 1259 and attnum = 1 union all select 'x', d + 1 from t where d < 1) select d from t;
with recursive t (a, d) as (select attname::text, 0 from pg_attribute where attrelid = 1259 and attnum = 1 union all select 'x'::text, d + 1 from t where d < 1) select d from t;
with recursive t (a, d) as (select 'x'::text, 0 union all select attname::text, d + 1 from pg_attribute, t where d < 1 and attnum = 1 and attrelid = 1259) select d from t;
with recursive t (a, d) as (select array_agg(attname::text), 0 from pg_attribute where attrelid = 1259 union all select t.a, d + 1 from t where d < 1) select d from t;
with recursive t (a, d) as (select array_agg(attname::text), 0 from pg_attribute where attrelid = 1259 union select t.a, d + 1 from t where d < 1) select d from t;
with recursive t (a, d) as (select 'x', 0 union select a || 'y', d + 1 from t where d < 2) select * from t;
