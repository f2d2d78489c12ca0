/* SPDX-License-Identifier: MIT */
/* silt tasks: what the tasks of asynchronous programs do, by where they were spawned (docs/tasks.md). */
#pragma once

#include <stdio.h>

#include "show/show_options.h"

struct tasks_options {
        struct show_options view;
        bool is_full; /* every group, long names */
};
#define TASKS_OPTIONS_DEFAULT ((struct tasks_options){.view = SHOW_OPTIONS_DEFAULT})

int tasks_print(FILE *out, const struct tasks_options *o, struct err *reterr);

/* The same as JSON, of a trace that is open; o->view is resolved. */
int tasks_write(FILE *out, struct query *q, struct names *names, const struct tasks_options *o,
                struct err *reterr);
