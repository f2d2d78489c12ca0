#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a minimal Debian in build-debian-SUITE/, unless it is there, and prints its path. Needs root and the network.
#   tools/debian_root.sh SUITE        bullseye (Debian 11), bookworm (12), trixie (13), ...
set -eu
cd "$(dirname "$0")/.."
root=$PWD/build-debian-$1

if [ "$(id -u)" != 0 ]; then
        echo "silt: debian_root.sh: needs root, for chroot: run it as root" >&2
        exit 1
fi
if [ ! -e "$root/.complete" ]; then
        rm -rf "$root"
        # from where this machine has its own packages; apt reads these two alone
        mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
                sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p; s/^URIs: *\([^ ]*\).*/\1/p' | head -n 1)
        debootstrap --variant=minbase "$1" "$root" "$mirror" >"$root.log" 2>&1 || { tail "$root.log" >&2; exit 1; }
        touch "$root/.complete"
fi
echo "$root"
