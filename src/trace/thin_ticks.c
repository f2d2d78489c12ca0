/* SPDX-License-Identifier: MIT */
#include "trace/thin_ticks.h"

#include <errno.h>

#include "base/macros.h"
#include "trace/ticks.h"

enum { TICKS_MAX_STRETCHES = 64 }; /* that old spans are merged to */

struct tick_chunk {
        const struct trace_chunk *chunk;
        struct trace_tick_span span;
};
typedef VEC(struct tick_chunk) tick_chunk_vec;

static uint64_t list_ticks(const struct plan *p, tick_chunk_vec *ret) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < p->chunks.n; i++) {
                struct tick_chunk x = {.chunk = &p->chunks.items[i]};

                if (x.chunk->kind != TRACE_TICK || !trace_tick_span_of(x.chunk, &x.span))
                        continue;
                vec_push(ret, x);
                bytes += trace_chunk_span_bytes(x.chunk);
        }
        return bytes;
}

/* Chunks [from, to) become one stretch. */
static int merge_stretch(int fd, const tick_chunk_vec *all, size_t from, size_t to,
                         struct trace_packer *packer, bytes_buf *out) {
        uint64_t begin_us = UINT64_MAX, end_us = 0, bytes_read = 0;
        struct trace_body body = {0};
        trace_tick_vec rows = {0}, part = {0};
        int r = 0;

        for (size_t i = from; i < to && r == 0; i++) {
                const struct tick_chunk *x = &all->items[i];

                r = trace_chunk_read(fd, x->chunk, &body, &bytes_read, NULL);
                if (r == 0 && trace_decode_ticks(&body, &x->span, SIZE_MAX, SIZE_MAX, &part))
                        r = -EBADMSG;
                for (size_t k = 0; k < part.n && r == 0; k++)
                        vec_push(&rows, part.items[k]);
                begin_us = MIN(begin_us, x->span.begin_ns / 1000);
                end_us = MAX(end_us, x->span.end_ns / 1000);
        }
        if (r == 0 && rows.n) {
                trace_merge_ticks(&rows, begin_us);
                trace_append_ticks(packer, out, &rows, true, begin_us, end_us);
        }
        trace_body_done(&body);
        vec_free(&rows);
        vec_free(&part);
        return r;
}

/* Chunks [0, n_old) in n_stretches of about as much time each. */
static int merge_old(int fd, const tick_chunk_vec *all, size_t n_old, size_t n_stretches,
                     struct trace_packer *packer, bytes_buf *out) {
        uint64_t begin_ns = UINT64_MAX, end_ns = 0, length_ns;
        int r = 0;

        for (size_t i = 0; i < n_old; i++) { /* what timers were late for is told later */
                begin_ns = MIN(begin_ns, all->items[i].span.begin_ns);
                end_ns = MAX(end_ns, all->items[i].span.end_ns);
        }
        length_ns = end_ns - begin_ns;
        for (size_t from = 0, to; from < n_old && r == 0; from = to) {
                uint64_t stretch = (all->items[from].span.begin_ns - begin_ns) * n_stretches /
                                   MAX(length_ns, (uint64_t)1);

                for (to = from + 1; to < n_old; to++)
                        if ((all->items[to].span.begin_ns - begin_ns) * n_stretches /
                                    MAX(length_ns, (uint64_t)1) !=
                            stretch)
                                break;
                r = to == from + 1 ? trace_chunk_load(fd, all->items[from].chunk, out)
                                   : merge_stretch(fd, all, from, to, packer, out);
        }
        return r;
}

int thin_copy_ticks(int fd, const struct plan *p, uint64_t max_bytes, struct trace_packer *packer,
                    bytes_buf *out) {
        tick_chunk_vec all = {0};
        uint64_t bytes = list_ticks(p, &all), new_bytes = 0;
        size_t n_old = bytes > max_bytes ? all.n : 0, at = out->n;
        int r = 0;

        while (n_old > 1) { /* half of the room is for the newest */
                new_bytes += trace_chunk_span_bytes(all.items[n_old - 1].chunk);
                if (new_bytes > max_bytes / 2)
                        break;
                n_old--;
        }
        for (size_t n = TICKS_MAX_STRETCHES; n_old && r == 0; n /= 2) {
                out->n = at;
                r = merge_old(fd, &all, n_old, n, packer, out);
                if (n == 1 || out->n - at <= max_bytes / 2)
                        break;
        }
        for (size_t i = n_old; i < all.n && r == 0; i++)
                r = trace_chunk_load(fd, all.items[i].chunk, out);
        vec_free(&all);
        return r;
}
