/* SPDX-License-Identifier: MIT */
/* Recordings of bytehound: blocks of LZ4, each with a byte (1: packed) and its length before it, and in them one event after the other: its kind, 4 bytes, and
 * fields without gaps. Numbers are little-endian, lists have their length before them. Some numbers ("short" here) are 1 to 9 bytes long: as many ones
 * as the first byte begins with, so many bytes follow, and the rest of it are the highest bits.
 *
 * Blocks have numbers of their own, which pair what addresses would not: a free may be written before the allocation that got the address
 * next, or behind it. Names come from the files of the modules, whose places are in a copy of /proc/self/maps and in events of
 * regions. Contents of files, dumps of memory and mappings of the program are not taken. */
#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "import/import_format.h"
#include "import/import_maps.h"

enum {
        BYTEHOUND_BLOCK_BYTES = 4 << 20, /* it writes 512 KiB */
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
        uint8_t *packed, *block;
        size_t at, n; /* in the block */
        uint64_t start_us;
        struct import_maps maps;
        struct map regions;   /* hash of begin and end: known */
        struct map stacks;    /* backtrace → stack */
        struct map thread_of; /* tid → index */
        VEC(struct bytehound_thread) threads;
        struct map strings;   /* id → text */
        VEC(uint32_t) frames; /* decoded: locations */
        uint64_t n_decoded;   /* backtraces that were decoded are numbered */
        struct str text;
        path_vec path;
        bool has_groups;
};

/* ---- bytes -------------------------------------------------------------------------------------- */

/* Each: 1, 0 the file ends here, or -errno. */

static int next_block(struct bytehound *b) {
        struct {
                uint8_t kind;
                uint32_t n;
        } __attribute__((packed)) head;
        ssize_t got = import_input_read(b->in, &head, sizeof(head), b->reterr);
        int n;

        b->at = b->n = 0;
        if (got < 0 || (size_t)got < sizeof(head))
                return got < 0 ? (int)got : 0;
        if ((head.kind != 1 && head.kind != 2) || head.n > BYTEHOUND_BLOCK_BYTES)
                return import_input_refuse(b->in, b->reterr,
                                           "no block of a bytehound recording begins here");
        got = import_input_read(b->in, head.kind == 1 ? b->packed : b->block, head.n, b->reterr);
        if (got < 0 || (size_t)got < head.n)
                return got < 0 ? (int)got : 0;
        if (head.kind == 2) {
                b->n = head.n;
                return 1;
        }
        n = LZ4_decompress_safe((const char *)b->packed, (char *)b->block, (int)head.n,
                                BYTEHOUND_BLOCK_BYTES);
        if (n < 0)
                return import_input_refuse(b->in, b->reterr,
                                           "a block cannot be unpacked with LZ4: copy it again");
        b->n = (size_t)n;
        return 1;
}

/* to may be NULL: they are passed over. */
static int take_bytes(struct bytehound *b, void *to, uint64_t n) {
        uint8_t *p = to;
        int r;

        while (n) {
                size_t some = (size_t)MIN(n, (uint64_t)(b->n - b->at));

                if (!some) {
                        r = next_block(b);
                        if (r <= 0)
                                return r;
                        continue;
                }
                if (p) {
                        memcpy(p, b->block + b->at, some);
                        p += some;
                }
                b->at += some;
                n -= some;
        }
        return 1;
}

static int take_u32(struct bytehound *b, uint32_t *ret) {
        *ret = 0;
        return take_bytes(b, ret, sizeof(*ret));
}

static int take_u64(struct bytehound *b, uint64_t *ret) {
        *ret = 0;
        return take_bytes(b, ret, sizeof(*ret));
}

static int take_short(struct bytehound *b, uint64_t *ret) {
        uint8_t first = 0;
        unsigned n;
        int r = take_bytes(b, &first, 1);

        *ret = 0;
        if (r <= 0)
                return r;
        n = first == 0xff ? 8 : (unsigned)__builtin_clz(~((unsigned)first << 24));
        r = take_bytes(b, ret, n);
        if (n < 8)
                *ret |= (uint64_t)(first & 0xffu >> n) << 8 * n;
        return r;
}

/* n bytes into b->text. */
static int take_text(struct bytehound *b, uint64_t n) {
        char *to;
        int r;

        if (n > BYTEHOUND_MAX_TEXT)
                return import_input_refuse(b->in, b->reterr, "a name is longer than 1 MiB");
        str_clear(&b->text);
        to = malloc((size_t)n + 1);
        if (!to)
                abort();
        r = take_bytes(b, to, n);
        if (r > 0)
                str_addn(&b->text, to, (size_t)n);
        free(to);
        return r;
}

