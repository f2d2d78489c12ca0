/* SPDX-License-Identifier: MIT */
/* Who prints what. */
#include "report/report.h"

#include "report/gather.h"
#include "show/opened.h"
#include "show/times.h"

static bool report_is_view(const struct show_options *o) {
        return o->histogram || o->group_by || o->tree || o->bottom_up || o->callers || o->callees;
}

/* The answers that stand in for the summary. */
static int print_view(FILE *out, struct opened *t, const struct show_options *o,
                      struct err *reterr) {
        int r = o->histogram  ? report_histogram(out, t->q, o, reterr)
                : o->group_by ? report_groups(out, t->q, o, reterr)
                              : report_tree(out, t->q, o, reterr);

        opened_end_progress(t);
        return r;
}

static int print_summary(FILE *out, struct opened *t, const struct show_options *o,
                         struct err *reterr) {
        struct report r;
        int x = report_gather(t->q, o, t->names, &r, reterr);

        opened_end_progress(t);
        if (x < 0)
                return x;
        x = o->json ? report_json(out, &r, reterr) : report_text(out, &r, reterr);
        report_done(&r);
        return x;
}

int report_print(FILE *out, const struct show_options *options, struct err *reterr) {
        struct times_options times = {0};
        const struct show_options *o = &times.o;
        struct opened t;
        int r = opened_init(&t, options->path, &options->rules, reterr);

        if (r >= 0)
                r = times_options_init(&times, options, t.q, reterr);
        if (r >= 0 && o->blocks) {
                opened_end_progress(&t); /* the list itself shows that something happens */
                r = report_blocks(out, t.q, o, t.names, reterr);
        } else if (r >= 0) {
                r = report_is_view(o) ? print_view(out, &t, o, reterr)
                                      : print_summary(out, &t, o, reterr);
        }
        times_options_done(&times);
        opened_done(&t);
        return r;
}
