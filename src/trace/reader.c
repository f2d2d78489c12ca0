/* SPDX-License-Identifier: MIT */
/* Open: list the chunks (index.c, recover.c), load definitions, note where slices, checkpoints
 * and the rest are. A damaged chunk costs what it held, and is said in `damage`; only a file
 * that is no trace, or needs a newer silt, is refused. */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "trace/defs.h"
#include "trace/events.h"
#include "trace/foreign.h"
#include "trace/index.h"
#include "trace/moves_codec.h"
#include "trace/rows.h"

enum { NO_CHUNK = -1 };

/* Places in list.chunks; NO_CHUNK when absent. */
struct slice_place {
        uint32_t number;
        ssize_t slic, site, move, evts;
};

static struct slice_place place_of(uint32_t number) {
        return (struct slice_place){number, NO_CHUNK, NO_CHUNK, NO_CHUNK, NO_CHUNK};
}

struct checkpoint_place {
        size_t slice_idx;
        size_t chunk;
};

struct trace_reader {
        int fd;
        struct trace_chunk_list list;
        struct trace_tables tables;
        struct trace_view view;
        struct trace_body body;
        struct trace_decoder *decoder;
        uint64_t bytes_read;
        uint64_t next_seq; /* no event of a later slice allocates a smaller one */
        VEC(struct trace_slice_info) slices;
        VEC(struct slice_place) places; /* of the same slices */
        VEC(struct checkpoint_place) checkpoints;
        bool has_samples, has_mappings, has_residency;
        /* what the read functions handed out last */
        trace_site_vec sites, checkpoint_sites;
        trace_counts_vec counts, checkpoint_counts;
        trace_move_vec moves;
        /* Counts of slices: small, and asked for again by every question. */
        struct arena *kept_arena;
        size_t n_kept_bytes;
        VEC(const struct trace_counts *) kept_counts; /* by slice; NULL: not kept */
};

enum { READER_MAX_KEPT_BYTES = 8 << 20 };

/* The first damage is the one worth a sentence. */
static __attribute__((format(printf, 2, 3))) void reader_damage(struct trace_reader *t,
                                                                const char *fmt, ...) {
        va_list args;

        if (t->view.damage[0])
                return;
        va_start(args, fmt);
        vsnprintf(t->view.damage, sizeof(t->view.damage), fmt, args);
        va_end(args);
}

