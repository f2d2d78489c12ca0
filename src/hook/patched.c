/* SPDX-License-Identifier: MIT */
/* The hooks behind patched entries. A compiler that has seen both a function and its caller knows which registers the
 * function leaves alone, and keeps values there over the call. So a hook must not change any that the function itself
 * does not: patched_enter.S saves them all around the two halves of a hook, before the call and after it. The
 * runtime uses no vector registers. Otherwise these are the hooks of malloc.c: a release is logged before the
 * call, an allocation after it, and only the outermost call. */
#include "hook/patched.h"

#include <errno.h>
#include <link.h>
#include <sys/mman.h>

#include "hook/call.h"
#include "hook/event.h"
#include "hook/new.h"
#include "hook/rendezvous.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

struct wire_entry patched_entries[WIRE_PLAN_MAX_ENTRIES];
/* The same, as thread_is_recursion wants it: all of the allocator's code. */
static struct real_fn patched_fns[WIRE_PLAN_MAX_ENTRIES];
static uint32_t patched_n;

/* Instructions that were written are what runs from now on. */
static void patched_flush(uint8_t *code, size_t n_bytes) {
#if defined(__aarch64__)
        uint64_t types, line_bytes;

        __asm__("mrs %0, ctr_el0" : "=r"(types));
        line_bytes = 4u << (types >> 16 & 15);
        for (uintptr_t p = (uintptr_t)code & -line_bytes; p < (uintptr_t)code + n_bytes;
             p += line_bytes)
                __asm__ volatile("dc cvau, %0" ::"r"(p) : "memory");
        __asm__ volatile("dsb ish" ::: "memory");
        line_bytes = 4u << (types & 15);
        for (uintptr_t p = (uintptr_t)code & -line_bytes; p < (uintptr_t)code + n_bytes;
             p += line_bytes)
                __asm__ volatile("ic ivau, %0" ::"r"(p) : "memory");
        __asm__ volatile("dsb ish\n\tisb" ::: "memory");
#else
        (void)code, (void)n_bytes;
        __asm__ volatile("" ::: "memory");
#endif
}

/* ---- hooks ------------------------------------------------------------------------------- */

/* A call of a patched function, as patched_enter.S has saved it. */
struct patched_frame {
#if defined(__aarch64__)
        uint64_t fp, pc;   /* the caller's */
        uint64_t regs[16]; /* x0 … x15: arguments, later what the function left there */
        uint64_t x18;
        const struct wire_entry *entry;
#else
        uint64_t regs[9]; /* rdi, rsi, rdx, rcx, r8, r9, rax, r10, r11 */
#endif
        /* from patched_before to patched_after: the function may change its arguments */
        struct thread *t;
        const struct real_fn *outer;
        uint64_t size_bytes, outer_bytes;
        void *block;
        uint64_t reserved;
#if !defined(__aarch64__)
        uint64_t fp;
        const struct wire_entry *entry;
        uint64_t pc;
#endif
        /* the caller's stack follows */
};

#if defined(__aarch64__)
enum { PATCHED_RESULT = 0 };
_Static_assert(sizeof(struct patched_frame) == 208, "as patched_enter.S has it");
_Static_assert(offsetof(struct patched_frame, t) == 160, "as patched_enter.S has it");
_Static_assert(offsetof(struct patched_frame, outer) == 168, "as patched_enter.S has it");
_Static_assert(offsetof(struct thread, in_real) == 176, "as patched_enter.S has it");
_Static_assert(offsetof(struct wire_entry, call) == 24, "as patched_enter.S has it");
_Static_assert(WIRE_CALL_FREE == 5, "as patched_enter.S has it");
#else
enum { PATCHED_RESULT = 6 };
_Static_assert(sizeof(struct patched_frame) == 144, "as patched_enter.S has it");
#endif

/* In patched_enter.S. */
void patched_enter(void);
void patched_enter_throws(void);

/* From there. */
bool patched_before(struct patched_frame *f);
void patched_after(struct patched_frame *f);

