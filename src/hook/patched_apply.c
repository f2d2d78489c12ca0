/* SPDX-License-Identifier: MIT */
/* Puts a plan of the recorder's (wire/patch_plan.h) into this process: maps the room, takes the entries, compares and writes. Whatever
 * is not as it should be is left alone and counted. */
#include <sys/mman.h>

#include "hook/patched.h"
#include "hook/patched_heap.h"
#include "hook/patched_table.h"
#include "hook/runtime.h"
#include "wire/sys.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

struct wire_entry patched_entries[WIRE_PLAN_MAX_ENTRIES];
struct real_fn patched_fns[WIRE_PLAN_MAX_ENTRIES];
static uint32_t patched_n_plans;
static uint16_t patched_n_groups; /* of all plans so far */

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

/* ---- writing ----------------------------------------------------------------------------- */

struct wire_plan_write patched_writes[WIRE_PLAN_MAX_ENTRIES];
static uint32_t patched_n_done, patched_n_failed;
static bool patched_is_deferred; /* others run the code: silt writes, with all threads stopped */

static bool patched_is_code(const volatile uint8_t *code, const uint8_t *wanted, uint32_t n_bytes) {
        for (uint32_t i = 0; i < n_bytes; i++)
                if (code[i] != wanted[i])
                        return false;
        return true;
}

bool patched_write(const struct wire_plan_write *w) {
        uintptr_t begin = w->at & -(uintptr_t)runtime.page_bytes;
        uintptr_t end =
                (w->at + w->n_bytes + runtime.page_bytes - 1) & -(uintptr_t)runtime.page_bytes;
        volatile uint8_t *code = (volatile uint8_t *)w->at;

        if (w->n_bytes == 0 || w->n_bytes > WIRE_PLAN_MAX_WRITE)
                return false;
        if (patched_is_code(code, w->after, w->n_bytes)) /* silt was faster, or another silt */
                return true;
        if (!patched_is_code(code, w->before, w->n_bytes))
                return false;
        if (patched_is_deferred)
                return true;
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

/* ---- putting patches in ------------------------------------------------------------------ */

static unsigned patched_kinds(const struct wire_entry *entry) {
        unsigned open = entry->heap & WIRE_ENTRY_OPEN ? REAL_OPEN : 0;

        switch (entry->call) {
        case WIRE_CALL_FREE: return REAL_RELEASES | open;
        case WIRE_CALL_REALLOC:
        case WIRE_CALL_RESIZE: return REAL_ALLOCATES | REAL_RELEASES | open;
        case WIRE_CALL_ALLOC:
        case WIRE_CALL_ALLOC_THROWS:
        case WIRE_CALL_ALLOC_OUT:
        case WIRE_CALL_ALLOC_TEXT: return REAL_ALLOCATES | open;
        default: return 0; /* what they allocate and release themselves are calls of their own */
        }
}

static bool plan_is_sound(const struct wire_plan *plan, uint64_t plan_bytes) {
        uint64_t n_bytes = sizeof(*plan);
        uint32_t n_free;

        patched_find_free(&n_free);
        if (plan_bytes < sizeof(*plan) || plan->magic != WIRE_PLAN_MAGIC ||
            plan->size_bytes != plan_bytes || plan->n_sections == 0 ||
            plan->n_sections > WIRE_PLAN_MAX_SECTIONS || plan->n_entries > n_free ||
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
        if (sys_call3(SYS_mprotect, pages, (long)s->n_bytes, PROT_READ | PROT_EXEC) == 0) {
                runtime_remember(s->addr, s->n_bytes);
                return true;
        }
        sys_munmap((void *)pages, s->n_bytes);
        return false;
}

/* ---- what is there already ----------------------------------------------------------------- */

/* By entry of the plan: what is to be taken of it. Of objects that were planned for before it says all once more. */
static uint8_t patched_is_wanted[WIRE_PLAN_MAX_ENTRIES];

static bool patched_plan_is_sound(const struct wire_plan *plan, const struct wire_plan_write *w) {
        return w->section < plan->n_sections && w->entry < plan->n_entries;
}

/* The number of its allocator is the new recorder's. */
static bool patched_is_known(const struct wire_plan_write *w, const struct wire_entry *entry) {
        for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++) {
                const struct wire_plan_write *known = &patched_writes[i];

                if (!w->n_bytes || known->n_bytes != w->n_bytes || known->at != w->at ||
                    w->n_bytes > WIRE_PLAN_MAX_WRITE ||
                    !patched_is_code(known->before, w->before, w->n_bytes) ||
                    !patched_is_in_place(i))
                        continue;
                patched_entries[i].form = entry->form;
                return true;
        }
        return false;
}

/* In a process that was attached to, objects may have gone since the plan was made. */
static bool patched_is_gone(const struct wire_plan_write *w) {
        return patched_is_deferred && !patched_object_at(w->at);
}

/* How many of its writes are to be made. Entries without one go with those of their allocator. */
static uint32_t patched_choose(const struct wire_plan *plan, const struct wire_plan_write *writes,
                               const struct wire_entry *entries) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < plan->n_entries; i++)
                patched_is_wanted[i] = 2; /* not said */
        for (uint32_t i = 0; i < plan->n_writes; i++) {
                const struct wire_plan_write *w = &writes[i];
                bool is_known;

                if (!patched_plan_is_sound(plan, w))
                        continue;
                is_known = patched_is_known(w, &entries[w->entry]);
                patched_n_done += is_known;
                patched_is_wanted[w->entry] = !is_known && !patched_is_gone(w);
                n += patched_is_wanted[w->entry];
        }
        for (uint32_t i = 0; i < plan->n_entries; i++)
                for (uint32_t k = 0; patched_is_wanted[i] == 2 && k < plan->n_entries; k++)
                        if (patched_is_wanted[k] == 1 && entries[k].group == entries[i].group)
                                patched_is_wanted[i] = 1;
        return n;
}

