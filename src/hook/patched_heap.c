/* SPDX-License-Identifier: MIT */
#include "hook/patched_heap.h"

#include "hook/event.h"
#include "hook/patched.h"
#include "hook/sample.h"

bool patched_has_heaps;

static void heap_say(struct thread *t, uint64_t heap, enum wire_heap what, const void *block) {
        event_words(t, WIRE_HEAP, (const uint64_t[]){heap, what, (uint64_t)block}, 3);
}

/* ---- mimalloc ---------------------------------------------------------------------------------- */

/* A bit for each heap that was made, by its hash; none is ever cleared. One that only seems to have been made costs a few
 * words on the wire. */
enum { HEAP_FILTER_BITS = 4096 };
static _Atomic uint64_t heap_filter[HEAP_FILTER_BITS / 64];

static unsigned heap_filter_bit(uint64_t heap) {
        return (unsigned)((heap * 0x9e3779b97f4a7c15ull) >> 32) % HEAP_FILTER_BITS;
}

static bool heap_was_made(uint64_t heap) {
        unsigned bit = heap_filter_bit(heap);

        return atomic_load_explicit(&heap_filter[bit / 64], memory_order_relaxed) >> bit % 64 & 1;
}

/* It may have the address of one that its thread left behind when it ended. */
static void heap_is_made(struct thread *t, uint64_t heap) {
        unsigned bit = heap_filter_bit(heap);

        if (!heap)
                return;
        atomic_fetch_or_explicit(&heap_filter[bit / 64], UINT64_C(1) << bit % 64,
                                 memory_order_relaxed);
        patched_has_heaps = true;
        heap_say(t, heap, WIRE_HEAP_KEPT, (const void *)heap);
}

static void heap_is_gone(struct thread *t, uint64_t heap) {
        if (t->heap == heap)
                t->heap = 0; /* its thread goes on with the one it began with */
}

/* ---- jemalloc ---------------------------------------------------------------------------------- */

enum { ARENAS_MAX = 4096, CONTROLS_MAX = 8, MIB_MAX = 4 };
#define ARENA_NONE UINT32_MAX

enum arena_op {
        ARENA_OTHER = 0,
        ARENA_CREATE,
        ARENA_BIND,
        ARENA_RESET,
        ARENA_BATCH, /* many blocks at once */
        ARENA_N_OPS
};

/* A name as jemalloc numbers it. */
struct mib {
        uint64_t parts[MIB_MAX];
        _Atomic uint64_t n; /* 0: the program has not asked for its number */
};

static const char *const arena_names[] = {
        "arenas.create",
        "experimental.arenas_create_ext",
        "arenas.extend",
        "thread.arena",
        "arena.0.reset",
        "arena.0.destroy",
        "experimental.batch_alloc",
};
static const uint8_t arena_name_ops[] = {
        ARENA_CREATE, ARENA_CREATE, ARENA_CREATE, ARENA_BIND, ARENA_RESET, ARENA_RESET, ARENA_BATCH,
};
enum { ARENA_N_NAMES = sizeof(arena_name_ops) };

/* What experimental.batch_alloc is given. */
struct batch {
        void **blocks;
        uint64_t n_blocks, size_bytes;
        int flags;
};

/* One jemalloc of the process. */
struct control {
        struct real_fn batch_fn; /* mallctl when what it allocates is its caller's */
        bool is_used;
        uint16_t group;
        struct mib mibs[ARENA_N_NAMES];
        _Atomic uint64_t made[ARENAS_MAX / 64];    /* arenas of the program's own making */
        _Atomic uint64_t assumed[ARENAS_MAX / 64]; /* with blocks that may be of another */
};

static struct control controls[CONTROLS_MAX];

static struct control *control_of(uint16_t group) {
        for (unsigned i = 0; i < CONTROLS_MAX; i++)
                if (controls[i].is_used && controls[i].group == group)
                        return &controls[i];
        return NULL;
}

static struct control *control_new(uint16_t group) {
        for (unsigned i = 0; i < CONTROLS_MAX; i++)
                if (!controls[i].is_used) {
                        controls[i].group = group;
                        controls[i].is_used = true;
                        return &controls[i];
                }
        return NULL;
}

static bool control_is_about(const struct wire_entry *entry) {
        return entry->call >= WIRE_CALL_CONTROL && entry->call <= WIRE_CALL_NAME_TO_MIB;
}

void patched_heap_know(const struct wire_entry *entry) {
        if (control_is_about(entry) && !control_of(entry->group))
                control_new(entry->group);
}

