#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the fuzzers with clang, runs each for so many seconds, two at a time, and prints executions and the
# line coverage of the files each is answerable for: its `covers:` lines. SILT_SEED is the seed, 1 by default. Fails when something is found, or a
# file is under 80 %. A slow machine gets further rounds of as many seconds, up to 180 s in all, until it is not.
#
#   tools/fuzz.sh SECONDS [NAME]...          all, or only these (reader_fuzz, cfi_fuzz, ...)
#
# x_fuzz.c starts from what the program of its `seeds:` line writes, and from x_fuzz_corpus/: finds of earlier
# runs, minimised (-merge=1). What it finds stays in build-fuzz/.
set -eu
cd "$(dirname "$0")/.."
build=build-fuzz
min_percent=80
max_rounds_s=180
max_input_bytes=16384
# Leaks are looked for once; at the end: each look takes seconds on aarch64.

# Line coverage of each file of the `covers:` lines.
coverage() { # PROGRAM NAME FILE...
        program=$1 name=$2
        shift 2
        llvm-profdata merge -sparse -o $build/"$name".profdata $build/"$name".*.profraw
        llvm-cov export -summary-only "$program" -instr-profile=$build/"$name".profdata >$build/"$name".coverage
        python3 - $build/"$name".coverage $min_percent "$@" <<'END'
import json, os, sys
path, least, wanted = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
with open(path) as f:
    lines = {os.path.relpath(os.path.realpath(x["filename"])): x["summary"]["lines"] for x in json.load(f)["data"][0]["files"]}
low = not wanted
for name in wanted:
    n = lines.get(name, {"percent": 0, "count": 0})
    note = "" if n["percent"] >= least else f": under {least:.0f} %"
    low |= bool(note)
    print(f"fuzz:     {n['percent']:5.1f} % of the {n['count']} lines of {name}{note}")
sys.exit(low)
END
}

one() { # SECONDS SOURCE
        seconds=$1 source=$2
        name=$(basename "$source" .c)
        program=$build/${source%.c}
        maker=$(sed -n "s,.*seeds: ,$build/,p" "$source")
        seeds=$build/seeds/$name
        found=$build/corpus/$name
        kept=${source%.c}_corpus
        files=$(sed -n 's/.*covers: \(.*\)/\1/p' "$source" | sed 's, \*/,,')
        mkdir -p "$seeds" "$found"
        if [ -n "$maker" ]; then
                "$maker" "$seeds" || { echo "fuzz: $name: no seeds"; return 1; }
        fi
        [ -d "$kept" ] || kept=
        rm -f $build/"$name".*.profraw
        spent_s=0 executions=0
        while :; do
                # shellcheck disable=SC2086 # words
                if ! LLVM_PROFILE_FILE=$build/$name.$spent_s.profraw "$program" -seed=$((${SILT_SEED:-1} + spent_s)) \
                        -max_total_time="$seconds" -timeout=10 \
                        -detect_leaks=0 -max_len=$max_input_bytes -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
                        -artifact_prefix=$build/"$name"- "$found" "$seeds" $kept >$build/"$name".log 2>&1; then
                        echo "fuzz: $name: FAILED, see $build/$name.log"
                        tail -n 30 $build/"$name".log
                        return 1
                fi
                spent_s=$((spent_s + seconds))
                executions=$((executions + $(sed -n 's/^stat::number_of_executed_units: *//p' $build/"$name".log)))
                {
                        echo "fuzz: $name: $executions executions in $spent_s s, nothing found"
                        # shellcheck disable=SC2086
                        coverage "$program" "$name" $files
                } >$build/"$name".result && status=0 || status=1
                [ $status != 0 ] && [ -n "$files" ] && [ $((spent_s + seconds)) -le $max_rounds_s ] || break
        done
        cat $build/"$name".result || :
        return $status
}

if [ "${1:-}" = --one ]; then
        one "$2" "$3" || { basename "$3" .c >>$build/failed; exit 1; }
        exit
fi

seconds=${1:-60}
case $seconds in
*[!0-9]*)
        echo "fuzz: '$seconds' is not a number of seconds: write tools/fuzz.sh SECONDS [NAME]..." >&2
        exit 2
        ;;
esac
[ $# -eq 0 ] || shift
sources=$(find src -name '*_fuzz.c' | sort)
if [ $# -gt 0 ]; then
        all=$sources sources=
        for name in "$@"; do
                sources="$sources $(echo "$all" | grep "/$name.c\$")"
        done
fi
# A short run spends most of its time in the compiler, a long one in the fuzzers.
optimization=2
[ "$seconds" -ge 30 ] || optimization=0
if [ ! -e $build/build.ninja ]; then
        CC=clang CXX=clang++ CC_LD=lld CXX_LD=lld meson setup $build -Dfuzzers=true -Doptimization=$optimization >/dev/null
else
        meson configure $build -Doptimization=$optimization
fi
# Only what is run: the tests need no such build.
targets=
for source in $sources; do
        targets="$targets ${source%.c}"
        targets="$targets $(sed -n 's/.*seeds: //p' "$source")"
done
# shellcheck disable=SC2086
ninja -C $build --quiet $targets >$build/ninja.log || { cat $build/ninja.log; exit 1; }
rm -f $build/failed
# shellcheck disable=SC2086
printf '%s\n' $sources | xargs -P 2 -n 1 "$0" --one "$seconds" && exit
# Said once more at the end, which is what a log of many tests shows.
for name in $(cat $build/failed); do
        echo "fuzz: $name failed:"
        grep -hE 'ERROR|SUMMARY|runtime error|Test unit written' $build/"$name".log || grep -h 'under' $build/"$name".result || :
done
exit 1
