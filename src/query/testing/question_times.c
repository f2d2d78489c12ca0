/* SPDX-License-Identifier: MIT */
/* How long each kind of answer takes of a trace, how long it is deaf to being stopped, and how soon it ends when it is. In CPU time
 * of this thread, so that other programs do not count.
 *
 *   question_times TRACE */
#include <stdio.h>
#include <stdlib.h>

#include "base/system_clock.h"
#include "query/query.h"
#include "query/testing/questions.h"

struct watch {
        uint64_t n, stop_at;      /* calls; the one that says stop */
        double last_s, longest_s; /* of the call before; between two calls */
        double stopped_s;
};

static double cpu_s(void) {
        return (double)clock_thread_cpu_ns() / 1e9;
}

static bool note(void *ctx, uint64_t done, uint64_t total) {
        struct watch *w = ctx;
        double now_s = cpu_s();

        (void)done;
        (void)total;
        w->longest_s = MAX(w->longest_s, now_s - w->last_s);
        w->last_s = w->stopped_s = now_s;
        return w->n++ != w->stop_at;
}

static int ask(struct query *q, unsigned question, const struct query_scope *scope, struct watch *w,
               double *ret_s) {
        double begin_s = cpu_s();
        uint64_t digest;
        struct err e = {0};
        int r;

        w->last_s = begin_s;
        query_set_progress(q, note, w);
        r = question_ask(q, (enum question)question, scope, &digest, &e);
        *ret_s = cpu_s() - begin_s;
        w->longest_s = MAX(w->longest_s, cpu_s() - w->last_s);
        return r;
}

int main(int argc, char **argv) {
        _cleanup_(query_freep) struct query *q = NULL;
        struct err e = {0};

        if (argc != 2 || query_open(argv[1], &q, &e) < 0) {
                fprintf(stderr, "%s\n", e.text);
                return 2;
        }
        printf("%-18s %9s %9s %12s %12s\n", "question", "CPU s", "calls", "longest ms",
               "stopped ms");
        for (unsigned i = 0; i < N_QUESTIONS; i++) {
                struct query_scope scope = query_whole(q);
                struct watch whole = {.stop_at = UINT64_MAX}, stopped = {0};
                double s, stop_s;

                scope.from_ns = query_view(q)->end_ns / 3;
                if (ask(q, i, &scope, &whole, &s) < 0)
                        return 1;
                stopped.stop_at = whole.n / 2;
                if (whole.n && ask(q, i, &scope, &stopped, &stop_s) >= 0)
                        return 1;
                stop_s = whole.n ? cpu_s() - stopped.stopped_s : 0;
                printf("%-18s %9.3f %9llu %12.2f %12.2f\n", question_name((enum question)i), s,
                       (unsigned long long)whole.n, whole.longest_s * 1e3, stop_s * 1e3);
        }
        return 0;
}
