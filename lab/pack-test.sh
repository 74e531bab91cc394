#!/usr/bin/env bash
# Makes a pack and runs it as another machine would: unpacked elsewhere, with nothing of this environment, and without network, where
# not even loopback is up. The shortest form of scale-cores has to leave a whole record; where this is root, for an ordinary user too.
# Usage: pack-test.sh [LAB], by default the checkout's release build.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
lab=${1:-$root/target/release/lab}
most=$((60 << 20))
work=$(mktemp -d "${TMPDIR:-/tmp}/thalweg-pack-test.XXXXXX")
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT

fail() {
    echo "pack-test: $*" >&2
    exit 1
}

"$lab" pack "$work/pack.tar.xz"
chmod 644 "$work/pack.tar.xz"
bytes=$(stat -c %s "$work/pack.tar.xz")
[ "$bytes" -lt "$most" ] || fail "the pack has $bytes bytes, and less than $most are wanted"

# Unpacks and runs in the folder given first, as the words behind it say.
try() {
    local home=$1 as=("${@:2}") targets=(--target thalweg --target pg15) servers=2
    "${as[@]}" tar -C "$home" -xJf "$work/pack.tar.xz"
    # It is in the pack if it was fetched here.
    if [ -e "$home/thalweg-lab/cache/pg18/package/native/.linked" ]; then
        targets+=(--target pg18)
        servers=3
    fi
    (cd "$home/thalweg-lab" && exec "${without_network[@]}" "${as[@]}" env -i PATH=/usr/bin:/bin \
        ./run.sh scale-cores --seconds 1 --rounds 1 --clients 2 --scale 1 "${targets[@]}") \
        >"$home/said" 2>&1 || { cat "$home/said" >&2; fail "run.sh failed"; }

    local records=("$home"/thalweg-lab/record/*/record.json) planned runs places
    [ "${#records[@]}" = 1 ] && [ -s "${records[0]}" ] || fail "there is not one record"
    planned=$(sed -n 's/.*"planned": \([0-9]*\).*/\1/p' "${records[0]}")
    # Every run has this figure, once.
    runs=$(grep -c '"client_cpu_us":' "${records[0]}")
    # One core, two, four … and all of them; two loads on each.
    places=1
    for ((cores = 1; cores < $(nproc); cores *= 2)); do places=$((places + 1)); done
    if grep -q '"stopped":' "${records[0]}" || ! grep -q '"skipped": \[\]' "${records[0]}" ||
        [ "$planned" != $((2 * places * servers)) ] || [ "$runs" != "$planned" ]; then
        cat "$home/said" >&2
        fail "the record is not whole: $runs of $planned runs, of $servers servers, 2 loads and $places numbers of cores"
    fi
    [ -s "$(dirname "${records[0]}")/report.html" ] || fail "there is no page"
    echo "$runs runs by user $("${as[@]}" id -u), without network"
}

mkdir "$work/own"
if [ "$(id -u)" = 0 ]; then
    without_network=(unshare -n)
    try "$work/own" env
    mkdir "$work/ordinary"
    chown 65534:65534 "$work/ordinary"
    try "$work/ordinary" setpriv --reuid=65534 --regid=65534 --clear-groups
else
    without_network=(unshare --map-current-user -n)
    try "$work/own" env
fi
echo "the pack holds what it needs, in $((bytes >> 20)) MiB"
