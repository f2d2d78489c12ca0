/* SPDX-License-Identifier: MIT */
/* Capture files of memray, versions 9 to 13, with all allocations: a header, then records of a byte, which is kind and flags, and numbers, most of
 * them 7 bits to a byte, and differences to the number of that sort before. Packed as a frame of LZ4. From version 12 (memray 1.19) on:
 *
 *   1aaaakkk    an allocation or release: k allocator, or 0 and it is the next byte; a which of the last 15 addresses, or 15 and it follows
 *   01…         a thread enters a function of Python, 0001…: it leaves so many
 *   001…        an object of Python came or went: not taken, since it is not memory
 *   others      code of Python with names and lines, native frames, where modules are, resident memory and the time, threads
 *
 * Before, the kind is in the lower four bits, flags in the upper; functions have their lines, allocators other numbers.
 *
 * Times come with records of resident memory, every 10 ms. A mapping that is unmapped in parts counts until the last of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "import/import_format.h"
#include "import/memray_head.h"
#include "import/python_lines.h"

enum {
        MEMRAY_MAX_TABLE_BYTES = 1 << 20,
        MEMRAY_N_RECENT = 15,
        MEMRAY_MAX_DEPTH = 1 << 16,
        MEMRAY_MAX_NATIVE_DEPTH = 1 << 12,
};

#define MEMRAY_STEP_NS 10000000u /* it looks at the clock every 10 ms unless told otherwise */

enum record {
        RECORD_FILLER = 0,
        RECORD_TRAILER = 1,
        RECORD_MEMORY = 2,
        RECORD_NATIVE_FRAME = 5,
        RECORD_MAPS_BEGIN = 6,
        RECORD_MODULE = 7,
        RECORD_SEGMENT = 8,
        RECORD_THREAD_NAME = 10,
        RECORD_THREAD = 12,
        RECORD_CODE = 14,
};

/* Before version 12. */
enum old_record {
        OLD_RECORD_TRAILER = 0,
        OLD_RECORD_ALLOCATION = 1,
        OLD_RECORD_ALLOCATION_WITH_NATIVE = 2,
        OLD_RECORD_FRAME = 3,
        OLD_RECORD_FRAME_PUSH = 4,
        OLD_RECORD_NATIVE_FRAME = 5,
        OLD_RECORD_MAPS_BEGIN = 6,
        OLD_RECORD_MODULE = 7,
        OLD_RECORD_FRAME_POP = 9,
        OLD_RECORD_THREAD_NAME = 10,
        OLD_RECORD_MEMORY = 11,
        OLD_RECORD_THREAD = 12,
};

enum allocator {
        ALLOCATOR_PYMALLOC_FREE = 1,
        ALLOCATOR_PYMALLOC_MALLOC = 2,
        ALLOCATOR_FREE = 5,
        ALLOCATOR_MALLOC = 6,
        ALLOCATOR_MMAP = 14,
        ALLOCATOR_MUNMAP = 15,
};

struct memray_code {
        const char *function, *file;
        int64_t first_line;
        const uint8_t *table;
        size_t n_table;
};

struct memray_native {
        uint64_t ip, parent; /* parent 0: none */
        uint32_t location;
        bool is_placed;
};

struct memray_part {
        uint64_t begin, end, bias;
        const char *path;
};

struct memray_thread {
        uint64_t handle;
        uint32_t id;
        bool is_added;
        const char *name;
        VEC(uint32_t) stacks; /* of its frames, the innermost last */
};

struct memray_mapping {
        uint64_t begin, end, left_bytes;
};

struct memray {
        struct memray_bytes b;
        struct memray_head head;
        struct import_trace *t;
        struct arena *arena;
        uint64_t now_ns;
        /* the last of their sorts */
        uint64_t last_ip, last_address, last_native, last_frame;
        int64_t last_line;
        uint64_t recent[MEMRAY_N_RECENT];
        VEC(struct memray_code) codes;
        struct map code_of;  /* id → index */
        struct map place_of; /* code and instruction → location */
        VEC(struct memray_native) natives;
        VEC(struct memray_part) parts;
        VEC(struct memray_thread) threads;
        struct map thread_of; /* handle → index */
        struct memray_thread *thread;
        VEC(struct memray_mapping) mappings;
        bool is_whole, has_partial_unmap, drops_native;
};

