#!/bin/sh
# SPDX-License-Identifier: MIT
# Records the message server of docs/stories and prints the report: what the README shows.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
trace=$build/demo.silt

run() {
        printf '\n$ %s\n' "$*"
        "$@"
}

run "$build/silt" run -f -o "$trace" "$build/examples/mqtt_server"
run "$build/silt" report "$trace"
run "$build/silt" flame -f -o "$build/demo.svg" "$trace"
printf '\nThe trace is %s, the picture %s: open it in a browser.\n' "$trace" "$build/demo.svg"
if grep -q '^build web/page\.js ' "$build/build.ninja"; then
        printf 'Explore it in the page:  %s/silt view %s\n' "$build" "$trace"
else
        printf "This build has no page. Run 'make' to build it: it needs nodejs and npm.\n"
fi
printf 'See docs/stories for what to ask next, and for six other programs.\n'
