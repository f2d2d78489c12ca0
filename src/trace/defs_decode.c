/* SPDX-License-Identifier: MIT */
#include "trace/defs.h"
#include "trace/residency_codec.h"

/* Ids of a kind that a byte of the file can define at most: 32 (the ratio) by the bytes of its
 * shortest row. */
static uint64_t tables_ids_per_byte(uint32_t kind) {
        switch (kind) {
        case TRACE_PROC: return 1;
        case TRACE_THRD: return 2;
        case TRACE_MODS: return 3;
        default: return 16;
        }
}

void trace_tables_init(struct trace_tables *t, uint64_t file_bytes) {
        memset(t, 0, sizeof(*t));
        t->arena = arena_new();
        t->file_bytes = file_bytes;
        vec_add(&t->stacks); /* the empty one */
        t->meta.silt_version = t->meta.host = t->meta.cwd = "";
}

void trace_tables_done(struct trace_tables *t) {
        arena_free(t->arena);
        vec_free(&t->modules);
        vec_free(&t->locations);
        vec_free(&t->stacks);
        vec_free(&t->processes);
        vec_free(&t->threads);
        vec_free(&t->notes);
        vec_free(&t->allocators);
        vec_free(&t->priors);
        vec_free(&t->rooms);
        vec_free(&t->tallies);
        vec_free(&t->symbols);
        vec_free(&t->module_names);
        vec_free(&t->samples);
        vec_free(&t->residency);
        vec_free(&t->mappings);
}

/* A string where it lies; "" and bad when its end is missing. */
static const char *get_text(struct bytes_reader *r) {
        const uint8_t *p = r->pos, *end = memchr(p, 0, bytes_left(r));

        if (r->bad || !end) {
                r->bad = true;
                return "";
        }
        r->pos = end + 1;
        return (const char *)p;
}

static uint64_t get_delta(struct bytes_reader *r, uint64_t *last) {
        *last += (uint64_t)bytes_unzigzag(bytes_varint(r));
        return *last;
}

/* n strings; an array of them in the arena. A string takes at least a byte of r, which bounds n. */
static const char *const *get_texts(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        const char **texts;

        if (n > bytes_left(r)) {
                r->bad = true;
                return NULL;
        }
        texts = arena_alloc(t->arena, n * sizeof(*texts));
        for (uint32_t i = 0; i < n; i++)
                texts[i] = get_text(r);
        return texts;
}

static int load_meta(struct trace_tables *t, struct bytes_reader *r) {
        struct trace_meta m = {0};

        m.pid = bytes_u32(r);
        m.machine = bytes_u32(r);
        m.page_bytes = bytes_u32(r);
        m.flags = bytes_u32(r);
        m.started_unix_ns = bytes_u64(r);
        m.sample_bytes = bytes_u64(r);
        m.n_args = bytes_u32(r);
        m.unit = bytes_u32(r);
        r->bad |= !trace_flags_are_valid(m.flags, m.unit);
        m.silt_version = get_text(r);
        m.host = get_text(r);
        m.cwd = get_text(r);
        m.args = get_texts(t, r, m.n_args);
        if (r->bad || bytes_left(r))
                return TRACE_E_BAD_PAYLOAD;
        if (!t->has_meta)
                t->meta = m;
        t->has_meta = true;
        return 0;
}

static int load_modules(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                struct trace_module m = {.size_bytes = bytes_u64(r)};
                const uint8_t *id;

                m.build_id_len = bytes_u8(r);
                id = m.build_id_len <= TRACE_MAX_BUILD_ID_BYTES ? bytes_take(r, m.build_id_len)
                                                                : NULL;
                r->bad |= !id;
                if (id)
                        memcpy(m.build_id, id, m.build_id_len);
                m.path = get_text(r);
                if (!r->bad)
                        vec_push(&t->modules, m);
        }
        return 0;
}

