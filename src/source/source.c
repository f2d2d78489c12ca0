/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include "source/source_page.h"

/* bar: to be wiped away before the first byte; NULL: there is none */
static int write_pages(FILE *out, struct query *q, struct opened *bar,
                       const struct source_options *o, struct err *reterr) {
        struct pages p = {0};
        int r = pages_init(&p, out, q, o, reterr);

        opened_end_progress(bar);
        if (r >= 0 && o->view.json)
                source_json(&p);
        else if (r >= 0)
                source_text(&p);
        pages_done(&p);
        return r;
}

int source_write(FILE *out, struct query *q, const struct source_options *o, struct err *reterr) {
        return write_pages(out, q, NULL, o, reterr);
}

int source_print(FILE *out, const struct source_options *options, struct err *reterr) {
        struct source_options o = *options;
        struct request_resolved resolved = {0};
        struct opened t;
        int r = opened_init(&t, o.view.path, &o.view.request->rules, reterr);

        if (r >= 0)
                r = show_resolve(&o.view, t.q, o.view.json ? REQUEST_MAIN : REQUEST_ALL, &resolved,
                                 reterr);
        if (r >= 0)
                r = write_pages(out, t.q, &t, &o, reterr);
        request_resolved_done(&resolved);
        opened_done(&t);
        return r;
}
