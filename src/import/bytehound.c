/* SPDX-License-Identifier: MIT */
/* Recordings of bytehound: one event after the other, each its kind, 4 bytes, and fields without gaps (bytehound_bytes.h).
 *
 * Its threads hand their events on in lots, and blocks that it first took for short-lived are written up to ten seconds late: events are put into
 * the order of their times. Blocks have numbers of their own, which pair what addresses would not. Names come from the files of the modules,
 * whose places are in copies of /proc/self/maps and in events of regions; the recording has copies of the modules too. Dumps of memory and
 * mappings of the program are not taken. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "import/bytehound_bytes.h"
#include "import/import_format.h"
#include "import/import_maps.h"
#include "import/import_order.h"

enum {
        BYTEHOUND_MAX_BLOCK_BYTES = 4 << 20,
        BYTEHOUND_MAX_FRAMES = 1 << 14,
        BYTEHOUND_MAX_TEXT = 1 << 20,
        BYTEHOUND_EXECUTABLE = 1 << 2,
};

enum event {
        EVENT_HEADER,
        EVENT_ALLOC,
        EVENT_REALLOC,
        EVENT_FREE,
        EVENT_FILE,
        EVENT_BACKTRACE,
        EVENT_MEMORY_DUMP,
        EVENT_MARKER,
        EVENT_MEMORY_MAP,
        EVENT_MEMORY_UNMAP,
        EVENT_MALLOPT,
        EVENT_ENVIRON,
        EVENT_WALL_CLOCK,
        EVENT_PARTIAL_BACKTRACE,
        EVENT_STRING,
        EVENT_DECODED_FRAME,
        EVENT_DECODED_BACKTRACE,
        EVENT_GROUP_STATISTICS,
        EVENT_PARTIAL_BACKTRACE_32,
        EVENT_BACKTRACE_32,
        EVENT_ALLOC_EX,
        EVENT_REALLOC_EX,
        EVENT_FREE_EX,
        EVENT_FILE_64,
        EVENT_ADD_REGION,
        EVENT_REMOVE_REGION,
        EVENT_REGION_USAGE,
        EVENT_MEMORY_MAP_EX,
        N_EVENTS,
};

typedef VEC(uint64_t) path_vec;

struct bytehound_thread {
        uint32_t id;
        path_vec path; /* of its last partial one */
};

struct bytehound {
        struct import_input *in;
        struct import_trace *t;
        struct err *reterr;
        struct arena *arena;
        struct bytehound_bytes from;
        uint64_t start_us;
        uint32_t pid;
        struct import_order *order;
        struct import_maps maps;
        struct map regions;   /* hash of begin and end: known */
        struct map stacks;    /* backtrace → stack */
        struct map thread_of; /* tid → index */
        VEC(struct bytehound_thread) threads;
        struct map strings;   /* id → text */
        VEC(uint32_t) frames; /* decoded: locations */
        uint64_t n_decoded;   /* backtraces that were decoded are numbered */
        path_vec path;
        bool has_groups;
};

/* ---- header and modules ------------------------------------------------------------------------- */

static int take_header(struct bytehound *b) {
        struct {
                uint64_t id[2], initial_us, now_us, wall_s, wall_ns;
                uint32_t pid;
        } __attribute__((packed)) head;
        struct str command = {0};
        int r = bytehound_take(&b->from, &head, sizeof(head));

        if (r > 0)
                r = bytehound_take_counted_text(&b->from);
        for (size_t i = 0; r > 0 && i < b->from.text.n; i++) /* words end with a 0 */
                str_addn(&command, b->from.text.bytes[i] ? &b->from.text.bytes[i] : " ", 1);
        if (r > 0)
                r = bytehound_skip_counted(&b->from);
        if (r > 0)
                r = bytehound_skip_counted(&b->from);
        if (r > 0)
                r = bytehound_take(&b->from, NULL, sizeof(uint64_t) + 1);
        if (r > 0) {
                b->start_us = head.initial_us;
                b->pid = head.pid;
                r = import_trace_begin(
                        b->t,
                        &(struct import_begin){.command = str_text(&command),
                                               .pid = head.pid,
                                               .started_unix_ns =
                                                       head.wall_s < 1ull << 33
                                                               ? head.wall_s * 1000000000 +
                                                                         head.wall_ns % 1000000000
                                                               : 0},
                        b->reterr);
                r = r < 0 ? r : 1;
        }
        str_done(&command);
        return r;
}

