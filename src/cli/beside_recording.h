/* SPDX-License-Identifier: MIT */
/* What runs beside a recording, as processes of their own: the page (--view) and metrics (--metrics). Whatever becomes of them, the
 * recording and the program do not notice. */
#pragma once

#include <sys/types.h>

#include "cli/options.h"
#include "cli/view_child.h"

struct run_options;

struct beside_recording {
        struct view_child view;
        const struct run_options *options;
};

/* Convert p->value, an address to listen on. False after an error was printed. */
bool cli_take_metrics(struct cli_parser *p, struct run_options *o);
/* When all options are known: what is wanted is started when the recording begins. */
void beside_recording_init(struct beside_recording *b, struct run_options *o);
/* Until the page is closed. Metrics end by themselves: `silt metrics --until-over`. */
void beside_recording_wait(struct beside_recording *b);

/* Beside a watch (watch/watch.h): one endpoint for all that it records. */
struct beside_watch {
        const struct run_options *options;
        pid_t metrics; /* 0: none */
};
void beside_watch_start(void *beside_watch, const char *folder);
void beside_watch_end(struct beside_watch *b);
