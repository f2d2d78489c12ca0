/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_STEP_H
#define SILT_UNWIND_STEP_H

/* One step outwards: from the registers in a frame to those in its caller.
 *
 * Reads are bounded. In a frame with stack pointer sp a step reads words at [sp, sp + STEP_MAX_BYTES]
 * and below `limit` only; docs/unwinding.md argues why that is safe. The one exception, a frame that
 * moved to another stack, needs a frame pointer that nothing doubtful has passed through. */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/arch.h"
#include "unwind/lookup.h"
#include "unwind/row.h"

#pragma GCC visibility push(hidden)

enum {
        STEP_MAX_BYTES = 64 << 20,       /* largest frame believed in without a second look */
        STEP_GUESS_MAX_BYTES = 1 << 20,  /* the same where there is no CFI to say so */
        STEP_SWITCH_MAX_BYTES = 4 << 10, /* slots of a frame that changed stacks are near its fp */
        STEP_SWITCHES_MAX = 16,          /* in a walk: a stack may lead back into itself */
        STEP_MADE_MAX = 128,             /* frames of code made at run time, one after the other */
        STEP_ROOT_MAX_BYTES = 512,       /* looked at above what may be the root of a stack */
        STEP_MAIN_NEAR_BYTES = 64 << 10, /* below argc only the first thread's stack lies so near */
};

/* Registers in a frame. */
struct state {
        uint64_t pc_raw; /* as read: may carry a PAC */
        uint64_t pc;
        uint64_t sp, fp;
        uint64_t lr;    /* means something only with STATE_EXACT on aarch64 */
        uint32_t flags; /* FRAME_EXACT, FRAME_BLIND */
};

/* A frame of a walk: its registers, and the addresses of the words that lead outwards. Laid out for
 * re-validation, which reads the slots of one frame and the registers of the next in pairs. */
struct frame {
        uint64_t pc_raw, fp;
        uint64_t ra_slot, fp_slot; /* of plain frames; what others have there: see walk.c */
        uint64_t sp;
        uint64_t flags;
};

enum {
        FRAME_BARRIER = 1 << 0, /* the step needs more than two words: never skip it */
        FRAME_EXACT = 1 << 1,   /* interrupted by a signal: pc is no return address, lr counts */
        FRAME_BLIND = 1 << 2,   /* after a frame pointer step on aarch64: sp is a lower bound */
        FRAME_END = 1 << 3,     /* outermost, by CFI alone */
        FRAME_AT_GAP = 1 << 4,  /* its caller was left out: the next entry is the marker */
        FRAME_AT_CUT = 1 << 5,  /* its caller was never looked at */
        FRAME_MARKER = 1 << 6,  /* stands for frames left out */
        FRAME_FP_KEPT = 1 << 7, /* the frame did not save fp */
        FRAME_STOP = FRAME_BARRIER | FRAME_END | FRAME_AT_GAP | FRAME_AT_CUT | FRAME_MARKER,
        FRAME_UNLIKE = FRAME_EXACT | FRAME_BLIND | FRAME_MARKER, /* more than (pc, sp, fp) */
};
#define FRAME_ODD (UINT64_C(1) << 63) /* only makes the flags another word: see frame_seal */

/* The largest frame at all: what a wide row can say. */
#define STEP_WIDE_MAX_BYTES (UINT64_C(4) << 30)

enum step { STEP_OK, STEP_END, STEP_LOST };

/* What one walk carries along. */
struct stepper {
        struct lookup_cache *cache; /* may be NULL */
        void *ctx;
        uint64_t generation;
        uint64_t limit;      /* no word is read at or above limit */
        bool is_wild;        /* passed a signal frame or a guess: fp is no longer beyond doubt */
        bool has_guessed;    /* trusted a frame pointer without CFI */
        uint32_t n_switches; /* times the walk went to another stack */
        uint64_t made_until; /* frame records up to here lead to code in a known object */
};

void step_init(uint64_t main_stack_begin, uint64_t main_stack_end);