static int reader_read(struct trace_reader *t, const struct trace_chunk *c, struct err *reterr) {
        return trace_chunk_read(t->fd, c, &t->body, &t->bytes_read, reterr);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void reader_load_defs(struct trace_reader *t, const struct trace_chunk *c) {
        struct err err = {0};
        int error = 0;

        if (reader_read(t, c, &err) == 0) {
                error = trace_tables_load(&t->tables, c, &t->body);
                if (!error)
                        return;
                trace_chunk_bad(c, "its definitions are not valid", &err);
        }
        trace_tables_skip(&t->tables, c);
        t->view.n_damaged_bytes += trace_chunk_span_bytes(c);
        reader_damage(t, "%.190s", err.text);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Whoever asks for events may rely on this: those of a slice are as many as it says, and allocations are numbered without
 * gap inside a slice and rise from slice to slice. */
static bool reader_events_fit(struct trace_reader *t, const struct trace_chunk *slic,
                              const struct trace_chunk *evts) {
        uint64_t first_seq = bytes_le64(slic->head + 32), n_allocs = bytes_le64(slic->head + 40);

        if (evts->head_bytes != TRACE_EVTS_HEAD_BYTES ||
            bytes_le32(evts->head + 4) != bytes_le64(slic->head + 8) ||
            bytes_le64(evts->head + 8) != first_seq || bytes_le32(evts->head + 24) != n_allocs ||
            first_seq < t->next_seq || first_seq > UINT64_MAX - n_allocs)
                return false;
        t->next_seq = first_seq + n_allocs;
        return true;
}

static void reader_add_slice(struct trace_reader *t, const struct slice_place *open,
                             ssize_t chunk) {
        const struct trace_chunk *c = &t->list.chunks.items[chunk];
        struct slice_place place = place_of(bytes_le32(c->head));
        struct trace_slice_info s = {0};
        uint64_t n_events;

        if (c->head_bytes != TRACE_SLIC_HEAD_BYTES) {
                t->view.n_damaged_bytes += trace_chunk_span_bytes(c);
                return;
        }
        if (open->number == place.number)
                place = *open;
        place.slic = chunk;
        if (place.evts != NO_CHUNK && !reader_events_fit(t, c, &t->list.chunks.items[place.evts])) {
                reader_damage(t, "the events of slice %u do not belong to it", place.number);
                place.evts = NO_CHUNK;
        }
        n_events = bytes_le64(c->head + 8);
        s.begin_ns = bytes_le64(c->head + 16);
        s.end_ns = bytes_le64(c->head + 24);
        s.first_seq = bytes_le64(c->head + 32);
        s.n_events = (uint32_t)MIN(n_events, (uint64_t)UINT32_MAX);
        s.n_allocs = bytes_le64(c->head + 40);
        s.n_sites = bytes_le32(c->head + 48);
        s.n_counts = bytes_le32(c->head + 52);
        s.is_dropped =
                c->version == TRACE_SLIC_VERSION && bytes_le32(c->head + 4) & TRACE_SLIC_DROPPED;
        s.has_events = place.evts != NO_CHUNK || !n_events;
        s.has_inherited_frees = place.site != NO_CHUNK &&
                                t->list.chunks.items[place.site].version >= TRACE_ROWS_VERSION;
        if (t->places.n && place.number != t->places.items[t->places.n - 1].number + 1)
                reader_damage(t, "slices %u to %u are missing",
                              t->places.items[t->places.n - 1].number + 1, place.number - 1);
        if (s.n_sites && place.site == NO_CHUNK)
                reader_damage(t, "the rows of slice %u are missing", place.number);
        t->view.n_events += n_events;
        t->view.n_unwritten_events += bytes_le64(c->head + 56);
        if (s.is_dropped) {
                t->view.n_dropped_events += n_events - MIN(n_events, bytes_le64(c->head + 56));
                t->view.detail_from_ns = s.end_ns;
        }
        t->view.end_ns = MAX(t->view.end_ns, s.end_ns);
        vec_push(&t->slices, s);
        vec_push(&t->places, place);
}

/* SITE, MOVE and EVTS wait for the SLIC that makes them a slice. */
static void reader_note_slice_part(struct trace_reader *t, struct slice_place *open,
                                   ssize_t chunk) {
        const struct trace_chunk *c = &t->list.chunks.items[chunk];
        uint32_t number = bytes_le32(c->head);

        if (c->head_bytes < 8)
                return;
        if (open->number != number)
                *open = place_of(number);
        if (c->kind == TRACE_SITE)
                open->site = chunk;
        else if (c->kind == TRACE_MOVE)
                open->move = chunk;
        else
                open->evts = chunk;
}

static void reader_add_checkpoint(struct trace_reader *t, size_t chunk) {
        const struct trace_chunk *c = &t->list.chunks.items[chunk];

        /* it follows its slice; a checkpoint whose slice was lost stands for the slice before it */
        if (c->head_bytes == TRACE_CKPT_HEAD_BYTES && t->slices.n &&
            t->places.items[t->slices.n - 1].number == bytes_le32(c->head))
                vec_push(&t->checkpoints, (struct checkpoint_place){t->slices.n - 1, chunk});
}

/* ---- opening --------------------------------------------------------------------------------- */

static int reader_refuse(const struct trace_chunk *c, struct err *reterr) {
        struct trace_kind_text kind;

        return err_set(reterr, -EPROTONOSUPPORT,
                       "it needs %s version %u: read it with a newer silt",
                       trace_kind_name(&kind, c->kind), c->version);
}

/* 0, or -errno when the file is too new. *symbols_generation: of the newest SYMS chunk. */
static int reader_take_chunk(struct trace_reader *t, size_t i, struct slice_place *open,
                             uint32_t symbols_generation, struct err *reterr) {
        const struct trace_chunk *c = &t->list.chunks.items[i];

        if (c->kind == TRACE_SKIP)
                return 0;
        if (c->version > trace_kind_version(c->kind) ||
            (c->kind == TRACE_META && c->head_bytes >= 4 &&
             bytes_le32(c->head) != TRACE_FORMAT_VERSION))
                return c->flags & TRACE_FLAG_REQUIRED ? reader_refuse(c, reterr) : 0;
        switch (c->kind) {
        case TRACE_META:
        case TRACE_MODS:
        case TRACE_LOCS:
        case TRACE_STKS:
        case TRACE_PROC:
        case TRACE_PEND:
        case TRACE_TITL:
        case TRACE_THRD:
        case TRACE_TNAM:
        case TRACE_COST:
        case TRACE_PRIO:
        case TRACE_TALY:
        case TRACE_ALOC:
        case TRACE_NOTE: reader_load_defs(t, c); return 0;
        case TRACE_SYMS:
        case TRACE_NSRC:
                if (c->head_bytes >= 4 && bytes_le32(c->head) == symbols_generation)
                        reader_load_defs(t, c);
                return 0;
        case TRACE_MOVE:
                t->view.knows_moves = true;
                reader_note_slice_part(t, open, (ssize_t)i);
                return 0;
        case TRACE_SITE:
        case TRACE_EVTS: reader_note_slice_part(t, open, (ssize_t)i); return 0;
        case TRACE_SLIC: reader_add_slice(t, open, (ssize_t)i); return 0;
        case TRACE_CKPT: reader_add_checkpoint(t, i); return 0;
        case TRACE_SMPL:
        case TRACE_RESI:
        case TRACE_MAPS: return 0; /* when asked for */
        default: return c->flags & TRACE_FLAG_REQUIRED ? reader_refuse(c, reterr) : 0;
        }
}

static int reader_take_chunks(struct trace_reader *t, struct err *reterr) {
        struct slice_place open = place_of(UINT32_MAX);
        uint32_t generation = 0;

        for (size_t i = 0; i < t->list.chunks.n; i++) {
                const struct trace_chunk *c = &t->list.chunks.items[i];

                if (c->kind == TRACE_SYMS && c->head_bytes >= 4)
                        generation = MAX(generation, bytes_le32(c->head));
        }
        for (size_t i = 0; i < t->list.chunks.n; i++) {
                int r = reader_take_chunk(t, i, &open, generation, reterr);

                if (r < 0)
                        return r;
        }
        return 0;
}

static void reader_fill_view(struct trace_reader *t) {
        struct trace_view *v = &t->view;

        v->meta = t->tables.meta;
        v->modules = t->tables.modules.items, v->n_modules = t->tables.modules.n;
        v->locations = t->tables.locations.items, v->n_locations = t->tables.locations.n;
        v->stacks = t->tables.stacks.items, v->n_stacks = t->tables.stacks.n;
        v->processes = t->tables.processes.items, v->n_processes = t->tables.processes.n;
        v->threads = t->tables.threads.items, v->n_threads = t->tables.threads.n;
        v->symbols = t->tables.symbols.items, v->n_symbols = t->tables.symbols.n;
        v->module_names = t->tables.module_names.items;
        v->n_module_names = t->tables.module_names.n;
        v->cost = t->tables.cost;
        v->priors = t->tables.priors.items, v->n_priors = t->tables.priors.n;
        v->tallies = t->tables.tallies.items, v->n_tallies = t->tables.tallies.n;
        v->notes = t->tables.notes.items, v->n_notes = t->tables.notes.n;
        v->allocators = t->tables.allocators.items, v->n_allocators = t->tables.allocators.n;
        v->n_slices = t->slices.n;
        v->n_checkpoints = t->checkpoints.n;
        v->finished = t->list.finished;
        for (size_t i = 0; i < v->n_processes; i++)
                v->end_ns = MAX(v->end_ns, v->processes[i].end.end_ns);
}

static void reader_tell_damage(struct trace_reader *t) {
        uint64_t inside = t->list.n_damaged_bytes - t->list.n_tail_bytes;

        t->view.n_damaged_bytes += t->list.n_damaged_bytes;
        if (inside)
                reader_damage(t, "%llu bytes inside the file are damaged and were skipped",
                              (unsigned long long)inside);
        if (!t->tables.has_meta)
                reader_damage(
                        t,
                        "its first chunk is damaged: the command and the time of the recording are lost");
        if (t->list.n_tail_bytes)
                reader_damage(t, "the file ends inside a chunk: its last %llu bytes were not read",
                              (unsigned long long)t->list.n_tail_bytes);
}

static int reader_load(struct trace_reader *t, const char *path, struct err *reterr) {
        struct err e = {0};
        struct stat st;
        int r;

        if (fstat(t->fd, &st) < 0)
                return err_set(reterr, -errno, "cannot read '%s': %s: check the disk", path,
                               strerror(errno));
        if (!S_ISREG(st.st_mode))
                return err_set(reterr, -EINVAL, "'%s' is not a file: name a trace", path);
        t->view.file_bytes = (uint64_t)st.st_size;
        if (st.st_size == 0)
                return err_set(
                        reterr, -EINVAL,
                        "'%s' is empty: its recording has only just started, or never started",
                        path);
        trace_tables_init(&t->tables, t->view.file_bytes);
        r = trace_chunk_list_load(t->fd, t->view.file_bytes, &t->list, &e);
        if (r < 0)
                return err_set(reterr, r, "'%s': %s", path, e.text);
        if (!t->list.chunks.n)
                return foreign_refuse(t->fd, path, reterr);
        r = reader_take_chunks(t, &e);
        if (r < 0)
                return err_set(reterr, r, "'%s': %s", path, e.text);
        reader_tell_damage(t);
        reader_fill_view(t);
        return 0;
}

int trace_reader_open(const char *path, struct trace_reader **ret, struct err *reterr) {
        _cleanup_(trace_reader_freep) struct trace_reader *t = calloc(1, sizeof(*t));
        int r;

        if (!t)
                return err_set(reterr, -ENOMEM, "cannot open '%s': %s: free some memory", path,
                               strerror(ENOMEM));
        t->fd = fs_open(path, O_RDONLY, 0);
        if (t->fd < 0)
                return err_set(reterr, t->fd, "cannot open '%s': %s: check the path", path,
                               strerror(-t->fd));
        r = reader_load(t, path, reterr);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

struct trace_reader *trace_reader_free(struct trace_reader *t) {
        if (!t)
                return NULL;
        if (t->fd >= 0)
                close(t->fd);
        trace_chunk_list_done(&t->list);
        trace_tables_done(&t->tables);
        trace_body_done(&t->body);
        trace_decoder_free(t->decoder);
        vec_free(&t->slices);
        vec_free(&t->places);
        vec_free(&t->kept_counts);
        arena_free(t->kept_arena);
        vec_free(&t->checkpoints);
        vec_free(&t->sites);
        vec_free(&t->checkpoint_sites);
        vec_free(&t->counts);
        vec_free(&t->moves);
        vec_free(&t->checkpoint_counts);
        free(t);
        return NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

const struct trace_view *trace_view(const struct trace_reader *t) {
        return &t->view;
}

const struct trace_slice_info *trace_slice(const struct trace_reader *t, size_t slice_idx) {
        return slice_idx < t->slices.n ? &t->slices.items[slice_idx] : NULL;
}

int trace_reader_fd(const struct trace_reader *t) {
        return t->fd;
}

uint64_t trace_bytes_read(const struct trace_reader *t) {
        return t->bytes_read + t->list.bytes_read;
}

static int reader_check_slice(const struct trace_reader *t, size_t slice_idx, struct err *reterr) {
        if (slice_idx < t->slices.n)
                return 0;
        return err_set(reterr, -ERANGE, "there is no slice %zu in the trace", slice_idx);
}

/* A count of rows from a head may be held against the bytes that are to hold them. */
static int reader_check_rows(const struct trace_chunk *c, uint32_t n, struct err *reterr) {
        if (n <= c->stored_bytes)
                return 0;
        return trace_chunk_bad(c, "it claims more rows than it can hold", reterr);
}

int trace_read_sites(struct trace_reader *t, size_t slice_idx, const struct trace_site **ret,
                     size_t *ret_n, struct err *reterr) {
        const struct trace_chunk *c;
        struct bytes_reader r;
        uint32_t n;
        int error;

        error = reader_check_slice(t, slice_idx, reterr);
        if (error < 0)
                return error;
        vec_clear(&t->sites);
        *ret = t->sites.items;
        *ret_n = 0;
        if (!t->slices.items[slice_idx].n_sites)
                return 0;
        if (t->places.items[slice_idx].site == NO_CHUNK)
                return err_set(reterr, -EBADMSG, "the rows of slice %zu are missing", slice_idx);
        c = &t->list.chunks.items[t->places.items[slice_idx].site];
        n = bytes_le32(c->head + 4);
        error = reader_check_rows(c, n, reterr);
        if (error == 0)
                error = reader_read(t, c, reterr);
        if (error < 0)
                return error;
        r = bytes_reader_of(t->body.raw.items, t->body.raw.n);
        error = trace_decode_sites(&r, c->version, n, t->view.n_processes, t->view.n_stacks,
                                   &t->sites);
        if (error)
                return trace_chunk_bad(c, "its rows are not valid", reterr);
        *ret = t->sites.items;
        *ret_n = t->sites.n;
        return 0;
}

static void reader_keep_counts(struct trace_reader *t, size_t slice_idx) {
        size_t n_bytes = t->counts.n * sizeof(t->counts.items[0]);
        struct trace_counts *kept;

        if (n_bytes == 0 || t->n_kept_bytes + n_bytes > READER_MAX_KEPT_BYTES)
                return;
        if (!t->kept_arena)
                t->kept_arena = arena_new();
        while (t->kept_counts.n < t->slices.n)
                vec_push(&t->kept_counts, NULL);
        kept = arena_alloc(t->kept_arena, n_bytes);
        memcpy(kept, t->counts.items, n_bytes);
        t->kept_counts.items[slice_idx] = kept;
        t->n_kept_bytes += n_bytes;
}

int trace_read_counts(struct trace_reader *t, size_t slice_idx, const struct trace_counts **ret,
                      size_t *ret_n, struct err *reterr) {
        const struct trace_chunk *c;
        struct bytes_reader r;
        uint32_t n;
        int error;

        error = reader_check_slice(t, slice_idx, reterr);
        if (error < 0)
                return error;
        c = &t->list.chunks.items[t->places.items[slice_idx].slic];
        n = t->slices.items[slice_idx].n_counts;
        if (slice_idx < t->kept_counts.n && t->kept_counts.items[slice_idx]) {
                *ret = t->kept_counts.items[slice_idx];
                *ret_n = n;
                return 0;
        }
        error = reader_check_rows(c, n, reterr);
        if (error == 0)
                error = reader_read(t, c, reterr);
        if (error < 0)
                return error;
        r = bytes_reader_of(t->body.raw.items, t->body.raw.n);
        error = trace_decode_counts(&r, n, t->view.n_processes, &t->counts);
        if (error || bytes_left(&r))
                return trace_chunk_bad(c, "its counts are not valid", reterr);
        reader_keep_counts(t, slice_idx);
        *ret = t->counts.items;
        *ret_n = t->counts.n;
        return 0;
}

int trace_read_moves(struct trace_reader *t, size_t slice_idx, const struct trace_move **ret,
                     size_t *ret_n, struct err *reterr) {
        const struct trace_chunk *c;
        struct bytes_reader r;
        uint32_t n;
        int error;

        error = reader_check_slice(t, slice_idx, reterr);
        if (error < 0)
                return error;
        *ret = NULL;
        *ret_n = 0;
        if (t->places.items[slice_idx].move == NO_CHUNK)
                return 0;
        c = &t->list.chunks.items[t->places.items[slice_idx].move];
        n = bytes_le32(c->head + 4);
        error = reader_check_rows(c, n, reterr);
        if (error == 0)
                error = reader_read(t, c, reterr);
        if (error < 0)
                return error;
        r = bytes_reader_of(t->body.raw.items, t->body.raw.n);
        error = trace_decode_moves(&r, n, t->view.n_processes, t->view.n_stacks, &t->moves);
        if (error)
                return trace_chunk_bad(c, "its rows are not valid", reterr);
        *ret = t->moves.items;
        *ret_n = t->moves.n;
        return 0;
}

/* The newest checkpoint at or before slice_idx, or NULL. */
static const struct checkpoint_place *reader_find_checkpoint(const struct trace_reader *t,
                                                             size_t slice_idx) {
        size_t lo = 0, hi = t->checkpoints.n;

        while (lo < hi) {
                size_t mid = lo + (hi - lo) / 2;

                if (t->checkpoints.items[mid].slice_idx <= slice_idx)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo ? &t->checkpoints.items[lo - 1] : NULL;
}

static int reader_decode_checkpoint(struct trace_reader *t, const struct trace_chunk *c) {
        struct bytes_reader r = bytes_reader_of(t->body.raw.items, t->body.raw.n), counts;
        uint64_t counts_bytes = bytes_varint(&r);
        const uint8_t *p =
                counts_bytes <= bytes_left(&r) ? bytes_take(&r, (size_t)counts_bytes) : NULL;
        int error;

        if (!p)
                return TRACE_E_BAD_PAYLOAD;
        counts = bytes_reader_of(p, (size_t)counts_bytes);
        error = trace_decode_counts(&counts, bytes_le32(c->head + 8), t->view.n_processes,
                                    &t->checkpoint_counts);
        if (!error && bytes_left(&counts))
                error = TRACE_E_BAD_PAYLOAD;
        if (error)
                return error;
        return trace_decode_sites(&r, c->version, bytes_le32(c->head + 4), t->view.n_processes,
                                  t->view.n_stacks, &t->checkpoint_sites);
}

int trace_read_checkpoint(struct trace_reader *t, size_t slice_idx, size_t *ret_slice,
                          const struct trace_site **ret_sites, size_t *ret_n_sites,
                          const struct trace_counts **ret_counts, size_t *ret_n_counts,
                          struct err *reterr) {
        const struct checkpoint_place *place = reader_find_checkpoint(t, slice_idx);
        const struct trace_chunk *c;
        int error;

        vec_clear(&t->checkpoint_sites);
        vec_clear(&t->checkpoint_counts);
        if (place) {
                c = &t->list.chunks.items[place->chunk];
                error = reader_check_rows(c, MAX(bytes_le32(c->head + 4), bytes_le32(c->head + 8)),
                                          reterr);
                if (error == 0)
                        error = reader_read(t, c, reterr);
                if (error < 0)
                        return error;
                error = reader_decode_checkpoint(t, c);
                if (error)
                        return trace_chunk_bad(c, "its rows are not valid", reterr);
        }
        *ret_slice = place ? place->slice_idx : SIZE_MAX;
        *ret_sites = t->checkpoint_sites.items;
        *ret_n_sites = t->checkpoint_sites.n;
        *ret_counts = t->checkpoint_counts.items;
        *ret_n_counts = t->checkpoint_counts.n;
        return 0;
}

int trace_read_events(struct trace_reader *t, size_t slice_idx, const struct trace_event **ret,
                      size_t *ret_n, struct err *reterr) {
        const struct trace_chunk *c;
        int error;

        error = reader_check_slice(t, slice_idx, reterr);
        if (error < 0)
                return error;
        *ret = NULL;
        *ret_n = 0;
        if (t->places.items[slice_idx].evts == NO_CHUNK)
                return 0;
        c = &t->list.chunks.items[t->places.items[slice_idx].evts];
        error = reader_read(t, c, reterr);
        if (error < 0)
                return error;
        if (!t->decoder)
                t->decoder = trace_decoder_new();
        error = trace_decode_events(t->decoder, c, &t->body, t->view.n_threads, t->view.n_stacks,
                                    ret, ret_n);
        if (error)
                return trace_chunk_bad(c, "its events are not valid", reterr);
        return 0;
}

bool trace_seq_time(const struct trace_reader *t, uint64_t seq, uint64_t *ret_begin_ns,
                    uint64_t *ret_end_ns) {
        size_t low = 0, high = t->slices.n;
        const struct trace_slice_info *s;

        while (low < high) { /* the last slice with first_seq <= seq */
                size_t mid = low + (high - low) / 2;

                if (t->slices.items[mid].first_seq <= seq)
                        low = mid + 1;
                else
                        high = mid;
        }
        if (!low)
                return false;
        s = &t->slices.items[low - 1];
        if (seq - s->first_seq >= s->n_allocs)
                return false;
        *ret_begin_ns = s->begin_ns;
        *ret_end_ns = s->end_ns;
        return true;
}

/* Loads every chunk of a kind that open left alone. */
static void reader_load_kind(struct trace_reader *t, uint32_t kind, bool *done) {
        for (size_t i = 0; i < t->list.chunks.n && !*done; i++)
                if (t->list.chunks.items[i].kind == kind)
                        reader_load_defs(t, &t->list.chunks.items[i]);
        *done = true;
}

int trace_read_samples(struct trace_reader *t, const struct trace_sample **ret, size_t *ret_n,
                       struct err *reterr) {
        reader_load_kind(t, TRACE_SMPL, &t->has_samples);
        *ret = t->tables.samples.items;
        *ret_n = t->tables.samples.n;
        return 0;
}

int trace_read_mappings(struct trace_reader *t, const struct trace_mapping **ret, size_t *ret_n,
                        struct err *reterr) {
        reader_load_kind(t, TRACE_MAPS, &t->has_mappings);
        *ret = t->tables.mappings.items;
        *ret_n = t->tables.mappings.n;
        return 0;
}

int trace_read_residency(struct trace_reader *t, const struct trace_residency **ret, size_t *ret_n,
                         struct err *reterr) {
        reader_load_kind(t, TRACE_RESI, &t->has_residency);
        *ret = t->tables.residency.items;
        *ret_n = t->tables.residency.n;
        return 0;
}