static int load_locations(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        size_t first = t->locations.n;
        uint64_t last = 0;

        if (n > bytes_left(r) / 2) /* two columns */
                return TRACE_E_BAD_PAYLOAD;
        vec_reserve(&t->locations, n);
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint64_t module = bytes_varint(r);

                if (module > t->modules.n)
                        return TRACE_E_BAD_ID;
                vec_push(&t->locations, (struct trace_location){(uint32_t)module - 1, 0});
        }
        for (size_t i = first; i < t->locations.n && !r->bad; i++)
                t->locations.items[i].offset = get_delta(r, &last);
        return 0;
}

static int load_stacks(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        size_t first = t->stacks.n;
        uint64_t location = 0;

        if (n > bytes_left(r) / 2)
                return TRACE_E_BAD_PAYLOAD;
        vec_reserve(&t->stacks, n);
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint64_t up = bytes_varint(r),
                         id = t->stacks.n; /* vec_push may count before it looks */

                if (!r->bad && (up == 0 || up > id))
                        return TRACE_E_BAD_ID;
                vec_push(&t->stacks, (struct trace_stack){(uint32_t)(id - up), 0});
        }
        for (size_t i = first; i < t->stacks.n && !r->bad; i++) {
                if (get_delta(r, &location) >= t->locations.n)
                        return TRACE_E_BAD_ID;
                t->stacks.items[i].location = (uint32_t)location;
        }
        return 0;
}

static int load_processes(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                struct trace_process_info p = {0};

                p.start.pid = bytes_u32(r);
                p.start.parent = bytes_u32(r);
                p.start.image = bytes_u32(r);
                p.start.n_args = bytes_u32(r);
                p.start.start_ns = bytes_u64(r);
                p.start.exe = get_text(r);
                p.start.args = get_texts(t, r, p.start.n_args);
                if (r->bad)
                        break;
                if (p.start.parent != TRACE_NO_PROCESS && p.start.parent >= t->processes.n)
                        return TRACE_E_BAD_ID;
                p.end.process = (uint32_t)t->processes.n;
                p.end.status = -1;
                vec_push(&t->processes, p);
        }
        return 0;
}

static int load_process_ends(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                struct trace_process_end e = {0};

                e.process = bytes_u32(r);
                e.ended = bytes_u32(r);
                e.status = (int32_t)bytes_u32(r);
                e.n_threads = bytes_u32(r);
                e.end_ns = bytes_u64(r);
                e.peak_rss_bytes = bytes_u64(r);
                e.runtime_bytes = bytes_u64(r);
                e.blocked_ns = bytes_u64(r);
                if (r->bad)
                        break;
                if (e.process >= t->processes.n)
                        return TRACE_E_BAD_ID;
                if (e.ended > TRACE_ENDED_EXEC)
                        return TRACE_E_BAD_PAYLOAD;
                t->processes.items[e.process].written_end = e;
                t->processes.items[e.process].has_written_end = true;
        }
        return 0;
}

static int load_threads(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                struct trace_thread_info info = {.name = ""};

                info.start.process = bytes_u32(r);
                info.start.tid = bytes_u32(r);
                info.start.start_ns = bytes_u64(r);
                if (r->bad)
                        break;
                if (info.start.process >= t->processes.n)
                        return TRACE_E_BAD_ID;
                vec_push(&t->threads, info);
        }
        return 0;
}

static int load_thread_names(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                uint32_t thread = bytes_u32(r);
                const char *name = get_text(r);

                if (r->bad)
                        break;
                if (thread >= t->threads.n)
                        return TRACE_E_BAD_ID;
                t->threads.items[thread].name = name;
        }
        return 0;
}

static int load_titles(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                uint32_t process = bytes_u32(r);
                const char *title = get_text(r);

                if (r->bad)
                        break;
                if (process >= t->processes.n)
                        return TRACE_E_BAD_ID;
                t->processes.items[process].title = title[0] ? title : NULL;
        }
        return 0;
}

static int load_notes(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                struct trace_note note = {.time_ns = bytes_u64(r)};

                note.text = get_text(r);
                if (r->bad)
                        break;
                vec_push(&t->notes, note);
        }
        return 0;
}

