/* SPDX-License-Identifier: MIT */
/* Who prints what. */
#include "report/report.h"

#include "report/gather.h"
#include "show/opened.h"

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

static int print_asked(FILE *out, struct opened *t, const struct show_options *o,
                       struct err *reterr) {
        int r = 0;

        switch (o->request->shape) {
        case REQUEST_SUMMARY: return print_summary(out, t, o, reterr);
        case REQUEST_BLOCKS:
                opened_end_progress(t); /* the list itself shows that something happens */
                return report_blocks(out, t->q, o, t->names, reterr);
        case REQUEST_GROUPS: r = report_groups(out, t->q, o, reterr); break;
        case REQUEST_TREE:
        case REQUEST_BOTTOM_UP:
        case REQUEST_CALLERS:
        case REQUEST_CALLEES: r = report_tree(out, t->q, o, reterr); break;
        case REQUEST_SIZES:
        case REQUEST_LIFETIMES: r = report_histogram(out, t->q, o, reterr); break;
        }
        opened_end_progress(t);
        return r;
}

int report_print(FILE *out, const struct show_options *options, struct err *reterr) {
        struct request_resolved resolved = {0};
        struct show_options o = *options;
        struct opened t;
        int r = opened_init(&t, o.path, &o.request->rules, reterr);

        /* programs that read JSON know it so */
        if (r >= 0)
                r = show_resolve(&o, t.q, o.json ? REQUEST_MAIN : REQUEST_ALL, &resolved, reterr);
        if (r >= 0)
                r = print_asked(out, &t, &o, reterr);
        request_resolved_done(&resolved);
        opened_done(&t);
        return r;
}
