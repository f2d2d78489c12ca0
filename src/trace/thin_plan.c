/* SPDX-License-Identifier: MIT */
#include "trace/thin_plan.h"

#include "trace/index.h"

enum {
        PLAN_MAX_RESOLUTION = 1024,
        PLAN_MIN_RESOLUTION = 1,
        PLAN_MERGE_WEIGHT = 4,  /* rows are decoded, added up and encoded again */
        PLAN_MAPS_SHARE = 8,    /* of the copy at most */
        PLAN_TICKS_SHARE = 4,   /* of the copy at most */
        PLAN_HISTORY_SHARE = 2, /* of what definitions leave, at most */
};

/* The next slice, before any of its chunks. */
static const struct plan_slice PLAN_NO_SLICE = {.site = PLAN_NO_CHUNK,
                                                .move = PLAN_NO_CHUNK,
                                                .evts = PLAN_NO_CHUNK,
                                                .slic = PLAN_NO_CHUNK,
                                                .ckpt = PLAN_NO_CHUNK};

void plan_done(struct plan *p) {
        vec_free(&p->chunks);
        vec_free(&p->slices);
}

/* ---- what there is --------------------------------------------------------------------------- */

static void plan_add_slice(struct plan *p, struct plan_slice *open, int32_t chunk) {
        const struct trace_chunk *c = &p->chunks.items[chunk];

        open->slic = chunk;
        open->is_dropped = bytes_le32(c->head + 4) & TRACE_SLIC_DROPPED;
        open->n_events = bytes_le64(c->head + 8);
        open->begin_ns = bytes_le64(c->head + 16);
        open->end_ns = bytes_le64(c->head + 24);
        open->row_bytes += trace_chunk_span_bytes(c);
        p->now_ns = open->end_ns;
        vec_push(&p->slices, *open);
        *open = PLAN_NO_SLICE;
}

static void plan_take_chunk(struct plan *p, struct plan_slice *open, int32_t chunk) {
        const struct trace_chunk *c = &p->chunks.items[chunk];
        uint64_t span_bytes = trace_chunk_span_bytes(c);
        struct plan_slice *last = p->slices.n ? &p->slices.items[p->slices.n - 1] : NULL;

        switch (c->kind) {
        case TRACE_SITE: open->site = chunk, open->row_bytes += span_bytes; break;
        case TRACE_MOVE: open->move = chunk, open->row_bytes += span_bytes; break;
        case TRACE_EVTS: open->evts = chunk, open->evts_bytes = span_bytes; break;
        case TRACE_SLIC:
                open->entry_bytes += TRACE_INDEX_ENTRY_BYTES + c->head_bytes;
                plan_add_slice(p, open, chunk);
                return;
        case TRACE_CKPT:
                if (last)
                        last->ckpt = chunk, last->ckpt_bytes = span_bytes;
                return;
        default: return;
        }
        open->entry_bytes += TRACE_INDEX_ENTRY_BYTES + c->head_bytes;
}

static void plan_list(struct plan *p, const bytes_buf *entries) {
        struct bytes_reader r = bytes_reader_of(entries->items, entries->n);
        struct plan_slice open = PLAN_NO_SLICE;
        struct trace_chunk c;

        while (bytes_left(&r) && trace_index_next(&r, 0, UINT64_MAX, &c)) {
                vec_push(&p->chunks, c);
                plan_take_chunk(p, &open, (int32_t)p->chunks.n - 1);
        }
}

/* Definitions and samples: what cannot go. */
static uint64_t plan_fixed_bytes(const struct plan *p) {
        uint64_t bytes = 0;

        for (size_t i = p->maps_from; i < p->chunks.n; i++)
                bytes += p->chunks.items[i].kind == TRACE_MAPS
                                 ? trace_chunk_span_bytes(&p->chunks.items[i])
                                 : 0;
        for (size_t i = 0; i < p->chunks.n; i++) {
                uint32_t kind = p->chunks.items[i].kind;

                if (kind != TRACE_MAPS && kind != TRACE_SITE && kind != TRACE_MOVE &&
                    kind != TRACE_EVTS && kind != TRACE_SLIC && kind != TRACE_CKPT &&
                    kind != TRACE_SMPL && kind != TRACE_RESI && kind != TRACE_GRPH &&
                    kind != TRACE_BILL && kind != TRACE_TICK)
                        bytes += trace_chunk_span_bytes(&p->chunks.items[i]);
        }
        return bytes;
}

static uint64_t plan_ticks_bytes(const struct plan *p) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < p->chunks.n; i++)
                if (p->chunks.items[i].kind == TRACE_TICK)
                        bytes += trace_chunk_span_bytes(&p->chunks.items[i]);
        return bytes;
}

static void plan_limit_maps(struct plan *p, uint64_t max_bytes) {
        uint64_t bytes = 0;
        size_t i = p->chunks.n;

        while (i-- > 0)
                if (p->chunks.items[i].kind == TRACE_MAPS) {
                        bytes += trace_chunk_span_bytes(&p->chunks.items[i]);
                        if (bytes > max_bytes) {
                                p->maps_from = i + 1;
                                return;
                        }
                }
}

/* ---- what stays ------------------------------------------------------------------------------ */

static uint64_t plan_slice_bytes(const struct plan_slice *s) {
        return s->row_bytes + s->evts_bytes + s->ckpt_bytes;
}

