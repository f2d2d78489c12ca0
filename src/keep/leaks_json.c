/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "keep/json_sum.h"
#include "keep/leaks_write.h"
#include "keep/missing_blocks.h"
#include "show/show_json.h"

static void put_suppressions(struct json *j, const struct suppressions *s) {
        json_key(j, "suppressions"); /* those that were used */
        json_array(j);
        for (size_t i = 0; i < s->list.n; i++) {
                if (!s->list.items[i].n_blocks)
                        continue;
                json_object(j);
                json_put_string(j, "name", s->list.items[i].name ? s->list.items[i].name : "");
                json_put_uint(j, "bytes", s->list.items[i].n_bytes);
                json_put_uint(j, "blocks", s->list.items[i].n_blocks);
                json_end(j);
        }
        json_end(j);
}

static void put_record(struct json *j, const struct leaks *l, const struct loss_record *r) {
        static const char *const kinds[N_LEAK_CLASSES] = {"reachable", "possible", "indirect",
                                                          "definite"};

        json_object(j);
        json_put_string(j, "class", kinds[r->class]);
        json_put_uint(j, "bytes", r->bytes);
        json_put_uint(j, "blocks", r->blocks);
        json_put_uint(j, "indirect_bytes", r->indirect_bytes);
        json_put_uint(j, "indirect_blocks", r->indirect_blocks);
        if (r->stack != REACH_NO_SITE)
                show_put_stack(j, l->names.q, r->stack);
        json_end(j);
}

void leaks_json(FILE *out, const struct leaks *l) {
        const struct leak_sums *c = &l->kept.sums;
        const struct query_totals *t = &l->answer->totals;
        struct str incomplete = {0};
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.leaks/1");
        json_put_uint(&j, "pid",
                      query_view(l->names.q)->processes[l->kept.graph.info.process].start.pid);
        missing_blocks_add(query_view(l->names.q), l->kept.graph.info.process, &incomplete);
        json_put_string(&j, "incomplete", str_text(&incomplete));
        str_done(&incomplete);
        json_put_double(&j, "at_s", (double)l->kept.graph.info.time_ns / 1e9, 6);
        json_put_double(&j, "pause_s", (double)l->kept.graph.heap.pause_ns / 1e9, 6);
        json_put_uint(&j, "unread_bytes", l->kept.graph.heap.unread_bytes);
        json_put_uint(&j, "unsettled_blocks", l->kept.graph.heap.n_unsettled);
        json_put_uint(&j, "allocations", t->n_allocs);
        json_put_uint(&j, "frees", t->n_frees);
        json_put_uint(&j, "bytes_allocated", t->alloc_bytes);
        json_put_sum(&j, "definitely_lost", c->bytes[LEAK_DEFINITE], c->blocks[LEAK_DEFINITE]);
        json_put_sum(&j, "indirectly_lost", c->bytes[LEAK_INDIRECT], c->blocks[LEAK_INDIRECT]);
        json_put_sum(&j, "possibly_lost", c->bytes[LEAK_POSSIBLE], c->blocks[LEAK_POSSIBLE]);
        json_put_sum(&j, "still_reachable", c->bytes[LEAK_REACHABLE], c->blocks[LEAK_REACHABLE]);
        json_put_sum(&j, "suppressed", c->suppressed_bytes, c->suppressed_blocks);
        json_key(&j, "doubtful"); /* that may be held by pointers which nothing shows */
        json_object(&j);
        json_put_uint(&j, "freed_later_blocks", l->hidden.n_freed_later);
        json_put_uint(&j, "in_use_blocks", l->hidden.n_in_use);
        json_end(&j);
        put_suppressions(&j, &l->kept.suppressions);
        json_key(&j, "records");
        json_array(&j);
        for (size_t i = 0; i < l->kept.records.n; i++)
                if (!l->kept.records.items[i].is_suppressed)
                        put_record(&j, l, &l->kept.records.items[i]);
        json_end(&j);
        json_end(&j);
}
