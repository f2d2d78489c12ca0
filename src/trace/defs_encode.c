/* SPDX-License-Identifier: MIT */
#include <xxhash.h>

#include "base/map.h"
#include "trace/defs.h"

void trace_defs_init(struct trace_defs *d) {
        memset(d, 0, sizeof(*d));
        d->stacks.first_id = 1; /* 0 is the empty stack */
}

static void rows_done(struct trace_rows *r) {
        vec_free(&r->a);
        vec_free(&r->b);
}

void trace_defs_done(struct trace_defs *d) {
        struct trace_rows *all[] = {&d->modules, &d->locations,    &d->stacks,       &d->processes,
                                    &d->threads, &d->process_ends, &d->thread_names, &d->titles,
                                    &d->notes,   &d->costs,        &d->allocators,   &d->priors,
                                    &d->tallies, &d->samples,      &d->residency,    &d->mappings,
                                    &d->rooms};

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                rows_done(all[i]);
}

/* NUL ends a string of the file, so that the reader can use it where it lies. */
static void put_text(bytes_buf *b, const char *s) {
        buf_bytes(b, s ? s : "", (s ? strlen(s) : 0) + 1);
}

/* The difference to the row before, which is remembered. */
static void put_delta(bytes_buf *b, uint64_t *last, uint64_t value) {
        buf_varint(b, bytes_zigzag((int64_t)(value - *last)));
        *last = value;
}

uint32_t trace_defs_module(struct trace_defs *d, const struct trace_module *m) {
        uint32_t len = MIN(m->build_id_len, (uint32_t)TRACE_MAX_BUILD_ID_BYTES);
        struct trace_rows *r = &d->modules;

        buf_u64(&r->a, m->size_bytes);
        buf_u8(&r->a, (uint8_t)len);
        buf_bytes(&r->a, m->build_id, len);
        put_text(&r->a, m->path);
        return r->first_id + r->n++;
}

uint32_t trace_defs_location(struct trace_defs *d, const struct trace_location *l) {
        struct trace_rows *r = &d->locations;

        buf_varint(&r->a, (uint32_t)(l->module + 1));
        put_delta(&r->b, &r->last[0], l->offset);
        return r->first_id + r->n++;
}

uint32_t trace_defs_stack(struct trace_defs *d, uint32_t parent, uint32_t location) {
        struct trace_rows *r = &d->stacks;

        buf_varint(&r->a, r->first_id + r->n - parent);
        put_delta(&r->b, &r->last[0], location);
        return r->first_id + r->n++;
}

uint32_t trace_defs_process(struct trace_defs *d, const struct trace_process *p) {
        struct trace_rows *r = &d->processes;

        buf_u32(&r->a, p->pid);
        buf_u32(&r->a, p->parent);
        buf_u32(&r->a, p->image);
        buf_u32(&r->a, p->n_args);
        buf_u64(&r->a, p->start_ns);
        put_text(&r->a, p->exe);
        for (uint32_t i = 0; i < p->n_args; i++)
                put_text(&r->a, p->args[i]);
        return r->first_id + r->n++;
}

uint32_t trace_defs_thread(struct trace_defs *d, const struct trace_thread *t) {
        struct trace_rows *r = &d->threads;

        buf_u32(&r->a, t->process);
        buf_u32(&r->a, t->tid);
        buf_u64(&r->a, t->start_ns);
        return r->first_id + r->n++;
}

void trace_defs_thread_name(struct trace_defs *d, uint32_t thread, const char *name) {
        buf_u32(&d->thread_names.a, thread);
        put_text(&d->thread_names.a, name);
        d->thread_names.n++;
}

void trace_defs_title(struct trace_defs *d, uint32_t process, const char *title) {
        buf_u32(&d->titles.a, process);
        put_text(&d->titles.a, title);
        d->titles.n++;
}

void trace_defs_process_end(struct trace_defs *d, const struct trace_process_end *e) {
        bytes_buf *b = &d->process_ends.a;

        buf_u32(b, e->process);
        buf_u32(b, e->ended);
        buf_u32(b, (uint32_t)e->status);
        buf_u32(b, e->n_threads);
        buf_u64(b, e->end_ns);
        buf_u64(b, e->peak_rss_bytes);
        buf_u64(b, e->runtime_bytes);
        buf_u64(b, e->blocked_ns);
        d->process_ends.n++;
}

void trace_defs_note(struct trace_defs *d, uint64_t time_ns, const char *text) {
        buf_u64(&d->notes.a, time_ns);
        put_text(&d->notes.a, text);
        d->notes.n++;
}

