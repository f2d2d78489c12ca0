/* SPDX-License-Identifier: MIT */
/* Who prints what. */
#include "report/report.h"

#include <errno.h>

#include "query/spent_time.h"
#include "report/gather.h"
#include "show/opened.h"

/* bar: to be wiped away before the first byte; NULL: there is none */
static int print_summary(FILE *out, struct query *q, struct opened *bar,
                         const struct show_options *o, struct err *reterr) {
        struct report r;
        int x = report_gather(q, o, query_names(q), &r, reterr);

        opened_end_progress(bar);
        if (x < 0)
                return x;
        x = o->json ? report_json(out, &r, reterr) : report_text(out, &r, reterr);
        report_done(&r);
        return x;
}

static int check_blocks(const struct query *q, enum request_shape shape, struct err *reterr) {
        if ((shape != REQUEST_BLOCKS && shape != REQUEST_SIZES && shape != REQUEST_LIFETIMES) ||
            !query_is_of_time(q))
                return 0;
        return err_set(
                reterr, -ENODATA,
                "the recording has samples of time and no allocations: record with silt run --cpu");
}

static int print_asked(FILE *out, struct query *q, struct opened *bar, const struct show_options *o,
                       struct err *reterr) {
        int r = check_blocks(q, o->request->shape, reterr);

        if (r < 0)
                return r;
        switch (o->request->shape) {
        case REQUEST_SUMMARY: return print_summary(out, q, bar, o, reterr);
        case REQUEST_BLOCKS:
                opened_end_progress(bar); /* the list itself shows that something happens */
                return report_blocks(out, q, o, query_names(q), reterr);
        case REQUEST_GROUPS: r = report_groups(out, q, o, reterr); break;
        case REQUEST_TREE:
        case REQUEST_BOTTOM_UP:
        case REQUEST_CALLERS:
        case REQUEST_CALLEES: r = report_tree(out, q, o, reterr); break;
        case REQUEST_SIZES:
        case REQUEST_LIFETIMES: r = report_histogram(out, q, o, reterr); break;
        }
        opened_end_progress(bar);
        return r;
}

int report_write(FILE *out, struct query *q, const struct show_options *options,
                 struct err *reterr) {
        return print_asked(out, q, NULL, options, reterr);
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
                r = print_asked(out, t.q, &t, &o, reterr);
        request_resolved_done(&resolved);
        opened_done(&t);
        return r;
}
