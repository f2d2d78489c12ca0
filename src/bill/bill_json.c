/* SPDX-License-Identifier: MIT */
/* The bill for programs: schema silt.bill/1. Fields may be added; what stands here keeps its meaning. */
#include "base/json.h"
#include "bill/bill_view.h"
#include "bill/bill_words.h"
#include "show/show_json.h"

static void put_int(struct json *j, const char *key, int64_t v) {
        json_key(j, key);
        json_int(j, v);
}

static void put_bool(struct json *j, const char *key, bool v) {
        json_key(j, key);
        json_bool(j, v);
}

/* "function" and "place", null where they are unknown. */
static void put_function(struct json *j, const struct frame_names *n, uint32_t stack) {
        struct str function = {0}, place = {0};

        bill_add_function(n, stack, true, &function, &place);
        json_put_text(j, "function", str_text(&function));
        json_put_text(j, "place", str_text(&place));
        str_done(&function);
        str_done(&place);
}

static void put_mapper(struct json *j, const struct frame_names *n, const struct bill_line *l) {
        struct str function = {0}, place = {0};

        bill_add_mapper(n, l, true, &function, &place);
        json_put_text(j, "function", str_text(&function));
        json_put_text(j, "place", str_text(&place));
        json_put_uint(j, "call_paths", l->n_stacks);
        str_done(&function);
        str_done(&place);
}

static void put_line(struct json *j, const struct bill_view *v, const struct bill_line *l) {
        json_object(j);
        if (l->stack)
                put_mapper(j, &v->keys.frames, l);
        else
                json_put_string(j, "name", l->name);
        json_put_uint(j, "bytes", l->bytes);
        json_put_uint(j, "private_bytes", l->private_bytes);
        json_put_uint(j, "size_bytes", l->size_bytes);
        json_put_uint(j, "mappings", l->n);
        if (l->stack && v->q)
                show_put_stack(j, v->q, l->stack);
        json_end(j);
}

static void put_part(struct json *j, const struct bill_view *v, const struct bill *b,
                     enum bill_kind k) {
        const struct bill_part *p = &b->parts[k];

        json_object(j);
        json_put_string(j, "part", bill_kind_key(k));
        json_put_string(j, "text", bill_kind_words(b, k));
        put_int(j, "bytes", p->bytes);
        json_key(j, "lines");
        json_array(j);
        for (size_t i = 0; i < p->lines.n; i++)
                put_line(j, v, &p->lines.items[i]);
        json_end(j);
        json_end(j);
}

static void put_parts(struct json *j, const struct bill_view *v, const struct bill *b) {
        json_key(j, "parts");
        json_array(j);
        for (unsigned k = 0; k < BILL_N_KINDS; k++)
                if (b->parts[k].bytes || b->parts[k].lines.n)
                        put_part(j, v, b, (enum bill_kind)k);
        json_end(j);
}

static void put_pins(struct json *j, const struct bill_view *v) {
        json_key(j, "pinned");
        json_array(j);
        for (size_t i = 0; i < v->bill.pins.n; i++) {
                const struct bill_pin *p = &v->bill.pins.items[i];

                json_object(j);
                put_function(j, &v->keys.frames, p->stack);
                json_put_uint(j, "pages", p->n_pages);
                json_put_uint(j, "pages_with_one_block", p->n_alone);
                json_put_uint(j, "blocks", p->n_blocks);
                json_put_uint(j, "block_bytes", p->block_bytes);
                json_put_uint(j, "free_bytes", p->free_bytes);
                json_end(j);
        }
        json_end(j);
}

static void put_frees(struct json *j, const struct bill *b) {
        json_key(j, "free");
        json_array(j);
        for (size_t i = 0; i < b->frees.n; i++) {
                const struct bill_free *f = &b->frees.items[i];

                json_object(j);
                json_put_string(j, "allocator", f->allocator);
                json_put_string(j, "name", f->name);
                json_put_uint(j, "bytes", f->bytes);
                json_put_uint(j, "releasable_bytes", f->releasable_bytes);
                if (f->n_blocks)
                        json_put_uint(j, "blocks", f->n_blocks);
                else
                        json_put_null(j, "blocks");
                json_end(j);
        }
        json_end(j);
}

