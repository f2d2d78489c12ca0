/* SPDX-License-Identifier: MIT */
#include "query/chosen.h"

#include <string.h>

#include "query/filter.h"
#include "query/query_internal.h"

enum { ALLOCS_PER_BYTE = 128 }; /* two bits an event, 32 bytes from one stored */

void chosen_free(struct chosen *c) {
        if (!c)
                return;
        free(c->bits);
        free(c->begin_bytes);
        free(c);
}

const struct chosen *chosen_find(const struct query *q, const struct query_scope *scope) {
        const struct chosen *c = q->chosen;

        return c && c->serial && scope->filter && c->serial == scope->filter->serial &&
                               c->scope.process == scope->process &&
                               c->scope.from_ns == scope->from_ns && c->scope.to_ns == scope->to_ns
                       ? c
                       : NULL;
}

struct chosen *chosen_begin(struct query *q) {
        const struct trace_view *v = q->view;
        struct chosen *c = q->chosen;

        if (!c) {
                q->chosen = c = calloc(1, sizeof(*c));
                if (!c)
                        abort();
                /* no more than the file's events can be, whatever it claims */
                c->n_bits = MIN(v->n_events, v->file_bytes * ALLOCS_PER_BYTE);
                c->bits = malloc((c->n_bits / 64 + 1) * sizeof(uint64_t));
                c->begin_bytes = malloc((v->n_processes + 1) * sizeof(int64_t));
                if (!c->bits || !c->begin_bytes)
                        abort();
        }
        c->serial = 0;
        c->inherited = 0;
        memset(c->bits, 0, (c->n_bits / 64 + 1) * sizeof(uint64_t));
        memset(c->begin_bytes, 0, (v->n_processes + 1) * sizeof(int64_t));
        return c;
}

void chosen_add(struct chosen *c, const struct query_life *l, const struct query_scope *scope) {
        bool is_copy = scope->process == QUERY_ALL && l->is_inherited; /* counts in its allocator */

        if (l->is_live_at_from)
                c->begin_bytes[l->process] += (int64_t)life_bytes(l);
        else if (l->is_inherited && !is_copy)
                c->inherited += (int64_t)life_bytes(l);
        if (l->seq < c->n_bits && !is_copy)
                c->bits[l->seq / 64] |= 1ull << l->seq % 64;
}

void chosen_end(struct chosen *c, const struct query_scope *scope) {
        c->scope = *scope;
        c->serial = scope->filter ? scope->filter->serial : 0;
}
