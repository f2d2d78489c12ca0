/* SPDX-License-Identifier: MIT */
/* Puts a plan of the recorder's (wire/plan.h) into this process: maps the room, takes the entries, compares and writes. Whatever
 * is not as it should be is left alone and counted. */
#include <link.h>
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

/* What was written where, to be written again when an object comes back to its place; by entry. n_bytes 0: nothing. */
static struct wire_plan_write patched_writes[WIRE_PLAN_MAX_ENTRIES];
static uint64_t
        patched_owners[WIRE_PLAN_MAX_ENTRIES]; /* by write: the object it is in; 0: not looked up */
static uint32_t patched_n_done, patched_n_failed;
static bool patched_is_deferred; /* others run the code: silt writes, with all threads stopped */

static bool patched_is_code(const volatile uint8_t *code, const uint8_t *wanted, uint32_t n_bytes) {
        for (uint32_t i = 0; i < n_bytes; i++)
                if (code[i] != wanted[i])
                        return false;
        return true;
}

static bool patched_write(const struct wire_plan_write *w) {
        uintptr_t begin = w->at & -(uintptr_t)runtime.page_bytes;
        uintptr_t end =
                (w->at + w->n_bytes + runtime.page_bytes - 1) & -(uintptr_t)runtime.page_bytes;
        volatile uint8_t *code = (volatile uint8_t *)w->at;

        if (w->n_bytes == 0 || w->n_bytes > WIRE_PLAN_MAX_WRITE)
                return false;
        if (patched_is_deferred && patched_is_code(code, w->after, w->n_bytes))
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

bool patched_write_again(uintptr_t base) {
        struct code_range range = real_image_range(base);
        bool is_any = false;

        for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++)
                if (patched_writes[i].n_bytes && code_range_has(&range, patched_writes[i].at))
                        is_any |= patched_write(&patched_writes[i]);
        return is_any;
}

/* ---- what belongs to whom ---------------------------------------------------------------- */

/* What one object has: room for code, and the entries that say so. */
struct patched_lot {
        uint64_t room, room_bytes; /* 0: it could not be had */
        uintptr_t base;            /* of the object */
        bool is_used;
        bool is_lasting; /* of the objects that the image began with */
};

enum { PATCHED_MAX_LOTS = 255 };

static struct patched_lot patched_lots[PATCHED_MAX_LOTS];
static uint8_t patched_lot_of[WIRE_PLAN_MAX_ENTRIES]; /* lot + 1; 0: the entry is free */
extern struct r_debug _r_debug;

uint32_t patched_find_free(uint32_t *ret_n) {
        uint32_t first = 0;

        *ret_n = 0;
        for (uint32_t i = 0, n = 0; i < WIRE_PLAN_MAX_ENTRIES; i++) {
                n = patched_lot_of[i] ? 0 : n + 1;
                if (n > *ret_n) {
                        *ret_n = n;
                        first = i + 1 - n;
                }
        }
        return first;
}

/* The loaded object that the address is in; 0: none that has an address. */
static uintptr_t patched_base_of(uint64_t addr) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct code_range range = real_image_range(m->l_addr);

                if (code_range_has(&range, addr))
                        return m->l_addr;
        }
        return 0;
}

static bool patched_is_loaded(uintptr_t base) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
                if (m->l_addr == base)
                        return true;
        return false;
}

static void patched_free_lot(unsigned lot) {
        for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++)
                if (patched_lot_of[i] == lot + 1) {
                        patched_heap_forget(&patched_entries[i]);
                        patched_writes[i].n_bytes = 0;
                        patched_lot_of[i] = 0;
                }
        if (patched_lots[lot].room_bytes)
                sys_munmap((void *)patched_lots[lot].room, patched_lots[lot].room_bytes);
        patched_lots[lot].is_used = false;
}

void patched_free_closed(void) {
        for (unsigned i = 0; i < PATCHED_MAX_LOTS; i++)
                if (patched_lots[i].is_used && !patched_lots[i].is_lasting &&
                    !patched_is_loaded(patched_lots[i].base))
                        patched_free_lot(i);
}

/* PATCHED_MAX_LOTS: there is none. */
static unsigned patched_take_lot(void) {
        for (unsigned i = 0; i < PATCHED_MAX_LOTS; i++)
                if (!patched_lots[i].is_used) {
                        patched_lots[i].is_used = true;
                        patched_lots[i].is_lasting = patched_n_plans == 0;
                        patched_lots[i].room = patched_lots[i].room_bytes = 0;
                        patched_lots[i].base = 0;
                        return i;
                }
        return PATCHED_MAX_LOTS;
}

/* ---- putting patches in ------------------------------------------------------------------ */

