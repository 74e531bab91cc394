#!/usr/bin/env bash
# Both indexes in process, side by side, the hash index under its own protocol and the two that seed S4 compared; also in a
# build that counts shared lines; then how inserts fare while an index grows. What they print is recorded under
# bench/record/. Arguments go to both comparisons (`--keys 1000000 --threads 1,2`); KEYS is the growth's. Some twenty minutes
# with 10^7 keys.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
keys=${KEYS:-10000000}
target=$here/target/index_paths
record=$here/bench/record/$(date -u +%Y-%m-%dT%H%MZ)-index_paths.md

# program FEATURES NAME: builds index_paths with these features, as NAME.
program() {
    (cd "$here" && cargo build --release --locked -p bench --bin index_paths --features "$1" --target-dir "$target")
    cp "$target/release/index_paths" "$target/$2"
}

program lab-hash-protocols protocols
program lab-counts,lab-hash-protocols counting
# Growth is of the index as everybody has it.
program "" plain

{
    echo "# Indexes in process"
    echo
    "$target/plain" --circumstances
    echo
    echo "Operations a second by the clock, processor nanoseconds each; medians of what the arguments say."
    echo
    echo '```text'
    "$target/protocols" "$@"
    echo '```'
    echo
    echo "Shared lines that each operation writes (a build that counts; slower)."
    echo
    echo '```text'
    "$target/counting" "$@" --rounds 1
    echo '```'
    echo
    echo "While an index grows from nothing to $keys keys in no order."
    echo
    echo '```text'
    "$target/plain" --growth --keys "$keys"
    echo '```'
} | tee "$record"
echo "recorded in $record"
