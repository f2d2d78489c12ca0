/* SPDX-License-Identifier: MIT */
#include "trace/thin.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/backlog.h"
#include "trace/index.h"
#include "trace/moves_codec.h"
#include "trace/slice.h"
#include "trace/thin_defs.h"

enum {
        THIN_MIN_STEP_BYTES = 64 * 1024, /* a quiet program's copy gets done too */
        THIN_OUT_BYTES = 1 << 20,        /* written at once */
        THIN_ENTRY_BYTES = 8 << 20,      /* of the copy's index */
        THIN_MERGE_WEIGHT = 4,
        THIN_CKPT_WEIGHT = 2, /* rows outweigh a checkpoint so many times before one is kept */
};

struct trace_thin {
        int from_fd, to_fd;
        struct plan plan;
        struct trace_packer *packer;
        struct trace_body body;
        bytes_buf out, scratch;
        uint64_t to_end; /* bytes written; out follows */
        bytes_buf entries;
        uint32_t n_entries, n_slices;
        uint64_t rows_bytes; /* since the last checkpoint in the copy */
        uint64_t ratio;      /* bytes to read for each byte the source grows */
        int64_t budget_bytes;

        size_t next; /* slice without detail to go on with */
        size_t group_begin, group_end;
        struct trace_backlog group;
        trace_site_vec sites;
        trace_counts_vec counts;
        trace_move_vec moves;

        size_t entries_at, chunk; /* in the source's index: of what is copied as it is */
        uint32_t slice_shift;     /* its numbers minus the copy's */
};

struct trace_thin *trace_thin_free(struct trace_thin *t) {
        if (!t)
                return NULL;
        plan_done(&t->plan);
        trace_packer_free(t->packer);
        trace_body_done(&t->body);
        trace_backlog_done(&t->group);
        vec_free(&t->out);
        vec_free(&t->scratch);
        vec_free(&t->entries);
        vec_free(&t->sites);
        vec_free(&t->counts);
        vec_free(&t->moves);
        free(t);
        return NULL;
}

uint64_t trace_thin_size_bytes(const struct trace_thin *t) {
        return t->to_end + t->out.n;
}

uint32_t trace_thin_n_slices(const struct trace_thin *t) {
        return t->n_slices;
}

void trace_thin_take_index(struct trace_thin *t, bytes_buf *ret_entries, uint32_t *ret_n) {
        *ret_entries = t->entries;
        *ret_n = t->n_entries;
        t->entries = (bytes_buf){0};
        t->n_entries = 0;
}

static int thin_flush(struct trace_thin *t) {
        for (size_t at = 0; at < t->out.n;) {
                const uint8_t *p = t->out.items + at;

                trace_index_add(&t->entries, &t->n_entries, p, t->to_end + at);
                at += TRACE_HEADER_BYTES + ALIGN_UP((size_t)bytes_le32(p + 12), 8);
        }
        for (size_t done = 0; done < t->out.n;) {
                ssize_t n = pwrite(t->to_fd, t->out.items + done, t->out.n - done,
                                   (off_t)(t->to_end + done));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                done += (size_t)n;
        }
        t->to_end += t->out.n;
        vec_clear(&t->out);
        return 0;
}

static void thin_spend(struct trace_thin *t, uint64_t bytes) {
        t->budget_bytes -= (int64_t)bytes;
}

/* ---- slices without detail ------------------------------------------------------------------- */

static int thin_read_moves(struct trace_thin *t, const struct plan_slice *s) {
        const struct trace_chunk *c;
        struct bytes_reader r;
        uint64_t bytes_read = 0;
        int x;

        vec_clear(&t->moves);
        if (s->move == PLAN_NO_CHUNK)
                return 0;
        c = &t->plan.chunks.items[s->move];
        x = trace_chunk_read(t->from_fd, c, &t->body, &bytes_read, NULL);
        if (x < 0)
                return x;
        r = bytes_reader_of(t->body.raw.items, t->body.raw.n);
        return trace_decode_moves(&r, bytes_le32(c->head + 4), UINT32_MAX, UINT32_MAX, &t->moves)
                       ? -EBADMSG
                       : 0;
}

