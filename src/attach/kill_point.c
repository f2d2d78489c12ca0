/* SPDX-License-Identifier: MIT */
#include "attach/kill_point.h"

#if SILT_SIGNAL_POINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "attach/stopper.h"

void attach_kill_point(const char *label) {
        const char *wanted = getenv("SILT_ATTACH_POINT");

        if (!wanted || strcmp(wanted, label) != 0)
                return;
        if (stopper_of)
                kill(stopper_of, SIGKILL);
        raise(SIGKILL);
}

#endif