static void add_region(struct bytehound *b, uint64_t begin, uint64_t end, uint64_t offset,
                       const char *path) {
        bool is_new;

        map_put(&b->regions, map_hash(begin) ^ end, 1, &is_new);
        if (is_new && path[0] == '/')
                import_maps_add(&b->maps, begin, end, offset, path);
}

/* A file of code is kept, for names to be looked up in it. */
static int keep_file(struct bytehound *b, const char *path, uint64_t n) {
        uint8_t some[4096];
        size_t k = (size_t)MIN(n, (uint64_t)SELFMAG);
        int r = bytehound_take(&b->from, some, k), fd;

        if (r <= 0 || k < SELFMAG || memcmp(some, ELFMAG, SELFMAG) != 0)
                return r > 0 ? bytehound_take(&b->from, NULL, n - k) : r;
        fd = import_trace_keep_file(b->t, path, n);
        if (fd < 0)
                return bytehound_take(&b->from, NULL, n - k);
        for (;;) {
                if (fs_write_all(fd, some, k) < 0)
                        r = err_set(b->reterr, -EIO, "cannot keep a copy of '%s'", path);
                n -= k;
                k = (size_t)MIN(n, sizeof(some));
                if (r <= 0 || !n)
                        break;
                r = bytehound_take(&b->from, some, k);
        }
        close(fd);
        b->maps.root = import_trace_kept_root(b->t);
        b->maps.is_sorted = false; /* where code is in it, the copy knows best */
        return r;
}

static int take_file(struct bytehound *b, bool is_64) {
        bool is_maps;
        uint64_t n = 0;
        uint32_t n_32;
        char *line, *rest;
        int r = bytehound_take(&b->from, NULL, sizeof(uint64_t));

        if (r > 0)
                r = bytehound_take_counted_text(&b->from);
        is_maps = r > 0 && strcmp(str_text(&b->from.text), "/proc/self/maps") == 0;
        if (r > 0)
                r = is_64 ? bytehound_take_u64(&b->from, &n) : bytehound_take_u32(&b->from, &n_32);
        if (r > 0 && !is_64)
                n = n_32;
        if (r > 0 && !is_maps)
                return keep_file(b, str_text(&b->from.text), n);
        if (r > 0 && n > BYTEHOUND_MAX_TEXT)
                return bytehound_take(&b->from, NULL, n);
        if (r > 0)
                r = bytehound_take_text(&b->from, n);
        if (r <= 0 || !b->from.text.n)
                return r;
        str_text(&b->from.text);
        import_maps_done(&b->maps); /* a copy is whole: what was there before may be gone */
        import_maps_init(&b->maps);
        b->maps.root = import_trace_kept_root(b->t);
        map_clear(&b->regions);
        for (rest = b->from.text.bytes; (line = strsep(&rest, "\n"));)
                import_maps_add_line(&b->maps, line);
        return 1;
}

static int take_region(struct bytehound *b) {
        uint64_t address = 0, length = 0, offset = 0, skipped, n = 0;
        uint32_t rest[3];
        int r = bytehound_take(&b->from, NULL, sizeof(uint64_t));

        if (r > 0)
                r = bytehound_take_short(&b->from, &skipped);
        if (r > 0)
                r = bytehound_take_u64(&b->from, &address);
        if (r > 0)
                r = bytehound_take_short(&b->from, &length);
        if (r > 0)
                r = bytehound_take_short(&b->from, &offset);
        if (r > 0)
                r = bytehound_take_short(&b->from, &skipped);
        if (r > 0)
                r = bytehound_take(&b->from, rest, sizeof(rest));
        if (r > 0)
                r = bytehound_take_short(&b->from, &n);
        if (r > 0)
                r = bytehound_take_text(&b->from, n);
        if (r > 0 && rest[2] & BYTEHOUND_EXECUTABLE && address + length > address)
                add_region(b, address, address + length, offset, str_text(&b->from.text));
        return r;
}