extern uint64_t step_main_stack_begin, step_main_stack_end; /* written by step_init */

/* Above a thread's frames lie its thread descriptor (glibc puts it at the top of the stack it maps)
 * or, for the first thread, the program's arguments. Whichever is next above sp bounds the reading;
 * on other stacks the bound is only far, never wrong. */
static inline uint64_t step_limit(uint64_t sp) {
        uint64_t tp = arch_thread_pointer();
        uint64_t limit = UINT64_MAX;

        if (sp < step_main_stack_end)
                limit = step_main_stack_end;
        if (sp < tp && tp < limit)
                limit = tp;
        return limit - 7; /* a word is 8 bytes */
}

static inline row_t step_row(struct stepper *p, const struct state *s) {
        return lookup_row(p->cache, p->generation, s->pc - !(s->flags & FRAME_EXACT), p->ctx);
}

/* The return address of f is 0, and the stack would end at cfa: does it? A coroutine's may; so may
 * a wrong row end any. */
enum step step_at_zero(const struct stepper *p, const struct frame *f, uint64_t cfa);

/* Everything but the common case. Fills f's words and, if it returns STEP_OK, s. */
enum step step_slow(struct stepper *p, struct state *s, row_t row, struct frame *f);

/* A word that may be read from a frame whose stack pointer is sp. */
static inline bool step_can_read(const struct stepper *p, uint64_t sp, uint64_t slot) {
        return slot - sp <= STEP_MAX_BYTES && slot < p->limit;
}

/* The plain step: (pc, sp, fp) = (M[CFA + ra_off], CFA, M[CFA + fp_off] or fp). False: not so, and s
 * is as it was. Slots are computed from the base and in words: fewer operations between one load and
 * the next, which is all a walk waits for. */
static inline bool step_plain(const struct stepper *p, struct state *s, row_t row,
                              struct frame *f) {
        uint64_t sp = s->sp;
        uint64_t base = row & ROW_BASE_FP ? s->fp : sp;
        uint64_t cfa = base + (uint64_t)row_cfa_off(row);
        uint64_t ra_slot = base + (uint64_t)(row_cfa_words(row) + row_ra_words(row)) * 8;
        uint64_t ra;

        if (__builtin_expect(cfa - sp - 1 >= STEP_MAX_BYTES || cfa % ARCH_STACK_ALIGN != 0 ||
                                     !step_can_read(p, sp, ra_slot),
                             0))
                return false;
        f->flags = FRAME_FP_KEPT;
        if (row & ROW_FP_SAVED) {
                uint64_t fp_slot = base + (uint64_t)(row_cfa_words(row) + row_fp_words(row)) * 8;

                if (__builtin_expect(!step_can_read(p, sp, fp_slot), 0))
                        return false;
                f->flags = 0;
                f->fp_slot = fp_slot;
                s->fp = arch_load(fp_slot);
        }
        f->ra_slot = ra_slot;
        ra = arch_load(ra_slot);
        s->pc_raw = ra;
        s->pc = arch_strip(ra);
        s->sp = cfa;
        return true;
}

static inline void step_fill_frame(const struct state *s, struct frame *f) {
        f->pc_raw = s->pc_raw;
        f->sp = s->sp;
        f->fp = s->fp;
}

static inline bool step_is_plain(const struct state *s, row_t row) {
        return (row & ROW_NOT_PLAIN) == 0 && s->flags == 0;
}

/* One step from s, whose row is given. */
static inline enum step step_out(struct stepper *p, struct state *s, row_t row, struct frame *f) {
        step_fill_frame(s, f);
        if (!step_is_plain(s, row) || !step_plain(p, s, row, f))
                return step_slow(p, s, row, f);
        if (s->pc_raw != 0)
                return STEP_OK;
        f->flags |= FRAME_BARRIER; /* the 0 was read from memory: it may be another word soon */
        return step_at_zero(p, f, s->sp);
}

#pragma GCC visibility pop

#endif