/* ---- taking the rest ----------------------------------------------------------------------- */

static void patched_take_entries(uint32_t first, const struct wire_entry *entries, uint32_t n) {
        uint16_t n_groups = 0;

        for (uint32_t i = 0; i < n; i++) {
                uint32_t at = first + i;

                if (entries[i].group >= n_groups)
                        n_groups = (uint16_t)(entries[i].group + 1);
                if (patched_is_wanted[i] != 1)
                        continue;
                patched_entries[at] = entries[i];
                patched_entries[at].group = (uint16_t)(patched_n_groups + entries[i].group);
                patched_fns[at] = (struct real_fn){.fn = (void *)entries[i].code_begin,
                                                   .begin = entries[i].code_begin,
                                                   .end = entries[i].code_end,
                                                   .kinds = patched_kinds(&entries[i])};
                patched_entries[at].heap &= (uint8_t)~WIRE_ENTRY_OPEN;
        }
        patched_n_groups = (uint16_t)(patched_n_groups + n_groups);
}

/* A lot for each section of which something is wanted. False: there are not as many. */
static bool patched_take_lots(const struct wire_plan *plan, const struct wire_plan_write *writes,
                              uint8_t *ret_lots) {
        const struct wire_plan_section *sections = (const void *)(plan + 1);
        bool is_lasting = patched_n_plans == 0 && !runtime.is_attached;

        for (uint32_t i = 0; i < plan->n_sections; i++)
                ret_lots[i] = PATCHED_MAX_LOTS;
        for (uint32_t i = 0; i < plan->n_writes; i++) {
                const struct wire_plan_write *w = &writes[i];
                const struct wire_plan_section *s;
                bool has_room;

                if (!patched_plan_is_sound(plan, w) || patched_is_wanted[w->entry] != 1 ||
                    ret_lots[w->section] != PATCHED_MAX_LOTS)
                        continue;
                s = &sections[w->section];
                has_room = patched_map_section(s, (const uint8_t *)plan, plan->size_bytes);
                ret_lots[w->section] = (uint8_t)patched_take_lot(has_room ? s : NULL, is_lasting);
                if (ret_lots[w->section] != PATCHED_MAX_LOTS)
                        continue;
                if (has_room)
                        sys_munmap((void *)s->addr, s->n_bytes);
                for (uint32_t k = 0; k < plan->n_sections; k++)
                        if (ret_lots[k] != PATCHED_MAX_LOTS)
                                patched_free_lot(ret_lots[k]);
                return false;
        }
        return true;
}

/* What has no room is left out. */
static bool patched_apply_write(const struct wire_plan_write *w, unsigned lot, uint32_t entry) {
        if (!patched_join_lot(entry, lot, w->at) || !patched_write(w))
                return false;
        patched_heap_know(&patched_entries[entry]);
        patched_writes[entry] = *w;
        patched_writes[entry].entry = patched_owner_of(entry);
        if (!patched_is_deferred) {
                const struct code_range code = {patched_entries[entry].code_begin,
                                                patched_entries[entry].code_end};

                real_is_moved(w->at, (void *)patched_entries[entry].moved, &code);
        }
        return true;
}

