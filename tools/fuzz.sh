#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the fuzzers with clang and runs each for so many seconds.
#   tools/fuzz.sh SECONDS
# Seeds are read from x_fuzz_corpus/ beside x_fuzz.c; what is found stays in build-fuzz/.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
build=build-fuzz

if [ ! -e $build/build.ninja ]; then
        CC=clang CXX=clang++ meson setup $build -Dfuzzers=true >/dev/null
fi
ninja -C $build --quiet

failed=0
for source in $(find src -name '*_fuzz.c' | sort); do
        name=$(basename "$source" .c)
        seeds=${source%.c}_corpus
        program=$(find $build -name "$name" -type f | head -n 1)
        if [ -z "$program" ]; then
                echo "fuzz: $source is not built" >&2
                failed=1
                continue
        fi
        found=$build/corpus/$name
        mkdir -p "$found"
        [ -d "$seeds" ] || seeds=
        # shellcheck disable=SC2086
        if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
                -print_final_stats=0 -artifact_prefix=$build/ "$found" $seeds >$build/$name.log 2>&1; then
                echo "fuzz: $name: nothing found in $seconds s"
        else
                echo "fuzz: $name: failed, see $build/$name.log" >&2
                tail -n 20 $build/$name.log >&2
                failed=1
        fi
done
exit $failed