/* Newest slices with detail while they fit, the newest of all in any case. */
static void plan_keep_detail(struct plan *p, uint64_t max_bytes, uint64_t max_entry_bytes,
                             uint64_t *ret_bytes) {
        uint64_t bytes = 0, entry_bytes = 0;
        size_t i = p->slices.n;

        while (i > 0) {
                const struct plan_slice *s = &p->slices.items[i - 1];

                if (s->is_dropped ||
                    (i < p->slices.n && (bytes + plan_slice_bytes(s) > max_bytes ||
                                         entry_bytes + s->entry_bytes > max_entry_bytes)))
                        break;
                bytes += plan_slice_bytes(s);
                entry_bytes += s->entry_bytes;
                i--;
        }
        p->first_detail = i;
        *ret_bytes = bytes;
}

size_t plan_group_end(const struct plan *p, size_t i) {
        const struct plan_slice *s = p->slices.items;
        uint64_t limit_ns = (p->now_ns - s[i].begin_ns) / p->resolution, n_events = s[i].n_events;
        size_t end = i + 1;

        while (end < p->first_detail) {
                uint64_t length_ns = s[end - 1].end_ns - s[i].begin_ns;

                if (s[end - 1].ends_at_moment)
                        break;
                n_events += s[end].n_events;
                if (s[end].end_ns - s[i].begin_ns > limit_ns || n_events > UINT32_MAX)
                        break;
                /* a checkpoint is worth keeping, and can only stand at a slice's end */
                if (s[end - 1].ckpt != PLAN_NO_CHUNK && length_ns >= limit_ns / 2)
                        break;
                end++;
        }
        return end;
}

struct weight {
        uint64_t bytes, entry_bytes, work_bytes;
};

/* A merged slice has no more rows than a checkpoint, though they are longer. */
static struct weight plan_weigh_history(const struct plan *p, uint64_t all_sites_bytes) {
        struct weight w = {0};

        for (size_t i = 0, end; i < p->first_detail; i = end) {
                uint64_t row_bytes = 0;

                end = plan_group_end(p, i);
                for (size_t k = i; k < end; k++)
                        row_bytes += p->slices.items[k].row_bytes;
                w.work_bytes += row_bytes * (end - i > 1 ? PLAN_MERGE_WEIGHT : 1);
                w.bytes += MIN(row_bytes, MAX(all_sites_bytes + all_sites_bytes / 2,
                                              p->slices.items[i].row_bytes));
                w.entry_bytes += p->slices.items[i].entry_bytes;
        }
        w.bytes += w.bytes / 2; /* checkpoints */
        return w;
}

static uint64_t plan_all_sites_bytes(const struct plan *p) {
        for (size_t i = p->slices.n; i-- > 0;)
                if (p->slices.items[i].ckpt != PLAN_NO_CHUNK)
                        return p->slices.items[i].ckpt_bytes;
        return UINT64_MAX / 4;
}

/* Every stride-th moment is kept. */
static void plan_find_moments(struct plan *p, const uint64_t *moments, size_t n_moments,
                              size_t stride) {
        size_t m = 0;

        for (size_t i = 0; i < p->slices.n; i++) {
                struct plan_slice *s = &p->slices.items[i];

                while (m < n_moments && moments[m] < s->end_ns)
                        m++;
                s->ends_at_moment = m < n_moments && moments[m] == s->end_ns && m % stride == 0;
        }
}

/* The finest history that fits. False: none does. */
static bool plan_choose_resolution(struct plan *p, uint64_t room_bytes, uint64_t room_entry_bytes,
                                   struct weight *ret) {
        uint64_t all_sites_bytes = plan_all_sites_bytes(p);

        for (p->resolution = PLAN_MAX_RESOLUTION;; p->resolution /= 2) {
                *ret = plan_weigh_history(p, all_sites_bytes);
                if (ret->bytes <= room_bytes && ret->entry_bytes <= room_entry_bytes)
                        return true;
                if (p->resolution == PLAN_MIN_RESOLUTION)
                        return false;
        }
}

void plan_make(struct plan *p, const bytes_buf *entries, uint64_t target_bytes,
               uint64_t target_entry_bytes, const uint64_t *moments, size_t n_moments) {
        uint64_t fixed_bytes, room_bytes, detail_bytes, history_bytes = 0;
        struct weight w;

        *p = (struct plan){0};
        plan_list(p, entries);
        plan_limit_maps(p, target_bytes / PLAN_MAPS_SHARE);
        p->tick_bytes = target_bytes / PLAN_TICKS_SHARE;
        fixed_bytes = plan_fixed_bytes(p) + MIN(plan_ticks_bytes(p), p->tick_bytes);
        room_bytes = target_bytes - MIN(fixed_bytes, target_bytes / 4 * 3);
        for (size_t i = 0; i < p->slices.n; i++)
                history_bytes += p->slices.items[i].row_bytes;
        plan_keep_detail(p, room_bytes - MIN(history_bytes, room_bytes / PLAN_HISTORY_SHARE),
                         target_entry_bytes / 2, &detail_bytes);
        room_bytes -= MIN(room_bytes, detail_bytes);
        for (size_t stride = 1;;
             stride *= 2) { /* where there are too many of them, every other goes */
                plan_find_moments(p, moments, n_moments, stride);
                if (plan_choose_resolution(p, room_bytes, target_entry_bytes / 2, &w) ||
                    stride > n_moments)
                        break;
        }
        p->work_bytes = w.work_bytes + detail_bytes + fixed_bytes;
        p->first_detail_chunk = p->chunks.n;
        if (p->first_detail < p->slices.n) {
                const struct plan_slice *s = &p->slices.items[p->first_detail];

                p->first_detail_chunk = (size_t)(s->site >= 0   ? s->site
                                                 : s->move >= 0 ? s->move
                                                 : s->evts >= 0 ? s->evts
                                                                : s->slic);
        }
}
