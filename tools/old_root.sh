#!/bin/sh
# SPDX-License-Identifier: MIT
# Records a program inside a Debian 11 root (glibc 2.31): the runtime built here must load there.
#   tools/old_root.sh BUILD        needs root (chroot) and the network, the first time
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
root=$(tools/debian_root.sh bullseye)

# The loader inside looks for the runtime under the same path as silt outside.
mkdir -p "$root$build"
cp "$build/libsilt.so" "$root$build/"
trace=$build/debian11.silt
"$build/silt" run -q -f -o "$trace" chroot "$root" /usr/bin/perl -e \
        'my @kept = map { "block $_" x 100 } 1 .. 1000; print scalar(@kept), "\n"'
"$build/silt" verify -q "$trace"
"$build/silt" report --json "$trace" | python3 -c '
import json, sys
totals = json.load(sys.stdin)["totals"]
print("Debian 11:", totals["allocations"], "allocations,", totals["lost_events"], "lost")
sys.exit(0 if totals["allocations"] > 1000 and totals["lost_events"] == 0 else 1)'
