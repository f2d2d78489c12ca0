#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the page of `silt view`: installs the packages of web/package-lock.json once, bundles web/.
#
#   tools/web.sh --packages [SO]             the packages alone, with a line that says how far it is; if it fails, one line says why, and SO
#   tools/web.sh ARGUMENT...                 then: node web/build.mjs ARGUMENT...
#
# Packages lie in web/node_modules, for every build directory; where they are as the lock file has them, nothing is asked
# of the network.
set -u
web=$(cd "$(dirname "$0")/../web" && pwd) || exit 1
made=$web/node_modules/.made-from

is_current() {
        cmp -s "$web/package-lock.json" "$made"
}

log=$web/.packages.log

# Why npm failed, in a few words: its messages take a screen.
why() {
        local reason
        reason=$(sed -n 's/^npm [a-zA-Z!]* .*reason: //p; s/^npm [a-zA-Z!]* code //p' "$log" | tail -n 1)
        printf '%s' "${reason:-see $log}"
}

# SO: what follows from a failure.
install() {
        (cd "$web" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=http 2>&1 | tee "$log"; exit "${PIPESTATUS[0]}") ||
                printf 'progress: failed: npm cannot install them (%s): %s\n' "$(why)" "$1"
}

if ! is_current; then
        # Two build directories may want them at once.
        exec 9>"$web/.packages.lock"
        flock 9
        if ! is_current; then
                [ "${1:-}" = --packages ] && so=${2:-} || so=
                install "${so:-check the network, or configure with -Dweb=false}" |
                        "$web/../tools/progress.sh" --lines "silt: packages of the page" || exit 1
                cp "$web/package-lock.json" "$made"
        fi
        exec 9>&-
fi
rm -f "$web/.packages.lock" "$web/.packages.log"
[ "${1:-}" = --packages ] || exec node "$web/build.mjs" "$@"