static void put_cgroup(struct json *j, const struct bill *b) {
        const struct resident_cgroup *c = &b->cgroup;
        uint64_t files = c->file_bytes; /* without shared memory */

        json_key(j, "cgroup");
        if (!c->version) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_string(j, "path", b->cgroup_path);
        json_put_uint(j, "version", c->version);
        json_put_uint(j, "usage_bytes", c->usage_bytes);
        if (c->limit_bytes == UINT64_MAX)
                json_put_null(j, "limit_bytes");
        else
                json_put_uint(j, "limit_bytes", c->limit_bytes);
        json_put_uint(j, "anon_bytes", c->anon_bytes);
        json_put_uint(j, "page_cache_bytes", files);
        json_put_uint(j, "shared_memory_bytes", c->shmem_bytes);
        json_put_uint(j, "kernel_bytes", c->kernel_bytes);
        put_int(j, "remainder_bytes",
                (int64_t)(c->usage_bytes - c->anon_bytes - files - c->shmem_bytes -
                          c->kernel_bytes));
        json_put_uint(j, "swap_bytes", c->swap_bytes);
        json_put_uint(j, "processes", c->n_processes);
        json_end(j);
}

static void put_processes(struct json *j, const struct bill_view *v) {
        json_key(j, "processes");
        json_array(j);
        for (size_t i = 0; i < v->bill.processes.n; i++) {
                const struct bill_process *p = &v->bill.processes.items[i];

                json_object(j);
                if (v->q)
                        show_put_pid(j, query_view(v->q), p->process);
                else
                        json_put_uint(j, "pid", v->o->pid);
                json_put_string(j, "name",
                                v->q ? query_process_name(v->q, p->process) : v->o->program);
                if (v->q)
                        json_put_double(j, "at_s", (double)p->time_ns / 1e9, 6);
                json_put_uint(j, "resident_bytes", p->resident_bytes);
                json_put_uint(j, "rss_bytes", p->rss_bytes);
                json_end(j);
        }
        json_end(j);
}

static void put_fragmentation(struct json *j, const struct bill_view *v) {
        const struct fragmentation *f = &v->fragmentation;
        struct str text = {0};

        json_key(j, "fragmentation");
        if (v->bill.lacks_blocks) {
                json_null(j);
                return;
        }
        json_object(j);
        if (bill_view_add_fragmentation(v, true, &text))
                json_put_string(j, "text", str_text(&text));
        else
                json_put_null(j, "text");
        json_put_uint(j, "live_bytes", f->live_bytes);
        json_put_uint(j, "free_between_bytes", f->between_bytes);
        json_put_uint(j, "free_pages_bytes", f->empty_bytes);
        json_put_uint(j, "pinned_pages", f->n_pinned_pages);
        json_put_uint(j, "kept_bytes", f->kept_bytes);
        put_function(j, &v->keys.frames, f->stack);
        json_end(j);
        str_done(&text);
}

static void put_missed(struct json *j, const struct bill_view *v) {
        const struct bill_missed *m = &v->missed;

        json_key(j, "missed");
        if (!m->is_any) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_uint(j, "pid", query_view(v->q)->processes[m->process].start.pid);
        json_put_uint(j, "resident_bytes", m->most_bytes);
        json_put_uint(j, "seen_bytes", m->seen_bytes);
        json_end(j);
}

static void put_unlooked(struct json *j, const struct bill_view *v) {
        const struct bill_unlooked *u = &v->unlooked;

        json_key(j, "unlooked");
        json_object(j);
        json_put_uint(j, "processes", u->n);
        json_put_uint(j, "known_processes", u->n_known);
        json_put_uint(j, "anonymous_bytes", u->anon_bytes);
        json_end(j);
}

