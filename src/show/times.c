/* SPDX-License-Identifier: MIT */
#include "show/times.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"

static int find_one(struct query *q, uint32_t process, const char *key, const char *name,
                    uint64_t *ret_ns, enum query_edge *ret_edge, struct err *reterr) {
        struct query_moment m;
        struct unit_text at, n;
        struct err text = {0}, before = {0};
        size_t n_same;
        int r;

        if (!name)
                return 0;
        r = query_find_moment(q, process, name, &m, &n_same, &text);
        if (r < 0)
                return err_about(reterr, key, err_set(reterr, r, "%s", text.text));
        if (n_same > 1) {
                if (reterr && !reterr->code)
                        before = *reterr;
                err_set(reterr, 0, "%.200s%s@%s: %s moments have this name: using the first, at %s",
                        before.text, before.text[0] ? "; " : "", name, unit_count(&n, n_same),
                        unit_duration(&at, m.time_ns));
        }
        *ret_ns = m.time_ns;
        *ret_edge = m.edge;
        return 0;
}

int times_find(struct query *q, uint32_t process, struct times_window *w, struct err *reterr) {
        const char *to = w->is_at ? "at" : "to";
        enum query_edge edge = QUERY_NO_EDGE;
        int r = find_one(q, process, "from", w->from_name, &w->from_ns, &edge, reterr);

        edge = QUERY_NO_EDGE;
        if (r >= 0)
                r = find_one(q, process, to, w->to_name, &w->to_ns, &edge, reterr);
        w->is_at_peak = w->is_at && edge == QUERY_AT_PEAK;
        if (r >= 0 && edge == QUERY_FINISH) { /* the last event is before the end */
                w->to_ns = UINT64_MAX;
                w->is_at = false;
        }
        if (r < 0 || (!w->from_name && !w->to_name) || w->from_ns < w->to_ns)
                return r;
        if (w->from_ns == 0 && w->is_at) /* a moment before anything happened */
                return 0;
        if (w->from_ns == 0)
                return err_about(reterr, to,
                                 err_set(reterr, -ERANGE,
                                         "the window is empty: it must end later than 0"));
        return err_about(reterr, "from",
                         err_set(reterr, -ERANGE,
                                 "the window is empty: it must begin before it ends"));
}

int times_scope(struct query *q, const struct show_options *o, struct query_scope *ret,
                struct err *reterr) {
        uint64_t end_ns = query_view(q)->end_ns;
        struct unit_text t;

        if (o->from_ns > 0 && o->from_ns >= end_ns)
                return err_about(reterr, "from",
                                 err_set(reterr, -ERANGE,
                                         "the recording is only %s long: choose an earlier time",
                                         unit_duration(&t, end_ns)));
        if (o->is_at && o->to_ns > end_ns)
                return err_about(reterr, "at",
                                 err_set(reterr, -ERANGE,
                                         "the recording is only %s long: choose an earlier time",
                                         unit_duration(&t, end_ns)));
        if (query_filter_check(o->filter, end_ns, reterr) < 0)
                return -ERANGE;
        *ret = query_whole(q);
        ret->from_ns = o->from_ns;
        ret->to_ns = o->to_ns;
        ret->filter = o->filter;
        if (o->json && !o->process) /* programs that read it know it so */
                return 0;
        return query_choose_process(q, o->process, &ret->process, reterr);
}

int times_options_init(struct times_options *t, const struct show_options *o, struct query *q,
                       struct err *reterr) {
        struct times_window w = {o->from_name, o->to_name, o->from_ns, o->to_ns, o->is_at};
        struct show_options whole = *o;
        struct query_scope scope;
        int r;

        *t = (struct times_options){.o = *o};
        if (!o->from_name && !o->to_name && !o->filter)
                return 0;
        whole.from_ns = 0;
        whole.to_ns = UINT64_MAX;
        whole.is_at = false;
        whole.filter = NULL;
        r = times_scope(q, &whole, &scope, reterr);
        if (r >= 0)
                r = times_find(q, scope.process, &w, reterr);
        if (r < 0)
                return r;
        t->o.from_ns = w.from_ns;
        t->o.to_ns = w.to_ns;
        t->o.is_at = w.is_at;
        /* what was alive at the peak: not a release later, in the same microsecond */
        if (w.is_at_peak && o->metric && strcmp(o->metric, "end") == 0)
                t->o.metric = "peak";
        scope.to_ns = w.to_ns;
        r = query_filter_name_times(o->filter, q, &scope, &t->filter, reterr);
        if (t->filter)
                t->o.filter = t->filter;
        return r;
}

void times_options_done(struct times_options *t) {
        t->filter = query_filter_free(t->filter);
}