static int thin_read_rows(struct trace_thin *t, const struct plan_slice *s) {
        const struct trace_chunk *slic = &t->plan.chunks.items[s->slic];
        struct bytes_reader r;
        uint64_t bytes_read = 0;
        int x;

        vec_clear(&t->sites);
        if (s->site != PLAN_NO_CHUNK) {
                const struct trace_chunk *c = &t->plan.chunks.items[s->site];

                x = trace_chunk_read(t->from_fd, c, &t->body, &bytes_read, NULL);
                if (x < 0)
                        return x;
                r = bytes_reader_of(t->body.raw.items, t->body.raw.n);
                if (trace_decode_sites(&r, c->version, bytes_le32(c->head + 4), UINT32_MAX,
                                       UINT32_MAX, &t->sites))
                        return -EBADMSG;
        }
        x = trace_chunk_read(t->from_fd, slic, &t->body, &bytes_read, NULL);
        if (x < 0)
                return x;
        r = bytes_reader_of(t->body.raw.items, t->body.raw.n);
        return trace_decode_counts(&r, bytes_le32(slic->head + 52), UINT32_MAX, &t->counts)
                       ? -EBADMSG
                       : 0;
}

static void thin_end_group(struct trace_thin *t, const struct plan_slice *first,
                           const struct plan_slice *last) {
        const uint8_t *head = t->plan.chunks.items[first->slic].head;
        const struct trace_backlog *g = &t->group;
        struct trace_slice_rows s = {
                .number = t->n_slices++,
                .flags = TRACE_SLIC_DROPPED | (g->n_unwritten ? TRACE_SLIC_UNWRITTEN : 0),
                .n_events = g->n_events,
                .begin_us = first->begin_ns / 1000,
                .end_us = last->end_ns / 1000,
                .first_seq = bytes_le64(head + 32),
                .n_allocs = g->n_allocs,
                .n_unwritten = g->n_unwritten,
                .sites = g->sites.items,
                .n_sites = g->sites.n,
                .counts = g->counts.items,
                .n_counts = g->counts.n,
                .moves = g->moves.items,
                .n_moves = g->moves.n,
                .needs_move = first->move != PLAN_NO_CHUNK,
        };

        t->rows_bytes += trace_slice_append_site(t->packer, &t->out, &t->scratch, &s);
        trace_slice_append_move(t->packer, &t->out, &t->scratch, &s);
        trace_slice_append_slic(t->packer, &t->out, &t->scratch, &s);
        trace_backlog_clear(&t->group);
}

static int thin_merge_slice(struct trace_thin *t, const struct plan_slice *s) {
        const uint8_t *head = t->plan.chunks.items[s->slic].head;
        int r = thin_read_rows(t, s);

        if (r == 0)
                r = thin_read_moves(t, s);
        if (r < 0)
                return r;
        trace_backlog_add(&t->group, t->sites.items, t->sites.n, t->counts.items, t->counts.n);
        trace_backlog_add_moves(&t->group, t->moves.items, t->moves.n);
        t->group.n_events += bytes_le64(head + 8);
        t->group.n_allocs += bytes_le64(head + 40);
        t->group.n_unwritten += bytes_le64(head + 56);
        thin_spend(t, s->row_bytes * THIN_MERGE_WEIGHT);
        return 0;
}

/* A chunk with its slice's number put right. */
static int thin_copy_chunk(struct trace_thin *t, const struct trace_chunk *c, uint32_t number,
                           bool drop_detail) {
        size_t at = t->out.n;
        uint8_t *p;
        int r = trace_chunk_load(t->from_fd, c, &t->out);

        if (r < 0)
                return r;
        p = t->out.items + at;
        buf_put_le32(p + TRACE_HEADER_BYTES, number);
        if (drop_detail) {
                uint8_t *flags = p + TRACE_HEADER_BYTES + 4;

                buf_put_le32(flags, bytes_le32(flags) | TRACE_SLIC_DROPPED);
                p[TRACE_VERSION_OFF] = TRACE_SLIC_VERSION;
        }
        trace_chunk_seal(p);
        thin_spend(t, t->out.n - at);
        return 0;
}

static int thin_copy_slice(struct trace_thin *t, const struct plan_slice *s) {
        int r = 0;

        if (s->site != PLAN_NO_CHUNK) {
                r = thin_copy_chunk(t, &t->plan.chunks.items[s->site], t->n_slices, false);
                t->rows_bytes += s->row_bytes;
        }
        if (r == 0 && s->move != PLAN_NO_CHUNK)
                r = thin_copy_chunk(t, &t->plan.chunks.items[s->move], t->n_slices, false);
        if (r == 0)
                r = thin_copy_chunk(t, &t->plan.chunks.items[s->slic], t->n_slices,
                                    s->n_events != 0);
        t->n_slices++;
        return r;
}