void trace_defs_prior(struct trace_defs *d, const struct trace_prior *x) {
        const uint64_t fields[] = {x->age_ns,       x->anon_bytes, x->held_bytes, x->free_bytes,
                                   x->mapped_bytes, x->n_mapped,   x->n_arenas};
        bytes_buf *b = &d->priors.a;

        buf_u32(b, x->process);
        buf_u32(b, x->flags);
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                buf_u64(b, fields[i]);
        put_text(b, x->allocator);
        d->priors.n++;
}

void trace_defs_room(struct trace_defs *d, const struct trace_room *x) {
        bytes_buf *b = &d->rooms.a;

        buf_u32(b, x->process);
        buf_u32(b, x->flags);
        buf_u32(b, x->version);
        buf_u64(b, x->time_ns);
        for (size_t i = 0; i < ROOM_N_FIGURES; i++)
                buf_u64(b, x->of[i]);
        put_text(b, x->path);
        d->rooms.n++;
}

void trace_defs_tally(struct trace_defs *d, const struct trace_tally *t) {
        const uint64_t fields[] = {t->process,     t->time_ns,    t->n_allocs,
                                   t->n_frees,     t->n_reallocs, t->alloc_bytes,
                                   t->n_unsampled, t->runtime_ns, t->sample_bytes};

        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                buf_u64(&d->tallies.a, fields[i]);
        d->tallies.n++;
}

void trace_defs_cost(struct trace_defs *d, const struct trace_cost *c) {
        buf_u64(&d->costs.a, c->time_ns);
        buf_u64(&d->costs.a, c->recorder_peak_bytes);
        buf_u64(&d->costs.a, c->recorder_cpu_ns);
        d->costs.n++;
}

void trace_defs_allocator(struct trace_defs *d, const struct trace_allocator *a) {
        bytes_buf *b = &d->allocators.a;

        buf_u32(b, a->process);
        buf_u64(b, a->n_allocs);
        buf_u64(b, a->alloc_bytes);
        put_text(b, a->name);
        put_text(b, a->version);
        put_text(b, a->module);
        d->allocators.n++;
}

void trace_defs_sample(struct trace_defs *d, const struct trace_sample *s) {
        const uint64_t fields[] = {s->time_ns,      s->anon_bytes,    s->file_bytes,
                                   s->shmem_bytes,  s->runtime_bytes, s->minor_faults,
                                   s->major_faults, s->cpu_ns};
        struct trace_rows *r = &d->samples;

        buf_varint(&r->a, s->process);
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                put_delta(&r->a, &r->last[i], fields[i]);
        r->n++;
}

static void put_look(bytes_buf *b, const struct trace_look *l) {
        buf_varint(b, l->n_blocks);
        buf_varint(b, l->bytes);
        buf_varint(b, l->touched_bytes);
}

void trace_defs_residency(struct trace_defs *d, const struct trace_residency *row) {
        struct trace_rows *r = &d->residency;

        buf_varint(&r->a, row->process);
        buf_varint(&r->a, row->stack);
        put_delta(&r->a, &r->last[0], row->time_ns);
        buf_varint(&r->a, row->time_ns - row->peak_ns);
        put_look(&r->a, &row->now);
        put_look(&r->a, &row->peak);
        put_look(&r->a, &row->seen);
        buf_varint(&r->a, row->max_touched_bytes);
        r->n++;
}

void trace_defs_mapping(struct trace_defs *d, const struct trace_mapping *m) {
        struct trace_rows *r = &d->mappings;

        buf_varint(&r->a, m->process);
        buf_varint(&r->a, (uint32_t)(m->thread + 1));
        buf_varint(&r->a, m->stack);
        buf_varint(&r->a, m->op);
        buf_varint(&r->a, m->prot);
        buf_varint(&r->a, m->flags);
        put_delta(&r->a, &r->last[0], m->time_ns);
        put_delta(&r->a, &r->last[1], m->address);
        buf_varint(&r->a, bytes_zigzag((int64_t)m->size_bytes));
        buf_varint(&r->a, m->old_address);
        buf_varint(&r->a, bytes_zigzag((int64_t)m->old_size_bytes));
        r->n++;
        d->has_protects |= m->op == TRACE_MPROTECT;
}

void trace_encode_meta(bytes_buf *out, const struct trace_meta *m) {
        buf_u32(out, m->pid);
        buf_u32(out, m->machine);
        buf_u32(out, m->page_bytes);
        buf_u32(out, m->flags);
        buf_u64(out, m->started_unix_ns);
        buf_u64(out, m->sample_bytes);
        buf_u32(out, m->n_args);
        buf_u32(out, m->unit);
        put_text(out, m->silt_version);
        put_text(out, m->host);
        put_text(out, m->cwd);
        for (uint32_t i = 0; i < m->n_args; i++)
                put_text(out, m->args[i]);
}

