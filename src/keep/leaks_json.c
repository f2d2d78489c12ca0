/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "keep/leaks_write.h"
#include "show/show_json.h"

static void put_class(struct json *j, const char *key, const struct leak_classes *c,
                      enum leak_class class) {
        json_key(j, key);
        json_object(j);
        json_put_uint(j, "bytes", c->bytes[class]);
        json_put_uint(j, "blocks", c->blocks[class]);
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
        const struct leak_classes *c = &l->graph.classes;
        const struct query_totals *t = &l->answer->totals;
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.leaks/1");
        json_put_uint(&j, "pid",
                      query_view(l->names.q)->processes[l->graph.info.process].start.pid);
        json_put_double(&j, "at_s", (double)l->graph.info.time_ns / 1e9, 6);
        json_put_double(&j, "pause_s", (double)l->graph.heap.pause_ns / 1e9, 6);
        json_put_uint(&j, "unread_bytes", l->graph.heap.unread_bytes);
        json_put_uint(&j, "unsettled_blocks", l->graph.heap.n_unsettled);
        json_put_uint(&j, "allocations", t->n_allocs);
        json_put_uint(&j, "frees", t->n_frees);
        json_put_uint(&j, "bytes_allocated", t->alloc_bytes);
        put_class(&j, "definitely_lost", c, LEAK_DEFINITE);
        put_class(&j, "indirectly_lost", c, LEAK_INDIRECT);
        put_class(&j, "possibly_lost", c, LEAK_POSSIBLE);
        put_class(&j, "still_reachable", c, LEAK_REACHABLE);
        json_key(&j, "records");
        json_array(&j);
        for (size_t i = 0; i < l->records.n; i++)
                put_record(&j, l, &l->records.items[i]);
        json_end(&j);
        json_end(&j);
}
