/* SPDX-License-Identifier: MIT */
#include "keep/leaks.h"

#include "keep/leaks_write.h"
#include "show/opened.h"

static int gather(struct leaks *l, struct opened *t, const struct leaks_options *o,
                  struct err *reterr) {
        struct query_scope scope;
        int r = kept_leaks_open(&l->kept, t->q, o->view.path, o->view.resolved->scope.process,
                                &o->suppressions, reterr);

        if (r < 0)
                return r;
        scope = (struct query_scope){.process = l->kept.graph.info.process,
                                     .to_ns = l->kept.graph.info.time_ns};
        r = query_ask(t->q, &scope, &l->answer, reterr);
        if (r == 0 && !l->kept.is_told)
                hidden_pointers_find(&l->kept, t->q, l->answer, &l->hidden);
        return r;
}

int leaks_print(FILE *out, const struct leaks_options *options, struct err *reterr) {
        struct leaks_options o = *options;
        struct request_resolved resolved = {0};
        struct leaks l = {0};
        struct opened t;
        int r = opened_init(&t, o.view.path, &o.view.request->rules, reterr);

        if (r >= 0)
                r = show_resolve(&o.view, t.q, REQUEST_ALL, &resolved, reterr);
        if (r >= 0)
                r = gather(&l, &t, &o, reterr);
        opened_end_progress(&t);
        l.options = &o;
        l.names = (struct frame_names){.q = t.q, .names = t.names, .is_full = o.is_full};
        if (r >= 0 && o.gen_suppressions)
                leaks_entries(out, &l);
        else if (r >= 0 && o.view.json)
                leaks_json(out, &l);
        else if (r >= 0)
                leaks_text(out, &l);
        query_answer_free(l.answer);
        kept_leaks_done(&l.kept);
        request_resolved_done(&resolved);
        opened_done(&t);
        return r;
}