static int thin_copy_checkpoint(struct trace_thin *t, const struct plan_slice *s) {
        if (s->ckpt == PLAN_NO_CHUNK || t->rows_bytes < THIN_CKPT_WEIGHT * s->ckpt_bytes)
                return 0;
        t->rows_bytes = 0;
        return thin_copy_chunk(t, &t->plan.chunks.items[s->ckpt], t->n_slices - 1, false);
}

/* The next slice without detail: alone, or one of its group. */
static int thin_next_slice(struct trace_thin *t) {
        const struct plan_slice *slices = t->plan.slices.items, *s = &slices[t->next];
        bool is_first = t->next == t->group_end;
        int r;

        if (is_first)
                t->group_end = plan_group_end(&t->plan, t->next);
        if (is_first && t->group_end == t->next + 1)
                r = thin_copy_slice(t, s);
        else {
                if (is_first)
                        t->group_begin = t->next;
                r = thin_merge_slice(t, s);
                if (r == 0 && t->next + 1 == t->group_end)
                        thin_end_group(t, &slices[t->group_begin], s);
        }
        t->next++;
        if (r == 0 && t->next == t->group_end)
                r = thin_copy_checkpoint(t, s);
        return r;
}

/* ---- what stays as it is --------------------------------------------------------------------- */

/* True when there was a chunk in the source's index to look at. */
static int thin_next_chunk(struct trace_thin *t, const bytes_buf *entries) {
        struct bytes_reader r =
                bytes_reader_of(entries->items + t->entries_at, entries->n - t->entries_at);
        size_t i = t->chunk++, at = t->out.n;
        struct trace_chunk c;
        int x;

        if (!trace_index_next(&r, 0, UINT64_MAX, &c))
                return -EBADMSG;
        t->entries_at = entries->n - bytes_left(&r);
        if (i < t->plan.first_detail_chunk)
                return 0;
        if (c.kind == TRACE_SITE || c.kind == TRACE_MOVE || c.kind == TRACE_EVTS ||
            c.kind == TRACE_SLIC || c.kind == TRACE_CKPT) {
                uint32_t number = bytes_le32(c.head) - t->slice_shift;

                if (c.kind == TRACE_SLIC)
                        t->n_slices = number + 1;
                return thin_copy_chunk(t, &c, number, false);
        }
        if (i < t->plan.chunks.n)
                return 0; /* a definition: it stands at the front */
        x = trace_chunk_load(t->from_fd, &c, &t->out);
        thin_spend(t, t->out.n - at);
        return x;
}

/* ---- steps ----------------------------------------------------------------------------------- */

int trace_thin_new(int from_fd, const bytes_buf *entries, int to_fd, uint64_t target_bytes,
                   uint64_t growth_bytes, const uint64_t *moments, size_t n_moments,
                   struct trace_thin **ret) {
        struct trace_thin *t = calloc(1, sizeof(*t));
        int r;

        if (!t)
                return -ENOMEM;
        t->from_fd = from_fd;
        t->to_fd = to_fd;
        t->packer = trace_packer_new();
        plan_make(&t->plan, entries, target_bytes, THIN_ENTRY_BYTES, moments, n_moments);
        t->ratio = 2 + t->plan.work_bytes / MAX(growth_bytes, (uint64_t)1);
        r = thin_copy_defs(from_fd, &t->plan, t->packer, &t->out);
        if (r == 0)
                r = thin_flush(t);
        if (r < 0) {
                trace_thin_free(t);
                return r;
        }
        *ret = t;
        return 0;
}

int trace_thin_step(struct trace_thin *t, const bytes_buf *entries, uint64_t appended_bytes) {
        bool is_done = false;
        int r = 0;

        t->budget_bytes = (int64_t)(appended_bytes * t->ratio + THIN_MIN_STEP_BYTES);
        while (r == 0 && t->budget_bytes > 0 && !is_done) {
                if (t->next < t->plan.first_detail) {
                        r = thin_next_slice(t);
                        t->slice_shift = (uint32_t)t->next - t->n_slices;
                } else if (t->entries_at < entries->n)
                        r = thin_next_chunk(t, entries);
                else
                        is_done = true;
                if (r == 0 && t->out.n >= THIN_OUT_BYTES)
                        r = thin_flush(t);
        }
        if (r == 0)
                r = thin_flush(t);
        return r < 0 ? r : is_done;
}
