#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages silt is built and tested with: the missing ones only.
#
#   tools/setup.sh [demo|build|gate|test|bench]...      without a group: build
#
# Says nothing and needs no root when nothing is missing. Other distributions: the
# docs/building.md has their package names; there this script only says which commands are absent.
set -eu

# What `make demo` needs: no page, and so neither Node nor npm, which bring some 400 packages along. A name that changed from one Debian to the next has all of them: older|newer.
demo_packages="gcc g++ libc6-dev meson ninja-build pkg-config python3-minimal
        libdw-dev libelf-dev libdeflate-dev libzstd-dev liblz4-dev libxxhash-dev libpcre2-dev libiberty-dev libzydis-dev libmicrohttpd-dev zlib1g-dev libexpat1-dev libprotobuf-c-dev protobuf-c-compiler libsqlite3-dev libedit-dev libncurses-dev libcurl4-openssl-dev libcmocka-dev"

# What `make` needs beside that.
build_packages="$demo_packages nodejs npm"

# What `make test` needs beside that: the programs that are recorded, the tools compared with,
# and the compiler for the other architecture.
gate_packages="binutils python3 strace clang clang-format clang-tidy llvm lld
        valgrind heaptrack ltrace zstd rustc cargo perl git sqlite3 libsqlite3-0 redis-server gdb musl-tools golang-go
        qemu-user libjemalloc2 libjemalloc-dev libtcmalloc-minimal4|libtcmalloc-minimal4t64
        libgoogle-perftools4|libgoogle-perftools4t64 libgoogle-perftools-dev google-perftools libmimalloc2.0|libmimalloc3 libmimalloc-dev
        groff-base man-db util-linux procps debootstrap dwz dpkg-dev elfutils xz-utils chromium-headless-shell openssl"

# What `make test-all` needs beside that: sanitizers and fuzzers, servers, and what tests outside of the gate record.
test_packages="libclang-rt-14-dev|libclang-rt-19-dev librust-tokio-dev postgresql nginx curl jq linux-perf cmake libcap2-bin debuginfod
        prometheus prometheus-alertmanager clickhouse-server clickhouse-client"
case $(uname -m) in
x86_64) gate_packages="$gate_packages gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
*) gate_packages="$gate_packages gcc-x86-64-linux-gnu g++-x86-64-linux-gnu libc6-dev-amd64-cross" ;;
esac

# What `make bench` needs beside that.
bench_packages="libc6-dbg redis-tools"

usage() {
        echo "usage: tools/setup.sh [demo|build|gate|test|bench]..." >&2
        exit 2
}

wanted=
[ $# -gt 0 ] || set -- build
for group in "$@"; do
        case $group in
        demo) wanted="$wanted $demo_packages" ;;
        build) wanted="$wanted $build_packages" ;;
        gate) wanted="$wanted $build_packages $gate_packages" ;;
        test) wanted="$wanted $build_packages $gate_packages $test_packages" ;;
        bench) wanted="$wanted $build_packages $gate_packages $test_packages $bench_packages" ;;
        *) usage ;;
        esac
done

if ! command -v dpkg-query >/dev/null 2>&1; then
        for tool in cc meson ninja pkg-config python3 node npm; do
                command -v "$tool" >/dev/null 2>&1 && continue
                case "$tool,$wanted" in
                node,*nodejs* | npm,*npm*) ;;
                node,* | npm,*) continue ;;
                esac
                echo "silt: setup: '$tool' not found: install the packages that docs/building.md lists for your distribution" >&2
                exit 1
        done
        exit 0
fi

# shellcheck disable=SC2086 # the lists are words
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(echo $wanted | tr '|' ' ') 2>/dev/null |
        sed -n 's/^installed //p' | tr '\n' ' ')
# Node comes from many places, and often brings npm along: what is there is taken.
! command -v node >/dev/null 2>&1 || installed="$installed nodejs "
! command -v npm >/dev/null 2>&1 || installed="$installed npm "
missing=
for names in $wanted; do
        for package in $(echo "$names" | tr '|' ' '); do
                case " $installed " in
                *" $package "*) continue 2 ;;
                esac
        done
        case " $missing " in
        *" $names "*) ;;
        *) missing="$missing $names" ;;
        esac
done
[ -n "$missing" ] || exit 0

# Of several names, the first that this Debian has.
one_name_each() { # NAMES...
        for names in "$@"; do
                chosen=${names%%"|"*}
                for package in $(echo "$names" | tr '|' ' '); do
                        if [ "$names" != "$package" ] && apt-cache show "$package" >/dev/null 2>&1; then
                                chosen=$package
                                break
                        fi
                done
                printf ' %s' "$chosen"
        done
}

if [ "$(id -u)" != 0 ]; then
        # shellcheck disable=SC2086
        echo "silt: setup: packages are missing: as root, run: apt-get install$(one_name_each $missing)" >&2
        exit 1
fi

progress=$(dirname "$0")/progress.sh
# Shows how far apt-get is, which it tells on descriptor 3; fails when it fails.
apt() { # WHAT ARGUMENT...
        what=$1
        shift
        { apt-get -qq -o APT::Status-Fd=3 "$@" 3>&1 >/dev/null || echo "progress: failed"; } | "$progress" "silt: setup: $what"
}

begin_s=$(date +%s)
echo "silt: setup: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes
apt "lists of packages" update
# shellcheck disable=SC2086
missing=$(one_name_each $missing)
# shellcheck disable=SC2086
n_packages=$(apt-get -qq -s --no-install-recommends install $missing | grep -c '^Inst ' || true)
echo "silt: setup: $n_packages packages, with those that they need" >&2
# Tests start servers of their own: none is to be started now, or when the machine is.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
        trap 'rm -f $policy' EXIT
        trap 'exit 1' INT TERM HUP
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod 755 $policy
fi
# shellcheck disable=SC2086
apt packages -y --no-install-recommends -o Dpkg::Use-Pty=0 install $missing
for service in redis-server postgresql nginx prometheus prometheus-alertmanager clickhouse-server; do
        case " $missing " in
        *" $service "*) ! command -v update-rc.d >/dev/null 2>&1 || update-rc.d "$service" disable >/dev/null 2>&1 || true ;;
        esac
done
echo "silt: setup: installed $n_packages packages in $(($(date +%s) - begin_s)) s" >&2
