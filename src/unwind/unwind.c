/* SPDX-License-Identifier: MIT */
/* What belongs to the process rather than to a walker. */

#include "unwind/unwind.h"

#include <errno.h>

#include "unwind/lookup.h"
#include "unwind/object.h"
#include "unwind/rowtab.h"
#include "unwind/step.h"
#include "unwind/walk.h"

int unwind_init(const struct unwind_env *env) {
        if (!env || !env->map_pages)
                return -EINVAL;
        object_init(env);
        step_init(env->main_stack_begin, env->main_stack_end);
        lookup_init(env);
        object_refresh();
        rowtab_init(env->map_pages);
        return 0;
}

void unwind_modules_changed(void) {
        rowtab_next_generation();
}

void unwind_modules_refresh(void) {
        object_refresh();
}

static struct stepper stepper_without_walker(uint64_t sp, void *ctx) {
        return (struct stepper){
                .ctx = ctx,
                .generation = rowtab_generation(), /* 0: not ready */
                .limit = step_limit(sp),
        };
}

uint32_t unwind_walk_once(const struct unwind_regs *from, void *ctx, uint64_t *pcs,
                          uint32_t cap_pcs, uint8_t *ret_end) {
        struct stepper p;
        struct state s;
        uint32_t n = 0;

        *ret_end = UNWIND_END_LOST;
        if (!walk_state_from(from, &s))
                return 0;
        p = stepper_without_walker(s.sp, ctx);
        if (p.generation == 0)
                return 0;
        while (n < cap_pcs) {
                row_t row = step_row(&p, &s);
                struct frame f;
                enum step r;

                pcs[n++] = walk_pc_shown(s.pc, s.flags);
                r = step_out(&p, &s, row, &f);
                if (r != STEP_OK) {
                        *ret_end = walk_end_of(&p, r);
                        return n;
                }
        }
        *ret_end = UNWIND_END_CUT;
        return n;
}

uint32_t unwind_walk_frames(const struct unwind_regs *from, struct unwind_frame *frames,
                            uint32_t cap_frames) {
        struct stepper p;
        struct state s;
        uint32_t n = 0;

        if (!walk_state_from(from, &s))
                return 0;
        p = stepper_without_walker(s.sp, NULL);
        while (p.generation && n < cap_frames) {
                row_t row = step_row(&p, &s);
                struct frame f;

                frames[n++] = (struct unwind_frame){s.pc, s.sp};
                if (step_out(&p, &s, row, &f) != STEP_OK)
                        break;
        }
        return n;
}

enum { INSIDE_MAX_STEPS = 64 };

/* The words lie between the caller's sp and the frame, as they did then. */
static bool is_same_way(const struct unwind_way *way, const struct unwind_regs *from,
                        uint64_t frame) {
        if (way->generation != rowtab_generation() || way->pc != from->pc ||
            way->distance_bytes != frame - from->sp)
                return false;
        for (uint64_t i = 0; i < way->n_steps; i++)
                if (arch_load(frame - way->slots[i]) != way->words[i])
                        return false;
        return true;
}

/* A handler that comes between finds nothing remembered. */
static void remember_way(struct unwind_way *memory, const struct unwind_way *way) {
        uint64_t generation = way->generation;

        __atomic_store_n(&memory->generation, 0, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        memory->pc = way->pc;
        memory->distance_bytes = way->distance_bytes;
        memory->n_steps = way->n_steps;
        for (uint64_t i = 0; i < way->n_steps; i++) {
                memory->slots[i] = way->slots[i];
                memory->words[i] = way->words[i];
        }
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        __atomic_store_n(&memory->generation, generation, __ATOMIC_RELAXED);
}

enum unwind_inside unwind_is_inside(const struct unwind_regs *from, uint64_t frame,
                                    uint64_t code_begin, uint64_t code_end,
                                    struct unwind_way *memory) {
        struct unwind_way way = {.pc = from->pc, .distance_bytes = frame - from->sp};
        struct stepper p;
        struct state s;

        if (!walk_state_from(from, &s) || s.sp > frame)
                return UNWIND_INSIDE_UNKNOWN;
        p = stepper_without_walker(s.sp, NULL);
        if (p.generation == 0)
                return UNWIND_INSIDE_UNKNOWN;
        if (is_same_way(memory, from, frame))
                return UNWIND_INSIDE;
        way.generation = p.generation;
        for (unsigned i = 0; i < INSIDE_MAX_STEPS; i++) {
                row_t row = step_row(&p, &s);
                bool is_simple =
                        i < UNWIND_WAY_STEPS && step_is_plain(&s, row) && !(row & ROW_BASE_FP);
                uint64_t pc = s.pc;
                struct frame f;

                if (step_out(&p, &s, row, &f) != STEP_OK || s.flags != 0)
                        return s.flags & FRAME_EXACT ? UNWIND_INSIDE_HANDLER
                                                     : UNWIND_INSIDE_UNKNOWN;
                if (s.sp > frame) { /* this one's own words are not looked at: its code tells */
                        if (pc < code_begin || pc >= code_end)
                                return p.has_guessed ? UNWIND_INSIDE_UNKNOWN : UNWIND_OUTSIDE;
                        remember_way(memory, &way);
                        return UNWIND_INSIDE;
                }
                if (!is_simple || (f.flags & FRAME_STOP)) {
                        way.generation = 0;
                        continue;
                }
                way.slots[i] = frame - f.ra_slot;
                way.words[i] = arch_load(f.ra_slot);
                way.n_steps = i + 1;
        }
        return UNWIND_INSIDE_UNKNOWN;
}

void unwind_regs_leave(struct unwind_regs *regs) {
        struct state s = {.pc_raw = regs->pc, .pc = regs->pc, .sp = regs->sp, .fp = regs->fp};
        struct stepper p;
        struct frame f;

        *regs = (struct unwind_regs){0};
        s.flags = FRAME_EXACT; /* pc is no return address; lr is not known and stays 0 */
        p = stepper_without_walker(s.sp, NULL);
        if (p.generation != 0 && step_out(&p, &s, step_row(&p, &s), &f) == STEP_OK)
                *regs = (struct unwind_regs){.pc = s.pc_raw, .sp = s.sp, .fp = s.fp};
}
