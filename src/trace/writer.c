/* SPDX-License-Identifier: MIT */
/* Gathers one slice and writes it in one piece:
 *
 *   must      chunks of definitions: kept until a write succeeds
 *   slice     SITE, MOVE, EVTS, SLIC of the open slice: when its write fails, rows go to the backlog, events are dropped
 * good_end is the file's length as far as everything is whole; a failed write is cut back to it. */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "trace/index.h"
#include "trace/moves_codec.h"
#include "trace/rows.h"
#include "trace/slice.h"
#include "trace/writer_state.h"

enum {
        WRITER_RESERVE_BYTES = 32 << 10, /* of the end, beside what grows with the trace */

        WRITER_SITE_BYTES = 5, /* of a site in a checkpoint, before the first has been measured */
        WRITER_CKPT_NEAR =
                8, /* rows since one are little to read while they are such a part of it */
        WRITER_CKPT_WEIGHT = 2, /* rows outweigh a checkpoint so many times before one is due */
};

static void writer_put_meta(struct trace_writer *w, const struct trace_meta *meta) {
        uint8_t head[TRACE_DEFS_HEAD_BYTES] = {TRACE_FORMAT_VERSION};

        vec_clear(&w->body);
        trace_encode_meta(&w->body, meta);
        trace_chunk_append(w->packer, &w->must, TRACE_META, head, sizeof(head), w->body.items,
                           w->body.n, 0);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int writer_pwrite(struct trace_writer *w, const bytes_buf *b) {
        size_t done = 0;

        while (done < b->n) {
                ssize_t n =
                        pwrite(w->fd, b->items + done, b->n - done, (off_t)(w->good_end + done));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                done += (size_t)n;
        }
        return 0;
}

/* Entries of the chunks in b, which now stand at good_end. */
static void writer_index(struct trace_writer *w, const bytes_buf *b) {
        for (size_t at = 0; at < b->n;) {
                const uint8_t *p = b->items + at;

                trace_index_add(&w->index_entries, &w->n_index_entries, p, w->good_end + at);
                at += TRACE_HEADER_BYTES + ALIGN_UP((size_t)bytes_le32(p + 12), 8);
        }
}

/* Room on the disk for more_bytes and for the end of the trace behind them, so that a full disk costs detail and not the
 * totals. Where the file system cannot reserve, there is none. */
static int writer_reserve(const struct trace_writer *w, size_t more_bytes) {
        uint64_t end_bytes =
                WRITER_RESERVE_BYTES + WRITER_END_CKPTS * w->checkpoint_bytes + w->index_entries.n;

        if (w->is_ending || fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->good_end,
                                      (off_t)(more_bytes + end_bytes)) == 0)
                return 0;
        return errno == ENOSPC || errno == EDQUOT ? -errno : 0;
}

/* Writes whole chunks behind good_end, all or nothing. */
static bool writer_write(struct trace_writer *w, const bytes_buf *b) {
        int r = 0;

        if (!b->n)
                return true;
        if (!writer_has_room(w, b->n)) {
                w->error = w->error ? w->error : -EFBIG;
                return false;
        }
        if (w->dirty_tail && ftruncate(w->fd, (off_t)w->good_end) < 0)
                r = -errno;
        w->dirty_tail = r < 0;
        if (r == 0)
                r = writer_reserve(w, b->n);
        if (r < 0) {
                w->error = w->error ? w->error : r;
                return false;
        }
        r = writer_pwrite(w, b);
        if (r < 0) {
                w->error = w->error ? w->error : r;
                w->dirty_tail = ftruncate(w->fd, (off_t)w->good_end) < 0;
                return false;
        }
        writer_index(w, b);
        w->good_end += b->n;
        return true;
}