/* Fields that are not taken: 's' a short number, a digit so many bytes. */
static int skip_fields(struct bytehound *b, const char *form) {
        uint64_t skipped;
        int r = 1;

        for (; *form && r > 0; form++)
                r = *form == 's' ? bytehound_take_short(&b->from, &skipped)
                                 : bytehound_take(&b->from, NULL, (uint64_t)(*form - '0'));
        return r;
}

static int skip_removed_region(struct bytehound *b) {
        uint64_t n = 0;
        int r = skip_fields(b, "8s8s");

        if (r > 0)
                r = bytehound_take_short(&b->from, &n);
        while (r > 0 && n-- > 0)
                r = skip_fields(b, "8s8s4");
        return r;
}

/* ---- call paths --------------------------------------------------------------------------------- */

static struct bytehound_thread *thread_of(struct bytehound *b, uint32_t tid) {
        bool is_new;
        uint64_t *idx = map_put(&b->thread_of, tid, b->threads.n, &is_new);
        struct bytehound_thread thread = {0};

        if (is_new) {
                if (tid != b->pid && import_trace_add_thread(b->t, tid, NULL, &thread.id) < 0)
                        thread.id = 0;
                vec_push(&b->threads, thread);
        }
        return &b->threads.items[*idx];
}

static void keep_stack(struct bytehound *b, uint64_t id, uint32_t stack) {
        bool is_new;

        *map_put(&b->stacks, id, 0, &is_new) = stack;
}

/* Its own functions, which stand before the caller in each call path. */
static size_t n_own_frames(struct bytehound *b, const path_vec *path) {
        size_t n = 0;

        for (; n < path->n; n++) {
                uint64_t address;
                const char *module = import_maps_find(&b->maps, path->items[n], &address);

                if (!module ||
                    !(strstr(module, "/libbytehound") || strstr(module, "/libmemory_profiler")))
                        break;
        }
        return n;
}

/* Innermost first. */
static int put_path(struct bytehound *b, uint64_t id, const path_vec *path) {
        size_t n_own = n_own_frames(b, path);
        uint32_t stack = 0, location;
        int r = 0;

        for (size_t i = path->n; i-- > n_own && r >= 0;) {
                struct import_place place = {0};

                import_maps_place(&b->maps, path->items[i], &place);
                r = import_trace_place(b->t, &place, &location, b->reterr);
                if (r >= 0)
                        r = import_trace_stack(b->t, stack, location, &stack);
        }
        if (r < 0)
                return err_set_errno(b->reterr, r, "too many call paths");
        keep_stack(b, id, stack);
        return 1;
}

/* A list of addresses into b->path. */
static int take_addresses(struct bytehound *b, bool is_32) {
        uint32_t n, address_32;
        uint64_t address = 0;
        int r = bytehound_take_u32(&b->from, &n);

        if (r > 0 && n > BYTEHOUND_MAX_FRAMES)
                return import_input_refuse(b->in, b->reterr,
                                           "a call path has more than 16,384 frames");
        vec_clear(&b->path);
        for (uint32_t i = 0; r > 0 && i < n; i++) {
                r = is_32 ? bytehound_take_u32(&b->from, &address_32)
                          : bytehound_take_u64(&b->from, &address);
                vec_push(&b->path, is_32 ? address_32 : address);
        }
        return r;
}

static int take_backtrace(struct bytehound *b, bool is_32) {
        uint64_t id;
        int r = bytehound_take_u64(&b->from, &id);

        if (r > 0)
                r = take_addresses(b, is_32);
        return r > 0 ? put_path(b, id, &b->path) : r;
}

