#!/usr/bin/env bash
# The inside of a hash index's pages: the ways to search and to insert are tested, timed, and, in a build that counts, the
# cache lines that they touch are told; what is printed is recorded under bench/record/. Arguments go to both (`--pages
# 16384 --seeds 1`). Five minutes and 5 GiB of memory besides building; times want a machine that does little else.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
target=$here/target/hash_pages
record=$here/bench/record/$(date -u +%Y-%m-%dT%H%MZ)-hash_pages.md

# program FEATURE NAME: builds hash_pages with this feature, as NAME.
program() {
    (cd "$here" && cargo build --release --locked -p bench --bin hash_pages --features "$1")
    mkdir -p "$target"
    cp "$here/target/release/hash_pages" "$target/$2"
}

(cd "$here" && cargo test --locked -p bench --bin hash_pages --features lab-hash-pages)
program lab-hash-lines counting
program lab-hash-pages timing

{
    echo "# Inside a page of a hash index"
    echo
    "$target/timing" --circumstances
    echo
    echo "Load when it began, of 1, 5 and 15 minutes: $(cut -d' ' -f1-3 /proc/loadavg)."
    echo
    "$target/timing" "$@"
    echo
    echo "Load when it ended: $(cut -d' ' -f1-3 /proc/loadavg)."
    echo
    echo "# Lines that they touch"
    echo
    "$target/counting" "$@"
} | tee "$record"
echo "recorded in $record"
