/* SPDX-License-Identifier: MIT */
/* Rows of a kind are taken out of their chunks and put together again, in chunks of about a megabyte. Where
 * rows hold differences to the row before, the first of each chunk is made a difference to the last of the chunk before. */
#include "trace/thin_defs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/map.h"
#include "trace/defs.h"
#include "trace/residency_codec.h"
#include "trace/thin_ticks.h"

enum {
        DEFS_CHUNK_BYTES = 1 << 20,
        COST_ROW_BYTES = 24,
        SAMPLE_RESOLUTION = 256, /* of samples of age a, the highest in a / 256 stays */
};

struct gather {
        int fd;
        const struct plan *plan;
        struct trace_packer *packer;
        bytes_buf *out;
        struct trace_body body;
        /* rows on their way into a chunk */
        uint32_t kind, first_id, n;
        bytes_buf a, b; /* b: the second column of LOCS and STKS */
        uint64_t last;  /* of the second column */
        uint64_t n_dropped_mappings;
};

#define DROPPED_MAPPINGS " old mappings were dropped to limit the file's size"

static void gather_flush(struct gather *g) {
        uint8_t head[TRACE_DEFS_HEAD_BYTES];
        struct trace_cuts cuts = {.at = {g->a.n}, .n = 1};

        if (!g->n)
                return;
        buf_put_le32(head, g->first_id);
        buf_put_le32(head + 4, g->n);
        buf_bytes(&g->a, g->b.items, g->b.n);
        trace_chunk_append_columns(g->packer, g->out, g->kind, head, sizeof(head), &g->a, &cuts, 0);
        vec_clear(&g->a);
        vec_clear(&g->b);
        g->first_id += g->n;
        g->n = 0;
        g->last = 0;
}

/* LOCS and STKS: a column of n varints, then one of differences. */
static int gather_columns(struct gather *g, uint32_t n) {
        struct bytes_reader r = bytes_reader_of(g->body.raw.items, g->body.raw.n);
        const uint8_t *begin = r.pos, *rest;
        uint64_t value = 0, first;

        for (uint32_t i = 0; i < n; i++)
                bytes_varint(&r);
        buf_bytes(&g->a, begin, (size_t)(r.pos - begin));
        first = (uint64_t)bytes_unzigzag(bytes_varint(&r));
        buf_varint(&g->b, bytes_zigzag((int64_t)(first - g->last)));
        rest = r.pos;
        value = first;
        for (uint32_t i = 1; i < n; i++)
                value += (uint64_t)bytes_unzigzag(bytes_varint(&r));
        buf_bytes(&g->b, rest, (size_t)(r.pos - rest));
        g->last = value;
        return r.bad || bytes_left(&r) ? -EBADMSG : 0;
}

/* All notes but those of earlier copies about dropped mappings: there is to be one for all. */
static uint32_t gather_notes(struct gather *g, uint32_t n) {
        struct bytes_reader r = bytes_reader_of(g->body.raw.items, g->body.raw.n);
        uint32_t n_kept = 0;

        for (uint32_t i = 0; i < n && bytes_left(&r) > 8; i++) {
                const uint8_t *row = r.pos, *end = memchr(row + 8, 0, bytes_left(&r) - 8);
                const char *text = (const char *)row + 8;
                uint64_t number;
                char *rest;

                if (!end)
                        break;
                r.pos = end + 1;
                number = strtoull(text, &rest, 10);
                if (rest > text && !strcmp(rest, DROPPED_MAPPINGS))
                        g->n_dropped_mappings += number;
                else {
                        buf_bytes(&g->a, row, (size_t)(r.pos - row));
                        n_kept++;
                }
        }
        return n_kept;
}

/* Costs are sums and high-water marks: the last one says it all. */
static uint32_t gather_last_cost(struct gather *g) {
        if (g->body.raw.n < COST_ROW_BYTES)
                return 0;
        vec_clear(&g->a);
        g->n = 0;
        buf_bytes(&g->a, g->body.raw.items + g->body.raw.n - COST_ROW_BYTES, COST_ROW_BYTES);
        return 1;
}

/* Sums too, of each process. Returns how many processes are new. */
static uint32_t gather_last_tallies(struct gather *g) {
        uint32_t n_new = 0;

        for (size_t at = 0; at + TRACE_TALY_ROW_BYTES <= g->body.raw.n;
             at += TRACE_TALY_ROW_BYTES) {
                const uint8_t *row = g->body.raw.items + at;
                size_t k = 0;

                while (k < g->a.n && bytes_le64(g->a.items + k) != bytes_le64(row))
                        k += TRACE_TALY_ROW_BYTES;
                if (k < g->a.n) {
                        memcpy(g->a.items + k, row, TRACE_TALY_ROW_BYTES);
                        continue;
                }
                buf_bytes(&g->a, row, TRACE_TALY_ROW_BYTES);
                n_new++;
        }
        return n_new;
}