static void patched_apply_plan(const struct wire_plan *plan) {
        const struct wire_plan_section *sections = (const void *)(plan + 1);
        const struct wire_plan_write *writes = (const void *)(sections + plan->n_sections);
        const struct wire_entry *entries = (const void *)(writes + plan->n_writes);
        uint8_t lots[WIRE_PLAN_MAX_SECTIONS], other_lot = 0;
        uint32_t n_free, first = patched_find_free(&n_free);
        uint32_t n_wanted = patched_choose(plan, writes, entries);

        if (!patched_take_lots(plan, writes, lots)) {
                patched_n_failed += n_wanted;
                return;
        }
        patched_take_entries(first, entries, plan->n_entries);
        for (uint32_t i = 0; i < plan->n_writes; i++) {
                const struct wire_plan_write *w = &writes[i];
                bool is_sound = patched_plan_is_sound(plan, w);

                if (is_sound && patched_is_wanted[w->entry] != 1)
                        continue;
                if (is_sound)
                        other_lot = lots[w->section];
                if (is_sound && patched_apply_write(w, lots[w->section], first + w->entry))
                        patched_n_done++;
                else
                        patched_n_failed++;
        }
        for (uint32_t i = 0; i < plan->n_entries; i++)
                if (patched_is_wanted[i] == 1)
                        patched_join_neighbour(first + i, other_lot);
        patched_n_plans++;
}

void *patched_moved(const void *fn) {
        const uint64_t landing_pad_bytes = 4;

        for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++) {
                const struct wire_plan_write *w = &patched_writes[i];

                if (w->n_bytes &&
                    (w->at == (uintptr_t)fn || w->at == (uintptr_t)fn + landing_pad_bytes))
                        return (void *)patched_entries[i].moved;
        }
        return NULL;
}

void patched_tell(void) {
        atomic_store_explicit(&runtime.process->n_patched, patched_n_done, memory_order_relaxed);
        atomic_store_explicit(&runtime.process->n_unpatched, patched_n_failed,
                              memory_order_relaxed);
}

/* A wish: the kernel would put the plan where it has room, which is where the sections may have to go. */
#define PATCHED_PLAN_ADDR ((void *)0x100000000000)

static void patched_apply_deferred(void *plan) {
        patched_hide_closed(); /* since the look */
        patched_apply_plan(plan);
}

void patched_apply(int plan_fd, uint64_t plan_bytes) {
        long plan;

        if (plan_bytes == 0 || plan_bytes > WIRE_PLAN_MAX_BYTES)
                return;
        plan = sys_mmap(PATCHED_PLAN_ADDR, plan_bytes, PROT_READ, MAP_PRIVATE, plan_fd, 0);
        if (sys_is_error(plan))
                return;
        if (patched_n_plans == 0 && !patched_is_deferred)
                patched_know_files();
        if (!plan_is_sound((const struct wire_plan *)plan, plan_bytes)) {
                /* nothing */
        } else if (patched_is_deferred) {
                attached_under_lock(patched_apply_deferred, (void *)plan);
        } else if (patched_begin_writing()) {
                patched_apply_plan((const struct wire_plan *)plan);
                patched_end_writing();
        }
        sys_munmap((void *)plan, plan_bytes);
}

/* ---- attached ---------------------------------------------------------------------------- */

void patched_defer(bool is_deferred) {
        patched_is_deferred = is_deferred;
}

void patched_begin_recording(void) {
        patched_n_done = patched_n_failed = 0;
        for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++)
                patched_entries[i].form &= (1u << WIRE_FORM_BITS) - 1;
}

uint32_t patched_flags(void) {
        static uint32_t flags;

        if (!flags)
                flags = runtime.is_attached                   ? WIRE_HELLO_ATTACHED
                        : real_is_plain() && real_is_opener() ? WIRE_HELLO_OPENS
                                                              : 0;
        return flags;
}

void patched_tell_writes(struct wire_attach *request) {
        request->writes = (uint64_t)patched_writes;
        request->n_writes = WIRE_PLAN_MAX_ENTRIES;
        request->guard = (uint64_t)&patched_guard;
}