/* ---- functions of Python ------------------------------------------------------------------------ */

/* Its function, its file, and how far its line is from that of the one before. */
static int take_code(struct memray *m, struct memray_code *code) {
        int64_t delta = 0;
        int r = memray_take_string(&m->b);

        if (r > 0) {
                code->function = arena_strdup(m->arena, str_text(&m->b.text));
                r = memray_take_string(&m->b);
        }
        if (r > 0) {
                code->file = arena_strdup(m->arena, str_text(&m->b.text));
                r = memray_take_signed(&m->b, &delta);
        }
        if (r <= 0)
                return r;
        m->last_line = (int64_t)((uint64_t)m->last_line + (uint64_t)delta);
        code->first_line = m->last_line;
        return 1;
}

static void keep_code(struct memray *m, uint64_t id, const struct memray_code *code) {
        bool is_new;

        *map_put(&m->code_of, id, 0, &is_new) = m->codes.n;
        vec_push(&m->codes, *code);
}

static int add_code(struct memray *m) {
        struct memray_code code = {0};
        uint64_t id = 0, n = 0;
        uint8_t *table;
        int r = memray_take_varint(&m->b, &id);

        if (r > 0)
                r = take_code(m, &code);
        if (r > 0)
                r = memray_take_varint(&m->b, &n);
        if (r <= 0)
                return r;
        if (n > MEMRAY_MAX_TABLE_BYTES || n > m->b.in->file_bytes * 255)
                return import_input_refuse(m->b.in, m->b.reterr, "a table of lines is too long");
        table = arena_alloc(m->arena, (size_t)n + 1);
        r = memray_take_bytes(&m->b, table, (size_t)n);
        if (r <= 0)
                return r;
        code.table = table;
        code.n_table = (size_t)n;
        keep_code(m, id, &code);
        return 1;
}

/* Before version 12: a function, and the line that runs. */
static int add_old_frame(struct memray *m) {
        struct memray_code code = {0};
        int r = memray_take_delta(&m->b, &m->last_frame);

        if (r > 0)
                r = take_code(m, &code);
        if (r <= 0)
                return r;
        keep_code(m, m->last_frame, &code);
        return 1;
}

/* Of a function, by its number of that version. */
static uint32_t line_of(const struct memray *m, const struct memray_code *c, int64_t offset) {
        if (m->head.version < MEMRAY_HAS_TABLES)
                return c->first_line > 0 && c->first_line <= INT32_MAX ? (uint32_t)c->first_line
                                                                       : 0;
        return c->n_table ? python_line(m->head.python_version,
                                        &(struct python_table){c->table, c->n_table, c->first_line},
                                        offset)
                          : 0;
}

static int place_python(struct memray *m, uint64_t id, int64_t offset, uint32_t *ret) {
        struct import_function f = {"", "", 0};
        uint64_t idx, *known;
        bool is_new;
        int r;

        known = map_put(&m->place_of, map_hash(id) ^ (uint64_t)offset, 0, &is_new);
        *ret = (uint32_t)*known;
        if (!is_new)
                return 0;
        if (map_get(&m->code_of, id, &idx)) {
                const struct memray_code *c = &m->codes.items[idx];

                f = (struct import_function){c->function, c->file, line_of(m, c, offset)};
        }
        r = import_trace_place(m->t, &(struct import_place){.functions = &f, .n_functions = 1}, ret,
                               m->b.reterr);
        *known = *ret;
        return r;
}

static int refuse_order(struct memray *m) {
        return import_input_refuse(m->b.in, m->b.reterr, "something happens in no thread");
}

