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
        json_key(j, "indirect_blocks");
        if (l->kept.is_told && r->indirect_bytes)
                json_null(j); /* memcheck says their bytes */
        else
                json_uint(j, r->indirect_blocks);
        if (r->stack != REACH_NO_SITE)
                show_put_stack(j, l->names.q, r->stack);
        json_end(j);
}

static void put_traffic(struct json *j, const char *key, uint64_t n, bool is_unknown) {
        json_key(j, key);
        if (is_unknown)
                json_null(j);
        else
                json_uint(j, n);
}

static void put_class(struct json *j, const char *key, const struct leaks *l, enum leak_class c) {
        if (!l->kept.is_told || !l->kept.is_unknown[c]) {
                json_put_sum(j, key, l->kept.sums.bytes[c], l->kept.sums.blocks[c]);
                return;
        }
        json_key(j, key);
        json_null(j);
}

void leaks_json(FILE *out, const struct leaks *l) {
        const struct leak_sums *c = &l->kept.sums;
        const struct query_totals *t = &l->answer->totals;
        struct str incomplete = {0};
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.leaks/1");
        show_put_pid(&j, query_view(l->names.q), l->kept.graph.info.process);
        missing_blocks_add(query_view(l->names.q), l->kept.graph.info.process, &incomplete);
        json_put_string(&j, "incomplete", str_text(&incomplete));
        str_done(&incomplete);
        json_put_string(&j, "by", l->kept.is_told ? "memcheck" : "graph");
        json_key(&j, "at_s");
        if (l->kept.is_told)
                json_null(&j);
        else
                json_double(&j, (double)l->kept.graph.info.time_ns / 1e9, 6);
        json_key(&j, "pause_s");
        if (l->kept.is_told)
                json_null(&j);
        else
                json_double(&j, (double)l->kept.graph.heap.pause_ns / 1e9, 6);
        json_put_uint(&j, "unread_bytes", l->kept.graph.heap.unread_bytes);
        json_put_uint(&j, "unsettled_blocks", l->kept.graph.heap.n_unsettled);
        put_traffic(&j, "allocations", t->n_allocs, t->lacks_traffic);
        put_traffic(&j, "frees", t->n_frees, t->lacks_traffic);
        put_traffic(&j, "bytes_allocated", t->alloc_bytes, t->lacks_traffic);
        put_class(&j, "definitely_lost", l, LEAK_DEFINITE);
        put_class(&j, "indirectly_lost", l, LEAK_INDIRECT);
        put_class(&j, "possibly_lost", l, LEAK_POSSIBLE);
        put_class(&j, "still_reachable", l, LEAK_REACHABLE);
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
