/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include "show/times.h"
#include "source/source_page.h"

int source_print(FILE *out, const struct source_options *options, struct err *reterr) {
        struct source_options own = *options;
        const struct source_options *o = &own;
        struct times_options times = {0};
        struct opened t;
        struct pages p = {0};
        int r = opened_init(&t, o->view.path, &o->view.rules, reterr);

        if (r >= 0)
                r = times_options_init(&times, &options->view, t.q, reterr);
        own.view = times.o;
        if (r >= 0)
                r = pages_init(&p, out, t.q, o, reterr);
        opened_end_progress(&t);
        if (r >= 0 && o->view.json)
                source_json(&p);
        else if (r >= 0)
                source_text(&p);
        pages_done(&p);
        times_options_done(&times);
        opened_done(&t);
        return r;
}
