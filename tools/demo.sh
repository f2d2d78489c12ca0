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
printf '\nThe trace is %s. Next: %s/silt report --tree %s\n' "$trace" "$build" "$trace"
