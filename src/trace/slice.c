/* SPDX-License-Identifier: MIT */
#include "trace/slice.h"

#include "trace/moves_codec.h"
#include "trace/rows.h"

size_t trace_slice_append_site(struct trace_packer *p, bytes_buf *out, bytes_buf *scratch,
                               const struct trace_slice_rows *s) {
        uint8_t head[TRACE_SITE_HEAD_BYTES];
        size_t at = out->n, span_bytes;
        struct trace_cuts cuts;

        if (!s->n_sites)
                return 0;
        buf_put_le32(head, s->number);
        buf_put_le32(head + 4, (uint32_t)s->n_sites);
        vec_clear(scratch);
        trace_encode_sites(scratch, s->sites, s->n_sites, &cuts);
        span_bytes = trace_chunk_append_columns(p, out, TRACE_SITE, head, sizeof(head), scratch,
                                                &cuts, s->n_sites);
        trace_chunk_set_version(out->items + at, trace_sites_version(s->sites, s->n_sites));
        return span_bytes;
}

void trace_slice_append_move(struct trace_packer *p, bytes_buf *out, bytes_buf *scratch,
                             const struct trace_slice_rows *s) {
        uint8_t head[TRACE_MOVE_HEAD_BYTES];

        if (!s->n_moves && !s->needs_move)
                return;
        buf_put_le32(head, s->number);
        buf_put_le32(head + 4, (uint32_t)s->n_moves);
        vec_clear(scratch);
        trace_encode_moves(scratch, s->moves, s->n_moves);
        trace_chunk_append(p, out, TRACE_MOVE, head, sizeof(head), scratch->items, scratch->n,
                           s->n_moves);
}

void trace_slice_append_slic(struct trace_packer *p, bytes_buf *out, bytes_buf *scratch,
                             const struct trace_slice_rows *s) {
        uint8_t head[TRACE_SLIC_HEAD_BYTES];
        size_t at = out->n;

        buf_put_le32(head, s->number);
        buf_put_le32(head + 4, s->flags);
        buf_put_le64(head + 8, s->n_events);
        buf_put_le64(head + 16, s->begin_us * 1000);
        buf_put_le64(head + 24, s->end_us * 1000);
        buf_put_le64(head + 32, s->first_seq);
        buf_put_le64(head + 40, s->n_allocs);
        buf_put_le32(head + 48, (uint32_t)s->n_sites);
        buf_put_le32(head + 52, (uint32_t)s->n_counts);
        buf_put_le64(head + 56, s->n_unwritten);
        vec_clear(scratch);
        trace_encode_counts(scratch, s->counts, s->n_counts);
        trace_chunk_append(p, out, TRACE_SLIC, head, sizeof(head), scratch->items, scratch->n,
                           s->n_counts);
        if (s->flags & TRACE_SLIC_DROPPED)
                trace_chunk_set_version(out->items + at, TRACE_SLIC_VERSION);
}
