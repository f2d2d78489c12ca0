/* SPDX-License-Identifier: MIT */
/* Labelled points of the runtime. In a build with -Dsignal_points=true the program under test is asked at each of
 * them whether a signal should arrive right here, and it does; in every other build they are nothing.
 *
 * The program defines silt_point_reached: the label, to the number of the signal or 0. */
#pragma once

#ifndef SILT_SIGNAL_POINTS
#define SILT_SIGNAL_POINTS 0
#endif

#if SILT_SIGNAL_POINTS

#include "wire/sys.h"

extern int silt_point_reached(const char *label) __attribute__((weak, visibility("default")));

/* The call of the kernel is made here and not in the program: the interrupted code is the runtime's. */
static inline __attribute__((always_inline)) void signal_point(const char *label) {
        int sig = silt_point_reached ? silt_point_reached(label) : 0;

        if (sig)
                sys_call3(SYS_tgkill, sys_getpid(), sys_gettid(), sig);
}

#define SIGNAL_POINT(label) signal_point(label)

#else

#define SIGNAL_POINT(label) ((void)0)

#endif
