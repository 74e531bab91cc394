#!/usr/bin/env bash
# Records which pages a server uses under pgbench and TPC-C, and asks the simulator of replacement policies about
# these and the made traces. Usage: traces.sh [FOLDER]; recordings that are in the folder already are kept.
#
# The servers are built with the feature `page-trace`, in a target folder of its own, so that the release build has
# none of it. Needs pgbench, psql and, for TPC-C, go.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$here/target/traces}
uses=${USES:-2000000}
seconds=${SECONDS_EACH:-60}
port=$((20000 + RANDOM % 20000))
target=$here/target/traced
server=${THALWEG_TRACED:-$target/quick/thalweg}
work=$(mktemp -d "${TMPDIR:-/tmp}/thalweg-traces.XXXXXX")
process=

stop() {
    if [ -n "$process" ]; then kill -INT "$process" 2>/dev/null && wait "$process" || true; fi
    process=
}
trap 'stop; rm -rf "$work"' EXIT
mkdir -p "$folder"

[ -n "${THALWEG_TRACED:-}" ] ||
    (cd "$here" && cargo build --profile quick --locked -p thalweg --features page-trace --target-dir "$target")

# serve DIRECTORY [NAME=VALUE…]: starts the server with that environment and waits for it.
serve() {
    local data=$1
    shift
    env "$@" "$server" serve --data "$data" --listen "127.0.0.1:$port" --socket-dir "$work" --superuser postgres \
        --auth trust --set shared_buffers=256MB >"$work/log" 2>&1 &
    process=$!
    for _ in $(seq 300); do
        psql -X -q -h 127.0.0.1 -p "$port" -U postgres -c '' postgres 2>/dev/null && return
        kill -0 "$process" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
        sleep 0.1
    done
    echo "the server does not answer" >&2
    exit 1
}

connection=(-h 127.0.0.1 -p "$port" -U postgres)

# record NAME DIRECTORY COMMAND…: a recording of a command against what the directory has.
record() {
    local name=$1 data=$2
    shift 2
    [ ! -s "$folder/$name.trace" ] || return 0
    serve "$data" THALWEG_PAGE_TRACE="$work/$name.uses" THALWEG_PAGE_TRACE_USES="$uses"
    "$@" >"$work/$name.log" 2>&1 || { tail -5 "$work/$name.log" >&2; exit 1; }
    stop
    [ -s "$work/$name.uses" ] || { echo "$name: the server records nothing; was it built for that?" >&2; exit 1; }
    mv "$work/$name.uses" "$folder/$name.trace"
}

accounts() { # a script of pgbench that reads one account by this distribution
    printf '\\set aid %s\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n' "$1" >"$work/$2.sql"
    echo "$work/$2.sql"
}

serve "$work/bench"
pgbench -q -i -s "${SCALE:-20}" "${connection[@]}" postgres >"$work/init.log" 2>&1
stop
bench=(pgbench "${connection[@]}" -n -c 8 -j 2 -T "$seconds" -M prepared)
rows=$((${SCALE:-20} * 100000))
record pgbench-tpcb "$work/bench" "${bench[@]}" postgres
record pgbench-S "$work/bench" "${bench[@]}" -S postgres
record pgbench-gauss "$work/bench" "${bench[@]}" -f "$(accounts "random_gaussian(1, $rows, 5)" gauss)" postgres
# Neighbours in rank lie anywhere.
record pgbench-zipf "$work/bench" "${bench[@]}" \
    -f "$(accounts "1 + (random_zipfian(1, $rows, 1.01) * 7919) % $rows" zipf)" postgres

if command -v go >/dev/null; then
    tool=$here/target/lab/go-tpc
    mkdir -p "$(dirname "$tool")"
    (cd "$here/lab/tpcc" && GOSUMDB=off go build -o "$tool" github.com/pingcap/go-tpc/cmd/go-tpc)
    tpcc=("$tool" tpcc -d postgres -H 127.0.0.1 -P "$port" -U postgres -p any -D postgres --conn-params sslmode=disable
        --warehouses "${WAREHOUSES:-4}" -T 8)
    if [ ! -s "$folder/tpcc.trace" ]; then
        serve "$work/tpcc"
        "${tpcc[@]}" prepare --no-check >"$work/prepare.log" 2>&1
        stop
        record tpcc "$work/tpcc" "${tpcc[@]}" run --time "${seconds}s"
    fi
else
    echo "no go here: TPC-C is not recorded" >&2
fi

files=()
for trace in "$folder"/*.trace; do files+=("file:$trace"); done
cd "$here"
cargo run -q --profile quick --locked -p bench --bin replacement -- "${ACCESSES:-1000000}" "${files[@]}" \
    uniform gauss zipf0.8 zipf0.99 zipf1.2 nurand scan-mix loop
