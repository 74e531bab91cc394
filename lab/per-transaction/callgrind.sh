#!/usr/bin/env bash
# Instructions of a server per transaction, counted by valgrind, where the processor counts none: two runs of one client
# that differ in their number of transactions only, so that what starting and ending takes falls out. A server is some
# fifty times slower so: no other figure of it says anything. Background work scatters by millions of instructions: what is
# counted has to be many transactions.
#
# Usage: callgrind.sh thalweg|pg15|pg18 select-only|tpcb-like [TRANSACTIONS]; THALWEG is the program (a release build), PG18 the
# directory of the npm package's server (with bin and lib). As root PostgreSQL is run as the user postgres. Needs valgrind and
# pgbench. `lab run per-transaction --long` runs it, and keeps what it says in the record.
set -euo pipefail

here=$(cd "$(dirname "$0")/../.." && pwd)
server=${1:?which server: thalweg, pg15 or pg18} script=${2:?which script of pgbench} n=${3:-2000}
thalweg=${THALWEG:-$here/target/release/thalweg}
bin=/usr/lib/postgresql/15/bin
psql=$bin/psql pgbench=$bin/pgbench
work=$(mktemp -d "${TMPDIR:-/tmp}/thalweg-callgrind.XXXXXX")
port=$((20000 + RANDOM % 20000))
process=
as=()
if [ "$(id -u)" = 0 ] && [ "$server" != thalweg ]; then as=(setpriv --reuid=postgres --regid=postgres --clear-groups --); fi
chmod 777 "$work"
# Valgrind keeps files there, too, as whoever runs the server.
export TMPDIR=$work
if [ "$server" = pg18 ]; then
    # The ordinary user that runs it may not be able to look into this checkout.
    cp -a "${PG18:?where PostgreSQL 18 is}" "$work/pg18"
    bin=$work/pg18/bin
    as+=(env "LD_LIBRARY_PATH=$work/pg18/lib")
fi

stop() {
    if [ -n "$process" ]; then kill -INT "$process" 2>/dev/null && wait "$process" || true; fi
    process=
}
trap 'stop; rm -rf "$work"' EXIT

# start COMMAND…: the server, under the command that is given.
start() {
    case $server in
        thalweg) "$@" "$thalweg" serve --data "$work/data" --listen "127.0.0.1:$port" --socket-dir "$work" \
            --superuser postgres --auth trust >>"$work/log" 2>&1 & ;;
        pg15 | pg18) (cd "$work" && exec "${as[@]}" "$@" "$bin/postgres" -D "$work/data" -p "$port" -k "$work" \
            -c listen_addresses= -c autovacuum=off >>"$work/log" 2>&1) & ;;
        *) echo "no server is called '$server'" >&2; exit 2 ;;
    esac
    process=$!
    for _ in $(seq 600); do
        if "$psql" -h "$work" -p "$port" -U postgres -qXAtc 'select 1' postgres >/dev/null 2>&1; then return; fi
        kill -0 "$process" 2>/dev/null || break
        sleep 0.2
    done
    echo "it does not answer: $(tail -n 1 "$work/log")" >&2
    exit 1
}

# counted TRANSACTIONS: instructions of all the server's processes.
counted() {
    rm -f "$work"/callgrind.*
    start valgrind --quiet --tool=callgrind --trace-children=yes --callgrind-out-file="$work/callgrind.%p"
    "$pgbench" -h "$work" -p "$port" -U postgres -n -M prepared -c 1 -t "$1" -b "$script" postgres >/dev/null 2>>"$work/log"
    stop
    awk '/^(summary|totals):/ { of[FILENAME] = $2 } END { for (f in of) sum += of[f]; printf "%.0f\n", sum }' "$work"/callgrind.*
}

if [ "$server" != thalweg ]; then
    "${as[@]}" "$bin/initdb" -A trust -U postgres -D "$work/data" >/dev/null
fi
start env
"$pgbench" -h "$work" -p "$port" -U postgres -i -q -s 1 postgres 2>/dev/null
stop
few=$(counted "$n")
many=$(counted $((3 * n)))
echo "$server, $script: $(((many - few) / (2 * n))) instructions per transaction ($n and $((3 * n)) transactions)"
