/* SPDX-License-Identifier: MIT */
/* Any bytes as what a worker says. The first byte tells in how large pieces they come. Whatever they
 * are:
 *  - every symbol has a place that exists, and texts that are there
 *  - what is sure was heard, and nothing is heard after the end
 *  - it makes no difference in which pieces they come
 *
 * covers: src/symbol/worker_reply.c */
#include <stdlib.h>

#include "symbol/worker_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { N_LOCATIONS = 8, N_JOBS = 3 };

struct heard {
        struct worker_reply_outcome outcomes[N_JOBS];
        struct worker_replies all;
        struct worker_reply one;
};

static void hear(struct heard *h, const uint8_t *data, size_t n, size_t piece) {
        *h = (struct heard){.all = {.n_locations = N_LOCATIONS, .n_jobs = N_JOBS}};
        h->all.arena = arena_new();
        h->all.outcomes = h->outcomes;
        for (size_t at = 0; at < n && !h->one.has_ended && !h->one.is_mad; at += piece) {
                buf_bytes(&h->one.in, data + at, MIN(piece, n - at));
                worker_reply_understand(&h->all, &h->one);
        }
}

static void check(const struct heard *h) {
        if (h->one.n_sure > h->one.symbols.n)
                abort();
        for (size_t i = 0; i < h->one.symbols.n; i++) {
                const struct trace_symbol *s = &h->one.symbols.items[i];

                if (s->location >= N_LOCATIONS || !s->function || !s->file)
                        abort();
        }
        for (size_t i = 0; i < N_JOBS; i++)
                if (h->outcomes[i].is_done && (h->outcomes[i].naming >= TRACE_N_NAMINGS ||
                                               !h->outcomes[i].file || !h->outcomes[i].text))
                        abort();
}

static void check_same(const struct heard *a, const struct heard *b) {
        if (a->one.has_ended != b->one.has_ended || a->one.is_mad != b->one.is_mad ||
            a->one.n_sure != b->one.n_sure || a->one.symbols.n != b->one.symbols.n ||
            a->all.n_results != b->all.n_results)
                abort();
        for (size_t i = 0; i < a->one.symbols.n; i++)
                if (strcmp(a->one.symbols.items[i].function, b->one.symbols.items[i].function) != 0)
                        abort();
}

static void heard_done(struct heard *h) {
        worker_reply_restart(&h->one);
        if (h->one.symbols.n != h->one.n_sure || h->one.in.n)
                abort();
        worker_reply_done(&h->one);
        map_done(&h->all.texts);
        arena_free(h->all.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct heard whole, pieces;

        if (n < 2)
                return 0;
        hear(&whole, data + 1, n - 1, n);
        hear(&pieces, data + 1, n - 1, data[0] % 64 + 1u);
        check(&whole);
        check_same(&whole, &pieces);
        heard_done(&whole);
        heard_done(&pieces);
        return 0;
}
