/* SPDX-License-Identifier: MIT */
/* Open: list the chunks (index.c, recover.c), load definitions, note where slices, checkpoints
 * and the rest are. A damaged chunk costs what it held, and is said in `damage`; only a file
 * that is no trace, or needs a newer silt, is refused. A recording only appends to its file, or puts a new one in its place:
 * to refresh is to take the chunks behind those that are known, or to open anew. */
#include "trace/reader_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "trace/foreign.h"

static struct slice_place place_of(uint32_t number) {
        return (struct slice_place){number, NO_CHUNK, NO_CHUNK, NO_CHUNK, NO_CHUNK};
}

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

/* ---- definitions ----------------------------------------------------------------------------- */

/* Adds a chunk's definitions; what is damaged is noted in the view. */
static void reader_load_defs(struct trace_reader *t, const struct trace_chunk *c) {
        struct err err = {0};
        int error = 0;

        if (reader_read(t, c, &err) == 0) {
                error = trace_tables_load(&t->store->tables, c, &t->body);
                if (!error)
                        return;
                trace_chunk_bad(c, "its definitions are not valid", &err);
        }
        trace_tables_skip(&t->store->tables, c);
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
            first_seq < t->store->next_seq || first_seq > UINT64_MAX - n_allocs)
                return false;
        t->store->next_seq = first_seq + n_allocs;
        return true;
}