static int gather_chunk(struct gather *g, const struct trace_chunk *c) {
        uint32_t first_id = bytes_le32(c->head), n = bytes_le32(c->head + 4);
        uint64_t bytes_read = 0;
        int r = trace_chunk_read(g->fd, c, &g->body, &bytes_read, NULL);

        if (r < 0 || !n)
                return r;
        if (!g->n)
                g->first_id = first_id;
        if (c->kind == TRACE_LOCS || c->kind == TRACE_STKS)
                r = gather_columns(g, n);
        else if (c->kind == TRACE_NOTE)
                n = gather_notes(g, n);
        else if (c->kind == TRACE_COST)
                n = gather_last_cost(g);
        else if (c->kind == TRACE_TALY)
                n = gather_last_tallies(g);
        else
                buf_bytes(&g->a, g->body.raw.items, g->body.raw.n);
        g->n += n;
        if (g->a.n + g->b.n >= DEFS_CHUNK_BYTES)
                gather_flush(g);
        return r;
}

static int gather_kind(struct gather *g, uint32_t kind) {
        int r = 0;

        g->kind = kind;
        g->first_id = 0;
        for (size_t i = 0; i < g->plan->chunks.n && r == 0; i++)
                if (g->plan->chunks.items[i].kind == kind)
                        r = gather_chunk(g, &g->plan->chunks.items[i]);
        gather_flush(g);
        return r;
}

/* ---- as they are ----------------------------------------------------------------------------- */

static int copy_meta(struct gather *g) {
        const struct trace_chunk *first = g->plan->chunks.items;

        if (!g->plan->chunks.n || first->kind != TRACE_META)
                return -EBADMSG;
        return trace_chunk_load(g->fd, first, g->out);
}

