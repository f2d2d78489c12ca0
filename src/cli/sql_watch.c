/* SPDX-License-Identifier: MIT */
#include "cli/sql_watch.h"

#include <unistd.h>

#include "base/system_clock.h"
#include "base/units.h"
#include "show/style.h"

#define QUIET_NS 1000000000u /* what is faster needs no line */
#define REDRAW_NS 100000000u

static struct sql *volatile running; /* for the handler */
static volatile sig_atomic_t n_pressed;

static void on_interrupt(int signal) {
        (void)signal;
        n_pressed++;
        if (running)
                sql_interrupt(running);
}

static bool on_progress(void *ctx, uint64_t n_rows_read) {
        struct sql_watch *w = ctx;
        struct unit_text count;
        uint64_t now = clock_now_ns();

        if (!w->is_terminal || w->is_over || now - w->began_ns < QUIET_NS ||
            now - w->drawn_ns < REDRAW_NS)
                return true;
        w->drawn_ns = now;
        fprintf(stderr, "\rsilt: %s rows read, %llu s; Ctrl-C stops\033[K",
                unit_count(&count, n_rows_read),
                (unsigned long long)((now - w->began_ns) / 1000000000));
        fflush(stderr);
        return true;
}

void sql_watch_begin(struct sql_watch *w, struct sql *s, FILE *out) {
        struct sigaction sa = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};

        *w = (struct sql_watch){.sql = s,
                                .began_ns = clock_now_ns(),
                                .is_terminal = isatty(STDERR_FILENO) == 1 && !style_is_dumb(),
                                .is_out_terminal = isatty(fileno(out)) == 1};
        n_pressed = 0;
        running = s;
        sql_set_progress(s, on_progress, w);
        sigemptyset(&sa.sa_mask);
        sigaction(SIGINT, &sa, &w->before);
        if (w->before.sa_handler == SIG_IGN) /* a job in the background stays one */
                sigaction(SIGINT, &w->before, NULL);
}

void sql_watch_wipe(void *watch, FILE *to) {
        struct sql_watch *w = watch;

        if (to != stderr && !w->is_out_terminal)
                return;
        if (w->drawn_ns) {
                fputs("\r\033[K", stderr);
                fflush(stderr);
        }
        w->drawn_ns = 0;
        w->is_over |= to != stderr;
}

bool sql_watch_end(struct sql_watch *w) {
        sql_watch_wipe(w, stderr);
        sql_set_progress(w->sql, NULL, NULL);
        sigaction(SIGINT, &w->before, NULL);
        running = NULL;
        return n_pressed > 0;
}
