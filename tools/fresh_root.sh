#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a new user does, on a Debian with nothing installed: makes a minimal root, clones what is committed here into it,
# runs `make demo` and `make test` there, and ends with the closing line of the tests. Needs root and the network.
#
#   tools/fresh_root.sh [--with all|proc|nothing] [--demo] [SUITE]        SUITE: bookworm (Debian 12), trixie (13), ...
#
#   --with all       /proc, /sys, /dev/pts and /dev/shm are mounted: a machine, or a container (the default)
#   --with proc      /proc alone, and / is no mount point: a plain chroot. Tests that need more say so
#   --with nothing   not even /proc: silt must build, and say in one line why it cannot record, as `make test` must
#   --demo           no `make test`
#
# The root stays in build-fresh/ for a look; the next run begins anew. build-debian-SUITE/ is what it is copied from.
set -eu -o pipefail
cd "$(dirname "$0")/.."
with=all demo_only=
while [ $# -gt 0 ]; do
        case $1 in
        --with)
                with=$2
                shift
                ;;
        --demo) demo_only=yes ;;
        -*)
                sed -n 's/^# \{0,1\}//; 4,12p' "$0" >&2
                exit 2
                ;;
        *) break ;;
        esac
        shift
done
suite=${1:-bookworm}
root=$PWD/build-fresh
max_silence_s=30 # of `make demo`

pristine=$(tools/debian_root.sh "$suite")
rm -rf "$root"
cp -a "$pristine" "$root"
git clone -q . "$root/srv/silt"
# Trusted is who this machine trusts: its way to the network may have a certificate of its own.
certificates=/etc/ssl/certs/ca-certificates.crt
[ ! -e $certificates ] || cp $certificates "$root/srv/certificates.crt"

# Runs a command in the root, in a mount namespace of its own: what is mounted goes with it. A root that is pivoted into is
# what a container has; one that is only changed to is no mount point, and no mount namespace can be made below it.
inside() { # SHELL-COMMAND
        unshare -m /bin/sh -e -c '
                root=$1 with=$2 command=$3
                set -- env -i HOME=/root NODE_EXTRA_CA_CERTS=/srv/certificates.crt PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /bin/sh -c "$command"
                cd "$root"
                case $with in
                all)
                        mount --bind . .
                        cd "$root"
                        mount -t proc proc proc
                        mount --rbind /sys sys
                        mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts
                        mount -t tmpfs tmpfs dev/shm
                        pivot_root . mnt
                        umount -l /mnt
                        exec "$@"
                        ;;
                proc) mount -t proc proc proc ;;
                esac
                exec chroot . "$@"' sh "$root" "$with" "$1" </dev/null 2>&1
}

# Passes what is said; at the end the seconds it took, and the longest time without a word, which has a bound.
watch() { # WHAT MAX-SILENCE-S
        python3 -c '
import os, sys, time
what, most = sys.argv[1], float(sys.argv[2])
begin = last = time.monotonic()
longest = 0
while True:
    data = os.read(0, 65536)
    now = time.monotonic()
    longest, last = max(longest, now - last), now
    if not data:
        break
    os.write(1, data)
print(f"{what}: {last - begin:.0f} s, longest silence {longest:.1f} s", flush=True)
sys.exit(longest > most)' "$@"
}

inside 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install git make' >build-fresh.log ||
        { tail build-fresh.log >&2; exit 1; }
if [ "$with" = nothing ]; then
        for target in demo test; do
                said=$(inside "cd /srv/silt && make $target" | tee -a build-fresh.log | tail -n 2 || true)
                printf '%s\n' "$said"
                case $said in
                "silt: "*/proc*"make: "*) ;;
                *) exit 1 ;;
                esac
        done
        exit 0
fi
inside 'cd /srv/silt && make demo' | watch "$suite: make demo" $max_silence_s | tee -a build-fresh.log
[ -z "$demo_only" ] || exit 0

status=0
inside 'cd /srv/silt && make test' | tee -a build-fresh.log || status=1
# Tests write into build directories alone.
strays=$(inside 'cd /srv/silt && git status --porcelain')
if [ -n "$strays" ]; then
        printf 'silt: fresh_root.sh: the tests left files behind:\n%s\n' "$strays" >&2
        status=1
fi
printf '%s, with %s: %s\n' "$suite" "$with" "$(tail -n 1 build-fresh.log)"
exit $status