static int copy_mappings(struct gather *g) {
        struct trace_defs defs;
        char text[96];
        int r = 0;

        for (size_t i = 0; i < g->plan->chunks.n && r == 0; i++) {
                const struct trace_chunk *c = &g->plan->chunks.items[i];

                if (c->kind != TRACE_MAPS)
                        continue;
                if (i < g->plan->maps_from)
                        g->n_dropped_mappings += bytes_le32(c->head + 4);
                else
                        r = trace_chunk_load(g->fd, c, g->out);
        }
        if (!g->n_dropped_mappings || r < 0)
                return r;
        snprintf(text, sizeof(text), "%llu" DROPPED_MAPPINGS,
                 (unsigned long long)g->n_dropped_mappings);
        trace_defs_init(&defs);
        trace_defs_note(&defs, g->plan->now_ns, text);
        trace_defs_flush(&defs, g->packer, g->out);
        trace_defs_done(&defs);
        return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

typedef VEC(struct trace_sample) sample_vec;

static void samples_parse(struct bytes_reader *r, uint32_t n, sample_vec *ret) {
        struct trace_sample s = {0};
        uint64_t *const fields[] = {&s.time_ns,      &s.anon_bytes,    &s.file_bytes,
                                    &s.shmem_bytes,  &s.runtime_bytes, &s.minor_faults,
                                    &s.major_faults, &s.cpu_ns};

        for (uint32_t i = 0; i < n && !r->bad; i++) {
                s.process = (uint32_t)bytes_varint(r);
                for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
                        *fields[k] += (uint64_t)bytes_unzigzag(bytes_varint(r));
                if (!r->bad)
                        vec_push(ret, s);
        }
}

static uint64_t sample_resident(const struct trace_sample *s) {
        return s->anon_bytes + s->file_bytes + s->shmem_bytes;
}

/* The highest of each process in each stretch of time stays, where it stands: times keep rising. */
static void samples_thin(sample_vec *samples, uint64_t now_ns) {
        VEC(size_t) best = {0}; /* by process: its highest in the open stretch, + 1 */
        VEC(uint64_t) until_ns = {0};
        size_t n = 0;

        for (size_t i = 0; i < samples->n; i++) {
                const struct trace_sample *s = &samples->items[i];
                uint64_t age_ns = now_ns > s->time_ns ? now_ns - s->time_ns : 0;

                while (best.n <= s->process) {
                        vec_push(&best, 0);
                        vec_push(&until_ns, 0);
                }
                if (!best.items[s->process] || s->time_ns >= until_ns.items[s->process]) {
                        best.items[s->process] = i + 1;
                        until_ns.items[s->process] = s->time_ns + age_ns / SAMPLE_RESOLUTION;
                        continue;
                }
                /* the lower of the two goes: marked by a process no trace has */
                if (sample_resident(s) >
                    sample_resident(&samples->items[best.items[s->process] - 1])) {
                        uint32_t process = s->process;

                        samples->items[best.items[process] - 1].process = TRACE_NO_PROCESS;
                        best.items[process] = i + 1;
                } else
                        samples->items[i].process = TRACE_NO_PROCESS;
        }
        for (size_t i = 0; i < samples->n; i++)
                if (samples->items[i].process != TRACE_NO_PROCESS)
                        samples->items[n++] = samples->items[i];
        samples->n = n;
        vec_free(&best);
        vec_free(&until_ns);
}

static int copy_samples(struct gather *g) {
        struct trace_defs defs;
        sample_vec samples = {0};
        uint64_t bytes_read = 0;
        int r = 0;

        for (size_t i = 0; i < g->plan->chunks.n && r == 0; i++) {
                const struct trace_chunk *c = &g->plan->chunks.items[i];
                struct bytes_reader rows;

                if (c->kind != TRACE_SMPL)
                        continue;
                r = trace_chunk_read(g->fd, c, &g->body, &bytes_read, NULL);
                rows = bytes_reader_of(g->body.raw.items, g->body.raw.n);
                if (r == 0)
                        samples_parse(&rows, bytes_le32(c->head + 4), &samples);
                if (r == 0 && rows.bad)
                        r = -EBADMSG;
        }
        samples_thin(&samples, g->plan->now_ns);
        trace_defs_init(&defs);
        for (size_t i = 0; i < samples.n && r == 0; i++)
                trace_defs_sample(&defs, &samples.items[i]);
        trace_defs_flush(&defs, g->packer, g->out);
        trace_defs_done(&defs);
        vec_free(&samples);
        return r;
}

/* ---- rooms ----------------------------------------------------------------------------------- */

/* Of rows of one group with age a, one in a / 256 stays; rows of kills all. */
static bool room_stays(struct map *until, const struct trace_room *x, uint64_t now_ns) {
        uint64_t age_ns = now_ns > x->time_ns ? now_ns - x->time_ns : 0;
        uint64_t *until_ns = map_put(until, XXH3_64bits(x->path, strlen(x->path)), 0, NULL);

        if (x->flags & TRACE_ROOM_KILL)
                return true;
        if (x->time_ns < *until_ns)
                return false;
        *until_ns = x->time_ns + age_ns / SAMPLE_RESOLUTION;
        return true;
}

static void rooms_copy(struct bytes_reader *rows, uint32_t n, uint64_t now_ns, struct map *until,
                       struct trace_defs *defs) {
        for (; n > 0; n--) {
                struct trace_room x = {.process = bytes_u32(rows), .flags = bytes_u32(rows)};
                const uint8_t *end;

                x.version = bytes_u32(rows);
                x.time_ns = bytes_u64(rows);
                for (size_t i = 0; i < ROOM_N_FIGURES; i++)
                        x.of[i] = bytes_u64(rows);
                end = rows->bad ? NULL : memchr(rows->pos, 0, bytes_left(rows));
                if (!end) {
                        rows->bad = true;
                        return;
                }
                x.path = (const char *)rows->pos;
                rows->pos = end + 1;
                if (room_stays(until, &x, now_ns))
                        trace_defs_room(defs, &x);
        }
}

static int copy_rooms(struct gather *g) {
        struct map until = {0}; /* path → when the next row stays */
        struct trace_defs defs;
        uint64_t bytes_read = 0;
        int r = 0;

        trace_defs_init(&defs);
        for (size_t i = 0; i < g->plan->chunks.n && r == 0; i++) {
                const struct trace_chunk *c = &g->plan->chunks.items[i];
                struct bytes_reader rows;

                if (c->kind != TRACE_ROOM)
                        continue;
                r = trace_chunk_read(g->fd, c, &g->body, &bytes_read, NULL);
                rows = bytes_reader_of(g->body.raw.items, g->body.raw.n);
                if (r == 0)
                        rooms_copy(&rows, bytes_le32(c->head + 4), g->plan->now_ns, &until, &defs);
                if (r == 0 && rows.bad)
                        r = -EBADMSG;
        }
        if (r == 0)
                trace_defs_flush(&defs, g->packer, g->out);
        trace_defs_done(&defs);
        map_done(&until);
        return r;
}

/* ---- residency ------------------------------------------------------------------------------- */

/* Rows say all that is known of a site: the last one is enough. */
static int copy_residency(struct gather *g) {
        VEC(struct trace_residency) rows = {0};
        struct map by_site = {0};
        struct trace_defs defs;
        uint64_t bytes_read = 0;
        int r = 0;

        for (size_t i = 0; i < g->plan->chunks.n && r == 0; i++) {
                const struct trace_chunk *c = &g->plan->chunks.items[i];
                uint64_t last_ns = 0, *place;
                struct bytes_reader body;
                struct trace_residency row;

                if (c->kind != TRACE_RESI)
                        continue;
                r = trace_chunk_read(g->fd, c, &g->body, &bytes_read, NULL);
                body = bytes_reader_of(g->body.raw.items, g->body.raw.n);
                for (uint32_t k = bytes_le32(c->head + 4); k > 0 && r == 0; k--) {
                        if (!trace_decode_residency(&body, &last_ns, &row))
                                r = -EBADMSG;
                        place = map_put(&by_site, (uint64_t)row.process << 32 | row.stack, rows.n,
                                        NULL);
                        if (*place == rows.n)
                                vec_add(&rows);
                        rows.items[*place] = row;
                }
        }
        trace_defs_init(&defs);
        for (size_t i = 0; i < rows.n && r == 0; i++)
                trace_defs_residency(&defs, &rows.items[i]);
        trace_defs_flush(&defs, g->packer, g->out);
        trace_defs_done(&defs);
        vec_free(&rows);
        map_done(&by_site);
        return r;
}

/* The newest graph; its writer has seen to it that one is small beside the bound. */
static int copy_graph(struct gather *g) {
        uint32_t newest = 0;
        int r = 0;

        for (size_t i = 0; i < g->plan->chunks.n; i++)
                if (g->plan->chunks.items[i].kind == TRACE_GRPH)
                        newest = bytes_le32(g->plan->chunks.items[i].head);
        for (size_t i = 0; i < g->plan->chunks.n && r == 0; i++) {
                const struct trace_chunk *c = &g->plan->chunks.items[i];

                if (c->kind == TRACE_GRPH && bytes_le32(c->head) == newest)
                        r = trace_chunk_load(g->fd, c, g->out);
        }
        return r;
}

/* The newest bill and the one with the highest resident memory; of the others some, as far apart as before. */
static int copy_bills(struct gather *g) {
        size_t n = 0, highest = 0, step, at = 0;
        uint64_t high_bytes = 0;
        int r = 0;

        for (size_t i = 0; i < g->plan->chunks.n; i++) {
                const struct trace_chunk *c = &g->plan->chunks.items[i];

                if (c->kind != TRACE_BILL || c->head_bytes != TRACE_BILL_HEAD_BYTES)
                        continue;
                if (bytes_le64(c->head + 16) >= high_bytes) {
                        high_bytes = bytes_le64(c->head + 16);
                        highest = n;
                }
                n++;
        }
        step = n / (TRACE_MAX_KEPT_BILLS - 2) + 1;
        for (size_t i = 0; i < g->plan->chunks.n && r == 0; i++) {
                const struct trace_chunk *c = &g->plan->chunks.items[i];

                if (c->kind != TRACE_BILL || c->head_bytes != TRACE_BILL_HEAD_BYTES)
                        continue;
                if (at == highest || at + 1 == n || at % step == 0)
                        r = trace_chunk_load(g->fd, c, g->out);
                at++;
        }
        return r;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int thin_copy_defs(int fd, const struct plan *p, struct trace_packer *packer, bytes_buf *out) {
        static const uint32_t kinds[] = {TRACE_MODS, TRACE_LOCS, TRACE_STKS, TRACE_PROC, TRACE_THRD,
                                         TRACE_TNAM, TRACE_PEND, TRACE_NOTE, TRACE_COST, TRACE_ALOC,
                                         TRACE_PRIO, TRACE_TALY, TRACE_TITL};
        struct gather g = {.fd = fd, .plan = p, .packer = packer, .out = out};
        int r = copy_meta(&g);

        for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++)
                r = gather_kind(&g, kinds[i]);
        if (r == 0)
                r = copy_samples(&g);
        if (r == 0)
                r = copy_rooms(&g);
        if (r == 0)
                r = copy_residency(&g);
        if (r == 0)
                r = copy_mappings(&g);
        if (r == 0)
                r = copy_graph(&g);
        if (r == 0)
                r = copy_bills(&g);
        if (r == 0)
                r = thin_copy_ticks(fd, p, p->tick_bytes, packer, out);
        vec_free(&g.a);
        vec_free(&g.b);
        trace_body_done(&g.body);
        return r;
}