static uint64_t patched_size(const struct patched_frame *f) {
        const struct wire_entry *entry = f->entry;
        uint64_t size_bytes = entry->size_arg == WIRE_ENTRY_NO_ARG ? 0 : f->regs[entry->size_arg];

        if (entry->count_arg != WIRE_ENTRY_NO_ARG &&
            __builtin_mul_overflow(size_bytes, f->regs[entry->count_arg], &size_bytes))
                size_bytes = SIZE_MAX;
        return size_bytes;
}

static struct unwind_regs patched_caller(const struct patched_frame *f) {
        return (struct unwind_regs){.pc = f->pc, .sp = (uint64_t)(f + 1), .fp = f->fp};
}

static void patched_log_free(const struct patched_frame *f, struct thread *t) {
        uint64_t size_bytes = f->entry->size_arg == WIRE_ENTRY_NO_ARG ? WIRE_NO_SIZE
                                                                      : f->regs[f->entry->size_arg];

        if (unlikely(runtime.free_stacks)) {
                struct unwind_regs from = patched_caller(f);

                event_free_stack(t, f->block, size_bytes, &from);
        } else {
                event_free(t, f->block, size_bytes);
        }
}

/* ---- writing ----------------------------------------------------------------------------- */

/* What was written where, to be written again when an object comes back to its place. */
static struct wire_plan_write patched_writes[WIRE_PLAN_MAX_ENTRIES];
static uint32_t patched_n_writes, patched_n_done, patched_n_failed;

