#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Configures a build directory where there is none, builds it, and says how far it is.
#
#   tools/build.sh BUILD PREFIX [TARGET]...      without a target: everything
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1 prefix=$2
shift 2

if [ ! -e "$build/build.ninja" ]; then
        { PYTHONUNBUFFERED=1 meson setup "$build" --prefix "$prefix" --libdir lib 2>/dev/null || echo "progress: failed"; } |
                tools/progress.sh --lines "silt: configuring" || {
                meson setup "$build" --prefix "$prefix" --libdir lib
                exit 1
        }
fi
# Ninja says nothing while a step runs, and packages take their time: they come first.
if grep -q '^build web/page\.js ' "$build/build.ninja"; then
        tools/web.sh --packages || {
                echo "silt: building without the page: 'silt view' and 'silt html' will say so; once there is a network: meson configure $build -Dweb=true" >&2
                meson configure "$build" -Dweb=false || exit 1
        }
fi
cd "$build" || exit 1
# Compilers colour what they say, and ninja takes the colours away where it writes into a pipe.
[ ! -t 2 ] || export CLICOLOR_FORCE=1
{ NINJA_STATUS='[%f/%t] ' ninja "$@" 2>&1 || echo "progress: failed"; } |
        "$OLDPWD/tools/progress.sh" "silt: building${*:+ $*}"