static int push_frame(struct memray *m) {
        struct memray_thread *thread = m->thread;
        uint64_t id = 0;
        int64_t offset = 0;
        uint32_t location, stack;
        int r;

        if (m->head.version < MEMRAY_HAS_TABLES) {
                r = memray_take_delta(&m->b, &m->last_frame);
                id = m->last_frame;
        } else {
                r = memray_take_varint(&m->b, &id);
                if (r > 0)
                        r = memray_take_signed(&m->b, &offset);
        }
        if (r <= 0)
                return r;
        if (!thread || thread->stacks.n >= MEMRAY_MAX_DEPTH)
                return thread ? import_input_refuse(m->b.in, m->b.reterr, "a call path is too deep")
                              : refuse_order(m);
        stack = thread->stacks.n ? thread->stacks.items[thread->stacks.n - 1] : 0;
        /* memray's own, around the program */
        if (thread->handle != m->head.main_handle || thread->stacks.n >= m->head.n_skipped) {
                r = place_python(m, id, offset, &location);
                if (r >= 0)
                        r = import_trace_stack(m->t, stack, location, &stack);
                if (r < 0)
                        return err_set_errno(m->b.reterr, r, "too many call paths");
        }
        vec_push(&thread->stacks, stack);
        return 1;
}

static int pop_frames(struct memray *m, size_t n) {
        if (!m->thread || m->thread->stacks.n < n)
                return import_input_refuse(m->b.in, m->b.reterr,
                                           "a thread leaves a function that it did not enter");
        m->thread->stacks.n -= n;
        return 1;
}

/* ---- native code -------------------------------------------------------------------------------- */

static int add_native(struct memray *m) {
        uint64_t *last = &m->last_ip;
        int r = memray_take_delta(&m->b, last);

        if (r > 0)
                r = memray_take_delta(&m->b, &m->last_native);
        if (r > 0)
                vec_push(&m->natives, (struct memray_native){m->last_ip, m->last_native, 0, false});
        return r;
}

static int add_module(struct memray *m) {
        uint64_t n = 0, bias, begin, size;
        const char *path;
        uint8_t kind;
        int r = memray_take_string(&m->b);

        if (r > 0)
                r = memray_take_varint(&m->b, &n);
        if (r > 0)
                r = memray_take_bytes(&m->b, &bias, sizeof(bias));
        path = arena_strdup(m->arena, str_text(&m->b.text));
        for (uint64_t i = 0; i < n && r > 0; i++) {
                r = import_input_byte(m->b.in, &kind, m->b.reterr);
                if (r > 0 && kind != RECORD_SEGMENT)
                        return import_input_refuse(m->b.in, m->b.reterr,
                                                   "a module has too few parts");
                if (r > 0)
                        r = memray_take_bytes(&m->b, &begin, sizeof(begin));
                if (r > 0)
                        r = memray_take_varint(&m->b, &size);
                if (r > 0)
                        vec_push(&m->parts, (struct memray_part){bias + begin, bias + begin + size,
                                                                 bias, path});
        }
        return r;
}

static int place_native(struct memray *m, struct memray_native *f) {
        struct import_place place = {.address = f->ip};

        if (f->is_placed)
                return 0;
        f->is_placed = true;
        for (size_t i = m->parts.n; i-- > 0;) {
                const struct memray_part *p = &m->parts.items[i];

                if (f->ip > p->begin && f->ip <= p->end) {
                        place.module = p->path;
                        place.address = f->ip - p->bias;
                        break;
                }
        }
        return import_trace_place(m->t, &place, &f->location, m->b.reterr);
}

/* Of allocations outside of any function of Python. */
static int native_stack(struct memray *m, uint64_t number, uint32_t *ret) {
        struct memray_native *path[MEMRAY_MAX_NATIVE_DEPTH];
        size_t n = 0;
        int r = 0;

        for (; number && number <= m->natives.n && n < MEMRAY_MAX_NATIVE_DEPTH; n++) {
                path[n] = &m->natives.items[number - 1];
                number = path[n]->parent;
        }
        *ret = 0;
        while (n-- > 0 && r >= 0) {
                r = place_native(m, path[n]);
                if (r >= 0)
                        r = import_trace_stack(m->t, *ret, path[n]->location, ret);
        }
        return r < 0 ? err_set_errno(m->b.reterr, r, "too many call paths") : 0;
}