void patched_heap_forget(const struct wire_entry *entry) {
        struct control *c = control_is_about(entry) ? control_of(entry->group) : NULL;

        if (!c)
                return;
        c->is_used = false;
        for (unsigned i = 0; i < ARENA_N_NAMES; i++)
                atomic_store_explicit(&c->mibs[i].n, 0, memory_order_relaxed);
        for (unsigned i = 0; i < ARENAS_MAX / 64; i++) {
                atomic_store_explicit(&c->made[i], 0, memory_order_relaxed);
                atomic_store_explicit(&c->assumed[i], 0, memory_order_relaxed);
        }
}

static uint64_t arena_heap(const struct control *c, uint32_t arena) {
        return PATCHED_HEAP_ARENA | (uint64_t)(c - controls) << 32 | arena;
}

static bool arena_has(const _Atomic uint64_t *bits, uint32_t arena) {
        return arena < ARENAS_MAX &&
               atomic_load_explicit(&bits[arena / 64], memory_order_relaxed) >> arena % 64 & 1;
}

static void arena_note(_Atomic uint64_t *bits, uint32_t arena) {
        if (arena < ARENAS_MAX && !arena_has(bits, arena))
                atomic_fetch_or_explicit(&bits[arena / 64], UINT64_C(1) << arena % 64,
                                         memory_order_relaxed);
}

static bool arena_was_made(const struct control *c, uint32_t arena) {
        return arena_has(c->made, arena);
}

/* The number in the place of the second part, or ARENA_NONE. */
static uint32_t arena_number(uint64_t number) {
        return number < ARENAS_MAX ? (uint32_t)number : ARENA_NONE;
}

static enum arena_op arena_op_of_mib(const struct control *c, const uint64_t *mib, uint64_t n,
                                     uint32_t *ret_arena) {
        if (!mib)
                return ARENA_OTHER;
        for (unsigned i = 0; i < ARENA_N_NAMES; i++) {
                const struct mib *known = &c->mibs[i];
                bool is_it = atomic_load_explicit(&known->n, memory_order_acquire) == n && n > 1 &&
                             known->parts[0] == mib[0];

                if (arena_name_ops[i] != ARENA_RESET)
                        is_it = is_it && known->parts[1] == mib[1];
                for (unsigned k = 2; is_it && k < n; k++)
                        is_it = known->parts[k] == mib[k];
                if (!is_it)
                        continue;
                *ret_arena = arena_number(mib[1]);
                return arena_name_ops[i];
        }
        return ARENA_OTHER;
}

/* Whether text is pattern, whose 0 stands for any number. */
static bool arena_name_is(const char *text, const char *pattern, uint32_t *ret_arena) {
        for (; *pattern; pattern++) {
                if (*pattern == '0' && *text >= '0' && *text <= '9') {
                        uint64_t number = 0;

                        while (*text >= '0' && *text <= '9' && number < ARENAS_MAX)
                                number = number * 10 + (uint64_t)(*text++ - '0');
                        *ret_arena = arena_number(number);
                } else if (*text++ != *pattern) {
                        return false;
                }
        }
        return *text == '\0';
}

static enum arena_op arena_op_of_name(const char *name, uint32_t *ret_arena) {
        for (unsigned i = 0; name && i < ARENA_N_NAMES; i++)
                if (arena_name_is(name, arena_names[i], ret_arena))
                        return arena_name_ops[i];
        return ARENA_OTHER;
}

/* mallctlnametomib(name, mib, n_mib) has said so. silt does not ask itself: that would take jemalloc's control lock on the program's thread,
 * and who holds it may wait for that thread (an extent hook of the program's own). Two threads that do it at once write the same. */
static void control_learn_mib(struct control *c, const char *name, const uint64_t *parts,
                              uint64_t n) {
        uint32_t ignored;

        for (unsigned i = 0; i < ARENA_N_NAMES && n <= MIB_MAX; i++) {
                if (!arena_name_is(name, arena_names[i], &ignored))
                        continue;
                for (unsigned k = 0; k < n; k++)
                        c->mibs[i].parts[k] = parts[k];
                atomic_store_explicit(&c->mibs[i].n, n, memory_order_release);
        }
}

