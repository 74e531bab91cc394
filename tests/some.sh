#!/usr/bin/env bash
# Runs a `cargo test` that names its tests, and fails, too, if no test has that name any more.
# Usage: some.sh COMMAND…
set -euo pipefail

output=$(mktemp)
trap 'rm -f "$output"' EXIT
"$@" | tee "$output"
grep -q '^running [1-9]' "$output" || { echo "no test ran: $*" >&2; exit 1; }
