/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include "source/source_page.h"

int source_print(FILE *out, const struct source_options *options, struct err *reterr) {
        struct source_options own = *options;
        const struct source_options *o = &own;
        struct request_resolved resolved = {0};
        struct opened t;
        struct pages p = {0};
        int r = opened_init(&t, o->view.path, &o->view.request->rules, reterr);

        if (r >= 0)
                r = show_resolve(&own.view, t.q, o->view.json ? REQUEST_MAIN : REQUEST_ALL,
                                 &resolved, reterr);
        if (r >= 0)
                r = pages_init(&p, out, t.q, o, reterr);
        opened_end_progress(&t);
        if (r >= 0 && o->view.json)
                source_json(&p);
        else if (r >= 0)
                source_text(&p);
        pages_done(&p);
        request_resolved_done(&resolved);
        opened_done(&t);
        return r;
}