/* mallctl(name, oldp, oldlenp, newp, newlen), mallctlbymib(mib, miblen, oldp, oldlenp, newp, newlen). */
static bool arena_before(struct patched_frame *f, struct thread *t, bool is_sampled) {
        struct control *c = control_of(f->entry->group);
        bool is_mib = f->entry->call == WIRE_CALL_CONTROL_MIB;
        const uint64_t *value = f->regs + (is_mib ? 2 : 1); /* oldp, oldlenp, newp, newlen */
        uint32_t arena = ARENA_NONE;
        enum arena_op op;

        /* one of the two may be made of the other */
        if (!c || (t->in_real && real_fn_has(t->in_real, (const void *)f->pc)))
                return false;
        op = is_mib ? arena_op_of_mib(c, (const uint64_t *)f->regs[0], f->regs[1], &arena)
                    : arena_op_of_name((const char *)f->regs[0], &arena);
        f->block = NULL;
        if (is_sampled && op != ARENA_BATCH)
                return false;
        switch (op) {
        case ARENA_CREATE:
                if (!value[0])
                        return false; /* nobody will know its number */
                f->block = (void *)value[0];
                break;
        case ARENA_BIND:
                if (!value[2] || value[3] != sizeof(uint32_t))
                        return false;
                arena = *(const uint32_t *)value[2];
                break;
        case ARENA_RESET:
                if (!arena_was_made(c, arena))
                        return false;
                if (arena_has(c->assumed, arena))
                        runtime_mark_unfollowed(WIRE_UNFOLLOWED_CACHES);
                heap_say(t, arena_heap(c, arena), WIRE_HEAP_BEGIN, NULL);
                break;
        case ARENA_BATCH:
                if (!value[0] || !value[2] || value[3] != sizeof(struct batch))
                        return false; /* it does nothing then */
                f->block = (void *)value[2];
                break;
        default: return false;
        }
        f->size_bytes = op;
        f->heap = arena_heap(c, arena);
        return true;
}

const struct real_fn *patched_heap_fn(const struct patched_frame *f, const struct real_fn *fn) {
        struct control *c = f->entry->call >= WIRE_CALL_CONTROL && f->size_bytes == ARENA_BATCH
                                    ? control_of(f->entry->group)
                                    : NULL;
        struct real_fn batch;

        if (!c)
                return fn;
        batch = *fn;
        batch.kinds = REAL_ALLOCATES;
        c->batch_fn = batch; /* each word the same whoever writes it: others are in it */
        return &c->batch_fn;
}

static void arena_is_made(struct control *c, uint32_t arena) {
        if (arena >= ARENAS_MAX)
                return;
        arena_note(c->made, arena);
        patched_has_heaps = true;
}

static uint64_t arena_of_flags(const struct control *c, const struct thread *t, uint32_t flags);

/* Each block as if it had been asked for alone. How many there are is in what oldp points to. */
static void arena_log_batch(struct patched_frame *f, const struct control *c) {
        const struct batch *batch = f->block;
        const uint64_t *oldp = f->regs + (f->entry->call == WIRE_CALL_CONTROL_MIB ? 2 : 1);
        uint64_t n = *(const uint64_t *)*oldp;
        struct unwind_regs from = patched_caller(f);

        f->heap = patched_has_heaps && !runtime.is_sampled
                          ? arena_of_flags(c, f->t, (uint32_t)batch->flags)
                          : 0;
        for (uint64_t i = 0; i < n && i < batch->n_blocks; i++) {
                if (f->heap)
                        patched_heap_tell(f, batch->blocks[i]);
                if (runtime.is_sampled)
                        sample_alloc(f->t, batch->blocks[i], batch->size_bytes,
                                     f->entry->form | WIRE_FORM_MALLOC, &from);
                else
                        event_alloc(f->t, batch->blocks[i], batch->size_bytes,
                                    f->entry->form | WIRE_FORM_MALLOC, &from);
        }
}

static void arena_after(struct patched_frame *f, bool is_done) {
        struct control *c = control_of(f->entry->group);
        uint32_t arena = (uint32_t)f->heap;

        if (!c)
                return;
        if (f->size_bytes == ARENA_BATCH) {
                if (is_done)
                        arena_log_batch(f, c);
                return;
        }
        if (f->size_bytes == ARENA_RESET)
                heap_say(f->t, f->heap, is_done ? WIRE_HEAP_RELEASED : WIRE_HEAP_FAILED, NULL);
        if (!is_done)
                return;
        if (f->size_bytes == ARENA_CREATE)
                arena_is_made(c, *(const uint32_t *)f->block);
        /* what its cache holds of an arena outlasts the binding */
        if (f->size_bytes == ARENA_BIND && (f->t->arena || arena_was_made(c, arena)))
                f->t->arena = PATCHED_HEAP_ASSUMED | f->heap;
}

/* The thread's arena, if its cache may hold blocks of one that the program made. */
static uint64_t arena_of_thread(const struct control *c, const struct thread *t) {
        return t->arena && (t->arena & ~PATCHED_HEAP_ASSUMED) >> 32 == arena_heap(c, 0) >> 32
                       ? t->arena
                       : 0;
}

