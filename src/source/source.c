/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include "source/page.h"

int source_print(FILE *out, const struct source_options *o, struct err *reterr) {
        struct opened t;
        struct pages p = {0};
        int r = opened_init(&t, o->view.path, &o->view.rules, reterr);

        if (r >= 0)
                r = pages_init(&p, out, t.q, o, reterr);
        opened_end_progress(&t);
        if (r >= 0 && o->view.json)
                source_json(&p);
        else if (r >= 0)
                source_text(&p);
        pages_done(&p);
        opened_done(&t);
        return r;
}
