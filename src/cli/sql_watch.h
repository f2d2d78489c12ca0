/* SPDX-License-Identifier: MIT */
/* Looks after a statement that runs: a line on stderr when it takes long and somebody is there to see it, and Ctrl-C, which stops the
 * statement alone. One at a time.
 *
 *   sql_watch_begin(&w, s, stdout);
 *   sql_print(s, rows, &(struct sql_print){…, .before_output = sql_watch_wipe, .ctx = &w}, &err);
 *   sql_watch_end(&w); */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sql/sql.h"

struct sql_watch {
        struct sql *sql;
        uint64_t began_ns, drawn_ns;
        bool is_terminal;     /* stderr, which understands more than lines */
        bool is_out_terminal; /* so that rows and the line are in each other's way */
        bool is_over;
        struct sigaction before;
};

void sql_watch_begin(struct sql_watch *w, struct sql *s, FILE *out);
/* Before something is written to a stream. */
void sql_watch_wipe(void *watch, FILE *to);
/* True: Ctrl-C was pressed. What it does is what it did before. */
bool sql_watch_end(struct sql_watch *w);