static int take_counted_text(struct bytehound *b) {
        uint32_t n;
        int r = take_u32(b, &n);

        return r > 0 ? take_text(b, n) : r;
}

static int skip_counted(struct bytehound *b) {
        uint32_t n;
        int r = take_u32(b, &n);

        return r > 0 ? take_bytes(b, NULL, n) : r;
}

/* ---- header and modules ------------------------------------------------------------------------- */

static int take_header(struct bytehound *b) {
        struct {
                uint64_t id[2], initial_us, now_us, wall_s, wall_ns;
                uint32_t pid;
        } __attribute__((packed)) head;
        struct str command = {0};
        int r = take_bytes(b, &head, sizeof(head));

        if (r > 0)
                r = take_counted_text(b);
        for (size_t i = 0; r > 0 && i < b->text.n; i++) /* words end with a 0 */
                str_addn(&command, b->text.bytes[i] ? &b->text.bytes[i] : " ", 1);
        if (r > 0)
                r = skip_counted(b);
        if (r > 0)
                r = skip_counted(b);
        if (r > 0)
                r = take_bytes(b, NULL, sizeof(uint64_t) + 1);
        if (r > 0) {
                b->start_us = head.initial_us;
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

static int take_file(struct bytehound *b, bool is_64) {
        bool is_maps;
        uint64_t n = 0;
        uint32_t n_32;
        char *line, *rest;
        int r = take_bytes(b, NULL, sizeof(uint64_t));

        if (r > 0)
                r = take_counted_text(b);
        is_maps = r > 0 && strcmp(str_text(&b->text), "/proc/self/maps") == 0;
        if (r > 0)
                r = is_64 ? take_u64(b, &n) : take_u32(b, &n_32);
        if (r > 0 && !is_64)
                n = n_32;
        if (r > 0 && (!is_maps || n > BYTEHOUND_MAX_TEXT))
                return take_bytes(b, NULL, n);
        if (r > 0)
                r = take_text(b, n);
        if (r <= 0 || !b->text.n)
                return r;
        str_text(&b->text);
        for (rest = b->text.bytes; (line = strsep(&rest, "\n"));)
                import_maps_add_line(&b->maps, line);
        return 1;
}

static int take_region(struct bytehound *b) {
        uint64_t address = 0, length = 0, offset = 0, skipped, n = 0;
        uint32_t rest[3];
        int r = take_bytes(b, NULL, sizeof(uint64_t));

        if (r > 0)
                r = take_short(b, &skipped);
        if (r > 0)
                r = take_u64(b, &address);
        if (r > 0)
                r = take_short(b, &length);
        if (r > 0)
                r = take_short(b, &offset);
        if (r > 0)
                r = take_short(b, &skipped);
        if (r > 0)
                r = take_bytes(b, rest, sizeof(rest));
        if (r > 0)
                r = take_short(b, &n);
        if (r > 0)
                r = take_text(b, n);
        if (r > 0 && rest[2] & BYTEHOUND_EXECUTABLE && address + length > address)
                add_region(b, address, address + length, offset, str_text(&b->text));
        return r;
}

/* Fields that are not taken: 's' a short number, a digit so many bytes. */
static int skip_fields(struct bytehound *b, const char *form) {
        uint64_t skipped;
        int r = 1;

        for (; *form && r > 0; form++)
                r = *form == 's' ? take_short(b, &skipped)
                                 : take_bytes(b, NULL, (uint64_t)(*form - '0'));
        return r;
}

static int skip_removed_region(struct bytehound *b) {
        uint64_t n = 0;
        int r = skip_fields(b, "8s8s");

        if (r > 0)
                r = take_short(b, &n);
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
                if (b->threads.n && import_trace_add_thread(b->t, tid, NULL, &thread.id) < 0)
                        thread.id = 0;
                vec_push(&b->threads, thread);
        }
        return &b->threads.items[*idx];
}

static void keep_stack(struct bytehound *b, uint64_t id, uint32_t stack) {
        bool is_new;

        *map_put(&b->stacks, id, 0, &is_new) = stack;
}

/* Innermost first. */
static int put_path(struct bytehound *b, uint64_t id, const path_vec *path) {
        uint32_t stack = 0, location;
        int r = 0;

        for (size_t i = path->n; i-- > 0 && r >= 0;) {
                struct import_place place = {0};

                place.module = import_maps_find(&b->maps, path->items[i], &place.address);
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
        int r = take_u32(b, &n);

        if (r > 0 && n > BYTEHOUND_MAX_FRAMES)
                return import_input_refuse(b->in, b->reterr,
                                           "a call path has more than 16,384 frames");
        vec_clear(&b->path);
        for (uint32_t i = 0; r > 0 && i < n; i++) {
                r = is_32 ? take_u32(b, &address_32) : take_u64(b, &address);
                vec_push(&b->path, is_32 ? address_32 : address);
        }
        return r;
}

static int take_backtrace(struct bytehound *b, bool is_32) {
        uint64_t id;
        int r = take_u64(b, &id);

        if (r > 0)
                r = take_addresses(b, is_32);
        return r > 0 ? put_path(b, id, &b->path) : r;
}

/* What is new, and the frames of the thread's last one behind those that are gone. */
static int take_partial(struct bytehound *b, bool is_32) {
        struct bytehound_thread *thread;
        uint32_t tid = 0, n_gone = 0;
        uint64_t id;
        int r = take_u64(b, &id);
        path_vec old;

        if (r > 0)
                r = take_u32(b, &tid);
        if (r > 0)
                r = take_u32(b, &n_gone);
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
        int r = take_u32(b, &id);

        if (r > 0)
                r = take_counted_text(b);
        if (r > 0)
                *map_put(&b->strings, id, 0, &is_new) =
                        (uint64_t)(uintptr_t)arena_strdup(b->arena, str_text(&b->text));
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
        int r = take_bytes(b, &f, sizeof(f));

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

static int refuse_block(struct bytehound *b, int r) {
        return r < 0 ? import_input_refuse(b->in, b->reterr, "a block cannot be as it is told") : 1;
}

static int take_alloc(struct bytehound *b, bool has_id, bool is_realloc) {
        struct block_id id = {0};
        struct alloc_body body;
        uint64_t us = 0, old = 0, stack = 0, at_ns;
        uint32_t thread;
        int r = has_id ? take_bytes(b, &id, sizeof(id)) : 1;

        if (r > 0)
                r = take_u64(b, &us);
        if (r > 0 && is_realloc)
                r = take_u64(b, &old);
        if (r > 0)
                r = take_bytes(b, &body, sizeof(body));
        if (r <= 0)
                return r;
        (void)map_get(&b->stacks, body.backtrace, &stack);
        thread = thread_of(b, body.thread)->id;
        at_ns = time_ns(b, us);
        if (is_realloc)
                r = import_trace_reallocate(b->t, at_ns, thread, key_of(&id, old),
                                            key_of(&id, body.pointer), body.size_bytes,
                                            (uint32_t)stack);
        else
                r = import_trace_allocate(b->t, at_ns, thread, key_of(&id, body.pointer),
                                          body.size_bytes, (uint32_t)stack);
        return refuse_block(b, r);
}

static int take_free(struct bytehound *b, bool has_id) {
        struct {
                uint64_t us, pointer, backtrace;
                uint32_t thread;
        } __attribute__((packed)) body;
        struct block_id id = {0};
        int r = has_id ? take_bytes(b, &id, sizeof(id)) : 1;

        if (r > 0)
                r = take_bytes(b, &body, sizeof(body));
        if (r <= 0)
                return r;
        r = import_trace_release(b->t, time_ns(b, body.us), thread_of(b, body.thread)->id,
                                 key_of(&id, body.pointer));
        return refuse_block(b, r);
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
                return take_bytes(b, NULL, n_bytes[kind]);
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
        case EVENT_MEMORY_DUMP: r = take_bytes(b, NULL, 16); return r > 0 ? skip_counted(b) : r;
        case EVENT_ENVIRON: return skip_counted(b);
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
        int r = take_u32(b, &kind);

        if (r > 0 && kind != EVENT_HEADER)
                return import_input_refuse(b->in, b->reterr, "it begins without a header");
        if (r > 0)
                r = take_header(b);
        while (r > 0) {
                r = take_u32(b, &kind);
                if (r > 0)
                        r = take_event(b, kind);
        }
        return r;
}

static int read_recording(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct bytehound b = {.in = in,
                              .t = t,
                              .reterr = reterr,
                              .arena = arena_new(),
                              .packed = malloc(BYTEHOUND_BLOCK_BYTES),
                              .block = malloc(BYTEHOUND_BLOCK_BYTES)};
        int r;

        if (!b.packed || !b.block)
                abort();
        import_maps_init(&b.maps);
        r = read_events(&b);
        if (r >= 0 && b.has_groups)
                import_trace_limit(
                        t,
                        "Allocations that bytehound left out of the file, and counted, are missing");
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
        str_done(&b.text);
        free(b.packed);
        free(b.block);
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
        return length <= BYTEHOUND_BLOCK_BYTES && memcmp(head + at, "\0\0\0", 4) == 0;
}

const struct import_format import_bytehound = {
        .name = "bytehound",
        .title = "a bytehound recording",
        .lacks =
                "no mappings that silt takes, and names only where the modules are on this machine",
        .matches = matches,
        .read = read_recording,
};
