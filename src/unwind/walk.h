/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_WALK_H
#define SILT_UNWIND_WALK_H

/* What the remembered walk and the plain one share. */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/step.h"
#include "unwind/unwind.h"

static inline bool walk_can_start(uint64_t pc, uint64_t sp) {
        return pc != 0 && sp != 0 && sp % ARCH_STACK_ALIGN == 0;
}

/* False: no walk can start there. */
static inline bool walk_state_from(const struct unwind_regs *from, struct state *ret) {
        *ret = (struct state){.pc_raw = from->pc,
                              .pc = arch_strip(from->pc),
                              .sp = from->sp,
                              .fp = from->fp};
        return walk_can_start(from->pc, from->sp);
}

/* As unwind_delta has it: pc - 1 is in the frame's instruction, also where pc is exact. */
static inline uint64_t walk_pc_shown(uint64_t pc, uint32_t flags) {
        return pc + !!(flags & FRAME_EXACT);
}

static inline uint8_t walk_end_of(const struct stepper *p, enum step last) {
        if (last == STEP_LOST)
                return UNWIND_END_LOST;
        return p->has_guessed ? UNWIND_END_GUESS : UNWIND_END_COMPLETE;
}

#endif
