/* SPDX-License-Identifier: MIT */
/* One moment for a page that draws it: schema silt.heap/1, an array for each column. */
#include "base/json.h"
#include "bill/heap_write.h"

#define PUT_CELLS(j, f, key, put, value)                                                           \
        JSON_PUT_EACH(j, key, (f)->cells.n, put, value(&(f)->cells.items[i]))

static uint64_t page_of(const struct heap_cell *c) {
        return c->begin >> 12; /* exact in a double */
}

static uint64_t owner_of(const struct heap_cell *c) {
        return c->owner;
}

static uint64_t live_of(const struct heap_cell *c) {
        return c->live_bytes;
}

static uint64_t resident_of(const struct heap_cell *c) {
        return c->resident_bytes;
}

static uint64_t blocks_of(const struct heap_cell *c) {
        return c->n_blocks;
}

static uint64_t apart_of(const struct heap_cell *c) {
        return c->is_apart;
}

static void put_columns(struct json *j, const struct heap_frame *f) {
        PUT_CELLS(j, f, "page", json_uint, page_of);
        PUT_CELLS(j, f, "apart", json_uint, apart_of);
        PUT_CELLS(j, f, "fill", json_uint, heap_cell_fill);
        JSON_PUT_EACH(j, "age", f->cells.n, json_uint,
                      heap_cell_age(&f->cells.items[i], f->time_ns));
        PUT_CELLS(j, f, "owner", json_uint, owner_of);
        PUT_CELLS(j, f, "live_bytes", json_uint, live_of);
        PUT_CELLS(j, f, "resident_bytes", json_uint, resident_of);
        PUT_CELLS(j, f, "blocks", json_uint, blocks_of);
}

void heap_write_json(FILE *out, const struct query *q, const struct heap_cells *h) {
        const struct heap_frame *f = &h->frames.items[0];
        struct str name = {0};
        struct json j;

        query_add_process_name(q, h->process, &name);
        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.heap/1");
        json_put_string(&j, "process", str_text(&name));
        json_put_double(&j, "at_s", (double)f->time_ns / 1e9, 6);
        json_put_uint(&j, "rss_bytes", f->rss_bytes);
        json_put_uint(&j, "heap_bytes", f->heap_bytes);
        json_put_uint(&j, "heap_live_bytes", f->live_bytes);
        json_put_uint(&j, "heap_free_bytes", f->free_bytes);
        json_put_uint(&j, "box_bytes", f->cells.n ? f->cells.items[0].size_bytes : 0);
        JSON_PUT_EACH(&j, "owners", h->owners.n, json_string, str_text(&h->owners.items[i].name));
        put_columns(&j, f);
        json_end(&j);
        fputc('\n', out);
        str_done(&name);
}
