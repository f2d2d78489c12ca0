/* SPDX-License-Identifier: MIT */
/* Opening, progress, and who prints what. */
#include "report/report.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/gather.h"
#include "report/view.h"

/* A bar on stderr, when it is a terminal and there has been nothing to see for a second. */
struct progress {
        uint64_t began_ns, drawn_ns;
        bool is_terminal;
};

enum { PROGRESS_WIDTH = 40 };

static uint64_t now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void progress_draw(void *ctx, uint64_t done, uint64_t total) {
        struct progress *p = ctx;
        uint64_t now = now_ns();
        int n;

        if (!p->is_terminal || now - p->began_ns < 1000000000 || now - p->drawn_ns < 100000000)
                return;
        p->drawn_ns = now;
        n = total ? (int)(done * PROGRESS_WIDTH / total) : 0;
        fprintf(stderr, "\rsilt: reading [%.*s%*s] %3d %%", n,
                "########################################", PROGRESS_WIDTH - n, "",
                n * 100 / PROGRESS_WIDTH);
        fflush(stderr);
}

static void progress_clear(struct progress *p) {
        if (p->drawn_ns)
                fprintf(stderr, "\r\033[K");
        p->drawn_ns = 0;
}

static bool report_is_view(const struct report_options *o) {
        return o->histogram || o->group_by || o->tree || o->bottom_up || o->callers || o->callees;
}

/* Says what to do about rules that cannot be had; reterr has what is wrong with them. */
static int refuse_rules(int error, struct err *reterr) {
        struct err why = *reterr;
        const char *advice = "correct the rule, or leave the file out";

        if (error == -ENOENT || error == -ENOTDIR)
                advice = "check the path";
        else if (error == -EISDIR || error == -EFBIG)
                advice = "name a file of rules";
        else if (error != -EINVAL)
                advice = "choose a file that can be read";
        return err_set(reterr, error, "%s: %s", why.text, advice);
}

int report_print(FILE *out, const struct report_options *o, struct err *reterr) {
        struct progress progress = {.began_ns = now_ns(),
                                    .is_terminal = isatty(STDERR_FILENO) == 1};
        _cleanup_(names_freep) struct names *names = NULL;
        _cleanup_(query_freep) struct query *q = NULL;
        struct report r;
        int x;

        x = names_load(&o->rules, &names, reterr);
        if (x < 0)
                return refuse_rules(x, reterr);
        x = query_open(o->path, &q, reterr);
        if (x < 0)
                return x;
        query_set_names(q, names);
        query_set_progress(q, progress_draw, &progress);
        if (o->blocks) {
                query_set_progress(q, NULL,
                                   NULL); /* the list itself shows that something happens */
                return report_blocks(out, q, o, names, reterr);
        }
        if (report_is_view(o)) {
                x = o->histogram  ? report_histogram(out, q, o, reterr)
                    : o->group_by ? report_groups(out, q, o, reterr)
                                  : report_tree(out, q, o, reterr);
                progress_clear(&progress);
                return x;
        }
        x = report_gather(q, o, names, &r, reterr);
        progress_clear(&progress);
        if (x < 0)
                return x;
        query_set_progress(q, NULL, NULL);
        x = o->json ? report_json(out, &r, reterr) : report_text(out, &r, reterr);
        report_done(&r);
        return x;
}