static void reader_add_slice(struct trace_reader *t, const struct slice_place *open,
                             ssize_t chunk) {
        const struct trace_chunk *c = &t->store->list.chunks.items[chunk];
        struct slice_place place = place_of(bytes_le32(c->head));
        struct trace_slice_info s = {0};
        uint64_t n_events;
        bool is_total;

        if (c->head_bytes != TRACE_SLIC_HEAD_BYTES) {
                t->view.n_damaged_bytes += trace_chunk_span_bytes(c);
                return;
        }
        if (open->number == place.number)
                place = *open;
        place.slic = chunk;
        if (place.evts != NO_CHUNK &&
            !reader_events_fit(t, c, &t->store->list.chunks.items[place.evts])) {
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
        is_total = s.n_sites && t->store->tables.meta.flags & TRACE_IS_TOTALS;
        s.has_events = place.evts != NO_CHUNK || (!n_events && !is_total);
        s.n_events += is_total; /* something happened, and nothing tells in which order */
        s.has_inherited_frees =
                place.site != NO_CHUNK &&
                t->store->list.chunks.items[place.site].version >= TRACE_ROWS_VERSION;
        if (t->store->places.n &&
            place.number != t->store->places.items[t->store->places.n - 1].number + 1)
                reader_damage(t, "slices %u to %u are missing",
                              t->store->places.items[t->store->places.n - 1].number + 1,
                              place.number - 1);
        if (s.n_sites && place.site == NO_CHUNK)
                reader_damage(t, "the rows of slice %u are missing", place.number);
        t->view.n_events += n_events;
        t->view.n_unwritten_events += bytes_le64(c->head + 56);
        if (s.is_dropped) {
                t->view.n_dropped_events += n_events - MIN(n_events, bytes_le64(c->head + 56));
                t->view.detail_from_ns = s.end_ns;
        }
        t->view.end_ns = MAX(t->view.end_ns, s.end_ns);
        vec_push(&t->store->slices, s);
        vec_push(&t->store->places, place);
}

/* SITE, MOVE and EVTS wait for the SLIC that makes them a slice. */
static void reader_note_slice_part(struct trace_reader *t, struct slice_place *open,
                                   ssize_t chunk) {
        const struct trace_chunk *c = &t->store->list.chunks.items[chunk];
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
        const struct trace_chunk *c = &t->store->list.chunks.items[chunk];

        /* it follows its slice; a checkpoint whose slice was lost stands for the slice before it */
        if (c->head_bytes == TRACE_CKPT_HEAD_BYTES && t->store->slices.n &&
            t->store->places.items[t->store->slices.n - 1].number == bytes_le32(c->head))
                vec_push(&t->store->checkpoints,
                         (struct checkpoint_place){t->store->slices.n - 1, chunk});
}

/* ---- opening --------------------------------------------------------------------------------- */

static int reader_refuse(const struct trace_chunk *c, struct err *reterr) {
        struct trace_kind_text kind;

        return err_set(reterr, -EPROTONOSUPPORT,
                       "it needs %s version %u: read it with a newer silt",
                       trace_kind_name(&kind, c->kind), c->version);
}

/* Of a kind that is loaded when first asked for. */
static int reader_take_late(struct trace_reader *t, const struct trace_chunk *c, bool was_asked) {
        if (was_asked)
                reader_load_defs(t, c);
        return 0;
}

/* Counts once its last part is there, and all before it. */
static void reader_note_graph_part(struct trace_reader *t, size_t i) {
        const struct trace_chunk *c = &t->store->list.chunks.items[i];
        struct graph_place *open = &t->store->open_graph;
        uint32_t part =
                c->head_bytes == TRACE_GRPH_HEAD_BYTES ? bytes_le32(c->head + 4) : UINT32_MAX;

        if (part == 0)
                *open = (struct graph_place){.info = {.process = bytes_le32(c->head + 12),
                                                      .time_ns = bytes_le64(c->head + 16),
                                                      .has_heads = c->version > TRACE_KIND_VERSION},
                                             .number = bytes_le32(c->head),
                                             .n_parts = bytes_le32(c->head + 8),
                                             .first_chunk = i};
        if (part != open->n_seen || part >= open->n_parts || i != open->first_chunk + part ||
            bytes_le32(c->head) != open->number) {
                *open = (struct graph_place){0};
                return;
        }
        open->info.n_bytes += c->raw_bytes;
        if (++open->n_seen < open->n_parts)
                return;
        vec_push(&t->store->graphs, *open);
        *open = (struct graph_place){0};
}

static void reader_note_bill(struct trace_reader *t, size_t i) {
        const struct trace_chunk *c = &t->store->list.chunks.items[i];

        if (c->head_bytes == TRACE_BILL_HEAD_BYTES && c->raw_bytes <= TRACE_BILL_MAX_BYTES)
                vec_push(&t->store->bills,
                         (struct bill_place){.info = {.process = bytes_le32(c->head + 4),
                                                      .time_ns = bytes_le64(c->head + 8),
                                                      .rss_bytes = bytes_le64(c->head + 16),
                                                      .n_bytes = c->raw_bytes},
                                             .chunk = i});
}

static void reader_note_ticks(struct trace_reader *t, size_t i) {
        struct tick_place place = {.chunk = i};

        if (trace_tick_span_of(&t->store->list.chunks.items[i], &place.info))
                vec_push(&t->store->tick_spans, place);
}

/* 0, or -errno when the file is too new. */
static int reader_take_chunk(struct trace_reader *t, size_t i, struct err *reterr) {
        const struct trace_chunk *c = &t->store->list.chunks.items[i];
        struct slice_place *open = &t->store->open;

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
        case TRACE_ROOM:
        case TRACE_TALY:
        case TRACE_ALOC:
        case TRACE_NOTE: reader_load_defs(t, c); return 0;
        case TRACE_SYMS:
        case TRACE_NSRC:
                if (c->head_bytes >= 4 && bytes_le32(c->head) == t->store->names_generation)
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
        case TRACE_GRPH: reader_note_graph_part(t, i); return 0;
        case TRACE_BILL: reader_note_bill(t, i); return 0;
        case TRACE_TICK: reader_note_ticks(t, i); return 0;
        case TRACE_SMPL: return reader_take_late(t, c, t->store->has_samples);
        case TRACE_RESI: return reader_take_late(t, c, t->store->has_residency);
        case TRACE_MAPS: return reader_take_late(t, c, t->store->has_mappings);
        default: return c->flags & TRACE_FLAG_REQUIRED ? reader_refuse(c, reterr) : 0;
        }
}

/* Names are those of the newest generation. */
static void reader_see_generation(struct trace_reader *t) {
        struct trace_store *s = t->store;
        uint32_t generation = s->names_generation;

        for (size_t i = s->n_taken; i < s->list.chunks.n; i++) {
                const struct trace_chunk *c = &s->list.chunks.items[i];

                if (c->kind == TRACE_SYMS && c->head_bytes >= 4)
                        generation = MAX(generation, bytes_le32(c->head));
        }
        if (generation == s->names_generation)
                return;
        s->names_generation = generation;
        vec_clear(&s->tables.symbols);
        vec_clear(&s->tables.module_names);
}