/* What is new, and the frames of the thread's last one behind those that are gone. */
static int take_partial(struct bytehound *b, bool is_32) {
        struct bytehound_thread *thread;
        uint32_t tid = 0, n_gone = 0;
        uint64_t id;
        int r = bytehound_take_u64(&b->from, &id);
        path_vec old;

        if (r > 0)
                r = bytehound_take_u32(&b->from, &tid);
        if (r > 0)
                r = bytehound_take_u32(&b->from, &n_gone);
        if (r > 0)
                r = take_addresses(b, is_32);
        if (r <= 0)
                return r;
        thread = thread_of(b, tid);
        for (size_t i = n_gone; i < thread->path.n && b->path.n < BYTEHOUND_MAX_FRAMES; i++)
                vec_push(&b->path, thread->path.items[i]);
        old = thread->path;
        thread->path = b->path;
        b->path = old;
        return put_path(b, id, &thread->path);
}

/* ---- recordings with names, as `bytehound postprocess` writes them --------------------------------- */

static int take_string(struct bytehound *b) {
        uint32_t id;
        bool is_new;
        int r = bytehound_take_u32(&b->from, &id);

        if (r > 0)
                r = bytehound_take_counted_text(&b->from);
        if (r > 0)
                *map_put(&b->strings, id, 0, &is_new) =
                        (uint64_t)(uintptr_t)arena_strdup(b->arena, str_text(&b->from.text));
        return r;
}

static const char *string_at(const struct bytehound *b, uint32_t id) {
        uint64_t text;

        return map_get(&b->strings, id, &text) ? (const char *)(uintptr_t)text : "";
}

static int take_decoded_frame(struct bytehound *b) {
        struct {
                uint64_t address;
                uint32_t library, raw_function, function, source, line, column;
                uint8_t is_inline;
        } __attribute__((packed)) f;
        struct import_function function;
        uint32_t location;
        int r = bytehound_take(&b->from, &f, sizeof(f));

        if (r <= 0)
                return r;
        function =
                (struct import_function){string_at(b, f.function == UINT32_MAX ? f.raw_function
                                                                               : f.function),
                                         string_at(b, f.source), f.line == UINT32_MAX ? 0 : f.line};
        r = import_trace_place(b->t,
                               &(struct import_place){.module = string_at(b, f.library),
                                                      .functions = &function,
                                                      .n_functions = 1},
                               &location, b->reterr);
        if (r < 0)
                return r;
        vec_push(&b->frames, location);
        return 1;
}

static int take_decoded_path(struct bytehound *b) {
        uint32_t stack = 0;
        int r = take_addresses(b, true);

        for (size_t i = b->path.n; i-- > 0 && r > 0;) {
                if (b->path.items[i] >= b->frames.n)
                        return import_input_refuse(b->in, b->reterr,
                                                   "a call path has a frame that is not there");
                r = import_trace_stack(b->t, stack, b->frames.items[b->path.items[i]], &stack);
                r = r < 0 ? r : 1;
        }
        if (r > 0)
                keep_stack(b, b->n_decoded++, stack);
        return r;
}

/* ---- blocks ------------------------------------------------------------------------------------- */

struct alloc_body {
        uint64_t pointer, size_bytes, backtrace;
        uint32_t thread, flags, extra_bytes;
        uint64_t preceding_bytes;
} __attribute__((packed));

struct block_id {
        uint64_t thread, number;
};

/* Blocks without a number of their own go by their address. */
static uint64_t key_of(const struct block_id *id, uint64_t pointer) {
        if ((!id->thread && !id->number) || (id->thread == UINT64_MAX && id->number == UINT64_MAX))
                return pointer;
        return map_hash(map_hash(id->thread) ^ id->number) | 1ull << 63;
}

static uint64_t time_ns(const struct bytehound *b, uint64_t us) {
        return us > b->start_us ? MIN(us - b->start_us, 1ull << 53) * 1000 : 0;
}