/* ---- threads and blocks ------------------------------------------------------------------------- */

static int switch_thread(struct memray *m) {
        uint64_t handle, *idx;
        bool is_new;
        int r = memray_take_bytes(&m->b, &handle, sizeof(handle));

        if (r <= 0)
                return r;
        idx = map_put(&m->thread_of, handle, m->threads.n, &is_new);
        if (is_new)
                vec_push(&m->threads, (struct memray_thread){.handle = handle});
        m->thread = &m->threads.items[*idx];
        return 1;
}

/* Its name comes before its first allocation. The first thread is there already; others have handles and no number that the system knows: they are
 * counted. */
static uint32_t thread_id(struct memray *m) {
        struct memray_thread *t = m->thread;

        if (!t->is_added && t->handle != m->head.main_handle)
                (void)import_trace_add_thread(m->t, (uint32_t)(t - m->threads.items) + 1, t->name,
                                              &t->id);
        t->is_added = true;
        return t->id;
}

static int put_unmap(struct memray *m, uint64_t begin, uint64_t size) {
        uint64_t end = begin + size;
        int r = 0;

        for (size_t i = 0; i < m->mappings.n && r >= 0;) {
                struct memray_mapping *x = &m->mappings.items[i];
                uint64_t from = MAX(begin, x->begin), to = MIN(end, x->end);

                if (from < to)
                        x->left_bytes -= MIN(x->left_bytes, to - from);
                if (from < to && !x->left_bytes) {
                        r = import_trace_release(m->t, m->now_ns, thread_id(m), x->begin);
                        *x = m->mappings.items[--m->mappings.n];
                        continue;
                }
                m->has_partial_unmap |= from < to;
                i++;
        }
        return r;
}

static int put_event(struct memray *m, uint8_t allocator, uint64_t address, uint64_t size,
                     uint64_t native) {
        uint32_t stack = m->thread->stacks.n ? m->thread->stacks.items[m->thread->stacks.n - 1] : 0;
        int r = 0;

        if (allocator == ALLOCATOR_FREE || allocator == ALLOCATOR_PYMALLOC_FREE)
                return import_trace_release(m->t, m->now_ns, thread_id(m), address);
        if (allocator == ALLOCATOR_MUNMAP)
                return put_unmap(m, address, size);
        if (!address)
                return 0;
        if (m->head.is_native && !stack)
                r = native_stack(m, native, &stack);
        m->drops_native |= native && m->thread->stacks.n;
        if (r >= 0)
                r = import_trace_allocate(m->t, m->now_ns, thread_id(m), address, size, stack);
        if (r >= 0 && allocator == ALLOCATOR_MMAP && size)
                vec_push(&m->mappings, (struct memray_mapping){address, address + size, size});
        return r;
}

static int take_address(struct memray *m, unsigned which, uint64_t *ret) {
        int r = 1;

        if (which < MEMRAY_N_RECENT) {
                *ret = m->recent[which];
                return 1;
        }
        r = memray_take_delta(&m->b, &m->last_address);
        *ret = m->last_address << 3;
        memmove(&m->recent[1], &m->recent[0], sizeof(m->recent) - sizeof(m->recent[0]));
        m->recent[0] = *ret;
        return r;
}

static int put_taken(struct memray *m, uint8_t allocator, uint64_t address, uint64_t size,
                     uint64_t native) {
        int r;

        if (!m->thread)
                return refuse_order(m);
        r = put_event(m, allocator, address, size, native);
        if (r == -ERANGE || r == -EINVAL)
                return import_input_refuse(m->b.in, m->b.reterr, "a block cannot be as it is told");
        return r < 0 ? r : 1;
}

