#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the page of `silt view`: installs the packages of web/package-lock.json once, bundles web/.
#
#   tools/web.sh --packages                  the packages alone, with a line that says how far it is
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

install() {
        (cd "$web" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=http 2>&1) || {
                echo "progress: failed"
                return 1
        }
}

if ! is_current; then
        # Two build directories may want them at once.
        exec 9>"$web/.packages.lock"
        flock 9
        if ! is_current; then
                log=$web/.packages.log
                install | tee "$log" | "$web/../tools/progress.sh" --lines "silt: packages of the page" || {
                        grep -v '^npm http' "$log" >&2
                        echo "silt: web: cannot install the packages of the page: npm does not reach its registry" >&2
                        exit 1
                }
                cp "$web/package-lock.json" "$made"
        fi
        exec 9>&-
fi
rm -f "$web/.packages.lock" "$web/.packages.log"
[ "${1:-}" = --packages ] || exec node "$web/build.mjs" "$@"
