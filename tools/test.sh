#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds what is tested, runs it, and ends with one line: N passed, N failed.
#
#   tools/test.sh          `make test`: the gate; what tests/gate.txt lists
#   tools/test.sh --all    `make test-all`: every tier of docs/testing.md
#   tools/test.sh --soak   `make soak`: the same with long repetition counts
set -u
cd "$(dirname "$0")/.." || exit 1
is_gate='' soak=''
[ $# -gt 0 ] || is_gate=1
if [ "${1:-}" = --soak ]; then
        soak=--soak
        export SILT_HOSTILE_ALL=1 # src/report/report_hostile_test.c
        export SILT_TRAFFIC_DRAWS=10000 # src/diff/traffic_test.c
        # What tests draw: always the same, but in `make soak`.
        export SILT_SEED=${SILT_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
        echo "silt: tests: drawn anew: SILT_SEED=$SILT_SEED"
fi

# Whom silt finds, attaches to and watches, it finds there; so do the tests.
if [ ! -e /proc/self/maps ]; then
        echo "silt: tests: cannot run here: nothing is mounted at /proc: mount -t proc proc /proc" >&2
        exit 1
fi
packages=test
[ -z "$is_gate" ] || packages=gate
${SETUP:-true} $packages || exit 1

results=build-results
rm -rf "$results"
mkdir -p "$results/log"
started_s=$SECONDS

# A step failed. On a full disk the files of results do not say so: such a run is not green, whatever they add up to.
is_red=''

# Records one result in the form of Meson's testlog.json: what is counted has one shape.
record() { # NAME RESULT
        [ "$2" = OK ] || is_red=1
        printf '{"name": "%s", "result": "%s"}\n' "$1" "$2" >>"$results/steps.json" || is_red=1
}

say() {
        printf '%4d s  %s\n' $((SECONDS - started_s)) "$*"
}

# A step that is one test.
step() { # NAME COMMAND...
        local name=$1 log
        shift
        log=$results/log/${name//\//_}
        say "$name"
        if "$@" >"$log" 2>&1; then
                record "$name" OK
        else
                record "$name" FAIL
                echo "FAILED: $name: $*"
                tail -n 40 "$log"
                return 1
        fi
}

# What `make demo` has configured knows nothing of what the tests' packages bring: once, it is configured anew.
configure_anew() { # DIR
        [ -e "$1/build.ninja" ] && [ ! -e "$1/configured-for-tests" ] || return 0
        meson setup --reconfigure "$1" && touch "$1/configured-for-tests"
}

# Configures a build directory once, and builds it.
build() { # DIR SETUP-ARGUMENT...
        local dir=$1
        shift
        if [ ! -e "$dir/build.ninja" ]; then
                meson setup "$dir" "$@" || return 1
                touch "$dir/configured-for-tests"
        fi
        configure_anew "$dir" && ninja -C "$dir"
}

# The directory people build in, as they build it.
build_all() {
        configure_anew build && make --no-print-directory all && touch build/configured-for-tests
}

# The tests of a build directory; each counts.
suite() { # NAME DIR ARGUMENT...
        local name=$1 dir=$2
        shift 2
        say "$name"
        rm -f "$dir/meson-logs/testlog.json"
        if ! meson test -C "$dir" --no-rebuild --print-errorlogs --timeout-multiplier 4 "$@" >"$results/log/$name" 2>&1; then
                echo "FAILED: $name"
                grep -vE ' (OK|Ok:|Expected Fail:) ' "$results/log/$name" | tail -n 60
        fi
        if [ -s "$dir/meson-logs/testlog.json" ] && cp "$dir/meson-logs/testlog.json" "$results/$name.json"; then
                :
        else
                record "$name" FAIL
        fi
}

# End-to-end tests, each counts. What passed, what is left out and why, and what programs print is in the log; the sum is said once, at the end.
programs() { # NAME ARGUMENT...
        local name=$1 log=$results/log/$1 n_left_out
        shift
        say "$name"
        python3 tests/run.py --summary-file "$results/$name.json" "$@" 2>&1 | tee "$log" |
                grep --line-buffered -P '^(FAIL|SKIP|     (?!note: ))'
        n_left_out=$(grep -c '^left out' "$log")
        [ "$n_left_out" = 0 ] || echo "        $n_left_out left out, with the reasons in $log"
        if [ ! -s "$results/$name.json" ]; then
                record "$name" FAIL
                echo "FAILED: $name"
                tail -n 20 "$log"
        fi
}

# Racy programs run twice in the build that is shipped; once in each of the others.
#
# A sanitizer's runtime must come first in silt itself, which a preload of the user's own prevents.
sanitized_programs='^program/(?!new_forms/on_|other_malloc/.*_preloaded|own_preload|signal_storm/preloaded)'

case $(uname -m) in
x86_64) other=aarch64 ;;
*) other=x86_64 ;;
esac

# Whether anything that is tested here differs from the commit.
is_committed() {
        [ -z "$(git status --porcelain 2>&1)" ]
}

if [ -n "$is_gate" ]; then
        export MALLOC_PERTURB_=165 # Meson would draw one
        step build build_all && programs gate --build build --gate
        step "build-$other" build "build-$other" --cross-file "tools/cross/$other.ini" -Druntime_only=true && suite "gates-$other" "build-$other"
        step format python3 tools/lint.py --format
        python3 tests/summarize.py --unsteady "$results/unsteady" "$results"/*.json && [ -z "$is_red" ] || exit 1
        ! is_committed || git rev-parse 'HEAD^{tree}' >"$results/passed"
        exit 0
fi
if step build build_all; then
        suite unit build
        programs programs --build build $soak
        if step "build-$other" build "build-$other" --cross-file "tools/cross/$other.ini" \
                -Druntime_only=true; then
                suite "gates-$other" "build-$other"
                programs "programs-$other" --build build --runtime "build-$other/libsilt.so" \
                        --runner "qemu-$other -L /usr/$other-linux-gnu" --once
                [ -z "$soak" ] || programs "allocators-$other" --build build --runtime "build-$other/libsilt.so" \
                        --runner "qemu-$other -L /usr/$other-linux-gnu" --soak --only '^(allocators|patched|pools|attach/heaps_own)/'
        fi
        step lint python3 tools/lint.py --build build
        step bench-instrument python3 bench/bench_test.py
fi
if step build-asan build build-asan -Dweb=false -Db_sanitize=address,undefined -Db_lundef=false; then
        suite asan build-asan --no-suite gate
        # Looking for leaks at exit takes seconds a process; the unit tests do that.
        ASAN_OPTIONS=detect_leaks=0 programs programs-asan --build build-asan --runtime build/libsilt.so \
                --once --only "$sanitized_programs"
fi
if step build-tsan build build-tsan -Dweb=false -Db_sanitize=thread -Db_lundef=false; then
        suite tsan build-tsan --no-suite gate --no-suite reading
        TSAN_OPTIONS=halt_on_error=1 programs programs-tsan --build build-tsan --runtime build/libsilt.so \
                --once --only "$sanitized_programs"
fi
[ ! -e build-tiny/build.ninja ] || meson configure build-tiny -Dsignal_points=true
if step build-tiny build build-tiny -Dweb=false -Dtiny=true -Dsignal_points=true; then
        suite tiny build-tiny --no-suite gate --no-suite reading
        programs programs-tiny --build build-tiny --once --only '^(program|points|attach/points)/'
        [ -z "$soak" ] || programs points-tiny --build build-tiny --only '^(attach/)?points/' --soak
fi
step fuzz tools/fuzz.sh $([ -n "$soak" ] && echo 300 || echo 3)

if [ -n "$soak" ]; then
        step debian11 tools/old_root.sh build
        step fresh-root tools/fresh_root.sh
        step fresh-chroot tools/fresh_root.sh --with proc
fi

say "done"
python3 tests/summarize.py "$results"/*.json && [ -z "$is_red" ]