static bool patched_write(const struct wire_plan_write *w) {
        uintptr_t begin = w->at & -(uintptr_t)runtime.page_bytes;
        uintptr_t end =
                (w->at + w->n_bytes + runtime.page_bytes - 1) & -(uintptr_t)runtime.page_bytes;
        volatile uint8_t *code = (volatile uint8_t *)w->at;

        if (w->n_bytes == 0 || w->n_bytes > WIRE_PLAN_MAX_WRITE)
                return false;
        for (uint32_t i = 0; i < w->n_bytes; i++)
                if (code[i] != w->before[i])
                        return false;
        if (sys_call3(SYS_mprotect, (long)begin, (long)(end - begin),
                      PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
                return false;
        if (w->n_bytes == 4 && w->at % 4 == 0)
                *(volatile uint32_t *)code = *(const uint32_t *)w->after;
        else
                for (uint32_t i = 0; i < w->n_bytes; i++)
                        code[i] = w->after[i];
        patched_flush((uint8_t *)w->at, w->n_bytes);
        sys_call3(SYS_mprotect, (long)begin, (long)(end - begin), PROT_READ | PROT_EXEC);
        return true;
}

static bool patched_write_again(uintptr_t base) {
        struct code_range range = real_image_range(base);
        bool is_any = false;

        for (uint32_t i = 0; i < patched_n_writes; i++)
                if (code_range_has(&range, patched_writes[i].at))
                        is_any |= patched_write(&patched_writes[i]);
        return is_any;
}

/* ---- objects that are opened later ------------------------------------------------------- */

/* The recorder is asked about a file once, and again only if it had an allocator: programs open and close the same
 * ones a hundred thousand times. */
enum patched_file_state { PATCHED_NEW = 0, PATCHED_PLAIN, PATCHED_HAS_ALLOCATOR };

struct patched_file {
        uint64_t name_hash; /* 0: free */
        uint64_t addr;      /* where it was when it was last met */
        uint32_t look;      /* when that was */
        enum patched_file_state state;
};

enum { PATCHED_N_FILES = 1024, PATCHED_PROBES_MAX = 64 };

static struct patched_file patched_files[PATCHED_N_FILES];
static uint32_t patched_look; /* counts */
static uint64_t patched_news[WIRE_MAX_NEWS];
static uint32_t patched_n_news; /* may be more than there is room for */
extern struct r_debug _r_debug;

static uint64_t patched_name_hash(const char *name) {
        uint64_t hash = 14695981039346656037u;

        for (; *name; name++)
                hash = (hash ^ (uint8_t)*name) * 1099511628211u;
        return hash ? hash : 1;
}

/* NULL: there is no room to remember it. */
static struct patched_file *patched_file(const char *name) {
        uint64_t hash = patched_name_hash(name);

        for (unsigned i = 0; i < PATCHED_PROBES_MAX; i++) {
                struct patched_file *f = &patched_files[(hash + i) % PATCHED_N_FILES];

                if (f->name_hash == 0)
                        f->name_hash = hash;
                if (f->name_hash == hash)
                        return f;
        }
        return NULL;
}

/* A file with an allocator is there again. Where it was before, all is prepared. */
static bool patched_is_back(const struct patched_file *f, const struct link_map *m) {
        if (f->state != PATCHED_HAS_ALLOCATOR ||
            (f->look + 1 == patched_look && f->addr == m->l_addr))
                return false;
        return f->addr != m->l_addr || !patched_write_again(m->l_addr);
}

/* Which objects of the loader's list the recorder is to be asked about: files it was never asked about, or with an allocator
 * and not there before. */
static void patched_find_news(void) {
        patched_look++;
        patched_n_news = 0;
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct patched_file *f = patched_file(m->l_name);

                if (!f)
                        continue;
                if (f->state == PATCHED_NEW || patched_is_back(f, m)) {
                        if (patched_n_news < WIRE_MAX_NEWS)
                                patched_news[patched_n_news] = m->l_addr;
                        patched_n_news++;
                }
                f->look = patched_look;
                f->addr = m->l_addr;
        }
}

static void patched_settle_files(enum patched_file_state state) {
        for (unsigned i = 0; i < PATCHED_N_FILES; i++)
                if (patched_files[i].name_hash && patched_files[i].state == PATCHED_NEW)
                        patched_files[i].state = state;
}

/* Those the image begins with were planned for when it said hello. */
static void patched_know_files(void) {
        patched_find_news();
        patched_settle_files(PATCHED_PLAIN);
}

/* ld.so has changed its list, or is about to. The thread holds the loader's lock; what is new has not run yet. */
static void patched_loaded(void) {
        static bool is_adding;

        if (_r_debug.r_state != RT_CONSISTENT) {
                is_adding = _r_debug.r_state == RT_ADD;
                return;
        }
        if (runtime.is_confined || !runtime_is_recording())
                return;
        patched_find_news();
        if (patched_n_news && is_adding)
                patched_settle_files(rendezvous_plan_again(runtime.rendezvous)
                                             ? PATCHED_HAS_ALLOCATOR
                                             : PATCHED_PLAIN);
        is_adding = false;
}

/* Calls of all kinds, inner ones too. */
static __attribute__((noinline)) bool patched_before_any(struct patched_frame *f) {
        const struct wire_entry *entry = f->entry;
        const struct real_fn *fn = &patched_fns[entry - patched_entries];
        struct thread *t;

        if (unlikely(entry->call == WIRE_CALL_LOADED)) {
                patched_loaded();
                return false;
        }
        t = thread_get();
        if (unlikely(!t))
                return false;
        if (unlikely(thread_is_recursion(t, (const void *)f->pc, fn->kinds))) {
                t->in_inner = fn; /* what this one calls belongs to the outer call too */
                return false;
        }
        if (entry->block_arg != WIRE_ENTRY_NO_ARG)
                f->block = (void *)f->regs[entry->block_arg];
        if (entry->call == WIRE_CALL_FREE) {
                if (!f->block)
                        return false;
                patched_log_free(f, t);
        } else {
                f->size_bytes = patched_size(f);
                if (entry->call == WIRE_CALL_REALLOC && f->block)
                        event_realloc_begin(t, f->block);
                else if (entry->call == WIRE_CALL_ALLOC_OUT)
                        f->block = (void *)f->regs[0];
                f->outer_bytes = t->new_size_bytes;
                t->new_size_bytes = f->size_bytes;
        }
        f->t = t;
        f->outer = call_begin(t, fn);
        return true;
}

static __attribute__((noinline)) bool patched_before_free(struct patched_frame *f,
                                                          struct thread *t) {
        f->block = (void *)f->regs[f->entry->block_arg];
        if (unlikely(!f->block))
                return false;
        f->t = t;
        patched_log_free(f, t);
        f->outer = call_begin(t, &patched_fns[f->entry - patched_entries]);
        return true;
}

/* False: the call is none of ours, and the function goes on as if nobody had looked. Most calls are plain ones from outside: an
 * allocation takes few instructions and no frame, a release what logging it takes; the rest above. */
bool patched_before(struct patched_frame *f) {
        const struct wire_entry *entry = f->entry;
        struct thread *t = thread_self;

        if (unlikely(!t) || unlikely(t->in_real != NULL) ||
            unlikely(runtime_phase() != RUNTIME_RECORDING))
                return patched_before_any(f);
        if (entry->call == WIRE_CALL_FREE)
                return patched_before_free(f, t);
        if (entry->call > WIRE_CALL_ALLOC_THROWS)
                return patched_before_any(f);
        f->size_bytes = patched_size(f);
        f->outer_bytes = t->new_size_bytes;
        t->new_size_bytes = f->size_bytes;
        f->t = t;
        f->outer = call_begin(t, &patched_fns[entry - patched_entries]);
        return true;
}

static void patched_log_alloc(struct patched_frame *f, void *block) {
        struct unwind_regs from = patched_caller(f);

        if (likely(block != NULL))
                event_alloc(f->t, block, f->size_bytes, f->entry->form, &from);
        else
                event_failed(f->t, f->size_bytes);
}

/* The block has the new size, or stays as it was; nobody else can be given its address meanwhile. */
static void patched_log_resize(struct patched_frame *f, uint64_t usable_bytes) {
        struct unwind_regs from = patched_caller(f);

        if (!f->block || usable_bytes < f->size_bytes)
                return;
        event_realloc_begin(f->t, f->block);
        event_realloc_done(f->t, f->block, f->block, f->size_bytes, f->entry->form, &from);
}

static uint64_t patched_text_bytes(const char *text) {
        uint64_t n = 0;

        while (text && text[n])
                n++;
        return n + 1;
}

void patched_after(struct patched_frame *f) {
        uint64_t result = f->regs[PATCHED_RESULT];
        struct unwind_regs from;

        call_end(f->t, f->outer);
        if (f->entry->call == WIRE_CALL_FREE)
                return;
        f->t->new_size_bytes = f->outer_bytes;
        switch (f->entry->call) {
        case WIRE_CALL_REALLOC:
                from = patched_caller(f);
                event_realloc_done(f->t, f->block, (void *)result, f->size_bytes, f->entry->form,
                                   &from);
                break;
        case WIRE_CALL_RESIZE: patched_log_resize(f, result); break;
        case WIRE_CALL_ALLOC_OUT:
                patched_log_alloc(f, (int)result == 0 ? *(void **)f->block : NULL);
                break;
        case WIRE_CALL_ALLOC_TEXT:
                f->size_bytes = patched_text_bytes((const char *)result);
                patched_log_alloc(f, (void *)result);
                break;
        default: patched_log_alloc(f, (void *)result); break;
        }
}

void patched_introduce(struct wire_hello *hello) {
        for (unsigned i = 0; i < WIRE_N_CALLS; i++)
                hello->hooks[i] = (uint64_t)patched_enter;
        hello->hooks[WIRE_CALL_ALLOC_THROWS] = (uint64_t)patched_enter_throws;
        hello->entries = (uint64_t)patched_entries;
        hello->n_entries = patched_n;
        hello->n_news = patched_n_news;
        hello->reserved = 0;
        for (unsigned i = 0; i < WIRE_MAX_NEWS; i++)
                hello->news[i] = patched_news[i];
}

/* ---- putting patches in ------------------------------------------------------------------ */

static unsigned patched_kinds(uint8_t call) {
        switch (call) {
        case WIRE_CALL_FREE: return REAL_RELEASES;
        case WIRE_CALL_REALLOC:
        case WIRE_CALL_RESIZE: return REAL_ALLOCATES | REAL_RELEASES;
        default: return REAL_ALLOCATES;
        }
}

static bool plan_is_sound(const struct wire_plan *plan, uint64_t plan_bytes) {
        uint64_t n_bytes = sizeof(*plan);

        if (plan_bytes < sizeof(*plan) || plan->magic != WIRE_PLAN_MAGIC ||
            plan->size_bytes != plan_bytes || plan->n_sections > WIRE_PLAN_MAX_SECTIONS ||
            plan->n_entries > WIRE_PLAN_MAX_ENTRIES - patched_n ||
            plan->n_writes > WIRE_PLAN_MAX_ENTRIES)
                return false;
        n_bytes += plan->n_sections * sizeof(struct wire_plan_section) +
                   plan->n_writes * sizeof(struct wire_plan_write) +
                   plan->n_entries * sizeof(struct wire_entry);
        return n_bytes <= plan_bytes;
}

/* Code at an address where nothing is; taken back when it cannot be had whole. */
static bool patched_map_section(const struct wire_plan_section *s, const uint8_t *plan,
                                uint64_t plan_bytes) {
        long pages;

        if (s->n_bytes == 0 || s->n_bytes > plan_bytes || s->off > plan_bytes - s->n_bytes ||
            (s->addr | s->n_bytes) & (runtime.page_bytes - 1))
                return false;
        pages = sys_mmap((void *)s->addr, s->n_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (sys_is_error(pages))
                return false;
        if ((uint64_t)pages != s->addr) { /* a kernel that takes the address for a wish */
                sys_munmap((void *)pages, s->n_bytes);
                return false;
        }
        for (uint64_t i = 0; i < s->n_bytes; i += 8)
                *(volatile uint64_t *)(pages + (long)i) = *(const uint64_t *)(plan + s->off + i);
        patched_flush((uint8_t *)pages, s->n_bytes);
        if (sys_call3(SYS_mprotect, pages, (long)s->n_bytes, PROT_READ | PROT_EXEC) == 0)
                return true;
        sys_munmap((void *)pages, s->n_bytes);
        return false;
}

static void patched_take_entries(const struct wire_entry *entries, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                uint32_t at = patched_n + i;

                patched_entries[at] = entries[i];
                patched_fns[at] =
                        (struct real_fn){(void *)entries[i].code_begin, entries[i].code_end,
                                         patched_kinds(entries[i].call)};
        }
        patched_n += n;
}

/* What has no room is left out. */
static void patched_apply_plan(const struct wire_plan *plan) {
        const struct wire_plan_section *sections = (const void *)(plan + 1);
        const struct wire_plan_write *writes = (const void *)(sections + plan->n_sections);
        uint64_t mapped = 0; /* a bit for each section */

        for (uint32_t i = 0; i < plan->n_sections; i++)
                if (patched_map_section(&sections[i], (const uint8_t *)plan, plan->size_bytes))
                        mapped |= UINT64_C(1) << i;
        patched_take_entries((const void *)(writes + plan->n_writes), plan->n_entries);
        for (uint32_t i = 0; i < plan->n_writes; i++) {
                bool has_room = writes[i].section < WIRE_PLAN_MAX_SECTIONS &&
                                mapped >> writes[i].section & 1;

                if (!has_room || !patched_write(&writes[i])) {
                        patched_n_failed++;
                        continue;
                }
                patched_n_done++;
                if (patched_n_writes < WIRE_PLAN_MAX_ENTRIES)
                        patched_writes[patched_n_writes++] = writes[i];
        }
}

void patched_tell(void) {
        atomic_store_explicit(&runtime.process->n_patched, patched_n_done, memory_order_relaxed);
        atomic_store_explicit(&runtime.process->n_unpatched, patched_n_failed,
                              memory_order_relaxed);
}

/* A wish: the kernel would put the plan where it has room, which is where the sections may have to go. */
#define PATCHED_PLAN_ADDR ((void *)0x100000000000)

void patched_apply(int plan_fd, uint64_t plan_bytes) {
        long plan;

        if (plan_bytes == 0 || plan_bytes > WIRE_PLAN_MAX_BYTES)
                return;
        plan = sys_mmap(PATCHED_PLAN_ADDR, plan_bytes, PROT_READ, MAP_PRIVATE, plan_fd, 0);
        if (sys_is_error(plan))
                return;
        if (patched_n == 0)
                patched_know_files();
        if (plan_is_sound((const struct wire_plan *)plan, plan_bytes))
                patched_apply_plan((const struct wire_plan *)plan);
        sys_munmap((void *)plan, plan_bytes);
}