/* Those of the list that were not taken yet. */
static int reader_take_chunks(struct trace_reader *t, struct err *reterr) {
        struct trace_store *s = t->store;

        reader_see_generation(t);
        for (; s->n_taken < s->list.chunks.n; s->n_taken++) {
                int r = reader_take_chunk(t, s->n_taken, reterr);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* A file may have been cut between the end of a process and the slice that goes until then: its last figures are not those of its end. */
static void reader_place_ends(struct trace_reader *t) {
        const struct trace_store *s = t->store;
        bool is_cut = !s->list.finished && (s->slices.n || !s->tick_spans.n);
        uint64_t known_ns = s->slices.n ? s->slices.items[s->slices.n - 1].end_ns : 0;

        for (size_t i = 0; i < s->tables.processes.n; i++) {
                struct trace_process_info *p = &s->tables.processes.items[i];

                p->has_end = p->has_written_end && !(is_cut && p->written_end.end_ns > known_ns);
                p->end = p->has_end
                                 ? p->written_end
                                 : (struct trace_process_end){.process = (uint32_t)i, .status = -1};
        }
}

static void reader_fill_view(struct trace_reader *t) {
        struct trace_view *v = &t->view;

        v->meta = t->store->tables.meta;
        v->modules = t->store->tables.modules.items, v->n_modules = t->store->tables.modules.n;
        v->locations = t->store->tables.locations.items,
        v->n_locations = t->store->tables.locations.n;
        v->stacks = t->store->tables.stacks.items, v->n_stacks = t->store->tables.stacks.n;
        v->processes = t->store->tables.processes.items,
        v->n_processes = t->store->tables.processes.n;
        v->threads = t->store->tables.threads.items, v->n_threads = t->store->tables.threads.n;
        v->symbols = t->store->tables.symbols.items, v->n_symbols = t->store->tables.symbols.n;
        v->module_names = t->store->tables.module_names.items;
        v->n_module_names = t->store->tables.module_names.n;
        v->cost = t->store->tables.cost;
        v->priors = t->store->tables.priors.items, v->n_priors = t->store->tables.priors.n;
        v->rooms = t->store->tables.rooms.items, v->n_rooms = t->store->tables.rooms.n;
        v->tallies = t->store->tables.tallies.items, v->n_tallies = t->store->tables.tallies.n;
        v->notes = t->store->tables.notes.items, v->n_notes = t->store->tables.notes.n;
        v->allocators = t->store->tables.allocators.items,
        v->n_allocators = t->store->tables.allocators.n;
        v->n_slices = t->store->slices.n;
        v->n_checkpoints = t->store->checkpoints.n;
        v->finished = t->store->list.finished;
        reader_place_ends(t);
        for (size_t i = 0; i < v->n_processes; i++)
                v->end_ns = MAX(v->end_ns, v->processes[i].end.end_ns);
}

static void reader_tell_damage(struct trace_reader *t) {
        uint64_t inside = t->store->list.n_damaged_bytes - t->store->list.n_tail_bytes;

        t->view.n_damaged_bytes += t->store->list.n_damaged_bytes;
        if (inside)
                reader_damage(t, "%llu bytes inside the file are damaged and were skipped",
                              (unsigned long long)inside);
        if (!t->store->tables.has_meta)
                reader_damage(
                        t,
                        "its first chunk is damaged: the command and the time of the recording are lost");
        t->store->is_tail_told = !t->view.damage[0];
        if (t->store->list.n_tail_bytes)
                reader_damage(t, "the file ends inside a chunk: its last %llu bytes were not read",
                              (unsigned long long)t->store->list.n_tail_bytes);
}

static int reader_load(struct trace_reader *t, const char *path, struct err *reterr);

/* What another tool recorded becomes a trace, and that is read in its place. */
static int reader_import(struct trace_reader *t, const char *path, struct err *reterr) {
        int fd = foreign_import(t->store->fd, path, reterr);

        if (fd < 0)
                return fd;
        close(t->store->fd);
        t->store->fd = fd;
        trace_chunk_list_done(&t->store->list);
        t->store->list = (struct trace_chunk_list){0};
        trace_tables_done(&t->store->tables);
        return reader_load(t, path, reterr);
}

static int reader_load(struct trace_reader *t, const char *path, struct err *reterr) {
        struct err e = {0};
        struct stat st;
        int r;

        if (fstat(t->store->fd, &st) < 0)
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
        trace_tables_init(&t->store->tables, t->view.file_bytes);
        r = trace_chunk_list_load(t->store->fd, t->view.file_bytes, &t->store->list, &e);
        t->bytes_read += t->store->list.bytes_read;
        if (r < 0)
                return err_set(reterr, r, "'%s': %s", path, e.text);
        if (!t->store->list.chunks.n)
                return reader_import(t, path, reterr);
        r = reader_take_chunks(t, &e);
        if (r < 0)
                return err_set(reterr, r, "'%s': %s", path, e.text);
        reader_tell_damage(t);
        reader_fill_view(t);
        return 0;
}

static struct trace_store *store_new(const char *path) {
        struct trace_store *s = calloc(1, sizeof(*s));

        if (!s || !(s->path = strdup(path)))
                abort();
        s->n_readers = 1;
        s->fd = -1;
        s->open = place_of(UINT32_MAX);
        return s;
}

static void store_free(struct trace_store *s) {
        if (s->fd >= 0)
                close(s->fd);
        trace_chunk_list_done(&s->list);
        trace_tables_done(&s->tables);
        vec_free(&s->slices);
        vec_free(&s->places);
        vec_free(&s->checkpoints);
        vec_free(&s->graphs);
        vec_free(&s->bills);
        vec_free(&s->tick_spans);
        free(s->path);
        free(s);
}

static struct trace_reader *reader_new(struct trace_store *s) {
        struct trace_reader *t = calloc(1, sizeof(*t));

        if (!t)
                abort();
        t->store = s;
        return t;
}

int trace_reader_open(const char *path, struct trace_reader **ret, struct err *reterr) {
        _cleanup_(trace_reader_freep) struct trace_reader *t = reader_new(store_new(path));
        int r;

        t->store->fd = fs_open(path, O_RDONLY, 0);
        if (t->store->fd < 0)
                return err_set(reterr, t->store->fd, "cannot open '%s': %s: check the path", path,
                               strerror(-t->store->fd));
        r = reader_load(t, path, reterr);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

struct trace_reader *trace_reader_free(struct trace_reader *t) {
        if (!t)
                return NULL;
        /* release what this reader did before the last one frees it (acquire), in whatever thread that is */
        if (__atomic_sub_fetch(&t->store->n_readers, 1, __ATOMIC_ACQ_REL) == 0)
                store_free(t->store);
        trace_body_done(&t->body);
        trace_decoder_free(t->decoder);
        vec_free(&t->kept_counts);
        arena_free(t->kept_arena);
        vec_free(&t->sites);
        vec_free(&t->checkpoint_sites);
        vec_free(&t->counts);
        vec_free(&t->moves);
        vec_free(&t->ticks);
        vec_free(&t->checkpoint_counts);
        free(t);
        return NULL;
}

/* ---- sharing --------------------------------------------------------------------------------- */

void reader_load_kind(struct trace_reader *t, uint32_t kind, bool *done) {
        if (*done)
                return; /* a store that is shared is not written to */
        for (size_t i = 0; i < t->store->list.chunks.n; i++)
                if (t->store->list.chunks.items[i].kind == kind)
                        reader_load_defs(t, &t->store->list.chunks.items[i]);
        *done = true;
}

struct trace_reader *trace_reader_share(struct trace_reader *t) {
        struct trace_reader *other = reader_new(t->store);

        /* from now on nobody may change the store: what comes late must be there */
        reader_load_kind(t, TRACE_SMPL, &t->store->has_samples);
        reader_load_kind(t, TRACE_MAPS, &t->store->has_mappings);
        reader_load_kind(t, TRACE_RESI, &t->store->has_residency);
        other->view = t->view;
        __atomic_add_fetch(&t->store->n_readers, 1, __ATOMIC_RELAXED); /* partner: free */
        return other;
}

/* ---- refreshing ------------------------------------------------------------------------------ */

/* The last chunk stands where it stood: a writer that could not finish (disk full) takes chunks back and writes others there. */
static bool reader_is_appended(const struct trace_reader *t, uint64_t file_bytes) {
        const struct trace_chunk_list *l = &t->store->list;
        const struct trace_chunk *last = &l->chunks.items[l->chunks.n - 1];
        uint8_t header[TRACE_HEADER_BYTES + TRACE_MAX_HEAD_BYTES];
        struct trace_chunk now;
        ssize_t got;

        if (file_bytes < l->end_off)
                return false;
        got = fs_read_at(t->store->fd, header, sizeof(header), last->off);
        return got > 0 &&
               trace_chunk_parse(header, (size_t)got, last->off, file_bytes, &now) == 0 &&
               now.kind == last->kind && now.stored_bytes == last->stored_bytes &&
               memcmp(now.head, last->head, last->head_bytes) == 0;
}

/* What is wrong with what was read so far may be wrong no more when it is read again. */
static bool reader_is_whole(const struct trace_reader *t) {
        const struct trace_chunk_list *l = &t->store->list;

        return l->n_damaged_bytes == l->n_tail_bytes &&
               t->view.n_damaged_bytes == l->n_damaged_bytes &&
               (!t->view.damage[0] || (l->n_tail_bytes && t->store->is_tail_told));
}

/* Another file may have taken the name: one with names, or without its oldest events. */
static bool reader_is_replaced(const struct trace_reader *t, const struct stat *now) {
        struct stat named;

        return stat(t->store->path, &named) == 0 &&
               (named.st_dev != now->st_dev || named.st_ino != now->st_ino);
}

static int reader_reload(struct trace_reader *t, struct err *reterr) {
        _cleanup_(trace_reader_freep) struct trace_reader *fresh = NULL;
        struct trace_reader old = *t;
        int r = trace_reader_open(t->store->path, &fresh, reterr);

        if (r < 0)
                return r;
        fresh->bytes_read += t->bytes_read;
        *t = *fresh;
        *fresh = old;
        return 1;
}

static int reader_append(struct trace_reader *t, uint64_t file_bytes, struct err *reterr) {
        struct trace_store *s = t->store;
        size_t n_before = s->list.chunks.n;
        bool was_finished = s->list.finished;
        uint64_t bytes_read = s->list.bytes_read;
        struct err e = {0};
        int r;

        s->list.n_damaged_bytes = s->list.n_tail_bytes = 0;
        t->view.n_damaged_bytes = 0;
        t->view.damage[0] = 0;
        t->view.file_bytes = s->tables.file_bytes = file_bytes;
        r = trace_recover(s->fd, file_bytes, &s->list, &e);
        t->bytes_read += s->list.bytes_read - bytes_read;
        if (r == 0)
                r = reader_take_chunks(t, &e);
        reader_tell_damage(t);
        reader_fill_view(t);
        if (r < 0)
                return err_set(reterr, r, "'%s': %s", s->path, e.text);
        return s->list.chunks.n > n_before || s->list.finished != was_finished;
}

int trace_reader_refresh(struct trace_reader *t, struct err *reterr) {
        struct stat st;

        if (__atomic_load_n(&t->store->n_readers, __ATOMIC_ACQUIRE) > 1) /* partner: free */
                return err_set(reterr, -EBUSY,
                               "cannot refresh '%s': other readers share it: free them first",
                               t->store->path);
        if (fstat(t->store->fd, &st) < 0)
                return err_set(reterr, -errno, "cannot read '%s': %s: check the disk",
                               t->store->path, strerror(errno));
        if (reader_is_replaced(t, &st) || !reader_is_whole(t) ||
            !reader_is_appended(t, (uint64_t)st.st_size))
                return reader_reload(t, reterr);
        if ((uint64_t)st.st_size == t->view.file_bytes)
                return 0;
        return reader_append(t, (uint64_t)st.st_size, reterr);
}
