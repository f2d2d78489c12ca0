/* SPDX-License-Identifier: MIT */
/* Labelled steps of attaching. In a build with -Dsignal_points=true silt kills itself, its stopper too, at the one that SILT_ATTACH_POINT names, to show that the
 * process goes on by itself; or stays there for SILT_ATTACH_DELAY_MS milliseconds, if that is set, so that the process does much meanwhile. In every other
 * build they are nothing. */
#pragma once

#ifndef SILT_SIGNAL_POINTS
#define SILT_SIGNAL_POINTS 0
#endif

#if SILT_SIGNAL_POINTS
void attach_kill_point(const char *label);
#define POINT(label) attach_kill_point(label)
#else
#define POINT(label) ((void)0)
#endif
