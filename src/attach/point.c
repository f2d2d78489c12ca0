/* SPDX-License-Identifier: MIT */
#include "attach/point.h"

#if SILT_SIGNAL_POINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "attach/hand.h"

void attach_point(const char *label) {
        const char *wanted = getenv("SILT_ATTACH_POINT");

        if (!wanted || strcmp(wanted, label) != 0)
                return;
        if (hand_of)
                kill(hand_of, SIGKILL);
        raise(SIGKILL);
}

#endif