/* One chunk of the rows gathered; ids go on behind them. */
static void rows_flush(struct trace_rows *r, uint32_t kind, bool has_ids, struct trace_packer *p,
                       bytes_buf *out) {
        uint8_t head[TRACE_DEFS_HEAD_BYTES];
        struct trace_cuts cuts = {.at = {r->a.n}, .n = 1};

        if (!r->n)
                return;
        buf_put_le32(head, has_ids ? r->first_id : 0);
        buf_put_le32(head + 4, r->n);
        buf_bytes(&r->a, r->b.items, r->b.n);
        trace_chunk_append_columns(p, out, kind, head, sizeof(head), &r->a, &cuts, 0);
        r->first_id += r->n;
        r->n = 0;
        memset(r->last, 0, sizeof(r->last));
        vec_clear(&r->a);
        vec_clear(&r->b);
}

void trace_defs_flush(struct trace_defs *d, struct trace_packer *p, bytes_buf *out) {
        rows_flush(&d->modules, TRACE_MODS, true, p, out);
        rows_flush(&d->locations, TRACE_LOCS, true, p, out);
        rows_flush(&d->stacks, TRACE_STKS, true, p, out);
        rows_flush(&d->processes, TRACE_PROC, true, p, out);
        rows_flush(&d->titles, TRACE_TITL, false, p, out);
        rows_flush(&d->threads, TRACE_THRD, true, p, out);
        rows_flush(&d->thread_names, TRACE_TNAM, false, p, out);
        rows_flush(&d->process_ends, TRACE_PEND, false, p, out);
        rows_flush(&d->notes, TRACE_NOTE, false, p, out);
        rows_flush(&d->costs, TRACE_COST, false, p, out);
        rows_flush(&d->priors, TRACE_PRIO, false, p, out);
        rows_flush(&d->rooms, TRACE_ROOM, false, p, out);
        rows_flush(&d->tallies, TRACE_TALY, false, p, out);
        rows_flush(&d->allocators, TRACE_ALOC, false, p, out);
        rows_flush(&d->samples, TRACE_SMPL, false, p, out);
        rows_flush(&d->residency, TRACE_RESI, false, p, out);
}

void trace_defs_flush_mappings(struct trace_defs *d, struct trace_packer *p, bytes_buf *out) {
        size_t at = out->n;

        rows_flush(&d->mappings, TRACE_MAPS, false, p, out);
        if (d->has_protects) /* an older reader must not take it for damage */
                trace_chunk_set_version(out->items + at, TRACE_MAPS_VERSION);
        d->has_protects = false;
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* Of two strings with one hash only the first is found again. */
struct string_table {
        struct map by_hash; /* hash → number */
        VEC(const char *) strings;
        bytes_buf text;
};

static uint64_t string_number(struct string_table *t, const char *s) {
        bool added;
        uint64_t *number;

        s = s ? s : "";
        number = map_put(&t->by_hash, XXH3_64bits(s, strlen(s)), t->strings.n, &added);
        if (!added && !strcmp(t->strings.items[*number], s))
                return *number;
        vec_push(&t->strings, s);
        put_text(&t->text, s);
        return t->strings.n - 1;
}

void trace_encode_symbols(bytes_buf *out, const struct trace_symbol *symbols, size_t n) {
        struct string_table t = {0};
        bytes_buf columns[5] = {0};
        uint64_t last_location = 0, last_line = 0;

        for (size_t i = 0; i < n; i++) {
                const struct trace_symbol *s = &symbols[i];

                put_delta(&columns[0], &last_location, s->location);
                buf_varint(&columns[1], string_number(&t, s->function));
                buf_varint(&columns[2], string_number(&t, s->file));
                put_delta(&columns[3], &last_line, s->line);
                buf_u8(&columns[4], (uint8_t)((s->inlined ? TRACE_SYMBOL_INLINED : 0) |
                                              (s->guess ? TRACE_SYMBOL_GUESS : 0)));
        }
        buf_varint(out, t.strings.n);
        buf_varint(out, t.text.n);
        buf_bytes(out, t.text.items, t.text.n);
        for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
                buf_bytes(out, columns[i].items, columns[i].n);
                vec_free(&columns[i]);
        }
        map_done(&t.by_hash);
        vec_free(&t.strings);
        vec_free(&t.text);
}

void trace_encode_module_names(bytes_buf *out, const struct trace_module_names *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                buf_u32(out, rows[i].module);
                buf_u8(out, (uint8_t)rows[i].naming);
                put_text(out, rows[i].file);
                put_text(out, rows[i].text);
        }
}
