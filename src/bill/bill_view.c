/* SPDX-License-Identifier: MIT */
#include "bill/bill_view.h"

#include <stdlib.h>

#include "bill/bill_words.h"
#include "query/spent_time.h"
#include "show/view.h"

static void see_fragmentation(struct bill_view *v, const struct resident *r) {
        struct fragmentation_keys keys = {bill_key_of_stack, &v->keys};
        struct fragmentation f = fragmentation_of(r, &keys);

        if (v->fragmentation.allocator &&
            fragmentation_kept_bytes(&f) <= fragmentation_kept_bytes(&v->fragmentation))
                return;
        if (v->bill.arena)
                f.allocator = arena_strdup(v->bill.arena, f.allocator);
        v->fragmentation = f;
        v->fragmented_process = r->process;
}

static int find_fragmentation(struct bill_view *v, struct err *reterr) {
        for (size_t i = 0; i < v->moment.points.n; i++) {
                struct resident x = {0};
                int r = bill_read_resident(
                        v->q, v->series.points.items[v->moment.points.items[i]].bill_idx, &x,
                        reterr);

                if (r < 0)
                        return r;
                see_fragmentation(v, &x);
                resident_done(&x);
        }
        return 0;
}

static void gather_now(struct bill_view *v) {
        const struct bill_owner o = {0};

        bill_add(&v->bill, v->o->now, &o);
        bill_finish(&v->bill);
        see_fragmentation(v, v->o->now);
        v->has_bill = true;
}

/* How it ended, where that is another moment. */
static int gather_end(struct bill_view *v, struct err *reterr) {
        uint64_t last_ns = v->series.points.items[v->series.points.n - 1].time_ns;

        if (v->is_asked || last_ns <= v->moment.time_ns)
                return 0;
        bill_find_near(&v->series, v->q, last_ns, &v->end_moment);
        v->has_end = v->end_moment.points.n > 0;
        return v->has_end ? bill_make(&v->end, v->q, &v->keys, &v->series, &v->end_moment, reterr)
                          : 0;
}

static void see_missed(struct bill_view *v) {
        const struct query_scope *scope = &v->o->view.resolved->scope;

        bill_find_unlooked(&v->series, v->q, &v->moment, &v->unlooked);
        if (v->is_asked)
                bill_find_missed_then(&v->series, v->q, &v->moment, scope->to_ns, &v->missed);
        else
                bill_find_missed(&v->series, v->q, scope->process, scope->from_ns, scope->to_ns,
                                 &v->missed);
}

int bill_view_gather(struct bill_view *v, struct err *reterr) {
        const struct request_resolved *asked = v->o->view.resolved;
        int r;

        if (v->o->now) {
                gather_now(v);
                return 0;
        }
        v->is_imported = query_is_imported(v->q);
        r = bill_series_read(&v->series, v->q, asked->scope.process, reterr);
        if (r < 0)
                return r;
        if (!v->series.points.n)
                return query_resident(v->q, &asked->scope, &v->sampled, reterr);
        v->is_asked = v->o->view.request->at.is_set;
        if (v->is_asked)
                bill_find_near(&v->series, v->q, asked->scope.to_ns, &v->moment);
        else
                v->is_asked = !bill_find_highest(&v->series, v->q, asked->scope.from_ns,
                                                 asked->scope.to_ns, &v->moment);
        if (!v->moment.points.n) /* none of the processes was alive then */
                return query_resident(v->q, &asked->scope, &v->sampled, reterr);
        v->has_bill = true;
        r = bill_make(&v->bill, v->q, &v->keys, &v->series, &v->moment, reterr);
        if (r >= 0)
                r = find_fragmentation(v, reterr);
        if (r >= 0)
                see_missed(v);
        return r < 0 ? r : gather_end(v, reterr);
}

void bill_view_done(struct bill_view *v) {
        bill_series_done(&v->series);
        bill_moment_done(&v->moment);
        bill_moment_done(&v->end_moment);
        bill_keys_done(&v->keys);
        bill_done(&v->bill);
        bill_done(&v->end);
        bill_history_done(&v->history);
}

void bill_view_add_sentence(const struct bill_view *v, bool utf8, struct str *to) {
        bool is_only =
                v->bill.processes.n == 1 && v->bill.processes.items[0].process == v->missed.process;

        if (v->q)
                view_add_missing_end(query_view(v->q), v->o->view.path, to);
        bill_add_sentence(&v->bill, &v->keys.frames, v->o, utf8, to);
        bill_add_unlooked(&v->unlooked, to);
        bill_add_missed(&v->missed, v->q, is_only, v->is_asked, to);
}

bool bill_view_add_fragmentation(const struct bill_view *v, bool utf8, struct str *to) {
        struct str function = {0}, place = {0};

        if (!v->has_bill || !fragmentation_is_material(&v->fragmentation))
                return false;
        bill_add_function(&v->keys.frames, v->fragmentation.stack, utf8, &function, &place);
        fragmentation_add_words(&v->fragmentation, str_text(&function), str_text(&place), to);
        str_done(&function);
        str_done(&place);
        return true;
}
