#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the unwinder and its stress program for an architecture and runs it under qemu-user.
#   walk_stress_cross.sh x86_64|aarch64 STACKS
# aarch64 is built with pointer authentication and branch targets on, and run on a CPU that has both
# (pauth-impdef: signatures that are quick to emulate).
# Exits 77 (skipped) where the cross compiler or the emulator is missing.
set -eu
arch=$1
stacks=$2
src=$(cd "$(dirname "$0")/.." && pwd)
cc=$arch-linux-gnu-gcc
cxx=$arch-linux-gnu-g++
qemu=qemu-$arch

for tool in "$cc" "$cxx" "$qemu"; do
        command -v "$tool" >/dev/null || { echo "no $tool"; exit 77; }
done
case $arch in
aarch64) flags=-mbranch-protection=standard cpu='-cpu max,pauth-impdef=on' ;;
*) flags=-fcf-protection=full cpu= ;;
esac
root=
[ "$(uname -m)" = "$arch" ] || root="-L /usr/$arch-linux-gnu"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for name in cfi cfi_program image_row instructions lookup object rowtab step unwind walk; do
        # shellcheck disable=SC2086
        "$cc" -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -fno-omit-frame-pointer -fvisibility=hidden \
                -ftls-model=initial-exec -fno-exceptions -fasynchronous-unwind-tables \
                -fno-stack-protector $flags -I"$src" -c "$src/unwind/$name.c" -o "$dir/$name.o"
done
# shellcheck disable=SC2086
"$cxx" -std=gnu++17 -O3 -fomit-frame-pointer $flags -I"$src" "$src/unwind/walk_stress.cc" \
        "$src/unwind/walk_probe.cc" "$dir"/*.o -o "$dir/walk_stress" -lpthread
# shellcheck disable=SC2086
"$qemu" $cpu $root "$dir/walk_stress" "$stacks" 2