static int take_event(struct memray *m, uint8_t flags) {
        uint8_t allocator = flags & 7;
        uint64_t address = 0, size = 0;
        bool is_free;
        int r = take_address(m, flags >> 3 & 15, &address);

        if (r > 0 && !allocator)
                r = import_input_byte(m->b.in, &allocator, m->b.reterr);
        if (r <= 0)
                return r;
        if (!allocator || allocator > ALLOCATOR_MUNMAP)
                return import_input_refuse(m->b.in, m->b.reterr, "%u is no allocator", allocator);
        is_free = allocator == ALLOCATOR_FREE || allocator == ALLOCATOR_PYMALLOC_FREE;
        if (m->head.is_native && !is_free)
                r = memray_take_delta(&m->b, &m->last_native);
        if (r > 0 && !is_free)
                r = memray_take_varint(&m->b, &size);
        if (r <= 0)
                return r;
        return put_taken(m, allocator, address, size, m->head.is_native ? m->last_native : 0);
}

/* Before version 12, whose numbers of allocators become those of today. */
static int take_old_event(struct memray *m, uint8_t flags, bool has_native) {
        static const uint8_t todays[] = {0,
                                         ALLOCATOR_MALLOC,
                                         ALLOCATOR_FREE,
                                         8,
                                         7,
                                         9,
                                         10,
                                         11,
                                         12,
                                         13,
                                         ALLOCATOR_MMAP,
                                         ALLOCATOR_MUNMAP,
                                         ALLOCATOR_PYMALLOC_MALLOC,
                                         3,
                                         4,
                                         ALLOCATOR_PYMALLOC_FREE};
        uint8_t allocator = todays[flags & 15];
        uint64_t size = 0;
        int r = memray_take_delta(&m->b, &m->last_address);

        if (r > 0 && !allocator)
                return import_input_refuse(m->b.in, m->b.reterr, "%u is no allocator", allocator);
        if (r > 0 && allocator != ALLOCATOR_FREE && allocator != ALLOCATOR_PYMALLOC_FREE)
                r = memray_take_varint(&m->b, &size);
        if (r > 0 && has_native)
                r = memray_take_delta(&m->b, &m->last_native);
        return r > 0 ? put_taken(m, allocator, m->last_address, size,
                                 has_native ? m->last_native : 0)
                     : r;
}

static int take_object(struct memray *m, uint8_t flags) {
        uint64_t address;
        int r = take_address(m, flags >> 1 & 15, &address);

        if (r > 0 && m->head.is_native && flags & 1)
                r = memray_take_delta(&m->b, &m->last_native);
        return r;
}

static int take_memory(struct memray *m) {
        uint64_t rss = 0, ms = 0;
        int r = memray_take_varint(&m->b, &rss);

        if (r > 0)
                r = memray_take_varint(&m->b, &ms);
        if (r <= 0)
                return r;
        if (ms > 1ull << 43 || rss > 1ull << 56)
                return import_input_refuse(m->b.in, m->b.reterr, "a time or a size is too large");
        m->now_ns = MAX(m->now_ns, ms * 1000000);
        r = import_trace_rss(m->t, m->now_ns, rss);
        return r < 0 ? r : 1;
}

static int take_thread_name(struct memray *m) {
        int r = memray_take_string(&m->b);

        if (r > 0 && m->thread)
                m->thread->name = arena_strdup(m->arena, str_text(&m->b.text));
        return r;
}

/* ---- records ------------------------------------------------------------------------------------ */

static int take_record(struct memray *m, uint8_t kind) {
        if (kind & 128)
                return take_event(m, kind & 127);
        if (kind & 64)
                return push_frame(m);
        if (kind & 32)
                return take_object(m, kind & 31);
        if (kind & 16)
                return pop_frames(m, (kind & 15u) + 1);
        switch (kind) {
        case RECORD_FILLER: return 1;
        case RECORD_MEMORY: return take_memory(m);
        case RECORD_NATIVE_FRAME: return add_native(m);
        case RECORD_MAPS_BEGIN: vec_clear(&m->parts); return 1;
        case RECORD_MODULE: return add_module(m);
        case RECORD_THREAD_NAME: return take_thread_name(m);
        case RECORD_THREAD: return switch_thread(m);
        case RECORD_CODE: return add_code(m);
        default: return import_input_refuse(m->b.in, m->b.reterr, "%u is no kind of record", kind);
        }
}