static int load_costs(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                struct trace_cost c = {.time_ns = bytes_u64(r)};

                c.recorder_peak_bytes = bytes_u64(r);
                c.recorder_cpu_ns = bytes_u64(r);
                if (r->bad)
                        break;
                t->cost = c;
        }
        return 0;
}

static int load_tallies(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                uint64_t process = bytes_u64(r);
                struct trace_tally x = {.process = (uint32_t)process, .time_ns = bytes_u64(r)};

                x.n_allocs = bytes_u64(r);
                x.n_frees = bytes_u64(r);
                x.n_reallocs = bytes_u64(r);
                x.alloc_bytes = bytes_u64(r);
                x.n_unsampled = bytes_u64(r);
                x.runtime_ns = bytes_u64(r);
                x.sample_bytes = bytes_u64(r);
                if (r->bad)
                        break;
                if (process >= t->processes.n)
                        return TRACE_E_BAD_ID;
                while (t->tallies.n <= process)
                        vec_push(&t->tallies, (struct trace_tally){.process = TRACE_NO_PROCESS});
                t->tallies.items[process] = x;
        }
        return 0;
}

static int load_allocators(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                struct trace_allocator a = {.process = bytes_u32(r)};

                a.n_allocs = bytes_u64(r);
                a.alloc_bytes = bytes_u64(r);
                a.name = get_text(r);
                a.version = get_text(r);
                a.module = get_text(r);
                if (r->bad)
                        break;
                if (a.process >= t->processes.n)
                        return TRACE_E_BAD_ID;
                vec_push(&t->allocators, a);
        }
        return 0;
}

static bool prior_can_be(const struct trace_prior *x) {
        const uint32_t all = TRACE_PRIOR_HELD | TRACE_PRIOR_WHOLE | TRACE_PRIOR_MAPPED;

        if (x->flags & ~all || x->free_bytes > x->held_bytes)
                return false;
        if (!(x->flags & TRACE_PRIOR_HELD) &&
            (x->held_bytes || x->n_arenas || x->flags & TRACE_PRIOR_WHOLE))
                return false;
        return x->flags & TRACE_PRIOR_MAPPED || (!x->mapped_bytes && !x->n_mapped);
}

static int load_priors(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                struct trace_prior x = {.process = bytes_u32(r), .flags = bytes_u32(r)};
                uint64_t *const fields[] = {&x.age_ns,     &x.anon_bytes,   &x.held_bytes,
                                            &x.free_bytes, &x.mapped_bytes, &x.n_mapped,
                                            &x.n_arenas};

                for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
                        *fields[k] = bytes_u64(r);
                x.allocator = get_text(r);
                if (r->bad)
                        break;
                if (x.process >= t->processes.n)
                        return TRACE_E_BAD_ID;
                if (!prior_can_be(&x))
                        return TRACE_E_BAD_PAYLOAD;
                vec_push(&t->priors, x);
        }
        return 0;
}

static int load_rooms(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                struct trace_room x = {.process = bytes_u32(r), .flags = bytes_u32(r)};

                x.version = bytes_u32(r);
                x.time_ns = bytes_u64(r);
                for (size_t k = 0; k < ROOM_N_FIGURES; k++)
                        x.of[k] = bytes_u64(r);
                x.path = get_text(r);
                if (r->bad)
                        break;
                if (x.process != TRACE_NO_PROCESS && x.process >= t->processes.n)
                        return TRACE_E_BAD_ID;
                if (x.version > 2 || x.flags & ~(uint32_t)TRACE_ROOM_KILL ||
                    !x.path[0] != !x.version)
                        return TRACE_E_BAD_PAYLOAD;
                vec_push(&t->rooms, x);
        }
        return 0;
}

