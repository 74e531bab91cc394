#!/usr/bin/env bash
# A TPC-C load with go-tpc against a server of its own: prepare, check, run, check; before that a warehouse in a database of
# its own, prepared as go-tpc does by itself, with the checks that end it. Thalweg's release build, or with SERVER=postgres PostgreSQL 15. Usage: run.sh [WAREHOUSES [SECONDS [CLIENTS]]]
set -euo pipefail

warehouses=${1:-2} seconds=${2:-30} clients=${3:-8}
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/lab/tpcc
tool=$root/target/lab/go-tpc
work=$(mktemp -d "${TMPDIR:-/tmp}/thalweg-tpcc.XXXXXX")
chmod 755 "$work"
port=$((20000 + RANDOM % 20000))
server=

finish() {
    if [ -n "$server" ]; then kill -INT "$server" 2>/dev/null && wait "$server" || true; fi
    rm -rf "$work"
}
trap finish EXIT

command -v go >/dev/null || { echo "go-tpc needs go" >&2; exit 1; }
mkdir -p "$(dirname "$tool")"
(cd "$here" && GOSUMDB=off go build -o "$tool" github.com/pingcap/go-tpc/cmd/go-tpc)

case "${SERVER:-thalweg}" in
    thalweg)
        "${THALWEG:-$root/target/release/thalweg}" serve --data "$work/data" --listen "127.0.0.1:$port" \
            --socket-dir "$work" --superuser postgres --auth trust >"$work/log" 2>&1 &
        server=$!
        ;;
    postgres)
        bin=/usr/lib/postgresql/15/bin as=()
        mkdir "$work/data"
        if [ "$(id -u)" = 0 ]; then
            chown -R postgres "$work"
            as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
        fi
        "${as[@]}" "$bin/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --locale=C >"$work/init.log" 2>&1
        (cd / && exec "${as[@]}" "$bin/postgres" -D "$work/data" -p "$port" -k "$work" -h 127.0.0.1) >"$work/log" 2>&1 &
        server=$!
        ;;
    *) echo "SERVER is thalweg or postgres" >&2; exit 2 ;;
esac
for _ in $(seq 300); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    sleep 0.1
done

ask() { psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U postgres "$@"; }
# In the database and with the warehouses given first.
tpcc_in() {
    local database=$1 count=$2
    shift 2
    local log=$work/$1.log
    if ! "$tool" tpcc "$@" -d postgres -H 127.0.0.1 -P "$port" -U postgres -p any -D "$database" \
        --conn-params sslmode=disable --warehouses "$count" -T "$clients" >"$log" 2>&1 ||
        grep -qE 'failed|error' "$log"; then
        tail -20 "$log" >&2
        echo "$1 failed" >&2
        exit 1
    fi
}

tpcc() { tpcc_in tpcc "$warehouses" "$@"; }

# Without an index for them the checks read the whole history for each customer: of one warehouse only.
ask -d postgres -c "CREATE DATABASE one"
tpcc_in one 1 prepare
grep -q 'begin to check warehouse 1' "$work/prepare.log" || { echo "prepare has checked nothing" >&2; exit 1; }
ask -d postgres -c "DROP DATABASE one"

ask -d postgres -c "CREATE DATABASE tpcc"
tpcc prepare --no-check
# The checks ask for the history of each customer, for which the load has no index.
ask -d tpcc -c "CREATE INDEX history_of_customer ON history (h_c_w_id, h_c_d_id, h_c_id)"
ask -d tpcc -c "VACUUM ANALYZE"
tpcc check --check-all
tpcc run --time "${seconds}s"
grep -E '^(tpmC|\[Summary\])' "$work/run.log"
tpcc check
echo "all checks of TPC-C 3.3.2 pass, before and after the run (3.3.2.11 is about what was loaded: before)"