static void put_bill(struct json *j, const struct bill_view *v) {
        const struct bill *b = &v->bill;

        if (v->q) {
                json_put_double(j, "at_s", (double)v->moment.time_ns / 1e9, 6);
                json_put_uint(j, "bills", v->series.points.n);
        }
        put_bool(j, "is_highest", v->q && !v->is_asked);
        put_missed(j, v);
        put_unlooked(j, v);
        json_put_uint(j, "resident_bytes", b->resident_bytes);
        put_bool(j, "shared_counted_once", b->is_shared_once);
        put_bool(j, "blocks_are_known", !b->lacks_blocks);
        put_bool(j, "sizes_are_as_asked", !b->lacks_asked && !b->lacks_blocks);
        put_bool(j, "is_sampled", b->is_sampled);
        put_bool(j, "is_divided", b->is_divided);
        put_parts(j, v, b);
        json_put_uint(j, "blocks", b->n_blocks);
        json_put_uint(j, "asked_bytes", b->asked_bytes);
        json_put_uint(j, "huge_page_bytes", b->huge_bytes);
        json_put_uint(j, "stack_reserved_bytes", b->stack_reserved_bytes);
        JSON_PUT_EACH(j, "pages_by_eighths", RESIDENT_N_FILLS, json_uint, b->n_pages[i]);
        put_pins(j, v);
        put_frees(j, b);
        put_fragmentation(j, v);
        put_processes(j, v);
        json_key(j, "outside");
        json_object(j);
        json_put_uint(j, "page_table_bytes", b->page_table_bytes);
        json_put_uint(j, "swap_bytes", b->swap_bytes);
        json_put_uint(j, "hugetlb_bytes", b->hugetlb_bytes);
        json_put_uint(j, "locked_bytes", b->locked_bytes);
        json_end(j);
        put_cgroup(j, b);
        json_put_double(j, "cost_s", (double)b->cost_ns / 1e9, 6);
        json_key(j, "end");
        if (v->has_end) {
                json_object(j);
                json_put_double(j, "at_s", (double)v->end_moment.time_ns / 1e9, 6);
                json_put_uint(j, "resident_bytes", v->end.resident_bytes);
                put_parts(j, v, &v->end);
                json_end(j);
        } else {
                json_null(j);
        }
}

/* All moments, for who draws them: parts that were ever there, and their bytes at each. They add up to "resident_bytes". */
static void put_history(struct json *j, const struct bill_view *v) {
        const struct bill_history *h = &v->history;

        json_key(j, "series");
        json_object(j);
        json_put_uint(j, "bills_in_all", v->series.points.n);
        json_key(j, "at_s");
        json_array(j);
        for (size_t i = 0; i < h->moments.n; i++)
                json_double(j, (double)h->moments.items[i].time_ns / 1e9, 6);
        json_end(j);
        JSON_PUT_EACH(j, "resident_bytes", h->moments.n, json_uint,
                      h->moments.items[i].resident_bytes);
        json_key(j, "parts");
        json_array(j);
        for (unsigned k = 0; k < BILL_N_KINDS; k++) {
                if (!bill_history_has(h, (enum bill_kind)k))
                        continue;
                json_object(j);
                json_put_string(j, "part", bill_kind_key((enum bill_kind)k));
                json_put_string(j, "text", bill_kind_words(&v->bill, (enum bill_kind)k));
                JSON_PUT_EACH(j, "bytes", h->moments.n, json_int, h->moments.items[i].bytes[k]);
                json_end(j);
        }
        json_end(j);
        json_end(j);
}

/* What samples of the process tell, where there is no bill. */
static void put_sampled(struct json *j, const struct bill_view *v) {
        json_put_null(j, "parts");
        json_key(j, "sampled");
        if (!v->sampled.n_samples) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_uint(j, "resident_bytes", query_resident_bytes(&v->sampled));
        /* other tools tell only how much was resident, not what of it */
        json_put_known(j, "anon_bytes", v->sampled.anon_bytes, !v->is_imported);
        json_put_known(j, "file_bytes", v->sampled.file_bytes, !v->is_imported);
        json_put_known(j, "shmem_bytes", v->sampled.shmem_bytes, !v->is_imported);
        json_end(j);
}

void bill_json(FILE *out, const struct bill_view *v) {
        struct str text = {0};
        struct json j;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.bill/1");
        if (v->has_bill) {
                bill_view_add_sentence(v, true, &text);
                json_put_string(&j, "text", str_text(&text));
                put_bill(&j, v);
                if (v->history.moments.n)
                        put_history(&j, v);
        } else {
                json_put_null(&j, "text");
                put_sampled(&j, v);
        }
        json_end(&j);
        fputc('\n', out);
        str_done(&text);
}