static int load_samples(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        uint64_t last[8] = {0};

        for (uint32_t i = 0; i < n; i++) {
                uint64_t process = bytes_varint(r);
                struct trace_sample s = {.process = (uint32_t)process};
                uint64_t *const fields[] = {&s.time_ns,      &s.anon_bytes,    &s.file_bytes,
                                            &s.shmem_bytes,  &s.runtime_bytes, &s.minor_faults,
                                            &s.major_faults, &s.cpu_ns};

                for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
                        *fields[k] = get_delta(r, &last[k]);
                if (r->bad)
                        break;
                if (process >= t->processes.n)
                        return TRACE_E_BAD_ID;
                vec_push(&t->samples, s);
        }
        return 0;
}

static int load_residency(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        uint64_t last_ns = 0;

        for (uint32_t i = 0; i < n; i++) {
                struct trace_residency row;
                bool is_sound = trace_decode_residency(r, &last_ns, &row);

                if (r->bad)
                        break;
                if (!is_sound)
                        return TRACE_E_BAD_PAYLOAD;
                if (row.process >= t->processes.n || row.stack >= t->stacks.n)
                        return TRACE_E_BAD_ID;
                vec_push(&t->residency, row);
        }
        return 0;
}

static bool get_mapping(struct trace_tables *t, struct bytes_reader *r, uint64_t *last,
                        struct trace_mapping *m) {
        uint64_t process = bytes_varint(r), thread = bytes_varint(r), stack = bytes_varint(r);
        uint64_t op = bytes_varint(r);

        m->process = (uint32_t)process;
        m->thread = (uint32_t)thread - 1;
        m->stack = (uint32_t)stack;
        m->op = (uint8_t)op;
        m->prot = (uint32_t)bytes_varint(r);
        m->flags = (uint32_t)bytes_varint(r);
        m->time_ns = get_delta(r, &last[0]);
        m->address = get_delta(r, &last[1]);
        m->size_bytes = (uint64_t)bytes_unzigzag(bytes_varint(r));
        m->old_address = bytes_varint(r);
        m->old_size_bytes = (uint64_t)bytes_unzigzag(bytes_varint(r));
        r->bad |= op >= TRACE_N_MAPPING_OPS;
        return process < t->processes.n && thread <= t->threads.n && stack < t->stacks.n;
}

