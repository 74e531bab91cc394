#!/usr/bin/env bash
# Kills the server with SIGKILL under pgbench, again and again, and checks after each restart that the four
# sums of TPC-B agree and that every acknowledged history row is there. Usage: kill9.sh ROUNDS [SETTING…]
set -euo pipefail

rounds=${1:?usage: $0 ROUNDS [name=value …]}
shift
settings=()
for setting in "$@"; do settings+=(--set "$setting"); done

root=$(cd "$(dirname "$0")/.." && pwd)
server=$root/target/release/thalweg
bin=/usr/lib/postgresql/15/bin
work=$(mktemp -d "${TMPDIR:-/tmp}/thalweg-kill9.XXXXXX")
port=$((20000 + RANDOM % 20000))
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

start() {
    "$server" serve --data "$work/data" --listen "127.0.0.1:$port" --socket-dir "$work" \
        ${settings[@]+"${settings[@]}"} >>"$work/server.log" 2>&1 &
    pid=$!
    for _ in $(seq 300); do
        "$bin/psql" -qXAtc 'select 1' >/dev/null 2>&1 && return
        kill -0 "$pid" 2>/dev/null || { tail -5 "$work/server.log" >&2; fail "the server did not start"; }
        sleep 0.1
    done
    fail "the server does not answer"
}

value() { "$bin/psql" -qXAtc "$1"; }

check_sums() { # check_sums AT_LEAST_ROWS
    local sums rows
    sums=$(value "select (select sum(abalance) from pgbench_accounts)
        || ' ' || (select sum(tbalance) from pgbench_tellers)
        || ' ' || (select sum(bbalance) from pgbench_branches)
        || ' ' || (select coalesce(sum(delta), 0) from pgbench_history)")
    read -r a t b h <<<"$sums"
    [ "$a" = "$t" ] && [ "$a" = "$b" ] && [ "$a" = "$h" ] || fail "the sums differ: $sums"
    rows=$(value 'select count(*) from pgbench_history')
    [ "$rows" -ge "$1" ] || fail "$rows history rows, but $1 were acknowledged"
    acknowledged=$rows
}

round=0
acknowledged=0
start
"$bin/pgbench" -i -q -s 2 >/dev/null 2>&1 || fail "pgbench -i"
for round in $(seq "$rounds"); do
    "$bin/pgbench" -n -c 8 -j 2 -T 60 -M prepared >"$work/pgbench.out" 2>"$work/pgbench.err" &
    bench=$!
    sleep "0.$((RANDOM % 9 + 1))"
    sleep $((RANDOM % 3))
    kill -9 "$pid"
    wait "$pid" 2>/dev/null || true
    wait "$bench" || true
    processed=$(sed -n 's/.*actually processed: \([0-9]*\).*/\1/p' "$work/pgbench.out")
    [ -n "$processed" ] || fail "pgbench printed no count: $(tail -3 "$work/pgbench.err")"
    start
    check_sums $((acknowledged + processed))
    echo "round $round: $processed acknowledged, $acknowledged rows in all"
done
kill -TERM "$pid"
wait "$pid" || fail "the server did not shut down cleanly"
pid=
"$server" check "$work/data" || fail "thalweg check"
echo "$rounds kills survived, nothing acknowledged was lost"