/* An event of a block until its turn. */
struct block_event {
        uint64_t key, old_key, size_bytes;
        uint32_t stack, thread;
        uint32_t kind; /* EVENT_ALLOC, EVENT_REALLOC or EVENT_FREE */
};

static int keep_event(struct bytehound *b, uint64_t us, const struct block_event *e) {
        int r = import_order_add(b->order, us, e);

        return r < 0 ? err_set_errno(b->reterr, r, "cannot put the events into order") : 1;
}

static int take_alloc(struct bytehound *b, bool has_id, bool is_realloc) {
        struct block_event e = {.kind = is_realloc ? EVENT_REALLOC : EVENT_ALLOC};
        struct block_id id = {0};
        struct alloc_body body;
        uint64_t us = 0, old = 0, stack = 0;
        int r = has_id ? bytehound_take(&b->from, &id, sizeof(id)) : 1;

        if (r > 0)
                r = bytehound_take_u64(&b->from, &us);
        if (r > 0 && is_realloc)
                r = bytehound_take_u64(&b->from, &old);
        if (r > 0)
                r = bytehound_take(&b->from, &body, sizeof(body));
        if (r <= 0)
                return r;
        (void)map_get(&b->stacks, body.backtrace, &stack);
        e.key = key_of(&id, body.pointer);
        e.old_key = key_of(&id, old);
        e.size_bytes = body.size_bytes;
        e.stack = (uint32_t)stack;
        e.thread = body.thread;
        return keep_event(b, us, &e);
}

static int take_free(struct bytehound *b, bool has_id) {
        struct {
                uint64_t us, pointer, backtrace;
                uint32_t thread;
        } __attribute__((packed)) body;
        struct block_id id = {0};
        int r = has_id ? bytehound_take(&b->from, &id, sizeof(id)) : 1;

        if (r > 0)
                r = bytehound_take(&b->from, &body, sizeof(body));
        if (r <= 0)
                return r;
        return keep_event(b, body.us,
                          &(struct block_event){.kind = EVENT_FREE,
                                                .key = key_of(&id, body.pointer),
                                                .thread = body.thread});
}

static int put_event(struct bytehound *b, uint64_t us, const struct block_event *e) {
        uint32_t thread = thread_of(b, e->thread)->id;
        uint64_t at_ns = time_ns(b, us);

        switch (e->kind) {
        case EVENT_ALLOC:
                return import_trace_allocate(b->t, at_ns, thread, e->key, e->size_bytes, e->stack);
        case EVENT_REALLOC:
                return import_trace_reallocate(b->t, at_ns, thread, e->old_key, e->key,
                                               e->size_bytes, e->stack);
        default: return import_trace_release(b->t, at_ns, thread, e->key);
        }
}

static int put_events(struct bytehound *b) {
        struct block_event e;
        uint64_t us;
        int r;

        while ((r = import_order_next(b->order, &us, &e)) > 0)
                if (put_event(b, us, &e) < 0)
                        return import_input_refuse(b->in, b->reterr,
                                                   "a block cannot be as it is told");
        return r < 0 ? err_set_errno(b->reterr, r, "cannot put the events into order") : 0;
}

/* ---- events ------------------------------------------------------------------------------------- */