static int load_mappings(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        uint64_t last[2] = {0};

        for (uint32_t i = 0; i < n; i++) {
                struct trace_mapping m = {0};
                bool known = get_mapping(t, r, last, &m);

                if (r->bad)
                        break;
                if (!known)
                        return TRACE_E_BAD_ID;
                vec_push(&t->mappings, m);
        }
        return 0;
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* Finds n strings in the text that follows; an array in the arena. */
static const char *const *load_strings(struct trace_tables *t, struct bytes_reader *r,
                                       uint64_t *ret_n) {
        uint64_t n = bytes_varint(r), text_bytes = bytes_varint(r);
        const uint8_t *text =
                text_bytes <= bytes_left(r) ? bytes_take(r, (size_t)text_bytes) : NULL;
        const char *const *strings;
        struct bytes_reader s;

        if (!text || n > text_bytes) {
                r->bad = true;
                return NULL;
        }
        s = bytes_reader_of(text, (size_t)text_bytes);
        strings = get_texts(t, &s, (uint32_t)n);
        r->bad |= s.bad || bytes_left(&s) != 0;
        *ret_n = n;
        return strings;
}

static bool get_string(struct bytes_reader *r, const char *const *strings, uint64_t n,
                       const char **ret) {
        uint64_t number = bytes_varint(r);

        if (r->bad || number >= n)
                return false;
        *ret = strings[number];
        return true;
}

static int load_symbols(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        uint64_t n_strings = 0, location = 0, line = 0, last;
        const char *const *strings = load_strings(t, r, &n_strings);
        size_t first = t->symbols.n;
        struct trace_symbol *s;

        if (r->bad || n > bytes_left(r) / 5) /* five columns */
                return TRACE_E_BAD_PAYLOAD;
        last = first ? t->symbols.items[first - 1].location : 0;
        for (uint32_t i = 0; i < n; i++) {
                if (get_delta(r, &location) >= t->locations.n)
                        return TRACE_E_BAD_ID;
                if (location < last)
                        return TRACE_E_BAD_ORDER;
                last = location;
                vec_push(&t->symbols,
                         (struct trace_symbol){(uint32_t)location, "", "", 0, false, false});
        }
        s = t->symbols.items + first;
        for (uint32_t i = 0; i < n; i++)
                if (!get_string(r, strings, n_strings, &s[i].function))
                        return TRACE_E_BAD_PAYLOAD;
        for (uint32_t i = 0; i < n; i++)
                if (!get_string(r, strings, n_strings, &s[i].file))
                        return TRACE_E_BAD_PAYLOAD;
        for (uint32_t i = 0; i < n; i++)
                s[i].line = (uint32_t)get_delta(r, &line);
        for (uint32_t i = 0; i < n; i++) {
                uint8_t flags = bytes_u8(r);

                s[i].inlined = flags & TRACE_SYMBOL_INLINED;
                s[i].guess = flags & TRACE_SYMBOL_GUESS;
                r->bad |= flags > (TRACE_SYMBOL_INLINED | TRACE_SYMBOL_GUESS);
        }
        return 0;
}

static int load_module_names(struct trace_tables *t, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                struct trace_module_names m = {.module = bytes_u32(r), .naming = bytes_u8(r)};

                m.file = get_text(r);
                m.text = get_text(r);
                if (r->bad)
                        break;
                if (m.module >= t->modules.n)
                        return TRACE_E_BAD_ID;
                if (t->module_names.n &&
                    m.module <= t->module_names.items[t->module_names.n - 1].module)
                        return TRACE_E_BAD_ORDER;
                if (m.naming >= TRACE_N_NAMINGS) /* of a newer silt */
                        m.naming = TRACE_NAMING_UNKNOWN;
                vec_push(&t->module_names, m);
        }
        return 0;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

/* How many ids of a kind are defined; SIZE_MAX for kinds without. */
static size_t tables_n(const struct trace_tables *t, uint32_t kind) {
        switch (kind) {
        case TRACE_MODS: return t->modules.n;
        case TRACE_LOCS: return t->locations.n;
        case TRACE_STKS: return t->stacks.n;
        case TRACE_PROC: return t->processes.n;
        case TRACE_THRD: return t->threads.n;
        default: return SIZE_MAX;
        }
}

/* Something to stand for an id whose definition was lost. */
static void tables_add_unknown(struct trace_tables *t, uint32_t kind) {
        switch (kind) {
        case TRACE_MODS: vec_push(&t->modules, (struct trace_module){.path = ""}); break;
        case TRACE_LOCS: vec_push(&t->locations, (struct trace_location){UINT32_MAX, 0}); break;
        case TRACE_STKS: vec_add(&t->stacks); break;
        case TRACE_THRD: vec_push(&t->threads, (struct trace_thread_info){.name = ""}); break;
        default:
                vec_push(&t->processes,
                         (struct trace_process_info){
                                 .start = {.parent = TRACE_NO_PROCESS, .image = 1, .exe = ""},
                                 .end = {.process = (uint32_t)t->processes.n, .status = -1}});
        }
}

/* Brings the table of a kind to `want` entries: chunks before were lost. */
static int tables_fill(struct trace_tables *t, uint32_t kind, uint64_t want) {
        if (want > MIN(t->file_bytes * tables_ids_per_byte(kind), (uint64_t)UINT32_MAX - 1))
                return TRACE_E_TOO_LARGE;
        /* an unknown thread belongs to process 0, an unknown stack's frame is location 0 */
        if (want > tables_n(t, kind) &&
            ((kind == TRACE_THRD && !t->processes.n) || (kind == TRACE_STKS && !t->locations.n)))
                return TRACE_E_BAD_ID;
        while (tables_n(t, kind) < want)
                tables_add_unknown(t, kind);
        return 0;
}

static void tables_cut(struct trace_tables *t, uint32_t kind, size_t n) {
        switch (kind) {
        case TRACE_MODS: t->modules.n = n; break;
        case TRACE_LOCS: t->locations.n = n; break;
        case TRACE_STKS: t->stacks.n = n; break;
        case TRACE_PROC: t->processes.n = n; break;
        case TRACE_THRD: t->threads.n = n; break;
        default: break;
        }
}

static int tables_dispatch(struct trace_tables *t, uint32_t kind, struct bytes_reader *r,
                           uint32_t n) {
        switch (kind) {
        case TRACE_META: return load_meta(t, r);
        case TRACE_MODS: return load_modules(t, r, n);
        case TRACE_LOCS: return load_locations(t, r, n);
        case TRACE_STKS: return load_stacks(t, r, n);
        case TRACE_PROC: return load_processes(t, r, n);
        case TRACE_PEND: return load_process_ends(t, r, n);
        case TRACE_THRD: return load_threads(t, r, n);
        case TRACE_TITL: return load_titles(t, r, n);
        case TRACE_TNAM: return load_thread_names(t, r, n);
        case TRACE_NOTE: return load_notes(t, r, n);
        case TRACE_COST: return load_costs(t, r, n);
        case TRACE_PRIO: return load_priors(t, r, n);
        case TRACE_ROOM: return load_rooms(t, r, n);
        case TRACE_TALY: return load_tallies(t, r, n);
        case TRACE_ALOC: return load_allocators(t, r, n);
        case TRACE_SMPL: return load_samples(t, r, n);
        case TRACE_RESI: return load_residency(t, r, n);
        case TRACE_MAPS: return load_mappings(t, r, n);
        case TRACE_SYMS: return load_symbols(t, r, n);
        case TRACE_NSRC: return load_module_names(t, r, n);
        default: return TRACE_E_BAD_PAYLOAD;
        }
}

static bool kind_has_text(uint32_t kind) {
        return kind == TRACE_META || kind == TRACE_MODS || kind == TRACE_PROC ||
               kind == TRACE_TITL || kind == TRACE_TNAM || kind == TRACE_NOTE ||
               kind == TRACE_ALOC || kind == TRACE_PRIO || kind == TRACE_ROOM ||
               kind == TRACE_SYMS || kind == TRACE_NSRC;
}

void trace_tables_skip(struct trace_tables *t, const struct trace_chunk *c) {
        if (c->head_bytes == TRACE_DEFS_HEAD_BYTES && tables_n(t, c->kind) != SIZE_MAX)
                tables_fill(t, c->kind, (uint64_t)bytes_le32(c->head) + bytes_le32(c->head + 4));
}

int trace_tables_load(struct trace_tables *t, const struct trace_chunk *c,
                      const struct trace_body *b) {
        uint32_t first_id = bytes_le32(c->head), n = bytes_le32(c->head + 4);
        bool has_ids = tables_n(t, c->kind) != SIZE_MAX;
        const uint8_t *raw = b->raw.items;
        struct bytes_reader r;
        int error = 0;

        if (c->head_bytes != TRACE_DEFS_HEAD_BYTES)
                return TRACE_E_BAD_PAYLOAD;
        if (c->kind != TRACE_META && n > b->raw.n) /* every row has a byte */
                return TRACE_E_BAD_PAYLOAD;
        if (has_ids)
                error = first_id < tables_n(t, c->kind) ? TRACE_E_BAD_ORDER
                                                        : tables_fill(t, c->kind, first_id);
        if (error)
                return error;
        if (kind_has_text(c->kind)) /* strings stay where they lie */
                raw = arena_memdup(t->arena, raw, b->raw.n);
        r = bytes_reader_of(raw, b->raw.n);
        error = tables_dispatch(t, c->kind, &r, n);
        if (!error && (r.bad || bytes_left(&r)))
                error = TRACE_E_BAD_PAYLOAD;
        if (error && has_ids)
                tables_cut(t, c->kind, first_id);
        return error;
}