static unsigned patched_kinds(uint8_t call) {
        switch (call) {
        case WIRE_CALL_FREE: return REAL_RELEASES;
        case WIRE_CALL_REALLOC:
        case WIRE_CALL_RESIZE: return REAL_ALLOCATES | REAL_RELEASES;
        case WIRE_CALL_ALLOC:
        case WIRE_CALL_ALLOC_THROWS:
        case WIRE_CALL_ALLOC_OUT:
        case WIRE_CALL_ALLOC_TEXT: return REAL_ALLOCATES;
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
        if (sys_call3(SYS_mprotect, pages, (long)s->n_bytes, PROT_READ | PROT_EXEC) == 0)
                return true;
        sys_munmap((void *)pages, s->n_bytes);
        return false;
}

static void patched_take_entries(uint32_t first, const struct wire_entry *entries, uint32_t n) {
        uint16_t n_groups = 0;

        for (uint32_t i = 0; i < n; i++) {
                uint32_t at = first + i;

                patched_entries[at] = entries[i];
                patched_entries[at].group = (uint16_t)(patched_n_groups + entries[i].group);
                if (entries[i].group >= n_groups)
                        n_groups = (uint16_t)(entries[i].group + 1);
                patched_fns[at] = (struct real_fn){.fn = (void *)entries[i].code_begin,
                                                   .end = entries[i].code_end,
                                                   .kinds = patched_kinds(entries[i].call)};
                if (entries[i].call == WIRE_CALL_NAME_TO_MIB)
                        patched_heap_know(&patched_entries[at]);
        }
        patched_n_groups = (uint16_t)(patched_n_groups + n_groups);
}

/* A lot for each section. False: there are not as many. */
static bool patched_take_lots(const struct wire_plan *plan, uint8_t *ret_lots) {
        const struct wire_plan_section *sections = (const void *)(plan + 1);

        for (uint32_t i = 0; i < plan->n_sections; i++) {
                unsigned lot = patched_take_lot();

                if (lot == PATCHED_MAX_LOTS) {
                        while (i-- > 0)
                                patched_free_lot(ret_lots[i]);
                        return false;
                }
                ret_lots[i] = (uint8_t)lot;
        }
        for (uint32_t i = 0; i < plan->n_sections; i++)
                if (patched_map_section(&sections[i], (const uint8_t *)plan, plan->size_bytes)) {
                        patched_lots[ret_lots[i]].room = sections[i].addr;
                        patched_lots[ret_lots[i]].room_bytes = sections[i].n_bytes;
                }
        return true;
}

/* What has no room is left out. */
static bool patched_apply_write(const struct wire_plan_write *w, unsigned lot, uint32_t entry) {
        if (!patched_lots[lot].base)
                patched_lots[lot].base = patched_base_of(w->at);
        patched_lot_of[entry] = (uint8_t)(lot + 1);
        if (!patched_lots[lot].room_bytes || !patched_write(w))
                return false;
        patched_heap_know(&patched_entries[entry]);
        patched_writes[entry] = *w;
        patched_owners[entry] = 0;
        if (!patched_is_deferred)
                real_is_moved(w->at, (void *)patched_entries[entry].moved);
        return true;
}

static void patched_apply_plan(const struct wire_plan *plan) {
        const struct wire_plan_section *sections = (const void *)(plan + 1);
        const struct wire_plan_write *writes = (const void *)(sections + plan->n_sections);
        uint8_t lots[WIRE_PLAN_MAX_SECTIONS];
        uint32_t n_free, first = patched_find_free(&n_free);

        if (!patched_take_lots(plan, lots)) {
                patched_n_failed += plan->n_writes;
                return;
        }
        patched_take_entries(first, (const void *)(writes + plan->n_writes), plan->n_entries);
        for (uint32_t i = 0; i < plan->n_writes; i++) {
                const struct wire_plan_write *w = &writes[i];
                bool is_sound = w->section < plan->n_sections && w->entry < plan->n_entries;

                if (is_sound && patched_apply_write(w, lots[w->section], first + w->entry))
                        patched_n_done++;
                else
                        patched_n_failed++;
        }
        /* those without a write of their own go with their neighbours */
        for (uint32_t i = 0; i < plan->n_entries; i++)
                if (!patched_lot_of[first + i])
                        patched_lot_of[first + i] =
                                i ? patched_lot_of[first + i - 1] : (uint8_t)(lots[0] + 1);
        patched_n_plans++;
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
        if (patched_n_plans == 0 && !patched_is_deferred)
                patched_know_files();
        if (plan_is_sound((const struct wire_plan *)plan, plan_bytes))
                patched_apply_plan((const struct wire_plan *)plan);
        sys_munmap((void *)plan, plan_bytes);
}

/* ---- attached ---------------------------------------------------------------------------- */

void patched_defer(bool is_deferred) {
        patched_is_deferred = is_deferred;
}

/* Writes into objects that are gone, perhaps with others in their place, are forgotten. */
void patched_check_owners(void) {
        for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++) {
                uint64_t owner;

                if (!patched_writes[i].n_bytes)
                        continue;
                owner = patched_owner_at(patched_writes[i].at);
                if (!owner || (patched_owners[i] && patched_owners[i] != owner))
                        patched_writes[i].n_bytes = 0;
                patched_owners[i] = owner;
        }
}

bool patched_has_writes(const struct code_range *range) {
        for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++)
                if (patched_writes[i].n_bytes && code_range_has(range, patched_writes[i].at))
                        return true;
        return false;
}

uint32_t patched_flags(void) {
        return (runtime.is_attached ? WIRE_HELLO_ATTACHED : 0) |
               (runtime.is_attached && patched_n_plans ? WIRE_HELLO_PLANNED : 0);
}

void patched_tell_writes(struct wire_attach *request) {
        request->writes = (uint64_t)patched_writes;
        request->n_writes = WIRE_PLAN_MAX_ENTRIES;
}
