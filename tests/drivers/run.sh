#!/usr/bin/env bash
# Runs small suites of widely used drivers against a server: Thalweg's release build, or with SERVER=postgres
# PostgreSQL 15, so that a suite can be told from what it tests. A language whose tools are missing is skipped
# and said so. With ENCRYPTED=1 clients prove a password, through TLS. Usage: run.sh [python|node|go|java]…
set -uo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/drivers
cache=$root/target/drivers
work=$(mktemp -d "${TMPDIR:-/tmp}/thalweg-drivers.XXXXXX")
chmod 755 "$work"
port=$((20000 + RANDOM % 20000))
server=
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres PGSSLMODE=disable PGSOCKETS=$work
passed=0 failed=0

finish() {
    [ -n "$server" ] && kill -INT "$server" 2>/dev/null && wait "$server" 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT

start_thalweg() {
    local how=(--auth trust)
    if [ -n "${ENCRYPTED:-}" ]; then
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
            -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$work/key" -out "$work/certificate" \
            >"$work/openssl.log" 2>&1 || { cat "$work/openssl.log" >&2; exit 1; }
        export PGPASSWORD='a word, & another' PGSSLMODE=require PGSSLROOTCERT=$work/certificate
        export NODE_EXTRA_CA_CERTS=$work/certificate
        printf '%s\n' "$PGPASSWORD" >"$work/password"
        how=(--auth scram-sha-256 --password-file "$work/password" --set ssl=on
            --set "ssl_cert_file=$work/certificate" --set "ssl_key_file=$work/key")
    fi
    "${THALWEG:-$root/target/release/thalweg}" serve --data "$work/data" --listen "127.0.0.1:$port" \
        --socket-dir "$work" --superuser postgres "${how[@]}" >"$work/log" 2>&1 &
    server=$!
}

start_postgres() {
    local bin=/usr/lib/postgresql/15/bin as=()
    mkdir "$work/data"
    if [ "$(id -u)" = 0 ]; then chown -R postgres "$work" && as=(setpriv --reuid=postgres --regid=postgres --clear-groups); fi
    "${as[@]}" "$bin/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --locale=C >"$work/init.log" 2>&1 || return 1
    (cd / && exec "${as[@]}" "$bin/postgres" -D "$work/data" -p "$port" -k "$work" -h 127.0.0.1 -F) >"$work/log" 2>&1 &
    server=$!
}

wait_for_server() {
    for _ in $(seq 300); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
        kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; echo "the server did not start" >&2; exit 1; }
        sleep 0.1
    done
    echo "the server does not answer" >&2
    exit 1
}

skip() { echo "SKIPPED $1: $2"; }

# Runs one suite; its lines begin with "ok" or "FAIL".
suite() { # suite NAME COMMAND…
    local name=$1 out=$work/$1.out status
    shift
    echo "== $name"
    timeout 300 "$@" >"$out" 2>&1
    status=$?
    grep -v '^ok ' "$out"
    local good bad gap=0 check
    good=$(grep -c '^ok ' "$out") bad=$(grep -c '^FAIL ' "$out")
    # What is known to be missing is said, and does not count. What is no longer missing does.
    if [ "${SERVER:-thalweg}" = thalweg ]; then
        while read -r check; do
            if grep -q "^FAIL $check " "$out"; then
                echo "known gap: $check" && gap=$((gap + 1)) bad=$((bad - 1))
            else
                echo "FAIL $check is listed in known-gaps.txt, but did not fail" && bad=$((bad + 1))
            fi
        done < <(sed -n "s/^$name \([a-z_]*\):.*/\1/p" "$here/known-gaps.txt")
    fi
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && [ "$gap" -eq 0 ]; then
        echo "FAIL $name ended with status $status"
        bad=1
    fi
    echo "$name: $good ok, $gap known gaps, $bad failed"
    passed=$((passed + good)) failed=$((failed + bad))
}

has() { command -v "$1" >/dev/null 2>&1; }

run_python() {
    has python3 || { skip python "there is no python3"; return; }
    if ! cmp -s "$here/python/requirements.txt" "$cache/python/requirements.txt"; then
        rm -rf "$cache/python" && mkdir -p "$cache"
        python3 -m venv "$cache/python" && "$cache/python/bin/pip" install -q -r "$here/python/requirements.txt" &&
            cp "$here/python/requirements.txt" "$cache/python/" || { skip python "its packages could not be installed"; return; }
    fi
    for driver in psycopg psycopg2 asyncpg; do
        suite "python-$driver" "$cache/python/bin/python" "$here/python/suite_$driver.py"
    done
}

run_node() {
    has node && has npm || { skip node "there is no node with npm"; return; }
    if ! cmp -s "$here/node/package.json" "$cache/node/package.json"; then
        rm -rf "$cache/node" && mkdir -p "$cache/node" && cp "$here/node/package.json" "$cache/node/"
        (cd "$cache/node" && npm install --silent --no-audit --no-fund) ||
            { rm -rf "$cache/node"; skip node "its packages could not be installed"; return; }
    fi
    suite node-pg env NODE_PATH="$cache/node/node_modules" node "$here/node/suite.js"
}

run_go() {
    has go || { skip go "there is no go"; return; }
    mkdir -p "$cache"
    (cd "$here/go" && go build -o "$cache/go-suite" .) || { skip go "it could not be built"; return; }
    suite go-pgx "$cache/go-suite" pgx
    suite go-pq "$cache/go-suite" pq
}

run_java() {
    has java && has mvn || { skip java "there is no java with mvn"; return; }
    local jar=$cache/java/postgresql-$(cat "$here/java/pgjdbc-version").jar
    if [ ! -f "$jar" ]; then
        mkdir -p "$cache/java"
        mvn -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
            -Dartifact="org.postgresql:postgresql:$(cat "$here/java/pgjdbc-version")" -DoutputDirectory="$cache/java" ||
            { skip java "the driver could not be fetched"; return; }
    fi
    suite java-pgjdbc java -cp "$jar" "$here/java/Suite.java"
}

case "${SERVER:-thalweg}" in
    thalweg) start_thalweg ;;
    postgres) start_postgres || { cat "$work/init.log" >&2; exit 1; } ;;
    *) echo "SERVER is thalweg or postgres" >&2; exit 2 ;;
esac
wait_for_server
for language in ${*:-python node go java}; do "run_$language"; done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
