/* SPDX-License-Identifier: MIT */
#include "attach/kill_point.h"

#if SILT_SIGNAL_POINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "attach/stopper.h"
#include "attach/tracee.h"

void attach_kill_point(const char *label) {
        const char *wanted = getenv("SILT_ATTACH_POINT"),
                   *delay_ms = getenv("SILT_ATTACH_DELAY_MS");

        if (!wanted || strcmp(wanted, label) != 0)
                return;
        if (delay_ms) {
                tracee_pause((unsigned)atoi(delay_ms));
                return;
        }
        if (stopper_of)
                kill(stopper_of, SIGKILL);
        raise(SIGKILL);
}

#endif
