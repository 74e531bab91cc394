#!/usr/bin/env bash
# Installs what a target needs when run as root; says what to install otherwise. Usage: deps.sh build|test|lab
set -euo pipefail

missing=()

have_libclang() {
    local file
    for file in /usr/lib/llvm*/lib/libclang*.so* /usr/lib/*/libclang*.so* /usr/lib64/libclang*.so*; do
        [[ $file != *libclang-cpp* && -e $file ]] && return
    done
    [ -n "${LIBCLANG_PATH:-}" ]
}

need() { # need PACKAGE TEST...
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

case "${1:-build}" in
build)
    need build-essential command -v cc
    need libclang-dev have_libclang
    need patch command -v patch
    ;;
test)
    need postgresql-15 test -x /usr/lib/postgresql/15/bin/postgres
    need postgresql-client-15 test -x /usr/lib/postgresql/15/bin/psql
    ;;
lab)
    need npm command -v npm
    need golang-go command -v go
    need linux-perf command -v perf
    need strace command -v strace
    need valgrind command -v valgrind
    need util-linux command -v fincore
    need util-linux command -v setpriv
    ;;
*)
    echo "usage: $0 build|test|lab" >&2
    exit 2
    ;;
esac

[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Please install: ${missing[*]} (Debian's names), then run this again." >&2
    exit 1
fi
echo "Installing ${missing[*]} …"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
