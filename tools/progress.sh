#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Reads what a slow command says of its progress, and says how far it is: a line that changes on a terminal,
# elsewhere one line every few seconds. What is no progress (warnings, errors) passes.
#
#   COMMAND | tools/progress.sh "silt: building"            apt-get's status (APT::Status-Fd) and ninja's "[3/20] ..."
#   COMMAND | tools/progress.sh --lines "silt: configuring" lines are steps, whatever they say
#
# Ends with the time it took where there was anything to do, and fails after a line "progress: failed", or "progress: failed: WHY",
# which is all that it says then.
set -u
every_s=5 # between lines where there is no terminal: SILT_PROGRESS_S sets it

is_lines=
if [ "${1:-}" = --lines ]; then
        is_lines=yes
        shift
fi
what=$1
every_s=${SILT_PROGRESS_S:-$every_s}
said_s=0 n_lines=0 is_open= latest=begun pending=
# A command that says nothing for long, as apt-get of a large package, is spoken for.
tick_s=1
[ -t 2 ] || [ "$every_s" -lt 1 ] || tick_s=$every_s

show() { # TEXT
        latest=$1
        if [ -t 2 ]; then
                printf '\r\033[K%s: %s, %d s' "$what" "$1" $SECONDS >&2
                is_open=yes
        elif [ $((SECONDS - said_s)) -ge "$every_s" ]; then
                printf '%s: %s, %d s\n' "$what" "$1" $SECONDS >&2
                said_s=$SECONDS
        fi
}

# A line that is left as it is: what changes makes room for it.
leave() { # TEXT
        [ -z "$is_open" ] || printf '\r\033[K' >&2
        is_open=
        printf '%s\n' "$1" >&2
}

while :; do
        if IFS= read -r -t "$tick_s" line; then
                line=$pending$line pending=
        elif [ $? -gt 128 ]; then
                pending=$pending$line
                show "$latest"
                continue
        elif [ -n "$pending$line" ]; then
                line=$pending$line pending=
        else
                break
        fi
        if [ "$line" = "progress: failed" ]; then
                leave "$what: failed after $SECONDS s"
                exit 1
        fi
        case $line in
        "progress: failed: "*)
                leave "$what: ${line#progress: failed: }"
                exit 1
                ;;
        esac
        n_lines=$((n_lines + 1))
        if [ -n "$is_lines" ]; then
                show "$n_lines steps"
                continue
        fi
        case $line in
        dlstatus:*:*:* | pmstatus:*:*:*)
                rest=${line#*:*:}
                percent=${rest%%[.:]*}
                [ "${line%%:*}" = dlstatus ] && doing=downloaded || doing=installed
                show "$percent % $doing"
                ;;
        "["*/*"] "*)
                done=${line%%/*} all=${line%%]*}
                show "${done#[} of ${all#*/} steps"
                ;;
        media-change:* | pmconffile:* | "ninja: no work to do."*)
                n_lines=$((n_lines - 1))
                ;;
        *)
                leave "$line"
                ;;
        esac
done
if [ "$n_lines" -gt 0 ]; then
        leave "$what: done in $SECONDS s"
fi