static int take_event(struct bytehound *b, uint32_t kind) {
        /* of those that are passed over and always as long */
        static const uint8_t n_bytes[N_EVENTS] = {
                [EVENT_MARKER] = 4,   [EVENT_MEMORY_MAP] = 64, [EVENT_MEMORY_UNMAP] = 36,
                [EVENT_MALLOPT] = 32, [EVENT_WALL_CLOCK] = 24, [EVENT_GROUP_STATISTICS] = 56,
        };
        int r;

        if (kind < N_EVENTS && n_bytes[kind]) {
                b->has_groups |= kind == EVENT_GROUP_STATISTICS;
                return bytehound_take(&b->from, NULL, n_bytes[kind]);
        }
        switch (kind) {
        case EVENT_ALLOC:
        case EVENT_REALLOC: return take_alloc(b, false, kind == EVENT_REALLOC);
        case EVENT_ALLOC_EX:
        case EVENT_REALLOC_EX: return take_alloc(b, true, kind == EVENT_REALLOC_EX);
        case EVENT_FREE:
        case EVENT_FREE_EX: return take_free(b, kind == EVENT_FREE_EX);
        case EVENT_FILE:
        case EVENT_FILE_64: return take_file(b, kind == EVENT_FILE_64);
        case EVENT_BACKTRACE:
        case EVENT_BACKTRACE_32: return take_backtrace(b, kind == EVENT_BACKTRACE_32);
        case EVENT_PARTIAL_BACKTRACE:
        case EVENT_PARTIAL_BACKTRACE_32: return take_partial(b, kind == EVENT_PARTIAL_BACKTRACE_32);
        case EVENT_MEMORY_DUMP:
                r = bytehound_take(&b->from, NULL, 16);
                return r > 0 ? bytehound_skip_counted(&b->from) : r;
        case EVENT_ENVIRON: return bytehound_skip_counted(&b->from);
        case EVENT_STRING: return take_string(b);
        case EVENT_DECODED_FRAME: return take_decoded_frame(b);
        case EVENT_DECODED_BACKTRACE: return take_decoded_path(b);
        case EVENT_ADD_REGION: return take_region(b);
        case EVENT_REMOVE_REGION: return skip_removed_region(b);
        case EVENT_REGION_USAGE: return skip_fields(b, "8s8sssssss");
        case EVENT_MEMORY_MAP_EX: return skip_fields(b, "s8ss444s8s4");
        default: return import_input_refuse(b->in, b->reterr, "%u is no kind of event", kind);
        }
}

static int read_events(struct bytehound *b) {
        uint32_t kind;
        int r = bytehound_take_u32(&b->from, &kind);

        if (r > 0 && kind != EVENT_HEADER)
                return import_input_refuse(b->in, b->reterr, "it begins without a header");
        if (r > 0)
                r = take_header(b);
        while (r > 0) {
                r = bytehound_take_u32(&b->from, &kind);
                if (r > 0)
                        r = take_event(b, kind);
        }
        return r;
}

static int read_recording(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct bytehound b = {.in = in, .t = t, .reterr = reterr, .arena = arena_new()};
        int r;

        bytehound_bytes_init(&b.from, in, reterr);
        import_maps_init(&b.maps);
        b.order = import_order_new(sizeof(struct block_event), 0);
        r = read_events(&b);
        if (r >= 0 && import_trace_is_begun(t))
                r = put_events(&b);
        if (r >= 0 && b.has_groups)
                import_trace_limit(
                        t,
                        "Allocations that bytehound left out of the file, and counted, are missing");
        import_order_free(b.order);
        import_maps_done(&b.maps);
        for (size_t i = 0; i < b.threads.n; i++)
                vec_free(&b.threads.items[i].path);
        vec_free(&b.threads);
        vec_free(&b.frames);
        vec_free(&b.path);
        map_done(&b.regions);
        map_done(&b.stacks);
        map_done(&b.thread_of);
        map_done(&b.strings);
        bytehound_bytes_done(&b.from);
        arena_free(b.arena);
        return r;
}

/* A packed block whose first bytes are the four zeros that a header begins with: too short to be packed, and so as they are. */
static bool matches(const uint8_t *head, size_t n) {
        size_t at = 6;
        uint32_t length;

        if (n < 32 || head[0] != 1 || head[5] >> 4 < 4)
                return false;
        memcpy(&length, head + 1, sizeof(length));
        if (head[5] >> 4 == 15)
                while (at + 5 < n && head[at++] == 255)
                        ;
        return length <= BYTEHOUND_MAX_BLOCK_BYTES && memcmp(head + at, "\0\0\0", 4) == 0;
}

const struct import_format import_bytehound = {
        .name = "bytehound",
        .title = "a bytehound recording",
        .lacks =
                "no mappings that silt takes, and no names of modules that are neither in it nor on this machine",
        .matches = matches,
        .read = read_recording,
};