/* The same with the definitions before it, which stay for the next time when it fails. */
bool writer_write_must(struct trace_writer *w, size_t must_bytes, bool has_room) {
        if (!has_room)
                w->error = w->error ? w->error : -EFBIG;
        if (!has_room || !writer_write(w, &w->must)) {
                w->must.n = must_bytes;
                return false;
        }
        vec_clear(&w->must);
        return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

int trace_writer_open(int fd, const struct trace_meta *meta, struct trace_writer **ret,
                      struct err *reterr) {
        struct trace_writer *w;

        if (lseek(fd, 0, SEEK_SET) < 0)
                return err_set_errno(reterr, -errno, "cannot write the trace: not a regular file");
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
                return err_set(reterr, -EBUSY,
                               "cannot write the trace: another silt is writing it");
        if (ftruncate(fd, 0) < 0)
                return err_set_errno(reterr, -errno, "cannot truncate the trace");
        w = calloc(1, sizeof(*w));
        if (!w)
                return err_set_errno(reterr, -ENOMEM, "cannot write the trace");
        w->fd = fd;
        w->swap = TRACE_SWAP_NONE;
        w->packer = trace_packer_new();
        writer_init_events(w, meta->flags);
        w->is_sampled = meta->flags & TRACE_IS_SAMPLED;
        w->slice_flags = meta->flags & TRACE_IS_TOTALS ? TRACE_SLIC_DROPPED : 0;
        trace_defs_init(&w->defs);
        writer_put_meta(w, meta);
        writer_write_must(w, w->must.n, true); /* on a full disk it waits in `must` */
        *ret = w;
        return 0;
}

struct trace_writer *trace_writer_free(struct trace_writer *w) {
        if (!w)
                return NULL;
        trace_writer_set_worker(w, false);
        vec_free(&w->pending.job.body);
        writer_abandon_thin(w);
        trace_packer_free(w->packer);
        writer_done_events(w);
        trace_defs_done(&w->defs);
        trace_backlog_done(&w->backlog);
        vec_free(&w->moves);
        vec_free(&w->ticks);
        vec_free(&w->moments);
        vec_free(&w->must);
        vec_free(&w->body);
        vec_free(&w->site_body);
        vec_free(&w->index_entries);
        close(w->fd);
        free(w);
        return NULL;
}

/* ---- definitions and events: handed on ------------------------------------------------------- */

uint32_t trace_add_module(struct trace_writer *w, const struct trace_module *m) {
        return trace_defs_module(&w->defs, m);
}

uint32_t trace_add_location(struct trace_writer *w, const struct trace_location *l) {
        return trace_defs_location(&w->defs, l);
}

uint32_t trace_add_stack(struct trace_writer *w, uint32_t parent, uint32_t location) {
        return trace_defs_stack(&w->defs, parent, location);
}

uint32_t trace_add_process(struct trace_writer *w, const struct trace_process *p) {
        return trace_defs_process(&w->defs, p);
}

uint32_t trace_add_thread(struct trace_writer *w, const struct trace_thread *t) {
        return trace_defs_thread(&w->defs, t);
}

void trace_name_thread(struct trace_writer *w, uint32_t thread, const char *name) {
        trace_defs_thread_name(&w->defs, thread, name);
}

void trace_title_process(struct trace_writer *w, uint32_t process, const char *title) {
        trace_defs_title(&w->defs, process, title);
}

void trace_end_process(struct trace_writer *w, const struct trace_process_end *e) {
        trace_defs_process_end(&w->defs, e);
}

void trace_put_note(struct trace_writer *w, uint64_t time_ns, const char *text) {
        trace_defs_note(&w->defs, time_ns, text);
}

void trace_put_allocator(struct trace_writer *w, const struct trace_allocator *a) {
        trace_defs_allocator(&w->defs, a);
}

void trace_put_cost(struct trace_writer *w, const struct trace_cost *c) {
        trace_defs_cost(&w->defs, c);
}

void trace_put_room(struct trace_writer *w, const struct trace_room *x) {
        trace_defs_room(&w->defs, x);
}

void trace_put_prior(struct trace_writer *w, const struct trace_prior *x) {
        trace_defs_prior(&w->defs, x);
}

void trace_put_tally(struct trace_writer *w, const struct trace_tally *t) {
        trace_defs_tally(&w->defs, t);
}

void trace_put_sample(struct trace_writer *w, const struct trace_sample *s) {
        trace_defs_sample(&w->defs, s);
}

void trace_put_residency(struct trace_writer *w, const struct trace_residency *row) {
        trace_defs_residency(&w->defs, row);
}

void trace_put_tick(struct trace_writer *w, const struct trace_tick *tick) {
        vec_push(&w->ticks, *tick);
}

size_t trace_n_open_ticks(const struct trace_writer *w) {
        return w->ticks.n;
}

void trace_put_mapping(struct trace_writer *w, const struct trace_mapping *m) {
        trace_defs_mapping(&w->defs, m);
}

void trace_put_moves(struct trace_writer *w, const struct trace_move *moves, size_t n) {
        w->knows_moves = true;
        for (size_t i = 0; i < n; i++)
                if (!trace_move_is_zero(&moves[i]))
                        vec_push(&w->moves, moves[i]);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static uint64_t writer_checkpoint_cost(const struct trace_writer *w, size_t n_sites_now) {
        uint64_t cost_bytes = (uint64_t)n_sites_now * WRITER_SITE_BYTES;

        if (w->n_checkpoint_sites)
                cost_bytes = w->checkpoint_bytes * (n_sites_now + 1) / w->n_checkpoint_sites;
        return cost_bytes + TRACE_HEADER_BYTES;
}

/* The same whether the last slice is in the file already or pending. */
static uint64_t writer_rows_bytes(const struct trace_writer *w) {
        return w->rows_bytes + (w->pending.is_open ? w->pending.x.rows_bytes : 0);
}

bool trace_wants_checkpoint(const struct trace_writer *w, size_t n_sites_now) {
        return writer_rows_bytes(w) > WRITER_CKPT_WEIGHT * writer_checkpoint_cost(w, n_sites_now);
}

bool trace_allows_checkpoint(const struct trace_writer *w, size_t n_sites_now) {
        return writer_rows_bytes(w) > writer_checkpoint_cost(w, n_sites_now) / WRITER_CKPT_NEAR;
}

void trace_put_checkpoint(struct trace_writer *w, const struct trace_site *sites, size_t n_sites,
                          const struct trace_counts *counts, size_t n_counts) {
        uint8_t head[TRACE_CKPT_HEAD_BYTES] = {0};
        struct trace_cuts cuts;
        size_t at, span_bytes;

        trace_writer_settle(w);
        at = w->must.n;
        if (!w->n_slices || w->backlog.n_slices || w->must.n)
                return; /* the slice it would follow is not in the file */
        buf_put_le32(head, w->n_slices - 1);
        buf_put_le32(head + 4, (uint32_t)n_sites);
        buf_put_le32(head + 8, (uint32_t)n_counts);
        vec_clear(&w->site_body);
        trace_encode_counts(&w->site_body, counts, n_counts);
        vec_clear(&w->body);
        buf_varint(&w->body, w->site_body.n);
        buf_bytes(&w->body, w->site_body.items, w->site_body.n);
        trace_encode_sites(&w->body, sites, n_sites, &cuts);
        span_bytes = trace_chunk_append_columns(w->packer, &w->must, TRACE_CKPT, head, sizeof(head),
                                                &w->body, &cuts, MAX(n_sites, n_counts));
        trace_chunk_set_version(w->must.items + at, trace_sites_version(sites, n_sites));
        if (writer_write_must(w, 0, true)) {
                w->rows_bytes = 0;
                w->checkpoint_bytes = span_bytes;
                w->n_checkpoint_sites = n_sites;
        }
}

bool trace_put_graph(struct trace_writer *w, const struct trace_graph *g, const uint8_t *bytes) {
        uint32_t n_parts =
                (uint32_t)((g->n_bytes + TRACE_GRPH_PART_BYTES - 1) / TRACE_GRPH_PART_BYTES);
        size_t must_bytes;

        if (!g->n_bytes || g->n_bytes / TRACE_GRPH_PART_BYTES >= UINT32_MAX)
                return false;
        trace_writer_settle(w);
        /* whoever waited for the graph reads it at once, with the locations that it names */
        trace_defs_flush(&w->defs, w->packer, &w->must);
        must_bytes = w->must.n;
        for (uint32_t i = 0; i < n_parts; i++) {
                uint64_t from = (uint64_t)i * TRACE_GRPH_PART_BYTES;
                uint8_t head[TRACE_GRPH_HEAD_BYTES] = {0};
                size_t at = w->must.n;

                buf_put_le32(head, w->n_graphs);
                buf_put_le32(head + 4, i);
                buf_put_le32(head + 8, n_parts);
                buf_put_le32(head + 12, g->process);
                buf_put_le64(head + 16, g->time_ns);
                trace_chunk_append(w->packer, &w->must, TRACE_GRPH, head, sizeof(head),
                                   bytes + from,
                                   (size_t)MIN(g->n_bytes - from, (uint64_t)TRACE_GRPH_PART_BYTES),
                                   0);
                if (g->has_heads)
                        trace_chunk_set_version(w->must.items + at, TRACE_GRPH_VERSION);
                if (w->max_bytes && w->must.n - must_bytes > w->max_bytes / WRITER_BOUND_PARTS) {
                        w->must.n = must_bytes;
                        return false;
                }
        }
        if (!writer_write_must(w, must_bytes, true))
                return false;
        w->n_graphs++;
        return true;
}

/* A bounded file keeps a few of them: each is small beside the bound. */
bool trace_put_bill(struct trace_writer *w, const struct trace_bill *b, const uint8_t *bytes) {
        uint8_t head[TRACE_BILL_HEAD_BYTES] = {0};
        size_t must_bytes;

        if (!b->n_bytes || b->n_bytes > TRACE_BILL_MAX_BYTES ||
            (w->max_bytes && b->n_bytes > w->max_bytes / WRITER_BOUND_PARTS / TRACE_MAX_KEPT_BILLS))
                return false;
        trace_writer_settle(w);
        trace_defs_flush(&w->defs, w->packer, &w->must);
        must_bytes = w->must.n;
        buf_put_le32(head, w->n_bills);
        buf_put_le32(head + 4, b->process);
        buf_put_le64(head + 8, b->time_ns);
        buf_put_le64(head + 16, b->rss_bytes);
        trace_chunk_append(w->packer, &w->must, TRACE_BILL, head, sizeof(head), bytes,
                           (size_t)b->n_bytes, 0);
        if (!writer_write_must(w, must_bytes, true))
                return false;
        w->n_bills++;
        return true;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Everything that still waits: definitions, an open slice (without rows: its caller never ended
 * it), the backlog. */
static bool writer_flush(struct trace_writer *w) {
        size_t must_bytes;

        if (writer_n_events(w))
                trace_end_slice(w, w->begin_us * 1000, NULL, 0, NULL, 0);
        writer_note_missing(w, w->begin_us * 1000, "mappings", &w->n_unwritten_mappings);
        writer_note_missing(w, w->begin_us * 1000, "samples of time", &w->n_unwritten_ticks);
        trace_defs_flush(&w->defs, w->packer, &w->must);
        must_bytes = w->must.n;
        trace_defs_flush_mappings(&w->defs, w->packer, &w->must);
        trace_append_ticks(w->packer, &w->must, &w->ticks, false, 0, 0);
        writer_append_backlog(w);
        if (!writer_write_must(w, must_bytes, true))
                return false;
        w->n_slices += w->backlog.n_slices != 0;
        w->has_move |= w->knows_moves && w->backlog.n_slices;
        trace_backlog_clear(&w->backlog);
        return true;
}

int trace_writer_finish(struct trace_writer *w, struct err *reterr) {
        bytes_buf end = {0};
        bool ok;

        trace_writer_set_worker(w, false);
        writer_abandon_thin(w);
        w->is_ending = true;
        ok = writer_flush(w);
        if (ok) {
                trace_index_append(w->packer, &end, w->good_end, &w->index_entries,
                                   w->n_index_entries, false, 0);
                if (w->dirty_tail)
                        w->dirty_tail = ftruncate(w->fd, (off_t)w->good_end) < 0;
                int r = w->dirty_tail ? -EIO : writer_pwrite(w, &end);

                ok = r == 0;
                if (ok)
                        w->good_end += end.n;
                else {
                        w->error = w->error ? w->error : r;
                        w->dirty_tail = ftruncate(w->fd, (off_t)w->good_end) < 0;
                }
        }
        vec_free(&end);
        if (!w->dirty_tail) /* what was reserved and not needed */
                w->dirty_tail = ftruncate(w->fd, (off_t)w->good_end) < 0;
        flock(w->fd, LOCK_UN);
        if (w->error < 0)
                return err_set_errno(reterr, w->error,
                                     ok ? "part of the trace could not be written"
                                        : "the end of the trace could not be written");
        return 0;
}

uint64_t trace_writer_size_bytes(const struct trace_writer *w) {
        return w->good_end;
}

uint64_t trace_writer_n_unwritten(const struct trace_writer *w) {
        return w->n_unwritten;
}

uint64_t trace_writer_n_unwritten_ticks(const struct trace_writer *w) {
        return w->n_unwritten_ticks_ever;
}

bool trace_writer_is_behind(struct trace_writer *w) {
        trace_writer_settle(w);
        return w->backlog.n_slices || w->must.n;
}

uint64_t trace_writer_n_thinned(const struct trace_writer *w) {
        return w->n_thinned;
}
