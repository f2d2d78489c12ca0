/* SPDX-License-Identifier: MIT */
#include "bill/bill.h"

#include <errno.h>

#include "bill/bill_view.h"
#include "show/opened.h"
#include "show/view.h"

static int print_now(FILE *out, const struct bill_options *o) {
        struct bill_view v = {.o = o};
        struct err unsaid = {0};
        int r = bill_view_gather(&v, &unsaid);

        if (o->view.json)
                bill_json(out, &v);
        else
                bill_text(out, &v);
        bill_view_done(&v);
        return r;
}

int bill_write(FILE *out, struct query *q, struct names *names, const struct show_options *view,
               struct err *reterr) {
        const struct bill_options o = {.view = *view};
        struct bill_view v = {.o = &o, .q = q, .keys.frames = {.q = q, .names = names}};
        int r = query_tell_progress(q, 0, 1, reterr);

        if (r >= 0)
                r = bill_view_gather(&v, reterr);
        if (r >= 0 && v.has_bill)
                r = bill_history_read(&v.history, q, &v.series, reterr);
        if (r >= 0)
                bill_json(out, &v);
        bill_view_done(&v);
        return r;
}

int bill_print(FILE *out, const struct bill_options *options, struct err *reterr) {
        struct bill_options o = *options;
        struct request_resolved resolved = {0};
        struct bill_view v = {.o = &o};
        struct opened t;
        int r;

        if (o.now)
                return print_now(out, &o);
        r = opened_init(&t, o.view.path, &o.view.request->rules, reterr);
        if (r >= 0)
                r = show_resolve(&o.view, t.q, REQUEST_ALL, &resolved, reterr);
        v.q = t.q;
        v.keys.frames = (struct frame_names){.q = t.q, .names = t.names, .is_full = o.is_full};
        if (r >= 0)
                r = bill_view_gather(&v, reterr);
        opened_end_progress(&t);
        if (r >= 0 && o.needs_blocks && (!v.has_bill || v.bill.lacks_blocks))
                r = -ENODATA;
        if (r >= 0)
                opened_say_damage(&t, o.view.path);
        if (r >= 0 && o.view.json)
                bill_json(out, &v);
        else if (r >= 0)
                bill_text(out, &v);
        bill_view_done(&v);
        request_resolved_done(&resolved);
        opened_done(&t);
        return r;
}
