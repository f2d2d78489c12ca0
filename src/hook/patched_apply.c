/* SPDX-License-Identifier: MIT */
/* Puts a plan of the recorder's (wire/plan.h) into this process: maps the room, takes the entries, compares and writes. Whatever
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
uint32_t patched_n;
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

bool patched_write_again(uintptr_t base) {
        struct code_range range = real_image_range(base);
        bool is_any = false;

        for (uint32_t i = 0; i < patched_n_writes; i++)
                if (code_range_has(&range, patched_writes[i].at))
                        is_any |= patched_write(&patched_writes[i]);
        return is_any;
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
        uint16_t n_groups = 0;

        for (uint32_t i = 0; i < n; i++) {
                uint32_t at = patched_n + i;

                patched_entries[at] = entries[i];
                patched_entries[at].group = (uint16_t)(patched_n_groups + entries[i].group);
                if (entries[i].group >= n_groups)
                        n_groups = (uint16_t)(entries[i].group + 1);
                patched_fns[at] =
                        (struct real_fn){(void *)entries[i].code_begin, entries[i].code_end,
                                         patched_kinds(entries[i].call)};
        }
        for (uint32_t i = 0; i < n; i++)
                if (entries[i].call == WIRE_CALL_NAME_TO_MIB)
                        patched_heap_know(&patched_entries[patched_n + i]);
        patched_n_groups = (uint16_t)(patched_n_groups + n_groups);
        patched_n += n;
}

/* What has no room is left out. */
static void patched_apply_plan(const struct wire_plan *plan) {
        const struct wire_plan_section *sections = (const void *)(plan + 1);
        const struct wire_plan_write *writes = (const void *)(sections + plan->n_sections);
        uint64_t mapped = 0; /* a bit for each section */
        uint32_t first = patched_n;

        for (uint32_t i = 0; i < plan->n_sections; i++)
                if (patched_map_section(&sections[i], (const uint8_t *)plan, plan->size_bytes))
                        mapped |= UINT64_C(1) << i;
        patched_take_entries((const void *)(writes + plan->n_writes), plan->n_entries);
        for (uint32_t i = 0; i < plan->n_writes; i++) {
                bool has_room = writes[i].section < WIRE_PLAN_MAX_SECTIONS &&
                                mapped >> writes[i].section & 1;

                if (!has_room || writes[i].entry >= plan->n_entries || !patched_write(&writes[i])) {
                        patched_n_failed++;
                        continue;
                }
                patched_n_done++;
                patched_heap_know(&patched_entries[first + writes[i].entry]);
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
