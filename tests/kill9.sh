#!/usr/bin/env bash
# Kills the server with SIGKILL under pgbench, again and again; in every third round the next start is killed, too,
# while it recovers; in every other round indexes come and go concurrently, in the others large values do. After each
# round: every transaction that pgbench was told of is there, each by its own number, the four sums of TPC-B agree, large
# values are whole, `thalweg check` finds nothing, and no client has met anything but the end of its connection. At the end
# the transactions of all rounds are still there.
# Usage: kill9.sh ROUNDS [SETTING…]
set -euo pipefail

rounds=${1:?usage: $0 ROUNDS [name=value …]}
shift
settings=()
for setting in "$@"; do settings+=(--set "$setting"); done

root=$(cd "$(dirname "$0")/.." && pwd)
server=${THALWEG:-$root/target/release/thalweg}
bin=/usr/lib/postgresql/15/bin
work=$(mktemp -d "${TMPDIR:-/tmp}/thalweg-kill9.XXXXXX")
port=$((20000 + RANDOM % 20000))
clients=8
scale=2
pid=
export PGHOST=$work PGPORT=$port PGDATABASE=postgres PGUSER=${USER:-$(id -un)}

finish() {
    status=$?
    [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null || true
    if [ $status -eq 0 ]; then rm -rf "$work"; else echo "kept for inspection: $work" >&2; fi
    exit $status
}
trap finish EXIT

fail() {
    echo "FAILED in round $round: $*" >&2
    exit 1
}

launch() {
    "$server" serve --data "$work/data" --listen "127.0.0.1:$port" --socket-dir "$work" \
        ${settings[@]+"${settings[@]}"} >>"$work/server.log" 2>&1 &
    pid=$!
}

answers() { "$bin/psql" -qXAtc 'select 1' >/dev/null 2>&1; }

start() {
    launch
    for _ in $(seq 600); do
        answers && return
        kill -0 "$pid" 2>/dev/null || { tail -5 "$work/server.log" >&2; fail "the server did not start"; }
        sleep 0.1
    done
    fail "the server does not answer"
}

kill_hard() {
    kill -9 "$pid"
    wait "$pid" 2>/dev/null || true
}

stop() {
    kill -TERM "$pid"
    wait "$pid" || fail "the server did not shut down cleanly"
    pid=
}

value() { "$bin/psql" -qXAtc "$1"; }

check_sums() {
    local sums a t b h
    sums=$(value "select (select sum(abalance) from pgbench_accounts)
        || ' ' || (select sum(tbalance) from pgbench_tellers)
        || ' ' || (select sum(bbalance) from pgbench_branches)
        || ' ' || (select coalesce(sum(delta), 0) from pgbench_history)")
    read -r a t b h <<<"$sums"
    [ "$a" = "$t" ] && [ "$a" = "$b" ] && [ "$a" = "$h" ] || fail "the sums differ: $sums"
}

# The n-th transaction of a client has the number n. pgbench logs a line when it is told of the commit.
check_acknowledged() {
    acknowledged=0
    local client told there
    cat "$work"/told.* 2>/dev/null | cut -d' ' -f1 | sort -n | uniq -c >"$work/told" || true
    while read -r told client; do
        there=$(value "select count(distinct seq) from pgbench_history
            where round = $round and client = $client and seq <= $told")
        [ "$there" = "$told" ] || fail "client $client was told of $told commits, $there are there"
        acknowledged=$((acknowledged + told))
        echo "$round,$client,$told" >>"$work/all-told"
    done <"$work/told"
    there=$(value "select count(*) from pgbench_history where round = $round")
    [ "$there" -le $((acknowledged + clients)) ] || fail "$there rows of $acknowledged acknowledged"
    there=$(value "select count(*) from (select 1 from pgbench_history where round > 0
        group by round, client, seq having count(*) > 1) twice")
    [ "$there" = 0 ] || fail "$there transactions are there twice"
}

# What was told in one round is still there after all later ones.
check_earlier_rounds() {
    local lost
    value 'create table told (round int, client int, told int)'
    value "\\copy told from '$work/all-told' (format csv)"
    lost=$(value 'select count(*) from told left join
        (select round, client, count(*) as there from pgbench_history join told using (round, client)
            where seq <= told group by round, client) kept using (round, client)
        where told is distinct from there')
    [ "$lost" = 0 ] || fail "of $lost clients of earlier rounds, acknowledged transactions are gone"
    value 'drop table told'
}

# Until the server was killed nothing went wrong: its answers were none of errors, and its clients were still at work.
check_clients() {
    local complaint
    complaint=$(grep -hE '(ERROR|FATAL|PANIC|WARNING):' "$work"/*.err || true)
    [ -z "$complaint" ] || fail "a client was told: ${complaint:0:300}"
    [ "$working" = yes ] || fail "pgbench ended before the server was killed: $(head -3 "$work/pgbench.err")"
}

# In every other round indexes of the accounts are made, remade and dropped beside pgbench. What a kill has left half
# made is not used, and can be dropped.
indexes() {
    local step
    while :; do
        for step in 'create index concurrently a_balance on pgbench_accounts (abalance)' \
            'create index concurrently a_hash on pgbench_accounts using hash (abalance)' \
            'reindex table concurrently pgbench_accounts' \
            'drop index concurrently a_balance' \
            'drop index concurrently a_hash'; do
            value "$step" >/dev/null 2>>"$work/indexes.err" || return 0
            echo "$step" >>"$work/index-steps"
        done
    done
}

# In the other rounds two clients give rows large values, with their digests beside them.
letters() {
    "$bin/pgbench" -n -c 2 -T 60 -f "$work/letters.sql" >/dev/null 2>"$work/letters.err" || true
}

check_letters() {
    local wrong
    wrong=$(value 'select count(*) from letters where md5(body) <> digest')
    [ "$wrong" = 0 ] || fail "$wrong large values are not what was stored"
}

drop_indexes() {
    local index
    for index in $(value "select indexrelid::regclass from pg_index
        where indrelid = 'pgbench_accounts'::regclass and not indisprimary"); do
        value "drop index $index"
    done
}

cat >"$work/tpcb.sql" <<'SQL'
\set seq :seq + 1
\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime, round, client, seq)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP, :round, :client_id, :seq);
END;
SQL

cat >"$work/letters.sql" <<'SQL'
\set id random(1, 100)
\set n random(1, 300)
BEGIN;
INSERT INTO letters SELECT :id, md5(body), body
    FROM (SELECT string_agg(md5((:id * :n + i)::text), '') AS body FROM generate_series(1, :n) i) new
    ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, body = excluded.body;
SAVEPOINT kept;
DELETE FROM letters WHERE id = :id;
ROLLBACK TO kept;
END;
SQL

round=0
total=0
second=0
start
"$bin/pgbench" -i -q -s $scale >/dev/null 2>&1 || fail "pgbench -i"
value 'create table letters (id int primary key, digest text, body text)'
value 'alter table pgbench_history add column round int, add column client int, add column seq int'
for round in $(seq "$rounds"); do
    rm -f "$work"/told.* "$work"/*.err
    "$bin/pgbench" -n -c $clients -j 2 -T 60 -M prepared -f "$work/tpcb.sql" -D seq=0 -D scale=$scale \
        -D "round=$round" --log --log-prefix="$work/told" >"$work/pgbench.out" 2>"$work/pgbench.err" &
    bench=$!
    if [ $((round % 2)) -eq 0 ]; then indexes & else letters & fi
    maker=$!
    seconds=$((RANDOM % 3))
    sleep "$seconds.$((RANDOM % 9 + 1))"
    if kill -0 "$bench" 2>/dev/null; then working=yes; else working=no; fi
    kill_hard
    wait "$bench" "$maker" || true
    check_clients
    if [ $((round % 3)) -eq 0 ]; then
        launch
        sleep "$(printf '0.%03d' $((RANDOM % 60 + 1)))"
        answers || second=$((second + 1))
        kill_hard
    fi
    start
    check_acknowledged
    [ "$seconds" -eq 0 ] || [ "$acknowledged" -gt 0 ] || fail "nothing was acknowledged in $seconds s"
    check_sums
    check_letters
    stop
    "$server" check "$work/data" >"$work/check.out" || fail "thalweg check: $(head -3 "$work/check.out")"
    total=$((total + acknowledged))
    echo "round $round: $acknowledged acknowledged"
    start
    drop_indexes
done
[ "$total" -gt 0 ] || fail "nothing was ever acknowledged"
check_earlier_rounds
# Every third round tries, within the first few hundredths of a second.
[ "$rounds" -lt 30 ] || [ "$second" -gt 0 ] || fail "no start was killed before it answered"
[ "$rounds" -lt 30 ] || [ -s "$work/index-steps" ] || fail "no index was ever made beside pgbench"
[ "$(value 'select count(*) from letters')" -gt 0 ] || fail "no large value was ever stored"
stop
echo "$rounds kills survived, $second starts killed before they answered," \
    "none of $total acknowledged transactions lost"
