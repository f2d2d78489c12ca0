#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Configures a build directory where there is none, builds it, and says how far it is.
#
#   tools/build.sh BUILD PREFIX [TARGET]...      without a target: everything
#
# A build that begins with targets (make demo) where there is no Node has no page; the next one without targets has it.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1 prefix=$2
shift 2

has_node() {
        command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1
}

pageless=$build/.pageless
if [ ! -e "$build/build.ninja" ]; then
        options=(--prefix "$prefix" --libdir lib)
        [ $# = 0 ] || has_node || options+=(-Dweb=false)
        { PYTHONUNBUFFERED=1 meson setup "$build" "${options[@]}" 2>/dev/null || echo "progress: failed"; } |
                tools/progress.sh --lines "silt: configuring" || {
                meson setup "$build" "${options[@]}"
                exit 1
        }
        [ "${options[-1]}" != -Dweb=false ] || touch "$pageless"
elif [ $# = 0 ] && [ -e "$pageless" ] && has_node; then
        meson configure "$build" -Dweb=true || exit 1
        rm "$pageless"
fi
# Ninja says nothing while a step runs, and packages take their time: they come first.
if grep -q '^build web/page\.js ' "$build/build.ninja"; then
        tools/web.sh --packages "building without the page: once there is a network, run: meson configure $build -Dweb=true && make" || {
                meson configure "$build" -Dweb=false || exit 1
        }
fi
cd "$build" || exit 1
# Compilers colour what they say, and ninja takes the colours away where it writes into a pipe.
[ ! -t 2 ] || export CLICOLOR_FORCE=1
{ NINJA_STATUS='[%f/%t] ' ninja "$@" 2>&1 || echo "progress: failed"; } |
        "$OLDPWD/tools/progress.sh" "silt: building${*:+ $*}"
