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
        WRITER_MAX_EVENT_BYTES = 8,      /* more is rare, and only costs the detail of a slice */
        WRITER_RESERVE_BYTES = 32 << 10, /* of the end, beside what grows with the trace */

        WRITER_CALM_EVENTS_PER_MS = 2000, /* slower ones leave time to compress harder */

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
static bool writer_write_must(struct trace_writer *w, size_t must_bytes, bool has_room) {
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
        w->encoder = trace_encoder_new(meta->flags);
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
        writer_abandon_thin(w);
        trace_packer_free(w->packer);
        trace_encoder_free(w->encoder);
        trace_defs_done(&w->defs);
        trace_backlog_done(&w->backlog);
        vec_free(&w->moves);
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

void trace_put_prior(struct trace_writer *w, const struct trace_prior *x) {
        trace_defs_prior(&w->defs, x);
}

void trace_put_tally(struct trace_writer *w, const struct trace_tally *t) {
        trace_defs_tally(&w->defs, t);
}

void trace_put_weights(struct trace_writer *w, uint32_t n_blocks, uint32_t old_n_blocks) {
        trace_encode_weights(w->encoder, n_blocks, old_n_blocks);
}

void trace_prefetch_stack(const struct trace_writer *w, uint32_t stack) {
        trace_encoder_prefetch(w->encoder, stack);
}

uint64_t trace_put_alloc(struct trace_writer *w, uint32_t thread, uint64_t time_ns, uint32_t stack,
                         uint64_t size_bytes, uint64_t address) {
        w->n_events++;
        trace_encode_alloc(w->encoder, thread, time_ns, stack, size_bytes, address);
        return w->first_seq + trace_encoder_n_allocs(w->encoder) - 1;
}

void trace_put_free(struct trace_writer *w, uint32_t thread, uint64_t time_ns, uint64_t seq,
                    uint32_t block_stack, uint64_t block_size_bytes, uint32_t free_stack) {
        w->n_events++;
        trace_encode_free(w->encoder, thread, time_ns, seq, block_stack, block_size_bytes,
                          free_stack);
}

uint64_t trace_put_realloc(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                           uint64_t old_seq, uint32_t old_stack, uint64_t old_size_bytes,
                           uint32_t stack, uint64_t size_bytes, uint64_t address) {
        w->n_events++;
        trace_encode_realloc(w->encoder, thread, time_ns, old_seq, old_stack, old_size_bytes, stack,
                             size_bytes, address);
        return w->first_seq + trace_encoder_n_allocs(w->encoder) - 1;
}

void trace_put_other(struct trace_writer *w, uint32_t thread, uint64_t time_ns,
                     enum trace_other other, uint64_t value, uint64_t seq, uint32_t block_stack) {
        w->n_events++;
        trace_encode_other(w->encoder, thread, time_ns, other, value, seq, block_stack);
}

void trace_put_sample(struct trace_writer *w, const struct trace_sample *s) {
        trace_defs_sample(&w->defs, s);
}

void trace_put_residency(struct trace_writer *w, const struct trace_residency *row) {
        trace_defs_residency(&w->defs, row);
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

size_t trace_slice_n_events(const struct trace_writer *w) {
        return trace_encoder_n_events(w->encoder);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void writer_append_evts(struct trace_writer *w, uint32_t number) {
        uint8_t head[TRACE_EVTS_HEAD_BYTES];
        size_t at = w->must.n;

        if (!trace_encoder_n_events(w->encoder))
                return;
        trace_encoder_end(w->encoder, number, head, &w->body);
        trace_chunk_append(w->packer, &w->must, TRACE_EVTS, head, sizeof(head), w->body.items,
                           w->body.n, 0);
        if (w->is_sampled)
                trace_chunk_set_version(w->must.items + at, TRACE_EVTS_VERSION);
}

/* The first slice has one even without rows. */
static bool writer_needs_move(const struct trace_writer *w) {
        return w->knows_moves && !w->has_move;
}

static size_t writer_append_backlog(struct trace_writer *w) {
        const struct trace_backlog *b = &w->backlog;
        struct trace_slice_rows s = {
                .number = w->n_slices,
                .flags = w->slice_flags | (b->n_events ? TRACE_SLIC_UNWRITTEN : 0),
                .n_events = b->n_events,
                .begin_us = b->begin_us,
                .end_us = b->end_us,
                .first_seq = b->first_seq,
                .n_allocs = b->n_allocs,
                .n_unwritten = b->n_events,
                .sites = b->sites.items,
                .n_sites = b->sites.n,
                .counts = b->counts.items,
                .n_counts = b->counts.n,
                .moves = b->moves.items,
                .n_moves = b->moves.n,
                .needs_move = writer_needs_move(w),
        };
        size_t rows_bytes;

        if (!b->n_slices)
                return 0;
        rows_bytes = trace_slice_append_site(w->packer, &w->must, &w->body, &s);
        trace_slice_append_move(w->packer, &w->must, &w->body, &s);
        trace_slice_append_slic(w->packer, &w->must, &w->body, &s);
        return rows_bytes;
}

static void writer_note_mappings(struct trace_writer *w, uint64_t time_ns) {
        char text[96];

        if (!w->n_unwritten_mappings)
                return;
        snprintf(text, sizeof(text), "%llu mappings are missing: the trace could not be written",
                 (unsigned long long)w->n_unwritten_mappings);
        trace_defs_note(&w->defs, time_ns, text);
        w->n_unwritten_mappings = 0;
}

static void writer_fail_slice(struct trace_writer *w, const struct trace_slice_rows *s,
                              uint32_t n_mappings) {
        struct trace_backlog *b = &w->backlog;

        if (!b->n_slices) {
                b->begin_us = s->begin_us;
                b->first_seq = s->first_seq;
        }
        b->end_us = s->end_us;
        b->n_events += s->n_events;
        b->n_allocs += s->n_allocs;
        trace_backlog_add(b, s->sites, s->n_sites, s->counts, s->n_counts);
        trace_backlog_add_moves(b, s->moves, s->n_moves);
        w->n_unwritten += s->n_events;
        w->n_unwritten_mappings += n_mappings;
}

/* The end of a slice in whole microseconds, behind its last event, so that slices and events
 * agree on who is in whose window. */
static uint64_t writer_end_us(const struct trace_writer *w, uint64_t end_ns) {
        uint64_t end_us = end_ns / 1000 + (end_ns % 1000 != 0);

        if (trace_encoder_n_events(w->encoder))
                end_us = MAX(end_us, trace_encoder_last_us(w->encoder) + 1);
        return MAX(end_us, w->begin_us);
}

uint64_t trace_slice_begin_ns(const struct trace_writer *w) {
        return w->begin_us * 1000;
}

uint64_t trace_slice_end_ns(const struct trace_writer *w, uint64_t end_ns) {
        return writer_end_us(w, end_ns) * 1000;
}

void trace_keep_moment(struct trace_writer *w, uint64_t end_ns) {
        vec_push(&w->moments, end_ns);
}

void trace_end_slice(struct trace_writer *w, uint64_t end_ns, const struct trace_site *sites,
                     size_t n_sites, const struct trace_counts *counts, size_t n_counts) {
        /* first: it may number the slices anew */
        bool has_room = writer_make_room(w, w->must.n +
                                                    WRITER_MAX_EVENT_BYTES *
                                                            trace_encoder_n_events(w->encoder) +
                                                    w->checkpoint_bytes);
        struct trace_slice_rows s = {
                .number = w->n_slices + (w->backlog.n_slices != 0),
                .flags = w->slice_flags,
                .n_events = trace_encoder_n_events(w->encoder),
                .begin_us = w->begin_us,
                .end_us = writer_end_us(w, end_ns),
                .first_seq = w->first_seq,
                .n_allocs = trace_encoder_n_allocs(w->encoder),
                .sites = sites,
                .n_sites = n_sites,
                .counts = counts,
                .n_counts = n_counts,
                .moves = w->moves.items,
                .n_moves = w->moves.n,
                .needs_move = writer_needs_move(w) && !w->backlog.n_slices,
        };
        uint32_t n_mappings = w->defs.mappings.n;
        size_t must_bytes, rows_bytes;

        trace_packer_try_hard(w->packer, s.n_events * 1000 < (s.end_us - s.begin_us) *
                                                                     WRITER_CALM_EVENTS_PER_MS);
        if (has_room) /* else definitions wait as rows, which take less than a chunk a slice */
                trace_defs_flush(&w->defs, w->packer, &w->must);
        must_bytes = w->must.n;
        trace_defs_flush_mappings(&w->defs, w->packer, &w->must);
        rows_bytes = writer_append_backlog(w);
        rows_bytes += trace_slice_append_site(w->packer, &w->must, &w->body, &s);
        trace_slice_append_move(w->packer, &w->must, &w->body, &s);
        writer_append_evts(w, s.number);
        trace_slice_append_slic(w->packer, &w->must, &w->body, &s);
        if (writer_write_must(w, must_bytes, has_room)) {
                w->n_slices = s.number + 1;
                w->has_move = w->knows_moves;
                w->rows_bytes += rows_bytes;
                trace_backlog_clear(&w->backlog);
                writer_note_mappings(w, end_ns);
        } else
                writer_fail_slice(w, &s, n_mappings);
        vec_clear(&w->moves);
        writer_keep_bound(w);

        w->first_seq += s.n_allocs;
        w->begin_us = s.end_us;
        trace_encoder_begin(w->encoder, w->first_seq, w->begin_us);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static uint64_t writer_checkpoint_cost(const struct trace_writer *w, size_t n_sites_now) {
        uint64_t cost_bytes = (uint64_t)n_sites_now * WRITER_SITE_BYTES;

        if (w->n_checkpoint_sites)
                cost_bytes = w->checkpoint_bytes * (n_sites_now + 1) / w->n_checkpoint_sites;
        return cost_bytes + TRACE_HEADER_BYTES;
}

bool trace_wants_checkpoint(const struct trace_writer *w, size_t n_sites_now) {
        return w->rows_bytes > WRITER_CKPT_WEIGHT * writer_checkpoint_cost(w, n_sites_now);
}

bool trace_allows_checkpoint(const struct trace_writer *w, size_t n_sites_now) {
        return w->rows_bytes > writer_checkpoint_cost(w, n_sites_now) / WRITER_CKPT_NEAR;
}

void trace_put_checkpoint(struct trace_writer *w, const struct trace_site *sites, size_t n_sites,
                          const struct trace_counts *counts, size_t n_counts) {
        uint8_t head[TRACE_CKPT_HEAD_BYTES] = {0};
        size_t at = w->must.n, span_bytes;

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
        trace_encode_sites(&w->body, sites, n_sites);
        span_bytes = trace_chunk_append(w->packer, &w->must, TRACE_CKPT, head, sizeof(head),
                                        w->body.items, w->body.n, MAX(n_sites, n_counts));
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

        if (!g->n_bytes || g->n_bytes / TRACE_GRPH_PART_BYTES >= UINT32_MAX ||
            (w->max_bytes && g->n_bytes > w->max_bytes / WRITER_BOUND_PARTS))
                return false;
        /* whoever waited for the graph reads it at once, with the locations that it names */
        trace_defs_flush(&w->defs, w->packer, &w->must);
        must_bytes = w->must.n;
        for (uint32_t i = 0; i < n_parts; i++) {
                uint64_t from = (uint64_t)i * TRACE_GRPH_PART_BYTES;
                uint8_t head[TRACE_GRPH_HEAD_BYTES] = {0};

                buf_put_le32(head, w->n_graphs);
                buf_put_le32(head + 4, i);
                buf_put_le32(head + 8, n_parts);
                buf_put_le32(head + 12, g->process);
                buf_put_le64(head + 16, g->time_ns);
                trace_chunk_append(w->packer, &w->must, TRACE_GRPH, head, sizeof(head),
                                   bytes + from,
                                   (size_t)MIN(g->n_bytes - from, (uint64_t)TRACE_GRPH_PART_BYTES),
                                   0);
        }
        if (!writer_write_must(w, must_bytes, true))
                return false;
        w->n_graphs++;
        return true;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Everything that still waits: definitions, an open slice (without rows: its caller never ended
 * it), the backlog. */
static bool writer_flush(struct trace_writer *w) {
        size_t must_bytes;

        if (trace_encoder_n_events(w->encoder))
                trace_end_slice(w, w->begin_us * 1000, NULL, 0, NULL, 0);
        trace_defs_flush(&w->defs, w->packer, &w->must);
        must_bytes = w->must.n;
        trace_defs_flush_mappings(&w->defs, w->packer, &w->must);
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

bool trace_writer_is_behind(const struct trace_writer *w) {
        return w->backlog.n_slices || w->must.n;
}

uint64_t trace_writer_n_thinned(const struct trace_writer *w) {
        return w->n_thinned;
}

uint64_t trace_writer_n_events(const struct trace_writer *w) {
        return w->n_events;
}