/* MALLOCX_ARENA, MALLOCX_TCACHE, MALLOCX_TCACHE_NONE: the arena's number and 1; the cache's and 2, or 1 for none. */
static uint64_t arena_of_flags(const struct control *c, const struct thread *t, uint32_t flags) {
        uint32_t arena = flags >> 20, cache = flags >> 8 & 0xfff;

        if (arena && cache == 1)
                return arena_was_made(c, arena - 1) ? arena_heap(c, arena - 1) : 0;
        if (arena)
                return PATCHED_HEAP_ASSUMED | arena_heap(c, arena - 1);
        return arena_of_thread(c, t);
}

/* ---- allocations ------------------------------------------------------------------------------- */

uint64_t patched_heap_asked(const struct patched_frame *f, const struct thread *t) {
        unsigned heap = f->entry->heap;
        const struct control *c;

        if (heap >= WIRE_ENTRY_HEAP_ARG && heap < WIRE_ENTRY_HEAP_FLAGS) {
                uint64_t named = f->regs[heap - WIRE_ENTRY_HEAP_ARG];

                return heap_was_made(named) ? named : 0;
        }
        if (heap == 0 || heap == WIRE_ENTRY_HEAP_NONE_INNER)
                return 0;
        c = control_of(f->entry->group);
        if (!c)
                return heap == WIRE_ENTRY_HEAP_OF_THREAD ? t->heap : 0;
        return heap >= WIRE_ENTRY_HEAP_FLAGS
                       ? arena_of_flags(c, t, (uint32_t)f->regs[heap - WIRE_ENTRY_HEAP_FLAGS])
                       : arena_of_thread(c, t);
}

void patched_heap_tell(const struct patched_frame *f, void *block) {
        uint64_t heap = f->heap & ~PATCHED_HEAP_ASSUMED;

        if (f->heap & PATCHED_HEAP_ARENA) {
                struct control *c = control_of(f->entry->group);
                uint32_t arena = (uint32_t)heap;

                if (!c || !arena_was_made(c, arena))
                        return;
                if (f->heap & PATCHED_HEAP_ASSUMED)
                        arena_note(c->assumed, arena);
        }
        heap_say(f->t, heap, WIRE_HEAP_NEXT, block);
}

/* ---- calls about heaps ------------------------------------------------------------------------- */

bool patched_heap_before(struct patched_frame *f, struct thread *t, bool is_sampled) {
        uint64_t heap = f->regs[0];

        if (is_sampled && f->entry->call < WIRE_CALL_CONTROL)
                return false;
        switch (f->entry->call) {
        case WIRE_CALL_HEAP_NEW: /* what may not be destroyed is handed over instead */
                return f->entry->size_arg == WIRE_ENTRY_NO_ARG ||
                       (uint8_t)f->regs[f->entry->size_arg];
        case WIRE_CALL_HEAP_DEFAULT: f->heap = heap; return true;
        case WIRE_CALL_HEAP_DESTROY:
                if (!heap_was_made(heap))
                        return false;
                heap_say(t, heap, WIRE_HEAP_BEGIN, NULL);
                f->heap = heap;
                return true;
        case WIRE_CALL_HEAP_DELETE:
                if (heap_was_made(heap))
                        heap_say(t, heap, WIRE_HEAP_KEPT, NULL);
                heap_is_gone(t, heap);
                return false;
        case WIRE_CALL_NAME_TO_MIB:
                f->block = (void *)f->regs[0]; /* the result may come into its register */
                return f->regs[0] && f->regs[1] && f->regs[2];
        default: return arena_before(f, t, is_sampled);
        }
}

void patched_heap_after(struct patched_frame *f, uint64_t result) {
        struct control *c;

        switch (f->entry->call) {
        case WIRE_CALL_HEAP_NEW: heap_is_made(f->t, result); break;
        case WIRE_CALL_HEAP_DEFAULT: f->t->heap = heap_was_made(f->heap) ? f->heap : 0; break;
        case WIRE_CALL_HEAP_DESTROY:
                heap_say(f->t, f->heap, WIRE_HEAP_RELEASED, NULL);
                heap_is_gone(f->t, f->heap);
                break;
        case WIRE_CALL_NAME_TO_MIB:
                c = control_of(f->entry->group);
                if (c && (int)result == 0)
                        control_learn_mib(c, f->block, (const uint64_t *)f->regs[1],
                                          *(const uint64_t *)f->regs[2]);
                break;
        default: arena_after(f, (int)result == 0); break;
        }
}
