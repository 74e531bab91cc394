#!/bin/sh
# Takes the facts about functions, operators, casts and aggregates from a PostgreSQL 15.
# Usage: export.sh BODIES, with BODIES as written by the test func::tests::every_body_is_some_functions and psql's
# environment (PGHOST, PGPORT, PGUSER) pointing at the server.
set -eu
bodies=$1
here=$(dirname "$0")
types="SELECT oid FROM pg_type WHERE oid IN (16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,114,194,
  269,325,650,700,701,705,869,1033,1042,1043,1082,1083,1114,1184,1186,1266,1700,1790,2202,2203,2204,2205,
  2206,2249,2275,2276,2277,2278,2279,2280,2281,2283,2776,2950,2970,3220,3500,3802,3838,4089,4096,4191,5038,5069,
  5077,5078,5079)"
psql -X -q -At -F '	' -v ON_ERROR_STOP=1 <<SQL
CREATE TEMP TABLE implemented (kind text, name text);
\\copy implemented FROM '$bodies'
CREATE TEMP VIEW ours AS
  SELECT oid, typname FROM pg_type WHERE oid IN ($types)
     OR typelem IN ($types) AND typcategory IN ('A', 'P') OR oid = 2287;
CREATE TEMP VIEW procs AS
  SELECT p.*, CASE WHEN prolang = 14 THEN 'sql:' || oid ELSE prosrc END AS source FROM pg_proc p
  WHERE pronamespace = 11 AND prolang IN (12, 14) AND prokind IN ('f', 'w')
    AND prorettype IN (SELECT oid FROM ours)
    AND NOT EXISTS (SELECT FROM unnest(proargtypes) a WHERE a NOT IN (SELECT oid FROM ours));
CREATE TEMP VIEW ported AS
  SELECT * FROM procs WHERE source IN (SELECT name FROM implemented WHERE kind = 'body');
\\o $here/pg_proc.tsv
SELECT oid, proname, source, prokind, proargtypes, prorettype, proisstrict, proretset, provolatile,
  proparallel, proleakproof, procost, prorows, provariadic,
  coalesce((SELECT string_agg(trim(d), ';')
    FROM regexp_split_to_table(pg_get_expr(proargdefaults, 0), ', ') d), ''),
  coalesce((SELECT string_agg(t::text, ' ' ORDER BY n) FROM unnest(proallargtypes, proargmodes)
    WITH ORDINALITY x(t, m, n) WHERE m IN ('o', 't')), ''),
  coalesce((SELECT string_agg(a, ' ' ORDER BY n) FROM unnest(proargnames, proargmodes)
    WITH ORDINALITY x(a, m, n) WHERE m IN ('o', 't')), ''),
  coalesce((SELECT string_agg(a, ' ' ORDER BY n) FROM unnest(proargnames)
    WITH ORDINALITY x(a, n) WHERE n <= pronargs AND a <> ''), '')
FROM ported ORDER BY oid;
\\o $here/pg_operator.tsv
SELECT o.oid, oprname, oprleft, oprright, oprresult, oprcode::oid, oprcom, oprnegate, oprcanmerge,
  oprcanhash
FROM pg_operator o WHERE oprcode::oid IN (SELECT oid FROM ported) ORDER BY o.oid;
\\o $here/pg_cast.tsv
SELECT oid, castsource, casttarget, castfunc, castcontext, castmethod FROM pg_cast
WHERE castsource IN (SELECT oid FROM ours) AND casttarget IN (SELECT oid FROM ours)
  AND (castmethod <> 'f' OR castfunc IN (SELECT oid FROM ported)) ORDER BY oid;
\\o $here/pg_aggregate.tsv
SELECT p.oid, p.proname, key, p.proargtypes, p.prorettype
FROM (SELECT p.oid, proname, proargtypes, prorettype,
        proname || '(' || coalesce((SELECT string_agg(typname, ',' ORDER BY n)
          FROM unnest(proargtypes) WITH ORDINALITY x(a, n) JOIN pg_type ON pg_type.oid = a), '')
        || ')' AS key
      FROM pg_proc p JOIN pg_aggregate a ON a.aggfnoid = p.oid WHERE aggkind = 'n') p
WHERE key IN (SELECT name FROM implemented WHERE kind = 'aggregate') ORDER BY p.oid;
SQL
