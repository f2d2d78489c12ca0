/* SPDX-License-Identifier: MIT */
#include "keep/loss_records.h"

#include <stdlib.h>

#include "base/map.h"

/* By bytes with what is lost with them, then as memcheck does: by class, by call path. */
static int by_bytes(const void *a, const void *b) {
        const struct loss_record *x = a, *y = b;
        uint64_t x_bytes = x->bytes + x->indirect_bytes, y_bytes = y->bytes + y->indirect_bytes;

        if (x_bytes != y_bytes)
                return x_bytes < y_bytes ? -1 : 1;
        if (x->class != y->class)
                return x->class < y->class ? -1 : 1;
        if (x->blocks != y->blocks)
                return x->blocks < y->blocks ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

void loss_records_find(const struct kept_graph *g, loss_record_list *ret) {
        const struct reach_graph *graph = &g->heap.graph;
        struct map places = {0};

        for (uint32_t i = 0; i < graph->n_blocks; i++) {
                const struct reach_block *b = &graph->blocks[i];
                enum leak_class class = g->classes.of_block[i];
                uint64_t *place = map_put(&places, (uint64_t)b->site << 8 | class, ret->n, NULL);
                struct loss_record *r;

                if (*place == ret->n)
                        vec_push(ret, (struct loss_record){.stack = b->site, .class = class});
                r = &ret->items[*place];
                r->blocks++;
                r->bytes += b->size_bytes;
                r->indirect_blocks += g->classes.indirect_blocks[i];
                r->indirect_bytes += g->classes.indirect_bytes[i];
        }
        map_done(&places);
        loss_records_sort(ret);
}

void loss_records_sort(loss_record_list *records) {
        if (records->n)
                qsort(records->items, records->n, sizeof(records->items[0]), by_bytes);
}

struct leak_sums loss_records_sum(const loss_record_list *records) {
        struct leak_sums s = {0};

        for (size_t i = 0; i < records->n; i++) {
                const struct loss_record *r = &records->items[i];

                *(r->is_suppressed ? &s.suppressed_blocks : &s.blocks[r->class]) += r->blocks;
                *(r->is_suppressed ? &s.suppressed_bytes : &s.bytes[r->class]) += r->bytes;
        }
        return s;
}
