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
