#!/usr/bin/env bash
# Simulates many seeds, ten at a time, as one run: what has been done is not done again when it is called again after an
# interruption, and at the end all tens are added up. A window that none of them has hit fails the run.
# Usage: long_run.sh FROM SEEDS PROGRAM, the program as in target/release/sim. Each ten's output is kept below
# target/long-run, in a directory of that very build's.
set -euo pipefail

[ $# -eq 3 ] || { sed -n '4,5s/^# //p' "$0" >&2; exit 2; }
from=$1 seeds=$2 program=$3
build=$(sha256sum "$program" | cut -c1-12)
directory=$(cd "$(dirname "$0")/.." && pwd)/target/long-run/$build
mkdir -p "$directory"
outputs=()

for ((first = from; first < from + seeds; first += 10)); do
    count=$((from + seeds - first < 10 ? from + seeds - first : 10))
    kept=$directory/$first-$count
    outputs+=("$kept")
    [ -e "$kept" ] && continue
    "$program" crash --from "$first" --seeds "$count" >"$kept.unfinished" 2>&1 || { cat "$kept.unfinished"; exit 1; }
    mv "$kept.unfinished" "$kept"
    echo "seeds $first to $((first + count - 1)): no failure"
done

awk -v wanted="$seeds" '
    # "10 seeds, 24513 disk operations, 22187 crashes recovered and checked (4163 of them with a second crash)"
    /crashes recovered and checked/ { seeds += $1; operations += $3; crashes += $6; second += substr($11, 2) }
    # "no seed with fewer than 200 commits or 617 disk writes"
    /^no seed with fewer than/ {
        if (!tens++ || $6 < commits) commits = $6
        if (tens == 1 || $9 < writes) writes = $9
    }
    # "     240 crashes in window '\''checkpoint'\''"
    / crashes in window / { hits = $1; sub(/.*crashes in window /, ""); windows[$0] += hits }
    END {
        printf "%d seeds, %d disk operations, %d crashes recovered and checked (%d of them with a second crash)\n",
            seeds, operations, crashes, second
        printf "no seed with fewer than %d commits or %d disk writes\n", commits, writes
        for (window in windows) {
            printf "%10d crashes in window %s\n", windows[window], window | "sort -k5"
            if (!windows[window]) missed = missed " " window
        }
        close("sort -k5")
        if (seeds != wanted) { print "FAILED: not every seed was run"; exit 1 }
        if (missed) { print "FAILED: never hit:" missed; exit 1 }
    }' "${outputs[@]}"
