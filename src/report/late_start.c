/* SPDX-License-Identifier: MIT */
#include "report/late_start.h"

#include "base/units.h"

static bool is_asked_for(const struct report *r, const struct trace_prior *x) {
        return r->scope.process == QUERY_ALL || r->scope.process == x->process;
}

/* The first row has what is the same in all. NULL: there is none. */
static const struct trace_prior *first_of(const struct report *r) {
        for (size_t i = 0; i < r->v->n_priors; i++)
                if (is_asked_for(r, &r->v->priors[i]))
                        return &r->v->priors[i];
        return NULL;
}

bool late_start_is_there(const struct report *r) {
        return first_of(r) != NULL;
}

/* Not all that is free could be looked at in time. */
static void add_use(const struct trace_prior *x, struct str *to) {
        bool is_whole = x->flags & TRACE_PRIOR_WHOLE;
        struct unit_text a, b;

        str_addf(to, ", %s %s in use and %s%s free", is_whole ? "about" : "at most",
                 unit_bytes(&a, x->held_bytes - x->free_bytes), is_whole ? "" : "at least ",
                 unit_bytes(&b, x->free_bytes));
}

/* Not every allocator has arenas. */
static bool knows_use(const struct trace_prior *x) {
        return x->n_arenas || x->flags & TRACE_PRIOR_WHOLE;
}

static void add_allocator(const struct trace_prior *x, struct str *to) {
        struct unit_text a, b;

        if (!(x->flags & TRACE_PRIOR_HELD))
                return;
        str_addf(to, " %s", x->allocator);
        if (x->n_arenas == 1)
                str_add(to, "'s arena");
        else if (x->n_arenas)
                str_addf(to, "'s %s arenas", unit_count(&a, x->n_arenas));
        str_addf(to, " held %s then", unit_bytes(&a, x->held_bytes));
        if (knows_use(x))
                add_use(x, to);
        if (x->n_mapped)
                str_addf(to, "; %s block%s outside %s %s", unit_count(&a, x->n_mapped),
                         x->n_mapped == 1 ? "" : "s", x->n_mapped == 1 ? "it took" : "them took",
                         unit_bytes(&b, x->mapped_bytes));
        str_add(to, ".");
}

void late_start_add_sentences(const struct report *r, struct str *to) {
        const struct trace_prior *first = first_of(r);
        struct unit_text a;

        if (!first)
                return;
        str_addf(to, "%sRecording started ", to->n ? " " : "");
        if (first->age_ns)
                str_addf(to, "%s after the program", unit_duration(&a, first->age_ns));
        else
                str_add(to, "while the program was running");
        if (first->anon_bytes)
                str_addf(to, ", when it had %s of its own memory",
                         unit_bytes(&a, first->anon_bytes));
        str_add(to, ": blocks allocated earlier are not seen.");
        for (size_t i = 0; i < r->v->n_priors; i++)
                if (is_asked_for(r, &r->v->priors[i]))
                        add_allocator(&r->v->priors[i], to);
}

static void put_allocator(struct json *j, const struct trace_prior *x) {
        json_object(j);
        json_put_string(j, "name", x->allocator);
        json_put_uint(j, "held_bytes", x->held_bytes);
        if (x->n_arenas)
                json_put_uint(j, "arenas", x->n_arenas);
        if (knows_use(x)) {
                json_put_uint(j, "free_bytes", x->free_bytes);
                json_put_uint(j, "used_bytes", x->held_bytes - x->free_bytes);
                json_key(j, "free_is_whole");
                json_bool(j, x->flags & TRACE_PRIOR_WHOLE);
        }
        if (x->flags & TRACE_PRIOR_MAPPED) {
                json_put_uint(j, "mapped_blocks", x->n_mapped);
                json_put_uint(j, "mapped_bytes", x->mapped_bytes);
        }
        json_end(j);
}

void late_start_put(struct json *j, const struct report *r) {
        const struct trace_prior *first = first_of(r);

        json_key(j, "prior");
        if (!first) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_double(j, "age_s", (double)first->age_ns / 1e9, 3);
        json_put_uint(j, "anon_bytes", first->anon_bytes);
        json_key(j, "allocators");
        json_array(j);
        for (size_t i = 0; i < r->v->n_priors; i++)
                if (is_asked_for(r, &r->v->priors[i]) && r->v->priors[i].flags & TRACE_PRIOR_HELD)
                        put_allocator(j, &r->v->priors[i]);
        json_end(j);
        json_end(j);
}
