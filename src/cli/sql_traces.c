/* SPDX-License-Identifier: MIT */
#include "cli/sql_traces.h"

#include "base/units.h"

int sql_traces_open(struct sql_traces *t, const char *path, const char *other_path,
                    const struct request *request, struct err *reterr) {
        struct sql_options *o = &t->options;
        int r;

        *o = (struct sql_options){0};
        t->has_other = false;
        r = opened_init(&t->one, path, &request->rules, reterr);
        if (r < 0)
                return r;
        o->trace = (struct sql_trace){t->one.q, t->one.names, path};
        if (other_path) {
                t->has_other = true;
                r = opened_init_beside(&t->other, other_path, t->one.names, reterr);
                if (r < 0)
                        return r;
                o->other = (struct sql_trace){t->other.q, t->one.names, other_path};
                unit_set_weights(query_view(t->one.q)->meta.unit); /* bytes() speaks of the first */
        }
        return query_choose_process(t->one.q, request->process, &o->process, reterr);
}

void sql_traces_done(struct sql_traces *t) {
        if (t->has_other)
                opened_done(&t->other);
        opened_done(&t->one);
}