static int take_old_record(struct memray *m, uint8_t byte) {
        uint8_t flags = byte >> 4;

        switch (byte & 15) {
        case OLD_RECORD_ALLOCATION: return take_old_event(m, flags, false);
        case OLD_RECORD_ALLOCATION_WITH_NATIVE: return take_old_event(m, flags, true);
        case OLD_RECORD_FRAME: return add_old_frame(m);
        case OLD_RECORD_FRAME_PUSH: return push_frame(m);
        case OLD_RECORD_NATIVE_FRAME: return add_native(m);
        case OLD_RECORD_MAPS_BEGIN: vec_clear(&m->parts); return 1;
        case OLD_RECORD_MODULE: return add_module(m);
        case OLD_RECORD_FRAME_POP: return pop_frames(m, flags + 1u);
        case OLD_RECORD_THREAD_NAME: return take_thread_name(m);
        case OLD_RECORD_MEMORY: return take_memory(m);
        case OLD_RECORD_THREAD: return switch_thread(m);
        default:
                return import_input_refuse(m->b.in, m->b.reterr, "%u is no kind of record",
                                           byte & 15u);
        }
}

static int read_records(struct memray *m) {
        bool is_old = m->head.version < MEMRAY_HAS_TABLES;
        uint8_t trailer = is_old ? OLD_RECORD_TRAILER | RECORD_TRAILER << 4 : RECORD_TRAILER, kind;
        int r = 1;

        while (r > 0) {
                r = import_input_byte(m->b.in, &kind, m->b.reterr);
                if (r > 0 && kind == trailer) {
                        m->is_whole = true;
                        return 0;
                }
                if (r > 0)
                        r = is_old ? take_old_record(m, kind) : take_record(m, kind);
        }
        return r;
}

static void tell(struct memray *m) {
        if (!m->is_whole)
                import_trace_limit(m->t, "The file is cut off, and what is there was read");
        if (m->drops_native)
                import_trace_limit(
                        m->t,
                        "Call paths are those of Python; native ones are taken where Python has none");
        if (m->has_partial_unmap)
                import_trace_limit(
                        m->t,
                        "Mappings that were unmapped in parts count until the last part went");
}

static int begin(struct memray *m) {
        return import_trace_begin(m->t,
                                  &(struct import_begin){.command = m->head.command,
                                                         .pid = m->head.pid,
                                                         .started_unix_ns =
                                                                 MIN(m->head.start_ms, 1ull << 43) *
                                                                 1000000},
                                  m->b.reterr);
}

static int read_capture(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct memray m = {.b = {.in = in, .reterr = reterr}, .t = t, .arena = arena_new()};
        int r = memray_head_take(&m.b, &m.head, m.arena);

        if (r >= 0)
                r = begin(&m);
        if (r >= 0)
                r = read_records(&m);
        if (r >= 0) {
                tell(&m);
                import_trace_clock_step(t, MEMRAY_STEP_NS);
                import_trace_end(t,
                                 m.head.end_ms > m.head.start_ms
                                         ? MIN(m.head.end_ms - m.head.start_ms, 1ull << 43) *
                                                   1000000
                                         : m.now_ns,
                                 TRACE_ENDED_UNKNOWN, -1);
        }
        for (size_t i = 0; i < m.threads.n; i++)
                vec_free(&m.threads.items[i].stacks);
        vec_free(&m.threads);
        vec_free(&m.codes);
        vec_free(&m.natives);
        vec_free(&m.parts);
        vec_free(&m.mappings);
        map_done(&m.code_of);
        map_done(&m.place_of);
        map_done(&m.thread_of);
        str_done(&m.b.text);
        arena_free(m.arena);
        return r;
}

static bool matches(const uint8_t *head, size_t n) {
        return n > 11 && memcmp(head, "memray", 7) == 0;
}

const struct import_format import_memray = {
        .name = "memray",
        .title = "a memray capture",
        .lacks =
                "times that are up to 10 ms off, and, as frees of unknown addresses, those of blocks from before it began",
        .matches = matches,
        .read = read_capture,
};
