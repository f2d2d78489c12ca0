/* SPDX-License-Identifier: MIT */
/* silt run --view, silt attach --view: a `silt view` of the trace that is being written, as a process of its own. Whatever becomes of
 * it, the recording and the program do not notice. */
#pragma once

#include <sys/types.h>

struct view_child {
        pid_t pid; /* 0: there is none */
};

/* As run_options.on_recording takes it: ctx is a struct view_child. */
void view_child_start(void *ctx, const char *trace_path);
/* Until somebody ends silt, or the page's server has ended. */
void view_child_wait(struct view_child *v);
