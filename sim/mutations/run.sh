#!/usr/bin/env bash
# Puts one deliberate fault after another into a copy of the sources and runs the simulation until it catches it.
# Usage: run.sh [NAME…]; SEEDS=N (default 24) for how long it may take. Fails if a fault is not caught, or if a
# patch does not fit the sources any more. run.sh --fit [NAME…] looks at the latter only, in no time (`make lint`).
set -euo pipefail

seeds=${SEEDS:-24}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
command -v patch >/dev/null || { echo "Please install patch (make deps does)." >&2; exit 1; }

fit_only=false
if [ "${1:-}" = --fit ]; then
    fit_only=true
    shift
fi
names=("$@")
if [ $# -eq 0 ]; then names=($(cd "$here" && ls -- *.patch | sed 's/\.patch$//')); fi

# apply NAME DIRECTORY [OPTION…]: asks nothing, and takes context that has changed a little: never all of it, or the fault
# might land elsewhere.
apply() { patch -d "$2" -p1 -s -f --fuzz=2 "${@:3}" <"$here/$1.patch" >/dev/null 2>&1; }

if $fit_only; then
    stale=0
    for name in "${names[@]}"; do
        apply "$name" "$root" --dry-run && continue
        echo "sim/mutations/$name.patch does not fit the sources any more" >&2
        stale=$((stale + 1))
    done
    [ "$stale" -eq 0 ]
    exit
fi

copy=$(mktemp -d "${TMPDIR:-/tmp}/thalweg-mutations.XXXXXX")
pristine=$(mktemp -d "${TMPDIR:-/tmp}/thalweg-pristine.XXXXXX")
trap 'rm -rf "$copy" "$pristine"' EXIT

# A build of its own: quick rather than fast, from file to file incremental.
export CARGO_TARGET_DIR=${MUTATIONS_TARGET:-$root/target/mutations}
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=0
export CARGO_PROFILE_RELEASE_INCREMENTAL=true CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy")
cp -R "$copy/." "$pristine"

# attempt NAME: what became of it, in one line; false unless it was caught.
attempt() {
    local log=$copy/attempt.log seed why
    apply "$1" "$copy" || { echo "DOES NOT FIT"; return 1; }
    (cd "$copy" && RUSTFLAGS=-Awarnings cargo build -q --release --locked -p sim) >"$log" 2>&1 ||
        { echo "DOES NOT BUILD: $(grep -m1 '^error' "$log")"; return 1; }
    if timeout 1800 "$CARGO_TARGET_DIR/release/sim" crash --seeds "$seeds" >"$log" 2>&1; then
        echo "NOT CAUGHT in $seeds seeds"
        return 1
    fi
    seed=$(sed -n 's/.*replay with: .*--seed \([0-9]* --at [0-9]*\)$/\1/p' "$log" | head -1)
    [ -n "$seed" ] || { echo "NO ANSWER: $(tail -1 "$log")"; return 1; }
    why=$(sed -n 's/^FAILED: seed [^:]*: //p' "$log" | head -1)
    [ -n "$why" ] || why=$(grep -m1 -A1 'panicked at' "$log" | tail -1)
    echo "seed $seed | $(sed -n 's/^in windows: //p' "$log" | head -1) | $why"
}

# restore NAME: the files that the patch is of, as they were when this began. What `patch -R` makes of a line that is not
# there depends on what is around it.
restore() {
    local file
    for file in $(sed -n 's,^+++ b/,,p' "$here/$1.patch"); do
        rm -f "$copy/$file.orig" "$copy/$file.rej"
        cp "$pristine/$file" "$copy/$file"
    done
}

missed=0
for name in "${names[@]}"; do
    printf '%s: %s\n' "$name" "$(head -1 "$here/$name.patch")"
    outcome=$(attempt "$name") || missed=$((missed + 1))
    printf '    %s\n' "$outcome"
    restore "$name"
done
echo "${#names[@]} faults, $missed not caught"
[ "$missed" -eq 0 ]
