/* SPDX-License-Identifier: MIT */
#include "keep/lost_sites.h"

#include "keep/kept_leaks.h"

static void read_all(struct lost_sites *s) {
        struct kept_leaks l = {0};
        struct err unsaid = {0};

        s->is_read = true;
        if (!query_n_graphs(s->q) || kept_leaks_open(&l, s->q, "", s->process, NULL, &unsaid) < 0) {
                kept_leaks_done(&l);
                return;
        }
        for (size_t i = 0; i < l.records.n; i++) {
                const struct loss_record *r = &l.records.items[i];
                bool added;

                if (r->is_suppressed || r->stack == REACH_NO_SITE ||
                    (r->class != LEAK_DEFINITE && r->class != LEAK_INDIRECT))
                        continue;
                *map_put(&s->of_stack, r->stack, 0, &added) += r->bytes;
        }
        kept_leaks_done(&l);
}

uint64_t lost_sites_bytes(void *ctx, uint32_t stack) {
        struct lost_sites *s = ctx;
        uint64_t bytes = 0;

        if (!s->is_read)
                read_all(s);
        return map_get(&s->of_stack, stack, &bytes) ? bytes : 0;
}

void lost_sites_done(struct lost_sites *s) {
        map_done(&s->of_stack);
}
